"""Segments of consecutive values: by where they begin (csr), or by the number of each value's segment (coo)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gatherscatter.errors import OpIndexError, OpTypeError
from gatherscatter.torch import functions
from gatherscatter.torch.segment.scatters import (
    Pair,
    into,
    scatter_max,
    scatter_mean,
    scatter_min,
    scatter_sum,
    value_of,
)


def segment_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None, reduce: str = "sum") -> Tensor:
    """Reduce ``src[..., indptr[..., i] : indptr[..., i + 1], ...]`` along the last axis of ``indptr``.

    Its axes before that are those of ``src``, or of length 1. ``reduce`` as in `scatter`.
    """
    return _segment_csr(src, indptr, out, value_of("segment_csr", reduce))  # type: ignore[no-any-return]


def segment_sum_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """`segment_csr` with sums."""
    return _segment_csr(src, indptr, out, scatter_sum)  # type: ignore[no-any-return]


segment_add_csr = segment_sum_csr


def segment_mean_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """`segment_csr` with means."""
    return _segment_csr(src, indptr, out, scatter_mean)  # type: ignore[no-any-return]


def segment_min_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Pair:
    """`segment_csr` with minima, and where they come from."""
    return _segment_csr(src, indptr, out, scatter_min)  # type: ignore[no-any-return]


def segment_max_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Pair:
    """`segment_csr` with maxima, and where they come from."""
    return _segment_csr(src, indptr, out, scatter_max)  # type: ignore[no-any-return]


def gather_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """Repeat ``src[..., i, ...]`` for the positions of segment i; the reverse of `segment_csr`."""
    functions.check_memory("gather_csr", indptr=indptr, out=out)
    dim = indptr.ndim - 1
    count = int(indptr.flatten()[-1])
    return gather_coo(src, _segments(indptr.expand(*src.shape[:dim], -1), count), out)


def segment_coo(
    src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None, reduce: str = "sum"
) -> Tensor:
    """`scatter` along the last axis of ``index``, whose values ascend; here they need not."""
    return _segment_coo(src, index, out, dim_size, value_of("segment_coo", reduce))  # type: ignore[no-any-return]


def segment_sum_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Tensor:
    """`segment_coo` with sums."""
    return _segment_coo(src, index, out, dim_size, scatter_sum)  # type: ignore[no-any-return]


segment_add_coo = segment_sum_coo


def segment_mean_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Tensor:
    """`segment_coo` with means."""
    return _segment_coo(src, index, out, dim_size, scatter_mean)  # type: ignore[no-any-return]


def segment_min_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Pair:
    """`segment_coo` with minima, and where they come from."""
    return _segment_coo(src, index, out, dim_size, scatter_min)  # type: ignore[no-any-return]


def segment_max_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Pair:
    """`segment_coo` with maxima, and where they come from."""
    return _segment_coo(src, index, out, dim_size, scatter_max)  # type: ignore[no-any-return]


def gather_coo(src: Tensor, index: Tensor, out: Tensor | None = None) -> Tensor:
    """``src[..., index[..., i], ...]`` along the last axis of ``index``; the reverse of `segment_coo`."""
    functions.check_memory("gather_coo", index=index, out=out)
    dim = index.ndim - 1
    whole = index.expand(*src.shape[:dim], -1)
    return into(out, functions.gather("gather", src, whole, axis=dim, batch_dims=dim))


def _segments(indptr: Tensor, count: int) -> Tensor:
    """The segment of each position; the number of segments where it is in none."""
    indptr = _checked(indptr, count)
    device = indptr.device
    if indptr.ndim == 1:
        bounds = torch.cat([indptr.new_zeros(1), indptr, indptr.new_full((1,), count)])
        numbers = torch.arange(-1, indptr.shape[0], device=device)
        numbers[0] = indptr.shape[0] - 1
        return numbers.repeat_interleave(bounds.diff(), output_size=count)
    positions = torch.arange(count, device=device).expand(*indptr.shape[:-1], count)
    found = torch.searchsorted(indptr.contiguous(), positions.contiguous(), right=True) - 1
    return found.masked_fill(found < 0, indptr.shape[-1] - 1)


def _checked(indptr: Tensor, count: int) -> Tensor:
    """Pointers as int64, which ascend and stay within ``count``; in traced programs nobody can know."""
    if indptr.is_floating_point() or indptr.is_complex() or indptr.dtype == torch.bool:
        raise OpTypeError(f"indptr must be integers, not {indptr.dtype}", op="segment_csr", input="indptr")
    indptr = indptr.to(torch.int64)
    if not functions.is_transformed() and indptr.numel():
        low, high = int(indptr.min()), int(indptr.max())
        if low < 0 or high > count:
            worst = low if low < 0 else high
            text = f"{worst} in indptr is out of range for {count} values (valid: 0..{count})"
            raise OpIndexError(text, op="segment_csr", input="indptr")
        if bool((indptr.diff() < 0).any()):
            raise OpIndexError("indptr must ascend", op="segment_csr", input="indptr")
    return indptr


def _segment_csr(src: Tensor, indptr: Tensor, out: Tensor | None, reduce: Callable[..., Any]) -> Any:
    dim = indptr.ndim - 1
    functions.check_memory("segment_csr", indptr=indptr, out=out)
    size = indptr.shape[-1] - 1
    index = _segments(indptr.expand(*src.shape[:dim], -1), src.shape[dim])
    # One place more, for what is in no segment.
    result = reduce(src, index, dim, None, size + 1)
    if isinstance(result, tuple):
        values, members = (each.narrow(dim, 0, size).contiguous() for each in result)
        return into(out, values), members
    return into(out, result.narrow(dim, 0, size).contiguous())


def _segment_coo(
    src: Tensor, index: Tensor, out: Tensor | None, dim_size: int | None, reduce: Callable[..., Any]
) -> Any:
    functions.check_memory("segment_coo", index=index)
    dim = index.ndim - 1
    return reduce(src, index.expand(*src.shape[:dim], -1), dim, out, dim_size)
