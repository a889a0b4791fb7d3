"""OpenVINO: Sums and products of float16 are computed in float32 and rounded once."""

import sys

import numpy as np
import onnx.parser
import openvino

TEXT = (
    "ONNX operators, ScatterND-18, reduction: output[tuple(indices[idx])] = f(output[tuple(indices[idx])], "
    "updates[idx])"
)
MODEL = """<ir_version: 10, opset_import: ["": 18]>
    g (float16[1] data, int64[2, 1] indices, float16[2] updates)
    => (float16[1] output) { output = ScatterND <reduction = "add"> (data, indices, updates) }"""

model = openvino.Core().read_model(onnx.parser.parse_model(MODEL).SerializeToString())
inputs = [np.array([2048], np.float16), np.zeros((2, 1), np.int64), np.ones(2, np.float16)]
result = openvino.compile_model(model, "CPU")(inputs)[0]
expected = "2048, where the output is a float16 after every step"
observed = float(result[0])
departs = observed != 2048

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
