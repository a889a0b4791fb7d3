"""Conversion of all kinds of arguments to arrays for the core."""

from __future__ import annotations

import math
import numbers
import operator
import reprlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import casts, strings
from gatherscatter.arrays.adapters import DLPACK, adapter_of
from gatherscatter.arrays.kinds import as_objects, as_readable, check_kind, refuse_object
from gatherscatter.errors import OpError, OpTypeError, OpValueError, make_error, reduction_fault
from gatherscatter.messages.sentences import format_sentence
from gatherscatter.operation import Form, Operation
from gatherscatter.system.pieces import convert_dtype, extremes, pieces


def execute(
    operation: Operation,
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Run a gather or scatter on NumPy's arrays, and on values without an adapter."""
    call = prepare_inputs(operation, data, indices, updates, out)

    source, update = call.arrays["data"], call.arrays["updates"]
    if not call.is_text:
        return call.run(operation, out)

    def core(operation: Operation, array: np.ndarray, update: np.ndarray | None) -> np.ndarray:
        return _core.run(operation, {"data": array, "indices": call.arrays["indices"], "updates": update})

    rank = 0
    if update is None:
        check_call(operation, source, call.arrays["indices"])
        operation = operation._replace(axis=operation.axis % (source.ndim or 1))  # the core gets the first dims
        rank = _row_rank(operation, source.ndim, call.arrays["indices"])
    result = strings.execute(operation, core, source, update, rank)
    return result if out is None else copy_into(operation.op, out, result)


def _row_rank(operation: Operation, rank: int, indices: np.ndarray) -> int:
    """The number of dims of data after those that a gather indexes, or after the first one."""
    if operation.kernel.form == Form.TUPLES:
        columns: int = indices.shape[-1]
        return rank - operation.batch_dims - max(columns, 1)
    return rank - 1 - operation.axis if operation.kernel.form == Form.ROWS else 0


class Inputs(NamedTuple):
    """The inputs of a call, converted for the core.

    Attributes
    ----------
    arrays : by name; None: not given
    out : the core writes the result to it; None: to a new array
    dtype : of the result; it can differ from that of the arrays in byte order
    made : the bytes of the arrays that were made from arguments, by argument
    is_text : whether the core moves numbers instead of the elements
    """

    arrays: dict[str, Any]
    out: np.ndarray | None
    dtype: np.dtype[Any]
    made: dict[str, int]
    is_text: bool = False

    def run(self, operation: Operation, out: np.ndarray | None = None) -> np.ndarray:
        """Return the result of a call on elements that the core moves. It is in ``out``, if that is given."""
        result = set_byte_order(_core.run(operation, self.arrays, self.out), self.dtype)
        if out is None:
            return result
        return out if self.out is not None else copy_into(operation.op, out, result)


def prepare_inputs(
    operation: Operation, data: ArrayLike, indices: ArrayLike, updates: ArrayLike | None, out: object
) -> Inputs:
    """Check and convert the inputs of a gather or scatter."""
    op, kernel, reduction = operation.op, operation.kernel, operation.reduction
    arguments = Conversions(op)
    array = given = arguments.convert("data", data, as_array)
    dtype = given.dtype
    if reduction != "none" and not dtype.isnative and dtype.kind not in "US":  # the core computes in native byte order
        array = arguments.convert("data", array, lambda op, name, value: native(value))
    others = {"data": array, "updates": updates}
    as_own = partial(as_indices, others=others, lists=kernel.form == Form.TUPLES)
    index = arguments.convert("indices", indices, as_own)
    update = arguments.cast("updates", updates, array) if kernel.is_scatter else None
    if out is not None:
        check_out(op, out, given, update)
    is_text = needs_numbers(array, update, reduction)
    memory = None if is_text else plain_out(out, array.dtype)
    arrays = {"data": array, "indices": index, "updates": update}
    return Inputs(arrays, memory if array.dtype == dtype else None, dtype, arguments.made, is_text)


def plain_out(out: object, dtype: np.dtype[Any]) -> np.ndarray | None:
    """Return the memory of ``out`` if the core can write elements of this type to it; else None."""
    memory = as_memory(out)
    return memory if memory is not None and memory.dtype == dtype else None


class Conversions:
    """Converts the arguments of a call to arrays, and counts the bytes that this needs.

    Attributes
    ----------
    made : the bytes of the arrays that were made from arguments, by argument
    """

    def __init__(self, op: str) -> None:
        self.op = op
        self.made: dict[str, int] = {}

    def convert(self, name: str, given: Any, how: Callable[[str, str, Any], np.ndarray], spare: int = 0) -> np.ndarray:
        """Return ``how(op, name, given)``. It temporarily needs ``spare`` bytes for each element."""
        if not isinstance(given, np.ndarray) and adapter_of(given) is None:  # a list: its type depends on its elements
            result = how(self.op, name, given)
            lists = sum(math.prod(result.shape[:n]) for n in range(result.ndim))
            self.made[name] = result.nbytes + 8 * result.size + _RECORD_BYTES * lists
            return result
        array = as_array(self.op, name, given)
        result = how(self.op, name, array)
        if array is not given and array.flags.owndata:
            self.made[name] = self.made.get(name, 0) + array.nbytes
        if result is not array and result.flags.owndata:
            self.made[name] = self.made.get(name, 0) + result.nbytes + spare * min(result.size, _CAST_PIECE)
        return result

    def cast(self, name: str, given: ArrayLike | None, data: np.ndarray) -> np.ndarray:
        """`cast` to the type of data."""
        source = given.dtype if isinstance(given, np.ndarray) else data.dtype
        in_core = _core.cast(np.empty(0, source), data.dtype) is not NotImplemented
        spare = 0 if in_core else _CAST_BYTES
        return self.convert(name, given, lambda op, name, value: cast(op, name, value, "data", data), spare)


def check_call(operation: Operation, data: np.ndarray, indices: np.ndarray, updates: np.ndarray | None = None) -> None:
    """Raise the errors of a call about types, shapes and attributes. The values of indices are not checked.

    Only types and shapes matter, so `make_placeholder` can replace arrays that are not in memory.
    """
    dtype = data.dtype
    if needs_numbers(data, updates, operation.reduction):
        if operation.reduction not in ("none", "add"):
            reduction_fault(operation.op, operation.reduction, dtype)
        dtype = np.dtype(np.int64)
    data = make_placeholder(dtype, data.shape)
    updates = None if updates is None else make_placeholder(dtype, updates.shape)
    _core.check(operation, {"data": data, "indices": indices, "updates": updates})


def make_placeholder(dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    """An array of zeros in native byte order that needs no memory."""
    return np.broadcast_to(native(np.zeros((), dtype)), shape)


_RECORD_BYTES = 64  # NumPy keeps these for every inner list while it reads them
_CAST_PIECE, _CAST_BYTES = 1 << 12, 32  # elements converted at a time, and temporary bytes for each


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether a type has NaN: real and complex floats, with those of ml_dtypes."""
    return dtype.kind in "fc" or element_type(dtype) == "bfloat16"


def can_be_missing(dtype: np.dtype[Any]) -> bool:
    """Whether a type has missing values: NaN, NaT, None, or the missing text of a `numpy.dtypes.StringDType`."""
    return is_float(dtype) or dtype.kind in "mMO" or hasattr(dtype, "na_object")


def find_missing(values: np.ndarray) -> np.ndarray:
    """Return a mask of the missing values. An object is missing if it is None, or differs from itself."""
    dtype: Any = values.dtype
    if not can_be_missing(dtype):
        return np.zeros(values.shape, bool)
    if dtype.kind in "OT":
        is_missing = _is_missing if dtype.kind == "O" else lambda text: text is dtype.na_object
        return np.asarray(np.frompyfunc(is_missing, 1, 1)(values.astype(object)), bool)
    missing: np.ndarray = np.isnat(values) if dtype.kind in "mM" else np.isnan(values)
    return missing


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    differs = value != value
    return bool(differs) if isinstance(differs, bool | np.bool) else differs is value  # the result of pandas.NA


def set_byte_order(result: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Change a new array to the byte order of a type, in place."""
    if result.dtype == dtype:
        return result
    flat = result.reshape(-1)
    swapped = flat.view(dtype)
    for piece in pieces(flat.size):
        swapped[piece] = flat[piece]  # several times faster than `byteswap`
    return swapped.reshape(result.shape)


def needs_numbers(data: np.ndarray, updates: np.ndarray | None, reduction: str) -> bool:
    """Whether the kernels can't move or combine these elements themselves."""
    if data.dtype.hasobject:
        return True
    if data.dtype.kind not in "US":
        return False
    other_type = updates is not None and updates.dtype != data.dtype
    return data.dtype.itemsize == 0 or reduction != "none" or other_type


@lru_cache(maxsize=256)  # NumPy takes microseconds to make a name
def element_type(dtype: np.dtype[Any]) -> str:
    """The name of a NumPy dtype in the table of op versions: "float32", "bfloat16", "string", ...

    >>> element_type(np.dtype("<U5"))
    'string'
    """
    return "string" if dtype.kind in "OSUT" else dtype.name


def as_array(op: str, name: str, value: ArrayLike | None) -> np.ndarray:
    """Convert to an aligned array of the exact class ndarray.

    Raises
    ------
    TypeError
        The value is of a kind that is not read as an array (see `gatherscatter.arrays.kinds`).
    ValueError
        It is a list that is not an array.
    """
    if type(value) is np.ndarray and value.flags.aligned:
        return value
    if value is None:
        raise OpTypeError(f"{op}: {name} is missing", op=op, input=name)
    adapter = None if isinstance(value, np.ndarray) else adapter_of(value)
    if adapter is None or adapter is DLPACK:
        check_kind(op, name, value)
    try:
        array = np.asarray(as_readable(value) if adapter is None else adapter.take(op, name, value))
    except OpError:
        raise
    except ValueError as error:
        is_ragged = "inhomogeneous" in str(error)
        advice = _advise_bags(op, name, value)
        reason = f"its nested lists have different lengths{advice}" if is_ragged else error
        raise OpValueError(f"{op}: {name} can't be made an array: {reason}", op=op, input=name) from None
    except MemoryError:
        raise
    except Exception as error:  # the library of the object can raise anything
        raise OpTypeError(f"{op}: {name} can't be made an array: {error}", op=op, input=name) from None
    if isinstance(value, list | tuple) and array.dtype.kind in "USMm":
        _check_common_type(op, name, value, array.dtype)
    if array.ndim == 0 and array.dtype.hasobject and not isinstance(value, np.ndarray | np.generic | str | bytes | int):
        refuse_object(op, name, value)
    return array if array.flags.aligned else convert_dtype(array, array.dtype)


def _check_common_type(op: str, name: str, value: Any, dtype: np.dtype[Any]) -> None:
    """Refuse lists that NumPy would convert to text, or to a unit of time in which dates are wrong."""
    items = np.asarray(value, dtype=object).ravel().tolist()
    if dtype.kind in "US":
        changed = [item for item in items if not isinstance(item, str if dtype.kind == "U" else bytes)]
    else:
        times = [item for item in items if isinstance(item, np.datetime64 | np.timedelta64)]
        changed = [item for item in times if item.dtype != dtype and not casts.can_represent_value(dtype, item)]
    if changed:
        text = (
            f"{op}: {changed[0]!r} in {name} does not fit in {dtype}, the common type of the list; convert its elements"
        )
        raise OpTypeError(text, op=op, input=name)


def as_indices(
    op: str, name: str, value: ArrayLike, *, others: Mapping[str, Any] | None = None, lists: bool = False
) -> np.ndarray:
    """Convert to a native integer array. An empty list is accepted, unless it would be one tuple without indices.

    ``others`` are inputs with which the indices may have been swapped. A tuple of arrays is refused, because NumPy
    would read it as one array for each axis. With ``lists``, this includes tuples of lists.
    """
    if isinstance(value, tuple):
        check_tuple(op, name, value, lists)
    if lists and isinstance(value, list) and not value:
        raise make_error("no_tuples", op, input=name)
    array = as_array(op, name, value)
    if array.size == 0 and not isinstance(value, np.ndarray) and array.dtype.kind in "fO":
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        found = "text" if array.dtype.kind in "UST" else "records" if array.dtype.names else array.dtype
        raise make_error(
            "not_integers", op, input=name, type=f"{found}{_advise_integers(op, name, array, others or {})}"
        )
    return native(array)


def check_tuple(op: str, name: str, value: tuple[Any, ...], lists: bool = False) -> None:
    """Refuse a tuple with one array of indices for each axis, as NumPy's indexing takes it."""
    arrays = [each for each in value if getattr(each, "ndim", 0) > 0 or (lists and isinstance(each, list))]
    if not arrays:
        return
    if len(value) == 1 or name != "indices":
        raise make_error("tuple_of_one", op, input=name)
    library = {"torch": "torch", "jax": "jnp", "jaxlib": "jnp"}.get(
        str(type(arrays[0]).__module__).partition(".")[0], "np"
    )
    raise make_error("tuple_of_arrays", op, input=name, library=library)


_LABELS = ("group_idx", "segment_ids")


def _advise_bags(op: str, name: str, value: Any) -> str:
    """Return the end of an error about lists of different lengths, if they can be bags."""
    if (op, name) != ("gather_reduce", "indices"):
        return ""
    is_flat = all(isinstance(each, list | tuple | np.ndarray) and not any(map(np.ndim, each)) for each in value)
    return format_sentence("parts", "ragged", input=name) if is_flat else ""


def _advise_integers(op: str, name: str, array: np.ndarray, others: Mapping[str, Any]) -> str:
    """Return the end of an error about indices of another type."""
    kind = array.dtype.kind
    if kind == "b":
        if not name.startswith(("indices", "key")):
            return format_sentence("parts", "whole_numbers", input=name)
        return format_sentence("parts", "mask")
    if array.dtype.names:
        return format_sentence("parts", "records", input=name)
    candidates = ((other, others.get(other)) for other in ("updates", "update", "data"))
    swapped = [other for other, value in candidates if isinstance(value, np.ndarray) and value.dtype.kind in "iu"]
    odd = _find_fraction(array) if kind == "f" else _find_element(array, _is_no_integer)
    if odd is not None and kind == "O" and (advice := _advise_bags(op, name, array)):
        return advice
    if name in _LABELS and "." not in op and (odd is not None or kind in "cmM"):  # versions of operators take no labels
        sentence = "missing_labels" if find_missing(array).any() else "number_labels"
        return format_sentence("parts", sentence, input=name)
    if kind in "fOUST" and array.size and odd is None:
        sentence = "whole_or_swapped" if kind == "f" and swapped else "whole_numbers"
        return format_sentence("parts", sentence, input=name, other=swapped[0] if swapped else "")
    if kind in "fc" and swapped:
        return format_sentence("parts", "swapped", input=name, other=swapped[0])
    return "" if odd is None else _name_element(name, array, odd)


def _find_fraction(array: np.ndarray) -> int | None:
    """Return the flat position of the first float that is not a whole number of 64 bits, or None."""
    fraction = ~(np.abs(array) < 2.0**63) | (np.trunc(array) != array)
    return int(np.argmax(fraction)) if fraction.any() else None


def _find_element(array: np.ndarray, wanted: Callable[[Any], bool]) -> int | None:
    """Return the flat position of the first wanted element of an array of objects or text, or None."""
    elements = array.flat if array.dtype.kind in "OUST" else ()
    return next((n for n, element in enumerate(elements) if wanted(element)), None)


def _is_no_integer(element: Any) -> bool:
    try:
        number = operator.index(int(element) if isinstance(element, str | bytes) else element)
    except (TypeError, ValueError):
        return True
    return not -(2**63) <= number < 2**64


def _name_element(name: str, array: np.ndarray, flat: int) -> str:
    """Return the end of an error that names an element by its flat position."""
    position, element = map(int, np.unravel_index(flat, array.shape)), array.flat[flat]
    where = f"{name}[{', '.join(map(str, position))}]" if array.ndim else name
    value = element.item() if isinstance(element, np.generic) else element
    sentence = "large_element" if isinstance(value, int) and not isinstance(value, bool) else "element"
    return format_sentence("parts", sentence, element=where, value=reprlib.repr(value))


def native(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.isnative else convert_dtype(array, array.dtype.newbyteorder("="))


def number_tuples(tuples: np.ndarray, sizes: Sequence[int | None]) -> np.ndarray | None:
    """Number the elements that index tuples of shape (n, k) name, in row-major order. Bad tuples get -1.

    A size of None is unknown. The result is then None if an index counts from the end.
    """
    dims = []
    for column, size in zip(tuples.T, sizes, strict=True):
        low, high = extremes(column) if size is None and len(column) else (0, -1)
        if low < 0:
            return None
        dims.append(min(high + 1, 2**63 - 1) if size is None else size)
    if math.prod(dims) < 2**63:
        return _core.resolve_indices(tuples, tuple(dims), "skip", "end")
    rows = np.stack(resolve_columns(tuples, dims), axis=1)
    good = (rows >= 0).all(axis=1)
    numbers = np.full(len(rows), -1, np.int64)
    numbers[good] = np.unique(rows[good], axis=0, return_inverse=True)[1].reshape(-1)
    return numbers


def number_elements(positions: np.ndarray, shape: tuple[int, ...], axis: int) -> np.ndarray:
    """Number the elements that indices of ``shape`` name by their positions along the axis. -1 stays -1.

    ``positions`` are flat. Elements in different lines along the axis have different numbers.
    """
    off = tuple(1 if dim == axis else size for dim, size in enumerate(shape))
    lines = np.broadcast_to(np.arange(math.prod(off)).reshape(off), shape).reshape(-1)
    return np.where(positions < 0, -1, positions * math.prod(off) + lines)


def resolve_columns(tuples: np.ndarray, dims: Sequence[int]) -> list[np.ndarray]:
    """The position on each axis, or -1 if an index is out of range."""
    columns = []
    for j, size in enumerate(dims):
        column = _core.resolve_indices(tuples[:, j : j + 1], (size,), "skip", "end")
        assert column is not None  # this mode skips bad indices
        columns.append(column)
    return columns


def cast(
    op: str,
    name: str,
    value: ArrayLike | None,
    target: str,
    data: np.ndarray,
    *,
    widen: bool = True,
    origin: tuple[int, ...] | None = None,
) -> np.ndarray:
    """Convert an input to the type of ``data``, by the rule of `gatherscatter.arrays.casts`.

    Messages call data ``target``. Text of a fixed width keeps its width, if the result can ``widen``. For an array that
    is a chunk of a larger one, ``origin`` is the position where it begins.

    Raises
    ------
    TypeError
        The type can't be converted.
    ValueError
        A value does not fit.
    """
    dtype = data.dtype
    is_list = not isinstance(value, np.ndarray | np.generic | None) and adapter_of(value) is None
    if is_list and dtype.kind in "OT":  # NumPy could change the elements of a list to a common type
        check_kind(op, name, value, of_objects=True)
        value = as_objects(value)
    array = as_array(op, name, value)
    if array.dtype == dtype:
        return array
    if is_list and array.size == 0:
        return array.astype(dtype)
    if is_list and array.dtype.kind in "fO" and casts.is_integer(dtype):
        array = _as_integers(op, name, value, array, target, dtype)
    text, data_text = strings.text_kind(array), strings.text_kind(data)
    if widen and text and dtype.kind in "US":
        if array.dtype.kind == dtype.kind:
            return array
        dtype = _as_wide_as(array, dtype)
    only_text = data_text and not hasattr(dtype, "na_object")
    if not casts.can_represent_type(array.dtype, dtype) or (only_text and text != data_text):
        is_number = dtype.kind in "biufcV" and array.dtype.kind in "OUST"
        odd = _find_element(array, lambda element: not isinstance(element, numbers.Number)) if is_number else None
        if odd is not None:
            refuse_type(op, name, array.dtype, target, data.dtype, _name_element(name, array, odd))
        if dtype.kind == "b" and array.dtype.kind in "iu" and array.size and set(extremes(array.reshape(-1))) <= {0, 1}:
            sentence, one = ("truth_values", None) if array.ndim else ("truth_value", bool(array))
            refuse_type(op, name, array.dtype, target, dtype, format_sentence("parts", sentence, value=one))
        refuse_type(op, name, array.dtype, target, data.dtype)
    distinct = array[(*(slice(None if step else 1) for step in array.strides), ...)]  # repeated memory only once
    result = _core.cast(distinct, dtype)
    if result is NotImplemented or result is None:  # other types, or a value that does not fit
        result = _cast_in_pieces(op, name, distinct, target, dtype, data.dtype, origin=origin)
    return result if result.shape == array.shape else np.broadcast_to(result, array.shape)


def _cast_in_pieces(
    op: str,
    name: str,
    array: np.ndarray,
    target: str,
    dtype: np.dtype[Any],
    target_type: np.dtype[Any],
    *,
    origin: tuple[int, ...] | None,
) -> np.ndarray:
    """Convert an array, or raise the error about the first element that does not fit."""
    # Slices of ``flat`` need no copy of the whole array, but NumPy 2.4 breaks long strings of StringDType in them.
    is_safe_flat = array.dtype.kind != "T" and not array.flags.c_contiguous
    elements = array.flat if is_safe_flat else array.reshape(-1)
    result = np.zeros(array.shape, dtype)
    for piece in pieces(array.size, _CAST_PIECE):
        part, changed = casts.convert_checked(elements[piece], dtype)
        if changed is not None and changed.any():
            _raise_cast_error(
                op, name, array, piece.start + int(np.argmax(changed)), target, target_type, origin=origin
            )
        result.reshape(-1)[piece] = part
    return result


def refuse_type(op: str, name: str, dtype: Any, target: str, target_type: Any, advice: str = "") -> NoReturn:
    """Raise the error about elements of a type that another array can't store."""
    values = {"input": name, "type": dtype, "target": target, "target_type": target_type}
    are_numbers = all(getattr(each, "kind", "f") in "biufcVO" for each in (dtype, target_type))
    sentence = "convert_either" if are_numbers else "convert_one"
    raise make_error("stored_type", op, **values, advice=advice or format_sentence("parts", sentence, **values))


def _as_integers(op: str, name: str, value: Any, array: np.ndarray, target: str, dtype: np.dtype[Any]) -> np.ndarray:
    """Convert integers without a common type in NumPy, such as 2**63 and 1, to an integer type."""
    items = np.asarray(value, dtype=object)
    if not all(isinstance(item, int | np.integer) for item in items.flat):
        return array
    low, high = casts.bounds(dtype)
    for flat, item in enumerate(items.flat):
        if not low <= item <= high:
            _raise_cast_error(op, name, items, flat, target, dtype)
    return items.astype(dtype)


def _as_wide_as(words: np.ndarray, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A fixed-width text type that is as wide as the longest word."""
    widths = (len(word) for word in words.astype(object).flat if isinstance(word, str | bytes))
    return np.dtype(f"{dtype.kind}{max(widths, default=1) or 1}")


def _raise_cast_error(
    op: str,
    name: str,
    array: np.ndarray,
    flat: int,
    target: str,
    dtype: np.dtype[Any],
    *,
    origin: tuple[int, ...] | None = None,
) -> NoReturn:
    """Raise the error about an element, at a flat position, that does not fit in a type."""
    position = tuple(map(int, np.unravel_index(flat, array.shape)))
    value: Any = array[position]
    if origin is not None:
        position = tuple(first + at for first, at in zip(origin, position, strict=True))
    where = f"{name}[{', '.join(map(str, position))}]" if position else name
    shown = repr(value.item() if array.dtype.kind in "US" else value) if array.dtype.kind in "OSUT" else str(value)
    text = f"{op}: {where} = {shown} does not fit in {target} of type {dtype}"
    raise OpValueError(text, op=op, input=name, positions=(position,))


def check_out(op: str, out: object, data: np.ndarray, updates: np.ndarray | None) -> None:
    """Check that a result with the type of data, and for a scatter with its shape, can be written to ``out``."""
    if not isinstance(out, np.ndarray):
        raise OpTypeError(f"{op}: out must be a NumPy array, not {type(out).__name__}", op=op, input="out")
    if not out.flags.writeable:
        raise OpValueError(f"{op}: out is read-only", op=op, input="out")
    if out.dtype != data.dtype and not strings.text_kind(data) == strings.text_kind(out) != "":
        raise OpTypeError(f"{op}: out has type {out.dtype}, but the result has {data.dtype}", op=op, input="out")
    if updates is not None and out.shape != data.shape:
        raise OpValueError(f"{op}: out has shape {out.shape}, but the result has {data.shape}", op=op, input="out")


def as_memory(out: object) -> np.ndarray | None:
    """Return the memory of ``out`` as a plain array, or None if an assignment to it does more than write to memory.

    A memory-mapped file is written in place. A masked array also has a mask, and a quantity a unit.
    """
    if type(out) is np.ndarray:
        return out
    if isinstance(out, np.ndarray) and type(out).__setitem__ is np.ndarray.__setitem__:
        return out.view(np.ndarray)
    return None


def is_same_memory(out: object, data: np.ndarray) -> bool:
    """Whether ``out`` is ``data``, or another array with the same elements at the same addresses."""
    if out is data:
        return True
    memory = as_memory(out)
    return (
        memory is not None
        and (memory.dtype, memory.shape, memory.strides) == (data.dtype, data.shape, data.strides)
        and memory.__array_interface__["data"] == data.__array_interface__["data"]
    )


def copy_into(op: str, out: np.ndarray, result: np.ndarray) -> np.ndarray:
    """Copy the result to ``out``, as the last step of a call. All checks come before the first write."""
    if out.shape != result.shape:
        text = f"{op}: out has shape {out.shape}, but the result has {result.shape}"
        raise OpValueError(text, op=op, input="out")
    out[...] = cast(op, "result", result, "out", out, widen=False)
    return out
