"""OpenVINO: GatherElements from an axis of size 0 returns uninitialized memory."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, GatherElements-6, input indices: All index values are expected to be within bounds "
    "[0, s-1]"
)
data = ops.parameter([0], openvino.Type.f32)
indices = ops.parameter([1], openvino.Type.i64)
model = openvino.Model([ops.gather_elements(data, indices, 0)], [data, indices])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

expected = "an error: index 0 on an axis of size 0"
try:
    observed, departs = compiled([np.ones(0, np.float32), np.zeros(1, np.int64)])[0], True
except RuntimeError as error:
    observed, departs = error, False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
