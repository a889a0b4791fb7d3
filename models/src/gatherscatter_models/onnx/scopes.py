"""Infer the facts about all values of an ONNX model before it runs, also in subgraphs and functions.

All facts come from the model's inputs, initializers and operators. The declarations of other values in a model may be
wrong. Only element types are read from them, and only if the operators do not determine them.

The model need not be checked before. The cost depends on the size of the model, not on the sizes that it declares.
Calls of functions are followed until they have read `MOST_READ` dims and values. All other facts are unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np
import onnx

from gatherscatter.specs.rows import DOMAIN
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.graph import DEEPEST, FunctionKey, is_contributed, one_line
from gatherscatter_models.onnx.operator_facts import infer_contributed, infer_operator
from gatherscatter_models.onnx.operator_types import sequence_of
from gatherscatter_models.onnx.tensors import ExternalData
from gatherscatter_models.onnx.value_info import (
    MAX_VALUES,
    UNKNOWN,
    Dim,
    ValueInfo,
    info_of_array,
    info_of_tensor,
    is_constant,
    known_type,
    read_constant,
    read_declared,
)

Load = Callable[[], np.ndarray]

MOST_READ = 2_000_000  # dims and values that nodes of functions read: a few bytes can call very many functions
MOST_NAMES = 4000  # unknown sizes in different nodes: the time for a node grows with their number
NODE = 200  # the count for a node of a function, in addition to the dims and values that it reads

_T = onnx.TensorProto


def resolve_attributes(
    node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]
) -> tuple[dict[str, onnx.AttributeProto], frozenset[str]]:
    """Return the attributes of a node by name, and the names of the unknown ones.

    ``given`` are the attributes that the caller of a function gives.
    """
    known: dict[str, onnx.AttributeProto] = {}
    unknown = set()
    for attribute in node.attribute:
        source = given.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if source is None:
            unknown.add(attribute.name)
        else:
            known[attribute.name] = source
    return known, frozenset(unknown)


@dataclass
class Scope:
    """The values of a graph, subgraph or function; ``outer`` is the scope around a subgraph.

    Attributes
    ----------
    infos : the facts about the values that the body defines
    constants : functions that return the arrays of Constant nodes, and of initializers that no caller can replace
    tensors : the messages of these constants, if the model has them
    inner : the scopes of subgraphs, by position of the node and name of the attribute
    calls : for each function, the scopes of the calls that were followed
    """

    opset: int
    functions: Mapping[FunctionKey, onnx.FunctionProto] = field(default_factory=dict)
    files: ExternalData = field(default_factory=ExternalData)
    outer: Scope | None = None
    attributes: Mapping[str, onnx.AttributeProto] = field(default_factory=dict)  # that the caller of a function gives
    budget: list[int] = field(default_factory=lambda: [MOST_READ])  # shared by all scopes of a model
    names_left: list[int] = field(default_factory=lambda: [MOST_NAMES])  # shared by all scopes of a model
    depth: int = 0  # of calls of functions
    infos: dict[str, ValueInfo] = field(default_factory=dict)
    constants: dict[str, Load] = field(default_factory=dict)
    tensors: dict[str, onnx.TensorProto] = field(default_factory=dict)
    inner: dict[tuple[int, str], Scope] = field(default_factory=dict)
    calls: dict[FunctionKey, list[Scope]] = field(default_factory=dict)  # shared by all scopes of a model

    def find(self, name: str) -> ValueInfo:
        """Return the facts about a value of this body, or of the bodies around it."""
        scope = self._owner(name)
        return UNKNOWN if scope is None else scope.infos[name]

    def constant(self, name: str) -> Load | None:
        """Return a function that returns the array of a constant; None for other values."""
        scope = self._owner(name)
        return None if scope is None else scope.constants.get(name)

    def value(self, name: str) -> np.ndarray | None:
        """Return the array of a constant; None for other values."""
        load = self.constant(name)
        return None if load is None else load()

    def _owner(self, name: str) -> Scope | None:
        scope: Scope | None = self
        while scope is not None and name not in scope.infos:
            scope = scope.outer
        return scope

    def add_constant(self, name: str, array: np.ndarray) -> None:
        """Add a constant."""
        self.infos[name] = info_of_array(array)
        self.constants[name] = lambda: array

    def add_initializers(self, tensors: Iterable[onnx.TensorProto]) -> None:
        """Add initializers that no caller can replace."""
        for tensor in tensors:
            self.infos[tensor.name] = info_of_tensor(tensor)
            self._add_tensor(tensor.name, tensor, f"initializer {one_line(tensor.name)!r}")

    def _add_tensor(self, name: str, tensor: onnx.TensorProto, where: str) -> None:
        self.tensors[name] = tensor
        self.constants[name] = cache(partial(self.files.load, tensor, where))

    def add_graph(self, graph: onnx.GraphProto, inputs: Sequence[ValueInfo] = ()) -> None:
        """Add all values of a graph. ``inputs`` has the facts that a node gives about the inputs of its subgraph.

        A node with inputs that its operator would refuse has unknown outputs.
        """
        for number, value in enumerate(graph.input):
            if value.name not in self.constants:
                known = number < len(inputs) and inputs[number].is_known
                self.infos[value.name] = inputs[number] if known else read_declared(value.type)
        self.add_initializers(tensor for tensor in graph.initializer if tensor.name not in self.infos)
        later = {value.name: read_declared(value.type) for value in (*graph.value_info, *graph.output)}
        self._add_nodes(graph.node, later)

    def add_function(self, function: onnx.FunctionProto, inputs: Sequence[ValueInfo] = ()) -> None:
        """Add all values of a function's body."""
        for number, name in enumerate(function.input):
            self.infos[name] = inputs[number] if number < len(inputs) else UNKNOWN
        self._add_nodes(function.node, {})

    def add_node(self, node: onnx.NodeProto, position: int = 0) -> None:
        """Add the outputs of a node.

        Raises
        ------
        ModelError
            The operator would refuse its inputs. Nothing is added then.
        """
        for name, info in zip(node.output, self._outputs(node, position), strict=True):
            if name:
                self.infos[name] = info
        if is_constant(node):
            if node.attribute[0].HasField("t"):
                self._add_tensor(node.output[0], node.attribute[0].t, "a Constant")
            else:
                self.constants[node.output[0]] = cache(partial(read_constant, node))

    def _add_nodes(self, nodes: Sequence[onnx.NodeProto], later: Mapping[str, ValueInfo]) -> None:
        for position, node in enumerate(nodes):
            try:
                self.add_node(node, position)
            except ModelError:
                self.infos.update(dict.fromkeys(filter(None, node.output), UNKNOWN))
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH and (position, attribute.name) not in self.inner:
                    self.subgraph(node, position, attribute.name, ())
            for name in filter(None, node.output):
                if name in later and not self.infos[name].is_known:
                    said = later[name]
                    self.infos[name] = self.infos[name]._replace(elem_type=said.elem_type, other=said.other)

    def _outputs(self, node: onnx.NodeProto, position: int) -> list[ValueInfo]:
        inputs = [self.find(name) if name else None for name in node.input]
        if self.depth and not self._can_read(inputs):
            return [UNKNOWN] * len(node.output)
        function = self.functions.get((node.domain, node.op_type))
        if function is not None:
            made = self._call(node, function, inputs)
        elif node.domain == DOMAIN:
            attributes, unknown = self.attributes_of(node)
            given = attributes.pop("opset", None)
            known = "opset" not in unknown and (given is None or given.type == onnx.AttributeProto.INT)
            opset = None if given is None else given.i
            made = infer_operator(node, opset, inputs, attributes, unknown, self.names_left) if known else []
        elif is_contributed(node):
            made = infer_contributed(node, inputs, *self.attributes_of(node))
        elif node.domain:
            made = []
        elif is_constant(node):
            made = [_infer_constant(node)]
        elif node.op_type in _CONTROL:
            made = _CONTROL[node.op_type](self, node, position, inputs)
        else:
            return infer_operator(node, self.opset, inputs, *self.attributes_of(node), self.names_left)
        return [*made, *[UNKNOWN] * len(node.output)][: len(node.output)]

    def _can_read(self, inputs: Sequence[ValueInfo | None]) -> bool:
        """Count a node of a function. Return whether it is within the limit."""
        facts = (info for info in inputs if info is not None)
        self.budget[0] -= NODE + sum(1 + len(info.shape or ()) + len(info.values or ()) for info in facts)
        return self.budget[0] >= 0

    def attributes_of(self, node: onnx.NodeProto) -> tuple[dict[str, onnx.AttributeProto], frozenset[str]]:
        """Return the attributes of a node by name, and the names of the unknown ones."""
        return resolve_attributes(node, self.attributes)

    def _call(
        self, node: onnx.NodeProto, function: onnx.FunctionProto, inputs: Sequence[ValueInfo | None]
    ) -> list[ValueInfo]:
        """Return the outputs of a function of the model."""
        if self.budget[0] < 0 or self.depth >= DEEPEST:
            return []
        given = {attribute.name: attribute for attribute in function.attribute_proto}
        for attribute in node.attribute:
            source = self.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
            if source is not None:
                given[attribute.name] = source
        opset = _opset(function.opset_import)
        scope = self._make_scope(opset=opset, outer=None, attributes=given, depth=self.depth + 1)
        self.calls.setdefault((node.domain, node.op_type), []).append(scope)
        scope.add_function(function, [info or UNKNOWN for info in inputs])
        return [scope.find(name) for name in function.output]

    def _make_scope(self, **own: Any) -> Scope:
        """Return a scope of the same model."""
        whole: dict[str, Any] = {"functions": self.functions, "files": self.files, "calls": self.calls}
        return Scope(**own, **whole, budget=self.budget, names_left=self.names_left)

    def subgraph(self, node: onnx.NodeProto, position: int, name: str, inputs: Sequence[ValueInfo]) -> list[ValueInfo]:
        """Return the outputs of a subgraph of a node."""
        graph = next((each.g for each in node.attribute if each.name == name), None)
        if graph is None:
            return []
        scope = self._make_scope(opset=self.opset, outer=self, attributes=self.attributes, depth=self.depth)
        self.inner[position, name] = scope
        scope.add_graph(graph, inputs)
        return [scope.find(value.name) for value in graph.output]


