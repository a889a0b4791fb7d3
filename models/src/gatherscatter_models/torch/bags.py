"""Reductions of the rows of bags, without loops and sequences."""

from __future__ import annotations

from typing import Any

from gatherscatter_models.torch.nodes import (
    BOOL,
    FLOAT,
    HALVES,
    INT32,
    INT64,
    constant,
    filled,
    joined,
    numpy_type,
    ops,
    size_of,
    where,
)  # fmt: skip
from gatherscatter_models.torch.targets import divide, row_targets, scatter


def find_bags(offsets: Any, members: Any) -> Any:
    """Return the bag of each member: the number of offsets up to its position, minus 1.

    ``members`` is the number of members, a vector of length 1.
    """
    starts = filled(ops.Add(members, constant([1])), 0, INT64)  # a bag can start behind the last member
    starts = ops.ScatterElements(starts, offsets, filled(ops.Shape(offsets), 1, INT64), axis=0, reduction="add")
    upto = ops.CumSum(ops.Slice(starts, constant([0]), members), constant(0))
    return ops.Sub(upto, constant([1]))


def reduce_rows(
    rows: Any, bags: Any, number: Any, dtype: Any, rank: int, reduction: str, *, default: Any, dropped: bool = False
) -> Any:
    """Reduce rows with ``rank`` axes. ``bags`` has the bag of each row, ``number`` the number of bags as a vector.

    With ``dropped``, the rows of the bag behind the last are not used.
    """
    shape = joined(number, *([ops.Shape(rows, start=1)] if rank > 1 else []))
    from_zero = reduction == "add" and default == 0
    targets = row_targets(bags, 0, rank, dropped)
    return scatter(targets, filled(shape, default, dtype), rows, dtype, rank, reduction, include_self=from_zero)


def reduce_axis(rows: Any, axis: int, size: Any, dtype: Any, reduction: str, default: Any) -> Any:
    """Reduce the bags along an axis. ``size`` is the number of members, if it is known."""
    if size == 0:
        shape = [ops.Shape(rows, end=axis)] if axis else []
        return filled(joined(*shape, ops.Shape(rows, start=axis + 1)), default, dtype)
    reduced = _reduce(rows, axis, dtype, reduction)
    if isinstance(size, int) or (reduction == "add" and default == 0):
        return reduced
    empty = ops.Equal(size_of(rows, axis), constant([0]))
    return where(empty, constant(default, numpy_type(dtype)), reduced, dtype)


def _reduce(rows: Any, axis: int, dtype: Any, reduction: str) -> Any:
    if dtype == BOOL:
        how = {"add": "max", "mul": "min"}.get(reduction, reduction)
        return ops.Cast(_reduce(ops.Cast(rows, to=int(INT32)), axis, INT32, how), to=int(BOOL))
    wider = FLOAT if dtype in HALVES else INT64 if numpy_type(dtype).itemsize < 4 else dtype
    if wider != dtype:
        return ops.Cast(_reduce(ops.Cast(rows, to=int(wider)), axis, wider, reduction), to=int(dtype))
    axes = constant([axis])
    if reduction == "mean":
        if numpy_type(dtype).kind == "f":
            return ops.ReduceMean(rows, axes, keepdims=0)
        return divide(ops.ReduceSum(rows, axes, keepdims=0), size_of(rows, axis), dtype)
    names = {"add": ops.ReduceSum, "mul": ops.ReduceProd, "min": ops.ReduceMin, "max": ops.ReduceMax}
    return names[reduction](rows, axes, keepdims=0)
