"""A progress bar on stderr, if that is a terminal."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gatherscatter.conformance.case import Case
from gatherscatter.conformance.verdicts import Judgement


class ConformProgress:
    """A callback for `conform`: the runtime, how many of all cases are done, and the time left."""

    def __init__(self, total: int) -> None:
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("starting", total=total)
        self._departures = 0

    def __enter__(self) -> ConformProgress:
        self._bar.start()
        return self

    def __call__(self, runtime: str, case: Case, judgement: Judgement) -> None:
        self._departures += judgement.verdict not in ("pass", "allowed", "not asked")
        self._bar.update(self._task, advance=1, description=f"{runtime} ({self._departures} departures)")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._bar.stop()
