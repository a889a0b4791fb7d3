"""OpenVINO on the CPU: a model of one layer, compiled before the clock starts."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.case import BenchCase
from benchmarks.contenders.contender import Contender, TimedCall
from benchmarks.workload import Workload

_ELEMENTS = {"none": "none", "add": "sum", "mul": "prod", "min": "min", "max": "max", "mean": "mean"}
_TUPLES = {"none": "none", "add": "sum", "sub": "sub", "mul": "prod", "min": "min", "max": "max"}


class OpenVinoContender(Contender):
    """Inference requests of the CPU plugin, exact in float32."""

    name = "openvino"

    def __init__(self, threads: int) -> None:
        self._ov: Any = import_module("openvino")
        self._ops: Any = import_module("openvino.opset15")
        self._core = self._ov.Core()
        self._options = {
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",  # otherwise it may compute in bfloat16
        }

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return an inference request. With ``out``, its own output is shared. Otherwise the output is copied."""
        if case.workload.out and not case.workload.is_gather:
            return {}
        arrays = self._arrays(case)
        element = {name: self._element(array) for name, array in arrays.items()}
        nodes = [self._ops.parameter(array.shape, element[name], name) for name, array in arrays.items()]
        layer = self._layer(case.workload, *nodes)
        if layer is None:
            return {}
        request = self._core.compile_model(self._ov.Model([layer], nodes), "CPU", self._options).create_infer_request()
        contiguous = all(array.flags.c_contiguous for array in arrays.values())
        shared = {n: self._ov.Tensor(a, shared_memory=True) for n, a in enumerate(arrays.values()) if contiguous}

        def run() -> Any:
            feeds = shared or {n: np.ascontiguousarray(array) for n, array in enumerate(arrays.values())}
            return request.infer(feeds, share_inputs=True, share_outputs=case.workload.out)[0]

        return {"infer": TimedCall(run, lambda result: np.asarray(result).view(case.data.dtype))}

    def _arrays(self, case: BenchCase) -> dict[str, np.ndarray]:
        arrays = {"data": case.data, "indices": case.indices}
        if case.workload.form == "scatter_update" and self._as_tuples(case.workload):
            arrays["indices"] = case.indices[:, np.newaxis]
        if case.workload.form == "gather_reduce":
            arrays |= self._bags(case)
        if case.workload.form == "gather_tree":
            arrays["lengths"] = np.full(case.data.shape[1], case.data.shape[0], case.data.dtype)
            arrays["end"] = np.array(1, case.data.dtype)
        if case.updates is not None:
            arrays["updates"] = case.updates
        if case.data.dtype.name == "bfloat16":  # OpenVINO does not know Python's bfloat16
            bits = {name: array.view(np.float16) for name, array in arrays.items() if name != "indices"}
            return {**arrays, **bits} if case.workload.is_gather and case.workload.reduction == "none" else {}
        return arrays

    @staticmethod
    def _bags(case: BenchCase) -> dict[str, np.ndarray]:
        """Return indices, offsets or segment ids, and weights, as far as they exist."""
        starts, rows, weights = case.grouped
        arrays = {
            "packed": {"indices": case.indices},
            "offsets": {"indices": rows, "offsets": starts[:-1]},
            "segments": {"indices": rows, "segment_ids": np.sort(case.segment_ids)},  # only this order is allowed
        }[case.workload.grouping]
        if case.workload.grouping == "offsets" and starts[-2] == starts[-1]:
            # 2026.4.1 reads memory outside the indices. It raises, returns a wrong result, or crashes the process.
            raise NotImplementedError("an empty last bag")
        if weights is not None:
            arrays["weights"] = weights.reshape(arrays["indices"].shape)
        return arrays

    @staticmethod
    def _as_tuples(workload: Workload) -> bool:
        return workload.axis == 0 and len(workload.indices) == 1

    def _element(self, array: np.ndarray) -> Any:
        return self._ov.Type(array.dtype)

    def _layer(self, workload: Workload, *nodes: Any) -> Any:
        ops, form, how = self._ops, workload.form, workload.reduction
        if len(nodes) < 2:
            return None
        if form == "gather":
            return ops.gather(nodes[0], nodes[1], ops.constant(workload.axis, np.int64), workload.batch_dims)
        if form == "gather_elements":
            return ops.gather_elements(nodes[0], nodes[1], workload.axis)
        if form == "gather_nd":
            return ops.gather_nd(nodes[0], nodes[1], workload.batch_dims)
        if form == "gather_tree":
            return ops.gather_tree(*nodes)
        if form == "gather_reduce" and workload.is_grouped and how in ("add", "mean"):
            weights = nodes[-1] if workload.weighted else None
            if workload.grouping == "packed":
                return ops.embedding_bag_packed(nodes[0], nodes[1], weights, _ELEMENTS[how])
            if workload.grouping == "offsets":
                return ops.embedding_bag_offsets(nodes[0], nodes[1], nodes[2], None, weights, _ELEMENTS[how])
            if how == "add" and weights is None:  # weights come with a default index, and empty segments refuse -1
                return ops.embedding_segments_sum(*nodes[:3], ops.constant(workload.bags, np.int64))
        if form == "scatter_elements" and how in _ELEMENTS:
            axis = ops.constant(workload.axis, np.int64)
            return ops.scatter_elements_update(nodes[0], nodes[1], nodes[2], axis, _ELEMENTS[how], True)
        tuples = form == "scatter_nd" or (form == "scatter_update" and self._as_tuples(workload))
        if tuples and how in _TUPLES:
            return ops.scatter_nd_update(nodes[0], nodes[1], nodes[2], _TUPLES[how])
        if form == "scatter_update" and how == "none":
            return ops.scatter_update(nodes[0], nodes[1], nodes[2], ops.constant(workload.axis, np.int64))
        return None
