"""ONNX Runtime: GatherND with a batch_dims of -2 or less crashes the process when the model is loaded."""

import signal
import subprocess
import sys

import onnx.parser
import onnxruntime

TEXT = (
    "ONNX operators, GatherND-13: `batch_dims` (denoted as `b`) is an integer indicating the number of batch dimensions"
)
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[2, 3] data, int64[2, 1] indices)
    => (float[n] output) { output = GatherND <batch_dims = -9> (data, indices) }"""

if len(sys.argv) > 1:
    model = onnx.parser.parse_model(MODEL).SerializeToString()
    try:
        onnxruntime.InferenceSession(model)
    except Exception:  # of onnxruntime's own classes
        sys.exit(3)
    sys.exit()
status = subprocess.run([sys.executable, __file__, "load"], stderr=subprocess.DEVNULL).returncode
expected = "an error: no such number of batch dimensions"
observed = {0: "a session", 3: "an error"}.get(status) or f"the process ends with {signal.Signals(-status).name}"
departs = status != 3

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
