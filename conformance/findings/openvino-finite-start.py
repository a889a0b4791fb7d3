"""OpenVINO: Without the initial value, the maximum of -inf is the lowest finite number."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterElementsUpdate-12, attribute use_init_val: false - data input elements are not used"
)
data = ops.parameter([1], openvino.Type.f32)
indices = ops.parameter([2], openvino.Type.i64)
updates = ops.parameter([2], openvino.Type.f32)
output = ops.scatter_elements_update(data, indices, updates, ops.constant(0), "max", False)
model = openvino.Model([output], [data, indices, updates])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
result = compiled([np.zeros(1, np.float32), np.zeros(2, np.int64), np.full(2, -np.inf, np.float32)])[0]

expected = "[-inf], the maximum of -inf and -inf"
observed = result.ravel()
departs = bool(result[0] != -np.inf)

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
