"""Progress bars on stderr for long calls."""

from __future__ import annotations

import sys
from threading import Lock, Timer
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gatherscatter.messages.text import printable
from gatherscatter.system.extras import find_missing

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY = 0.5  # seconds before the bar appears


class Bar:
    """A progress bar. It appears after half a second, and never if stderr is not a terminal or rich is missing.

    Without a total, the bar pulses. A timer opens it, because the work may report only once: a model with one node may
    run for a minute. With ``redraws=False`` it appears at once and is drawn only when it changes, so no thread takes
    time from a measurement. Several threads may report.
    """

    def __init__(
        self, total: float | None = None, *, description: str = "starting", done: float = 0, redraws: bool = True
    ) -> None:
        self.shown = sys.stderr.isatty() and not find_missing(["rich"])
        self._begun = perf_counter()
        self._state: dict[str, object] = {"total": total, "description": description, "completed": done, "note": ""}
        self._redraws = redraws
        self._closed = False
        self._display: Progress | None = None
        self._task: TaskID | None = None
        self._lock = Lock()
        self._timer = Timer(DELAY, self._open)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if self.shown and self._redraws:
            import rich.progress  # noqa: F401  # here, because the timer would wait for calls that hold the GIL

            self._timer.start()
        elif self.shown:
            self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._closed = True  # a timer that fires now must not open the bar
            if self._display:
                self._display.stop()

    def update(self, **state: object) -> None:
        """Change any of ``description``, ``completed``, ``total`` and ``note``. The note is the text after the bar."""
        with self._lock:
            self._update(**state)

    def _update(self, **state: object) -> None:
        self._state |= state
        if self._display and self._task is not None:
            self._display.update(self._task, refresh=not self._redraws, **self._state)  # type: ignore[arg-type]

    def seconds_left(self, done: float, total: float) -> float | None:
        """Estimate the seconds left from the time since the bar was made. None before any work is done."""
        return (perf_counter() - self._begun) / done * (total - done) if done else None

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
        from rich.table import Column

        with self._lock:
            if self._closed:
                return
            screen = Console(stderr=True)
            columns: list[ProgressColumn] = [
                TextColumn("{task.description}", markup=False),
                TextColumn(
                    "{task.fields[note]}", markup=False, table_column=Column(no_wrap=True, ratio=1)
                ),  # cut first
            ]
            if screen.width >= 80:
                columns.insert(1, BarColumn(screen.width // 6, complete_style="cyan", pulse_style="cyan"))
                whole = [Column(no_wrap=True, min_width=7) for _ in range(2)]
                columns += [TimeElapsedColumn(whole[0]), TextColumn("elapsed", table_column=whole[1])]
            self._display = Progress(
                *columns,
                console=screen,
                expand=True,
                transient=True,
                redirect_stdout=sys.stdout.isatty(),  # otherwise lines for a file would go to stderr
                auto_refresh=self._redraws,
            )
            self._task = self._display.add_task(**self._state)  # type: ignore[arg-type]
            self._display.start()


class NodeProgress(Bar):
    """A callback for `Model.run`. It shows the node that is running."""

    def __init__(self, node_count: int) -> None:
        super().__init__(node_count or None)  # None: rich shows a moving bar
        self._started = 0

    def __call__(self, description: str) -> None:
        with self._lock:
            self._started += 1
            self._update(description=printable(description), completed=self._started - 1)


class ChunkProgress(Bar):
    """A callback for chunks. It shows how many are done, the bytes per second, and the time left."""

    def __init__(self, description: str) -> None:
        super().__init__(description=description)

    def __call__(self, done: int, total: int, moved: int) -> None:
        left = self.seconds_left(done, total)
        rate = moved / max(perf_counter() - self._begun, 1e-9) / 1e6
        note = f"{done}/{total} chunks, {rate:.1f} MB/s, {'?' if left is None else f'{left:.0f} s'} left"
        self.update(completed=done, total=total, note=note)
