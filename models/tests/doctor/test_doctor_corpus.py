"""The doctor predicts the errors of ONNX Runtime and OpenVINO in the published run of the corpus.

Each case is a model of one node, and the doctor gets the inputs of the case. For each departure of a runtime it must
warn. For a legal case that a runtime got right, it must not.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache

import pytest

from conformance.lab.results import read_results, read_verdicts
from gatherscatter_conformance import corpus
from gatherscatter_conformance.case import Case
from gatherscatter_models.findings.verdicts import DEFAULT, DEPARTURES, SETTINGS, Reason

pytest.importorskip("onnx")

from conformance.lab.foreseen import FORESEEING, TARGETS, Answer, ask_doctor, find_departures
from conformance.lab.one_node_models import OneNodeModels

pytestmark = pytest.mark.full

RUNTIMES = [name for name, target in TARGETS.items() if target in DEFAULT]

# Departures without a warning, as patterns of case ids.
NOT_FORESEEN = {
    "openvino/*/float8_*": "the doctor reads no IR with float8",
    "com.microsoft/*/products-with-*-as-bfloat16-*": "OpenVINO: the doctor computes no products",
    "com.microsoft/*/empty/no-rows-*": "OpenVINO: refused, where the doctor says that memory out of bounds is read",
    "com.microsoft/*/a-scale-of-the-smallest-as-float32-*": "OpenVINO: numbers below the smallest normal one become 0",
}

# Results that are right by chance, although the doctor warns.
RIGHT_BY_LUCK = {
    "*/min/k-0/two-empty-tuples-combined-*": "the runtime does nothing, and the minimum is data itself",
    "openvino/Gather-8/float32/none/out-of-range/2147483648-of-three-*": "its low 32 bits are out of range, too",
    "openvino/ScatterElementsUpdate-12/uint*/mean/mean/of-the-largest-*": "signed, all numbers are -1, as their mean",
    "openvino/ScatterNDUpdate-15/bool/sub/repeated/two-targets-twice-*": "only one of two updates is True",
}
# The same, but only in some runs.
RIGHT_AT_TIMES = {
    "openvino/Gather-[178]/*int*/out-of-range/*-of-three-*": "memory that was never written may hold a zero",
}


@cache
def _answers() -> dict[str, Answer]:
    """Return the doctor's answer for each case and each target that accepts the model."""
    models = OneNodeModels()
    return {
        case.id: ask_doctor(models, case, *(("openvino",) if case.op.startswith("openvino.") else DEFAULT))
        for case in corpus.cases()
    }


def _is_warned_of(id: str, runtime: str) -> bool:
    answer = _answers()[id]
    reasons = answer.verdicts[TARGETS[runtime]].reasons if answer.verdicts else ()
    return answer.is_unreadable or any(reason.status in DEPARTURES and not _may_pass(reason) for reason in reasons)


def _may_pass(reason: Reason) -> bool:
    """Check whether a departure depends on the run, not the model: on a race of threads or a runtime's setting."""
    setting = reason.finding.setting
    return reason.by_chance or (setting != "" and setting not in SETTINGS)


def _departures_without_warning(runtime: str) -> list[str]:
    verdicts = read_verdicts()[runtime]
    return [
        id
        for id, each in verdicts.items()
        if each in FORESEEING and not _answers()[id].foresees(each, TARGETS[runtime])
    ]


def _warnings_without_departure(runtime: str) -> list[str]:
    verdicts = read_verdicts()[runtime]
    return [
        case.id
        for case in corpus.cases()
        if verdicts.get(case.id) == "pass" and _is_decided(case) and _is_warned_of(case.id, runtime)
    ]


def _is_decided(case: Case) -> bool:
    """Check whether the specification defines exactly one result."""
    return case.expected is not None and not case.latitude


def _not_listed(ids: list[str], reasons: dict[str, str]) -> list[str]:
    return [id for id in ids if not any(fnmatchcase(id, pattern) for pattern in reasons)]


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_every_departure_is_foreseen(runtime: str) -> None:
    assert _not_listed(_departures_without_warning(runtime), NOT_FORESEEN) == []


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_no_warning_where_the_result_is_right(runtime: str) -> None:
    assert _not_listed(_warnings_without_departure(runtime), RIGHT_BY_LUCK | RIGHT_AT_TIMES) == []


@pytest.mark.parametrize("reasons", [NOT_FORESEEN, RIGHT_BY_LUCK], ids=["not foreseen", "right by luck"])
def test_the_exceptions_are_needed(reasons: dict[str, str]) -> None:
    find = _departures_without_warning if reasons is NOT_FORESEEN else _warnings_without_departure
    ids = [id for runtime in RUNTIMES for id in find(runtime)]
    for pattern in reasons:
        assert any(fnmatchcase(id, pattern) for id in ids), pattern


def test_the_published_run_has_departures_and_right_results() -> None:
    """Otherwise the tests above would check nothing."""
    for runtime in RUNTIMES:
        verdicts = read_verdicts()[runtime]
        assert sum(verdict in FORESEEING for verdict in verdicts.values()) > 100
        assert sum(verdict == "pass" for verdict in verdicts.values()) > 1000
    assert {"crashes", "narrowed", "accepts"} <= set(read_verdicts()["openvino"].values())


def test_the_page_counts_what_the_exceptions_explain() -> None:
    found = find_departures(read_results())
    for target in DEFAULT:
        listed = {id for name in RUNTIMES if TARGETS[name] == target for id in _departures_without_warning(name)}
        assert {id for id, departure in found[target].items() if not departure.is_foreseen} == listed


def test_a_departure_in_a_model_that_the_doctor_refuses_to_read_is_foreseen() -> None:
    [id] = [id for id, answer in _answers().items() if answer.is_unreadable and id in read_verdicts()["openvino"]][:1]
    found = find_departures({"results": {"openvino": {id: {"verdict": "accepts"}}}})["openvino"][id]
    assert (found.findings, found.is_foreseen, found.is_unreadable) == (frozenset(), True, True)


def test_a_departure_of_another_kind_than_the_doctor_says_is_not_foreseen() -> None:
    id = next(id for id, verdict in read_verdicts()["onnxruntime"].items() if verdict == "refuses")
    refused, crashed = {id: {"verdict": "refuses"}}, {id: {"verdict": "crashes"}}
    for one, other, is_foreseen in ((refused, refused, True), (refused, crashed, False)):
        found = find_departures({"results": {"onnxruntime": one, "onnxruntime-1-thread": other}})["onnxruntime"][id]
        assert (bool(found.findings), found.is_foreseen) == (True, is_foreseen)
