"""OpenVINO: TensorScatter of an ONNX model is not converted."""

import sys

import onnx.parser
import openvino

TEXT = "ONNX operators, TensorScatter-24: TensorScatter is a generic tensor update operation"
MODEL = """<ir_version: 11, opset_import: ["": 24]>
    g (float[1, 4, 1] data, float[1, 1, 1] updates, int64[1] indices)
    => (float[1, 4, 1] output) { output = TensorScatter (data, updates, indices) }"""

expected = "the model is read"
try:
    model = openvino.Core().read_model(onnx.parser.parse_model(MODEL).SerializeToString())
    observed, departs = model, False
except RuntimeError as error:
    observed, departs = next(line for line in str(error).splitlines() if "conversion rule" in line), True

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
