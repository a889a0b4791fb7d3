"""OpenVINO: min and max compare unsigned integers as if they were signed."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = "OpenVINO operation set, ScatterElementsUpdate-12: output[indices[i]] = max(updates[i], output[indices[i]])"
u32, i64 = openvino.Type.u32, openvino.Type.i64
inputs = [np.array([5], np.uint32), np.array([0]), np.array([2**32 - 1], np.uint32)]
observed = {}
for reduction in ("max", "min"):
    data, indices, updates = ops.parameter([1], u32), ops.parameter([1], i64), ops.parameter([1], u32)
    elements = ops.scatter_elements_update(data, indices, updates, ops.constant(0), reduction)
    slices = ops.scatter_nd_update(data, ops.unsqueeze(indices, ops.constant(1)), updates, reduction)
    model = openvino.Model([elements, slices], [data, indices, updates])
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    observed[reduction] = [result.tolist() for result in compiled(inputs).values()]

expected = {"max": [[4294967295], [4294967295]], "min": [[5], [5]]}
departs = observed != expected

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
