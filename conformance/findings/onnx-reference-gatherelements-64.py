"""ONNX reference evaluator: GatherElements fails on an axis of size 64 or more."""

import sys

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

TEXT = "ONNX operators, GatherElements-13: GatherElements takes two inputs `data` and `indices` of the same rank r >= 1"
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[64] data, int64[1] indices)
    => (float[1] output) { output = GatherElements (data, indices) }"""

expected = "[5.]"
try:
    result = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(
        None, {"data": np.arange(64, dtype=np.float32), "indices": np.array([5])}
    )[0]
    observed, departs = result, False
except Exception as error:
    observed, departs = f"{type(error).__name__}: {error}", True

print("release  ", "onnx", onnx.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
