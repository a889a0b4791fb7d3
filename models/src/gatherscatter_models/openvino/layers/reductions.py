"""Layers that combine elements along axes: reductions, running sums, products of matrices, softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from gatherscatter_models.openvino.element_types import is_float
from gatherscatter_models.openvino.layers.operands import (
    Array,
    axes_of,
    axis_of,
    integer,
    integers,
    require_same_type,
    widen_halves,
)


def make_reduction(function: Callable[..., Any]) -> Callable[..., Array]:
    """Return a layer that reduces ``axes``. Without axes, the data does not change.

    NumPy may use a wider type in between. For integers, the conversion back gives the same result as wrapping around at
    every step.
    """

    def apply(data: Array, axes: Array, *, keep_dims: bool = False) -> Array:
        over = axes_of(integers(axes, "axes"), data.ndim)
        result = function(widen_halves(data), axis=over, keepdims=keep_dims)
        return np.asarray(result).astype(data.dtype, copy=False)

    return apply


def mean(data: Array, *, axis: tuple[int, ...], keepdims: bool) -> Any:
    """Return the mean, rounded towards zero for integers, as OpenVINO does."""
    if is_float(data.dtype):
        return np.mean(data, axis=axis, keepdims=keepdims)
    sums = np.sum(data, axis=axis, keepdims=keepdims)  # in 64 bits
    count = int(np.prod([data.shape[a] for a in axis], dtype=np.int64))
    if count == 0:
        raise ZeroDivisionError("the mean of no integers")
    return np.where(sums < 0, -(-sums // count), sums // count) if data.dtype.kind == "i" else sums // count


def cum_sum(data: Array, axis: Array, *, exclusive: bool = False, reverse: bool = False) -> Array:
    """Return running sums along one axis."""
    along = axis_of(integer(axis, "axis"), data.ndim)
    values = np.flip(widen_halves(data), along) if reverse else widen_halves(data)
    sums = np.cumsum(values, axis=along, dtype=values.dtype)
    if exclusive:
        sums = np.roll(sums, 1, along)
        sums[(slice(None),) * along + (slice(0, 1),)] = 0
    return (np.flip(sums, along) if reverse else sums).astype(data.dtype, copy=False)


def mat_mul(a: Array, b: Array, *, transpose_a: bool = False, transpose_b: bool = False) -> Array:
    """Return the product of (stacks of) matrices. A transpose flag has no effect on a vector."""
    require_same_type(a, b)
    left = np.swapaxes(a, -1, -2) if transpose_a and a.ndim > 1 else a
    right = np.swapaxes(b, -1, -2) if transpose_b and b.ndim > 1 else b
    return np.asarray(np.matmul(widen_halves(left), widen_halves(right))).astype(a.dtype, copy=False)


def softmax(data: Array, *, axis: int = 1) -> Array:
    """Return exp(x), normalised along the axis."""
    if not is_float(data.dtype):
        raise TypeError(f"Softmax is not defined for {data.dtype}")
    along = axis_of(axis, data.ndim)
    values = widen_halves(data)
    powers = np.exp(values - np.max(values, axis=along, keepdims=True, initial=-np.inf))
    return cast(Array, (powers / np.sum(powers, axis=along, keepdims=True)).astype(data.dtype, copy=False))
