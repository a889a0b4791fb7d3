"""ONNX reference evaluator: GatherElements of a column of 64 or more rows returns the wrong rows."""

import sys

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

TEXT = "ONNX operators, GatherElements-13: out[i][j][k] = input[index[i][j][k]][j][k] if axis = 0"
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[64, 1] data, int64[64, 1] indices)
    => (float[64, 1] output) { output = GatherElements (data, indices) }"""

expected = "64 times element 0"
try:
    result = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(
        None, {"data": np.arange(64, dtype=np.float32)[:, None], "indices": np.zeros((64, 1), np.int64)}
    )[0]
    observed, departs = result, bool(result.any())
except Exception as error:
    observed, departs = f"{type(error).__name__}: {error}", False

print("release  ", "onnx", onnx.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
