"""Calls with Dask arrays. Errors that can be found without computing arrays are raised before the graph is built."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask.array import Array
from dask.array.core import normalize_chunks
from dask.base import tokenize

from gatherscatter.dask import inputs
from gatherscatter.dask.chunks import LazyMovement
from gatherscatter.dask.routes import Known, Lazy, Routes
from gatherscatter.dask.tasks import prevent_fusion
from gatherscatter.functions.chunked import Chunks
from gatherscatter.operation import Form, Kernel, Operation


@dataclass(frozen=True, eq=False)
class LazyCall:
    """A checked call.

    Attributes
    ----------
    name : the name of the graph and of its result
    move : the elements that the indices name
    axis : the axis in the given data; in `move` and `data` it can be next to the batch dims
    data, indices, updates : lazy indices and updates have the chunks ``positions``; updates are None in a gather
    positions : the chunks along the indices
    routes : the rows of chunks that indices name; None if no chunk of data meets two chunks of indices
    """

    name: str
    move: LazyMovement
    axis: int
    data: Array
    indices: Array | np.ndarray
    updates: Array | np.ndarray | None
    positions: Chunks
    routes: Routes | None

    @property
    def slots(self) -> Chunks:
        """The chunks of a gather's output and of a scatter's updates."""
        return self.move.slots_chunks(self.positions)

    @property
    def sources(self) -> list[Array]:
        """The Dask arrays on which the graph depends."""
        indices = [self.indices] if self.routes is None else self.routes.sources
        return [each for each in (self.data, *indices, self.updates) if isinstance(each, Array)]


def check_call(operation: Operation, arrays: dict[str, Any], plan: str = "lazy", out: None = None) -> LazyCall:
    """Check everything that can be known without computing an array. Return the planned call.

    Raises
    ------
    IndexError
        For indices in memory, and with ``plan='eager'``.
    TypeError, ValueError
        The errors of the array function, and those of arguments that only calls with Dask arrays have.
    """
    op, is_scatter = operation.op, operation.kernel.is_scatter
    inputs.check_plan(op, plan, out)
    if not is_scatter:
        inputs.check_fill(operation, arrays["data"])
    data, indices = inputs.as_dask(op, "data", arrays["data"]), inputs.as_indices(operation, arrays["indices"])
    updates = inputs.as_updates(op, arrays["updates"], data) if is_scatter else None
    shape = None if updates is None else updates.shape
    move = LazyMovement.check_call(operation, data.dtype, data.shape, data.chunks, indices, shape)
    operation = move.operation._replace(num_threads=1)  # in each task
    axis, batch_dims = operation.axis, operation.batch_dims
    if operation.kernel == Kernel.GATHER and 0 < batch_dims < axis:
        # Move the axes in between behind the indexed one.
        data = prevent_fusion(da.moveaxis(data, axis, batch_dims), data)
    return plan_call(operation, data, indices, updates, plan)


def plan_call(
    operation: Operation,
    data: Array,
    indices: Array | np.ndarray,
    updates: Array | np.ndarray | None,
    plan: str,
    positions: Chunks | None = None,
) -> LazyCall:
    """Plan a call whose types, shapes and attributes were checked.

    With batch dims and a single axis, the axis of data is next to the batch dims. ``positions`` are the chunks of a
    gather's output along the indices, if given.
    """
    op, axis, batch_dims = operation.op, operation.axis, operation.batch_dims
    if updates is not None:
        dtype = inputs.result_type(op, data.dtype, updates.dtype, operation.reduction)
        data = prevent_fusion(data.astype(dtype), data)  # type: ignore[no-untyped-call]
    if batch_dims and operation.kernel.form != Form.TUPLES:
        operation = operation._replace(axis=batch_dims)
    move = LazyMovement.of(operation, data.shape, data.chunks, indices.shape)
    if updates is None:
        positions = positions or _output_chunks(move, data, indices)
    else:
        positions = _update_chunks(move, indices, updates)
        slots = move.slots_chunks(positions)
        if isinstance(updates, Array):
            updates = rechunk(updates, slots)
        elif isinstance(indices, Array):
            updates = da.from_array(updates, chunks=slots)  # type: ignore[no-untyped-call]
    if isinstance(indices, Array):
        indices = rechunk(indices, (*positions, *((n,) for n in indices.shape[len(positions) :])))
    # Dask's configuration determines the steps of a rechunking. So the name depends on the arrays after it.
    name = f"{op}-{tokenize(operation, data, indices, updates, positions, axis, plan)}"
    routes = _find_routes(move, indices, positions, plan, name)
    return LazyCall(name, move, axis, data, indices, updates, positions, routes)


def _find_routes(
    move: LazyMovement, indices: Array | np.ndarray, positions: Chunks, plan: str, name: str
) -> Routes | None:
    eager = plan == "eager" and isinstance(indices, Array)
    if move.is_direct(positions, scatter=move.operation.kernel.is_scatter) and not eager:
        if isinstance(indices, np.ndarray):
            move.check(indices)
        return None
    if isinstance(indices, np.ndarray):
        return Known(move, indices, positions)
    lazy = Lazy(move, indices, f"route-{name}")
    if eager:
        lazy.compute_touched()
    return lazy


def rechunk(array: Array, chunks: Chunks) -> Array:
    """Rechunk an array. An empty one is created anew: Dask keeps its old chunks, or loses their type.

    With the method 'p2p', the tasks of a chunk would depend on which other chunks the graph needs.
    """
    if array.chunks == chunks:
        return array
    if array.size == 0:
        return da.zeros(array.shape, dtype=array.dtype, chunks=chunks)  # type: ignore[no-any-return]
    return prevent_fusion(array.rechunk(chunks, method="tasks"), array)  # type: ignore[no-untyped-call]


def _output_chunks(move: LazyMovement, data: Array, indices: Array | np.ndarray) -> Chunks:
    """Return the chunks of a gather's output along the indices: those of lazy indices, or Dask's default size."""
    if isinstance(indices, Array):
        return move.align_chunks(indices.chunks[: len(move.positions)])
    whole = move.align_chunks(tuple((n,) for n in move.positions))
    slots = move.slots_chunks(whole)
    free = [len(move.outer) + d for d in move.free]
    if not free or data.dtype.hasobject or math.prod(map(sum, slots)) == 0:
        return whole
    wanted = ["auto" if d in free else sizes for d, sizes in enumerate(slots)]
    chunks = normalize_chunks(wanted, tuple(map(sum, slots)), dtype=data.dtype)  # type: ignore[no-untyped-call]
    return tuple(chunks[len(move.outer) : len(move.outer) + len(whole)])


def _update_chunks(move: LazyMovement, indices: Array | np.ndarray, updates: Array | np.ndarray) -> Chunks:
    """Return the chunks along the indices in which updates are routed.

    They are the chunks of lazy updates, or else of lazy indices, aligned with data along parallel axes.
    """
    lead, rank = len(move.outer), len(move.positions)
    if isinstance(updates, Array):
        return move.align_chunks(updates.chunks[lead : lead + rank])
    if isinstance(indices, Array):
        return move.align_chunks(indices.chunks[:rank])
    whole = tuple((n,) for n in move.positions)
    aligned = move.align_chunks(whole)
    return aligned if move.is_direct(aligned, scatter=True) else whole
