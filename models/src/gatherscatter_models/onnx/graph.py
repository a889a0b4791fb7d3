"""Nodes of a graph: their names in messages, walks over them, and rewrites that the reference evaluator needs.

The evaluator does not accept the name ``ai.onnx`` for the default domain, default attributes of functions, or calls of
a function without its trailing inputs. It requires every function to come after those it calls.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import onnx
import onnx.inliner

from gatherscatter.specs import table
from gatherscatter.specs.own_operators import OWN_OPERATORS
from gatherscatter.specs.rows import DOMAIN
from gatherscatter_models.interface import ModelError

FAMILY = {row.op_type for row in table.ops() if row.domain == "onnx"}  # gathers and scatters
CONTRIBUTED = {(row.domain, row.op_type) for row in table.ops() if row.domain not in ("onnx", "openvino")}
LONGEST_NAME, LONGEST_LINE = 100, 500


def is_family(node: onnx.NodeProto) -> bool:
    """Whether the node is a gather or scatter."""
    return not node.domain and node.op_type in FAMILY


def is_own(node: onnx.NodeProto) -> bool:
    """Whether the node is an operator of the domain ``gatherscatter``."""
    return node.domain == DOMAIN and node.op_type in OWN_OPERATORS


def is_contributed(node: onnx.NodeProto) -> bool:
    """Whether the node is a gather or scatter of a runtime's own domain, such as com.microsoft."""
    return (node.domain, node.op_type) in CONTRIBUTED


def find_contributed(node: onnx.NodeProto) -> table.OpVersion:
    """Return the op version of such a node. These operators have one version."""
    return table.op(f"{node.domain}.{node.op_type}")


def node_label(node: onnx.NodeProto, position: int, count: int) -> str:
    """Return the type, name and position (counted from 1) of a node in a graph with ``count`` nodes."""
    op_type = one_line(".".join(filter(None, (node.domain, node.op_type))), LONGEST_NAME)
    name = f" {one_line(node.name, LONGEST_NAME)!r}" if node.name else ""
    return f"{op_type}{name} ({position}/{count})"


def one_line(text: object, longest: int = LONGEST_LINE) -> str:
    """Return the first line of a text. Unprintable characters are escaped, and a long line is cut."""
    line = next(iter(str(text).strip().splitlines()), "")
    line = line if len(line) <= longest else f"{line[:longest]}..."
    return line if line.isprintable() else line.encode("unicode_escape").decode()


FunctionKey = tuple[str, str]
DEEPEST = 64  # calls of functions within functions
MOST_NODES = 100_000  # with all functions expanded: a few bytes can describe very many
MOST_BYTES = 32 << 20  # the growth of a model when its functions are expanded


