"""The values in the cases: ordinary ones of every element type, and telling ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from gatherscatter.oracle import COMPLEX, FLOATS, INTEGERS
from gatherscatter.specs import dtype_of

_TEXTS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen")
_FEW = {
    "float8_e8m0fnu": (0.25, 0.5, 1, 2, 4, 8, 16, 32),
    "float4_e2m1fn": (0.5, 1, 1.5, 2, 3, 4, 6, -1),
    "int4": (1, 2, 3, 4, 5, -6, 7, -8),
    "uint4": (1, 2, 3, 4, 5, 6, 7, 15),
}


def array(name: str, values: Any) -> np.ndarray:
    """An array of an element type; text is stored in object arrays."""
    with np.errstate(all="ignore"):
        return np.array(values, dtype_of(name))


def ramp(name: str, shape: int | Sequence[int], start: int = 0) -> np.ndarray:
    """Different small values, as far as the type has them, from the ``start``-th on."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    numbers = range(start, start + math.prod(shape))
    if name == "string":
        values: list[Any] = [_TEXTS[n % 8] + "'" * (n // 8) for n in numbers]
    elif name == "bool":
        values = [n % 3 == 0 for n in numbers]
    elif name in COMPLEX:
        values = [complex(n + 1, -n) for n in numbers]
    elif name in _FEW:
        values = [_FEW[name][n % 8] for n in numbers]
    elif name in INTEGERS or name in FLOATS:
        values = [n % 100 + 1 for n in numbers]
    else:
        values = [n % 8 + 1 for n in numbers]  # the other 8-bit floats
    return array(name, values).reshape(shape)


def edges(name: str) -> np.ndarray:
    """The values that get lost first: limits, NaN, signed zeros, the smallest subnormal, empty and non-ASCII text."""
    if name == "string":
        return array(name, ["", "é", "日本", "a\0b", " ", "a text that is longer than most"])
    if name == "bool":
        return array(name, [True, False])
    if name in COMPLEX:
        return array(
            name, [complex(math.nan, 1), complex(-0.0, 0.0), complex(math.inf, -math.inf), complex(0.1, -1e30)]
        )
    if name in INTEGERS or name in ("int4", "uint4"):
        low, high = limits_of(name)
        return array(name, [low, high, high - 1, 0])
    limits: Any = ml_dtypes.finfo(dtype_of(name))  # type: ignore[no-untyped-call]
    values = [float(limits.max), float(limits.min), float(limits.smallest_subnormal)]
    specials = [value for value in (math.nan, math.inf, -math.inf, -0.0) if _holds(name, value)]
    return array(name, [*values, *specials])


def limits_of(name: str) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    if name in INTEGERS:
        return int(np.iinfo(name).min), int(np.iinfo(name).max)
    return (-8, 7) if name == "int4" else (0, 15)


def _holds(name: str, value: float) -> bool:
    return repr(float(array(name, value)[()])) == repr(value)
