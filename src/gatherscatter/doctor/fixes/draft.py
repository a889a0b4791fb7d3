"""A node being rewritten: what goes before it, itself, and what comes after."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.tensors import from_array

from ..record import Record
from ..sites import Dims, Site

OLDEST = 11  # of the opsets that have what rewritings are made of


class UnfixableError(Exception):
    """A rewriting that is not possible at this node; the text says why."""


@dataclass(frozen=True)
class Tensor:
    """An input of the node as it stands: its name and what is known of it."""

    name: str
    element_type: str | None
    shape: Dims
    value: np.ndarray | None = None
    nonnegative: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type, where what is to be inserted depends on it."""
        if self.element_type is None:
            raise UnfixableError(f"the element type of {self.name!r} is not known: give inputs")
        return np.dtype(object if self.element_type == "string" else self.element_type)

    @property
    def rank(self) -> int:
        """The rank, where what is to be inserted depends on it."""
        if self.shape is None:
            raise UnfixableError(f"the rank of {self.name!r} is not known")
        return len(self.shape)


class Draft:
    """Rewritings change ``op_type``, ``inputs`` and ``attributes``, add nodes before, and wrap what comes after."""

    def __init__(self, site: Site, told: Record, seen: Record | None, free: Callable[[str], str], opset: int) -> None:
        if opset < OLDEST:
            raise UnfixableError(f"opset {opset} is too old; {OLDEST} is needed")
        for wanted in site.row.inputs:
            if not wanted.optional and site.operand(wanted.name) is None:
                raise UnfixableError(f"its input {wanted.name!r} is missing")
        self.site = site
        self.told = told
        self.op_type = site.row.op_type
        self.attributes = dict(site.attributes)
        self.reduction = site.reduction
        self.unique = told.counts["repeated"] == 0  # whether it is known that no two indices name one place
        self.opset = opset
        self.nodes: list[onnx.NodeProto] = []
        self.settled: set[str] = set()  # conditions that can't be any more, or do no harm now, as it is made
        self.main = onnx.NodeProto()  # what becomes of the node itself, once it is finished
        self._free = free
        self._after: list[Callable[[str], str]] = []
        self.inputs: dict[str, Tensor] = {}
        for operand in filter(None, site.operands):
            kind = operand.element_type or (seen and seen.types.get(operand.role)) or None
            value = operand.constant() if operand.constant is not None and _is_index(operand.role) else None
            known = operand.is_size or (value is not None and bool(np.all(value >= 0)))
            self.inputs[operand.role] = Tensor(operand.tensor, kind, operand.shape, value, known)

    @property
    def data(self) -> Tensor:
        return self.inputs[self.site.row.inputs[0].name]

    @property
    def indices(self) -> Tensor:
        return self.inputs["indices"]

    @property
    def axis(self) -> int:
        """The axis counted from the front."""
        if "axis" not in self.attributes:
            raise UnfixableError("its axis is given by the caller of a function")
        return int(self.attributes["axis"]) % self.data.rank

    @property
    def k(self) -> int:
        """The length of index tuples."""
        shape = self.indices.shape
        if not shape or shape[-1] is None:
            raise UnfixableError("the length of its index tuples is not known")
        return shape[-1]

    def change(self, role: str, **facts: Any) -> None:
        """Replace an input."""
        self.inputs[role] = replace(self.inputs[role], **facts)

    def change_constant(self, role: str, value: np.ndarray) -> None:
        """Replace an input by a constant."""
        self.change(
            role,
            name=self.constant(value),
            shape=value.shape,
            value=value,
            nonnegative=value.dtype.kind in "iu" and bool(np.all(value >= 0)),
        )

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """A constant; arrays keep their type."""
        array = value if isinstance(value, np.ndarray) else np.array(value, dtype)
        return self.node("Constant", value=from_array(array, ""))

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """Add a node; the name of its output."""
        output = self._free(f"{self.site.name or self.op_type}_{op_type}")
        self.nodes.append(onnx.helper.make_node(op_type, inputs, [output], output, **attributes))
        return output

    def cast(self, name: str, dtype: Any) -> str:
        """In another type."""
        return self.node("Cast", name, to=onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def sizes(self, tensor: Tensor, axes: Sequence[int] | int, dtype: Any = np.int64) -> str:
        """Sizes of a tensor along axes, or along one as a scalar; a constant where they are known."""
        at = np.array(axes, np.int64)
        if tensor.shape is not None:
            known = [tensor.shape[axis] for axis in np.ravel(at)]
            if None not in known:
                return self.constant(np.array(known, dtype).reshape(at.shape))
        sizes = self.node("Gather", self.node("Shape", tensor.name), self.constant(at))
        return sizes if np.dtype(dtype) == np.int64 else self.cast(sizes, dtype)

    def matrix(self, tensor: Tensor, axis: int) -> str:
        """A tensor with two axes: those before ``axis`` as one, and the others. (Flatten is not for empty tensors: the
        reference evaluator has none of them.)"""
        if tensor.rank == 2 and axis == 1:
            return tensor.name
        return self.reshape(tensor.name, self.products((tensor, 0, axis), (tensor, axis, tensor.rank)))

    def products(self, *parts: tuple[Tensor, int, int]) -> str:
        """How many elements some axes have together, for each part; a constant where all are known."""
        known = [(tensor.shape or ())[start:end] for tensor, start, end in parts]
        if all(None not in dims for dims in known):
            return self.constant([math.prod(dim for dim in dims if dim is not None) for dims in known])
        return self.node("Concat", *(self.product(*part) for part in parts), axis=0)

    def product(self, tensor: Tensor, start: int, end: int) -> str:
        """How many elements some axes have together, as (1,)."""
        dims = (tensor.shape or ())[start:end]
        if None not in dims:
            return self.constant([math.prod(dim for dim in dims if dim is not None)])
        part = self.node("Slice", self.node("Shape", tensor.name), self.constant([start]), self.constant([end]))
        if self.opset < 18:
            return self.node("ReduceProd", part, axes=[0], keepdims=1)
        return self.node("ReduceProd", part, self.constant([0]), keepdims=1)

    def reshape(self, name: str, shape: str) -> str:
        """In another shape, whose zeros are zeros."""
        return self.node("Reshape", name, shape, **({"allowzero": 1} if self.opset >= 14 else {}))

    def wrap(self, step: Callable[[str], str]) -> None:
        """Do something with the result of the node as it stands, before all that is done with it already."""
        self._after.insert(0, step)

    def finish(self, original: onnx.NodeProto) -> list[onnx.NodeProto]:
        """The nodes in the stead of the original one."""
        defaults = {known.name: known.default for known in self.site.row.attributes if known.name != "axis"}
        kept = {name: value for name, value in self.attributes.items() if defaults.get(name) != value}
        result = self.node(self.op_type, *(tensor.name for tensor in self.inputs.values()), **kept)
        self.main = self.nodes[-1]
        self.main.name = original.name or result
        self.main.attribute.extend(each for each in original.attribute if each.ref_attr_name)
        for step in self._after:
            result = step(result)
        self.nodes[-1].output[0] = original.output[0]
        return self.nodes


def _is_index(role: str) -> bool:
    return role in ("indices", "write_indices")
