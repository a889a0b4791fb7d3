"""Numba: the loops that a user would write, compiled before the clock starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from benchmarks.case import BenchCase, GroupedMembers
from benchmarks.contenders.contender import Contender, TimedCall, make_copying_call, make_in_place_call
from benchmarks.workload import HALVES, LANES, TUPLES, Shape, Workload, row_view

_SMALL = 10_000  # elements; fewer are not worth threads

# (value in data, update) -> new value in data
_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "none": lambda old, new: new,
    "add": lambda old, new: old + new,
    "sub": lambda old, new: old - new,
    "mul": lambda old, new: old * new,
    "min": lambda old, new: min(old, new),
    "max": lambda old, new: max(old, new),
}


class NumbaContender(Contender):
    """A serial loop, and one with ``prange``.

    Numba counts negative indices from the end and does not check indices. Two threads that add to the same element
    would lose updates. Parallel scatters are therefore used only if no index repeats or if threads own slices of data.
    """

    name = "numba"

    def __init__(self, threads: int) -> None:
        self._numba: Any = import_module("numba")
        self._threads = min(threads, self._numba.config.NUMBA_NUM_THREADS)
        self._compiled: dict[tuple[str, str, bool], Any] = {}

    def prepare(self) -> None:
        """Set the number of threads."""
        self._numba.set_num_threads(self._threads)

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return the loops. Arrays must have the dimensions of a loop without copying, or Numba is not used."""
        workload = case.workload
        how = workload.reduction
        if workload.dtype in HALVES:
            return {}
        if workload.form == "gather_reduce":
            return self._reductions(case)
        if workload.form in ("gather_tree", "tensor_scatter") or how == "mean":
            return {}
        ways = {"loop": False}
        independent = (
            workload.is_gather or workload.distribution == "permutation" or _choose_loop(workload)[0] in _DISJOINT
        )
        if independent and self._threads > 1 and prod(workload.slots) > _SMALL:
            ways["parallel loop"] = True
        make = self._gather if workload.is_gather else self._scatter
        return {name: replace(make(case, parallel), compiles=True) for name, parallel in ways.items()}

    def _gather(self, case: BenchCase, parallel: bool) -> TimedCall:
        kind, data_shape, indices_shape, slots_shape = _choose_loop(case.workload)
        loop = self._loop(kind, "get", parallel)
        data, indices = _view(case.data, data_shape), _view(case.indices, indices_shape)
        given = np.empty(case.workload.slots, data.dtype) if case.workload.out else None
        dims = row_view(case.workload)[2] if case.workload.form in TUPLES else ()

        def run() -> np.ndarray:
            out = np.empty(case.workload.slots, data.dtype) if given is None else given
            loop(data, indices, out.reshape(slots_shape), dims)
            return out

        return TimedCall(run)

    def _scatter(self, case: BenchCase, parallel: bool) -> TimedCall:
        kind, data_shape, indices_shape, slots_shape = _choose_loop(case.workload)
        loop = self._loop(kind, case.workload.reduction, parallel)
        indices, new = _view(case.indices, indices_shape), case.new.reshape(slots_shape)
        dims = row_view(case.workload)[2] if case.workload.form in TUPLES else ()

        def change(target: np.ndarray) -> None:
            loop(target.reshape(data_shape), indices, new, dims)

        return make_in_place_call(case, change) if case.workload.out else make_copying_call(case, change)

    def _reductions(self, case: BenchCase) -> dict[str, TimedCall]:
        """Return loops over bags. Ungrouped members are grouped in the call, or added to their bags one by one."""
        workload, data, indices, weights = case.workload, case.data, case.indices, case.weights
        jit, prange, how = self._numba.njit, self._numba.prange, workload.reduction
        combine, weigh = jit(_COMBINE["add" if how == "mean" else how]), jit(_take if weights is None else _weigh)
        group: Callable[[], GroupedMembers] = (lambda: case.grouped) if workload.is_grouped else self._group(case)

        def reduce_bags(loop: Any) -> np.ndarray:
            starts, rows, values = group()
            out = np.empty(workload.result, data.dtype)
            loop(data, rows, starts, values, out, how == "mean")
            return out

        def add_members(loop: Any) -> np.ndarray:
            out = np.zeros(workload.result, data.dtype)
            loop(data, indices, case.segment_ids, weights, out)
            return out

        def make_call(run: Callable[[Any], np.ndarray], loop: Any, parallel: bool) -> TimedCall:
            compiled = jit(loop, parallel=parallel)
            return TimedCall(lambda: run(compiled), compiles=True)

        over_bags = _reduce_bags(prange, combine, weigh)
        calls = {"loop": make_call(reduce_bags, over_bags, False)}
        if self._threads > 1 and prod(workload.slots) > _SMALL:
            calls["parallel loop"] = make_call(reduce_bags, over_bags, True)
        if how == "add" and not workload.is_grouped:
            calls["loop over members"] = make_call(add_members, _add_members(weigh), False)
        return calls

    def _group(self, case: BenchCase) -> Callable[[], GroupedMembers]:
        sort = self._numba.njit(_sort_by_counting)

        def group() -> GroupedMembers:
            starts, order = sort(case.segment_ids, case.workload.bags)
            return GroupedMembers(starts, case.indices[order], None if case.weights is None else case.weights[order])

        return group

    def _loop(self, kind: str, what: str, parallel: bool) -> Any:
        if (kind, what, parallel) not in self._compiled:
            numba = self._numba
            if what == "get":
                loop = _GATHERS[kind](numba.prange)
            else:
                loop = _SCATTERS[kind](numba.prange, numba.njit(_COMBINE[what]))
            self._compiled[kind, what, parallel] = numba.njit(loop, parallel=parallel)
        return self._compiled[kind, what, parallel]


