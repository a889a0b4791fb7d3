"""Gather from a stored array into memory, or chunk by chunk into another stored array."""

from __future__ import annotations

import math
import os
from contextlib import closing
from typing import Any

import numpy as np
import zarr
from numpy.typing import ArrayLike

from gatherscatter.arrays import convert
from gatherscatter.errors import OpTypeError, OpValueError
from gatherscatter.functions.chunked import BlockPart, Shape, Window, count_tuples
from gatherscatter.operation import Kernel, Operation
from gatherscatter.zarr.call import ChunkGrid, Progress, Report, Stored, StoredCall, Terms, check_call, open_array
from gatherscatter.zarr.storage import Writer, check_writable, is_same, map_in_threads, open_writer

REGION_BYTES = 1 << 28  # bytes of a stored result that are computed in memory at a time


def run(operation: Operation, array: Any, indices: ArrayLike, out: Any, terms: Terms) -> Any:
    """Run a gather. Return the result, or with ``dry_run`` a report."""
    terms.check(operation.op)
    call = check_call(operation, array, indices)
    with terms.show_progress(operation.op) as progress:
        return gather(call, out, terms, progress)


def gather(call: StoredCall, out: Any, terms: Terms, progress: Progress) -> Any:
    """Run a checked call."""
    if isinstance(out, str | os.PathLike):
        out = open_array(call.op, "out", out, mode="r+")
    _check_out(call, out)
    budget, workers = call.budgets(terms.memory_limit, terms.workers)
    if terms.dry_run:
        chunks = len(call.route.numbers) * len(call.free_windows())
        written = math.prod(call.slots) * call.dtype.itemsize
        return Report(call.op, call.move.count, chunks, call.grid.size, call.touched_bytes, written, dry_run=True)
    reader = _Reader(call, budget, workers, terms.num_threads)
    if isinstance(out, zarr.Array):
        region = max(terms.memory_limit // 4, 1) if terms.memory_limit else REGION_BYTES
        with open_writer(
            call.op, out, f"{call.op} of {call.move.count} index tuples", None, terms.lock_timeout
        ) as writer:
            _to_store(reader, out, writer, region, progress)
        return out
    result = np.empty(call.slots, call.dtype) if out is None else out
    reader.read(tuple(slice(0, n) for n in call.slots), result, progress)
    return result


class _Reader:
    """Reads parts of the result of a gather."""

    def __init__(self, call: StoredCall, budget: int, workers: int, num_threads: int | None) -> None:
        self._call, self._budget, self._workers, self._num_threads = call, budget, workers, num_threads

    def read(self, region: Window, result: np.ndarray, progress: Progress | None = None) -> int:
        """Read a region of the result into an array of its shape. Return the number of bytes read."""
        call = self._call
        slots_axes = call.move.slots_axes
        box = tuple(region[a] for a in slots_axes)
        in_free = tuple(s for a, s in enumerate(region) if a not in slots_axes)
        made = call.route
        if tuple(s.stop - s.start for s in box) != call.move.positions:
            made = count_tuples(call.move, call.indices[box], tuple(s.start for s in box))
        origin = [s.start for s in in_free]
        windows = [window for _, window in call.free_windows(in_free)]
        if call.operation.skips:
            result[...] = np.zeros((), call.dtype)
        slots = call.put_box_first(result)

        def take(part: BlockPart, free: Window) -> int:
            window = call.window(part.block, free)
            values = self._values(window, part)
            there = tuple(slice(s.start - o, s.stop - o) for s, o in zip(free, origin, strict=True))
            where: Any = (*part.positions, *there)
            slots[where] = values
            return int(math.prod(s.stop - s.start for s in window)) * call.dtype.itemsize

        pieces = ((part, free) for part in made.parts(self._budget) for free in windows)
        done = moved = 0
        with closing(map_in_threads(lambda piece: take(*piece), pieces, self._workers)) as taken:
            for size in taken:
                done, moved = done + 1, moved + size
                if progress is not None:
                    progress(done, len(made.numbers) * len(windows), moved)
        return moved

    def _values(self, window: Window, part: BlockPart) -> np.ndarray:
        call = self._call
        block = call.merge_axes(np.asarray(call.array[window]))
        operation = Operation(call.op, Kernel.GATHER, num_threads=self._num_threads)
        return convert.execute(operation, block, part.rows)


def _to_store(reader: _Reader, out: Stored, writer: Writer, region_bytes: int, progress: Progress) -> None:
    """Fill a stored array in regions of whole chunks."""
    regions = ChunkGrid(
        out.shape, _region(ChunkGrid(out.shape, out.shards or out.chunks), np.dtype(out.dtype).itemsize, region_bytes)
    )
    moved = 0
    for done, window in enumerate(regions.windows(), 1):
        result = np.empty(tuple(s.stop - s.start for s in window), out.dtype)
        moved += reader.read(window, result) + result.nbytes
        writer.overwrite(window, result)
        progress(done, regions.size, moved)


def _region(grid: ChunkGrid, itemsize: int, limit: int) -> Shape:
    """Return the shape of a region of neighbouring chunks: at least one chunk, and more within a limit of bytes."""
    region = list(grid.block)
    for axis in reversed(range(len(region))):
        chunks = limit // max(math.prod(region) * itemsize, 1)
        region[axis] *= min(max(chunks, 1), max(grid.counts[axis], 1))
        if region[axis] < grid.shape[axis]:
            break
    return tuple(region)


def _check_out(call: StoredCall, out: Any) -> None:
    if out is None:
        return
    if not isinstance(out, np.ndarray | zarr.Array):
        text = f"{call.op}: out must be a NumPy array or an array of Zarr, not {type(out).__name__}"
        raise OpTypeError(text, op=call.op, input="out")
    if out.shape != call.slots:
        text = f"{call.op}: out has shape {out.shape}, but the result has {call.slots}"
        raise OpValueError(text, op=call.op, input="out")
    if out.dtype != call.dtype:
        text = f"{call.op}: out has type {out.dtype}, but the result has {call.dtype}"
        raise OpTypeError(text, op=call.op, input="out")
    if isinstance(out, np.ndarray):
        if not out.flags.writeable:
            raise OpValueError(f"{call.op}: out is read-only", op=call.op, input="out")
        return
    check_writable(call.op, "out", out, journal=False)
    if is_same(out, call.array):
        raise OpValueError(f"{call.op}: out is the array that is read; give another one", op=call.op, input="out")
