"""OpenVINO: ScatterUpdate of strings crashes the process."""

import signal
import subprocess
import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = "OpenVINO operation set, ScatterUpdate-3, types: T_NUMERIC: any numeric type."


def call() -> None:
    data, updates = ops.parameter([3], openvino.Type.string), ops.parameter([1], openvino.Type.string)
    indices = ops.parameter([1], openvino.Type.i64)
    scatter = ops.scatter_update(data, indices, updates, ops.constant(0))
    compiled = openvino.compile_model(openvino.Model([scatter], [data, indices, updates]), "CPU")
    print("         ", compiled([np.array(["a", "b", "c"]), np.array([2]), np.array(["z"])])[0], flush=True)


if len(sys.argv) > 1:
    try:
        call()
    except RuntimeError:
        sys.exit(3)
    sys.exit()
status = subprocess.run([sys.executable, __file__, "call"], stderr=subprocess.DEVNULL).returncode
expected = "an error: strings are not numeric"
observed = {0: "a result", 3: "an error"}.get(status) or f"the process ends with {signal.Signals(-status).name}"
departs = status != 3

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
