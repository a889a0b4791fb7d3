"""A model's structure, checked before anything of it runs.

The onnx checker is asked about each node alone, with its tensors and subgraphs taken out: whether the operator
exists at that opset and whether its inputs and attributes are legal. The rest is checked here, since the checker
would have to be given the whole model as bytes (which a large one doesn't fit in) and doesn't compare dims
with data: opsets, functions, names, the order of nodes, and every tensor wherever it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from gatherscatter import versions
from gatherscatter.model_interface import ModelError
from gatherscatter.onnx.external_data import ExternalData
from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.labels import node_label, one_line
from gatherscatter.onnx.rewrite import FunctionKey
from gatherscatter.onnx.tensors import check_strings, check_tensor, is_external

_SPARSE = (onnx.AttributeProto.SPARSE_TENSOR, onnx.AttributeProto.SPARSE_TENSORS)


@dataclass(frozen=True)
class Scope:
    """What the nodes of a graph or function may use."""

    opsets: dict[str, int]
    functions: dict[FunctionKey, onnx.FunctionProto]
    files: ExternalData
    checker: Any  # the onnx checker's context: the opsets
    place: str = ""  # " of function a.b", " of body of Loop 'x' (1/2)"
    in_function: bool = False
    outer: tuple[set[str], ...] = ()  # names of the enclosing graphs
    names: set[str] = field(default_factory=set)  # of this graph, as far as they are defined

    def knows(self, name: str) -> bool:
        """Whether a value of that name can be read here."""
        return name in self.names or any(name in names for names in self.outer)

    def define(self, name: str, what: str) -> None:
        """Add a name; every name has one definition."""
        if name in self.names:
            raise ModelError(f"{what}{self.place}: there is a value of that name already")
        self.names.add(name)


def check_model(model: onnx.ModelProto, initializers: Collection[str], files: ExternalData) -> None:
    """Raise `ModelError` if the model can't run; ``initializers`` are those of its main graph, checked before."""
    if model.ir_version > onnx.IR_VERSION:
        raise ModelError(f"IR version {model.ir_version} is newer than the installed onnx package ({onnx.IR_VERSION})")
    functions = {(function.domain, function.name): function for function in model.functions}
    if len(functions) < len(model.functions):
        raise ModelError("two functions have the same name (overloads aren't supported)")
    for key, function in functions.items():
        place = f" of function {'.'.join(key)}"
        opsets = opset_versions(function, place)
        scope = Scope(opsets, functions, files, _checker_context(opsets), place, in_function=True)
        _check_body(function.node, function.input, function.output, scope)
    opsets = opset_versions(model)
    scope = Scope(opsets, functions, files, _checker_context(opsets))
    _check_graph(model.graph, scope, initializers)


def opset_versions(proto: onnx.ModelProto | onnx.FunctionProto, place: str = "") -> dict[str, int]:
    """The opset imports as a mapping of domains to versions."""
    opsets: dict[str, int] = {}
    for entry in proto.opset_import:
        if opsets.setdefault(entry.domain, entry.version) != entry.version:
            raise ModelError(f"two opsets of domain {entry.domain or 'ai.onnx'!r} are imported{place}")
    if not opsets and isinstance(proto, onnx.ModelProto) and proto.ir_version < 3:
        opsets[""] = 1  # before IR version 3 there was nothing to import
    newest = onnx.defs.onnx_opset_version()
    if "" in opsets and not 1 <= opsets[""] <= newest:
        raise ModelError(f"opset {opsets['']}{place} isn't supported; the installed onnx package has 1 to {newest}")
    return opsets


def _check_graph(graph: onnx.GraphProto, scope: Scope, initializers: Collection[str] = ()) -> None:
    names = list(initializers)
    for tensor in graph.initializer:
        where = f"initializer {tensor.name!r}{scope.place}"
        names.append(tensor.name)
        if is_external(tensor):
            scope.files.embed(tensor, where)
        check_tensor(tensor, where)
        check_strings(tensor, where)
    if graph.sparse_initializer:
        raise ModelError(f"sparse initializers{scope.place} aren't supported")
    if len(set(names)) < len(names):
        raise ModelError(f"two initializers{scope.place} have the same name")
    inputs = [value.name for value in graph.input]
    defaults = set(inputs)
    for name in names:
        if name not in defaults:
            scope.define(name, f"initializer {name!r}")
    _check_body(graph.node, inputs, [value.name for value in graph.output], scope)


def _check_body(nodes: Collection[onnx.NodeProto], inputs: Iterable[str], outputs: Iterable[str], scope: Scope) -> None:
    for name in inputs:
        if not name:
            raise ModelError(f"an input{scope.place} has no name")
        scope.define(name, f"input {name!r}")
    for position, node in enumerate(nodes, 1):
        label = node_label(node, position, len(nodes)) + scope.place
        for name in node.input:
            if name and not scope.knows(name):
                raise _undefined(name, label, nodes)
        _check_node(node, label, scope)
        for name in filter(None, node.output):
            if any(name in names for names in scope.outer):
                raise ModelError(f"output {name!r} of {label}: an enclosing graph has a value of that name")
            scope.define(name, f"output {name!r} of {label}")
    for name in outputs:
        if not scope.knows(name):
            raise ModelError(f"output {name!r}{scope.place} is no output of any node")


