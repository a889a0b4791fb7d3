"""Statistics that need the values of each group side by side: in their order, or sorted."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.arrays.convert import find_missing, is_float
from gatherscatter.errors import make_error
from gatherscatter.functions.gather_reduce import resolve_in_range
from gatherscatter.functions.statistics.layout import LABELS, LabelLayout
from gatherscatter.functions.statistics.reductions import Aggregation
from gatherscatter.messages.sentences import format_sentence
from gatherscatter.system.pieces import count_before, pieces, put_elements, select, take_elements

METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


class GroupedValues:
    """The values of a call, group after group.

    Attributes
    ----------
    starts : the position where each group begins, and at the end the number of values
    order : the member that each value belongs to
    values : the values in this order
    """

    def __init__(self, call: Aggregation, layout: LabelLayout, skips: bool = False) -> None:
        line = layout.values.reshape(-1)
        labels = resolve_in_range(call.op, LABELS, layout.labels, layout.groups, "groups")
        if skips:
            present = ~find_missing(line)
            labels, line = select(present, labels), select(present, line)
        self.starts, self.order = _core.group(labels, layout.groups)
        self.values = take_elements(line, self.order)
        self._labels, self._line = labels, line

    @property
    def counts(self) -> np.ndarray:
        return np.diff(self.starts)

    def bounds(self) -> Iterator[tuple[int, int, int]]:
        """The number of each group, and the positions where it begins and ends."""
        for part in pieces(len(self.starts) - 1):
            ends = self.starts[part.start + 1 : part.stop + 1].tolist()
            yield from zip(range(part.start, part.stop), self.starts[part].tolist(), ends, strict=True)

    def sort(self, num_threads: int | None, ranks: np.ndarray | None = None) -> None:
        """Sort the values of each group. Missing values come last.

        With ``ranks``, only values of these and the next ranks are sorted.
        """
        values = self.values
        if values.dtype.kind in "mM":  # a time before the smallest one is the largest integer, so NaT comes last
            values = values.view(np.int64)
            values -= 1
        sorts = _core.sort_groups(values, self.starts, ranks, num_threads) is not NotImplemented
        if values is not self.values:
            values += 1
        if not sorts:  # text and others
            missing = find_missing(self._line)
            present = np.flatnonzero(~missing)
            by_value = present[np.argsort(self._line[present], kind="stable")]
            by_value = np.concatenate([by_value, np.flatnonzero(missing)])
            order = _core.group(self._labels[by_value], len(self.starts) - 1)[1]
            self.values = take_elements(self._line, take_elements(by_value, order))


def _group_line(call: Aggregation, *, skips: bool = False) -> GroupedValues:
    """The values of all columns, one after the other. Labels are checked before they get the numbers of columns."""
    layout = call.layout
    labels = resolve_in_range(call.op, LABELS, layout.labels, layout.groups, "groups")
    return GroupedValues(call, layout._replace(labels=labels).as_line(), skips)


def _sorted_line(call: Aggregation) -> GroupedValues:
    grouped = _group_line(call, skips=call.skips)
    grouped.sort(call.num_threads)
    return grouped


def _sort(call: Aggregation) -> np.ndarray:
    grouped = _sorted_line(call)
    values = grouped.values
    if call.options["reverse"]:
        values = values[_reverse_positions(grouped)]
    made = put_elements(values, grouped.order)
    return call.results(call.layout.from_line(made, of_members=True), None)


def _reverse_positions(grouped: GroupedValues) -> np.ndarray:
    """The positions of the values of each group in descending order. Missing values stay last."""
    values, counts = grouped.values, grouped.counts
    group = np.repeat(np.arange(len(counts)), counts)
    missing = find_missing(values)
    numbers = counts - np.bincount(group, missing, len(counts)).astype(np.int64)
    at = np.arange(len(values))
    rank = at - grouped.starts[:-1][group]
    return np.where(missing, at, grouped.starts[:-1][group] + numbers[group] - 1 - rank)


def _quantile(call: Aggregation) -> np.ndarray:
    """Quantiles by the rules of `numpy.quantile`. A group with a NaN has none."""
    values = call.layout.values
    if values.dtype.kind not in "biufc" and not is_float(values.dtype):
        raise make_error("values_type", call.op, func=str(call.function), type=values.dtype)
    q, method = call.options.get("q", 0.5), call.options.get("method", "linear")
    grouped = _group_line(call, skips=call.skips)
    counts = grouped.counts
    full = counts > 0
    first, last = grouped.starts[:-1][full], grouped.starts[1:][full] - 1
    exact = q * (counts[full] - 1)
    # Halfway between two values, the nearest is the one with the even position.
    low, high = np.floor(exact), np.ceil(exact)
    if method == "nearest":
        low = high = np.round(exact)
    elif method == "lower":
        high = low
    elif method == "higher":
        low = high
    ranks = np.full(len(counts), -1)
    ranks[full] = low
    grouped.sort(call.num_threads, ranks)
    dtype = np.dtype(np.complex128 if values.dtype.kind == "c" else np.float64)
    below, above = (grouped.values[first + at.astype(np.int64)].astype(dtype) for at in (low, high))
    share = np.where(low == high, 0.0, 0.5 if method == "midpoint" else exact - low)
    with np.errstate(invalid="ignore", over="ignore"):
        between = np.where(share == 0.5, below * 0.5 + above * 0.5, below + (above - below) * share)
        found = np.where((share == 0) | (below == above), below, between)
    if is_float(values.dtype):
        found[np.isnan(grouped.values[last])] = complex(np.nan, np.nan) if dtype.kind == "c" else np.nan
    made = np.zeros(len(counts), dtype)
    made[full] = found
    return call.results(call.layout.from_line(made), call.layout.from_line(~full))


def _count_distinct(call: Aggregation) -> np.ndarray:
    """The number of distinct values. All missing values count as one."""
    grouped = _sorted_line(call)
    values, starts = grouped.values, grouped.starts
    missing = find_missing(values)
    differs = np.ones(len(values), bool)
    differs[1:] = missing[1:] != missing[:-1]
    if values.dtype.type is np.void:  # NumPy's function compares no records, its operator does
        differs[1:] = values[1:] != values[:-1]
    else:
        np.not_equal(values[1:], values[:-1], out=differs[1:], where=~(missing[1:] | missing[:-1]))
    differs[starts[:-1][grouped.counts > 0]] = True
    total = count_before(differs)
    made = total[starts[1:]] - total[starts[:-1]]
    return call.results(call.layout.from_line(made), call.layout.from_line(grouped.counts == 0))


def _collect(call: Aggregation) -> np.ndarray:
    """An array of the values of each group."""
    grouped = _group_line(call)
    made = np.empty(len(grouped.starts) - 1, object)
    for g, first, last in grouped.bounds():
        made[g] = grouped.values[first:last] if first < last or np.size(call.fill) == 0 else call.fill
    return call.layout.from_line(made)


ORDERED: dict[str, Callable[[Aggregation], np.ndarray]] = {
    "sort": _sort,
    "median": _quantile,
    "quantile": _quantile,
    "percentile": _quantile,
    "nunique": _count_distinct,
    "array": _collect,
}


def apply_function(call: Aggregation, function: Callable[..., Any]) -> np.ndarray:
    """Call a function of Python with the values of each group that has some."""
    grouped = _group_line(call)
    made = np.full(len(grouped.starts) - 1, call.fill, call.dtype)
    name = getattr(function, "__name__", repr(function))
    for g, first, last in grouped.bounds():
        if first < last:
            value = function(grouped.values[first:last])
            if call.dtype.kind != "O" and np.ndim(value):
                advice = format_sentence("parts", "arrays_of_groups")
                raise make_error("func_result", call.op, func=name, value=f"shape {np.shape(value)}", advice=advice)
            if not np.all(call.fits(np.asarray(value))):
                call.refuse_result(name, "group", g, value)
            try:
                made[g] = value
            except (TypeError, ValueError):
                raise make_error("func_result", call.op, func=name, value=reprlib.repr(value), advice="") from None
    return call.layout.from_line(made)
