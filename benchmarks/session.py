"""A benchmark run: the limits of the machine, then one workload after another."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from benchmarks import commits
from benchmarks.bound import compute_bound
from benchmarks.contenders import PEERS, make_contenders
from benchmarks.contenders.contender import Contender
from benchmarks.contenders.ours import Ours
from benchmarks.limits import SIZES, measure_limits
from benchmarks.measure import measure
from benchmarks.results import AGAIN, Effort, Results, Row, RunPlan, make_row
from benchmarks.workload import Workload
from benchmarks.workloads import select_by_id
from gatherscatter.system.machine import OthersClock, facts

QUICK = Effort(rounds=20, seconds=0.8, precision=0.05)
_LEAST_LIMIT = 1 << 22  # bytes
_MUST_AGREE = ("cpu", "cores", "system", "python", "core", "versions")  # facts, unchanged when a run is resumed


def start(
    workloads: Sequence[Workload],
    *,
    peers: Sequence[str] | None = None,
    threads: int | None = None,
    effort: Effort | None = None,
    commit: str = "",
    report: Callable[[str], None] = lambda text: None,
) -> tuple[Results, list[Contender]]:
    """Measure the limits of the machine, and return results without rows and the contenders.

    Parameters
    ----------
    workloads : the rows to run
    peers : names of the peers; None: all that are installed
    threads : the number of threads of each contender; None: one per core
    effort : how long to measure
    commit : the hash of an earlier commit of gatherscatter to compare with, instead of peers
    report : called with a text before each step
    """
    threads = threads or os.cpu_count() or 1
    effort = effort or Effort()
    everybody = [] if commit else make_contenders(peers, threads, report)
    largest = max(_LEAST_LIMIT, *(one.data_bytes for one in workloads))
    limits = measure_limits(threads, report, next((size for size in SIZES if size >= largest), SIZES[-1]))
    if commit:
        report(f"building commit {commit}")
        everybody = _load_with_commit(commit, threads)
    machine = facts({one.name: one.version() for one in everybody}, threads)
    names = tuple(one.name for one in everybody if one.name in PEERS)
    missing = [workload.id for workload in workloads]
    return Results(RunPlan(names, threads, effort, commit), machine, limits, missing), everybody


def resume(results: Results) -> list[Contender]:
    """Return the contenders of a run that is resumed.

    Raises
    ------
    ValueError
        The machine, the compiled core or the version of a contender has changed.
    """
    plan = results.plan
    if plan.commit:
        everybody = _load_with_commit(plan.commit, plan.threads)
    else:
        everybody = make_contenders(plan.peers, plan.threads)
    now = facts({one.name: one.version() for one in everybody}, plan.threads)
    changed = [_change(name, results.machine.get(name), now[name]) for name in _MUST_AGREE]
    if differences := ", ".join(text for text in changed if text):
        raise ValueError(f"these results can't be completed here: {differences}; start a new run")
    return everybody


def _load_with_commit(commit: str, threads: int) -> list[Contender]:
    """Return the contenders of a run that compares with an earlier commit, each in a separate package."""
    earlier = Ours(threads, name=commit, package=commits.load(commits.build(commit)))
    return [Ours(threads), Ours(threads, name=AGAIN, package=commits.duplicate()), earlier]


def _change(name: str, before: Any, now: Any) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        both = sorted(before.keys() | now.keys())
        return ", ".join(text for key in both if (text := _change(key, before.get(key), now.get(key))))
    return "" if before == now else f"{name} ({before} before, {now} now)"


def measure_missing(
    results: Results,
    everybody: Sequence[Contender],
    *,
    report: Callable[[str], None] = lambda text: None,
    done: Callable[[Row], None] = lambda row: None,
) -> None:
    """Measure the missing workloads.

    Parameters
    ----------
    results : rows are added to it one by one, so they are kept if Ctrl-C ends the run
    everybody : the contenders
    report : called with a text before each step
    done : called with each finished row
    """
    try:
        for workload in select_by_id(results.missing):
            report(workload.id)
            others, begun = OthersClock(), perf_counter()
            timings = measure(workload, everybody, results.plan.effort)
            commits.CURRENT.activate()
            seconds, load = perf_counter() - begun, others.cores()
            row = make_row(workload, timings, compute_bound(workload, results.limits), seconds, load or 0.0)
            results.add(row)
            done(row)
    finally:
        commits.CURRENT.activate()
