"""Gather and reduce: calls of `gatherscatter.gather_reduce` on arguments that are not plain arrays."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.errors import (
    accumulate_fault,
    check_effects,
    choice_fault,
    make_choice_error,
    make_error,
    range_fault,
    reduction_fault,
)
from gatherscatter.functions.gather_quantized import as_table
from gatherscatter.functions.group_reductions import StatisticRule, reduce_by_group
from gatherscatter.messages.choices import ACCUMULATE, BAG_REDUCTIONS, BAG_STATISTICS, MODES
from gatherscatter.operation import Bags, Kernel, Operation, TableLayout
from gatherscatter.system.pieces import make_contiguous


def run(
    operation: Operation, arrays: dict[str, Any], out: np.ndarray | None = None, default: ArrayLike = 0
) -> np.ndarray:
    """Run a call on NumPy's arrays, and on values without an adapter."""
    if operation.reduction in BAG_STATISTICS:
        return _gather_statistic(operation, arrays, out, default)
    return prepare_inputs(operation, **arrays, default=default, out=out).run(operation, out)


def _gather_statistic(
    operation: Operation, arrays: dict[str, Any], out: np.ndarray | None, default: ArrayLike
) -> np.ndarray:
    """Run a call whose reduction is a statistic. Rows are gathered first."""
    op, reduction = operation.op, operation.reduction
    unused = {name: value for name, value in arrays.items() if name not in ("data", "indices", *BAG_INPUTS)}
    if operation.accumulate != "step":
        unused["accumulate"] = operation.accumulate
    table = operation.table or TableLayout()
    unused |= {name: value for name, value in table._asdict().items() if value != table._field_defaults[name]}
    for name, value in unused.items():
        if value is not None:
            raise make_error("no_effect", op, input=name, reduction=reduction)
    if operation.mode not in MODES[False]:
        choice_fault(op, "mode", operation.mode, scatter=False)
    data, indices = arrays["data"], arrays.get("indices")
    rows = convert.native(convert.as_array(op, "data", data))
    if rows.ndim == 0:
        raise make_error("no_rows", op, input="data")
    members, index_array = rows.shape[:1], None
    if indices is not None:
        index_array = convert.as_indices(op, "indices", indices, others={"data": rows})
        members = index_array.shape
        gathered = operation._replace(kernel=Kernel.GATHER, reduction="none")
        rows = convert.execute(gathered, rows, make_contiguous(index_array).reshape(-1))
    given = {name: arrays.get(name) for name in BAG_INPUTS}
    bags = find_bags(operation, members, **given, has_indices=indices is not None)
    count = len(bags.starts) - 1
    sizes = np.diff(bags.starts)
    labels = np.repeat(np.arange(count), sizes)
    if bags.order is not None:
        ordered, labels = labels, np.full(math.prod(members), -1)
        labels[bags.order] = ordered
    kept: np.ndarray | None = None
    if operation.negative == "skip":
        named = labels >= 0 if index_array is None else (labels >= 0) & (index_array.reshape(-1) >= 0)
        kept = np.flatnonzero(named)
        rows, labels = rows[kept], labels[kept]
        sizes = np.bincount(labels, minlength=count)
    if reduction == "count":
        made = sizes.copy()
    else:
        groups = partial(_core.group, labels, count)
        results = reduce_by_group(
            op,
            make_contiguous(rows),
            labels,
            groups,
            count,
            (reduction,),
            rule=StatisticRule(),
            num_threads=operation.num_threads,
        )
        made = results[reduction]
        if kept is not None and reduction.startswith("arg"):
            made[sizes > 0] = kept[made[sizes > 0]]
    made[sizes == 0] = as_default(op, default, made)
    result = made.reshape(*bags.shape, *made.shape[1:])
    return result if out is None else convert.copy_into(op, out, result)


BAG_INPUTS = ("offsets", "segment_ids", "indptr")
"""The inputs that define bags by positions or numbers."""


