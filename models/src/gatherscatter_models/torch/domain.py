"""Calls that ONNX can't express, as operators of the domain ``gatherscatter``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import onnx
import onnxscript

from gatherscatter.errors import OpValueError
from gatherscatter.specs.own_operators import OWN_OPERATORS
from gatherscatter.specs.rows import DOMAIN, DOMAIN_VERSION
from gatherscatter_models.torch import own
from gatherscatter_models.torch.nodes import cast, constant, ops, size_of

_OPSET = onnxscript.values.Opset(DOMAIN, DOMAIN_VERSION)
_Schema = onnx.defs.OpSchema
_ATTRIBUTE_TYPES = {"int": _Schema.AttrType.INT, "bool": _Schema.AttrType.INT, "string": _Schema.AttrType.STRING}
# The types of ONNX that PyTorch exports
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_DATA = ("bool", *_INTEGERS, "float16", "bfloat16", "float", "double")


def with_domain(name: str, translate: Callable[..., Any]) -> Callable[..., Any]:
    """Return a translation to a node of the domain, for the calls that ``translate`` refuses."""

    def translate_call(*inputs: Any, **options: Any) -> Any:
        try:
            return translate(*inputs, **options)
        except own.NotInOnnxError:
            return _TRANSLATIONS[name](*inputs, **options)

    return translate_call


def _add(op_type: str, *inputs: Any, **attributes: Any) -> Any:
    """Add a node of the domain."""
    operator = onnxscript.values.Op(_OPSET, op_type, _schema(op_type))
    return operator(*inputs, **attributes)


@cache
def _schema(op_type: str) -> Any:
    row = OWN_OPERATORS[op_type]
    inputs = []
    types: dict[str, tuple[str, ...]] = {"T": _DATA}
    for each in row.inputs:
        name = "T" if each.kind == "data" else f"I_{each.name}"  # no export uses quantized tables
        types.setdefault(name, _INTEGERS)
        option = getattr(_Schema.FormalParameterOption, "Optional" if each.optional else "Single")
        inputs.append(_Schema.FormalParameter(each.name, name, param_option=option))
    return _Schema(
        op_type,
        DOMAIN,
        DOMAIN_VERSION,
        inputs=inputs,
        outputs=[_Schema.FormalParameter(row.output, "T")],
        type_constraints=[(name, [f"tensor({each})" for each in names], "") for name, names in types.items()],
        attributes=[
            _Schema.Attribute(each.name, _ATTRIBUTE_TYPES[each.type], required=False) for each in row.attributes
        ],
    )


def _scatter_update(data: Any, indices: Any, updates: Any, axis: int = 0, **options: Any) -> Any:
    def scatter_nd(*inputs: Any) -> Any:
        return _add("ScatterND", *inputs, **_attributes(options))

    rank = len(data.shape)
    return own.scatter_rows(
        data, indices, cast(updates, data.dtype), axis % rank, rank, len(indices.shape), scatter_nd=scatter_nd
    )


def _scatter_elements(data: Any, indices: Any, updates: Any, axis: int = 0, **options: Any) -> Any:
    return _add("ScatterElements", data, indices, cast(updates, data.dtype), axis=axis, **_attributes(options))


def _scatter_nd(data: Any, indices: Any, updates: Any, **options: Any) -> Any:
    return _add("ScatterND", data, indices, cast(updates, data.dtype), **_attributes(options))


def _gather_nd(data: Any, indices: Any, batch_dims: int = 0, mode: str = "raise", **_: Any) -> Any:
    return _add("GatherND", data, indices, batch_dims=batch_dims, mode=mode)


def _gather_reduce(
    data: Any,
    indices: Any = None,
    offsets: Any = None,
    segment_ids: Any = None,
    indptr: Any = None,
    weights: Any = None,
    *,
    num_segments: Any = None,
    default: Any = 0,
    **options: Any,
) -> Any:
    if default != 0:
        text = f"gather_reduce: default={default} with accumulate={options.get('accumulate')!r} can't be exported"
        raise OpValueError(text, op="gather_reduce", input="default")
    if not isinstance(num_segments, int | None):
        text = "gather_reduce: num_segments must not be dynamic in an export with accumulate='exact'"
        raise OpValueError(text, op="gather_reduce", input="num_segments")
    if indices is None:
        indices = ops.Range(constant(0), ops.Squeeze(size_of(data, 0)), constant(1))
    if indptr is not None:
        offsets = ops.Slice(indptr, constant([0]), constant([-1]))
    attributes = _attributes(options) | ({} if num_segments is None else {"num_segments": num_segments})
    weights = None if weights is None else cast(weights, data.dtype)
    return _add("GatherReduce", data, indices, offsets, segment_ids, weights, **attributes)


def _attributes(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "num_threads"}


_TRANSLATIONS: dict[str, Callable[..., Any]] = {
    "gather_nd": _gather_nd,
    "scatter_update": _scatter_update,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
    "gather_reduce": _gather_reduce,
}
