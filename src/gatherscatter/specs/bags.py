"""The operators of OpenVINO that gather and reduce: embedding bags, embedding segments, SegmentMax."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.errors import OpIndexError, make_error
from gatherscatter.functions.gather_reduce import (
    FoundBags,
    as_default,
    check_choices,
    check_members_shape,
    check_type,
    resolve_in_range,
)
from gatherscatter.functions.gather_reduce import find_bags as find_bags_in_memory
from gatherscatter.operation import Bags, Operation
from gatherscatter.specs.table import OpVersion

_INPUTS = ("indices", "offsets", "segment_ids")
Given = dict[str, Any]  # the inputs of a call by name; None: not given


def make_run(
    row: OpVersion, dtype: np.dtype[Any], values: dict[str, Any], operation: Operation
) -> Callable[..., np.ndarray]:
    """Make the function that runs a version on inputs of its types."""
    op, names = row.name, tuple(known.name for known in row.inputs)
    check_choices(operation)
    check_type(operation, dtype)
    absent = (None,) * (len(names) + 1)
    wanted = (*_INPUTS, "per_sample_weights", "num_segments", "default_index")
    positions = [names.index(name) if name in names else -1 for name in wanted]
    rank = 1 if "offsets" in names or "segment_ids" in names else 2
    otherwise: Any = find_default(op, {}, np.empty(0, dtype), values)

    def run(*inputs: Any) -> np.ndarray:
        padded = (*inputs, *absent[len(inputs) :])
        data = padded[0]
        indices, offsets, segment_ids, weights, count, index = (padded[n] for n in positions)
        # This is a short way to the core, which checks everything except the ranks.
        if data.ndim and index is weights is None and (indices is None or indices.ndim == rank):
            num_segments = None if count is None else read_scalar(op, "num_segments", count)
            arrays = {"data": data, "indices": indices, "offsets": offsets, "segment_ids": segment_ids}
            with suppress(TypeError):  # the core may not accept the arrays
                return _core.run(_with_segments(operation, num_segments), arrays | {"default": otherwise})
        given: Given = dict(zip(names, inputs, strict=False))
        check_shapes(op, given, operation.reduction)
        try:
            default = as_default(op, find_default(op, given, data, values), data)
        except OpIndexError:  # errors about indices and bags come first
            run(*(None if n == positions[-1] else each for n, each in enumerate(inputs)))
            raise
        chosen = {"data": data, "indices": indices, "offsets": offsets, "segment_ids": segment_ids, "weights": weights}
        native = {name: None if array is None else convert.native(array) for name, array in chosen.items()}
        call = convert.Inputs(native | {"default": default}, None, dtype, {})
        return call.run(_with_segments(operation, read_num_segments(op, given)))

    return run


def _with_segments(operation: Operation, num_segments: int | None) -> Operation:
    return operation._replace(bags=Bags(num_segments, embedding_rules=True))


def check_members(operation: Operation, given: Given) -> tuple[int, ...]:
    """Return the shape of the members, after all checks that do not depend on values."""
    check_choices(operation)
    check_type(operation, next(iter(given.values())).dtype)
    return check_shapes(operation.op, given, operation.reduction)


def check_shapes(op: str, given: Given, reduction: str) -> tuple[int, ...]:
    """Check what the core does not, or calls by other names. Return the shape of the members."""
    data, indices, weights = next(iter(given.values())), given.get("indices"), given.get("per_sample_weights")
    if data.ndim == 0:
        raise make_error("no_rows", op, input=next(iter(given)))
    members: tuple[int, ...] = data.shape[:1] if indices is None else indices.shape
    if weights is not None:
        if reduction == "mean":
            raise make_error("weighted_mean", op)
        check_members_shape(op, "per_sample_weights", weights.shape, members)
    if "offsets" not in given and "segment_ids" not in given:
        if len(members) != 2:
            raise make_error("packed_rank", op, shape=members)
    elif len(members) != 1:
        raise make_error("bags_rank", op, input="indices", shape=members)
    return members


def read_scalar(op: str, name: str, value: np.ndarray) -> int:
    """Return the only element of an input that holds a number (rulings V16 and V29)."""
    if value.ndim > 1 or value.size != 1:
        raise make_error("scalar_shape", op, input=name, shape=value.shape)
    return int(value.item())


def read_num_segments(op: str, given: Given) -> int | None:
    """Return the input num_segments, if it is given."""
    count = given.get("num_segments")
    return None if count is None else read_scalar(op, "num_segments", count)


def find_bags(operation: Operation, given: Given, members: tuple[int, ...]) -> FoundBags:
    """Find the bags. Offsets may skip the first members (V26), and segment ids must be sorted (V28)."""
    bags: Given = {name: given.get(name) for name in ("offsets", "segment_ids")}
    operation = _with_segments(operation, read_num_segments(operation.op, given))
    return find_bags_in_memory(operation, members, **bags)


def find_default(op: str, given: Given, data: Any, attributes: dict[str, Any]) -> Any:
    """Return the result for a bag without members: a row of ``data``, which may be lazy, or a number."""
    index = given.get("default_index")
    if index is not None and read_scalar(op, "default_index", index) != -1:
        return data[int(resolve_rows(op, "default_index", index, data)[0])]
    return _find_lowest(data.dtype) if attributes.get("fill_mode") == "LOWEST" else 0


def resolve_rows(op: str, name: str, indices: np.ndarray, data: Any) -> np.ndarray:
    """Return the row of data that each index names."""
    return resolve_in_range(op, name, indices, len(data), "table_rows")


def _find_lowest(dtype: np.dtype[Any]) -> np.ndarray:
    """Return the lowest finite number of a type (V30)."""
    if dtype.kind == "b":
        return np.zeros((), dtype)
    if dtype.kind in "iu":
        return np.array(np.iinfo(dtype).min, dtype)
    return np.asarray(np.nextafter(np.array(-np.inf, dtype), np.zeros((), dtype)))
