"""Every gather and scatter as one thing: index tuples into some axes of an array, of whose other axes all is taken."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gatherscatter import errors

Shape = tuple[int, ...]

STEP = 1 << 17  # positions looked at in one go


class Column(Protocol):
    """The indices into one axis, by flat position."""

    def __getitem__(self, positions: Any, /) -> np.ndarray: ...


@dataclass(frozen=True)
class Coordinate:
    """A column that is not in memory: the coordinate of each position along one axis of the box."""

    box: Shape
    axis: int
    start: int = 0

    def __getitem__(self, positions: Any) -> np.ndarray:
        flat = np.arange(positions.start, positions.stop) if isinstance(positions, slice) else positions
        size = self.box[self.axis]
        return np.asarray(flat // math.prod(self.box[self.axis + 1 :]) % size + self.start)

    def within(self, window: tuple[slice, ...]) -> Coordinate:
        """The same for a part of the box."""
        box = tuple(s.stop - s.start for s in window)
        return Coordinate(box, self.axis, self.start + window[self.axis].start)


@dataclass(frozen=True)
class Tuples:
    """Index tuples, not yet checked.

    Attributes
    ----------
    axes, sizes : the axes of data that they index, in the order of the columns, and their sizes
    box : the shape of the positions in which they are given; (1,) for a single tuple
    columns : for each axis the indices, by flat position in the box
    slots_axes : where the box is in the slots (a gather's result, a scatter's updates); () for a single tuple
    mode : what becomes of a bad index
    negative : whether -1 counts from the end, or is a bad index
    """

    axes: Shape
    sizes: Shape
    box: Shape
    columns: tuple[Column, ...]
    slots_axes: Shape
    mode: str
    negative: bool

    @property
    def count(self) -> int:
        """How many tuples there are."""
        return math.prod(self.box)

    @property
    def given_axes(self) -> Shape:
        """The axes whose indices are given; along the others they follow from the position."""
        pairs = zip(self.axes, self.columns, strict=True)
        return tuple(axis for axis, column in pairs if not isinstance(column, Coordinate))

    def steps(self) -> Iterator[slice]:
        """All flat positions, some at a time."""
        return (slice(start, min(start + STEP, self.count)) for start in range(0, self.count, STEP))

    def places(self, positions: Any) -> tuple[np.ndarray, np.ndarray]:
        """What the tuples at some flat positions name, shape (n, k), and which of them name anything at all."""
        found = [
            _placed(column[positions], size, self.mode, self.negative)
            for column, size in zip(self.columns, self.sizes, strict=True)
        ]
        n = positions.stop - positions.start if isinstance(positions, slice) else len(positions)
        places = np.empty((n, len(found)), np.int64)
        good = np.ones(n, bool)
        for j, (column, valid) in enumerate(found):
            places[:, j] = column
            good &= valid
        return places, good

    def in_front(self, slots: np.ndarray) -> np.ndarray:
        """Slots, seen with the box before all other axes."""
        if not self.slots_axes:
            return slots[np.newaxis]
        return np.moveaxis(slots, self.slots_axes, range(len(self.box)))

    def at(self, positions: np.ndarray) -> tuple[Any, ...]:
        """The coordinates in the box of flat positions."""
        return np.unravel_index(positions, self.box)

    def within(self, window: tuple[slice, ...]) -> Tuples:
        """The tuples in a part of the box."""
        box = tuple(s.stop - s.start for s in window)
        if box == self.box:
            return self
        columns = tuple(
            column.within(window)
            if isinstance(column, Coordinate)
            else np.asarray(column).reshape(self.box)[window].ravel()
            for column in self.columns
        )
        return Tuples(self.axes, self.sizes, box, columns, self.slots_axes, self.mode, self.negative)


def tuples_of(
    kernel: str, shape: Shape, indices: np.ndarray, axis: int, batch_dims: int, mode: str, negative: bool
) -> Tuples:
    """The tuples of a call whose shapes have been found right."""
    if kernel.endswith("_nd"):
        box, given = indices.shape[:-1], [indices[..., j].reshape(-1) for j in range(indices.shape[-1])]
        batch = range(batch_dims)
        axes = tuple(range(batch_dims + len(given)))
        slots_axes: Shape = tuple(range(len(box)))
    elif kernel.endswith("_elements"):
        axis %= len(shape)
        box, axes, slots_axes = indices.shape, tuple(range(len(shape))), tuple(range(len(shape)))
        columns: list[Column] = [Coordinate(box, a) for a in axes]
        columns[axis] = indices.reshape(-1)
        return Tuples(axes, shape, box, tuple(columns), slots_axes, mode, negative)
    else:
        axis %= len(shape)
        box, given, batch = indices.shape, [indices.reshape(-1)], range(batch_dims)
        axes = (*batch, axis)
        slots_axes = (*batch, *range(axis, axis + indices.ndim - batch_dims))
    columns = [*(Coordinate(box, a) for a in batch), *given]
    return Tuples(axes, tuple(shape[a] for a in axes), box or (1,), tuple(columns), slots_axes, mode, negative)


def check(op: str, kernel: str, shape: Shape, indices: np.ndarray, axis: int, batch_dims: int, tuples: Tuples) -> None:
    """Raise `OpIndexError` if an index is bad and the mode does not say what becomes of it."""
    if tuples.mode in ("drop", "fill"):
        return
    for step in tuples.steps():
        if not tuples.places(step)[1].all():
            only_empty = tuples.mode != "raise"
            errors.index_fault(op, kernel, shape, indices, axis, batch_dims, tuples.negative, only_empty)


def _placed(column: np.ndarray, size: int, mode: str, negative: bool) -> tuple[np.ndarray, Any]:
    """Indices counted from the front, and which of them are good."""
    wide = column if column.dtype == np.uint64 else column.astype(np.int64)
    if size and mode == "wrap":
        return wide % wide.dtype.type(size), True
    if size and mode == "clip":
        return np.clip(wide, 0, size - 1), True
    good = wide < size
    if wide.dtype == np.uint64:
        return wide, good
    return np.where(wide < 0, wide + size, wide), good & (wide >= (-size if negative else 0))
