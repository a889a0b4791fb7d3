"""Statistics that the core computes while it reads the values once or twice."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from gatherscatter import _core
from gatherscatter.arrays.convert import can_be_missing, find_missing, is_float
from gatherscatter.errors import OpIndexError, make_error
from gatherscatter.functions.gather_reduce import resolve_in_range
from gatherscatter.functions.statistics.layout import LABELS, LabelLayout
from gatherscatter.functions.statistics.names import RUNNING, Function
from gatherscatter.messages.suggestions import name_candidates
from gatherscatter.system.pieces import compute_members, convert_dtype, member_pieces


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
        layout: LabelLayout,
        dtype: np.dtype[Any],
        fill: Any,
        *,
        options: dict[str, Any],
        num_threads: int | None,
    ) -> None:
        self.op, self.function, self.layout, self.dtype = op, function, layout, dtype
        self.fill, self.options, self.num_threads = fill, options, num_threads
        self.skips = function.skip_nan and layout.values.ndim > 0 and can_be_missing(layout.values.dtype)

    def statistic(
        self, name: str, values: np.ndarray | None = None, *, fill: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """A statistic of the core, and the numbers of members for those that have them.

        ``fill`` is the result of an empty group, for statistics that have no natural one.
        """
        return self._compute(name, self.layout.values if values is None else values, fill)  # type: ignore[no-any-return]

    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Squared deviations from the mean, numbers of members, and the mean: a center, and its distance from it."""
        return self._compute("moments", self.layout.values, None)  # type: ignore[no-any-return]

    def _compute(self, name: str, values: np.ndarray, fill: np.ndarray | None) -> Any:
        labels, groups = self.layout.labels, self.layout.groups
        made = _core.group_statistic(name, values, labels, groups, self.skips, "raise", fill, self.num_threads)
        if made is None:
            self._refuse_labels()
        if made is NotImplemented:
            raise make_error("values_type", self.op, func=str(self.function), type=values.dtype)
        return made

    def _refuse_labels(self) -> NoReturn:
        try:
            resolve_in_range(self.op, LABELS, self.layout.labels, self.layout.groups, "groups")
        except OpIndexError as error:
            if self.options.get("ddof") == 0 and self.layout.groups in (0, 1):  # as in std(1) of pandas
                error.args = (f"{error}{name_candidates([f'ddof={self.layout.groups}'])}",)
            raise
        raise make_error("changed_indices", self.op)

    @property
    def empty(self) -> np.ndarray:
        """The groups without members."""
        return ~self.statistic("occupied", self.marks)[0]

    @cached_property
    def counts(self) -> np.ndarray:
        """The number of members of each group, without those that are skipped: (outer, groups, columns), or ones."""
        return self.statistic("count", self.marks)[0]

    @cached_property
    def marks(self) -> np.ndarray:
        """Values in which the core finds the members to skip, as NaN.

        They are the values of the call. If these are not floats, members to skip are NaN, and others their position.
        """
        values = self.layout.values
        if not self.skips or is_float(values.dtype):
            return values
        return np.where(find_missing(values), np.nan, np.arange(values.shape[1], dtype=np.float64)[:, np.newaxis])

    def results(self, computed: np.ndarray, empty: np.ndarray | None) -> np.ndarray:
        """Results in their type. ``empty``: the groups that get the fill value. None: no group does.

        Raises ValueError if an integer type was asked for that does not hold a result. Fractions are cut off.
        """
        fits = self.fits(computed) | (False if empty is None else empty)
        if not np.all(fits):
            first = np.unravel_index(np.argmin(fits), computed.shape)
            what = "value" if self.function.name in RUNNING else "group"
            self.refuse_result(str(self.function), what, int(first[1]), computed[first].item())
        with np.errstate(over="ignore", invalid="ignore"):  # a sum can be too large for the type
            made = computed if computed.dtype == self.dtype else convert_dtype(computed, self.dtype)
        if empty is not None:
            if not made.flags.writeable or not made.flags.owndata:
                made = made.copy()
            np.copyto(made, self.fill, where=empty, casting="unsafe")
        return made

    def fits(self, computed: np.ndarray) -> np.ndarray | bool:
        """Whether the type of the results holds each value, without its fraction. Types of floats hold all."""
        given = computed.dtype
        if self.dtype.kind not in "iu" or given.kind == "b" or np.can_cast(given, self.dtype, "safe"):
            return True
        limits = np.iinfo(self.dtype)
        if given.kind in "iu":
            own = np.iinfo(given)
            return (computed >= max(limits.min, own.min)) & (computed <= min(limits.max, own.max))
        if not is_float(given):
            return True
        wide = np.trunc(computed.astype(np.float64))
        return (wide >= float(limits.min)) & (wide < float(limits.max + 1))  # powers of two, which are floats

    def refuse_result(self, func: str, what: str, position: int, value: object) -> NoReturn:
        """Raise the error about a result that its type does not hold."""
        raise make_error("result_value", self.op, func=func, what=what, position=position, value=value, type=self.dtype)

    def is_fill(self, value: Any) -> bool:
        """Whether empty groups have the fill value already, because it is this value."""
        return bool(np.asarray(self.fill == value).all())


