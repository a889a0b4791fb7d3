"""Results of a benchmark run, and the numbers derived from them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from math import exp, log
from pathlib import Path
from typing import Any

from benchmarks.bound import Bound
from benchmarks.contenders import AGAIN, OURS, fewer_threads, name_on_threads
from benchmarks.intervals import Interval, quantile
from benchmarks.limits import Limits
from benchmarks.measure import Effort, Timing, compare
from benchmarks.workload import Workload
from gatherscatter.files import write_text

_FORMAT = 2
_NEARLY_ALL = 0.98
_LEAST = 0.02  # least half width of an interval


@dataclass(frozen=True)
class Row:
    """One workload: the timings of all contenders, and the least time that the machine allows."""

    workload: Workload
    timings: Sequence[Timing]
    bound: Bound
    seconds: float = 0.0  # for the whole row, including building the arrays and checking
    load: float | None = None  # cores used by other processes during the row

    @property
    def ours(self) -> Timing:
        """The timing of gatherscatter on all threads."""
        return self.timings[0]

    @property
    def again(self) -> Timing | None:
        """The second timing of gatherscatter, which should be equal to the first."""
        return self._find_timing(AGAIN)

    @property
    def peers(self) -> list[Timing]:
        """The timings of the peers."""
        return [timing for timing in self.timings if not timing.contender.startswith(OURS)]

    @cached_property
    def best(self) -> Timing | None:
        """The timing of the fastest correct peer."""
        right = [timing for timing in self.peers if timing.samples]
        most = max((len(timing.samples) for timing in right), default=0)
        full = [timing for timing in right if len(timing.samples) == most]  # the others were far behind from the start
        return min(full, key=lambda timing: timing.median) if full else None

    @cached_property
    def compared(self) -> Interval | None:
        """The time of the best correct peer divided by ours, from the samples of this row alone."""
        return compare(self.best, *self._own_timings()) if self.best and self.ours.samples else None

    @property
    def ratio(self) -> float | None:
        """The ratio without its interval."""
        return self.compared.value if self.compared else None

    @cached_property
    def own_ratio(self) -> Interval | None:
        """The ratio of the two timings of gatherscatter. Its distance from 1 is noise."""
        return compare(self.again, self.ours) if self.again and self.again.samples and self.ours.samples else None

    @property
    def share(self) -> float | None:
        """The least time that the machine allows, as a share of the time of gatherscatter."""
        return self.bound.seconds / self.ours.median if self.bound.seconds and self.ours.samples else None

    def scaling(self, threads: int = 1) -> float | None:
        """Return the time of gatherscatter on fewer threads, divided by its time on all."""
        fewer = self.on_threads(threads)
        found = compare(fewer, *self._own_timings()) if fewer and fewer.samples and self.ours.samples else None
        return found.value if found else None

    def on_threads(self, count: int) -> Timing | None:
        """Return the timing of gatherscatter on fewer threads, if it was measured."""
        return self._find_timing(name_on_threads(count))

    def bandwidth(self, timing: Timing) -> float:
        """Return the useful bytes per second."""
        return self.workload.useful_bytes / timing.median

    def _find_timing(self, contender: str) -> Timing | None:
        return next((timing for timing in self.timings if timing.contender == contender), None)

    def _own_timings(self) -> list[Timing]:
        return [timing for timing in (self.ours, self.again) if timing]


@dataclass(frozen=True)
class RunPlan:
    """The plan of a run, which is also needed to resume it."""

    workloads: tuple[str, ...]  # their ids
    peers: tuple[str, ...]
    threads: int
    effort: Effort = field(default_factory=Effort)
    seed: int = 0
    commit: str = ""  # an earlier commit to compare with


@dataclass
class Results:
    """A run, complete or interrupted."""

    plan: RunPlan
    machine: dict[str, Any]
    limits: Limits
    rows: list[Row] = field(default_factory=list)
    # the number of rows, and the factor for this number
    _stretch: tuple[int, float] = field(default=(0, 1.0), init=False, repr=False, compare=False)

    @property
    def missing(self) -> list[str]:
        """The ids of planned workloads that are not measured yet."""
        found = {row.workload.id for row in self.rows}
        return [name for name in self.plan.workloads if name not in found]

    @property
    def of_models(self) -> bool:
        """Whether the workloads run models."""
        return any(row.workload.is_model for row in self.rows)

    @property
    def noise(self) -> float:
        """The largest difference of the two timings of gatherscatter in nearly all rows, as a share."""
        return exp(quantile((abs(log(ratio.value)) for ratio in self._own_ratios()), _NEARLY_ALL)) - 1

    @property
    def stretch(self) -> float:
        """The factor for all intervals. It makes the two timings of gatherscatter even in nearly all rows."""
        if self._stretch[0] != len(self.rows):
            factor = quantile((ratio.missed for ratio in self._own_ratios()), _NEARLY_ALL)
            self._stretch = len(self.rows), max(factor, 1.0)
        return self._stretch[1]

    @property
    def even_repeats(self) -> tuple[int, int]:
        """The number of rows in which the two timings of gatherscatter are even, and the number compared."""
        found = self._own_ratios()
        return sum(interval.verdict == "even" for interval in found), len(found)

    def _own_ratios(self) -> list[Interval]:
        return [row.own_ratio.widen(1.0, _LEAST) for row in self.rows if row.own_ratio]

    def interval(self, row: Row) -> Interval | None:
        """Return the time of the best correct peer divided by ours, with its interval."""
        return row.compared.widen(self.stretch, _LEAST) if row.compared else None

    def verdict(self, row: Row) -> str:
        """Return ``ahead``, ``even`` or ``behind``, or an empty string if no peer is correct."""
        found = self.interval(row)
        return found.verdict if found else ""

    def with_verdict(self, verdict: str) -> list[Row]:
        """Return the rows with a verdict, lowest ratio first."""
        return sorted((row for row in self.rows if self.verdict(row) == verdict), key=lambda row: row.ratio or 0)

    def counts(self, rows: Iterable[Row] | None = None) -> dict[str, int]:
        """Return how many rows, of these or of all that are compared with other libraries, have each verdict."""
        compared = [row for row in self.rows if not row.workload.given]
        verdicts = [self.verdict(row) for row in (compared if rows is None else rows)]
        return {verdict: verdicts.count(verdict) for verdict in ("ahead", "even", "behind")}

    def mean_ratio(self) -> float | None:
        """Return the geometric mean of the ratios to other libraries."""
        return geometric_mean(row.ratio for row in self.rows if not row.workload.given)

    def load(self) -> float | None:
        """Return the cores that other processes used, on average over the run."""
        known = [(row.load, row.seconds) for row in self.rows if row.load is not None]
        total = sum(seconds for _, seconds in known)
        return sum(load * seconds for load, seconds in known) / total if total else None

    def wrong(self) -> list[Row]:
        """Return the rows in which gatherscatter is wrong. There must be none."""
        return [row for row in self.rows if row.ours.state != "ok"]

    def threads(self) -> list[int]:
        """Return the smaller numbers of threads on which gatherscatter was also measured."""
        return [] if self.plan.commit or self.of_models else fewer_threads(self.plan.threads)

    def patterns(self) -> dict[str, dict[str, float]]:
        """Return bytes per second over the Spatter patterns by contender: least, median and harmonic mean."""
        found: dict[str, list[float]] = {}
        rows = [row for row in self.rows if row.workload.group == "spatter"]
        for row in rows:
            for timing in row.timings:
                if timing.samples and timing.contender != AGAIN:
                    found.setdefault(timing.contender, []).append(row.bandwidth(timing))
        return {
            name: {"min": min(v), "median": statistics.median(v), "harmonic": statistics.harmonic_mean(v)}
            for name, v in found.items()
            if len(v) == len(rows)  # means over different patterns cannot be compared
        }

    def to_json(self) -> dict[str, Any]:
        """Return everything, including every sample, as plain JSON values."""
        return {
            "format": _FORMAT,
            "plan": asdict(self.plan),
            "machine": self.machine,
            "limits": asdict(self.limits),
            "summary": {
                "complete": not self.missing,
                "mean_ratio": self.mean_ratio(),
                "noise": self.noise,
                "stretch": self.stretch,
                **{verdict: [row.workload.id for row in self.with_verdict(verdict)] for verdict in ("even", "behind")},
                "wrong": [row.workload.id for row in self.wrong()],
                "spatter": self.patterns(),
            },
            "rows": [self._row_json(row) for row in self.rows],
        }

    def write_json(self, path: Path) -> None:
        """Write `to_json` to a file."""
        text = json.dumps(self.to_json(), separators=(",", ":"))
        write_text(path, text.replace('{"workload"', '\n{"workload"') + "\n")  # a line for each row

    def _row_json(self, row: Row) -> dict[str, Any]:
        interval = self.interval(row)
        return {
            "workload": asdict(row.workload),
            "limit": asdict(row.bound),
            "best_peer": row.best.contender if row.best else None,
            "ratio": asdict(interval) if interval else None,
            "verdict": self.verdict(row),
            "seconds": row.seconds,
            "load": row.load,
            "timings": [asdict(timing) for timing in row.timings],
        }


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Return the geometric mean of the values that are not None.

    >>> geometric_mean([2.0, 8.0, None])
    4.0
    """
    logs = [log(value) for value in values if value]
    return exp(statistics.fmean(logs)) if logs else None