def infer_model(
    model: onnx.ModelProto, files: ExternalData, initializers: Sequence[onnx.TensorProto] | None = None
) -> Scope:
    """Return the facts about the values of a model's main graph and its subgraphs.

    ``files`` has the external data. ``initializers`` are those of the main graph, if ``model`` does not contain them.

    >>> model = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 18]>
    ...     g (float[n, 3] x, int64[k] rows) => (out) { picked = Gather (x, rows)  out = Neg (picked) }''')
    >>> infer_model(model, ExternalData()).find("out")
    ValueInfo(elem_type=1, shape=('k', 3), values=None, other=None, is_size=False)
    """
    scope = Scope(_opset(model.opset_import), _functions(model), files)
    replaceable = replaceable_names(model)
    tensors = model.graph.initializer if initializers is None else initializers
    scope.add_initializers(tensor for tensor in tensors if tensor.name not in replaceable)
    scope.add_graph(model.graph)
    return scope


def infer_functions(model: onnx.ModelProto, files: ExternalData) -> list[Scope]:
    """Return the facts about the values of each function of a model that hold for all callers."""
    scopes = []
    functions, budget, names_left = _functions(model), [MOST_READ], [MOST_NAMES]
    for function in model.functions:
        scopes.append(Scope(_opset(function.opset_import), functions, files, budget=budget, names_left=names_left))
        scopes[-1].add_function(function)
    return scopes


