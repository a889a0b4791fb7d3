"""Write results as a documentation page, with the tables of one machine or several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from benchmarks.intervals import Interval
from benchmarks.overview import limit_of, overview
from benchmarks.result_text import cells, headers, heading, interval_text, ratio_text, time_text, verdicts_text
from benchmarks.results import Results, Row, geometric_mean
from benchmarks.scaling import scaling_section
from benchmarks.workloads import fused_nodes, published_models
from gatherscatter.files import write_text
from gatherscatter.text import markdown_table

_PUBLISHED, _FUSED = "published models", "fused nodes"  # the names of generated sections in docs/models.md
_INTRODUCTION = """\
This page compares the speed of gatherscatter on the CPU with NumPy, PyTorch, Numba and other libraries. A ratio above
1 means that gatherscatter is faster than the best of them. The summary comes first. The method follows. Then each
machine has a table of the workloads in which a peer is faster, and tables of all workloads that it ran.
"""
_HOW = """\
To repeat the measurement, run `python -m benchmarks --all --json results.json`. Without `--all` it measures about 120
workloads, with `--quick` 27. `python -m benchmarks --from results.json --markdown docs/performance.md` writes this
page. `--html` writes a page with plots, and `--against COMMIT` compares with an earlier commit.

- **Results are checked first.** The result of each contender is compared with a reference result of NumPy, in up to
  three runs. Results of gatherscatter must be bit-for-bit identical to the reference. Results of peers must be
  identical if they are moved elements or integers. Sums of floats of a peer may differ by the rounding errors of
  another order. A peer that is wrong in one run is listed as wrong and does not count.
- **Contenders alternate.** They run in turn on the same arrays, in a new order each round. Each waits until the threads
  of the previous one are asleep. A peer is timed in the fastest of its correct ways, which is named. Compilation is not
  timed. In workloads of PyTorch's tensors, libraries that take arrays convert the tensors, and their result.
- **Ratio** is the time of the best correct peer divided by the time of gatherscatter. Above 1, gatherscatter is faster.
  The ratio is estimated from pairs of the same round, and the interval in brackets has 99 % confidence (Wilcoxon's
  signed-rank test). Rounds end when the interval is narrow, or when the time for a workload is used up. gatherscatter
  takes part twice, and intervals are widened until the two are even in 98 % of the workloads. The best peer has the
  smallest median. If several peers are equally fast, this choice favours them a little.
- **Unchecked indices.** Numba's loops, NumPy's `mode="clip"` and JAX's `promise_in_bounds` do not check indices. They
  count as correct, because the indices of the workloads are valid.
- **Even** means that the interval includes 1. Intervals reach at least 2 % to both sides.
- **Of limit** is the least time that the machine allows, as a share of the time of gatherscatter. *stream* is the limit
  for copying in order, and *random* is the limit for reading at random places. Both include the cost of touching fresh
  memory. *call* means that the call itself takes most of the time. The limits are estimates. They do not consider that
  repeated or neighbouring places are faster to read, so the share can exceed 100 %.
- **1 to n threads** is the time of gatherscatter on one thread divided by its time on all threads.
- **Names.** *gatherscatter-1* is gatherscatter on one thread. *two-steps* is a gather and a scatter of gatherscatter,
  which `gather_reduce` does in one pass. It counts as a peer. *convert-first* is the only peer of the group
  layouts-and-types: a call of gatherscatter after its arguments were converted to contiguous arrays of one type, or the
  simplest other call for the same work. This group does not count in the mean and in the numbers of workloads.
