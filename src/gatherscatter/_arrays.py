"""Arrays of every kind, made ready for the core: what its fast path hands over comes here, and goes back to it.

The functions named like the array functions of the package root have their signatures; the core calls them with the
arguments as they were given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core, _strings
from gatherscatter._pieces import converted, pieces
from gatherscatter.errors import OpTypeError, OpValueError
from gatherscatter.kinds import any_kind, kind_of


@any_kind
def gather(
    data: ArrayLike,
    indices: ArrayLike,
    axis: int = 0,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray:
    return execute(
        "gather", "gather", data, indices, axis=axis, batch_dims=batch_dims, mode=mode, out=out, num_threads=num_threads
    )


@any_kind
def gather_elements(
    data: ArrayLike,
    indices: ArrayLike,
    axis: int = 0,
    *,
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray:
    return execute(
        "gather_elements", "gather_elements", data, indices, axis=axis, mode=mode, out=out, num_threads=num_threads
    )


@any_kind
def gather_nd(
    data: ArrayLike,
    indices: ArrayLike,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray:
    return execute(
        "gather_nd", "gather_nd", data, indices, batch_dims=batch_dims, mode=mode, out=out, num_threads=num_threads
    )


@any_kind
def scatter_update(
    data: ArrayLike, indices: ArrayLike, updates: ArrayLike, axis: int = 0, **options: Any
) -> np.ndarray:
    return execute("scatter_update", "scatter_update", data, indices, updates, axis=axis, **options)


@any_kind
def scatter_elements(
    data: ArrayLike, indices: ArrayLike, updates: ArrayLike, axis: int = 0, **options: Any
) -> np.ndarray:
    return execute("scatter_elements", "scatter_elements", data, indices, updates, axis=axis, **options)


@any_kind
def scatter_nd(data: ArrayLike, indices: ArrayLike, updates: ArrayLike, **options: Any) -> np.ndarray:
    return execute("scatter_nd", "scatter_nd", data, indices, updates, **options)


def execute(
    op: str,
    kernel: str,
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike | None = None,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    negative: bool = True,
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray:
    """Run one kernel on arrays of any kind; ``op`` is what messages call it."""
    call = ready(op, kernel, data, indices, updates, reduction, out)

    def core(array: np.ndarray, update: np.ndarray | None, kernel: str = kernel, reduction: str = reduction,
             mode: str = mode, out: np.ndarray | None = None) -> np.ndarray:  # fmt: skip
        return _core.apply(op, kernel, array, call.indices, update, axis, batch_dims, reduction, include_self,
                           accumulate, mode, negative, out, num_threads)  # fmt: skip

    if call.is_text:
        result = _strings.execute(op, kernel, core, call.data, call.updates, reduction, include_self, mode)
    else:
        result = _in_order(core(call.data, call.updates, out=call.out), call.dtype)
    return result if out is None or call.out is not None else _copy_into(op, out, result)


class Ready(NamedTuple):
    """The arguments of a call as the core takes them, from which follows how the call goes; `ready` makes it."""

    data: np.ndarray
    indices: np.ndarray
    updates: np.ndarray | None
    out: np.ndarray | None  # where the core writes the result; None: to a new array
    dtype: np.dtype[Any]  # of the result; it differs from data's in byte order alone
    is_text: bool  # the core moves numbers in place of the elements
    made: dict[str, int]  # bytes of the arrays that were made from arguments, by their names


def ready(
    op: str, kernel: str, data: ArrayLike, indices: ArrayLike, updates: ArrayLike | None, reduction: str, out: object
) -> Ready:
    """Check and convert the arguments of a call."""
    made: dict[str, int] = {}

    def convert(name: str, given: Any, how: Callable[[Any], np.ndarray]) -> np.ndarray:
        array = as_array(op, name, given)
        result = how(array if array.size else given)  # an empty list may stand for any type
        for source, each in ((given, array), (array, result)):
            if each is not source and each.flags.owndata:
                made[name] = made.get(name, 0) + each.nbytes
        if isinstance(given, list | tuple):  # NumPy keeps a record of every inner list while it reads them
            made[name] = made.get(name, 0) + _RECORD_BYTES * sum(math.prod(array.shape[:n]) for n in range(array.ndim))
        return result

    array = convert("data", data, lambda value: as_array(op, "data", value))
    index = convert("indices", indices, lambda value: as_indices(op, "indices", value))
    update = None
    if kernel.startswith("scatter"):
        update = convert("updates", updates, lambda value: cast(op, "updates", value, "data", array))
    if out is not None:
        check_out(op, out, array, update)
    dtype = array.dtype
    is_text = _strings.needs_numbers(array, update, reduction)
    if update is not None and reduction != "none" and not is_text:
        array, update = convert("data", array, native), convert("updates", update, native)
    to_core = out if type(out) is np.ndarray and out.dtype == array.dtype == dtype and not is_text else None
    return Ready(array, index, update, to_core, dtype, is_text, made)


_RECORD_BYTES = 64


def _in_order(result: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """A new array in the byte order of a type, without a copy."""
    if result.dtype == dtype:
        return result
    flat = result.reshape(-1)
    for piece in pieces(flat.size):
        flat[piece].byteswap(inplace=True)
    return result.view(dtype)


def as_array(op: str, name: str, value: ArrayLike | None) -> np.ndarray:
    """An exact, aligned ndarray."""
    if type(value) is np.ndarray and value.flags.aligned:
        return value
    if value is None:
        raise OpTypeError(f"{op}: {name} is missing", op=op, input=name)
    if isinstance(value, np.ma.MaskedArray):
        raise OpTypeError(f"{op}: {name} is a masked array, whose mask would be lost; use .filled()", op=op, input=name)
    kind = kind_of(value)
    try:
        array = np.asarray(value if kind is None else kind.take(op, name, value))
        return array if array.flags.aligned else converted(array, array.dtype)
    except (ValueError, OverflowError) as error:
        raise OpValueError(f"{op}: {name} can't be made an array: {error}", op=op, input=name) from None


def as_indices(op: str, name: str, value: ArrayLike) -> np.ndarray:
    """A native integer array; an empty list counts as one."""
    array = as_array(op, name, value)
    if array.size == 0 and not isinstance(value, np.ndarray) and array.dtype == np.float64:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise OpTypeError(f"{op}: {name} must be integers, not {array.dtype}", op=op, input=name)
    return native(array)


def native(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.isnative else converted(array, array.dtype.newbyteorder("="))


def cast(op: str, name: str, value: ArrayLike | None, target: str, data: np.ndarray) -> np.ndarray:
    """An input in the type of ``data``, which messages call ``target``, if nothing but precision is lost by that."""
    array = as_array(op, name, value)
    if array.dtype == data.dtype:
        return array
    text, data_text = _strings.text_kind(array), _strings.text_kind(data)
    if text and text == data_text:
        return array
    if _is_integer(array.dtype) and _is_integer(data.dtype):
        return _narrowed(op, name, array, target, data.dtype)
    empty = array.size == 0 and not isinstance(value, np.ndarray)
    if not empty and not (data.dtype.kind == "O" and not data_text) and not _can_hold(data.dtype, array.dtype):
        raise OpTypeError(
            f"{op}: {name} of type {array.dtype} can't be stored in {target} of type {data.dtype}; convert one of them",
            op=op,
            input=name,
        )
    with np.errstate(over="ignore", invalid="ignore"):  # a number too large for the type is infinite in it
        result = array.astype(data.dtype)
    if data.dtype.name.startswith("float8") and np.any(np.isnan(result) & ~np.isnan(array)):
        raise OpValueError(f"{op}: {name} does not fit in {target} of type {data.dtype}", op=op, input=name)
    return result


# Each kind of number can hold those before it.
_NUMBERS = (("bool",), ("int", "uint"), ("float", "bfloat"), ("complex",))


def _can_hold(dtype: np.dtype[Any], other: np.dtype[Any]) -> bool:
    rank, other_rank = (
        next((rank for rank, names in enumerate(_NUMBERS) if each.name.startswith(names)), None)
        for each in (dtype, other)
    )
    if rank is None or other_rank is None:
        same = dtype.kind == other.kind and dtype.names == other.names and dtype.kind not in "OSUT"
        return same and np.can_cast(other, dtype, "same_kind")
    return other_rank <= rank


def _is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.name.startswith(("int", "uint"))


def _narrowed(op: str, name: str, array: np.ndarray, target: str, dtype: np.dtype[Any]) -> np.ndarray:
    """Integers as another integer type that holds every one of them."""
    bits = int(dtype.name.removeprefix("u").removeprefix("int"))
    low, high = (0, 2**bits - 1) if dtype.name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    distinct = array[tuple(slice(None if step else 1) for step in array.strides)]  # once what memory holds once
    wide = distinct if array.dtype.kind in "iu" else distinct.astype(np.int64)  # int4 has neither minimum nor maximum
    if wide.size and (wide.min() < low or wide.max() > high):
        worst = wide.min() if wide.min() < low else wide.max()
        raise OpValueError(f"{op}: {worst} in {name} does not fit in {target} of type {dtype}", op=op, input=name)
    return array.astype(dtype)


def check_out(op: str, out: object, data: np.ndarray, updates: np.ndarray | None) -> None:
    """Whether a result with the type of data, and for a scatter with its shape, can be written to ``out``."""
    if not isinstance(out, np.ndarray):
        raise OpTypeError(f"{op}: out must be a NumPy array, not {type(out).__name__}", op=op, input="out")
    if not out.flags.writeable:
        raise OpValueError(f"{op}: out is read-only", op=op, input="out")
    if out.dtype != data.dtype and not (_strings.text_kind(data) and _strings.text_kind(out)):
        raise OpTypeError(f"{op}: out has type {out.dtype}, but the result has {data.dtype}", op=op, input="out")
    if updates is not None and out.shape != data.shape:
        raise OpValueError(f"{op}: out has shape {out.shape}, but the result has {data.shape}", op=op, input="out")


def _copy_into(op: str, out: np.ndarray, result: np.ndarray) -> np.ndarray:
    """The last step of a call that could not write to ``out`` directly: nothing can fail after it has begun."""
    if out.shape != result.shape:
        text = f"{op}: out has shape {out.shape}, but the result has {result.shape}"
        raise OpValueError(text, op=op, input="out")
    if out.dtype != result.dtype and not np.can_cast(result.dtype, out.dtype, "safe"):
        text = f"{op}: out of type {out.dtype} is too narrow for a result of type {result.dtype}"
        raise OpValueError(text, op=op, input="out")
    out[...] = result
    return out
