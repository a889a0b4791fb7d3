"""Gradients of the scatters.

Each scatter ``out = put(data, updates)`` has a matching gather that reads the targets: ``take(out)`` has the
shape of updates. All formulas use only these two functions. Both have gradients, so second derivatives work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

HALVES = (torch.float16, torch.bfloat16)


class Movement(NamedTuple):
    """A scatter, and the gather from the same elements."""

    put: Callable[..., Tensor]  # data, updates, reduction="none", include_self=True
    take: Callable[[Tensor], Tensor]
    at_end: Callable[[str], Tensor]  # whether updates are the first ("min") or the last ("max") of their target
    updates_shape: Sequence[int]
    include_self: bool

    def all(self, value: int, like: Tensor) -> Tensor:
        """Return updates that all have the same value."""
        return like.new_full((), value).expand(self.updates_shape)

    def without_written(self, values: Tensor) -> Tensor:
        """Return values in the shape of data, with zeros at the targets that are written."""
        return self.put(values, self.all(0, values))


class GradientInputs(NamedTuple):
    """The inputs and the result of a scatter."""

    data: Tensor
    updates: Tensor
    out: Tensor


Gradients = tuple[Tensor, Tensor]  # of data and of updates


def differentiate_none(move: Movement, values: GradientInputs | None, grad: Tensor) -> Gradients:
    """Give the gradient of a target to its last update, or to data where nothing is written."""
    return move.without_written(grad), _where(move.at_end("max"), move.take(grad))


def differentiate_add(move: Movement, values: GradientInputs | None, grad: Tensor) -> Gradients:
    """Give the gradient of a sum to each of its terms."""
    return grad if move.include_self else move.without_written(grad), move.take(grad)


def differentiate_sub(move: Movement, values: GradientInputs | None, grad: Tensor) -> Gradients:
    """Like `differentiate_add` with the opposite sign. Without data, updates are subtracted from the first update."""
    of_data, of_updates = differentiate_add(move, values, grad)
    return of_data, -of_updates if move.include_self else torch.where(move.at_end("min"), of_updates, -of_updates)


def differentiate_mean(move: Movement, values: GradientInputs | None, grad: Tensor) -> Gradients:
    """Like `differentiate_add`, divided by the number of contributions."""
    own = torch.full_like(grad, int(move.include_self), dtype=torch.int64)
    counts = move.put(own, move.all(1, own), "add")
    return differentiate_add(move, values, divide_by_counts(grad, counts.clamp(min=1)))


def differentiate_extremum(move: Movement, values: GradientInputs | None, grad: Tensor) -> Gradients:
    """Divide the gradient equally among the contributions that are equal to the result, as PyTorch does."""
    assert values is not None
    own, new = same(values.data, values.out), same(values.updates, move.take(values.out))
    ties = own.to(torch.int64)
    if not move.include_self:
        ties = move.without_written(ties)
    ties = move.put(ties, new.to(torch.int64), "add")
    of_data, of_updates = differentiate_add(move, values, divide_by_counts(grad, ties.clamp(min=1)))
    return _where(own, of_data), _where(new, of_updates)


def differentiate_mul(move: Movement, values: GradientInputs | None, grad: Tensor) -> Gradients:
    """Multiply the gradient of each factor by the product of the other factors, which can include zeros.

    The product of the others has two parts: the product of the other nonzero factors, and the product of the other
    zeros. The second is 1 if there are no other zeros. A single one is kept as a sum of zeros, which has a derivative.
    For more it is 0.
    """
    assert values is not None
    data = values.data if move.include_self else torch.ones_like(values.data)  # ones do not change the product
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
    """A product: the product of the nonzero factors, the number of zeros, and the sum of the zeros."""

    nonzero: Tensor
    zeros: Tensor
    zero: Tensor

    def without(self, factor: Tensor, is_zero: Tensor) -> Tensor:
        """Return the product without one of its factors."""
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
    """Divide values by counts, in float32 for halves. Counts can be too large for a half."""
    if values.dtype in HALVES:
        return (values.to(torch.float32) / counts).to(values.dtype)
    return values / counts


def same(values: Tensor, others: Tensor) -> Tensor:
    """Whether elements are equal, or both NaN."""
    return (values == others) | ((values != values) & (others != others))


def _where(mask: Tensor, values: Tensor) -> Tensor:
    """Return values where the mask is set, and zeros elsewhere."""
    return torch.where(mask, values, values.new_zeros(()))
