"""NumPy, with every recipe that a careful user may find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.case import BenchCase
from benchmarks.contenders.contender import Contender, TimedCall, make_copying_call, make_in_place_call
from benchmarks.quantized import QuantizedTable
from benchmarks.reference import follow_beams
from benchmarks.workload import LANES, row_view
from gatherscatter.explaining.library_code.by_numpy import UFUNCS


class NumpyContender(Contender):
    """take, take_along_axis, fancy indexing, ufunc.at, bincount, sort and reduceat."""

    name = "numpy"

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return all recipes that fit."""
        if case.workload.form == "gather_tree":
            return {"loop over steps": TimedCall(lambda: follow_beams(case))}
        if case.workload.form == "gather_reduce":
            return _reductions(case)
        if case.workload.is_gather:
            return _gathers(case)
        changes = _changes(case)
        if case.workload.out:
            return {name: make_in_place_call(case, change) for name, change in changes.items()}
        calls = {name: make_copying_call(case, change) for name, change in changes.items()}
        if _can_bincount(case):
            calls["bincount"] = TimedCall(lambda: _bincount(case))
        return calls

    def table_calls(self, case: BenchCase, table: QuantizedTable) -> Mapping[str, TimedCall]:
        """Return a gather of codes that are then dequantized."""
        if case.workload.form == "gather_reduce":
            return {}
        return {"take, dequantize": TimedCall(lambda: table.take(case.indices).dequantize())}


def _gathers(case: BenchCase) -> dict[str, TimedCall]:
    workload, data, indices, axis = case.workload, case.data, case.indices, case.workload.axis
    out = np.empty(workload.slots, data.dtype) if workload.out else None
    if workload.form == "gather_elements":
        if out is not None:  # NumPy has no out= here; assigning only saves page faults
            return {}
        if all(n == m or d == axis for d, (n, m) in enumerate(zip(data.shape, indices.shape, strict=True))):
            return {"take_along_axis": TimedCall(lambda: np.take_along_axis(data, indices, axis))}
        where: Any = _open_grid(case)
        return {"fancy": TimedCall(lambda: data[where])}
    if workload.form == "gather_nd" and indices.shape[-1] == 1 and not workload.batch_dims:
        indices, axis = indices[..., 0], 0
    if (workload.form == "gather" and not workload.batch_dims) or indices.ndim < case.indices.ndim:
        return _takes(data, indices.tolist() if workload.entry == "list" else indices, axis, out)
    if out is not None:
        return {}
    key: Any = _batches(case)
    if workload.form == "gather":
        return {"fancy": TimedCall(lambda: data[(*key, indices)])}
    columns = range(indices.shape[-1])
    batch, _, dims, width = row_view(workload)
    calls = {"fancy": TimedCall(lambda: data[(*key, *(indices[..., d] for d in columns))])}
    if batch == 1:
        rows = data.reshape(-1, width)

        def numbered() -> np.ndarray:
            numbers = np.ravel_multi_index(tuple(indices[..., d] for d in columns), dims)
            return rows.take(numbers, 0).reshape(workload.slots)

        calls["row numbers"] = TimedCall(numbered)
    return calls


