"""Format results as text: heading, cells of tables, summary."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.contenders import OURS
from benchmarks.intervals import Interval
from benchmarks.limits import Limits
from benchmarks.measure import Timing
from benchmarks.results import Results, Row
from gatherscatter.text import seconds_text

_WORST = 10
TEXT_COLUMNS = ("workload", "best peer", "verdict", "wrong")


def heading(results: Results) -> Iterator[str]:
    """Return lines about the machine, versions, limits and noise."""
    machine = results.machine
    yield f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}"
    others = {name: version for name, version in machine["versions"].items() if not name.startswith(f"{OURS}-")}
    versions = ", ".join(f"{name} {version}" for name, version in others.items() if name[-2:] != "-1")
    yield f"{versions}; Python {machine['python']}; {results.plan.threads} threads; {machine['date']}"
    if not results.of_models:
        yield _limits_text(results.limits)
    even, rows = results.even_repeats
    if rows:
        yield (
            f"noise: gatherscatter is timed twice. Before the intervals are widened, the two timings are even in "
            f"{even} of {rows} workloads. In 98 % of the workloads they differ by at most {results.noise:.1%}. "
            f"Therefore intervals are made {results.stretch:.2f} times as wide"
        )
    seconds = round(sum(row.seconds for row in results.rows))
    yield f"{len(results.rows)} workloads in {seconds // 60} min {seconds % 60} s"
    if (load := results.load() or 0) > 0.1:
        yield (
            f"other processes used {load:.2g} cores during the run: times are too long, scaling is too low, and "
            "single-threaded libraries are favoured"
        )


def _limits_text(limits: Limits) -> str:
    return (
        f"limits at {limits.sizes[-1] >> 20} MB: copy {limits.copy_one[-1] / 1e9:.1f} GB/s on one thread, "
        f"{limits.copy_all[-1] / 1e9:.1f} on all; random reads "
        + ", ".join(f"{rates[-1] / 1e6:.0f} M/s of {width} bytes" for width, rates in limits.random.items())
        + f"; fresh memory {limits.fresh[-1] * 2**30 * 1e3:.0f} ms/GiB"
    )


def headers(results: Results) -> tuple[str, ...]:
    """Return the names of the columns that `cells` fills."""
    scaling = [f"1 to {results.plan.threads} threads"] if results.threads() else []
    last = "difference" if results.of_models else "of limit"
    return ("workload", "gatherscatter", "best peer", "peer time", "ratio", "verdict", last, *scaling, "wrong")


def cells(results: Results, row: Row) -> tuple[str, ...]:
    """Return the cells of a row as text."""
    best = row.best
    limit = f"{row.share:.0%} {row.bound.kind}" if row.share is not None else row.bound.kind
    return (
        row.workload.title,
        time_text(row.ours),
        f"{best.contender}: {best.way}" if best else "-",
        time_text(best) if best else "-",
        interval_text(results.interval(row)),
        results.verdict(row) or "-",
        row.ours.note if results.of_models else limit,
        *([ratio_text(row.scaling())] if results.threads() else []),
        ", ".join(timing.contender for timing in row.peers if timing.state == "wrong"),
    )


def summary(results: Results) -> Iterator[str]:
    """Return the mean, the numbers of rows ahead, even and behind, the worst rows, and the Spatter patterns."""
    mean, behind = results.mean_ratio(), results.with_verdict("behind")
    if mean is not None and not results.of_models:
        yield f"geometric mean of the ratios: {mean:.2f}"
        yield verdicts_text(results.counts())
        if behind:
            yield "behind, lowest ratio first:"
        for row in behind[:_WORST]:
            text = "; ".join(cells(results, row)[1:4])
            yield f"  {interval_text(results.interval(row)):>20}  {row.workload.id} ({text})"
    for name, found in results.patterns().items():
        values = ", ".join(f"{key} {value / 1e9:.2f}" for key, value in found.items())
        yield f"spatter, GB/s: {name}: {values}"
    for row in results.wrong():
        yield f"WRONG: {row.workload.id}: {row.ours.state} {row.ours.note}"
    for row in results.rows:
        if results.plan.commit and row.best is None:
            yield f"{results.plan.commit} has no time for {row.workload.id}: {row.peers[0].state} {row.peers[0].note}"
    if missing := results.missing:
        yield f"{len(missing)} of {len(results.plan.workloads)} workloads are not measured yet"


def verdicts_text(counts: dict[str, int]) -> str:
    """Return how many workloads have each verdict.

    >>> verdicts_text({"ahead": 5, "even": 2, "behind": 1})
    'of 8 workloads, gatherscatter is ahead in 5, even in 2 and behind in 1'
    """
    ahead, even, behind = (counts[verdict] for verdict in ("ahead", "even", "behind"))
    count = ahead + even + behind
    return f"of {count} workloads, gatherscatter is ahead in {ahead}, even in {even} and behind in {behind}"


def time_text(timing: Timing) -> str:
    """Return the median in a suitable unit, or why there is no time."""
    if not timing.samples:
        return timing.state if timing.state == "wrong" else "-"
    return seconds_text(timing.median)


def ratio_text(ratio: float | None) -> str:
    """Return a ratio with two or three digits."""
    if ratio is None:
        return "-"
    if ratio < 0.1:
        return f"{ratio:.1g}"
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def interval_text(interval: Interval | None) -> str:
    """Return a ratio and its interval.

    >>> interval_text(Interval(1.25, 1.2, 1.31))
    '1.25 (1.20-1.31)'
    """
    if interval is None:
        return "-"
    return f"{ratio_text(interval.value)} ({ratio_text(interval.low)}-{ratio_text(interval.high)})"