def replaceable_names(model: onnx.ModelProto) -> set[str]:
    """Return the names of initializers for which a caller may give another value, and of all inputs.

    Before IR version 4, all initializers had to be inputs as well, and no caller could replace them.
    """
    return {value.name for value in model.graph.input} if model.ir_version >= 4 else set()


def _functions(model: onnx.ModelProto) -> dict[FunctionKey, onnx.FunctionProto]:
    return {(function.domain, function.name): function for function in model.functions}


def _opset(imports: Sequence[onnx.OperatorSetIdProto]) -> int:
    return next((entry.version for entry in imports if entry.domain in ("", "ai.onnx")), 1)


def _infer_constant(node: onnx.NodeProto) -> ValueInfo:
    value = onnx.helper.get_attribute_value(node.attribute[0])
    if isinstance(value, _T):
        return info_of_tensor(value)
    if isinstance(value, onnx.SparseTensorProto):
        return ValueInfo(known_type(value.values.data_type), tuple(value.dims))
    kind = {"value_f": _T.FLOAT, "value_i": _T.INT64, "value_s": _T.STRING}.get(node.attribute[0].name[:7], 0)
    whole = isinstance(value, list)
    shape = (len(value),) if whole else ()
    few = kind == _T.INT64 and not (whole and len(value) > MAX_VALUES)
    return ValueInfo(kind, shape, (tuple(value) if whole else (value,)) if few else None)


