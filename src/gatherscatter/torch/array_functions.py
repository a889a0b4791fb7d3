"""The array functions for PyTorch, with gradients.

Made by tools/generate_source.py from src/gatherscatter/operation.py.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from gatherscatter.errors import with_call_errors
from gatherscatter.operation import Bags, Kernel, Operation
from gatherscatter.torch.bags import reduce
from gatherscatter.torch.functions import run

__all__ = [
    "gather",
    "gather_elements",
    "gather_nd",
    "gather_reduce",
    "scatter_elements",
    "scatter_nd",
    "scatter_update",
]


@with_call_errors
def gather(
    data: Tensor,
    indices: Any,
    axis: int = 0,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    negative: str = "end",
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Take whole slices of ``data`` along ``axis``, as `gatherscatter.gather` does, with the same arguments and errors.

    The gradient of a slice that is taken several times is the sum of the gradients of its copies.

    Source: as `gatherscatter.gather`.

    >>> import torch, gatherscatter.torch as gst
    >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> gst.gather(table, [1, 1, -2]).sum().backward()
    >>> table.grad
    tensor([[1., 1.],
            [2., 2.]])
    """
    operation = Operation("gather", Kernel.GATHER, axis, batch_dims, mode, negative, num_threads=num_threads)
    inputs = {"data": data, "indices": indices}
    return run(operation, inputs, out)


@with_call_errors
def gather_elements(
    data: Tensor,
    indices: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    negative: str = "end",
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Take single elements, as `gatherscatter.gather_elements` does, with the same arguments and errors.

    Source: as `gatherscatter.gather_elements`.

    >>> import torch, gatherscatter.torch as gst
    >>> gst.gather_elements(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1], [0]]), axis=1)
    tensor([[2.],
            [3.]])
    """
    operation = Operation(
        "gather_elements",
        Kernel.GATHER_ELEMENTS,
        axis,
        mode=mode,
        negative=negative,
        num_threads=num_threads,
    )
    inputs = {"data": data, "indices": indices}
    return run(operation, inputs, out)


@with_call_errors
def gather_nd(
    data: Tensor,
    indices: Any,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    negative: str = "end",
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Take elements or slices named by index tuples.

    As `gatherscatter.gather_nd` does, with the same arguments and errors.

    Source: as `gatherscatter.gather_nd`.

    >>> import torch, gatherscatter.torch as gst
    >>> gst.gather_nd(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), [[0, 1], [1, -1]])
    tensor([2., 4.])
    """
    operation = Operation(
        "gather_nd",
        Kernel.GATHER_ND,
        batch_dims=batch_dims,
        mode=mode,
        negative=negative,
        num_threads=num_threads,
    )
    inputs = {"data": data, "indices": indices}
    return run(operation, inputs, out)


@with_call_errors
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
    negative: str = "end",
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Write whole slices along ``axis``, as `gatherscatter.scatter_update` does, with the same arguments and errors.

    An update that a later one overwrites has a zero gradient. Equal contributions to a minimum or maximum share its
    gradient in equal parts, as in `torch.Tensor.scatter_reduce`. With 'mul', the gradient of a factor is the product of
    the other factors, even if some of them are zero.

    Source: as `gatherscatter.scatter_update`.

    >>> import torch, gatherscatter.torch as gst
    >>> updates = torch.tensor([3.0, 5.0, 5.0], requires_grad=True)
    >>> best = gst.scatter_update(torch.zeros(2), [0, 1, 1], updates, reduction="max")
    >>> best
    tensor([3., 5.], grad_fn=<_ScatterBackward>)
    >>> best.sum().backward()
    >>> updates.grad
    tensor([1.0000, 0.5000, 0.5000])
    """
    operation = Operation(
        "scatter_update",
        Kernel.SCATTER_UPDATE,
        axis,
        mode=mode,
        negative=negative,
        reduction=reduction,
        include_self=include_self,
        accumulate=accumulate,
        num_threads=num_threads,
    )
    inputs = {"data": data, "indices": indices, "updates": updates}
    return run(operation, inputs, out)


@with_call_errors
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
    negative: str = "end",
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Write single elements, as `gatherscatter.scatter_elements` does, with the same arguments and errors.

    The gradients are those of `scatter_update`.

    Source: as `gatherscatter.scatter_elements`.

    >>> import torch, gatherscatter.torch as gst
    >>> gst.scatter_elements(torch.zeros(2, 2), torch.tensor([[1, 0]]), torch.ones(1, 2), reduction="add")
    tensor([[0., 1.],
            [1., 0.]])
    """
    operation = Operation(
        "scatter_elements",
        Kernel.SCATTER_ELEMENTS,
        axis,
        mode=mode,
        negative=negative,
        reduction=reduction,
        include_self=include_self,
        accumulate=accumulate,
        num_threads=num_threads,
    )
    inputs = {"data": data, "indices": indices, "updates": updates}
    return run(operation, inputs, out)


@with_call_errors
def scatter_nd(
    data: Tensor,
    indices: Any,
    updates: Any,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    negative: str = "end",
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Write elements or slices named by index tuples.

    As `gatherscatter.scatter_nd` does, with the same arguments and errors.

    The gradients are those of `scatter_update`.

    Source: as `gatherscatter.scatter_nd`.

    >>> import torch, gatherscatter.torch as gst
    >>> gst.scatter_nd(torch.zeros(3), [[2], [0], [2]], torch.tensor([1.0, 2.0, 4.0]), reduction="add")
    tensor([2., 0., 5.])
    """
    operation = Operation(
        "scatter_nd",
        Kernel.SCATTER_ND,
        mode=mode,
        negative=negative,
        reduction=reduction,
        include_self=include_self,
        accumulate=accumulate,
        num_threads=num_threads,
    )
    inputs = {"data": data, "indices": indices, "updates": updates}
    return run(operation, inputs, out)


@with_call_errors
def gather_reduce(
    data: Tensor,
    indices: Any = None,
    *,
    offsets: Any = None,
    segment_ids: Any = None,
    indptr: Any = None,
    num_segments: int | None = None,
    weights: Any = None,
    reduction: str = "add",
    default: complex = 0,
    accumulate: str = "step",
    mode: str = "raise",
    negative: str = "end",
    num_threads: int | None = None,
) -> Tensor:
    """Gather rows of ``data`` and reduce the rows of each bag to one row.

    As `gatherscatter.gather_reduce` does, with the same arguments and errors.

    There is no ``out``, ``default`` is a number, and data are not a quantized table. The gradients of data and weights
    are those of `gather`, followed by `scatter_update` with ``include_self=False``. Code that is compiled, exported or
    batched over ``segment_ids`` needs ``num_segments``.

    Source: as `gatherscatter.gather_reduce`.

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
    operation = Operation(
        "gather_reduce",
        Kernel.GATHER_REDUCE,
        mode=mode,
        negative=negative,
        reduction=reduction,
        accumulate=accumulate,
        num_threads=num_threads,
        bags=Bags(num_segments),
    )
    inputs = {
        "data": data,
        "indices": indices,
        "offsets": offsets,
        "segment_ids": segment_ids,
        "indptr": indptr,
        "weights": weights,
        "default": default,
    }
    return reduce(operation, inputs)
