"""What is known of the tensors of an ONNX graph before it runs: types, shapes, and values of constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gatherscatter import versions
from gatherscatter.model_interface import ModelError
from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.labels import one_line
from gatherscatter.onnx.tensors import from_array

from ..result_shapes import result_shape
from .mapping import Shape

_MOST_ELEMENTS = 64  # of a constant that may be a shape, axes or the like


class Known:
    """Filled while a graph is walked, or built, in its order."""

    def __init__(self, opset: int) -> None:
        self._opset = onnx.helper.make_opsetid("", opset)
        self._types: dict[str, onnx.TypeProto] = {}
        self._values: dict[str, np.ndarray] = {}

    def tensor(self, name: str, dtype: np.dtype[Any], shape: Sequence[int | str | None] | None) -> onnx.TypeProto:
        """Note a tensor of this type."""
        kind = onnx.helper.np_dtype_to_tensor_dtype(dtype)
        self._types[name] = onnx.helper.make_tensor_type_proto(kind, shape)
        return self._types[name]

    def constant(self, name: str, value: np.ndarray) -> None:
        """Note a constant."""
        self.tensor(name, value.dtype, value.shape)
        self._values[name] = value

    def declared(self, value: onnx.ValueInfoProto) -> None:
        """Note what a graph declares."""
        self._types[value.name] = value.type

    def node(self, node: onnx.NodeProto) -> None:
        """Note the outputs of a node, as the schema of its operator infers them, and our rows do."""
        try:
            row = versions.find("onnx", node.op_type, self._opset.version)
        except LookupError:
            self._infer(node)
            return
        given = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        attributes = {one.name: given.get(one.name, one.default) for one in row.attributes}
        shape = result_shape(row, [self.shape(name) for name in node.input if name], attributes, attributes.get("axis"))
        self.tensor(node.output[0], self.dtype(node.input[0]), shape)

    def _infer(self, node: onnx.NodeProto) -> None:
        schema = onnx.defs.get_schema(node.op_type, self._opset.version, "")
        names = [name for name in node.input if name]
        data = {
            name: from_array(self._values[name], name)
            for name in names
            if name in self._values and self._values[name].size <= _MOST_ELEMENTS
        }
        try:
            made = onnx.shape_inference.infer_node_outputs(
                schema, node, {name: self._types[name] for name in names}, data, opset_imports=[self._opset]
            )
        except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError) as error:
            raise ModelError(one_line(error)) from None
        self._types.update(made)

    def dtype(self, name: str) -> np.dtype[Any]:
        """The NumPy type; objects for strings."""
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(self._types[name].tensor_type.elem_type))

    def shape(self, name: str) -> Shape:
        """Sizes, None where unknown; None for an unknown rank."""
        tensor = self._types[name].tensor_type
        if not tensor.HasField("shape"):
            return None
        return tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim)

    def value(self, name: str) -> np.ndarray | None:
        """The value of a constant."""
        return self._values.get(name)
