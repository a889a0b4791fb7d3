"""Who runs which nodes of a model, and why, as plain frozen data that one can print and compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.graph import FAMILY, node_label, one_line, walk
from gatherscatter.onnx.session.family_nodes import FamilyNode
from gatherscatter.onnx.session.partition import Part


@dataclass(frozen=True)
class PartPlan:
    """A part of the model: who runs it, its nodes, and why each of them is ours if it is."""

    runs_on: str  # "onnxruntime" or "gatherscatter"
    nodes: tuple[str, ...]
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelPlan:
    """The parts of a model in the order in which they run; ``notes`` say what could not be done."""

    parts: tuple[PartPlan, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([line for number, part in enumerate(self.parts, 1) for line in _lines(number, part)]
                         + [f"note: {note}" for note in self.notes])  # fmt: skip


def make_plan(model: onnx.ModelProto, parts: Iterable[Part], ours: Mapping[int, FamilyNode]) -> ModelPlan:
    """The plan of a model cut into parts."""
    graph = model.graph
    labels = [node_label(node, position, len(graph.node)) for position, node in enumerate(graph.node, 1)]
    plans = [
        PartPlan(
            "gatherscatter" if part.ours else "onnxruntime",
            tuple(labels[position] for position in part.nodes),
            tuple(ours[position].reason for position in part.nodes if part.ours),
        )
        for part in parts
    ]
    return ModelPlan(tuple(plans), _inner_nodes(model, labels))


def whole_plan(model: onnx.ModelProto, *notes: str) -> ModelPlan:
    """The plan of a model that ONNX Runtime runs alone."""
    graph = model.graph
    labels = [node_label(node, position, len(graph.node)) for position, node in enumerate(graph.node, 1)]
    return ModelPlan((PartPlan("onnxruntime", tuple(labels)),), notes + _inner_nodes(model, labels))


def _inner_nodes(model: onnx.ModelProto, labels: list[str]) -> tuple[str, ...]:
    """Notes of nodes of the family in subgraphs and in functions."""
    bodies = [([node], label) for node, label in zip(model.graph.node, labels, strict=True)]
    found = [({each.op_type for each in walk(body)} - {body[0].op_type}, label) for body, label in bodies]
    found += [({each.op_type for each in walk(each.node)}, f"function {each.name}") for each in model.functions]
    return tuple(
        f"{', '.join(sorted(kinds & FAMILY))} within {where} stays with ONNX Runtime"
        for kinds, where in found
        if kinds & FAMILY
    )


def _lines(number: int, part: PartPlan) -> list[str]:
    if part.reasons:
        return [
            f"{number:>2} gatherscatter  {label}: {reason}"
            for label, reason in zip(part.nodes, part.reasons, strict=True)
        ]
    counts = Counter(label.split(" ", 1)[0] for label in part.nodes)
    kinds = ", ".join(f"{times} {kind}" if times > 1 else kind for kind, times in counts.most_common())
    nodes = "1 node" if len(part.nodes) == 1 else f"{len(part.nodes)} nodes"
    return [f"{number:>2} onnxruntime    {nodes}: {one_line(kinds, 80)}"]
