"""What a run of the benchmark found, and what follows from it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from math import exp, log
from pathlib import Path
from typing import Any

from gatherscatter.bench.bound import Bound
from gatherscatter.bench.contenders import OURS
from gatherscatter.bench.limits import Limits
from gatherscatter.bench.measure import Effort, Timing
from gatherscatter.bench.workload import Workload
from gatherscatter.files import write_text

ONE_THREAD = f"{OURS}-1"


@dataclass(frozen=True)
class Row:
    """One workload: everybody's timings, and the least time that the machine allows."""

    workload: Workload
    timings: Sequence[Timing]
    bound: Bound

    @property
    def ours(self) -> Timing:
        """Our timing, on all threads."""
        return self.timings[0]

    @property
    def peers(self) -> list[Timing]:
        """The others'."""
        return [timing for timing in self.timings if not timing.contender.startswith(OURS)]

    @property
    def best(self) -> Timing | None:
        """The fastest correct peer's."""
        right = [timing for timing in self.peers if timing.samples]
        return min(right, key=lambda timing: timing.median) if right else None

    @property
    def ratio(self) -> float | None:
        """How many times as long the best correct peer takes."""
        return self.best.median / self.ours.median if self.best and self.ours.samples else None

    @property
    def share(self) -> float | None:
        """The least time that the machine allows, as a share of ours."""
        return self.bound.seconds / self.ours.median if self.bound.seconds and self.ours.samples else None

    @property
    def scaling(self) -> float | None:
        """How many times as long we take on one thread."""
        one = next((timing for timing in self.timings if timing.contender == ONE_THREAD), None)
        return one.median / self.ours.median if one and one.samples and self.ours.samples else None

    def bandwidth(self, timing: Timing) -> float:
        """Useful bytes a second."""
        return self.workload.useful_bytes / timing.median


@dataclass
class Results:
    """A whole run."""

    machine: dict[str, Any]
    effort: Effort
    limits: Limits
    rows: list[Row] = field(default_factory=list)

    def mean_ratio(self) -> float | None:
        """The geometric mean of the ratios."""
        return geometric_mean(row.ratio for row in self.rows)

    def behind(self) -> list[Row]:
        """The rows in which a peer is faster, worst first."""
        return [row for row in self.worst(len(self.rows)) if row.ratio is not None and row.ratio < 1]

    def worst(self, count: int) -> list[Row]:
        """The rows with the lowest ratios."""
        return sorted((row for row in self.rows if row.ratio is not None), key=lambda row: row.ratio or 0)[:count]

    def wrong(self) -> list[Row]:
        """The rows in which we are wrong: there must be none."""
        return [row for row in self.rows if row.ours.state != "ok"]

    def patterns(self) -> dict[str, dict[str, float]]:
        """Bytes a second over the Spatter patterns, by contender: least, median and harmonic mean."""
        found: dict[str, list[float]] = {}
        rows = [row for row in self.rows if row.workload.group == "spatter"]
        for row in rows:
            for timing in row.timings:
                if timing.samples:
                    found.setdefault(timing.contender, []).append(row.bandwidth(timing))
        return {
            name: {"min": min(v), "median": statistics.median(v), "harmonic": statistics.harmonic_mean(v)}
            for name, v in found.items()
            if len(v) == len(rows)  # means over other patterns can't be compared
        }

    def to_json(self) -> dict[str, Any]:
        """Everything, every sample included, as plain JSON values."""
        return {
            "machine": self.machine,
            "effort": asdict(self.effort),
            "limits": asdict(self.limits),
            "summary": {
                "rows": len(self.rows),
                "mean_ratio": self.mean_ratio(),
                "behind": [row.workload.id for row in self.behind()],
                "wrong": [row.workload.id for row in self.wrong()],
                "spatter": self.patterns(),
            },
            "rows": [_row_json(row) for row in self.rows],
        }

    def write_json(self, path: Path) -> None:
        """Write `to_json` into a file."""
        write_text(path, json.dumps(self.to_json(), indent=1) + "\n")


def _row_json(row: Row) -> dict[str, Any]:
    return {
        "workload": asdict(row.workload),
        "useful_bytes": row.workload.useful_bytes,
        "limit": asdict(row.bound),
        "best_peer": row.best.contender if row.best else None,
        "ratio": row.ratio,
        "share_of_limit": row.share,
        "scaling": row.scaling,
        "timings": [asdict(timing) for timing in row.timings],
    }


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """The geometric mean of the values that there are.

    >>> geometric_mean([2.0, 8.0, None])
    4.0
    """
    logs = [log(value) for value in values if value]
    return exp(statistics.fmean(logs)) if logs else None


def read_json(path: Path) -> Results:
    """Results that `Results.write_json` has written; ValueError if the file holds anything else."""
    try:
        return _from_json(json.loads(path.read_text()))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(
            f"{path}: not a file of results as `gatherscatter bench --json` writes it ({reason})"
        ) from None


def _from_json(found: Any) -> Results:
    limits = found["limits"] | {"random": {int(width): tuple(v) for width, v in found["limits"]["random"].items()}}
    rows = [
        Row(
            _workload(row["workload"]),
            [Timing(**timing) for timing in row["timings"]],
            Bound(**row["limit"]),
        )
        for row in found["rows"]
    ]
    return Results(found["machine"], Effort(**found["effort"]), Limits(**limits), rows)


def _workload(facts: dict[str, Any]) -> Workload:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
    return Workload(**values)
