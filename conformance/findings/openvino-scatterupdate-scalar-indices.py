"""OpenVINO: ScatterUpdate refuses an index of rank 0."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterUpdate-3, examples for axis = 0: indices is a 0 D tensor: data[indices, ...] "
    "= updates[...]"
)
expected = "[0. 5. 0.]"
try:
    data = ops.parameter([3], openvino.Type.f32)
    indices = ops.parameter([], openvino.Type.i64)
    updates = ops.parameter([], openvino.Type.f32)
    model = openvino.Model([ops.scatter_update(data, indices, updates, ops.constant(0))], [data, indices, updates])
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    observed, departs = compiled([np.zeros(3, np.float32), np.int64(1), np.float32(5)])[0], False
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], True

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
