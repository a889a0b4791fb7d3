"""ONNX reference evaluator: Scatter (opsets 9 and 10) is not implemented."""

import sys

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

TEXT = (
    "ONNX operators, Scatter-9: Given `data`, `updates` and `indices` input tensors of rank r >= 1, write the "
    "values provided by `updates` into the first input, `data`"
)
MODEL = """<ir_version: 10, opset_import: ["": 10]>
    g (float[4] data, int64[1] indices, float[1] updates)
    => (float[4] output) { output = Scatter (data, indices, updates) }"""

expected = "[0. 5. 0. 0.]"
try:
    result = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(
        None, {"data": np.zeros(4, np.float32), "indices": np.array([1]), "updates": np.array([5], np.float32)}
    )[0]
    observed, departs = result, False
except Exception as error:
    observed, departs = f"{type(error).__name__}: {error}", True

print("release  ", "onnx", onnx.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
