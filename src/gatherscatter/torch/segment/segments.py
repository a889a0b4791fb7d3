"""Reduce segments of consecutive values, given by their starts (csr) or by the segment of each value (coo)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gatherscatter.arrays.torch_tensors import check_layout, is_transformed
from gatherscatter.errors import OpIndexError, OpValueError
from gatherscatter.operation import Kernel
from gatherscatter.torch import functions
from gatherscatter.torch.segment.checks import (
    check_first_dims,
    check_integers,
    check_out,
    check_rank,
    check_result,
)
from gatherscatter.torch.segment.scatters import (
    Pair,
    add,
    average,
    copy_to_out,
    find_maxima,
    find_minima,
    find_reduction,
)
from gatherscatter.torch.segment.targets import Targets


def segment_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None, reduce: str = "sum") -> Tensor:
    """Reduce each segment ``src[..., indptr[..., i] : indptr[..., i + 1], ...]`` to one value.

    Parameters
    ----------
    src : tensor
    indptr : tensor of integers, shape (..., S + 1) for S segments
        The position where each segment begins, and the position where the last one ends. Its last axis is the reduced
        axis of ``src``. Its other axes have the sizes of the first axes of ``src``, or size 1.
    out : tensor, optional
        The initial values, as in `scatter`.
    reduce : {'sum', 'add', 'mul', 'mean', 'min', 'max'}

    Returns
    -------
    tensor with the shape of ``src``, except for the size S of the reduced axis

    Raises
    ------
    IndexError
        A pointer is out of range, or less than the one before it.
    ValueError, TypeError
        ``indptr`` is empty, is not a tensor of integers, or its axes do not fit those of ``src``.

    >>> import torch
    >>> from gatherscatter.torch.segment import segment_csr
    >>> segment_csr(torch.tensor([1, 2, 4]), torch.tensor([0, 2, 3]))
    tensor([3, 4])
    """
    return _segment_csr("segment_csr", src, indptr, out, find_reduction("segment_csr", reduce))  # type: ignore[no-any-return]


def segment_sum_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the sum of each segment, as `segment_csr` does with ``reduce="sum"``."""
    return _segment_csr("segment_sum_csr", src, indptr, out, add)  # type: ignore[no-any-return]


def segment_add_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the sums of segments: another name of `segment_sum_csr`."""
    return _segment_csr("segment_add_csr", src, indptr, out, add)  # type: ignore[no-any-return]


def segment_mean_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the mean of each segment, as `segment_csr` does with ``reduce="mean"``."""
    return _segment_csr("segment_mean_csr", src, indptr, out, average)  # type: ignore[no-any-return]


def segment_min_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Pair:
    """Return the minima of segments and their positions, as `scatter_min` does."""
    return _segment_csr("segment_min_csr", src, indptr, out, find_minima)  # type: ignore[no-any-return]


def segment_max_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Pair:
    """Return the maxima of segments and their positions, as `scatter_max` does."""
    return _segment_csr("segment_max_csr", src, indptr, out, find_maxima)  # type: ignore[no-any-return]


def gather_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """Repeat ``src[..., i, ...]`` for each position of segment i: the reverse of `segment_csr`.

    Raises
    ------
    IndexError
        A pointer is less than the one before it. A row of ``indptr`` does not start with 0, or it does not end with the
        same pointer as the last row.
    ValueError, TypeError
        The errors of `segment_csr`, or ``src`` does not have one value for each segment.

    >>> import torch
    >>> from gatherscatter.torch.segment import gather_csr
    >>> gather_csr(torch.tensor([10, 20]), torch.tensor([0, 2, 3]))
    tensor([10, 10, 20])
    """
    op = "gather_csr"
    indptr = _expand_indptr(op, src, indptr, out)
    dim = indptr.ndim - 1
    if src.shape[dim] != indptr.shape[-1] - 1:
        text = f"indptr of shape {tuple(indptr.shape)} has {indptr.shape[-1] - 1} segments, but src {src.shape[dim]}"
        raise OpValueError(f"{op}: {text} values along dim {dim}", op=op, input="indptr")
    count = int(indptr.flatten()[-1]) if indptr.numel() else 0
    _check_values(op, indptr, count)
    check_result(op, (*src.shape[:dim], count, *src.shape[dim + 1 :]), src, "indptr", indptr, "")
    if not is_transformed():
        _check_ends(op, indptr, count)
    return _gather(op, src, _segments(indptr, count), out)


