"""Where the elements of a tensor go along one dimension, in the forms of index that torch_scatter takes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gatherscatter.torch import functions
from gatherscatter.torch.functions import is_differentiated
from gatherscatter.torch.gradients import HALVES, same


@dataclass(frozen=True)
class Places:
    """An index along ``dim``: a line, the same for all lanes, or one in the shape of the values."""

    index: Tensor
    dim: int
    size: int

    @staticmethod
    def of(src: Tensor, index: Tensor, dim: int, size: int | None) -> Places:
        """The index as torch_scatter broadcasts it: its first axis is axis ``dim`` if it has one, else the first."""
        dim = _normalise_dim(dim, src.ndim)
        if size is None:
            functions.check_memory("scatter", index=index)
            size = int(index.max()) + 1 if index.numel() else 0
        if index.ndim == 1:
            return Places(index.expand(src.shape[dim]) if index.shape[0] == 1 else index, dim, size)
        return Places(index.reshape(*index.shape, *(1,) * (src.ndim - index.ndim)).expand(src.shape), dim, size)

    @property
    def is_line(self) -> bool:
        return self.index.ndim == 1

    def shape(self, values: Tensor) -> torch.Size:
        """The shape of what values become."""
        return torch.Size((*values.shape[: self.dim], self.size, *values.shape[self.dim + 1 :]))

    def put(self, values: Tensor, reduction: str, start: Tensor | None = None) -> Tensor:
        """Values reduced by place, from ``start`` on or from nothing: zeros stay where nothing comes."""
        scatter = "scatter_update" if self.is_line else "scatter_elements"
        # Sums may begin with zeros, which then need no memory.
        data = values.new_zeros(()).expand(self.shape(values)) if start is None else start
        include_self = start is not None or reduction == "add"
        wide = "wide" if values.dtype in HALVES and reduction in ("add", "mean") else "step"
        options = {"axis": self.dim, "reduction": reduction, "include_self": include_self, "accumulate": wide}
        return functions.scatter(scatter, data, self.index, values, **options)

    def take(self, values: Tensor) -> Tensor:
        """The value of each element's place."""
        gather = "gather" if self.is_line else "gather_elements"
        return functions.gather(gather, values, self.index, axis=self.dim)

    def counts(self, values: Tensor) -> Tensor:
        """How many values come to each place, in a shape that goes with what values become."""
        if not self.is_line:
            return self.put(torch.ones_like(values, dtype=torch.int64), "add")
        counted = Places(self.index, 0, self.size).put(torch.ones_like(self.index, dtype=torch.int64), "add")
        return counted.reshape(self.size, *(1,) * (values.ndim - 1 - self.dim))

    def extremum(self, values: Tensor, which: str) -> tuple[Tensor, Tensor]:
        """The "min" or "max" of each place, and the first that it is along ``dim``: ``values.shape[dim]`` if none."""
        count = values.shape[self.dim]
        with torch.no_grad():
            best = self.put(values, which)
            first = same(values, self.take(best))
            numbers = torch.arange(count, device=values.device).reshape(-1, *(1,) * (values.ndim - 1 - self.dim))
            none = torch.full((), count).expand(self.shape(values))
            members = self.put(torch.where(first, numbers, count), "min", none)
        return self.named(values, members) if is_differentiated(values) else best, members

    def named(self, values: Tensor, members: Tensor) -> Tensor:
        """The values with these numbers along ``dim``, and zeros for numbers there are not; so gradients go there."""
        return functions.gather("gather_elements", values, members, axis=self.dim, mode="fill")


def _normalise_dim(dim: int, rank: int) -> int:
    if not -rank <= dim < rank:
        raise IndexError(f"dim {dim} is out of range for a tensor with {rank} dimensions (valid: {-rank}..{rank - 1})")
    return dim % rank
