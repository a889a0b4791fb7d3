"""Infer facts about the values of an ONNX model before it runs: types, shapes, and small constants.

All facts come from the model's inputs, initializers and operators. The declarations of other values in a model may be
wrong. Only element types are read from them, and only if the operators do not determine them.

The model need not be checked before. The cost depends on the size of the model, not on the sizes that it declares.
Calls of functions are followed until they have read `MOST_READ` dims and values. All other facts are unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from gatherscatter.findings.nodes import Key, Operand, Site
from gatherscatter.model_interface import ModelError
from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.graph import DEEPEST, FunctionKey, node_label, one_line
from gatherscatter.onnx.shape_rules import (
    MAX_RANK,
    MAX_VALUES,
    Dim,
    Node,
    Shape,
    Values,
    infer_shapes,
    infer_values,
)
from gatherscatter.onnx.tensors import ExternalData, is_external, to_array, type_name
from gatherscatter.specs import own_operators, table
from gatherscatter.specs.own_operators import DOMAIN

Load = Callable[[], np.ndarray]

MOST_READ = 2_000_000  # dims and values that nodes of functions read: a few bytes can call very many functions
NODE = 100  # the count for a node of a function, in addition to the dims and values that it reads

_T = onnx.TensorProto
_INTEGERS: dict[int, range] = {
    kind: range(int(info.min), int(info.max) + 1)
    for kind in (_T.INT8, _T.INT16, _T.INT32, _T.INT64, _T.UINT8, _T.UINT16, _T.UINT32, _T.UINT64)
    if (info := np.iinfo(onnx.helper.tensor_dtype_to_np_dtype(kind)))
}


class ValueInfo(NamedTuple):
    """The facts about one value.

    Attributes
    ----------
    elem_type : a TensorProto.DataType; 0 if unknown or not a tensor
    shape : sizes, names of sizes, or None for unknown sizes; None if the rank is unknown
    values : elements of a small tensor of integers or booleans, in row-major order
    other : the type of a value that is not a tensor: a sequence, an optional value, a map
    is_size : whether the elements are sizes of arrays or positions in them, so none is negative
    """

    elem_type: int = 0
    shape: Shape = None
    values: Values = None
    other: onnx.TypeProto | None = None
    is_size: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the type is known."""
        return bool(self.elem_type) or self.other is not None

    @property
    def element_type(self) -> str | None:
        """The name of the element type, such as ``float32``; None if unknown."""
        return type_name(self.elem_type) if self.elem_type else None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type, objects for strings; ModelError if unknown."""
        if not self.elem_type:
            raise ModelError("its type is unknown, or it is not a tensor")
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(self.elem_type))

    @property
    def sizes(self) -> tuple[int | None, ...] | None:
        """The shape, with None instead of names of sizes."""
        return None if self.shape is None else tuple(dim if isinstance(dim, int) else None for dim in self.shape)

    def type_proto(self) -> onnx.TypeProto:
        """Return the type as a protobuf message."""
        if self.other is not None:
            return self.other
        return onnx.helper.make_tensor_type_proto(self.elem_type, self.shape)


UNKNOWN = ValueInfo()

_TYPE_TEXTS = {number: f"tensor({name.lower()})" for name, number in _T.DataType.items() if number}


def read_declared(type_proto: onnx.TypeProto) -> ValueInfo:
    """Return the facts that a model declares about a value."""
    kind = type_proto.WhichOneof("value")
    if kind is None:
        return UNKNOWN
    if kind != "tensor_type":
        return ValueInfo(other=type_proto)
    tensor = type_proto.tensor_type
    if not _to_known_type(tensor.elem_type):
        return UNKNOWN
    dims = tensor.shape.dim
    ranked = tensor.HasField("shape") and len(dims) <= MAX_RANK
    return ValueInfo(tensor.elem_type, tuple(map(declared_dim, dims)) if ranked else None)


def _to_known_type(elem_type: int) -> int:
    return elem_type if elem_type in _TYPE_TEXTS else 0


def declared_dim(dim: onnx.TensorShapeProto.Dimension) -> Dim:
    """Return a size, its name, or None. A negative size counts as unknown."""
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return dim.dim_param or None


def info_of_tensor(tensor: onnx.TensorProto) -> ValueInfo:
    """Return the facts about a tensor of the model."""
    legal = len(tensor.dims) <= MAX_RANK and all(dim >= 0 for dim in tensor.dims)
    return ValueInfo(_to_known_type(tensor.data_type), tuple(tensor.dims) if legal else None, _small_values(tensor))


def info_of_array(array: np.ndarray) -> ValueInfo:
    """Return the facts about an array."""
    small = array.size <= MAX_VALUES and array.dtype.kind in "iub"
    values = tuple(int(value) for value in array.flat) if small else None
    return ValueInfo(onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, values)


def _small_values(tensor: onnx.TensorProto) -> Values:
    whole = tensor.data_type in _INTEGERS or tensor.data_type == _T.BOOL
    if not whole or is_external(tensor) or len(tensor.dims) > 1 or tensor.ByteSize() > 32 * MAX_VALUES:
        return None
    try:
        array = to_array(tensor, "a constant")
    except (ModelError, ValueError, TypeError):  # a damaged tensor
        return None
    return info_of_array(array).values


def _read_constant(node: onnx.NodeProto) -> np.ndarray:
    """Return the value of a Constant node that has no tensor."""
    (attribute,) = node.attribute
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.name.startswith("value_string"):
        return np.array(value, object)
    if attribute.name.startswith(("value_int", "value_float")):
        return np.array(value, np.float32 if attribute.name.startswith("value_float") else np.int64)
    raise ModelError(f"a Constant with attribute {attribute.name!r} is not supported")


def is_constant(node: onnx.NodeProto) -> bool:
    """Whether the node is a Constant that contains its value."""
    whole = len(node.attribute) == 1 and len(node.output) == 1 and not node.attribute[0].ref_attr_name
    return whole and (node.domain, node.op_type) == ("", "Constant")


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
                self.constants[node.output[0]] = cache(partial(_read_constant, node))

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
            attributes, unknown = self._read_attributes(node)
            opset = attributes.get("opset")
            known = "opset" not in unknown and isinstance(opset, int | None)
            made = _infer_operator(node, opset, inputs, attributes, unknown) if known else []
        elif node.domain:
            made = []
        elif is_constant(node):
            made = [_infer_constant(node)]
        elif node.op_type in _CONTROL:
            made = _CONTROL[node.op_type](self, node, position, inputs)
        else:
            return _infer_operator(node, self.opset, inputs, *self._read_attributes(node))
        return [*made, *[UNKNOWN] * len(node.output)][: len(node.output)]

    def _can_read(self, inputs: Sequence[ValueInfo | None]) -> bool:
        """Count a node of a function. Return whether it is within the limit."""
        facts = (info for info in inputs if info is not None)
        self.budget[0] -= NODE + sum(1 + len(info.shape or ()) + len(info.values or ()) for info in facts)
        return self.budget[0] >= 0

    def _read_attributes(self, node: onnx.NodeProto) -> tuple[dict[str, Any], frozenset[str]]:
        """Return the attributes of a node by name, and the names of the unknown ones."""
        values: dict[str, Any] = {}
        unknown = set()
        for attribute in node.attribute:
            source = self.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
            if source is None:
                unknown.add(attribute.name)
                continue
            try:
                values[attribute.name] = onnx.helper.get_attribute_value(source)
            except ValueError as error:
                raise ModelError(one_line(error)) from None
        return values, frozenset(unknown)

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
        scope = Scope(opset, self.functions, self.files, None, given, self.budget, self.depth + 1, calls=self.calls)
        self.calls.setdefault((node.domain, node.op_type), []).append(scope)
        scope.add_function(function, [info or UNKNOWN for info in inputs])
        return [scope.find(name) for name in function.output]

    def subgraph(self, node: onnx.NodeProto, position: int, name: str, inputs: Sequence[ValueInfo]) -> list[ValueInfo]:
        """Return the outputs of a subgraph of a node."""
        graph = next((each.g for each in node.attribute if each.name == name), None)
        if graph is None:
            return []
        scope = Scope(
            self.opset, self.functions, self.files, self, self.attributes, self.budget, self.depth, calls=self.calls
        )
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
    functions, budget = _functions(model), [MOST_READ]
    for function in model.functions:
        scopes.append(Scope(_opset(function.opset_import), functions, files, budget=budget))
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


# ------------------------------------------------------------------------------------------------------------- bodies


@dataclass(frozen=True)
class Body:
    """A graph, a function or a subgraph.

    Attributes
    ----------
    key : identifies the body within the model
    place : names its place in messages; empty for the main graph
    scopes : the values that its nodes can read; for the body of a function, one scope for each known call
    """

    key: Key
    place: str
    proto: onnx.GraphProto | onnx.FunctionProto
    scopes: tuple[Scope, ...] = field(repr=False)

    @property
    def in_function(self) -> bool:
        """Whether it is the body of a function, or inside one."""
        return self.key[:1] == ("function",)

    def label(self, position: int) -> str:
        """Return the label of a node in messages: its type, its name and its place."""
        return node_label(self.proto.node[position], position + 1, len(self.proto.node)) + self.place


def find_bodies(model: onnx.ModelProto, files: ExternalData) -> Iterator[Body]:
    """Yield all bodies of a normalised model, each before those inside it. ``files`` has the external data."""
    main = infer_model(model, files)
    yield from find_inner_bodies(Body((), "", model.graph, (main,)))
    all_calls_known = main.budget[0] >= 0
    for function, whoever_calls in zip(model.functions, infer_functions(model, files), strict=True):
        key = (function.domain, function.name)
        scopes = main.calls.get(key, []) if all_calls_known else []
        place = f" of function {'.'.join(key)}"
        yield from find_inner_bodies(Body(("function", *key), place, function, tuple(scopes) or (whoever_calls,)))


def find_inner_bodies(body: Body) -> Iterator[Body]:
    """Yield a body and those inside it."""
    yield body
    for position, node in enumerate(body.proto.node):
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                place = f" of {attribute.name} of {body.label(position)}"
                scopes = tuple(scope.inner[position, attribute.name] for scope in body.scopes)
                yield from find_inner_bodies(Body((*body.key, position, attribute.name), place, attribute.g, scopes))


# ----------------------------------------------------------------------------------------------- gathers and scatters


def read_site(node: onnx.NodeProto, scope: Scope, key: Key, label: str, place: str = "") -> Site:
    """Return the site of a gather or scatter of ONNX or of gatherscatter's domain. ``scope`` is that of its body.

    Raises
    ------
    LookupError
        The opset has no such operator.
    ModelError
        An attribute does not have the type that the op version defines.
    """
    if node.domain == DOMAIN:
        row = replace(own_operators.find_of_node(node), domain=DOMAIN)  # findings about ONNX's do not apply
    else:
        row = table.find("onnx", node.op_type, scope.opset)
    operands = tuple(
        _operand(scope, known.name, name) if name else None for known, name in zip(row.inputs, node.input, strict=False)
    )
    name = one_line(node.name or next(iter(node.output), ""))
    return Site(key, name, label, place, row, operands, _attributes(node, row, label))


def _operand(scope: Scope, role: str, name: str) -> Operand:
    info = scope.find(name)
    return Operand(role, name, info.element_type, info.sizes, scope.constant(name), info.is_size)


def _attributes(node: onnx.NodeProto, row: table.OpVersion, label: str) -> dict[str, Any]:
    """Return the attributes with their defaults, without those that the caller of a function gives."""
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


# ------------------------------------------------------------------------------------------------------------- nodes


def _infer_constant(node: onnx.NodeProto) -> ValueInfo:
    value = onnx.helper.get_attribute_value(node.attribute[0])
    if isinstance(value, _T):
        return info_of_tensor(value)
    if isinstance(value, onnx.SparseTensorProto):
        return ValueInfo(_to_known_type(value.values.data_type), tuple(value.dims))
    kind = {"value_f": _T.FLOAT, "value_i": _T.INT64, "value_s": _T.STRING}.get(node.attribute[0].name[:7], 0)
    whole = isinstance(value, list)
    shape = (len(value),) if whole else ()
    few = kind == _T.INT64 and not (whole and len(value) > MAX_VALUES)
    return ValueInfo(kind, shape, (tuple(value) if whole else (value,)) if few else None)


# Operators with sizes or positions as results, and those that move elements of their first input.
_SIZES = frozenset(("Shape", "Size", "NonZero", "ArgMax", "ArgMin"))
_MOVES = frozenset(("Identity", "Cast", "Gather", "Slice", "Squeeze", "Unsqueeze", "Reshape"))


def _infer_operator(
    node: onnx.NodeProto,
    opset: int | None,
    inputs: Sequence[ValueInfo | None],
    attributes: Mapping[str, Any],
    unknown: frozenset[str],
) -> list[ValueInfo]:
    """Return the facts about the outputs. ``opset`` is None for an operator that only gatherscatter's domain has."""
    if opset is None:
        data = inputs[0] if inputs else None
        types = [UNKNOWN if data is None else ValueInfo(data.elem_type)] * len(node.output)
    else:
        types = _types(node, opset, inputs, attributes, unknown)
    tensors = {name: _small_values(value) for name, value in attributes.items() if isinstance(value, _T)}
    seen = Node(
        f"{DOMAIN}.{node.op_type}" if opset is None else node.op_type,
        opset or 0,
        present=[info is not None for info in inputs],
        shapes=[None if info is None else info.shape for info in inputs],
        values=[None if info is None else info.values for info in inputs],
        attributes={**attributes, **tensors},
        unknown=unknown | {name for name, values in tensors.items() if values is None},
        outputs=len(node.output),
    )
    try:
        shapes = infer_shapes(seen)
    except (ValueError, TypeError) as error:
        raise ModelError(one_line(error)) from None
    moved = node.op_type in _MOVES and bool(inputs) and inputs[0] is not None and inputs[0].is_size
    is_size = moved or node.op_type in _SIZES
    infos = [
        kind if shape is None and not is_size else kind._replace(shape=shape, is_size=is_size)
        for kind, shape in zip(types, shapes, strict=True)
    ]
    if infos and infos[0].elem_type in (*_INTEGERS, _T.BOOL):
        infos[0] = infos[0]._replace(values=_fit_values(infer_values(seen), infos[0].elem_type, shapes[0]))
    return infos


