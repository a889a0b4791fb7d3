"""polars: ``group_by`` of a DataFrame, on its own threads."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.case import BenchCase
from benchmarks.contenders.contender import Contender, TimedCall
from benchmarks.statistics import spread_results

_METHODS = {"len": "len", "argmax": None, "cumsum": None}


class PolarsContender(Contender):
    """An expression for each group. Groups come in any order."""

    name = "polars"

    def __init__(self, threads: int) -> None:
        self._polars: Any = import_module("polars")

    def statistic_calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return an aggregation of one column or of all columns of a table."""
        pl, name = self._polars, case.workload.reduction
        function = name.removeprefix("nan")
        method = _METHODS.get(function, function)
        if method is None or name.startswith("nan"):  # it has null, not NaN
            return {}
        values = case.new.reshape(len(case.new), -1)
        columns = {f"v{c}": np.ascontiguousarray(values[:, c]) for c in range(values.shape[1])}
        frame = pl.DataFrame({"i": case.indices, **columns})
        options: dict[str, Any] = {"ddof": 0} if method in ("std", "var") else {}
        asked = (
            pl.len() if method == "len" else getattr(pl.all() if len(columns) > 1 else pl.col("v0"), method)(**options)
        )

        def run() -> Any:
            return frame.group_by("i").agg(asked)

        def as_array(found: Any) -> np.ndarray:
            made = found.drop("i").to_numpy()
            return spread_results(case, found["i"].to_numpy(), made if case.new.ndim > 1 else made[:, 0])

        return {f"group_by, {method}": TimedCall(run, as_array)}
