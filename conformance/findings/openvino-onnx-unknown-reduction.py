"""OpenVINO: At opset 16, the reductions max and min of opset 18 are computed."""

import sys

import numpy as np
import onnx.parser
import openvino

TEXT = "ONNX operators, ScatterND-16, attribute reduction: Type of reduction to apply: none (default), add, mul."
MODEL = """<ir_version: 10, opset_import: ["": 16]>
    g (float[2] data, int64[2, 1] indices, float[2] updates)
    => (float[2] output) { output = ScatterND <reduction = "max"> (data, indices, updates) }"""

expected = "an error: version 16 has no max"
try:
    model = openvino.Core().read_model(onnx.parser.parse_model(MODEL).SerializeToString())
    observed, departs = (
        openvino.compile_model(model, "CPU")(
            [np.array([1, 9], np.float32), np.array([[0], [1]]), np.full(2, 5, np.float32)]
        )[0],
        True,
    )
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
