"""The array functions for PyTorch, with gradients.

They work with `torch.func`, `torch.compile`, `torch.export` and ONNX export. Their names and arguments are those of the
functions of `gatherscatter`, and their results are bit-for-bit identical for tensors on the CPU. docs/guarantees.md has
the promises for tensors on other devices.

`gather_tree` and `tensor_scatter` are the functions of `gatherscatter` itself. They accept tensors, but have no
gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter.system.extras import require
from gatherscatter.system.lazy_modules import attach

with require("torch", text="gatherscatter.torch needs PyTorch", install="gatherscatter[torch]"):
    import torch
from torch import Tensor

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.interop import lazy_function
from gatherscatter.errors import OpTypeError, check_effects, make_error, with_call_errors
from gatherscatter.functions.gather_tree import gather_tree
from gatherscatter.functions.tensor_scatter import tensor_scatter
from gatherscatter.torch import bags, functions
from gatherscatter.torch.embedding_bag import EmbeddingBag
from gatherscatter.torch.statistics import aggregate

__all__ = [
    "EmbeddingBag",
    "aggregate",
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

# `gather_tree` and `tensor_scatter` are those of `gatherscatter`. They accept tensors, but have no gradients.


@with_call_errors
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
    """Take whole slices of ``data`` along ``axis``, as `gatherscatter.gather` does, with the same arguments and errors.

    The gradient of a slice that is taken several times is the sum of the gradients of its copies.

    >>> import torch, gatherscatter.torch as gst
    >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> gst.gather(table, [1, 1, -2]).sum().backward()
    >>> table.grad
    tensor([[1., 1.],
            [2., 2.]])
    """
    return _gather("gather", data, indices, out, mode, num_threads, axis=axis, batch_dims=batch_dims)


@with_call_errors
def gather_elements(
    data: Tensor,
    indices: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Take single elements along ``axis``, as `gatherscatter.gather_elements` does, with the same arguments and errors.

    >>> import torch, gatherscatter.torch as gst
    >>> gst.gather_elements(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1], [0]]), axis=1)
    tensor([[2.],
            [3.]])
    """
    return _gather("gather_elements", data, indices, out, mode, num_threads, axis=axis)


