"""OpenVINO: ScatterNDUpdate with index tuples of length 0 does nothing."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterNDUpdate-15, NumPy snippet: for ndidx in np.ndindex(indices.shape[:-1]): "
    "out[tuple(indices[ndidx])] = func(..., updates[ndidx])"
)
data = ops.parameter([3], openvino.Type.f32)
indices = ops.parameter([1, 0], openvino.Type.i64)
updates = ops.parameter([1, 3], openvino.Type.f32)
model = openvino.Model([ops.scatter_nd_update(data, indices, updates)], [data, indices, updates])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
result = compiled([np.zeros(3, np.float32), np.zeros((1, 0), np.int64), np.ones((1, 3), np.float32)])[0]

expected = "[1. 1. 1.]: the update replaces data"
observed = result.ravel()
departs = bool((result != 1).any())

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
