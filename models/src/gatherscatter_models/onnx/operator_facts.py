"""Infer the facts about the outputs of one operator from those about its inputs.

The types come from the schemas of ONNX, the shapes of gathers and scatters from the table of op versions, and all other
shapes from the package onnx-shape-inference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import onnx

from gatherscatter.operation import Kernel
from gatherscatter.specs import table
from gatherscatter.specs.own_operators import OWN_OPERATORS
from gatherscatter.specs.table import OpVersion, result_shape
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.graph import find_contributed, one_line
from gatherscatter_models.onnx.operator_shapes import infer_shapes
from gatherscatter_models.onnx.operator_types import infer_types
from gatherscatter_models.onnx.tensors import MAX_RANK
from gatherscatter_models.onnx.value_info import (
    INTEGERS,
    UNKNOWN,
    Shape,
    ValueInfo,
    Values,
)

_T = onnx.TensorProto
_LARGEST_DIM = 2**63 - 1

# Operators with sizes or positions as results, and those that move elements of their first input.
_SIZES = frozenset(("Shape", "Size", "NonZero", "ArgMax", "ArgMin"))
_MOVES = frozenset(("Identity", "Cast", "Gather", "Slice", "Squeeze", "Unsqueeze", "Reshape"))


def infer_operator(
    node: onnx.NodeProto,
    opset: int | None,
    inputs: Sequence[ValueInfo | None],
    attributes: Mapping[str, onnx.AttributeProto],
    unknown: frozenset[str],
    names_left: list[int],
) -> list[ValueInfo]:
    """Return the facts about the outputs of a node.

    Parameters
    ----------
    node : its domain is that of ONNX or of gatherscatter
    opset : None for an operator that only gatherscatter's domain has
    inputs : the facts about the inputs; None for an input that is omitted
    attributes : the attributes that are known, by name
    unknown : the names of attributes that the unknown caller of a function gives
    names_left : as in `infer_shapes`

    Raises
    ------
    ModelError
        The operator would refuse the inputs.
    """
    count, op_type = len(node.output), node.op_type
    try:
        given = {name: onnx.helper.get_attribute_value(attribute) for name, attribute in attributes.items()}
        if opset is None:
            types = [UNKNOWN] * count
            made = _infer_own_operator(op_type, inputs, given, unknown)
        else:
            types = infer_types(op_type, opset, inputs, given, unknown, count)
            row = _find_row(op_type, opset)
            own = None if row is None else _infer_gather_or_scatter(row, inputs, given, unknown)
            made = [] if unknown else infer_shapes(op_type, opset, inputs, attributes, count, names_left)
            if row is not None:
                made = [ValueInfo(0, own, made[0].values if made else None)]
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelError(one_line(error)) from None
    made = [*made[:count], *[UNKNOWN] * (count - len(made))]
    moved = op_type in _MOVES and bool(inputs) and inputs[0] is not None and inputs[0].is_size
    is_size = moved or op_type in _SIZES
    infos = []
    for kind, found in zip(types, made, strict=True):
        whole = kind if kind.is_known else kind._replace(elem_type=found.elem_type)
        infos.append(whole._replace(shape=_check_shape(found.shape), is_size=is_size))
    if infos and infos[0].elem_type in (*INTEGERS, _T.BOOL):
        infos[0] = infos[0]._replace(values=_fit_values(made[0].values, infos[0].elem_type, infos[0].shape))
    return infos


def _check_shape(shape: Shape) -> Shape:
    """Raise an error for a size that no array has. A rank that no array has becomes unknown."""
    if shape is not None and any(isinstance(dim, int) and not 0 <= dim <= _LARGEST_DIM for dim in shape):
        raise ModelError(f"the shape of its output would be {list(shape)}")
    return None if shape is None or len(shape) > MAX_RANK else shape


def _fit_values(values: Values, elem_type: int, shape: Shape) -> Values:
    """Convert elements to a type. Those that it can't hold become unknown. None if they do not fit the shape."""
    if values is None or shape is None:
        return None
    sizes = [dim for dim in shape if isinstance(dim, int)]
    if len(sizes) == len(shape) and math.prod(sizes) != len(values):
        return None
    if elem_type == _T.BOOL:
        return tuple(None if value is None else int(value != 0) for value in values)
    return tuple(value if value is not None and value in INTEGERS[elem_type] else None for value in values)


