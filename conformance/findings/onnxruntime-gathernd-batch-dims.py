"""ONNX Runtime: GatherND accepts unequal batch dimensions if one divides the other."""

import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = (
    "ONNX operators, GatherND-13, point 2: The first `b` dimensions of the shape of `indices` tensor and `data` "
    "tensor must be equal."
)
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[b, 3] data, int64[c, 1] indices)
    => (float[d] output) { output = GatherND <batch_dims = 1> (data, indices) }"""

data = np.array([[0, 1, 2], [3, 4, 5]], np.float32)
expected = "an error: the batch dimensions are 2 and 4"
try:
    session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
    observed = session.run(None, {"data": data, "indices": np.full((4, 1), 2)})[0]
    departs = True
except Exception as error:  # of onnxruntime's own classes
    observed = str(error)
    departs = False

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
