"""Sums and statistics: exact sums, sums in a wider type, and no bit that depends on the number of threads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import oracle
from tests.contract.adapter import Adapter
from tests.contract.calls import Call, Case, choices, find_epsilon, make
from tests.contract.matrix import SCATTERS, STATISTICS, SUMS, THREADS
from tests.contract.test_values import find_departure
from tests.support import statistics as judge

NAMES = ("sum", "prod", "mean", "var", "std", "min", "max", "first", "last", "any", "all", "argmin", "argmax", "len")


def list_sums(adapter: Adapter, function: str) -> Iterator[Case]:
    """Return cases of every way to add numbers up, except in steps: that is the default."""
    selves = (True, False) if function in SCATTERS else (True,)
    reductions = [each for each in choices(function, "reduction") if each in oracle.SUMS]
    ways = itertools.product(SUMS.find_elements(adapter, function), reductions, selves, choices(function, "accumulate"))
    for n, (element, reduction, include_self, accumulate) in enumerate(ways):
        if accumulate == "step" or (accumulate == "wide" and element not in oracle.HALVES):
            continue  # the oracle has no type that is wider
        options = {"reduction": reduction, "accumulate": accumulate} | ({} if include_self else {"include_self": False})
        for m in range(2):
            case = Case(function, element, SUMS.widths[(n + 3 * m) % 6], n + m, tuple(options.items()))
            case = case._replace(tame=adapter.rounds(make(case)))
            if not adapter.find_gap_of_call(make(case), element):
                yield case


@SUMS.each
def test_exact_and_wide_sums_are_those_of_fractions(adapter: Adapter, function: str) -> None:
    cases = list(list_sums(adapter, function))[:: adapter.step]
    results = adapter.run_all([make(case) for case in cases])
    wrong = [find_departure(adapter, *pair) for pair in zip(cases, results, strict=True)]
    assert not any(wrong), "\n".join(line[:300] for line in wrong if line)
    assert cases


# ------------------------------------------------------------------------------------------------------ statistics


@pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.full)])
@STATISTICS.each
def test_statistics_are_those_of_fractions(adapter: Adapter, function: str, thorough: bool) -> None:
    calls = []
    elements, widths = STATISTICS.find_elements(adapter, function), STATISTICS.widths
    if adapter.step > 2 and not thorough:  # JAX compiles the operators of each type and shape
        elements, widths = elements[::4], widths[2:3]
    for n, (element, m) in enumerate(itertools.product(elements, range(2 * len(NAMES)))):
        name = ("nan" if m % 2 else "") + NAMES[m // 2]
        width = widths[(n + n // 28) % max(len(widths) - 1, 1)] if m else widths[-1]
        call = make(Case(function, element, width, n, (("func", name),), tame=True))
        if not adapter.find_gap_of_call(call, element):
            calls.append(call)
    results = adapter.run_all(calls)
    for call, found in zip(calls, results, strict=True):
        assert not isinstance(found, Exception), (call.options, found)
        _check_statistic(call, found)


def _check_statistic(call: Call, found: np.ndarray) -> None:
    """Compare each group and column with the definition."""
    labels, values, name = call.inputs["group_idx"], call.inputs["a"], call.options["func"]
    assert found.shape == (call.options["size"], *values.shape[1:])
    groups = judge.groups_of(labels.tolist(), len(found))
    for column in np.ndindex(values.shape[1:]):
        for group, members in enumerate(groups):
            each = [values[(member, *column)] for member in members]
            wanted, result = judge.statistic(name, each, members), found[(group, *column)]
            if wanted is judge.EMPTY:
                assert group not in labels, name
                continue
            if "std" in name:
                result, wanted = judge.exact(result), Fraction(float(wanted) ** 0.5)
            sizes = [float(abs(judge.exact(x))) + 1 for x in each]
            scale = float(np.prod(sizes)) if "prod" in name else max(sizes, default=1) ** 2 * len(sizes)
            if found.dtype.kind in "biu":
                assert judge.close(result, wanted, scale, 4, found.dtype), (call.options, result, wanted)
            else:  # the type of the values decides how sums are rounded
                rounded = 4 * scale * find_epsilon(found.dtype)
                assert abs(float(result) - float(wanted)) <= rounded, (call.options, result, wanted)


@pytest.mark.parametrize("func", ["len", "nanlen"])
def test_counts_are_writable(func: str) -> None:
    assert gs.aggregate([0, 1, 1], np.ones(3), func).flags.writeable


# --------------------------------------------------------------------------------------------------------- threads


@THREADS.each
def test_the_number_of_threads_changes_no_bit(adapter: Adapter, function: str) -> None:
    """All updates go to a few targets, so that the order of the additions matters."""
    reductions: tuple[str, ...] = (
        ("none", "add", "max", "mean") if function in (*SCATTERS, "prepare.scatter") else ("",)
    )
    elements = THREADS.find_elements(adapter, function)[: 2 if adapter.step == 1 else 1]
    for element, reduction in itertools.product(elements, reductions):
        options: dict[str, Any] = {"reduction": reduction} if reduction else {}
        options |= {"aggregate": {"func": "sum"}, "prepare.reduce": {"reductions": "sum"}}.get(function, {})
        call = make(Case(function, element, 33, 4, tuple(options.items()), tame=True, scale=300))
        calls = [call._replace(options=call.options | {"num_threads": threads}) for threads in (1, 2, 7)]
        if not adapter.find_gap_of_call(call, element):
            first, *others = (adapter.run(each).tobytes() for each in calls)
            assert others == [first] * 2
