"""``gatherscatter conform --search``: random calls in place of the corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import click

from gatherscatter.progress import NodeProgress
from gatherscatter.text import printable

if TYPE_CHECKING:
    from gatherscatter.conformance.case import Case
    from gatherscatter.conformance.report import ConformReport
    from gatherscatter.conformance.verdicts import Judgement


def search_all(names: Sequence[str], minutes: float, ops: Sequence[str], timeout: float, report: ConformReport) -> None:
    """Search each runtime for so many minutes; print and report what is found as it is found."""
    from gatherscatter.conformance.report import RuntimeInfo
    from gatherscatter.conformance.run import check_runtime
    from gatherscatter.conformance.runtimes import find
    from gatherscatter.conformance.search import search

    for name in names:
        check_runtime(name)
    for name in names:
        info, start = RuntimeInfo.of(find(name), name), perf_counter()
        report.runtimes[name], report.results[name] = info, {}
        with NodeProgress(0) as progress:
            counted = _CallCounter(progress)
            for case, judgement in search(name, minutes, counted, ops=ops, timeout=timeout):
                report.add_cases([case])
                report.results[name][case.id] = judgement
                click.echo(f"{name}  {judgement.verdict}  {case.id}  {printable(judgement.message)[:120]}")
        report.runtimes[name] = replace(info, seconds=perf_counter() - start)
        click.echo(f"{name}: {counted.calls} calls, {len(report.results[name])} kinds of departures\n")
    report.complete = True


class _CallCounter:
    """Says how many calls there were."""

    def __init__(self, progress: NodeProgress) -> None:
        self.calls = 0
        self._progress = progress

    def __call__(self, runtime: str, case: Case, judgement: Judgement) -> None:
        self.calls += 1
        self._progress(f"{runtime}: {self.calls} calls")
