"""OpenVINO: GatherBlockQuantized refuses a table without elements."""

import sys

import numpy as np
import openvino
from onnx import TensorProto, helper

TEXT = (
    "ONNX Runtime, operator schemas of com.microsoft, GatherBlockQuantized-1: "
    "data: Tensor of rank r >= 1. Block-wise quantized."
)
table = helper.make_tensor("data", TensorProto.UINT4, [3, 0], b"", raw=True)
scales = helper.make_tensor("scales", TensorProto.FLOAT, [3, 0], b"", raw=True)
node = helper.make_node(
    "GatherBlockQuantized", ["data", "indices", "scales"], ["output"], domain="com.microsoft", block_size=16
)
indices = np.array([0])
inputs = [helper.make_tensor_value_info("indices", TensorProto.INT64, indices.shape)]
outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, None)]
graph = helper.make_graph([node], "one_node", inputs, outputs, [table, scales])
imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
model = helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()

expected = "an empty row"
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
