"""OpenVINO: Gather of an ONNX model returns zeros if an index is out of range."""

import sys

import numpy as np
import onnx.parser
import openvino

TEXT = "ONNX operators, Gather-13, input indices: It is an error if any of the index values are out of bounds."
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[8] data, int64[1] indices)
    => (float[1] output) { output = Gather (data, indices) }"""

model = openvino.Core().read_model(onnx.parser.parse_model(MODEL).SerializeToString())
expected = "an error: index 8 on an axis of size 8"
try:
    observed, departs = openvino.compile_model(model, "CPU")([np.ones(8, np.float32), np.array([8])])[0], True
except RuntimeError as error:
    observed, departs = error, False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
