"""Inputs that are not data: shapes, axes and counts as Python integers, and the rules two operands share."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gatherscatter.openvino.element_types import is_half

Array = NDArray[Any]
Broadcasting = Literal["numpy", "none"]


def integers(array: Array, name: str) -> tuple[int, ...]:
    """The values of a scalar or 1-D integer tensor."""
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise ValueError(f"{name} must be an integer tensor of rank 0 or 1, not {array.dtype} of shape {array.shape}")
    return tuple(array.ravel().tolist())


def integer(array: Array, name: str) -> int:
    """The value of a one-element integer tensor."""
    values = integers(array, name)
    if len(values) != 1:
        raise ValueError(f"{name} must hold one number, not {len(values)}")
    return values[0]


def axis_of(axis: int, rank: int) -> int:
    """The axis counted from the front."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of range for rank {rank}")
    return axis % rank


def axes_of(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The axes counted from the front; each may be named once."""
    normal = tuple(axis_of(axis, rank) for axis in axes)
    if len(set(normal)) != len(normal):
        raise ValueError(f"axes {axes} name an axis twice")
    return normal


def require_same_type(*arrays: Array) -> None:
    """OpenVINO never promotes: operands of two types are an error."""
    if len({array.dtype for array in arrays}) > 1:
        raise TypeError(f"its inputs have different types: {', '.join(str(array.dtype) for array in arrays)}")


def require_same_shape(auto_broadcast: Broadcasting, *arrays: Array) -> None:
    """``auto_broadcast="none"`` asks for equal shapes."""
    if auto_broadcast == "none" and len({array.shape for array in arrays}) > 1:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(f"auto_broadcast is none, but its inputs have shapes {shapes}")


def widen_halves(array: Array) -> Array:
    """float32 for the half types: sums round once, at the end."""
    return array.astype(np.float32) if is_half(array.dtype) else array


def check_fits_memory(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...]:
    """The shape, unless NumPy could not even describe it."""
    if any(dim < 0 for dim in shape):
        raise ValueError(f"its result would have the shape {shape}")
    if math.prod(dim for dim in shape if dim) * dtype.itemsize >= 2**63:
        raise MemoryError
    return shape
