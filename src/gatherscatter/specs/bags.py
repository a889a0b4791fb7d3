"""The operators of OpenVINO that gather and reduce: embedding bags, embedding segments, SegmentMax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.errors import OpIndexError, make_error
from gatherscatter.functions.gather_reduce import (
    BagArguments,
    Bags,
    as_default,
    check_choices,
    check_members_shape,
    check_type,
    resolve_in_range,
)
from gatherscatter.functions.gather_reduce import find_bags as find_bags_in_memory
from gatherscatter.specs.table import OpVersion

_PLACES = ("indices", "offsets", "segment_ids")
Given = dict[str, Any]  # the inputs of a call by name; None: not given


def make_run(
    row: OpVersion, dtype: np.dtype[Any], values: dict[str, Any], reduction: str, accumulate: str
) -> Callable[..., np.ndarray]:
    """Make the function that runs a version on inputs of its types. ``accumulate`` chooses how floats are added up."""
    op, names = row.name, tuple(known.name for known in row.inputs)
    _check_reduction(op, reduction, accumulate, dtype)
    absent = (None,) * (len(names) + 1)
    wanted = (*_PLACES, "per_sample_weights", "num_segments", "default_index")
    positions = [names.index(name) if name in names else -1 for name in wanted]
    rank = 1 if "offsets" in names or "segment_ids" in names else 2
    otherwise: Any = find_default(op, {}, np.empty(0, dtype), values)
    rules = (
        accumulate,
        "raise",
        False,
        True,
        None,
        None,
    )  # accumulate, mode, negative, embedding_rules, out, num_threads

    def run(*inputs: Any) -> np.ndarray:
        padded = (*inputs, *absent[len(inputs) :])
        data = padded[0]
        indices, offsets, segment_ids, weights, count, index = (padded[n] for n in positions)
        # This is a short way to the core, which checks everything except the ranks.
        if data.ndim and index is weights is None and (indices is None or indices.ndim == rank):
            num_segments = None if count is None else read_scalar(op, "num_segments", count)
            made = _core.apply_bags(
                op, data, indices, offsets, segment_ids, None, num_segments, None, None, reduction, otherwise, *rules
            )
            if made is not NotImplemented:
                return made  # type: ignore[no-any-return]
        given: Given = dict(zip(names, inputs, strict=False))
        check_shapes(op, given, reduction)
        try:
            default = as_default(op, find_default(op, given, data, values), data)
        except OpIndexError:  # errors about indices and bags come first
            run(*(None if n == positions[-1] else each for n, each in enumerate(inputs)))
            raise
        table, *places, weights = (
            None if array is None else convert.native(array) for array in (data, indices, offsets, segment_ids, weights)
        )
        call = BagArguments(table, *places, None, weights, default, None, dtype, {})  # type: ignore[arg-type, call-arg]
        num_segments = read_num_segments(op, given)
        return call.run(op, num_segments, reduction, accumulate, "raise", negative=False, embedding_rules=True)

    return run


def check_members(op: str, given: Given, reduction: str, accumulate: str) -> tuple[int, ...]:
    """Return the shape of the members, after all checks that do not depend on values."""
    _check_reduction(op, reduction, accumulate, next(iter(given.values())).dtype)
    return check_shapes(op, given, reduction)


def _check_reduction(op: str, reduction: str, accumulate: str, dtype: np.dtype[Any]) -> None:
    check_choices(op, reduction, accumulate)
    check_type(op, reduction, accumulate, dtype)


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


def find_bags(op: str, given: Given, members: tuple[int, ...]) -> Bags:
    """Find the bags. Offsets may skip the first members (V26), and segment ids must be sorted (V28)."""
    places: Given = {name: given.get(name) for name in ("offsets", "segment_ids")}
    count = read_num_segments(op, given)
    return find_bags_in_memory(op, members, **places, num_segments=count, embedding_rules=True)


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
