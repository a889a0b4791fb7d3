"""SciPy: gathers and sums as products with a sparse matrix, created in the call unless its parts are given."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.case import BenchCase
from benchmarks.contenders.contender import Contender, TimedCall, make_in_place_call
from benchmarks.workload import HALVES


class SciPyContender(Contender):
    """A matrix with a single one in each row selects rows. Its transpose adds them."""

    name = "scipy"

    def __init__(self, threads: int) -> None:
        self._scipy: Any = import_module("scipy")
        self._sparse: Any = import_module("scipy.sparse")

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return products, for rows along the first axis and numbers of 4 bytes or more."""
        workload = case.workload
        if workload.form == "gather_reduce":
            return self._reductions(case)
        rows = workload.form in ("gather", "scatter_update") and workload.axis == 0 and not workload.batch_dims
        if not rows or case.indices.ndim != 1 or case.data.dtype.itemsize < 4 or workload.dtype in HALVES:
            return {}
        if workload.distribution == "negatives":  # a sparse matrix has no negative indices
            return {}
        data = case.data.reshape(len(case.data), -1)
        if workload.is_gather:
            if workload.out:
                return {}
            return {"matrix @ data": TimedCall(lambda: (self._matrix(case) @ data).reshape(workload.slots))}
        new = case.new.reshape(len(case.new), -1)
        if workload.reduction == "add":
            if workload.out:

                def add(target: np.ndarray) -> None:
                    rows = target.reshape(data.shape)
                    rows += self._matrix(case).T @ new

                return {"matrix.T @ updates": make_in_place_call(case, add)}
            return {
                "matrix.T @ updates": TimedCall(lambda: (data + self._matrix(case).T @ new).reshape(case.data.shape))
            }
        if workload.reduction == "mean" and not workload.out:
            return {"matrix.T @ updates": TimedCall(lambda: self._mean(case, data, new).reshape(case.data.shape))}
        return {}

    def statistic_calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return the function of `scipy.ndimage` for labels."""
        names = {"sum": "sum_labels", "mean": "mean", "std": "standard_deviation", "max": "maximum", "median": "median"}
        name = names.get(case.workload.reduction)
        if name is None or case.new.ndim > 1:
            return {}
        function = getattr(import_module("scipy.ndimage"), name)
        groups = np.arange(case.workload.data[0])
        return {f"ndimage.{name}": TimedCall(lambda: function(case.new, case.indices, groups))}

    def _reductions(self, case: BenchCase) -> dict[str, TimedCall]:
        workload, data = case.workload, case.data
        if workload.reduction not in ("add", "mean") or workload.dtype in HALVES:
            return {}
        shape = (workload.bags, len(data))

        def finish(sums: np.ndarray) -> np.ndarray:
            if workload.reduction == "mean":
                counts = np.bincount(case.segment_ids, minlength=workload.bags)
                sums /= np.maximum(counts, 1).astype(sums.dtype)[:, np.newaxis]
            return sums

        def values(weights: np.ndarray | None) -> np.ndarray:
            return np.ones(case.indices.size, data.dtype) if weights is None else weights

        if workload.is_grouped:
            starts, rows, weights = case.grouped
            matrix = self._sparse.csr_array((values(weights), rows, starts), shape)
            return {"csr @ data": TimedCall(lambda: finish(matrix @ data))}

        def make() -> Any:
            return self._sparse.coo_array((values(case.weights), (case.segment_ids, case.indices)), shape)

        return {
            "coo @ data": TimedCall(lambda: finish(make() @ data)),
            "coo to csr @ data": TimedCall(lambda: finish(make().tocsr() @ data)),
        }

    def _matrix(self, case: BenchCase) -> Any:
        count = len(case.indices)
        ones = np.ones(count, case.data.dtype)
        return self._sparse.csr_array((ones, case.indices, np.arange(count + 1)), (count, len(case.data)))

    def _mean(self, case: BenchCase, data: np.ndarray, new: np.ndarray) -> np.ndarray:
        matrix = self._matrix(case)
        counts = 1 + matrix.T @ np.ones((len(new), 1), data.dtype)
        sums = data + matrix.T @ new
        return np.asarray(sums // counts if data.dtype.kind in "iu" else sums / counts)
