"""OpenVINO: Gather from short integer data returns uninitialized memory if an index is out of range."""

import os
import subprocess
import sys

import numpy as np
import openvino
from openvino import opset7, opset8

TEXT = (
    "OpenVINO operation set, Gather-8: If index value exceed allowed range output data for corresponding index will "
    "be filled with zeros"
)


def call(ops: object) -> None:
    """Run the example of the specification, with int64 and with int32."""
    for type in (np.int64, np.int32):
        data = ops.parameter([5], openvino.Type(type))
        indices = ops.parameter([3], openvino.Type.i32)
        model = openvino.Model([ops.gather(data, indices, ops.constant(0))], [data, indices])
        compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        print(compiled([np.array([1, 2, 3, 4, 5], type), np.array([3, 10, -20], np.int32)])[0].tolist())


if len(sys.argv) > 1:
    call(opset7)
    call(opset8)
    sys.exit()
printed = [  # glibc fills the memory that it allocates or frees with a byte
    subprocess.run(
        [sys.executable, __file__, "call"],
        env={**os.environ, "MALLOC_PERTURB_": byte},
        capture_output=True,
        text=True,
    ).stdout.split("\n")[:-1]
    for byte in ("90", "33")
]
expected = "[4, 0, 0] by Gather-8 (and the same in every run by Gather-7), for int64 and int32, whatever memory held"
observed = "; ".join(
    f"memory filled with {byte}: {', '.join(rows)}" for byte, rows in zip((90, 33), printed, strict=True)
)
departs = printed[0] != printed[1]

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 4)
