"""Sums of floats as rational numbers, rounded by integer arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

# Bits of precision, the exponent of the smallest number, and that of the first number that is too large.
FORMATS = {
    "float16": (11, -24, 16),
    "bfloat16": (8, -133, 128),
    "float32": (24, -149, 128),
    "float64": (53, -1074, 1024),
}


def round_to_format(value: Fraction, name: str) -> float:
    """Round to the nearest number of a format, ties to even, by integer arithmetic."""
    precision, lowest, highest = FORMATS[name]
    size = abs(value)
    if size == 0:
        return 0.0
    top = size.numerator.bit_length() - size.denominator.bit_length()
    top -= size < Fraction(2) ** top
    last = Fraction(2) ** max(top - precision + 1, lowest)
    nearest = round(size / last) * last
    finite = nearest < Fraction(2) ** highest
    return (float(nearest) if finite else math.inf) * (1 if value > 0 else -1)


def exact_sum(contributions: list[float], name: str, divisor: int = 1) -> float:
    if any(math.isnan(x) for x in contributions) or {math.inf, -math.inf} <= set(contributions):
        return math.nan
    if any(math.isinf(x) for x in contributions):
        return next(x for x in contributions if math.isinf(x))
    if all(x == 0 and math.copysign(1, x) < 0 for x in contributions):
        return -0.0
    return round_to_format(sum(map(Fraction, contributions), Fraction(0)) / divisor, name)
