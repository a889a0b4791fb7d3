"""Calls with Dask arrays: from arguments to a graph."""

from __future__ import annotations

import math
from typing import Any

import dask.array as da
import numpy as np
from dask.array import Array
from dask.array.core import normalize_chunks
from dask.base import tokenize

from gatherscatter.dask import graphs, inputs
from gatherscatter.dask.chunks import Chunks, Movement, Rule, movement
from gatherscatter.dask.routes import Known, Lazy, Routes


def gather(
    rule: Rule,
    data: Any,
    indices: Any,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    plan: str,
    out: None,
    num_threads: int | None,
) -> Array:
    """A lazy gather."""
    op = rule.op
    inputs.check_plan(op, plan, out)
    inputs.check_fill(rule, data)
    data, indices = inputs.as_dask(op, "data", data), inputs.as_indices(op, indices)
    inputs.check(rule, data, indices, None, axis=axis, batch_dims=batch_dims, num_threads=num_threads)
    axis, batch_dims = axis % data.ndim, batch_dims + (indices.ndim if batch_dims < 0 else 0)
    if rule.kernel == "gather" and 0 < batch_dims < axis:  # the axes between go behind the indexed one for the while
        moved = _gather(rule, da.moveaxis(data, axis, batch_dims), indices, batch_dims, batch_dims, plan)
        places = range(batch_dims, indices.ndim), range(axis, axis + indices.ndim - batch_dims)
        return da.moveaxis(moved, *places)  # type: ignore[no-any-return]
    return _gather(rule, data, indices, axis, batch_dims, plan)


def _gather(rule: Rule, data: Array, indices: Array | np.ndarray, axis: int, batch_dims: int, plan: str) -> Array:
    move = movement(rule, data.chunks, indices.shape, axis, batch_dims)
    positions = _output_chunks(move, data, indices)
    name = f"{rule.op}-{tokenize(rule, data, indices, positions, axis, batch_dims, plan)}"
    indices = _ready(move, data, indices, positions)
    if move.is_direct(positions, scatter=False) and not _looks(indices, plan):
        return graphs.direct(move, data, indices, None, positions, {}, name)
    return graphs.gather(move, data, _routes(move, indices, positions, plan, name), positions, name)


def scatter(
    rule: Rule,
    data: Any,
    indices: Any,
    updates: Any,
    *,
    axis: int = 0,
    reduction: str,
    include_self: bool,
    accumulate: str,
    plan: str,
    out: None,
    num_threads: int | None,
) -> Array:
    """A lazy scatter."""
    op = rule.op
    inputs.check_plan(op, plan, out)
    data, indices = inputs.as_dask(op, "data", data), inputs.as_indices(op, indices)
    updates = inputs.as_updates(op, updates, data)
    combine: dict[str, Any] = {"reduction": reduction, "include_self": include_self, "accumulate": accumulate}
    inputs.check(rule, data, indices, updates, axis=axis, num_threads=num_threads, **combine)
    return scatter_checked(rule, data, indices, updates, axis % data.ndim, 0, plan, combine)


def scatter_checked(
    rule: Rule,
    data: Array,
    indices: Array | np.ndarray,
    updates: Array | np.ndarray,
    axis: int,
    batch_dims: int,
    plan: str,
    combine: dict[str, Any],
) -> Array:
    """A scatter whose arguments are known to fit; ``batch_dims`` is the axis or 0."""
    dtype = inputs.result_type(rule.op, data.dtype, updates.dtype, combine["reduction"])
    data = data.astype(dtype)  # type: ignore[no-untyped-call]
    move = movement(rule, data.chunks, indices.shape, axis, batch_dims)
    positions = _update_chunks(move, indices, updates)
    name = f"{rule.op}-{tokenize(rule, data, indices, updates, positions, axis, plan, combine)}"
    indices = _ready(move, data, indices, positions)
    slots = (*move.outer, *positions, *move.inner)
    if isinstance(updates, Array):
        updates = _rechunked(updates, slots)
    elif isinstance(indices, Array):
        updates = da.from_array(updates, chunks=slots)  # type: ignore[no-untyped-call]
    if move.is_direct(positions, scatter=True) and not _looks(indices, plan):
        return graphs.direct(move, data, indices, updates, positions, combine, name)
    routes = _routes(move, indices, positions, plan, name)
    return graphs.scatter(move, data, routes, updates, positions, combine, name)


def _looks(indices: Array | np.ndarray, plan: str) -> bool:
    """Whether the values of lazy indices are computed now."""
    return plan == "eager" and isinstance(indices, Array)


def _routes(move: Movement, indices: Array | np.ndarray, positions: Chunks, plan: str, name: str) -> Routes:
    if isinstance(indices, np.ndarray):
        return Known(move, indices, positions)
    lazy = Lazy(move, indices, f"route-{name}")
    if _looks(indices, plan):
        lazy.look()
    return lazy


def _ready(move: Movement, data: Array, indices: Array | np.ndarray, positions: Chunks) -> Array | np.ndarray:
    """Indices in the chunks of ``positions``, or checked."""
    if isinstance(indices, Array):
        return _rechunked(indices, (*positions, *((n,) for n in indices.shape[len(positions) :])))
    inputs.check_range(move, data.shape, indices)
    return indices


def _rechunked(array: Array, chunks: Chunks) -> Array:
    """The same in other chunks. Dask does not rechunk empty arrays well: chunks remain, or lose their type."""
    if array.chunks == chunks:
        return array
    if array.size == 0:
        return da.zeros(array.shape, dtype=array.dtype, chunks=chunks)  # type: ignore[no-any-return]
    return array.rechunk(chunks)  # type: ignore[no-any-return, no-untyped-call]


def _output_chunks(move: Movement, data: Array, indices: Array | np.ndarray) -> Chunks:
    """The chunks of a gather's output along the indices: theirs or, for indices in memory, of Dask's usual size."""
    if isinstance(indices, Array):
        return move.aligned(indices.chunks[: len(move.positions)])
    whole = move.aligned(tuple((n,) for n in move.positions))
    slots = (*move.outer, *whole, *move.inner)
    free = [len(move.outer) + d for d in move.free]
    if not free or data.dtype.hasobject or math.prod(map(sum, slots)) == 0:
        return whole
    wanted = ["auto" if d in free else sizes for d, sizes in enumerate(slots)]
    chunks = normalize_chunks(wanted, tuple(map(sum, slots)), dtype=data.dtype)  # type: ignore[no-untyped-call]
    return tuple(chunks[len(move.outer) : len(move.outer) + len(whole)])


def _update_chunks(move: Movement, indices: Array | np.ndarray, updates: Array | np.ndarray) -> Chunks:
    """The chunks along the indices in which updates are routed: theirs, else those of the indices, cut like data where
    they walk along with it."""
    lead, rank = len(move.outer), len(move.positions)
    if isinstance(updates, Array):
        return move.aligned(updates.chunks[lead : lead + rank])
    if isinstance(indices, Array):
        return move.aligned(indices.chunks[:rank])
    whole = tuple((n,) for n in move.positions)
    aligned = move.aligned(whole)
    return aligned if move.is_direct(aligned, scatter=True) else whole