def find_deviations(values: np.ndarray, centers: np.ndarray, labels: np.ndarray, axis: int) -> np.ndarray:
    """The distances of values from the centers of their groups, as float64. Those of integers are exact."""
    at = np.take(centers, labels.astype(np.intp), axis=axis)
    if values.dtype.kind in "iu":
        above = values >= at
        wide = np.uint64
        low, high = np.where(above, at, values).astype(wide), np.where(above, values, at).astype(wide)
        distance = (high - low).astype(np.float64)
        return np.where(above, distance, -distance)
    deviations: np.ndarray = values - at
    return deviations


def choose_centers(dtype: np.dtype[Any], means: np.ndarray) -> np.ndarray:
    """Numbers of this type near the means of groups, from which deviations of values can be computed."""
    means = np.where(np.isfinite(means), means, 0)
    if dtype.kind not in "iu":
        return means
    limits = np.iinfo(dtype)
    centers: np.ndarray = np.clip(np.rint(means), float(limits.min), np.nextafter(float(limits.max), 0))
    return centers.astype(dtype)


def _sum(call: Aggregation) -> np.ndarray:
    return _with_neutral(call, call.statistic("sum", _in_float(call))[0], 0)


def _product(call: Aggregation) -> np.ndarray:
    return _with_neutral(call, call.statistic("prod", _in_float(call))[0], 1)


def _in_float(call: Aggregation) -> np.ndarray:
    """The values, as floats if integers are asked to give floats, or if floats are asked to give wider ones."""
    values = call.layout.values
    if call.dtype.kind not in "fc" or (call.dtype.itemsize <= values.dtype.itemsize and values.dtype.kind == "f"):
        return values
    if values.dtype.kind in "biu" or call.function.name in RUNNING:
        return convert_dtype(values, np.dtype(np.complex128 if call.dtype.kind == "c" else np.float64))
    return values


def _with_neutral(call: Aggregation, computed: np.ndarray, neutral: Any) -> np.ndarray:
    """Results of a statistic whose value for empty groups is known."""
    return call.results(computed, None if call.is_fill(neutral) else call.empty)


def _sum_of_squares(call: Aggregation) -> np.ndarray:
    values = call.layout.values
    if values.dtype.kind in "biu":
        wide = convert_dtype(values, np.dtype(np.uint64 if values.dtype.kind == "u" else np.int64))
        for part in member_pieces(values.shape):
            wide[:, part] *= wide[:, part]
        return _with_neutral(call, call.statistic("sum", wide)[0], 0)
    return _with_neutral(call, call.statistic("sum_of_squares")[0], 0)


def _length(call: Aggregation) -> np.ndarray:
    values = call.layout.values
    shape = (values.shape[0], call.layout.groups, values.shape[2]) if values.ndim else call.counts.shape
    return _with_neutral(call, np.broadcast_to(call.counts, shape).copy(), 0)


def _mean(call: Aggregation) -> np.ndarray:
    means, counts = _find_means(call)
    if means.dtype.kind == "c":  # as in NumPy, a NaN in one part makes both NaN
        means[np.isnan(means)] = complex(np.nan, np.nan)
    return call.results(means, None if np.isnan(call.fill) else counts == 0)


def _find_means(call: Aggregation) -> tuple[np.ndarray, np.ndarray]:
    values = call.layout.values
    sums_fit = is_float(values.dtype) or (values.dtype.itemsize <= 4 and values.shape[1] < 2**31)
    if values.shape[2] == 1 or call.skips or not sums_fit:
        return call.statistic("mean")
    # The members of a group are counted once for all columns.
    sums, counts = call.statistic("sum")[0], call.counts
    with np.errstate(invalid="ignore", divide="ignore"):
        if is_float(values.dtype):
            return np.divide(sums, counts, out=sums), counts
        whole, rest = np.divmod(sums, np.maximum(counts, 1).astype(sums.dtype))
        return whole + rest / counts, counts


