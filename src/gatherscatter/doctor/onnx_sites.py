"""An ONNX model taken apart: every body (graph, function, subgraph) with what is known of its values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gatherscatter import versions
from gatherscatter.model_interface import Model, ModelError
from gatherscatter.onnx.external_data import ExternalData
from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.labels import node_label, one_line
from gatherscatter.onnx.model import errors_naming, load_onnx, parse_onnx
from gatherscatter.onnx.rewrite import normalise
from gatherscatter.onnx.tensors import is_external
from gatherscatter.onnx.value_info import Scope, infer_functions, infer_model

from .sites import Key, Observer, Operand, Site

FAMILY = {row.op_type for row in versions.ops() if row.domain == "onnx"}


@dataclass(frozen=True)
class Body:
    """A graph, a function or a subgraph, and what its nodes can see."""

    key: Key
    place: str
    proto: onnx.GraphProto | onnx.FunctionProto
    scope: Scope = field(repr=False)


class OnnxSource:
    """An ONNX model that is looked at; ``proto`` is its own copy."""

    def __init__(self, model: str | os.PathLike[str] | onnx.ModelProto) -> None:
        self.path = None if isinstance(model, onnx.ModelProto) else Path(model)
        self.name = self.path.name if self.path else "ModelProto"
        self._files = ExternalData(self.path)
        self.notes: list[str] = []
        with errors_naming(model):
            self.proto = onnx.ModelProto() if self.path is None else parse_onnx(self.path)
            if isinstance(model, onnx.ModelProto):
                self.proto.CopyFrom(model)
            normalise(self.proto)
            self.bodies = list(self._bodies())
            self.sites = [site for body in self.bodies for site in self._sites(body)]

    def load(self, observe: Observer) -> Model:
        """The model, ready to run; every node of the family is shown to ``observe``."""
        from .watch import watch_evaluator

        loaded = load_onnx(self.path or self.proto)
        watch_evaluator(loaded._evaluator, (), observe, set())
        return loaded

    def embed(self) -> None:
        """Move all data that lies in other files into the model."""
        for body in self.bodies:
            tensors = [
                attribute.t for node in body.proto.node for attribute in node.attribute if attribute.HasField("t")
            ]
            if isinstance(body.proto, onnx.GraphProto):
                tensors.extend(body.proto.initializer)
            for tensor in filter(is_external, tensors):
                self._files.embed(tensor, f"tensor {tensor.name!r}")

    def _bodies(self) -> Iterator[Body]:
        for function, scope in zip(self.proto.functions, infer_functions(self.proto, self._files), strict=True):
            key = ("function", function.domain, function.name)
            yield from _bodies(key, f" of function {function.domain}.{function.name}", function, scope)
        yield from _bodies((), "", self.proto.graph, infer_model(self.proto, self._files))

    def _sites(self, body: Body) -> Iterator[Site]:
        count = len(body.proto.node)
        for position, node in enumerate(body.proto.node):
            if node.domain or node.op_type not in FAMILY:
                continue
            label = node_label(node, position + 1, count) + body.place
            try:
                row = versions.find("onnx", node.op_type, body.scope.opset)
            except LookupError as error:
                self.notes.append(f"{label}: {error}")
                continue
            operands = tuple(
                _operand(body, known.name, name) if name else None
                for known, name in zip(row.inputs, node.input, strict=False)
            )
            name = one_line(node.name or next(iter(node.output), ""))
            attributes = _attributes(node, row, label)
            yield Site((*body.key, position), name, label, body.place, row, operands, attributes)


def _bodies(key: Key, place: str, proto: onnx.GraphProto | onnx.FunctionProto, scope: Scope) -> Iterator[Body]:
    """A body and those within it."""
    yield Body(key, place, proto, scope)
    for position, node in enumerate(proto.node):
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                where = f" of {attribute.name} of {node_label(node, position + 1, len(proto.node))}{place}"
                inner = (*key, position, attribute.name)
                yield from _bodies(inner, where, attribute.g, scope.inner[position, attribute.name])


def _operand(body: Body, role: str, name: str) -> Operand:
    info = body.scope.find(name)
    return Operand(role, name, info.element_type, info.sizes, body.scope.constant(name), info.is_size)


def _attributes(node: onnx.NodeProto, row: versions.OpVersion, label: str) -> dict[str, Any]:
    """The attributes with their defaults; without those that the caller of a function gives."""
    values: dict[str, Any] = {known.name: known.default for known in row.attributes}
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            values.pop(attribute.name, None)
        else:
            value = onnx.helper.get_attribute_value(attribute)
            values[attribute.name] = value.decode(errors="replace") if isinstance(value, bytes) else value
    for known in row.attributes:
        wanted = str if known.type == "string" else int
        value = values.get(known.name, known.default)
        if known.name in values and not isinstance(value, wanted) and value is not known.default:
            raise ModelError(f"{label}: attribute {known.name!r} must be of type {known.type}; got {value!r}")
    return values
