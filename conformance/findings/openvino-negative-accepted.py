"""OpenVINO: ScatterElementsUpdate-3 and ScatterNDUpdate-3 count negative indices from the end."""

import sys

import numpy as np
import openvino
from openvino import opset4 as ops

TEXT = (
    "OpenVINO operation set, ScatterElementsUpdate-3, input indices: If an index points to non-existing output "
    "tensor element or is negative then exception is raised."
)
data = ops.parameter([3], openvino.Type.f32)
indices = ops.parameter([1], openvino.Type.i64)
updates = ops.parameter([1], openvino.Type.f32)
output = ops.scatter_elements_update(data, indices, updates, ops.constant(0))
model = openvino.Model([output], [data, indices, updates])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

expected = "an error: index -1"
try:
    observed, departs = compiled([np.zeros(3, np.float32), np.array([-1]), np.ones(1, np.float32)])[0], True
except RuntimeError as error:
    observed, departs = error, False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
