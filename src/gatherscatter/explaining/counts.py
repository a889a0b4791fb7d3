"""How many indices name each element of data. All indices are counted at once."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np

from gatherscatter import _core
from gatherscatter.explaining.call import Coordinates, ExplainedCall
from gatherscatter.explaining.moves import list_moves, resolve_position
from gatherscatter.operation import Form, Kernel

MOST_FOLLOWED = 20_000  # moves of GatherTree, which can only be followed one by one


class Counts:
    """How often elements of data are read, or elements of the output are written, in one call."""

    def __init__(self, call: ExplainedCall) -> None:
        self._call = call
        self._axes = _named_axes(call)
        self._ended: set[Coordinates] = set()
        self.total = _total(call)
        numbers = np.zeros(0, np.int64)
        if call.kernel == Kernel.GATHER_TREE and call.is_clear:
            numbers = self._follow_sequences()
        elif call.reduces_bags and call.is_clear:
            numbers = _read_rows(call)
        elif call.is_clear:
            numbers = self._numbers(_columns(call))
        self.numbers = np.sort(numbers)

    def of(self, at: Coordinates) -> int:
        """How many indices name an element of data."""
        if not self._axes:
            return self.total  # every empty tuple names everything
        number = self._numbers([np.array([at[axis]]) for axis in self._axes])
        first, last = (np.searchsorted(self.numbers, number, side)[0] for side in ("left", "right"))
        return int(last - first)

    def is_filled(self, at: Coordinates) -> bool:
        """Whether no element of data goes to an element of a gather's output."""
        call, indices = self._call, self._call.indices
        if call.reduces_bags:
            return call.error is None and bool(call.empty_bags[at[: len(call.bags_shape)]])
        if call.mode != "fill" or indices is None:
            return at in self._ended
        batch, axis = call.batch_dims, call.axis
        where = at[: indices.ndim - 1] if call.by_tuple else at[:batch] + at[axis : axis + indices.ndim - batch]
        if call.kernel == Kernel.GATHER_ELEMENTS:
            where = at
        first = batch if call.by_tuple else axis
        values = [int(n) for n in np.atleast_1d(indices[where])]
        return any(resolve_position(call, n, call.data.shape[first + j])[0] is None for j, n in enumerate(values))

    def _numbers(self, columns: list[np.ndarray]) -> np.ndarray:
        """One number for each element, from its positions. An element with a -1 is skipped."""
        columns = list(np.broadcast_arrays(*columns)) if columns else [np.zeros(self.total, np.int64)]
        numbers, good = np.zeros(columns[0].shape, np.int64), np.ones(columns[0].shape, bool)
        for column, axis in zip(columns, self._axes, strict=False):
            numbers = numbers * self._call.data.shape[axis] + column
            good &= column >= 0
        return numbers[good].reshape(-1)

    def _follow_sequences(self) -> np.ndarray:
        elements: list[Coordinates] = []
        for move in islice(list_moves(self._call), MOST_FOLLOWED):
            region = move.source or move.target
            at = () if region is None else tuple(n for n in region.key if n is not None)
            if move.source is not None:
                elements.append(at)
            elif not move.bad:
                self._ended.add(at)
        self.total = len(elements) + len(self._ended)
        return self._numbers(list(np.array(elements, np.int64).reshape(-1, 3).T))


def _total(call: ExplainedCall) -> int:
    """How many indices, or index tuples, there are."""
    if call.kernel == Kernel.TENSOR_SCATTER and call.updates is not None and call.updates.ndim > 1:
        return math.prod((call.updates.shape[0], call.updates.shape[call.axis]))
    if call.reduces_bags and call.is_clear:
        return _count_bag_moves(call)
    if call.indices is None:
        return 0
    return math.prod(call.indices.shape[:-1] if call.by_tuple else call.indices.shape)


def _named_axes(call: ExplainedCall) -> tuple[int, ...]:
    """The axes of data on which an index names one position; of the others it names all."""
    if call.by_tuple:
        return tuple(range(call.batch_dims + call.k))
    if call.reduces_bags:
        return (0,)
    if call.kernel in (Kernel.GATHER, Kernel.SCATTER_UPDATE):
        return (*range(call.batch_dims), call.axis)
    if call.kernel == Kernel.TENSOR_SCATTER:
        return (0, call.axis)
    return tuple(range(call.data.ndim)) if call.arrays else ()


def _columns(call: ExplainedCall) -> list[np.ndarray]:
    """The positions on the named axes for all indices; -1 for those out of range."""
    data, indices = call.data, call.indices
    if call.kernel == Kernel.TENSOR_SCATTER:
        return _windows(call)
    assert indices is not None
    if call.by_tuple:
        batch = np.indices(indices.shape[:-1], sparse=True)[: call.batch_dims]
        sizes = data.shape[call.batch_dims :]
        return [*batch, *(_positions(call, indices[..., j], sizes[j]) for j in range(call.k))]
    own = _positions(call, indices, data.shape[call.axis])
    grid: tuple[np.ndarray, ...] = np.indices(indices.shape, sparse=True)
    if call.kernel.form == Form.LANES:
        return [own if axis == call.axis else column for axis, column in enumerate(grid)]
    return [*grid[: call.batch_dims], own]


def _count_bag_moves(call: ExplainedCall) -> int:
    """The number of members and of bags without members; for a call that fails, of the values that are checked."""
    if call.error is None:
        return math.prod(call.members) + int(call.empty_bags.sum())
    try:
        _ = call.bags
    except IndexError:
        assert call.bag_input is not None
        return call.arrays[call.bag_input].size
    return math.prod(call.members) + (call.default_row is not None)


def _read_rows(call: ExplainedCall) -> np.ndarray:
    """The row of data that each member of a bag reads, and each bag without members."""
    try:
        starts, order = call.bags.starts, call.bags.order
    except IndexError:
        return np.zeros(0, np.int64)
    rows = np.arange(len(call.data)) if call.indices is None else _positions(call, call.indices, len(call.data))
    members = rows.reshape(-1)[starts[0] :] if order is None else rows.reshape(-1)[order]
    filled = int(call.empty_bags.sum()) if call.error is None and call.default_row is not None else 0
    return np.append(members[members >= 0], np.full(filled, call.default_row or 0))


def _windows(call: ExplainedCall) -> list[np.ndarray]:
    assert call.updates is not None
    size, length, batch = call.data.shape[call.axis], call.updates.shape[call.axis], call.data.shape[0]
    starts = np.zeros(batch, np.int64) if call.indices is None else call.indices
    positions = starts[:, np.newaxis] + np.arange(length)
    if call.mode == "circular" and size:
        positions %= size
    fits = (starts >= 0) & (starts <= size - length) if call.mode == "linear" else np.ones(batch, bool)
    return [np.arange(batch)[:, np.newaxis], np.where(fits[:, np.newaxis], positions, -1)]


def _positions(call: ExplainedCall, values: np.ndarray, size: int) -> np.ndarray:
    mode = call.mode if call.mode in ("wrap", "clip") and size else "skip"
    positions = _core.resolve_indices(values.reshape(-1, 1), (size,), mode, call.counted_negative)
    assert positions is not None
    return positions.reshape(values.shape)
