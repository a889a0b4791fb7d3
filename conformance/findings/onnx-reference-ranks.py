"""ONNX reference evaluator: Ranks, axes and sizes that the specification excludes are accepted."""

import sys

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

TEXT = "ONNX operators, Gather-13: Given `data` tensor of rank r >= 1"
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float data, int64[1] indices)
    => (float[1] output) { output = Gather (data, indices) }"""

expected = "an error: data has rank 0"
try:
    result = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(
        None, {"data": np.float32(3), "indices": np.array([0])}
    )[0]
    observed, departs = result, True
except Exception as error:
    observed, departs = f"{type(error).__name__}: {error}", False

print("release  ", "onnx", onnx.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
