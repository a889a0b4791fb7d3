"""OpenVINO: EmbeddingSegmentsSum fails if num_segments is 0."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, EmbeddingSegmentsSum-3, outputs: tensor of shape [num_segments, emb_dim1, emb_dim2, ...]"
)
table = ops.parameter([4, 2], openvino.Type.f32)
indices, segments = ops.parameter([0], openvino.Type.i64), ops.parameter([0], openvino.Type.i64)
number = ops.parameter([], openvino.Type.i64)
parameters = [table, indices, segments, number]
model = openvino.Model([ops.embedding_segments_sum(*parameters)], parameters)
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
expected = []
try:
    result = compiled([np.ones((4, 2), np.float32), np.zeros(0, np.int64), np.zeros(0, np.int64), np.int64(0)])[0]
    observed, departs = result.tolist(), result.tolist() != expected
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], True

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
