"""The graphs of gathers and scatters."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
from dask._task_spec import Alias, List, Task, TaskRef
from dask.array import Array
from dask.highlevelgraph import HighLevelGraph

from gatherscatter.dask import apply
from gatherscatter.dask.chunks import Block, Chunks, Movement, blocks_of, part_of, ravel, shape_of, start_of
from gatherscatter.dask.routes import Routes


def gather(move: Movement, data: Array, routes: Routes, positions: Chunks, name: str) -> Array:
    """For each chunk of output, one task per chunk of data that it takes rows from, and one that puts them together.

    Where those chunks of data are together no larger than what is made of them, one task does it all.
    """
    graph = dict(routes.graph)
    chunks = (*move.outer, *positions, *move.inner)
    grid = _grid(move)
    rows = {number: math.prod(shape_of(_along(move), block)) for number, block in grid.items()}
    for chunk in blocks_of(positions):
        numbers = routes.blocks(chunk)
        at_once = len(numbers) == 1 or sum(rows[number] for number in numbers) <= math.prod(shape_of(positions, chunk))
        for before, behind in move.tails():
            place = (*before, *chunk, *behind)
            key: Any = (name, *place)
            shape = shape_of(chunks, place)
            sources = [TaskRef((data.name, *before, *grid[number], *behind)) for number in numbers]
            arguments = [routes.argument(chunk, number) for number in numbers]
            if at_once:
                graph[key] = Task(
                    key, apply.gather_at_once, move, shape, data.dtype, List(*arguments), numbers, *sources
                )
                continue
            keys: list[Any] = [(f"take-{name}", *place, number) for number in numbers]
            taken = zip(keys, sources, arguments, numbers, strict=True)
            graph |= {each: Task(each, apply.take, move, *args) for each, *args in taken}
            graph[key] = Task(key, apply.assemble, move, shape, data.dtype, *map(TaskRef, keys))
    return _array(graph, name, chunks, data, [data, *routes.sources])


def scatter(
    move: Movement,
    data: Array,
    routes: Routes,
    updates: Array | np.ndarray,
    positions: Chunks,
    combine: dict[str, Any],
    name: str,
) -> Array:
    """For each chunk of data that is touched, one task that applies all of its updates; the others are passed on."""
    graph = dict(routes.graph)
    grid = _grid(move)
    meeting: dict[int, list[Block]] = defaultdict(list)
    for chunk in blocks_of(positions):
        for number in routes.blocks(chunk):
            meeting[number].append(chunk)
    ordered = move.in_order(positions)
    slots = (*move.outer, *positions, *move.inner)
    for number, block in grid.items():
        for before, behind in move.tails():
            key: Any = (name, *before, *block, *behind)
            source: Any = (data.name, *key[1:])
            if number not in meeting:
                graph[key] = Alias(key, source)
                continue
            pieces: list[Any] = []
            for chunk in meeting[number]:
                place = (*before, *chunk, *behind)
                start = None if ordered else start_of(positions, chunk)
                args: Any = (move, _part(updates, slots, place), routes.argument(chunk, number), number, start)
                if isinstance(updates, np.ndarray):
                    pieces.append(apply.pick(*args))
                    continue
                each: Any = (f"pick-{name}", *place, number)
                graph[each] = Task(each, apply.pick, *args)
                pieces.append(TaskRef(each))
            graph[key] = Task(key, apply.scatter, move, combine, TaskRef(source), *pieces)
    sources = [data, *routes.sources, *([updates] if isinstance(updates, Array) else [])]
    return _array(graph, name, data.chunks, data, sources)


def direct(
    move: Movement,
    data: Array,
    indices: Array | np.ndarray,
    updates: Array | np.ndarray | None,
    positions: Chunks,
    combine: dict[str, Any],
    name: str,
) -> Array:
    """One task for each chunk of the result, which is a call in memory: no chunk of data meets two of indices."""
    graph: dict[Any, Any] = {}
    chunks = (*move.outer, *positions, *move.inner)
    for chunk in blocks_of(positions):
        block = tuple(0 if axis.along is None else chunk[axis.along] for axis in move.axes)
        index = _part(indices, positions, chunk)
        for before, behind in move.tails():
            place = (*before, *chunk, *behind)
            key = (name, *(place if updates is None else (*before, *block, *behind)))
            values = [] if updates is None else [_part(updates, chunks, place)]
            source = TaskRef((data.name, *before, *block, *behind))
            start = start_of(positions, chunk)
            graph[key] = Task(key, apply.directly, move, combine, start, chunk, source, index, *values)
    if updates is not None:  # indices may be shorter than data
        rest = (block for block in blocks_of(data.chunks) if (name, *block) not in graph)
        graph |= {(name, *block): Alias((name, *block), (data.name, *block)) for block in rest}
        chunks = data.chunks
    sources = [each for each in (data, indices, updates) if isinstance(each, Array)]
    return _array(graph, name, chunks, data, sources)


def _part(array: Array | np.ndarray, chunks: Chunks, block: Block) -> TaskRef | np.ndarray:
    """A chunk of an array; what lies in memory is sent with the task. A last axis of index tuples is not cut."""
    if isinstance(array, np.ndarray):
        return part_of(array, chunks, block)
    return TaskRef((array.name, *block, *[0] * (array.ndim - len(block))))


def _array(graph: dict[Any, Any], name: str, chunks: Chunks, like: Array, sources: list[Array]) -> Array:
    whole = HighLevelGraph.from_collections(name, graph, dependencies=sources)  # type: ignore[arg-type]
    shape = tuple(map(sum, chunks))
    return Array(whole, name, chunks, meta=like._meta, dtype=like.dtype, shape=shape)  # type: ignore[no-untyped-call]


def _grid(move: Movement) -> dict[int, Block]:
    """The numbers along the axes of each chunk of data, by its flat number."""
    return {ravel(block, move.grid): block for block in blocks_of(_along(move))}


def _along(move: Movement) -> Chunks:
    return tuple(axis.chunks for axis in move.axes)
