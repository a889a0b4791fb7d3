"""Reduce runs: updates that are sorted by their targets, so that those of one target are next to each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from gatherscatter.torch.device.tensors import as_movable, decode, encode

_CHECKED = "_gatherscatter_runs"


def mark_checked(rows: Tensor, size: int) -> Tensor:
    """Note in an int64 tensor of shape (N,) that its elements are in [0, size-1]. It then keeps its runs.

    Nothing may write to the tensor later.
    """
    setattr(rows, _CHECKED, {size: None})
    return rows


def is_checked(rows: Tensor, size: int) -> bool:
    """Whether `mark_checked` has marked this tensor with this size."""
    return size in getattr(rows, _CHECKED, ())


@dataclass(frozen=True, eq=False)
class TargetRuns:
    """Updates sorted by target.

    Attributes
    ----------
    size : the number of targets
    targets : int64 or int32, shape (N,), ascending. The target of each update; ``size`` for an update that is dropped
    order : the number of each update before it was sorted; None if they were sorted already
    """

    size: int
    targets: Tensor
    order: Tensor | None

    @staticmethod
    def of(targets: Tensor, size: int) -> TargetRuns:
        """Sort updates by target. Updates of one target keep their order."""
        kept = getattr(targets, _CHECKED) if is_checked(targets, size) else {}
        if (runs := kept.get(size)) is None:
            keys = targets if size >= 2**31 - 1 else targets.to(torch.int32)
            runs = kept[size] = TargetRuns(size, *torch.sort(keys, stable=True))
        return runs

    @staticmethod
    def of_starts(starts: Tensor, size: int, count: int) -> TargetRuns:
        """Return the runs of ``count`` updates that are sorted, from the positions where the runs begin."""
        numbers = torch.arange(count, device=starts.device)
        return TargetRuns(size, torch.searchsorted(starts.to(torch.int64), numbers, right=True) - 1, None)

    @cached_property
    def starts(self) -> Tensor:
        """The position where the run of each target begins, and the position where the last one ends."""
        every = torch.arange(self.size + 1, device=self.targets.device, dtype=self.targets.dtype)
        return torch.searchsorted(self.targets, every)

    @property
    def targets_of_updates(self) -> Tensor:
        """The target of each update before sorting, shape (N,)."""
        return self._restore(self.targets)

    @cached_property
    def first(self) -> Tensor:
        """Whether a sorted update is the first of its run, shape (N,)."""
        begins = torch.ones_like(self.targets, dtype=torch.bool)
        begins[1:] = self.targets[1:] != self.targets[:-1]
        return begins

    @property
    def is_sparse(self) -> bool:
        """Whether there are fewer updates than targets. Then only the rows that they change are computed."""
        return len(self.targets) < self.size

    @property
    def count(self) -> int:
        """The number T of rows that are computed."""
        return min(self.size, len(self.targets))

    @cached_property
    def changed_rows(self) -> Tensor:
        """The row that each sorted update changes, shape (N,): the number of its run, or its target."""
        return self.first.cumsum(0) - 1 if self.is_sparse else self.targets.long()

    @cached_property
    def ends(self) -> tuple[Tensor, Tensor]:
        """The last update of each row, and the number of its updates, shapes (T,) and (T, 1)."""
        starts = torch.searchsorted(self.changed_rows, torch.arange(self.count + 1, device=self.targets.device))
        return (starts[1:] - 1).clamp(min=0), starts.diff().unsqueeze(-1)

    def write(
        self, data: Tensor, updates: Tensor, reduction: str = "none", include_self: bool = True,
        accumulate: str = "step",
    ) -> Tensor:  # fmt: skip
        """Write updates of shape (N, W) to a copy of data, shape (size, W)."""
        if not updates.numel() or not data.numel():
            return data.clone(memory_format=torch.contiguous_format)
        (ends, counts), own = self.ends, data
        if self.is_sparse:
            rows = self.targets.new_full((self.count,), self.size).index_put_((self.changed_rows,), self.targets)
            own = data.index_select(0, rows.clamp(max=self.size - 1))
        if reduction == "none":
            new = updates.index_select(0, ends if self.order is None else self.order.index_select(0, ends))
        else:
            new = self._reduce(own, updates, reduction, include_self, accumulate)
        new, plain = as_movable(new), as_movable(data)
        if not self.is_sparse:
            return torch.where(counts > 0, new, plain).view(data.dtype)
        result = plain.new_empty((self.size + 1, data.shape[1]))  # the last row is for updates that are dropped
        result[:-1] = plain
        return result.index_put_((rows,), new)[:-1].view(data.dtype)

    def _reduce(self, own: Tensor, updates: Tensor, reduction: str, include_self: bool, accumulate: str) -> Tensor:
        """Return the rows that are computed, shape (T, W). ``own`` has these rows of data."""
        if own.dtype == torch.bool:
            reduction = {"add": "max", "mul": "min"}.get(reduction, reduction)
        if reduction == "mean" and not own.is_floating_point() and not own.is_complex():
            return self._average_integers(own, updates, include_self)
        values, start = (encode(each, reduction, accumulate) for each in (updates, own))
        if reduction in ("min", "max"):
            total = self.find_extrema(values, reduction)
            if include_self:
                total = (torch.minimum if reduction == "min" else torch.maximum)(total, start)
        elif reduction == "mul":
            total = start * self.multiply(values) if include_self else self.multiply(values)
        else:
            if reduction == "sub":  # without data, the first update replaces it
                values = (
                    -values if include_self else torch.where(self._restore(self.first).unsqueeze(1), values, -values)
                )
            total = start + self.add(values) if include_self else self.add(values)
        if reduction == "mean":
            total = total / (self.ends[1] + int(include_self)).clamp(min=1)
        return decode(total, own.dtype, reduction)

    def add(self, values: Tensor) -> Tensor:
        """Add up the values of each row, shape (N, W), in the order before sorting."""
        pieces, rows = self._pieces
        return _add_rows(self.count + 1, rows, _add_rows(len(rows), pieces, values))[:-1]

    @cached_property
    def _pieces(self) -> tuple[Tensor, Tensor]:
        """The piece of each update before sorting, and the row of each piece.

        Runs are cut into pieces, whose sums are then added up: a GPU adds the values of one target one after the other,
        which would take long for a target with most of the values. The number of pieces has a bound that does not
        depend on values, so nothing waits for the device.
        """
        count = len(self.targets)
        length = math.isqrt(count - 1) + 1
        begins = self.first | (torch.arange(count, device=self.targets.device) % length == 0)
        pieces = begins.cumsum(0) - 1
        every = torch.arange(min(count, self.size + 1 + length), device=pieces.device)
        starts = torch.searchsorted(pieces, every)
        rows = self.changed_rows.index_select(0, starts.clamp(max=count - 1))
        # Pieces without values do not change a sum. They are distributed, so that no row has many of them.
        return self._restore(pieces), torch.where(starts < count, rows, every % (self.count + 1))

    def find_extrema(self, keys: Tensor, reduction: str) -> Tensor:
        """Find the least or greatest integer of each row, shape (N, W), in the order before sorting.

        The result does not depend on the order of the comparisons, so floats are encoded as integers.
        """
        limits = torch.iinfo(keys.dtype)
        found = keys.new_full((self.count + 1, keys.shape[1]), limits.max if reduction == "min" else limits.min)
        rows = self._restore(self.changed_rows).unsqueeze(1).expand_as(keys)
        return found.scatter_reduce_(0, rows, keys, f"a{reduction}")[:-1]

    def multiply(self, values: Tensor) -> Tensor:
        """Multiply the values of each row, shape (N, W), in the order before sorting.

        Each row is multiplied by the row 1 before it, then 2, 4, ... before it, if that is of the same run (Hillis and
        Steele, Data parallel algorithms, 1986). The number of steps depends only on N, so nothing waits for the device.
        """
        total, step = values if self.order is None else values.index_select(0, self.order), 1
        while step < len(total):
            is_same = (self.targets[step:] == self.targets[:-step]).unsqueeze(1)
            later = total[step:]
            total = torch.cat([total[:step], torch.where(is_same, total[:-step] * later, later)])
            step *= 2
        return total.index_select(0, self.ends[0])

    def _restore(self, values: Tensor) -> Tensor:
        """Return values of sorted updates in the order before sorting."""
        return values if self.order is None else torch.empty_like(values).index_put_((self.order,), values)

    def _average_integers(self, own: Tensor, updates: Tensor, include_self: bool) -> Tensor:
        """Return means of integers, rounded down. Sums of the halves of 64 bits are exact."""
        parts = [
            self.add(values) + (start if include_self else 0)
            for values, start in zip(_split(updates), _split(own), strict=True)
        ]
        counts = (self.ends[1] + int(include_self)).clamp(min=1)
        high = torch.div(parts[0], counts, rounding_mode="floor")
        low = torch.div(((parts[0] - high * counts) << 32) + parts[1], counts, rounding_mode="floor")
        mean = (high << 32) + low
        return mean.view(own.dtype) if own.dtype == torch.uint64 else mean.to(own.dtype)


def _add_rows(size: int, targets: Tensor, rows: Tensor) -> Tensor:
    """Add up rows by target. Negative zero is the sum of nothing: it changes no other number."""
    sums = rows.new_full((size, rows.shape[1]), -0.0 if rows.is_floating_point() or rows.is_complex() else 0)
    # By PyTorch's documentation, `index_add_` is deterministic on the CPU, and `index_put_` on CUDA.
    return sums.index_add_(0, targets, rows) if rows.is_cpu else sums.index_put_((targets,), rows, accumulate=True)


def _split(values: Tensor) -> tuple[Tensor, Tensor]:
    """Return the high and the low 32 bits of integers."""
    is_long = values.dtype == torch.uint64
    wide = values.view(torch.int64) if is_long else values.to(torch.int64)
    high = wide >> 32
    return high & 0xFFFFFFFF if is_long else high, wide & 0xFFFFFFFF
