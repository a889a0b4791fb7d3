"""Layers that make new values: ranges, positions, conversions, the largest elements."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from gatherscatter_models.openvino.element_types import STRING, is_float
from gatherscatter_models.openvino.layers.operands import Array, axis_of, check_fits_memory, integer, widen_halves
from gatherscatter_models.openvino.layers.shapes import INT64

INT32: np.dtype[Any] = np.dtype(np.int32)


def identity(data: Array) -> Array:
    """Return the data itself."""
    return data


def convert(data: Array, *, destination_type: np.dtype[Any]) -> Array:
    """Convert the data to another type. Floats lose their fraction, and booleans are true for nonzero values.

    Values that the type can't hold are undefined in OpenVINO. Here they depend on the platform.
    """
    if (data.dtype == STRING) != (destination_type == STRING):
        raise TypeError(f"{data.dtype} can't be converted to {destination_type}")
    return data != data.dtype.type(0) if destination_type == np.bool_ else data.astype(destination_type)


def convert_like(data: Array, like: Array) -> Array:
    """Convert the data to the type of another tensor."""
    return convert(data, destination_type=like.dtype)


def range_4(start: Array, stop: Array, step: Array, *, output_type: np.dtype[Any] | None = None) -> Array:
    """Return the numbers from ``start`` to below ``stop``. For an integer result, the inputs are truncated first."""
    dtype = start.dtype if output_type is None else output_type
    first, last, by = _scalar(start, "start"), _scalar(stop, "stop"), _scalar(step, "step")
    if not is_float(dtype):
        first, last, by = int(first), int(last), int(by)
    if by == 0:
        raise ValueError("step is zero")
    count = max(0, math.ceil((last - first) / by) if is_float(dtype) else int(-((first - last) // by)))
    check_fits_memory((count,), dtype)
    numbers: Array = np.arange(count, dtype=np.float64 if is_float(dtype) else np.int64)
    return (first + by * numbers).astype(dtype)


def _scalar(array: Array, name: str) -> float:
    if array.size != 1:
        raise ValueError(f"{name} must be a scalar, not of shape {array.shape}")
    value: float = array.ravel().tolist()[0]
    return value


def non_zero(data: Array, *, output_type: np.dtype[Any] = INT64) -> Array:
    """Return the coordinates of nonzero elements in row-major order, one column each."""
    return np.array(np.nonzero(np.atleast_1d(data)), output_type)


def top_k(
    data: Array,
    k: Array,
    *,
    axis: int,
    mode: Literal["max", "min"],
    sort: Literal["value", "index", "none"],
    index_element_type: np.dtype[Any] = INT32,
    stable: bool = False,
) -> tuple[Array, Array]:
    """Return the k largest or smallest elements along an axis, with their positions. The order is always stable."""
    along, count = axis_of(axis, data.ndim), integer(k, "k")
    if not 0 <= count <= data.shape[along]:
        raise ValueError(f"k is {count}, but axis {along} has size {data.shape[along]}")
    values = np.moveaxis(widen_halves(data), along, -1)
    if mode == "min":
        order = np.argsort(values, axis=-1, kind="stable")
    else:  # a stable sort of the reversed row puts earlier ones of equals last; reversing again puts them first
        order = values.shape[-1] - 1 - np.flip(np.argsort(np.flip(values, -1), axis=-1, kind="stable"), -1)
    chosen = order[..., :count] if sort != "index" else np.sort(order[..., :count], axis=-1)
    chosen = np.moveaxis(chosen, -1, along)
    return np.take_along_axis(data, chosen, along), chosen.astype(index_element_type)
