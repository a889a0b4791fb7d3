"""Statistics that the core computes while it reads the values once or twice."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.errors import make_error
from gatherscatter.functions.gather_reduce import resolve_in_range
from gatherscatter.functions.statistics.layout import LABELS, Layout
from gatherscatter.functions.statistics.names import Function, is_float
from gatherscatter.pieces import convert_dtype


class Aggregation:
    """A call of `aggregate`, checked. Its results are those of groups, or of values if the function is a running one.

    Attributes
    ----------
    dtype : the type of the results
    fill : the result of an empty group
    options : those of the function
    """

    def __init__(
        self,
        op: str,
        function: Function,
        layout: Layout,
        dtype: np.dtype[Any],
        fill: Any,
        options: dict[str, Any],
        num_threads: int | None,
    ) -> None:
        self.op, self.function, self.layout, self.dtype = op, function, layout, dtype
        self.fill, self.options, self.num_threads = fill, options, num_threads
        self.skips = function.skip_nan and layout.values.ndim > 0 and is_float(layout.values.dtype)

    def statistic(
        self, name: str, values: np.ndarray | None = None, *, skips: bool | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """A statistic of the core, and the numbers of members for those that have them."""
        values = self.layout.values if values is None else values
        skips = self.skips if skips is None else skips
        made = _core.group_statistic(
            name, values, self.layout.labels, self.layout.groups, skips, "raise", self.num_threads
        )
        if made is None:
            resolve_in_range(self.op, LABELS, self.layout.labels, self.layout.groups, "groups")
            raise make_error("changed_indices", self.op)
        if made is NotImplemented:
            raise make_error("values_type", self.op, func=str(self.function), type=values.dtype)
        return made  # type: ignore[no-any-return]

    @cached_property
    def counts(self) -> np.ndarray:
        """The number of members of each group, without those that are skipped: (outer, groups, columns), or ones."""
        return self.statistic("count")[0]

    def results(self, computed: np.ndarray, empty: np.ndarray | None) -> np.ndarray:
        """Results in their type. ``empty``: the groups that get the fill value. None: no group does."""
        made = computed if computed.dtype == self.dtype else convert_dtype(computed, self.dtype)
        if empty is not None:
            if not made.flags.writeable or not made.flags.owndata:
                made = made.copy()
            np.copyto(made, self.fill, where=empty, casting="unsafe")
        return made

    def is_fill(self, value: Any) -> bool:
        """Whether empty groups have the fill value already, because it is this value."""
        return bool(np.asarray(self.fill == value).all())


def _sum(call: Aggregation) -> np.ndarray:
    return _with_neutral(call, call.statistic("sum")[0], 0)


def _product(call: Aggregation) -> np.ndarray:
    return _with_neutral(call, call.statistic("prod")[0], 1)


def _with_neutral(call: Aggregation, computed: np.ndarray, neutral: Any) -> np.ndarray:
    """Results of a statistic whose value for empty groups is known."""
    return call.results(computed, None if call.is_fill(neutral) else call.counts == 0)


def _sum_of_squares(call: Aggregation) -> np.ndarray:
    values = call.layout.values
    if values.dtype.kind in "biu":
        wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64)
        return _with_neutral(call, call.statistic("sum", wide * wide)[0], 0)
    return _with_neutral(call, call.statistic("sum_of_squares")[0], 0)


def _length(call: Aggregation) -> np.ndarray:
    values = call.layout.values
    shape = (values.shape[0], call.layout.groups, values.shape[2]) if values.ndim else call.counts.shape
    return _with_neutral(call, np.broadcast_to(call.counts, shape), 0)


def _mean(call: Aggregation) -> np.ndarray:
    means, counts = _find_means(call)
    if means.dtype.kind == "c":  # as in NumPy, a NaN in one part makes both NaN
        means[np.isnan(means)] = complex(np.nan, np.nan)
    return call.results(means, None if np.isnan(call.fill) else counts == 0)


def _find_means(call: Aggregation) -> tuple[np.ndarray, np.ndarray]:
    values = call.layout.values
    if values.shape[2] == 1 or call.skips or not is_float(values.dtype):
        return call.statistic("mean")
    # The members of a group are counted once for all columns.
    sums = call.statistic("sum")[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.divide(sums, call.counts, out=sums), call.counts


def _variance(call: Aggregation) -> np.ndarray:
    squares, counts = call.statistic("squared_deviations")
    degrees = counts - call.options["ddof"]
    few = degrees <= 0
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = np.divide(squares, degrees, out=squares)
    if call.function.name == "std":
        with np.errstate(invalid="ignore"):
            np.sqrt(variances, out=variances)
    return call.results(variances, few)


def _moment(call: Aggregation, least: int, finish: Callable[[np.ndarray, list[np.ndarray]], np.ndarray]) -> np.ndarray:
    """A statistic of the deviations from the mean. ``finish`` gets counts, and sums of their powers 2, 3 and 4."""
    values = call.layout.values
    if values.dtype.kind == "c":
        raise make_error("values_type", call.op, func=str(call.function), type=values.dtype)
    means, counts = call.statistic("mean")
    at = np.take(means, call.layout.labels.astype(np.intp), axis=1)
    deviations = values.astype(np.float64) - at
    powers = []
    power = deviations
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for _ in range(3):
            power = power * deviations
            powers.append(call.statistic("sum", power)[0])
        made = finish(counts.astype(np.float64), powers)
    made = np.where(powers[0] == 0, 0.0, made)
    made = np.where(counts < least, np.nan, made)
    return call.results(made, counts == 0)


def _skewness(call: Aggregation) -> np.ndarray:
    def finish(n: np.ndarray, sums: list[np.ndarray]) -> np.ndarray:
        made: np.ndarray = n * np.sqrt(n - 1) / (n - 2) * sums[1] / sums[0] ** 1.5
        return made

    return _moment(call, 3, finish)


def _kurtosis(call: Aggregation) -> np.ndarray:
    def finish(n: np.ndarray, sums: list[np.ndarray]) -> np.ndarray:
        scaled = n * (n + 1) * (n - 1) * sums[2] / ((n - 2) * (n - 3) * sums[0] ** 2)
        made: np.ndarray = scaled - 3 * (n - 1) ** 2 / ((n - 2) * (n - 3))
        return made

    return _moment(call, 4, finish)


def _extremum(call: Aggregation) -> np.ndarray:
    found = call.statistic(call.function.name)[0]
    neutral = _neutral_extremum(found.dtype, call.function.name == "min")
    is_neutral = found == neutral
    if not is_neutral.any():
        return call.results(found, None)
    return call.results(found, is_neutral & (call.counts == 0))


def _neutral_extremum(dtype: np.dtype[Any], greatest: bool) -> Any:
    if dtype.kind == "b":
        return greatest
    if dtype.kind in "iu":
        return np.iinfo(dtype).max if greatest else np.iinfo(dtype).min
    infinity = np.inf if greatest else -np.inf
    return complex(infinity, infinity) if dtype.kind == "c" else np.asarray(infinity).astype(dtype)


def _position_of_extremum(call: Aggregation) -> np.ndarray:
    found = call.statistic(call.function.name)[0]
    return call.results(call.layout.number_positions(found), None if call.is_fill(-1) else found < 0)


def _end(call: Aggregation) -> np.ndarray:
    """The first or last value of each group."""
    values = call.layout.values
    found = call.statistic(call.function.name)[0]
    missing = found < 0
    if values.shape[1] == 0:
        return call.results(np.zeros((values.shape[0], call.layout.groups, values.shape[2]), values.dtype), missing)
    places = np.maximum(found, 0)
    if places.shape[2] == values.shape[2] and places.shape[0] == values.shape[0]:
        taken = np.take_along_axis(values, places, axis=1)
    else:
        taken = np.take(values, places.reshape(-1), axis=1)
    return call.results(taken, missing if missing.any() else None)


def _truth(call: Aggregation) -> np.ndarray:
    return _with_neutral(call, call.statistic(call.function.name)[0], call.function.name == "all")


def _nan_truth(call: Aggregation) -> np.ndarray:
    name = call.function.name.removesuffix("nan")
    values = call.layout.values
    nan = np.isnan(values) if is_float(values.dtype) else np.zeros(values.shape, bool)
    return _with_neutral(call, call.statistic(name, nan)[0], name == "all")


def _trapezoid(call: Aggregation) -> np.ndarray:
    values = call.layout.values
    wide = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    sums = call.statistic("sum", wide)[0]
    few = np.broadcast_to(call.counts < 2, sums.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        for end in ("first", "last"):
            places = np.broadcast_to(np.maximum(call.statistic(end)[0], 0), sums.shape)
            if values.shape[1]:
                sums -= np.take_along_axis(wide, places, axis=1) * 0.5
        sums *= call.options["dx"]
    sums[few] = 0
    return _with_neutral(call, sums, 0)


def _running(call: Aggregation) -> np.ndarray:
    return call.results(call.statistic(call.function.name)[0], None)


REDUCTIONS: dict[str, Callable[[Aggregation], np.ndarray]] = {
    "sum": _sum,
    "prod": _product,
    "sumofsquares": _sum_of_squares,
    "len": _length,
    "mean": _mean,
    "var": _variance,
    "std": _variance,
    "skew": _skewness,
    "kurt": _kurtosis,
    "min": _extremum,
    "max": _extremum,
    "argmin": _position_of_extremum,
    "argmax": _position_of_extremum,
    "first": _end,
    "last": _end,
    "any": _truth,
    "all": _truth,
    "anynan": _nan_truth,
    "allnan": _nan_truth,
    "trapezoid": _trapezoid,
    "cumsum": _running,
    "cumprod": _running,
    "cummin": _running,
    "cummax": _running,
}
