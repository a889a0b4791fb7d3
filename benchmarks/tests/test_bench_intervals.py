"""Ratios and their intervals, checked against tables of the signed-rank test and by simulated noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.bound import Bound
from benchmarks.intervals import Interval, paired_ratio
from benchmarks.limits import Limits
from benchmarks.results import Results, Row, RunPlan, Timing, make_row
from benchmarks.workload import Workload

LIMITS = Limits((1 << 15,), (1e10,), (2e10,), (0.0,), {4: (1e9,), 8: (1e9,), 64: (1e8,)})

# For each number of pairs: the ordered average that bounds an interval of at least 99 %, from published tables of the
# test.
RANKS = {8: 1, 9: 2, 10: 4, 11: 6, 12: 8, 13: 10, 14: 13, 15: 16, 16: 20, 18: 28, 20: 38}


@pytest.mark.parametrize("count", RANKS)
def test_the_interval_is_that_of_the_tables(count: int) -> None:
    times = np.exp(np.random.default_rng(count).normal(0, 0.1, count))
    logs = np.log(times)
    averages = sorted((logs[i] + logs[j]) / 2 for i in range(count) for j in range(i, count))
    found = paired_ratio(times.tolist(), [1.0] * count)
    assert found is not None
    assert math.log(found.low) == pytest.approx(averages[RANKS[count] - 1])
    assert math.log(found.high) == pytest.approx(averages[-RANKS[count]])
    assert math.log(found.value) == pytest.approx(np.median(averages))


@pytest.mark.parametrize("count", [8, 12, 30])
@pytest.mark.parametrize("noise", ["normal", "spikes", "drift"])
def test_the_interval_holds_the_ratio_in_99_of_100_cases(count: int, noise: str) -> None:
    rng = np.random.default_rng(count)
    hits, runs = 0, 1000
    for _ in range(runs):
        both = np.exp(rng.normal(0, 0.02, (2, count)))
        if noise == "spikes":
            both *= np.where(rng.random((2, count)) < 0.1, 1 + rng.random((2, count)) * 5, 1)
        if noise == "drift":
            both *= np.linspace(1, 2, count)  # affects both of a pair, as when the machine slows down
        found = paired_ratio((1.1 * both[0]).tolist(), both[1].tolist())
        assert found is not None
        hits += found.low <= 1.1 <= found.high
    assert hits / runs > 0.98


def test_without_pairs_there_is_no_ratio_and_few_pairs_give_their_range() -> None:
    assert paired_ratio([], [1.0]) is None
    assert paired_ratio([2.0, 4.0], [1.0, 1.0, 9.0]) == Interval(math.exp(math.log(8) / 2), 2.0, 4.0)


def timing(name: str, *samples: float) -> Timing:
    return Timing(name, "ok", "run", samples=list(samples))


def row(number: int, ours: list[float], again: list[float], peer: list[float]) -> Row:
    workload = Workload(f"test/{number}", "t", (9,), (9,), form="gather")
    timings = [timing("gatherscatter", *ours), timing("gatherscatter-again", *again), timing("numpy", *peer)]
    return make_row(workload, timings, Bound("call", 0.0))


def results(rows: list[Row]) -> Results:
    return Results(RunPlan(("numpy",), 1), {}, LIMITS, [], rows)


def test_a_workload_is_even_if_its_interval_includes_1() -> None:
    steady, uneasy = [1.0, 1.01, 0.99, 1.0, 1.01, 1.0], [1.0, 1.4, 0.7, 1.2, 0.8, 1.0]
    for peer, verdict in ((2.0, "ahead"), (0.5, "behind"), (1.0, "even"), (1.015, "even"), (1.05, "ahead")):
        one = results([row(0, steady, steady, [peer * time for time in steady])])
        assert one.verdict(one.rows[0]) == verdict, peer
    noisy = results([row(0, steady, steady, [1.05 * time for time in uneasy])])
    assert noisy.verdict(noisy.rows[0]) == "even"


def test_intervals_are_stretched_until_our_two_timings_are_even() -> None:
    """In ten rows, our second timing is 5 % slower for no reason. So a difference of 5 % proves nothing."""
    steady = [1.0, 1.001, 0.999, 1.0, 1.001, 1.0]
    slower = [1.05 * time for time in steady]
    one = results([row(number, steady, slower, [1.06 * time for time in steady]) for number in range(10)])
    assert one.noise == pytest.approx(0.05, rel=0.1)
    assert one.even_repeats == (0, 10)
    assert one.stretch > 2
    assert one.counts(one.rows) == {"ahead": 0, "even": 10, "behind": 0}


def test_the_best_peer_is_not_one_with_a_single_lucky_sample() -> None:
    mine = [1.0] * 6
    both = [timing("gatherscatter", *mine), timing("torch", 0.5), timing("numpy", *mine)]
    found = make_row(Workload("test/a", "t", (9,), (9,)), both, Bound("call", 0.0))
    assert (found.peer, found.way, found.theirs) == ("numpy", "run", 1.0)
