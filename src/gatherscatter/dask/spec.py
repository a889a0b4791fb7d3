"""Operator versions on Dask arrays: exactly their types, attributes and ranges, as `gatherscatter.spec` has them."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from dask.array import Array

from gatherscatter import spec
from gatherscatter.dask import caches, calls, inputs
from gatherscatter.dask.chunks import Rule
from gatherscatter.errors import OpTypeError
from gatherscatter.versions import Input, OpVersion


def call(row: OpVersion, given: tuple[Any, ...], attributes: dict[str, Any], accumulate: str | None = None) -> Array:
    """What `gatherscatter.spec.call` does, lazily: the same errors, those of lazy indices when they are computed.

    Raises
    ------
    TypeError
        Also for what is not lazy: GatherTree, and an axis in a Dask array.
    """
    arrays, values = spec.checked_inputs(row, _stand_ins(row, given), attributes)
    spec.warn_if_deprecated(row, stacklevel=5)
    if row.kernel == "tensor_scatter":
        return caches.run(Rule(row.name, "scatter_update"), *given, **values)
    shaped, how = spec.kernel_arguments(row, arrays, values, accumulate)
    rule = Rule(row.name, row.kernel, how.pop("mode"), how.pop("negative"))
    if row.kernel.startswith("gather"):
        where = {name: how[name] for name in ("axis", "batch_dims")}
        result = calls.gather(rule, *given[:2], **where, plan="lazy", out=None, num_threads=None)
        return result if row.finish is None else _finished(row, values, result)
    how.pop("batch_dims")
    data, indices = given[:2]
    updates = given[2]
    if np.shape(updates) != shaped[2].shape:  # one element of any shape, for a version that takes it
        whole = updates.rechunk(-1) if isinstance(updates, Array) else np.asarray(updates)  # type: ignore[no-untyped-call]
        updates = whole.reshape(shaped[2].shape)
    return calls.scatter(rule, data, indices, updates, **how, plan="lazy", out=None, num_threads=None)


def _finished(row: OpVersion, values: dict[str, Any], result: Array) -> Array:
    """The result in its final shape. Dask reshapes neither empty arrays nor empty chunks well."""
    if result.size:
        filled = tuple(tuple(size for size in sizes if size) for sizes in result.chunks)
        result = result if filled == result.chunks else result.rechunk(filled)  # type: ignore[no-untyped-call]
        return row.finish((), values, result)  # type: ignore[misc, return-value]
    shape = row.finish((), values, np.empty(result.shape)).shape  # type: ignore[misc]
    return da.zeros(shape, dtype=result.dtype)  # type: ignore[no-any-return]


def _stand_ins(row: OpVersion, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs as far as they can be checked now."""
    if row.kernel == "gather_tree":
        raise OpTypeError(f"{row.name} is not lazy: its steps depend on each other; use .compute()", op=row.name)
    return (
        tuple(
            _stand_in(row, known, value) if isinstance(value, Array) else value
            for known, value in zip(row.inputs, given, strict=False)
        )
        + given[len(row.inputs) :]
    )


def _stand_in(row: OpVersion, known: Input, value: Array) -> np.ndarray:
    """An array of the same type and shape without memory."""
    array, fault = inputs.as_dask(row.name, known.name, value), ""
    if known.kind == "axis":
        fault = "is a Dask array, but the graph depends on its value; use .compute()"
    elif array.dtype.kind == "O":
        fault = "holds objects, of which types are not known; convert it to StringDType"
    if fault:
        raise OpTypeError(f"{row.name}: {known.name} {fault}", op=row.name, input=known.name)
    return np.broadcast_to(np.zeros((), array.dtype), array.shape)
