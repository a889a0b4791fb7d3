"""Build the graphs of gathers and scatters."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from dask._task_spec import List, TaskRef
from dask.array import Array

from gatherscatter.dask import apply
from gatherscatter.dask.call import LazyCall, check_call
from gatherscatter.dask.chunks import LazyMovement, blocks_of, part_of, ravel, shape_of, start_of
from gatherscatter.dask.exchange import add_exchange_tasks
from gatherscatter.dask.routes import Routes
from gatherscatter.dask.tasks import UnfusedTask, make_array, pass_on, prevent_fusion
from gatherscatter.errors import check_effects
from gatherscatter.functions.chunked import Block, Chunks
from gatherscatter.operation import Operation

Tail = tuple[Block, Block]  # a chunk off the indexed axes: its numbers before and after these


def run(operation: Operation, arrays: dict[str, Any], plan: str = "lazy", out: None = None) -> Array:
    """Return the result of a gather or scatter, lazily."""
    check_effects(operation.op, operation.reduction, operation.include_self, operation.accumulate)
    return build(check_call(operation, arrays, plan, out))


def build(call: LazyCall) -> Array:
    """Return the result of a checked call, as a Dask array."""
    if call.routes is None:
        made = _call_per_chunk(call)
    elif call.updates is not None:
        made = _scatter(call, call.routes, call.updates)
    else:
        made = _gather(call, call.routes)
    move = call.move
    if call.axis == move.operation.axis:
        return made
    indexed = range(move.operation.batch_dims, len(move.positions))
    axes = range(call.axis, call.axis + len(indexed))
    return prevent_fusion(da.moveaxis(made, indexed, axes), made)


def _gather(call: LazyCall, routes: Routes) -> Array:
    """Build a gather: each chunk of data sends rows to chunks of output, which are assembled from them.

    A chunk of output that is at least as large as all chunks of data that it needs is computed by one task.
    """
    made = _GatherGraph(call, routes)
    for tail in call.move.iterate_outer_blocks():
        made.add(tail)
    return _array(call, made.graph, call.slots)


class _GatherGraph:
    """Builds the graph of a gather. Chunks of output are numbered in order."""

    def __init__(self, call: LazyCall, routes: Routes) -> None:
        self.graph = dict(routes.graph)
        self._slots, self._move, self._data, self._routes, self._name = (
            call.slots, call.move, call.data, routes, call.name
        )  # fmt: skip
        self._grid = _grid(call.move)
        self._outputs = list(blocks_of(call.positions))
        self._needs = [routes.blocks(chunk) for chunk in self._outputs]
        self._sizes = [math.prod(shape_of(call.positions, chunk)) for chunk in self._outputs]
        self._at_once = [self._is_made_at_once(*each) for each in zip(self._needs, self._sizes, strict=True)]
        self._meetings: dict[int, list[int]] = defaultdict(list)
        for n, numbers in enumerate(self._needs):
            for number in () if self._at_once[n] else numbers:
                self._meetings[number].append(n)

    def _is_made_at_once(self, numbers: list[int], size: int) -> bool:
        rows = (math.prod(shape_of(_list_indexed_chunks(self._move), self._grid[number])) for number in numbers)
        return len(numbers) == 1 or sum(rows) <= size

    def add(self, tail: Tail) -> None:
        """Add the tasks for all chunks of output at one position off the axes."""
        before, behind = tail
        width = math.prod(shape_of((*self._move.outer, *self._move.inner), (*before, *behind)))
        rows = sum(size for size, at_once in zip(self._sizes, self._at_once, strict=True) if not at_once)
        volume = rows * width * self._data.dtype.itemsize
        sent = add_exchange_tasks(
            self.graph, self._name, (*before, *behind), self._meetings, volume, partial(self._take, tail)
        )
        for n, chunk in enumerate(self._outputs):
            key: Any = (self._name, *before, *chunk, *behind)
            facts = self._move, shape_of(self._slots, key[1:]), self._data.dtype
            if self._at_once[n]:
                routes = List(*(self._routes.argument(chunk, [number]) for number in self._needs[n]))
                blocks = (self._block(tail, number) for number in self._needs[n])
                self.graph[key] = UnfusedTask(key, apply.gather_at_once, *facts, routes, self._needs[n], *blocks)
            else:
                self.graph[key] = UnfusedTask(key, apply.assemble, *facts, n, *sent.get(n, ()))

    def _take(self, tail: Tail, number: int, outputs: list[int]) -> tuple[Any, ...]:
        routes = List(*(self._routes.argument(self._outputs[n], [number]) for n in outputs))
        return apply.take, self._move, self._block(tail, number), number, outputs, routes

    def _block(self, tail: Tail, number: int) -> TaskRef:
        before, behind = tail
        return TaskRef((self._data.name, *before, *self._grid[number], *behind))


def _scatter(call: LazyCall, routes: Routes, updates: Array | np.ndarray) -> Array:
    """Build a scatter: chunks of updates send their parts to chunks of data. Untouched chunks are passed on."""
    made = _ScatterGraph(call, routes, updates)
    for before, behind in call.move.iterate_outer_blocks():
        sent = made.send_updates((before, behind))
        for number, block in _grid(call.move).items():
            key: Any = (call.name, *before, *block, *behind)
            source: Any = (call.data.name, *key[1:])
            if number in sent:
                facts = call.move, number, TaskRef(source)
                made.graph[key] = UnfusedTask(key, apply.scatter, *facts, *sent[number])
            else:
                made.graph[key] = UnfusedTask(key, pass_on, TaskRef(source))
    return _array(call, made.graph, call.data.chunks)


class _ScatterGraph:
    """Builds the part of a scatter's graph that sends updates."""

    def __init__(self, call: LazyCall, routes: Routes, updates: Array | np.ndarray) -> None:
        self.graph = dict(routes.graph)
        self._slots, self._move, self._positions, self._name = call.slots, call.move, call.positions, call.name
        self._routes, self._updates = routes, updates
        self._meetings = {chunk: routes.blocks(chunk) for chunk in blocks_of(call.positions)}
        self._ordered = call.move.in_order(call.positions)

    def send_updates(self, tail: Tail) -> dict[int, list[Any]]:
        """Return the updates for each chunk of data, by its number, at one position off the axes."""
        before, behind = tail
        if isinstance(self._updates, Array):
            volume = int(self._updates.nbytes) // math.prod(map(len, (*self._move.outer, *self._move.inner)))
            key = (*before, *behind)
            return add_exchange_tasks(self.graph, self._name, key, self._meetings, volume, partial(self._pick, tail))
        parcels: dict[int, list[Any]] = defaultdict(list)
        for chunk, numbers in self._meetings.items():
            for number in numbers:
                function, *arguments = self._pick(tail, chunk, [number])
                sent = function(*arguments)
                parcels[number].append({number: [tuple(map(copy_if_view, piece)) for piece in sent[number]]})
        return parcels

    def _pick(self, tail: Tail, chunk: Block, numbers: list[int]) -> tuple[Any, ...]:
        before, behind = tail
        updates = reference_block(self._updates, self._slots, (*before, *chunk, *behind))
        start = None if self._ordered else start_of(self._positions, chunk)
        return (
            apply.select_updates,
            self._move,
            self._updates.dtype,
            updates,
            self._routes.argument(chunk, numbers),
            start,
            numbers,
        )


