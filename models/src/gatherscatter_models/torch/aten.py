"""Translations of PyTorch's own operators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gatherscatter.errors import OpValueError
from gatherscatter_models.torch.bags import find_bags, reduce_rows
from gatherscatter_models.torch.index_modes import TranslatedRule, as_int64
from gatherscatter_models.torch.nodes import (
    BOOL,
    FLOAT,
    HALVES,
    INT64,
    UINT8,
    cast,
    column,
    constant,
    filled,
    joined,
    moved,
    numpy_type,
    ops,
    size_of,
    transposed,
    where,
)  # fmt: skip
from gatherscatter_models.torch.targets import (
    ScatterTargets,
    divide,
    neutral,
    row_targets,
    scatter,
    scatter_by_tuples,
)  # fmt: skip

_REDUCTIONS = {
    "sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "mean": "mean", "amax": "max", "max": "max",
    "amin": "min", "min": "min",
}  # fmt: skip


def _combine(
    targets: ScatterTargets, data: Any, source: Any, dtype: Any, rank: int, reduction: str, *, include_self: bool = True
) -> Any:
    """Scatter as PyTorch does: halves are combined as float32."""
    if dtype not in HALVES or reduction not in ("add", "mul", "mean"):
        return scatter(targets, data, source, dtype, rank, reduction, include_self=include_self)
    wide = ops.Cast(data, to=int(FLOAT)), ops.Cast(source, to=int(FLOAT))
    return ops.Cast(scatter(targets, *wide, FLOAT, rank, reduction, include_self=include_self), to=int(dtype))


def _scatter(
    self: Any,
    dim: int,
    find_targets: Callable[[int, int], ScatterTargets],
    source: Any,
    reduction: str,
    include_self: bool = True,
) -> Any:
    """Scatter along an axis. A tensor without axes is treated as one that has an axis of size 1."""
    rank = max(len(self.shape), 1)
    targets = find_targets(dim % rank, rank)
    made = _combine(targets, _as_vector(self), source, self.dtype, rank, reduction, include_self=include_self)
    return made if self.shape else _as_scalar(made)


def _as_vector(tensor: Any) -> Any:
    """Return an input of the translation without axes as a vector, and others unchanged."""
    return tensor if tensor.shape else ops.Reshape(tensor, constant([1]))


def _as_indices(index: Any) -> Any:
    """Return indices as int64, and a single index as a vector."""
    indices = as_int64(index)
    return indices if index.shape else ops.Reshape(indices, constant([1]))


def _as_scalar(tensor: Any) -> Any:
    return ops.Reshape(tensor, constant([], np.int64))


# ------------------------------------------------------------------------------------------------ along elements


def _scatter_elements(
    self: Any, dim: int, index: Any, source: Any, reduction: str = "none", include_self: bool = True
) -> Any:
    if tuple(index.shape) == (0,) and len(self.shape) > 1:  # allowed for a tensor of any rank
        return ops.Identity(self)
    index = _as_indices(index)
    return _scatter(self, dim, lambda axis, rank: ScatterTargets(axis, index), source, reduction, include_self)


def _fitted(source: Any, index: Any) -> Any:
    """Return the part of source that has the shape of index."""
    rank = len(index.shape)
    if not rank:
        return ops.Reshape(source, constant([-1]))
    if not source.shape:
        return ops.Reshape(source, constant([1] * rank))
    known = all(isinstance(size, int) or size.value is not None for size in index.shape)
    if known and tuple(index.shape) == tuple(source.shape):
        return source
    return ops.Slice(source, constant([0] * rank), ops.Shape(index))


def scatter_src(self: Any, dim: int, index: Any, src: Any) -> Any:
    return _scatter_elements(self, dim, index, _fitted(src, index))


def scatter_value(self: Any, dim: int, index: Any, value: Any) -> Any:
    return _scatter_elements(self, dim, index, _repeated(value, index, self.dtype))


def scatter_with_reduction(self: Any, dim: int, index: Any, src: Any, reduce: str) -> Any:
    return _scatter_elements(self, dim, index, _fitted(src, index), _REDUCTIONS[reduce])


def scatter_value_with_reduction(self: Any, dim: int, index: Any, value: Any, reduce: str) -> Any:
    return _scatter_elements(self, dim, index, _repeated(value, index, self.dtype), _REDUCTIONS[reduce])


def scatter_add(self: Any, dim: int, index: Any, src: Any) -> Any:
    return _scatter_elements(self, dim, index, _fitted(src, index), "add")


def scatter_reduce(self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True) -> Any:
    return _scatter_elements(self, dim, index, _fitted(src, index), _REDUCTIONS[reduce], include_self)


def _repeated(value: Any, index: Any, dtype: Any) -> Any:
    return filled(ops.Shape(index) if index.shape else constant([1]), value, dtype)


# ---------------------------------------------------------------------------------------------------- along rows


def _scatter_rows(
    self: Any, dim: int, index: Any, source: Any, reduction: str = "none", include_self: bool = True
) -> Any:
    index = as_int64(index)
    return _scatter(self, dim, lambda axis, rank: row_targets(index, axis, rank), source, reduction, include_self)


def index_add(self: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Any:
    source = _as_vector(source)
    if alpha != 1:
        multiply = ops.And if self.dtype == BOOL else ops.Mul
        source = multiply(source, constant(alpha, numpy_type(self.dtype)))
    return _scatter_rows(self, dim, index, source, "add")


def index_reduce(self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool = True) -> Any:
    return _scatter_rows(self, dim, index, _as_vector(source), _REDUCTIONS[reduce], include_self)


def index_copy(self: Any, dim: int, index: Any, source: Any) -> Any:
    return _scatter_rows(self, dim, index, _as_vector(source))


def index_fill(self: Any, dim: int, index: Any, value: Any) -> Any:
    rank = len(self.shape)
    data, axis = _as_vector(self), dim % max(rank, 1)
    index = ops.Reshape(as_int64(index), constant([-1]))
    ones = filled(ops.Shape(index), True, BOOL)
    mask = ops.ScatterElements(filled(size_of(data, axis), False, BOOL), index, ones, axis=0)
    behind = list(range(1, rank - axis))
    value = cast(value, self.dtype) if hasattr(value, "shape") else constant(value, numpy_type(self.dtype))
    made = where(ops.Unsqueeze(mask, constant(behind)) if behind else mask, value, data, self.dtype)
    return made if rank else _as_scalar(made)


# --------------------------------------------------------------------------------------------------- flat indices


def put(self: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    flat, indices, updates = (ops.Reshape(each, constant([-1])) for each in (self, as_int64(index), source))
    made = _combine(ScatterTargets(0, indices), flat, updates, self.dtype, 1, "add" if accumulate else "none")
    return ops.Reshape(made, ops.Shape(self))


def take(self: Any, index: Any) -> Any:
    return ops.Gather(ops.Reshape(self, constant([-1])), as_int64(index), axis=0)


# --------------------------------------------------------------------------------------------------- index tuples


@dataclass(frozen=True)
class _IndexTuples:
    """The index tuples that ``x[indices]`` means. Indices that are None select a whole axis.

    Attributes
    ----------
    tuples : int64; the last axis of the array holds the tuples
    shape, rank : its shape and its number of axes, without the last axis
    axes, others : the axes of x that are indexed, and the other ones
    front : the number of other axes of x that come first in ``x[indices]``
    """

    tuples: Any
    shape: Any
    rank: int
    axes: list[int]
    others: list[int]
    front: int

    @property
    def order(self) -> list[int]:
        """The axes of x, with the indexed ones first, as in GatherND and ScatterND."""
        return self.axes + self.others


def _index_tuples(indices: Any, rank: int) -> _IndexTuples:
    axes: list[int] = []
    columns: list[Any] = []
    ranks = []
    axis = 0
    for each in indices:
        if each is None:
            axis += 1
            continue
        if _is_mask(each):  # it stands for the indices of its true elements
            found, length = ops.NonZero(each), len(each.shape)
            columns += [ops.Gather(found, constant(part), axis=0) for part in range(length)]
            ranks.append(1)
        else:
            length = 1
            columns.append(as_int64(each))
            ranks.append(len(each.shape))
        axes += range(axis, axis + length)
        axis += length
    shape = ops.Shape(functools.reduce(ops.Add, columns) if len(ranks) > 1 else columns[0])
    if len(ranks) > 1:
        columns = [ops.Expand(each, shape) for each in columns]
    tuples = ops.Concat(*(column(each) for each in columns), axis=-1)
    others = [axis for axis in range(rank) if axis not in axes]
    neighbours = axes == list(range(axes[0], axes[0] + len(axes)))
    return _IndexTuples(tuples, shape, max(ranks), axes, others, axes[0] if neighbours else 0)


def index(self: Any, indices: Any) -> Any:
    given = [each for each in indices if each is not None]
    if len(given) == 1 and not _is_mask(given[0]):
        return ops.Gather(self, as_int64(given[0]), axis=next(n for n, each in enumerate(indices) if each is not None))
    at = _index_tuples(indices, len(self.shape))
    taken = ops.GatherND(transposed(self, at.order), at.tuples)
    return moved(taken, at.rank + len(at.others), 0, at.front, at.rank)


def index_put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    rank = len(self.shape)
    given = [each for each in indices if each is not None]
    if len(given) == 1 and _is_mask(given[0]) and not accumulate and all(size == 1 for size in values.shape):
        return _fill_masked(self, indices, given[0], values)
    at = _index_tuples(indices, rank)
    shape = ops.Shape(self)
    rest = [
        ops.Gather(shape, constant(part), axis=0) for part in (at.others[: at.front], at.others[at.front :]) if part
    ]
    before = at.front > 0
    values = ops.Expand(values, joined(*rest[:before], at.shape, *rest[before:]))
    values = moved(values, at.rank + len(at.others), at.front, 0, at.rank)
    data = transposed(self, at.order)
    if accumulate:

        def add(targets: ScatterTargets, rows: Any, updates: Any, rank: int) -> Any:
            return _combine(targets, rows, updates, self.dtype, rank, "add")

        made = scatter_by_tuples(data, at.tuples, values, len(at.axes), rank, TranslatedRule(), scatter_rows=add)
    else:
        made = ops.ScatterND(data, at.tuples, values)
    return transposed(made, sorted(range(rank), key=at.order.__getitem__))


def masked_fill(self: Any, mask: Any, value: Any) -> Any:
    value = cast(value, self.dtype) if hasattr(value, "shape") else constant(value, numpy_type(self.dtype))
    return where(mask, value, self, self.dtype)


def masked_select(self: Any, mask: Any) -> Any:
    mask = ops.And(mask, filled(ops.Shape(self), True, BOOL))  # both have the shape of the result of broadcasting
    tuples = ops.Transpose(ops.NonZero(mask), perm=[1, 0])
    return ops.GatherND(ops.Expand(self, ops.Shape(mask)), tuples)


def _is_mask(index: Any) -> bool:
    return index.dtype in (BOOL, UINT8)  # PyTorch treats uint8 as booleans here


def masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    data = _as_vector(self)
    if tuple(self.shape) != tuple(mask.shape):  # the result has the shape to which both are broadcast
        data = ops.Expand(data, ops.Shape(mask))
    tuples = ops.Transpose(ops.NonZero(ops.Expand(mask, ops.Shape(data))), perm=[1, 0])
    updates = ops.Slice(ops.Reshape(source, constant([-1])), constant([0]), size_of(tuples, 0))
    made = ops.ScatterND(data, tuples, updates)
    return made if self.shape or mask.shape else _as_scalar(made)


def _fill_masked(self: Any, indices: Sequence[Any], mask: Any, value: Any) -> Any:
    before = next(number for number, each in enumerate(indices) if each is mask)
    behind = len(self.shape) - before - len(mask.shape)
    mask = cast(mask, BOOL)
    if behind:
        mask = ops.Unsqueeze(mask, constant([-1 - each for each in range(behind)]))
    if value.shape:
        value = _as_scalar(value)
    return where(mask, value, self, self.dtype)


# --------------------------------------------------------------------------------------------------------- bags


_MODES = ("add", "mean", "max")  # of embedding_bag


def embedding_bag(  # noqa: PLR0917
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: Any = None,
) -> Any:
    """Return the bags, and empty tensors for the other results, which PyTorch uses for gradients only."""
    dtype = weight.dtype
    sum_type = FLOAT if dtype in HALVES else dtype
    indices = ops.Reshape(as_int64(indices), constant([-1]))
    offsets = as_int64(offsets)
    bags = find_bags(offsets, ops.Shape(indices))
    number = ops.Shape(offsets)
    if include_last_offset:  # rows behind the last offset are not used
        number = ops.Sub(number, constant([1]))
    padded = padding_idx is not None
    if padded:
        padding = constant([padding_idx])
        if padding_idx < 0:
            padding = ops.Add(padding, size_of(weight, 0))
        bags = ops.Where(ops.Equal(indices, padding), number, bags)
    rows = ops.Gather(weight, indices, axis=0)
    if sum_type != dtype:
        rows = ops.Cast(rows, to=int(sum_type))
    if per_sample_weights is not None:
        factors = ops.Reshape(ops.Cast(per_sample_weights, to=int(sum_type)), constant([-1, 1]))
        rows = ops.Mul(rows, factors)
    made = reduce_rows(rows, bags, number, sum_type, 2, _MODES[mode], default=0, dropped=padded or include_last_offset)
    nothing = constant([], np.int64)
    return (made if sum_type == dtype else ops.Cast(made, to=int(dtype))), nothing, nothing, nothing


def _embedding_bag(*arguments: Any, padding_idx: int = -1, **options: Any) -> Any:
    """The operator behind `embedding_bag`, where a padding index of -1 means none."""
    if len(arguments) == 9:
        *arguments, padding_idx = arguments  # type: ignore[assignment]
    options["padding_idx"] = None if padding_idx == -1 else padding_idx
    return embedding_bag(*arguments, **options)


def segment_reduce(  # noqa: PLR0917
    data: Any,
    reduce: str,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Any:
    rank = len(data.shape)
    if axis % rank != 0:
        text = f"segment_reduce: an export with axis={axis} is not supported; only axis 0 is"
        raise OpValueError(text, op="segment_reduce", input="axis")
    if lengths is not None:
        offsets = ops.Concat(constant([0]), ops.CumSum(as_int64(lengths), constant(0)), axis=0)
    else:
        offsets = as_int64(offsets)
    sum_type = FLOAT if data.dtype in HALVES else data.dtype
    rows = data if sum_type == data.dtype else ops.Cast(data, to=int(sum_type))
    reduction, number = _REDUCTIONS[reduce], ops.Sub(ops.Shape(offsets), constant([1]))
    bags = find_bags(offsets, size_of(data, 0))
    bags = ops.Where(ops.Less(bags, constant(0)), number, bags)  # rows in front of the first segment are not used
    empty = {"add": 0, "mean": 0, "mul": 1}.get(reduction)
    start = initial if initial is not None else neutral(reduction, sum_type) if empty is None else empty
    first = filled(joined(number, *([ops.Shape(data, start=1)] if rank > 1 else [])), start, sum_type)
    made = scatter(
        row_targets(bags, 0, rank, dropped=True),
        first,
        rows,
        sum_type,
        rank,
        "add" if reduction == "mean" else reduction,
    )
    if reduction == "mean":
        ones = filled(ops.Shape(bags), 1, INT64)
        members = scatter(row_targets(bags, 0, 1, dropped=True), filled(number, 0, INT64), ones, INT64, 1, "add")
        if rank > 1:
            members = ops.Unsqueeze(members, constant(list(range(1, rank))))
        of_empty = constant(float("nan") if initial is None else initial, numpy_type(sum_type))
        made = ops.Where(ops.Equal(members, constant(0)), of_empty, divide(made, members, sum_type))
    return made if sum_type == data.dtype else ops.Cast(made, to=int(data.dtype))


def repeat_interleave(repeats: Any, output_size: Any = None) -> Any:
    """`segment_csr` and `gather_csr` call this. The translation of onnxscript has no ``output_size``."""
    repeats = as_int64(repeats)
    number = ops.ReduceSum(repeats, constant([0]), keepdims=1)
    return find_bags(ops.CumSum(repeats, constant(0), exclusive=1), number)


_aten = torch.ops.aten
TRANSLATIONS: dict[Any, Callable[..., Any]] = {
    _aten.scatter.src: scatter_src,
    _aten.scatter.value: scatter_value,
    _aten.scatter.reduce: scatter_with_reduction,
    _aten.scatter.value_reduce: scatter_value_with_reduction,
    _aten.scatter_add.default: scatter_add,
    _aten.scatter_reduce.two: scatter_reduce,
    _aten.index_add.default: index_add,
    _aten.index_reduce.default: index_reduce,
    _aten.index_copy.default: index_copy,
    _aten.index_fill.int_Scalar: index_fill,
    _aten.index_fill.int_Tensor: index_fill,
    _aten.index.Tensor: index,
    _aten._unsafe_index.Tensor: index,
    _aten.index_put.default: index_put,
    _aten._unsafe_index_put.default: index_put,
    _aten.masked_fill.Scalar: masked_fill,
    _aten.masked_fill.Tensor: masked_fill,
    _aten.masked_scatter.default: masked_scatter,
    _aten.masked_select.default: masked_select,
    _aten.put.default: put,
    _aten.take.default: take,
    _aten.embedding_bag.default: embedding_bag,
    _aten.embedding_bag.padding_idx: embedding_bag,
    _aten._embedding_bag.default: _embedding_bag,
    _aten._embedding_bag_forward_only.default: _embedding_bag,
    _aten.segment_reduce.default: segment_reduce,
}
"""The translation of each operator."""