def segment_coo(
    src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None, reduce: str = "sum"
) -> Tensor:
    """Reduce values as `scatter` does, along the last axis of ``index``. The index does not have to be sorted."""
    return _segment_coo("segment_coo", src, index, out, dim_size, find_reduction("segment_coo", reduce))  # type: ignore[no-any-return]


def segment_sum_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Tensor:
    """Return the sum of each segment, as `segment_coo` does with ``reduce="sum"``."""
    return _segment_coo("segment_sum_coo", src, index, out, dim_size, add)  # type: ignore[no-any-return]


def segment_add_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Tensor:
    """Return the sums of segments: another name of `segment_sum_coo`."""
    return _segment_coo("segment_add_coo", src, index, out, dim_size, add)  # type: ignore[no-any-return]


def segment_mean_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Tensor:
    """Return the mean of each segment, as `segment_coo` does with ``reduce="mean"``."""
    return _segment_coo("segment_mean_coo", src, index, out, dim_size, average)  # type: ignore[no-any-return]


def segment_min_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Pair:
    """Return the minima of segments and their positions, as `scatter_min` does."""
    return _segment_coo("segment_min_coo", src, index, out, dim_size, find_minima)  # type: ignore[no-any-return]


def segment_max_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Pair:
    """Return the maxima of segments and their positions, as `scatter_max` does."""
    return _segment_coo("segment_max_coo", src, index, out, dim_size, find_maxima)  # type: ignore[no-any-return]


def gather_coo(src: Tensor, index: Tensor, out: Tensor | None = None) -> Tensor:
    """Take ``src[..., index[..., i], ...]`` along the last axis of ``index``: the reverse of `segment_coo`."""
    op = "gather_coo"
    functions.check_tensors(op, out, src=src, index=index)
    check_integers(op, "index", index)
    check_rank(op, "index", index, src)
    check_first_dims(op, "index", index, src, index.ndim - 1)
    functions.check_memory(op, index=index)
    return _gather(op, src, index, out)


def _gather(op: str, src: Tensor, index: Tensor, out: Tensor | None) -> Tensor:
    dim = index.ndim - 1
    if out is not None:
        check_out(op, out, (*src.shape[:dim], index.shape[dim], *src.shape[dim + 1 :]), src.dtype)
    size = src.shape[dim]
    targets = Targets(op, index, index.expand(*src.shape[:dim], -1), dim, size, "src")
    result = targets.call(functions.gather, Kernel.GATHER, src, targets.index, axis=dim, batch_dims=dim)
    return copy_to_out(out, result)


def _segments(indptr: Tensor, count: int) -> Tensor:
    """Return the segment of each position, or the number of segments for a position in no segment."""
    device = indptr.device
    if indptr.ndim == 1:
        bounds = torch.cat([indptr.new_zeros(1), indptr, indptr.new_full((1,), count)])
        numbers = torch.arange(-1, indptr.shape[0], device=device)
        numbers[0] = indptr.shape[0] - 1
        return numbers.repeat_interleave(bounds.diff(), output_size=count)
    positions = torch.arange(count, device=device).expand(*indptr.shape[:-1], count)
    found = torch.searchsorted(indptr.contiguous(), positions.contiguous(), right=True) - 1
    return found.masked_fill(found < 0, indptr.shape[-1] - 1)


