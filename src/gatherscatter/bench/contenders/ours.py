"""gatherscatter itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

import gatherscatter as gs
from gatherscatter.bench.case import Case
from gatherscatter.bench.contenders.contender import Call, in_place


class Ours:
    """The array functions of this package on a number of threads."""

    def __init__(self, threads: int, name: str = "gatherscatter") -> None:
        self.name = name
        self._threads = threads

    def version(self) -> str:
        """The version of this package."""
        return gs.__version__

    def prepare(self) -> None:
        """Set the number of threads."""
        gs.set_num_threads(self._threads)

    def calls(self, case: Case) -> Mapping[str, Call]:
        """One: the function of the workload's name."""
        self.prepare()
        workload = case.workload
        if workload.form == "gather_tree":
            return {"gather_tree": Call(_tree(case))}
        if not workload.is_gather:
            scatter = _scatter(case)
            call = in_place(case, lambda target: scatter(target, target)) if workload.out else Call(_fresh(case))
        elif workload.out:
            call = Call(_gather(case, np.empty(workload.slots, case.data.dtype)))
        else:
            call = Call(_gather(case, None))
        return {workload.form: call}


def _tree(case: Case) -> Callable[[], np.ndarray]:
    lengths = np.full(case.data.shape[1], case.data.shape[0], case.data.dtype)
    end = np.array(1, case.data.dtype)
    return lambda: gs.gather_tree(case.data, case.indices, lengths, end)


def _gather(case: Case, out: np.ndarray | None) -> Callable[[], np.ndarray]:
    """Keywords are written out as a user writes them: a call on a tiny array is timed with them."""
    data, indices, axis, batch = case.data, case.indices, case.workload.axis, case.workload.batch_dims
    if case.workload.form == "gather_elements":
        return lambda: gs.gather_elements(data, indices, axis=axis, out=out)
    if case.workload.form == "gather_nd":
        return lambda: gs.gather_nd(data, indices, batch_dims=batch, out=out)
    return lambda: gs.gather(data, indices, axis=axis, batch_dims=batch, out=out)


def _fresh(case: Case) -> Callable[[], np.ndarray]:
    data, indices, new, how = case.data, case.indices, case.new, case.workload.reduction
    if case.workload.form == "scatter_nd":  # one call deep, for the same reason
        return lambda: gs.scatter_nd(data, indices, new, reduction=how)
    scatter = _scatter(case)
    return lambda: scatter(data, None)


def _scatter(case: Case) -> Callable[[np.ndarray, np.ndarray | None], np.ndarray]:
    indices, new, axis, how = case.indices, case.new, case.workload.axis, case.workload.reduction
    if case.workload.form == "tensor_scatter":
        return lambda data, out: gs.tensor_scatter(data, new, indices, out=out)
    if case.workload.form == "scatter_elements":
        return lambda data, out: gs.scatter_elements(data, indices, new, axis=axis, reduction=how, out=out)
    if case.workload.form == "scatter_nd":
        return lambda data, out: gs.scatter_nd(data, indices, new, reduction=how, out=out)
    return lambda data, out: gs.scatter_update(data, indices, new, axis=axis, reduction=how, out=out)
