"""Check contenders, choose the fastest way of each, and time them alternately."""

from __future__ import annotations

import contextlib
import gc
import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from random import Random
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np

from benchmarks.case import BenchCase, build
from benchmarks.contenders.contender import Contender, TimedCall, find_calls
from benchmarks.contenders.ours import PackageContender
from benchmarks.reference import ModelReference, Reference, StatisticReference, make_reference
from benchmarks.results import AGAIN, OURS, Effort, Timing, compare, shorten
from benchmarks.workload import Workload
from benchmarks.workloads import published_models

LEAST_ROUNDS = 8  # fewer pairs can't give an interval of 99 %
_CHECKS = 3  # runs of a way that are compared, to find races
_SHORT = 1e-3  # shorter calls are timed in groups
_PAUSE = 0.0005  # seconds between two checks whether other threads still run; after long pauses, threads wake late
_PAUSES = 200  # at most; then the sample is taken anyway
_TASKS = Path("/proc/self/task")  # the threads of this process, on Linux
# Ratios of times
_SLOW = 4.0  # to gatherscatter: a slower way is not run again in the check
_COLD = 3.0  # of the first run to later ones, at most
_DROP_AT_ONCE = 2.0  # to the best peer: a peer that is slower in the check is not timed in rounds
_DROP_LATER = 1.3  # to the best peer: a peer that is slower after the first rounds is no longer timed
_FIRST_ROUNDS = 3


@dataclass
class _Entry:
    contender: Contender
    timing: Timing
    call: TimedCall | None = None
    estimate: float = float("inf")

    @property
    def ours(self) -> bool:
        return self.contender.name.startswith(OURS)

    @property
    def repeats(self) -> int:
        return max(1, round(_SHORT / max(self.estimate, 1e-8)))


def measure(workload: Workload, contenders: Sequence[Contender], effort: Effort) -> list[Timing]:
    """Build the workload, check every contender, and time those with correct results."""
    case = _build(workload)
    reference = make_reference(case)
    entries: list[_Entry] = []
    if workload.given:  # other libraries do not take part
        contenders = [contender for contender in contenders if isinstance(contender, PackageContender)]
    for contender in contenders:  # gatherscatter is the first
        entries.append(_choose(contender, case, reference, _SLOW * entries[0].estimate if entries else float("inf")))
    del reference
    gc.collect()
    gc.disable()
    try:
        _take_turns([entry for entry in entries if entry.call], effort, workload.id)
    finally:
        gc.enable()
    return [entry.timing for entry in entries]


def _build(workload: Workload) -> BenchCase:
    if not workload.is_model:
        return build(workload)
    return BenchCase(workload, np.empty(0), np.empty(0), None, run=published_models.make_run(workload))


def _choose(
    contender: Contender, case: BenchCase, reference: Reference | ModelReference | StatisticReference, slow: float
) -> _Entry:
    """Return the fastest correct way of a contender. Ways that take longer than ``slow`` have fewer runs."""
    entry = _Entry(contender, Timing(contender.name, "refused"))
    accept: Callable[[Any], bool] = reference.accepts
    if entry.ours and isinstance(reference, Reference):
        accept = reference.same_bits
    try:
        ways = dict(find_calls(contender, case))
    except Exception as error:  # any error that a library raises for unsupported calls
        entry.timing.note = _first_line(error)
        return entry
    for way in list(ways):
        call = ways.pop(way)  # frees its arrays unless it is chosen
        contender.prepare()
        try:
            fault, seconds = _check_call(call, accept, min(2 * entry.estimate, slow))
        except Exception as error:
            entry.timing.note = entry.timing.note or f"{way}: {_first_line(error)}"
            continue
        if fault and entry.call is None:
            entry.timing.state, entry.timing.note = "wrong", f"{way}: {fault}"
        if not fault and seconds < entry.estimate:
            entry.call, entry.estimate = call, seconds
            entry.timing.way, entry.timing.state, entry.timing.note = way, "ok", ""
    return entry


