"""The blocks in which an array is stored, and which tuples fall into which."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gatherscatter.zarr.tuples import Shape, Tuples

Window = tuple[slice, ...]


@dataclass(frozen=True)
class Grid:
    """An array of a shape in blocks of a shape; those at the ends may be smaller."""

    shape: Shape
    block: Shape

    @property
    def counts(self) -> Shape:
        """How many blocks there are along each axis."""
        return tuple(-(-n // size) for n, size in zip(self.shape, self.block, strict=True))

    @property
    def size(self) -> int:
        """How many blocks there are."""
        return math.prod(self.counts)

    def block_of(self, number: int) -> Shape:
        """A block by its number in row-major order."""
        return tuple(int(b) for b in np.unravel_index(number, self.counts)) if self.shape else ()

    def window(self, block: Shape) -> Window:
        """Where a block is."""
        return tuple(
            slice(b * size, min((b + 1) * size, n)) for b, size, n in zip(block, self.block, self.shape, strict=True)
        )

    def windows(self) -> Iterator[Window]:
        """Where the blocks are, in row-major order."""
        return (self.window(block) for block in itertools.product(*map(range, self.counts)))


class Part(NamedTuple):
    """The tuples that fall into one block on the axes that they index."""

    block: Shape  # along those axes
    positions: np.ndarray  # flat positions in the box, ascending: their order is the order of the call
    places: np.ndarray  # what they name, counted from the beginning of the block


@dataclass(frozen=True)
class Route:
    """How many tuples fall into which block: `route` makes it.

    Attributes
    ----------
    tuples, grid : what falls into what; the grid has only the axes that the tuples index
    numbers, counts : the blocks that are touched, by their number in row-major order, and how many tuples each gets
    """

    tuples: Tuples
    grid: Grid
    numbers: np.ndarray
    counts: np.ndarray

    @property
    def volume(self) -> int:
        """How many elements the blocks that are touched have, along the indexed axes."""
        if not self.grid.shape:
            return len(self.numbers)
        blocks = np.unravel_index(self.numbers, self.grid.counts)
        sizes = np.ones(len(self.numbers), np.int64)
        for own, size, n in zip(blocks, self.grid.block, self.grid.shape, strict=True):
            sizes *= np.minimum((own + 1) * size, n) - own * size
        return int(sizes.sum())

    def parts(self, budget: int) -> Iterator[Part]:
        """The parts in the order of the blocks. Of more tuples than ``budget`` a part at a time is made, in passes."""
        ends = np.cumsum(self.counts)
        first = 0
        while first < len(ends):
            before = ends[first] - self.counts[first]
            last = max(int(np.searchsorted(ends, before + budget, "right")), first + 1)
            yield from self._pass(int(self.numbers[first]), int(self.numbers[last - 1]))
            first = last

    def _pass(self, low: int, high: int) -> Iterator[Part]:
        positions, numbers = [], []
        for step in self.tuples.steps():
            places, good = self.tuples.places(step)
            of_block = _numbers(places, self.grid)
            chosen = np.flatnonzero(good & (of_block >= low) & (of_block <= high))
            positions.append(chosen + step.start)
            numbers.append(of_block[chosen])
        all_positions, all_numbers = np.concatenate(positions), np.concatenate(numbers)
        order = np.argsort(all_numbers, kind="stable")
        all_positions, all_numbers = all_positions[order], all_numbers[order]
        for start, end in _runs(all_numbers):
            chosen = all_positions[start:end]
            block = self.grid.block_of(int(all_numbers[start]))
            origin = [b * size for b, size in zip(block, self.grid.block, strict=True)]
            yield Part(block, chosen, self.tuples.places(chosen)[0] - np.array(origin, np.int64))


def route(tuples: Tuples, grid: Grid) -> Route:
    """Count the tuples of each block of a whole array's grid."""
    own = Grid(tuple(grid.shape[a] for a in tuples.axes), tuple(grid.block[a] for a in tuples.axes))
    numbers, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    for step in tuples.steps():
        places, good = tuples.places(step)
        found, many = np.unique(_numbers(places[good], own), return_counts=True)
        merged, where = np.unique(np.concatenate([numbers, found]), return_inverse=True)
        sums = np.zeros(len(merged), np.int64)
        np.add.at(sums, where, np.concatenate([counts, many]))
        numbers, counts = merged, sums
    return Route(tuples, own, numbers, counts)


def _numbers(places: np.ndarray, grid: Grid) -> np.ndarray:
    numbers = np.zeros(len(places), np.int64)
    for j, (size, count) in enumerate(zip(grid.block, grid.counts, strict=True)):
        numbers = numbers * count + places[:, j] // size
    return numbers


def _runs(values: np.ndarray) -> Iterator[tuple[int, int]]:
    """Where each run of equal values begins and ends."""
    if values.size:
        cuts = np.flatnonzero(np.diff(values)) + 1
        yield from itertools.pairwise([0, *cuts.tolist(), len(values)])


def free_windows(grid: Grid, axes: Shape, ranges: tuple[slice, ...]) -> list[tuple[Shape, Window]]:
    """The blocks along some axes that meet the given ranges: their numbers, and where they meet."""
    along: list[list[tuple[int, slice]]] = []
    for axis, wanted in zip(axes, ranges, strict=True):
        size = grid.block[axis]
        blocks = range(wanted.start // size, -(-wanted.stop // size)) if wanted.stop > wanted.start else range(0)
        along.append([(b, slice(max(b * size, wanted.start), min((b + 1) * size, wanted.stop))) for b in blocks])
    return [
        (tuple(b for b, _ in combination), tuple(s for _, s in combination))
        for combination in itertools.product(*along)
    ]


def join(axes: Shape, on_axes: tuple, free: Shape, on_free: tuple) -> tuple:  # type: ignore[type-arg]
    """What belongs to some axes and to the others, in the order of the axes."""
    by_axis = dict(zip((*axes, *free), (*on_axes, *on_free), strict=True))
    return tuple(by_axis[axis] for axis in range(len(by_axis)))


def volume(window: Window) -> int:
    """How many elements a window has."""
    return math.prod(s.stop - s.start for s in window)
