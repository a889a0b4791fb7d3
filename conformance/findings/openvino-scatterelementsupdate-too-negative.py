"""OpenVINO: ScatterElementsUpdate writes before data if an index is below -size."""

import signal
import subprocess
import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, ScatterElementsUpdate-12, input indices: If an index points to non-existing element "
    "then exception is raised."
)


def call() -> None:
    data = ops.parameter([8], openvino.Type.f32)
    indices = ops.parameter([1], openvino.Type.i64)
    updates = ops.parameter([1], openvino.Type.f32)
    output = ops.scatter_elements_update(data, indices, updates, ops.constant(0))
    model = openvino.Model([output], [data, indices, updates])
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    inputs = [np.ones(8, np.float32), np.array([-9]), np.ones(1, np.float32)]
    print("         ", compiled(inputs)[0].ravel()[:8], flush=True)


if len(sys.argv) > 1:
    try:
        call()
    except RuntimeError:
        sys.exit(3)
    sys.exit()
status = subprocess.run([sys.executable, __file__, "call"], stderr=subprocess.DEVNULL).returncode
expected = "an error: index -9 on an axis of size 8"
observed = {0: "a result", 3: "an error"}.get(status) or f"the process ends with {signal.Signals(-status).name}"
departs = status != 3

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
