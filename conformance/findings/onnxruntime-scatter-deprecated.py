"""ONNX Runtime: The deprecated Scatter-11 is refused."""

import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = (
    "ONNX operators, Scatter-11: This operator is deprecated. Please use ScatterElements, which provides the same "
    "functionality."
)
MODEL = """<ir_version: 8, opset_import: ["": 11]>
    g (float[3] data, int64[1] indices, float[1] updates)
    => (float[3] output) { output = Scatter (data, indices, updates) }"""

onnxruntime.set_default_logger_severity(4)  # the error is printed below
feeds = {"data": np.zeros(3, np.float32), "indices": np.array([1]), "updates": np.ones(1, np.float32)}
expected = "[0. 1. 0.], or an error"
try:
    session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
    observed = session.run(None, feeds)[0]
    departs = False
except Exception as error:  # of onnxruntime's own classes
    observed = str(error)
    departs = True

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
