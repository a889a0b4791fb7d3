"""OpenVINO: ScatterNDUpdate refuses one update of shape (1,) where rank 0 is expected."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterNDUpdate-15, input updates: If expected updates rank is 0D it can be a tensor"
    " with single element."
)
expected = "[0. 1. 0.]"
try:
    data = ops.parameter([3], openvino.Type.f32)
    indices = ops.parameter([1], openvino.Type.i64)
    updates = ops.parameter([1], openvino.Type.f32)
    model = openvino.Model([ops.scatter_nd_update(data, indices, updates)], [data, indices, updates])
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    observed, departs = compiled([np.zeros(3, np.float32), np.array([1]), np.ones(1, np.float32)])[0], False
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], True

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
