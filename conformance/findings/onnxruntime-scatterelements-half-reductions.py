"""ONNX Runtime: ScatterElements does not implement sums and products of float16 and bfloat16."""

import itertools
import sys

import numpy as np
import onnx.parser
import onnxruntime

TEXT = "ONNX operators, ScatterElements-18, type constraints: T: tensor(float16), tensor(bfloat16)"
MODEL = """<ir_version: 10, opset_import: ["": 18]>
    g (TYPE[4] data, int64[INDICES] indices, TYPE[2] updates)
    => (TYPE[4] output) { output = OP <reduction = "REDUCTION"> (data, indices, updates) }"""
CALLS = itertools.product(["ScatterElements"], ["float16", "bfloat16"], ["add", "mul"])


def run(op: str, element_type: str, reduction: str) -> str:
    text = MODEL.replace("OP", op).replace("TYPE", element_type).replace("REDUCTION", reduction)
    model = onnx.parser.parse_model(text.replace("INDICES", "2, 1" if op == "ScatterND" else "2"))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    number = onnx.TensorProto.DataType.Value(element_type.upper())

    def value(size: int) -> onnxruntime.OrtValue:
        zeros = np.zeros(size, bool if element_type == "bool" else np.uint16)  # all bits zero: 0, or false
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(zeros, number)

    indices = np.array([1, 1]).reshape((2, 1) if op == "ScatterND" else 2)
    feeds = {"data": value(4), "indices": onnxruntime.OrtValue.ortvalue_from_numpy(indices), "updates": value(2)}
    try:
        session.run_with_ort_values(None, feeds)
        return "runs"
    except Exception as error:
        return str(error).rpartition("CPU execution provider: ")[2].strip()


onnxruntime.set_default_logger_severity(4)  # the errors are printed below
results = [f"{' '.join(call)}: {run(*call)}" for call in CALLS]
expected = "results"
observed = "\n          ".join(results)
departs = not any(result.endswith("runs") for result in results)

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
