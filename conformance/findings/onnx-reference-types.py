"""ONNX reference evaluator: Types are not checked."""

import sys

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

TEXT = "ONNX operators, GatherND-13, type constraints: indices: tensor(int64)"
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[3] data, int32[1, 1] indices)
    => (float[1] output) { output = GatherND (data, indices) }"""

expected = "an error: indices of int32"
try:
    result = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(
        None, {"data": np.array([0, 1, 2], np.float32), "indices": np.array([[2]], np.int32)}
    )[0]
    observed, departs = result, True
except Exception as error:
    observed, departs = f"{type(error).__name__}: {error}", False

print("release  ", "onnx", onnx.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
