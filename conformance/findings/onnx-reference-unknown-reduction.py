"""ONNX reference evaluator: A reduction that the operator does not list is computed, or treated as none."""

import sys

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

TEXT = "ONNX operators, ScatterND-16, attribute reduction: Type of reduction to apply: none (default), add, mul."
MODEL = """<ir_version: 10, opset_import: ["": 16]>
    g (float[4] data, int64[1, 1] indices, float[1] updates)
    => (float[4] output) { output = ScatterND <reduction = "ADD"> (data, indices, updates) }"""

expected = "an error: no such reduction"
try:
    result = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(
        None, {"data": np.ones(4, np.float32), "indices": np.array([[1]]), "updates": np.array([5], np.float32)}
    )[0]
    observed, departs = result, True
except Exception as error:
    observed, departs = f"{type(error).__name__}: {error}", False

print("release  ", "onnx", onnx.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
