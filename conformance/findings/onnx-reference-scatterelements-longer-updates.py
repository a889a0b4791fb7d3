"""ONNX reference evaluator: ScatterElements ignores updates beyond the shape of indices."""

import sys

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

TEXT = (
    "ONNX operators, ScatterElements-18, input updates: updates: Tensor of rank r >=1 (same rank and shape as indices)"
)
MODEL = """<ir_version: 10, opset_import: ["": 18]>
    g (float[3] data, int64[1] indices, float[2] updates)
    => (float[3] output) { output = ScatterElements (data, indices, updates) }"""

expected = "an error: updates must have the shape of indices, (1,)"
try:
    result = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(
        None, {"data": np.zeros(3, np.float32), "indices": np.array([1]), "updates": np.array([7, 8], np.float32)}
    )[0]
    observed, departs = result, True
except Exception as error:
    observed, departs = f"{type(error).__name__}: {error}", False

print("release  ", "onnx", onnx.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
