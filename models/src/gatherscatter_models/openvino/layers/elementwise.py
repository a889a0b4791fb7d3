"""Element-wise arithmetic, comparison and logic, in the operands' own type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from gatherscatter_models.openvino.element_types import is_float
from gatherscatter_models.openvino.layers.operands import (
    Array,
    Broadcasting,
    require_same_shape,
    require_same_type,
    widen_halves,
)

# With all functions used here, results keep the dtype of the operands, as OpenVINO declares.
Binary = Callable[[Any, Any], Any]
Unary = Callable[[Any], Any]


def make_binary(function: Binary) -> Callable[..., Array]:
    """Return a layer with two operands of the same type."""

    def apply(a: Array, b: Array, *, auto_broadcast: Broadcasting = "numpy") -> Array:
        require_same_type(a, b)
        require_same_shape(auto_broadcast, a, b)
        return cast(Array, function(a, b))

    return apply


def make_comparison(function: Binary) -> Callable[..., Array]:
    """Return a layer with two operands of the same type and a boolean result."""
    compare = make_binary(function)

    def apply(a: Array, b: Array, *, auto_broadcast: Broadcasting = "numpy") -> Array:
        return np.asarray(compare(a, b, auto_broadcast=auto_broadcast), np.bool_)

    return apply


def make_unary(function: Unary) -> Callable[..., Array]:
    """Return a layer with one operand, for a function that supports every type."""

    def apply(data: Array) -> Array:
        return cast(Array, function(data))

    return apply


def make_rounded(function: Unary) -> Callable[..., Array]:
    """Return a layer for a function of real numbers. For integers, OpenVINO rounds the result to the nearest."""

    def apply(data: Array) -> Array:
        if is_float(data.dtype):
            return np.asarray(function(widen_halves(data))).astype(data.dtype)
        return np.asarray(np.rint(function(data.astype(np.float64)))).astype(data.dtype)

    return apply


def make_whole(function: Unary) -> Callable[..., Array]:
    """Return a layer for Floor or Ceiling, which do not change integers."""

    def apply(data: Array) -> Array:
        return cast(Array, function(data)) if is_float(data.dtype) else data

    return apply


def divide(a: Array, b: Array, *, auto_broadcast: Broadcasting = "numpy", m_pythondiv: bool = True) -> Array:
    """Divide. Integers are rounded down by default, and towards zero with ``m_pythondiv="false"``."""
    require_same_type(a, b)
    require_same_shape(auto_broadcast, a, b)
    if is_float(a.dtype):
        return np.true_divide(a, b)
    quotient: Array = _integers_only(np.floor_divide)(a, b)
    if m_pythondiv:
        return quotient
    inexact_negative = ((a < 0) != (b < 0)) & (np.remainder(a, b) != 0)
    return np.asarray(quotient + inexact_negative.astype(a.dtype))


def mod(a: Array, b: Array) -> Array:
    """Return the remainder with the sign of the dividend."""
    return cast(Array, _integers_only(np.fmod)(a, b))


def floor_mod(a: Array, b: Array) -> Array:
    """Return the remainder with the sign of the divisor."""
    return cast(Array, _integers_only(np.remainder)(a, b))


def _integers_only(function: Binary) -> Binary:
    """Refuse an integer division by zero. NumPy returns 0, and OpenVINO leaves the result undefined."""

    def apply(a: Array, b: Array) -> Array:
        if not is_float(b.dtype) and a.size and not np.all(b):
            raise ZeroDivisionError("integer division by zero")
        return cast(Array, function(a, b))

    return apply


def clamp(data: Array, *, min: float, max: float) -> Array:
    """Limit values to [min, max]; integers to the integers in this range."""
    if is_float(data.dtype):
        return np.clip(data, data.dtype.type(min), data.dtype.type(max))
    limits = np.iinfo(data.dtype)
    low = int(np.ceil(np.maximum(min, float(limits.min)))) if min > limits.min else limits.min
    high = int(np.floor(np.minimum(max, float(limits.max)))) if max < limits.max else limits.max
    if low > limits.max or high < limits.min:
        raise ValueError(f"the bounds {min} and {max} lie outside {data.dtype}")
    return np.clip(data, data.dtype.type(low), data.dtype.type(high))


def relu(data: Array) -> Array:
    """Replace negative values by zero."""
    return cast(Array, np.maximum(data, data.dtype.type(0)))


def sigmoid(data: Array) -> Array:
    """1 / (1 + exp(-x))."""
    return cast(Array, 1 / (1 + np.exp(-data)))


def make_logical(function: Binary) -> Callable[..., Array]:
    """Return a layer with two boolean operands."""
    combine = make_binary(function)

    def apply(a: Array, b: Array, *, auto_broadcast: Broadcasting = "numpy") -> Array:
        return combine(*_require_boolean(a, b), auto_broadcast=auto_broadcast)

    return apply


def logical_not(data: Array) -> Array:
    """Return the negation."""
    return np.logical_not(*_require_boolean(data))


def select(cond: Array, then: Array, other: Array, *, auto_broadcast: Broadcasting = "numpy") -> Array:
    """Return ``then`` where ``cond`` is true, else ``other``."""
    require_same_type(then, other)
    require_same_shape(auto_broadcast, cond, then, other)
    return np.asarray(np.where(_require_boolean(cond)[0], then, other))


def _require_boolean(*arrays: Array) -> tuple[Array, ...]:
    for array in arrays:
        if array.dtype != np.bool_:
            raise TypeError(f"its operands must be boolean, not {array.dtype}")
    return arrays
