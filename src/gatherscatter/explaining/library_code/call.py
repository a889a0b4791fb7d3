"""A call that is written as source code, and the facts about its values on which the code depends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.arrays.convert import element_type, number_elements
from gatherscatter.functions.gather_reduce import FoundBags, find_bags
from gatherscatter.operation import Bags, Form, Kernel, Operation
from gatherscatter.specs.table import OpVersion

HALVES = ("float16", "bfloat16")
ARITHMETIC = ("add", "sub", "mul", "mean")
"""Reductions that compute a new value. Others select one of the values."""

# The inputs for indices and updates that have other names. The data are always the first input.
ROLES = {
    "tensor_scatter": {"indices": "write_indices", "updates": "update"},
    "gather_tree": {"indices": "parent_ids"},
}


class NoCodeError(Exception):
    """A library has no code for a call. The message gives the reason."""


@dataclass(frozen=True, kw_only=True)
class LibraryCall:
    """One call of an operator.

    Attributes
    ----------
    operation : the operation. Its axis and its batch_dims count from the front
    row : the op version; for an array function, an op version with the same inputs
    arrays : the inputs by name, in the order of the specification
    fill_mode : the result for a bag without members: "ZERO" or "LOWEST", as in SegmentMax
    result_name : the variable of the result
    """

    operation: Operation
    row: OpVersion
    arrays: dict[str, np.ndarray]
    fill_mode: str = "ZERO"
    result_name: str = "output"

    @property
    def op(self) -> str:
        """The op version, or the name of the array function."""
        return self.operation.op

    @property
    def kernel(self) -> Kernel:
        return self.operation.kernel

    @property
    def axis(self) -> int:
        return self.operation.axis

    @property
    def batch_dims(self) -> int:
        return self.operation.batch_dims

    @property
    def mode(self) -> str:
        return self.operation.mode

    @property
    def reduction(self) -> str:
        return self.operation.reduction

    @property
    def include_self(self) -> bool:
        return self.operation.include_self

    @property
    def accumulate(self) -> str:
        return self.operation.accumulate

    def name(self, role: str) -> str:
        """The name of the input in a role."""
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
        return self.kernel.is_scatter

    @property
    def reduces_bags(self) -> bool:
        """Whether rows are gathered, and the rows of each bag are reduced."""
        return self.kernel == Kernel.GATHER_REDUCE

    @property
    def bag_input(self) -> str | None:
        """The input that defines the members of a bag. None if each row of indices is a bag."""
        return next((name for name in ("offsets", "segment_ids", "indptr") if name in self.arrays), None)

    @property
    def weights_input(self) -> str | None:
        """The input with a factor for each member, or None."""
        return next((name for name in ("per_sample_weights", "weights") if name in self.arrays), None)

    @property
    def members(self) -> tuple[int, ...]:
        """The shape of the members of all bags: that of indices, or without indices that of all rows of data."""
        return self.data.shape[:1] if self.indices is None else self.indices.shape

    @property
    def bags_shape(self) -> tuple[int, ...]:
        """The leading dims of the output, with one row for each bag."""
        if self.bag_input is None:
            return self.members[:-1]
        if self.bag_input == "offsets":
            return self.arrays["offsets"].shape
        if self.bag_input == "indptr":
            return (self.arrays["indptr"].size - 1,)
        if "num_segments" in self.arrays:
            return (int(self.arrays["num_segments"].reshape(())[()]),)
        ids = self.arrays["segment_ids"]
        return (max(int(ids.max()) + 1, 0) if ids.size else 0,)

    @cached_property
    def bags(self) -> FoundBags:
        """The members of each bag, without those that are skipped.

        Raises
        ------
        IndexError
            An offset, a segment id or a number of indptr is out of range.
        """
        if self.bag_input is None:
            return self._leave_out_skipped(find_bags(self.operation, self.members))
        numbers: dict[str, Any] = {self.bag_input: self.arrays[self.bag_input]}
        count = self.bags_shape[0] if self.bag_input == "segment_ids" else None
        bags = Bags(count, embedding_rules=self.op == self.row.name)
        return self._leave_out_skipped(find_bags(self.operation._replace(bags=bags), self.members, **numbers))

    def _leave_out_skipped(self, bags: FoundBags) -> FoundBags:
        """Leave out the members whose index is skipped."""
        if self.operation.negative != "skip" or self.indices is None:
            return bags
        order = np.arange(bags.starts[-1]) if bags.order is None else bags.order
        kept = self.indices.reshape(-1)[order] >= 0
        return bags._replace(starts=np.append(0, np.cumsum(kept))[bags.starts], order=order[kept])

    @property
    def empty_bags(self) -> np.ndarray:
        """Whether each bag is empty."""
        empty: np.ndarray = self.bags.starts[1:] == self.bags.starts[:-1]
        return empty.reshape(self.bags.shape)

    @property
    def default_row(self) -> int | None:
        """The row of data for a bag without members. None if there is no such row, as for -1."""
        given = self.arrays.get("default_index")
        row = -1 if given is None or given.size != 1 else int(given.reshape(())[()])
        return None if row == -1 else row

    @property
    def by_tuple(self) -> bool:
        """Whether the last dimension of indices holds tuples."""
        return self.kernel.form == Form.TUPLES

    @property
    def is_fused(self) -> bool:
        """Whether batch dims are merged into one in the result, as in OpenVINO GatherND-5."""
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
        """The sizes of the indexed axes."""
        first = self.batch_dims if self.by_tuple else self.axis
        return self.data.shape[first : first + self.k]

    @property
    def is_wide(self) -> bool:
        """Whether halves add up in float32."""
        return self.accumulate == "wide" and self.type in HALVES and self.reduction in ARITHMETIC

    @property
    def adds_stepwise(self) -> bool:
        """Whether a sum in the type of the array, or in float32 for halves, gives the same result."""
        return self.accumulate == "step" or self.is_wide or self.reduction not in ARITHMETIC

    @property
    def widens_indices(self) -> bool:
        """Whether some libraries do not accept the type of the indices."""
        return self.index_type not in ("", "int32", "int64")

    @property
    def counted_negative(self) -> str:
        """The rule for negative indices, without its errors: they count from the end or are skipped."""
        return "end" if self.operation.negative == "end" else "skip"

    @cached_property
    def negative(self) -> bool:
        """Whether an index counts from the end."""
        counts_from_end = self.operation.negative == "end" and self.kernel != Kernel.TENSOR_SCATTER
        return counts_from_end and bool((self._values < 0).any())

    @cached_property
    def missing(self) -> bool:
        """Whether an index is out of range, and gives zeros or is dropped."""
        if not self.operation.skips:
            return False
        sizes = np.array(self.sizes) if self.by_tuple else self.sizes[0]
        wide = self._values.astype(object) if self.index_type == "uint64" else self._values.astype(np.int64)
        lowest = 0 if self.operation.negative == "skip" else -sizes
        return bool(((wide < lowest) | (wide >= sizes)).any())

    @cached_property
    def repeated(self) -> bool:
        """Whether two updates go to one element. For all scatters except TensorScatter."""
        mode = self.mode if self.mode in ("wrap", "clip") else "skip"
        count = math.prod(self.index_shape[:-1] if self.by_tuple else self.index_shape)
        tuples = self._values.reshape(count, self.k)
        targets = _core.resolve_indices(tuples, self.sizes, mode, self.counted_negative)
        if targets is None:
            return False
        if self.kernel.form == Form.LANES:
            targets = number_elements(targets, self.index_shape, self.axis)
        targets = targets[targets >= 0]
        return len(np.unique(targets)) < len(targets)

    @property
    def has_nan(self) -> bool:
        """Whether data or updates hold a NaN."""
        moved = [array for name, array in self.arrays.items() if name in (self.name("data"), "updates")]
        return any(array.dtype.kind not in "OSUTbiu" and bool((array != array).any()) for array in moved)

    @property
    def shorter(self) -> str:
        """The subscript of the part of data that shorter indices of GatherElements can reach; empty if it is all."""
        if self.kernel.form != Form.LANES:
            return ""
        pairs = list(zip(self.index_shape, self.data.shape, strict=True))
        parts = [":" if mine == whole or axis == self.axis else f":{mine}" for axis, (mine, whole) in enumerate(pairs)]
        return "" if set(parts) == {":"} else f"[{', '.join(parts)}]"

    def subscript(self, name: str) -> str:
        """``[:, :, name]``, with ``name`` at the axis, after the batch dims."""
        inside = self.batch_dims <= self.axis < self.rank
        self.require(inside, "a subscript can't be written for an axis that is not there")
        return f"[{':, ' * (self.axis - self.batch_dims)}{name}]"

    def require(self, holds: bool, reason: str) -> None:
        """Raise the error that there is no code, unless a condition holds."""
        if not holds:
            raise NoCodeError(reason)

    @property
    def _values(self) -> np.ndarray:
        assert self.indices is not None
        return self.indices