def _check_call(call: TimedCall, accept: Callable[[Any], bool], slow: float) -> tuple[str, float]:
    """Return the fault of a way, and its seconds. A way that takes longer than ``slow`` has fewer runs."""
    seconds = float("inf")
    if call.compiles:
        call.run()
    for number in range(_CHECKS):
        call.reset()
        start = perf_counter()
        result = call.run()
        seconds = min(seconds, perf_counter() - start)
        if not accept(call.result(result)):
            return f"wrong result in run {number + 1} of {_CHECKS}", seconds
        del result
        if seconds > max(slow, 20 * _SHORT) * (_COLD if number == 0 else 1):
            break
    call.reset()
    return "", seconds if seconds > 20 * _SHORT else _estimate(call)


def _estimate(call: TimedCall) -> float:
    """Return the seconds of a warm call."""
    first = _time(call, 1)
    repeats = max(1, round(_SHORT / 4 / max(first, 1e-8)))
    return min(_time(call, repeats) for _ in range(3))


def _time(call: TimedCall, repeats: int) -> float:
    run = call.run
    start = perf_counter()
    for _ in itertools.repeat(None, repeats):
        run()
    return (perf_counter() - start) / repeats


def _take_turns(entries: Sequence[_Entry], effort: Effort, seed: str) -> None:
    """Time each contender once per round, until the ratio to the best peer is known precisely enough.

    Peers that are clearly slower than the best one are timed only in the first rounds, or have only the sample of the
    check.
    """
    ours = [entry for entry in entries if entry.ours]
    peers = [entry for entry in entries if not entry.ours]
    least = min((peer.estimate for peer in peers), default=0.0)
    for peer in peers:
        if peer.estimate > _DROP_AT_ONCE * least:
            peer.timing.samples.append(shorten(peer.estimate))
    peers = [peer for peer in peers if not peer.timing.samples]
    start = perf_counter()
    for number in range(effort.rounds):
        for entry in _order([*ours, *peers], seed, number):
            assert entry.call is not None
            entry.contender.prepare()
            _wait_until_idle()
            entry.timing.samples.append(shorten(_time(entry.call, entry.repeats)))
        if number + 1 == _FIRST_ROUNDS:
            best = min((peer.timing.best for peer in peers), default=0.0)
            peers = [peer for peer in peers if peer.timing.best <= _DROP_LATER * best]
        if number + 1 >= LEAST_ROUNDS and (_is_narrow(ours, peers, effort) or perf_counter() - start > effort.seconds):
            return


def _order(entries: Sequence[_Entry], seed: str, number: int) -> list[_Entry]:
    """Return the order of a round: random for each pair of rounds, and reversed in the second of them."""
    order = Random(f"{seed} {number // 2}").sample(list(entries), len(entries))
    return order[::-1] if number % 2 else order


def _is_narrow(ours: Sequence[_Entry], peers: Sequence[_Entry], effort: Effort) -> bool:
    """Return whether the ratio is precise enough. Far from 1, a tenth of the distance is enough."""
    if not ours or not peers:
        return True
    same = [entry.timing for entry in ours if entry.contender.name in (OURS, AGAIN)]
    best = min(peers, key=lambda peer: peer.timing.median)
    ratio = compare(best.timing, *same)
    return ratio is not None and ratio.width <= max(effort.precision, 0.1 * abs(log(ratio.value)))


def _wait_until_idle() -> None:
    """Wait until other threads of this process are asleep.

    The idle workers of some libraries spin for some time. They would take processor time from the next contender.
    """
    for _ in range(_PAUSES):
        before = process_time()
        sleep(_PAUSE)
        if _TASKS.exists():
            if not _is_any_running():
                return
        elif process_time() - before < _PAUSE / 4:
            return


def _is_any_running() -> bool:
    """Whether another thread runs. Its processor time would show this only after up to 4 ms."""
    own = str(threading.get_native_id())
    for task in _TASKS.iterdir():
        with contextlib.suppress(OSError):  # the thread has ended
            if task.name != own and (task / "stat").read_text().rpartition(")")[2].split()[0] == "R":
                return True
    return False


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip().splitlines()[0][:200]