def _choose_loop(workload: Workload) -> tuple[str, Shape, Shape, Shape]:
    """Return the loop, and the shapes that it needs of data, indices, and the output or updates."""
    data, indices, axis = workload.data, workload.indices, workload.axis
    if workload.form in LANES:
        if data[:axis] + data[axis + 1 :] != indices[:axis] + indices[axis + 1 :]:
            raise NotImplementedError("an index box that is smaller than data off the axis")
        outer, inner = prod(data[:axis]), prod(data[axis + 1 :])
        if outer == 1:
            return "columns", (data[axis], inner), (indices[axis], inner), (indices[axis], inner)
        box = (outer, indices[axis], inner)
        return "lanes", (outer, data[axis], inner), box, box
    batch, outer, dims, width = row_view(workload)
    if workload.form in TUPLES:
        count = prod(indices[workload.batch_dims : -1])
        if batch == 1:
            return "points", (prod(dims), width), (count, len(dims)), (count, width)
        return "batches", (batch, prod(dims), width), (batch, count, len(dims)), (batch, count, width)
    count = prod(indices[workload.batch_dims :])
    if batch * outer > 1:
        return "slices", (batch, outer, dims[0], width), (batch, count), (batch, outer, count, width)
    if width > 1:
        return "rows", (dims[0], width), (count,), (count, width)
    return "elements", (prod(dims),), (count,), (count,)


def _view(array: np.ndarray, shape: Shape) -> np.ndarray:
    """Return an array of another shape on the same memory."""
    view = array.reshape(shape)
    if not np.may_share_memory(view, array):
        raise NotImplementedError("an array that has to be copied first")
    return view


Loop = Callable[[Any, Any, Any, Shape], None]


def _gather_elements(prange: Any) -> Loop:
    def loop(data: Any, indices: Any, out: Any, dims: Shape) -> None:
        for i in prange(indices.size):
            out[i] = data[indices[i]]

    return loop


def _gather_rows(prange: Any) -> Loop:
    def loop(data: Any, indices: Any, out: Any, dims: Shape) -> None:
        for i in prange(indices.size):
            row = indices[i]
            for w in range(data.shape[1]):
                out[i, w] = data[row, w]

    return loop


def _gather_slices(prange: Any) -> Loop:
    def loop(data: Any, indices: Any, out: Any, dims: Shape) -> None:
        outer = data.shape[1]
        for n in prange(data.shape[0] * outer):
            b, o = n // outer, n % outer
            for i in range(indices.shape[1]):
                row = indices[b, i]
                for w in range(data.shape[3]):
                    out[b, o, i, w] = data[b, o, row, w]

    return loop


def _gather_points(prange: Any) -> Loop:
    def loop(data: Any, indices: Any, out: Any, dims: Shape) -> None:
        for i in prange(indices.shape[0]):
            row = 0
            for d in range(indices.shape[1]):
                row = row * dims[d] + indices[i, d]
            for w in range(data.shape[1]):
                out[i, w] = data[row, w]

    return loop


def _gather_batches(prange: Any) -> Loop:
    def loop(data: Any, indices: Any, out: Any, dims: Shape) -> None:
        for b in prange(indices.shape[0]):
            for i in range(indices.shape[1]):
                row = 0
                for d in range(indices.shape[2]):
                    row = row * dims[d] + indices[b, i, d]
                for w in range(data.shape[2]):
                    out[b, i, w] = data[b, row, w]

    return loop


def _gather_columns(prange: Any) -> Loop:
    def loop(data: Any, indices: Any, out: Any, dims: Shape) -> None:
        for i in prange(indices.shape[0]):
            for j in range(indices.shape[1]):
                out[i, j] = data[indices[i, j], j]

    return loop


def _gather_lanes(prange: Any) -> Loop:
    def loop(data: Any, indices: Any, out: Any, dims: Shape) -> None:
        for o in prange(indices.shape[0]):
            for i in range(indices.shape[1]):
                for j in range(indices.shape[2]):
                    out[o, i, j] = data[o, indices[o, i, j], j]

    return loop


