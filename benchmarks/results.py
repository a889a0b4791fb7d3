"""Results of a benchmark run: a row for each workload, the numbers derived from them, and the file that holds them."""

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
from benchmarks.intervals import Interval, paired_ratio, quantile
from benchmarks.limits import Limits
from benchmarks.workload import Workload
from benchmarks.workloads import select_by_id
from gatherscatter.system.files import write_text

OURS = "gatherscatter"
AGAIN = f"{OURS}-again"  # the same again: differences between the two are noise

_FORMAT = 3
_NEARLY_ALL = 0.98
_LEAST = 0.02  # least half width of an interval


def name_on_threads(count: int) -> str:
    """Return the name of gatherscatter as a contender with another number of threads."""
    return f"{OURS}-{count}"


def fewer_threads(threads: int) -> list[int]:
    """Return the powers of two below a number of threads, for which the scaling is measured.

    >>> fewer_threads(16), fewer_threads(2), fewer_threads(1)
    ([1, 2, 4, 8], [1], [])
    """
    return [1 << power for power in range(threads.bit_length()) if 1 << power < threads]


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int = 100  # at most
    seconds: float = 2.0  # for the rounds of a workload; afterwards only the least number of rounds is completed
    precision: float = 0.03  # of the ratio to the best peer (half the width of the interval) at which a workload ends


@dataclass
class Timing:
    """The outcome of one contender for one workload."""

    contender: str
    state: str  # "ok", "wrong", "refused"
    way: str = ""
    note: str = ""
    samples: list[float] = field(default_factory=list)  # seconds per call, one for each round

    @property
    def median(self) -> float:
        """The median of the samples, in seconds."""
        return statistics.median(self.samples)

    @property
    def best(self) -> float:
        """The least of the samples, in seconds."""
        return min(self.samples)


@dataclass(frozen=True)
class Row:
    """One workload: gatherscatter, the fastest correct peer, and the limit of the machine. Times are medians."""

    workload: Workload
    limit: Bound
    ours: float | None = None  # seconds; None if the result is wrong
    peer: str = ""  # the name of the fastest correct peer
    way: str = ""  # how it does the workload
    theirs: float | None = None  # seconds
    ratio: Interval | None = None  # the time of the peer divided by ours, from the samples of this row alone
    repeat: Interval | None = None  # the ratio of the two timings of gatherscatter. Its distance from 1 is noise
    scaling: tuple[float, ...] = ()  # the time on each of `fewer_threads` divided by the time on all threads
    seconds: float = 0.0  # for the whole row, including building the arrays and checking
    load: float = 0.0  # cores used by other processes during the row
    wrong: tuple[str, ...] = ()  # peers with a wrong result
    fault: str = ""  # why gatherscatter or all peers have no time
    times: dict[str, float] = field(default_factory=dict)  # of all contenders, for the patterns of Spatter only
    timings: tuple[Timing, ...] = ()  # with all samples; none in a published file

    @property
    def share(self) -> float | None:
        """The least time that the machine allows, as a share of the time of gatherscatter."""
        return self.limit.seconds / self.ours if self.limit.seconds and self.ours else None


_COLUMNS = [column.name for column in fields(Row)]  # of a file


def compare(timing: Timing, *ours: Timing) -> Interval | None:
    """Return the ratio of a contender's time to the geometric mean of ``ours``, from pairs of the same round."""
    own = zip(*(one.samples for one in ours if one.samples), strict=False)
    return paired_ratio(timing.samples, [statistics.geometric_mean(times) for times in own])


