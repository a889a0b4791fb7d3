"""ONNX reference evaluator: GatherElements takes an out-of-range index modulo the size."""

import sys

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

TEXT = (
    "ONNX operators, GatherElements-13, input indices: All index values are expected to be within bounds [-s, "
    "s-1] along axis of size s. It is an error if any of the index values are out of bounds."
)
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[8] data, int64[1] indices)
    => (float[1] output) { output = GatherElements (data, indices) }"""

expected = "an error: index 99 on an axis of size 8"
try:
    result = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(
        None, {"data": np.arange(8, dtype=np.float32), "indices": np.array([99])}
    )[0]
    observed, departs = result, True
except Exception as error:
    observed, departs = f"{type(error).__name__}: {error}", False

print("release  ", "onnx", onnx.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
