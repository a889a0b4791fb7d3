"""OpenVINO: Gather reads beyond the end of indices if data has more batches."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, Gather-8, attribute batch_dims: It requires the first b dimensions in `data` and "
    "`indices` tensors to be equal."
)
data = ops.parameter([-1, 3], openvino.Type.f32)
indices = ops.parameter([-1, 1], openvino.Type.i64)
model = openvino.Model([ops.gather(data, indices, ops.constant(1), 1)], [data, indices])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

expected = "an error: 400 batches of data, 2 of indices"
try:
    result = compiled([np.ones((400, 3), np.float32), np.ones((2, 1), np.int64)])[0]
    observed, departs = f"a result for {len(result)} batches, {int((result == 0).sum())} of them 0", True
except RuntimeError as error:
    observed, departs = error, False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
