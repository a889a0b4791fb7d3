"""The element types of an operator's outputs, from the schemas of ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import onnx

from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.value_info import TYPE_TEXTS, UNKNOWN, ValueInfo, known_type, read_declared

_T = onnx.TensorProto


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


def infer_types(
    op_type: str,
    opset: int,
    inputs: Sequence[ValueInfo | None],
    attributes: Mapping[str, Any],
    unknown: frozenset[str],
    outputs: int,
) -> list[ValueInfo]:
    """Return the type of each output.

    Raises
    ------
    ModelError
        The operator does not take the type of an input.
    """
    signature = _signature(op_type, opset)
    if signature is None:
        return [UNKNOWN] * outputs
    bound = _bind(signature, inputs)
    types = [
        _output_type(signature.outputs[min(number, len(signature.outputs) - 1)], signature, bound)
        for number in range(outputs if signature.outputs else 0)
    ]
    types += [UNKNOWN] * (outputs - len(types))
    if types and not types[0].is_known:
        types[0] = _special_type(op_type, [info or UNKNOWN for info in inputs], attributes, unknown)
    return types


def _bind(signature: _Signature, inputs: Sequence[ValueInfo | None]) -> dict[str, ValueInfo]:
    """Return the types of the type variables; ModelError if the operator does not take an input's type."""
    bound: dict[str, ValueInfo] = {}
    for number, info in enumerate(inputs):
        if info is None or not info.is_known or not signature.inputs:
            continue
        text, binds = signature.inputs[min(number, len(signature.inputs) - 1)]
        if info.elem_type:
            own = TYPE_TEXTS[info.elem_type]
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


_ELEM_TYPES = {text: number for number, text in TYPE_TEXTS.items()}


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
        return ValueInfo(known_type(number)) if isinstance(number, int) else UNKNOWN
    if op_type == "ConstantOfShape":
        value = attributes.get("value")
        return UNKNOWN if "value" in unknown else ValueInfo(known_type(value.data_type) if value else _T.FLOAT)
    if op_type == "DequantizeLinear":
        number = attributes.get("output_dtype") or (inputs[1].elem_type if len(inputs) > 1 else 0)
        return ValueInfo(known_type(number)) if isinstance(number, int) else UNKNOWN
    if op_type in ("SequenceConstruct", "SplitToSequence"):
        return sequence_of(first.elem_type)
    if op_type == "SequenceEmpty":
        return sequence_of(0 if "dtype" in unknown else attributes.get("dtype", _T.FLOAT))
    if op_type in ("SequenceAt", "ConcatFromSequence") and first.other is not None:
        return read_declared(first.other.sequence_type.elem_type)._replace(shape=None)
    if op_type == "OptionalGetElement":
        whole = first.other is None or first.other.WhichOneof("value") != "optional_type"
        return first if whole or first.other is None else read_declared(first.other.optional_type.elem_type)
    if op_type == "Optional" and first.is_known:
        return ValueInfo(other=onnx.helper.make_optional_type_proto(first._replace(shape=None).type_proto()))
    return UNKNOWN


def sequence_of(elem_type: Any) -> ValueInfo:
    if not isinstance(elem_type, int) or not known_type(elem_type):
        return UNKNOWN
    tensor = onnx.helper.make_tensor_type_proto(elem_type, None)
    return ValueInfo(other=onnx.helper.make_sequence_type_proto(tensor))
