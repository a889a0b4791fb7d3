"""Calls on data in chunks: their checks, and the chunk and row of the element that each index names.

The adapters for Dask and Zarr are built on this. Dask's chunks can differ in size. In Zarr only the last chunk of an
axis can be smaller.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from gatherscatter import _core, errors
from gatherscatter.arrays import convert
from gatherscatter.messages.sentences import format_sentence
from gatherscatter.operation import Form, Operation
from gatherscatter.system.pieces import pieces

Shape = tuple[int, ...]
Window = tuple[slice, ...]
Block = tuple[int, ...]  # the numbers of a chunk, one for each axis
Chunks = tuple[tuple[int, ...], ...]  # the sizes of chunks along each axis

STEP = 1 << 17  # positions that are located at a time
_DENSE = 1 << 16  # chunk numbers that are always counted in an array


@dataclass(frozen=True)
class Axis:
    """An indexed axis of data.

    Attributes
    ----------
    number : the number of the axis in data
    size : its size
    chunks : the sizes of its chunks. The last size repeats up to the end of the axis
    along : the dim of the indices that runs parallel to this axis, or None if index values give the positions
    """

    number: int
    size: int
    chunks: tuple[int, ...]
    along: int | None

    @cached_property
    def count(self) -> int:
        """The number of chunks."""
        rest = self.size - sum(self.chunks)
        return len(self.chunks) + (-(-rest // self.chunks[-1]) if rest else 0)

    @cached_property
    def _step(self) -> int:
        """The common size of all chunks except the last, which may be smaller; 0 if they differ."""
        first, last = self.chunks[0], self.chunks[-1]
        return first if set(self.chunks[:-1]) <= {first} and last <= first else 0

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.cumsum((0, *self.chunks[:-1]), dtype=np.int64)

    def find_chunks(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the number of the chunk of each position, and the position in the chunk."""
        if self._step:
            number = positions // self._step
            return number, positions - number * self._step
        number = np.searchsorted(self._starts, positions, side="right") - 1
        return number, positions - self._starts[number]

    def window(self, number: int) -> slice:
        """The positions of a chunk along the axis."""
        start = number * self._step if self._step else int(self._starts[number])
        return slice(start, min(start + self.chunks[min(number, len(self.chunks) - 1)], self.size))

    def sizes_of(self, number: np.ndarray) -> np.ndarray | int:
        """The sizes of the chunks with these numbers."""
        if self._step and self.size % self._step == 0:
            return self._step
        if self._step:
            return np.asarray(np.minimum(self._step, self.size - number * self._step))
        return np.asarray(np.asarray(self.chunks)[number])