def prepare_inputs(
    operation: Operation,
    data: ArrayLike,
    indices: ArrayLike | None = None,
    *,
    offsets: ArrayLike | None = None,
    segment_ids: ArrayLike | None = None,
    indptr: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    scales: ArrayLike | None = None,
    zero_points: ArrayLike | None = None,
    default: ArrayLike = 0,
    out: np.ndarray | None = None,
) -> convert.Inputs:
    """Convert the inputs of a call, and check their types. The core checks shapes and values."""
    op = operation.op
    check_choices(operation)
    arguments = convert.Conversions(op)
    table: dict[str, Any] = {}
    if scales is None:
        given = rows = arguments.convert("data", data, convert.as_array)
        dtype = given.dtype
    else:  # the type of the numbers is that of the scales
        rows, given, zeros, dtype = as_table(arguments, data, scales, zero_points)
        table = {"scales": given, "zero_points": zeros}
    check_type(operation, given.dtype)
    if rows.ndim == 0:
        raise make_error("no_rows", op, input="data")
    if not table:
        rows = arguments.convert("data", given, lambda op, name, value: convert.native(value))
    numbered = {"indices": indices, "offsets": offsets, "segment_ids": segment_ids, "indptr": indptr}
    as_integers = partial(convert.as_indices, others={"data": given})
    integers = {
        name: None if value is None else arguments.convert(name, value, as_integers) for name, value in numbered.items()
    }
    weight = None if weights is None else arguments.cast("weights", weights, given)
    if weight is not None:
        weight = arguments.convert("weights", weight, lambda op, name, value: convert.native(value))
    if out is not None:
        convert.check_out(op, out, given, None)
    if default is None:
        raise make_error("default_number", op, value=default)
    numbers = given if table else rows
    if not np.isscalar(default):
        default = arguments.cast("default", default, numbers)
    fill = as_default(op, default, numbers, checks_row=not table)  # the core checks the rows of a quantized table
    arrays = {"data": rows, **integers, "weights": weight, "default": fill, **table}
    return convert.Inputs(arrays, convert.plain_out(out, numbers.dtype), dtype, arguments.made)


def as_default(op: str, default: Any, data: np.ndarray, *, checks_row: bool = True) -> Any:
    """The result for a bag without members, in data's type: 0, an element or a row."""
    if type(default) is int and default == 0:  # valid for booleans as well
        return 0
    fill = np.asarray(convert.native(convert.cast(op, "default", default, "data", data)), order="C")
    if checks_row and fill.ndim and fill.shape != data.shape[1:]:
        raise make_error("default_shape", op, shape=fill.shape, row=data.shape[1:])
    return fill


def check_choices(operation: Operation) -> None:
    """Refuse an unknown reduction, or an unknown way to add up."""
    op, reduction, accumulate = operation.op, operation.reduction, operation.accumulate
    if not isinstance(reduction, str) or reduction not in BAG_REDUCTIONS:
        raise make_choice_error(op, "reduction", reduction, BAG_REDUCTIONS)
    if not isinstance(accumulate, str) or accumulate not in ACCUMULATE:
        choice_fault(op, "accumulate", accumulate, scatter=False)
    check_effects(op, reduction, accumulate=accumulate)


def check_type(operation: Operation, dtype: np.dtype[Any]) -> None:
    """Refuse element types for which the reduction is not defined."""
    op, reduction = operation.op, operation.reduction
    if operation.accumulate == "exact" and (dtype.kind == "c" or (reduction == "mul" and dtype.kind not in "biu")):
        accumulate_fault(op, reduction, dtype)
    if not _core.supports(dtype, reduction):
        reduction_fault(op, reduction, dtype)


def check_members_shape(op: str, name: str, shape: tuple[int, ...], members: tuple[int, ...]) -> None:
    """Refuse an array that does not have one element for each member."""
    if shape != members:
        raise make_error("members_shape", op, input=name, shape=shape, members=members, member="member")


class FoundBags(NamedTuple):
    """The positions where bags begin among the members.

    Attributes
    ----------
    shape : the shape of the bags in the result
    starts : the position where each bag begins, and the position where the last one ends
    order : the members in the order of their bags, without those that are skipped; None if all are in that order
    """

    shape: tuple[int, ...]
    starts: np.ndarray
    order: np.ndarray | None = None


def find_bags(
    operation: Operation,
    members: tuple[int, ...],
    *,
    has_indices: bool = True,
    offsets: ArrayLike | None = None,
    segment_ids: ArrayLike | None = None,
    indptr: ArrayLike | None = None,
) -> FoundBags:
    """Find the bags. ``members`` is the shape of the indices, or without indices the number of rows of data."""
    op, bags = operation.op, operation.bags or Bags()
    given = {"offsets": offsets, "segment_ids": segment_ids, "indptr": indptr}
    arrays = [None if value is None else convert.as_indices(op, name, value) for name, value in given.items()]
    return FoundBags(*_core.find_bags(op, members, has_indices, *arrays, *bags, operation.negative))  # type: ignore[arg-type, call-arg]


def as_line(op: str, name: str, value: ArrayLike) -> np.ndarray:
    """Convert integers, and check that they have one dimension."""
    array = convert.as_indices(op, name, value)
    if array.ndim != 1:
        raise make_error("bags_rank", op, input=name, shape=array.shape)
    return array


def resolve_in_range(
    op: str, name: str, values: np.ndarray, size: int, kind: str, *, negative: str = "error", **facts: Any
) -> np.ndarray:
    """Values in [0, size-1] as one-dimensional int64. ``negative`` is as in an `Operation`.

    ``kind`` and ``facts`` describe in an error what the values number, as in `errors.range_fault`.
    """
    flat = values.reshape(-1)
    numbers = _core.resolve_indices(flat[:, np.newaxis], (size,), "raise", negative)
    if numbers is None:
        range_fault(op, name, values, size, kind, negative, **facts)
    return numbers
