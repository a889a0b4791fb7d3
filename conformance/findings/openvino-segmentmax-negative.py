"""OpenVINO: SegmentMax writes before its result if a segment id is negative."""

import signal
import subprocess
import sys

import numpy as np
import openvino
from openvino import opset16 as ops

TEXT = "OpenVINO operation set, SegmentMax-16, input segment_ids: segment_ids: 1D Tensor of sorted non-negative numbers"


def call() -> None:
    data = ops.parameter([2, 2], openvino.Type.f32)
    segments = ops.parameter([2], openvino.Type.i64)
    number = ops.parameter([], openvino.Type.i64)
    model = openvino.Model([ops.segment_max(data, segments, number, fill_mode="ZERO")], [data, segments, number])
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    for _ in range(100):
        result = compiled([np.ones((2, 2), np.float32), np.array([-1, 0]), np.int64(2)])[0]
    print("         ", result.ravel(), flush=True)


if len(sys.argv) > 1:
    try:
        call()
    except RuntimeError:
        sys.exit(3)
    sys.exit()
status = subprocess.run([sys.executable, __file__, "call"], stderr=subprocess.DEVNULL).returncode
expected = "an error: segment id -1"
observed = {0: "a result", 3: "an error"}.get(status) or f"the process ends with {signal.Signals(-status).name}"
departs = status != 3

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
