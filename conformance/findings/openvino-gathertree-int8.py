"""OpenVINO: GatherTree refuses 8-bit integers, bool, bfloat16 and float8."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = "OpenVINO operation set, GatherTree-1, types: T: any supported numeric type."
tree = np.zeros((1, 1, 1), np.int8)
expected = "[[[0]]]"
try:
    steps = ops.parameter([1, 1, 1], openvino.Type.i8)
    parents = ops.parameter([1, 1, 1], openvino.Type.i8)
    lengths = ops.parameter([1], openvino.Type.i8)
    end = ops.parameter([], openvino.Type.i8)
    model = openvino.Model([ops.gather_tree(steps, parents, lengths, end)], [steps, parents, lengths, end])
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    observed, departs = compiled([tree, tree, np.ones(1, np.int8), np.int8(9)])[0], False
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], True

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
