"""Scatter into a stored array, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter.arrays import convert
from gatherscatter.errors import OpValueError, check_effects
from gatherscatter.functions.chunked import BlockPart, Shape, Window
from gatherscatter.operation import Kernel, Operation
from gatherscatter.zarr.call import Progress, Report, StoredCall, Terms, check_call
from gatherscatter.zarr.journal import job_digest
from gatherscatter.zarr.storage import Job, Writer, check_writable, has_journal, map_in_threads, open_writer


class Piece(NamedTuple):
    """The updates of one block."""

    block: Shape
    window: Window
    part: BlockPart
    free: Window


def run(operation: Operation, array: Any, indices: ArrayLike, updates: ArrayLike, terms: Terms) -> Report:
    """Run a scatter in place."""
    terms.check(operation.op)
    check_effects(operation.op, operation.reduction, operation.include_self, operation.accumulate)
    call = check_call(operation, array, indices, updates)
    try:
        with terms.show_progress(operation.op) as progress:
            return scatter(call, terms, progress)
    except KeyboardInterrupt as interrupt:  # the note is useful, the frames that were interrupted are not
        raise interrupt.with_traceback(None) from None


def scatter(call: StoredCall, terms: Terms, progress: Progress) -> Report:
    """Run a checked call in place."""
    job, resume = terms.job, terms.resume
    check_writable(call.op, "array", call.array, journal=True)
    if (job is not None or resume) and not has_journal(call.array):
        text = f"{call.op}: job and resume need a journal, which scatters keep only in local directories"
        raise OpValueError(text, op=call.op, input="job" if resume is None else "resume")
    budget, workers = call.budgets(terms.memory_limit, terms.workers)
    free = call.free_windows()
    touched = call.touched_bytes
    report = Report(
        f"{call.op} {_describe_options(call.operation)}",
        call.move.count,
        len(call.route.numbers) * len(free),
        call.grid.size,
        touched,
        touched,
    )
    if terms.dry_run:
        return replace(report, dry_run=True)
    done = moved = written = resumed = 0
    with open_writer(
        call.op, call.array, title(call), Job(lambda: digest(call, job), job, resume), terms.lock_timeout
    ) as writer:
        pieces = () if writer.skipped else _pieces(call, budget, free)
        with closing(
            map_in_threads(lambda piece: _scatter_block(call, writer, piece, terms.num_threads), pieces, workers)
        ) as applied:
            for size, was_done in applied:
                done, moved, resumed = done + 1, moved + size, resumed + was_done
                written += 0 if was_done else size
                progress(done, report.chunks, moved)
    if writer.skipped:
        return replace(report, resumed=report.chunks, bytes_read=0, bytes_written=0)
    return replace(report, bytes_written=written, resumed=resumed, snapshot=writer.snapshot)


def _pieces(call: StoredCall, budget: int, free: list[tuple[Shape, Window]]) -> Iterator[Piece]:
    for part in call.route.parts(budget):
        for numbers, window in free:
            block = call.join(part.block, numbers)
            yield Piece(block, call.window(part.block, window), part, window)


def _scatter_block(call: StoredCall, writer: Writer, piece: Piece, num_threads: int | None) -> tuple[int, bool]:
    """Write a block, unless that was done before. Return its number of bytes, and whether it was done."""
    before = np.asarray(call.array[piece.window])
    if writer.is_done(piece.block, before):
        return before.nbytes, True
    assert call.updates is not None
    where: Any = (*piece.part.positions, *piece.free)
    updates = call.put_box_first(call.updates)[where]
    operation = call.operation._replace(
        kernel=Kernel.SCATTER_UPDATE, axis=0, batch_dims=0, mode="raise", num_threads=num_threads
    )
    changed = convert.execute(operation, call.merge_axes(before), piece.part.rows, updates)
    after = call.split_axes(changed, before.shape)
    writer.write(piece.block, piece.window, before, after)
    return before.nbytes, False


def title(call: StoredCall) -> str:
    """Describe the call in a few words, for a journal or a history of commits."""
    return f"{call.op} {_describe_options(call.operation)} of {call.move.count} index tuples"


def _describe_options(operation: Operation) -> str:
    return operation.reduction + ("" if operation.include_self else ", include_self=False")


def digest(call: StoredCall, job: str | None = None) -> str:
    """Return the hash that identifies the job of a call. Equal calls with other names are other jobs."""
    assert call.updates is not None
    move, operation = call.move, call.operation
    named = tuple(axis.number for axis in move.named)
    rule = operation.mode, operation.negative
    effects = operation.reduction, operation.include_self, operation.accumulate
    facts = job, (call.axes, named, move.slots_axes), rule, effects, call.grid
    return job_digest(facts, call.indices, call.updates)
