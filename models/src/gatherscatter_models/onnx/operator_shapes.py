"""The shapes and small values of an operator's outputs, from the package onnx-shape-inference.

The package gets one node at a time, with small constants only. Its result is reduced to sizes, names that the inputs
have, and integers. Therefore, expressions do not grow from node to node, names in a file are not parsed, and the cost
does not depend on the sizes that a model declares.

``onnx.shape_inference`` is not used, because it aborts the process on some malformed models and allocates arrays of
declared sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx_ir as ir
import onnx_shape_inference as library  # type: ignore[import-untyped]

from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.graph import one_line
from gatherscatter_models.onnx.tensors import MAX_RANK
from gatherscatter_models.onnx.value_info import MAX_VALUES, Dim, Shape, ValueInfo, Values, small_values

library.registry.collect()

Inputs = Sequence[ValueInfo | None]
Attributes = Mapping[str, onnx.AttributeProto]

_NAME = "size_"  # before the number of a name
_BODIES = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
_LARGEST_ATTRIBUTE = 4096  # bytes
_MOST_VALUES, _MOST_DIMS = 1024, 4096  # of a node: a few bytes of a file can name a value of high rank again and again
_FLAGS = ("allowzero", "ceil_mode", "keepdims", "noop_with_empty_axes")  # attributes that must be 0 or 1


def infer_shapes(
    op_type: str, opset: int, inputs: Inputs, attributes: Attributes, outputs: int, names_left: list[int]
) -> list[ValueInfo]:
    """Return the shapes, and small values of integers, of the outputs of an operator of ONNX, or an empty list.

    Parameters
    ----------
    inputs : the facts about the inputs; None for an input that is omitted
    attributes : the attributes by name, all of them known
    outputs : the number of outputs
    names_left : the number of names in nodes that the library may still be asked about; it is reduced

    Raises
    ------
    ModelError
        The operator would refuse the inputs.
    """
    if len(inputs) + outputs > _MOST_VALUES or sum(len(info.shape or ()) for info in inputs if info) > _MOST_DIMS:
        return []
    if op_type in _OWN_SHAPES:
        made = _OWN_SHAPES[op_type](inputs, attributes, outputs)
        if made is not None:
            return made
    if _is_not_trusted(op_type, inputs, attributes):
        return []
    broadcasts = op_type in _BROADCASTS and opset >= 7  # older versions broadcast one input only
    made = []
    if not broadcasts or any(info and info.values for info in inputs):
        made = _ask_library(op_type, opset, inputs, attributes, outputs, names_left)
    if broadcasts:
        made = [(made or [ValueInfo()])[0]._replace(shape=_broadcast([info.shape for info in inputs if info]))]
    if op_type in _WINDOWS:
        made = [_forget_windows(op_type, attributes, one) for one in made]
    if made and op_type in _OWN_VALUES:
        made[0] = made[0]._replace(values=_OWN_VALUES[op_type](inputs, made[0].shape))
    return made


def _is_not_trusted(op_type: str, inputs: Inputs, attributes: Attributes) -> bool:
    """Whether onnx-shape-inference 0.4 is wrong: conformance/findings/reports/onnx-shape-inference.txt says where."""
    return (
        op_type == "MelWeightMatrix"
        or (op_type == "Attention" and any(info is not None and info.shape is None for info in inputs))
        or (op_type == "NonZero" and bool(inputs) and inputs[0] is not None and not inputs[0].shape)
        or (op_type == "Reshape" and len(inputs) > 1 and _is_long(inputs[1]))  # it makes a name for each dim
        or (op_type == "Pad" and len(inputs) > 3 and inputs[3] is not None and inputs[3].values is None)
        or (op_type == "Unique" and "axis" in attributes)
        or (op_type == "Resize" and "keep_aspect_ratio_policy" in attributes)
        or any(name in attributes and attributes[name].i not in (0, 1) for name in _FLAGS)
    )


# --------------------------------------------------------------------------------------------------------- the library


class _Known(NamedTuple):
    """The facts about an input or output. Names of sizes are replaced by their numbers in the node, as texts."""

    elem_type: int
    shape: Shape
    values: Values
    other: bytes  # the type of a value that is not a tensor


def _ask_library(
    op_type: str, opset: int, inputs: Inputs, attributes: Attributes, outputs: int, names_left: list[int]
) -> list[ValueInfo]:
    """Return the facts that the library finds, or an empty list."""
    numbers: dict[str, str] = {}

    def number(dim: Dim) -> Dim:
        return numbers.setdefault(dim, str(len(numbers))) if isinstance(dim, str) else dim

    known: list[_Known | None] = []
    for info in inputs:
        if info is None:
            known.append(None)
            continue
        shape = None if info.shape is None else tuple(map(number, info.shape))
        other = b"" if info.other is None else info.other.SerializeToString(deterministic=True)
        known.append(_Known(info.elem_type, shape, info.values, other))
    given = []
    for name, attribute in attributes.items():
        if attribute.type in _BODIES or attribute.ByteSize() > _LARGEST_ATTRIBUTE:
            return []
        named = onnx.AttributeProto()
        named.CopyFrom(attribute)
        named.name = name  # the attribute of a function can have another name
        given.append(named.SerializeToString(deterministic=True))
    if names_left[0] < 0:
        return []
    misses = _infer_with_library.cache_info().misses
    made = _infer_with_library(op_type, opset, tuple(known), tuple(given), outputs)
    if _infer_with_library.cache_info().misses > misses:  # the library computes with expressions of names
        unknown = (dim for one in known if one is not None for dim in one.shape or () if not isinstance(dim, int))
        names_left[0] -= 1 + sum(1 for _ in unknown)
    if isinstance(made, str):
        raise ModelError(made)
    names: dict[Dim, str] = {text: name for name, text in numbers.items()}

    def name_dims(shape: Shape) -> Shape:
        return None if shape is None else tuple(names[dim] if isinstance(dim, str) else dim for dim in shape)

    return [ValueInfo(one.elem_type, name_dims(one.shape), one.values) for one in made]


@lru_cache(maxsize=8192)  # models repeat their layers
def _infer_with_library(
    op_type: str, opset: int, inputs: tuple[_Known | None, ...], attributes: tuple[bytes, ...], outputs: int
) -> list[_Known] | str:
    """Return the facts about the outputs, or the reason why the operator refuses the inputs."""
    rule = library.registry.get("", op_type, opset)
    if rule is None:
        return []
    context = library.ShapeInferenceContext({"": opset}, policy="override")
    try:
        values = [None if known is None else _make_value(context, known) for known in inputs]
        parsed = [ir.from_proto(onnx.AttributeProto.FromString(text)) for text in attributes]
        node = ir.Node("", op_type, values, parsed, num_outputs=outputs, version=opset)
        rule(context, node)
    except (library.OpUsageError, library.ShapeInferenceError) as error:
        return one_line(error)
    except Exception:  # a fault of the library, or a node that it does not expect
        return []
    dims = (dim for known in inputs if known is not None for dim in known.shape or ())
    names = {f"{_NAME}{dim}": dim for dim in dims if isinstance(dim, str)}
    return [_read_value(context, value, names) for value in node.outputs]


def _make_value(context: library.ShapeInferenceContext, known: _Known) -> ir.Value:
    value = ir.Value(name="")
    if known.other:
        made = ir.serde.deserialize_type_proto_for_type(onnx.TypeProto.FromString(known.other))
        if made is not None:
            value.type = made
    elif known.elem_type:
        value.dtype = ir.DataType(known.elem_type)
    if known.shape is None:
        return value
    value.shape = ir.Shape(_make_dims(context, known.shape))
    sizes = [dim for dim in known.shape if isinstance(dim, int)]
    if known.values is not None and len(sizes) == len(known.shape):
        elements = [element for element in known.values if element is not None]
        if len(elements) == len(known.values):
            array = np.array(elements, onnx.helper.tensor_dtype_to_np_dtype(known.elem_type)).reshape(sizes)
            value.const_value = ir.tensor(array)
        elif len(sizes) < 2:
            context.set_symbolic_value(value, _make_dims(context, known.values))
    return value


def _make_dims(context: library.ShapeInferenceContext, dims: Sequence[Dim]) -> list[int | ir.SymbolicDim]:
    return [
        dim if isinstance(dim, int) else context.new_symbolic_dim() if dim is None else ir.SymbolicDim(f"{_NAME}{dim}")
        for dim in dims
    ]


def _read_value(context: library.ShapeInferenceContext, value: ir.Value, names: Mapping[str, str]) -> _Known:
    """Return what the library has found, without expressions of names."""
    shape, elements = value.shape, context.get_symbolic_value(value)
    if elements is not None and len(elements) > MAX_VALUES:
        elements = None
    return _Known(
        0 if value.dtype is None else int(value.dtype),
        None if shape is None else tuple(dim if isinstance(dim, int) else names.get(dim.value or "") for dim in shape),
        None if elements is None else tuple(each if isinstance(each, int) else None for each in elements),
        b"",
    )


# ----------------------------------------------------------------------------------------------- what the library lacks

_BROADCASTS = frozenset(
    (
        *("Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater"),
        *("GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "PRelu", "Pow", "Sub"),
        *("StringConcat", "Sum", "Where", "Xor"),
    )
)


def _broadcast(shapes: Sequence[Shape]) -> Shape:
    """Return the shape to which shapes are broadcast. The library takes one of two sizes with different names.

    >>> _broadcast([(3, 1), ("n",), (None, 2)])
    (3, 2)
    >>> _broadcast([("n", 3), ("m", 3)])
    (None, 3)
    """
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or not known:
        return None
    rank = max(map(len, known))
    dims: list[Dim] = []
    for column in zip(*((1,) * (rank - len(shape)) + shape for shape in known), strict=True):
        others = {dim for dim in column if dim != 1}
        sizes = {dim for dim in others if isinstance(dim, int)}
        if len(sizes) > 1:
            raise ModelError(f"shapes {', '.join(str(list(shape)) for shape in known)} can't be broadcast")
        dims.append(sizes.pop() if sizes else others.pop() if len(others) == 1 else None if others else 1)
    return tuple(dims)


_WINDOWS = frozenset(("AveragePool", "Conv", "ConvInteger", "ConvTranspose", "LpPool", "MaxPool", "QLinearConv"))


def _forget_windows(op_type: str, attributes: Attributes, info: ValueInfo) -> ValueInfo:
    """Drop numbers of windows about which runtimes differ: kernels larger than data, windows that begin in padding."""
    padding = attributes["auto_pad"].s if op_type == "ConvTranspose" and "auto_pad" in attributes else b"VALID"
    unsure = ("ceil_mode" in attributes and attributes["ceil_mode"].i != 0) or padding not in (b"NOTSET", b"VALID")
    if info.shape is None:
        return info
    known = [None if unsure or (isinstance(dim, int) and dim < 1) else dim for dim in info.shape[2:]]
    return info._replace(shape=(*info.shape[:2], *known))


def _infer_compress(inputs: Inputs, attributes: Attributes, outputs: int) -> list[ValueInfo] | None:
    """The library counts conditions after the end of the axis, and ignores the axis of data of unknown rank."""
    shape = inputs[0].shape if inputs and inputs[0] is not None else None
    if "axis" not in attributes:
        return [ValueInfo(0, (None,))]
    if shape is None:
        return []
    axis = attributes["axis"].i
    if not -len(shape) <= axis < len(shape):
        raise ModelError(f"axis {axis} is out of range for rank {len(shape)}")
    axis %= len(shape)
    return [ValueInfo(0, (*shape[:axis], None, *shape[axis + 1 :]))]


def _infer_expand(inputs: Inputs, attributes: Attributes, outputs: int) -> list[ValueInfo] | None:
    """The library ignores that data may have a larger rank or a larger size."""
    data, wanted = (info.shape if info is not None else None for info in [*inputs, None, None][:2])
    values = inputs[1].values if len(inputs) > 1 and inputs[1] is not None else None
    if data is None or wanted is None or len(wanted) != 1 or not isinstance(wanted[0], int) or wanted[0] > MAX_RANK:
        return []
    dims: tuple[int | None, ...] = (None,) * wanted[0] if values is None else values
    if any(dim is not None and dim < 0 for dim in dims):
        raise ModelError(f"shape {list(dims)} has a negative size")
    return [ValueInfo(0, _broadcast([data, dims]))]


def _is_long(info: ValueInfo | None) -> bool:
    """Whether a value is a vector that is declared to have very many elements."""
    shape = None if info is None else info.shape
    return shape is not None and len(shape) == 1 and isinstance(shape[0], int) and shape[0] > MAX_VALUES


def _infer_concat(inputs: Inputs, attributes: Attributes, outputs: int) -> list[ValueInfo] | None:
    """The library makes a name for each element of a vector."""
    if not any(map(_is_long, inputs)):
        return None
    shapes = [None if info is None else info.shape for info in inputs]
    sizes = [shape[0] for shape in shapes if shape is not None and len(shape) == 1]
    known = [size for size in sizes if isinstance(size, int)]
    if len(sizes) < len([shape for shape in shapes if shape is not None]):
        raise ModelError("ranks differ")
    return [ValueInfo(0, (sum(known) if len(known) == len(inputs) else None,))]


def _infer_constant_of_shape(inputs: Inputs, attributes: Attributes, outputs: int) -> list[ValueInfo] | None:
    """The library needs all sizes."""
    sizes = inputs[0].values if inputs and inputs[0] is not None else None
    if sizes is None:
        return None
    whole = sizes[0] if len(sizes) == 1 else None
    value: Values = small_values(attributes["value"].t) if "value" in attributes else (0,)
    few = whole is not None and 0 <= whole <= MAX_VALUES and value is not None and len(value) == 1
    return [ValueInfo(0, tuple(sizes), value * whole if few and value is not None and whole is not None else None)]


def _infer_split(inputs: Inputs, attributes: Attributes, outputs: int) -> list[ValueInfo] | None:
    """The library ignores parts that are an input, and a wrong number of parts."""
    if "num_outputs" in attributes and attributes["num_outputs"].i != outputs:
        raise ModelError(f"num_outputs is {attributes['num_outputs'].i}, but the node has {outputs} outputs")
    if len(inputs) < 2 or inputs[0] is None or inputs[1] is None:
        return None
    shape, parts = inputs[0].shape, inputs[1].values
    axis = attributes["axis"].i if "axis" in attributes else 0
    if shape is None:
        return []
    if not -len(shape) <= axis < len(shape):
        raise ModelError(f"axis {axis} is out of range for rank {len(shape)}")
    if parts is not None and len(parts) != outputs:
        raise ModelError(f"there are {len(parts)} parts, but the node has {outputs} outputs")
    axis %= len(shape)
    return [ValueInfo(0, (*shape[:axis], part, *shape[axis + 1 :])) for part in parts or [None] * outputs]


class _UnknownError(Exception):
    """The numbers in an input are not known."""


def _infer_slice(inputs: Inputs, attributes: Attributes, outputs: int) -> list[ValueInfo] | None:
    """The library assumes that bounds are within axes of unknown size, and that unknown axes are the first ones."""
    shape = inputs[0].shape if inputs and inputs[0] is not None else None
    if shape is None:
        return []
    axes: tuple[int, ...] | None = None
    try:
        axes = _read_numbers(inputs, attributes, 3, "axes")
        starts, ends = (_read_numbers(inputs, attributes, n, name) or () for n, name in ((1, "starts"), (2, "ends")))
        steps = _read_numbers(inputs, attributes, 4, "steps") or (1,) * len(starts)
    except _UnknownError:
        sliced = range(len(shape)) if axes is None else _positive_axes(axes, len(shape))
        return [ValueInfo(0, tuple(None if number in sliced else dim for number, dim in enumerate(shape)))]
    numbers = _positive_axes(range(len(starts)) if axes is None else axes, len(shape))
    if not len(starts) == len(ends) == len(numbers) == len(steps) or 0 in steps:
        raise ModelError(f"starts {starts}, ends {ends}, axes {axes} and steps {steps} do not fit")
    dims, values = list(shape), inputs[0].values if len(shape) == 1 and inputs[0] is not None else None
    for number, start, end, step in zip(numbers, starts, ends, steps, strict=True):
        size = shape[number]
        taken = _clamp_slice(start, end, step, size) if isinstance(size, int) else None
        values = None if values is None or taken is None else values[taken]
        if isinstance(size, int):
            dims[number] = None if taken is None else len(range(size)[taken])
        elif (start, end, step) != (0, 2**63 - 1, 1):
            dims[number] = None
    return [ValueInfo(0, tuple(dims), values)]


def _infer_squeeze(inputs: Inputs, attributes: Attributes, outputs: int) -> list[ValueInfo] | None:
    """The library is wrong about negative axes, and removes all sizes of 1 if the axes are unknown."""
    data = inputs[0] if inputs else None
    if data is None or data.shape is None:
        return []
    shape = data.shape
    try:
        axes = _read_numbers(inputs, attributes, 1, "axes")
    except _UnknownError:
        return []
    if axes is None:
        if not all(isinstance(dim, int) for dim in shape):
            return []
        return [ValueInfo(0, tuple(dim for dim in shape if dim != 1), data.values)]
    numbers = _positive_axes(axes, len(shape))
    if any(isinstance(dim, int) and dim != 1 for number, dim in enumerate(shape) if number in numbers):
        raise ModelError(f"axes {list(axes)} of shape {list(shape)} can't be removed")
    return [ValueInfo(0, tuple(dim for number, dim in enumerate(shape) if number not in numbers), data.values)]


def _positive_axes(axes: Sequence[int], rank: int) -> list[int]:
    """Return axes without negative ones."""
    numbers = [axis + rank if axis < 0 else axis for axis in axes]
    if len(set(numbers)) < len(numbers) or not all(0 <= number < rank for number in numbers):
        raise ModelError(f"axes {list(axes)} do not fit rank {rank}")
    return numbers


def _read_numbers(inputs: Inputs, attributes: Attributes, position: int, name: str) -> tuple[int, ...] | None:
    """Return the numbers in an input, or in an attribute of older versions; None if the node has neither.

    Raises
    ------
    _UnknownError
        The numbers are not known.
    """
    given = inputs[position] if len(inputs) > position else None
    if given is None:
        return tuple(attributes[name].ints) if name in attributes else None
    known = tuple(number for number in given.values or () if number is not None)
    if given.values is None or len(known) < len(given.values):
        raise _UnknownError
    return known


def _clamp_slice(start: int, end: int, step: int, size: int) -> slice | None:
    """Clamp a slice as the specification says: add the size to negative positions once, then clamp all to the axis."""
    if step < 0 and end == 2**63 - 1:
        return None  # implementations differ
    start += size if start < 0 else 0
    end += size if end < 0 else 0
    if step > 0:
        return slice(min(max(start, 0), size), min(max(end, 0), size), step)
    if start < 0 and size:
        return None  # implementations differ
    start, end = min(start, size - 1), min(max(end, -1), size - 1)
    return slice(start, None if end < 0 else end, step) if size else slice(0, 0)


_OWN_SHAPES: dict[str, Callable[[Inputs, Attributes, int], list[ValueInfo] | None]] = {
    "Compress": _infer_compress,
    "Concat": _infer_concat,
    "ConstantOfShape": _infer_constant_of_shape,
    "Expand": _infer_expand,
    "Slice": _infer_slice,
    "Split": _infer_split,
    "Squeeze": _infer_squeeze,
}


def _elements(info: ValueInfo | None, count: int) -> Sequence[int | None]:
    """Return this number of elements of an input: a vector of this length, or one element for all."""
    known = None if info is None or info.shape is None or len(info.shape) > 1 else info.values
    if known is None or len(known) not in (1, count):
        return [None] * count
    return known if len(known) == count else known * count


def _elementwise(function: Callable[..., int | None]) -> Callable[[Inputs, Shape], Values]:
    """Return a rule for an element-wise operator on vectors and scalars."""

    def infer(inputs: Inputs, shape: Shape) -> Values:
        if shape is None or len(shape) > 1 or not all(isinstance(dim, int) and dim <= MAX_VALUES for dim in shape):
            return None
        count = math.prod(dim for dim in shape if isinstance(dim, int))
        return tuple(function(*row) for row in zip(*(_elements(info, count) for info in inputs), strict=True))

    return infer


def _is_equal(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else int(one == other)


def _choose(condition: int | None, one: int | None, other: int | None) -> int | None:
    return (one if one == other else None) if condition is None else (one if condition else other)


def _infer_range(inputs: Inputs, shape: Shape) -> Values:
    known = [info.values[0] for info in inputs if info is not None and info.values]
    numbers = [number for number in known if number is not None]
    if len(numbers) != 3 or not numbers[2]:
        return None
    start, limit, delta = numbers
    few = -(-(limit - start) // delta) <= MAX_VALUES
    return tuple(range(start, limit, delta)) if few else None


def _infer_product(inputs: Inputs, shape: Shape) -> Values:
    data = inputs[0] if inputs else None
    known = None if data is None or data.shape is None or len(data.shape) != 1 else data.values
    elements: list[Any] = [element for element in known or () if element is not None]
    if known is None or len(elements) != len(known) or shape not in ((), (1,)):
        return None
    return (math.prod(elements),)


_OWN_VALUES: dict[str, Callable[[Inputs, Shape], Values]] = {
    "Equal": _elementwise(_is_equal),
    "Range": _infer_range,
    "ReduceProd": _infer_product,
    "Where": _elementwise(_choose),
}
