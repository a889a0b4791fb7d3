"""Check contenders, choose the fastest way of each, and time all of them in turns."""

from __future__ import annotations

import gc
import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from time import perf_counter, sleep
from typing import Any

from gatherscatter.bench.case import Case, build
from gatherscatter.bench.contenders import OURS
from gatherscatter.bench.contenders.contender import Call, Contender
from gatherscatter.bench.reference import Reference
from gatherscatter.bench.workload import Workload

CHECKS = 3  # runs of a way that are compared; a race shows in one of them
_SHORT = 1e-3  # calls shorter than this are timed many at a time
_PAUSE = 0.005  # seconds; threads that still wait for work of the one before would take a core from the next
_FAR = 8.0  # who takes so many times as long as we do is checked twice and timed once


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int = 7  # at most
    least: int = 3
    seconds: float = 0.25  # per contender and workload


@dataclass
class Timing:
    """What one contender did with one workload."""

    contender: str
    state: str  # "ok", "wrong", "refused"
    way: str = ""
    note: str = ""
    samples: list[float] = field(default_factory=list)  # seconds per call

    @property
    def median(self) -> float:
        """The middle of the samples, in seconds."""
        return statistics.median(self.samples)

    @property
    def best(self) -> float:
        """The least of the samples, in seconds."""
        return min(self.samples)


@dataclass
class _Entry:
    contender: Contender
    timing: Timing
    call: Call | None = None
    estimate: float = 0.0
    repeats: int = 1
    spent: float = 0.0
    far: bool = False


def measure(workload: Workload, contenders: Sequence[Contender], effort: Effort, seed: int = 0) -> list[Timing]:
    """Build the workload, check every contender, and time those that are right."""
    case = build(workload, seed)
    reference = Reference(case)
    entries: list[_Entry] = []
    for contender in contenders:  # ours is the first
        entries.append(_choose(contender, case, reference, entries[0].estimate if entries else 0.0))
    del reference
    gc.collect()
    gc.disable()
    try:
        _take_turns([entry for entry in entries if entry.call], effort)
    finally:
        gc.enable()
    return [entry.timing for entry in entries]


def _choose(contender: Contender, case: Case, reference: Reference, ours: float) -> _Entry:
    """The fastest way of a contender that is right."""
    entry = _Entry(contender, Timing(contender.name, "refused"))
    accept = reference.same_bits if contender.name.startswith(OURS) else reference.accepts
    try:
        ways = dict(contender.calls(case))
    except Exception as error:  # whatever a library raises for what it can't do
        entry.timing.note = _first_line(error)
        return entry
    for way in list(ways):
        call = ways.pop(way)  # its arrays go when it is not chosen
        contender.prepare()
        try:
            fault, seconds = _try(call, accept, _FAR * ours if ours else float("inf"))
        except Exception as error:
            entry.timing.note = entry.timing.note or f"{way}: {_first_line(error)}"
            continue
        if fault and entry.call is None:
            entry.timing.state, entry.timing.note = "wrong", f"{way}: {fault}"
        if not fault and (entry.call is None or seconds < entry.estimate):
            entry.call = call
            entry.estimate, entry.timing.way = seconds, way
            entry.timing.state, entry.timing.note = "ok", ""
    entry.repeats = max(1, round(_SHORT / max(entry.estimate, 1e-8))) if entry.estimate < _SHORT else 1
    entry.far = bool(ours) and entry.estimate > _FAR * ours
    return entry


def _try(call: Call, accept: Callable[[Any], bool], far: float) -> tuple[str, float]:
    """What is wrong with a way, and its seconds; one that is far behind after two runs is not run again."""
    seconds = float("inf")
    for number in range(CHECKS):
        call.reset()
        start = perf_counter()
        result = call.run()
        seconds = min(seconds, perf_counter() - start)
        if not accept(call.result(result)):
            return f"wrong result in run {number + 1} of {CHECKS}", seconds
        del result
        if number == 1 and seconds > max(far, _SHORT):
            return "", seconds
    call.reset()
    return "", seconds if seconds > 0.1 else _estimate(call)


def _estimate(call: Call) -> float:
    """Seconds of a call, once warm."""
    first = _time(call, 1)
    repeats = max(1, round(_SHORT / 4 / max(first, 1e-8)))
    return min(_time(call, repeats) for _ in range(3))


def _time(call: Call, repeats: int) -> float:
    run = call.run
    start = perf_counter()
    for _ in itertools.repeat(None, repeats):
        run()
    return (perf_counter() - start) / repeats


def _take_turns(entries: Sequence[_Entry], effort: Effort) -> None:
    """A B C B A C ..., so that nobody always follows the same one, whose threads may still be busy; whoever has used up
    the time allowed, or is far behind, sits out."""
    for number in range(effort.rounds):
        for entry in Random(number).sample(entries, len(entries)):
            if number >= effort.least and entry.spent >= effort.seconds:
                continue
            if number >= 1 and entry.far:
                continue
            assert entry.call is not None
            entry.contender.prepare()
            sleep(_PAUSE)
            seconds = _time(entry.call, entry.repeats)
            entry.timing.samples.append(seconds)
            entry.spent += seconds * entry.repeats


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip().splitlines()[0][:200]
