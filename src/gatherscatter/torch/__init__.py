"""The array functions for PyTorch: with gradients, for `torch.func`, `torch.compile`, `torch.export` and ONNX export.

The functions have the names and the arguments of those of `gatherscatter` and give the same bits. They take tensors in
the memory of the CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter.extras import require

with require("torch", text="gatherscatter.torch needs PyTorch", install="gatherscatter[torch]"):
    import torch
from torch import Tensor

from gatherscatter import _core
from gatherscatter.errors import make_error
from gatherscatter.functions.gather_tree import gather_tree
from gatherscatter.functions.tensor_scatter import tensor_scatter
from gatherscatter.torch import bags, functions
from gatherscatter.torch.embedding_bag import EmbeddingBag

__all__ = [
    "EmbeddingBag",
    "gather",
    "gather_elements",
    "gather_nd",
    "gather_reduce",
    "gather_tree",
    "scatter_elements",
    "scatter_nd",
    "scatter_update",
    "tensor_scatter",
]

# These two take tensors as they are, and have no gradients: they serve inference.


def gather(
    data: Tensor,
    indices: Any,
    axis: int = 0,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Take whole slices of ``data`` along ``axis``: `gatherscatter.gather`, whose arguments and errors it has.

    The gradient of a slice that is taken several times is the sum of theirs.

    >>> import torch, gatherscatter.torch as gst
    >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> gst.gather(table, [1, 1, -2]).sum().backward()
    >>> table.grad
    tensor([[1., 1.],
            [2., 2.]])
    """
    options = {"axis": axis, "batch_dims": batch_dims, "mode": mode, "num_threads": num_threads}
    return _gather("gather", data, indices, out, options)


def gather_elements(
    data: Tensor,
    indices: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Take single elements along ``axis``: `gatherscatter.gather_elements`, whose arguments and errors it has.

    >>> import torch, gatherscatter.torch as gst
    >>> gst.gather_elements(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1], [0]]), axis=1)
    tensor([[2.],
            [3.]])
    """
    return _gather("gather_elements", data, indices, out, {"axis": axis, "mode": mode, "num_threads": num_threads})


def gather_nd(
    data: Tensor,
    indices: Any,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Take elements or slices by index tuples: `gatherscatter.gather_nd`, whose arguments and errors it has.

    >>> import torch, gatherscatter.torch as gst
    >>> gst.gather_nd(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), [[0, 1], [1, -1]])
    tensor([2., 4.])
    """
    options = {"batch_dims": batch_dims, "mode": mode, "num_threads": num_threads}
    return _gather("gather_nd", data, indices, out, options)