@dataclass(frozen=True)
class ChunkedMovement:
    """Which axes of chunked data an operator indexes, and which dims of the indices run parallel to them.

    The axes include batch axes. For the elements functions they are all axes of data. A row of a chunk is the part
    that one index tuple names. Rows are numbered in row-major order of the indexed axes.

    Attributes
    ----------
    operation : the gather or scatter. Its axis and batch_dims count from the front
    shape, chunks : the shape and chunks of data
    axes : the indexed axes
    positions : the shape of the indices, without the dim of index tuples
    """

    operation: Operation
    shape: Shape
    chunks: Chunks
    axes: tuple[Axis, ...]
    positions: Shape

    @classmethod
    def of(cls, operation: Operation, shape: Shape, chunks: Chunks, indices: Shape) -> Self:
        """Make the movement of a valid call. Axis and batch_dims are not negative."""
        form, axis, batch_dims = operation.kernel.form, operation.axis, operation.batch_dims
        batch: list[tuple[int, int | None]] = [(d, d) for d in range(batch_dims)]
        positions = indices
        if form == Form.LANES:
            walks = [(d, None if d == axis else d) for d in range(len(shape))]
        elif form == Form.TUPLES:
            walks = [*batch, *((batch_dims + j, None) for j in range(indices[-1]))]
            positions = indices[:-1]
        else:
            walks = [*batch, (axis, None)]
        axes = tuple(Axis(d, shape[d], chunks[d], along) for d, along in walks)
        return cls(operation, shape, chunks, axes, positions)

    @classmethod
    def check_call(
        cls,
        operation: Operation,
        dtype: np.dtype[Any],
        shape: Shape,
        chunks: Chunks,
        indices: Any,
        updates: Shape | None,
    ) -> Self:
        """Raise the errors of a call in memory about types, shapes and attributes; else return the movement.

        The values of indices are not checked.

        Parameters
        ----------
        dtype, shape, chunks : those of data
        indices : an array in memory, or any array with a type and a shape
        updates : the shape of updates; None for a gather
        """
        convert.check_call(
            operation,
            convert.make_placeholder(dtype, shape),
            indices if isinstance(indices, np.ndarray) else convert.make_placeholder(indices.dtype, indices.shape),
            None if updates is None else convert.make_placeholder(dtype, updates),
        )
        axis, batch_dims = operation.axis % max(len(shape), 1), operation.batch_dims
        batch_dims += len(indices.shape) if batch_dims < 0 else 0
        return cls.of(operation._replace(axis=axis, batch_dims=batch_dims), shape, chunks, indices.shape)

    @property
    def count(self) -> int:
        """The number of index tuples."""
        return math.prod(self.positions)

    @property
    def named(self) -> tuple[Axis, ...]:
        """The axes on which index values give the positions."""
        return tuple(axis for axis in self.axes if axis.along is None)

    @property
    def grid(self) -> Shape:
        """The number of chunks along each indexed axis."""
        return tuple(axis.count for axis in self.axes)

    @property
    def slots_axes(self) -> Shape:
        """The axes of the positions in the slots (a gather's output, a scatter's updates)."""
        rank = len(self.positions)
        if self.operation.kernel.form != Form.ROWS:
            return tuple(range(rank))
        axis, batch_dims = self.operation.axis, self.operation.batch_dims
        return (*range(batch_dims), *range(axis, axis + rank - batch_dims))

    def locate(self, indices: np.ndarray, start: Block) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the flat number of each index tuple's chunk, and the row in the chunk.

        ``start`` is the position of ``indices`` in the array of all indices. Tuples that are skipped get the number -1.
        The result is None if one is out of range and must raise an error.
        """
        shape = indices.shape[: len(self.positions)]
        tuples = indices.reshape(math.prod(shape), len(self.named))
        bad: np.ndarray | None = None
        number: np.ndarray | None = None
        row: np.ndarray | None = None
        column = 0
        for axis in self.axes:
            if axis.along is None:
                found = self._resolve(tuples, column, axis)
                if found is None:
                    return None
                if self.operation.skips and (found < 0).any():
                    bad = found < 0 if bad is None else bad | (found < 0)
                positions, column = found.reshape(shape), column + 1
            else:
                line = start[axis.along] + np.arange(shape[axis.along])
                positions = line.reshape([-1 if d == axis.along else 1 for d in range(len(shape))])
            if axis.count == 1:
                row = positions if row is None else row * axis.size + positions
                continue
            own, local = axis.find_chunks(positions)
            number = own if number is None else number * axis.count + own
            row = local if row is None else row * axis.sizes_of(own) + local
        numbers, rows = _flatten(number, shape), _flatten(row, shape)
        return numbers if bad is None else np.where(bad, -1, numbers), rows

    def _resolve(self, tuples: np.ndarray, column: int, axis: Axis) -> np.ndarray | None:
        return _core.resolve_indices(tuples[:, column : column + 1], (axis.size,), *self.operation.rule)

    def check(self, indices: np.ndarray) -> None:
        """Raise `OpIndexError` for indices that the operation refuses."""
        if self.operation.skips and not self.operation.refuses:
            return
        for window in iterate_windows(self.positions if self.named else (0,)):
            tuples = indices[window].reshape(-1, len(self.named))
            if any(self._resolve(tuples, column, axis) is None for column, axis in enumerate(self.named)):
                self.raise_index_error(indices)

    def raise_index_error(
        self, indices: np.ndarray, start: Block | None = None, chunk: Block | None = None
    ) -> NoReturn:
        """Raise the error of a call in memory. For one chunk of the indices, positions are those in the whole array.

        ``start`` is the position where that chunk begins in the whole array, and ``chunk`` its numbers.
        """
        operation = self.operation
        if start is None or chunk is None:
            errors.index_fault(operation, self.shape, indices)
        tuples = indices.reshape(-1, len(self.named))
        column = next((n for n, axis in enumerate(self.named) if self._resolve(tuples, n, axis) is None), None)
        if column is None:
            raise errors.make_error("changed_indices", operation.op)
        axis = self.named[column]
        allowed = -axis.size if operation.negative == "end" else 0, axis.size - 1
        values = tuples[:, column]
        subject = "table_rows" if operation.bags and operation.bags.embedding_rules else "axis"
        found = np.flatnonzero(_find_refused(operation, values, axis.size))
        errors.raise_index_error(
            operation.op,
            "indices",
            indices,
            found * len(self.named) + column,
            subject=format_sentence("parts", subject, axis=axis.number, size=axis.size),
            axis=axis.number,
            allowed=allowed,
            start=start,
            chunk=chunk,
        )


def _flatten(values: np.ndarray | None, shape: Shape) -> np.ndarray:
    return np.ascontiguousarray(np.broadcast_to(np.int64(0) if values is None else values, shape)).reshape(-1)


def iterate_windows(shape: Shape, most: int = STEP) -> Iterator[Window]:
    """Yield the windows of a box in row-major order, with at most ``most`` positions each."""
    if 0 in shape:
        return
    whole, inner = len(shape), 1  # dims from here on are whole in each window, and have this many positions
    while whole and inner * shape[whole - 1] <= most:
        whole -= 1
        inner *= shape[whole]
    behind = tuple(slice(0, n) for n in shape[whole:])
    if not whole:
        yield behind
        return
    length = shape[whole - 1]
    count = -(-length // (most // inner))
    for before in itertools.product(*map(range, shape[: whole - 1])):
        for part in pieces(length, -(-length // count)):
            yield (*(slice(n, n + 1) for n in before), part, *behind)


class BlockGroups(NamedTuple):
    """Index tuples, grouped by the chunk of the element that they name."""

    numbers: np.ndarray  # of the touched chunks, ascending
    starts: np.ndarray  # the start of each chunk's tuples in the order, and the end of the last one
    order: np.ndarray | None  # the tuples chunk by chunk, without reordering those of one chunk; None: already so

    def iterate(self) -> Iterator[tuple[int, slice]]:
        """Yield each chunk with the slice of its tuples in the order."""
        bounds = itertools.pairwise(self.starts.tolist())
        return ((number, slice(*pair)) for number, pair in zip(self.numbers.tolist(), bounds, strict=True))


def group_by_block(numbers: np.ndarray) -> BlockGroups:
    """Group index tuples by the numbers of their chunks. The number -1 means no chunk."""
    if numbers.size == 0:
        return BlockGroups(numbers, np.zeros(1, np.int64), None)
    low, high = int(numbers.min()), int(numbers.max())
    if low == high:
        touched = numbers[: 1 if low >= 0 else 0]
        return BlockGroups(touched, np.array([0, numbers.size][: len(touched) + 1]), None)
    if high - low < max(numbers.size, _DENSE):
        names, dense = None, numbers if low == 0 else numbers - low
    else:
        names, dense = np.unique(numbers, return_inverse=True)
    starts, order = _core.group(dense, high - low + 1 if names is None else len(names))
    touched = np.flatnonzero(np.diff(starts))
    starts = np.append(starts[touched], numbers.size)
    touched = touched + low if names is None else names
    return BlockGroups(touched[low < 0 :], starts[low < 0 :], order)


class BlockPart(NamedTuple):
    """The tuples that fall into one block, on the axes that they index."""

    block: Shape  # its numbers along those axes
    positions: tuple[np.ndarray, ...]  # in the box, in row-major order, which is the order of the call
    rows: np.ndarray  # that they name in the block


@dataclass(frozen=True)
class Route:
    """The number of tuples for each block, made by `count_tuples`.

    Attributes
    ----------
    move, indices, start : the movement, a box of all indices, and the position where the box begins
    numbers, counts : the touched blocks, by their numbers in row-major order, and the number of tuples for each
    """

    move: ChunkedMovement
    indices: np.ndarray
    start: Block
    numbers: np.ndarray
    counts: np.ndarray

    @property
    def box(self) -> Shape:
        """The shape of the positions, or (1,) for a single tuple."""
        return self.indices.shape[: len(self.move.positions)] or (1,)

    @property
    def volume(self) -> int:
        """The number of rows of the touched blocks."""
        sizes = np.ones(len(self.numbers), np.int64)
        blocks = np.unravel_index(self.numbers, self.move.grid) if self.move.axes else ()
        for axis, numbers in zip(self.move.axes, blocks, strict=True):
            sizes *= axis.sizes_of(numbers)
        return int(sizes.sum())

    def parts(self, budget: int) -> Iterator[BlockPart]:
        """Yield the parts in the order of the blocks. At most ``budget`` tuples are in memory at a time."""
        ends = np.cumsum(self.counts)
        first = 0
        while first < len(ends):
            before = ends[first] - self.counts[first]
            last = max(int(np.searchsorted(ends, before + budget, "right")), first + 1)
            low, high = int(self.numbers[first]), int(self.numbers[last - 1])
            yield from self._make_block_parts(low, high, int(ends[last - 1] - before))
            first = last

    def _make_block_parts(self, low: int, high: int, count: int) -> Iterator[BlockPart]:
        positions, numbers, rows = (np.empty(count, np.int64) for _ in range(3))
        end = 0
        for begin, own_numbers, own_rows in _locate(self.move, self.indices, self.start):
            chosen = np.flatnonzero((own_numbers >= low) & (own_numbers <= high))
            part = slice(end, end + len(chosen))
            positions[part], numbers[part], rows[part] = chosen + begin, own_numbers[chosen], own_rows[chosen]
            end = part.stop
        groups = group_by_block(numbers[:end])
        for number, part in groups.iterate():
            where = part if groups.order is None else groups.order[part]
            block = tuple(int(b) for b in np.unravel_index(number, self.move.grid)) if self.move.axes else ()
            yield BlockPart(block, np.unravel_index(positions[where], self.box), rows[where])


def count_tuples(move: ChunkedMovement, indices: np.ndarray, start: Block) -> Route:
    """Count the tuples of each block."""
    numbers, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    for _, found, _ in _locate(move, indices, start):
        groups = group_by_block(found)
        merged, where = np.unique(np.concatenate([numbers, groups.numbers]), return_inverse=True)
        sums = np.zeros(len(merged), np.int64)
        np.add.at(sums, where, np.concatenate([counts, np.diff(groups.starts)]))
        numbers, counts = merged, sums
    return Route(move, indices, start, numbers, counts)


def _find_refused(operation: Operation, values: np.ndarray, size: int) -> np.ndarray:
    """Return which indices into an axis of this size the operation refuses."""
    below = (values < 0) & (operation.negative != "end")
    refused = np.full(values.shape, size == 0 and operation.mode in ("wrap", "clip"))
    if operation.mode == "raise":
        refused = (values < -size) | (values >= size)
    return (refused & ~below) | (below & (operation.negative == "error"))


def _locate(move: ChunkedMovement, indices: np.ndarray, start: Block) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield some tuples at a time, in row-major order: the flat position of the first one, their blocks and rows."""
    begin = 0
    for window in iterate_windows(indices.shape[: len(move.positions)]):
        part = indices[window]
        located = move.locate(part, tuple(first + s.start for first, s in zip(start, window, strict=True)))
        if located is None:
            move.raise_index_error(indices)
        yield begin, *located
        begin += len(located[0])
