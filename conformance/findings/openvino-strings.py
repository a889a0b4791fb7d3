"""OpenVINO: Only Gather supports strings."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = "OpenVINO operation set, GatherND-8, types: T: any supported type."
expected = "['c'], as Gather-8 gives"
try:
    data = ops.parameter([3], openvino.Type.string)
    indices = ops.parameter([1, 1], openvino.Type.i64)
    model = openvino.Model([ops.gather_nd(data, indices)], [data, indices])
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    observed, departs = compiled([np.array(["a", "b", "c"]), np.array([[2]])])[0], False
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], True

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
