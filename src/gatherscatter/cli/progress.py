"""Which node of a model is running, on stderr, for runs that take long enough to wonder."""

from __future__ import annotations

import sys
from threading import Lock, Timer
from types import TracebackType
from typing import TYPE_CHECKING

from gatherscatter.cli.failures import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 0.5  # seconds without a word


class NodeProgress:
    """A callback for `Model.run`: silent for the first half second, and always when stderr is no terminal.

    A timer opens the display, not the callback: a model whose only node runs for a minute calls back once.
    """

    def __init__(self, node_count: int) -> None:
        self._total = node_count or None  # None: rich shows a moving bar
        self._started = 0
        self._over = False
        self._description = "starting"
        self._display: Progress | None = None
        self._task: TaskID | None = None
        self._lock = Lock()
        self._timer = Timer(PATIENCE, self._open)
        self._timer.daemon = True

    def __enter__(self) -> NodeProgress:
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __call__(self, description: str) -> None:
        with self._lock:
            self._started += 1
            self._description = printable(description)
            if self._display and self._task is not None:
                self._display.update(self._task, description=self._description, completed=self._started - 1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True  # a timer that fires just now opens nothing
            if self._display:
                self._display.stop()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._over:
                return
            self._display = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._display.add_task(
                self._description, total=self._total, completed=max(self._started - 1, 0)
            )
            self._display.start()
