"""How far a conformance run is, on stderr."""

from __future__ import annotations

from gatherscatter.conformance.case import Case
from gatherscatter.conformance.verdicts import Judgement
from gatherscatter.progress import Bar


class ConformProgress(Bar):
    """A callback for `conform`: the runtime, how many of all cases are done, and the time left."""

    def __init__(self, total: int) -> None:
        super().__init__(total)
        self._total, self._done, self._departures = total, 0, 0

    def __call__(self, runtime: str, case: Case, judgement: Judgement) -> None:
        with self._lock:
            self._done += 1
            self._departures += judgement.verdict not in ("pass", "allowed", "not asked")
            left = self.seconds_left(self._done, self._total) or 0.0
            note = f"{self._done}/{self._total}, {left:.0f} s left"
            self._update(description=f"{runtime} ({self._departures} departures)", completed=self._done, note=note)
