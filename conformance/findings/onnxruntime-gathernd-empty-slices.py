"""ONNX Runtime: GatherND does not check indices if slices are empty."""

import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = "ONNX operators, GatherND-13, input indices: It is an error if any of the index values are out of bounds."
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[3, 0] data, int64[1, 1] indices)
    => (float[1, 0] output) { output = GatherND (data, indices) }"""

expected = "an error: index 7 on an axis of size 3"
try:
    session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
    result = session.run(None, {"data": np.zeros((3, 0), np.float32), "indices": np.array([[7]])})[0]
    observed = f"a result of shape {result.shape}"
    departs = True
except Exception as error:  # of onnxruntime's own classes
    observed = str(error)
    departs = False

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