def _fit_values(values: Values, elem_type: int, shape: Shape) -> Values:
    """Convert elements to a type. Those that it can't hold become unknown. None if they do not fit the shape."""
    if values is None or shape is None:
        return None
    sizes = [dim for dim in shape if isinstance(dim, int)]
    if len(sizes) == len(shape) and math.prod(sizes) != len(values):
        return None
    if elem_type == _T.BOOL:
        return tuple(None if value is None else int(value != 0) for value in values)
    return tuple(value if value is not None and value in _INTEGERS[elem_type] else None for value in values)


# ------------------------------------------------------------------------------------------------------------- types


class _Parameter(NamedTuple):
    """An input or output of a schema: a type, or the name of a type variable."""

    type_text: str
    binds: bool  # whether all its inputs or outputs have the same type


class _Signature(NamedTuple):
    """The inputs and outputs of an operator. The last input or output may stand for any number of them."""

    inputs: tuple[_Parameter, ...]
    outputs: tuple[_Parameter, ...]
    allowed: Mapping[str, frozenset[str]]  # the types that a variable may have


@lru_cache(maxsize=2048)
def _signature(op_type: str, opset: int) -> _Signature | None:
    try:
        schema = onnx.defs.get_schema(op_type, min(max(opset, 1), 2**31 - 1), "")
    except onnx.defs.SchemaError:
        return None
    inputs, outputs = (
        tuple(_Parameter(each.type_str, each.is_homogeneous) for each in parameters)
        for parameters in (schema.inputs, schema.outputs)
    )
    allowed = {each.type_param_str: frozenset(each.allowed_type_strs) for each in schema.type_constraints}
    return _Signature(inputs, outputs, allowed)


