"""Find the rows of chunks that indices name: immediately for indices in memory, by tasks for lazy indices."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from dask._task_spec import TaskRef
from dask.array import Array
from dask.base import compute_as_if_collection
from dask.highlevelgraph import HighLevelGraph

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.dask.chunks import LazyMovement, blocks_of, part_of, start_of
from gatherscatter.dask.tasks import UnfusedTask
from gatherscatter.functions.chunked import Block, Chunks, group_by_block

# The named rows of a chunk, and the positions of the indices that name them. None: these are all of the indices.
Part = tuple[np.ndarray, np.ndarray | None]

RowsByBlock = dict[int, Part]  # by the flat number of the chunk


def route(move: LazyMovement, indices: np.ndarray, start: Block, chunk: Block) -> RowsByBlock:
    """Sort a chunk of indices by the chunk of data in which they name an element. The sort is stable.

    ``start`` is the start of these indices in the whole array, ``chunk`` the numbers of their chunk.
    """
    indices = convert.as_indices(move.operation.op, "indices", indices)  # a chunk can differ from the type of its array
    found = _sort_rows(move, indices, start)
    if found is None:
        move.raise_index_error(indices, start, chunk)
    return found


def _sort_rows(move: LazyMovement, indices: np.ndarray, start: Block) -> RowsByBlock | None:
    """Do the same as `route`, but return None if an index is out of range."""
    located = move.locate(indices, start)
    if located is None:
        return None
    numbers, rows = located
    rows = rows.astype(_choose_narrowest_type(move.most_rows), copy=False)
    groups = group_by_block(numbers)
    if groups.order is None:
        return dict.fromkeys(groups.numbers.tolist(), (rows, None))
    order = groups.order.astype(_choose_narrowest_type(rows.size), copy=False)
    rows = _core.gather(rows, order)
    return {number: (rows[part], order[part]) for number, part in groups.iterate()}


def _choose_narrowest_type(count: int) -> type[np.unsignedinteger[Any]] | type[np.int64]:
    """Return the narrowest type for numbers below ``count``, because graphs with indices are sent to workers."""
    return np.uint16 if count <= 2**16 else np.uint32 if count <= 2**32 else np.int64


class Routes(Protocol):
    """The chunks of data in which each chunk of indices names elements, and the argument of a task with its rows."""

    graph: dict[Any, Any]
    sources: list[Array]

    def blocks(self, chunk: Block) -> list[int]:
        """Return the flat numbers of chunks of data, ascending."""

    def argument(self, chunk: Block, numbers: list[int]) -> Any:
        """Return the argument that a task gets as `RowsByBlock`, for these chunks of data."""


class Known:
    """Indices in memory. Only touched chunks get tasks, and each task gets its own rows."""

    def __init__(self, move: LazyMovement, indices: np.ndarray, chunks: Chunks) -> None:
        self.graph: dict[Any, Any] = {}
        self.sources: list[Array] = []
        self._routes: dict[Block, RowsByBlock] = {}
        for chunk in blocks_of(chunks):
            found = _sort_rows(move, part_of(indices, chunks, chunk), start_of(chunks, chunk))
            if found is None:
                move.raise_index_error(indices)
            self._routes[chunk] = found

    def blocks(self, chunk: Block) -> list[int]:
        return sorted(self._routes[chunk])

    def argument(self, chunk: Block, numbers: list[int]) -> RowsByBlock:
        return {number: self._routes[chunk][number] for number in numbers}


class Lazy:
    """Indices that are a Dask array. A task sorts each chunk of them.

    The tasks of all chunks of data in which it could name an element depend on that task.
    """

    def __init__(self, move: LazyMovement, indices: Array, name: str) -> None:
        chunks = indices.chunks[: len(move.positions)]
        last = (0,) * (indices.ndim - len(chunks))
        self._name = name
        self._touched: dict[Block, list[int]] = {
            chunk: move.find_reachable_blocks(chunk) for chunk in blocks_of(chunks)
        }
        self.sources: list[Array] = [indices]
        self.graph: dict[Any, Any] = {
            (name, *chunk): UnfusedTask(
                (name, *chunk), route, move, TaskRef((indices.name, *chunk, *last)), start_of(chunks, chunk), chunk
            )
            for chunk in blocks_of(chunks)
        }

    def compute_touched(self) -> None:
        """Compute which chunks are touched, and keep only these. Raise IndexError for indices out of range."""
        graph = dict(self.graph)
        name = f"touched-{self._name}"
        keys = [(name, *chunk) for chunk in self._touched]
        for key, chunk in zip(keys, self._touched, strict=True):
            graph[key] = UnfusedTask(key, sorted, TaskRef((self._name, *chunk)))
        whole = HighLevelGraph.from_collections(name, graph, dependencies=self.sources)  # type: ignore[arg-type]
        found = compute_as_if_collection(Array, whole, keys)  # type: ignore[no-untyped-call]
        self._touched = dict(zip(self._touched, found, strict=True))

    def blocks(self, chunk: Block) -> list[int]:
        return self._touched[chunk]

    def argument(self, chunk: Block, numbers: list[int]) -> TaskRef:
        return TaskRef((self._name, *chunk))
