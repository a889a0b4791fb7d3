"""OpenVINO: min and max ignore a NaN update."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = "OpenVINO operation set, ScatterElementsUpdate-12: output[indices[i]] = max(updates[i], output[indices[i]])"
data = ops.parameter([2], openvino.Type.f32)
indices = ops.parameter([2], openvino.Type.i64)
updates = ops.parameter([2], openvino.Type.f32)
output = ops.scatter_elements_update(data, indices, updates, ops.constant(0), "max")
model = openvino.Model([output], [data, indices, updates])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
result = compiled([np.array([2, np.nan], np.float32), np.array([0, 1]), np.array([np.nan, 1], np.float32)])[0]

expected = "a rule that treats data and updates alike, such as [nan nan]"
observed = result.ravel()
departs = bool(np.isnan(result).sum() == 1)

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
