"""OpenVINO: Attributes that an ONNX operator does not have are ignored."""

import sys

import numpy as np
import onnx.parser
import openvino

TEXT = "ONNX operators, GatherElements-13, attributes: axis: Which axis to gather on."
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[3] data, int64[2] indices)
    => (float[2] output) { output = GatherElements <batch_dims = 0> (data, indices) }"""

expected = "an error: GatherElements has no attribute batch_dims"
try:
    model = openvino.Core().read_model(onnx.parser.parse_model(MODEL).SerializeToString())
    observed, departs = (
        openvino.compile_model(model, "CPU")([np.arange(3, dtype=np.float32), np.array([2, 0])])[0],
        True,
    )
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
