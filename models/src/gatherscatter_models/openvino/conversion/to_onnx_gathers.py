"""Convert gather layers of an IR to ONNX nodes. Their indices are already int64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gatherscatter.specs.table import OpVersion
from gatherscatter_models.onnx.builder import BuiltTensor, OnnxBuilder
from gatherscatter_models.openvino.conversion.mapping import make_refusal, rank_and_axis, rank_of, same_sizes

Attributes = Mapping[str, Any]


def gather(b: OnnxBuilder, row: OpVersion, inputs: list[BuiltTensor], values: Attributes, known: str) -> BuiltTensor:
    """Convert a Gather to Gather-13, or to GatherND-13 with batch dims. The zeros of Gather-8 are put in afterwards."""
    data, indices = inputs
    axis, batch_dims = values["axis"], values.get("batch_dims", 0)
    if batch_dims < 0:
        batch_dims += rank_of(indices.shape, "indices")
    zeros = row.index_range == "zeros" and known == "any" and not _all_valid(data, indices, axis)
    if batch_dims == 0 and not zeros:
        return b.node("Gather", data, indices, axis=axis)
    rank = rank_of(data.shape, "data")
    if not -rank <= axis < rank:
        raise make_refusal(f"axis {axis} is out of range for data of rank {rank}")
    axis %= rank
    found = None
    if zeros:
        found, indices = _find_in_range(b, data, indices, axis)
    if batch_dims == 0:
        return _fill_with_zeros(b, b.node("Gather", data, indices, axis=axis), found, rank - 1 - axis)
    return _batched_gather(b, data, indices, axis, batch_dims, found)


def _batched_gather(
    b: OnnxBuilder, data: BuiltTensor, indices: BuiltTensor, axis: int, batch_dims: int, found: BuiltTensor | None
) -> BuiltTensor:
    """Use GatherND on data with the axis moved behind the batch dims. The axes in between are moved back afterwards."""
    rank, more = rank_of(data.shape, "data"), rank_of(indices.shape, "indices") - batch_dims
    if not 0 <= batch_dims <= axis or more < 0:
        raise make_refusal(f"batch_dims is {batch_dims}, beyond axis {axis} or the rank of indices")
    batch, outer = list(range(batch_dims)), list(range(batch_dims, axis))
    data = b.transpose(data, [*batch, axis, *outer, *range(axis + 1, rank)])
    tuples = b.node("Unsqueeze", indices, np.array([-1], np.int64))
    rows = _fill_with_zeros(b, b.node("GatherND", data, tuples, batch_dims=batch_dims), found, rank - 1 - batch_dims)
    taken = list(range(batch_dims, batch_dims + more))
    moved = [axis_ + more for axis_ in outer]
    inner = range(axis + more, rank - 1 + more)
    return b.transpose(rows, [*batch, *moved, *taken, *inner])


def _all_valid(data: BuiltTensor, indices: BuiltTensor, axis: int) -> bool:
    """Whether constant indices are in range of an axis of known size."""
    if indices.value is None or data.shape is None or not -len(data.shape) <= axis < len(data.shape):
        return False
    size = data.shape[axis]
    return size is not None and bool(np.all((indices.value >= -size) & (indices.value < size)))


def _find_in_range(
    b: OnnxBuilder, data: BuiltTensor, indices: BuiltTensor, axis: int
) -> tuple[BuiltTensor, BuiltTensor]:
    """Return a mask of the indices in range, and the indices with 0 for the others."""
    if data.shape is not None and data.shape[axis] == 0:
        raise make_refusal(f"axis {axis} of data is empty; there Gather-8 gives zeros, and ONNX's Gather can't")
    size = b.shape(data, [axis])
    low = b.node("GreaterOrEqual", indices, b.node("Neg", size))
    found = b.node("And", low, b.node("Less", indices, size))
    if indices.rank == 0:  # the size has rank 1
        found = b.node("Squeeze", found, np.array([0], np.int64))
    return found, b.node("Where", found, indices, np.array(0, np.int64))


def _fill_with_zeros(b: OnnxBuilder, rows: BuiltTensor, found: BuiltTensor | None, width: int) -> BuiltTensor:
    """Put zeros where no row was found. ``width`` dims of a row follow those of the indices."""
    if found is None:
        return rows
    if width:
        found = b.node("Unsqueeze", found, np.arange(-width, 0))
    zero = np.array("", object) if rows.dtype.kind == "O" else np.zeros((), rows.dtype)
    return b.node("Where", found, rows, zero)


def gather_elements(
    b: OnnxBuilder, row: OpVersion, inputs: list[BuiltTensor], values: Attributes, known: str
) -> BuiltTensor:
    """Convert a GatherElements.

    Version 6 requires equal dims off the axis, while ONNX accepts shorter indices. A Reshape to the required dims makes
    shorter indices an error.
    """
    data, indices = inputs
    rank, axis = rank_and_axis(data.shape, indices.shape, values["axis"])
    if not same_sizes(data.shape, indices.shape, [d for d in range(rank) if d != axis]):
        sizes = [b.shape(data if d != axis else indices, [d]) for d in range(rank)]
        indices = b.node("Reshape", indices, b.node("Concat", *sizes, axis=0), allowzero=1)
    return b.node("GatherElements", data, indices, axis=axis)


def gather_nd(b: OnnxBuilder, row: OpVersion, inputs: list[BuiltTensor], values: Attributes, known: str) -> BuiltTensor:
    """Convert a GatherND to GatherND-13. Version 5 merges several batch dims into one."""
    batch_dims = values["batch_dims"]
    result = b.node("GatherND", *inputs, batch_dims=batch_dims)
    if row.finish is None or batch_dims <= 1:
        return result
    start, middle, end = (np.array([position]) for position in (0, batch_dims, np.iinfo(np.int32).max))
    sizes = b.node("Shape", result)
    batch = b.node("ReduceProd", b.node("Slice", sizes, start, middle), start, keepdims=1)
    shape = b.node("Concat", batch, b.node("Slice", sizes, middle, end), axis=0)
    return b.node("Reshape", result, shape, allowzero=1)
