"""OpenVINO: sub of bool is not exclusive or if two updates have the same index."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterNDUpdate-15, types: For boolean type, reduction sum, sub, prod behaves like "
    "logical OR, XOR, AND accordingly."
)
data = ops.parameter([1], openvino.Type.boolean)
indices = ops.parameter([2, 1], openvino.Type.i64)
updates = ops.parameter([2], openvino.Type.boolean)
model = openvino.Model([ops.scatter_nd_update(data, indices, updates, "sub")], [data, indices, updates])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
result = compiled([np.array([False]), np.zeros((2, 1), np.int64), np.array([True, True])])[0]

expected = "[False]: False xor True xor True"
observed = result.ravel()
departs = bool(result[0])

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
