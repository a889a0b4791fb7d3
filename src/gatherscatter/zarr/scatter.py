"""Scatters into a stored array, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gatherscatter import _arrays
from gatherscatter.errors import OpTypeError, OpValueError
from gatherscatter.zarr.blocks import Part, Window, free_windows, join
from gatherscatter.zarr.call import Call, Terms
from gatherscatter.zarr.journal import job_digest
from gatherscatter.zarr.report import Progress, Report
from gatherscatter.zarr.stores import check_writable, has_journal
from gatherscatter.zarr.tuples import Shape
from gatherscatter.zarr.workers import in_threads
from gatherscatter.zarr.writers import Job, Writer, writing


class Piece(NamedTuple):
    """The updates of one block."""

    block: Shape
    window: Window
    part: Part
    free: Window


def scatter(
    call: Call, terms: Terms, progress: Progress, *, dry_run: bool, job: str | None, resume: bool | None
) -> Report:
    """Carry out a checked call in place."""
    check_writable(call.op, "array", call.array, journal=True)
    if job is not None and not isinstance(job, str):
        raise OpTypeError(f"{call.op}: job must be a string, not {job!r}", op=call.op, input="job")
    if (job is not None or resume) and not has_journal(call.array):
        text = f"{call.op}: job and resume need the journal that scatters keep in local directories alone"
        raise OpValueError(text, op=call.op, input="job" if resume is None else "resume")
    budget, workers = call.budgets(terms.memory_limit, terms.workers)
    free = free_windows(call.grid, call.free, call.free_ranges)
    touched = call.touched_bytes
    report = Report(
        f"{call.op} {call.options}",
        call.tuples.count,
        len(call.route.numbers) * len(free),
        call.grid.size,
        touched,
        touched,
    )
    if dry_run:
        return replace(report, dry_run=True)
    done = moved = written = resumed = 0
    with writing(
        call.op, call.array, title(call), Job(lambda: digest(call), job, resume), terms.lock_timeout
    ) as writer:
        pieces = () if writer.skipped else _pieces(call, budget, free)
        with closing(
            in_threads(lambda piece: _apply(call, writer, piece, terms.num_threads), pieces, workers)
        ) as applied:
            for size, was_done in applied:
                done, moved, resumed = done + 1, moved + size, resumed + was_done
                written += 0 if was_done else size
                progress(done, report.chunks, moved)
    if writer.skipped:
        return replace(report, resumed=report.chunks, bytes_read=0, bytes_written=0)
    return replace(report, bytes_written=written, resumed=resumed, snapshot=writer.snapshot)


def _pieces(call: Call, budget: int, free: list[tuple[Shape, Window]]) -> Iterator[Piece]:
    for part in call.route.parts(budget):
        for numbers, window in free:
            block = join(call.tuples.axes, part.block, call.free, numbers)
            yield Piece(block, call.window(part.block, window), part, window)


def _apply(call: Call, writer: Writer, piece: Piece, num_threads: int | None) -> tuple[int, bool]:
    """Write a block, unless that was done before: how many bytes it has, and whether it was."""
    before = np.asarray(call.array[piece.window])
    if writer.is_done(piece.block, before):
        return before.nbytes, True
    assert call.updates is not None
    axes = call.tuples.axes
    updates = call.tuples.in_front(call.updates)[(*call.tuples.at(piece.part.positions), *piece.free)]
    changed = _arrays.execute(
        call.op,
        "scatter_nd",
        np.moveaxis(before, axes, range(len(axes))),
        piece.part.places,
        updates,
        num_threads=num_threads,
        **vars(call.options),
    )
    after = np.moveaxis(changed, range(len(axes)), axes)
    writer.write(piece.block, piece.window, before, after)
    return before.nbytes, False


def title(call: Call) -> str:
    """The call in a few words, for people who find it in a journal or in a history of commits."""
    return f"{call.op} {call.options} of {call.tuples.count} index tuples"


def digest(call: Call) -> str:
    """What makes a call the same job."""
    assert call.updates is not None
    where = call.tuples.axes, call.tuples.given_axes, call.tuples.slots_axes
    facts = where, call.tuples.mode, call.tuples.negative, call.options, call.grid
    return job_digest(facts, call.indices, call.updates)
