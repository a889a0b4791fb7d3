"""ONNX reference evaluator: min and max of ScatterElements ignore a NaN update, but those of ScatterND do not."""

import sys

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

TEXT = "ONNX operators, ScatterElements-18, reduction: where the `f` is `+`, `*`, `max` or `min` as specified"
MODEL = """<ir_version: 10, opset_import: ["": 18]>
    g (float[2] data, int64[1] indices, float[1] updates)
    => (float[2] output) { output = ScatterElements <reduction = "max"> (data, indices, updates) }"""

expected = "[0. nan], as ScatterND of the same evaluator gives; or the same in both"
try:
    result = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(
        None, {"data": np.zeros(2, np.float32), "indices": np.array([1]), "updates": np.array([np.nan], np.float32)}
    )[0]
    observed, departs = result, not np.isnan(result).any()
except Exception as error:
    observed, departs = f"{type(error).__name__}: {error}", False

print("release  ", "onnx", onnx.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
