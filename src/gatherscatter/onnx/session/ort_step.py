"""A part of a graph that ONNX Runtime runs: its model, and its session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.session.facts import ModelFacts, UncuttableError
from gatherscatter.onnx.session.ort_values import FOREIGN, to_array, to_feed, to_ort
from gatherscatter.onnx.session.partition import Part, reads
from gatherscatter.onnx.session.runtime import onnxruntime


class OrtStep:
    """Runs one part in a session of its own."""

    def __init__(self, session: onnxruntime.InferenceSession, part: Part) -> None:
        self.session = session
        self.inputs = part.inputs
        self.outputs = part.outputs
        self._with_arrays = not any(_has_no_arrays(value.type) for value in session.get_outputs())

    def run(self, values: dict[str, Any], run_options: Any = None) -> None:
        """Add the part's outputs to the values."""
        if self._with_arrays:
            feeds = {name: to_feed(values[name]) for name in self.inputs}
            results = self.session.run(self.outputs, feeds, run_options)
        else:
            feeds = {name: to_ort(values[name]) for name in self.inputs}
            results = map(to_array, self.session.run_with_ort_values(self.outputs, feeds, run_options))
        values.update(zip(self.outputs, results, strict=True))


def submodel(part: Part, facts: ModelFacts, types: Mapping[str, onnx.TypeProto]) -> onnx.ModelProto:
    """The model of a part: its nodes, and copies of just the constants that they read."""
    nodes = [facts.model.graph.node[position] for position in part.nodes]
    missing = [name for name in part.inputs if name not in types]
    if missing:
        raise UncuttableError(f"the type of {missing[0]!r} isn't known")
    model = onnx.ModelProto()
    model.ir_version = max(facts.model.ir_version, 4)  # before, initializers were inputs, too
    model.opset_import.extend(facts.model.opset_import)
    model.functions.extend(facts.model.functions)
    model.graph.name = facts.model.graph.name
    model.graph.node.extend(nodes)
    for name in dict.fromkeys(name for node in nodes for name in reads(node)):
        if name in facts.constants:
            facts.copy_constant(name, model.graph.initializer.add())
    model.graph.input.extend(onnx.ValueInfoProto(name=name, type=types[name]) for name in part.inputs)
    model.graph.output.extend(onnx.ValueInfoProto(name=name, type=types.get(name)) for name in part.outputs)
    inner = {name for node in nodes for name in node.output}.difference(part.outputs)
    model.graph.value_info.extend(value for value in facts.model.graph.value_info if value.name in inner)
    return model


def learn_types(session: onnxruntime.InferenceSession, types: dict[str, onnx.TypeProto]) -> None:
    """Add the types of a session's outputs that weren't known: ONNX Runtime knows operators that onnx doesn't."""
    for value in session.get_outputs():
        if value.name not in types and value.type.startswith("tensor("):
            types[value.name] = onnx.helper.make_tensor_type_proto(_elem_type(value.type), None)


def _elem_type(name: str) -> int:
    """ "tensor(float)" as a number."""
    return int(onnx.TensorProto.DataType.Value(name.removeprefix("tensor(").removesuffix(")").upper()))


def _has_no_arrays(type_name: str) -> bool:
    return type_name.startswith("tensor(") and _elem_type(type_name) in FOREIGN
