"""The chunks of Dask arrays in a call, and which chunks of data, indices and updates meet.

The indexed axes are next to each other. So the axes of data are ``outer + axes + inner``, and those of a gather's
output and a scatter's updates are ``outer + positions + inner``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gatherscatter.functions.chunked import Block, ChunkedMovement, Chunks


class LazyMovement(ChunkedMovement):
    """The movement of an operator between the chunks of Dask arrays."""

    @property
    def outer(self) -> Chunks:
        """The chunks of data before the indexed axes."""
        return self.chunks[: self.axes[0].number] if self.axes else ()

    @property
    def inner(self) -> Chunks:
        """The chunks of data after the indexed axes."""
        return self.chunks[self.axes[-1].number + 1 :] if self.axes else self.chunks

    def slots_chunks(self, positions: Chunks) -> Chunks:
        """Return the chunks of a gather's output or a scatter's updates, from those along the indices."""
        return (*self.outer, *positions, *self.inner)

    @cached_property
    def most_rows(self) -> int:
        """The largest number of rows in a chunk."""
        return math.prod(max(axis.chunks) for axis in self.axes)

    def iterate_outer_blocks(self) -> Iterator[tuple[Block, Block]]:
        """Iterate over the chunks off the indexed axes: their numbers before and after these."""
        return itertools.product(blocks_of(self.outer), blocks_of(self.inner))

    def align_chunks(self, chunks: Chunks) -> Chunks:
        """Return chunks of positions that are aligned with data along parallel axes."""
        along = {axis.along: axis.chunks for axis in self.axes}
        lengths = enumerate(self.positions)
        return tuple(cut_chunks(along[d], n) if d in along else chunks[d] for d, n in lengths)

    def find_reachable_blocks(self, chunk: Block) -> list[int]:
        """Return the flat numbers of the chunks in which a chunk of aligned indices can name an element."""
        numbers = [range(len(axis.chunks)) if axis.along is None else (chunk[axis.along],) for axis in self.axes]
        return [ravel(block, self.grid) for block in itertools.product(*numbers)]

    @property
    def free(self) -> list[int]:
        """The dims of positions that are not parallel to an axis of data."""
        along = {axis.along for axis in self.axes}
        return [d for d in range(len(self.positions)) if d not in along]

    def is_direct(self, chunks: Chunks, scatter: bool) -> bool:
        """Whether each chunk of the result needs only one chunk of data and one of indices.

        Then each task is a call in memory.
        """
        named = [len(axis.chunks) == 1 for axis in self.axes if axis.along is None]
        met = [len(chunks[d]) == 1 for d in self.free]
        return all(named) and (all(met) or not scatter) and chunks == self.align_chunks(chunks)

    def in_order(self, chunks: Chunks) -> bool:
        """Whether the order of chunks is row-major order, for indices that can name the same element."""
        free = [chunks[d] for d in self.free]
        while free and max(free[0]) <= 1:
            free = free[1:]
        return all(len(sizes) == 1 for sizes in free[1:])


def blocks_of(chunks: Chunks) -> Iterator[Block]:
    """Iterate over the numbers of all chunks, in row-major order."""
    return itertools.product(*(range(len(sizes)) for sizes in chunks))


def ravel(block: Block, grid: tuple[int, ...]) -> int:
    """Return the flat number of a chunk."""
    number = 0
    for position, length in zip(block, grid, strict=True):
        number = number * length + position
    return number


def shape_of(chunks: Chunks, block: Block) -> tuple[int, ...]:
    return tuple(sizes[number] for sizes, number in zip(chunks, block, strict=True))


def start_of(chunks: Chunks, block: Block) -> tuple[int, ...]:
    return tuple(sum(sizes[:number]) for sizes, number in zip(chunks, block, strict=True))


def part_of(array: np.ndarray, chunks: Chunks, block: Block) -> np.ndarray:
    """Return a chunk of an array in memory, which can have more axes than the chunks."""
    ends = zip(start_of(chunks, block), shape_of(chunks, block), strict=True)
    slices: Any = [slice(start, start + length) for start, length in ends]
    return array[*slices, ...]


def cut_chunks(chunks: Sequence[int], length: int) -> tuple[int, ...]:
    """Return the first chunks, cut so that together they hold ``length`` elements."""
    ends = np.minimum(np.cumsum(chunks), length)
    sizes = np.diff(ends, prepend=0).tolist()
    needed = int(np.searchsorted(ends, length)) + 1
    return tuple(sizes[:needed])
