"""An ONNX model taken apart: every body (graph, function, subgraph) with what is known of its values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from gatherscatter import versions
from gatherscatter.model_interface import Model, ModelError
from gatherscatter.onnx.external_data import ExternalData
from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.labels import node_label, one_line
from gatherscatter.onnx.rewrite import normalise
from gatherscatter.onnx.tensors import is_external, to_array, type_name

from .onnx_types import constant_of, inferred_graph, is_size, types_of
from .sites import Dims, Key, Observer, Operand, Site

FAMILY = {row.op_type for row in versions.ops() if row.domain == "onnx"}

Load = Callable[[], np.ndarray]


@dataclass(frozen=True)
class Body:
    """A graph, a function or a subgraph, and what its nodes can see."""

    key: Key
    place: str
    proto: onnx.GraphProto | onnx.FunctionProto
    opset: int
    constants: Mapping[str, Load] = field(repr=False)
    types: Mapping[str, onnx.TypeProto] = field(repr=False)
    makers: Mapping[str, onnx.NodeProto] = field(repr=False)


class OnnxSource:
    """An ONNX model that is looked at; ``proto`` is its own copy."""

    def __init__(self, model: str | os.PathLike[str] | onnx.ModelProto) -> None:
        self.path = None if isinstance(model, onnx.ModelProto) else Path(model)
        self.name = self.path.name if self.path else "ModelProto"
        self._files = ExternalData(self.path)
        self.proto = onnx.ModelProto()
        if isinstance(model, onnx.ModelProto):
            self.proto.CopyFrom(model)
        else:
            self.proto = _parsed(Path(model))
        self.notes: list[str] = []
        try:
            normalise(self.proto)
            self.bodies = list(self._bodies())
            self.sites = [site for body in self.bodies for site in self._sites(body)]
        except ModelError as error:
            raise ModelError(f"{self.name}: {error}") from error
        except Exception as error:  # damage nobody thought of
            raise ModelError(f"{self.name}: a part of it can't be read ({one_line(error)})") from error

    def load(self, observe: Observer) -> Model:
        """The model, ready to run; every node of the family is shown to ``observe``."""
        from gatherscatter.onnx.model import load_onnx

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
        for function in self.proto.functions:
            key, place = ("function", function.domain, function.name), f" of function {function.domain}.{function.name}"
            opsets = {entry.domain: entry.version for entry in function.opset_import}
            yield from self._body(key, place, function, None, opsets, {}, {}, {})
        opsets = {entry.domain: entry.version for entry in self.proto.opset_import}
        inferred = inferred_graph(self.proto)
        yield from self._body((), "", self.proto.graph, inferred, opsets, {}, {}, {})

    def _body(
        self,
        key: Key,
        place: str,
        proto: onnx.GraphProto | onnx.FunctionProto,
        inferred: onnx.GraphProto | None,
        opsets: Mapping[str, int],
        constants: Mapping[str, Load],
        types: Mapping[str, onnx.TypeProto],
        makers: Mapping[str, onnx.NodeProto],
    ) -> Iterator[Body]:
        """The body and those within it; the last three are what the enclosing graphs have."""
        own = {name for node in proto.node for name in node.output}
        own |= {value if isinstance(value, str) else value.name for value in proto.input}
        hidden = {name: value for name, value in constants.items() if name not in own}
        constants = hidden | self._constants(proto, top=not key)
        types = {name: kind for name, kind in types.items() if name not in own} | types_of(proto, inferred)
        makers = dict(makers) | {name: node for node in proto.node for name in node.output if name}
        yield Body(key, place, proto, opsets.get("", 0), constants, types, makers)
        for position, node in enumerate(proto.node):
            for number, attribute in enumerate(node.attribute):
                if attribute.type == onnx.AttributeProto.GRAPH:
                    within = None if inferred is None else inferred.node[position].attribute[number].g
                    label = node_label(node, position + 1, len(proto.node))
                    where = f" of {attribute.name} of {label}{place}"
                    inner = (*key, position, attribute.name)
                    yield from self._body(inner, where, attribute.g, within, opsets, constants, types, makers)

    def _constants(self, proto: onnx.GraphProto | onnx.FunctionProto, *, top: bool) -> dict[str, Load]:
        """Initializers that no caller can replace, and what Constant nodes hold."""
        held: dict[str, Load] = {}
        for node in proto.node:
            whole = len(node.attribute) == 1 and len(node.output) == 1 and not node.attribute[0].ref_attr_name
            if (node.domain, node.op_type) == ("", "Constant") and whole:
                held[node.output[0]] = cache(partial(constant_of, node))
        if isinstance(proto, onnx.GraphProto):
            # Before IR version 4 all initializers were listed as inputs, and could not be told from defaults.
            override = {value.name for value in proto.input} if top and self.proto.ir_version >= 4 else set()
            for tensor in proto.initializer:
                if tensor.name not in override:
                    held[tensor.name] = cache(partial(self._array, tensor))
        return held

    def _array(self, tensor: onnx.TensorProto) -> np.ndarray:
        where = f"initializer {tensor.name!r}"
        return self._files.array(tensor, where) if is_external(tensor) else to_array(tensor, where)

    def _sites(self, body: Body) -> Iterator[Site]:
        count = len(body.proto.node)
        for position, node in enumerate(body.proto.node):
            if node.domain or node.op_type not in FAMILY:
                continue
            label = node_label(node, position + 1, count) + body.place
            try:
                row = versions.find("onnx", node.op_type, body.opset)
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


def _parsed(path: Path) -> onnx.ModelProto:
    try:
        return onnx.load(path, load_external_data=False)
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or error}") from None
    except DecodeError:
        raise ModelError(f"{path}: this is no ONNX model, or it is cut off") from None


def _operand(body: Body, role: str, name: str) -> Operand:
    constant = body.constants.get(name)
    tensor = body.types.get(name, onnx.TypeProto()).tensor_type
    element_type = type_name(tensor.elem_type) if tensor.elem_type else None
    shape: Dims = None
    if tensor.HasField("shape"):
        shape = tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim)
    if constant is not None and (element_type is None or shape is None):
        value = constant()
        element_type, shape = versions.element_type(value.dtype), value.shape
    return Operand(role, name, element_type, shape, constant, is_size(name, body.makers))


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
