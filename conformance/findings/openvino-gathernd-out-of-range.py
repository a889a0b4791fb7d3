"""OpenVINO: GatherND reads memory outside data if an index is out of range."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, GatherND-8, input indices: It requires all indices from this tensor to be in the "
    "range [-s, s-1]"
)
data = ops.parameter([8], openvino.Type.f32)
indices = ops.parameter([1000, 1], openvino.Type.i64)
model = openvino.Model([ops.gather_nd(data, indices)], [data, indices])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

expected = "an error: indices 8 to 1007 on an axis of size 8"
try:
    values = set(compiled([np.ones(8, np.float32), np.arange(8, 1008)[:, None]])[0].ravel().tolist())
    observed, departs = f"{len(values)} different values, such as {sorted(values)[-3:]}", True
except RuntimeError as error:
    observed, departs = error, False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
