"""OpenVINO: GatherBlockQuantized ignores attributes that it does not have."""

import sys

import numpy as np
import openvino
from onnx import TensorProto, helper

TEXT = (
    "ONNX Runtime, operator schemas of com.microsoft, GatherBlockQuantized-1: "
    "gather_axis: Which axis to gather on. Negative value means counting dimensions from the back."
)
table = helper.make_tensor("data", TensorProto.UINT4, [3, 16], b"\x21" * 24, raw=True)
scales = helper.make_tensor("scales", TensorProto.FLOAT, [3, 1], np.ones(3, np.float32).tobytes(), raw=True)
node = helper.make_node(
    "GatherBlockQuantized", ["data", "indices", "scales"], ["output"], domain="com.microsoft", block_size=16, axis=1
)
indices = np.array([0])
inputs = [helper.make_tensor_value_info("indices", TensorProto.INT64, indices.shape)]
outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, None)]
graph = helper.make_graph([node], "one_node", inputs, outputs, [table, scales])
imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
model = helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()

expected = "an error: the attribute is gather_axis"
try:
    compiled = openvino.compile_model(openvino.Core().read_model(model), "CPU")
    observed, departs = f"a result of shape {compiled([indices])[0].shape}", True
except Exception as error:  # of OpenVINO's own classes
    observed, departs = str(error).split("output>':")[-1].strip().splitlines()[0], False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
