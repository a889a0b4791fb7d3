"""Convert the inputs of calls: to Dask arrays with known chunks, and to indices and updates, lazy or in memory."""

from __future__ import annotations

import math
from typing import Any

import dask.array as da
import numpy as np
from dask.array import Array

from gatherscatter.arrays import convert
from gatherscatter.dask.tasks import prevent_fusion
from gatherscatter.errors import OpTypeError, OpValueError, make_error
from gatherscatter.messages.sentences import format_sentence
from gatherscatter.operation import Form, Operation

PLANS = ("lazy", "eager")


def check_plan(op: str, plan: str, out: object) -> None:
    """Check the arguments that only calls with Dask arrays have."""
    if plan not in PLANS:
        text = f"{op}: plan must be one of {', '.join(map(repr, PLANS))}, not {plan!r}"
        raise (OpValueError if isinstance(plan, str) else OpTypeError)(text, op=op, input="plan")
    if out is not None:
        raise OpTypeError(f"{op}: out can't be given with Dask arrays, which never change", op=op, input="out")
    if "_array_expr" in Array.__module__:
        text = f"{op}: Dask's array expressions are not supported; set array.query-planning to False"
        raise OpTypeError(text, op=op)


def as_dask(op: str, name: str, value: Any) -> Array:
    """Return the value as a Dask array with chunks of known sizes."""
    if not isinstance(value, Array):
        array = convert.as_array(op, name, value)
        # Dask can't choose a chunk size for objects.
        value = da.from_array(array, chunks=-1 if array.dtype.hasobject else "auto")  # type: ignore[no-untyped-call]
    if any(math.isnan(size) for sizes in value.chunks for size in sizes):
        text = f"{op}: {name} has chunks of unknown sizes; call {name}.compute_chunk_sizes() first"
        raise OpValueError(text, op=op, input=name)
    if not isinstance(value._meta, np.ndarray | np.generic) or isinstance(value._meta, np.ma.MaskedArray):
        text = f"{op}: {name} has chunks of {type(value._meta).__name__}, not of plain NumPy arrays"
        raise OpTypeError(text, op=op, input=name)
    return value  # type: ignore[no-any-return]


def check_fill(operation: Operation, data: Any) -> None:
    """Refuse to fill an array of objects: the value, 0 or the empty string, depends on all elements."""
    if operation.skips and np.dtype(getattr(data, "dtype", int)).kind == "O":
        skipping = next(word for word in (operation.negative, operation.mode) if word in ("skip", "fill"))
        text = f"{operation.op}: the value of {skipping!r} is not known before objects are computed"
        text += "; convert data to StringDType"
        raise OpTypeError(text, op=operation.op, input="data")


def as_indices(operation: Operation, value: Any, name: str = "indices") -> Array | np.ndarray:
    """Return indices of an integer type, lazy or in memory."""
    op = operation.op
    if not isinstance(value, Array):
        return convert.as_indices(op, name, value, lists=operation.kernel.form == Form.TUPLES)
    if value.dtype.kind not in "iu":
        advice = format_sentence("parts", "mask" if value.dtype.kind == "b" else "convert_lazy", input=name)
        raise make_error("not_integers", op, input=name, type=f"{value.dtype}{advice}")
    convert.as_indices(op, name, np.empty(0, value.dtype))
    return as_dask(op, name, value)


def as_updates(op: str, value: Any, data: Array, name: str = "updates", target: str = "data") -> Array | np.ndarray:
    """Return updates in the type of data. Tasks convert lazy ones. Text of a fixed width keeps its width."""
    like = np.empty(0, data.dtype)
    if not isinstance(value, Array):
        return convert.cast(op, name, value, target, like)
    convert.cast(op, name, np.empty(0, value.dtype), target, like)
    if data.dtype.kind in "US" and value.dtype.kind != data.dtype.kind:
        text = f"{op}: {name} of type {value.dtype} have no known width, but {target} of type {data.dtype} needs one"
        raise OpTypeError(f"{text}; convert one of them", op=op, input=name)
    updates = as_dask(op, name, value)
    if updates.dtype == data.dtype or data.dtype.kind in "US":
        return updates
    facts = {"dtype": data.dtype, "meta": np.empty((0,) * updates.ndim, data.dtype)}
    converted = da.map_blocks(_cast_chunk, updates, op, name, target, data.dtype, **facts)  # type: ignore[no-untyped-call]
    return prevent_fusion(converted, updates)


def _cast_chunk(
    chunk: np.ndarray, op: str, name: str, target: str, dtype: np.dtype[Any], block_info: Any
) -> np.ndarray:
    origin = tuple(start for start, _ in block_info[0]["array-location"])
    return convert.cast(op, name, chunk, target, np.empty(0, dtype), origin=origin)


def result_type(op: str, data: np.dtype[Any], updates: np.dtype[Any], reduction: str) -> np.dtype[Any]:
    """Return the type of the result: the type of data, but text is as wide as the updates."""
    if data.kind not in "US":
        return data
    if reduction != "none":
        text = f"{op}: text of a fixed width can't be concatenated lazily, as the width of the result is not known"
        raise OpTypeError(f"{text}; convert data to StringDType or objects", op=op, input="data")
    return np.promote_types(data, updates) if updates.kind == data.kind else data
