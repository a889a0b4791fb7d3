"""Indices on a device that are used repeatedly: `gatherscatter.prepare` checks them once, and they are sorted once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gatherscatter.arrays import convert
from gatherscatter.errors import OpValueError, check_effects, make_choice_error, make_error
from gatherscatter.functions.gather_reduce import check_choices, check_members_shape
from gatherscatter.functions.group_reductions import ONE_PASS, plan_core_reductions, read_names
from gatherscatter.functions.inspect import normalise_axis, sizes_of
from gatherscatter.operation import Kernel, Operation
from gatherscatter.torch import bags, functions
from gatherscatter.torch.device import kernels, tensors
from gatherscatter.torch.device.runs import TargetRuns, mark_checked

_OP = "prepare"


def prepare(indices: Tensor, shape: int | Sequence[int], axis: int | None = None) -> PreparedTensors:
    """`gatherscatter.prepare` for a tensor on a device."""
    tensors.check_inputs(_OP, indices=indices)
    like = convert.as_indices(_OP, "indices", tensors.make_placeholder(_OP, "indices", indices))
    sizes, is_single = sizes_of(_OP, shape), axis is not None or isinstance(shape, int | np.integer)
    if not is_single and (like.ndim == 0 or like.shape[-1] > len(sizes)):
        text = f"{_OP}: indices of shape {like.shape} are not tuples for shape {sizes}; single indices need axis="
        raise OpValueError(text, op=_OP, input="indices")
    first = normalise_axis(_OP, axis or 0, sizes) if is_single else 0
    dims = sizes[first : first + 1] if is_single else sizes[: like.shape[-1]]
    probe = torch.zeros((), dtype=torch.uint8, device=indices.device).expand((1,) * first + (dims or (1,)))
    operation = Operation(_OP, Kernel.GATHER if is_single else Kernel.GATHER_ND, first)
    rows, _ = kernels.find_rows(operation, probe, indices)
    return PreparedTensors(first, dims, rows)


class PreparedTensors:
    """Checked indices on a device. The methods are those of `gatherscatter.functions.prepare.Prepared`.

    All methods except `reduce` have gradients of any order. The indices are sorted once, when a method first needs it,
    and so are the two columns of pairs. Other libraries can take `order` and `starts` by DLPack, but must not write to
    them.

    Attributes
    ----------
    axis : the first axis of data that is indexed
    dims : the sizes of the axes that are indexed

    >>> import torch
    >>> from gatherscatter.torch.prepared import prepare
    >>> prepared = prepare(torch.tensor([2, 0, 2]), 3)
    >>> prepared.sum(torch.tensor([1.0, 2.0, 4.0]))
    tensor([2., 0., 5.])
    >>> prepared.starts, prepared.order
    (tensor([0, 1, 1, 3]), tensor([1, 0, 2]))
    """

    def __init__(self, axis: int, dims: tuple[int, ...], rows: Tensor) -> None:
        self.axis, self.dims, self._shape = axis, dims, rows.shape
        with torch.inference_mode(False):  # a backward pass may need it later
            self._numbers = mark_checked(rows.flatten().clone(), self.size)

    @property
    def rows(self) -> Tensor:
        """A copy of the numbers of the rows that the indices name, in [0, prod(dims)-1]: int64."""
        return self._numbers.reshape(self._shape).clone()

    @property
    def size(self) -> int:
        """The number of rows that an index can name: ``prod(dims)``."""
        return math.prod(self.dims)

    @property
    def _runs(self) -> TargetRuns:
        return TargetRuns.of(self._numbers, self.size)

    @property
    def order(self) -> Tensor:
        """The numbers of the indices, sorted by row: int64, shape (N,)."""
        assert self._runs.order is not None
        return self._runs.order

    @property
    def starts(self) -> Tensor:
        """The position in `order` where each row begins, and the end of the last one: int64, shape (size + 1,)."""
        return self._runs.starts

    @property
    def counts(self) -> Tensor:
        """The number of indices that name each row, in the shape of the indexed axes."""
        return self.starts.diff().reshape(self.dims)

    def gather(self, data: Tensor) -> Tensor:
        """Take the rows of ``data`` that the indices name."""
        flat = self._merge("data", data, self.dims)
        return self._split(functions.gather(Kernel.GATHER, flat, self._numbers, axis=self.axis), self._shape)

    def sum(self, updates: Tensor, *, accumulate: str = "step") -> Tensor:
        """Add up the updates for each row. This is the backward pass of `gather`."""
        shape = self._merge("updates", updates, self._shape).shape
        zeros = updates.new_zeros(()).expand(*shape[: self.axis], *self.dims, *shape[self.axis + 1 :])
        return self.scatter(zeros, updates, reduction="add", accumulate=accumulate)

    def scatter(
        self,
        data: Tensor,
        updates: Tensor,
        *,
        reduction: str = "none",
        include_self: bool = True,
        accumulate: str = "step",
    ) -> Tensor:
        """Copy ``data`` and write ``updates`` to the rows that the indices name."""
        flat, new = self._merge("data", data, self.dims), self._merge("updates", updates, self._shape)
        check_effects(_OP, reduction, include_self, accumulate)
        how: dict[str, Any] = {"reduction": reduction, "include_self": include_self, "accumulate": accumulate}
        made = functions.scatter(Kernel.SCATTER_UPDATE, flat, self._numbers, new, axis=self.axis, **how)
        return self._split(made, self.dims)

    def reduce(self, updates: Tensor, reductions: str | Sequence[str]) -> tuple[Tensor, ...]:
        """Apply several reductions to the updates for each row, without gradients."""
        first = self._merge("updates", updates.detach(), self._shape).movedim(self.axis, 0)
        names = read_names(_OP, (reductions,) if isinstance(reductions, str) else reductions)
        for name in names:
            if name not in ONE_PASS:
                raise make_choice_error(_OP, "reductions", name, ONE_PASS, "")
        plan_core_reductions(_OP, tensors.make_placeholder(_OP, "updates", updates).dtype, names)  # raises errors
        made = kernels.reduce(first.contiguous(), self._numbers, self.size, names)
        return tuple(
            each.reshape(self.dims) if name == "count" else self._split(each.movedim(0, self.axis), self.dims)
            for name, each in zip(names, made, strict=True)
        )

    def propagate(
        self,
        data: Tensor,
        weights: Tensor | None = None,
        reduction: str = "add",
        *,
        transpose: bool = False,
        default: complex = 0,
        accumulate: str = "step",
    ) -> Tensor:
        """Pass rows of ``data`` along pairs (i, j): row i of the result reduces the rows j of ``data``."""
        if len(self.dims) != 2:
            raise make_error("propagate_pairs", _OP, count=len(self.dims))
        check_choices(Operation(_OP, Kernel.GATHER_REDUCE, reduction=reduction, accumulate=accumulate))
        if data.ndim == 0 or data.shape[0] != self.dims[0 if transpose else 1]:
            raise make_error("propagate_rows", _OP, rows=self.dims[0 if transpose else 1], shape=tuple(data.shape))
        if weights is not None:
            check_members_shape(_OP, "weights", tuple(weights.shape), tuple(self._shape))
        targets, sources = reversed(self._pairs) if transpose else self._pairs
        return bags.gather_reduce(
            data,
            sources,
            segment_ids=targets,
            weights=None if weights is None else weights.flatten(),
            num_segments=self.dims[transpose],
            reduction=reduction,
            default=default,
            accumulate=accumulate,
        )

    @cached_property
    def _pairs(self) -> tuple[Tensor, Tensor]:
        """The first and the second row of each pair."""
        with torch.inference_mode(False):
            columns = torch.div(self._numbers, self.dims[1], rounding_mode="floor"), self._numbers % self.dims[1]
        first, second = map(mark_checked, columns, self.dims)
        return first, second

    def _merge(self, name: str, tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
        """Merge the axes from `axis` on, which must have these sizes, to one."""
        tensors.check_inputs(_OP, **{"indices": self._numbers, name: tensor})
        last = self.axis + len(sizes)
        if tuple(tensor.shape[self.axis : last]) != tuple(sizes):
            text = f"{_OP}: {name} of shape {tuple(tensor.shape)} must have the sizes {tuple(sizes)} from axis "
            raise OpValueError(f"{text}{self.axis} on", op=_OP, input=name)
        return tensor.reshape((*tensor.shape[: self.axis], math.prod(sizes), *tensor.shape[last:]))

    def _split(self, tensor: Tensor, sizes: Sequence[int]) -> Tensor:
        """Split the axis to axes of these sizes."""
        return tensor.reshape((*tensor.shape[: self.axis], *sizes, *tensor.shape[self.axis + 1 :]))