def make_row(
    workload: Workload, timings: Sequence[Timing], limit: Bound, seconds: float = 0.0, load: float = 0.0
) -> Row:
    """Return the row of a workload. The timing of gatherscatter on all threads is the first one."""
    ours = timings[0]
    again = next((timing for timing in timings if timing.contender == AGAIN), None)
    peers = [timing for timing in timings if not timing.contender.startswith(OURS)]
    own, best = [timing for timing in (ours, again) if timing], _find_best(peers)
    ratios = [compare(one, *own) for one in timings if _is_on_fewer_threads(one)] if ours.samples else []
    failed = ours if not ours.samples else next(iter(peers), None) if best is None else None
    shown = [one for one in timings if workload.group == "spatter" and one.samples and one is not again]
    return Row(
        workload=workload,
        limit=limit,
        ours=shorten(ours.median) if ours.samples else None,
        peer=best.contender if best else "",
        way=best.way if best else "",
        theirs=shorten(best.median) if best else None,
        ratio=_shorten_all(compare(best, *own)) if best and ours.samples else None,
        repeat=_shorten_all(compare(again, ours)) if again and ours.samples else None,
        scaling=tuple(shorten(ratio.value) for ratio in ratios if ratio),
        seconds=shorten(seconds),
        load=shorten(load),
        wrong=tuple(one.contender for one in peers if one.state == "wrong"),
        fault=f"{failed.state} {failed.note}" if failed else "",
        times={one.contender: shorten(one.median) for one in shown},
        timings=tuple(timings),
    )


def _is_on_fewer_threads(timing: Timing) -> bool:
    name, _, count = timing.contender.rpartition("-")
    return name == OURS and count.isdigit()


def _find_best(peers: Sequence[Timing]) -> Timing | None:
    """Return the fastest of the peers that took part in all rounds. The others were far behind from the start."""
    most = max((len(timing.samples) for timing in peers), default=0)
    full = [timing for timing in peers if timing.samples and len(timing.samples) == most]
    return min(full, key=lambda timing: timing.median, default=None)


def shorten(value: float) -> float:
    """Round to five digits. No time is more precise, and files of results stay small."""
    return float(f"{value:.5g}")


def _shorten_all(interval: Interval | None) -> Interval | None:
    return interval and Interval(shorten(interval.value), shorten(interval.low), shorten(interval.high))


@dataclass(frozen=True)
class RunPlan:
    """The plan of a run, which is also needed to resume it."""

    peers: tuple[str, ...]
    threads: int
    effort: Effort = field(default_factory=Effort)
    commit: str = ""  # an earlier commit to compare with


@dataclass
class Results:
    """A run, complete or interrupted."""

    plan: RunPlan
    machine: dict[str, Any]
    limits: Limits
    missing: list[str]  # the ids of planned workloads that are not measured yet
    rows: list[Row] = field(default_factory=list)

    def add(self, row: Row) -> None:
        """Add the row of a missing workload."""
        self.rows.append(row)
        self.missing.remove(row.workload.id)
        self.__dict__.pop("stretch", None)

    @property
    def noise(self) -> float:
        """The largest difference of the two timings of gatherscatter in nearly all rows, as a share."""
        return exp(quantile((abs(log(ratio.value)) for ratio in self._repeats()), _NEARLY_ALL)) - 1

    @cached_property
    def stretch(self) -> float:
        """The factor for all intervals. It makes the two timings of gatherscatter even in nearly all rows."""
        return max(quantile((ratio.missed for ratio in self._repeats()), _NEARLY_ALL), 1.0)

    @property
    def even_repeats(self) -> tuple[int, int]:
        """The number of rows in which the two timings of gatherscatter are even, and the number compared."""
        found = self._repeats()
        return sum(interval.verdict == "even" for interval in found), len(found)

    def _repeats(self) -> list[Interval]:
        return [row.repeat.widen(1.0, _LEAST) for row in self.rows if row.repeat]

    def interval(self, row: Row) -> Interval | None:
        """Return the time of the best correct peer divided by ours, with its interval."""
        return row.ratio.widen(self.stretch, _LEAST) if row.ratio else None

    def verdict(self, row: Row) -> str:
        """Return ``ahead``, ``even`` or ``behind``, or an empty string if no peer is correct."""
        found = self.interval(row)
        return found.verdict if found else ""

    @property
    def behind(self) -> list[Row]:
        """The rows in which a peer is faster, lowest ratio first."""
        found = [(row.ratio.value, row) for row in self.rows if row.ratio and self.verdict(row) == "behind"]
        return [row for _, row in sorted(found, key=lambda pair: pair[0])]

    @property
    def compared(self) -> list[Row]:
        """The rows that are compared with other libraries, or with a commit."""
        return [row for row in self.rows if row.ratio and not row.workload.given]

    def counts(self, rows: Iterable[Row]) -> dict[str, int]:
        """Return how many of the rows have each verdict."""
        verdicts = [self.verdict(row) for row in rows]
        return {verdict: verdicts.count(verdict) for verdict in ("ahead", "even", "behind")}

    @property
    def load(self) -> float:
        """The cores that other processes used, on average over the run."""
        total = sum(row.seconds for row in self.rows)
        return sum(row.load * row.seconds for row in self.rows) / total if total else 0.0

    @property
    def threads(self) -> list[int]:
        """The smaller numbers of threads on which gatherscatter was also measured."""
        return [] if self.plan.commit else fewer_threads(self.plan.threads)

    def patterns(self) -> dict[str, tuple[float, float, float]]:
        """Return bytes per second over the Spatter patterns by contender: least, median and harmonic mean."""
        found: dict[str, list[float]] = {}
        rows = [row for row in self.rows if row.times]
        for row in rows:
            for name, seconds in row.times.items():
                found.setdefault(name, []).append(row.workload.useful_bytes / seconds)
        return {
            name: (min(rates), statistics.median(rates), statistics.harmonic_mean(rates))
            for name, rates in found.items()
            if len(rates) == len(rows)  # means over different patterns cannot be compared
        }

    def write_json(self, path: Path, *, samples: bool = True) -> None:
        """Write everything to a file, a line for each row. Without ``samples``, it is small enough to be published."""
        facts = {"format": _FORMAT, **asdict(self), "columns": _COLUMNS}
        del facts["rows"]
        rows = ",\n".join(_to_text(_encode(row, samples)) for row in self.rows)
        write_text(path, f'{_to_text(facts)[:-1]},"rows":[\n{rows}]}}\n')


