"""ONNX Runtime: ScatterND with a reduction of float16 or bfloat16 may crash if threads share the updates."""

import subprocess
import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = "ONNX operators, ScatterND-18, type constraints: T: tensor(float16), tensor(bfloat16)"
MODEL = """<ir_version: 10, opset_import: ["": 18]>
    g (float16[1000, 64] data, int64[50000, 1] indices, float16[50000, 64] updates)
    => (float16[1000, 64] output) { output = ScatterND <reduction = "add"> (data, indices, updates) }"""
PROCESSES = 12


def call(threads: int) -> None:
    onnxruntime.set_default_logger_severity(4)  # the call should only raise an error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString(), options)
    data, updates = np.zeros((1000, 64), np.float16), np.ones((50000, 64), np.float16)
    try:
        session.run(None, {"data": data, "indices": np.arange(50000)[:, None] % 1000, "updates": updates})
    except Exception as error:
        if "not supported" not in str(error):
            raise


def count_crashes(threads: int) -> int:
    command = [sys.executable, __file__, str(threads)]
    return sum(subprocess.run(command, stderr=subprocess.DEVNULL).returncode < 0 for _ in range(PROCESSES))


if len(sys.argv) > 1:
    call(int(sys.argv[1]))
    sys.exit()
two, one = count_crashes(2), count_crashes(1)
expected = "sums, or an error"
observed = f"{two} of {PROCESSES} processes crash in a call with two threads, {one} with one thread"
departs = two > 0

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 4)
