"""OpenVINO: Gather from an axis of size 0 returns uninitialized memory."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, Gather-8: If index value exceed allowed range output data for corresponding index "
    "will be filled with zeros"
)
data = ops.parameter([0, 4], openvino.Type.f32)
indices = ops.parameter([1], openvino.Type.i64)
model = openvino.Model([ops.gather(data, indices, ops.constant(0))], [data, indices])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
result = compiled([np.ones((0, 4), np.float32), np.zeros(1, np.int64)])[0]

expected = "zeros"
observed = result.ravel()
departs = bool(result.any())

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 4)
