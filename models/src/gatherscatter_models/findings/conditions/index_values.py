"""Conditions on the values of indices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gatherscatter.operation import Kernel
from gatherscatter_models.findings.nodes import BY_TUPLE, INDEX_ROLES, Count, NodeValues


def repeated(values: NodeValues) -> Count:
    if not values.row.kernel.is_scatter or (values.count is not None and values.count < 2):
        return 0
    if values.targets is None:
        return None
    return len(values.targets) - len(np.unique(values.targets))


def negative(values: NodeValues) -> Count:
    """Count the indices in [-size, -1]. If a size is unknown, count all negative indices of its axis."""
    if "indices" in values.sizes:
        return 0
    return _count_index_values(values, lambda column, size: (column < 0) & (column >= -size), lambda column: column < 0)


def too_negative(values: NodeValues) -> Count:
    if "indices" in values.sizes:
        return 0
    return _count_index_values(values, lambda column, size: _low_32_bits(column) < -size, None)


def _low_32_bits(column: np.ndarray) -> np.ndarray:
    return (column + 2**31) % 2**32 - 2**31


def out_of_range(values: NodeValues) -> Count:
    """Count the indices outside the range of the op version.

    A circular cache has none, because positions are taken modulo its length. In a GatherTree, only parents that are
    followed count.
    """
    if values.is_circular:
        return 0
    if values.row.kernel == Kernel.GATHER_TREE:
        return _followed_parents_out_of_range(values)
    ends = 0 if values.row.index_range == "nonnegative" else -1
    return _count_index_values(values, lambda column, size: (column < ends * size) | (column >= size), None)


def _followed_parents_out_of_range(values: NodeValues) -> Count:
    """Count the bad parents that are followed: not in the first step, and not past the length of a sequence."""
    parents, lengths = values.indices, values.arrays.get("max_seq_len")
    if parents is None or lengths is None:
        return None
    steps = np.arange(len(parents))[:, None, None]
    followed = (steps > 0) & (steps < lengths.reshape(-1, 1))
    return int(np.count_nonzero(followed & ((parents < 0) | (parents >= parents.shape[2]))))


def _count_index_values(
    values: NodeValues,
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
            size = 1  # -1 and 0 are in range of every axis that is not empty
        if size is None and without_size is None:
            return None
        fulfilled = without_size(wide) if size is None and without_size else fulfils(wide, size or 0)
        total += int(np.count_nonzero(fulfilled))
    return total


def wide_indices(values: NodeValues) -> Count:
    """Count the indices that do not fit 32 bits. The count of unknown indices is 0: "out of range" covers them."""
    if values.indices is None:
        return 0
    return int(np.count_nonzero((values.indices < -(2**31)) | (values.indices >= 2**31)))


def empty_slice(values: NodeValues) -> Count:
    """Count the indices that are out of range if the slices of data that indices name have no elements."""
    if values.row.kernel not in (*BY_TUPLE, "scatter_update"):
        return 0
    rest = values.slice_shape
    if rest is None:
        return None
    if 0 in rest:
        return out_of_range(values)
    return None if None in rest else 0


def computed_indices(values: NodeValues) -> Count:
    return int("indices" in values.types and "indices" not in values.constants)
