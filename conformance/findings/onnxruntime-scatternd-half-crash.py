"""ONNX Runtime: ScatterND with a reduction of float16 or bfloat16 occasionally crashes the process."""

import signal
import subprocess
import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = "ONNX operators, ScatterND-18, type constraints: T: tensor(float16), tensor(bfloat16)"
MODEL = """<ir_version: 10, opset_import: ["": 18]>
    g (float16[1000, 2000] data, int64[1000, 1] indices, float16[1000, 2000] updates)
    => (float16[1000, 2000] output) { output = ScatterND <reduction = "add"> (data, indices, updates) }"""


def calls() -> None:
    onnxruntime.set_default_logger_severity(4)  # each call should only raise an error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 8
    session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString(), options)
    half = np.ones((1000, 2000), np.float16)
    for _ in range(2000):
        try:
            session.run(None, {"data": half, "indices": np.arange(1000)[:, None], "updates": half})
        except Exception as error:
            if "not supported" not in str(error):
                raise


if len(sys.argv) > 1:
    calls()
    sys.exit()
for _ in range(5):
    status = subprocess.run([sys.executable, __file__, "calls"]).returncode
    if status < 0:
        break
expected = "sums, or an error in each call"
observed = f"the process ends with {signal.Signals(-status).name}" if status < 0 else "errors only, in 10,000 calls"
departs = status < 0

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 4)
