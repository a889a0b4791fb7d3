"""ONNX Runtime: TensorScatter does not support strings, nor types of 8 bits or less except int8, uint8 and bool."""

import sys

import onnx.parser
import onnxruntime

TEXT = "ONNX operators, TensorScatter-24, type constraints: T: tensor(string), tensor(float8e4m3fn), tensor(int4)"
MODEL = """<ir_version: 11, opset_import: ["": 24]>
    g (TYPE[1, 3, 1] data, TYPE[1, 1, 1] updates, int64[1] indices)
    => (TYPE[1, 3, 1] output) { output = TensorScatter (data, updates, indices) }"""
TYPES = ["string", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "int4", "uint4"]


def loads(element_type: str) -> bool:
    model = onnx.parser.parse_model(MODEL.replace("TYPE", element_type))
    try:
        onnxruntime.InferenceSession(model.SerializeToString())
    except Exception as error:
        if "Could not find an implementation" not in str(error):
            raise
        return False
    return True


refused = [element_type for element_type in TYPES if not loads(element_type)]
expected = "the model loads with all types that the operator lists"
observed = f"no implementation for {', '.join(refused)}"
departs = bool(refused)

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
