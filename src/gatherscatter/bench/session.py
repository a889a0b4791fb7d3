"""A run of the benchmark: limits, then one workload after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from gatherscatter.bench.bound import bound
from gatherscatter.bench.contenders import contenders
from gatherscatter.bench.contenders.contender import Contender
from gatherscatter.bench.limits import SIZES, measure_limits
from gatherscatter.bench.machine import OthersClock, facts
from gatherscatter.bench.measure import Effort, measure
from gatherscatter.bench.results import Results, Row
from gatherscatter.bench.workload import Workload

QUICK = Effort(rounds=5, least=2, seconds=0.15)
_QUICK_LIMIT = SIZES[-2]


def benchmark(
    workloads: Sequence[Workload],
    *,
    peers: Sequence[str] | None = None,
    threads: int | None = None,
    effort: Effort | None = None,
    seed: int = 0,
    extra: Sequence[Contender] = (),
    report: Callable[[str], None] = lambda text: None,
    done: Callable[[Row], None] = lambda row: None,
) -> Results:
    """Measure workloads with all contenders.

    Parameters
    ----------
    workloads : the rows to run
    peers : names of those to compare with; absent: all that are installed
    threads : as many for everybody; absent: one per core
    effort : how long to measure
    seed : of the random arrays
    extra : contenders to add
    report : told what is going on, before each step
    done : told each row when it is there
    """
    threads = threads or os.cpu_count() or 1
    effort = effort or Effort()
    everybody = [*contenders(peers, threads), *extra]
    machine, others = facts(everybody, threads), OthersClock()
    limits = measure_limits(threads, report, _QUICK_LIMIT if effort == QUICK else SIZES[-1])
    results = Results(machine, effort, limits)
    for workload in workloads:
        report(workload.id)
        row = Row(workload, measure(workload, everybody, effort, seed), bound(workload, limits))
        results.rows.append(row)
        done(row)
    machine["others"] = others.cores()
    return results
