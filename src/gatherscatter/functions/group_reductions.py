"""Several reductions of groups in one pass: their names, and the reductions of the core that they need."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.errors import OpTypeError, OpValueError, make_choice_error, only_moved
from gatherscatter.pieces import PIECE, pieces

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
REDUCTIONS = tuple(_IN_CORE)


def reduce_by_group(
    op: str,
    updates: np.ndarray,
    groups: tuple[np.ndarray, np.ndarray],
    names: tuple[str, ...],
    num_threads: int | None,
) -> dict[str, np.ndarray]:
    """The results by name, with a row for each group. ``updates`` are native and contiguous rows."""
    starts, order = groups
    wanted = _plan_core_reductions(op, updates.dtype, names)
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
            results["mean"][part] = sums[part] / counts.reshape(-1, *(1,) * (updates.ndim - 1))
    return results


def counts_of(starts: np.ndarray) -> np.ndarray:
    """The number of updates in each group."""
    counts = np.empty(len(starts) - 1, np.int64)
    for part in pieces(len(counts)):
        np.subtract(starts[1:][part], starts[:-1][part], out=counts[part])
    return counts


def _plan_core_reductions(op: str, dtype: np.dtype[Any], names: tuple[str, ...]) -> tuple[str, ...]:
    """The reductions that the core computes. Its argmin gives the minimum as well, and its argmax the maximum."""
    for name in names:
        if name not in _IN_CORE:
            raise make_choice_error(op, "reductions", name, REDUCTIONS)
        if names.count(name) > 1:
            raise OpValueError(f"{op}: reductions has {name!r} twice", op=op, input="reductions")
    if "mean" in names and dtype.kind in "biu":
        text = f"{op}: the mean of {dtype} can't be computed in one pass; use scatter(zeros, updates, "
        text += "reduction='mean', include_self=False), or convert updates to float64"
        raise OpTypeError(text, op=op, input="reductions")
    wanted = dict.fromkeys(_IN_CORE[name] for name in names)
    return tuple(name for name in wanted if name and f"arg{name}" not in wanted)
