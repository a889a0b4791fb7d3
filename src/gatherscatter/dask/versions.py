"""Calls of op versions on Dask arrays, with the checks of `gatherscatter.specs.calls`."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from dask import config
from dask.array import Array
from dask.base import compute

from gatherscatter.arrays import convert
from gatherscatter.dask import bags, caches, inputs
from gatherscatter.dask.call import check_call, rechunk
from gatherscatter.dask.graphs import build
from gatherscatter.dask.tasks import prevent_fusion
from gatherscatter.errors import OpTypeError
from gatherscatter.operation import Kernel
from gatherscatter.specs import bags as specs_bags
from gatherscatter.specs.calls import check_inputs, make_operation, name_inputs, prepare_call, warn_if_deprecated
from gatherscatter.specs.rows import Input
from gatherscatter.specs.table import OpVersion


def call(row: OpVersion, given: tuple[Any, ...], attributes: dict[str, Any], accumulate: str | None = None) -> Array:
    """Call an op version lazily, as `gatherscatter.specs.calls.call` does in memory.

    Lazy indices that are out of range raise when they are computed.

    Raises
    ------
    TypeError
        Also for GatherTree, which is not lazy, and for an axis in a Dask array.
    """
    arrays, values = check_inputs(row, _make_placeholders(row, given), attributes)
    warn_if_deprecated(row)
    if row.kernel == Kernel.TENSOR_SCATTER:
        return caches.run(row.name, *given, **values)
    if row.kernel == Kernel.GATHER_REDUCE:
        return _reduce_bags(row, name_inputs(row, given), name_inputs(row, arrays), values, accumulate)
    shaped, operation = prepare_call(row, arrays, values, accumulate)
    lazy = dict(zip(("data", "indices", "updates"), given[: len(shaped)], strict=False))
    if not row.kernel.is_scatter:
        result = build(check_call(operation, lazy))
        return result if row.finish is None else _finish_result(row, values, result)
    if np.shape(lazy["updates"]) != shaped[2].shape:  # one element of any shape, for a version that accepts it
        lazy["updates"] = _reshape(lazy["updates"], shaped[2].shape)
    return build(check_call(operation, lazy))


def _reshape(value: Any, shape: tuple[int, ...]) -> Array | np.ndarray:
    if not isinstance(value, Array):
        return np.asarray(value).reshape(shape)
    whole = rechunk(value, tuple((n,) for n in value.shape))
    return prevent_fusion(whole.reshape(shape), whole)  # type: ignore[no-untyped-call]


def _finish_result(row: OpVersion, values: dict[str, Any], result: Array) -> Array:
    """Return the result in its final shape. Empty arrays and chunks get special care: Dask reshapes them badly."""
    if result.size:
        filled = tuple(tuple(size for size in sizes if size) for sizes in result.chunks)
        whole: Any = rechunk(result, filled)
        with config.set({"array.rechunk.method": "tasks"}):
            finished: Any = row.finish((), values, whole)  # type: ignore[misc]
        return prevent_fusion(finished, whole)
    shape = row.finish((), values, np.empty(result.shape)).shape  # type: ignore[misc]
    return da.zeros(shape, dtype=result.dtype)  # type: ignore[no-any-return]


def _reduce_bags(
    row: OpVersion, given: dict[str, Any], arrays: dict[str, Any], values: dict[str, Any], accumulate: str | None
) -> Array:
    """Call a version that gathers and reduces. ``arrays`` has placeholders for lazy inputs.

    Lazy inputs that determine the bags are computed, because the graph depends on their values.
    """
    op, first = row.name, row.inputs[0].name
    operation = make_operation(row, arrays[first], values, accumulate)
    members = specs_bags.check_members(operation, arrays)
    deciding = {known.name for known in row.inputs if known.kind != "data"} - {"indices"}
    lazy = {name: value for name, value in given.items() if name in deciding and isinstance(value, Array)}
    arrays |= {name: convert.as_indices(op, name, value) for name, value in compute(lazy)[0].items()}  # type: ignore[no-untyped-call]
    # Packed bags follow from the shape, so nothing is stored for each of them.
    found = specs_bags.find_bags(operation, arrays, (0, 0) if len(members) == 2 else members)
    data, indices, weights = given[first], given.get("indices"), given.get("per_sample_weights")
    data = inputs.as_dask(op, first, data if isinstance(data, Array) else da.from_array(arrays[first], chunks=-1))  # type: ignore[no-untyped-call]
    if indices is not None and not isinstance(indices, Array):
        indices = specs_bags.resolve_rows(op, "indices", arrays["indices"], data).reshape(members)
    if weights is not None:
        weights = inputs.as_updates(op, weights, data, "per_sample_weights", first)
    default = specs_bags.find_default(op, arrays, data, values)
    if isinstance(default, Array):
        default = prevent_fusion(default, data)
    return bags.reduce_lazily(operation, data, indices, found, weights=weights, default=default)


def _make_placeholders(row: OpVersion, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the inputs, with placeholders for lazy ones, for the checks that are possible now."""
    if row.kernel == Kernel.GATHER_TREE:
        raise OpTypeError(f"{row.name} is not lazy: its steps depend on each other; use .compute()", op=row.name)
    return (
        tuple(
            _make_placeholder(row, known, value) if isinstance(value, Array) else value
            for known, value in zip(row.inputs, given, strict=False)
        )
        + given[len(row.inputs) :]
    )


def _make_placeholder(row: OpVersion, known: Input, value: Array) -> np.ndarray:
    """Return an array of the same type and shape that takes no memory."""
    array, fault = inputs.as_dask(row.name, known.name, value), ""
    if known.kind == "axis":
        fault = "is a Dask array, but the graph depends on its value; use .compute()"
    elif array.dtype.kind == "O":
        fault = "holds objects, whose types are unknown before they are computed; convert it to StringDType"
    if fault:
        raise OpTypeError(f"{row.name}: {known.name} {fault}", op=row.name, input=known.name)
    return np.broadcast_to(np.zeros((), array.dtype), array.shape)
