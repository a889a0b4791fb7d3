"""OpenVINO: Data of ONNX models may have types that the version does not list."""

import sys

import numpy as np
import onnx.parser
import openvino

TEXT = "ONNX operators, Gather-11, type constraints: T: tensor(float16), tensor(float), tensor(double)"
MODEL = """<ir_version: 10, opset_import: ["": 11]>
    g (bfloat16[3] data, int64[2] indices) => (bfloat16[2] output) { output = Gather (data, indices) }"""

expected = "an error: data of bfloat16 in version 11"
try:
    model = openvino.Core().read_model(onnx.parser.parse_model(MODEL).SerializeToString())
    observed, departs = (
        openvino.compile_model(model, "CPU")(
            [openvino.Tensor(np.zeros(3, np.uint16), [3], openvino.Type.bf16), np.array([2, 0])]
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
