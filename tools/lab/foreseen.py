"""Which findings foresee the departures in the results: the doctor is asked about a model of each case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from gatherscatter.conformance import corpus
from gatherscatter.conformance.runtimes import NotAskedError
from gatherscatter.model_interface import ModelError
from tests.support.one_node_models import OneNodeModels
from tools.lab.conformance_page import DEPARTURES

# The doctor's target for each runtime of the lab.
TARGETS = {
    "onnxruntime": "onnxruntime",
    "onnxruntime-1-thread": "onnxruntime",
    "openvino": "openvino",
    "openvino-onnx": "openvino",
    "onnx-reference": "onnx-reference",
}


def find_foreseen(results: Mapping[str, Any]) -> dict[str, dict[str, set[str]]]:
    """By target, then by case that departs in one of its runtimes: the findings that the doctor names."""
    departing: dict[str, set[str]] = defaultdict(set)
    for name, target in TARGETS.items():
        verdicts = results["results"].get(name, {})
        departing[target] |= {id for id, result in verdicts.items() if result["verdict"] in DEPARTURES}
    models = OneNodeModels()
    return {target: {id: _ask_doctor(models, id, target) for id in sorted(ids)} for target, ids in departing.items()}


def _ask_doctor(models: OneNodeModels, id: str, target: str) -> set[str]:
    try:
        nodes = models.examine(corpus.case(id), target).nodes
    except (ModelError, NotAskedError):  # there are no models of it
        return set()
    return {reason.finding.id for node in nodes for reason in node.verdicts[target].reasons}
