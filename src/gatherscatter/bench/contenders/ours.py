"""gatherscatter itself: the version that is running, or that of another commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gatherscatter.bench.case import BenchCase
from gatherscatter.bench.commits import CURRENT, Package
from gatherscatter.bench.contenders.contender import TimedCall, make_in_place_call


class Ours:
    """The array functions of this package on a number of threads."""

    def __init__(self, threads: int, name: str = "gatherscatter", package: Package = CURRENT) -> None:
        self.name = name
        self._threads = threads
        self._package = package

    def version(self) -> str:
        """The version of this package."""
        return str(self._package.gs.__version__)

    def prepare(self) -> None:
        """Make this version the one that is imported, and set its number of threads."""
        self._package.activate()
        self._package.gs.set_num_threads(self._threads)

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """One: the function of the workload's name."""
        self.prepare()
        workload = case.workload
        if workload.form == "gather_tree":
            return {"gather_tree": TimedCall(self._tree(case))}
        if not workload.is_gather:
            scatter = self._scatter(case)
            call = (
                make_in_place_call(case, lambda target: scatter(target, target))
                if workload.out
                else TimedCall(self._fresh(case))
            )
        elif workload.out:
            call = TimedCall(self._gather(case, np.empty(workload.slots, case.data.dtype)))
        else:
            call = TimedCall(self._gather(case, None))
        return {workload.form: call}

    def _tree(self, case: BenchCase) -> Callable[[], np.ndarray]:
        gs, data, indices = self._package.gs, case.data, case.indices
        lengths = np.full(data.shape[1], data.shape[0], data.dtype)
        end = np.array(1, data.dtype)
        return lambda: gs.gather_tree(data, indices, lengths, end)

    def _gather(self, case: BenchCase, out: np.ndarray | None) -> Callable[[], np.ndarray]:
        """Keywords are written out as a user writes them: a call on a tiny array is timed with them."""
        gs, data, indices = self._package.gs, case.data, case.indices
        axis, batch = case.workload.axis, case.workload.batch_dims
        if case.workload.form == "gather_elements":
            return lambda: gs.gather_elements(data, indices, axis=axis, out=out)
        if case.workload.form == "gather_nd":
            return lambda: gs.gather_nd(data, indices, batch_dims=batch, out=out)
        return lambda: gs.gather(data, indices, axis=axis, batch_dims=batch, out=out)

    def _fresh(self, case: BenchCase) -> Callable[[], np.ndarray]:
        gs, data, indices, new, how = self._package.gs, case.data, case.indices, case.new, case.workload.reduction
        if case.workload.form == "scatter_nd":  # one call deep, for the same reason
            return lambda: gs.scatter_nd(data, indices, new, reduction=how)
        scatter = self._scatter(case)
        return lambda: scatter(data, None)

    def _scatter(self, case: BenchCase) -> Callable[[np.ndarray, np.ndarray | None], np.ndarray]:
        gs, indices, new = self._package.gs, case.indices, case.new
        axis, how = case.workload.axis, case.workload.reduction
        if case.workload.form == "tensor_scatter":
            return lambda data, out: gs.tensor_scatter(data, new, indices, out=out)
        if case.workload.form == "scatter_elements":
            return lambda data, out: gs.scatter_elements(data, indices, new, axis=axis, reduction=how, out=out)
        if case.workload.form == "scatter_nd":
            return lambda data, out: gs.scatter_nd(data, indices, new, reduction=how, out=out)
        return lambda data, out: gs.scatter_update(data, indices, new, axis=axis, reduction=how, out=out)