@with_call_errors
def gather_nd(
    data: Tensor,
    indices: Any,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Take elements or slices by index tuples, as `gatherscatter.gather_nd` does, with the same arguments and errors.

    >>> import torch, gatherscatter.torch as gst
    >>> gst.gather_nd(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), [[0, 1], [1, -1]])
    tensor([2., 4.])
    """
    return _gather("gather_nd", data, indices, out, mode, num_threads, batch_dims=batch_dims)


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
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Write slices along ``axis``, as `gatherscatter.scatter_update` does, with the same arguments and errors.

    An update that a later one overwrites has a zero gradient. Equal contributions to a minimum or maximum share its
    gradient in equal parts, as in `torch.Tensor.scatter_reduce`. With 'mul', the gradient of a factor is the product of
    the other factors, even if some of them are zero.

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
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Write single elements along ``axis``, as `gatherscatter.scatter_elements` does.

    Arguments and errors are the same. Gradients are those of `scatter_update`.

    >>> import torch, gatherscatter.torch as gst
    >>> gst.scatter_elements(torch.zeros(2, 2), torch.tensor([[1, 0]]), torch.ones(1, 2), reduction="add")
    tensor([[0., 1.],
            [1., 0.]])
    """
    how = _collect_scatter_options(reduction, include_self, accumulate, mode, num_threads)
    return _scatter("scatter_elements", data, indices, updates, out, {"axis": axis, **how})


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
    out: Tensor | None = None,
    num_threads: int | None = None,
) -> Tensor:
    """Write elements or slices by index tuples, as `gatherscatter.scatter_nd` does.

    Arguments and errors are the same. Gradients are those of `scatter_update`.

    >>> import torch, gatherscatter.torch as gst
    >>> gst.scatter_nd(torch.zeros(3), [[2], [0], [2]], torch.tensor([1.0, 2.0, 4.0]), reduction="add")
    tensor([2., 0., 5.])
    """
    how = _collect_scatter_options(reduction, include_self, accumulate, mode, num_threads)
    return _scatter("scatter_nd", data, indices, updates, out, how)


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
    num_threads: int | None = None,
) -> Tensor:
    """Gather rows and reduce the rows of each bag to one row, as `gatherscatter.gather_reduce` does.

    Arguments and errors are the same, except that there is no ``out`` and ``default`` is a number. The gradients of
    data and weights are those of `gather`, followed by `scatter_update` with ``include_self=False``. Code that is
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
    made = bags.call_directly(
        data, indices, offsets, segment_ids, weights, indptr, num_segments, reduction, default, accumulate, mode,
        num_threads,
    )  # fmt: skip
    if made is not None:
        return made
    default = default.item() if isinstance(default, np.generic) else default
    if not isinstance(default, int | float | complex):
        raise make_error("default_number", "gather_reduce", value=default)
    given = {
        "indices": indices,
        "offsets": offsets,
        "segment_ids": segment_ids,
        "weights": weights,
        "indptr": indptr,
    }
    table = _tensor("gather_reduce", "data", data)
    return bags.gather_reduce(
        table,
        **{n: None if value is None else _tensor("gather_reduce", n, value, table) for n, value in given.items()},
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


def _gather(
    name: str, data: Tensor, indices: Any, out: Tensor | None, mode: str, num_threads: int | None, **places: Any
) -> Tensor:
    if out is not None:
        return getattr(_core, name)(data, indices, out=out, mode=mode, num_threads=num_threads, **places)  # type: ignore[no-any-return]
    made = functions.call_directly(name, data, indices, None, mode=mode, num_threads=num_threads, **places)
    if made is not None:
        return made
    source = _tensor(name, "data", data)
    return functions.gather(
        name, source, _tensor(name, "indices", indices, source), mode=mode, num_threads=num_threads, **places
    )


def _scatter(
    name: str, data: Tensor, indices: Any, updates: Any, out: Tensor | None, options: dict[str, Any]
) -> Tensor:
    if out is not None:
        return getattr(_core, name)(data, indices, updates, out=out, **options)  # type: ignore[no-any-return]
    if updates is not None and (made := functions.call_directly(name, data, indices, updates, **options)) is not None:
        return made
    check_effects(name, options["reduction"], options["include_self"], options["accumulate"])
    own = _tensor(name, "data", data)
    others = (_tensor(name, each, value, own) for each, value in (("indices", indices), ("updates", updates)))
    return functions.scatter(name, own, *others, **options)


_INDEX_INPUTS = ("indices", "offsets", "segment_ids", "indptr")


def _tensor(op: str, name: str, value: Any, data: Tensor | None = None) -> Tensor:
    """Return the value as a tensor, on the device of data.

    Lists, numbers and NumPy arrays are copied: a backward pass may need them later.
    """
    if isinstance(value, Tensor):
        return value
    made = _make_tensor(op, name, value)
    return made if data is None or data.is_cpu else made.to(data.device)


def _make_tensor(op: str, name: str, value: Any) -> Tensor:
    if torch.compiler.is_compiling():  # the compiler can't trace the checks
        array = np.array(value)
        return torch.from_numpy(array.astype(np.int64) if array.size == 0 and name in _INDEX_INPUTS else array)
    if lazy_function(op, {name: value}, "gather"):
        text = f"{op}: {name} is a Dask array; use gatherscatter.dask, or give {name}.compute()"
        raise OpTypeError(text, op=op, input=name)
    if name in _INDEX_INPUTS:
        array = np.array(convert.as_indices(op, name, value, lists=op.endswith("nd")))
    else:
        array = np.array(convert.as_array(op, name, value))
    try:
        return torch.from_numpy(array)
    except (TypeError, ValueError) as error:
        raise OpTypeError(f"{op}: {name} can't be made a tensor: {error}", op=op, input=name) from None


__getattr__, __dir__ = attach(
    __name__,
    {"segment": ".segment"},
    moved={name: f"gatherscatter_models.torch.{name}" for name in ("check_export", "onnx_translations")},
)
