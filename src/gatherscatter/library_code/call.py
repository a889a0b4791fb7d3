"""The call that is written as source code, and the facts about its values that the code depends on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gatherscatter import _core
from gatherscatter.arrays.convert import element_type, number_elements
from gatherscatter.functions.gather_reduce import (
    Bags,
    find_bags_by_offsets,
    find_bags_by_rows,
    find_bags_by_segments,
)
from gatherscatter.specs.table import OpVersion

HALVES = ("float16", "bfloat16")
ARITHMETIC = ("add", "sub", "mul", "mean")
"""Reductions that compute, as opposed to those that choose."""

# Which input holds the indices and the updates, where they have other names. The data come first.
ROLES = {
    "tensor_scatter": {"indices": "write_indices", "updates": "update"},
    "gather_tree": {"indices": "parent_ids"},
}


class NoCodeError(Exception):
    """A library has no code for a call; the message says why."""


@dataclass(frozen=True, kw_only=True)
class LibraryCall:
    """One call of an operator.

    Attributes
    ----------
    op : the op version, or the name of the array function
    row : the op version; for an array function that of the same inputs
    arrays : inputs by name, in the order of the specification
    axis, batch_dims : counted from the front
    reduction, include_self, accumulate : as the array functions have them
    rule : what an index means: "negative", "nonnegative", "zeros", or a mode of the array functions or of TensorScatter
    fill_mode : what a bag without members gives: "ZERO" or "LOWEST", as SegmentMax has it
    result_name : the variable that the code makes
    """

    op: str
    row: OpVersion
    arrays: dict[str, np.ndarray]
    axis: int
    batch_dims: int
    reduction: str
    include_self: bool
    accumulate: str
    rule: str
    fill_mode: str = "ZERO"
    result_name: str = "output"

    @property
    def kernel(self) -> str:
        """Which of the movements it is."""
        return self.row.kernel

    def name(self, role: str) -> str:
        """What the input in a role is called."""
        return self.row.inputs[0].name if role == "data" else ROLES.get(self.kernel, {}).get(role, role)

    @property
    def data(self) -> np.ndarray:
        return self.arrays[self.name("data")]

    @property
    def indices(self) -> np.ndarray | None:
        return self.arrays.get(self.name("indices"))

    @property
    def updates(self) -> np.ndarray | None:
        return self.arrays.get(self.name("updates"))

    @property
    def is_scatter(self) -> bool:
        return "scatter" in self.kernel

    @property
    def reduces_bags(self) -> bool:
        """Whether rows are gathered and those of each bag reduced."""
        return self.kernel == "gather_reduce"

    @property
    def bag_input(self) -> str | None:
        """The input that says which members a bag has; None where each row of indices is a bag."""
        return next((name for name in ("offsets", "segment_ids") if name in self.arrays), None)

    @property
    def weights_input(self) -> str | None:
        """The input that has a factor for each member; None where there is none."""
        return next((name for name in ("per_sample_weights", "weights") if name in self.arrays), None)

    @property
    def members(self) -> tuple[int, ...]:
        """The shape of the members of all bags: that of indices, or that of all rows of data."""
        return self.data.shape[:1] if self.indices is None else self.indices.shape

    @property
    def bags_shape(self) -> tuple[int, ...]:
        """The leading dims of the output, one row for each bag."""
        if self.bag_input is None:
            return self.members[:-1]
        if self.bag_input == "offsets":
            return self.arrays["offsets"].shape
        if "num_segments" in self.arrays:
            return (int(self.arrays["num_segments"].reshape(())[()]),)
        ids = self.arrays["segment_ids"]
        return (max(int(ids.max()) + 1, 0) if ids.size else 0,)

    @cached_property
    def bags(self) -> Bags:
        """Which members each bag has.

        Raises
        ------
        IndexError
            An offset or a segment id is out of range.
        """
        if self.bag_input is None:
            return find_bags_by_rows(self.members)
        numbers = self.arrays[self.bag_input]
        if self.bag_input == "offsets":
            return find_bags_by_offsets(self.op, numbers, self.members[0])
        return find_bags_by_segments(self.op, numbers, self.bags_shape[0])

    @property
    def empty_bags(self) -> np.ndarray:
        """For each bag whether it has no members."""
        empty: np.ndarray = self.bags.starts[1:] == self.bags.starts[:-1]
        return empty.reshape(self.bags.shape)

    @property
    def default_row(self) -> int | None:
        """The row of data that a bag without members gives; None: there is none, as for -1."""
        given = self.arrays.get("default_index")
        row = -1 if given is None or given.size != 1 else int(given.reshape(())[()])
        return None if row == -1 else row

    @property
    def by_tuple(self) -> bool:
        """Whether the last dimension of indices holds tuples."""
        return self.kernel.endswith("_nd")

    @property
    def is_fused(self) -> bool:
        """Whether batch dims come out as one, as those of OpenVINO GatherND-5."""
        return self.row.finish is not None and self.op == self.row.name and self.batch_dims > 1

    @property
    def type(self) -> str:
        return element_type(self.data.dtype)

    @property
    def index_type(self) -> str:
        return "" if self.indices is None else self.indices.dtype.name

    @property
    def rank(self) -> int:
        return self.data.ndim

    @property
    def index_shape(self) -> tuple[int, ...]:
        return () if self.indices is None else self.indices.shape

    @property
    def k(self) -> int:
        """The length of index tuples."""
        return self.index_shape[-1] if self.by_tuple and self.index_shape else 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the axes that the indices go into."""
        first = self.batch_dims if self.by_tuple else self.axis
        return self.data.shape[first : first + self.k]

    @property
    def is_wide(self) -> bool:
        """Whether halves add up in float32."""
        return self.accumulate == "wide" and self.type in HALVES and self.reduction in ARITHMETIC

    @property
    def adds_stepwise(self) -> bool:
        """Whether a sum in the type of the array, or in float32 for halves, gives the same."""
        return self.accumulate == "step" or self.is_wide or self.reduction not in ARITHMETIC

    @property
    def widens_indices(self) -> bool:
        """Whether the type of the indices is one that not every library indexes with."""
        return self.index_type not in ("", "int32", "int64")

    @cached_property
    def negative(self) -> bool:
        """Whether an index counts from the end."""
        return self.rule not in ("nonnegative", "circular", "linear") and bool((self._values < 0).any())

    @cached_property
    def missing(self) -> bool:
        """Whether an index is out of range and yields zeros or is dropped."""
        if self.rule not in ("zeros", "fill", "drop"):
            return False
        sizes = np.array(self.sizes) if self.by_tuple else self.sizes[0]
        wide = self._values.astype(object) if self.index_type == "uint64" else self._values.astype(np.int64)
        return bool(((wide < -sizes) | (wide >= sizes)).any())

    @cached_property
    def repeated(self) -> bool:
        """Whether two updates go to one element; for all scatters but TensorScatter."""
        mode = self.rule if self.rule in ("wrap", "clip") else "skip"
        count = math.prod(self.index_shape[:-1] if self.by_tuple else self.index_shape)
        tuples = self._values.reshape(count, self.k)
        places = _core.resolve_indices(tuples, self.sizes, mode, True)
        if places is None:
            return False
        if self.kernel.endswith("elements"):
            places = number_elements(places, self.index_shape, self.axis)
        places = places[places >= 0]
        return len(np.unique(places)) < len(places)

    @property
    def has_nan(self) -> bool:
        """Whether data or updates hold a NaN."""
        moved = [array for name, array in self.arrays.items() if name in (self.name("data"), "updates")]
        return any(array.dtype.kind not in "OSUTbiu" and bool((array != array).any()) for array in moved)

    @property
    def shorter(self) -> str:
        """The subscript of the part of data that shorter indices of GatherElements are about; empty if it is all."""
        if not self.kernel.endswith("elements"):
            return ""
        pairs = list(zip(self.index_shape, self.data.shape, strict=True))
        parts = [":" if mine == whole or axis == self.axis else f":{mine}" for axis, (mine, whole) in enumerate(pairs)]
        return "" if set(parts) == {":"} else f"[{', '.join(parts)}]"

    def subscript(self, name: str) -> str:
        """``[:, :, name]``, with ``name`` on the axis, behind the batch dims."""
        inside = self.batch_dims <= self.axis < self.rank
        self.require(inside, "a subscript can't be written for an axis that is not there")
        return f"[{':, ' * (self.axis - self.batch_dims)}{name}]"

    def require(self, holds: bool, reason: str) -> None:
        """Give up, unless something holds."""
        if not holds:
            raise NoCodeError(reason)

    @property
    def _values(self) -> np.ndarray:
        assert self.indices is not None
        return self.indices
