"""Operators that gather and reduce bags: docs/specification.md, 2.12."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter.oracle.arithmetic import Reduce, fold, step
from gatherscatter.oracle.element_types import INTEGERS, element_type, zero_of
from gatherscatter.oracle.indices import P, at_position, axis_input, require, resolve, resolve_all


def bags(data: np.ndarray, given: dict[str, Any], values: dict[str, Any], how: Reduce) -> np.ndarray:
    """Embedding bags, embedding segments and SegmentMax."""
    indices, offsets, ids = given.get("indices"), given.get("offsets"), given.get("segment_ids")
    weights, number, default = given.get("per_sample_weights"), given.get("num_segments"), given.get("default_index")
    require(data.ndim >= 1)
    if indices is not None:
        require(indices.ndim == (2 if offsets is None and ids is None else 1))
    require(offsets is None or offsets.ndim == 1)
    positions = list(np.ndindex(data.shape[:1] if indices is None else indices.shape))
    require(ids is None or (ids.ndim == 1 and len(ids) == len(positions)))
    require(weights is None or (indices is not None and weights.shape == indices.shape and how.reduction != "mean"))
    fallback = -1 if default is None else axis_input(default)
    if number is not None:
        number = axis_input(number)
        require(number >= 0)
    if offsets is not None:
        for b in range(len(offsets)):
            if not 0 <= int(offsets[b]) <= len(positions):
                raise at_position(IndexError(int(offsets[b])), (b,))
        require(all(int(offsets[b]) <= int(offsets[b + 1]) for b in range(len(offsets) - 1)))
        ends = [*[int(each) for each in offsets[1:]], len(positions)]
        members = [positions[int(offsets[b]) : ends[b]] for b in range(len(offsets))]
    elif ids is not None:
        if number is None:
            number = max(int(each) for each in ids) + 1 if len(ids) else 0
        for m in range(len(ids)):
            if not 0 <= int(ids[m]) < number:
                raise at_position(IndexError(int(ids[m])), (m,))
        require(all(int(ids[m]) <= int(ids[m + 1]) for m in range(len(ids) - 1)))
        members = [[positions[m] for m in range(len(ids)) if int(ids[m]) == b] for b in range(number)]
    else:
        members = [[(b, m) for m in range(indices.shape[1])] for b in range(indices.shape[0])]  # type: ignore[union-attr]
    s = data.shape[0]
    row_of = {p: p[0] for p in positions}
    if indices is not None:
        row_of = resolve_all(indices, lambda p: s, P)
    if fallback != -1:
        fallback_row = resolve(fallback, s, P)
    name = element_type(data.dtype)
    out = np.empty((len(members), *data.shape[1:]), data.dtype)
    with np.errstate(all="ignore"):
        for b, *q in np.ndindex(out.shape):
            rows = [data[(row_of[p], *q)] for p in members[b]]
            if weights is not None:
                rows = [step("mul", row, weights[p], name) for row, p in zip(rows, members[b], strict=True)]
            if rows:
                out[(b, *q)] = fold(how.reduction, rows, data.dtype, how.accumulate)
            elif fallback != -1:
                out[(b, *q)] = data[(fallback_row, *q)]
            else:
                out[(b, *q)] = lowest(name, data.dtype) if values.get("fill_mode") == "LOWEST" else zero_of(data.dtype)
    return out


def lowest(name: str, dtype: np.dtype) -> Any:
    """The lowest number of a type. For floats, it is the lowest finite one (V30)."""
    if name in ("bool", *INTEGERS):
        unsigned = name == "bool" or name.startswith("u")
        return 0 if unsigned else -(1 << (8 * dtype.itemsize - 1))
    largest = {
        "float16": (2 - 2**-10) * 2.0**15,
        "bfloat16": (2 - 2**-7) * 2.0**127,
        "float32": (2 - 2**-23) * 2.0**127,
        "float64": (2 - 2**-52) * 2.0**1023,
    }
    return -largest[name]
