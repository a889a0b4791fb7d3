"""gatherscatter itself: the running version, or the version of another commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

import gatherscatter_models as gm
from benchmarks.case import BenchCase
from benchmarks.commits import CURRENT, Package
from benchmarks.contenders.contender import Contender, TimedCall, make_in_place_call
from benchmarks.conversions import make_calls
from benchmarks.quantized import QuantizedTable
from benchmarks.reference import make_options
from benchmarks.workload import HALVES, ModelRun
from gatherscatter.system.lazy_modules import load_place


class PackageContender(Contender):
    """Functions of gatherscatter on a number of threads."""

    name = "gatherscatter"

    def __init__(self, threads: int, package: Package = CURRENT) -> None:
        self._threads = threads
        self._package = package

    def version(self) -> str:
        """Return the version of this package."""
        return str(self._package.gs.__version__)

    def prepare(self) -> None:
        """Make imports find this version, and set its number of threads."""
        self._package.activate()
        self._package.gs.set_num_threads(self._threads)


class Ours(PackageContender):
    """The function that a workload names."""

    def __init__(self, threads: int, name: str = "gatherscatter", package: Package = CURRENT) -> None:
        super().__init__(threads, package)
        self.name = name

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return one way: the function named by the workload, or its prepared form."""
        self.prepare()
        workload = case.workload
        if workload.given:
            return {workload.given: TimedCall(make_calls(self._package.gs, workload, case.arrays)[0])}
        if workload.entry == "torch" and (self._package is not CURRENT or find_spec("torch") is None):
            return {}  # only one version can register its operators with PyTorch
        if workload.entry:
            return {workload.entry: TimedCall(self._enter(case))}
        if workload.form == "gather_reduce":
            return {"propagate": self._propagate(case)} if workload.prepared else {workload.form: self._reduce(case)}
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

    def statistic_calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return `aggregate`."""
        self.prepare()
        gs, workload = self._package.gs, case.workload
        if not hasattr(gs, "aggregate"):
            return {}
        axis = 0 if case.new.ndim > 1 else None
        labels, values, groups = case.indices, case.new, workload.data[0]
        return {"aggregate": TimedCall(lambda: gs.aggregate(labels, values, workload.reduction, groups, axis=axis))}

    def table_calls(self, case: BenchCase, table: QuantizedTable) -> Mapping[str, TimedCall]:
        """Return the function for quantized tables."""
        self.prepare()
        gs, indices, options = self._package.gs, case.indices, table.options
        codes, scales, zeros = table.codes, table.scales, table.zero_points
        if case.workload.form == "gather":
            return {
                "gather_quantized": TimedCall(lambda: gs.gather_quantized(codes, indices, scales, zeros, **options))
            }
        others = options | {"scales": scales, "zero_points": zeros, "offsets": case.bags, "weights": case.weights}
        how = case.workload.reduction
        return {"gather_reduce": TimedCall(lambda: gs.gather_reduce(codes, indices, reduction=how, **others))}

    def model_calls(self, case: BenchCase, run: ModelRun) -> Mapping[str, TimedCall]:
        """Return a call of `InferenceSession`, which is only in the package gatherscatter-models of this commit."""
        if self._package is not CURRENT:
            return {}
        session = gm.onnx.InferenceSession(run.source, make_options(self._threads))
        return {"InferenceSession": TimedCall(lambda: session.run(None, run.inputs), list)}

    def _enter(self, case: BenchCase) -> Callable[[], Any]:
        """Return a call that enters in another way than by the array function."""
        gs, data, indices, bags = self._package.gs, case.data, case.indices, case.bags
        if case.workload.entry == "torch":
            import torch

            table, rows = torch.from_numpy(data), torch.from_numpy(indices)
            if bags is None:
                gather = load_place("gatherscatter.torch:gather")
                return lambda: gather(table, rows)
            reduce, offsets = load_place("gatherscatter.torch:gather_reduce"), torch.from_numpy(bags)
            return lambda: reduce(table, rows, offsets=offsets)
        listed = indices.tolist()
        entries: dict[str, Callable[[], Any]] = {
            "list": lambda: gs.gather(data, listed),
            "at": lambda: gs.at(data)[indices].get(),
            "onnx": lambda: gs.onnx.Gather(data, indices),
            "openvino": lambda: gs.openvino.GatherND(data, indices),
        }
        return entries[case.workload.entry]

    def _tree(self, case: BenchCase) -> Callable[[], np.ndarray]:
        gs, data, indices = self._package.gs, case.data, case.indices
        lengths = np.full(data.shape[1], data.shape[0], data.dtype)
        end = np.array(1, data.dtype)
        return lambda: gs.gather_tree(data, indices, lengths, end)

    def _reduce(self, case: BenchCase) -> TimedCall:
        gs, data, indices, weights = self._package.gs, case.data, case.indices, case.weights
        how = case.workload.reduction
        forms: dict[str, dict[str, Any]] = {
            "packed": {},
            "offsets": {"offsets": case.bags},
            "segments": {"segment_ids": case.bags, "num_segments": case.workload.bags},
        }
        bags = forms[case.workload.grouping] | _choose_accumulate(case)
        return TimedCall(lambda: gs.gather_reduce(data, indices, weights=weights, reduction=how, **bags))

    def _propagate(self, case: BenchCase) -> TimedCall:
        data, weights, how = case.data, case.weights, case.workload.reduction
        pairs = np.stack([case.segment_ids, case.indices.reshape(-1)], axis=1)
        prepared = self._package.gs.prepare(pairs, (case.workload.bags, len(data)))
        flat = None if weights is None else weights.reshape(-1)
        return TimedCall(lambda: prepared.propagate(data, flat, how), compiles=True)  # the first call groups the pairs

    def _gather(self, case: BenchCase, out: np.ndarray | None) -> Callable[[], np.ndarray]:
        """Return a call with the keywords that a user writes, because they take time in calls on tiny arrays."""
        gs, data, indices = self._package.gs, case.data, case.indices
        axis, batch = case.workload.axis, case.workload.batch_dims
        if case.workload.form == "gather" and axis == batch == 0:
            return (lambda: gs.gather(data, indices)) if out is None else lambda: gs.gather(data, indices, out=out)
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


class ConvertFirst(PackageContender):
    """Our call after a conversion of its arguments, or the simplest other call of ours for the same work."""

    name = "convert-first"

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return the call for workloads that are given in another layout or type."""
        if not case.workload.given:
            return {}
        self.prepare()
        return {"convert, then call": TimedCall(make_calls(self._package.gs, case.workload, case.arrays)[1])}


