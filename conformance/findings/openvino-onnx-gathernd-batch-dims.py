"""OpenVINO: GatherND of an ONNX model repeats a batch dimension of 1."""

import sys

import numpy as np
import onnx.parser
import openvino

TEXT = (
    "ONNX operators, GatherND-13, point 2: The first `b` dimensions of the shape of `indices` tensor and `data` "
    "tensor must be equal."
)
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[1, 3] data, int64[4, 1] indices)
    => (float[4] output) { output = GatherND <batch_dims = 1> (data, indices) }"""

expected = "an error: batch dimensions 1 and 4"
try:
    model = openvino.Core().read_model(onnx.parser.parse_model(MODEL).SerializeToString())
    observed, departs = (
        openvino.compile_model(model, "CPU")([np.ones((1, 3), np.float32), np.zeros((4, 1), np.int64)])[0],
        True,
    )
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
