"""Several reductions of groups: their names, and the reductions and statistics of the core that they need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gatherscatter import _core
from gatherscatter.arrays.convert import is_float
from gatherscatter.errors import OpTypeError, OpValueError, make_choice_error, make_error, only_moved
from gatherscatter.system.pieces import PIECE, convert_dtype, pieces

# The core's name for each. A mean is a sum divided by counts, and counts are known.
_IN_CORE = {
    "sum": "add",
    "mul": "mul",
    "mean": "add",
    "min": "min",
    "max": "max",
    "argmin": "argmin",
    "argmax": "argmax",
    "count": None,
}
ONE_PASS = tuple(_IN_CORE)
# The statistics of the core that are computed alone, and their results for groups without updates.
_STATISTICS = {"var": 0, "std": 0, "first": 0, "last": 0, "any": False, "all": True}
REDUCTIONS = (*ONE_PASS, *_STATISTICS)
_OTHER_WORDS = {"add": "sum", "prod": "mul", "len": "count"}


class StatisticRule(NamedTuple):
    """Whether NaN is skipped, and what a variance subtracts from the number of updates."""

    skipna: bool = False
    ddof: int = 0


def read_names(op: str, names: Sequence[str]) -> tuple[str, ...]:
    """Names of reductions, each once. The words of other functions stand for those of the list."""
    read = tuple(_OTHER_WORDS.get(name, name) if isinstance(name, str) else name for name in names)
    for name in read:
        if name not in REDUCTIONS:
            raise make_choice_error(op, "reductions", name, REDUCTIONS)
        if read.count(name) > 1:
            raise OpValueError(f"{op}: reductions has {name!r} twice", op=op, input="reductions")
    return read


def reduce_by_group(
    op: str,
    updates: np.ndarray,
    rows: np.ndarray,
    find_groups: Callable[[], tuple[np.ndarray, np.ndarray]],
    size: int,
    names: tuple[str, ...],
    *,
    rule: StatisticRule,
    num_threads: int | None,
) -> dict[str, np.ndarray]:
    """The results by name, with a row for each group. ``updates`` are native and contiguous rows.

    One pass over the updates is enough for `ONE_PASS`, unless NaN is skipped.
    """
    skips = rule.skipna and is_float(updates.dtype)
    together = () if skips else tuple(name for name in names if name in ONE_PASS)
    results = _reduce_together(op, updates, find_groups(), together, num_threads) if together else {}
    for name in names:
        if name not in together:
            results[name] = _compute_statistic(
                op, updates, rows, size, name, skips, ddof=rule.ddof, num_threads=num_threads
            )
    return results


def _compute_statistic(
    op: str,
    updates: np.ndarray,
    rows: np.ndarray,
    size: int,
    name: str,
    skips: bool,
    *,
    ddof: int,
    num_threads: int | None,
) -> np.ndarray:
    """A statistic of rows, with a row for each group. ``updates`` are native and contiguous, and ``rows`` in range."""
    core_name = {"var": "squared_deviations", "std": "squared_deviations", "mul": "prod"}.get(name, name)
    dtype = np.dtype(bool) if name in ("any", "all") else updates.dtype
    empty = np.asarray(_STATISTICS.get(name, 0), dtype)
    values = updates.reshape(1, len(updates), math.prod(updates.shape[1:]))
    made = _core.group_statistic(core_name, values, rows, size, skips, "raise", empty, num_threads)
    if made is NotImplemented:
        text = f"{op}: the reduction {name} is not defined for updates of type {updates.dtype}"
        raise OpTypeError(text + only_moved(updates.dtype), op=op, input="updates")
    if made is None:
        raise make_error("changed_indices", op)
    found, counts = made
    if name in ("var", "std"):
        found /= np.maximum(counts - ddof, 1)
        found[(counts <= ddof) | (counts == 0)] = 0 if ddof == 0 else np.nan
        if name == "std":
            np.sqrt(found, out=found)
    elif name == "mean":
        found[counts == 0] = 0
    elif name.startswith("arg"):
        found[found < 0] = len(updates)
    if name in ("var", "std") and updates.dtype.kind == "c":
        dtype = np.finfo(updates.dtype).dtype
    elif name in ("var", "std", "mean") and updates.dtype.kind in "biu":
        dtype = np.dtype(np.float64)
    elif name.startswith("arg") or name == "count":
        dtype = np.dtype(np.int64)
    shaped: np.ndarray = found.reshape(size, *updates.shape[1:])
    if shaped.dtype == dtype:
        return shaped
    with np.errstate(over="ignore"):  # a sum can be too large for the type of updates
        return convert_dtype(shaped, dtype)


def _reduce_together(
    op: str,
    updates: np.ndarray,
    groups: tuple[np.ndarray, np.ndarray],
    names: tuple[str, ...],
    num_threads: int | None,
) -> dict[str, np.ndarray]:
    starts, order = groups
    wanted = plan_core_reductions(op, updates.dtype, names)
    made = _core.reduce_groups(starts, order, updates, wanted, num_threads) if wanted else []
    if made is NotImplemented:
        text = f"{op}: not all of the reductions {', '.join(names)} are defined for updates of type {updates.dtype}"
        raise OpTypeError(text + only_moved(updates.dtype), op=op, input="updates")
    results = {}
    for name, result in zip(wanted, made, strict=True):
        if name.startswith("arg"):
            results[name.removeprefix("arg")], results[name] = result
        else:
            results["sum" if name == "add" else name] = result
    if "count" in names:
        results["count"] = counts_of(starts)
    if "mean" in names:
        sums = results["sum"]
        results["mean"] = sums if "sum" not in names else np.empty_like(sums)
        width = math.prod(sums.shape[1:])
        for part in pieces(len(sums), max(PIECE // max(width, 1), 1)):
            counts = np.maximum(np.diff(starts[part.start : part.stop + 1]), 1)
            with np.errstate(invalid="ignore"):  # complex infinities
                results["mean"][part] = sums[part] / counts.reshape(-1, *(1,) * (updates.ndim - 1))
    return results


def counts_of(starts: np.ndarray) -> np.ndarray:
    """The number of updates in each group."""
    counts = np.empty(len(starts) - 1, np.int64)
    for part in pieces(len(counts)):
        np.subtract(starts[1:][part], starts[:-1][part], out=counts[part])
    return counts


def plan_core_reductions(op: str, dtype: np.dtype[Any], names: tuple[str, ...]) -> tuple[str, ...]:
    """The reductions that the core computes. Its argmin gives the minimum as well, and its argmax the maximum."""
    if "mean" in names and dtype.kind in "biu":
        text = f"{op}: the mean of {dtype} can't be computed in one pass; use scatter(zeros, updates, "
        text += "reduction='mean', include_self=False), or convert updates to float64"
        raise OpTypeError(text, op=op, input="reductions")
    wanted = dict.fromkeys(_IN_CORE[name] for name in names)
    return tuple(name for name in wanted if name and f"arg{name}" not in wanted)
