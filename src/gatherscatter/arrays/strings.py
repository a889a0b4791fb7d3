"""Strings and other objects: the kernels move numbers, and NumPy then moves the objects with these numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter.errors import OpTypeError, reduction_fault
from gatherscatter.operation import Operation
from gatherscatter.system.pieces import convert_dtype, make_contiguous, pieces

Core = Callable[[Operation, np.ndarray, np.ndarray | None], np.ndarray]


def text_kind(array: np.ndarray) -> str:
    """Return "str" or "bytes" for an array of text, and "" for any other. Empty object arrays hold str."""
    if array.dtype.kind == "O":
        kinds = {type(element) for element in array.flat}
        return "bytes" if kinds == {bytes} else "str" if all(issubclass(kind, str) for kind in kinds) else ""
    return {"U": "str", "T": "str", "S": "bytes"}.get(array.dtype.kind, "")


def execute(
    operation: Operation, core: Core, data: np.ndarray, updates: np.ndarray | None, row_rank: int
) -> np.ndarray:
    """Run an operation on objects. ``core`` runs one on numbers with the same indices.

    Of a gather, ``row_rank`` is the number of dims of data after those that its indices and its axis name.
    """
    op, reduction = operation.op, operation.reduction
    if updates is None:
        return _gather(operation, core, data, row_rank)
    if reduction not in ("none", "add") or (reduction == "add" and not text_kind(data)):
        reduction_fault(op, reduction, data.dtype)
    result, updates = _common_type(data, updates)
    nothing = np.broadcast_to(np.int64(0), data.shape)
    last_update = core(operation._replace(reduction="none"), nothing, _number_elements(updates.shape))
    if reduction == "none":
        return _copy_by_number(_copy_if_shared(result, data), make_contiguous(updates).reshape(-1), last_update)
    del last_update
    targets = core(operation.make_counterpart(), _number_elements(data.shape), None)
    try:
        return _concatenate(result, updates, targets, operation.include_self)
    except TypeError:  # a missing value of StringDType
        raise OpTypeError(f"{op}: not all elements are text that can be concatenated", op=op, input="data") from None


def scratch_bytes(data: np.ndarray, updates: np.ndarray | None, slots: int, reduction: str) -> int:
    """The scratch of `execute` in bytes, at most, without that of the core."""
    numbers = (data.size + slots) * _NUMBER_BYTES
    if updates is None:
        return max(numbers, slots * _NUMBER_BYTES + _flat_bytes(data) + _piece_bytes(data, slots))
    same = data.dtype == updates.dtype
    wide = 0 if same else sum(each.size * max(data.itemsize, updates.itemsize, 4) for each in (data, updates))
    if reduction == "none":
        moved = data.size * _NUMBER_BYTES + _flat_bytes(updates) + _piece_bytes(updates, data.size)
        return wide + max(numbers, moved)
    # A dict holds a str or bytes for each element that changes. In object arrays, these are part of the result.
    changed = min(slots, data.size)
    return numbers + wide + changed * _TEXT_BYTES + 4 * (_characters(data) + _characters(updates))


_AT_ONCE = 1 << 16  # elements that NumPy moves at a time
_NUMBER_BYTES = 8  # of a number that represents an element
_TEXT_BYTES = 250  # of a text without its characters, its number, and the dict entry


def _piece_bytes(values: np.ndarray, n: int) -> int:
    """The scratch of `_copy_by_number` for n elements: values, numbers and masks of a piece."""
    return min(n, _AT_ONCE) * (values.itemsize + 32)


def _flat_bytes(array: np.ndarray) -> int:
    return 0 if array.flags.c_contiguous else array.nbytes


def _characters(array: np.ndarray) -> int:
    """The largest number of characters that an array of text may hold."""
    if array.dtype.kind in "US":
        return array.nbytes // (4 if array.dtype.kind == "U" else 1)
    return sum(len(text) for text in array.flat if isinstance(text, str | bytes))


def _number_elements(shape: tuple[int, ...], first: int = 1) -> np.ndarray:
    """Consecutive numbers in this shape. From 1 on, the number 0 means no element."""
    numbers = np.empty(math.prod(shape), np.int64)
    for part in pieces(numbers.size, _AT_ONCE):
        numbers[part] = np.arange(part.start + first, part.stop + first)
    return numbers.reshape(shape)


def _gather(operation: Operation, core: Core, data: np.ndarray, row_rank: int) -> np.ndarray:
    """Number the rows of data, gather the numbers, and let NumPy copy the rows."""
    dims, width = data.shape[: data.ndim - row_rank], data.shape[data.ndim - row_rank :]
    rows = make_contiguous(data).reshape(math.prod(dims), *width)
    sources = core(operation, _number_elements(dims, int(operation.skips)), None)
    if not operation.skips:
        return _take(rows, sources)
    out = np.zeros((*sources.shape, *width), data.dtype)  # rows without a source stay zero
    if data.dtype.kind == "O" and text_kind(data):
        for part in pieces(out.size):
            out.reshape(-1)[part] = ""
    return _copy_by_number(out, rows, sources)


def _take(values: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The rows of ``values`` with these numbers, which begin at 0."""
    width = values.shape[1:]
    if values.dtype.itemsize == 0 or numbers.size * math.prod(width) == 0:
        return np.zeros((*numbers.shape, *width), values.dtype)
    out = np.empty((*numbers.shape, *width), values.dtype)
    to, sources = out.reshape(-1, *width), numbers.reshape(-1)
    for part in pieces(sources.size, max(_AT_ONCE // math.prod(width), 1)):
        values.take(sources[part], axis=0, out=to[part], mode="clip")  # other modes make another copy
    return out


def _copy_if_shared(array: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Copy ``array`` if it shares memory with data."""
    return convert_dtype(array, array.dtype) if np.may_share_memory(array, data) else array


def _copy_by_number(out: np.ndarray, values: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Write the rows of ``values`` with these numbers to ``out``. The number 0 writes nothing."""
    width = values.shape[1:]
    if out.size == 0:
        return out
    to, sources = out.reshape(-1, *width), numbers.reshape(-1)
    for part in pieces(sources.size, max(_AT_ONCE // math.prod(width), 1)):
        found = sources[part] > 0
        to[part][found] = values[sources[part][found] - 1]
    return out


def _common_type(data: np.ndarray, updates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Convert both to one type, which is wide enough for all text."""
    dtype = _promote_text_types(data.dtype, updates.dtype) if data.dtype.kind in "US" else data.dtype
    return data.astype(dtype, copy=False), updates.astype(dtype, copy=False)


def _promote_text_types(dtype: np.dtype[Any], other: np.dtype[Any]) -> np.dtype[Any]:
    """A fixed-width type as wide as both, in the byte order of the first."""
    return np.promote_types(dtype, other).newbyteorder(dtype.byteorder)


def _concatenate(data: np.ndarray, updates: np.ndarray, targets: np.ndarray, include_self: bool) -> np.ndarray:
    flat = data.reshape(-1) if data.flags.c_contiguous else data.flat
    changed: dict[int, Any] = {}
    for target, update in zip(targets.flat, updates.flat, strict=True):
        flat_position = int(target) - 1
        if flat_position >= 0:
            before = changed.get(flat_position)
            if before is None and include_self:
                before = flat[flat_position]
            changed[flat_position] = update if before is None else before + update
    dtype: Any = data.dtype
    if data.dtype.kind in "US":
        widest = max((len(text) for text in changed.values()), default=1)
        dtype = _promote_text_types(data.dtype, np.dtype(f"{data.dtype.kind}{max(widest, 1)}"))
    out = convert_dtype(data, dtype)
    to = out.reshape(-1)
    for flat_position, text in changed.items():
        to[flat_position] = text
    return out
