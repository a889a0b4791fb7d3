"""ONNX Runtime: min and max replace a NaN with the next update."""

import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = "ONNX operators, ScatterND-18, reduction: where the `f` is `+`, `*`, `max` or `min` as specified"
MODEL = """<ir_version: 10, opset_import: ["": 18]>
    g (float[1] data, int64[n, 1] indices, float[n] updates)
    => (float[1] output) { output = ScatterND <reduction = "max"> (data, indices, updates) }"""

session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())


def maximum(data: float, *updates: float) -> float:
    feeds = {"data": np.array([data], np.float32), "indices": np.zeros((len(updates), 1), np.int64)}
    return float(session.run(None, feeds | {"updates": np.array(updates, np.float32)})[0][0])


nan = float("nan")
results = {"max(nan, 5)": maximum(nan, 5), "max(1, nan, 5)": maximum(1, nan, 5), "max(1, 5, nan)": maximum(1, 5, nan)}
expected = "the same for any order of the updates: nan, or none"
observed = ", ".join(f"{call} = {value}" for call, value in results.items())
departs = len({str(value) for value in results.values()}) > 1

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
