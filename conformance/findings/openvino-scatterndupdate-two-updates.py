"""OpenVINO: ScatterNDUpdate ignores a second update where only one is allowed."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterNDUpdate-15, input updates: If expected updates rank is 0D it can be a tensor"
    " with single element."
)
data = ops.parameter([-1], openvino.Type.f32)
indices = ops.parameter([-1], openvino.Type.i64)
updates = ops.parameter([-1], openvino.Type.f32)
model = openvino.Model([ops.scatter_nd_update(data, indices, updates)], [data, indices, updates])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

expected = "an error: only one update is allowed"
try:
    observed, departs = compiled([np.zeros(3, np.float32), np.array([1]), np.array([5, 6], np.float32)])[0], True
except RuntimeError as error:
    observed, departs = error, False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
