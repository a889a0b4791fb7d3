"""A node being rewritten, with the nodes added before and after it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from gatherscatter.arrays.tensor_files import to_tensor_proto
from gatherscatter_models.findings.nodes import Operand, Site
from gatherscatter_models.findings.verdicts import Record
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.builder import BuiltTensor, FreeNames, OnnxBuilder
from gatherscatter_models.onnx.scopes import Scope
from gatherscatter_models.onnx.tensors import number_of_type
from gatherscatter_models.onnx.value_info import UNKNOWN

OLDEST = 11  # the oldest opset with all operators that rewritings insert


class UnfixableError(Exception):
    """A rewriting is not possible at this node. The text gives the reason."""


class DraftTensor(BuiltTensor):
    """A tensor that raises UnfixableError where its type or rank is unknown."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type."""
        if not self.info.elem_type:
            raise UnfixableError(f"the element type of {self.name!r} is unknown; give inputs")
        return self.info.dtype

    @property
    def rank(self) -> int:
        """Number of dims."""
        if self.info.shape is None:
            raise UnfixableError(f"the rank of {self.name!r} is unknown")
        return len(self.info.shape)


class ModelDraft(OnnxBuilder):
    """A node that rewritings change.

    They change ``op_type``, ``inputs`` and ``attributes``, add nodes before it, and wrap its result. Constants are
    nodes, because a function has no initializers.
    """

    def __init__(self, site: Site, told: Record, seen: Record | None, free: FreeNames, body: Scope) -> None:
        if body.opset < OLDEST:
            raise UnfixableError(f"opset {body.opset} is too old; the rewriting needs opset {OLDEST} or newer")
        for wanted in site.row.inputs:
            if not wanted.optional and site.operand(wanted.name) is None:
                raise UnfixableError(f"its input {wanted.name!r} is missing")
        super().__init__(Scope(body.opset, outer=body, names_left=body.names_left), free)
        self.site = site
        self.told = told
        self.op_type = site.row.op_type
        self.attributes = dict(site.attributes)
        self.reduction = site.reduction
        self.unique = told.counts["repeated"] == 0  # whether no two indices are known to name the same element
        self.settled: set[str] = set()  # conditions that the rewriting excludes or makes harmless
        self.main = onnx.NodeProto()  # the node that replaces this one, set by `finish`
        self._after: list[Callable[[BuiltTensor], BuiltTensor]] = []
        self.inputs = {operand.role: self._input(operand, seen) for operand in filter(None, site.operands)}

    def _input(self, operand: Operand, seen: Record | None) -> BuiltTensor:
        is_index = operand.role in ("indices", "write_indices")
        value = self.scope.value(operand.tensor) if is_index else None
        info, name = self.scope.find(operand.tensor), seen and seen.types.get(operand.role)
        if not info.elem_type and name:
            info = self.scope.infos[operand.tensor] = info._replace(elem_type=number_of_type(name))
        return BuiltTensor(operand.tensor, info, value)

    def tensor(self, role: str) -> DraftTensor:
        """Return an input of the node, with the changes made so far."""
        return DraftTensor(*self.inputs[role])

    @property
    def data(self) -> DraftTensor:
        return self.tensor(self.site.row.inputs[0].name)

    @property
    def indices(self) -> DraftTensor:
        return self.tensor("indices")

    def replace_indices(self, tensor: BuiltTensor) -> None:
        """Replace the indices with others that have no negative values."""
        self.inputs["indices"] = tensor._replace(info=tensor.info._replace(is_size=True))

    @property
    def axis(self) -> int:
        """The axis counted from the front."""
        if "axis" not in self.attributes:
            raise UnfixableError("its axis is an attribute that the caller of a function gives")
        return int(self.attributes["axis"]) % self.data.rank

    @property
    def k(self) -> int:
        """The length of index tuples."""
        shape = self.indices.shape
        if not shape or shape[-1] is None:
            raise UnfixableError("the length of its index tuples is unknown")
        return shape[-1]

    def _add_constant(self, array: NDArray[Any]) -> str:
        name = self._free(self._wanted_name("Constant"))
        self.made.append(onnx.helper.make_node("Constant", [], [name], name, value=to_tensor_proto(array, "")))
        return name

    def _wanted_name(self, op_type: str) -> str:
        return f"{self.site.name or self.op_type}_{op_type}"

    def _infer(self, node: onnx.NodeProto) -> None:
        """Infer the outputs. They stay unknown if the operator refuses the inputs: then both models must fail."""
        try:
            super()._infer(node)
        except ModelError:
            self.scope.infos.update(dict.fromkeys(node.output, UNKNOWN))

    def matrix(self, tensor: DraftTensor, axis: int) -> BuiltTensor:
        """Merge the axes before ``axis`` into one, and the others into a second one.

        The reference evaluator's Flatten fails on empty tensors, so this uses Reshape.
        """
        if tensor.rank == 2 and axis == 1:
            return tensor
        return self.reshape(tensor, self.products((tensor, 0, axis), (tensor, axis, tensor.rank)))

    def products(self, *parts: tuple[BuiltTensor, int, int]) -> BuiltTensor:
        """Return, for each part, the product of the sizes of some axes; a constant if all are known."""
        known = [(tensor.shape or ())[start:end] for tensor, start, end in parts]
        if all(None not in dims for dims in known):
            return self.constant([math.prod(dim for dim in dims if dim is not None) for dims in known])
        return self.node("Concat", *(self.product(*part) for part in parts), axis=0)

    def product(self, tensor: BuiltTensor, start: int, end: int) -> BuiltTensor:
        """Return the product of the sizes of some axes, with shape (1,)."""
        dims = (tensor.shape or ())[start:end]
        if None not in dims:
            return self.constant([math.prod(dim for dim in dims if dim is not None)])
        part = self.node("Slice", self.node("Shape", tensor), self.constant([start]), self.constant([end]))
        if self.scope.opset < 18:
            return self.node("ReduceProd", part, axes=[0], keepdims=1)
        return self.node("ReduceProd", part, self.constant([0]), keepdims=1)

    def reshape(self, tensor: BuiltTensor, shape: BuiltTensor) -> BuiltTensor:
        """Reshape a tensor. A 0 in ``shape`` means size 0."""
        if self.scope.opset >= 14:
            return self.node("Reshape", tensor, shape, allowzero=1)
        if shape.value is None or not np.all(shape.value):
            # A zero means the size of the same axis here. So an empty tensor first gets zeros at these axes.
            if not shape.shape or shape.shape[0] is None:
                raise UnfixableError(f"the rank after reshaping {tensor.name!r} is unknown")
            column = self.node("Reshape", tensor, self.constant([-1] + [1] * (shape.shape[0] - 1)))
            tensor = self.node("Expand", column, self.node("Sign", shape))
        return self.node("Reshape", tensor, shape)

    def wrap(self, step: Callable[[BuiltTensor], BuiltTensor]) -> None:
        """Add a step after the node. It runs before the steps that were added earlier."""
        self._after.insert(0, step)

    def finish(self, original: onnx.NodeProto) -> list[onnx.NodeProto]:
        """Return the nodes that replace the original one."""
        defaults = {known.name: known.default for known in self.site.row.attributes if known.name != "axis"}
        kept = {name: value for name, value in self.attributes.items() if defaults.get(name) != value}
        result = self.node(self.op_type, *self.inputs.values(), **kept)
        self.main = self.made[-1]
        self.main.domain = original.domain
        self.main.name = original.name or result.name
        self.main.attribute.extend(each for each in original.attribute if each.ref_attr_name)
        for step in self._after:
            result = step(result)
        self.made[-1].output[0] = original.output[0]
        return self.made
