"""How far a long call is, on stderr: chunks done, bytes per second, time left."""

from __future__ import annotations

import sys
from threading import Lock, Timer
from types import TracebackType
from typing import Any

PATIENCE = 0.5  # seconds without a word


class ChunkProgress:
    """Counts chunks: silent for the first half second, and always when stderr is no terminal."""

    def __init__(self, description: str) -> None:
        self._description = description
        self._state = (0, 0, 0)
        self._over = False
        self._display: Any = None
        self._task: Any = None
        self._lock = Lock()
        self._timer = Timer(PATIENCE, self._open)
        self._timer.daemon = True

    def __enter__(self) -> ChunkProgress:
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __call__(self, done: int, total: int, moved: int) -> None:
        with self._lock:
            self._state = done, total, moved
            if self._display:
                self._show()

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
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TransferSpeedColumn

        with self._lock:
            if self._over:
                return
            self._display = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.fields[chunks]} chunks"),
                TransferSpeedColumn(),  # of bytes, which are what is counted
                TextColumn("{task.fields[left]} left"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._display.add_task(self._description, total=None, chunks="0", left="?")
            self._show()
            self._display.start()

    def _show(self) -> None:
        done, total, moved = self._state
        elapsed = self._display.tasks[0].elapsed or 0.0
        left = f"{elapsed / done * (total - done):.0f} s" if done else "?"
        self._display.update(
            self._task,
            completed=moved,
            total=moved * total / done if done else None,  # bytes, as far as can be told from the chunks done
            chunks=f"{done}/{total}",
            left=left,
        )
