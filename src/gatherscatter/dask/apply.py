"""Functions that run on workers: take rows from a chunk, assemble chunks from rows, and apply updates to a chunk."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.dask.chunks import LazyMovement
from gatherscatter.dask.routes import Part, RowsByBlock, route
from gatherscatter.errors import OpIndexError
from gatherscatter.functions import gather_reduce
from gatherscatter.functions.chunked import Block
from gatherscatter.operation import Kernel, Operation

# Rows and their positions in a chunk of output. None: the rows are the whole chunk.
TakenRows = tuple[np.ndarray, np.ndarray | None]
# Row numbers in a chunk, their updates, and the positions of these in row-major order (None if they are in order).
Piece = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def call_on_chunk(
    move: LazyMovement,
    start: Block,
    chunk: Block,
    block: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray | None = None,
) -> np.ndarray:
    """Make the call for one chunk of indices that names elements of only one chunk of data."""
    try:
        return convert.execute(move.operation, block, indices, updates)
    except OpIndexError:
        route(move, indices, start, chunk)  # raises the same error with positions in the whole array
        raise


def _cast_to_declared_type(move: LazyMovement, dtype: np.dtype[Any], updates: np.ndarray) -> np.ndarray:
    """Convert a chunk to the declared type of its array, from which it can differ."""
    return convert.cast(move.operation.op, "chunk of updates", updates, "an array", np.empty(0, dtype))


def take(
    move: LazyMovement, block: np.ndarray, number: int, outputs: list[int], routes: list[RowsByBlock]
) -> dict[int, list[TakenRows]]:
    """Take the rows of a chunk of data that chunks of indices name, for each of their ``outputs``."""
    named = {output: rows_of for output, rows_of in zip(outputs, routes, strict=True) if number in rows_of}
    return {output: [_rows(move, block, rows_of[number])] for output, rows_of in named.items()}


def _rows(move: LazyMovement, block: np.ndarray, part: Part) -> TakenRows:
    rows, positions = part
    return _core.gather(as_rows(block, move, len(move.axes)), rows, 1, num_threads=1), positions


def assemble(
    move: LazyMovement, shape: tuple[int, ...], dtype: np.dtype[Any], output: int, *sent: dict[int, list[TakenRows]]
) -> np.ndarray:
    """Assemble a chunk of a gather's output from rows that other tasks took."""
    return _scatter_pieces(move, shape, dtype, (piece for parcels in sent for piece in parcels.get(output, ())))


def _scatter_pieces(
    move: LazyMovement, shape: tuple[int, ...], dtype: np.dtype[Any], pieces: Iterable[TakenRows]
) -> np.ndarray:
    out = np.zeros(shape, dtype) if move.operation.skips else np.empty(shape, dtype)
    view = as_rows(out, move, len(move.positions))
    for rows, positions in pieces:
        if positions is None:  # then it is the only piece
            return rows.reshape(shape)
        _core.scatter_update(view, positions, rows, 1, out=view, num_threads=1)
    return out


def gather_at_once(
    move: LazyMovement,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    routes: list[RowsByBlock],
    numbers: list[int],
    *blocks: np.ndarray,
) -> np.ndarray:
    """Compute a chunk of a gather's output in one task, from all chunks of data that it needs."""
    each = zip(blocks, routes, numbers, strict=True)
    # A generator keeps only one piece in memory at a time.
    pieces = (_rows(move, block, rows_of[number]) for block, rows_of, number in each if number in rows_of)
    return _scatter_pieces(move, shape, dtype, pieces)


def select_updates(
    move: LazyMovement,
    dtype: np.dtype[Any],
    updates: np.ndarray,
    rows_of: RowsByBlock,
    start: tuple[int, ...] | None,
    numbers: list[int],
) -> dict[int, list[Piece]]:
    """Select the updates for each chunk of data from a chunk of updates. ``start`` is given if their order matters."""
    updates = _cast_to_declared_type(move, dtype, updates)
    return {number: [_select_piece(move, updates, rows_of[number], start)] for number in numbers if number in rows_of}


def _select_piece(move: LazyMovement, updates: np.ndarray, part: Part, start: tuple[int, ...] | None) -> Piece:
    rows, positions = part
    lead = len(move.outer)
    shape = updates.shape[lead : lead + len(move.positions)]
    flat = as_rows(updates, move, len(move.positions))
    if positions is not None:
        flat = _core.gather(flat, positions, 1, num_threads=1)
    if start is None:
        return rows, flat, None
    local = np.unravel_index(np.arange(math.prod(shape)) if positions is None else positions, shape)
    columns = tuple(line + first for line, first in zip(local, start, strict=True))
    return rows, flat, np.ravel_multi_index(columns, move.positions)


def scatter(move: LazyMovement, number: int, block: np.ndarray, *sent: dict[int, list[Piece]]) -> np.ndarray:
    """Apply all updates of a chunk of data at once, in row-major order, to match a call in memory bit for bit."""
    found = [piece for parcels in sent for piece in parcels.get(number, ())]
    if not found:
        return block
    rows, updates, order = found[0]
    if len(found) > 1:
        rows, updates = (np.concatenate([piece[n] for piece in found], axis=n) for n in (0, 1))
        if order is not None:
            line = np.argsort(np.concatenate([piece[2] for piece in found]), kind="stable")
            rows, updates = rows[line], _core.gather(updates, line, 1, num_threads=1)
    data = as_rows(block, move, len(move.axes))
    operation = move.operation._replace(kernel=Kernel.SCATTER_UPDATE, axis=1, batch_dims=0, mode="raise")
    out = convert.execute(operation, data, rows, updates)
    return out.reshape(block.shape)


def check_chunk(indices: np.ndarray, move: LazyMovement, block_info: Any) -> np.ndarray:
    """Return a chunk of indices. Raise IndexError if any of them is out of range."""
    indices = convert.as_indices(move.operation.op, "indices", indices)
    try:
        move.check(indices)
    except OpIndexError:
        start = tuple(begin for begin, _ in block_info[0]["array-location"])
        move.raise_index_error(indices, start, block_info[0]["chunk-location"])  # positions in the whole array
    return indices


def reduce_chunk(
    operation: Operation,
    shape: tuple[int, ...],
    offsets: np.ndarray | None,
    rows: np.ndarray,
    *others: Any,
) -> np.ndarray:
    """Reduce a chunk of bags whose members have this ``shape``.

    ``others`` are: whether ``rows`` has one row for each member, the indices, the weights, and the default. Rows that
    were gathered need indices only to skip members.
    """
    gathered, indices, weights, default = others
    if gathered:
        numbers = np.arange(math.prod(shape)).reshape(shape)
        rows = rows.reshape(numbers.size, *rows.shape[len(shape) :])
        indices = numbers if indices is None else np.where(indices < 0, -1, numbers)
    arrays = {"data": rows, "indices": indices, "offsets": offsets, "weights": weights}
    return gather_reduce.run(operation, arrays, default=default)


def as_rows(block: np.ndarray, move: LazyMovement, rank: int) -> np.ndarray:
    """Reshape a chunk to (outer, rows, inner). The ``rank`` axes after the outer ones become rows."""
    lead = len(move.outer)
    parts = block.shape[:lead], block.shape[lead : lead + rank], block.shape[lead + rank :]
    return block.reshape([math.prod(part) for part in parts])
