"""ONNX Runtime: TensorScatter in circular mode refuses a negative write index."""

import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = (
    'ONNX operators, TensorScatter-24, pseudocode: if mode == "circular": cache_sequence_idx = cache_sequence_idx'
    " % max_sequence_length"
)
MODEL = """<ir_version: 11, opset_import: ["": 24]>
    g (float[1, 4, 1] data, float[1, 1, 1] updates, int64[1] indices)
    => (float[1, 4, 1] output) { output = TensorScatter <mode = "circular"> (data, updates, indices) }"""

onnxruntime.set_default_logger_severity(4)  # the error is printed below
feeds = {"data": np.zeros((1, 4, 1), np.float32), "updates": np.ones((1, 1, 1), np.float32), "indices": np.array([-1])}
expected = "[0. 0. 0. 1.]: -1 modulo 4 is 3"
try:
    session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
    observed = session.run(None, feeds)[0].ravel()
    departs = False
except Exception as error:  # of onnxruntime's own classes
    observed = str(error).rpartition("Status Message: ")[2].strip()
    departs = True

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
