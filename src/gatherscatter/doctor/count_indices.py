"""Conditions of index values, counted at a node; None where the count can't be known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .values import BY_TUPLE, INDEX_ROLES, Count, Values


def repeated(values: Values) -> Count:
    if not values.row.kernel.startswith("scatter") or (values.count is not None and values.count < 2):
        return 0
    if values.targets is None:
        return None
    return len(values.targets) - len(np.unique(values.targets))


def negative(values: Values) -> Count:
    """Those that count from the end; where a size is unknown, all below zero are taken for such."""
    if "indices" in values.sizes:
        return 0
    return _per_column(values, lambda column, size: (column < 0) & (column >= -size), lambda column: column < 0)


def too_negative(values: Values) -> Count:
    if "indices" in values.sizes:
        return 0
    return _per_column(values, lambda column, size: column < -size, None)


def out_of_range(values: Values) -> Count:
    ends = 0 if values.row.index_range == "nonnegative" else -1
    return _per_column(values, lambda column, size: (column < ends * size) | (column >= size), None)


def _per_column(
    values: Values,
    fulfils: Callable[[np.ndarray, int], np.ndarray],
    without_size: Callable[[np.ndarray], np.ndarray] | None,
) -> Count:
    """How many index values fulfil a test of their value and the size of their axis."""
    if values.count == 0 or not set(INDEX_ROLES).intersection(values.types):
        return 0
    if values.columns is None:
        return None
    total = 0
    sizes = values.indexed_sizes or [None] * values.columns.shape[1]
    for column, size in zip(values.columns.T, sizes, strict=False):
        wide = column.astype(object if column.dtype == np.uint64 else np.int64)
        if size is None and np.isin(wide, (-1, 0)).all():
            size = 1  # the ends of an axis of any size, if there is anything
        if size is None and without_size is None:
            return None
        fulfilled = without_size(wide) if size is None and without_size else fulfils(wide, size or 0)
        total += int(np.count_nonzero(fulfilled))
    return total


def wide_indices(values: Values) -> Count:
    """Such indices are out of range of any axis that there is: where none is known, that one says enough."""
    if values.indices is None:
        return 0
    return int(np.count_nonzero((values.indices < -(2**31)) | (values.indices >= 2**31)))


def empty_indices(values: Values) -> Count:
    if values.count is None:
        return None
    return int(values.count == 0 and "indices" in values.types)


def no_tuple(values: Values) -> Count:
    if values.row.kernel not in BY_TUPLE:
        return 0
    return None if values.k is None else int(values.k == 0)


def empty_axis(values: Values) -> Count:
    """An index into nothing is out of range, too: where no size is known to be 0, that one says enough."""
    if 0 not in (values.indexed_sizes or ()):
        return 0
    return None if values.count is None else int(values.count > 0)


def empty_slice(values: Values) -> Count:
    """How many indices are out of range, where what an index names has no elements."""
    data, batch = values.shapes.get("data"), values.attributes.get("batch_dims", 0)
    if values.row.kernel not in BY_TUPLE:
        return 0
    if data is None or values.k is None:
        return None
    rest = data[batch + values.k :]
    if 0 in rest:
        return out_of_range(values)
    return None if None in rest else 0


def computed_indices(values: Values) -> Count:
    return int("indices" in values.types and "indices" not in values.constants)
