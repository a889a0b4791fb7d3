"""The search finds departures, shrinks them, reports each once, and ends in time."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from random import Random

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import oracle
from gatherscatter_conformance import corpus, search
from gatherscatter_conformance.case import KINDS
from gatherscatter_conformance.edge_classes import kind_of
from gatherscatter_conformance.random_source import ByteChoices
from gatherscatter_conformance.run import Examiner
from gatherscatter_conformance.themes.draft import DraftedCall, draft_line_call, i64
from gatherscatter_conformance.themes.values import ramp
from tests.support.command_line import call, fail, succeed

SUPPORT = Path(__file__).parent / "support"


@pytest.fixture(autouse=True)
def _runtimes_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SUPPORT)
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT), prepend=os.pathsep)


@pytest.mark.full
def test_departures_are_found_and_shrunk() -> None:
    asked = []
    ops = ["onnx.ScatterND-16"]
    found = list(search.search("departing:Twice", 0.3, lambda *seen: asked.append(seen), ops=ops, seed=1))
    assert any(judgement.verdict == "pass" for _, _, judgement in asked)
    by_kind = {departure.case.kind: departure for departure in found}
    assert len(found) == len(by_kind) == 2  # each once, and none is a shrunk form of another
    assert by_kind["empty"].signature == ("refuses", "onnx.ScatterND-16", "empty")
    assert by_kind["negative"].signature == ("differs", "onnx.ScatterND-16", "negative")
    data, indices, updates = by_kind["negative"].case.inputs
    assert data is not None
    assert indices is not None
    assert updates is not None
    assert data.shape in ((1,), (2,))  # nothing can be removed any more
    assert indices.tolist() in ([-1], [-2])
    assert updates.shape == ()
    assert not corpus.same(data, by_kind["negative"].case)


def test_shrinking_stays_with_one_departure() -> None:
    row = oracle.ROWS["onnx.ScatterND-16"]
    negative = search.case_of(row, draft_line_call(row, ramp("int32", 3), [-1], ramp("int32", 1)))
    empty = search.case_of(row, draft_line_call(row, ramp("int32", 3), [], ramp("int32", 0)))
    plain = search.case_of(row, draft_line_call(row, ramp("int32", 3), [1], ramp("int32", 1)))
    with Examiner("departing:Twice", 60) as examiner:
        hunt = search._DepartureSearch("departing:Twice", examiner, time.monotonic() + 600, None)
        assert [hunt._is_new(case) for case in (plain, negative, empty, negative)] == [False, True, False, True]


@pytest.mark.full
def test_a_crash_is_found_and_ends_nothing() -> None:
    found = list(search.search("misbehaving:Segfault", 0.25, ops=["onnx.GatherND"], seed=2))
    assert {departure.judgement.verdict for departure in found} == {"crashes"}
    assert {departure.case.kind for departure in found} == {"negative"}
    assert len({departure.signature for departure in found}) == len(found)


def test_this_package_does_not_depart_and_the_search_ends_in_time() -> None:
    calls = []
    start = time.monotonic()
    assert list(search.search("gatherscatter", 0.05, lambda *seen: calls.append(seen))) == []
    assert time.monotonic() - start < 30
    assert len({case.id for _, case, _ in calls}) == len(calls) > 20


@pytest.mark.parametrize("minutes", [0, -1, float("nan")])
def test_a_search_takes_time(minutes: float) -> None:
    with pytest.raises(ValueError, match="minutes must be a positive number"):
        next(search.search("numpy", minutes))


def test_drawn_calls_are_cases() -> None:
    """Every call has a kind, separate contiguous arrays, and a result that this package also gives."""
    random = Random(7)
    rows = [row for row in oracle.ROWS.values() if not row.deprecated]
    kinds = set()
    for _ in range(1500):
        case = search._draw(ByteChoices(random.randbytes(300)), rows)
        kinds.add(case.kind)
        assert all(array is None or (array.flags.c_contiguous and array.dtype.isnative) for array in case.inputs)
        try:
            result = gs.op(case.op)(*case.inputs, **case.attributes)
            fits = corpus.same(result, case)
        except (IndexError, TypeError, ValueError) as error:
            fits = case.error in {kind.__name__ for kind in type(error).__mro__}
        assert fits, case.id
    assert kinds <= set(KINDS)
    assert kinds >= {"plain", "negative", "repeated", "out of range", "empty", "k=0", "type", "shape", "attribute"}


@pytest.mark.parametrize(
    ("elements", "kind"), [([0, 2], "plain"), ([-1, 0], "negative"), ([1, 1], "repeated"), ([3, 0], "out of range")]
)
def test_kinds(elements: list[int], kind: str) -> None:
    row = oracle.ROWS["onnx.ScatterND-18"]
    assert kind_of(row, draft_line_call(row, ramp("int32", 3), elements, ramp("int32", 2))) == kind
    reduced = draft_line_call(row, ramp("int32", 3), elements, ramp("int32", 2), reduction="mean")
    assert kind_of(row, reduced) == "attribute"


def test_kinds_of_values_and_shapes() -> None:
    gather, tree = oracle.ROWS["openvino.Gather-8"], oracle.ROWS["openvino.GatherTree-1"]
    one = np.zeros((1, 1, 1), np.int32)
    for expected, row, inputs in (
        ("wide values", gather, [i64([1 << 40]), i64([0]), i64(0)]),
        ("nan", gather, [np.array([np.nan]), i64([0]), i64(0)]),
        ("wide values", gather, [np.array([0.1]), i64([0]), i64(0)]),
        ("scalar", gather, [np.array([0.5]), i64(0), i64(0)]),
        ("empty", gather, [i64([1]), i64([]), i64(0)]),
        ("type", gather, [i64([1]), np.array([0.5]), i64(0)]),
        ("shape", gather, [i64([1]), i64([0]), i64(5)]),
        ("beams", tree, [one, one, one[0, 0], one[0, 0, 0]]),
    ):
        assert kind_of(row, DraftedCall(list(inputs), {})) == expected


@pytest.mark.full
def test_command(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    printed = succeed(
        "conform",
        "--runtime",
        "departing:Twice",
        "--op",
        "onnx.ScatterND-11",
        "--search",
        "0.15",
        "--json",
        file,
    )
    assert "differs  onnx/ScatterND-11/" in printed
    report = json.loads(file.read_text())
    results = report["results"]["departing:Twice"]
    assert f"{len(results)} kinds of departures" in printed
    assert {"differs"} <= {result["verdict"] for result in results.values()} <= {"differs", "refuses"}
    assert [case["id"] for case in report["cases"]] == list(results)
    none = call(
        "conform", "--runtime", "gatherscatter", "--op", "onnx.Gather-1", "--search", "0.02", "--fail-on", "refused"
    )
    assert none.exit_code == 0
    assert "0 kinds of departures" in none.stdout


def test_command_refuses_what_does_not_go_together(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "the only filter that it accepts is --op" in fail("conform", "--search", "1", "--kind", "plain")
    assert "there is no operator 'nil'" in fail("conform", "--runtime", "numpy", "--search", "1", "--op", "nil")
    line = ("conform", "--runtime", "numpy", "--search", "1", "--op", "openvino.GatherTree")
    assert "numpy has no op version like openvino.GatherTree" in fail(*line)
