"""OpenVINO: 64-bit data is computed in 32 bits."""

import sys

import numpy as np
import openvino
from openvino import opset15 as ops

TEXT = (
    "OpenVINO operation set, Gather-8, outputs: The resulting tensor of type T that consists of elements from "
    "data tensor gathered by indices."
)


def gather(values: np.ndarray) -> np.ndarray:
    data, indices = ops.parameter(values.shape, openvino.Type(values.dtype)), ops.parameter([1], openvino.Type.i64)
    model = openvino.Model([ops.gather(data, indices, ops.constant(0))], [data, indices])
    return openvino.compile_model(model, "CPU")([values, np.zeros(1, np.int64)])[0]


values = [np.array([2**40 + 1]), np.array([2**63 + 5], np.uint64), np.array([1e300])]
results = [gather(value) for value in values]
expected = ", ".join(f"{value.dtype} {value[0]}" for value in values)
observed = ", ".join(f"{result.dtype} {result[0]}" for result in results)
departs = any(result[0] != value[0] for result, value in zip(results, values, strict=True))

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
