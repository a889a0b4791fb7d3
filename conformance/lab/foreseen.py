"""Find the departures in the results that the doctor predicts, by running it on a model of each case."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.lab.one_node_models import OneNodeModels
from gatherscatter_conformance import corpus
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.runtimes import NotAskedError
from gatherscatter_models.findings.verdicts import Verdict
from gatherscatter_models.interface import ModelError

# The doctor's target for each runtime of the lab.
TARGETS = {
    "onnxruntime": "onnxruntime",
    "onnxruntime-1-thread": "onnxruntime",
    "openvino": "openvino",
    "openvino-onnx": "openvino",
    "onnx-reference": "onnx-reference",
}

# The statuses of the doctor that predict a departure, by the verdict of the lab.
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


@dataclass(frozen=True)
class Answer:
    """The doctor's answer about a case.

    Attributes
    ----------
    verdicts : by target; empty if the model is unreadable, or the case has no model
    is_unreadable : whether the doctor refuses to read the model, with a message that says why
    """

    verdicts: Mapping[str, Verdict]
    is_unreadable: bool = False

    def foresees(self, departure: str, target: str) -> bool:
        """Return whether it warns of a departure. A refusal to read the model counts as a warning."""
        return self.is_unreadable or (target in self.verdicts and self.verdicts[target].status in FORESEEING[departure])


@dataclass(frozen=True)
class Departure:
    """A case that departs in a runtime of a target, with the findings of the doctor and whether they predict it."""

    findings: frozenset[str]
    is_foreseen: bool
    is_unreadable: bool


def ask_doctor(models: OneNodeModels, case: Case, *targets: str) -> Answer:
    """Return the doctor's answer about the model of a case with its inputs."""
    try:
        [node] = models.examine(case, *targets).nodes
    except ModelError:
        return Answer({}, is_unreadable=True)
    except NotAskedError:  # the case has no model
        return Answer({})
    return Answer(node.verdicts)


def find_departures(results: Mapping[str, Any]) -> dict[str, dict[str, Departure]]:
    """Return the departures by target, then by case."""
    verdicts: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, target in TARGETS.items():
        for id, result in results["results"].get(name, {}).items():
            if result["verdict"] in FORESEEING:
                verdicts[target][id].add(result["verdict"])
    models = OneNodeModels()
    return {
        target: {id: _departure(models, id, target, of_case) for id, of_case in sorted(cases.items())}
        for target, cases in verdicts.items()
    }


def count_departures(departures: Mapping[str, Mapping[str, Departure]]) -> dict[str, Any]:
    """Return the number of cases of each finding, and the numbers of cases of each target."""
    cases = Counter(id for found in departures.values() for each in found.values() for id in each.findings)
    return {
        "cases": dict(sorted(cases.items())),
        "targets": {
            target: {
                "cases": len(found),
                "unreadable": sum(each.is_unreadable for each in found.values()),
                "not foreseen": sum(not each.is_foreseen for each in found.values()),
            }
            for target, found in departures.items()
        },
    }


def _departure(models: OneNodeModels, id: str, target: str, verdicts: set[str]) -> Departure:
    answer = ask_doctor(models, corpus.case(id), target)
    named = answer.verdicts[target].reasons if answer.verdicts else ()
    return Departure(
        findings=frozenset(reason.finding.id for reason in named),
        is_foreseen=all(answer.foresees(verdict, target) for verdict in verdicts),
        is_unreadable=answer.is_unreadable,
    )
