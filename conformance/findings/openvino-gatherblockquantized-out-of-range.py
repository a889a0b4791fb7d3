"""OpenVINO: GatherBlockQuantized reads out of bounds if an index is out of range."""

import sys

import numpy as np
import openvino
from onnx import TensorProto, helper

TEXT = (
    "ONNX Runtime, operator schemas of com.microsoft, GatherBlockQuantized-1: "
    "Unlike ONNX Gather, an out-of-range index produces zeros for the corresponding output slice."
)
table = helper.make_tensor("data", TensorProto.UINT4, [3, 16], b"\x21" * 24, raw=True)
scales = helper.make_tensor("scales", TensorProto.FLOAT, [3, 1], np.ones(3, np.float32).tobytes(), raw=True)
node = helper.make_node(
    "GatherBlockQuantized", ["data", "indices", "scales"], ["output"], domain="com.microsoft", block_size=16
)
indices = np.arange(3, 1003)
inputs = [helper.make_tensor_value_info("indices", TensorProto.INT64, indices.shape)]
outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, None)]
graph = helper.make_graph([node], "one_node", inputs, outputs, [table, scales])
imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
model = helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()

expected = "zeros, because all indices are out of range"
try:
    compiled = openvino.compile_model(openvino.Core().read_model(model), "CPU")
    values = set(compiled([indices])[0].ravel().tolist())
    observed, departs = f"{len(values)} different values, such as {sorted(values)[-3:]}", values != {0.0}
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], True

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