@lru_cache(maxsize=256)
def _find_row(op_type: str, opset: int) -> OpVersion | None:
    try:
        return table.find("onnx", op_type, opset)
    except LookupError:
        return None


def _infer_gather_or_scatter(
    row: OpVersion, inputs: Sequence[ValueInfo | None], attributes: Mapping[str, Any], unknown: frozenset[str]
) -> Shape:
    if unknown & {"axis", "batch_dims"} or len(inputs) < 2:
        return None
    numbers = {name: attributes.get(name, 0) for name in ("axis", "batch_dims")}
    if not all(isinstance(number, int) for number in numbers.values()):
        raise ValueError("axis and batch_dims must be integers")
    shapes = [None if info is None else info.shape for info in inputs]
    made = result_shape(row, shapes, numbers, numbers["axis"])
    return None if made is None else tuple(made)


def infer_contributed(
    node: onnx.NodeProto,
    inputs: Sequence[ValueInfo | None],
    attributes: Mapping[str, onnx.AttributeProto],
    unknown: frozenset[str],
) -> list[ValueInfo]:
    """Return the facts about the output of a node of a runtime's own domain.

    Raises
    ------
    ModelError
        The operator would refuse the inputs.
    """
    given = {name: onnx.helper.get_attribute_value(attribute) for name, attribute in attributes.items()}
    try:
        return [_infer_table(find_contributed(node), inputs, given, unknown)]
    except ValueError as error:
        raise ModelError(one_line(error)) from None


def _infer_table(
    row: OpVersion, inputs: Sequence[ValueInfo | None], attributes: Mapping[str, Any], unknown: frozenset[str]
) -> ValueInfo:
    """Return the facts about the output of a gather from a quantized table."""
    named = dict(zip((known.name for known in row.inputs), inputs, strict=False))
    typing, data = named.get(row.typing_input.name), inputs[0] if inputs else None
    numbers = {known.name: known.default for known in row.attributes if known.type == "int"}
    numbers |= {name: value for name, value in attributes.items() if name in numbers}
    is_known = not unknown & numbers.keys() and all(isinstance(value, int) for value in numbers.values())
    shapes = [None if info is None else info.shape for info in [*inputs, None, None][:2]]
    element = None if data is None else data.element_type
    shape = result_shape(row, shapes, numbers, None, element) if is_known else None
    elem_type = 0 if typing is None else typing.elem_type
    return ValueInfo(elem_type, _check_shape(None if shape is None else tuple(shape)))


def _infer_own_operator(
    op_type: str, inputs: Sequence[ValueInfo | None], attributes: Mapping[str, Any], unknown: frozenset[str]
) -> list[ValueInfo]:
    row = OWN_OPERATORS.get(op_type)
    if row is None:
        return []
    if row.kernel == Kernel.GATHER_QUANTIZED:
        return [_infer_table(row, inputs, attributes, unknown)]
    find = _infer_gather_reduce if op_type == "GatherReduce" else partial(_infer_gather_or_scatter, row)
    return [ValueInfo(inputs[0].elem_type if inputs and inputs[0] else 0, find(inputs, attributes, unknown))]


def _infer_gather_reduce(
    inputs: Sequence[ValueInfo | None], attributes: Mapping[str, Any], unknown: frozenset[str]
) -> Shape:
    """Bags come from ``offsets``, ``segment_ids``, or the last dimension of the indices."""
    data, indices, offsets, segment_ids, _, init = [*inputs, *[None] * 6][:6]
    bags: Shape
    if segment_ids is not None:
        count = attributes.get("num_segments", -1)
        known = isinstance(count, int) and count >= 0 and "num_segments" not in unknown
        bags = init.shape[:1] if init is not None and init.shape else (count if known else None,)
    elif offsets is not None:
        bags = offsets.shape
    elif indices is None or not indices.shape or "keepdims" in unknown:
        bags = None
    else:
        bags = (*indices.shape[:-1], *[1] * bool(attributes.get("keepdims", 0)))
    return None if bags is None or data is None or data.shape is None else (*bags, *data.shape[1:])
