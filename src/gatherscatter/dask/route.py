"""From indices to the rows of chunks: it runs at once where indices are known, and on a worker where they are not."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from gatherscatter import _arrays, _core
from gatherscatter.dask.chunks import Axis, Block, Movement
from gatherscatter.errors import OpIndexError

# The rows of a chunk that are named, and where the indices that name them stand among all; None: these are all of them.
Part = tuple[np.ndarray, np.ndarray | None]

Route = dict[int, Part]  # by the flat number of the chunk


def route(move: Movement, indices: np.ndarray, start: Block, chunk: Block | None) -> Route:
    """Sort indices by the chunk of data that they name a place in; what is equal keeps its order.

    ``start`` is where these indices stand in the whole, ``chunk`` the numbers of their chunk for messages.
    """
    indices = _arrays.as_indices(move.rule.op, "indices", indices)  # a chunk may differ from the type of its array
    shape = indices.shape[: len(move.positions)]
    if not move.rule.takes_tuples:
        indices = indices[..., np.newaxis]
    skipped = np.zeros(shape, bool) if move.rule.mode in ("fill", "drop") else None
    block: np.ndarray | None = None
    row: np.ndarray | None = None
    column = 0
    for axis in move.axes:
        if axis.along is None:
            places = _places(move, axis, indices, column, start, chunk, skipped)
            column += 1
        else:
            line = start[axis.along] + np.arange(shape[axis.along])
            places = line.reshape([-1 if d == axis.along else 1 for d in range(len(shape))])
        number, local, size = axis.locate(places)
        row = local if row is None else row * size + local
        if number is not None:
            block = number if block is None else block * len(axis.chunks) + number
    return _parts(move, _flat(block, shape), _flat(row, shape), skipped)


def _flat(values: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    return np.broadcast_to(np.int64(0) if values is None else values, shape).reshape(-1)


def _parts(move: Movement, block: np.ndarray, row: np.ndarray, skipped: np.ndarray | None) -> Route:
    count = row.size
    row = row.astype(_narrow(move.most_rows), copy=False)
    if skipped is not None and skipped.any():
        block = np.where(skipped.reshape(-1), math.prod(move.grid), block)
    if count == 0:
        return {}
    if block.min() == block.max():
        return {} if block[0] == math.prod(move.grid) else {int(block[0]): (row, None)}
    starts, order = _core.group(np.ascontiguousarray(block, np.int64), math.prod(move.grid) + 1)
    order = order.astype(_narrow(count), copy=False)
    row = _core.gather(row, order)
    touched = np.flatnonzero(np.diff(starts[:-1])).tolist()
    return {d: (row[starts[d] : starts[d + 1]], order[starts[d] : starts[d + 1]]) for d in touched}


def _narrow(count: int) -> type[np.unsignedinteger[Any]] | type[np.int64]:
    """The narrowest type for numbers below ``count``: graphs with known indices are sent to workers."""
    return np.uint16 if count <= 2**16 else np.uint32 if count <= 2**32 else np.int64


def _places(
    move: Movement,
    axis: Axis,
    indices: np.ndarray,
    column: int,
    start: Block,
    chunk: Block | None,
    skipped: np.ndarray | None,
) -> np.ndarray:
    """Places in 0..size-1 for what the indices say; which are ``skipped`` is noted there."""
    values, size = indices[..., column], axis.size
    if values.size == 0:
        return values.astype(np.int64)
    low, high = int(values.min()), int(values.max())
    if low >= 0 and high < size:
        return values.astype(np.int64)
    if size == 0 and skipped is None:
        _refuse(move, axis, indices, column, np.ones(values.shape, bool), start, chunk)
    if move.rule.mode == "clip":
        return np.asarray(np.clip(values, 0, min(size - 1, np.iinfo(values.dtype).max)), np.int64)
    if move.rule.mode == "wrap":
        wide = values if size <= np.iinfo(values.dtype).max else values.astype(np.int64)
        return np.asarray(np.mod(wide, size), np.int64)
    lowest = -size if move.rule.negative else 0
    if low < lowest or high >= size:
        bad = (values < lowest) | (values >= size)
        if skipped is None:
            _refuse(move, axis, indices, column, bad, start, chunk)
        skipped |= bad
        values = np.where(bad, 0, values)
    places = values.astype(np.int64)
    places[places < 0] += size
    return places


def _refuse(
    move: Movement, axis: Axis, indices: np.ndarray, column: int, bad: np.ndarray, start: Block, chunk: Block | None
) -> NoReturn:
    """The error of a chunk of indices, with positions in the whole."""
    low, high = -axis.size if move.rule.negative else 0, axis.size - 1
    found = np.argwhere(bad)
    ending = (column,) if move.rule.takes_tuples else ()
    positions = tuple((*(found[n] + start).tolist(), *ending) for n in range(min(len(found), 10)))
    values = tuple(indices[(*place, column)].item() for place in found[:10].tolist())
    where = f"indices[{', '.join(map(str, positions[0]))}]" if positions[0] else "indices"
    valid = f"valid: {low}..{high}" if low <= high else "no index is valid"
    text = f"{move.rule.op}: {where} = {values[0]} is out of range for axis {axis.number} of data with size {axis.size}"
    more = f"; {len(found)} indices of this chunk are out of range" if len(found) > 1 else ""
    raise OpIndexError(
        f"{text} ({valid}), in chunk {chunk} of the indices{more}",
        op=move.rule.op,
        input="indices",
        count=len(found),
        positions=positions,
        values=values,
        axis=axis.number,
        allowed=(low, high),
    )