# ------------------------------------------------------------------------------------------------------ control flow


def _merge_branches(one: ValueInfo, other: ValueInfo) -> ValueInfo:
    """Return the facts that hold for both of two values."""
    if one.other is not None or other.other is not None or one.elem_type != other.elem_type:
        return one if one.other == other.other and one.elem_type == other.elem_type else UNKNOWN
    if one.shape is None or other.shape is None or len(one.shape) != len(other.shape):
        return ValueInfo(one.elem_type)
    shape = tuple(a if a == b else None for a, b in zip(one.shape, other.shape, strict=True))
    return ValueInfo(one.elem_type, shape, one.values if one.values == other.values else None)


def _if(scope: Scope, node: onnx.NodeProto, position: int, inputs: Sequence[ValueInfo | None]) -> list[ValueInfo]:
    branches = [scope.subgraph(node, position, name, ()) for name in ("then_branch", "else_branch")]
    return [_merge_branches(*pair) for pair in zip(*branches, strict=False)]


def _loop(scope: Scope, node: onnx.NodeProto, position: int, inputs: Sequence[ValueInfo | None]) -> list[ValueInfo]:
    carried = [info or UNKNOWN for info in inputs[2:]]
    # Their shapes may change from one iteration to the next.
    inner = [ValueInfo(info.elem_type, other=info.other) for info in carried]
    made = scope.subgraph(node, position, "body", [ValueInfo(_T.INT64, ()), ValueInfo(_T.BOOL, ()), *inner])[1:]
    final = [_merge_branches(*pair) for pair in zip(carried, made, strict=False)]
    # A loop without iterations gives the shapes that the body declares, which may differ from these.
    return [*final, *(_stack_iterations(info, 0, None) for info in made[len(carried) :])]


def _scan(scope: Scope, node: onnx.NodeProto, position: int, inputs: Sequence[ValueInfo | None]) -> list[ValueInfo]:
    given, unknown = scope.attributes_of(node)
    attributes = {name: onnx.helper.get_attribute_value(attribute) for name, attribute in given.items()}
    count, known = attributes.get("num_scan_inputs"), [info or UNKNOWN for info in inputs]
    if scope.opset < 9 or unknown or not isinstance(count, int) or not 0 < count <= len(known):
        scope.subgraph(node, position, "body", ())
        return []
    states, sequences = known[: len(known) - count], known[len(known) - count :]
    axes = [*attributes.get("scan_input_axes", ()), *[0] * count][:count]
    parts, lengths = [], []
    for info, axis in zip(sequences, axes, strict=True):
        if info.shape is None or not -len(info.shape) <= axis < len(info.shape):
            parts.append(ValueInfo(info.elem_type))
            continue
        axis %= len(info.shape)
        lengths.append(info.shape[axis])
        parts.append(ValueInfo(info.elem_type, info.shape[:axis] + info.shape[axis + 1 :]))
    inner = [ValueInfo(info.elem_type, info.shape, other=info.other) for info in states]
    made = scope.subgraph(node, position, "body", [*inner, *parts])
    final = [_merge_branches(*pair) for pair in zip(inner, made, strict=False)]
    stacked = made[len(states) :]
    axes = [*attributes.get("scan_output_axes", ()), *[0] * len(stacked)][: len(stacked)]
    length = next((length for length in lengths if isinstance(length, int)), lengths[0] if lengths else None)
    return [*final, *(_stack_iterations(info, axis, length) for info, axis in zip(stacked, axes, strict=True))]


def _stack_iterations(info: ValueInfo, axis: int, length: Dim) -> ValueInfo:
    """Return the facts about the values of all iterations, stacked along a new axis."""
    if info.shape is None or not -len(info.shape) - 1 <= axis <= len(info.shape):
        return ValueInfo(info.elem_type, other=info.other)
    axis += len(info.shape) + 1 if axis < 0 else 0
    return ValueInfo(info.elem_type, (*info.shape[:axis], length, *info.shape[axis:]))


def _sequence_map(
    scope: Scope, node: onnx.NodeProto, position: int, inputs: Sequence[ValueInfo | None]
) -> list[ValueInfo]:
    made = scope.subgraph(node, position, "body", ())
    return [sequence_of(info.elem_type) for info in made]


_CONTROL: dict[str, Callable[..., list[ValueInfo]]] = {
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
    "SequenceMap": _sequence_map,
}
