"""OpenVINO: Scatters do not check indices on an axis of size 0."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterElementsUpdate-12, input indices: If an index points to non-existing element "
    "then exception is raised."
)
data = ops.parameter([0], openvino.Type.f32)
indices = ops.parameter([1], openvino.Type.i64)
updates = ops.parameter([1], openvino.Type.f32)
output = ops.scatter_elements_update(data, indices, updates, ops.constant(0))
model = openvino.Model([output], [data, indices, updates])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

expected = "an error: index 0 on an axis of size 0"
try:
    result = compiled([np.ones(0, np.float32), np.array([0]), np.ones(1, np.float32)])[0]
    observed, departs = f"a result of shape {result.shape}", True
except RuntimeError as error:
    observed, departs = error, False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
