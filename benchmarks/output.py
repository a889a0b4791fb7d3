"""The benchmark on a terminal: its tables, and the progress of a run."""

from __future__ import annotations

import sys

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks import report
from benchmarks.results import Results, Row
from gatherscatter.cli.tables import print_fitted
from gatherscatter.cli.terminal import say
from gatherscatter.messages.text import seconds_text
from gatherscatter.system.progress import Bar


def show(results: Results, console: Console) -> None:
    """Print the report. The summary is last, where it is visible."""
    last = (report.spatter(results), report.behind(results), report.summary(results))
    for section in (report.machine(results), *report.groups(results), *last):
        if section:
            _print_section(section, console)


def _print_section(section: report.Section, console: Console) -> None:
    console.print(section.title, style="bold")
    for line in section.lines:
        say(line.replace("**", ""))
    if section.rows:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
        for header in section.head:
            table.add_column(header, justify="left" if header in report.TEXT_COLUMNS else "right")
        for row in section.rows:
            table.add_row(*row, style="red" if "behind" in row else None)
        print_fitted(console, table)
    console.print()


class StepProgress(Bar):
    """Progress before the first workload: a bar on a terminal, otherwise one line for each step."""

    def __init__(self) -> None:
        super().__init__(redraws=False)

    def show_step(self, text: str) -> None:
        """Show the next step."""
        self.update(description=text)
        if not self.shown:
            print(text, file=sys.stderr, flush=True)


class BenchProgress(Bar):
    """Progress of the workloads, with the time left: a bar on a terminal, otherwise one line for each workload."""

    def __init__(self, total: int, done: int = 0) -> None:
        super().__init__(total, done=done, redraws=False)
        self._total, self._before, self._done = total, done, done
        self._last = ""

    def show_step(self, text: str) -> None:
        """Show the next step."""
        self.update(description=f"{text}{self._last}", completed=self._done, note=f"{self._done}/{self._total}")

    def done(self, row: Row) -> None:
        """Count a finished workload."""
        self._done += 1
        seconds = round(self.seconds_left(self._done - self._before, self._total - self._before) or 0)
        result, left = _result(row), f"{seconds // 60}:{seconds % 60:02} left"
        self._last = f" (last: {result}; {left})"
        if not self.shown:
            width = len(str(self._total))
            line = f"[{self._done:{width}}/{self._total}] {row.workload.id}: {result}; {row.seconds:.1f} s, {left}"
            print(line, file=sys.stderr, flush=True)


def _result(row: Row) -> str:
    if row.ours is None:
        return row.fault
    ours = f"ours {seconds_text(row.ours)}"
    if row.theirs is None:
        return ours
    return f"{ours}, {row.peer} {seconds_text(row.theirs)}, ratio {report.interval_text(row.ratio)}"
