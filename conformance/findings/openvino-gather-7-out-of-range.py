"""OpenVINO: Gather-1 and Gather-7 return zeros for negative and other out-of-range indices."""

import sys

import numpy as np
import openvino
from openvino import opset7 as ops

TEXT = "OpenVINO operation set, Gather-7, input indices: The values for indices are in the range [0, data[axis] - 1]."
data = ops.parameter([8], openvino.Type.f32)
indices = ops.parameter([2], openvino.Type.i64)
model = openvino.Model([ops.gather(data, indices, ops.constant(0))], [data, indices])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

expected = "an error, or the last element for -1"
try:
    observed = compiled([np.ones(8, np.float32), np.array([-1, 8])])[0]
    departs = observed.tolist() == [0, 0]
except RuntimeError as error:
    observed, departs = error, False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
