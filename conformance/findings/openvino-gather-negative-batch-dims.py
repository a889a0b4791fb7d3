"""OpenVINO: Gather accepts a batch_dims below its range."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, Gather-8, attribute batch_dims: Range of values: [-min(data.rank, indices.rank); "
    "min(data.rank, indices.rank)]"
)
data = ops.parameter([2, 3], openvino.Type.f32)
indices = ops.parameter([1, 1, 1], openvino.Type.i64)
model = openvino.Model([ops.gather(data, indices, ops.constant(0), -3)], [data, indices])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

expected = "an error: the range for ranks 2 and 3 is [-2, 2]"
try:
    observed, departs = compiled([np.ones((2, 3), np.float32), np.zeros((1, 1, 1), np.int64)])[0], True
except RuntimeError as error:
    observed, departs = error, False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
