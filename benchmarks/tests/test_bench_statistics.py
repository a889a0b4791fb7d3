"""The workloads with statistics of groups: their reference, and the ways of their contenders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.bound import traffic
from benchmarks.case import build
from benchmarks.contenders import make_contenders
from benchmarks.contenders.contender import find_calls
from benchmarks.reference import make_reference
from benchmarks.statistics import compute_statistic
from benchmarks.workload import Workload
from benchmarks.workloads import select
from tests.support import statistics as judge
from tests.support.processes import in_another_process

ROWS = [replace(row, data=(7, *row.data[1:]), indices=(40,)) for row in select(["statistics"])]
FUNCTIONS = {row.reduction for row in ROWS}
# For each peer, the functions that it has. All other libraries take no part.
HAS = {
    "numpy-groupies": FUNCTIONS,
    "pandas": {"sum", "mean", "std", "max", "first", "last", "argmax", "len", "nansum", "nanmean", "nanstd", "median"}
    | {"cumsum"},
    "polars": {"sum", "mean", "std", "max", "first", "last", "len", "median"},
    "flox": {"sum", "mean", "std", "max", "first", "last", "argmax", "len", "nansum", "nanmean", "nanstd", "median"},
    "scipy": {"sum", "mean", "std", "max", "median"},
    "numpy": set(),
    "two-steps": set(),
    "convert-first": set(),
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_the_reference_is_that_of_fractions(row: Workload) -> None:
    case = build(row)
    found, values = compute_statistic(case), case.new.reshape(40, -1)[:, 0]
    if row.reduction == "cumsum":
        for members in judge.groups_of(case.indices.tolist(), 7):
            wanted = [float(each) for each in judge.running("cumsum", [values[i] for i in members])]
            assert found[members] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
        return
    found = found.reshape(7, -1)[:, 0]
    for g, members in enumerate(judge.groups_of(case.indices.tolist(), 7)):
        wanted = judge.statistic(row.reduction, [values[i] for i in members], members)
        if wanted is judge.EMPTY or not members:
            assert np.isnan(found[g])
        else:
            wanted = float(wanted) ** 0.5 if "std" in row.reduction else float(wanted)
            assert found[g] == pytest.approx(wanted, rel=1e-9)


def check_ways(peer: str) -> None:
    """Check all ways of a peer on small rows. This runs in a separate process."""
    contender = make_contenders([peer], 2)[-1]
    right = set()
    for row in ROWS:
        case = build(row)
        contender.prepare()
        for way, call in find_calls(contender, case).items():
            try:
                result = call.run()
            except (NotImplementedError, ImportError, TypeError):
                continue
            assert make_reference(case).accepts(call.result(result)), (row.id, way)
            right.add(row.reduction)
    assert right == HAS[peer], right ^ HAS[peer]


@pytest.mark.full
@pytest.mark.parametrize("peer", HAS)
def test_every_way_of_a_peer_is_right(peer: str) -> None:
    if peer not in ("two-steps", "convert-first"):
        pytest.importorskip(peer.replace("-", "_"))
    in_another_process(f"check_ways({peer!r})", "benchmarks.tests.test_bench_statistics")


def test_ours_is_right_on_all_rows() -> None:
    ours = make_contenders([], 2)[0]
    for row in ROWS:
        case = build(row)
        (call,) = find_calls(ours, case).values()
        assert make_reference(case).accepts(call.result(call.run())), row.id


def test_the_limit_reads_labels_and_values() -> None:
    (row,) = select(["statistics/mean-100000"])
    assert traffic(row) == 2_000_000 * 16 + 100_000 * 8