class TwoSteps(PackageContender):
    """A gather and a scatter, which gather_reduce does in one pass."""

    name = "two-steps"

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return the functions on arrays, or the methods of prepared indices."""
        workload, how = case.workload, case.workload.reduction
        self.prepare()
        if workload.form != "gather_reduce":
            return {}
        gs, data, indices, bags = self._package.gs, case.data, case.indices.reshape(-1), case.segment_ids
        weights = None if case.weights is None else case.weights.reshape(-1, 1)

        def weigh(rows: np.ndarray) -> np.ndarray:
            return rows if weights is None else np.multiply(rows, weights, out=rows)

        if workload.prepared:
            source, target = gs.prepare(indices, len(data), axis=0), gs.prepare(bags, workload.bags, axis=0)
            name = "sum" if how == "add" else how
            call = TimedCall(lambda: target.reduce(weigh(source.gather(data)), name)[0], compiles=True)
            return {"prepared gather, reduce": call}
        zeros = np.broadcast_to(np.zeros((), data.dtype), workload.result)  # takes no memory
        options = {"reduction": how, "include_self": False} | _choose_accumulate(case)
        call = TimedCall(lambda: gs.scatter_update(zeros, bags, weigh(gs.gather(data, indices)), **options))
        return {"gather, scatter_update": call}

    def table_calls(self, case: BenchCase, table: QuantizedTable) -> Mapping[str, TimedCall]:
        """Return the functions on arrays, for bags."""
        if case.workload.form != "gather_reduce":
            return {}
        self.prepare()
        gs, indices, bags, options = self._package.gs, case.indices, case.segment_ids, table.options
        weights = None if case.weights is None else case.weights.reshape(-1, 1)
        zeros = np.broadcast_to(np.zeros((), case.data.dtype), case.workload.result)
        reduce = {"reduction": case.workload.reduction, "include_self": False}

        def run() -> np.ndarray:
            rows = gs.gather_quantized(table.codes, indices, table.scales, table.zero_points, **options)
            result: np.ndarray = gs.scatter_update(zeros, bags, rows if weights is None else rows * weights, **reduce)
            return result

        return {"gather_quantized, scatter_update": TimedCall(run)}


def _choose_accumulate(case: BenchCase) -> dict[str, Any]:
    """Return an array in which halves are added in float32, as peers do."""
    return {"accumulate": "wide"} if case.workload.dtype in HALVES else {}
