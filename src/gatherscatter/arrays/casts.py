"""The rule for conversions between element types: a value keeps its meaning, or it does not fit.

Integers, booleans, text, dates and durations stay equal, even if integers become floats. Floats and complex numbers are
rounded. A float that is too large becomes infinite. If the type has no infinity, it does not fit. Structured elements
follow the rule field by field, and their fields must have the same names in the same order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

DType = np.dtype[Any]
# Values of the new type, and a mask of those that changed; None if none did.
Converted = tuple[np.ndarray, np.ndarray | None]

# Each kind of number can hold the kinds before it.
_BOOLEAN, _INTEGER, _FLOAT, _COMPLEX = range(4)
_RANKS = {"b": _BOOLEAN, "i": _INTEGER, "u": _INTEGER, "f": _FLOAT, "c": _COMPLEX}  # by NumPy's letter for the kind


def can_represent_type(source: DType, target: DType) -> bool:
    """Whether elements of one type can be converted to another, judged by the types alone.

    >>> can_represent_type(np.dtype("int64"), np.dtype("int8"))
    True
    >>> can_represent_type(np.dtype("float32"), np.dtype("int8"))
    False
    """
    if source == target:
        return True
    if source.names is not None and source.names == target.names:
        return _fields_fit(source, target)
    if target.kind == "O":
        return not (source.names is not None and any(part.kind in "Mm" for part in _leaves(source)))
    rank, target_rank = _rank(source), _rank(target)
    if rank is not None and target_rank is not None:
        return rank <= target_rank
    if source.kind == target.kind and source.kind in "Mm":
        return np.can_cast(source, target, "same_kind") and _have_a_factor(source, target)
    return _holds_text(source, target)


def convert_checked(array: np.ndarray, dtype: DType) -> Converted:
    """Convert an array to another type that `can_represent_type` allows.

    >>> convert_checked(np.array([1, 300]), np.dtype("int8"))[1]
    array([False,  True])
    """
    source = array.dtype
    if source == dtype:
        return array, None
    if source.names is not None and dtype.names is not None:
        return _convert_fields(array, dtype)
    if dtype.kind == "O":
        return _convert_to_objects(array, dtype)
    if dtype.kind in "Mm":
        return _convert_times(array, dtype)
    if dtype.kind in "SUT":
        return _convert_text(array, dtype)
    return _convert_integers(array, dtype) if _rank(dtype) == _INTEGER else _convert_numbers(array, dtype)


def can_represent_value(dtype: DType, value: np.generic) -> bool:
    """Whether a value keeps its meaning in another type.

    >>> can_represent_value(np.dtype("int8"), np.int64(300))
    False
    """
    array = np.asarray(value)
    if not can_represent_type(array.dtype, dtype):
        return False
    _, changed = convert_checked(array, dtype)
    return changed is None or not changed.any()


def is_integer(dtype: DType) -> bool:
    """Whether elements are integers, including those of four and two bits."""
    return _rank(dtype) == _INTEGER


@lru_cache(maxsize=256)  # NumPy takes microseconds to make a name
def bounds(dtype: DType) -> tuple[int, int]:
    """The least and the greatest integer of a type.

    >>> bounds(np.dtype("int8"))
    (-128, 127)
    """
    bits = int(dtype.name.removeprefix("u").removeprefix("int"))
    return (0, 2**bits - 1) if dtype.name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _rank(dtype: DType) -> int | None:
    """The rank of a type of numbers."""
    if dtype.kind in _RANKS:
        return _RANKS[dtype.kind]
    if dtype.kind in "OSUTMm" or dtype.type is np.void:
        return None
    if dtype.name.startswith(("int", "uint")):  # most types of ml_dtypes have the letter of records
        return _INTEGER
    return _FLOAT if dtype.name.startswith(("float", "bfloat")) else None


def _fields_fit(source: DType, target: DType) -> bool:
    parts = [(source[name], target[name]) for name in source.names or ()]
    return all(
        one.shape == other.shape and can_represent_type(one.base, other.base) for one, other in parts
    ) and not _fields_overlap(target)


def _fields_overlap(dtype: DType) -> bool:
    """Whether fields share memory."""
    fields = sorted((field[1], field[1] + field[0].itemsize) for field in (dtype.fields or {}).values())
    return any(end > start for (_, end), (start, _) in itertools.pairwise(fields))


def _have_a_factor(source: DType, target: DType) -> bool:
    """Whether NumPy can convert between two units of time."""
    try:
        np.empty(0, source).astype(target).astype(source)
    except OverflowError:
        return False
    return True


def _leaves(dtype: DType) -> Iterator[DType]:
    """The types of all fields, including nested ones."""
    for name in dtype.names or ():
        part = dtype[name].base
        yield from [part] if part.names is None else _leaves(part)


def _holds_text(source: DType, target: DType) -> bool:
    """Whether the target holds text of the kind of the source. Objects are accepted, and checked by value later."""
    kinds = {"U": "str", "T": "str", "S": "bytes"}
    if target.kind not in kinds:
        return False
    return source.kind == "O" or kinds.get(source.kind) == kinds[target.kind]


def _convert_fields(array: np.ndarray, dtype: DType) -> Converted:
    result, changed = np.zeros(array.shape, dtype), np.zeros(array.shape, bool)
    for name in dtype.names or ():
        result[name], lost = convert_checked(array[name], dtype[name].base)
        if lost is not None:
            changed |= lost.any(axis=tuple(range(array.ndim, lost.ndim)))
    return result, changed


def _convert_to_objects(array: np.ndarray, dtype: DType) -> Converted:
    result = array.astype(dtype)
    if array.dtype.kind not in "Mm":
        return result, None
    units = (isinstance(item, int) for item in result.flat)  # NumPy makes integers of times that Python has no type for
    return result, np.fromiter(units, bool, result.size).reshape(result.shape)


def _convert_integers(array: np.ndarray, dtype: DType) -> Converted:
    """Convert booleans and integers to integers."""
    wide = array if array.dtype.kind in "iub" else array.astype(np.int64)  # NumPy can't compare four bits
    (least, greatest), (low, high) = (0, 1) if array.dtype.kind == "b" else bounds(array.dtype), bounds(dtype)
    if low <= least and greatest <= high:
        return wide.astype(dtype), None
    if not wide.size or (low <= wide.min() and wide.max() <= high):
        return wide.astype(dtype), None
    changed = (wide < low) | (wide > high)
    return wide.astype(dtype), changed


def _convert_numbers(array: np.ndarray, dtype: DType) -> Converted:
    """Convert numbers to floats or complex numbers. Integers stay equal, floats are rounded."""
    if is_integer(array.dtype) and not _holds_all(dtype, array.dtype):
        return _convert_integers_to_floats(array, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if array.dtype.isbuiltin == 2:  # not all types of ml_dtypes convert to each other
            array = array.astype(np.float32)
        result = array.astype(dtype)
        if dtype.isbuiltin != 2 or dtype.name == "bfloat16":
            return result, None
        # The smallest floats may lack infinity, NaN, zero or a sign.
        given, made = array.astype(np.float64), result.astype(np.float64)
        changed = np.isnan(given) != np.isnan(made)
        changed |= np.isinf(given) & np.isfinite(made)
        changed |= np.isfinite(made) & (np.sign(made) * np.sign(given) < 0)
        changed |= (given == 0) & (made != 0)
        changed |= np.isfinite(made) & (np.abs(given) > _rounds_down_from(dtype))
    return result, changed


def _holds_all(dtype: DType, integers: DType) -> bool:
    """Whether a type of floats holds every integer of a type for certain."""
    bits = bounds(integers)[1].bit_length()
    return dtype.isbuiltin != 2 and np.finfo(dtype).nmant + 1 >= bits


def _convert_integers_to_floats(array: np.ndarray, dtype: DType) -> Converted:
    """Convert integers to floats, and back to find those that changed."""
    wide = array if array.dtype.kind in "iu" else array.astype(np.int64)  # NumPy can't compare four bits
    low, high = bounds(wide.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        result = wide.astype(dtype)
        made = result.real.astype(np.float64)
        inside = (made >= low) & (made < float(high + 1))
        return result, ~inside | (np.where(inside, made, 0).astype(wide.dtype) != wide)


def _rounds_down_from(dtype: DType) -> float:
    """Numbers above this limit are too large to be rounded down to the greatest number of a type."""
    import ml_dtypes

    facts: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    greatest = float(facts.max)
    return greatest + float(2.0 ** (np.floor(np.log2(greatest)) - facts.nmant - 1))


def _convert_times(array: np.ndarray, dtype: DType) -> Converted:
    """Convert dates and durations, and back to find those that were truncated or overflowed."""
    try:
        result = array.astype(dtype)
        back = result.astype(array.dtype)
    except OverflowError:  # since NumPy 2.5; older versions wrap
        if array.ndim == 0:
            return np.zeros((), dtype), np.array(True)
        result, lost = np.zeros(array.shape, dtype), np.zeros(array.shape, bool)
        for at in np.ndindex(array.shape):
            result[at], lost[at] = _convert_times(array[(*at, ...)], dtype)
        return result, lost
    if np.datetime_data(array.dtype)[0] == "generic":  # numbers without a unit get that of the target
        return result, None
    return result, back.view(np.int64) != array.view(np.int64)


def _convert_text(array: np.ndarray, dtype: DType) -> Converted:
    if array.dtype.kind == dtype.kind != "T" and array.dtype.itemsize <= dtype.itemsize:
        return array.astype(dtype), None
    kind = bytes if dtype.kind == "S" else str
    result, lost = np.zeros(array.shape, dtype), np.zeros(array.shape, bool)
    for at, word in np.ndenumerate(array.astype(object)):
        if isinstance(word, kind):
            try:
                result[at] = word
                lost[at] = result[at] != word  # it was truncated, or ended in zeros
            except UnicodeEncodeError:  # StringDType has no surrogates
                lost[at] = True
        elif _is_missing(word, array.dtype, dtype):
            result[at] = dtype.na_object  # type: ignore[attr-defined]
        else:
            lost[at] = True
    return result, lost


def _is_missing(value: Any, source: DType, target: DType) -> bool:
    """Whether a value is a missing one, and the target supports missing values."""
    return hasattr(target, "na_object") and (source.kind == "T" or value is target.na_object)


def dtype_of(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of a name in the table of op versions. Strings are objects.

    >>> dtype_of("bfloat16"), dtype_of("string")
    (dtype(bfloat16), dtype('O'))
    """
    import ml_dtypes

    return np.dtype(object if name == "string" else getattr(ml_dtypes, name, None) or name)
