"""Calls of op versions on Dask arrays, with the checks of `gatherscatter.specs.calls`."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from dask.array import Array

from gatherscatter.chunked import IndexRule, Options
from gatherscatter.dask import caches, inputs
from gatherscatter.dask.call import checked_call
from gatherscatter.dask.graphs import build
from gatherscatter.errors import OpTypeError
from gatherscatter.specs.calls import check_inputs, kernel_arguments, warn_if_deprecated
from gatherscatter.specs.table import Input, OpVersion


def call(row: OpVersion, given: tuple[Any, ...], attributes: dict[str, Any], accumulate: str | None = None) -> Array:
    """Call an op version lazily, as `gatherscatter.specs.calls.call` does; bad lazy indices raise when computed.

    Raises
    ------
    TypeError
        Also for what is not lazy: GatherTree, the versions that gather and reduce, and an axis in a Dask array.
    """
    arrays, values = check_inputs(row, _make_placeholders(row, given), attributes)
    warn_if_deprecated(row, stacklevel=5)
    if row.kernel == "tensor_scatter":
        return caches.run(IndexRule(row.name, "scatter_update"), *given, **values)
    shaped, how = kernel_arguments(row, arrays, values, accumulate)
    rule = IndexRule(row.name, row.kernel, how.pop("mode"), how.pop("negative"))
    options = Options(*(how.pop(name) for name in ("reduction", "include_self", "accumulate")))
    data, indices = given[:2]
    if not rule.is_scatter:
        result = build(checked_call(rule, data, indices, **how))
        return result if row.finish is None else _finish_result(row, values, result)
    updates = given[2]
    if np.shape(updates) != shaped[2].shape:  # one element of any shape, for a version that takes it
        whole = updates.rechunk(-1) if isinstance(updates, Array) else np.asarray(updates)  # type: ignore[no-untyped-call]
        updates = whole.reshape(shaped[2].shape)
    return build(checked_call(rule, data, indices, updates, options=options, **how))


def _finish_result(row: OpVersion, values: dict[str, Any], result: Array) -> Array:
    """The result in its final shape. Dask reshapes neither empty arrays nor empty chunks well."""
    if result.size:
        filled = tuple(tuple(size for size in sizes if size) for sizes in result.chunks)
        result = result if filled == result.chunks else result.rechunk(filled)  # type: ignore[no-untyped-call]
        return row.finish((), values, result)  # type: ignore[misc, return-value]
    shape = row.finish((), values, np.empty(result.shape)).shape  # type: ignore[misc]
    return da.zeros(shape, dtype=result.dtype)  # type: ignore[no-any-return]


def _make_placeholders(row: OpVersion, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs as far as they can be checked now."""
    if row.kernel == "gather_tree":
        raise OpTypeError(f"{row.name} is not lazy: its steps depend on each other; use .compute()", op=row.name)
    if row.kernel == "gather_reduce":
        raise OpTypeError(f"{row.name} is not lazy; use gatherscatter.gather_reduce, which is", op=row.name)
    return (
        tuple(
            _make_placeholder(row, known, value) if isinstance(value, Array) else value
            for known, value in zip(row.inputs, given, strict=False)
        )
        + given[len(row.inputs) :]
    )


def _make_placeholder(row: OpVersion, known: Input, value: Array) -> np.ndarray:
    """An array of the same type and shape without memory."""
    array, fault = inputs.as_dask(row.name, known.name, value), ""
    if known.kind == "axis":
        fault = "is a Dask array, but the graph depends on its value; use .compute()"
    elif array.dtype.kind == "O":
        fault = "holds objects, of which types are not known; convert it to StringDType"
    if fault:
        raise OpTypeError(f"{row.name}: {known.name} {fault}", op=row.name, input=known.name)
    return np.broadcast_to(np.zeros((), array.dtype), array.shape)