def without_initializers(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of the model without the initializers of its main graph, which may be most of its bytes."""
    copy = onnx.ModelProto()
    _copy_fields(model, copy, leave="graph")
    _copy_fields(model.graph, copy.graph, leave="initializer")
    return copy


def normalise(model: onnx.ModelProto) -> None:
    """Rewrite the model in place: use one name for the default domain, and complete calls of functions."""
    for imports in (model.opset_import, *(function.opset_import for function in model.functions)):
        for entry in imports:
            entry.domain = _domain(entry.domain)
    for function in model.functions:
        function.domain = _domain(function.domain)
    functions = {(function.domain, function.name): function for function in model.functions}
    for nodes in (model.graph.node, *(function.node for function in model.functions)):
        for node in walk(nodes):
            node.domain = _domain(node.domain)
            called = functions.get((node.domain, node.op_type))
            if called is not None:
                _complete_call(node, called)


def expand_functions(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with its functions expanded.

    Functions of other opsets are converted if possible; otherwise they stay. Raises `ModelError` if the functions would
    make the model much larger.
    """
    callees_first(model.functions, model.graph.node, most_bytes=MOST_BYTES + model.ByteSize())
    try:
        return onnx.inliner.inline_local_functions(model, convert_version=True)
    except Exception:  # the version converter lacks some operators, and raises many types of errors
        return onnx.inliner.inline_local_functions(model)


def walk(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield all nodes, including those of subgraphs."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from walk(graph.node)


def find_reads(node: onnx.NodeProto) -> Iterator[str]:
    """Yield the names that a node and its subgraphs read."""
    yield from node.input
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            yield from (value.name for value in graph.output)
            for inner in graph.node:
                yield from find_reads(inner)


class Extent(NamedTuple):
    """The cost of a call of a function: nodes that run, depth of calls within calls, bytes of the expanded nodes."""

    nodes: int
    depth: int
    size: int


def callees_first(
    functions: Sequence[onnx.FunctionProto], nodes: Collection[onnx.NodeProto], *, most_bytes: float = math.inf
) -> dict[FunctionKey, onnx.FunctionProto]:
    """Return the functions in an order in which each one comes after those it calls.

    Raises `ModelError` if a run of the graph would never end or take too long, or if its nodes would take more than
    ``most_bytes`` with all functions expanded.
    """
    by_key = {(function.domain, function.name): function for function in functions}
    extents: dict[FunctionKey, Extent] = {}

    def visit(key: FunctionKey, callers: tuple[FunctionKey, ...]) -> Extent:
        if key in callers:
            raise ModelError(f"function {one_line('.'.join(key))} calls itself")
        if key not in extents:
            extents[key] = measure(by_key[key].node, (*callers, key))
        return extents[key]

    def measure(nodes: Collection[onnx.NodeProto], callers: tuple[FunctionKey, ...]) -> Extent:
        total, deepest, size = 0, len(callers), sum(node.ByteSize() for node in nodes)
        for node in walk(nodes):
            key = (node.domain, node.op_type)
            extent = visit(key, callers) if key in by_key and deepest <= DEEPEST else Extent(1, 0, 0)
            total, deepest = total + extent.nodes, max(deepest, len(callers) + extent.depth)
            size += extent.size
        if deepest > DEEPEST:
            raise ModelError(f"functions call each other more than {DEEPEST} deep")
        if total > MOST_NODES:
            raise ModelError(f"with all functions expanded, there are more than {MOST_NODES} nodes")
        if size > most_bytes:
            raise ModelError(f"with all functions expanded, the nodes take {size} bytes")
        return Extent(total, deepest - len(callers) + 1, size)

    for key in by_key:
        visit(key, ())
    measure(nodes, ())
    return {key: by_key[key] for key in extents}


def find_called(nodes: Iterable[onnx.NodeProto], functions: Mapping[FunctionKey, Any]) -> list[FunctionKey]:
    """Return the functions that the nodes call directly, each once."""
    return list(dict.fromkeys(key for node in walk(nodes) if (key := (node.domain, node.op_type)) in functions))


def find_all_called(model: onnx.ModelProto) -> set[FunctionKey]:
    """Return the functions that a model calls, directly or in other functions."""
    by_key = {(function.domain, function.name): function for function in model.functions}
    called: set[FunctionKey] = set()
    new = find_called(model.graph.node, by_key)
    while new:
        called.update(new)
        new = [key for caller in new for key in find_called(by_key[caller].node, by_key) if key not in called]
    return called


def _complete_call(node: onnx.NodeProto, function: onnx.FunctionProto) -> None:
    node.input.extend([""] * (len(function.input) - len(node.input)))
    given = {attribute.name for attribute in node.attribute}
    node.attribute.extend(default for default in function.attribute_proto if default.name not in given)


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _copy_fields(
    source: onnx.ModelProto | onnx.GraphProto, target: onnx.ModelProto | onnx.GraphProto, *, leave: str
) -> None:
    for field, value in source.ListFields():
        if field.name == leave:
            continue
        if isinstance(value, str | int):
            setattr(target, field.name, value)
        else:
            getattr(target, field.name).MergeFrom(value)
