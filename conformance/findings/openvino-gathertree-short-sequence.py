"""OpenVINO: GatherTree returns uninitialized memory if max_seq_len is 0 or less."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = "OpenVINO operation set, GatherTree-1, pseudocode: final_ids[ :, :, :] = end_token"
tree = np.arange(1, 10, dtype=np.int32).reshape(3, 1, 3)
steps = ops.parameter([3, 1, 3], openvino.Type.i32)
parents = ops.parameter([3, 1, 3], openvino.Type.i32)
lengths = ops.parameter([1], openvino.Type.i32)
end = ops.parameter([], openvino.Type.i32)
model = openvino.Model([ops.gather_tree(steps, parents, lengths, end)], [steps, parents, lengths, end])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
result = compiled([tree, np.zeros_like(tree), np.zeros(1, np.int32), np.int32(10)])[0]

expected = "nothing but 10, the end token, and values of step_ids"
observed = result.ravel()
departs = not set(result.ravel().tolist()) <= {*range(1, 10), 10}

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