def read_json(path: Path) -> Results:
    """Read results that `Results.write_json` has written. Raise ValueError for any other file."""
    try:
        return _from_json(json.loads(path.read_text()))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(
            f"{path}: this is not a file of results from `python -m benchmarks --json` ({reason})"
        ) from None


def _from_json(found: Any) -> Results:
    if found["format"] != _FORMAT:
        raise ValueError(f"it has format {found['format']}, and this version reads format {_FORMAT}")
    limits = found["limits"] | {"random": {int(width): tuple(v) for width, v in found["limits"]["random"].items()}}
    rows = [
        Row(
            _workload(row["workload"]),
            [Timing(**timing) for timing in row["timings"]],
            Bound(**row["limit"]),
            row["seconds"],
            row["load"],
        )
        for row in found["rows"]
    ]
    plan = RunPlan(**_with_tuples(found["plan"]) | {"effort": Effort(**found["plan"]["effort"])})
    order = {name: number for number, name in enumerate(plan.workloads)}
    rows.sort(key=lambda row: order[row.workload.id])
    return Results(plan, found["machine"], Limits(**_with_tuples(limits)), rows)


def _workload(facts: dict[str, Any]) -> Workload:
    known = {one.name for one in fields(Workload)}  # files stay readable if fields are removed
    return Workload(**{key: value for key, value in _with_tuples(facts).items() if key in known})


def _with_tuples(facts: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
