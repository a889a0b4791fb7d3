"""The results as a page of documentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from gatherscatter.bench.results import Results, Row, geometric_mean
from gatherscatter.bench.terminal import cells, heading, ratio_text
from gatherscatter.files import write_text

_HOW = """\
Written by `gatherscatter bench --markdown docs/performance.md`; `--quick` takes two minutes, `--html` gives a page
with plots, `--json` every sample.

Every contender's result is checked before it is timed: moves and integers bit by bit; sums of floats within the
roundings that another order of adding may cause; ours bit by bit against adding one by one. Contenders take turns on
the same arrays; figures are medians. Each peer is timed in the fastest of its correct ways, which is named. *Ratio*
is the time of the best correct peer over ours: above 1 we are faster. *Of limit* is the least time that the machine's
own limits (copying in order, reading at random places, touching fresh memory) allow, as a share of ours; *stream* or
*random* says which of them applies. The rate of random reads is that of the fastest contender. *Scaling* is our time
on one thread over that on all. A peer that is wrong, also if only in one of three runs, is named as wrong and does
not count; one that takes eight times as long as we do is timed once.
"""


def write_markdown(results: Results, path: Path) -> None:
    """Write the page into a file."""
    write_text(path, "\n".join(_page(results)) + "\n")


def _page(results: Results) -> Iterator[str]:
    yield "# Performance\n"
    yield _HOW
    yield "## The machine\n"
    yield from (f"- {line}" for line in heading(results))
    mean, behind = results.mean_ratio(), results.behind()
    compared = [row for row in results.rows if row.ratio is not None]
    if mean is not None:
        yield "\n## In short\n"
        count = len(compared)
        yield f"Geometric mean of the ratio: **{mean:.2f}** over {count} workloads; on {len(behind)} a peer is ahead.\n"
        yield from _groups(results.rows)
    if behind:
        yield "\n## Behind\n"
        yield "The fastest correct peer takes less time than we do, worst first:\n"
        yield from _rows(behind)
    if patterns := results.patterns():
        yield "\n## Spatter\n"
        yield "Useful bytes over time, GB/s, over all patterns, for contenders that are right on all of them:\n"
        yield from _line(["", "least", "median", "harmonic mean"], head=True)
        for name, found in patterns.items():
            yield from _line([name, *(f"{found[key] / 1e9:.2f}" for key in ("min", "median", "harmonic"))])
    yield "\n## All workloads"
    for group, rows in groupby(results.rows, key=lambda row: row.workload.group):
        yield f"\n### {group}\n"
        yield from _rows(list(rows))


def _groups(rows: Sequence[Row]) -> Iterator[str]:
    yield from _line(["group", "workloads", "mean ratio", "lowest", "highest", "behind"], head=True)
    for group, members in groupby(rows, key=lambda row: row.workload.group):
        ratios = [row.ratio for row in members if row.ratio is not None]
        if ratios:
            texts = [ratio_text(value) for value in (geometric_mean(ratios), min(ratios), max(ratios))]
            yield from _line([group, str(len(ratios)), *texts, str(sum(ratio < 1 for ratio in ratios))])


def _rows(rows: Sequence[Row]) -> Iterator[str]:
    yield from _line(["workload", "ours", "best peer", "its time", "ratio", "of limit", "scaling", "wrong"], head=True)
    for row in rows:
        yield from _line(cells(row))


def _line(values: Sequence[str], head: bool = False) -> Iterator[str]:
    yield "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"
    if head:
        yield "|" + "---|" * len(values)
