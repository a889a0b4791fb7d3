"""ONNX Runtime: ScatterND without a reduction: the update that remains at a repeated index varies from run to run."""

import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = (
    "ONNX operators, ScatterND-18: The order of iteration in the above loop is not specified. In particular, "
    "indices should not have duplicate entries"
)
MODEL = """<ir_version: 10, opset_import: ["": 18]>
    g (int32[4] data, int64[n, 1] indices, int32[n] updates)
    => (int32[4] output) { output = ScatterND (data, indices, updates) }"""

n = 1_000_000
session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
feeds = {"data": np.zeros(4, np.int32), "indices": np.arange(n)[:, None] % 4, "updates": np.arange(n, dtype=np.int32)}
results: set[tuple[int, ...]] = set()
runs = 0
while runs < 20 or (runs < 1000 and len(results) == 1):
    results.add(tuple(session.run(None, feeds)[0].tolist()))
    runs += 1

expected = f"the last updates {(n - 4, n - 3, n - 2, n - 1)}, or others, but the same in every run"
observed = f"{len(results)} different results in {runs} runs, such as {min(results)}"
departs = len(results) > 1

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 4)
