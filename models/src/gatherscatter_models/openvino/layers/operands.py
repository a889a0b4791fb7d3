"""Inputs that are not data: shapes, axes and counts as Python integers, and checks of several operands."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gatherscatter_models.openvino.element_types import is_half

Array = NDArray[Any]
Broadcasting = Literal["numpy", "none"]


def integers(array: Array, name: str) -> tuple[int, ...]:
    """Return the values of a scalar or 1-D integer tensor."""
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise ValueError(f"{name} must be an integer tensor of rank 0 or 1, not {array.dtype} of shape {array.shape}")
    return tuple(array.ravel().tolist())


def integer(array: Array, name: str) -> int:
    """Return the value of a one-element integer tensor."""
    values = integers(array, name)
    if len(values) != 1:
        raise ValueError(f"{name} must hold one number, not {len(values)}")
    return values[0]


def axis_of(axis: int, rank: int) -> int:
    """Return the axis counted from the front."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of range for rank {rank}")
    return axis % rank


def axes_of(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Return the axes counted from the front; ValueError if one is named twice."""
    normal = tuple(axis_of(axis, rank) for axis in axes)
    if len(set(normal)) != len(normal):
        raise ValueError(f"axes {axes} name an axis twice")
    return normal


def require_same_type(*arrays: Array) -> None:
    """Raise TypeError unless all operands have the same type. OpenVINO never promotes types."""
    if len({array.dtype for array in arrays}) > 1:
        raise TypeError(f"its inputs have different types: {', '.join(str(array.dtype) for array in arrays)}")


def require_same_shape(auto_broadcast: Broadcasting, *arrays: Array) -> None:
    """Raise ValueError if ``auto_broadcast="none"`` and shapes differ."""
    if auto_broadcast == "none" and len({array.shape for array in arrays}) > 1:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(f"auto_broadcast is none, but its inputs have shapes {shapes}")


def widen_halves(array: Array) -> Array:
    """Convert halves to float32, so that sums are rounded once, at the end."""
    return array.astype(np.float32) if is_half(array.dtype) else array


def check_fits_memory(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Return the shape; ValueError if NumPy can't represent it."""
    if any(dim < 0 for dim in shape):
        raise ValueError(f"its result would have the shape {shape}")
    if math.prod(dim for dim in shape if dim) * dtype.itemsize >= 2**63:
        raise MemoryError
    return shape
