"""OpenVINO: EmbeddingBagOffsets and EmbeddingBagPacked accept the mean of bool."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = "OpenVINO operation set, EmbeddingBagOffsets-15, types: T: any numeric type."
table, indices = ops.parameter([3, 1], openvino.Type.boolean), ops.parameter([1, 3], openvino.Type.i64)
places, offsets = ops.parameter([3], openvino.Type.i64), ops.parameter([1], openvino.Type.i64)
expected = "an error, from both: bool has no mean"
try:
    packed = ops.embedding_bag_packed(table, indices, reduction="mean")
    bags = ops.embedding_bag_offsets(table, places, offsets, reduction="mean")
    compiled = openvino.compile_model(openvino.Model([packed, bags], [table, indices, places, offsets]), "CPU")
    inputs = [np.array([[True], [True], [False]]), np.array([[0, 1, 2]]), np.arange(3), np.array([0])]
    observed, departs = [result.tolist() for result in compiled(inputs).values()], True
except RuntimeError as error:
    observed, departs = str(error).strip().splitlines()[-1], False

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
