"""The targets that the elements of a tensor go to along one dimension, for all forms of index of torch_scatter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gatherscatter.errors import OpError, OpIndexError, reword
from gatherscatter.operation import Kernel
from gatherscatter.torch import functions
from gatherscatter.torch.functions import check_tensors, is_differentiated
from gatherscatter.torch.gradients import HALVES, same
from gatherscatter.torch.segment.checks import (
    check_index,
    check_out,
    check_result,
    check_size,
    find_size,
    normalise_dim,
    raise_bad_index,
)

_NAMES = {"data": "src", "updates": "src", "indices": "index"}
_MOST_STORED_ZEROS = 1 << 14


@dataclass(frozen=True)
class Targets:
    """An index along ``dim``: one-dimensional and the same for all lanes, or in the shape of the values.

    Attributes
    ----------
    op : the name of the function in errors
    given : the index of the caller
    index : the index in the form that kernels take
    dim : the dimension of the index
    size : the number of targets
    sized : the argument that has this size along ``dim``: "dim_size", "out" or "src"
    """

    op: str
    given: Tensor
    index: Tensor
    dim: int
    size: int
    sized: str

    @staticmethod
    def of(
        op: str, src: Tensor, index: Tensor, dim: int, out: Tensor | None, size: int | None, *, takes_dim: bool = True
    ) -> Targets:
        """Broadcast the index as torch_scatter does. Its first axis is axis ``dim`` if it has one axis, else axis 0.

        The number of targets is the size of ``out`` along ``dim``, or ``size``, or the largest index plus one. All
        arguments are checked, except the values of ``index``.
        """
        check_tensors(op, out, src=src, index=index)
        dim = normalise_dim(op, dim, src)
        check_index(op, index, src, dim, takes_dim)
        if out is not None and out.ndim == src.ndim:
            size = out.shape[dim]
        if size is None:
            size = find_size(op, index)
            check_result(op, (*src.shape[:dim], size, *src.shape[dim + 1 :]), src, "index", index, "dim_size")
        size = check_size(op, size)
        if out is not None:
            check_out(op, out, (*src.shape[:dim], size, *src.shape[dim + 1 :]), src.dtype)
        sized = "dim_size" if out is None else "out"
        if index.ndim == 1:
            line = index.expand(src.shape[dim]) if index.shape[0] == 1 else index
            return Targets(op, index, line, dim, size, sized)
        whole = index.reshape(*index.shape, *(1,) * (src.ndim - index.ndim)).expand(src.shape)
        return Targets(op, index, whole, dim, size, sized)

    @property
    def is_line(self) -> bool:
        return self.index.ndim == 1

    def shape(self, values: Tensor) -> torch.Size:
        """Return the shape of the result for these values."""
        return torch.Size((*values.shape[: self.dim], self.size, *values.shape[self.dim + 1 :]))

    def put(self, values: Tensor, reduction: str, start: Tensor | None = None) -> Tensor:
        """Reduce values by target, including the values in ``start``. Without it, targets without values are 0."""
        scatter = Kernel.SCATTER_UPDATE if self.is_line else Kernel.SCATTER_ELEMENTS
        data = self._zeros(values) if start is None else start
        include_self = start is not None or reduction == "add"
        wide = "wide" if values.dtype in HALVES and reduction in ("add", "mean") else "step"
        options = {"axis": self.dim, "reduction": reduction, "include_self": include_self, "accumulate": wide}
        return self.call(functions.scatter, scatter, data, self.index, values, **options)  # type: ignore[no-any-return]

    def _zeros(self, values: Tensor) -> Tensor:
        """Return zeros with the shape of the result. Many zeros are one number that is expanded."""
        shape = self.shape(values)
        if shape.numel() <= _MOST_STORED_ZEROS:
            return values.new_zeros(shape)  # a contiguous tensor takes the shortest way through the core
        return values.new_zeros(()).expand(shape)

    def call(self, function: Callable[..., Any], *inputs: Any, **options: Any) -> Any:
        """Call an operator. Its errors name the function that the user called."""
        try:
            return function(*inputs, **options)
        except OpError as error:
            fault = error
        if isinstance(fault, OpIndexError):
            raise_bad_index(self.op, self.given, self.size, self.dim, self.sized)
        raise reword(fault, self.op, _NAMES)

    def take(self, values: Tensor) -> Tensor:
        """Return the value at the target of each element."""
        gather = Kernel.GATHER if self.is_line else Kernel.GATHER_ELEMENTS
        return self.call(functions.gather, gather, values, self.index, axis=self.dim)  # type: ignore[no-any-return]

    def counts(self, values: Tensor) -> Tensor:
        """Return the number of values of each target, in a shape that broadcasts to the result."""
        if not self.is_line:
            return self.put(torch.ones_like(values, dtype=torch.int64), "add")
        ones = torch.ones_like(self.index, dtype=torch.int64)
        options = {"axis": 0, "reduction": "add"}
        counted = self.call(
            functions.scatter, Kernel.SCATTER_UPDATE, ones.new_zeros(self.size), self.index, ones, **options
        )
        return counted.reshape(self.size, *(1,) * (values.ndim - 1 - self.dim))  # type: ignore[no-any-return]

    def extremum(self, values: Tensor, which: str) -> tuple[Tensor, Tensor]:
        """Return the "min" or "max" of each target, and the position along ``dim`` of the first value equal to it.

        The position is ``values.shape[dim]`` for a target without values.
        """
        count = values.shape[self.dim]
        with torch.no_grad():
            best = self.put(values, which)
            first = same(values, self.take(best))
            numbers = torch.arange(count, device=values.device).reshape(-1, *(1,) * (values.ndim - 1 - self.dim))
            none = torch.full((), count, device=values.device).expand(self.shape(values))
            members = self.put(torch.where(first, numbers, count), "min", none)
        return self.named(values, members) if is_differentiated(values) else best, members

    def named(self, values: Tensor, members: Tensor) -> Tensor:
        """Take the values at positions along ``dim``, and zeros for positions out of range, with gradients."""
        return functions.gather(Kernel.GATHER_ELEMENTS, values, members, axis=self.dim, mode="fill")
