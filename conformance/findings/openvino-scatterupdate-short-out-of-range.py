"""OpenVINO: ScatterUpdate of short integer data writes before data if an index is negative."""

import signal
import subprocess
import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterUpdate-3, input indices: If an index points to a non-existing output tensor "
    "element or is negative, then an exception is raised."
)


def call() -> None:
    data = ops.parameter([3], openvino.Type.i64)
    indices = ops.parameter([1], openvino.Type.i64)
    updates = ops.parameter([1], openvino.Type.i64)
    model = openvino.Model([ops.scatter_update(data, indices, updates, ops.constant(0))], [data, indices, updates])
    compiled = openvino.compile_model(model, "CPU")
    for _ in range(100):
        result = compiled([np.arange(3), np.array([-1]), np.array([9])])[0]
    print("         ", result, flush=True)


if len(sys.argv) > 1:
    try:
        call()
    except RuntimeError:
        sys.exit(3)
    sys.exit()
status = subprocess.run([sys.executable, __file__, "call"], stderr=subprocess.DEVNULL).returncode
expected = "an error: index -1 of ScatterUpdate"
observed = {0: "a result", 3: "an error"}.get(status) or f"the process ends with {signal.Signals(-status).name}"
departs = status != 3

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
