"""The shape of an operator's result in a graph, where sizes, and even ranks, may be unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gatherscatter.errors import OpValueError
from gatherscatter.versions import OpVersion

# A dim is an int where the size is known, and anything else where not; a shape is None where the rank is not.
Dims = Sequence[Any]


def result_shape(
    row: OpVersion, shapes: Sequence[Dims | None], attributes: Mapping[str, Any], axis: int | None
) -> Dims | None:
    """The shape of the result from those of the inputs; ``axis`` is None where it is an input that is not known.

    >>> from gatherscatter.versions import op
    >>> result_shape(op("onnx.GatherND-13"), [(None, 3, 4), (None, 2, 1)], {"batch_dims": 1}, None)
    [None, 2, 4]
    """
    data, indices = shapes[:2]
    if row.kernel == "gather_elements":
        return indices
    if row.kernel not in ("gather", "gather_nd"):
        return data  # scatters, caches and trees have the shape of what they begin with
    if data is None or indices is None:
        return None
    batch_dims = attributes.get("batch_dims", 0)
    if row.kernel == "gather":
        return _gather(row, list(data), list(indices), batch_dims, axis)
    return _gather_nd(row, list(data), list(indices), batch_dims)


def _gather(row: OpVersion, data: Dims, indices: Dims, batch_dims: int, axis: int | None) -> Dims:
    batch_dims += len(indices) if batch_dims < 0 else 0
    if axis is None:
        return [None] * (len(data) + len(indices) - 1 - batch_dims)
    if not -len(data) <= axis < len(data):
        text = f"{row.name}: axis {axis} is out of range for data of rank {len(data)}"
        raise OpValueError(text, op=row.name, input="axis")
    axis %= len(data)
    return [*data[:axis], *indices[batch_dims:], *data[axis + 1 :]]


def _gather_nd(row: OpVersion, data: Dims, indices: Dims, batch_dims: int) -> Dims | None:
    if not indices or not isinstance(indices[-1], int):
        return None  # the length of the tuples decides the rank
    if not 0 <= batch_dims < min(len(data), len(indices)) or indices[-1] > len(data) - batch_dims:
        tuples = f"tuples of {indices[-1]} indices after {batch_dims} batch dims"
        text = f"{row.name}: data of rank {len(data)} can't be indexed by {tuples}"
        raise OpValueError(text, op=row.name, input="indices")
    dims = [*indices[:-1], *data[batch_dims + indices[-1] :]]
    if row.finish is None or batch_dims <= 1:
        return dims
    batch = dims[:batch_dims]  # GatherND-5 makes one dim of them
    return [math.prod(batch) if all(isinstance(dim, int) for dim in batch) else None, *dims[batch_dims:]]
