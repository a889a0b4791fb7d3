"""Which axes of chunked data an operator indexes, which dims of the indices walk along with them, and who meets whom.

The axes that indices name places on lie side by side; to them belong batch axes, and all axes of the elements
functions, whose places are the positions of the indices themselves. Data is then ``outer + axes + inner``, a gather's
output and a scatter's updates are ``outer + positions + inner``, and a row is what one index tuple names in a chunk.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Block = tuple[int, ...]  # the numbers of a chunk, one for each axis
Chunks = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Axis:
    """An axis of data on which indices name places."""

    number: int  # in data
    chunks: tuple[int, ...]
    along: int | None  # the dim of the indices that walks along with it; None: its places are the indices' values

    @cached_property
    def starts(self) -> np.ndarray:
        return np.cumsum((0, *self.chunks[:-1]), dtype=np.int64)

    @cached_property
    def size(self) -> int:
        return sum(self.chunks)

    @cached_property
    def _step(self) -> int:
        """The size of all chunks but the last, which may be smaller; 0 where they differ."""
        first = self.chunks[0]
        return first if set(self.chunks[:-1]) == {first} and self.chunks[-1] <= first else 0

    def locate(self, places: np.ndarray) -> tuple[np.ndarray | None, np.ndarray, np.ndarray | int]:
        """For each place the number of its chunk, where it lies in that, and how large that is; None: the only one."""
        if len(self.chunks) == 1:
            return None, places, self.size
        if self._step:
            number = places // self._step
            local = places - number * self._step
        else:
            number = np.searchsorted(self.starts, places, side="right") - 1
            local = places - self.starts[number]
        equal = len(set(self.chunks)) == 1
        return number, local, self.chunks[0] if equal else np.asarray(self.chunks)[number]


@dataclass(frozen=True)
class Rule:
    """The operator: what messages call it, the array function that does it, and what it makes of indices."""

    op: str
    kernel: str
    mode: str = "raise"
    negative: bool = True  # whether -1 is the last

    @property
    def takes_tuples(self) -> bool:
        """Whether the last axis of the indices holds index tuples."""
        return self.kernel.endswith("_nd")


@dataclass(frozen=True)
class Movement:
    """What an operator does with chunked data."""

    rule: Rule
    axis: int
    batch_dims: int
    axes: tuple[Axis, ...]
    outer: Chunks
    inner: Chunks
    positions: tuple[int, ...]  # the shape of the indices, index tuples counting as one

    @property
    def grid(self) -> tuple[int, ...]:
        """How many chunks there are along each of the axes."""
        return tuple(len(axis.chunks) for axis in self.axes)

    @cached_property
    def most_rows(self) -> int:
        """In any one chunk."""
        return math.prod(max(axis.chunks) for axis in self.axes)

    def tails(self) -> Iterator[tuple[Block, Block]]:
        """The chunks off the axes: their numbers before and behind these."""
        return itertools.product(blocks_of(self.outer), blocks_of(self.inner))

    def aligned(self, chunks: Chunks) -> Chunks:
        """Chunks of positions, cut like data where they walk along with it."""
        along = {axis.along: axis.chunks for axis in self.axes}
        lengths = enumerate(self.positions)
        return tuple(cut(along[d], n) if d in along else chunks[d] for d, n in lengths)

    def blocks_met(self, chunk: Block) -> list[int]:
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
        return all(named) and (all(met) or not scatter) and chunks == self.aligned(chunks)

    def in_order(self, chunks: Chunks) -> bool:
        """Whether chunk after chunk is the row-major order, among the indices that can name the same place."""
        free = [chunks[d] for d in self.free]
        while free and max(free[0]) <= 1:
            free = free[1:]
        return all(len(sizes) == 1 for sizes in free[1:])


def movement(rule: Rule, data: Chunks, indices: tuple[int, ...], axis: int, batch_dims: int) -> Movement:
    """The movement of a call that was found valid; ``axis`` is not negative, and ``batch_dims`` if that is not 0."""
    rank = len(data)
    if rule.kernel.endswith("_elements"):
        along = [None if d == axis else d for d in range(rank)]
        first, positions = 0, indices
    elif rule.takes_tuples:
        along = [*range(batch_dims), *[None] * indices[-1]]
        first, positions = 0, indices[:-1]
    else:
        along = [*range(batch_dims), None]
        first, positions = axis - batch_dims, indices
    axes = tuple(Axis(d, data[d], dim) for d, dim in enumerate(along, first))
    return Movement(rule, axis, batch_dims, axes, data[:first], data[first + len(axes) :], positions)


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


def cut(chunks: Sequence[int], length: int) -> tuple[int, ...]:
    """The first chunks that hold ``length`` places together."""
    ends = np.minimum(np.cumsum(chunks), length)
    sizes = np.diff(ends, prepend=0).tolist()
    needed = int(np.searchsorted(ends, length)) + 1
    return tuple(sizes[:needed])
