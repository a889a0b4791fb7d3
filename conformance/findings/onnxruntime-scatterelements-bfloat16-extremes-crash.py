"""ONNX Runtime: ScatterElements with min or max of bfloat16 may crash if threads share the updates."""

import subprocess
import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = "ONNX operators, ScatterElements-18, type constraints: T: tensor(float16), tensor(bfloat16)"
MODEL = """<ir_version: 10, opset_import: ["": 18]>
    g (TYPE[50000, 64] data, int64[50000, WIDTH] indices, TYPE[50000, 64] updates)
    => (TYPE[50000, 64] output) { output = OP <reduction = "REDUCTION"> (data, indices, updates) }"""
CASES = (("ScatterElements", "bfloat16", "min"), ("ScatterElements", "bfloat16", "max"))
PROCESSES = 20


def call(op: str, element_type: str, reduction: str) -> None:
    onnxruntime.set_default_logger_severity(4)  # the call should only raise an error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    width = 1 if op == "ScatterND" else 64
    text = MODEL.replace("OP", op).replace("TYPE", element_type).replace("REDUCTION", reduction)
    model = onnx.parser.parse_model(text.replace("WIDTH", str(width))).SerializeToString()
    session = onnxruntime.InferenceSession(model, options)
    number = onnx.TensorProto.DataType.Value(element_type.upper())
    bits = np.zeros((50000, 64), bool if element_type == "bool" else np.uint16)
    zeros = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, number)
    rows = np.repeat(np.arange(50000)[:, None], width, axis=1)
    indices = onnxruntime.OrtValue.ortvalue_from_numpy(rows)
    try:
        session.run_with_ort_values(None, {"data": zeros, "indices": indices, "updates": zeros})
    except Exception as error:
        if "not supported" not in str(error):
            raise


if len(sys.argv) > 1:
    call(*sys.argv[1:])
    sys.exit()
crashes = {}
for case in CASES:
    command = [sys.executable, __file__, *case]
    runs = (subprocess.run(command, stderr=subprocess.DEVNULL).returncode for _ in range(PROCESSES))
    crashes[" ".join(case)] = sum(status < 0 for status in runs)
expected = "results, or an error"
counts = ", ".join(f"{count} with {case}" for case, count in crashes.items())
observed = f"of {PROCESSES} processes with one call and two threads each, these crash: {counts}"
departs = any(crashes.values())

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 4)
