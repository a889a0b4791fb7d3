"""Calls of op versions. Types, attributes, ranges and errors are those of the version, and the kernel is shared.

The functions of `gatherscatter.onnx`, `.openvino` and `.microsoft` are made here from the table.
"""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.adapters import dispatch
from gatherscatter.arrays.convert import element_type
from gatherscatter.errors import (
    OpTypeError,
    OpValueError,
    check_effects,
    count_own_frames,
    integer_fault,
    make_choice_error,
    make_error,
    name_memory_error,
    reduction_fault,
)
from gatherscatter.functions import gather_tree, tensor_scatter
from gatherscatter.functions.gather_quantized import check_small_table
from gatherscatter.functions.gather_reduce import check_members_shape
from gatherscatter.messages.choices import SCALE_TYPES, WITHOUT_ACCUMULATE
from gatherscatter.messages.sentences import format_sentence
from gatherscatter.messages.suggestions import suggest_choice, suggest_parameter
from gatherscatter.operation import BY_INDEX, REQUIRED, Bags, Form, Kernel, Operation, TableLayout
from gatherscatter.specs import bags, quantized
from gatherscatter.specs.rows import INDEX_RANGES, Attribute, Input
from gatherscatter.specs.table import SPECIFICATIONS, TABLE, OpVersion, find, gather_axis_name

# OpenVINO's words for reductions, and those of ONNX and this package.
GENERIC_REDUCTIONS = {"sum": "add", "prod": "mul"}


# How each specification adds up floats: rulings O16 and V19.
DEFAULT_ACCUMULATE = {"onnx": "'step'", "openvino": "'wide' for 16-bit floats, else 'step'"}


def call(
    row: OpVersion, inputs: tuple[ArrayLike | None, ...], attributes: dict[str, Any], accumulate: str | None = None
) -> np.ndarray:
    """Run an op version. Inputs are in the order of its specification, and attributes are given by name.

    ``accumulate`` is 'step', 'wide' or 'exact'. It replaces the specification's way of adding up floats (see
    `gatherscatter.scatter_nd`).

    Raises
    ------
    TypeError
        An attribute is unknown, or the version does not support an element type, an index type, or the reduction for
        this type.
    ValueError
        A shape, a rank, an axis or the value of an attribute is not valid for the version.
    IndexError
        An index is out of range. The message names its position.
    """
    try:
        result = _core.run_known_call(_known_calls, row.name, accumulate, inputs, attributes)
        return _call(row, inputs, attributes, accumulate) if result is NotImplemented else result
    except MemoryError as error:
        name_memory_error(row.name, error)


def _call(
    row: OpVersion, inputs: tuple[ArrayLike | None, ...], attributes: dict[str, Any], accumulate: str | None
) -> np.ndarray:
    """Run a call on arrays of any library."""
    check_input_count(row, len(inputs), attributes)
    if not all(each is None or type(each) is np.ndarray for each in inputs):
        options = {"row": row, "attributes": attributes, "accumulate": accumulate}
        return dispatch("op version", row.name, name_inputs(row, inputs), options, _call_on_arrays)  # type: ignore[no-any-return]
    return _call_on_arrays(row, attributes, accumulate, **name_inputs(row, inputs))


def _call_on_arrays(row: OpVersion, attributes: dict[str, Any], accumulate: str | None, **named: Any) -> np.ndarray:
    """Check a call on NumPy's arrays and values without an adapter, run it, and remember how to run such calls."""
    inputs = tuple(named.values())
    arrays, values = check_inputs(row, inputs, attributes)
    warn_if_deprecated(row)
    run = _make_run(row, arrays, values, accumulate)
    key = _core.make_call_key(row.name, accumulate, tuple(arrays), attributes)
    if key is not None and not row.deprecated and all(map(_is_plain, arrays)):
        if len(_known_calls) >= _MOST_KNOWN_CALLS:
            _known_calls.clear()
        _known_calls[key] = run
    return run(*arrays)


# The functions that run calls whose types and attributes were checked before, by `_core.make_call_key`.
_known_calls: dict[tuple[Any, ...], Callable[..., np.ndarray]] = {}
_MOST_KNOWN_CALLS = 1024


def _is_plain(array: Any) -> bool:
    """Whether the kernels accept elements of this type, and their values need no check."""
    return array is None or (array.dtype.isnative and array.dtype.kind not in "OSTU")


