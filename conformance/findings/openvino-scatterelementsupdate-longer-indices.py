"""OpenVINO: ScatterElementsUpdate writes beyond data if indices are larger than data in dimensions other than axis."""

import signal
import subprocess
import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterElementsUpdate-12: The dimensions of updates tensor are allowed to be less or"
    " equal to the corresponding dimensions of data tensor, but the dimension pointed by axis can be also greater"
)


def call() -> None:
    data = ops.parameter([3, 1], openvino.Type.f32)
    indices = ops.parameter([1, 100000], openvino.Type.i64)
    updates = ops.parameter([1, 100000], openvino.Type.f32)
    output = ops.scatter_elements_update(data, indices, updates, ops.constant(0))
    model = openvino.Model([output], [data, indices, updates])
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    inputs = [np.zeros((3, 1), np.float32), np.zeros((1, 100000), np.int64), np.ones((1, 100000), np.float32)]
    print("         ", compiled(inputs)[0].ravel()[:8], flush=True)


if len(sys.argv) > 1:
    try:
        call()
    except RuntimeError:
        sys.exit(3)
    sys.exit()
status = subprocess.run([sys.executable, __file__, "call"], stderr=subprocess.DEVNULL).returncode
expected = "an error: off the axis, indices are longer than data"
observed = {0: "a result", 3: "an error"}.get(status) or f"the process ends with {signal.Signals(-status).name}"
departs = status != 3

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
