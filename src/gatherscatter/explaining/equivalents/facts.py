"""What the code for all libraries depends on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gatherscatter.explaining.call import Call, Coordinates
from gatherscatter.explaining.counts import Counts

HALVES = ("float16", "bfloat16")
COMMON_INDICES = ("int32", "int64")


class NoneSuchError(Exception):
    """A library has nothing that does what the call does; the message says why."""


@dataclass(frozen=True)
class Facts:
    """A call, and what its values are like."""

    call: Call

    @property
    def kernel(self) -> str:
        return self.call.kernel

    @property
    def axis(self) -> int:
        return self.call.axis

    @property
    def batch(self) -> int:
        return self.call.batch_dims

    @property
    def reduction(self) -> str:
        return self.call.reduction

    @property
    def data(self) -> np.ndarray:
        return self.call.data

    @property
    def indices(self) -> np.ndarray:
        indices = self.call.indices
        assert indices is not None
        return indices

    @property
    def rank(self) -> int:
        return self.data.ndim

    @property
    def index_rank(self) -> int:
        return self.indices.ndim

    @property
    def k(self) -> int:
        return self.call.k

    @property
    def sizes(self) -> Coordinates:
        """The sizes of the axes that the indices go into."""
        first = self.batch if self.call.by_tuple else self.axis
        return self.data.shape[first : first + self.k]

    @property
    def is_wide(self) -> bool:
        """Whether halves add up in float32."""
        return self.call.accumulate == "wide" and self.call.type in HALVES and self.reduction in ARITHMETIC

    @property
    def widens_indices(self) -> bool:
        """Whether the type of the indices is one that not every library indexes with."""
        return self.call.indices is not None and self.indices.dtype.name not in COMMON_INDICES

    @cached_property
    def negative(self) -> bool:
        """Whether an index counts from the end."""
        return self.call.rule not in ("nonnegative", "circular", "linear") and bool((self.indices < 0).any())

    @cached_property
    def missing(self) -> bool:
        """Whether an index is out of range and yields zeros or is dropped."""
        if self.call.rule not in ("zeros", "fill", "drop"):
            return False
        sizes = np.array(self.sizes) if self.call.by_tuple else self.sizes[0]
        wide = self.indices.astype(object) if self.indices.dtype == np.uint64 else self.indices.astype(np.int64)
        return bool(((wide < -sizes) | (wide >= sizes)).any())

    @cached_property
    def repeated(self) -> bool:
        """Whether two updates go to one element."""
        numbers = Counts(self.call).numbers
        return bool((numbers[1:] == numbers[:-1]).any())  # they are in order

    @property
    def has_nan(self) -> bool:
        """Whether data or updates hold a NaN."""
        moved = [array for name, array in self.call.arrays.items() if name in ("data", "updates")]
        return any(array.dtype.kind not in "OSUTbiu" and bool((array != array).any()) for array in moved)

    @property
    def shorter(self) -> str:
        """The subscript of the part of data that shorter indices of GatherElements are about; empty if it is all."""
        pairs = list(zip(self.indices.shape, self.data.shape, strict=True))
        parts = [":" if mine == whole or axis == self.axis else f":{mine}" for axis, (mine, whole) in enumerate(pairs)]
        return "" if set(parts) == {":"} else f"[{', '.join(parts)}]"

    @property
    def columns(self) -> str:
        """``:, :, `` for the axes before the one that is indexed."""
        return ":, " * self.axis

    def require(self, holds: bool, reason: str) -> None:
        """Give up, unless something holds."""
        if not holds:
            raise NoneSuchError(reason)

    def grid(self, library: str) -> str:
        """The index arrays of GatherElements and its kin, as a tuple: every coordinate is the index's own but one."""
        parts = [
            "indices" if axis == self.axis else arange(library, axis, self.rank - 1 - axis) for axis in range(self.rank)
        ]
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"

    def rows(self, library: str) -> str:
        """The index arrays of the batch dims, each with a comma and a blank."""
        rank = self.index_rank - self.call.by_tuple
        return "".join(arange(library, axis, rank - 1 - axis) + ", " for axis in range(self.batch))


# Reductions that compute, as opposed to those that choose.
ARITHMETIC = ("add", "sub", "mul", "mean")


def arange(library: str, axis: int, after: int) -> str:
    """``np.arange(indices.shape[0])[:, None]``: a coordinate, with axes after it."""
    return f"{library}.arange(indices.shape[{axis}])" + (f"[:{', None' * after}]" if after else "")


def identity(facts: Facts, infinity: str, limits: str) -> str:
    """What changes nothing when it is combined with an update."""
    kind = facts.call.type
    if facts.reduction in ("add", "mul"):
        if kind == "string":
            return "''"
        return "1" if facts.reduction == "mul" else "0" if kind.startswith(("int", "uint", "bool")) else "-0.0"
    least = facts.reduction == "max"
    if kind == "bool":
        return str(not least)
    if kind.startswith(("int", "uint")):
        return f"{limits}.{'min' if least else 'max'}"
    return f"{'-' * least}{infinity}"
