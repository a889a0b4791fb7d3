"""The arrays of a workload, generated when they are needed."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from benchmarks.conversions import Arrays, make_equal
from benchmarks.distributions import DISTRIBUTIONS, ordered
from benchmarks.quantized import QuantizedTable, draw_table
from benchmarks.workload import HALVES, LANES, TUPLES, ModelRun, Shape, Workload, numpy_dtype, row_view

_BLOCK = 1 << 20


class GroupedMembers(NamedTuple):
    """The members of gather_reduce, bag after bag."""

    starts: np.ndarray  # the start of each bag, and the end of the last one
    rows: np.ndarray  # the row of data of each member
    weights: np.ndarray | None


@dataclass(frozen=True)
class BenchCase:
    """A workload with its arrays. Gathers have no updates, and only gather_reduce has bags and weights."""

    workload: Workload
    data: np.ndarray
    indices: np.ndarray
    updates: np.ndarray | None
    bags: np.ndarray | None = None  # offsets or segment ids
    weights: np.ndarray | None = None
    run: ModelRun | None = None  # of a model, which has no arrays
    table: QuantizedTable | None = None  # whose numbers are data

    @property
    def new(self) -> np.ndarray:
        """The updates of a scatter."""
        if self.updates is None:
            raise ValueError(f"{self.workload.id} has no updates")
        return self.updates

    @property
    def arrays(self) -> Arrays:
        """The arguments of an array function, by name."""
        updates = {} if self.updates is None else {"updates": self.updates}
        return {"data": self.data, "indices": self.indices, **updates}

    @cached_property
    def target(self) -> np.ndarray:
        """A copy of data that all contenders share to work in place, one at a time. It saves a copy for each."""
        return self.data.copy(order="C")

    @cached_property
    def segment_ids(self) -> np.ndarray:
        """The bag of each member of gather_reduce."""
        if self.workload.grouping == "segments" and self.bags is not None:
            return self.bags
        return np.repeat(np.arange(self.workload.bags), np.diff(self._starts))

    @cached_property
    def grouped(self) -> GroupedMembers:
        """The members of gather_reduce in the order of their bags. Members of the same bag keep their order."""
        rows, weights = self.indices.reshape(-1), self.weights
        if weights is not None:
            weights = weights.reshape(-1)
        if self.workload.grouping == "segments":
            order = np.argsort(self.segment_ids, kind="stable")
            rows, weights = rows[order], None if weights is None else weights[order]
        return GroupedMembers(self._starts, rows, weights)

    @cached_property
    def _starts(self) -> np.ndarray:
        """The starts, in the type of the indices, which some libraries require."""
        workload = self.workload
        if self.bags is None:
            starts = np.arange(workload.bags + 1) * workload.indices[1]
        elif workload.grouping == "offsets":
            starts = np.append(self.bags, self.indices.size)
        else:
            starts = np.append(0, np.cumsum(np.bincount(self.bags, minlength=workload.bags)))
        return starts.astype(self.indices.dtype, copy=False)


def build(workload: Workload) -> BenchCase:
    """Generate the arrays. They depend on the workload only."""
    rng = np.random.default_rng([0, zlib.crc32(workload.id.encode())])
    if workload.form == "gather_tree":
        return _tree(workload, rng)
    indices = _indices(workload, rng).astype(workload.index_dtype, copy=False)
    updates = None if workload.is_gather else _values(workload.slots, workload, rng, update=True)
    if workload.form == "gather_reduce":
        bags = _bags(workload, rng)
        weights = _values(workload.indices, workload, rng, update=True) if workload.weighted else None
        data, table = _data_or_table(workload, rng)
        return BenchCase(workload, data, indices, None, bags, weights, table=table)
    if workload.bits:
        data, table = _data_or_table(workload, rng)
        return BenchCase(workload, data, indices, None, table=table)
    arrays = {"data": _data(workload, rng), "indices": indices}
    if updates is not None:
        arrays["updates"] = updates
    if workload.given:
        arrays = make_equal(workload.given, arrays)
    return BenchCase(workload, arrays["data"], arrays["indices"], arrays.get("updates"))


def _bags(workload: Workload, rng: np.random.Generator) -> np.ndarray | None:
    """Return random offsets, for which bags differ and some are empty, or segment ids distributed like indices."""
    count, bags = prod(workload.indices), workload.bags
    if workload.grouping == "packed":
        return None
    if workload.grouping == "offsets":
        made = ordered(bags, count + 1, rng, 0.0)
        made[0] = 0
    else:
        made = DISTRIBUTIONS[workload.distribution](count, bags, rng, workload.parameter)
    return made.astype(workload.index_dtype)


def _tree(workload: Workload, rng: np.random.Generator) -> BenchCase:
    steps = rng.integers(2, 100, workload.data).astype(workload.dtype)
    parents = rng.integers(0, workload.data[2], workload.data).astype(workload.dtype)
    return BenchCase(workload, steps, parents, None)


def _data(workload: Workload, rng: np.random.Generator) -> np.ndarray:
    shape = workload.data
    if workload.layout == "strided":
        return _values((*shape[:-1], 2 * shape[-1]), workload, rng)[..., ::2]
    if workload.given == "prepared":
        return np.zeros(shape, numpy_dtype(workload.dtype))
    if workload.layout == "transposed":
        return _values(shape[::-1], workload, rng).T
    return _values(shape, workload, rng)


def _data_or_table(workload: Workload, rng: np.random.Generator) -> tuple[np.ndarray, QuantizedTable | None]:
    """Return data, or the numbers of a quantized table with the table."""
    if not workload.bits:
        return _data(workload, rng), None
    table = draw_table(workload, rng)
    return table.dequantize(), table


def _values(shape: Shape, workload: Workload, rng: np.random.Generator, update: bool = False) -> np.ndarray:
    """Return random values. A block of them is repeated, because only positions matter."""
    dtype = numpy_dtype(workload.dtype)
    block = rng.standard_normal(min(prod(shape), _BLOCK - 1))  # an odd length: rows differ
    if workload.reduction == "mul":
        block = 1 + block / 64  # products must neither vanish nor overflow
    if dtype.kind in "iub":
        block = np.abs(block * 25) if dtype.kind != "i" else block * 25
    if update and workload.dtype in HALVES:
        block /= 4
    return np.resize(block.astype(dtype), shape)


def _indices(workload: Workload, rng: np.random.Generator) -> np.ndarray:
    form, shape = workload.form, workload.indices
    if workload.distribution == "pattern":
        times = shape[0] // len(workload.pattern)
        steps = workload.delta * np.arange(times)[:, np.newaxis]
        return np.asarray((np.array(workload.pattern) + steps).ravel())
    draw = DISTRIBUTIONS[workload.distribution]
    if form == "tensor_scatter":
        return draw(shape[0], workload.data[-2] - workload.window + 1, rng, workload.parameter)
    if form in LANES:
        return _lanes(workload, rng)
    dims = row_view(workload)[2]
    if form in TUPLES:
        batches = prod(shape[: workload.batch_dims])
        count = prod(shape[workload.batch_dims : -1])
        flat = np.concatenate([draw(count, prod(dims), rng, workload.parameter) for _ in range(batches)])
        return np.stack(np.unravel_index(flat, dims), axis=-1).reshape(shape)
    return draw(prod(shape), dims[0], rng, workload.parameter).reshape(shape)


def _lanes(workload: Workload, rng: np.random.Generator) -> np.ndarray:
    """Return one index per element. "expanded" repeats the first column without using memory for it."""
    shape, size = workload.indices, workload.data[workload.axis]
    if workload.layout in ("expanded", "repeated"):
        column = DISTRIBUTIONS[workload.distribution](shape[0], size, rng, workload.parameter)
        column = column.astype(workload.index_dtype).reshape(-1, *[1] * (len(shape) - 1))
        whole = np.broadcast_to(column, shape)
        return whole if workload.layout == "expanded" else whole.copy()
    if workload.distribution == "permutation":  # a separate one for each lane; 64-bit floats have no ties
        return np.argsort(rng.random(shape), axis=workload.axis)
    return DISTRIBUTIONS[workload.distribution](prod(shape), size, rng, workload.parameter).reshape(shape)
