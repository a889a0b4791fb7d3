"""The operators of OpenVINO that gather and reduce: embedding bags, embedding segments, SegmentMax."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter.errors import make_error
from gatherscatter.functions.gather_reduce import (
    Bags,
    as_line,
    check_choices,
    check_members_shape,
    check_type,
    find_bags_by_offsets,
    find_bags_by_rows,
    find_bags_by_segments,
    find_descent,
    reduce_members,
    resolve_in_range,
)
from gatherscatter.sentences import format_sentence

Given = dict[str, Any]  # the inputs of a call by name; None: not given


def run(op: str, given: Given, attributes: dict[str, Any], reduction: str, accumulate: str) -> np.ndarray:
    """Run the op version ``op`` on inputs of its types. ``accumulate`` chooses how floats are added up."""
    data, indices = next(iter(given.values())), given.get("indices")
    members = check_members(op, given, reduction, accumulate)
    bags = find_bags(op, given, members)
    rows = None if indices is None else resolve_rows(op, "indices", indices, data)
    default = find_default(op, given, data, attributes)
    weights = given.get("per_sample_weights")
    result = reduce_members(op, data, rows, bags, weights, reduction, default, accumulate)
    if result is None:
        raise make_error("changed_indices", op)
    return result


def check_members(op: str, given: Given, reduction: str, accumulate: str) -> tuple[int, ...]:
    """Return the shape of the members, after all checks that do not depend on values."""
    data, weights = next(iter(given.values())), given.get("per_sample_weights")
    check_choices(op, reduction, accumulate)
    check_type(op, reduction, accumulate, data.dtype)
    if data.ndim == 0:
        raise make_error("no_rows", op, input=next(iter(given)))
    indices = given.get("indices")
    members: tuple[int, ...] = data.shape[:1] if indices is None else indices.shape
    if weights is not None:
        if reduction == "mean":
            raise make_error("weighted_mean", op)
        check_members_shape(op, "per_sample_weights", weights.shape, members)
    return members


def read_scalar(op: str, name: str, value: np.ndarray) -> int:
    """Return the only element of an input that holds a number (rulings V16 and V29)."""
    if value.ndim > 1 or value.size != 1:
        raise make_error("scalar_shape", op, input=name, shape=value.shape)
    return int(value.reshape(())[()])


def find_bags(op: str, given: Given, members: tuple[int, ...]) -> Bags:
    """Find the bags. Offsets may skip the first members (V26), and segment ids must be sorted (V28)."""
    if "offsets" not in given and "segment_ids" not in given:
        if len(members) != 2:
            raise make_error("packed_rank", op, shape=members)
        return find_bags_by_rows(members)
    if given.get("indices") is not None:
        as_line(op, "indices", given["indices"])
    if "offsets" in given:
        return find_bags_by_offsets(op, as_line(op, "offsets", given["offsets"]), members[0])
    ids = as_line(op, "segment_ids", given["segment_ids"])
    check_members_shape(op, "segment_ids", ids.shape, members)
    count = given.get("num_segments")
    num_segments = None if count is None else read_scalar(op, "num_segments", count)
    bags = find_bags_by_segments(op, ids, num_segments)
    if (place := find_descent(ids)) is not None:
        raise make_error("segments_order", op, place=place, value=int(ids[place]), before=int(ids[place - 1]))
    return bags


def find_default(op: str, given: Given, data: Any, attributes: dict[str, Any]) -> Any:
    """Return the result for a bag without members: a row of ``data``, which may be lazy, or a number."""
    index = given.get("default_index")
    if index is not None and read_scalar(op, "default_index", index) != -1:
        return data[int(resolve_rows(op, "default_index", index, data)[0])]
    return _find_lowest(data.dtype) if attributes.get("fill_mode") == "LOWEST" else 0


def resolve_rows(op: str, name: str, indices: np.ndarray, data: Any) -> np.ndarray:
    """Return the row of data that each index names."""
    return resolve_in_range(op, name, indices, len(data), format_sentence("parts", "table_rows", size=len(data)))


def _find_lowest(dtype: np.dtype[Any]) -> np.ndarray:
    """Return the lowest finite number of a type (V30)."""
    if dtype.kind == "b":
        return np.zeros((), dtype)
    if dtype.kind in "iu":
        return np.array(np.iinfo(dtype).min, dtype)
    return np.asarray(np.nextafter(np.array(-np.inf, dtype), np.zeros((), dtype)))
