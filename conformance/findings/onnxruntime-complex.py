"""ONNX Runtime: Complex numbers are not supported."""

import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = "ONNX operators, Gather-13, type constraints: T: tensor(complex64), tensor(complex128)"
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (complex64[3] data, int64[1] indices)
    => (complex64[1] output) { output = Gather (data, indices) }"""

onnxruntime.set_default_logger_severity(4)  # the error is printed below
data = np.array([1, 2, 3j], np.complex64)
expected = "[3j]"
try:
    session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
    observed = session.run(None, {"data": data, "indices": np.array([2])})[0]
    departs = False
except Exception as error:  # of onnxruntime's own classes
    observed = str(error)
    departs = True

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
