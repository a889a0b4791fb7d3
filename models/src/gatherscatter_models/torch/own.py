"""Translations of the operators of this package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gatherscatter.errors import OpValueError
from gatherscatter_models.torch.bags import find_bags, reduce_axis, reduce_rows
from gatherscatter_models.torch.index_modes import (
    TranslatedRule,
    as_int64,
    count_from_start,
    is_valid,
    read_rule,
    resolve,
)
from gatherscatter_models.torch.nodes import (
    BOOL,
    DOUBLE,
    FLOAT,
    HALVES,
    INT64,
    cast,
    column,
    constant,
    filled,
    joined,
    moved,
    numpy_type,
    ops,
    size_of,
    where,
)  # fmt: skip
from gatherscatter_models.torch.targets import ScatterTargets, row_targets, scatter, scatter_by_tuples

Translation = Callable[..., Any]


class NotInOnnxError(OpValueError):
    """ONNX has no equivalent of a call. The domain gatherscatter has one."""


def _gather(data: Any, indices: Any, axis: int = 0, batch_dims: int = 0, **options: Any) -> Any:
    rank, index_rank = len(data.shape), len(indices.shape)
    axis, batch_dims = axis % rank, batch_dims + (index_rank if batch_dims < 0 else 0)
    named, valid = _resolve_for_gather(as_int64(indices), _axis_size(data, axis, indices), read_rule(indices, options))
    if batch_dims == 0:
        return _fill(ops.Gather(data, named, axis=axis), valid, rank - axis - 1, data.dtype)
    rows = moved(data, rank, axis, batch_dims, 1)
    taken = ops.GatherND(rows, column(named), batch_dims=batch_dims)
    taken = _fill(taken, valid, rank - batch_dims - 1, data.dtype)
    return moved(taken, rank + index_rank - batch_dims - 1, batch_dims, axis, index_rank - batch_dims)


def _gather_elements(data: Any, indices: Any, axis: int = 0, **options: Any) -> Any:
    named, valid = _resolve_for_gather(
        as_int64(indices), size_of(data, axis % len(data.shape)), read_rule(indices, options)
    )
    return _fill(ops.GatherElements(data, named, axis=axis), valid, 0, data.dtype)


def _gather_nd(data: Any, indices: Any, batch_dims: int = 0, **options: Any) -> Any:
    length = _tuple_length("gather_nd", indices)
    batch_dims += len(indices.shape) if batch_dims < 0 else 0
    dims = ops.Shape(data, start=batch_dims, end=batch_dims + length)
    named, valid = _resolve_for_gather(as_int64(indices), dims, read_rule(indices, options))
    if valid is not None:  # a tuple is valid if all its indices are
        valid = ops.Cast(ops.ReduceMin(ops.Cast(valid, to=int(INT64)), constant([-1]), keepdims=0), to=int(BOOL))
    taken = ops.GatherND(data, named, batch_dims=batch_dims)
    return _fill(taken, valid, len(data.shape) - batch_dims - length, data.dtype)


def _axis_size(data: Any, axis: int, indices: Any) -> Any:
    """Return the size of an axis: a vector, or a number if there is only one index."""
    size = size_of(data, axis)
    return size if indices.shape else ops.Squeeze(size)


def _resolve_for_gather(indices: Any, size: Any, rule: TranslatedRule) -> tuple[Any, Any]:
    """Return indices for a gather and, if some can be skipped, which are not. Those that are refused are out of range.

    Indices that are skipped become 0.
    """
    (mode, negative), valid = rule, None
    named = resolve(indices, size, TranslatedRule(mode)) if mode in ("wrap", "clip") else indices
    if mode == "fill":
        valid = is_valid(count_from_start(indices, size) if negative == "end" else indices, size)
    if negative == "skip":
        counts = ops.GreaterOrEqual(indices, constant(0))
        valid = counts if valid is None else ops.And(valid, counts)
    if valid is not None:
        named = ops.Where(valid, named, constant(0))
    return ops.Where(ops.Less(indices, constant(0)), size, named) if negative == "error" else named, valid


def _fill(taken: Any, valid: Any, behind: int, dtype: Any) -> Any:
    """Replace invalid slices, which have ``behind`` axes, by zeros."""
    if valid is None:
        return taken
    if behind:
        valid = ops.Unsqueeze(valid, constant([-1 - each for each in range(behind)]))
    return where(valid, taken, constant(0, numpy_type(dtype)), dtype)


def _scatter_update(data: Any, indices: Any, updates: Any, axis: int = 0, **options: Any) -> Any:
    rank, index_rank = len(data.shape), len(indices.shape)
    axis %= rank
    how = _Options("scatter_update", data, indices, options)
    named = resolve(as_int64(indices), _axis_size(data, axis, indices), how.rule)
    if how.reduction == "none" and not how.rule.drops:
        return scatter_rows(data, named, cast(updates, data.dtype), axis, rank, index_rank, scatter_nd=ops.ScatterND)
    if index_rank != 1:
        shape = [ops.Shape(updates, end=axis)] if axis else []
        shape += [[-1], *([ops.Shape(updates, start=axis + index_rank)] if axis < rank - 1 else [])]
        updates = ops.Reshape(updates, joined(*shape))
    return how.scatter(row_targets(named, axis, rank, how.rule.drops), data, updates, rank)


def scatter_rows(
    data: Any, indices: Any, updates: Any, axis: int, rank: int, index_rank: int, *, scatter_nd: Translation
) -> Any:
    """Scatter rows along an axis with an operator whose indices are tuples."""
    rows, new = moved(data, rank, axis, 0, 1), moved(updates, rank - 1 + index_rank, axis, 0, index_rank)
    return moved(scatter_nd(rows, column(indices), new), rank, 0, axis, 1)


def _scatter_elements(data: Any, indices: Any, updates: Any, axis: int = 0, **options: Any) -> Any:
    how = _Options("scatter_elements", data, indices, options)
    axis %= len(data.shape)
    named = resolve(as_int64(indices), size_of(data, axis), how.rule)
    return how.scatter(ScatterTargets(axis, named, dropped=how.rule.drops), data, updates, len(data.shape))


def _scatter_nd(data: Any, indices: Any, updates: Any, **options: Any) -> Any:
    how = _Options("scatter_nd", data, indices, options)
    length, rank = _tuple_length("scatter_nd", indices), len(data.shape)
    named, dims = as_int64(indices), ops.Shape(data, end=length)
    if how.reduction == "none" and not how.rule.drops:
        return ops.ScatterND(data, resolve(named, dims, how.rule), cast(updates, data.dtype))
    return scatter_by_tuples(data, named, updates, length, rank, how.rule, scatter_rows=how.scatter)


class _Options:
    """The options of a scatter: what is done before and after it."""

    def __init__(self, op: str, data: Any, indices: Any, options: dict[str, Any]) -> None:
        self.dtype = data.dtype
        self.rule = read_rule(indices, options)
        self.reduction = options.get("reduction", "none")
        self.include_self = options.get("include_self", True)
        self.sum_type = choose_sum_type(op, data.dtype, self.reduction, options.get("accumulate", "step"))

    def scatter(self, targets: ScatterTargets, data: Any, updates: Any, rank: int) -> Any:
        """Scatter, with sums of the type that ``accumulate`` demands."""
        updates = cast(updates, self.dtype)
        if self.sum_type == self.dtype:
            return scatter(targets, data, updates, self.dtype, rank, self.reduction, include_self=self.include_self)
        data, updates = ops.Cast(data, to=int(self.sum_type)), ops.Cast(updates, to=int(self.sum_type))
        made = scatter(targets, data, updates, self.sum_type, rank, self.reduction, include_self=self.include_self)
        return ops.Cast(made, to=int(self.dtype))


def choose_sum_type(op: str, dtype: Any, reduction: str, accumulate: str) -> Any:
    """Return the type in which updates are combined."""
    if reduction in ("none", "min", "max"):
        return dtype
    kind = numpy_type(dtype).kind
    if kind in "iub":
        return INT64 if reduction == "mean" and kind != "b" and dtype.name != "UINT64" else dtype
    if accumulate == "step":
        return dtype
    wider = FLOAT if dtype in HALVES else DOUBLE
    if accumulate == "exact" or dtype == DOUBLE:
        text = (
            f"{op}: ONNX has no accumulate={accumulate!r} for {np.dtype(numpy_type(dtype))}; "
            "onnx_translations(domain=True) exports it"
        )
        raise NotInOnnxError(text, op=op, input="accumulate")
    return wider


def _tuple_length(op: str, indices: Any) -> int:
    length = indices.shape[-1]
    if not isinstance(length, int):
        text = f"{op}: the last dimension of indices must not be dynamic in an export"
        raise OpValueError(text, op=op, input="indices")
    return length


def _gather_reduce(  # noqa: PLR0917
    data: Any,
    indices: Any = None,
    offsets: Any = None,
    segment_ids: Any = None,
    indptr: Any = None,
    weights: Any = None,
    num_segments: Any = None,
    reduction: str = "add",
    default: Any = 0,
    accumulate: str = "step",
    mode: str = "raise",
    negative: str = "end",
    num_threads: Any = None,
) -> Any:
    rows = data if indices is None else _gather(data, indices, mode=mode, negative=negative)
    sum_type = choose_sum_type("gather_reduce", data.dtype, reduction, accumulate)
    if sum_type != data.dtype:
        rows = ops.Cast(rows, to=int(sum_type))
    if weights is not None:
        behind = [-1 - each for each in range(len(data.shape) - 1)]
        factors = ops.Cast(weights, to=int(sum_type))
        rows = ops.Mul(rows, ops.Unsqueeze(factors, constant(behind)) if behind else factors)
    given = [each for each in (indices, segment_ids) if each is not None]
    signed = [each for each in given if negative == "skip" and read_rule(each, {"negative": negative}).drops]
    if segment_ids is None and offsets is None and indptr is None and not signed:
        *bags, size = indices.shape
        reduced = reduce_axis(rows, len(bags), size, sum_type, reduction, default)
    else:
        number = None
        if segment_ids is not None:
            dynamic = not isinstance(num_segments, int)
            number = ops.Reshape(num_segments, constant([1])) if dynamic else constant([num_segments])
        elif offsets is None and indptr is None:
            number = ops.ReduceProd(ops.Shape(indices, end=-1), keepdims=1)
            numbers = ops.Range(constant(0), ops.Squeeze(number), constant(1))
            numbers = ops.Reshape(numbers, joined(ops.Shape(indices, end=-1), constant([1])))
            segment_ids = ops.Reshape(ops.Expand(numbers, ops.Shape(indices)), constant([-1]))
            behind = [ops.Shape(data, start=1)] if len(data.shape) > 1 else []
            rows = ops.Reshape(rows, joined(ops.ReduceProd(ops.Shape(indices), keepdims=1), *behind))
        else:
            members = size_of(data if indices is None else indices, 0)
            if offsets is None:
                offsets = ops.Slice(indptr, constant([0]), constant([-1]))
            segment_ids, number = find_bags(as_int64(offsets), members), ops.Shape(offsets)
        ids, bags = as_int64(segment_ids), number
        if signed and given[-1] is not indices:  # too large, also with one more bag
            ids = ops.Where(ops.Less(ids, number), ids, ops.Add(number, constant([1])))
        for each in signed:  # members that are skipped are in one more bag
            below = ops.Less(as_int64(each), constant(0))
            ids, bags = ops.Where(ops.Reshape(below, constant([-1])), number, ids), ops.Add(number, constant([1]))
        reduced = reduce_rows(rows, ids, bags, sum_type, len(data.shape), reduction, default=default)
        if signed:
            reduced = ops.Slice(reduced, constant([0]), number, constant([0]))
        if offsets is indptr is None and given[-1] is indices:
            reduced = ops.Reshape(reduced, joined(ops.Shape(indices, end=-1), *behind))
    return reduced if sum_type == data.dtype else ops.Cast(reduced, to=int(data.dtype))


def _reduce(updates: Any, rows: Any, size: Any, names: Sequence[str]) -> list[Any]:
    """Reduce updates by row, several times. The position in an empty row is the number of updates."""
    rank = len(updates.shape)
    number = constant([size]) if isinstance(size, int) else ops.Reshape(size, constant([1]))
    ids = as_int64(rows)
    ids = ops.Where(ops.Less(ids, constant(0)), ops.Add(ids, number), ids)
    found: dict[str, Any] = {}

    def compute(name: str) -> Any:
        if name not in found:
            found[name] = position(name[3:]) if name.startswith("arg") else value(name)
        return found[name]

    def value(name: str) -> Any:
        if name == "count":
            return reduce_rows(filled(size_of(updates, 0), 1, INT64), ids, number, INT64, 1, "add", default=0)
        how = {"sum": "add"}.get(name, name)
        dtype = choose_sum_type("scatter", updates.dtype, how, "wide" if updates.dtype in HALVES else "step")
        return cast(reduce_rows(cast(updates, dtype), ids, number, dtype, rank, how, default=0), updates.dtype)

    def position(name: str) -> Any:
        """Find the first update that is equal to the extremum of its row."""
        count = size_of(updates, 0)
        is_best = ops.Equal(updates, ops.Gather(compute(name), ids, axis=0))
        if numpy_type(updates.dtype).kind == "f" or updates.dtype in HALVES:
            is_best = ops.Or(is_best, ops.IsNaN(updates))
        own = ops.Range(constant(0), ops.Squeeze(count), constant(1))
        own = ops.Reshape(own, constant([-1] + [1] * (rank - 1)))
        numbers = ops.Where(is_best, own, count)
        shape = joined(number, *([ops.Shape(updates, start=1)] if rank > 1 else []))
        return scatter(row_targets(ids, 0, rank), filled(shape, count, INT64), numbers, INT64, rank, "min")

    return [compute(name) for name in names]


TRANSLATIONS: dict[str, Translation] = {
    "gather": _gather,
    "gather_elements": _gather_elements,
    "gather_nd": _gather_nd,
    "scatter_update": _scatter_update,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
    "gather_reduce": _gather_reduce,
    "reduce": _reduce,
}