def mean_ratio(rows: Iterable[Row]) -> float | None:
    """Return the geometric mean of the ratios."""
    ratios = [row.ratio.value for row in rows if row.ratio]
    return statistics.geometric_mean(ratios) if ratios else None


def read_json(path: Path) -> Results:
    """Read results that `Results.write_json` has written. Raise ValueError for any other file."""
    try:
        return _read(json.loads(path.read_text()))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(
            f"{path}: this is not a file of results from `python -m benchmarks --json` ({reason})"
        ) from None


def _to_text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _encode(row: Row, samples: bool) -> list[Any]:
    """Return the values of the columns. Empty ones at the end are skipped."""
    facts = asdict(row) | {"workload": row.workload.id} | ({} if samples else {"timings": ()})
    facts |= {name: list(facts[name].values()) for name in ("limit", "ratio", "repeat") if facts[name]}
    values = list(facts.values())
    while not values[-1]:
        values.pop()
    return values


def _decode(facts: dict[str, Any], workload: Workload) -> Row:
    found = facts | {"workload": workload, "limit": Bound(*facts["limit"])}
    found |= {name: Interval(*facts[name]) for name in ("ratio", "repeat") if facts.get(name)}
    found |= {name: tuple(facts[name]) for name in ("scaling", "wrong") if name in facts}
    return Row(**found | {"timings": tuple(Timing(**timing) for timing in facts.get("timings", ()))})


def _read(found: Any) -> Results:
    if found["format"] != _FORMAT:
        raise ValueError(f"it has format {found['format']}, and this version reads format {_FORMAT}")
    limits = _with_tuples(found["limits"])
    limits["random"] = {int(width): tuple(rates) for width, rates in limits["random"].items()}
    plan = RunPlan(**_with_tuples(found["plan"]) | {"effort": Effort(**found["plan"]["effort"])})
    every = [dict(zip(found["columns"], values, strict=False)) for values in found["rows"]]
    workloads = select_by_id([facts["workload"] for facts in every])
    rows = [_decode(facts, workload) for facts, workload in zip(every, workloads, strict=True)]
    return Results(plan, found["machine"], Limits(**limits), found["missing"], rows)


def _with_tuples(facts: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
