"""gather_reduce for Dask. Bags are split into chunks, and each task reduces the bags of one chunk."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask import config
from dask._task_spec import TaskRef
from dask.array import Array
from dask.array.core import normalize_chunks
from dask.base import compute, tokenize
from dask.utils import parse_bytes

from gatherscatter.arrays import convert
from gatherscatter.dask import apply, graphs, inputs
from gatherscatter.dask.call import plan_call, rechunk
from gatherscatter.dask.chunks import LazyMovement, blocks_of, shape_of, start_of
from gatherscatter.dask.tasks import UnfusedTask, make_array, prevent_fusion
from gatherscatter.errors import check_size
from gatherscatter.functions import gather_reduce
from gatherscatter.functions.chunked import Block, Chunks
from gatherscatter.functions.gather_reduce import FoundBags, check_members_shape, find_bags
from gatherscatter.operation import Kernel, Operation
from gatherscatter.system.pieces import extremes, pieces

OP = "gather_reduce"
_INDEX_BYTES = 8

MemberArray = Array | np.ndarray  # indices or weights


def reduce(operation: Operation, arrays: dict[str, Any], plan: str = "lazy", out: None = None) -> Array:
    """Return the result of `gatherscatter.gather_reduce`, lazily."""
    data, weights, default = arrays["data"], arrays.get("weights"), arrays.get("default", 0)
    inputs.check_plan(OP, plan, out)
    if not isinstance(data, Array):
        data = da.from_array(convert.as_array(OP, "data", data), chunks=-1)  # type: ignore[no-untyped-call]
    data = inputs.as_dask(OP, "data", data)
    # A call without members checks all arguments that do not depend on members.
    empty = np.empty((0, *data.shape[1:]) if data.ndim else (), data.dtype)
    alone = operation._replace(bags=None)
    gather_reduce.run(alone, {"data": empty, "indices": np.empty((0, 0), np.int64)}, default=default)
    if np.ndim(default):
        default = convert.cast(OP, "default", default, "data", empty)
    names = ("indices", "offsets", "segment_ids", "indptr")
    indices, offsets, segment_ids, indptr = (
        None if arrays.get(name) is None else inputs.as_indices(operation, arrays[name], name) for name in names
    )
    offsets, segment_ids, indptr = compute(offsets, segment_ids, indptr, traverse=False)  # type: ignore[no-untyped-call]
    members = data.shape[:1] if indices is None else indices.shape
    num_segments = operation.bags.num_segments if operation.bags else None
    if segment_ids is not None and num_segments is None and segment_ids.size:
        result = (max(extremes(segment_ids.reshape(-1))[1] + 1, 0), *data.shape[1:])
        given_bytes = data.nbytes + segment_ids.nbytes
        check_size(OP, result, data.dtype, "segment_ids", segment_ids, "num_segments", input_bytes=given_bytes)
    # Bags in the last dim of indices follow from the shape. This only checks that no other bags are given.
    line = members if len(members) == 1 else (0,) * len(members)
    given = {"offsets": offsets, "segment_ids": segment_ids, "indptr": indptr}
    bags = find_bags(operation, line, has_indices=indices is not None, **given)
    if weights is not None:
        weights = inputs.as_updates(OP, weights, data, "weights")
        check_members_shape(OP, "weights", weights.shape, members)
    return reduce_lazily(operation, data, indices, bags, weights=weights, default=default, plan=plan)


def reduce_lazily(
    operation: Operation,
    data: Array,
    indices: MemberArray | None,
    bags: FoundBags,
    *,
    weights: MemberArray | None,
    default: Any,
    plan: str = "lazy",
) -> Array:
    """Reduce bags, lazily.

    Indices can start with members that are in no bag. ``default`` can be a lazy row of data.
    """
    members = data.shape[:1] if indices is None else indices.shape
    stored = indices is None and bags.order is None  # the members are the rows of data, in order
    table = data if stored else _merge_rows(data, math.prod(members))
    gather = Operation(operation.op, Kernel.GATHER, 0, 0, operation.mode, operation.negative, bags=operation.bags)
    move = LazyMovement.of(gather, table.shape, table.chunks, members)
    if indices is not None:
        # Tasks that only check indices of skipped members would not run.
        omits = bags.order is not None and len(bags.order) < math.prod(members)
        indices = _check_indices(move, indices, "eager" if omits else plan)
        first = 0 if len(members) > 1 else int(bags.starts[0])
        indices, bags = indices[first:], bags._replace(starts=bags.starts - first)
        weights = None if weights is None else weights[first:]
    chunks = _choose_chunks(data, indices, weights, bags, stored or len(table.chunks[0]) > 1)
    if bags.order is not None:
        indices = bags.order if indices is None else _take(indices, bags.order, chunks)
        weights = None if weights is None else _take(weights, bags.order, chunks)
    rows = _find_rows(move, table, indices, chunks)
    # In the tasks, the bags are defined by offsets or by the last dim of indices.
    operation = operation._replace(bags=None, num_threads=1)
    gathered = indices is None or rows is not table
    indices = None if gathered and operation.negative != "skip" else indices
    return _reduce(operation, rows, gathered, chunks, indices=indices, weights=weights, default=default)


def _check_indices(move: LazyMovement, indices: MemberArray, plan: str) -> MemberArray:
    """Return indices that are checked. Lazy ones are checked in their original chunks, which errors name."""
    if isinstance(indices, Array) and plan == "lazy":
        dtype = indices.dtype.newbyteorder("=")
        facts = {"dtype": dtype, "meta": np.empty((0,) * indices.ndim, dtype)}
        checked = da.map_blocks(apply.check_chunk, indices, move, **facts)  # type: ignore[no-untyped-call]
        return prevent_fusion(checked, indices)
    if isinstance(indices, Array):
        indices = convert.as_indices(move.operation.op, "indices", indices.compute())  # type: ignore[no-untyped-call]
    move.check(indices)
    return indices


# ------------------------------------------------------------------------------------------------------- chunks


class _BagChunks(NamedTuple):
    """The chunks of bags, and the matching chunks of members (indices and weights)."""

    bags: Chunks
    members: Chunks
    starts: np.ndarray | None = None  # starts of bags in a line of members; None: bags are the last dim

    def find_offsets(self, block: Block) -> np.ndarray | None:
        """Return the starts of the bags of a chunk among its members."""
        if self.starts is None:
            return None
        (first,), (count,) = start_of(self.bags, block), shape_of(self.bags, block)
        offsets: np.ndarray = self.starts[first : first + count] - self.starts[first]
        return offsets


def _merge_rows(data: Array, members: int) -> Array:
    """Merge data to one chunk along axis 0, unless that exceeds the chunk size or the size of the gathered rows."""
    rows = data.shape[0]
    fits = rows * _find_row_bytes(data) <= _find_limit() and rows <= members
    return rechunk(data, ((rows,), *data.chunks[1:])) if fits else data


def _find_row_bytes(data: Array) -> int:
    """Return the bytes of a row in the widest chunk."""
    return int(data.dtype.itemsize * math.prod(map(max, data.chunks[1:])))


def _find_limit() -> int:
    """Return the largest number of bytes of a chunk."""
    return int(parse_bytes(config.get("array.chunk-size")))


def _choose_chunks(
    data: Array, indices: MemberArray | None, weights: MemberArray | None, bags: FoundBags, is_gathered: bool
) -> _BagChunks:
    """Choose chunks whose tasks need at most the memory of one chunk, unless a single bag needs more.

    ``is_gathered``: whether the rows of the members are in separate chunks.
    """
    row_bytes = _find_row_bytes(data)
    member_bytes = _INDEX_BYTES + (weights is not None) * data.dtype.itemsize + is_gathered * row_bytes
    like = data if indices is None else indices
    if indices is not None and indices.ndim > 1:
        outer, size = indices.shape[:-1], indices.shape[-1]
        own = indices.chunks[:-1] if isinstance(indices, Array) else tuple((n,) for n in outer)
        cut = _cut_chunks(own, row_bytes + size * member_bytes)
        return _BagChunks(cut, (*cut, (size,)))
    own = like.chunks[0] if isinstance(like, Array) else like.shape
    ends = _cut_line(bags.starts, np.cumsum(own), row_bytes, member_bytes)
    return _BagChunks((_sizes_between(ends),), (_sizes_between(bags.starts[ends]),), bags.starts)


def _cut_chunks(chunks: Chunks, bag_bytes: int) -> Chunks:
    """Cut chunks of bags of equal size where they need too much memory."""
    largest = tuple(map(max, chunks))
    if 0 in largest:
        return chunks
    bags = max(_find_limit() // max(bag_bytes, 1), 1)
    fitting = normalize_chunks("auto", largest, limit=bags, dtype=np.uint8)  # type: ignore[no-untyped-call]
    return tuple(
        tuple(part.stop - part.start for n in sizes for part in pieces(n, max(most)))
        for sizes, most in zip(chunks, fitting, strict=True)
    )


def _cut_line(starts: np.ndarray, edges: np.ndarray, row_bytes: int, member_bytes: int) -> list[int]:
    """Return the starts of the chunks of bags, and the end of the last one.

    ``starts`` are the starts of bags in a line of members. ``edges`` are the ends of the chunks of that line.
    """
    limit, count = _find_limit(), len(starts) - 1
    needed = starts * member_bytes + np.arange(count + 1) * row_bytes
    edges = np.append(np.searchsorted(starts[:-1], edges[:-1]), count)
    ends = [0]
    while ends[-1] < count:
        first = ends[-1]
        fitting = int(np.searchsorted(needed, needed[first] + limit, "right")) - 1
        edge = int(edges[np.searchsorted(edges, first, "right")])
        ends.append(min(max(fitting, first + 1), edge))
    return ends


def _sizes_between(ends: Any) -> tuple[int, ...]:
    return tuple(np.diff(ends).tolist()) or (0,)


# ------------------------------------------------------------------------------------------------------- graphs


def _take(array: MemberArray, order: np.ndarray, chunks: _BagChunks) -> MemberArray:
    """Return members in the order of their bags."""
    if isinstance(array, Array):
        return graphs.build(plan_call(Operation(OP, Kernel.GATHER), array, order, None, "lazy", chunks.members))
    taken: np.ndarray = array[order]
    return taken


def _find_rows(move: LazyMovement, data: Array, indices: MemberArray | None, chunks: _BagChunks) -> Array:
    """Return the rows of the members in chunks, or data itself if each of its chunks has all rows."""
    if indices is None:
        return rechunk(data, (*chunks.members, *data.chunks[1:]))
    if len(data.chunks[0]) == 1:
        return data
    return graphs.build(plan_call(move.operation, data, indices, None, "lazy", chunks.members))


def _reduce(
    operation: Operation,
    rows: Array,
    gathered: bool,
    chunks: _BagChunks,
    *,
    indices: MemberArray | None,
    weights: MemberArray | None,
    default: Any,
) -> Array:
    """Build a task for each chunk of bags and each chunk along the other axes.

    ``gathered``: whether ``rows`` has one row for each member.
    """
    indices, weights = (
        rechunk(array, chunks.members) if isinstance(array, Array) else array for array in (indices, weights)
    )
    lead = len(chunks.bags)
    inner = rows.chunks[len(chunks.members) if gathered else 1 :]
    name = f"{operation.op}-{tokenize(operation, rows, gathered, indices, weights, chunks, default)}"
    graph: dict[Any, Any] = {}
    for block in blocks_of(chunks.bags):
        shape = (*shape_of(chunks.members[:lead], block), *map(sum, chunks.members[lead:]))
        offsets = chunks.find_offsets(block)
        index, weight = (
            None if array is None else graphs.copy_if_view(graphs.reference_block(array, chunks.members[:lead], block))
            for array in (indices, weights)
        )
        source = (*block, *(0 for _ in chunks.members[lead:])) if gathered else (0,)
        for behind in blocks_of(inner):
            key = (name, *block, *behind)
            fill = default
            if isinstance(default, Array) or np.ndim(default):
                fill = graphs.copy_if_view(graphs.reference_block(default, inner, behind))
            taken = TaskRef((rows.name, *source, *behind))
            others = gathered, index, weight, fill
            graph[key] = UnfusedTask(key, apply.reduce_chunk, operation, shape, offsets, taken, *others)
    sources = [array for array in (rows, indices, weights, default) if isinstance(array, Array)]
    return make_array(name, graph, (*chunks.bags, *inner), rows, sources)
