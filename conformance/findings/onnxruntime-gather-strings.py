"""ONNX Runtime: Gather of strings copies only the first element of each slice."""

import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = "ONNX operators, Gather-13: Each entry in `indices` produces a `r-1` dimensional slice of the input tensor."
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (string[2, 3] data, int64[1] indices)
    => (string[1, 3] output) { output = Gather (data, indices) }"""

session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
data = np.array([["a", "b", "c"], ["d", "e", "f"]], object)
result = session.run(None, {"data": data, "indices": np.array([1])})[0]

expected = "[['d' 'e' 'f']]"
observed = result
departs = result.tolist() != [["d", "e", "f"]]

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
