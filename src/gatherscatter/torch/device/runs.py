"""Reduce runs: updates that are sorted by their places, so that those of one place are next to each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from gatherscatter.torch.device.tensors import as_movable, decode, decode_order, encode, encode_order

Combine = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class PlaceRuns:
    """Updates sorted by place.

    Attributes
    ----------
    size : the number of places
    places : int64 or int32, shape (N,), ascending. The place of each update; ``size`` for an update that is dropped
    order : the number of each update before it was sorted; None if they were sorted already
    """

    size: int
    places: Tensor
    order: Tensor | None

    @staticmethod
    def of(places: Tensor, size: int) -> PlaceRuns:
        """Sort updates by place. Updates of one place keep their order."""
        keys = places if size >= 2**31 - 1 else places.to(torch.int32)
        return PlaceRuns(size, *torch.sort(keys, stable=True))

    @staticmethod
    def of_starts(starts: Tensor, size: int, count: int) -> PlaceRuns:
        """Return the runs of ``count`` updates that are sorted, from the positions where the runs begin."""
        numbers = torch.arange(count, device=starts.device)
        return PlaceRuns(size, torch.searchsorted(starts.to(torch.int64), numbers, right=True) - 1, None)

    @cached_property
    def starts(self) -> Tensor:
        """The position where the run of each place begins, and the position where the last one ends."""
        every = torch.arange(self.size + 1, device=self.places.device, dtype=self.places.dtype)
        return torch.searchsorted(self.places, every)

    @cached_property
    def first(self) -> Tensor:
        """Whether an update is the first of its run, shape (N, 1)."""
        begins = torch.ones_like(self.places, dtype=torch.bool)
        begins[1:] = self.places[1:] != self.places[:-1]
        return begins.unsqueeze(-1)

    @property
    def is_sparse(self) -> bool:
        """Whether there are fewer updates than places. Then `targets` are the places of the updates, else all."""
        return len(self.places) < self.size

    @cached_property
    def targets(self) -> tuple[Tensor, Tensor]:
        """The last update of each target, and the number of its updates, shapes (T,) and (T, 1)."""
        if self.is_sparse:
            ends = torch.searchsorted(self.places, self.places, right=True)
            return ends - 1, (ends - torch.searchsorted(self.places, self.places)).unsqueeze(-1)
        return (self.starts[1:] - 1).clamp(min=0), self.starts.diff().unsqueeze(-1)

    def sort(self, updates: Tensor) -> Tensor:
        """Return updates in the order of their places."""
        return updates if self.order is None else updates.index_select(0, self.order)

    def write(
        self,
        data: Tensor,
        updates: Tensor,
        reduction: str = "none",
        include_self: bool = True,
        accumulate: str = "step",
    ) -> Tensor:
        """Write updates of shape (N, W) to a copy of data, shape (size, W)."""
        if not updates.numel() or not data.numel():
            return data.clone(memory_format=torch.contiguous_format)
        ends, counts = self.targets
        own = data.index_select(0, self.places.clamp(max=self.size - 1)) if self.is_sparse else data
        if reduction == "none":
            new = updates.index_select(0, ends if self.order is None else self.order.index_select(0, ends))
        else:
            new = self._reduce(own, updates, reduction, include_self, accumulate)
        new, plain = as_movable(new), as_movable(data)
        if not self.is_sparse:
            return torch.where(counts > 0, new, plain).view(data.dtype)
        result = plain.new_empty((self.size + 1, data.shape[1]))  # the last row takes the updates that are dropped
        result[:-1] = plain
        # All updates of a place write the same row, so their order does not matter.
        return result.index_put_((self.places,), new)[:-1].view(data.dtype)

    def _reduce(self, own: Tensor, updates: Tensor, reduction: str, include_self: bool, accumulate: str) -> Tensor:
        """Return the new rows of the targets. ``own`` has their rows of data."""
        if reduction == "mean" and not own.is_floating_point() and not own.is_complex():
            return self._average_integers(own, updates, include_self)
        values, start = (encode(each, reduction, accumulate) for each in (updates, own))
        is_sum = reduction in ("add", "sub", "mean") and values.dtype != torch.bool
        if is_sum and reduction == "sub" and not include_self:  # the first update takes the place of data
            values = torch.where(self._restore(self.first), values, -values)
        combine = _find_combination(reduction, values.dtype)
        if reduction in ("min", "max"):
            total = self.find_extrema(values, reduction, start if include_self else None)
            return decode(total, own.dtype, reduction)
        total = self.add(values) if is_sum else self.reduce(self.sort(values), combine)
        if include_self:
            total = start - total if is_sum and reduction == "sub" else combine(start, total)
        if reduction == "mean":
            total = total / (self.targets[1] + int(include_self)).clamp(min=1)
        return decode(total, own.dtype, reduction)

    def add(self, values: Tensor) -> Tensor:
        """Add up the values of each target, shape (N, W), in the order before sorting."""
        pieces, targets, number = self._pieces
        total = _add_rows(number, targets, _add_rows(len(targets), pieces, values))
        return total.index_select(0, self._numbers) if self.is_sparse else total[:-1]

    @cached_property
    def _numbers(self) -> Tensor:
        """The number of the run of each sorted update, shape (N,)."""
        return self.first.flatten().cumsum(0) - 1

    @cached_property
    def _pieces(self) -> tuple[Tensor, Tensor, int]:
        """The piece of each update before sorting, the target of each piece, and the number of targets.

        Runs are cut into pieces, whose sums are then added up: a GPU adds the values of one place one after the other,
        which would take long for a place with most of the values. The number of pieces has a bound that does not depend
        on values, so nothing waits for the device.
        """
        count = len(self.places)
        length = math.isqrt(count - 1) + 1
        begins = self.first.flatten() | (torch.arange(count, device=self.places.device) % length == 0)
        pieces = begins.cumsum(0) - 1
        every = torch.arange(min(count, self.size + 1 + length), device=pieces.device)
        starts = torch.searchsorted(pieces, every)
        runs, number = (self._numbers, count) if self.is_sparse else (self.places, self.size + 1)
        targets = runs.index_select(0, starts.clamp(max=count - 1)).long()
        # Pieces without values do not change a sum. They are distributed, so that no target has many of them.
        return self._restore(pieces), torch.where(starts < count, targets, every % number), number

    def find_extrema(self, values: Tensor, reduction: str, start: Tensor | None = None) -> Tensor:
        """Find the least or greatest value of each target, shape (N, W), in the order before sorting.

        Integers are compared, so the result does not depend on the order of the comparisons. ``start`` has a further
        value for each target.
        """
        keys = encode_order(values, reduction)
        limits = torch.iinfo(keys.dtype)
        runs, number = (self._numbers, len(keys)) if self.is_sparse else (self.places, self.size + 1)
        targets = self._restore(runs.long()).unsqueeze(1).expand_as(keys)
        found = keys.new_full((number, keys.shape[1]), limits.max if reduction == "min" else limits.min)
        found = found.scatter_reduce_(0, targets, keys, f"a{reduction}")
        found = found.index_select(0, self._numbers) if self.is_sparse else found[:-1]
        if start is not None:
            found = (torch.minimum if reduction == "min" else torch.maximum)(found, encode_order(start, reduction))
        return decode_order(found, values.dtype)

    def reduce(self, values: Tensor, combine: Combine) -> Tensor:
        """Combine the values of each target, which `sort` has sorted."""
        return _pick(values if self.order is not None else values.clone(), self.first, self.targets[0], combine)

    def _restore(self, values: Tensor) -> Tensor:
        """Return values of sorted updates in the order before sorting."""
        return values if self.order is None else torch.empty_like(values).index_put_((self.order,), values)

    def _average_integers(self, own: Tensor, updates: Tensor, include_self: bool) -> Tensor:
        """Return means of integers, rounded down. Sums of the halves of 64 bits are exact."""
        parts = [
            self.add(values) + (start if include_self else 0)
            for values, start in zip(_split(updates), _split(own), strict=True)
        ]
        counts = (self.targets[1] + int(include_self)).clamp(min=1)
        high = torch.div(parts[0], counts, rounding_mode="floor")
        low = torch.div(((parts[0] - high * counts) << 32) + parts[1], counts, rounding_mode="floor")
        mean = (high << 32) + low
        return mean.view(own.dtype) if own.dtype == torch.uint64 else mean.to(own.dtype)


def _add_rows(size: int, places: Tensor, rows: Tensor) -> Tensor:
    """Add up rows by place. Negative zero is the sum of nothing: it changes no other number."""
    sums = rows.new_full((size, rows.shape[1]), -0.0 if rows.is_floating_point() or rows.is_complex() else 0)
    # By PyTorch's documentation, `index_add_` is deterministic on the CPU, and `index_put_` on CUDA.
    return sums.index_add_(0, places, rows) if rows.is_cpu else sums.index_put_((places,), rows, accumulate=True)


def _split(values: Tensor) -> tuple[Tensor, Tensor]:
    """Return the high and the low 32 bits of integers."""
    is_long = values.dtype == torch.uint64
    wide = values.view(torch.int64) if is_long else values.to(torch.int64)
    high = wide >> 32
    return high & 0xFFFFFFFF if is_long else high, wide & 0xFFFFFFFF


def _find_combination(reduction: str, dtype: torch.dtype) -> Combine:
    """Return the function of two contributions."""
    if dtype == torch.bool:
        if reduction == "sub":
            return torch.logical_xor
        return torch.logical_and if reduction == "mul" else torch.logical_or
    return torch.mul if reduction == "mul" else torch.add


def _pick(values: Tensor, first: Tensor, at: Tensor, combine: Combine) -> Tensor:
    """Return the rows at some positions of the result of `_scan`, which changes the values."""
    if 2 * len(at) > len(values):
        return _scan(values, first, combine).index_select(0, at)
    joined, first_of_pair = _join(values, first, combine)
    before = _pick(joined, first_of_pair, (at - 1).clamp(min=0) >> 1, combine)
    own = values.index_select(0, at)
    later = torch.where(first.index_select(0, at), own, combine(before, own))
    return torch.where((at % 2 == 1).unsqueeze(1), before, later)


def _join(values: Tensor, first: Tensor, combine: Combine) -> tuple[Tensor, Tensor]:
    """Combine pairs of neighbours of the same run. Return the pairs, and whether a run begins in each."""
    left, right = values[:-1:2], values[1::2]
    return torch.where(first[1::2], right, combine(left, right)), first[:-1:2] | first[1::2]


def _scan(values: Tensor, first: Tensor, combine: Combine) -> Tensor:
    """Replace each row by the combination of the rows of its run up to it, in place.

    Pairs of neighbours are combined to half as many rows, and so on (Blelloch, Prefix sums and their applications,
    1990). The shapes do not depend on values, so nothing waits for the device.
    """
    if len(values) < 2:
        return values
    before = _scan(*_join(values, first, combine), combine)
    values[1::2] = before
    later = values[2::2]
    values[2::2] = torch.where(first[2::2], later, combine(before[: len(later)], later))
    return values
