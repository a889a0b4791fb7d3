"""Build ONNX graphs. Nodes get unused names, and types are inferred as nodes are added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import ArrayLike, NDArray

from gatherscatter.arrays.tensor_files import to_tensor_proto
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.graph import walk
from gatherscatter_models.onnx.scopes import Scope
from gatherscatter_models.onnx.value_info import ValueInfo, read_declared


class BuiltTensor(NamedTuple):
    """A tensor of the graph, and the facts known about it."""

    name: str
    info: ValueInfo
    value: NDArray[Any] | None = None

    @property
    def element_type(self) -> str | None:
        """The name of the element type, such as ``float32``; None if unknown."""
        return self.info.element_type

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type; ModelError if unknown."""
        return self.info.dtype

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """The shape, with None for unknown sizes; None if the rank is unknown."""
        return self.info.sizes

    @property
    def rank(self) -> int | None:
        """The number of dims; None if unknown."""
        return None if self.info.shape is None else len(self.info.shape)

    @property
    def nonnegative(self) -> bool:
        """Whether it is known that no element is negative."""
        return self.info.is_size or (self.value is not None and bool(np.all(self.value >= 0)))


NodeInput = BuiltTensor | NDArray[Any] | np.generic | None


class FreeNames:
    """Makes unused names."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def __call__(self, wanted: str) -> str:
        """Return the wanted name, with a number if it is taken."""
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name


class OnnxBuilder:
    """Collects nodes; arrays among their inputs become initializers.

    >>> import numpy as np
    >>> builder = OnnxBuilder(Scope(opset=18))
    >>> x = builder.input("x", np.dtype("float32"), (None, 3))
    >>> y = builder.node("Add", x, x)
    >>> y.dtype, y.shape
    (dtype('float32'), (None, 3))
    >>> builder.output("y", y)
    >>> [node.op_type for node in builder.model("doubled").graph.node]
    ['Add', 'Identity']
    """

    def __init__(self, scope: Scope, free: FreeNames | None = None) -> None:
        self.scope = scope
        self.made: list[onnx.NodeProto] = []
        self._free = FreeNames() if free is None else free
        self._graph = onnx.GraphProto()  # inputs, outputs and initializers
        self._prefix = ""

    def reserve(self, names: Sequence[str]) -> None:
        """Reserve the names of outputs, so that no other tensor gets them."""
        self._free.taken.update(names)

    def name_nodes(self, prefix: str) -> None:
        """Set the prefix for the names of the nodes that follow."""
        self._prefix = prefix

    def input(self, name: str, dtype: np.dtype[Any], shape: Sequence[int | None] | None) -> BuiltTensor:
        """Add an input of the model."""
        self.reserve([name])
        kind = onnx.helper.np_dtype_to_tensor_dtype(dtype)
        self._graph.input.append(onnx.helper.make_tensor_value_info(name, kind, shape))
        self.scope.infos[name] = read_declared(self._graph.input[-1].type)
        return self._tensor(name)

    def constant(self, value: ArrayLike) -> BuiltTensor:
        """Add an initializer. Plain numbers become int64."""
        array = np.asarray(value, None if isinstance(value, np.ndarray | np.generic) else np.int64)
        name = self._add_constant(array)
        self.scope.add_constant(name, array)
        return self._tensor(name)

    def _add_constant(self, array: NDArray[Any]) -> str:
        name = self._free("constant")
        self._graph.initializer.append(to_tensor_proto(array, name))
        return name

    def node(self, op_type: str, *inputs: NodeInput, **attributes: Any) -> BuiltTensor:
        """Add a node with one output."""
        return self.nodes(op_type, *inputs, **attributes)[0]

    def nodes(self, op_type: str, *inputs: NodeInput, count: int = 1, **attributes: Any) -> list[BuiltTensor]:
        """Add a node with ``count`` outputs."""
        feeding = [self.constant(one) if isinstance(one, np.ndarray | np.generic) else one for one in inputs]
        names = ["" if one is None else one.name for one in feeding]
        outputs = [self._free(self._wanted_name(op_type)) for _ in range(count)]
        node = onnx.helper.make_node(op_type, names, outputs, outputs[0], **attributes)
        self._infer(node)
        self.made.append(node)
        return [self._tensor(name) for name in outputs]

    def _wanted_name(self, op_type: str) -> str:
        return self._prefix or op_type

    def _infer(self, node: onnx.NodeProto) -> None:
        self.scope.add_node(node)

    def _tensor(self, name: str) -> BuiltTensor:
        return BuiltTensor(name, self.scope.find(name), self.scope.value(name))

    def output(self, name: str, tensor: BuiltTensor) -> None:
        """Add an output of the model. Its name was reserved, so an Identity node produces it."""
        if name != tensor.name:
            if any(name == one.name for one in self._graph.input):
                raise ModelError(f"an input and an output are called {name!r}")
            self.made.append(onnx.helper.make_node("Identity", [tensor.name], [name]))
        kind = onnx.helper.np_dtype_to_tensor_dtype(tensor.dtype)
        self._graph.output.append(onnx.helper.make_tensor_value_info(name, kind, tensor.shape))

    def model(self, name: str) -> onnx.ModelProto:
        """Return the whole model, with the constants that are used."""
        self._graph.name = name
        self._graph.node.extend(self.made)
        opset = onnx.helper.make_opsetid("", self.scope.opset)
        version = onnx.helper.find_min_ir_version_for([opset])
        made: onnx.ModelProto = onnx.helper.make_model(
            self._graph, opset_imports=[opset], ir_version=version, producer_name="gatherscatter"
        )
        drop_unused(made)
        return made

    # Nodes that conversions and rewritings often insert.

    def shape(self, data: BuiltTensor, axes: Sequence[int] | int | None = None, dtype: Any = np.int64) -> BuiltTensor:
        """Return the sizes of some axes, by default all, or of one axis as a scalar; a constant if they are known."""
        if data.shape is not None:
            at = range(len(data.shape)) if axes is None else np.ravel(axes).tolist()
            sizes = [data.shape[axis] for axis in at]
            if None not in sizes:
                return self.constant(np.array(sizes, dtype).reshape(len(sizes) if axes is None else np.shape(axes)))
        whole = self.node("Shape", data)
        some = whole if axes is None else self.node("Gather", whole, np.array(axes, np.int64))
        return self.cast(some, dtype)

    def cast(self, data: BuiltTensor, dtype: Any) -> BuiltTensor:
        """Convert to another type. Constants are converted immediately."""
        wanted: np.dtype[Any] = np.dtype(dtype)
        kind = onnx.helper.np_dtype_to_tensor_dtype(wanted)
        if data.info.elem_type == kind:
            return data
        if data.value is not None:
            return self.constant(data.value.astype(wanted))
        return self.node("Cast", data, to=kind)

    def transpose(self, data: BuiltTensor, perm: list[int]) -> BuiltTensor:
        """Permute the axes."""
        return data if perm == sorted(perm) else self.node("Transpose", data, perm=perm)


def names_of(model: onnx.ModelProto) -> set[str]:
    """Return all names of values and nodes of a model."""
    bodies = (model.graph, *model.functions)
    names = {name for body in bodies for node in walk(body.node) for name in (*node.input, *node.output, node.name)}
    for graph in _graphs(model):
        names |= {value.name for value in (*graph.input, *graph.output, *graph.initializer)}
    return names | {name for function in model.functions for name in (*function.input, *function.output)}


def drop_unused(model: onnx.ModelProto) -> None:
    """Remove initializers and Constant nodes of the main graph that nothing reads."""
    graph = model.graph
    read = {name for body in (graph, *model.functions) for node in walk(body.node) for name in node.input}
    read |= {value.name for each in _graphs(model) for value in each.output}
    read |= {value.name for value in graph.input}
    for position in reversed(range(len(graph.initializer))):
        if graph.initializer[position].name not in read:
            del graph.initializer[position]
    for position in reversed(range(len(graph.node))):
        node = graph.node[position]
        if (node.domain, node.op_type) == ("", "Constant") and node.output[0] not in read:
            del graph.node[position]


def _graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    yield model.graph
    for body in (model.graph, *model.functions):
        for node in walk(body.node):
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    yield attribute.g
