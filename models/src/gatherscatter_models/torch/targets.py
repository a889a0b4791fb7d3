"""Scatters to the targets that ScatterElements names, with every reduction.

ScatterElements does all reductions, because ONNX Runtime's ScatterND loses updates of repeated indices (finding
onnxruntime-scatternd-race).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from onnxscript import ir

from gatherscatter_models.torch.index_modes import TranslatedRule, resolve, row_numbers
from gatherscatter_models.torch.nodes import (
    BOOL,
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


@dataclass(frozen=True)
class ScatterTargets:
    """The elements of data that a scatter writes.

    Attributes
    ----------
    axis : the axis of data along which the indices count
    indices : int64; for whole rows, all axes except ``axis`` have size 1
    rows : whether the indices name whole rows
    dropped : whether an index may equal the size of the axis; its update is not used
    """

    axis: int
    indices: Any
    rows: bool = False
    dropped: bool = False

    def put(self, data: Any, updates: Any, reduction: str = "none") -> Any:
        """Scatter updates of the type of data."""
        indices = ops.Expand(self.indices, ops.Shape(updates)) if self.rows else self.indices
        return ops.ScatterElements(data, indices, updates, axis=self.axis, reduction=reduction)

    def take(self, data: Any) -> Any:
        """Gather the numbers of the targets from the result of `number`."""
        return ops.GatherElements(data, self.indices, axis=self.axis)

    def number(self, data: Any, rank: int, start: int, numbers: Any, reduction: str) -> Any:
        """Scatter int64 numbers with the shape of the indices: one for each element, or for each row of data."""
        shape = ops.Shape(data)
        if self.rows:
            ones = [1] * self.axis, [1] * (rank - self.axis - 1)
            shape = joined(*filter(None, (ones[0], size_of(data, self.axis), ones[1])))
        return replace(self, rows=False).put(filled(shape, start, INT64), numbers, reduction)


def row_targets(indices: Any, axis: int, rank: int, dropped: bool = False) -> ScatterTargets:
    """Return the targets of whole rows of data with ``rank`` axes. The indices may have any shape."""
    shape = [1] * axis + [-1] + [1] * (rank - axis - 1)
    return ScatterTargets(axis, ops.Reshape(indices, constant(shape)), rows=rank > 1, dropped=dropped)


def scatter(
    targets: ScatterTargets,
    data: Any,
    updates: Any,
    dtype: ir.DataType,
    rank: int,
    reduction: str,
    *,
    include_self: bool = True,
) -> Any:
    """Scatter with any reduction, and without the values of data if not ``include_self``."""
    if targets.dropped:
        axis = constant([targets.axis])
        size = size_of(data, targets.axis)
        before, after = [0] * rank, [int(each == targets.axis) for each in range(rank)]
        padded = ops.Pad(data, constant(before + after))
        whole = scatter(
            replace(targets, dropped=False), padded, updates, dtype, rank, reduction, include_self=include_self
        )
        return ops.Slice(whole, constant([0]), size, axis)
    if reduction == "none":
        return targets.put(data, updates)
    if dtype == BOOL:
        return _scatter_booleans(targets, data, updates, rank, reduction, include_self)
    if reduction == "sub" and not include_self:
        updates = _subtract_all_except_first(targets, data, updates, dtype, rank)
    elif reduction == "sub":
        updates = _negative(updates, dtype)
    if not include_self:
        data = targets.put(data, filled(ops.Shape(updates), neutral(reduction, dtype), dtype))
    combined = targets.put(data, updates, "add" if reduction in ("sub", "mean") else reduction)
    if reduction != "mean":
        return combined
    ones = filled(ops.Shape(targets.indices), 1, INT64)
    return divide(combined, targets.number(data, rank, int(include_self), ones, "add"), dtype)


def scatter_by_tuples(
    data: Any,
    tuples: Any,
    updates: Any,
    length: int,
    rank: int,
    rule: TranslatedRule,
    *,
    scatter_rows: Callable[..., Any],
) -> Any:
    """Scatter slices of data with ``rank`` axes. The index tuples, of int64 and of a length, become row numbers.

    ``scatter_rows`` takes the targets, the rows of data, their updates, and the number of axes of rows.
    """
    behind = [ops.Shape(data, start=length)] if length < rank else []
    dims = ops.Shape(data, end=length)
    # A size of -1 would not be allowed in Reshape if another size is 0.
    updates = ops.Reshape(updates, joined(ops.ReduceProd(ops.Shape(tuples, end=-1), keepdims=1), *behind))
    rows = data if length == 1 else ops.Reshape(data, joined(ops.ReduceProd(dims, keepdims=1), *behind))
    numbers = resolve(tuples, dims, rule) if length == 1 else row_numbers(tuples, dims, length, rule)
    targets = row_targets(numbers, 0, rank - length + 1, rule.drops)
    made = scatter_rows(targets, rows, updates, rank - length + 1)
    return made if length == 1 else ops.Reshape(made, ops.Shape(data))


def divide(total: Any, number: Any, dtype: ir.DataType) -> Any:
    """Divide sums by int64 numbers. A number of 0 is treated as 1. Quotients of integers are rounded down."""
    number = ops.Max(number, constant([1]))
    divisor = number if dtype == INT64 else ops.Cast(number, to=int(dtype))
    if numpy_type(dtype).kind == "i":
        total = ops.Sub(total, ops.Mod(total, divisor))
    return ops.Div(total, divisor)


def neutral(reduction: str, dtype: ir.DataType) -> float | int:
    """Return the value that does not change the result of a reduction."""
    kind = numpy_type(dtype)
    if reduction in ("min", "max"):
        if np.issubdtype(kind, np.integer):
            limits = np.iinfo(kind)
            return limits.min if reduction == "max" else limits.max
        return float("-inf") if reduction == "max" else float("inf")
    if reduction == "mul":
        return 1
    return 0 if np.issubdtype(kind, np.integer) else -0.0  # 0.0 would change the sign of a sum of -0.0


_OF_BOOLEANS = {"add": "max", "max": "max", "mul": "min", "min": "min", "sub": "add"}


def _scatter_booleans(
    targets: ScatterTargets, data: Any, updates: Any, rank: int, reduction: str, include_self: bool
) -> Any:
    """Scatter booleans as integers. ONNX Runtime has no reductions of booleans."""
    numbers = ops.Cast(data, to=int(INT32)), ops.Cast(updates, to=int(INT32))
    made = scatter(targets, *numbers, INT32, rank, _OF_BOOLEANS[reduction], include_self=include_self)
    return ops.Cast(ops.Mod(made, constant(2, np.int32)) if reduction == "sub" else made, to=int(BOOL))


def _negative(updates: Any, dtype: ir.DataType) -> Any:
    if numpy_type(dtype).kind == "u":
        return ops.Sub(constant(0, numpy_type(dtype)), updates)
    return ops.Neg(updates)


def _subtract_all_except_first(targets: ScatterTargets, data: Any, updates: Any, dtype: ir.DataType, rank: int) -> Any:
    """Negate the updates, except the first of each target."""
    shape = ops.Shape(targets.indices)
    numbers = ops.Reshape(ops.Range(constant(0), ops.Size(targets.indices), constant(1)), shape)
    last = np.iinfo(np.int64).max
    first = targets.number(data, rank, last, numbers, "min")
    is_first = ops.Equal(targets.take(first), numbers)
    return where(is_first, updates, _negative(updates, dtype), dtype)
