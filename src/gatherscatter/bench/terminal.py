"""The results as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table

from gatherscatter.bench.measure import Timing
from gatherscatter.bench.results import Results, Row

_HEADERS = ("workload", "ours", "best peer", "its time", "ratio", "of limit", "scaling", "wrong")
_WORST = 10


def show(results: Results, console: Console) -> None:
    """Print machine, one table a group, and the summary."""
    for line in heading(results):
        console.print(line)
    for group, rows in groupby(results.rows, key=lambda row: row.workload.group):
        console.print()
        console.print(_table(group, rows))
    console.print()
    for line in summary(results):
        console.print(line)


def heading(results: Results) -> Iterator[str]:
    """Machine, versions and limits, a line each."""
    machine, limits = results.machine, results.limits
    yield f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}"
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if name[-2:] != "-1")
    yield f"{versions}; Python {machine['python']}; {machine['threads']} threads; {machine['date']}"
    if (machine.get("others") or 0) > 0.1:
        yield (
            f"other processes used {machine['others']:.2g} cores meanwhile: times are too long, scaling too low, and "
            "whoever works on one thread is favoured"
        )
    yield (
        f"limits at {limits.sizes[-1] >> 20} MB: copy {limits.copy_one[-1] / 1e9:.1f} GB/s on one thread, "
        f"{limits.copy_all[-1] / 1e9:.1f} on all; random reads "
        + ", ".join(f"{rates[-1] / 1e6:.0f} M/s of {width} bytes" for width, rates in limits.random.items())
        + f"; fresh memory {limits.fresh[-1] * 2**30 * 1e3:.0f} ms/GiB"
    )


def _table(group: str, rows: Iterable[Row]) -> Table:
    table = Table(title=group, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_edge=False)
    for number, header in enumerate(_HEADERS):
        table.add_column(header, justify="left" if number in (0, 2, 7) else "right", no_wrap=number != 7)
    for row in rows:
        table.add_row(*cells(row), style="red" if row.ratio is not None and row.ratio < 1 else None)
    return table


def cells(row: Row) -> tuple[str, ...]:
    """A row as text."""
    best = row.best
    return (
        row.workload.title,
        time_text(row.ours),
        f"{best.contender}: {best.way}" if best else "-",
        time_text(best) if best else "-",
        ratio_text(row.ratio),
        f"{row.share:.0%} {row.bound.kind}" if row.share is not None else row.bound.kind,
        ratio_text(row.scaling),
        ", ".join(timing.contender for timing in row.peers if timing.state == "wrong"),
    )


def summary(results: Results) -> Iterator[str]:
    """The mean, the worst rows, the Spatter patterns."""
    mean, behind = results.mean_ratio(), results.behind()
    if mean is not None:
        compared = [row for row in results.rows if row.ratio is not None]
        yield f"geometric mean of the ratios: {mean:.2f} over {len(compared)} workloads"
        yield f"a peer is ahead on {len(behind)} of them"
        yield "lowest ratios:"
        for row in results.worst(_WORST):
            yield f"  {ratio_text(row.ratio):>6}  {row.workload.id} ({'; '.join(cells(row)[1:4])})"
    for name, found in results.patterns().items():
        values = ", ".join(f"{key} {value / 1e9:.2f}" for key, value in found.items())
        yield f"spatter, GB/s: {name}: {values}"
    for row in results.wrong():
        yield f"WRONG: {row.workload.id}: {row.ours.state} {row.ours.note}"


def time_text(timing: Timing) -> str:
    """The median in a unit that fits, or why there is none."""
    if not timing.samples:
        return timing.state if timing.state == "wrong" else "-"
    return seconds_text(timing.median)


def seconds_text(seconds: float) -> str:
    """Seconds in a unit that fits.

    >>> seconds_text(0.0123), seconds_text(4.56e-6)
    ('12.3 ms', '4.56 µs')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def ratio_text(ratio: float | None) -> str:
    """A ratio with two or three digits."""
    if ratio is None:
        return "-"
    if ratio < 0.1:
        return f"{ratio:.1g}"
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
