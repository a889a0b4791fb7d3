"""Results as a page of documentation, with the tables of one machine or several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from gatherscatter.bench.overview import limit_of, overview
from gatherscatter.bench.result_text import cells, headers, heading, ratio_text, verdicts_text
from gatherscatter.bench.results import Results, Row, geometric_mean
from gatherscatter.bench.scaling import scaling_section
from gatherscatter.files import write_text
from gatherscatter.text import markdown_table

_HOW = """\
`gatherscatter bench` writes this page: `--json` keeps the results of a run, and
`gatherscatter bench --from results.json --markdown docs/performance.md` makes the page of them. `--all` measures all
workloads, the default is about 120, `--quick` 27. `--html` gives a page with plots, and `--against COMMIT` compares
with an earlier commit.

- **Checked before timed.** The result of each contender is compared with a plain one made by NumPy, in up to three
  runs. Moves and integers must have the same bits, ours in every case. Sums of floats may differ by the roundings of
  another order. A peer that is wrong in one of the runs is named as wrong and does not count.
- **In turns.** Contenders take turns on the same arrays, in a new order each round, and wait until the threads of the
  one before are asleep. Each peer is timed in the fastest of its correct ways, which is named. Compilation is not
  timed.
- **Ratio** is the time of the best correct peer over ours: above 1 we are faster. It is estimated from pairs of one
  round, and the interval in brackets has 99 % confidence (Wilcoxon's signed-rank test). Rounds end when the interval is
  narrow, or when the time for a workload is used up. Our functions take part twice, and intervals are widened until the
  two are even in 98 % of the workloads. The best peer is the one with the least median; where several are equally fast,
  chance favours them a little.
- **Unchecked**: Numba's loops, NumPy's `mode="clip"` and JAX's `promise_in_bounds` check no index. They count as
  correct, because the indices of the workloads are.
- **Even** is a workload whose interval includes 1. Intervals reach at least 2 % to both sides.
- **Of limit** is the least time that the limits of the machine allow, as a share of ours. *stream* stands for copying
  in order, *random* for reading at random places, both with the cost of touching fresh memory. The rate of random
  reads is that of the fastest contender, so small differences can make it exceed 100 %.
- **1 to n threads** is our time on one thread over that on all.
- Times are medians.
"""


def write_markdown(results: Sequence[Results], path: Path) -> None:
    """Write the page into a file."""
    write_text(path, "\n".join(_page(results)) + "\n")


def _page(results: Sequence[Results]) -> Iterator[str]:
    yield "# Performance\n"
    first = results[0]
    yield f"On {_machine(first)}, {first.machine['date'][:10]}:\n"
    yield from (f"- {line}" for line in overview(first))
    for other in results[1:]:
        mean, counts = ratio_text(other.mean_ratio()), verdicts_text(other.counts())
        yield f"\nOn {_machine(other)}, {other.machine['date'][:10]}: geometric mean {mean}; {counts}."
    yield "\n## How it is measured\n"
    yield _HOW
    for one in results:
        yield from _render_machine(one)
    yield from scaling_section(results)


def _machine(results: Results) -> str:
    return f"{results.machine['cpu']} with {results.plan.threads} threads"


def _render_machine(results: Results) -> Iterator[str]:
    yield f"## {_machine(results)}\n"
    yield from (f"- {line}" for line in heading(results))
    if results.missing:
        yield f"- this run was interrupted: {len(results.missing)} workloads are missing"
    mean, behind = results.mean_ratio(), results.with_verdict("behind")
    if mean is not None:
        yield f"\nGeometric mean of the ratios: **{mean:.2f}**; {verdicts_text(results.counts())}.\n"
        head = ["group", "workloads", "mean ratio", "lowest", "highest", "ahead", "even", "behind"]
        yield markdown_table(head, _groups(results))
    if behind:
        yield f"\n### Behind on {_machine(results)}\n"
        yield markdown_table((*headers(results), "limit"), ((*cells(results, row), limit_of(row)) for row in behind))
    if patterns := results.patterns():
        yield f"\n### Spatter on {_machine(results)}\n"
        yield "Useful bytes over time, GB/s, over all patterns, for contenders that are right on all of them:\n"
        keys = ("min", "median", "harmonic")
        lines = [[name, *(f"{found[key] / 1e9:.2f}" for key in keys)] for name, found in patterns.items()]
        yield markdown_table(["", "least", "median", "harmonic mean"], lines)
    yield f"\n### All workloads on {_machine(results)}"
    for group, rows in groupby(results.rows, key=lambda row: row.workload.group):
        yield f"\n#### {group}\n"
        yield _table(results, rows)
    yield ""


def _groups(results: Results) -> Iterator[list[str]]:
    for group, members in groupby(results.rows, key=lambda row: row.workload.group):
        rows = list(members)
        ratios = [row.ratio for row in rows if row.ratio is not None]
        if ratios:
            texts = [ratio_text(value) for value in (geometric_mean(ratios), min(ratios), max(ratios))]
            counts = [str(count) for count in results.counts(rows).values()]
            yield [group, str(len(ratios)), *texts, *counts]


def _table(results: Results, rows: Iterable[Row]) -> str:
    return markdown_table(headers(results), (cells(results, row) for row in rows))