def _undefined(name: str, label: str, nodes: Iterable[onnx.NodeProto]) -> ModelError:
    if any(name in node.output for node in nodes):
        return ModelError(f"{label}: its input {name!r} is made by a later node, or needs its own output (a cycle)")
    return ModelError(f"{label}: its input {name!r} isn't defined anywhere")


def _check_node(node: onnx.NodeProto, label: str, scope: Scope) -> None:
    attributes = [attribute.name for attribute in node.attribute]
    if len(set(attributes)) < len(attributes):
        raise ModelError(f"{label}: two attributes have the same name")
    for attribute in node.attribute:
        _check_attribute(attribute, f"attribute {attribute.name!r} of {label}", scope)
    if (node.domain, node.op_type) in scope.functions:
        _check_call(node, scope.functions[node.domain, node.op_type], label, scope)
    elif node.domain not in scope.opsets:
        raise ModelError(f"{label}: no opset of domain {node.domain or 'ai.onnx'!r} is imported")
    elif not _is_retired(node, scope):
        _check_operator(node, label, scope)


def _is_retired(node: onnx.NodeProto, scope: Scope) -> bool:
    """A deprecated operator that this package still runs (Scatter); its row warns, the checker would refuse it."""
    if node.domain:
        return False
    try:
        return versions.find("onnx", node.op_type, scope.opsets[""]).deprecated
    except LookupError:
        return False


def _check_call(node: onnx.NodeProto, function: onnx.FunctionProto, label: str, scope: Scope) -> None:
    if node.domain not in scope.opsets:
        raise ModelError(f"{label}: no opset of domain {node.domain!r} is imported")
    if len(node.input) > len(function.input) or len(node.output) > len(function.output):
        raise ModelError(
            f"{label}: the function has {len(function.input)} inputs and {len(function.output)} outputs;"
            f" the node has {len(node.input)} and {len(node.output)}"
        )
    given = {attribute.name for attribute in node.attribute}
    missing = [name for name in function.attribute if name not in given]
    if missing:
        raise ModelError(f"{label}: attribute {missing[0]!r} of the function is missing")


def _check_operator(node: onnx.NodeProto, label: str, scope: Scope) -> None:
    if not onnx.defs.has(node.op_type, node.domain):
        raise ModelError(f"{label}: there is no such operator and no function of that name")
    try:
        onnx.checker.check_node(_alone(node), scope.checker)
    except onnx.checker.ValidationError as error:
        raise ModelError(f"{label}: {one_line(error)}") from None


def _checker_context(opsets: dict[str, int]) -> Any:
    context = onnx.checker.C.CheckerContext()
    context.ir_version = onnx.IR_VERSION
    context.opset_imports = opsets
    return context


def _check_attribute(attribute: onnx.AttributeProto, where: str, scope: Scope) -> None:
    if attribute.ref_attr_name:
        if not scope.in_function:
            raise ModelError(f"{where} refers to an attribute of a function, but isn't in one")
        return
    if attribute.type in _SPARSE:
        raise ModelError(f"{where}: sparse tensors aren't supported")
    for tensor in _tensors(attribute):
        if is_external(tensor):
            scope.files.embed(tensor, where)
        check_tensor(tensor, where)
        check_strings(tensor, where)
    for graph in _graphs(attribute):
        place = f" of {where.removeprefix('attribute ')}"
        _check_graph(graph, replace(scope, place=place, outer=(*scope.outer, scope.names), names=set()))


def _tensors(attribute: onnx.AttributeProto) -> Iterable[onnx.TensorProto]:
    if attribute.type == onnx.AttributeProto.TENSOR:
        return [attribute.t]
    return attribute.tensors if attribute.type == onnx.AttributeProto.TENSORS else ()


def _graphs(attribute: onnx.AttributeProto) -> Iterable[onnx.GraphProto]:
    if attribute.type == onnx.AttributeProto.GRAPH:
        return [attribute.g]
    return attribute.graphs if attribute.type == onnx.AttributeProto.GRAPHS else ()


def _alone(node: onnx.NodeProto) -> onnx.NodeProto:
    """The node with empty tensors and graphs: what the checker needs for everything else."""
    copy = onnx.NodeProto(op_type=node.op_type, domain=node.domain, name=node.name, input=node.input)
    copy.output.extend(node.output)
    for attribute in node.attribute:
        stub = copy.attribute.add()
        if attribute.ref_attr_name or not (list(_tensors(attribute)) or list(_graphs(attribute))):
            stub.CopyFrom(attribute)
            continue
        stub.name, stub.type = attribute.name, attribute.type
        if attribute.type == onnx.AttributeProto.TENSOR:
            stub.t.CopyFrom(onnx.TensorProto(data_type=attribute.t.data_type, dims=[0]))
        elif attribute.type == onnx.AttributeProto.GRAPH:
            stub.g.CopyFrom(onnx.GraphProto(name="stub"))
    return copy
