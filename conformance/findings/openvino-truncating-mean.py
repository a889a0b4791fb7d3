"""OpenVINO: The mean of integers is rounded toward zero."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterElementsUpdate-12: For integer types the calculated mean is rounded down "
    "(towards negative infinity)."
)
data = ops.parameter([1], openvino.Type.i32)
indices = ops.parameter([2], openvino.Type.i64)
updates = ops.parameter([2], openvino.Type.i32)
output = ops.scatter_elements_update(data, indices, updates, ops.constant(0), "mean")
model = openvino.Model([output], [data, indices, updates])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
result = compiled([np.array([-8], np.int32), np.zeros(2, np.int64), np.array([-5, -6], np.int32)])[0]

expected = "[-7], which is -19 / 3 rounded down"
observed = result.ravel()
departs = bool(result[0] != -7)

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
