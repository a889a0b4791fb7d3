"""OpenVINO: The mean of integers is wrong if their sum overflows."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = "OpenVINO operation set, ScatterElementsUpdate-12: Update with mean value of the corresponding elements"
data = ops.parameter([1], openvino.Type.i8)
indices = ops.parameter([2], openvino.Type.i64)
updates = ops.parameter([2], openvino.Type.i8)
output = ops.scatter_elements_update(data, indices, updates, ops.constant(0), "mean")
model = openvino.Model([output], [data, indices, updates])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
result = compiled([np.array([100], np.int8), np.zeros(2, np.int64), np.array([100, 100], np.int8)])[0]

expected = "[100], the mean of three times 100"
observed = result.ravel()
departs = bool(result[0] != 100)

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
