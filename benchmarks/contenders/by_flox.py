"""flox: ``groupby_reduce`` with the engines that are installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.case import BenchCase
from benchmarks.contenders.contender import Contender, TimedCall

_NAMES = {"len": "count"}


class FloxContender(Contender):
    """Groups along the last axis. The number of groups is given."""

    name = "flox"

    def __init__(self, threads: int) -> None:
        self._flox: Any = import_module("flox")

    def statistic_calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return a call for each engine."""
        workload, flox = case.workload, self._flox
        if workload.reduction == "cumsum":
            return {}
        name = _NAMES.get(workload.reduction, workload.reduction)
        groups = np.arange(workload.data[0])
        values = case.new if case.new.ndim == 1 else np.ascontiguousarray(case.new.T)

        def make(engine: str) -> TimedCall:
            def run() -> Any:
                return flox.groupby_reduce(values, case.indices, func=name, expected_groups=groups, engine=engine)[0]

            return TimedCall(run, lambda found: np.asarray(found).T, compiles=True)

        return {f"groupby_reduce, {engine}": make(engine) for engine in ("flox", "numpy", "numba")}
