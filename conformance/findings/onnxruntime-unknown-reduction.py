"""ONNX Runtime: A reduction that the operator does not list is computed, or treated as none."""

import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = "ONNX operators, ScatterND-16, attribute reduction: Type of reduction to apply: none (default), add, mul."
MODEL = """<ir_version: 10, opset_import: ["": 16]>
    g (float[4] data, int64[1, 1] indices, float[1] updates)
    => (float[4] output) { output = ScatterND <reduction = "ADD"> (data, indices, updates) }"""

expected = "an error: no such reduction"
feeds = {"data": np.ones(4, np.float32), "indices": np.array([[1]]), "updates": np.array([5], np.float32)}
try:
    session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
    observed = f"{session.run(None, feeds)[0]}: the element is overwritten"
    departs = True
except Exception as error:  # of onnxruntime's own classes
    observed = str(error)
    departs = False

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
