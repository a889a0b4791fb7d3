"""OpenVINO: ScatterNDUpdate and ScatterUpdate do not check indices if slices are empty."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterNDUpdate-15, input indices: If an index points to non-existing element then "
    "exception is raised."
)
data = ops.parameter([3, 0], openvino.Type.f32)
indices = ops.parameter([1, 1], openvino.Type.i64)
updates = ops.parameter([1, 0], openvino.Type.f32)
model = openvino.Model([ops.scatter_nd_update(data, indices, updates)], [data, indices, updates])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

expected = "an error: index 7 on an axis of size 3"
try:
    result = compiled([np.ones((3, 0), np.float32), np.array([[7]]), np.ones((1, 0), np.float32)])[0]
    observed, departs = f"a result of shape {result.shape}", True
except RuntimeError as error:
    observed, departs = error, False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
