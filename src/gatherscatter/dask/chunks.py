"""The chunks of Dask arrays in a call: which chunks of data, indices and updates meet.

The indexed axes lie side by side. Data is then ``outer + axes + inner``, a gather's output and a scatter's updates are
``outer + positions + inner``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gatherscatter.chunked import Block, ChunkedMovement, Chunks


class LazyMovement(ChunkedMovement):
    """What an operator does with the chunks of a Dask array."""

    @property
    def outer(self) -> Chunks:
        """The chunks of data before the indexed axes."""
        return self.chunks[: self.axes[0].number] if self.axes else ()

    @property
    def inner(self) -> Chunks:
        """The chunks of data behind the indexed axes."""
        return self.chunks[self.axes[-1].number + 1 :] if self.axes else self.chunks

    def slots_chunks(self, positions: Chunks) -> Chunks:
        """The chunks of a gather's output and of a scatter's updates, for those along the indices."""
        return (*self.outer, *positions, *self.inner)

    @cached_property
    def most_rows(self) -> int:
        """In any one chunk."""
        return math.prod(max(axis.chunks) for axis in self.axes)

    def iterate_outer_blocks(self) -> Iterator[tuple[Block, Block]]:
        """The chunks off the axes: their numbers before and behind these."""
        return itertools.product(blocks_of(self.outer), blocks_of(self.inner))

    def align_chunks(self, chunks: Chunks) -> Chunks:
        """Chunks of positions, cut like data where they walk along with it."""
        along = {axis.along: axis.chunks for axis in self.axes}
        lengths = enumerate(self.positions)
        return tuple(cut_chunks(along[d], n) if d in along else chunks[d] for d, n in lengths)

    def find_reachable_blocks(self, chunk: Block) -> list[int]:
        """The flat numbers of the chunks that a chunk of aligned indices can name a place in."""
        numbers = [range(len(axis.chunks)) if axis.along is None else (chunk[axis.along],) for axis in self.axes]
        return [ravel(block, self.grid) for block in itertools.product(*numbers)]

    @property
    def free(self) -> list[int]:
        """The dims of positions that do not walk along with data."""
        along = {axis.along for axis in self.axes}
        return [d for d in range(len(self.positions)) if d not in along]

    def is_direct(self, chunks: Chunks, scatter: bool) -> bool:
        """Whether no chunk of output, and in a scatter no chunk of data, meets two of the other side: then a call in
        memory does it."""
        named = [len(axis.chunks) == 1 for axis in self.axes if axis.along is None]
        met = [len(chunks[d]) == 1 for d in self.free]
        return all(named) and (all(met) or not scatter) and chunks == self.align_chunks(chunks)

    def in_order(self, chunks: Chunks) -> bool:
        """Whether chunk after chunk is the row-major order, among the indices that can name the same place."""
        free = [chunks[d] for d in self.free]
        while free and max(free[0]) <= 1:
            free = free[1:]
        return all(len(sizes) == 1 for sizes in free[1:])


def blocks_of(chunks: Chunks) -> Iterator[Block]:
    """The numbers of all chunks, in row-major order."""
    return itertools.product(*(range(len(sizes)) for sizes in chunks))


def ravel(block: Block, grid: tuple[int, ...]) -> int:
    """The flat number of a chunk."""
    number = 0
    for place, length in zip(block, grid, strict=True):
        number = number * length + place
    return number


def shape_of(chunks: Chunks, block: Block) -> tuple[int, ...]:
    return tuple(sizes[number] for sizes, number in zip(chunks, block, strict=True))


def start_of(chunks: Chunks, block: Block) -> tuple[int, ...]:
    return tuple(sum(sizes[:number]) for sizes, number in zip(chunks, block, strict=True))


def part_of(array: np.ndarray, chunks: Chunks, block: Block) -> np.ndarray:
    """A chunk of an array in memory, which may have more axes than the chunks."""
    ends = zip(start_of(chunks, block), shape_of(chunks, block), strict=True)
    places: Any = [slice(start, start + length) for start, length in ends]
    return array[*places, ...]


def cut_chunks(chunks: Sequence[int], length: int) -> tuple[int, ...]:
    """The first chunks that hold ``length`` places together."""
    ends = np.minimum(np.cumsum(chunks), length)
    sizes = np.diff(ends, prepend=0).tolist()
    needed = int(np.searchsorted(ends, length)) + 1
    return tuple(sizes[:needed])
