"""A model in steps that ONNX Runtime and our kernels run by turns, on the same memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.session.facts import ModelFacts
from gatherscatter.onnx.session.family_nodes import FamilyNode
from gatherscatter.onnx.session.interface import model_metadata, node_arg
from gatherscatter.onnx.session.kernel_step import KernelStep
from gatherscatter.onnx.session.ort_step import OrtStep, learn_types, submodel
from gatherscatter.onnx.session.part_sessions import PartSessions
from gatherscatter.onnx.session.partition import Part, reads
from gatherscatter.onnx.tensors import is_external

SMALL = 1024  # bytes of a tensor that each part has a copy of


class CutModel:
    """Running it changes nothing in it, so threads may share it."""

    def __init__(
        self, facts: ModelFacts, parts: Sequence[Part], ours: Mapping[int, FamilyNode], sessions: PartSessions
    ) -> None:
        graph = facts.model.graph
        self.inputs = facts.inputs
        self.overridable = [value for value in graph.input if value.name in facts.overridable]
        self.metadata = model_metadata(facts.model)
        self._sessions = sessions  # keeps what they share
        outputs = {value.name for value in graph.output}
        self._copied = outputs & ({*facts.given} | facts.constants.keys())  # not made by a step: a caller gets copies
        shared = _shared(facts, parts) if sessions.can_share else set()
        self._kept = {name: facts.array(name) for name in _needed_arrays(facts, parts) | shared}
        types = dict(facts.types)
        self._steps = _steps(facts, parts, ours, sessions, {name: self._kept[name] for name in shared}, types)
        self.outputs = [node_arg(value, types.get(value.name)) for value in graph.output]
        last_uses = _last(dict.fromkeys((*step.inputs, *step.outputs)) for step in self._steps)
        self._done = [[name for name in names if name not in outputs] for names in last_uses]

    def run(self, output_names: Iterable[str], given: Mapping[str, Any], run_options: Any = None) -> list[Any]:
        """The outputs of these names; every other value is let go of after its last use."""
        values = {**self._kept, **given}
        for step, done in zip(self._steps, self._done, strict=True):
            step.run(values, run_options)
            for name in done:
                del values[name]
        return [np.array(values[name]) if name in self._copied else values[name] for name in output_names]


def _steps(
    facts: ModelFacts,
    parts: Sequence[Part],
    ours: Mapping[int, FamilyNode],
    sessions: PartSessions,
    shared: Mapping[str, np.ndarray],
    types: dict[str, onnx.TypeProto],
) -> list[OrtStep | KernelStep]:
    """The steps of all parts; types that become known on the way are added."""
    steps: list[OrtStep | KernelStep] = []
    writable = _writable(facts, parts)
    for part in parts:
        if part.ours:
            for position in part.nodes:
                steps.append(KernelStep(ours[position], position in writable, sessions.num_threads))
                _learn_type(ours[position].node, types)
        else:
            model = submodel(part, facts, types)
            common = {tensor.name: shared[tensor.name] for tensor in model.graph.initializer if tensor.name in shared}
            session = sessions.make(model.SerializeToString(), common, facts.folder)
            steps.append(OrtStep(session, part))
            learn_types(session, types)
    return steps


def _learn_type(node: onnx.NodeProto, types: dict[str, onnx.TypeProto]) -> None:
    """All operators of the family give elements of the type of their first input."""
    if node.output[0] not in types and node.input[0] in types:
        elem_type = types[node.input[0]].tensor_type.elem_type
        types[node.output[0]] = onnx.helper.make_tensor_type_proto(elem_type, None)


def _writable(facts: ModelFacts, parts: Sequence[Part]) -> set[int]:
    """Our scatters whose data was made on the way and is needed no more: they may write where it lies."""
    nodes = facts.model.graph.node
    lasting = {*facts.given, *facts.constants, *(value.name for value in facts.model.graph.output)}
    # One of our nodes by position, or None for a part of ONNX Runtime; and what it reads.
    turns: list[tuple[int | None, Sequence[str]]] = []
    for part in parts:
        turns += [(position, nodes[position].input) for position in part.nodes] if part.ours else [(None, part.inputs)]
    return {
        position
        for (position, names), ending in zip(turns, _last(names for _, names in turns), strict=True)
        if position is not None and nodes[position].op_type.startswith("Scatter")
        if names[0] in ending and names[0] not in lasting and list(names).count(names[0]) == 1
    }


def _last(uses: Iterable[Iterable[str]]) -> list[list[str]]:
    """Of the names that each step uses, those that no later step does."""
    later: set[str] = set()
    last = []
    for names in reversed([dict.fromkeys(filter(None, names)) for names in uses]):
        last.append([name for name in names if name not in later])
        later.update(names)
    return last[::-1]


def _needed_arrays(facts: ModelFacts, parts: Sequence[Part]) -> set[str]:
    """Tensors of the model that our nodes read, that are outputs, or that a caller may replace."""
    nodes = facts.model.graph.node
    own = {name for part in parts if part.ours for position in part.nodes for name in nodes[position].input}
    own.update(value.name for value in facts.model.graph.output)
    return own & facts.constants.keys() | facts.overridable.keys()


def _shared(facts: ModelFacts, parts: Sequence[Part]) -> set[str]:
    """Large tensors that more than one part reads. Those in files are left out: ONNX Runtime maps files."""
    nodes = facts.model.graph.node
    users = [{name for position in part.nodes for name in reads(nodes[position])} for part in parts]
    times = Counter(name for names in users for name in names & facts.constants.keys())
    tensors = {name: facts.constants[name] for name, count in times.items() if count > 1}
    return {
        name
        for name, tensor in tensors.items()
        if tensor.ByteSize() > SMALL and not is_external(tensor) and tensor.data_type != onnx.TensorProto.STRING
    }
