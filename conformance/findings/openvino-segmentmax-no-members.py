"""OpenVINO: SegmentMax of no rows returns uninitialized memory."""

import sys

import numpy as np
import openvino
from openvino import opset16 as ops

TEXT = (
    "OpenVINO operation set, SegmentMax-16: When there are no values in a segment, output[segment] is defined by "
    "fill_mode attribute."
)
data = ops.parameter([0, 2], openvino.Type.f32)
segments = ops.parameter([0], openvino.Type.i64)
number = ops.parameter([], openvino.Type.i64)
model = openvino.Model([ops.segment_max(data, segments, number, fill_mode="ZERO")], [data, segments, number])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
rubbish = [np.full(4000, 7, np.float32) for _ in range(100)]  # so that freed memory is not zero
del rubbish
result = compiled([np.zeros((0, 2), np.float32), np.zeros(0, np.int64), np.int64(2000)])[0]

expected = "4000 zeros"
observed = f"{np.count_nonzero(result)} of {result.size} are not 0, such as {result[result != 0][:3]}"
departs = bool(result.any())

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 4)
