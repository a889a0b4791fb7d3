"""The expected result, in a few lines of plain NumPy, and the errors that a contender may have."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from benchmarks.case import BenchCase
from benchmarks.statistics import compute_statistic
from benchmarks.workload import HALVES, LANES, TUPLES, ModelRun, row_view
from gatherscatter.explaining.library_code.by_numpy import UFUNCS

_STEP = 1 << 22
_PIECE = 1 << 16
_RELATIVE, _ABSOLUTE = 1e-3, 1e-4  # tolerances of the outputs of models
_UFUNCS = UFUNCS | {"mean": "add"}


def find_lines(case: BenchCase) -> tuple[np.ndarray, int]:
    """Return the line of data, as [lines, width], that each line of the slots reads or writes, and the width."""
    workload = case.workload
    if workload.layout in ("expanded", "repeated"):  # along axis 0, all elements of a row with the same index
        return row_numbers(case.indices[:, 0].astype(np.int64), workload.data[:1], workload.form), prod(
            workload.data[1:]
        )
    indices = case.indices.astype(np.int64)
    if workload.form in LANES:
        axis, size = workload.axis, workload.data[workload.axis]
        strides = [prod(workload.data[d + 1 :]) for d in range(len(workload.data))]
        where = np.where(indices < 0, indices + size, indices) * strides[axis]
        for d, n in enumerate(workload.indices):
            if d != axis:
                where = where + (np.arange(n) * strides[d]).reshape(-1, *[1] * (len(strides) - 1 - d))
        return where.ravel(), 1
    if workload.form == "tensor_scatter":
        size, width = workload.data[-2:]
        rows = (indices[:, np.newaxis] + np.arange(workload.window)) % size
        batch, outer = workload.data[0], prod(workload.data[1:-2])
    else:
        batch, outer, dims, width = row_view(workload)
        rows, size = row_numbers(indices, dims, workload.form).reshape(batch, -1), prod(dims)
    base = np.arange(batch * outer).reshape(batch, outer, 1) * size
    return (base + rows[:, np.newaxis, :]).ravel(), width


def row_numbers(indices: np.ndarray, dims: tuple[int, ...], form: str) -> np.ndarray:
    """Return index tuples as row numbers."""
    if form not in TUPLES:
        return np.where(indices < 0, indices + dims[0], indices)
    columns = [np.where(indices[..., d] < 0, indices[..., d] + n, indices[..., d]) for d, n in enumerate(dims)]
    return np.asarray(np.ravel_multi_index(tuple(columns), dims))


def follow_beams(case: BenchCase) -> np.ndarray:
    """Follow beams back from the last step. Every sequence has full length and no end token."""
    steps, parents = case.data, case.indices
    beams = np.broadcast_to(np.arange(steps.shape[2]), steps.shape[1:])
    result = np.empty_like(steps)
    for t in range(steps.shape[0] - 1, -1, -1):
        result[t] = np.take_along_axis(steps[t], beams, 1)
        beams = np.take_along_axis(parents[t], beams, 1)
    return result


class Reference:
    """The expected result of a case, with reductions in row-major order of the updates."""

    def __init__(self, case: BenchCase) -> None:
        self._case = case
        self._hits: np.ndarray | None = None  # number of updates for each line
        workload = case.workload
        if workload.form == "gather_tree":
            self.expected = follow_beams(case)
            return
        numbers, width = find_lines(case)
        self._width = width
        if workload.is_gather:
            gathered = case.data.reshape(-1, width)[numbers]
            if workload.form == "gather_reduce":
                self._reduce_bags(gathered)
            else:
                self.expected = gathered.reshape(workload.slots)
            return
        self.expected = case.data.copy(order="C")
        if workload.reduction == "none":
            self.expected.reshape(-1, width)[numbers] = case.new.reshape(-1, width)
            return
        self._reduce(numbers, case.new, counted=1)

    def _reduce_bags(self, rows: np.ndarray) -> None:
        """Reduce the weighted rows into bags. Empty bags are zeros. Halves are added in float32."""
        case, dtype = self._case, rows.dtype
        if case.weights is not None:
            rows *= case.weights.reshape(-1, 1)
        if case.workload.dtype in HALVES:
            rows = rows.astype(np.float32)
        self.expected = np.full(case.workload.result, -0.0, rows.dtype)  # a sum of -0.0 and x is x
        if case.workload.reduction in ("min", "max"):
            # Start with any member of each bag. It may count twice.
            self.expected.reshape(-1, self._width)[case.segment_ids] = rows
        self._reduce(case.segment_ids, rows, counted=0)
        assert self._hits is not None
        self.expected[self._hits == 0] = 0
        self.expected = self.expected.astype(dtype, copy=False)

    def _reduce(self, numbers: np.ndarray, updates: np.ndarray, counted: int) -> None:
        """Combine updates with the values in ``expected``. A mean counts each of those values ``counted`` times."""
        flat, new, width = self.expected.reshape(-1), updates.reshape(-1), self._width
        self._largest = float(np.abs(updates[:1000]).max())
        at = getattr(np, _UFUNCS[self._case.workload.reduction]).at
        step = max(_STEP // width, 1)
        for first in range(0, numbers.size, step):
            some = (numbers[first : first + step, np.newaxis] * width + np.arange(width)).reshape(-1)
            at(flat, some, new[first * width : first * width + some.size])
        self._hits = np.bincount(numbers, minlength=flat.size // width)
        if self._case.workload.reduction == "mean":
            rows = self.expected.reshape(-1, width)
            counts = np.maximum(self._hits + counted, 1).astype(flat.dtype)[:, np.newaxis]
            rows[...] = rows // counts if flat.dtype.kind in "iu" else rows / counts

    def same_bits(self, result: np.ndarray) -> bool:
        """Return whether the result is bit-for-bit identical to the expected one."""
        mine = self.expected
        if result.shape != mine.shape or result.dtype != mine.dtype:
            return False
        a, b = _as_integers(result), _as_integers(mine)  # in pieces that stay in the cache
        return all(np.array_equal(a[i : i + _PIECE], b[i : i + _PIECE]) for i in range(0, a.size, _PIECE))

    def accepts(self, result: np.ndarray) -> bool:
        """Return whether a peer's result is right: identical bits, or a small error for sums and products of floats.

        A peer may add in any order, and in a wider type. Each of n updates of an element may then add a rounding error
        of the largest partial result, so n rounding errors of (largest update + result) are allowed. A lost update is a
        larger error, if the element has fewer updates than the type has values between 1 and 2.
        """
        if self.same_bits(result):
            return True
        reduction, dtype = self._case.workload.reduction, self.expected.dtype
        if reduction not in ("add", "sub", "mul", "mean") or dtype.kind in "iub" or self._hits is None:
            return False
        if result.shape != self.expected.shape or result.dtype != dtype:
            return False
        return self._close(result)

    def _close(self, result: np.ndarray) -> bool:
        assert self._hits is not None
        wide = np.complex128 if self.expected.dtype.kind == "c" else np.float64
        width, largest = self._width, self._largest
        mine, theirs = self.expected.reshape(-1, width), result.reshape(-1, width)
        for first in range(0, len(mine), step := max(_STEP // width, 1)):
            a, b = mine[first : first + step].astype(wide), theirs[first : first + step].astype(wide)
            hits = self._hits[first : first + step]
            allowed = (hits[:, np.newaxis] + 1) * _epsilon(self.expected.dtype) * (4 * largest + np.abs(a))
            if not (np.abs(a - b) <= allowed).all():
                return False
        return True


class StatisticReference:
    """The expected statistics, computed in float64. Groups without members are not compared."""

    def __init__(self, case: BenchCase) -> None:
        self.expected = compute_statistic(case)
        self._relative = 1e-4 if case.workload.dtype == "float32" else 1e-9

    def accepts(self, result: np.ndarray) -> bool:
        """Return whether all results of groups with members are close to the expected ones."""
        if result.shape != self.expected.shape:
            return False
        there = ~np.isnan(self.expected)
        return bool(np.allclose(result[there], self.expected[there], rtol=self._relative, atol=self._relative))


def import_onnxruntime() -> Any:
    """Return the module, without its telemetry, whose thread can crash the process (onnxruntime#32173)."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    return import_module("onnxruntime")


def make_options(threads: int) -> Any:
    """Return options of a session with one thread, or with the default number: one per core."""
    options = import_onnxruntime().SessionOptions()
    options.intra_op_num_threads = 1 if threads == 1 else 0
    return options


class ModelReference:
    """The outputs of a model in ONNX Runtime on one thread.

    Dozens of layers increase the rounding errors of another order of additions, so outputs may differ by a small
    tolerance.
    """

    def __init__(self, run: ModelRun) -> None:
        session = import_onnxruntime().InferenceSession(run.source, make_options(1))
        self._expected = session.run(None, run.inputs)

    def accepts(self, outputs: Sequence[np.ndarray]) -> bool:
        """Return whether the outputs are right."""
        same_types = [(one.shape, one.dtype) for one in outputs] == [(one.shape, one.dtype) for one in self._expected]
        return same_types and all(
            np.allclose(one, other, _RELATIVE, _ABSOLUTE) for one, other in zip(outputs, self._expected, strict=True)
        )


def make_reference(case: BenchCase) -> Reference | ModelReference | StatisticReference:
    """Return the reference of an operator, of a statistic or of a model."""
    if case.run:
        return ModelReference(case.run)
    return StatisticReference(case) if case.workload.is_statistic else Reference(case)


def _epsilon(dtype: np.dtype) -> float:
    return {"float64": 2.0**-52, "complex128": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}.get(
        dtype.name, 2.0**-23
    )


def _as_integers(array: np.ndarray) -> np.ndarray:
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(f"u{min(flat.itemsize, 8)}")
