"""pandas: ``groupby`` of a Series or a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.case import BenchCase
from benchmarks.contenders.contender import Contender, TimedCall
from benchmarks.statistics import RUNNING, spread_results


class PandasContender(Contender):
    """Groups by integers, which it sorts. Its functions skip NaN."""

    name = "pandas"

    def __init__(self, threads: int) -> None:
        self._pandas: Any = import_module("pandas")

    def statistic_calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return the function of the same name."""
        name = case.workload.reduction
        function = name.removeprefix("nan")
        options: dict[str, Any] = {"ddof": 0} if function in ("std", "var") else {}
        method = {"len": "count", "argmax": "idxmax", "argmin": "idxmin"}.get(function, function)
        frame = self._pandas.DataFrame(case.new) if case.new.ndim > 1 else self._pandas.Series(case.new)

        def run() -> Any:
            return getattr(frame.groupby(case.indices), method)(**options)

        def as_array(found: Any) -> np.ndarray:
            values = found.to_numpy()
            return values if function in RUNNING else spread_results(case, found.index.to_numpy(), values)

        return {f"groupby.{method}": TimedCall(run, as_array)}