def _call_per_chunk(call: LazyCall) -> Array:
    """Build one task for each chunk of the result, a call in memory. No chunk of data meets two chunks of indices."""
    graph: dict[Any, Any] = {}
    name, move, data, updates, positions = call.name, call.move, call.data, call.updates, call.positions
    chunks = call.slots
    for chunk in blocks_of(positions):
        block = tuple(0 if axis.along is None else chunk[axis.along] for axis in move.axes)
        index = copy_if_view(reference_block(call.indices, positions, chunk))
        for before, behind in move.iterate_outer_blocks():
            number = (*before, *chunk, *behind)
            key = (name, *(number if updates is None else (*before, *block, *behind)))
            values = [] if updates is None else [copy_if_view(reference_block(updates, chunks, number))]
            source = TaskRef((data.name, *before, *block, *behind))
            start = start_of(positions, chunk)
            graph[key] = UnfusedTask(key, apply.call_on_chunk, move, start, chunk, source, index, *values)
    if updates is not None:  # indices can be shorter than data
        rest = (block for block in blocks_of(data.chunks) if (name, *block) not in graph)
        for block in rest:
            key = (name, *block)
            graph[key] = UnfusedTask(key, pass_on, TaskRef((data.name, *block)))
        chunks = data.chunks
    return _array(call, graph, chunks)


def reference_block(array: Array | np.ndarray, chunks: Chunks, block: Block) -> TaskRef | np.ndarray:
    """Return a reference to a chunk, or the chunk itself of an array in memory. The axis of index tuples is not cut."""
    if isinstance(array, np.ndarray):
        return part_of(array, chunks, block)
    return TaskRef((array.name, *block, *[0] * (array.ndim - len(block))))


def copy_if_view(value: Any) -> Any:
    """Copy a view of the caller's memory, because the caller can change it later."""
    return value.copy() if isinstance(value, np.ndarray) and not value.flags.owndata else value


def _array(call: LazyCall, graph: dict[Any, Any], chunks: Chunks) -> Array:
    return make_array(call.name, graph, chunks, call.data, call.sources)


def _grid(move: LazyMovement) -> dict[int, Block]:
    """Return the numbers along the indexed axes of each chunk of data, by its flat number."""
    return {ravel(block, move.grid): block for block in blocks_of(_list_indexed_chunks(move))}


def _list_indexed_chunks(move: LazyMovement) -> Chunks:
    return tuple(axis.chunks for axis in move.axes)
