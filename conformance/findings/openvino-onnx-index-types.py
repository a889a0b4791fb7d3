"""OpenVINO: Indices of ONNX models may have any integer type."""

import sys

import numpy as np
import onnx.parser
import openvino

TEXT = "ONNX operators, Gather-13, type constraints: Tind: tensor(int32), tensor(int64)"
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[3] data, int16[2] indices) => (float[2] output) { output = Gather (data, indices) }"""

expected = "an error: indices of int16"
try:
    model = openvino.Core().read_model(onnx.parser.parse_model(MODEL).SerializeToString())
    observed, departs = (
        openvino.compile_model(model, "CPU")([np.arange(3, dtype=np.float32), np.array([2, 0], np.int16)])[0],
        True,
    )
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
