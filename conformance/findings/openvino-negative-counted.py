"""OpenVINO: GatherElements-6 and GatherND-5 count negative indices from the end."""

import sys

import numpy as np
import openvino
from openvino import opset6 as ops

TEXT = (
    "OpenVINO operation set, GatherElements-6, input indices: All index values are expected to be within bounds "
    "[0, s-1]"
)
data = ops.parameter([3], openvino.Type.f32)
indices = ops.parameter([1], openvino.Type.i64)
model = openvino.Model([ops.gather_elements(data, indices, 0)], [data, indices])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

expected = "an error: index -1"
try:
    observed, departs = compiled([np.array([0, 1, 2], np.float32), np.array([-1])])[0], True
except RuntimeError as error:
    observed, departs = error, False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
