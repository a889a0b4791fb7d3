"""The scaling with the number of threads: measured, and estimated for larger machines."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.results import Results, Row
from benchmarks.workload import LANES, Workload, row_view
from gatherscatter.text import markdown_table

_LONG = 100e-6  # seconds; shorter calls use no further threads, or few


@dataclass(frozen=True)
class Kernel:
    """A kernel with the division of its work among threads, and its bounds on many cores."""

    name: str
    matches: Callable[[Workload], bool]
    division: str
    at_16: str
    at_64: str


def _moves_rows(workload: Workload) -> bool:
    if workload.form in (*LANES, "gather_tree", "gather_reduce"):
        return False
    return workload.form == "tensor_scatter" or row_view(workload)[3] > 1


def _is_scatter(workload: Workload) -> bool:
    return not workload.is_gather and workload.form not in LANES and not workload.is_statistic


KERNELS = (
    Kernel(
        "gather_rows, rows",
        lambda w: w.is_gather and not w.bits and _moves_rows(w),
        "Each thread fills a part of the output.",
        "The bandwidth of memory.",
        "The bandwidth of memory. On most machines, 16 cores exhaust it.",
    ),
    Kernel(
        "gather_quantized",
        lambda w: w.form == "gather" and w.bits > 0,
        "Each thread fills a part of the output.",
        "The bandwidth of memory. In the cache, the arithmetic of each thread.",
        "The bandwidth of memory.",
    ),
    Kernel(
        "aggregate",
        lambda w: w.is_statistic,
        "Each thread handles consecutive members, groups or columns.",
        "The bandwidth of memory. With millions of groups, each thread reads all labels.",
        "The same.",
    ),
    Kernel(
        "gather_rows, elements",
        lambda w: w.form in ("gather", "gather_nd") and not _moves_rows(w),
        "Each thread fills a part of the output.",
        "The rate of random reads, which grows with the number of cores.",
        "The rate of random reads of the memory. In the cache: the time to wake the threads.",
    ),
    Kernel(
        "gather_lanes",
        lambda w: w.form == "gather_elements",
        "Each thread handles groups, rows or columns of the index box.",
        "The bandwidth of memory: each element has an index of 8 bytes.",
        "The bandwidth of memory.",
    ),
    Kernel(
        "scatter_rows, rows",
        lambda w: _is_scatter(w) and _moves_rows(w),
        "Each thread owns destination rows, or columns if few rows get most updates, and reads all indices.",
        "Reading all indices in each thread.",
        "The same. The share of the time spent on indices grows with the number of threads.",
    ),
    Kernel(
        "scatter_rows, elements",
        lambda w: _is_scatter(w) and not _moves_rows(w),
        "Data in the cache: usually one thread does all the work. Data in memory: updates are first sorted by their "
        "owners.",
        "Data in the cache: usually one thread. Data in memory: sorting, which moves each update twice.",
        "The same.",
    ),
    Kernel(
        "scatter_lanes",
        lambda w: w.form == "scatter_elements",
        "Each thread handles groups or columns of the index box.",
        "The bandwidth of memory. A box with fewer groups and columns than threads: one thread.",
        "The bandwidth of memory.",
    ),
    Kernel(
        "reduce_bags",
        lambda w: w.form == "gather_reduce",
        "Each thread handles bags with about the same number of members. Very large bags are divided by columns.",
        "The bandwidth of memory, also while members are put in the order of their bags.",
        "The same.",
    ),
    Kernel(
        "gather_tree",
        lambda w: w.form == "gather_tree",
        "One thread does all the work.",
        "One thread.",
        "One thread.",
    ),
)


def scaling_section(results: Sequence[Results]) -> Iterator[str]:
    """Return the measured scaling of each kernel on each machine, and its bounds on larger machines."""
    yield "## More cores\n"
    yield "These tables show how many times faster gatherscatter is on several threads than on one. Each cell has the"
    yield "median and, in brackets, the range over the workloads of a kernel that take longer than"
    yield f"{_LONG * 1e6:.0f} µs on one thread.\n"
    for one in results:
        yield from _render_scaling(one)
    yield "The next table shows the bounds of each kernel on larger machines. The bounds are not measured."
    yield "They follow from the way in which a kernel divides its work.\n"
    head = ["kernel", "division of the work", "bound at 16 cores", "bound at 64 cores"]
    workloads = [row.workload for one in results for row in one.rows]
    measured = [one for one in KERNELS if any(map(one.matches, workloads))]
    yield markdown_table(head, ([one.name, one.division, one.at_16, one.at_64] for one in measured))


def _render_scaling(results: Results) -> Iterator[str]:
    counts = results.threads()
    if not counts:
        return
    columns = [*counts[1:], results.plan.threads]
    yield f"{results.machine['cpu']}, {results.machine['cores']} cores:\n"
    lines = []
    for kernel in KERNELS:
        rows = [row for row in results.rows if kernel.matches(row.workload) and _is_long(row)]
        if rows:
            texts = [_range([_speedup(row, count) for row in rows]) for count in columns]
            lines.append([kernel.name, str(len(rows)), *texts])
    yield markdown_table(["kernel", "workloads", *(f"{count} threads" for count in columns)], lines)
    limit = results.limits.copy_all[-1] / results.limits.copy_one[-1]
    yield f"\nFor comparison, all cores together copy memory {limit:.1f} times as fast as one core.\n"


def _is_long(row: Row) -> bool:
    one = row.on_threads(1)
    return one is not None and bool(one.samples) and one.median > _LONG


def _speedup(row: Row, threads: int) -> float | None:
    """Return the speed on a number of threads, divided by the speed on one."""
    alone, fewer = row.scaling(1), row.scaling(threads)
    if alone is None:
        return None
    return alone / fewer if fewer is not None else alone


def _range(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    return f"{statistics.median(known):.2f} ({min(known):.2f}-{max(known):.2f})"
