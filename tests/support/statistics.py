"""Statistics of groups as their definitions say, in fractions: the judge of `gatherscatter.aggregate`.

It does not use the library, and computes each group alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

EMPTY = object()  # the group has no result


def groups_of(labels: Sequence[int], count: int) -> list[list[int]]:
    """The members of each group, in their order."""
    members: list[list[int]] = [[] for _ in range(count)]
    for i, label in enumerate(labels):
        members[label].append(i)
    return members


def is_nan(x: Any) -> bool:
    return bool(x != x)


def exact(x: Any) -> Fraction:
    return Fraction(int(x)) if isinstance(x, bool | np.bool | int | np.integer) else Fraction(float(x))


def statistic(name: str, values: Sequence[Any], positions: Sequence[int], **options: Any) -> Any:
    """One statistic of the values of one group: a Fraction, a float that is not finite, a value, or EMPTY.

    Standard deviations are returned as the square.
    """
    if name.startswith("nan") and name != "nan":
        kept = [i for i, x in enumerate(values) if not is_nan(x)]
        return statistic(name[3:], [values[i] for i in kept], [positions[i] for i in kept], **options)
    n = len(values)
    if name == "len":
        return n
    if name == "anynan":
        return any(map(is_nan, values)) if n else EMPTY
    if name == "allnan":
        return all(map(is_nan, values)) if n else EMPTY
    if n == 0:
        return EMPTY
    if name in ("any", "all"):
        return (any if name == "any" else all)(bool(x) for x in values)
    if name == "first":
        return values[0]
    if name == "last":
        return values[-1]
    if name == "nunique":
        return len({float(x) if isinstance(x, np.floating) else int(x) for x in values if not is_nan(x)}) + any(
            map(is_nan, values)
        )
    if name == "trapezoid" and n == 1:
        return Fraction(0)
    if any(map(is_nan, values)):
        return EMPTY if name.startswith("arg") else math.nan
    if name in ("min", "max"):
        return (min if name == "min" else max)(values)
    if name in ("argmin", "argmax"):
        best = (min if name == "argmin" else max)(values)
        return positions[[x == best for x in values].index(True)]
    if name in ("median", "quantile", "percentile"):
        return quantile(sorted(values), options)
    if not all(map(math.isfinite, map(float, values))):
        with np.errstate(all="ignore"):  # sums of infinities follow the rules of floats
            return not_finite(name, values, options)
    numbers = [exact(x) for x in values]
    if name == "sum":
        return sum(numbers)
    if name == "prod":
        return math.prod(numbers)
    if name == "sumofsquares":
        return sum(x * x for x in numbers)
    mean = sum(numbers) / n
    if name == "mean":
        return mean
    if name in ("var", "std"):
        degrees = n - options.get("ddof", 0)
        return EMPTY if degrees <= 0 else sum((x - mean) ** 2 for x in numbers) / degrees
    if name == "trapezoid":
        pairs = pairwise(numbers)
        return sum((a + b) / 2 for a, b in pairs) * exact(options.get("dx", 1.0))
    raise AssertionError(name)


def not_finite(name: str, values: Sequence[Any], options: dict[str, Any]) -> Any:
    floats = [float(x) for x in values]
    plus, minus = math.inf in floats, -math.inf in floats
    if name in ("sum", "mean"):
        return math.nan if plus and minus else math.inf if plus else -math.inf
    if name == "sumofsquares":
        return math.inf
    if name == "prod":
        return math.nan if 0 in floats else math.inf * math.prod(math.copysign(1, x) for x in floats)
    if name in ("var", "std"):
        return EMPTY if len(values) <= options.get("ddof", 0) else math.nan
    return None  # not checked


def quantile(ordered: Sequence[Any], options: dict[str, Any]) -> Any:
    rank = exact(options.get("q", 0.5) * (len(ordered) - 1))  # a float, as in NumPy
    low, high = math.floor(rank), math.ceil(rank)
    method = options.get("method", "linear")
    if method == "nearest":
        return ordered[round(rank)]
    if method in ("lower", "higher") or low == high:
        return ordered[high if method == "higher" else low]
    below, above = ordered[low], ordered[high]
    if not (math.isfinite(float(below)) and math.isfinite(float(above))):
        return None  # not checked
    share = Fraction(1, 2) if method == "midpoint" else rank - low
    return exact(below) + (exact(above) - exact(below)) * share


def running(name: str, values: Sequence[Any]) -> list[Any]:
    """The results after each value of a group."""
    found = []
    for i in range(len(values)):
        so_far = values[: i + 1]
        if name == "nancumsum" or name == "nancumprod":
            kept = [x for x in so_far if not is_nan(x)]
            neutral = 0 if name == "nancumsum" else 1
            found.append(statistic(name[6:], kept, range(len(kept))) if kept else Fraction(neutral))
        elif name.startswith("nancum"):
            kept = [x for x in so_far if not is_nan(x)]
            found.append(statistic(name[6:], kept, range(len(kept))) if kept else math.nan)
        else:
            found.append(statistic(name[3:], so_far, range(len(so_far))))
    return found


def close(found: Any, wanted: Any, scale: float, steps: int, dtype: np.dtype[Any]) -> bool:
    """Whether a number is the exact one, up to ``steps`` roundings of numbers of the size of ``scale``."""
    if wanted is None:
        return True
    if isinstance(wanted, float | np.floating) and not math.isfinite(wanted):
        return is_nan(found) if is_nan(wanted) else bool(float(found) == wanted)
    if dtype.kind in "biu":
        return bool(int(found) == int(wanted) % 2**64 or (int(found) - int(wanted)) % 2**64 == 0)
    number = float(found)
    limits = np.finfo(dtype)
    if abs(wanted) > float(limits.max):
        return math.isinf(number) or abs(number) == float(limits.max)
    if not math.isfinite(number):
        return abs(scale) > float(limits.max) / 4  # a partial sum was too large
    error = abs(Fraction(number) - wanted)
    return error <= (
        Fraction(float(limits.eps)) * abs(wanted)
        + Fraction(2.0**-52) * steps * Fraction(scale)
        + Fraction(float(limits.smallest_subnormal))
    )
