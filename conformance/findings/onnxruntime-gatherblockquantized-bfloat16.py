"""ONNX Runtime: GatherBlockQuantized does not implement scales of bfloat16."""

import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

TEXT = (
    "ONNX Runtime, operator schemas of com.microsoft, GatherBlockQuantized-1: "
    "T2: tensor(float), tensor(float16), tensor(bfloat16)"
)
table = helper.make_tensor("data", TensorProto.UINT4, [3, 16], b"\x21" * 24, raw=True)
scales = helper.make_tensor("scales", TensorProto.BFLOAT16, [3, 1], b"\x80\x3f" * 3, raw=True)
node = helper.make_node(
    "GatherBlockQuantized", ["data", "indices", "scales"], ["output"], domain="com.microsoft", block_size=16
)
indices = np.array([0])
inputs = [helper.make_tensor_value_info("indices", TensorProto.INT64, indices.shape)]
outputs = [helper.make_tensor_value_info("output", TensorProto.BFLOAT16, None)]
graph = helper.make_graph([node], "one_node", inputs, outputs, [table, scales])
imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
model = helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()

expected = "the first row"
try:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    observed, departs = session.run(None, {"indices": indices})[0], False
except Exception as error:  # of onnxruntime's own classes
    observed, departs = str(error).splitlines()[0], True

print("release  ", "onnxruntime", onnxruntime.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
