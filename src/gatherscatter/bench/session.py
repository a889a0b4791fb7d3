"""A run of the benchmark: limits of the machine, then one workload after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from gatherscatter.bench import commits
from gatherscatter.bench.bound import compute_bound
from gatherscatter.bench.contenders import AGAIN, PEERS, make_contenders
from gatherscatter.bench.contenders.contender import Contender
from gatherscatter.bench.contenders.ours import Ours
from gatherscatter.bench.limits import SIZES, measure_limits
from gatherscatter.bench.measure import Effort, measure
from gatherscatter.bench.results import Results, Row, RunPlan
from gatherscatter.bench.workload import Workload
from gatherscatter.bench.workloads import select_by_id
from gatherscatter.machine import OthersClock, facts

QUICK = Effort(rounds=20, seconds=0.8, precision=0.05)
_LEAST_LIMIT = 1 << 22  # bytes
_MUST_AGREE = ("cpu", "cores", "system", "python", "core", "versions")  # facts of a machine, to go on with a run


def start(
    workloads: Sequence[Workload],
    *,
    peers: Sequence[str] | None = None,
    threads: int | None = None,
    effort: Effort | None = None,
    seed: int = 0,
    commit: str = "",
    report: Callable[[str], None] = lambda text: None,
) -> tuple[Results, list[Contender]]:
    """Measure the machine's limits; give results without rows yet, and those who take part.

    Parameters
    ----------
    workloads : the rows to run
    peers : names of those to compare with; absent: all that are installed
    threads : as many for everybody; absent: one per core
    effort : how long to measure
    seed : of the random arrays
    commit : the hash of an earlier commit of ours to compare with, in place of peers
    report : told what is going on, before each step
    """
    threads = threads or os.cpu_count() or 1
    effort = effort or Effort()
    everybody = [] if commit else make_contenders(peers, threads, report)
    largest = max(_LEAST_LIMIT, *(workload.data_bytes for workload in workloads))
    limits = measure_limits(threads, report, next((size for size in SIZES if size >= largest), SIZES[-1]))
    if commit:
        report(f"building commit {commit}")
        everybody = _load_with_commit(commit, threads)
    machine = facts({one.name: one.version() for one in everybody}, threads)
    names = tuple(one.name for one in everybody if one.name in PEERS)
    ids = tuple(workload.id for workload in workloads)
    return Results(RunPlan(ids, names, threads, effort, seed, commit), machine, limits), everybody


def resume(results: Results) -> list[Contender]:
    """Those who take part in a run that goes on.

    Raises
    ------
    ValueError
        The machine, the compiled core or the version of a contender is another than before.
    """
    plan = results.plan
    everybody = (
        _load_with_commit(plan.commit, plan.threads) if plan.commit else make_contenders(plan.peers, plan.threads)
    )
    now = facts({one.name: one.version() for one in everybody}, plan.threads)
    changed = [_change(name, results.machine.get(name), now[name]) for name in _MUST_AGREE]
    if differences := ", ".join(text for text in changed if text):
        raise ValueError(f"these results can't be completed here, since this has changed: {differences}; start again")
    return everybody


def _load_with_commit(commit: str, threads: int) -> list[Contender]:
    """The contenders of a run that compares with an earlier commit: each a package of its own."""
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
    """Measure what is missing.

    Parameters
    ----------
    results : rows are added to it; they are in it when Ctrl-C ends the run
    everybody : those who take part
    report : told what is going on, before each step
    done : told each row when it is there
    """
    plan = results.plan
    try:
        for workload in select_by_id(results.missing):
            report(workload.id)
            others, begun = OthersClock(), perf_counter()
            timings = measure(workload, everybody, plan.effort, plan.seed)
            commits.CURRENT.activate()
            seconds, load = perf_counter() - begun, others.cores()
            row = Row(workload, timings, compute_bound(workload, results.limits), seconds, load)
            results.rows.append(row)
            done(row)
    finally:
        commits.CURRENT.activate()
