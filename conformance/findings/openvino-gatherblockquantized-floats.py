"""OpenVINO: GatherBlockQuantized refuses tables of 8-bit and 4-bit floats."""

import sys

import numpy as np
import openvino
from onnx import TensorProto, helper

TEXT = (
    "ONNX Runtime, operator schemas of com.microsoft, GatherBlockQuantized-1: "
    "data may also be an FP8 type (float8e4m3fn, float8e4m3fnuz, float8e5m2 or float8e5m2fnuz) or an FP4 type "
    "(float4e2m1)"
)
table = helper.make_tensor("data", TensorProto.FLOAT8E4M3FN, [3, 16], b"\x21" * 48, raw=True)
scales = helper.make_tensor("scales", TensorProto.FLOAT, [3, 1], np.ones(3, np.float32).tobytes(), raw=True)
node = helper.make_node(
    "GatherBlockQuantized", ["data", "indices", "scales"], ["output"], domain="com.microsoft", block_size=16
)
indices = np.array([0])
inputs = [helper.make_tensor_value_info("indices", TensorProto.INT64, indices.shape)]
outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, None)]
graph = helper.make_graph([node], "one_node", inputs, outputs, [table, scales])
imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
model = helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()

expected = "the first row"
try:
    compiled = openvino.compile_model(openvino.Core().read_model(model), "CPU")
    observed, departs = compiled([indices])[0], False
except Exception as error:  # of OpenVINO's own classes
    observed, departs = str(error).split("output>':")[-1].strip().splitlines()[0], True

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