def _scatter_elements(prange: Any, combine: Any) -> Loop:
    def loop(data: Any, indices: Any, new: Any, dims: Shape) -> None:
        for i in prange(indices.size):
            target = indices[i]
            data[target] = combine(data[target], new[i])

    return loop


def _scatter_rows(prange: Any, combine: Any) -> Loop:
    def loop(data: Any, indices: Any, new: Any, dims: Shape) -> None:
        for i in prange(indices.size):
            row = indices[i]
            for w in range(data.shape[1]):
                data[row, w] = combine(data[row, w], new[i, w])

    return loop


def _scatter_slices(prange: Any, combine: Any) -> Loop:
    def loop(data: Any, indices: Any, new: Any, dims: Shape) -> None:
        outer = data.shape[1]
        for n in prange(data.shape[0] * outer):
            b, o = n // outer, n % outer
            for i in range(indices.shape[1]):
                row = indices[b, i]
                for w in range(data.shape[3]):
                    data[b, o, row, w] = combine(data[b, o, row, w], new[b, o, i, w])

    return loop


def _scatter_points(prange: Any, combine: Any) -> Loop:
    def loop(data: Any, indices: Any, new: Any, dims: Shape) -> None:
        for i in prange(indices.shape[0]):
            row = 0
            for d in range(indices.shape[1]):
                row = row * dims[d] + indices[i, d]
            for w in range(data.shape[1]):
                data[row, w] = combine(data[row, w], new[i, w])

    return loop


def _scatter_batches(prange: Any, combine: Any) -> Loop:
    def loop(data: Any, indices: Any, new: Any, dims: Shape) -> None:
        for b in prange(indices.shape[0]):
            for i in range(indices.shape[1]):
                row = 0
                for d in range(indices.shape[2]):
                    row = row * dims[d] + indices[b, i, d]
                for w in range(data.shape[2]):
                    data[b, row, w] = combine(data[b, row, w], new[b, i, w])

    return loop


def _scatter_columns(prange: Any, combine: Any) -> Loop:
    def loop(data: Any, indices: Any, new: Any, dims: Shape) -> None:
        for i in prange(indices.shape[0]):
            for j in range(indices.shape[1]):
                target = indices[i, j]
                data[target, j] = combine(data[target, j], new[i, j])

    return loop


def _scatter_lanes(prange: Any, combine: Any) -> Loop:
    def loop(data: Any, indices: Any, new: Any, dims: Shape) -> None:
        for o in prange(indices.shape[0]):
            for i in range(indices.shape[1]):
                for j in range(indices.shape[2]):
                    target = indices[o, i, j]
                    data[o, target, j] = combine(data[o, target, j], new[o, i, j])

    return loop


def _take(value: Any, weights: Any, member: int) -> Any:
    return value


def _weigh(value: Any, weights: Any, member: int) -> Any:
    return value * weights[member]


def _reduce_bags(prange: Any, combine: Any, weigh: Any) -> Callable[..., None]:
    def loop(data: Any, rows: Any, starts: Any, weights: Any, out: Any, mean: bool) -> None:
        for b in prange(out.shape[0]):
            first, end = starts[b], starts[b + 1]
            for w in range(out.shape[1]):
                out[b, w] = weigh(data[rows[first], w], weights, first) if first < end else 0
            for m in range(first + 1, end):
                row = rows[m]
                for w in range(out.shape[1]):
                    out[b, w] = combine(out[b, w], weigh(data[row, w], weights, m))
            if mean and first < end:
                for w in range(out.shape[1]):
                    out[b, w] /= end - first

    return loop


def _add_members(weigh: Any) -> Callable[..., None]:
    def loop(data: Any, rows: Any, ids: Any, weights: Any, out: Any) -> None:
        for m in range(rows.size):
            row, bag = rows[m], ids[m]
            for w in range(out.shape[1]):
                out[bag, w] += weigh(data[row, w], weights, m)

    return loop


def _sort_by_counting(ids: Any, bags: int) -> Any:
    """Return the start of each bag, and the members in the order of their bags."""
    starts = np.zeros(bags + 1, np.int64)
    for bag in ids:
        starts[bag + 1] += 1
    for b in range(bags):
        starts[b + 1] += starts[b]
    next_target, order = starts.copy(), np.empty(ids.size, np.int64)
    for m in range(ids.size):
        order[next_target[ids[m]]] = m
        next_target[ids[m]] += 1
    return starts, order


_GATHERS = {
    "elements": _gather_elements,
    "rows": _gather_rows,
    "slices": _gather_slices,
    "points": _gather_points,
    "batches": _gather_batches,
    "columns": _gather_columns,
    "lanes": _gather_lanes,
}
_SCATTERS = {
    "elements": _scatter_elements,
    "rows": _scatter_rows,
    "slices": _scatter_slices,
    "points": _scatter_points,
    "batches": _scatter_batches,
    "columns": _scatter_columns,
    "lanes": _scatter_lanes,
}
_DISJOINT = ("slices", "batches", "lanes")  # loops whose threads never write to the same element
