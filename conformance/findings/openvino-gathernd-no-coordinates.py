"""OpenVINO: GatherND with index tuples of length 0 returns uninitialized memory."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, GatherND-8, shape of the output: else indices.shape[:batch_dims] + "
    "list(indices.shape)[batch_dims:-1] + list(data.shape)[batch_dims + indices.shape[-1]:]"
)
data = ops.parameter([2, 3], openvino.Type.f32)
indices = ops.parameter([2, 0], openvino.Type.i64)
model = openvino.Model([ops.gather_nd(data, indices)], [data, indices])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
result = compiled([np.ones((2, 3), np.float32), np.zeros((2, 0), np.int64)])[0]

expected = "two copies of data, all ones"
observed = result.ravel()
departs = bool((result != 1).any())

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
