"""OpenVINO: EmbeddingSegmentsSum refuses a default_index of -1."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, EmbeddingSegmentsSum-3, input default_index: If not provided empty segments are filled "
    "with zeros."
)
table = ops.parameter([4, 2], openvino.Type.f32)
indices, segments = ops.parameter([2], openvino.Type.i64), ops.parameter([2], openvino.Type.i64)
number, default = ops.parameter([], openvino.Type.i64), ops.parameter([], openvino.Type.i64)
parameters = [table, indices, segments, number, default]
model = openvino.Model([ops.embedding_segments_sum(*parameters)], parameters)
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
expected = [[1, 1], [0, 0], [1, 1]]
try:
    result = compiled([np.ones((4, 2), np.float32), np.array([1, 2]), np.array([0, 2]), np.int64(3), np.int64(-1)])[0]
    observed, departs = result.tolist(), result.tolist() != expected
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], True

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