def scatter_update(
    data: Tensor,
    indices: Any,
    updates: Any,
    axis: int = 0,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Write slices along ``axis``: `gatherscatter.scatter_update`, whose arguments and errors it has.

    Gradients: of an update that a later one overwrites, zero; of equal contributions to a minimum or maximum, equal
    parts, as PyTorch's `scatter_reduce` has it; of a factor, the product of the others, zeros or not.

    >>> import torch, gatherscatter.torch as gst
    >>> updates = torch.tensor([3.0, 5.0, 5.0], requires_grad=True)
    >>> best = gst.scatter_update(torch.zeros(2), [0, 1, 1], updates, reduction="max")
    >>> best
    tensor([3., 5.], grad_fn=<_ScatterBackward>)
    >>> best.sum().backward()
    >>> updates.grad
    tensor([1.0000, 0.5000, 0.5000])
    """
    how = _collect_scatter_options(reduction, include_self, accumulate, mode, num_threads)
    return _scatter("scatter_update", data, indices, updates, out, {"axis": axis, **how})


def scatter_elements(
    data: Tensor,
    indices: Any,
    updates: Any,
    axis: int = 0,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Write single elements along ``axis``: `gatherscatter.scatter_elements`; gradients as of `scatter_update`.

    >>> import torch, gatherscatter.torch as gst
    >>> gst.scatter_elements(torch.zeros(2, 2), torch.tensor([[1, 0]]), torch.ones(1, 2), reduction="add")
    tensor([[0., 1.],
            [1., 0.]])
    """
    how = _collect_scatter_options(reduction, include_self, accumulate, mode, num_threads)
    return _scatter("scatter_elements", data, indices, updates, out, {"axis": axis, **how})


def scatter_nd(
    data: Tensor,
    indices: Any,
    updates: Any,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Write by index tuples: `gatherscatter.scatter_nd`, whose arguments and errors it has; gradients as of
    `scatter_update`.

    >>> import torch, gatherscatter.torch as gst
    >>> gst.scatter_nd(torch.zeros(3), [[2], [0], [2]], torch.tensor([1.0, 2.0, 4.0]), reduction="add")
    tensor([2., 0., 5.])
    """
    how = _collect_scatter_options(reduction, include_self, accumulate, mode, num_threads)
    return _scatter("scatter_nd", data, indices, updates, out, how)


def gather_reduce(
    data: Tensor,
    indices: Any = None,
    *,
    offsets: Any = None,
    segment_ids: Any = None,
    num_segments: int | None = None,
    weights: Any = None,
    reduction: str = "add",
    default: complex = 0,
    accumulate: str = "step",
    mode: str = "raise",
    num_threads: int | None = None,
) -> Tensor:
    """Gather rows and reduce those of each bag to one row: `gatherscatter.gather_reduce`, whose arguments and errors it
    has, but ``out``. Here ``default`` is a number.

    Data and weights have the gradients of `gather` and of `scatter_update` with ``include_self=False``. Code that is
    compiled, exported or batched over ``segment_ids`` needs ``num_segments``.

    >>> import torch, gatherscatter.torch as gst
    >>> table = torch.tensor([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]], requires_grad=True)
    >>> sums = gst.gather_reduce(table, [[0, 1], [2, 2]], weights=[[1.0, 0.5], [3.0, 4.0]])
    >>> sums
    tensor([[   6.,   12.],
            [ 700., 1400.]], grad_fn=<_GatherReduceBackward>)
    >>> sums.sum().backward()
    >>> table.grad
    tensor([[1.0000, 1.0000],
            [0.5000, 0.5000],
            [7.0000, 7.0000]])
    """
    default = default.item() if isinstance(default, np.generic) else default
    if not isinstance(default, int | float | complex):
        raise make_error("default_number", "gather_reduce", value=default)
    given = {"indices": indices, "offsets": offsets, "segment_ids": segment_ids, "weights": weights}
    return bags.gather_reduce(
        _tensor("data", data),
        **{name: None if value is None else _tensor(name, value) for name, value in given.items()},
        num_segments=num_segments,
        reduction=reduction,
        default=default,
        accumulate=accumulate,
        mode=mode,
        num_threads=num_threads,
    )


def _collect_scatter_options(
    reduction: str, include_self: bool, accumulate: str, mode: str, num_threads: int | None
) -> dict[str, Any]:
    return {
        "reduction": reduction,
        "include_self": include_self,
        "accumulate": accumulate,
        "mode": mode,
        "num_threads": num_threads,
    }


def _gather(name: str, data: Tensor, indices: Any, out: Tensor | None, options: dict[str, Any]) -> Tensor:
    if out is not None:
        return getattr(_core, name)(data, indices, out=out, **options)  # type: ignore[no-any-return]
    return functions.gather(name, _tensor("data", data), _tensor("indices", indices), **options)


def _scatter(
    name: str, data: Tensor, indices: Any, updates: Any, out: Tensor | None, options: dict[str, Any]
) -> Tensor:
    if out is not None:
        return getattr(_core, name)(data, indices, updates, out=out, **options)  # type: ignore[no-any-return]
    tensors = _tensor("data", data), _tensor("indices", indices), _tensor("updates", updates)
    return functions.scatter(name, *tensors, **options)


_INDEX_INPUTS = ("indices", "offsets", "segment_ids")


def _tensor(name: str, value: Any) -> Tensor:
    """A tensor; of lists, numbers and arrays of NumPy a copy, since a backward pass may need it later."""
    if isinstance(value, Tensor):
        return value
    array = np.array(value)
    empty_list = array.size == 0 and not isinstance(value, np.ndarray)
    return torch.from_numpy(array.astype(np.int64) if empty_list and name in _INDEX_INPUTS else array)
