"""ONNX reference evaluator: ScatterND broadcasts updates of the wrong shape."""

import sys

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

TEXT = "ONNX operators, ScatterND-18: the shape of `updates` must equal indices.shape[0:q-1] ++ data.shape[k:r]"
MODEL = """<ir_version: 10, opset_import: ["": 18]>
    g (float[2, 3] data, int64[1, 1] indices, float[1, 1] updates)
    => (float[2, 3] output) { output = ScatterND (data, indices, updates) }"""

expected = "an error: updates must have the shape (1, 3)"
try:
    result = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(
        None, {"data": np.zeros((2, 3), np.float32), "indices": np.array([[1]]), "updates": np.array([[7]], np.float32)}
    )[0]
    observed, departs = result, True
except Exception as error:
    observed, departs = f"{type(error).__name__}: {error}", False

print("release  ", "onnx", onnx.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
