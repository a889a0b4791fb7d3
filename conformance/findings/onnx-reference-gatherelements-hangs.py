"""ONNX reference evaluator: GatherElements does not end if an index is very far out of range."""

import subprocess
import sys

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

TEXT = (
    "ONNX operators, GatherElements-13, input indices: All index values are expected to be within bounds [-s, "
    "s-1] along axis of size s. It is an error if any of the index values are out of bounds."
)
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[3] data, int64[1] indices)
    => (float[1] output) { output = GatherElements (data, indices) }"""


def call() -> None:
    feeds = {"data": np.ones(3, np.float32), "indices": np.array([2**62])}
    ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(None, feeds)


if len(sys.argv) > 1:
    call()
    sys.exit()
expected = "an error: index 2**62 on an axis of size 3"
try:
    run = subprocess.run([sys.executable, __file__, "call"], capture_output=True, text=True, timeout=10)
    observed, departs = f"exit status {run.returncode}: {run.stderr[-100:]}", False
except subprocess.TimeoutExpired:
    observed, departs = "no answer within 10 s", True

print("release  ", "onnx", onnx.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
