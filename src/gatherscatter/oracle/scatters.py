"""Scatters: docs/specification.md, 2.5 to 2.7."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter.oracle.arithmetic import Reduce, fold
from gatherscatter.oracle.element_types import Coordinates, as_objects
from gatherscatter.oracle.gathers import check_box
from gatherscatter.oracle.indices import IndexRule, norm_axis, require, resolve_all


def scatter(data: np.ndarray, writes: list[tuple[Coordinates, Any]], how: Reduce) -> np.ndarray:
    """Copy data, then apply the writes in order. A slot depends only on its own writes, so it is folded separately."""
    data = as_objects(data)
    out = np.empty(data.shape, data.dtype)
    for p in np.ndindex(data.shape):
        out[p] = data[p]
    slots: dict[Coordinates, list[Any]] = {}
    for target, update in writes:
        slots.setdefault(target, []).append(update)
    with np.errstate(all="ignore"):
        for target, updates in slots.items():
            start = [data[target]] if how.initial and how.reduction != "none" else []
            out[target] = fold(how.reduction, start + updates, data.dtype, how.accumulate)
    return out


def scatter_elements(
    data: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray,
    axis: int,
    rule: IndexRule,
    how: Reduce,
    *,
    axis_limited: bool = False,
) -> np.ndarray:
    require(indices.ndim == data.ndim >= 1 and updates.shape == indices.shape)
    axis = norm_axis(axis, data.ndim)
    check_box(data.shape, indices.shape, axis, equal=False)
    require(not axis_limited or indices.shape[axis] <= data.shape[axis])  # ScatterElementsUpdate-3 (V21)
    at = resolve_all(indices, lambda p: data.shape[axis], rule)
    updates = as_objects(updates)
    writes = []
    for p in np.ndindex(indices.shape):
        if at[p] is not None:
            writes.append(((*p[:axis], at[p], *p[axis + 1 :]), updates[p]))
    return scatter(data, writes, how)


def scatter_nd(
    data: np.ndarray, indices: np.ndarray, updates: np.ndarray, rule: IndexRule, how: Reduce, one_element: bool = False
) -> np.ndarray:
    r, q = data.ndim, indices.ndim
    require(r >= 1 and q >= 1)
    k = indices.shape[-1]
    require(k <= r)
    expected = indices.shape[:-1] + data.shape[k:]
    if one_element and expected == () and updates.size == 1:  # ScatterNDUpdate (V13)
        updates = updates.reshape(())
    require(updates.shape == expected)
    at = resolve_all(indices, lambda p: data.shape[p[-1]], rule)
    updates = as_objects(updates)
    writes = []
    for tup in np.ndindex(indices.shape[:-1]):
        t = tuple(at[(*tup, j)] for j in range(k))
        if None not in t:
            for inner in np.ndindex(data.shape[k:]):
                writes.append((t + inner, updates[tup + inner]))
    return scatter(data, writes, how)


def scatter_update(
    data: np.ndarray, indices: np.ndarray, updates: np.ndarray, axis: int, rule: IndexRule, how: Reduce
) -> np.ndarray:
    axis = norm_axis(axis, data.ndim)
    require(updates.shape == data.shape[:axis] + indices.shape + data.shape[axis + 1 :])
    at = resolve_all(indices, lambda p: data.shape[axis], rule)
    updates = as_objects(updates)
    writes = []
    for i in np.ndindex(indices.shape):
        if at[i] is not None:
            for outer in np.ndindex(data.shape[:axis]):
                for inner in np.ndindex(data.shape[axis + 1 :]):
                    writes.append(((*outer, at[i], *inner), updates[outer + i + inner]))
    return scatter(data, writes, how)
