"""Workloads: a form, shapes, types and a distribution of indices, without arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

Shape = tuple[int, ...]

GATHERS = ("gather", "gather_elements", "gather_nd", "gather_tree", "gather_reduce")
SCATTERS = ("scatter_update", "scatter_elements", "scatter_nd", "tensor_scatter")
LANES = ("gather_elements", "scatter_elements")
TUPLES = ("gather_nd", "scatter_nd")
HALVES = ("float16", "bfloat16")


def numpy_dtype(name: str) -> np.dtype:
    """Return the NumPy dtype of a type name, including bfloat16."""
    if name == "bfloat16":
        import ml_dtypes

        bfloat16: np.dtype = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    return np.dtype(name)


@dataclass(frozen=True)
class Workload:
    """One row of the table. All sizes count elements."""

    id: str  # group/name
    title: str
    data: Shape
    indices: Shape
    distribution: str = "uniform"
    parameter: float = 0.0  # of the distribution: Zipf's exponent, the length of a run
    form: str = "gather"
    pattern: Shape = ()  # of the distribution "pattern"
    delta: int = 0
    dtype: str = "float32"
    index_dtype: str = "int64"
    reduction: str = "none"
    axis: int = 0
    batch_dims: int = 0
    window: int = 1  # positions that tensor_scatter writes per batch entry
    grouping: str = ""  # of gather_reduce: "packed" (indices have a row for each bag), "offsets" or "segments"
    bags: int = 0  # of gather_reduce: rows of the result
    weighted: bool = False
    prepared: bool = False  # results that depend only on the indices are computed before the call
    out: bool = False  # into an existing array: out= of a gather, out=data of a scatter
    # How our call enters: "" (an array function), "list" of indices, "at", "onnx", "openvino" or "torch" (with tensors,
    # which other libraries convert).
    entry: str = ""
    layout: str = "contiguous"  # or "strided" (every other column), "transposed", "expanded" (index with stride 0)
    # How our call gets its arrays, or "" (unchanged). The peer converts them first, or makes the simplest other call
    # for the same work; see conversions.py.
    given: str = ""
    bits: int = 0  # of a code of a block-quantized table; 0: data are not such a table
    block_size: int = 0  # numbers of a row that share a scale
    huge: bool = False

    @property
    def group(self) -> str:
        """The group of the row, which is the first part of its id."""
        return self.id.partition("/")[0]

    @property
    def is_statistic(self) -> bool:
        """Whether it computes a statistic of groups: ``reduction`` of the updates with the same index."""
        return self.form == "aggregate"

    @property
    def is_model(self) -> bool:
        """Whether it runs a model. Every other workload is a call of one operator."""
        return self.form == "model"

    @property
    def is_gather(self) -> bool:
        """Whether it reads by index. Otherwise it writes."""
        return self.form in GATHERS

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return numpy_dtype(self.dtype).itemsize

    @property
    def slots(self) -> Shape:
        """The shape of a gather's output, of the rows that gather_reduce reduces, or of a scatter's updates."""
        if self.form in LANES:
            return self.indices
        if self.form == "gather_tree":
            return self.data
        if self.form == "tensor_scatter":
            return (*self.data[:-2], self.window, self.data[-1])
        if self.form in TUPLES:
            return self.indices[:-1] + self.data[self.batch_dims + self.indices[-1] :]
        return self.data[: self.axis] + self.indices[self.batch_dims :] + self.data[self.axis + 1 :]

    @property
    def result(self) -> Shape:
        """Shape of the result."""
        if self.form == "gather_reduce":
            return (self.bags, *self.data[1:])
        return self.slots if self.is_gather else self.data

    @property
    def is_grouped(self) -> bool:
        """Whether the members of gather_reduce are grouped by bag, in the inputs or before the call."""
        return self.prepared or self.grouping in ("packed", "offsets")

    @property
    def useful_bytes(self) -> int:
        """Bytes of the elements that the call moves or reduces. They are unknown for a model."""
        return 0 if self.is_model else prod(self.slots) * self.itemsize

    @property
    def data_bytes(self) -> int:
        """Bytes of the data."""
        return self._stored_bytes(prod(self.data))

    @property
    def read_bytes(self) -> int:
        """Bytes of data that a gather reads, if it reads each element as often as it moves or reduces it."""
        return self._stored_bytes(prod(self.slots))

    def _stored_bytes(self, count: int) -> int:
        if not self.bits:
            return count * self.itemsize
        return count * self.bits // 8 + count // self.block_size * self.itemsize

    def at_most(self, size: int) -> Workload:
        """Return the workload with every dimension limited to ``size``, for tests."""
        if self.pattern:  # data must still have all positions
            count = min(self.indices[0], size * len(self.pattern))
            return replace(self, indices=(count,), data=(pattern_size(self.pattern, self.delta, count),))
        data, indices = _shrink(self.data, size), _shrink(self.indices, size)
        return replace(self, data=data, indices=indices, window=min(self.window, size // 2), bags=min(self.bags, size))


# The common forms. ``put`` sets rows or elements.
elements = partial(Workload, form="gather_elements")
tuples = partial(Workload, form="gather_nd")
put = partial(Workload, form="scatter_update")
put_elements = partial(Workload, form="scatter_elements")
put_tuples = partial(Workload, form="scatter_nd")
add = partial(put, reduction="add")
add_elements = partial(put_elements, reduction="add")
add_tuples = partial(put_tuples, reduction="add")
sum_rows = partial(Workload, form="gather_reduce", reduction="add")


class ModelRun(NamedTuple):
    """The file of a model, and its inputs by name."""

    source: Path
    inputs: dict[str, np.ndarray]


def _shrink(shape: Shape, size: int) -> Shape:
    return tuple(min(n, size) for n in shape)


def pattern_size(pattern: Shape, delta: int, elements: int) -> int:
    """Return the elements of data that a Spatter pattern needs if it is repeated for this number of elements."""
    return max(pattern) + delta * (elements // len(pattern) - 1) + 1


def row_view(workload: Workload) -> tuple[int, int, Shape, int]:
    """Return batch, outer, dims and width of a form that moves whole rows."""
    data = workload.data
    first = workload.batch_dims
    if workload.form in TUPLES:
        last = first + workload.indices[-1]
        return prod(data[:first]), 1, data[first:last], prod(data[last:])
    axis = workload.axis
    return prod(data[:first]), prod(data[first:axis]), (data[axis],), prod(data[axis + 1 :])
