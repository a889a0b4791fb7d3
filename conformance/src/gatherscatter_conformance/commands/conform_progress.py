"""The progress of a conformance run, on stderr."""

from __future__ import annotations

from gatherscatter.messages.text import count_text
from gatherscatter.system.progress import Bar
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.verdicts import Judgement


class ConformProgress(Bar):
    """Callbacks for `conform` that show the finished cases, the time left and the current case."""

    def __init__(self, total: int) -> None:
        super().__init__(total)
        self._total, self._done, self._departures, self._hangs = total, 0, 0, 0

    def start(self, runtime: str, case: Case) -> None:
        """Show the case that starts. It can take until the time limit."""
        with self._lock:
            hangs = f", {count_text(self._hangs, 'hang')}" if self._hangs else ""
            counts = count_text(self._departures, "departure") + hangs
            left = self.seconds_left(self._done, self._total) or 0.0
            note = f"{self._done}/{self._total} cases, {left:.0f} s left; {case.op}, {case.kind}"
            self._update(description=f"{runtime} ({counts})", note=note)

    def __call__(self, runtime: str, case: Case, judgement: Judgement) -> None:
        with self._lock:
            self._done += 1
            self._departures += judgement.verdict not in ("pass", "allowed", "not asked")
            self._hangs += judgement.verdict == "hangs"
            self._update(completed=self._done)
