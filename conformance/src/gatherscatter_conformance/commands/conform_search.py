"""``gatherscatter conform --search``: test random calls instead of the corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import click

from gatherscatter.cli.terminal import say
from gatherscatter.messages.text import count_text
from gatherscatter.pages.palette import Marked
from gatherscatter.system.progress import NodeProgress

if TYPE_CHECKING:
    from gatherscatter_conformance.case import Case
    from gatherscatter_conformance.report import ConformReport
    from gatherscatter_conformance.verdicts import Judgement


def search_all(names: Sequence[str], minutes: float, ops: Sequence[str], timeout: float, report: ConformReport) -> None:
    """Search each runtime for this number of minutes. Print and report each departure as soon as it is found."""
    from gatherscatter_conformance.report import RuntimeInfo
    from gatherscatter_conformance.report_page import find_look
    from gatherscatter_conformance.run import check_runtime
    from gatherscatter_conformance.runtimes import find
    from gatherscatter_conformance.search import search

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
                verdict = Marked(judgement.verdict, find_look(judgement.verdict))
                say(f"{name}  ", verdict, f"  {case.id}  {judgement.message[:120]}")
        report.runtimes[name] = replace(info, seconds=perf_counter() - start)
        found = count_text(len(report.results[name]), "kind")
        click.echo(f"{name}: {count_text(counted.calls, 'call')}, {found} of departures\n")
    report.complete = True


class _CallCounter:
    """Counts the calls and shows their number."""

    def __init__(self, progress: NodeProgress) -> None:
        self.calls = 0
        self._progress = progress

    def __call__(self, runtime: str, case: Case, judgement: Judgement) -> None:
        self.calls += 1
        self._progress(f"{runtime}: {count_text(self.calls, 'call')}")
