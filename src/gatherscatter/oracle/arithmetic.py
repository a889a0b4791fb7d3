"""The arithmetic of reductions: docs/specification.md, 2.10."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from gatherscatter.oracle.element_types import COMPLEX, FLOATS, HALVES, INTEGERS, SUMS, element_type
from gatherscatter.oracle.rationals import exact_sum


@dataclasses.dataclass(frozen=True)
class Reduce:
    reduction: str = "none"
    initial: bool = True
    accumulate: str = "step"


def wrap_to(value: int, name: str) -> int:
    """Integers of N bits are integers modulo 2**N."""
    bits = int(name.lstrip("uint"))
    value %= 1 << bits
    return value - (1 << bits) if name[0] == "i" and value >> (bits - 1) else value


def complex_product(a: Any, b: Any) -> Any:
    """(ar br - ai bi) + (ar bi + ai br) i, with every operation rounded to the type of the parts."""
    return type(a)(complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real))


def step(reduction: str, a: Any, u: Any, name: str) -> Any:
    """f(a, u), rounded to T. `a` is the value of the slot, and `u` the update."""
    if name == "bool":
        a, u = bool(a), bool(u)
        return {"add": a or u, "mul": a and u, "min": a and u, "max": a or u, "sub": a != u}[reduction]
    if name in INTEGERS:
        a, u = int(a), int(u)
        if reduction in ("min", "max"):
            return min(a, u) if reduction == "min" else max(a, u)
        return wrap_to({"add": a + u, "sub": a - u, "mul": a * u}[reduction], name)
    if reduction in ("min", "max"):
        if a != a or u != u:  # NaN propagates from either side (O12, V17)
            return a if a != a else u
        return (a if a < u else u) if reduction == "min" else (a if a > u else u)
    if reduction == "mul":
        return complex_product(a, u) if name in COMPLEX else a * u
    return a + u if reduction == "add" else a - u


def mean(total: Any, count: int, name: str) -> Any:
    if name in COMPLEX:
        return type(total)(complex(total.real / type(total.real)(count), total.imag / type(total.real)(count)))
    return total / type(total)(count)


def fold(reduction: str, contributions: list[Any], dtype: np.dtype, accumulate: str = "step") -> Any:
    """Combine all contributions to one slot, in order. "wide": halves accumulate in float32 and are rounded once."""
    name = element_type(dtype)
    if accumulate == "exact" and reduction in SUMS and name in FLOATS:
        first, *rest = [float(c) for c in contributions]
        signed = [first, *(-c for c in rest)] if reduction == "sub" else [first, *rest]
        return dtype.type(exact_sum(signed, name, len(signed) if reduction == "mean" else 1))
    if reduction == "none":
        return contributions[-1]
    if reduction == "mean" and name in INTEGERS:
        return sum(int(c) for c in contributions) // len(contributions)
    if accumulate == "wide" and name in HALVES:
        wide = [np.float32(c) for c in contributions]
        return dtype.type(fold(reduction, wide, np.dtype(np.float32)))
    value = contributions[0]
    for u in contributions[1:]:
        value = step("add" if reduction == "mean" else reduction, value, u, name)
    return mean(value, len(contributions), name) if reduction == "mean" else value


def is_reducible(reduction: str, name: str) -> bool:
    """Whether a cell of table 2.10 exists, for the array functions. OpenVINO also refuses text."""
    if reduction == "none" or name in (*INTEGERS, *FLOATS):
        return True
    if name == "bool":
        return reduction != "mean"
    if name == "string":
        return reduction == "add"
    return name in COMPLEX and reduction not in ("min", "max")
