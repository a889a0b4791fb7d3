"""Segments of consecutive values: by where they begin (csr), or by the number of each value's segment (coo)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gatherscatter.errors import OpIndexError, OpTypeError, OpValueError
from gatherscatter.torch import functions
from gatherscatter.torch.segment.scatters import (
    Pair,
    copy_to_out,
    find_value_scatter,
    scatter_max,
    scatter_mean,
    scatter_min,
    scatter_sum,
)


def segment_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None, reduce: str = "sum") -> Tensor:
    """Reduce ``src[..., indptr[..., i] : indptr[..., i + 1], ...]`` along the last axis of ``indptr``.

    Its axes before that are those of ``src``, or of length 1. ``reduce`` as in `scatter`.

    Raises
    ------
    IndexError
        A pointer is out of range, or less than the one before it.
    ValueError, TypeError
        ``indptr`` has no element, more axes than ``src`` or others, or is not a tensor of integers.
    """
    return _segment_csr("segment_csr", src, indptr, out, find_value_scatter("segment_csr", reduce))  # type: ignore[no-any-return]


def segment_sum_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """`segment_csr` with sums."""
    return _segment_csr("segment_sum_csr", src, indptr, out, scatter_sum)  # type: ignore[no-any-return]


segment_add_csr = segment_sum_csr


def segment_mean_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """`segment_csr` with means."""
    return _segment_csr("segment_mean_csr", src, indptr, out, scatter_mean)  # type: ignore[no-any-return]


def segment_min_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Pair:
    """`segment_csr` with minima, and where they come from."""
    return _segment_csr("segment_min_csr", src, indptr, out, scatter_min)  # type: ignore[no-any-return]


def segment_max_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Pair:
    """`segment_csr` with maxima, and where they come from."""
    return _segment_csr("segment_max_csr", src, indptr, out, scatter_max)  # type: ignore[no-any-return]


def gather_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """Repeat ``src[..., i, ...]`` for the positions of segment i; the reverse of `segment_csr`.

    Raises
    ------
    IndexError
        A pointer is less than the one before it, or a row of pointers does not begin with 0 or end with the last one.
    ValueError, TypeError
        As for `segment_csr`; or ``src`` has not one value a segment.
    """
    op = "gather_csr"
    functions.check_memory(op, indptr=indptr, out=out)
    indptr = _expand_indptr(op, src, indptr)
    dim = indptr.ndim - 1
    if src.shape[dim] != indptr.shape[-1] - 1:
        text = f"indptr of shape {tuple(indptr.shape)} has {indptr.shape[-1] - 1} segments, but src {src.shape[dim]}"
        raise OpValueError(f"{op}: {text} values along axis {dim}", op=op, input="indptr")
    count = int(indptr.flatten()[-1]) if indptr.numel() else 0
    _check_values(op, indptr, count)
    if not functions.is_transformed():
        _check_ends(op, indptr, count)
    return gather_coo(src, _segments(indptr, count), out)


def segment_coo(
    src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None, reduce: str = "sum"
) -> Tensor:
    """`scatter` along the last axis of ``index``, whose values ascend; here they need not."""
    return _segment_coo(src, index, out, dim_size, find_value_scatter("segment_coo", reduce))  # type: ignore[no-any-return]


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
    return copy_to_out(out, functions.gather("gather", src, whole, axis=dim, batch_dims=dim))


def _segments(indptr: Tensor, count: int) -> Tensor:
    """The segment of each position; the number of segments where it is in none."""
    device = indptr.device
    if indptr.ndim == 1:
        bounds = torch.cat([indptr.new_zeros(1), indptr, indptr.new_full((1,), count)])
        numbers = torch.arange(-1, indptr.shape[0], device=device)
        numbers[0] = indptr.shape[0] - 1
        return numbers.repeat_interleave(bounds.diff(), output_size=count)
    positions = torch.arange(count, device=device).expand(*indptr.shape[:-1], count)
    found = torch.searchsorted(indptr.contiguous(), positions.contiguous(), right=True) - 1
    return found.masked_fill(found < 0, indptr.shape[-1] - 1)


def _expand_indptr(op: str, src: Tensor, indptr: Any) -> Tensor:
    """Pointers as int64, with the first axes of ``src``."""
    if not isinstance(indptr, Tensor):
        text = f"{op}: indptr must be a tensor of integers, not {type(indptr).__name__}"
        raise OpTypeError(text, op=op, input="indptr")
    if indptr.is_floating_point() or indptr.is_complex() or indptr.dtype == torch.bool:
        raise OpTypeError(f"{op}: indptr must be integers, not {indptr.dtype}", op=op, input="indptr")
    shape, dim = tuple(indptr.shape), indptr.ndim - 1
    shapes = f"(indptr {shape}, src {tuple(src.shape)})"
    if not 1 <= indptr.ndim <= src.ndim:
        text = f"{op}: indptr must have between 1 and {src.ndim} dimensions, those of src, not {indptr.ndim} {shapes}"
        raise OpValueError(text, op=op, input="indptr")
    if shape[-1] == 0:
        text = f"{op}: indptr must have at least one element along its last axis: where the first segment begins"
        raise OpValueError(f"{text} {shapes}", op=op, input="indptr")
    if any(size not in (1, wanted) for size, wanted in zip(shape[:-1], src.shape[:dim], strict=True)):
        text = f"{op}: indptr must have the first {dim} axes of src, or 1 in their place {shapes}"
        raise OpValueError(text, op=op, input="indptr")
    pointers: Tensor = indptr.to(torch.int64)
    return pointers.expand(*src.shape[:dim], -1)


def _check_values(op: str, indptr: Tensor, count: int) -> None:
    """Pointers must ascend and stay within ``count``; in traced programs nobody can know."""
    if functions.is_transformed() or not indptr.numel():
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
    """Each of ``count`` positions must belong to a segment, in every row."""
    for end, wanted in ((0, 0), (-1, count)):
        wrong = torch.zeros_like(indptr, dtype=torch.bool)
        wrong[..., end] = indptr[..., end] != wanted
        if bool(wrong.any()):
            where, value = _find_first_wrong(indptr, wrong)
            text = f"{op}: {where} = {value} must be {wanted}, so that each of {count} positions belongs to a segment"
            raise OpIndexError(text, op=op, input="indptr")


def _find_first_wrong(indptr: Tensor, wrong: Tensor) -> tuple[str, int]:
    """Where the first wrong pointer stands, and its value."""
    place = tuple(wrong.nonzero()[0].tolist())
    return f"indptr[{', '.join(map(str, place))}]", int(indptr[place])


def _segment_csr(op: str, src: Tensor, indptr: Tensor, out: Tensor | None, reduce: Callable[..., Any]) -> Any:
    functions.check_memory(op, indptr=indptr, out=out)
    indptr = _expand_indptr(op, src, indptr)
    dim, size = indptr.ndim - 1, indptr.shape[-1] - 1
    _check_values(op, indptr, src.shape[dim])
    index = _segments(indptr, src.shape[dim])
    # One place more, for what is in no segment.
    result = reduce(src, index, dim, None, size + 1)
    if isinstance(result, tuple):
        values, members = (each.narrow(dim, 0, size).contiguous() for each in result)
        return copy_to_out(out, values), members
    return copy_to_out(out, result.narrow(dim, 0, size).contiguous())


def _segment_coo(
    src: Tensor, index: Tensor, out: Tensor | None, dim_size: int | None, reduce: Callable[..., Any]
) -> Any:
    functions.check_memory("segment_coo", index=index)
    dim = index.ndim - 1
    return reduce(src, index.expand(*src.shape[:dim], -1), dim, out, dim_size)
