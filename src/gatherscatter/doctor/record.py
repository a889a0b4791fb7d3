"""What is noted of a node: types, shapes, the range of its indices, and how often each condition holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .conditions import COUNTED
from .sites import Dims
from .values import Count, Values


@dataclass(frozen=True)
class Record:
    """Facts about the values at a node, of one call or of several; None stands for what is unknown.

    Attributes
    ----------
    calls : how many calls were seen; 0 for what follows from the file alone
    types, shapes : by role; a dim that was not the same in all calls is None
    reduction : in the names of this package
    attributes : by name
    tuples : how many index tuples, or single indices, there were
    lowest, highest : the range of the index values
    elements : how many elements a scatter wrote, or a gather read, in its largest call
    counts : by the name of a condition, how many values fulfil it
    """

    calls: int
    types: dict[str, str | None]
    shapes: dict[str, Dims]
    reduction: str | None
    attributes: dict[str, Any]
    tuples: int | None
    lowest: int | None
    highest: int | None
    elements: int | None
    counts: dict[str, Count]


def record_of(values: Values, *, calls: int) -> Record:
    """The record of one call, or of what is known before any."""
    columns = values.columns
    some = columns is not None and columns.size > 0
    return Record(
        calls=calls,
        types=values.types,
        shapes=values.shapes,
        reduction=values.reduction,
        attributes=values.attributes,
        tuples=values.count,
        lowest=int(columns.min()) if some and columns is not None else None,
        highest=int(columns.max()) if some and columns is not None else None,
        elements=_elements(values),
        counts=_counts(values),
    )


def _counts(values: Values) -> dict[str, Count]:
    """By condition. A call that does not even let itself be counted, as its parts don't fit, is malformed."""
    counts: dict[str, Count] = {}
    fits = True
    for name, count in COUNTED.items():
        try:
            counts[name] = count(values)
        except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
            counts[name], fits = None, False
    return counts if fits else counts | {"malformed": 1}


def _elements(values: Values) -> int | None:
    moved = values.shapes.get("updates" if values.row.kernel.startswith("scatter") else "indices")
    return None if moved is None or None in moved else math.prod(dim for dim in moved if dim is not None)


def merged(one: Record, other: Record) -> Record:
    """The record of the calls of both."""
    return replace(
        one,
        calls=one.calls + other.calls,
        types={role: name if name == other.types.get(role) else None for role, name in one.types.items()},
        shapes={role: _common(shape, other.shapes.get(role)) for role, shape in one.shapes.items()},
        reduction=one.reduction if one.reduction == other.reduction else None,
        tuples=_both(one.tuples, other.tuples, int.__add__),
        lowest=_either(one.lowest, other.lowest, min),
        highest=_either(one.highest, other.highest, max),
        elements=_both(one.elements, other.elements, max),
        counts={name: _both(count, other.counts[name], int.__add__) for name, count in one.counts.items()},
    )


def _common(one: Dims, other: Dims) -> Dims:
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(a if a == b else None for a, b in zip(one, other, strict=True))


def _both(one: int | None, other: int | None, combine: Callable[[int, int], int]) -> int | None:
    return None if one is None or other is None else combine(one, other)


def _either(one: int | None, other: int | None, choose: Callable[[int, int], int]) -> int | None:
    return other if one is None else one if other is None else choose(one, other)
