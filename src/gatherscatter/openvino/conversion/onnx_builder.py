"""An ONNX graph under construction: nodes with names that are free, types inferred as they are added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gatherscatter.model_interface import ModelError, TensorInfo
from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.tensors import from_array
from gatherscatter.onnx.value_info import Scope, declared

from .mapping import Shape, rank_of

OPSET = 18  # the newest version of every gather and scatter operator that graphs of OpenVINO need
IR_VERSION = 8  # the one that came with it


class Tensor(NamedTuple):
    """A tensor of the graph and what is known of it."""

    name: str
    dtype: np.dtype[Any]
    shape: Shape
    value: NDArray[Any] | None = None

    @property
    def rank(self) -> int | None:
        """Number of dims, if known."""
        return None if self.shape is None else len(self.shape)


Operand = Tensor | NDArray[Any] | np.generic | None


class OnnxBuilder:
    """Collects nodes; arrays among their inputs become initializers.

    >>> import numpy as np
    >>> builder = OnnxBuilder("doubled")
    >>> x = builder.input("x", np.dtype("float32"), (None, 3))
    >>> y = builder.node("Add", x, x)
    >>> y.dtype, y.shape
    (dtype('float32'), (None, 3))
    >>> builder.output("y", y)
    >>> [node.op_type for node in builder.model().graph.node]
    ['Add', 'Identity']
    """

    def __init__(self, name: str) -> None:
        self._graph = onnx.GraphProto(name=name)
        self._scope = Scope(OPSET)
        self._taken: set[str] = set()
        self._prefix = ""

    def reserve(self, names: Sequence[str]) -> None:
        """Names that no tensor made here may have: those of the outputs."""
        self._taken.update(names)

    def name_nodes(self, prefix: str) -> None:
        """Nodes that follow are called after a layer."""
        self._prefix = prefix

    def input(self, name: str, dtype: np.dtype[Any], shape: Shape) -> Tensor:
        """An input of the model."""
        self._taken.add(name)
        kind = onnx.helper.np_dtype_to_tensor_dtype(dtype)
        self._graph.input.append(onnx.helper.make_tensor_value_info(name, kind, shape))
        self._scope.infos[name] = declared(self._graph.input[-1].type)
        return self._tensor(name)

    def constant(self, value: ArrayLike) -> Tensor:
        """An initializer."""
        name = self._free("constant")
        array: NDArray[Any] = np.asarray(value)
        self._graph.initializer.append(from_array(array, name))
        self._scope.add_constant(name, array)
        return self._tensor(name)

    def node(self, op_type: str, *inputs: Operand, **attributes: Any) -> Tensor:
        """A node with one output."""
        return self.nodes(op_type, *inputs, **attributes)[0]

    def nodes(self, op_type: str, *inputs: Operand, count: int = 1, **attributes: Any) -> list[Tensor]:
        """A node with ``count`` outputs."""
        feeding = [self.constant(one) if isinstance(one, np.ndarray | np.generic) else one for one in inputs]
        names = ["" if one is None else one.name for one in feeding]
        outputs = [self._free(self._prefix or op_type) for _ in range(count)]
        node = onnx.helper.make_node(op_type, names, outputs, outputs[0], **attributes)
        self._scope.add_node(node)
        self._graph.node.append(node)
        return [self._tensor(name) for name in outputs]

    def output(self, name: str, tensor: Tensor) -> None:
        """An output of the model; its name was reserved, so a node of its own gives it."""
        if name != tensor.name:
            if any(name == one.name for one in self._graph.input):
                raise ModelError(f"an input and an output are called {name!r}")
            self._graph.node.append(onnx.helper.make_node("Identity", [tensor.name], [name]))
        kind = onnx.helper.np_dtype_to_tensor_dtype(tensor.dtype)
        self._graph.output.append(onnx.helper.make_tensor_value_info(name, kind, tensor.shape))

    def model(self) -> onnx.ModelProto:
        """The whole model, with the constants that are used."""
        used = {name for node in self._graph.node for name in node.input}
        constants = [tensor for tensor in self._graph.initializer if tensor.name in used]
        del self._graph.initializer[:]
        self._graph.initializer.extend(constants)
        opsets = [onnx.helper.make_opsetid("", OPSET)]
        return onnx.helper.make_model(
            self._graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="gatherscatter"
        )

    # What conversions insert again and again.

    def shape(self, data: Tensor, axes: Sequence[int] | None = None) -> Tensor:
        """The sizes of some axes, all by default, as a constant where they are known."""
        if data.shape is not None:
            sizes = [data.shape[axis] for axis in (range(len(data.shape)) if axes is None else axes)]
            if None not in sizes:
                return self.constant(np.array(sizes, np.int64))
        whole = self.node("Shape", data)
        return whole if axes is None else self.node("Gather", whole, np.array(axes, np.int64))

    def cast(self, data: Tensor, dtype: Any) -> Tensor:
        """In another type; a constant at once."""
        wanted: np.dtype[Any] = np.dtype(dtype)
        if data.dtype == wanted:
            return data
        if data.value is not None:
            return self.constant(data.value.astype(wanted))
        return self.node("Cast", data, to=onnx.helper.np_dtype_to_tensor_dtype(wanted))

    def _tensor(self, name: str) -> Tensor:
        info, constant = self._scope.find(name), self._scope.constant(name)
        return Tensor(name, info.dtype, info.sizes, None if constant is None else constant())

    def _free(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name


def input_shape(info: TensorInfo) -> Shape:
    """A declared shape; ranges are open dims to ONNX."""
    return None if info.shape is None else tuple(dim if isinstance(dim, int) else None for dim in info.shape)


def rank_and_axis(data: Tensor, indices: Tensor, axis: int) -> tuple[int, int]:
    """The rank that data and indices must have, and the axis counted from the front."""
    rank = rank_of(data.shape, "data")
    if rank_of(indices.shape, "indices") != rank or not -rank <= axis < rank:
        raise ModelError(f"data of rank {rank}, indices of rank {indices.rank} and axis {axis} do not fit")
    return rank, axis % rank


def same_sizes(a: Tensor, b: Tensor, axes: Sequence[int]) -> bool:
    """Whether these sizes are known to be the same."""
    assert a.shape is not None
    assert b.shape is not None
    return all(a.shape[axis] is not None and a.shape[axis] == b.shape[axis] for axis in axes)


def transposed(b: OnnxBuilder, tensor: Tensor, perm: list[int]) -> Tensor:
    """With the axes in this order."""
    return tensor if perm == sorted(perm) else b.node("Transpose", tensor, perm=perm)
