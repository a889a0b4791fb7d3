"""Indices that are out of range, and index tuples as row numbers."""

from __future__ import annotations

from typing import Any

from gatherscatter_models.torch.nodes import BOOL, INT64, constant, ops


def as_int64(indices: Any) -> Any:
    """Convert indices, which are an input of the translation."""
    return indices if indices.dtype == INT64 else ops.Cast(indices, to=int(INT64))


def resolve(indices: Any, size: Any, mode: str) -> Any:
    """Return int64 indices for axes of a size. Indices that ``mode`` skips become the size."""
    if mode == "wrap":
        return ops.Mod(indices, size)
    if mode == "clip":
        return ops.Min(ops.Max(indices, constant(0)), ops.Sub(size, constant(1)))
    if mode in ("drop", "fill"):
        counted = count_from_start(indices, size)
        return ops.Where(is_valid(counted, size), counted, size)
    return indices


def count_from_start(indices: Any, size: Any) -> Any:
    """Add the size to negative indices."""
    return ops.Where(ops.Less(indices, constant(0)), ops.Add(indices, size), indices)


def is_valid(counted: Any, size: Any) -> Any:
    """Tell for each index whether it is in [0, size)."""
    return ops.And(ops.GreaterOrEqual(counted, constant(0)), ops.Less(counted, size))


def row_numbers(tuples: Any, dims: Any, length: int, mode: str) -> Any:
    """Return the numbers of the rows that index tuples of a length name, and the number of rows for bad tuples.

    ``dims`` is the vector of the sizes of the indexed axes.
    """
    last = constant([-1])
    if mode in ("wrap", "clip"):
        tuples = resolve(tuples, dims, mode)
    else:
        tuples = count_from_start(tuples, dims)
        good = ops.ReduceMin(ops.Cast(is_valid(tuples, dims), to=int(INT64)), last, keepdims=0)
    # The weight of an axis is the product of the sizes behind it.
    weights = [
        ops.ReduceProd(ops.Slice(dims, constant([each + 1]), constant([length])), keepdims=0)
        for each in range(length - 1)
    ]
    weights = ops.Concat(*(ops.Reshape(each, constant([1])) for each in weights), constant([1]), axis=0)
    rows = ops.ReduceSum(ops.Mul(tuples, weights), last, keepdims=0)
    if mode in ("wrap", "clip"):
        return rows
    return ops.Where(ops.Cast(good, to=int(BOOL)), rows, ops.ReduceProd(dims, keepdims=0))
