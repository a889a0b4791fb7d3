"""OpenVINO: ScatterElementsUpdate accepts an axis input of two elements and uses the first."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterElementsUpdate-12, input axis: axis tensor with scalar or 1D tensor with one "
    "element"
)
data = ops.parameter([2, 2], openvino.Type.f32)
indices = ops.parameter([1, 2], openvino.Type.i64)
updates = ops.parameter([1, 2], openvino.Type.f32)
output = ops.scatter_elements_update(data, indices, updates, ops.constant([0, 1]))
model = openvino.Model([output], [data, indices, updates])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

expected = "an error: axis has two elements"
try:
    inputs = [np.zeros((2, 2), np.float32), np.array([[1, 0]]), np.ones((1, 2), np.float32)]
    observed, departs = compiled(inputs)[0], True
except RuntimeError as error:
    observed, departs = error, False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
