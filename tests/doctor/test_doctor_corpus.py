"""The doctor is held to the corpus: it foresees what ONNX Runtime and OpenVINO got wrong in the published run.

Each case is a model of one node, and the doctor sees the inputs of the case. For each departure of a runtime it must
warn. For a legal case that a runtime got right, it must not.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from typing import Literal

import pytest

from gatherscatter.conformance import corpus
from gatherscatter.conformance.case import Case
from gatherscatter.conformance.runtimes import NotAskedError
from gatherscatter.findings.verdicts import DEFAULT, DEPARTURES, SETTINGS, Reason, Verdict
from gatherscatter.model_interface import ModelError
from tools.lab.results import read_verdicts

pytest.importorskip("onnx")

from tests.support.one_node_models import OneNodeModels
from tools.lab.foreseen import TARGETS

RUNTIMES = [name for name, target in TARGETS.items() if target in DEFAULT]

# The statuses that foresee a departure, by the verdict of the lab.
FORESEEING = {
    "crashes": ("memory",),
    "out-of-bounds memory": ("memory",),
    "hangs": ("memory",),
    "nondeterministic": ("memory", "different"),
    "narrowed": ("memory", "different"),
    "differs": ("memory", "different"),
    "accepts": ("memory", "different"),
    "refuses": ("refused",),
}

# Departures without a warning, by the ids of the cases.
NOT_FORESEEN = {
    "openvino/*/float8_*": "the doctor reads no IR with float8",
}

# Results that are right by luck, though the doctor warns.
RIGHT_BY_LUCK = {
    "*/min/k-0/two-empty-tuples-combined-*": "the runtime does nothing, and the minimum is data itself",
    "openvino/Gather-8/float32/none/out-of-range/2147483648-of-three-*": "its low 32 bits are out of range, too",
    "openvino/ScatterElementsUpdate-12/uint*/mean/mean/of-the-largest-*": "signed, all numbers are -1, as their mean",
    "openvino/ScatterNDUpdate-15/bool/sub/repeated/two-targets-twice-*": "only one of two updates is True",
}
# The same, but not in every run.
RIGHT_AT_TIMES = {
    "openvino/Gather-[178]/*int*/out-of-range/*-of-three-*": "memory that was never written may hold a zero",
}


@cache
def _diagnoses() -> dict[str, dict[str, Verdict] | Literal["unreadable", "no model"]]:
    """By case: the doctor's verdict for each target, or why there is none."""
    models = OneNodeModels()
    found: dict[str, dict[str, Verdict] | Literal["unreadable", "no model"]] = {}
    for case in corpus.cases():
        targets = ("onnxruntime", "openvino") if case.op.startswith("onnx.") else ("openvino",)
        try:
            [node] = models.examine(case, *targets).nodes
        except ModelError:
            found[case.id] = "unreadable"
        except NotAskedError:
            found[case.id] = "no model"
        else:
            found[case.id] = node.verdicts
    return found


def _is_foreseen(id: str, runtime: str, verdict: str) -> bool:
    """A model that the doctor can't read is one that it warns of."""
    diagnosis = _diagnoses()[id]
    if isinstance(diagnosis, str):
        return diagnosis == "unreadable"
    return diagnosis[TARGETS[runtime]].status in FORESEEING[verdict]


def _is_warned_of(id: str, runtime: str) -> bool:
    diagnosis = _diagnoses()[id]
    if isinstance(diagnosis, str):
        return diagnosis == "unreadable"
    return any(reason.status in DEPARTURES and not _may_pass(reason) for reason in diagnosis[TARGETS[runtime]].reasons)


def _may_pass(reason: Reason) -> bool:
    """Whether it depends on the run, not on the model: on a race of threads, or on a setting of the runtime."""
    setting = reason.finding.setting
    return reason.by_chance or (setting != "" and setting not in SETTINGS)


def _departures_without_warning(runtime: str) -> list[str]:
    verdicts = read_verdicts()[runtime]
    return [id for id, each in verdicts.items() if each in FORESEEING and not _is_foreseen(id, runtime, each)]


def _warnings_without_departure(runtime: str) -> list[str]:
    verdicts = read_verdicts()[runtime]
    return [
        case.id
        for case in corpus.cases()
        if verdicts.get(case.id) == "pass" and _is_decided(case) and _is_warned_of(case.id, runtime)
    ]


def _is_decided(case: Case) -> bool:
    """Whether the specification decides that there is a result, and which."""
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
    """Else the tests above hold of nothing."""
    for runtime in RUNTIMES:
        verdicts = read_verdicts()[runtime]
        assert sum(verdict in FORESEEING for verdict in verdicts.values()) > 100
        assert sum(verdict == "pass" for verdict in verdicts.values()) > 1000
    assert {"crashes", "narrowed", "accepts"} <= set(read_verdicts()["openvino"].values())
