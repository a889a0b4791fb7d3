"""A call in parts: the operator, its inputs by name, what its attributes mean, and whether it succeeded."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import gatherscatter as gs
from gatherscatter.arrays import convert
from gatherscatter.arrays.convert import element_type
from gatherscatter.errors import OpError, OpTypeError, make_error
from gatherscatter.explaining.library_code.call import LibraryCall
from gatherscatter.explaining.operators import resolve_operator
from gatherscatter.operation import REQUIRED, Kernel, Operation
from gatherscatter.specs import calls
from gatherscatter.specs.rows import Input
from gatherscatter.specs.table import OpVersion, codes_per_byte, op

Coordinates = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ExplainedCall(LibraryCall):
    """One call of an operator, and how it ended. ``arrays`` has the inputs that could be made arrays.

    Attributes
    ----------
    given : the attributes of the call as text for its heading
    result : what the call returned; None if it failed
    error : what it raised
    notes : warnings, and what else there is to know
    table : the row, the inputs and the attributes of a gather from a quantized table. For such a call, ``row`` and
        ``arrays`` are those of a gather from the numbers of the table
    """

    given: dict[str, Any]
    result: np.ndarray | None
    error: Exception | None
    notes: tuple[str, ...] = ()
    table: tuple[OpVersion, dict[str, np.ndarray], dict[str, Any]] | None = None

    @property
    def is_clear(self) -> bool:
        """Whether types and shapes fit, so that each index has a meaning."""
        return self.error is None or isinstance(self.error, IndexError)


def record_call(operator: Any, inputs: tuple[Any, ...], attributes: dict[str, Any]) -> ExplainedCall:
    """Run an operator and record all that the explanation needs. Errors of the operator are recorded, not raised.

    Raises
    ------
    LookupError
        There is no operator of that name.
    TypeError
        ``operator`` is not an operator, or ``out`` is given. Nothing is written here.
    """
    row, function = resolve_operator(operator, attributes)
    if "out" in attributes:
        raise OpTypeError("explain: out is not allowed, because nothing is written", op="explain", input="out")
    name = function or row.name
    names = [known.name for known in row.inputs]
    if function and len(inputs) > len(names) and names[-1] != "axis":
        inputs, attributes = inputs[: len(names)], attributes | {"axis": inputs[len(names)]}
    options = dict(attributes)
    given = [*inputs, *(options.pop(each, None) for each in names[len(inputs) :])]
    while len(given) > len(inputs) and given[-1] is None:
        given.pop()  # an input that is not given does not count
    if function == "gather_reduce":  # bags are given by name
        result, error, notes = _run(gs.gather_reduce, inputs, attributes)
    else:
        result, error, notes = _run(getattr(gs, function) if function else row, tuple(given), options)
    arrays = {known.name: array.copy() for known, value in zip(row.inputs, given, strict=False)
              if (array := _array(name, known, value)) is not None}  # fmt: skip
    if function == "gather_reduce" and result is not None:  # which has cast them without loss
        arrays |= {each: arrays[each].astype(result.dtype) for each in ("weights", "default") if each in arrays}
    operation = _make_operation(name, row, arrays, attributes)
    arrays.pop("axis", None)
    if (
        row.kernel == Kernel.SCATTER_ND
        and result is not None
        and arrays["updates"].size == 1
        and arrays["indices"].ndim == 1
    ):
        arrays["updates"] = arrays["updates"].reshape(result.shape[arrays["indices"].size :])  # ruling V13
    call = ExplainedCall(
        operation=operation,
        row=row,
        arrays=arrays,
        fill_mode=str(attributes.get("fill_mode", "ZERO")),
        given=_choose_shown_attributes(row, attributes, operation.axis),
        result=result,
        error=error,
        notes=notes,
    )
    return _show_numbers(call, attributes) if row.kernel == Kernel.GATHER_QUANTIZED else call


_MOST_NUMBERS = 1 << 26
_NUMBERS = "data shows the numbers of the table: (code - zero point) * scale"


def _show_numbers(call: ExplainedCall, attributes: dict[str, Any]) -> ExplainedCall:
    """Return the call as a gather from the numbers of a quantized table.

    Raises
    ------
    ValueError
        The table is too large to show.
    """
    options = {one.name: one.default for one in call.row.attributes} | attributes
    axis = options.pop("gather_axis", 0) if "axis" not in options else options.pop("axis")
    row = replace(call.row, kernel=Kernel.GATHER, inputs=call.row.inputs[:2], shape_rule=op("onnx.Gather").shape_rule)
    table = (call.row, call.arrays, options | {"gather_axis": axis})
    arrays: dict[str, np.ndarray] = {name: array for name, array in call.arrays.items() if name in ("data", "indices")}
    numbers = replace(call, operation=call.operation._replace(kernel=row.kernel), row=row, arrays=arrays, table=table)
    if not call.is_clear:
        return numbers
    size = arrays["data"].size * codes_per_byte(element_type(arrays["data"].dtype), options["bits"])
    if size > _MOST_NUMBERS:
        raise make_error("large_table", "explain", size=size, most=_MOST_NUMBERS)
    every_row = np.arange(arrays["data"].shape[axis])
    kept = {name: value for name, value in options.items() if name in ("quantize_axis", "block_size", "bits")}
    arrays["data"] = np.asarray(
        gs.gather_quantized(
            arrays["data"], every_row, call.arrays["scales"], call.arrays.get("zero_points"), axis=axis, **kept
        )
    )
    return replace(numbers, notes=(*call.notes, _NUMBERS))


def _run(
    function: Callable[..., Any], inputs: tuple[Any, ...], attributes: dict[str, Any]
) -> tuple[np.ndarray | None, Exception | None, tuple[str, ...]]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = np.asarray(function(*inputs, **attributes))
        except (OpError, TypeError, ValueError, IndexError, OverflowError) as error:
            return None, error, ()
    return result, None, tuple(str(one.message) for one in seen if issubclass(one.category, DeprecationWarning))


def _array(op: str, known: Input, value: Any) -> np.ndarray | None:
    try:
        if known.kind not in ("data", "scales") and value is not None:
            return convert.as_indices(op, known.name, value)
        return convert.as_array(op, known.name, value)
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        return None if value is None else convert.as_array(op, known.name, value)
    except (TypeError, ValueError, OverflowError):
        return None


def _make_operation(op: str, row: OpVersion, arrays: dict[str, np.ndarray], given: dict[str, Any]) -> Operation:
    """Return the operation of a call, as far as a failed call allows it."""
    own = {one.name: one.default for one in row.attributes if one.default is not REQUIRED}
    own |= {"reduction": row.reduction} if row.reduction else {}
    values: dict[str, Any] = Operation._field_defaults | own | given
    axis = arrays.get("axis")
    if axis is not None and axis.size == 1:
        values["axis"] = axis.reshape(()).item()
    if row.kernel == Kernel.GATHER_QUANTIZED and "axis" not in given:
        values["axis"] = values["gather_axis"]
    first = next(iter(arrays.values()), None)
    rank = 0 if first is None else first.ndim
    indices = arrays.get("indices")
    batch = _integer(values["batch_dims"])
    if op == row.name:
        default = "step" if first is None else calls.default_accumulate(row, first)
        values["accumulate"] = given.get("accumulate", default)
        values["mode"], values["negative"] = calls.find_index_rule(row, own | given)
    return Operation(
        op,
        row.kernel,
        axis=_integer(values["axis"]) % rank if rank else 0,
        batch_dims=batch + (indices.ndim if batch < 0 and indices is not None else 0),
        mode=str(values["mode"]),
        negative=values["negative"],
        reduction=calls.normalise_reduction(row, values),
        include_self=row.kernel != Kernel.GATHER_REDUCE and bool(values.get("use_init_val", values["include_self"])),
        accumulate=str(values["accumulate"]),
    )


def _integer(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0


def _choose_shown_attributes(row: OpVersion, given: dict[str, Any], axis: int) -> dict[str, Any]:
    """The attributes for a heading: those given, and an axis even where it is an input or the default."""
    known = {known.name for known in row.inputs} - {"axis"}
    shown = {name: value for name, value in given.items() if name not in known}
    has_axis = "axis" in {*(one.name for one in row.inputs), *(one.name for one in row.attributes)}
    return ({"axis": axis} if has_axis and "axis" not in given else {}) | shown