# Operators with an attribute for the element type of the result, and its default. None: the type of the first input.
_BY_ATTRIBUTE: dict[str, tuple[str, int | None]] = {
    "Bernoulli": ("dtype", None),
    "BitCast": ("to", 0),
    "BlackmanWindow": ("output_datatype", _T.FLOAT),
    "Cast": ("to", 0),
    "EyeLike": ("dtype", None),
    "HammingWindow": ("output_datatype", _T.FLOAT),
    "HannWindow": ("output_datatype", _T.FLOAT),
    "MelWeightMatrix": ("output_datatype", _T.FLOAT),
    "Multinomial": ("dtype", _T.INT32),
    "QuantizeLinear": ("output_dtype", _T.UINT8),
    "RandomNormal": ("dtype", _T.FLOAT),
    "RandomNormalLike": ("dtype", None),
    "RandomUniform": ("dtype", _T.FLOAT),
    "RandomUniformLike": ("dtype", None),
}


def _types(
    node: onnx.NodeProto,
    opset: int,
    inputs: Sequence[ValueInfo | None],
    attributes: Mapping[str, Any],
    unknown: frozenset[str],
) -> list[ValueInfo]:
    """Return the type of each output, from the signature of the operator."""
    signature = _signature(node.op_type, opset)
    if signature is None:
        return [UNKNOWN] * len(node.output)
    bound = _bind(signature, inputs)
    types = [
        _output_type(signature.outputs[min(number, len(signature.outputs) - 1)], signature, bound)
        for number in range(len(node.output) if signature.outputs else 0)
    ]
    types += [UNKNOWN] * (len(node.output) - len(types))
    if types and not types[0].is_known:
        types[0] = _special_type(node.op_type, [info or UNKNOWN for info in inputs], attributes, unknown)
    return types


