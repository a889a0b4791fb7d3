"""A progress bar on stderr, if that is a terminal."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gatherscatter.bench.results import Row
from gatherscatter.bench.terminal import ratio_text


class BenchProgress:
    """What is being measured, how many workloads are done, and the last ratio."""

    def __init__(self, total: int) -> None:
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
            auto_refresh=False,  # a thread that draws would take time from a core that is measured
        )
        self._task = self._bar.add_task("starting", total=total)
        self._last = ""

    def __enter__(self) -> BenchProgress:
        self._bar.start()
        return self

    def say(self, text: str) -> None:
        """Show what comes next."""
        self._bar.update(self._task, description=f"{text}{self._last}", refresh=True)

    def done(self, row: Row) -> None:
        """Count a workload."""
        self._last = f" (last: {ratio_text(row.ratio)})"
        self._bar.advance(self._task)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._bar.stop()
