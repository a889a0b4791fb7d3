"""ONNX reference evaluator: GatherElements refuses indices that are smaller than data in dimensions other than axis."""

import sys

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

TEXT = (
    "ONNX operators, GatherElements-13: Its output shape is the same as the shape of `indices`; indices: with the"
    " same rank r as the input"
)
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[2, 3] data, int64[1, 2] indices)
    => (float[1, 2] output) { output = GatherElements (data, indices) }"""

expected = "[[3. 1.]]"
try:
    result = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(
        None, {"data": np.arange(6, dtype=np.float32).reshape(2, 3), "indices": np.array([[1, 0]])}
    )[0]
    observed, departs = result, False
except Exception as error:
    observed, departs = f"{type(error).__name__}: {error}", True

print("release  ", "onnx", onnx.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
