"""OpenVINO: Sums and products of bfloat16 are not rounded to the nearest number."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = "OpenVINO operation set, ScatterElementsUpdate-12: output[indices[i]] *= updates[i]"
bfloat16 = openvino.Type.bf16
data, updates = ops.parameter([1], openvino.Type.f32), ops.parameter([1], openvino.Type.f32)
indices = ops.parameter([1], openvino.Type.i64)
halves = ops.convert(data, bfloat16), ops.convert(updates, bfloat16)
observed = {}
for name, reduction, values in (("1 + 0.005859375", "sum", (1, 0.005859375)),
                                ("1.0078125 * 1.5078125", "prod", (1.0078125, 1.5078125))):  # fmt: skip
    elements = ops.scatter_elements_update(halves[0], indices, halves[1], ops.constant(0), reduction)
    slices = ops.scatter_nd_update(halves[0], ops.unsqueeze(indices, ops.constant(1)), halves[1], reduction)
    outputs = [ops.convert(elements, openvino.Type.f32), ops.convert(slices, openvino.Type.f32)]
    compiled = openvino.compile_model(
        openvino.Model(outputs, [data, indices, updates]), "CPU", {"EXECUTION_MODE_HINT": "ACCURACY"}
    )
    start, update = (np.array([value], np.float32) for value in values)
    observed[name] = [float(result[0]) for result in compiled([start, np.array([0]), update]).values()]

expected = {"1 + 0.005859375": [1.0078125, 1.0078125], "1.0078125 * 1.5078125": [1.5234375, 1.5234375]}
departs = observed != expected

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
