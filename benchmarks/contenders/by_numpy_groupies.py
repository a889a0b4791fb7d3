"""numpy-groupies: updates grouped by their index and aggregated, then combined with data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.case import BenchCase
from benchmarks.contenders.contender import Contender, TimedCall, make_in_place_call
from benchmarks.workload import HALVES, row_view

# reduction: (numpy-groupies' name, its neutral element, how the result joins data)
_FUNCTIONS: dict[str, tuple[str, float, np.ufunc]] = {
    "add": ("sum", 0, np.add),
    "sub": ("sum", 0, np.subtract),
    "mul": ("prod", 1, np.multiply),
    "min": ("min", np.inf, np.minimum),
    "max": ("max", -np.inf, np.maximum),
}


class NumpyGroupiesContender(Contender):
    """``aggregate``, with Numba if it is installed, otherwise with NumPy."""

    name = "numpy-groupies"

    def __init__(self, threads: int) -> None:
        self._groupies: Any = import_module("numpy_groupies")

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return reductions of whole rows or single elements along the first axes."""
        workload, how = case.workload, case.workload.reduction
        flat = workload.form == "scatter_update" and workload.axis == 0 and case.indices.ndim == 1
        tuples = workload.form == "scatter_nd" and case.indices.ndim == 2 and row_view(workload)[3] == 1
        numbers = case.data.dtype.kind in "fiu" and workload.dtype not in HALVES
        if how not in _FUNCTIONS or not (flat or tuples) or not numbers or workload.distribution == "negatives":
            return {}
        if getattr(self._groupies, "aggregate_nb", None) is not None:  # far faster
            return {"aggregate, Numba": replace(self._make_call(case, self._groupies.aggregate_nb), compiles=True)}
        return {"aggregate, NumPy": self._make_call(case, self._groupies.aggregate_np)}

    def statistic_calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return the function of the same name, with Numba and with NumPy."""
        axis = 0 if case.new.ndim > 1 else None

        def make(aggregate: Any) -> TimedCall:
            options: dict[str, Any] = {"func": case.workload.reduction, "size": case.workload.data[0], "axis": axis}
            return TimedCall(lambda: aggregate(case.indices, case.new, **options), compiles=True)

        engines = {"Numba": "aggregate_nb", "NumPy": "aggregate_np"}
        known = {name: getattr(self._groupies, each, None) for name, each in engines.items()}
        return {f"aggregate, {name}": make(aggregate) for name, aggregate in known.items() if aggregate is not None}

    def _make_call(self, case: BenchCase, aggregate: Any) -> TimedCall:
        name, neutral, join = _FUNCTIONS[case.workload.reduction]
        data, new, tuples = case.data, case.new, case.workload.form == "scatter_nd"
        fill = neutral if data.dtype.kind == "f" or np.isfinite(neutral) else _infinity_as_integer(data.dtype, neutral)

        def grouped() -> np.ndarray:
            options: dict[str, Any] = {"func": name, "fill_value": fill, "dtype": data.dtype}
            if tuples:
                found = aggregate(np.ascontiguousarray(case.indices.T), new, size=data.shape, **options)
            else:
                axis = None if new.ndim == 1 else 0
                found = aggregate(case.indices, new, size=len(data), axis=axis, **options)
            return np.asarray(found).reshape(data.shape)

        if case.workload.out:
            return make_in_place_call(case, lambda target: join(target, grouped(), out=target))
        return TimedCall(lambda: join(data, grouped()))


def _infinity_as_integer(dtype: np.dtype, infinity: float) -> int:
    """Return the integer that replaces an infinity."""
    limits = np.iinfo(dtype)
    return int(limits.max if infinity > 0 else limits.min)
