"""Write arrays as Python source that gives identical arrays, except for the payload of a NaN."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from gatherscatter.specs import element_type

_SHORT = 64  # elements that are written out


def modules_for(arrays: Iterable[np.ndarray]) -> set[str]:
    """Return the modules, in addition to NumPy, that the literals of these arrays need."""
    found = set()
    for array in arrays:
        if _is_extra(array.dtype):
            found.add("ml_dtypes")
        if array.size > _SHORT and _period(array) is None:
            found |= {"base64", "zlib"}
    return found


def literal(array: np.ndarray) -> str:
    """Return the source of an expression for the same array. ``np`` is NumPy.

    >>> import numpy as np
    >>> literal(np.array([[0.1, np.nan]], np.float32))
    'np.array([[0.1, np.nan]], "float32")'
    >>> literal(np.zeros((0, 2), np.int64))
    'np.zeros((0, 2), "int64")'
    >>> literal(np.tile(np.array([0, 1], np.int8), 500))
    'np.resize(np.array([0, 1], "int8"), (1000,))'
    """
    dtype = _dtype(array.dtype)
    if array.size == 0:
        return f"np.zeros({array.shape}, {dtype})"
    if array.size <= _SHORT:
        return f"np.array({_nested(array)}, {dtype})"
    period = _period(array)
    if period is not None:
        return f"np.resize({literal(array.reshape(-1)[:period])}, {array.shape})"
    packed = base64.b85encode(zlib.compress(array.tobytes(), 9)).decode()
    return f'np.frombuffer(zlib.decompress(base64.b85decode("{packed}")), {dtype}).reshape({array.shape})'


def _is_extra(dtype: np.dtype[Any]) -> bool:
    return element_type(dtype) != "string" and dtype.type.__module__.partition(".")[0] != "numpy"


def _dtype(dtype: np.dtype[Any]) -> str:
    if element_type(dtype) == "string":
        return "object"
    return f"ml_dtypes.{dtype.name}" if _is_extra(dtype) else f'"{dtype.name}"'


def _nested(array: np.ndarray) -> str:
    if array.ndim:
        return f"[{', '.join(_nested(array[n, ...]) for n in range(len(array)))}]"
    return _value(array[()])


def _value(value: Any) -> str:
    if isinstance(value, str | bytes | bool | np.bool_):
        return repr(value) if isinstance(value, str | bytes) else str(bool(value))
    if isinstance(value, np.complexfloating):
        return f"complex({_value(value.real)}, {_value(value.imag)})"
    if isinstance(value, np.integer) or value.dtype.name in ("int4", "uint4"):
        return str(int(value))
    number = float(value)
    if number != number or number in (np.inf, -np.inf):
        return f"{'-' if number < 0 else ''}np.{'nan' if number != number else 'inf'}"
    short = str(value)  # the shortest text that gives the same value in this type
    return short if value.dtype.type(float(short)) == value else repr(number)


def _period(array: np.ndarray) -> int | None:
    """Return the length of the pattern that the array repeats, if it is short; else None."""
    flat = array.reshape(-1)
    if array.dtype.kind != "O":
        flat = flat.view(np.dtype((np.void, array.dtype.itemsize)))
    items = flat.tolist()
    return next((n for n in range(1, _SHORT + 1) if items[n:] == items[:-n]), None)
