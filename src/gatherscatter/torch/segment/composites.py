"""Functions that consist of several scatters. For 16-bit floats they compute in 32 bits and round once."""

from __future__ import annotations

import torch
from torch import Tensor

from gatherscatter.errors import OpTypeError
from gatherscatter.torch.functions import check_memory, check_tensors
from gatherscatter.torch.gradients import HALVES
from gatherscatter.torch.segment.scatters import copy_to_out
from gatherscatter.torch.segment.targets import Targets


def scatter_std(
    src: Tensor,
    index: Tensor,
    dim: int = -1,
    out: Tensor | None = None,
    dim_size: int | None = None,
    unbiased: bool = True,
) -> Tensor:
    """Return the standard deviation of the values that have the same index.

    It is 0, with a gradient of 0, where all values are the same. The values in ``out`` are overwritten.
    """
    op = "scatter_std"
    check_tensors(op, out, src=src, index=index)
    if src.is_complex():
        raise OpTypeError(f"{op}: src must be real numbers, not {src.dtype}", op=op, input="src")
    check_memory(op, src=src)
    reals = src if src.is_floating_point() else src.to(torch.get_default_dtype())
    targets, values = Targets.of(op, reals, index, dim, out, dim_size), _widen_halves(reals)
    off = values - targets.take(targets.put(values, "mean"))
    counts = targets.counts(values)
    squares = targets.put(off * off, "add") / (counts - 1 if unbiased else counts).clamp(min=1)
    same = squares == 0
    result = squares.masked_fill(same, 1).sqrt().masked_fill(same, 0)
    return copy_to_out(out, result.to(reals.dtype))


def scatter_softmax(src: Tensor, index: Tensor, dim: int = -1, dim_size: int | None = None) -> Tensor:
    """Return the softmax over the values that have the same index, in the shape of ``src``."""
    targets, values = _prepare_floats("scatter_softmax", src, index, dim, None, dim_size)
    powers = (values - targets.take(_top(targets, values))).exp()
    return (powers / targets.take(targets.put(powers, "add"))).to(src.dtype)


def scatter_log_softmax(
    src: Tensor, index: Tensor, dim: int = -1, eps: float = 1e-12, dim_size: int | None = None
) -> Tensor:
    """Return the logarithm of `scatter_softmax`. ``eps`` is added to the sum of the exponentials."""
    targets, values = _prepare_floats("scatter_log_softmax", src, index, dim, None, dim_size)
    off = values - targets.take(_top(targets, values))
    return (off - targets.take((targets.put(off.exp(), "add") + eps).log())).to(src.dtype)


def scatter_logsumexp(
    src: Tensor,
    index: Tensor,
    dim: int = -1,
    out: Tensor | None = None,
    dim_size: int | None = None,
    eps: float = 1e-12,
) -> Tensor:
    """Return ``log(sum(exp(src)))`` of the values that have the same index, including the values in ``out``.

    A target without values keeps the value in ``out``, or is 0 without ``out``.
    """
    targets, values = _prepare_floats("scatter_logsumexp", src, index, dim, out, dim_size)
    top, start, empty = _top(targets, values), None, values.new_zeros(())
    if out is not None:
        empty = _widen_halves(out.clone())
        top = torch.maximum(top, empty.detach().nan_to_num(neginf=torch.finfo(values.dtype).min))
        start = (empty - top).exp()
    powers = targets.put((values - targets.take(top)).exp(), "add", start)
    nothing = powers == 0  # all values are minus infinity
    found = ((powers.masked_fill(nothing, 1) + eps).log() + top).masked_fill(nothing, -torch.inf)
    return copy_to_out(out, torch.where(targets.counts(values) > 0, found, empty).to(src.dtype))


def _widen_halves(values: Tensor) -> Tensor:
    return values.to(torch.float32) if values.dtype in HALVES else values


def _prepare_floats(
    op: str, src: Tensor, index: Tensor, dim: int, out: Tensor | None, size: int | None
) -> tuple[Targets, Tensor]:
    check_tensors(op, out, src=src, index=index)
    if not src.is_floating_point():
        raise OpTypeError(f"{op}: src must be floats, not {src.dtype}", op=op, input="src")
    check_memory(op, src=src)
    return Targets.of(op, src, index, dim, out, size), _widen_halves(src)


def _top(targets: Targets, values: Tensor) -> Tensor:
    """Return the largest value of each target, or 0 for infinities. It keeps exponentials in range, and is constant."""
    with torch.no_grad():
        return targets.put(values, "max").nan_to_num(posinf=0, neginf=0)
