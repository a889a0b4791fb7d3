"""The bodies of an ONNX model, which are graphs, subgraphs and functions, and the gathers and scatters in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import onnx

from gatherscatter.errors import OpError, make_error
from gatherscatter.specs import own_operators, table
from gatherscatter.specs.calls import check_input_count
from gatherscatter.specs.rows import DOMAIN
from gatherscatter_models.findings.nodes import Key, Operand, Site
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.graph import find_contributed, is_contributed, is_family, is_own, node_label, one_line
from gatherscatter_models.onnx.scopes import Scope, infer_functions, infer_model, resolve_attributes
from gatherscatter_models.onnx.tensors import ExternalData


@dataclass(frozen=True)
class Body:
    """A graph, a function or a subgraph.

    Attributes
    ----------
    key : identifies the body within the model
    graph : names its graph in messages; empty for the main graph
    scopes : the values that its nodes can read; for the body of a function, one scope for each known call
    """

    key: Key
    graph: str
    proto: onnx.GraphProto | onnx.FunctionProto
    scopes: tuple[Scope, ...] = field(repr=False)

    @property
    def in_function(self) -> bool:
        """Whether it is the body of a function, or inside one."""
        return self.key[:1] == ("function",)

    def label(self, position: int) -> str:
        """Return the label of a node in messages: its type, its name and its graph."""
        return node_label(self.proto.node[position], position + 1, len(self.proto.node)) + self.graph


def find_bodies(model: onnx.ModelProto, files: ExternalData) -> Iterator[Body]:
    """Yield all bodies of a normalised model, each before those inside it. ``files`` has the external data."""
    main = infer_model(model, files)
    yield from find_inner_bodies(Body((), "", model.graph, (main,)))
    all_calls_known = main.budget[0] >= 0
    for function, whoever_calls in zip(model.functions, infer_functions(model, files), strict=True):
        key = (function.domain, function.name)
        scopes = main.calls.get(key, []) if all_calls_known else []
        graph = f" of function {'.'.join(key)}"
        yield from find_inner_bodies(Body(("function", *key), graph, function, tuple(scopes) or (whoever_calls,)))


def find_inner_bodies(body: Body) -> Iterator[Body]:
    """Yield a body and those inside it."""
    yield body
    for position, node in enumerate(body.proto.node):
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                graph = f" of {attribute.name} of {body.label(position)}"
                scopes = tuple(scope.inner[position, attribute.name] for scope in body.scopes)
                yield from find_inner_bodies(Body((*body.key, position, attribute.name), graph, attribute.g, scopes))


def find_sites(body: Body, notes: list[str], call: Scope | None = None) -> Iterator[Site]:
    """Yield the gathers and scatters of a body. Those that can't be examined are added to ``notes``.

    ``call`` is one of the scopes of the body: attributes that the caller of a function gives are then known.
    """
    scope = call or body.scopes[0]
    given = call.attributes if call else {}
    for position, node in enumerate(body.proto.node):
        if is_family(node) or is_own(node) or is_contributed(node):
            label = body.label(position)
            try:
                yield read_site(node, scope, (*body.key, position), label, body.graph, given)
            except LookupError as error:
                notes.append(f"{label}: {error}")


def read_site(
    node: onnx.NodeProto,
    scope: Scope,
    key: Key,
    label: str,
    graph: str = "",
    given: Mapping[str, onnx.AttributeProto] = MappingProxyType({}),
) -> Site:
    """Return the site of a gather or scatter of ONNX, of gatherscatter's domain or of a runtime's domain.

    ``scope`` is that of its body. ``given`` are the known attributes that the caller of a function gives.

    Raises
    ------
    LookupError
        The opset has no such operator.
    ModelError
        An attribute does not have the type that the op version defines, or there are too many inputs.
    """
    if node.domain == DOMAIN:
        row = replace(own_operators.find_of_node(node), domain=DOMAIN)  # findings about ONNX's do not apply
    elif is_contributed(node):
        row = find_contributed(node)
    else:
        row = table.find("onnx", node.op_type, scope.opset)
    try:
        check_input_count(row, len(node.input), {})
    except OpError as error:
        raise ModelError(f"{error}; in node {label}") from None
    operands = tuple(
        _operand(scope, known.name, name) if name else None for known, name in zip(row.inputs, node.input, strict=False)
    )
    name = one_line(node.name or next(iter(node.output), ""))
    attributes = _read_attributes(row, label, *resolve_attributes(node, given))
    return Site(key, name, label, graph, row, operands, attributes)


def _operand(scope: Scope, role: str, name: str) -> Operand:
    info = scope.find(name)
    return Operand(role, name, info.element_type, info.sizes, scope.constant(name), info.is_size)


def _read_attributes(
    row: table.OpVersion, label: str, known: Mapping[str, onnx.AttributeProto], unknown: frozenset[str]
) -> dict[str, Any]:
    """Return the values of attributes with their defaults, without the unknown ones."""
    values: dict[str, Any] = {each.name: each.default for each in row.attributes if each.name not in unknown}
    for name, attribute in known.items():
        value = onnx.helper.get_attribute_value(attribute)
        values[name] = value.decode(errors="replace") if isinstance(value, bytes) else value
    for each in row.attributes:
        wanted = str if each.type == "string" else int
        value = values.get(each.name, each.default)
        if each.name in values and not isinstance(value, wanted) and value is not each.default:
            facts = {"type": each.type, "given": type(value).__name__}
            error = make_error("attribute_type", row.name, input=each.name, **facts)
            raise ModelError(f"{error}; in node {label}")
    return values