- Times are medians.
- All times are of x86-64. On ARM and s390x, only emulators have run gatherscatter, so no time was measured there (see
  [Platforms](installing.md#platforms)).
"""


def write_markdown(results: Sequence[Results], path: Path) -> None:
    """Write the page to a file. With results of models, rewrite only the tables of models in it."""
    if not any(one.of_models for one in results):
        write_text(path, "\n".join(_page(results)) + "\n")
    elif len(results) > 1:
        raise ValueError("the tables of models have the results of one file")
    else:
        page = path.read_text(encoding="utf-8")
        for name, section in _model_sections(results[0]):
            page = _replace_section(page, name, section)
        write_text(path, page)


def check_marks(path: Path) -> None:
    """Raise ValueError if a file has no place for the tables of models."""
    page = path.read_text(encoding="utf-8")
    for name in (_PUBLISHED, _FUSED):
        _replace_section(page, name, "")


def _replace_section(page: str, name: str, section: str) -> str:
    begin, end = (f"<!-- made by benchmarks, {name}: {side} -->" for side in ("begin", "end"))
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"the page has no marks {begin!r} and {end!r}")
    return f"{before}{begin}\n\n{section}\n\n{end}{after}"


def _model_sections(results: Results) -> Iterator[tuple[str, str]]:
    """Return the texts between the marks. The tables list all models. Those without results have no times."""
    rows = {row.workload.id: row for row in results.rows}
    lines = "\n".join(_heading_lines(results))
    head = ["model, input", "ONNX Runtime", "`InferenceSession`", "ratio", "verdict", "difference"]
    head += ["`gm.run`", "times as long as ONNX Runtime", "difference of `gm.run`"]
    published = []
    for name, model in published_models.MODELS.items():
        session, run = (rows.get(f"{group}/{name}") for group in (published_models.SESSIONS, published_models.RUNS))
        published.append([model.title, *_session_cells(results, session), *_run_cells(results, run)])
    yield _PUBLISHED, f"{lines}\n\n{markdown_table(head, published)}"
    fused = ([workload.title, *_fused_cells(results, rows.get(workload.id))] for workload in fused_nodes.ROWS)
    yield _FUSED, markdown_table(["", "two steps", "one step", "ratio", "verdict"], fused)


def _session_cells(results: Results, row: Row | None) -> list[str]:
    if row is None:
        return ["-"] * 5
    return [*_fused_cells(results, row), row.ours.note]


def _fused_cells(results: Results, row: Row | None) -> list[str]:
    """Return the times of the peer and of gatherscatter, with their ratio."""
    if row is None:
        return ["-"] * 4
    peer = time_text(row.best) if row.best else "-"
    return [peer, time_text(row.ours), interval_text(results.interval(row)), results.verdict(row) or "-"]


def _run_cells(results: Results, row: Row | None) -> list[str]:
    if row is None:
        return ["-"] * 3
    found = results.interval(row)
    inverse = found and Interval(1 / found.value, 1 / found.high, 1 / found.low)
    return [time_text(row.ours), interval_text(inverse), row.ours.note]


def _page(results: Sequence[Results]) -> Iterator[str]:
    yield "# Performance\n"
    yield _INTRODUCTION
    first = results[0]
    yield f"On {_machine(first)}, {first.machine['date'][:10]}:\n"
    yield from (f"- {line}" for line in overview(first))
    for other in results[1:]:
        mean, counts = ratio_text(other.mean_ratio()), verdicts_text(other.counts())
        yield f"\nOn {_machine(other)}, {other.machine['date'][:10]}: geometric mean {mean}; {counts}."
    yield "\n## Method\n"
    yield _HOW
    for one in results:
        yield from _render_machine(one)
    yield from scaling_section(results)


def _machine(results: Results) -> str:
    return f"{results.machine['cpu']} with {results.plan.threads} threads"


def _render_machine(results: Results) -> Iterator[str]:
    yield f"## {_machine(results)}\n"
    yield from _heading_lines(results)
    mean, behind = results.mean_ratio(), results.with_verdict("behind")
    if mean is not None:
        yield f"\nGeometric mean of the ratios: **{mean:.2f}**; {verdicts_text(results.counts())}.\n"
        head = ["group", "workloads", "mean ratio", "lowest", "highest", "ahead", "even", "behind"]
        yield markdown_table(head, _groups(results))
    if behind:
        yield f"\n### Behind on {_machine(results)}\n"
        yield markdown_table((*headers(results), "reason"), ((*cells(results, row), limit_of(row)) for row in behind))
    if patterns := results.patterns():
        yield f"\n### Spatter on {_machine(results)}\n"
        yield "Spatter is a benchmark with patterns of indices from applications. The table has the useful bytes per"
        yield "second, in GB/s, over all of its patterns. It lists only contenders that are correct on all patterns.\n"
        keys = ("min", "median", "harmonic")
        lines = [[name, *(f"{found[key] / 1e9:.2f}" for key in keys)] for name, found in patterns.items()]
        yield markdown_table(["", "least", "median", "harmonic mean"], lines)
    yield f"\n### All workloads on {_machine(results)}"
    for group, rows in groupby(results.rows, key=lambda row: row.workload.group):
        yield f"\n#### {group}\n"
        yield _table(results, rows)
    yield ""


def _heading_lines(results: Results) -> Iterator[str]:
    yield from (f"- {line}" for line in heading(results))
    if results.missing:
        yield f"- this run was interrupted: {len(results.missing)} workloads are missing"


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
