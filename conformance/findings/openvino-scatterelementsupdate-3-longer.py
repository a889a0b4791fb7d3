"""OpenVINO: ScatterElementsUpdate-3 accepts more updates along the axis than data has elements."""

import sys

import numpy as np
import openvino
from openvino import opset4 as ops

TEXT = (
    "OpenVINO operation set, ScatterElementsUpdate-3: update tensor dimensions are less or equal to the "
    "corresponding data tensor dimensions."
)
data = ops.parameter([2], openvino.Type.f32)
indices = ops.parameter([3], openvino.Type.i64)
updates = ops.parameter([3], openvino.Type.f32)
output = ops.scatter_elements_update(data, indices, updates, ops.constant(0))
model = openvino.Model([output], [data, indices, updates])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

expected = "an error: updates are longer than data"
try:
    observed, departs = compiled([np.zeros(2, np.float32), np.array([0, 1, 0]), np.ones(3, np.float32)])[0], True
except RuntimeError as error:
    observed, departs = error, False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
