"""OpenVINO: Gather of strings refuses 8-bit indices."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = "OpenVINO operation set, Gather-8, types: T_IND: any supported integer types."
expected = {name: ["c", "a"] for name in ("int8", "uint8", "int16", "int64")}
observed = {}
for name in expected:
    data, indices = ops.parameter([3], openvino.Type.string), ops.parameter([2], openvino.Type(np.dtype(name)))
    model = openvino.Model([ops.gather(data, indices, ops.constant(0))], [data, indices])
    try:
        compiled = openvino.compile_model(model, "CPU")
        observed[name] = compiled([np.array(["a", "b", "c"]), np.array([2, 0], name)])[0].tolist()
    except RuntimeError as error:
        observed[name] = str(error).strip().splitlines()[-1]

departs = observed != expected

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