def _expand_indptr(op: str, src: Tensor, indptr: Tensor, out: Tensor | None) -> Tensor:
    """Return the pointers as int64, expanded to the first axes of ``src``."""
    functions.check_tensors(op, out, src=src, indptr=indptr)
    check_layout(op, "indptr", indptr)  # their values determine shapes
    check_integers(op, "indptr", indptr)
    check_rank(op, "indptr", indptr, src)
    dim = indptr.ndim - 1
    if indptr.shape[-1] == 0:
        text = f"{op}: indptr must have at least one element along its last axis: where the first segment begins"
        shapes = f"(indptr {tuple(indptr.shape)}, src {tuple(src.shape)})"
        raise OpValueError(f"{text} {shapes}", op=op, input="indptr")
    check_first_dims(op, "indptr", indptr, src, dim)
    functions.check_memory(op, indptr=indptr)
    return indptr.to(torch.int64).expand(*src.shape[:dim], -1)


def _check_values(op: str, indptr: Tensor, count: int) -> None:
    """Raise IndexError unless pointers ascend within ``count``. In traced programs their values are unknown."""
    if is_transformed() or not indptr.numel():
        return
    outside = (indptr < 0) | (indptr > count)
    if bool(outside.any()):
        where, value = _find_first_wrong(indptr, outside)
        text = f"{op}: {where} = {value} is out of range for {count} values (valid: 0..{count})"
        raise OpIndexError(text, op=op, input="indptr")
    descends = torch.zeros_like(outside)
    descends[..., 1:] = indptr.diff() < 0
    if bool(descends.any()):
        where, value = _find_first_wrong(indptr, descends)
        text = f"{op}: {where} = {value} is less than the pointer before it; indptr must ascend"
        raise OpIndexError(text, op=op, input="indptr")


def _check_ends(op: str, indptr: Tensor, count: int) -> None:
    """Raise IndexError unless each of ``count`` positions belongs to a segment, in every row."""
    for end, wanted in ((0, 0), (-1, count)):
        wrong = torch.zeros_like(indptr, dtype=torch.bool)
        wrong[..., end] = indptr[..., end] != wanted
        if bool(wrong.any()):
            where, value = _find_first_wrong(indptr, wrong)
            text = f"{op}: {where} = {value} must be {wanted}, so that each of {count} positions belongs to a segment"
            raise OpIndexError(text, op=op, input="indptr")


def _find_first_wrong(indptr: Tensor, wrong: Tensor) -> tuple[str, int]:
    """Return the target of the first wrong pointer, and its value."""
    position = tuple(wrong.nonzero()[0].tolist())
    return f"indptr[{', '.join(map(str, position))}]", int(indptr[position])


def _segment_csr(op: str, src: Tensor, indptr: Tensor, out: Tensor | None, reduce: Callable[..., Any]) -> Any:
    indptr = _expand_indptr(op, src, indptr, out)
    dim, size = indptr.ndim - 1, indptr.shape[-1] - 1
    if out is not None:
        check_out(op, out, (*src.shape[:dim], size, *src.shape[dim + 1 :]), src.dtype)
    _check_values(op, indptr, src.shape[dim])
    index = _segments(indptr, src.shape[dim])
    # The last target is for values in no segment.
    result = reduce(Targets.of(op, src, index, dim, None, size + 1), src, None)
    if isinstance(result, tuple):
        values, members = (each.narrow(dim, 0, size).contiguous() for each in result)
        return copy_to_out(out, values), members
    return copy_to_out(out, result.narrow(dim, 0, size).contiguous())


def _segment_coo(
    op: str, src: Tensor, index: Tensor, out: Tensor | None, dim_size: int | None, reduce: Callable[..., Any]
) -> Any:
    functions.check_tensors(op, out, src=src, index=index)
    check_rank(op, "index", index, src)
    return reduce(Targets.of(op, src, index, index.ndim - 1, out, dim_size, takes_dim=False), src, out)
