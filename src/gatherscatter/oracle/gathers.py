"""Gathers: docs/specification.md, 2.2 to 2.4."""

from __future__ import annotations

import numpy as np

from gatherscatter.oracle.element_types import Coordinates
from gatherscatter.oracle.indices import IndexRule, norm_axis, require, resolve_all


def gather(data: np.ndarray, indices: np.ndarray, axis: int, b: int, rule: IndexRule) -> np.ndarray:
    r, q = data.ndim, indices.ndim
    axis = norm_axis(axis, r)
    b += q if b < 0 else 0
    require(0 <= b <= min(r, q) and b <= axis and data.shape[:b] == indices.shape[:b])
    at = resolve_all(indices, lambda p: data.shape[axis], rule)
    out = np.empty(data.shape[:axis] + indices.shape[b:] + data.shape[axis + 1 :], data.dtype)
    for batch in np.ndindex(data.shape[:b]):
        for outer in np.ndindex(data.shape[b:axis]):
            for i in np.ndindex(indices.shape[b:]):
                for inner in np.ndindex(data.shape[axis + 1 :]):
                    position = at[batch + i]
                    source = (*batch, *outer, position, *inner)
                    out[batch + outer + i + inner] = rule.element(data.dtype) if position is None else data[source]
    return out


def gather_elements(data: np.ndarray, indices: np.ndarray, axis: int, rule: IndexRule, equal: bool) -> np.ndarray:
    require(indices.ndim == data.ndim >= 1)
    axis = norm_axis(axis, data.ndim)
    check_box(data.shape, indices.shape, axis, equal)
    at = resolve_all(indices, lambda p: data.shape[axis], rule)
    out = np.empty(indices.shape, data.dtype)
    for p in np.ndindex(indices.shape):
        out[p] = rule.element(data.dtype) if at[p] is None else data[(*p[:axis], at[p], *p[axis + 1 :])]
    return out


def check_box(data: Coordinates, indices: Coordinates, axis: int, equal: bool) -> None:
    """Except at the axis, indices may be shorter than data (ONNX), or must be equal (GatherElements-6)."""
    for d in range(len(data)):
        if d != axis:
            require(indices[d] == data[d] if equal else indices[d] <= data[d])


def gather_nd(data: np.ndarray, indices: np.ndarray, b: int, rule: IndexRule, fused: bool = False) -> np.ndarray:
    r, q = data.ndim, indices.ndim
    require(r >= 1 and q >= 1 and 0 <= b < min(q, r) and data.shape[:b] == indices.shape[:b])
    k = indices.shape[-1]
    require(k <= r - b)
    at = resolve_all(indices, lambda p: data.shape[b + p[-1]], rule)
    out = np.empty(indices.shape[:-1] + data.shape[b + k :], data.dtype)
    for batch in np.ndindex(indices.shape[:b]):
        for tup in np.ndindex(indices.shape[b:-1]):
            t = tuple(at[(*batch, *tup, j)] for j in range(k))
            for inner in np.ndindex(data.shape[b + k :]):
                out[batch + tup + inner] = rule.element(data.dtype) if None in t else data[batch + t + inner]
    if fused and b > 1:
        count = 1
        for d in indices.shape[:b]:
            count *= d
        out = out.reshape((count, *out.shape[b:]))
    return out
