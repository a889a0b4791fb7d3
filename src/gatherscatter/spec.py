"""Calling an op version: exactly its types, attributes, ranges and errors; then the kernel it shares with others."""

from __future__ import annotations

import operator
import reprlib
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _arrays, _core, cache, tree
from gatherscatter.errors import OpTypeError, OpValueError, reduction_fault
from gatherscatter.kinds import is_lazy, taken
from gatherscatter.versions import REQUIRED, TABLE, Attribute, Input, OpVersion, element_type

# The two specifications' words for the same reductions.
REDUCTIONS = {"sum": "add", "prod": "mul"}


# How each specification adds up floats: rulings O16 and V19.
OWN_WAY = {"onnx": "'step'", "openvino": "'wide' for floats of 16 bits, else 'step'"}


def call(
    row: OpVersion, inputs: tuple[ArrayLike | None, ...], attributes: dict[str, Any], accumulate: str | None = None
) -> np.ndarray:
    """Run an op version on its inputs, in the order of its specification, and attributes by name.

    ``accumulate``: 'step', 'wide' or 'exact' instead of what the specification does (see `gatherscatter.scatter_nd`).

    Raises
    ------
    TypeError
        Unknown attributes, element or index types that the version does not have, a reduction its type does not have.
    ValueError
        Shapes, ranks, axes, and attribute values that the version does not have.
    IndexError
        An index out of range; the message says where it stands.
    """
    if any(type(value) is not np.ndarray for value in inputs):
        named = dict(zip((each.name for each in row.inputs), inputs, strict=False))
        if is_lazy(row.name, named):
            from gatherscatter.dask import spec

            return spec.call(row, inputs, attributes, accumulate)  # type: ignore[return-value]
        if foreign := taken(row.name, named):
            result = call(row, tuple(foreign.values.values()), attributes, accumulate)
            return foreign.give(result)  # type: ignore[no-any-return]
    arrays, values = checked_inputs(row, inputs, attributes)
    warn_if_deprecated(row)
    if row.kernel == "tensor_scatter":
        return cache.run(row.name, *arrays, **values)
    if row.kernel == "gather_tree":
        return tree.run(row.name, *arrays)
    inner, keywords = kernel_arguments(row, arrays, values, accumulate)
    result = _arrays.execute(row.name, row.kernel, *inner, **keywords)
    return result if row.finish is None else row.finish(tuple(inner), values, result)


def warn_if_deprecated(row: OpVersion, stacklevel: int = 4) -> None:
    """Warn who called the version (ruling O24)."""
    if row.deprecated:
        warnings.warn(
            f"{row.name} is deprecated; use {row.domain}.ScatterElements", DeprecationWarning, stacklevel=stacklevel
        )


