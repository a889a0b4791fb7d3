"""What runs on workers: rows taken from a chunk, chunks made of them, and updates applied to a chunk."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gatherscatter import _arrays, _core, _strings
from gatherscatter.dask.chunks import Block, Movement
from gatherscatter.dask.route import Route, route
from gatherscatter.errors import OpIndexError

# Rows and where they go in a chunk of output; None where nothing is named.
Taken = tuple[np.ndarray, np.ndarray | None] | None
# Rows of a chunk, their updates and, if they do not come in row-major order, their places in that.
Piece = tuple[np.ndarray, np.ndarray, np.ndarray | None] | None


def directly(
    move: Movement,
    combine: dict[str, Any],
    start: Block,
    chunk: Block,
    block: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray | None = None,
) -> np.ndarray:
    """The whole call, on a chunk of data that a chunk of indices names all its places in."""
    try:
        return _arrays.execute(
            move.rule.op, move.rule.kernel, block, indices, updates, axis=move.axis, batch_dims=move.batch_dims,
            mode=move.rule.mode, negative=move.rule.negative, num_threads=1, **combine,
        )  # fmt: skip
    except OpIndexError:
        route(move, indices, start, chunk)  # raises the same with positions in the whole
        raise


def take(move: Movement, block: np.ndarray, rows_of: Route, number: int) -> Taken:
    """The rows of a chunk of data that a chunk of indices names."""
    if number not in rows_of:
        return None
    rows, positions = rows_of[number]
    return _core.gather(as_rows(block, move, len(move.axes)), rows, 1, num_threads=1), positions


def assemble(move: Movement, shape: tuple[int, ...], dtype: np.dtype[Any], *pieces: Taken) -> np.ndarray:
    """A chunk of a gather's output."""
    found = [piece for piece in pieces if piece is not None]
    if len(found) == 1 and found[0][1] is None:
        return found[0][0].reshape(shape)
    out = _blank(move, shape, dtype)
    if dtype.kind == "O" and all(_strings.text_kind(rows) for rows, _ in found):
        out[...] = ""  # as in memory
    for piece in found:
        _put(move, out, piece)
    return out


def gather_at_once(
    move: Movement,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    routes: list[Route],
    numbers: list[int],
    *blocks: np.ndarray,
) -> np.ndarray:
    """A chunk of a gather's output, from all the chunks of data that it needs."""
    named = [each for each in zip(blocks, routes, numbers, strict=True) if each[2] in each[1]]
    if len(named) <= 1 or dtype.hasobject:
        return assemble(move, shape, dtype, *(take(move, *each) for each in named))
    out = _blank(move, shape, dtype)
    for each in named:  # one after the other: there is one piece at a time in memory
        _put(move, out, take(move, *each))
    return out


def _blank(move: Movement, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    return np.zeros(shape, dtype) if move.rule.mode == "fill" else np.empty(shape, dtype)


def _put(move: Movement, out: np.ndarray, piece: Taken) -> None:
    if piece is None:
        return
    rows, positions = piece
    view = as_rows(out, move, len(move.positions))
    _core.scatter_update(view, positions, rows, 1, out=view, num_threads=1)  # type: ignore[arg-type]


def pick(move: Movement, updates: np.ndarray, rows_of: Route, number: int, start: tuple[int, ...] | None) -> Piece:
    """The updates for one chunk of data, of one chunk of updates, whose ``start`` is given where order needs it."""
    if number not in rows_of:
        return None
    rows, positions = rows_of[number]
    lead = len(move.outer)
    shape = updates.shape[lead : lead + len(move.positions)]
    flat = as_rows(updates, move, len(move.positions))
    if positions is not None:
        flat = _core.gather(flat, positions, 1, num_threads=1)
    if start is None:
        return rows, flat, None
    local = np.unravel_index(np.arange(math.prod(shape)) if positions is None else positions, shape)
    places = tuple(line + first for line, first in zip(local, start, strict=True))
    return rows, flat, np.ravel_multi_index(places, move.positions)


def scatter(move: Movement, combine: dict[str, Any], block: np.ndarray, *pieces: Piece) -> np.ndarray:
    """A chunk of data with all of its updates, in row-major order, at once: the bits are those of a call in memory."""
    found = [piece for piece in pieces if piece is not None]
    if not found:
        return block
    rows, updates, order = found[0]
    if len(found) > 1:
        rows, updates = (np.concatenate([piece[n] for piece in found], axis=n) for n in (0, 1))
        if order is not None:
            line = np.argsort(np.concatenate([piece[2] for piece in found]), kind="stable")
            rows, updates = rows[line], _core.gather(updates, line, 1, num_threads=1)
    data = as_rows(block, move, len(move.axes))
    out = _arrays.execute(move.rule.op, "scatter_update", data, rows, updates, axis=1, num_threads=1, **combine)
    return out.reshape(block.shape)


def as_rows(block: np.ndarray, move: Movement, rank: int) -> np.ndarray:
    """A chunk as (outer, rows, inner): ``rank`` axes behind the outer ones make the rows."""
    lead = len(move.outer)
    parts = block.shape[:lead], block.shape[lead : lead + rank], block.shape[lead + rank :]
    return block.reshape([math.prod(part) for part in parts])
