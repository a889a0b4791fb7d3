"""Run cases on runtimes: every case in a worker process, and every departure again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from time import perf_counter

from gatherscatter.system.extras import check_installed
from gatherscatter_conformance import TIMEOUT
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.observations import Crashed, Hung, Observation, Returned, Runs
from gatherscatter_conformance.process import Worker
from gatherscatter_conformance.report import ConformReport, RuntimeInfo
from gatherscatter_conformance.runtimes import find, installed
from gatherscatter_conformance.verdicts import Judgement, judge

FILLS = (0xA5, 0x5C)
TIMES = {"repeated": 2, "many updates": 20}  # runs of cases in which threads may race
AGAIN = 2  # runs of a departing case in each worker
ALONE = 5  # runs of a suspect in a separate worker
CONFIRMATION = 2.0  # seconds for the second try of a case that exceeded the time limit
MOST_SUSPECTS = 40  # accepted bad calls before a worker is replaced

Progress = Callable[[str, Case, Judgement], None]
Starting = Callable[[str, Case], None]


def conform(
    runtimes: Sequence[str] | None,
    cases: Sequence[Case],
    *,
    timeout: float = TIMEOUT,
    jobs: int = 1,
    progress: Progress | None = None,
    starting: Starting | None = None,
    report: ConformReport | None = None,
    known: Mapping[str, Collection[str]] | None = None,
) -> ConformReport:
    """Run cases on runtimes.

    Parameters
    ----------
    runtimes : names (see `gatherscatter_conformance.runtimes`); None: all that are installed
    cases : usually of `gatherscatter_conformance.corpus.cases`
    timeout : time limit of a case, in seconds
    jobs : number of runtimes to run in parallel
    progress : called with the runtime's name, the case and its judgement, from several threads if ``jobs`` > 1
    starting : called with the runtime's name and the case before a case runs, from several threads if ``jobs`` > 1
    report : the report to fill as results arrive, so that results are kept after an interruption; default: a new one
    known : for each runtime, the ids of cases to skip

    Returns
    -------
    Report

    Raises
    ------
    LookupError
        There is no such runtime.
    ImportError
        The runtime's package is not installed.

    >>> from gatherscatter_conformance import corpus
    >>> from gatherscatter_conformance.run import conform
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
    # Calls that must be refused come last, so legal calls are not blamed for the damage that these do to a worker.
    ordered = sorted(cases, key=lambda case: case.expected is None)
    stop = threading.Event()

    def one(name: str) -> None:
        start = perf_counter()
        asked = [case for case in ordered if case.id not in (known or {}).get(name, ())]
        try:
            with Examiner(name, timeout, stop) as examiner:
                for case in asked:
                    if starting is not None:
                        starting(name, case)
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
    """Raise ImportError, with the package to install, if the package of a runtime is missing."""
    check_installed(f"runtime {name}", find(name).modules)


class Examiner:
    """Runs cases on one runtime, one after the other, in workers that it replaces when they end.

    There are two workers, which fill unused memory with different bytes. The second runs departing cases only.
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
        """Yield the judgement of a case. Yield other cases again if they turn out to have broken a worker."""
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
        hung = [each for each in ended if isinstance(each.seen[-1], Hung)]
        judgement = self.alone(case, min(self._timeout, CONFIRMATION) if hung else self._timeout)
        if judgement.verdict == "hangs" and hung:
            yield case, judge(case, hung)  # `hung` has the time limit of the first run
        elif judgement.verdict in ("crashes", "hangs"):
            yield case, judgement
        elif not suspects and isinstance(ended[0].seen[-1], Crashed):  # no other case ran in this worker
            yield case, judge(case, ended)
        else:
            yield case, judgement
            yield from self._find_culprits(suspects)

    def alone(self, case: Case, timeout: float) -> Judgement:
        """Return the judgement of a case in workers that have run no other case."""
        runs = []
        for fill in FILLS:
            worker = Worker(self._runtime, fill, self._stop)
            try:
                seen = worker.ask(case, ALONE, timeout)
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
        """Remember cases that may have broken a worker, because the damage may show only later."""
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
        """Yield the suspects that end a process on their own."""
        for case in dict.fromkeys(suspects):
            judgement = self.alone(case, self._timeout)
            if judgement.verdict == "crashes":
                yield case, judgement


def _has_ended(seen: Sequence[Observation]) -> bool:
    return isinstance(seen[-1], Crashed | Hung)
