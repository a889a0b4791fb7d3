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
from gatherscatter.dask.call import checked_call, rechunk
from gatherscatter.dask.graphs import build
from gatherscatter.dask.tasks import prevent_fusion
from gatherscatter.errors import OpTypeError
from gatherscatter.functions.chunked import IndexRule, Options
from gatherscatter.specs import bags as specs_bags
from gatherscatter.specs.calls import check_inputs, choose_reduction, kernel_arguments, name_inputs, warn_if_deprecated
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
    if row.kernel == "tensor_scatter":
        return caches.run(IndexRule(row.name, "scatter_update"), *given, **values)
    if row.kernel == "gather_reduce":
        return _reduce_bags(row, name_inputs(row, given), name_inputs(row, arrays), values, accumulate)
    shaped, how = kernel_arguments(row, arrays, values, accumulate)
    rule = IndexRule(row.name, row.kernel, how.pop("mode"), how.pop("negative"))
    options = Options(*(how.pop(name) for name in ("reduction", "include_self", "accumulate")))
    data, indices = given[:2]
    if not rule.is_scatter:
        result = build(checked_call(rule, data, indices, **how))
        return result if row.finish is None else _finish_result(row, values, result)
    updates = given[2]
    if np.shape(updates) != shaped[2].shape:  # one element of any shape, for a version that accepts it
        updates = _reshape(updates, shaped[2].shape)
    return build(checked_call(rule, data, indices, updates, options=options, **how))


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
    reduction, accumulate = choose_reduction(row, arrays[first], values, accumulate)
    members = specs_bags.check_members(op, arrays, reduction, accumulate)
    deciding = {known.name for known in row.inputs if known.kind != "data"} - {"indices"}
    lazy = {name: value for name, value in given.items() if name in deciding and isinstance(value, Array)}
    arrays |= {name: convert.as_indices(op, name, value) for name, value in compute(lazy)[0].items()}  # type: ignore[no-untyped-call]
    # Packed bags follow from the shape, so nothing is stored for each of them.
    found = specs_bags.find_bags(op, arrays, (0, 0) if len(members) == 2 else members)
    data, indices, weights = given[first], given.get("indices"), given.get("per_sample_weights")
    data = inputs.as_dask(op, first, data if isinstance(data, Array) else da.from_array(arrays[first], chunks=-1))  # type: ignore[no-untyped-call]
    if indices is not None and not isinstance(indices, Array):
        indices = specs_bags.resolve_rows(op, "indices", arrays["indices"], data).reshape(members)
    if weights is not None:
        weights = inputs.as_updates(op, weights, data, "per_sample_weights", first)
    default = specs_bags.find_default(op, arrays, data, values)
    if isinstance(default, Array):
        default = prevent_fusion(default, data)
    rule = IndexRule(op, "gather", negative=False, subject="table_rows")
    how = {"reduction": reduction, "accumulate": accumulate}
    return bags.reduce_lazily(rule, data, indices, weights, found, how, default)


def _make_placeholders(row: OpVersion, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the inputs, with placeholders for lazy ones, for the checks that are possible now."""
    if row.kernel == "gather_tree":
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
