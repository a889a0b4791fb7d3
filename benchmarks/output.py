"""The benchmark on a terminal: its tables, and the progress of a run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.result_text import TEXT_COLUMNS, cells, headers, heading, interval_text, summary
from benchmarks.results import Results, Row
from gatherscatter.cli.tables import print_fitted
from gatherscatter.cli.terminal import say
from gatherscatter.progress import Bar
from gatherscatter.text import seconds_text


def show(results: Results, console: Console) -> None:
    """Print the machine, one table for each group, and the summary."""
    for line in heading(results):
        say(line)
    for group, rows in groupby(results.rows, key=lambda row: row.workload.group):
        console.print()
        console.print(group, style="bold")
        print_fitted(console, _table(results, rows))
    console.print()
    for line in summary(results):
        say(line)


def _table(results: Results, rows: Iterable[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for header in headers(results):
        table.add_column(header, justify="left" if header in TEXT_COLUMNS else "right")
    for row in rows:
        table.add_row(*cells(results, row), style="red" if results.verdict(row) == "behind" else None)
    return table


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
    if not row.ours.samples:
        return row.ours.state
    ours = f"ours {seconds_text(row.ours.median)}"
    if not row.best or not row.compared:
        return ours
    return f"{ours}, {row.best.contender} {seconds_text(row.best.median)}, ratio {interval_text(row.compared)}"
