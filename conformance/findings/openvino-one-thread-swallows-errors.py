"""OpenVINO: With one thread, errors are lost and the result is uninitialized memory."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterNDUpdate-15, input indices: If an index points to non-existing element then "
    "exception is raised."
)
data = ops.parameter([8], openvino.Type.f32)
indices = ops.parameter([1, 1], openvino.Type.i64)
updates = ops.parameter([1], openvino.Type.f32)
model = openvino.Model([ops.scatter_nd_update(data, indices, updates)], [data, indices, updates])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1})

expected = "an error, as without INFERENCE_NUM_THREADS: index 8 on an axis of size 8"
try:
    observed, departs = compiled([np.ones(8, np.float32), np.array([[8]]), np.ones(1, np.float32)])[0], True
except RuntimeError as error:
    observed, departs = error, False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