def checked_inputs(
    row: OpVersion, inputs: tuple[ArrayLike | None, ...], attributes: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Inputs as arrays of types that the version has, and the values of all its attributes."""
    _check_attribute_names(row, attributes)
    arrays = _as_arrays(row, inputs)
    _check_types(row, arrays)
    return arrays, _values(row, attributes)


def kernel_arguments(
    row: OpVersion, arrays: list[Any], values: dict[str, Any], accumulate: str | None = None
) -> tuple[list[Any], dict[str, Any]]:
    """Arrays and keywords with which the kernel of a version does what the version does."""
    reduction = values.get("reduction", "none")
    reduction = REDUCTIONS.get(reduction, reduction)
    check_reduction(row, reduction, arrays[0].dtype)
    axis = values.get("axis", 0)
    if row.inputs[-1].kind == "axis":
        axis = _axis_input(row, arrays.pop())
    rank = arrays[0].ndim
    accumulate = accumulate or own_way(row, arrays[0])
    if row.prepare is not None and -rank <= axis < rank:  # the planner refuses any other axis
        arrays = list(row.prepare(row.name, tuple(arrays), axis % rank))
    keywords = {
        "axis": axis,
        "batch_dims": values.get("batch_dims", 0),
        "reduction": reduction,
        "include_self": values.get("use_init_val", True),
        "mode": "fill" if row.index_range == "zeros" else "raise",
        "negative": row.index_range != "nonnegative",
        "accumulate": accumulate,
    }
    return arrays, keywords


def own_way(row: OpVersion, data: np.ndarray) -> str:
    """How the specification of a version adds up floats: a value of ``accumulate``."""
    halves = element_type(data.dtype) in ("float16", "bfloat16")
    return "wide" if halves and row.domain == "openvino" else "step"


def check_reduction(row: OpVersion, reduction: str, dtype: np.dtype[Any]) -> None:
    """ONNX concatenates strings (ruling O14); other elements have the reductions that the core knows."""
    concatenates = row.domain == "onnx" and reduction == "add" and element_type(dtype) == "string"
    if reduction != "none" and not concatenates and not _core.knows(dtype, reduction):
        reduction_fault(row.name, reduction, dtype)


def _check_attribute_names(row: OpVersion, attributes: dict[str, Any]) -> None:
    """Attributes that no version has, and those that must be given."""
    own = {attribute.name for attribute in row.attributes}
    for name in attributes.keys() - own - _since(row).keys():
        listed = ", ".join(sorted(own)) or "none"
        raise OpTypeError(f"{row.name} has no attribute {name!r} (attributes: {listed})", op=row.name, input=name)
    for attribute in row.attributes:
        if attribute.default is REQUIRED and attribute.name not in attributes:
            raise OpTypeError(f"{row.name} needs the attribute {attribute.name!r}", op=row.name, input=attribute.name)


def _values(row: OpVersion, attributes: dict[str, Any]) -> dict[str, Any]:
    """All attributes of the version, checked, with its defaults."""
    values = {attribute.name: _value(row, attribute, attributes) for attribute in row.attributes}
    for name in attributes.keys() - values.keys():
        text = f"{row.name} has no attribute {name!r}; it came with version {_since(row)[name]}"
        raise OpValueError(text, op=row.name, input=name)
    return values


def _since(row: OpVersion) -> dict[str, int]:
    """The attributes of an operator, and the version that each came with."""
    relatives = [other for other in TABLE if (other.domain, other.op_type) == (row.domain, row.op_type)]
    return {attribute.name: other.version for other in reversed(relatives) for attribute in other.attributes}


def _as_arrays(row: OpVersion, inputs: tuple[ArrayLike | None, ...]) -> list[Any]:
    required = sum(not known.optional for known in row.inputs)
    if not required <= len(inputs) <= len(row.inputs):
        listed = ", ".join(known.name for known in row.inputs)
        raise OpTypeError(f"{row.name} takes the inputs {listed}; {len(inputs)} were given", op=row.name)
    return [_as_array(row, known, value) for known, value in zip(row.inputs, inputs, strict=False)]


def _as_array(row: OpVersion, known: Input, value: ArrayLike | None) -> np.ndarray | None:
    if value is None:
        if known.optional:
            return None
        raise OpTypeError(f"{row.name}: the input {known.name} is missing", op=row.name, input=known.name)
    if known.kind == "data":
        return _arrays.as_array(row.name, known.name, value)
    return _arrays.as_indices(row.name, known.name, value)


def _check_types(row: OpVersion, arrays: list[Any]) -> None:
    first: np.ndarray = arrays[0]
    for known, array in zip(row.inputs, arrays, strict=False):
        if array is None or known.kind == "axis":
            continue
        allowed = row.element_types if known.kind == "data" else row.index_types
        found = element_type(array.dtype)
        if found not in allowed:
            text = f"{row.name}: {known.name} can't be of type {array.dtype}; allowed: {', '.join(allowed)}"
            raise OpTypeError(text, op=row.name, input=known.name)
        if known.kind == "data" and found != element_type(first.dtype):
            text = f"{row.name}: {known.name} is of type {array.dtype}, but {row.inputs[0].name} of type {first.dtype}"
            raise OpTypeError(text, op=row.name, input=known.name)
        if array.dtype.kind == "O" and not all(isinstance(element, str | bytes) for element in array.flat):
            text = f"{row.name}: an object array must hold strings only, {known.name} holds other things"
            raise OpTypeError(text, op=row.name, input=known.name)


def _value(row: OpVersion, attribute: Attribute, attributes: dict[str, Any]) -> Any:
    value = attributes.get(attribute.name, attribute.default)
    readers = {"int": operator.index, "bool": _as_bool, "string": _as_str}
    try:
        value = readers[attribute.type](value)
    except (TypeError, ValueError):
        text = f"{row.name}: {attribute.name} must be of type {attribute.type}, not {type(value).__name__}"
        raise OpTypeError(text, op=row.name, input=attribute.name) from None
    if attribute.choices is not None and value not in attribute.choices:
        choices, shown = ", ".join(map(repr, attribute.choices)), reprlib.repr(value)
        text = f"{row.name}: {attribute.name} must be one of {choices}, not {shown}"
        raise OpValueError(text, op=row.name, input=attribute.name)
    return value


def _as_bool(value: Any) -> bool:
    if isinstance(value, bool | np.bool) or value in (0, 1):
        return bool(value)
    raise TypeError


def _as_str(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        return value
    raise TypeError


def _axis_input(row: OpVersion, axis: np.ndarray) -> int:
    if axis.ndim > 1 or axis.size != 1:
        text = f"{row.name}: axis must be a scalar or have one element, not shape {axis.shape}"
        raise OpValueError(text, op=row.name, input="axis")
    return int(axis.reshape(())[()])
