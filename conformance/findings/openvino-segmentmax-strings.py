"""OpenVINO: SegmentMax accepts strings."""

import sys

import numpy as np
import openvino
from openvino import opset16 as ops

TEXT = "OpenVINO operation set, SegmentMax-16, types: T: any supported numerical data type."
data, segments = ops.parameter([3, 1], openvino.Type.string), ops.parameter([3], openvino.Type.i64)
expected = "an error: text is not numerical"
try:
    model = openvino.Model([ops.segment_max(data, segments, fill_mode="ZERO")], [data, segments])
    result = openvino.compile_model(model, "CPU")([np.array([["ant"], ["bee"], ["cat"]]), np.array([0, 0, 1])])[0]
    observed, departs = result.tolist(), True
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
