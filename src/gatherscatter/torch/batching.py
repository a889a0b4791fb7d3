"""Batching of the operators for `torch.vmap`. A batch becomes one call, with one more axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_Batched = tuple[Tensor, int]  # a result, and the axis of its batch


def _ops() -> Any:
    return torch.ops.gatherscatter


def move_batch_first(info: Any, tensor: Tensor, dim: int | None) -> Tensor:
    """Return the tensor with the batch as its first axis. A tensor without batch is expanded, without a copy."""
    return tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


def call_for_each(info: Any, in_dims: Any, operator: Any, tensors: Any, options: dict[str, Any]) -> Tensor:
    """Call the operator for the entries of a batch, one after the other. Tensors without batch are shared by all."""
    entries = [
        [tensor if dim is None else tensor.select(dim, entry) for tensor, dim in zip(tensors, in_dims, strict=True)]
        for entry in range(info.batch_size)
    ]
    return torch.stack([operator(*inputs, **options) for inputs in entries])


def with_batch_columns(indices: Tensor, batch_dims: int) -> Tensor:
    """Return index tuples that also have the positions in the leading ``batch_dims`` axes."""
    sizes = indices.shape[:batch_dims]
    shape = (*indices.shape[:-1], 1)
    if indices.dtype.itemsize < 8:  # the type may not hold the positions
        indices = indices.to(torch.int64)
    columns = [
        torch.arange(size, device=indices.device)
        .to(indices.dtype)
        .reshape(-1, *(1,) * (indices.ndim - 1 - dim))
        .expand(shape)
        for dim, size in enumerate(sizes)
    ]
    return torch.cat([*columns, indices], -1)


def _gather(info: Any, in_dims: Any, data: Tensor, indices: Tensor, axis: int = 0, **options: Any) -> _Batched:
    in_data, in_indices = in_dims[:2]
    batch_dims = options.pop("batch_dims", 0)
    axis %= data.ndim - (in_data is not None)
    if in_indices is None and batch_dims == 0:
        return _ops().gather(data.movedim(in_data, 0), indices, axis + 1, **options), 0
    if in_data is None and batch_dims == 0:
        return _ops().gather(data, indices.movedim(in_indices, 0), axis, **options), axis
    if batch_dims < 0:
        batch_dims += indices.ndim - (in_indices is not None)
    both = move_batch_first(info, data, in_data), move_batch_first(info, indices, in_indices)
    return _ops().gather(*both, axis + 1, batch_dims=batch_dims + 1, **options), 0


def _gather_elements(info: Any, in_dims: Any, data: Tensor, indices: Tensor, axis: int = 0, **options: Any) -> _Batched:
    axis %= data.ndim - (in_dims[0] is not None)
    both = move_batch_first(info, data, in_dims[0]), move_batch_first(info, indices, in_dims[1])
    return _ops().gather_elements(*both, axis + 1, **options), 0


def _gather_nd(info: Any, in_dims: Any, data: Tensor, indices: Tensor, **options: Any) -> _Batched:
    batch_dims = options.pop("batch_dims", 0)
    if in_dims[0] is None and batch_dims == 0:
        return _ops().gather_nd(data, indices.movedim(in_dims[1], 0), **options), 0
    both = move_batch_first(info, data, in_dims[0]), move_batch_first(info, indices, in_dims[1])
    return _ops().gather_nd(*both, batch_dims=batch_dims + 1, **options), 0


def _scatter_update(
    info: Any, in_dims: Any, data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, **options: Any
) -> _Batched:
    data, updates = move_batch_first(info, data, in_dims[0]), move_batch_first(info, updates, in_dims[2])
    axis = axis % (data.ndim - 1) + 1
    if in_dims[1] is None:
        return _ops().scatter_update(data, indices, updates, axis, **options), 0
    indices = indices.movedim(in_dims[1], 0)
    index_axes = range(axis, axis + indices.ndim - 1)
    tuples = with_batch_columns(indices.unsqueeze(-1), 1)
    rows, moved = data.movedim(axis, 1), updates.movedim(tuple(index_axes), tuple(range(1, indices.ndim)))
    return _ops().scatter_nd(rows, tuples, moved, **options).movedim(1, axis), 0


def _scatter_elements(
    info: Any, in_dims: Any, data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, **options: Any
) -> _Batched:
    axis %= data.ndim - (in_dims[0] is not None)
    tensors = [move_batch_first(info, *each) for each in zip((data, indices, updates), in_dims, strict=False)]
    return _ops().scatter_elements(*tensors, axis + 1, **options), 0


def _scatter_nd(info: Any, in_dims: Any, data: Tensor, indices: Tensor, updates: Tensor, **options: Any) -> _Batched:
    data, indices, updates = (
        move_batch_first(info, *each) for each in zip((data, indices, updates), in_dims, strict=False)
    )
    return _ops().scatter_nd(data, with_batch_columns(indices, 1), updates, **options), 0


RULES: dict[str, Callable[..., _Batched]] = {
    "gather": _gather,
    "gather_elements": _gather_elements,
    "gather_nd": _gather_nd,
    "scatter_update": _scatter_update,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
}
