"""The workloads that gather and reduce: their reference, the ways of their contenders, and their limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from benchmarks.bound import compute_bound, traffic
from benchmarks.case import build
from benchmarks.contenders import by_numba, make_contenders
from benchmarks.limits import Limits
from benchmarks.reference import Reference
from benchmarks.workload import HALVES, Workload
from benchmarks.workloads import select
from gatherscatter import oracle
from tests.support.processes import in_another_process

# For each peer, the ways that are right on at least one row.
WAYS = {
    "numpy": {"take, reduceat", "take, add", "sort, take, reduceat", "take, add.at"},
    "torch": {"embedding_bag", "sparse.mm", "sparse.mm, reduce", "index_select, index_add_"},
    "jax": {"default", "promise_in_bounds"},
    "openvino": {"infer"},
    "numba": {"loop", "parallel loop", "loop over members"},
    "scipy": {"csr @ data", "coo @ data", "coo to csr @ data"},
    "two-steps": {"gather, scatter_update", "prepared gather, reduce"},
}
# Calls that a library refuses, and words of its error message.
REFUSALS = ("addmm_out_sparse_csr_impl_mkl", "an empty last bag")
OFFSETS = Workload(
    "test/offsets", "sum", (1 << 20, 16), (1 << 20,), form="gather_reduce", reduction="add", grouping="offsets",
    bags=1 << 10,
)  # fmt: skip


def kinds() -> list[Workload]:
    """Return a small row for each combination of grouping, type and reduction."""
    rows = [row.at_most(7) for row in select(["bags", "graphs-fused"])]
    return list({(r.grouping, r.prepared, r.weighted, r.dtype, r.index_dtype, r.reduction): r for r in rows}.values())


def test_the_rows_cover_what_they_claim() -> None:
    rows = select(["bags", "graphs-fused"])
    assert {row.grouping for row in rows} == {"packed", "offsets", "segments"}
    assert {row.reduction for row in rows if row.prepared} == {"add", "mean", "max"}
    assert {row.data[-1] for row in rows} >= {1, 512}
    assert {row.indices[1] for row in rows if row.grouping == "packed"} >= {1, 500}
    for group in ("bags", "graphs-fused"):
        assert {row.reduction for row in rows if row.group == group} == {"add", "mean", "max"}
        assert {row.weighted for row in rows if row.group == group} == {False, True}


@pytest.mark.parametrize("row", kinds(), ids=lambda row: row.id)
def test_the_reference_is_that_of_the_oracle(row: Workload) -> None:
    case = build(row)
    rows, weights = case.indices.reshape(-1).tolist(), None if case.weights is None else list(case.weights.reshape(-1))
    ids = members_of_bags(row, case.bags)
    accumulate = "wide" if row.dtype in HALVES else "step"
    expected = oracle.gather_reduce(
        case.data, rows, ids, row.bags, weights, row.reduction, default=0, accumulate=accumulate, mode="raise"
    )
    assert Reference(case).same_bits(expected)
    assert case.segment_ids.tolist() == ids
    starts, grouped_rows, grouped_weights = case.grouped
    order = sorted(range(len(ids)), key=lambda member: ids[member])
    assert starts.tolist() == [sum(bag < b for bag in ids) for b in range(row.bags + 1)]
    assert grouped_rows.tolist() == [rows[member] for member in order]
    if weights is not None:
        assert grouped_weights is not None
        assert list(grouped_weights) == [weights[member] for member in order]


def members_of_bags(row: Workload, bags: np.ndarray | None) -> list[int]:
    """Return the bag of each member, by counting."""
    if bags is None:
        return [member // row.indices[1] for member in range(row.indices[0] * row.indices[1])]
    if row.grouping == "segments":
        return [int(bag) for bag in bags]
    return [sum(start <= member for start in bags.tolist()) - 1 for member in range(row.indices[0])]


def check_ways(peer: str) -> None:
    """Check all ways of a peer on small rows. This runs in a separate process."""
    by_numba._SMALL = 0
    contender = make_contenders([peer], 2)[-1]
    right = set()
    for row in kinds():
        case = build(row)
        reference = Reference(case)
        contender.prepare()
        for way, call in (run_unless_refused(partial(contender.calls, case)) or {}).items():
            result = run_unless_refused(call.run)
            if result is not None:
                assert reference.accepts(call.result(result)), (row.id, way)
                right.add(way)
    assert right == WAYS[peer]


def run_unless_refused(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or None if the library is known to refuse it."""
    try:
        return call()
    except (RuntimeError, NotImplementedError) as error:
        if any(words in str(error) for words in REFUSALS):
            return None
        raise


@pytest.mark.full
@pytest.mark.parametrize("peer", WAYS)
def test_every_way_of_a_peer_is_right(peer: str) -> None:
    if peer != "two-steps":
        pytest.importorskip(peer)
    in_another_process(f"check_ways({peer!r})", "benchmarks.tests.test_bench_bags")


def test_a_lost_member_is_wrong() -> None:
    case = build(replace(OFFSETS, data=(50, 4), indices=(400,), bags=20))
    reference = Reference(case)
    lost = reference.expected.copy()
    lost[case.segment_ids[7]] -= case.data[case.indices[7]]
    assert not reference.accepts(lost)


def test_the_limit_reads_each_member_once_and_writes_the_result() -> None:
    rows, result, indices = (1 << 20) * 64, (1 << 10) * 64, (1 << 20) * 8 + (1 << 10) * 8
    assert traffic(OFFSETS) == rows + result + indices
    assert traffic(replace(OFFSETS, weighted=True)) == rows + result + indices + (1 << 20) * 4
    assert traffic(replace(OFFSETS, grouping="segments")) == rows + result + (1 << 20) * 16
    # Copies run at 4 GB/s in the cache and 1 GB/s in memory. Random reads and fresh memory cost nothing.
    limits = Limits((1 << 15, 1 << 16), (4e9, 1e9), (4e9, 1e9), (0.0, 0.0), dict.fromkeys((4, 8, 64), (1e15, 1e15)))
    rest = (result + indices) / 1e9
    assert compute_bound(OFFSETS, limits).seconds == pytest.approx(rows / 1e9 + rest)
    assert compute_bound(replace(OFFSETS, data=(64, 16)), limits).seconds == pytest.approx(rows / 4e9 + rest)
    assert compute_bound(replace(OFFSETS, distribution="zipf"), limits).seconds == pytest.approx(rows / 4e9 + rest)
