"""ONNX Runtime: ScatterND with a reduction loses updates of repeated indices: its threads race."""

import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = (
    "ONNX operators, ScatterND-18, reduction: for idx in np.ndindex(update_indices): output[tuple(indices[idx])] "
    "= f(output[tuple(indices[idx])], updates[idx])"
)
MODEL = """<ir_version: 10, opset_import: ["": 18]>
    g (int32[4] data, int64[n, 1] indices, int32[n] updates)
    => (int32[4] output) { output = ScatterND <reduction = "add"> (data, indices, updates) }"""

n = 1_000_000
session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
feeds = {"data": np.zeros(4, np.int32), "indices": np.arange(n)[:, None] % 4, "updates": np.ones(n, np.int32)}
sums: set[tuple[int, ...]] = set()
runs = 0
while runs < 20 or (runs < 1000 and len(sums) == 1):
    sums.add(tuple(session.run(None, feeds)[0].tolist()))
    runs += 1

expected = f"{(n // 4,) * 4} in every run"
observed = f"{len(sums)} different results in {runs} runs, such as {min(sums)}"
departs = sums != {(n // 4,) * 4}

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 4)
