"""The report on results: sections of sentences and tables, for the terminal and for Markdown pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from benchmarks.intervals import Interval
from benchmarks.limits import Limits
from benchmarks.results import OURS, Results, Row, mean_ratio
from benchmarks.workload import HALVES, LANES, Workload, row_view
from gatherscatter.messages.text import markdown_table, seconds_text

TEXT_COLUMNS = ("workload", "best peer", "verdict", "wrong", "reason", "group", "contender")

_SMALL = 1 << 13  # bytes moved, below which the call itself takes most of the time
_NARROW = 64  # bytes of a row, up to which checking its index takes time that can be measured

# kind of work: what decides its speed
_REASONS = {
    "Whole rows": "A row is one copy or one vector addition. Each thread owns some of the destinations, so threads "
    "divide rows without changing the order of additions.",
    "Single elements, moved": "Every index is checked before it is used. With `out=`, the indices are read twice, "
    "because nothing is written before all are checked. Beyond the cache, the rate of random reads decides.",
    "Single elements, reduced": "Additions to the same element keep their order. In the cache, one thread usually "
    "does all additions and checks the indices.",
    "Rows, gathered and reduced": "Gathered rows are not stored. The members of a bag are reduced in their order. "
    "One thread groups the segment ids in each call, or `prepare` groups them once.",
    "Statistics of groups": "Labels are checked in the loop that adds. A variance reads values once more if the first "
    "value of a group is far from its mean.",
    "Quantized tables": "Only the gathered rows are dequantized. A bag decodes a row and adds it.",
    "Small calls": "A call is one C function, but it has more arguments to read than `ndarray.take`.",
    "Published models": "`InferenceSession` moves some gather and scatter nodes to gatherscatter. ONNX Runtime runs "
    "the others.",
}

# Ways of peers that process members in any order, without grouping.
_UNGROUPED = ("numba: loop over members", "scipy: coo @ data")


class Section(NamedTuple):
    """A part of the report: sentences, then a table."""

    title: str
    lines: Sequence[str] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    def to_markdown(self, level: int = 2) -> str:
        """Return the section with its heading."""
        parts = [f"{'#' * level} {self.title}", "\n".join(f"- {line}" for line in self.lines)]
        parts += [markdown_table(self.head, self.rows)] if self.rows else []
        return "\n\n".join(part for part in parts if part)


def to_markdown(results: Results) -> str:
    """Return all sections as one page."""
    sections = (machine(results), summary(results), behind(results), spatter(results), *groups(results))
    parts = ["# Performance", *(section.to_markdown() for section in sections if section)]
    return "\n\n".join(parts) + "\n"


def machine(results: Results) -> Section:
    """Return the machine, versions, limits and noise."""
    return Section("Machine", list(_machine_lines(results)))


def _machine_lines(results: Results) -> Iterator[str]:
    facts = results.machine
    yield f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gib']} GiB, {facts['system']}"
    others = {name: version for name, version in facts["versions"].items() if not name.startswith(f"{OURS}-")}
    versions = ", ".join(f"{name} {version}" for name, version in others.items() if name[-2:] != "-1")
    yield f"{versions}; Python {facts['python']}; {results.plan.threads} threads; {facts['date']}"
    yield _limits_text(results.limits)
    if results.even_repeats[1]:
        yield (
            f"noise: {_repeats_text(results)} In 98 % of the workloads they differ by at most {results.noise:.1%}. "
            f"Therefore intervals are made {results.stretch:.2f} times as wide"
        )
    seconds = round(sum(row.seconds for row in results.rows))
    yield f"{len(results.rows)} workloads in {seconds // 60} min {seconds % 60} s"
    if results.load > 0.1:
        yield (
            f"other processes used {results.load:.2g} cores during the run: times are too long, scaling is too low, "
            "and single-threaded libraries are favoured"
        )


def _repeats_text(results: Results) -> str:
    even, rows = results.even_repeats
    return (
        "gatherscatter is timed twice. Before the intervals are widened, the two timings are even in "
        f"{even} of {rows} workloads."
    )


def _limits_text(limits: Limits) -> str:
    return (
        f"limits at {limits.sizes[-1] >> 20} MB: copy {limits.copy_one[-1] / 1e9:.1f} GB/s on one thread, "
        f"{limits.copy_all[-1] / 1e9:.1f} on all; random reads "
        + ", ".join(f"{rates[-1] / 1e6:.0f} M/s of {width} bytes" for width, rates in limits.random.items())
        + f"; fresh memory {limits.fresh[-1] * 2**30 * 1e3:.0f} ms/GiB"
    )


def summary(results: Results) -> Section:
    """Return the mean and the verdicts of all workloads, of each kind of work and of each group, and what failed."""
    head = ("group", "workloads", "mean ratio", "lowest", "highest", "ahead", "even", "behind")
    return Section("Summary", [*_kind_lines(results), *_fault_lines(results)], head, list(_group_rows(results)))


def _kind_lines(results: Results) -> Iterator[str]:
    compared = results.compared
    if compared:
        yield f"**All**: geometric mean {_mean_text(compared)}; {_verdicts_text(results, compared)}. " + _repeats_text(
            results
        )
    found = []
    for kind, reason in _REASONS.items():
        rows = [row for row in compared if _kind(row.workload) == kind]
        if mean := mean_ratio(rows):
            counts = results.counts(rows)
            text = ", ".join(f"{verdict} in {count}" for verdict, count in counts.items())
            names = Counter(row.peer for row in rows if results.verdict(row) == "behind").most_common()
            leaders = ", ".join(f"{name} {count}" for name, count in names)
            text += f" (best peer: {leaders})" if leaders else ""
            line = f"**{kind}** ({len(rows)} workloads): mean {_ratio_text(mean)}; {text}."
            found.append((mean, line if results.plan.commit else f"{line} {reason}"))
    yield from (line for _, line in sorted(found, reverse=True))
    ratios = [row.ratio.value for row in results.rows if row.workload.given and row.ratio]
    if ratios:
        yield (
            f"**Layouts and types** ({len(ratios)} workloads): calls on arrays in other layouts and types take "
            f"{1 / max(ratios):.2f} to {1 / min(ratios):.2f} times as long as the simplest way to avoid them, which is "
            "usually a conversion before the call. These workloads are not part of the counts above."
        )


def _fault_lines(results: Results) -> Iterator[str]:
    for row in results.rows:
        if row.ours is None:
            yield f"WRONG: {row.workload.id}: {row.fault}"
        elif results.plan.commit and not row.peer:
            yield f"{results.plan.commit} has no time for {row.workload.id}: {row.fault}"
    if results.missing:
        count = len(results.missing)
        yield f"{count} of {count + len(results.rows)} workloads are not measured yet"


def _group_rows(results: Results) -> Iterator[list[str]]:
    for group, members in groupby(results.rows, key=lambda row: row.workload.group):
        rows = [row for row in members if row.ratio]
        ratios = [row.ratio.value for row in rows if row.ratio]
        if ratios:
            texts = [_mean_text(rows), _ratio_text(min(ratios)), _ratio_text(max(ratios))]
            yield [group, str(len(rows)), *texts, *(str(count) for count in results.counts(rows).values())]


def behind(results: Results) -> Section | None:
    """Return the workloads in which a peer is faster, with the reasons, or those in which a commit is faster."""
    explained = not results.plan.commit
    head = (*_headers(results), *["reason"] * explained)
    rows = [(*_cells(results, row), *[find_reason(row)] * explained) for row in results.behind]
    return Section("Behind", (), head, rows) if rows else None


def spatter(results: Results) -> Section | None:
    """Return the bytes per second over the patterns of Spatter."""
    text = (
        "Spatter is a benchmark with patterns of indices from applications. The table has the useful bytes per "
        "second, in GB/s, over all of its patterns. It lists only contenders that are correct on all patterns."
    )
    rows = [[name, *(f"{rate / 1e9:.2f}" for rate in rates)] for name, rates in results.patterns().items()]
    return Section("Spatter", [text], ["contender", "least", "median", "harmonic mean"], rows) if rows else None


def groups(results: Results) -> list[Section]:
    """Return a table of workloads for each group."""
    return [
        Section(group, (), _headers(results), [_cells(results, row) for row in rows])
        for group, rows in groupby(results.rows, key=lambda row: row.workload.group)
    ]


def _headers(results: Results) -> tuple[str, ...]:
    """Return the names of the columns that `_cells` fills."""
    scaling = [f"{count} to {results.plan.threads} threads" for count in results.threads]
    return ("workload", "gatherscatter", "best peer", "peer time", "ratio", "verdict", "of limit", *scaling, "wrong")


def _cells(results: Results, row: Row) -> tuple[str, ...]:
    """Return the cells of a row as text."""
    return (
        row.workload.title,
        seconds_text(row.ours) if row.ours else row.fault.partition(" ")[0],
        f"{row.peer}: {row.way}" if row.peer else "-",
        seconds_text(row.theirs) if row.theirs else "-",
        interval_text(results.interval(row)),
        results.verdict(row) or "-",
        row.limit.kind if row.share is None else f"{row.share:.0%} {row.limit.kind}",
        *([_ratio_text(ratio) for ratio in row.scaling] or ["-"] * len(results.threads)),
        ", ".join(row.wrong),
    )


def _verdicts_text(results: Results, rows: Sequence[Row]) -> str:
    ahead, even, behind = results.counts(rows).values()
    return f"of {len(rows)} workloads, gatherscatter is ahead in {ahead}, even in {even} and behind in {behind}"


def _mean_text(rows: Sequence[Row]) -> str:
    return _ratio_text(mean_ratio(rows))


def _ratio_text(ratio: float | None) -> str:
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
    return f"{_ratio_text(interval.value)} ({_ratio_text(interval.low)}-{_ratio_text(interval.high)})"


def find_reason(row: Row) -> str:
    """Return why a peer is ahead in a row, as far as the kind of work explains it."""
    workload = row.workload
    if workload.given:
        return "the call converts its arguments, too"
    kind, way = _kind(workload), f"{row.peer}: {row.way}"
    if kind == "Small calls":
        return "the call: reading arguments, planning, creating the result"
    if kind == "Rows, gathered and reduced":
        return _find_reason_of_bags(workload, way)
    if kind == "Quantized tables" and way.startswith("torch: embedding_bag"):
        return "numbers are rounded before they are added; the peer fuses both steps, and its rows contain their scales"
    if kind != "Whole rows" and workload.out:
        return "indices are read twice, because nothing is written before all are checked"
    if way == "numba: parallel loop" and not workload.is_gather:
        return "the peer's threads divide updates, which is correct only if no index repeats"
    if kind == "Single elements, reduced":
        return "additions to the same element keep their order, and each index is checked"
    if way.startswith("numba") or way in ("numpy: take clip", "jax: promise_in_bounds"):
        return "the peer does not check indices"
    return "not explained"


def _find_reason_of_bags(workload: Workload, way: str) -> str:
    if way in _UNGROUPED and not workload.is_grouped:
        return "members are first grouped by segment; the peer adds them in any order, on one thread"
    if workload.dtype in HALVES and workload.weighted and way.startswith("torch"):
        return "products of halves are rounded before they are added; the peer rounds only sums"
    if way == "torch: embedding_bag":
        return "the peer generates its loop for the width of the rows; other differences are not explained"
    narrow = row_view(workload)[3] * workload.itemsize <= _NARROW
    if narrow and way.startswith(("numba", "scipy", "torch: sparse.mm")):
        return "the peer does not check indices"
    return "not explained"


def _kind(workload: Workload) -> str:
    if workload.is_model:
        return "Published models"
    if workload.form == "gather_tree" or workload.useful_bytes < _SMALL:
        return "Small calls"
    if workload.is_statistic:
        return "Statistics of groups"
    if workload.bits:
        return "Quantized tables"
    if workload.form == "gather_reduce":
        return "Rows, gathered and reduced"
    if workload.form == "tensor_scatter" or workload.layout in ("expanded", "repeated"):
        return "Whole rows"
    if workload.form not in LANES and row_view(workload)[3] > 1:
        return "Whole rows"
    return "Single elements, moved" if workload.reduction == "none" else "Single elements, reduced"