def _variance(call: Aggregation) -> np.ndarray:
    squares, counts = call.statistic("squared_deviations")
    degrees = counts - call.options["ddof"]
    few = (degrees <= 0) | (counts == 0)
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
    dtype = values.dtype if values.dtype.kind in "iu" and values.dtype.itemsize == 8 else np.dtype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        deviations = _deviate(call, values, choose_centers(dtype, means))
        # The mean is rounded, so the deviations are centered once more. Their scale does not matter to the result.
        deviations = _deviate(call, deviations, call.statistic("mean", deviations)[0])
        sizes = compute_members(values.shape, lambda part: np.abs(deviations[:, part]))
        largest = call.statistic("max", sizes, fill=np.zeros(()))[0]
        scale = np.where(np.isfinite(largest) & (largest > 0), largest, 1)
        deviations = compute_members(values.shape, lambda part: deviations[:, part] / _spread(call, scale, part))
        powers = []
        power = convert_dtype(deviations, deviations.dtype)
        for _ in range(3):
            for part in member_pieces(values.shape):
                power[:, part] *= deviations[:, part]
            powers.append(call.statistic("sum", power)[0])
        made = finish(counts.astype(np.float64), powers)
        noise = 0.0 if values.dtype.kind in "biu" else 4 * np.finfo(np.float64).eps
        is_constant = largest <= noise * np.abs(np.nan_to_num(means))
    made = np.where(is_constant | (powers[0] == 0), 0.0, made)
    made = np.where(counts < least, np.nan, made)
    return call.results(made, counts == 0)


def _deviate(call: Aggregation, values: np.ndarray, centers: np.ndarray) -> np.ndarray:
    labels = call.layout.labels

    def deviate(part: slice) -> np.ndarray:
        return find_deviations(values[:, part].astype(centers.dtype, copy=False), centers, labels[part], 1)

    return compute_members(values.shape, deviate)


def _spread(call: Aggregation, results: np.ndarray, part: slice) -> np.ndarray:
    """Return, for each member, the result of its group."""
    return np.take(results, call.layout.labels[part].astype(np.intp), axis=1)


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


def _with_fill(call: Aggregation) -> np.ndarray:
    """A statistic that the core computes with the fill value, if it is a value of the core's results."""
    dtype = np.dtype(bool) if call.function.name in ("any", "all") else call.layout.values.dtype
    if call.dtype == dtype:
        return call.statistic(call.function.name, fill=np.asarray(call.fill, dtype))[0]
    return call.results(call.statistic(call.function.name, fill=np.zeros((), dtype))[0], call.empty)


def _position_of_extremum(call: Aggregation) -> np.ndarray:
    found = call.statistic(call.function.name)[0]
    return call.results(call.layout.number_positions(found), None if call.is_fill(-1) else found < 0)


def _end(call: Aggregation) -> np.ndarray:
    """The first or last value of each group."""
    values, name = call.layout.values, call.function.name
    if values.dtype.kind in "biufc" or is_float(values.dtype):
        return _with_fill(call)
    if call.skips:
        found = call.statistic(name, call.marks, fill=np.full((), -1.0))[0].astype(np.intp)
    else:
        found = call.statistic(f"{name}_position")[0].reshape(1, -1, 1)
    missing = found < 0
    if values.shape[1] == 0:
        taken = np.zeros((values.shape[0], found.shape[1], values.shape[2]), values.dtype)
    else:
        taken = np.take_along_axis(values, np.maximum(found, 0), axis=1)
    return call.results(taken, missing if missing.any() else None)


def _nan_truth(call: Aggregation) -> np.ndarray:
    name = call.function.name.removesuffix("nan")
    values = call.layout.values
    made = call.statistic(name, find_missing(values), fill=np.asarray(bool(call.fill)))[0]
    return call.results(made, None)


def _trapezoid(call: Aggregation) -> np.ndarray:
    values = call.layout.values
    wide = convert_dtype(values, np.dtype(np.complex128 if values.dtype.kind == "c" else np.float64))
    sums = call.statistic("sum", wide)[0]
    few = np.broadcast_to(call.counts < 2, sums.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        for end in ("first", "last"):
            sums -= call.statistic(end, wide, fill=np.zeros((), wide.dtype))[0] * 0.5
        sums *= call.options["dx"]
    sums[few] = 0
    return _with_neutral(call, sums, 0)


def _running(call: Aggregation) -> np.ndarray:
    return call.results(call.statistic(call.function.name, _in_float(call))[0], None)


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
    "min": _with_fill,
    "max": _with_fill,
    "argmin": _position_of_extremum,
    "argmax": _position_of_extremum,
    "first": _end,
    "last": _end,
    "any": _with_fill,
    "all": _with_fill,
    "anynan": _nan_truth,
    "allnan": _nan_truth,
    "trapezoid": _trapezoid,
    "cumsum": _running,
    "cumprod": _running,
    "cummin": _running,
    "cummax": _running,
}
