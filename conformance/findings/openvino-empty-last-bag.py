"""OpenVINO: An empty last bag is refused."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, EmbeddingBagOffsets-15, input offsets: Maximum value of offsets cannot be greater than "
    "length of indices."
)
table = ops.parameter([4, 2], openvino.Type.f32)
indices, offsets = ops.parameter([2], openvino.Type.i64), ops.parameter([2], openvino.Type.i64)
none = ops.parameter([2, 0], openvino.Type.i64)
calls = {
    "offsets [0, 2] of two indices": (
        ops.embedding_bag_offsets_sum(table, indices, offsets), [table, indices, offsets], [[1, 2], [0, 2]]
    ),
    "packed indices of shape (2, 0)": (ops.embedding_bag_packed_sum(table, none), [table, none], [[[], []]]),
}  # fmt: skip
expected = {"offsets [0, 2] of two indices": [[2, 2], [0, 0]], "packed indices of shape (2, 0)": [[0, 0], [0, 0]]}
observed = {}
for name, (layer, parameters, inputs) in calls.items():
    compiled = openvino.compile_model(openvino.Model([layer], parameters), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    try:
        arrays = [np.ones((4, 2), np.float32), *(np.array(each, np.int64) for each in inputs)]
        observed[name] = compiled(arrays)[0].tolist()
    except RuntimeError as error:
        observed[name] = str(error).strip().splitlines()[-1]

departs = observed != expected

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
