"""OpenVINO: GatherBlockQuantized without indices ends the process."""

import multiprocessing
import sys

import numpy as np
import openvino
from onnx import TensorProto, helper

TEXT = (
    "ONNX Runtime, operator schemas of com.microsoft, GatherBlockQuantized-1: "
    "indices: Tensor of int32/int64 indices, of any rank q."
)
table = helper.make_tensor("data", TensorProto.UINT4, [3, 16], b"\x21" * 24, raw=True)
scales = helper.make_tensor("scales", TensorProto.FLOAT, [3, 1], np.ones(3, np.float32).tobytes(), raw=True)
node = helper.make_node(
    "GatherBlockQuantized", ["data", "indices", "scales"], ["output"], domain="com.microsoft", block_size=16
)
indices = np.zeros((0, 2), np.int64)
inputs = [helper.make_tensor_value_info("indices", TensorProto.INT64, indices.shape)]
outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, None)]
graph = helper.make_graph([node], "one_node", inputs, outputs, [table, scales])
imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
model = helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()


def run() -> None:
    compiled = openvino.compile_model(openvino.Core().read_model(model), "CPU")
    print("a tensor of shape", compiled([indices])[0].shape)


expected = "an empty tensor"
process = multiprocessing.get_context("fork").Process(target=run)
process.start()
process.join()
observed, departs = f"exit code {process.exitcode}", process.exitcode != 0

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
