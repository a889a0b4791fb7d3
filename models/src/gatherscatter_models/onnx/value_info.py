"""The facts about a value of an ONNX model that are known before it runs: type, shape, and small constants."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import onnx

from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.tensors import MAX_RANK, is_external, to_array, type_name

Dim = int | str | None  # a size, the name of one, or unknown
Shape = tuple[Dim, ...] | None
Values = tuple[int | None, ...] | None  # in row-major order

MAX_VALUES = 64  # elements of a tensor whose values may be a shape or axes

_T = onnx.TensorProto
INTEGERS: dict[int, range] = {
    kind: range(int(info.min), int(info.max) + 1)
    for kind in (_T.INT8, _T.INT16, _T.INT32, _T.INT64, _T.UINT8, _T.UINT16, _T.UINT32, _T.UINT64)
    if (info := np.iinfo(onnx.helper.tensor_dtype_to_np_dtype(kind)))
}
TYPE_TEXTS = {number: f"tensor({name.lower()})" for name, number in _T.DataType.items() if number}


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


def read_declared(type_proto: onnx.TypeProto) -> ValueInfo:
    """Return the facts that a model declares about a value."""
    kind = type_proto.WhichOneof("value")
    if kind is None:
        return UNKNOWN
    if kind != "tensor_type":
        return ValueInfo(other=type_proto)
    tensor = type_proto.tensor_type
    if not known_type(tensor.elem_type):
        return UNKNOWN
    dims = tensor.shape.dim
    ranked = tensor.HasField("shape") and len(dims) <= MAX_RANK
    return ValueInfo(tensor.elem_type, tuple(map(declared_dim, dims)) if ranked else None)


def known_type(elem_type: int) -> int:
    return elem_type if elem_type in TYPE_TEXTS else 0


def declared_dim(dim: onnx.TensorShapeProto.Dimension) -> Dim:
    """Return a size, its name, or None. A negative size counts as unknown."""
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return dim.dim_param or None


def info_of_tensor(tensor: onnx.TensorProto) -> ValueInfo:
    """Return the facts about a tensor of the model."""
    legal = len(tensor.dims) <= MAX_RANK and all(dim >= 0 for dim in tensor.dims)
    return ValueInfo(known_type(tensor.data_type), tuple(tensor.dims) if legal else None, small_values(tensor))


def info_of_array(array: np.ndarray) -> ValueInfo:
    """Return the facts about an array."""
    small = array.size <= MAX_VALUES and array.dtype.kind in "iub"
    values = tuple(int(value) for value in array.flat) if small else None
    return ValueInfo(onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, values)


def small_values(tensor: onnx.TensorProto) -> Values:
    whole = tensor.data_type in INTEGERS or tensor.data_type == _T.BOOL
    if not whole or is_external(tensor) or len(tensor.dims) > 1 or tensor.ByteSize() > 32 * MAX_VALUES:
        return None
    try:
        array = to_array(tensor, "a constant")
    except (ModelError, ValueError, TypeError):  # a damaged tensor
        return None
    return info_of_array(array).values


def read_constant(node: onnx.NodeProto) -> np.ndarray:
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
