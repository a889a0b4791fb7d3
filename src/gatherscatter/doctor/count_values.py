"""Conditions of the values of data and updates, counted at a node; None where the count can't be known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ml_dtypes import iinfo

from .values import Count, Values

WIDE = {"int64": np.int32, "uint64": np.uint32, "float64": np.float32}
FLOATS = ("float", "bfloat", "complex")


def wide_values(values: Values) -> Count:
    """Infinities of float64 are among them: a runtime that narrows to 32 bits may make the largest number of them."""

    def wide(name: str, array: np.ndarray) -> np.ndarray:
        return np.asarray((array.astype(WIDE[name]) != array) | np.isinf(array))

    return _over(values, lambda name: name in WIDE, wide, small=True)


def nan(values: Values) -> Count:
    if not values.row.kernel.startswith("scatter"):
        return 0
    return _over(values, lambda name: name.startswith(FLOATS), lambda name, array: array != array)


def infinite(values: Values) -> Count:
    if not values.row.kernel.startswith("scatter"):
        return 0
    return _over(values, lambda name: name.startswith(FLOATS), lambda name, array: np.isinf(array))


def _over(
    values: Values,
    concerns: Callable[[str], bool],
    fulfils: Callable[[str, np.ndarray], np.ndarray],
    *,
    small: bool = False,
) -> Count:
    """How many elements of data and updates fulfil a test; ``small``: sizes of arrays don't."""
    total = 0
    for known in values.row.inputs:
        if known.kind != "data" or known.name not in values.types:
            continue
        name = values.types[known.name]
        if name is None:
            return None
        if not concerns(name) or (small and known.name in values.sizes):
            continue
        if known.name not in values.arrays:
            return None
        with np.errstate(all="ignore"):
            found = fulfils(name, values.arrays[known.name])
            found &= values.arrays[known.name] == values.arrays[known.name] if small else True
        total += int(np.count_nonzero(found))
    return total


def _integer_means(values: Values) -> list[tuple[int, int]] | None:
    """Sum and number of contributions of every mean of integers; None where unknown."""
    name = values.types.get("data")
    if values.reduction not in ("mean", None) or (name is not None and not name.startswith(("int", "uint"))):
        return []
    data, updates, targets = values.arrays.get("data"), values.arrays.get("updates"), values.targets
    if data is None or updates is None or targets is None or values.reduction is None or len(targets) != updates.size:
        return None
    assert values.axis is not None
    sums: dict[int, list[int]] = {}
    for target, update in zip(targets.tolist(), updates.ravel().tolist(), strict=True):
        entry = sums.setdefault(target, [0, 0])
        entry[0], entry[1] = entry[0] + update, entry[1] + 1
    if values.attributes.get("use_init_val", True):
        shape = values.arrays["indices"].shape
        lanes = [size for axis, size in enumerate(shape) if axis != values.axis]
        for target, entry in sums.items():
            at, lane = divmod(target, int(np.prod(lanes)))
            where = list(np.unravel_index(lane, lanes)) if lanes else []
            where.insert(values.axis, np.intp(at))
            entry[0], entry[1] = entry[0] + int(data[tuple(where)]), entry[1] + 1
    return [(total, count) for total, count in sums.values()]


def non_integral_mean(values: Values) -> Count:
    means = _integer_means(values)
    return None if means is None else sum(total < 0 and total % count != 0 for total, count in means)


def overflowing_mean(values: Values) -> Count:
    means = _integer_means(values)
    if not means:
        return None if means is None else 0
    limits = iinfo(values.arrays["data"].dtype)  # type: ignore[no-untyped-call]
    return sum(not limits.min <= total <= limits.max for total, _ in means)


def short_sequence(values: Values) -> Count:
    if values.row.kernel != "gather_tree":
        return 0
    lengths = values.arrays.get("max_seq_len")
    return None if lengths is None else int(np.count_nonzero(lengths <= 0))