def _make_run(
    row: OpVersion, arrays: list[Any], values: dict[str, Any], accumulate: str | None
) -> Callable[..., np.ndarray]:
    """Make the function that runs a call, and others with arrays of these types. The types are checked."""
    name, kernel = row.name, row.kernel
    if kernel == Kernel.TENSOR_SCATTER:
        return partial(tensor_scatter.run, name, **values)
    if kernel == Kernel.GATHER_TREE:
        return partial(gather_tree.run, name)
    operation = make_operation(row, arrays[0], values, accumulate)
    if kernel == Kernel.GATHER_REDUCE:
        return bags.make_run(row, arrays[0].dtype, values, operation)
    if kernel == Kernel.GATHER_QUANTIZED:
        return partial(quantized.run, operation)
    if not all(map(_is_plain, arrays)):

        def run_any(*inputs: np.ndarray) -> np.ndarray:
            inner, axis = _resolve_axis(row, inputs, operation.axis)
            result = convert.execute(operation._replace(axis=axis), *inner)
            return result if row.finish is None else row.finish(inner, values, result)

        return run_any
    bound = _core.bind(operation)
    is_simple = row.prepare is None and row.finish is None
    if row.inputs[-1].kind != "axis" and is_simple:
        return bound

    def run(*inputs: np.ndarray) -> np.ndarray:
        if is_simple and inputs[-1].ndim == 0:  # the axis is the last input
            return bound(*inputs)
        inner, axis = _resolve_axis(row, inputs, operation.axis)
        result = bound(*inner, axis)
        return result if row.finish is None else row.finish(inner, values, result)

    return run


def warn_if_deprecated(row: OpVersion) -> None:
    """Warn the caller if the version is deprecated (ruling O24)."""
    if row.deprecated:
        text = format_sentence("parts", "deprecated", op=row.name, domain=row.domain)
        warnings.warn(text, DeprecationWarning, stacklevel=count_own_frames() + 1)


