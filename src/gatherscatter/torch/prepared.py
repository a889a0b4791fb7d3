"""Indices on a device that are used repeatedly: `gatherscatter.prepare` checks them once, and they are sorted once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from gatherscatter.arrays import convert
from gatherscatter.errors import OpValueError, check_effects, make_choice_error, make_error
from gatherscatter.functions.gather_reduce import check_choices, check_members_shape
from gatherscatter.functions.group_reductions import ONE_PASS, read_names
from gatherscatter.functions.inspect import normalise_axis, sizes_of
from gatherscatter.torch import bags, functions
from gatherscatter.torch.device import kernels, tensors
from gatherscatter.torch.device.runs import PlaceRuns

_Map = Callable[[Tensor], Tensor]
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
    kernel = "gather" if is_single else "gather_nd"
    rows, _ = kernels.find_rows(_OP, kernel, probe, indices, first, 0, "raise")
    return PreparedTensors(first, dims, rows)


class PreparedTensors:
    """Checked indices on a device. The methods are those of `gatherscatter.functions.prepare.Prepared`.

    All methods have gradients of any order. `gather`, `sum` and `propagate` with 'add' and 'mean' sort nothing again,
    and neither do their backward passes. Other libraries can take the tensors by DLPack.

    Attributes
    ----------
    axis : the first axis of data that is indexed
    dims : the sizes of the axes that are indexed
    rows : int64 tensor. The number of the place that each index names, in [0, prod(dims)-1]

    >>> import torch
    >>> from gatherscatter.torch.prepared import prepare
    >>> prepared = prepare(torch.tensor([2, 0, 2]), 3)
    >>> prepared.sum(torch.tensor([1.0, 2.0, 4.0]))
    tensor([2., 0., 5.])
    >>> prepared.starts, prepared.order
    (tensor([0, 1, 1, 3]), tensor([1, 0, 2]))
    """

    def __init__(self, axis: int, dims: tuple[int, ...], rows: Tensor) -> None:
        self.axis, self.dims, self.rows = axis, dims, rows

    @property
    def size(self) -> int:
        """The number of places that an index can name: ``prod(dims)``."""
        return math.prod(self.dims)

    @cached_property
    def _runs(self) -> PlaceRuns:
        return PlaceRuns.of(self.rows.flatten(), self.size)

    @property
    def order(self) -> Tensor:
        """The numbers of the indices, sorted by place: int64, shape (N,)."""
        assert self._runs.order is not None
        return self._runs.order

    @property
    def starts(self) -> Tensor:
        """The position in `order` where each place begins, and the end of the last one: int64, shape (size + 1,)."""
        return self._runs.starts

    @property
    def counts(self) -> Tensor:
        """The number of indices that name each place, in the shape of the indexed axes."""
        return self.starts.diff().reshape(self.dims)

    def gather(self, data: Tensor) -> Tensor:
        """Take the rows of ``data`` that the indices name."""
        self._check("data", data, self.dims)
        return _apply(_Linear, data, self._gather, self._sum)

    def sum(self, updates: Tensor, *, accumulate: str = "step") -> Tensor:
        """Add up the updates for each place. This is the backward pass of `gather`."""
        self._check("updates", updates, tuple(self.rows.shape))
        check_effects(_OP, "add", accumulate=accumulate)
        tensors.refuse_exact(_OP, accumulate, updates)
        return _apply(_Linear, updates, lambda new: self._sum(new, accumulate), self._gather)

    def scatter(
        self,
        data: Tensor,
        updates: Tensor,
        *,
        reduction: str = "none",
        include_self: bool = True,
        accumulate: str = "step",
    ) -> Tensor:
        """Copy ``data`` and write ``updates`` to the places that the indices name. Each call sorts the indices."""
        self._check("data", data, self.dims)
        check_effects(_OP, reduction, include_self, accumulate)
        how = {"reduction": reduction, "include_self": include_self, "accumulate": accumulate}
        flat = self._merge(data, len(self.dims), self.size)
        return functions.scatter("scatter_update", flat, self.rows, updates, axis=self.axis, **how).reshape(data.shape)

    def reduce(self, updates: Tensor, reductions: str | Sequence[str]) -> tuple[Tensor, ...]:
        """Apply several reductions to the updates for each place, without gradients."""
        self._check("updates", updates, tuple(self.rows.shape))
        names = read_names(_OP, (reductions,) if isinstance(reductions, str) else reductions)
        for name in names:
            if name not in ONE_PASS:
                raise make_choice_error(_OP, "reductions", name, ONE_PASS, "")
        first = self._merge(updates.detach(), self.rows.ndim, self.rows.numel()).movedim(self.axis, 0)
        made = kernels.reduce_runs(self._runs, first.contiguous(), names)
        return tuple(
            self.counts if name == "count" else self._split(each.movedim(0, self.axis), self.dims)
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
        check_choices(_OP, reduction, accumulate)
        if data.ndim == 0 or data.shape[0] != self.dims[0 if transpose else 1]:
            raise make_error("propagate_rows", _OP, rows=self.dims[0 if transpose else 1], shape=tuple(data.shape))
        if weights is not None:
            check_members_shape(_OP, "weights", tuple(weights.shape), tuple(self.rows.shape))
        if reduction == "add" and default == 0:
            tensors.refuse_exact(_OP, accumulate, data)
            return _apply(_Propagate, data, weights, self, transpose, accumulate)
        runs, order, others = self._pairs[transpose]
        factors = None if weights is None else weights.flatten().index_select(0, order)
        options: dict[str, Any] = {"reduction": reduction, "default": default, "accumulate": accumulate}
        return bags.gather_reduce(data, others, weights=factors, indptr=runs.starts, **options)

    @cached_property
    def _pairs(self) -> tuple[tuple[PlaceRuns, Tensor, Tensor], ...]:
        """For each of the two directions: the runs of the pairs, the pairs in that order, and their other rows."""
        columns = (
            torch.div(self.rows.flatten(), self.dims[1], rounding_mode="floor"),
            self.rows.flatten() % self.dims[1],
        )
        made = []
        for first, second, size in zip(columns, reversed(columns), self.dims, strict=True):
            runs = PlaceRuns.of(first, size)
            assert runs.order is not None
            made.append((PlaceRuns(size, runs.places, None), runs.order, second.index_select(0, runs.order)))
        return tuple(made)

    def _check(self, name: str, tensor: Tensor, sizes: tuple[int, ...]) -> None:
        tensors.check_inputs(_OP, **{"indices": self.rows, name: tensor})
        if tuple(tensor.shape[self.axis : self.axis + len(sizes)]) != sizes:
            text = f"{_OP}: {name} of shape {tuple(tensor.shape)} must have the sizes {sizes} from axis {self.axis} on"
            raise OpValueError(text, op=_OP, input=name)

    def _merge(self, tensor: Tensor, rank: int, size: int) -> Tensor:
        """Merge ``rank`` axes from `axis` on to one of this size."""
        return tensor.reshape(*tensor.shape[: self.axis], size, *tensor.shape[self.axis + rank :])

    def _split(self, tensor: Tensor, sizes: Sequence[int]) -> Tensor:
        """Split the axis to axes of these sizes."""
        return tensor.reshape(*tensor.shape[: self.axis], *sizes, *tensor.shape[self.axis + 1 :])

    def _gather(self, data: Tensor) -> Tensor:
        flat = self._merge(tensors.as_movable(data), len(self.dims), self.size)
        return self._split(flat.index_select(self.axis, self.rows.flatten()), self.rows.shape).view(data.dtype)

    def _sum(self, updates: Tensor, accumulate: str = "") -> Tensor:
        moved = self._merge(updates, self.rows.ndim, self.rows.numel()).movedim(self.axis, 0)
        flat = moved.reshape(len(moved), math.prod(moved.shape[1:]))
        zeros = flat.new_zeros(()).expand(self.size, flat.shape[1])
        made = self._runs.write(zeros, flat, "add", accumulate=accumulate or functions.choose_accumulate(updates))
        return self._split(made.reshape(self.size, *moved.shape[1:]).movedim(0, self.axis), self.dims)


def _apply(function: Any, *arguments: Any) -> Tensor:
    return function.apply(*arguments)  # type: ignore[no-any-return]


class _Linear(Function):
    """A linear function, and the function that its gradient is."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, function: _Map, transposed: _Map) -> Tensor:
        ctx.functions = function, transposed
        return function(values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        function, transposed = ctx.functions
        return _apply(_Linear, grad, transposed, function), None, None


class _Propagate(Function):
    """`PreparedTensors.propagate` with 'add'."""

    @staticmethod
    def forward(
        ctx: Any, data: Tensor, weights: Tensor | None, prepared: PreparedTensors, transpose: bool, accumulate: str
    ) -> Tensor:
        ctx.prepared, ctx.transpose = prepared, transpose
        ctx.save_for_backward(data, weights)
        runs, order, others = prepared._pairs[transpose]
        rows = data.reshape(len(data), math.prod(data.shape[1:])).index_select(0, others)
        if weights is not None:
            rows = kernels.multiply(rows, weights.flatten().index_select(0, order).unsqueeze(1))
        zeros = rows.new_zeros(()).expand(runs.size, rows.shape[1])
        return runs.write(zeros, rows, "add", accumulate=accumulate).reshape(-1, *data.shape[1:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        data, weights = ctx.saved_tensors
        factors = None if weights is None else weights.conj()
        of_data = _apply(_Propagate, grad, factors, ctx.prepared, not ctx.transpose, functions.choose_accumulate(grad))
        of_weights = None
        if weights is not None and ctx.needs_input_grad[1]:
            _, order, others = ctx.prepared._pairs[not ctx.transpose]
            rows = torch.empty_like(order).index_put_(
                (order,), others
            )  # the row of grad, and that of data, of each pair
            _, order, others = ctx.prepared._pairs[ctx.transpose]
            columns = torch.empty_like(order).index_put_((order,), others)
            of_weights = bags.dot_rows(grad, data.conj(), rows, columns).reshape(weights.shape)
        return of_data, of_weights, None, None, None
