"""OpenVINO: ScatterNDUpdate without a reduction: the update that remains at a repeated index varies from run to run."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterNDUpdate-15, input indices: If multiple indices point to the same output "
    "location then the order of updating the values is undefined."
)
data = ops.parameter([4], openvino.Type.i32)
indices = ops.parameter([-1, 1], openvino.Type.i64)
updates = ops.parameter([-1], openvino.Type.i32)
model = openvino.Model([ops.scatter_nd_update(data, indices, updates)], [data, indices, updates])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
n = 1_000_000
inputs = [np.zeros(4, np.int32), np.arange(n)[:, None] % 4, np.arange(n, dtype=np.int32)]
results: set[tuple[int, ...]] = set()
runs = 0
while runs < 20 or (runs < 1000 and len(results) == 1):
    results.add(tuple(compiled(inputs)[0].tolist()))
    runs += 1

expected = f"the last updates {(n - 4, n - 3, n - 2, n - 1)}, or others, but the same in every run"
observed = f"{len(results)} different results in {runs} runs, such as {min(results)}"
departs = len(results) > 1

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 4)