def _reductions(case: BenchCase) -> dict[str, TimedCall]:
    """Gather and weight rows, then reduce them along an axis, bag after bag, or with ``ufunc.at``."""
    workload, data, how = case.workload, case.data, case.workload.reduction
    ufunc: Any = {"add": np.add, "mean": np.add, "max": np.maximum}[how]

    def gather(rows: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        taken = data.take(rows, 0)
        return taken if weights is None else np.multiply(taken, weights[..., np.newaxis], out=taken)

    def divide(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
        if how == "mean":
            sums /= np.maximum(counts, 1).astype(sums.dtype)[:, np.newaxis]
        return sums

    def reduceat(starts: np.ndarray, rows: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        counts = np.diff(starts)
        filled = counts > 0  # reduceat has no empty groups
        sums = np.zeros(workload.result, data.dtype)
        sums[filled] = ufunc.reduceat(gather(rows, weights), starts[:-1][filled], axis=0)
        return divide(sums, counts)

    if workload.is_grouped:
        calls = {"take, reduceat": TimedCall(lambda: reduceat(*case.grouped))}
        if workload.grouping == "packed":
            along: Any = {"add": np.sum, "mean": np.mean, "max": np.max}[how]
            calls[f"take, {how}"] = TimedCall(lambda: along(gather(case.indices, case.weights), axis=1))
        return calls
    ids, indices = case.segment_ids, case.indices

    def sort() -> np.ndarray:
        order = np.argsort(ids, kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(ids, minlength=workload.bags)))
        return reduceat(starts, indices[order], None if case.weights is None else case.weights[order])

    def add_at() -> np.ndarray:
        sums = np.zeros(workload.result, data.dtype)
        np.add.at(sums, ids, gather(indices, case.weights))
        return divide(sums, np.bincount(ids, minlength=workload.bags))

    calls = {"sort, take, reduceat": TimedCall(sort)}
    return calls if how == "max" else calls | {"take, add.at": TimedCall(add_at)}


def _takes(data: np.ndarray, indices: Any, axis: int, out: np.ndarray | None) -> dict[str, TimedCall]:
    calls = {
        "np.take": TimedCall(lambda: np.take(data, indices, axis, out=out)),
        "ndarray.take": TimedCall(lambda: data.take(indices, axis, out)),
    }
    if out is None:
        key: Any = (*[slice(None)] * axis, indices)
        calls["fancy"] = TimedCall(lambda: data[key])
    elif indices.dtype.kind == "u" or indices.size == 0 or indices.min() >= 0:  # "raise" buffers the output
        calls["take clip"] = TimedCall(lambda: data.take(indices, axis, out, "clip"))
    return calls


def _batches(case: BenchCase) -> tuple[np.ndarray, ...]:
    """Return index arrays of the batch dims that broadcast against the indices."""
    rank = case.indices.ndim - (case.workload.form != "gather")
    shape = case.indices.shape[: case.workload.batch_dims]
    return tuple(np.arange(n).reshape(-1, *[1] * (rank - 1 - d)) for d, n in enumerate(shape))


def _open_grid(case: BenchCase) -> tuple[Any, ...]:
    rank, axis = case.indices.ndim, case.workload.axis
    return tuple(
        case.indices if d == axis else np.arange(n).reshape(-1, *[1] * (rank - 1 - d))
        for d, n in enumerate(case.indices.shape)
    )


def _key(case: BenchCase) -> Any:
    """Return the index in ``data[...] = updates``."""
    workload, indices = case.workload, case.indices
    if workload.form in LANES:
        return _open_grid(case)
    if workload.form == "scatter_nd":
        return tuple(indices[..., d] for d in range(indices.shape[-1]))
    return (*[slice(None)] * workload.axis, indices)


def _changes(case: BenchCase) -> dict[str, Callable[[np.ndarray], object]]:
    """Return ways to change an array in place."""
    workload, new, key, how = case.workload, case.new, None, case.workload.reduction
    if workload.form == "tensor_scatter":
        return {"slices": lambda target: _write_windows(target, case)}
    key = _key(case)
    if how == "none":
        changes: dict[str, Callable[[np.ndarray], object]] = {"assign": lambda a: a.__setitem__(key, new)}
        if workload.form == "scatter_elements":
            changes["put_along_axis"] = lambda a: np.put_along_axis(a, case.indices, new, workload.axis)
        return changes
    if how == "mean":
        return {"add.at and counts": lambda target: _mean(target, key, new)}
    ufunc = getattr(np, UFUNCS[how])
    changes = {"ufunc.at": lambda target: ufunc.at(target, key, new)}
    if case.indices.ndim == (2 if workload.form == "scatter_nd" else 1) and workload.axis == 0 and new.ndim > 1:
        changes["sort, reduceat"] = lambda target: _reduce_sorted_groups(target, case)
    return changes


def _write_windows(target: np.ndarray, case: BenchCase) -> None:
    size = target.shape[-2]
    for entry, start in enumerate(case.indices.tolist()):
        first = min(case.workload.window, size - start)
        target[entry, ..., start : start + first, :] = case.new[entry, ..., :first, :]
        if first < case.workload.window:
            target[entry, ..., : case.workload.window - first, :] = case.new[entry, ..., first:, :]


def _mean(target: np.ndarray, key: Any, new: np.ndarray) -> None:
    counts = np.ones(target.shape, target.dtype)
    np.add.at(target, key, new)
    np.add.at(counts, key, np.ones((), target.dtype))
    if target.dtype.kind in "iu":
        np.floor_divide(target, counts, out=target)
    else:
        np.divide(target, counts, out=target)


def _reduce_sorted_groups(target: np.ndarray, case: BenchCase) -> None:
    """Group updates by destination, and reduce each group at once."""
    how = getattr(np, UFUNCS[case.workload.reduction])
    if case.workload.form == "scatter_nd":
        shape = target.shape[: case.indices.shape[-1]]
        numbers = np.ravel_multi_index(tuple(case.indices.T), shape)
    else:
        numbers = case.indices
    rows = target.reshape(-1, case.new[0].size)
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    groups = how.reduceat(case.new.reshape(numbers.size, -1)[order], starts, axis=0)
    rows[ordered[starts]] = how(rows[ordered[starts]], groups)


def _can_bincount(case: BenchCase) -> bool:
    """Return whether np.bincount can do it."""
    workload = case.workload
    flat = workload.form != "scatter_nd" or workload.indices[-1] == 1
    real = case.data.dtype.kind == "f" and workload.dtype != "float16"
    return workload.reduction == "add" and case.data.ndim == 1 and flat and real and case.indices.dtype.kind in "iu"


def _bincount(case: BenchCase) -> np.ndarray:
    sums = np.bincount(case.indices.reshape(-1), weights=case.new, minlength=case.data.size)
    return np.asarray(np.add(case.data, sums, dtype=case.data.dtype, casting="same_kind"))
