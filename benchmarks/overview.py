"""The first lines of the page: in which kinds of work gatherscatter leads, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from benchmarks.result_text import ratio_text, verdicts_text
from benchmarks.results import Results, Row, geometric_mean
from benchmarks.workload import HALVES, LANES, Workload, row_view

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
}

# Ways of peers that process members in any order, without grouping.
_UNGROUPED = ("numba: loop over members", "scipy: coo @ data")


def overview(results: Results) -> Iterator[str]:
    """Return one line for all workloads, then one for each kind of work, best first."""
    even, rows = results.even_repeats
    mean = ratio_text(results.mean_ratio())
    yield (
        f"**All**: geometric mean {mean}; {verdicts_text(results.counts())}. gatherscatter is timed twice. Before the "
        f"intervals are widened, the two timings are even in {even} of {rows} workloads."
    )
    found = []
    for kind, reason in _REASONS.items():
        compared = [row for row in results.rows if row.ratio is not None and not row.workload.given]
        some = [row for row in compared if _kind(row.workload) == kind]
        mean_of_kind = geometric_mean(row.ratio for row in some)
        if mean_of_kind is not None:
            counts = results.counts(some)
            text = f"ahead in {counts['ahead']}, even in {counts['even']}, behind in {counts['behind']}"
            if leaders := _leaders(results, some):
                text += f" (best peer: {leaders})"
            line = f"**{kind}** ({len(some)} workloads): mean {ratio_text(mean_of_kind)}; {text}. {reason}"
            found.append((mean_of_kind, line))
    yield from (line for _, line in sorted(found, reverse=True))
    ratios = [row.ratio for row in results.rows if row.workload.given and row.ratio is not None]
    if ratios:
        yield (
            f"**Layouts and types** ({len(ratios)} workloads): calls on arrays in other layouts and types take "
            f"{1 / max(ratios):.2f} to {1 / min(ratios):.2f} times as long as the simplest way to avoid them, which is "
            "usually a conversion before the call. These workloads are not part of the counts above."
        )


def limit_of(row: Row) -> str:
    """Return why a peer is ahead in a row, as far as the kind of work explains it."""
    workload, best = row.workload, row.best
    if workload.given:
        return "the call converts its arguments, too"
    kind, way = _kind(workload), f"{best.contender}: {best.way}" if best else ""
    if kind == "Small calls":
        return "the call: reading arguments, planning, creating the result"
    if kind == "Rows, gathered and reduced":
        return _limit_of_bags(workload, way)
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


def _limit_of_bags(workload: Workload, way: str) -> str:
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


def _leaders(results: Results, rows: Sequence[Row]) -> str:
    """Return the peers that are ahead in some of the rows, with the number of rows."""
    names = [row.best.contender for row in rows if row.best and results.verdict(row) == "behind"]
    return ", ".join(f"{name} {count}" for name, count in Counter(names).most_common())


def _kind(workload: Workload) -> str:
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
