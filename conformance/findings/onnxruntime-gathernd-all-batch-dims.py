"""ONNX Runtime: GatherND accepts a batch_dims that leaves no axis to index."""

import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = "ONNX operators, GatherND-13, point 3: b < min(q, r) is to be honored."
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[2] data, int64[2, 0] indices)
    => (float[n] output) { output = GatherND <batch_dims = 1> (data, indices) }"""

expected = "an error: batch_dims is 1, and data has rank 1"
try:
    session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
    result = session.run(None, {"data": np.array([1, 2], np.float32), "indices": np.zeros((2, 0), np.int64)})[0]
    observed, departs = result.tolist(), True
except Exception as error:
    observed, departs = str(error).strip().splitlines()[-1], False

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
