"""`aggregate` for PyTorch and JAX, built from this package's gathers and reductions, so it is differentiable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gatherscatter.arrays import convert
from gatherscatter.errors import OpError, integer_fault, make_error, reword
from gatherscatter.functions.statistics.layout import LABELS, read_size
from gatherscatter.functions.statistics.names import DEFAULT_FILL, default_fill, find_function

NAMES = ("sum", "prod", "mean", "var", "std", "min", "max", "first", "last", "any", "all", "argmin", "argmax", "len")


def read_input(name: str, value: Any) -> Any:
    """Return an input of `aggregate` that is not an array of the framework, without a loss of masks, units or labels.

    Numbers and lists stay, because the framework selects their type.
    """
    plain = isinstance(value, (int, float, complex, list, tuple))
    return value if plain else convert.as_array("aggregate", name, value)


class Framework(NamedTuple):
    """The functions of a framework that the statistics need.

    Attributes
    ----------
    module : torch or jax.numpy
    functions : the module with `gather`, `gather_elements` and `gather_reduce`
    cast : (array, type) -> array
    is_float : array -> whether its type has NaN
    float_type, int_type : the types of means and of sums of integers
    count_groups : labels -> one more than the largest
    widen : array -> the same, with floats of 16 bits as float32
    """

    module: Any
    functions: Any
    cast: Callable[[Any, Any], Any]
    is_float: Callable[[Any], bool]
    float_type: Any
    int_type: Any
    count_groups: Callable[[Any], int]
    widen: Callable[[Any], Any]


class _Groups:
    """The values of a call with the grouped axis first, and the statistics from which others are made."""

    def __init__(self, framework: Framework, labels: Any, values: Any, size: int, skips: bool) -> None:
        self.framework, self.labels, self.size = framework, labels, size
        self.values = values
        self.valid = ~framework.module.isnan(values) if skips else None

    def reduce(self, values: Any, reduction: str = "add", accumulate: str = "step") -> Any:
        return self.framework.functions.gather_reduce(
            values, segment_ids=self.labels, num_segments=self.size, reduction=reduction, accumulate=accumulate
        )

    def spread(self, results: Any) -> Any:
        """Return, for each value, the result of its group."""
        return self.framework.functions.gather(results, self.labels, 0)

    def keep(self, values: Any, other: Any) -> Any:
        """Values, with others instead of those that are skipped."""
        where = self.framework.module.where
        return values if self.valid is None else where(self.valid, values, where(self.valid, values * 0, other))

    def counts(self) -> Any:
        """The number of values in each group and column."""
        valid = self.framework.module.ones_like(self.values, dtype=bool) if self.valid is None else self.valid
        return self.reduce(self.framework.cast(valid, self.framework.int_type))

    def positions(self) -> Any:
        """The position of each value along the axis."""
        ones = self.framework.module.ones_like(self.values, dtype=self.framework.int_type)
        return ones.cumsum(0) - 1


def aggregate(
    op: str,
    framework: Framework,
    labels: Any,
    values: Any,
    func: Any,
    size: int | None,
    *,
    fill_value: Any,
    axis: int,
    ddof: int | None,
) -> Any:
    """The statistic ``func`` of the values of each group along an axis."""
    function = find_function(op, func, NAMES)
    for name, value in (("axis", axis), ("ddof", 0 if ddof is None else ddof)):
        if isinstance(value, bool) or not isinstance(value, int):
            integer_fault(op, name, value)
    if ddof is not None and function.name not in ("var", "std"):
        raise make_error("func_option", op, input="ddof", func=str(function))
    if values.ndim == 0 or not -values.ndim <= axis < values.ndim:
        raise make_error("aggregate_axis", op, axis=axis, shape=tuple(values.shape))
    if labels.ndim != 1 or labels.shape[0] != values.shape[axis]:
        raise make_error("labels_shape", op, labels=tuple(labels.shape), shape=tuple(values.shape))
    module = framework.module
    front = module.moveaxis(values, axis, 0)
    count = framework.count_groups(labels) if size is None else read_size(op, size)
    groups = _Groups(framework, labels, front, count, function.skip_nan and framework.is_float(values))
    try:
        made, empty = _STATISTICS[function.name](groups, function.name, ddof or 0)
    except OpError as error:  # of a function that this one is made of
        raise reword(error, op, {"segment_ids": LABELS, "num_segments": "size", "segments": "groups"}) from None
    fill = fill_value
    if fill_value is DEFAULT_FILL:
        fill = default_fill(function.name, framework.is_float(made))
    elif fill is None or (not framework.is_float(made) and fill != fill // 1):  # also NaN
        raise make_error("fill_value", op, value=fill_value, type=made.dtype)
    if empty is not None:
        made = module.where(empty, module.full_like(made, fill), made)
    return module.moveaxis(made, 0, axis)


def _as_float(groups: _Groups) -> Any:
    framework = groups.framework
    return groups.values if framework.is_float(groups.values) else framework.cast(groups.values, framework.float_type)


def _sum(groups: _Groups, name: str, ddof: int) -> tuple[Any, Any]:
    values, framework = groups.values, groups.framework
    if not framework.is_float(values):
        values = framework.cast(values, framework.int_type)
    neutral = 1 if name == "prod" else 0
    return groups.reduce(groups.keep(values, neutral), "mul" if name == "prod" else "add"), groups.counts() == 0


def _length(groups: _Groups, name: str, ddof: int) -> tuple[Any, Any]:
    counts = groups.counts()
    return counts, counts == 0


def _find_mean(groups: _Groups, values: Any, counts: Any) -> Any:
    divisors = groups.framework.module.where(counts == 0, counts + 1, counts)
    sums = groups.reduce(groups.keep(values, 0), accumulate="wide")
    return sums / groups.framework.cast(divisors, values.dtype)


def _mean(groups: _Groups, name: str, ddof: int) -> tuple[Any, Any]:
    values, counts, framework = _as_float(groups), groups.counts(), groups.framework
    return framework.cast(_find_mean(groups, framework.widen(values), counts), values.dtype), counts == 0


def _variance(groups: _Groups, name: str, ddof: int) -> tuple[Any, Any]:
    given, counts, framework = _as_float(groups), groups.counts(), groups.framework
    module, values = framework.module, framework.widen(given)
    deviations = groups.keep(values - groups.spread(_find_mean(groups, values, counts)), 0)
    few = (counts <= ddof) | (counts == 0)
    degrees = module.where(few, module.ones_like(counts), counts - ddof)
    # The mean is rounded, so the deviations do not add up to zero.
    found = groups.reduce(_square(deviations), accumulate="wide")
    rest = _square(groups.reduce(deviations, accumulate="wide"))
    found = found - rest / framework.cast(module.where(counts == 0, counts + 1, counts), found.dtype)
    found = module.where(found < 0, module.zeros_like(found), found)
    found = found / framework.cast(degrees, found.dtype)
    if name == "std":  # the gradient of a group without spread is 0
        flat = found == 0
        found = module.where(flat, found, module.sqrt(module.where(flat, module.ones_like(found), found)))
    return (found if "complex" in str(given.dtype) else framework.cast(found, given.dtype)), few


def _square(numbers: Any) -> Any:
    return (numbers * numbers.conj()).real if "complex" in str(numbers.dtype) else numbers**2


def _extremum(groups: _Groups, name: str, ddof: int) -> tuple[Any, Any]:
    infinity = float("inf") if name == "min" else -float("inf")
    return groups.reduce(groups.keep(groups.values, infinity), name), groups.counts() == 0


def _find_positions(groups: _Groups, chosen: Any, last: bool) -> tuple[Any, Any]:
    """The first or last of the chosen positions in each group, and where there is none."""
    module = groups.framework.module
    positions = groups.positions()
    number = -1 if last else groups.values.shape[0]
    none = module.full_like(positions, number)
    if chosen is not None:
        positions = module.where(chosen, positions, none)
    found = groups.reduce(positions, "max" if last else "min")
    occupied = groups.reduce(groups.framework.cast(module.ones_like(positions), positions.dtype), "add") > 0
    return found, ~occupied | (found == number)


def _end(groups: _Groups, name: str, ddof: int) -> tuple[Any, Any]:
    module = groups.framework.module
    found, missing = _find_positions(groups, groups.valid, name == "last")
    positions = module.where(missing, module.zeros_like(found), found)
    if not groups.values.shape[0]:
        return module.zeros_like(found, dtype=groups.values.dtype), missing
    return groups.framework.functions.gather_elements(groups.values, positions, 0), missing


def _position_of_extremum(groups: _Groups, name: str, ddof: int) -> tuple[Any, Any]:
    best = _extremum(groups, name.removeprefix("arg"), ddof)[0]
    hit = groups.values == groups.spread(best)
    if groups.valid is not None:
        hit = hit & groups.valid
    found, missing = _find_positions(groups, hit, False)
    return groups.framework.cast(found, groups.framework.int_type), missing


def _truth(groups: _Groups, name: str, ddof: int) -> tuple[Any, Any]:
    true = groups.values != 0
    if groups.valid is not None:
        true = true & groups.valid if name == "any" else true | ~groups.valid
    numbers = groups.framework.cast(true, groups.framework.int_type)
    return groups.reduce(numbers, "max" if name == "any" else "min") != 0, groups.counts() == 0


_STATISTICS: dict[str, Callable[[_Groups, str, int], tuple[Any, Any]]] = {
    "sum": _sum,
    "prod": _sum,
    "len": _length,
    "mean": _mean,
    "var": _variance,
    "std": _variance,
    "min": _extremum,
    "max": _extremum,
    "first": _end,
    "last": _end,
    "any": _truth,
    "all": _truth,
    "argmin": _position_of_extremum,
    "argmax": _position_of_extremum,
}
