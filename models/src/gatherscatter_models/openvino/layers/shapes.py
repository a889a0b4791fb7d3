"""Layers that change shapes and repeat data."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from gatherscatter_models.openvino.layers.operands import Array, axes_of, axis_of, check_fits_memory, integers

INT64: np.dtype[Any] = np.dtype(np.int64)


def shape_of(data: Array, *, output_type: np.dtype[Any] = INT64) -> Array:
    """Return the shape as a 1-D tensor."""
    return np.array(data.shape, output_type)


def reshape(data: Array, shape: Array, *, special_zero: bool) -> Array:
    """Reshape the data. A -1 is computed, and with ``special_zero`` a 0 copies the dimension at its position."""
    wanted = list(integers(shape, "shape"))
    if special_zero:
        if any(dim == 0 and i >= data.ndim for i, dim in enumerate(wanted)):
            raise ValueError(f"shape {wanted} copies a dimension that data of shape {data.shape} does not have")
        wanted = [dim or data.shape[i] for i, dim in enumerate(wanted)]
    known = math.prod(dim for dim in wanted if dim != -1)
    computed = wanted.count(-1)
    if min(wanted, default=0) < -1 or computed > 1:
        raise ValueError(f"shape {wanted} has a size below -1, or more than one -1")
    if computed and known and data.size % known == 0:
        wanted[wanted.index(-1)] = data.size // known
    if math.prod(wanted) != data.size or -1 in wanted:
        raise ValueError(f"data of shape {data.shape} has {data.size} elements and can't take shape {wanted}")
    return data.reshape(wanted)


def squeeze(data: Array, axes: Array | None = None) -> Array:
    """Remove axes of size 1: all of them without ``axes``. A named axis of another size stays (OpenVINO 2024.3 on)."""
    named = () if axes is None else tuple(axis_of(axis, data.ndim) for axis in integers(axes, "axes"))
    gone = [axis for axis in named or range(data.ndim) if data.shape[axis] == 1]
    return data.reshape([size for axis, size in enumerate(data.shape) if axis not in gone])


def unsqueeze(data: Array, axes: Array) -> Array:
    """Insert dimensions of size 1. The axes are those of the result."""
    wanted = integers(axes, "axes")
    return np.expand_dims(data, axes_of(wanted, data.ndim + len(wanted)))


def transpose(data: Array, order: Array) -> Array:
    """Put the dimensions in the given order. An empty order reverses them."""
    axes = integers(order, "order")
    if axes and sorted(axes_of(axes, data.ndim)) != list(range(data.ndim)):
        raise ValueError(f"order {axes} does not permute {data.ndim} dimensions")
    return np.transpose(data, axes or None)


def broadcast(
    data: Array,
    target_shape: Array,
    axes_mapping: Array | None = None,
    *,
    mode: Literal["numpy", "explicit", "bidirectional"] = "numpy",
) -> Array:
    """Return a view that repeats the data without copying it."""
    target = check_fits_memory(integers(target_shape, "target_shape"), data.dtype)
    if mode == "bidirectional":
        target = np.broadcast_shapes(data.shape, target)
    if mode == "explicit":
        if axes_mapping is None:
            raise ValueError("mode is explicit, but there is no axes_mapping")
        axes = axes_of(integers(axes_mapping, "axes_mapping"), len(target))
        if len(axes) != data.ndim or sorted(axes) != list(axes):
            raise ValueError(f"axes_mapping {axes} does not place {data.ndim} dimensions in order")
        sizes = dict(zip(axes, data.shape, strict=True))
        data = data.reshape([sizes.get(axis, 1) for axis in range(len(target))])
    return np.broadcast_to(data, target)


def tile(data: Array, repeats: Array) -> Array:
    """Repeat the data along every axis."""
    counts = integers(repeats, "repeats")
    rank = max(data.ndim, len(counts))
    shape = (1,) * (rank - data.ndim) + data.shape
    counts = (1,) * (rank - len(counts)) + counts
    check_fits_memory(tuple(size * count for size, count in zip(shape, counts, strict=True)), data.dtype)
    return np.tile(data, counts)
