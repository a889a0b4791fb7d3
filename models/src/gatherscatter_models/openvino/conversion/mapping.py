"""The names that ONNX and OpenVINO use for the same operators: one table for both directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gatherscatter.arrays.convert import element_type
from gatherscatter.specs.calls import GENERIC_REDUCTIONS, check_reduction
from gatherscatter.specs.table import OpVersion
from gatherscatter_models.interface import ModelError

# The facts that a caller may give about indices that are not constants.
KNOWLEDGE = ("any", "valid", "nonnegative")

REDUCTIONS_TO_OPENVINO = {ours: theirs for theirs, ours in GENERIC_REDUCTIONS.items()}

# Equal element-wise operators: ONNX's name, and OpenVINO's name with the operation set that introduced it.
ELEMENTWISE = {
    "Abs": ("Abs", "opset1"),
    "Add": ("Add", "opset1"),
    "And": ("LogicalAnd", "opset1"),
    "Equal": ("Equal", "opset1"),
    "Greater": ("Greater", "opset1"),
    "GreaterOrEqual": ("GreaterEqual", "opset1"),
    "Less": ("Less", "opset1"),
    "LessOrEqual": ("LessEqual", "opset1"),
    "Mul": ("Multiply", "opset1"),
    "Neg": ("Negative", "opset1"),
    "Not": ("LogicalNot", "opset1"),
    "Or": ("LogicalOr", "opset1"),
    "Sub": ("Subtract", "opset1"),
    "Where": ("Select", "opset1"),
    "Xor": ("LogicalXor", "opset1"),
}
COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
# Over integers only, where the order of the contributions does not matter.
REDUCTIONS_OF_AXES = ("ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum")

CONVERT_KNOWS = "convert supports gathers, scatters, and nodes that compute shapes and indices, but no"

Shape = tuple[int | None, ...] | None


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether sums of this type are rounded after every step in ONNX, and once in OpenVINO."""
    return dtype.name in ("float16", "bfloat16")


def make_refusal(reason: str) -> ModelError:
    """Return the error about a conversion that can't be exact."""
    return ModelError(f"it can't be converted exactly: {reason}")


def check_types(row: OpVersion, dtypes: Sequence[np.dtype[Any]], reduction: str) -> None:
    """Raise ModelError for types that the op version refuses. The converted operator might accept them."""
    data = dtypes[0]
    for known, dtype in zip(row.inputs, dtypes, strict=False):
        if known.kind == "data" and (dtype != data or element_type(dtype) not in row.element_types):
            raise ModelError(f"{row.name} does not take {known.name} of type {element_type(dtype)} here")
        if known.kind == "indices" and element_type(dtype) not in row.index_types:
            raise ModelError(f"{row.name} does not take {element_type(dtype)} as {known.name}")
    if reduction != "none" and element_type(data) == "string":
        raise ModelError(f"{row.name} has no reduction {reduction!r} of strings")
    check_reduction(row, GENERIC_REDUCTIONS.get(reduction, reduction), data)


def check_knowledge(indices: str) -> str:
    """Return ``indices``; ValueError unless it is one of `KNOWLEDGE`."""
    if indices not in KNOWLEDGE:
        raise ValueError(f"indices must be one of {', '.join(map(repr, KNOWLEDGE))}, not {indices!r}")
    return indices


def rank_of(shape: Shape, what: str) -> int:
    """Return the rank; ModelError if it is unknown."""
    if shape is None:
        raise ModelError(f"the rank of its {what} must be known for this conversion: declare shapes of the inputs")
    return len(shape)


def rank_and_axis(data: Shape, indices: Shape, axis: int) -> tuple[int, int]:
    """Return the rank that data and indices must have, and the axis counted from the front."""
    rank, other = rank_of(data, "data"), rank_of(indices, "indices")
    if other != rank or not -rank <= axis < rank:
        raise ModelError(f"data of rank {rank}, indices of rank {other} and axis {axis} do not fit")
    return rank, axis % rank


def same_sizes(one: Shape, other: Shape, axes: Sequence[int]) -> bool:
    """Whether these sizes are known to be the same."""
    assert one is not None
    assert other is not None
    return all(one[axis] is not None and one[axis] == other[axis] for axis in axes)


def one_integer(value: np.ndarray | None, what: str) -> int:
    """Return the value of a constant input that is an attribute in the other format."""
    if value is None:
        raise ModelError(f"its {what} is computed at run time, but is an attribute in the other format")
    if value.size != 1 or value.ndim > 1 or value.dtype.kind not in "iu":
        raise ModelError(f"its {what} must be one integer, not {value.dtype} of shape {value.shape}")
    return int(value.reshape(()))
