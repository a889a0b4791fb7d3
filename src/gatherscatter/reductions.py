"""Several reductions of groups in one pass: which there are, and what each needs of the core."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.errors import OpTypeError, OpValueError, only_moved

# By name: what the core calls it. A mean is a sum divided by counts, and counts are known.
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


def reduced(
    op: str,
    updates: np.ndarray,
    groups: tuple[np.ndarray, np.ndarray],
    names: tuple[str, ...],
    num_threads: int | None,
) -> dict[str, np.ndarray]:
    """The results by name, a row for each group; ``updates`` are native and contiguous, their rows in groups."""
    starts, order = groups
    wanted = _wanted(op, updates.dtype, names)
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
    counts = np.diff(starts)
    if "count" in names:
        results["count"] = counts
    if "mean" in names:
        divisor = np.maximum(counts, 1).reshape(-1, *(1,) * (updates.ndim - 1))
        results["mean"] = (results["sum"] / divisor).astype(updates.dtype)
    return results


def _wanted(op: str, dtype: np.dtype[Any], names: tuple[str, ...]) -> tuple[str, ...]:
    """What to ask of the core; a minimum comes with where it is."""
    for name in names:
        if name not in _IN_CORE:
            text = f"{op}: reductions must be some of {', '.join(map(repr, REDUCTIONS))}, not {name!r}"
            raise OpValueError(text, op=op, input="reductions")
        if names.count(name) > 1:
            raise OpValueError(f"{op}: reductions has {name!r} twice", op=op, input="reductions")
    if "mean" in names and dtype.kind in "biu":
        text = f"{op}: the mean of {dtype} isn't made in one pass; use reduction='mean' of a scatter"
        raise OpTypeError(text, op=op, input="reductions")
    wanted = dict.fromkeys(_IN_CORE[name] for name in names)
    return tuple(name for name in wanted if name and f"arg{name}" not in wanted)
