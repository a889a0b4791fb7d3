"""OpenVINO: GatherND does not broadcast batch dimensions."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, GatherND-8, attribute batch_dims: It requires the first b dimensions in data and "
    "indices tensors to be broadcastable"
)
expected = "[1. 1.]"
try:
    data = ops.parameter([1, 3], openvino.Type.f32)
    indices = ops.parameter([2, 1], openvino.Type.i64)
    model = openvino.Model([ops.gather_nd(data, indices, 1)], [data, indices])
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    observed, departs = compiled([np.ones((1, 3), np.float32), np.zeros((2, 1), np.int64)])[0], False
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], True

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