def check_inputs(
    row: OpVersion, inputs: tuple[ArrayLike | None, ...], attributes: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Check and convert the inputs, and return them with the values of all attributes."""
    check_input_count(row, len(inputs), attributes)
    _check_attribute_names(row, attributes)
    arrays = [_as_array(row, known, value) for known, value in zip(row.inputs, inputs, strict=False)]
    _check_types(row, arrays)
    return arrays, _check_attributes(row, attributes)


def check_call(row: OpVersion, inputs: tuple[ArrayLike | None, ...], attributes: dict[str, Any]) -> None:
    """Raise the errors of a call about types, attributes and shapes. The values of indices are not checked.

    Shapes of strings are not checked.
    """
    arrays, values = check_inputs(row, inputs, attributes)
    named = name_inputs(row, arrays)
    if not all(map(_is_plain, arrays)):
        choose_reduction(row, arrays[0], values, None)
    elif row.kernel in BY_INDEX:
        inner, operation = prepare_call(row, arrays, values)
        _core.describe(operation, dict(zip(("data", "indices", "updates"), inner, strict=False)))
    elif row.kernel == Kernel.TENSOR_SCATTER:
        past, update, window = named["past_cache"], named["update"], named.get("write_indices")
        axis = tensor_scatter.normalise_cache_axis(row.name, values["axis"], past.ndim)
        tensor_scatter.check_shapes(row.name, past.shape, update.shape, axis, None if window is None else window.shape)
    elif row.kernel == Kernel.GATHER_QUANTIZED:
        operation = make_operation(row, arrays[0], values)
        quantized.check_operation(operation, arrays[0], named["scales"])
        check_small_table(operation, *arrays)
    elif row.kernel == Kernel.GATHER_REDUCE:
        members = bags.check_members(make_operation(row, arrays[0], values), named)
        if (segments := named.get("segment_ids")) is not None:
            check_members_shape(row.name, "segment_ids", segments.shape, members)
    else:
        choose_reduction(row, arrays[0], values, None)


def prepare_call(
    row: OpVersion, arrays: list[Any], values: dict[str, Any], accumulate: str | None = None
) -> tuple[list[Any], Operation]:
    """Return the arrays and the operation for the kernel of a version."""
    operation = make_operation(row, arrays[0], values, accumulate)
    inner, axis = _resolve_axis(row, tuple(arrays), operation.axis)
    return list(inner), operation._replace(axis=axis)


def make_operation(
    row: OpVersion, data: np.ndarray, values: dict[str, Any], accumulate: str | None = None
) -> Operation:
    """Return the operation of a version with these attributes, on data of a type."""
    reduction, accumulate = choose_reduction(row, data, values, accumulate)
    table = None
    if row.kernel == Kernel.GATHER_QUANTIZED:
        table = TableLayout(*(values[name] for name in TableLayout._fields))
    mode, negative = find_index_rule(row, values)
    return Operation(
        row.name,
        row.kernel,
        axis=values.get(gather_axis_name(row), 0),
        batch_dims=values.get("batch_dims", 0),
        mode=mode,
        negative=negative,
        reduction=reduction,
        include_self=values.get("use_init_val", values.get("include_self", True)),
        accumulate=accumulate,
        bags=Bags(embedding_rules=True) if row.kernel == Kernel.GATHER_REDUCE else None,
        table=table,
    )


def find_index_rule(row: OpVersion, values: dict[str, Any]) -> tuple[str, str]:
    """Return the ``mode`` and the ``negative`` of an operation. Both can be attributes."""
    mode = values.get("mode", "fill" if row.index_range == "zeros" else "raise")
    return mode, values.get("negative", "error" if row.index_range == "nonnegative" else "end")


def _resolve_axis(row: OpVersion, arrays: tuple[Any, ...], axis: int) -> tuple[tuple[Any, ...], int]:
    """Return the arrays for the kernel, and the axis, which can be the last input."""
    if row.inputs[-1].kind == "axis":
        axis, arrays = bags.read_scalar(row.name, "axis", arrays[-1]), arrays[:-1]
    rank = arrays[0].ndim
    if row.prepare is not None and -rank <= axis < rank:  # the planner refuses any other axis
        arrays = row.prepare(row.name, arrays, axis % rank)
    return arrays, axis


def name_inputs(row: OpVersion, inputs: Iterable[Any]) -> dict[str, Any]:
    """Name inputs that are in the order of the specification."""
    return dict(zip((known.name for known in row.inputs), inputs, strict=False))


def choose_reduction(
    row: OpVersion, data: np.ndarray, values: dict[str, Any], accumulate: str | None
) -> tuple[str, str]:
    """Return the reduction of a call and its ``accumulate``. The type of data must support the reduction."""
    reduction = normalise_reduction(row, values)
    check_reduction(row, reduction, data.dtype)
    accumulate = accumulate or values.get("accumulate")
    if accumulate:
        check_effects(row.name, reduction, values.get("include_self", True), accumulate)
    default = "step" if reduction in WITHOUT_ACCUMULATE else default_accumulate(row, data)
    return reduction, accumulate or default


def normalise_reduction(row: OpVersion, values: dict[str, Any]) -> str:
    """Return the reduction of a call by its name in this package."""
    reduction: str = values.get("reduction", row.reduction or "none")
    return GENERIC_REDUCTIONS.get(reduction, reduction)


def default_accumulate(row: OpVersion, data: np.ndarray) -> str:
    """Return how the specification of a version adds up floats, as a value of ``accumulate``."""
    halves = element_type(data.dtype) in ("float16", "bfloat16")
    return "wide" if halves and row.domain == "openvino" else "step"


def check_reduction(row: OpVersion, reduction: str, dtype: np.dtype[Any]) -> None:
    """Check that the elements support the reduction. ONNX also concatenates strings (ruling O14)."""
    concatenates = row.domain != "openvino" and reduction == "add" and element_type(dtype) == "string"
    if reduction != "none" and not concatenates and not _core.supports(dtype, reduction):
        reduction_fault(row.name, reduction, dtype)


def _check_attribute_names(row: OpVersion, attributes: dict[str, Any]) -> None:
    """Refuse attributes that no version has, and calls without a required attribute."""
    own = {attribute.name for attribute in row.attributes}
    for name in attributes.keys() - own - _find_first_versions(row).keys():
        listed = ", ".join(sorted(own)) or "none"
        suggestion = suggest_parameter(name, own)
        raise make_error("unknown_attribute", row.name, input=name, attributes=listed, suggestion=suggestion)
    for attribute in row.attributes:
        if attribute.default is REQUIRED and attribute.name not in attributes:
            raise make_error("missing_attribute", row.name, input=attribute.name)


def _check_attributes(row: OpVersion, attributes: dict[str, Any]) -> dict[str, Any]:
    """Check the attributes of the version, and add its defaults."""
    values = {attribute.name: _value(row, attribute, attributes) for attribute in row.attributes}
    for name in attributes.keys() - values.keys():
        raise make_error("newer_attribute", row.name, input=name, version=_find_first_versions(row)[name])
    return values


def _find_first_versions(row: OpVersion) -> dict[str, int]:
    """Find the first version of each attribute of an operator."""
    relatives = [other for other in TABLE if (other.domain, other.op_type) == (row.domain, row.op_type)]
    return {attribute.name: other.version for other in reversed(relatives) for attribute in other.attributes}


def check_input_count(row: OpVersion, count: int, attributes: dict[str, Any]) -> None:
    """Refuse a number of inputs that the version does not have."""
    required = sum(not known.optional for known in row.inputs)
    if required <= count <= len(row.inputs):
        return
    advice = ""
    if count > len(row.inputs) and row.attributes:
        names = ", ".join(f"{attribute.name}=..." for attribute in row.attributes)
        advice = format_sentence("parts", "attributes_by_name", attributes=names)
    elif any(known.name in attributes for known in row.inputs):
        advice = format_sentence("parts", "inputs_by_position")
    listed = ", ".join(known.name for known in row.inputs)
    raise make_error("wrong_input_count", row.name, inputs=listed, count=count, advice=advice)


def _as_array(row: OpVersion, known: Input, value: ArrayLike | None) -> np.ndarray | None:
    if value is None:
        if known.optional:
            return None
        raise make_error("missing_input", row.name, input=known.name)
    if known.kind in ("data", "scales"):
        return convert.as_array(row.name, known.name, value)
    return convert.as_indices(row.name, known.name, value, lists=row.kernel.form == Form.TUPLES)


def _check_types(row: OpVersion, arrays: list[Any]) -> None:
    first: np.ndarray = arrays[0]
    given = name_inputs(row, arrays)
    for known, array in zip(row.inputs, arrays, strict=False):
        if array is None or known.kind == "axis":
            continue
        allowed = {"data": row.element_types, "scales": SCALE_TYPES}.get(known.kind, row.index_types)
        found = element_type(array.dtype)
        if found not in allowed:
            values = {"type": array.dtype, "allowed": ", ".join(allowed), "advice": ""}
            if known.kind not in ("data", "scales") and "int64" in allowed:
                values["advice"] = format_sentence("parts", "convert_indices", input=known.name, kernel=row.kernel)
            raise make_error("refused_type", row.name, input=known.name, **values)
        if known.kind == "data" and found != element_type(first.dtype):
            values = {"type": array.dtype, "first": row.inputs[0].name, "first_type": first.dtype}
            raise make_error("mixed_types", row.name, input=known.name, **values)
        if known.kind in ("indices", "scalar") and "indices" in given and found != element_type(given["indices"].dtype):
            values = {"type": array.dtype, "first": "indices", "first_type": given["indices"].dtype}
            raise make_error("mixed_types", row.name, input=known.name, **values)
        if array.dtype.kind == "O" and not all(isinstance(element, str | bytes) for element in array.flat):
            text = f"{row.name}: the object array {known.name} must hold strings only"
            raise OpTypeError(text, op=row.name, input=known.name)


def _value(row: OpVersion, attribute: Attribute, attributes: dict[str, Any]) -> Any:
    value = attributes.get(attribute.name, attribute.default)
    readers = {"int": operator.index, "bool": _as_bool, "string": _as_str}
    try:
        value = readers[attribute.type](value)
    except (TypeError, ValueError):
        given = type(value).__name__
        raise make_error("attribute_type", row.name, input=attribute.name, type=attribute.type, given=given) from None
    if attribute.choices is not None and value not in attribute.choices:
        suggestion = suggest_choice(value, attribute.choices, similar=False)  # as the native library
        raise make_choice_error(row.name, attribute.name, value, attribute.choices, suggestion)
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


def make_domain_functions(domain: str) -> dict[str, Callable[..., np.ndarray]]:
    """Make the functions of a domain, by operator name."""
    names = dict.fromkeys(row.op_type for row in TABLE if row.domain == domain)
    return {name: _function([row for row in TABLE if (row.domain, row.op_type) == (domain, name)]) for name in names}


def _function(rows: list[OpVersion]) -> Callable[..., np.ndarray]:
    newest = rows[-1]
    input_names = [known.name for known in newest.inputs]
    names = frozenset(input_names)
    reduces = has_reductions(rows)
    versions: dict[int | None, OpVersion] = {None: newest}

    def function(*inputs: ArrayLike | None, opset: int | None = None, **options: Any) -> np.ndarray:
        row = versions.get(opset) if opset is None or type(opset) is int else None
        if row is None:
            row = _find_version(newest, opset)  # type: ignore[arg-type]  # an opset of None is known
            if len(versions) < _MOST_KNOWN_CALLS:  # opsets can be any numbers
                versions[int(opset)] = row  # type: ignore[arg-type]
        accumulate = options.pop("accumulate", None) if reduces else None
        if options and not names.isdisjoint(options):
            by_name = {name: options.pop(name) for name in input_names if name in options}
            inputs = tuple(_order_inputs(row, inputs, by_name))
        return call(row, inputs, options, accumulate)

    function.__name__ = newest.op_type
    function.__qualname__ = newest.op_type
    function.__module__ = f"gatherscatter.{newest.domain.rpartition('.')[2]}"
    function.__doc__ = documentation(rows)
    function.__signature__ = signature(rows)  # type: ignore[attr-defined]
    return function


def has_reductions(rows: Iterable[OpVersion]) -> bool:
    """Whether a version of an operator reduces. The operator then has ``accumulate``."""
    return any(row.reduction == "sum" or any(each.name == "reduction" for each in row.attributes) for row in rows)


def _find_version(newest: OpVersion, opset: int) -> OpVersion:
    if not isinstance(opset, int | np.integer):
        integer_fault(f"{newest.domain}.{newest.op_type}", "opset", opset)
    try:
        return find(newest.domain, newest.op_type, opset)
    except LookupError as error:
        raise OpValueError(str(error.args[0]), op=f"{newest.domain}.{newest.op_type}", input="opset") from None


def _order_inputs(
    row: OpVersion, inputs: tuple[ArrayLike | None, ...], by_name: dict[str, ArrayLike | None]
) -> list[ArrayLike | None]:
    """Put inputs that were given by position and by name in the order of the specification."""
    for known in row.inputs[: len(inputs)]:
        if known.name in by_name:
            raise OpTypeError(f"{row.name}: the input {known.name} is given twice", op=row.name, input=known.name)
    return [*inputs, *(by_name.get(known.name) for known in row.inputs[len(inputs) :])]


def signature(rows: list[OpVersion]) -> inspect.Signature:
    """Make the signature of an operator: inputs, attributes of all versions, ``opset``, and perhaps ``accumulate``."""
    parameter = inspect.Parameter
    inputs = [
        parameter(
            known.name,
            parameter.POSITIONAL_OR_KEYWORD,
            default=None if known.optional else parameter.empty,
            annotation="ArrayLike | None" if known.optional else "ArrayLike",
        )
        for known in rows[-1].inputs
    ]
    kinds = {"int": "int", "bool": "bool", "string": "str"}
    attributes = {
        attribute.name: parameter(
            attribute.name,
            parameter.KEYWORD_ONLY,
            default=parameter.empty if attribute.is_required else attribute.default,
            annotation=kinds[attribute.type],
        )
        for row in rows
        for attribute in row.attributes
    }
    ours = {"opset": "int | None"} | ({"accumulate": "str | None"} if has_reductions(rows) else {})
    more = [parameter(name, parameter.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in ours.items()]
    return inspect.Signature([*inputs, *attributes.values(), *more], return_annotation="np.ndarray")


def documentation(rows: list[OpVersion]) -> str:
    """Write the docstring of an operator."""
    newest = rows[-1]
    lines = [
        f"Run {newest.op_type} of {SPECIFICATIONS[newest.domain]}, "
        f"{'version' if len(rows) == 1 else 'versions'} {', '.join(str(row.version) for row in rows)}.",
        "",
        "``opset`` selects the version: the newest one that is not above it. The default is the newest version. It",
        "defines which types, attributes and indices are valid. The call runs the kernel of",
        f"`gatherscatter.{newest.kernel}`, whose documentation describes the inputs.",
        "",
        f"Result: ``{newest.output}`` of shape {newest.shape_rule} and of the type of {newest.typing_input.name}.",
    ]
    if has_reductions(rows):
        lines += [
            "",
            "``accumulate`` is 'step', 'wide' or 'exact', and decides how floats are added up. The default is that of",
        ]
        lines += [f"the specification: {DEFAULT_ACCUMULATE[newest.domain]}. See `gatherscatter.scatter_nd`."]
    for row in rows:
        attributes = ", ".join(
            f"{a.name} (required)" if a.is_required else f"{a.name}={a.default!r}" for a in row.attributes
        )
        lines += [
            "",
            f"Version {row.version}{' (deprecated)' if row.deprecated else ''}",
            f"    attributes: {attributes or 'none'}",
            f"    element types: {', '.join(row.element_types)}",
            f"    index types: {', '.join(row.index_types) or 'the element types'}",
            f"    index range: {INDEX_RANGES[row.index_range]}",
            f"    source: {row.source}",
        ]
    lines += [
        "",
        "Raises",
        "------",
        "TypeError",
        "    An attribute is unknown, or the version does not support a type.",
        "ValueError",
        "    A shape, a rank, an axis or the value of an attribute is not valid for the version.",
        "IndexError",
        "    An index is out of range. The message names its position.",
    ]
    return "\n".join(lines)


OpVersion.runner = staticmethod(call)
