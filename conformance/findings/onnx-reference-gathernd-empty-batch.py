"""ONNX reference evaluator: GatherND fails if a batch dimension is 0."""

import sys

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

TEXT = (
    "ONNX operators, GatherND-13, point 2: The first `b` dimensions of the shape of `indices` tensor and `data` "
    "tensor must be equal."
)
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[0, 3] data, int64[0, 1] indices)
    => (float[0] output) { output = GatherND <batch_dims = 1> (data, indices) }"""

expected = "an empty result of shape (0,)"
try:
    result = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(
        None, {"data": np.zeros((0, 3), np.float32), "indices": np.zeros((0, 1), np.int64)}
    )[0]
    observed, departs = result, False
except Exception as error:
    observed, departs = f"{type(error).__name__}: {error}", True

print("release  ", "onnx", onnx.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
