"""The two ways in which a graph knows its indices: as values, or as tasks that will find them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from dask._task_spec import Task, TaskRef
from dask.array import Array
from dask.base import compute
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from gatherscatter.dask.chunks import Block, Chunks, Movement, blocks_of, part_of, start_of
from gatherscatter.dask.route import Route, route


class Routes(Protocol):
    """For every chunk of indices, the chunks of data it names places in, and what says so to a task."""

    graph: dict[Any, Any]
    sources: list[Array]

    def blocks(self, chunk: Block) -> list[int]:
        """Flat numbers of chunks of data, ascending."""

    def argument(self, chunk: Block, numbers: list[int]) -> Any:
        """What a task gets as its `Route`, for these chunks of data."""


class Known:
    """Indices in memory: only what is touched gets tasks, and each task gets its own rows."""

    def __init__(self, move: Movement, indices: np.ndarray, chunks: Chunks) -> None:
        self.graph: dict[Any, Any] = {}
        self.sources: list[Array] = []
        self._routes = {
            chunk: route(move, part_of(indices, chunks, chunk), start_of(chunks, chunk), chunk)
            for chunk in blocks_of(chunks)
        }

    def blocks(self, chunk: Block) -> list[int]:
        return sorted(self._routes[chunk])

    def argument(self, chunk: Block, numbers: list[int]) -> Route:
        return {number: self._routes[chunk][number] for number in numbers}


class Lazy:
    """Indices of Dask: a task for each of their chunks sorts them, and tasks of all chunks of data that it may name a
    place in ask that one."""

    def __init__(self, move: Movement, indices: Array, name: str) -> None:
        chunks = indices.chunks[: len(move.positions)]
        last = (0,) * (indices.ndim - len(chunks))
        self._name = name
        self._touched: dict[Block, list[int]] = {chunk: move.blocks_met(chunk) for chunk in blocks_of(chunks)}
        self.sources: list[Array] = [indices]
        self.graph: dict[Any, Any] = {
            (name, *chunk): Task(
                (name, *chunk), route, move, TaskRef((indices.name, *chunk, *last)), start_of(chunks, chunk), chunk
            )
            for chunk in blocks_of(chunks)
        }

    def look(self) -> None:
        """Compute which chunks are touched, and forget the others; indices that are out of range raise."""
        graph = dict(self.graph)
        name = f"touched-{self._name}"
        for chunk in self._touched:
            graph[(name, *chunk)] = Task((name, *chunk), sorted, TaskRef((self._name, *chunk)))
        whole = HighLevelGraph.from_collections(name, graph, dependencies=self.sources)  # type: ignore[arg-type]
        wanted = [Delayed((name, *chunk), whole, layer=name) for chunk in self._touched]  # type: ignore[no-untyped-call]
        found = compute(*wanted)  # type: ignore[no-untyped-call]
        self._touched = dict(zip(self._touched, found, strict=True))

    def blocks(self, chunk: Block) -> list[int]:
        return self._touched[chunk]

    def argument(self, chunk: Block, numbers: list[int]) -> TaskRef:
        return TaskRef((self._name, *chunk))
