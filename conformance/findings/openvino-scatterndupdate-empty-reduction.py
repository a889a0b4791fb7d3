"""OpenVINO: ScatterNDUpdate accepts an empty string as its reduction."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterNDUpdate-15, attribute reduction: Range of values: one of none, sum, sub, prod, "
    "min, max"
)
data, updates = ops.parameter([3], openvino.Type.f32), ops.parameter([1], openvino.Type.f32)
indices = ops.parameter([1, 1], openvino.Type.i64)
expected = "an error, as for other names that are not in the list"
try:
    model = openvino.Model([ops.scatter_nd_update(data, indices, updates, "")], [data, indices, updates])
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    result = compiled([np.ones(3, np.float32), np.array([[1]]), np.full(1, 5, np.float32)])[0]
    observed, departs = result, True
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