def _bind(signature: _Signature, inputs: Sequence[ValueInfo | None]) -> dict[str, ValueInfo]:
    """Return the types of the type variables; ModelError if the operator does not take an input's type."""
    bound: dict[str, ValueInfo] = {}
    for number, info in enumerate(inputs):
        if info is None or not info.is_known or not signature.inputs:
            continue
        text, binds = signature.inputs[min(number, len(signature.inputs) - 1)]
        if info.elem_type:
            own = _TYPE_TEXTS[info.elem_type]
            if own not in signature.allowed.get(text, (text,)):
                raise ModelError(f"input {number} has type {own}, which the operator does not take")
            if binds and text in bound and bound[text].elem_type not in (0, info.elem_type):
                raise ModelError(
                    f"input {number} has type {own}; an earlier input must have the same type, but differs"
                )
        if binds:
            bound.setdefault(text, ValueInfo(info.elem_type, other=info.other))
    return bound


def _output_type(parameter: _Parameter, signature: _Signature, bound: Mapping[str, ValueInfo]) -> ValueInfo:
    if parameter.type_text in bound:
        return bound[parameter.type_text]
    texts = signature.allowed.get(parameter.type_text, frozenset([parameter.type_text]))
    return ValueInfo(_ELEM_TYPES.get(next(iter(texts)), 0)) if len(texts) == 1 else UNKNOWN


