"""TensorScatter and GatherTree: docs/specification.md, 2.8 and 2.9."""

from __future__ import annotations

import numpy as np

from gatherscatter.oracle.arithmetic import Reduce
from gatherscatter.oracle.element_types import as_objects
from gatherscatter.oracle.indices import at_position, norm_axis, require
from gatherscatter.oracle.scatters import scatter


def tensor_scatter(
    past: np.ndarray, update: np.ndarray, write_indices: np.ndarray | None, axis: int, mode: str
) -> np.ndarray:
    require(past.ndim >= 2)
    axis = norm_axis(axis, past.ndim)
    require(axis != 0 and update.ndim == past.ndim)
    for d in range(past.ndim):
        require(d == axis or update.shape[d] == past.shape[d])
    m, s = past.shape[axis], update.shape[axis]
    require(s <= m)
    if write_indices is None:
        write_indices = np.zeros(past.shape[:1], np.int64)
    require(write_indices.shape == past.shape[:1])
    for n in range(past.shape[0]):
        if mode == "linear" and not 0 <= int(write_indices[n]) <= m - s:
            raise at_position(IndexError(int(write_indices[n])), (n,))
    update = as_objects(update)
    writes = []
    for p in np.ndindex(update.shape):
        position = int(write_indices[p[0]]) + p[axis]
        if mode == "circular":
            position %= m
        writes.append(((*p[:axis], position, *p[axis + 1 :]), update[p]))
    return scatter(past, writes, Reduce())


def gather_tree(
    step_ids: np.ndarray, parent_ids: np.ndarray, max_seq_len: np.ndarray, end_token: np.ndarray
) -> np.ndarray:
    require(step_ids.ndim == 3 and parent_ids.shape == step_ids.shape)
    t_max, batches, beams = step_ids.shape
    require(max_seq_len.shape == (batches,) and end_token.shape == ())
    out = np.empty(step_ids.shape, step_ids.dtype)
    for p in np.ndindex(out.shape):
        out[p] = end_token[()]
    for n in range(batches):
        for w in range(beams):
            length = min(t_max, int(max_seq_len[n]))
            if length <= 0:
                continue
            out[length - 1, n, w] = step_ids[length - 1, n, w]
            parent = int(parent_ids[length - 1, n, w])
            for t in range(length - 2, -1, -1):
                if not 0 <= parent < beams:
                    raise IndexError(parent)
                out[t, n, w] = step_ids[t, n, parent]
                parent = int(parent_ids[t, n, parent])
            ended = False
            for t in range(length):
                if ended:
                    out[t, n, w] = end_token[()]
                ended = ended or bool(out[t, n, w] == end_token[()])
    return out
