"""Gradients of the scatters, for all of them alike.

A scatter ``out = put(data, updates)`` has a gather that reads the places it has written: ``take(out)`` has the shape of
updates. Whatever is said here is said with these two, which have gradients themselves; so there are second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

HALVES = (torch.float16, torch.bfloat16)


class Movement(NamedTuple):
    """A scatter to certain places, and the gather from there."""

    put: Callable[..., Tensor]  # data, updates, reduction="none", include_self=True
    take: Callable[[Tensor], Tensor]
    at_end: Callable[[str], Tensor]  # which updates are the "min", the first, or the "max", the last of their place
    updates_shape: Sequence[int]
    include_self: bool

    def all(self, value: int, like: Tensor) -> Tensor:
        """Updates that are all the same."""
        return like.new_full((), value).expand(self.updates_shape)

    def without_written(self, values: Tensor) -> Tensor:
        """Values in the shape of data, with zeros where something is written."""
        return self.put(values, self.all(0, values))


class GradientInputs(NamedTuple):
    """What went into a scatter and what came out of it."""

    data: Tensor
    updates: Tensor
    out: Tensor


Gradients = tuple[Tensor, Tensor]  # of data and of updates


def differentiate_none(move: Movement, values: GradientInputs | None, grad: Tensor) -> Gradients:
    """The update that was written last has the gradient of its place, and data where nothing was written."""
    return move.without_written(grad), _where(move.at_end("max"), move.take(grad))


def differentiate_add(move: Movement, values: GradientInputs | None, grad: Tensor) -> Gradients:
    """Everything that was added has the gradient of the sum."""
    return grad if move.include_self else move.without_written(grad), move.take(grad)


def differentiate_sub(move: Movement, values: GradientInputs | None, grad: Tensor) -> Gradients:
    """As `differentiate_add`, with the other sign. Without data, the others are subtracted from the first update."""
    of_data, of_updates = differentiate_add(move, values, grad)
    return of_data, -of_updates if move.include_self else torch.where(move.at_end("min"), of_updates, -of_updates)


def differentiate_mean(move: Movement, values: GradientInputs | None, grad: Tensor) -> Gradients:
    """As `differentiate_add`, divided by the number of contributions."""
    own = torch.full_like(grad, int(move.include_self), dtype=torch.int64)
    counts = move.put(own, move.all(1, own), "add")
    return differentiate_add(move, values, divide_by_counts(grad, counts.clamp(min=1)))


def differentiate_extremum(move: Movement, values: GradientInputs | None, grad: Tensor) -> Gradients:
    """Contributions that are equal to the result share its gradient in equal parts, as in PyTorch."""
    assert values is not None
    own, new = same(values.data, values.out), same(values.updates, move.take(values.out))
    ties = own.to(torch.int64)
    if not move.include_self:
        ties = move.without_written(ties)
    ties = move.put(ties, new.to(torch.int64), "add")
    of_data, of_updates = differentiate_add(move, values, divide_by_counts(grad, ties.clamp(min=1)))
    return _where(own, of_data), _where(new, of_updates)


def differentiate_mul(move: Movement, values: GradientInputs | None, grad: Tensor) -> Gradients:
    """A factor has the product of the others; where there are zeros among them too, and in second derivatives.

    The product of the others is that of all factors but the zeros, divided by the own one, times the zeros that
    remain. Those are kept as a sum: of one zero that is the zero itself, with its derivative; of more nothing is left.
    """
    assert values is not None
    data = values.data if move.include_self else torch.ones_like(values.data)  # ones take no part
    zero_data, zero_updates = data == 0, values.updates == 0
    whole = Product(
        move.put(data.masked_fill(zero_data, 1), values.updates.masked_fill(zero_updates, 1), "mul"),
        move.put(zero_data.to(torch.int64), zero_updates.to(torch.int64), "add"),
        move.put(_where(zero_data, data), _where(zero_updates, values.updates), "add"),
    )
    parts = Product(*(move.take(each) for each in whole))
    of_updates = move.take(grad) * parts.without(values.updates, zero_updates).conj()
    if not move.include_self:
        return move.without_written(grad), of_updates
    return grad * whole.without(data, zero_data).conj(), of_updates


class Product(NamedTuple):
    """A product: of the factors that are not zero, and how many are, and these added up."""

    nonzero: Tensor
    zeros: Tensor
    zero: Tensor

    def without(self, factor: Tensor, is_zero: Tensor) -> Tensor:
        """The product without one of its factors."""
        nonzero = torch.where(is_zero, self.nonzero, self.nonzero / factor.masked_fill(is_zero, 1))
        left = self.zeros - is_zero.to(torch.int64)
        zero = _where(left == 1, self.zero - _where(is_zero, factor))
        return nonzero * torch.where(left == 0, torch.ones_like(zero), zero)


FORMULAS = {
    "none": differentiate_none,
    "add": differentiate_add,
    "sub": differentiate_sub,
    "mul": differentiate_mul,
    "min": differentiate_extremum,
    "max": differentiate_extremum,
    "mean": differentiate_mean,
}


def divide_by_counts(values: Tensor, counts: Tensor) -> Tensor:
    """Counts can be larger than a half float."""
    if values.dtype in HALVES:
        return (values.to(torch.float32) / counts).to(values.dtype)
    return values / counts


def same(values: Tensor, others: Tensor) -> Tensor:
    """Equal, or both NaN."""
    return (values == others) | ((values != values) & (others != others))


def _where(mask: Tensor, values: Tensor) -> Tensor:
    """Zeros but where the mask is."""
    return torch.where(mask, values, values.new_zeros(()))
