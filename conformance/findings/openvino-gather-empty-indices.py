"""OpenVINO: Gather with empty indices crashes the process."""

import signal
import subprocess
import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, Gather-8, outputs: The shape of the output tensor is data.shape[:axis] + "
    "indices.shape[batch_dims:] + data.shape[axis + 1:]"
)


def call() -> None:
    data = ops.parameter([8], openvino.Type.f32)
    indices = ops.parameter([0], openvino.Type.i64)
    model = openvino.Model([ops.gather(data, indices, ops.constant(0))], [data, indices])
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    print("         ", compiled([np.ones(8, np.float32), np.zeros(0, np.int64)])[0].ravel()[:8], flush=True)


if len(sys.argv) > 1:
    try:
        call()
    except RuntimeError:
        sys.exit(3)
    sys.exit()
status = subprocess.run([sys.executable, __file__, "call"], stderr=subprocess.DEVNULL).returncode
expected = "an empty result"
observed = {0: "a result", 3: "an error"}.get(status) or f"the process ends with {signal.Signals(-status).name}"
departs = status != 0

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