_ELEM_TYPES = {text: number for number, text in _TYPE_TEXTS.items()}


def _special_type(
    op_type: str, inputs: Sequence[ValueInfo], attributes: Mapping[str, Any], unknown: frozenset[str]
) -> ValueInfo:
    """Return the type of the first output, if it is not the type of an input."""
    first = inputs[0] if inputs else UNKNOWN
    if op_type in _BY_ATTRIBUTE:
        name, default = _BY_ATTRIBUTE[op_type]
        if name in unknown:
            return UNKNOWN
        number = attributes.get(name) or (first.elem_type if default is None else default)
        return ValueInfo(_to_known_type(number)) if isinstance(number, int) else UNKNOWN
    if op_type == "ConstantOfShape":
        value = attributes.get("value")
        return UNKNOWN if "value" in unknown else ValueInfo(_to_known_type(value.data_type) if value else _T.FLOAT)
    if op_type == "DequantizeLinear":
        number = attributes.get("output_dtype") or (inputs[1].elem_type if len(inputs) > 1 else 0)
        return ValueInfo(_to_known_type(number)) if isinstance(number, int) else UNKNOWN
    if op_type in ("SequenceConstruct", "SplitToSequence"):
        return _sequence_of(first.elem_type)
    if op_type == "SequenceEmpty":
        return _sequence_of(0 if "dtype" in unknown else attributes.get("dtype", _T.FLOAT))
    if op_type in ("SequenceAt", "ConcatFromSequence") and first.other is not None:
        return read_declared(first.other.sequence_type.elem_type)._replace(shape=None)
    if op_type == "OptionalGetElement":
        whole = first.other is None or first.other.WhichOneof("value") != "optional_type"
        return first if whole or first.other is None else read_declared(first.other.optional_type.elem_type)
    if op_type == "Optional" and first.is_known:
        return ValueInfo(other=onnx.helper.make_optional_type_proto(first._replace(shape=None).type_proto()))
    return UNKNOWN


def _sequence_of(elem_type: Any) -> ValueInfo:
    if not isinstance(elem_type, int) or not _to_known_type(elem_type):
        return UNKNOWN
    tensor = onnx.helper.make_tensor_type_proto(elem_type, None)
    return ValueInfo(other=onnx.helper.make_sequence_type_proto(tensor))


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
    attributes, unknown = scope._read_attributes(node)
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
    return [_sequence_of(info.elem_type) for info in made]


_CONTROL: dict[str, Callable[..., list[ValueInfo]]] = {
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
    "SequenceMap": _sequence_map,
}
