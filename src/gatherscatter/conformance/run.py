"""Running cases on runtimes: every case in a worker process, and every departure looked at twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from time import perf_counter

from gatherscatter.conformance import TIMEOUT
from gatherscatter.conformance.case import Case
from gatherscatter.conformance.observations import Crashed, Hung, Observation, Returned, Runs
from gatherscatter.conformance.process import Worker
from gatherscatter.conformance.report import ConformReport, RuntimeInfo
from gatherscatter.conformance.runtimes import find, installed
from gatherscatter.conformance.verdicts import Judgement, judge
from gatherscatter.extras import check_installed

FILLS = (0xA5, 0x5C)
TIMES = {"repeated": 2, "many updates": 20}  # where threads may race
AGAIN = 2  # runs in each worker of what departs
ALONE = 5  # runs in a worker of its own of what may have ended one
MOST_SUSPECTS = 40  # accepted bad calls before a worker is replaced

Progress = Callable[[str, Case, Judgement], None]


def conform(
    runtimes: Sequence[str] | None,
    cases: Sequence[Case],
    *,
    timeout: float = TIMEOUT,
    jobs: int = 1,
    progress: Progress | None = None,
    report: ConformReport | None = None,
    known: Mapping[str, Collection[str]] | None = None,
) -> ConformReport:
    """Run cases on runtimes.

    Parameters
    ----------
    runtimes : names (see `gatherscatter.conformance.runtimes`); None: all that are installed
    cases : usually of `gatherscatter.conformance.corpus.cases`
    timeout : seconds that a case may take
    jobs : runtimes that are run at a time
    progress : called with the runtime's name, the case and what it came to, from several threads if ``jobs`` > 1
    report : filled as results come in, so that it holds what there is after an interruption; absent: a new one
    known : by runtime, the ids of cases that are not asked again

    Returns
    -------
    Report

    Raises
    ------
    LookupError
        There is no such runtime.
    ImportError
        The runtime's package is not installed.

    >>> from gatherscatter.conformance import corpus
    >>> from gatherscatter.conformance.run import conform
    >>> report = conform(["numpy"], corpus.cases("onnx/Gather-13/int64/none/plain/*"))
    >>> {judgement.verdict for judgement in report.results["numpy"].values()}
    {'pass'}
    """
    names = installed() if runtimes is None else list(dict.fromkeys(runtimes))
    report = ConformReport() if report is None else report
    for name in names:
        check_runtime(name)
        report.runtimes[name] = RuntimeInfo.of(find(name), name)
        report.results[name] = {}
    report.add_cases(cases)
    # Calls that must be refused come last: what one of them does to a worker can't be blamed on a legal one.
    ordered = sorted(cases, key=lambda case: case.expected is None)
    stop = threading.Event()

    def one(name: str) -> None:
        start = perf_counter()
        asked = [case for case in ordered if case.id not in (known or {}).get(name, ())]
        try:
            with Examiner(name, timeout, stop) as examiner:
                for case in asked:
                    for examined, judgement in examiner.examine(case):
                        report.results[name][examined.id] = judgement
                    if progress is not None:
                        progress(name, case, report.results[name][case.id])
        finally:
            report.runtimes[name] = replace(report.runtimes[name], seconds=perf_counter() - start)

    if jobs == 1:
        for name in names:
            one(name)
    else:
        with ThreadPoolExecutor(jobs) as pool:
            try:
                for future in [pool.submit(one, name) for name in names]:
                    future.result()
            except BaseException:  # Ctrl-C, or a runtime that can't be started
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise
    report.complete = True
    return report


def check_runtime(name: str) -> None:
    """Raise ImportError, and say what to install, if a runtime's package is not there."""
    check_installed(f"runtime {name}", find(name).modules)


class Examiner:
    """Runs cases on one runtime, one after the other, in workers that it replaces when they end.

    There are two workers, in which unused memory is filled differently; the second is asked about departures only.
    """

    def __init__(self, runtime: str, timeout: float, stop: threading.Event | None = None) -> None:
        self._runtime = runtime
        self._timeout = timeout
        self._stop = stop or threading.Event()
        self._workers: dict[int, Worker] = {}
        self._suspects: dict[int, list[Case]] = {fill: [] for fill in FILLS}

    def __enter__(self) -> Examiner:
        return self

    def __exit__(self, *unused: object) -> None:
        for worker in self._workers.values():
            worker.kill()
        self._workers.clear()

    def examine(self, case: Case) -> Iterator[tuple[Case, Judgement]]:
        """What a case comes to; and other cases again, if it turns out that they broke a worker."""
        times = TIMES.get(case.kind, 1)
        runs = [Runs(FILLS[0], self._ask(FILLS[0], case, times))]
        if isinstance(runs[0].seen[0], Returned) and judge(case, runs).verdict != "pass":
            again = self._ask(FILLS[0], case, AGAIN - times) if times < AGAIN else ()
            runs = [Runs(FILLS[0], runs[0].seen + again), Runs(FILLS[1], self._ask(FILLS[1], case, max(AGAIN, times)))]
        ended = [each for each in runs if _has_ended(each.seen)]
        if not ended:
            judgement = judge(case, runs)
            self._note(case, judgement)
            yield case, judgement
            yield from self._replace_dubious()
            return
        suspects = [one for each in ended for one in self._suspects[each.fill]]
        for each in ended:
            self._suspects[each.fill] = []
        judgement = self.alone(case)
        if judgement.verdict in ("crashes", "hangs"):
            yield case, judgement
        elif not suspects and isinstance(ended[0].seen[-1], Crashed):  # who else
            yield case, judge(case, ended)
        else:
            yield case, judgement
            yield from self._find_culprits(suspects)

    def alone(self, case: Case) -> Judgement:
        """What a case comes to in workers that have run nothing else."""
        runs = []
        for fill in FILLS:
            worker = Worker(self._runtime, fill, self._stop)
            try:
                seen = worker.ask(case, ALONE, self._timeout)
                if not _has_ended(seen):
                    how = worker.close()
                    seen = (Crashed(f"at its end: {how}"),) if how else seen
            finally:
                worker.kill()
            runs.append(Runs(fill, seen))
            if _has_ended(seen):
                break
        return judge(case, runs)

    def _ask(self, fill: int, case: Case, times: int) -> tuple[Observation, ...]:
        worker = self._workers.get(fill)
        if worker is None or not worker.alive:
            worker = self._workers[fill] = Worker(self._runtime, fill, self._stop)
        return worker.ask(case, times, self._timeout)

    def _note(self, case: Case, judgement: Judgement) -> None:
        """Remember what may have broken a worker, which may show later only."""
        if judgement.verdict == "out-of-bounds memory" or (case.expected is None and judgement.got is not None):
            for fill in self._workers:
                self._suspects[fill].append(case)

    def _replace_dubious(self) -> Iterator[tuple[Case, Judgement]]:
        for fill, suspects in self._suspects.items():
            if len(suspects) >= MOST_SUSPECTS:
                self._suspects[fill] = []
                if self._workers.pop(fill).close():
                    yield from self._find_culprits(suspects)

    def _find_culprits(self, suspects: Sequence[Case]) -> Iterator[tuple[Case, Judgement]]:
        """Those of the suspects that end a process by themselves."""
        for case in dict.fromkeys(suspects):
            judgement = self.alone(case)
            if judgement.verdict == "crashes":
                yield case, judgement


def _has_ended(seen: Sequence[Observation]) -> bool:
    return isinstance(seen[-1], Crashed | Hung)
