"""ONNX Runtime: a model of one node or a complete model, its session built before the clock starts."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.case import BenchCase
from benchmarks.contenders.contender import Contender, TimedCall
from benchmarks.quantized import QuantizedTable
from benchmarks.reference import import_onnxruntime, make_options
from benchmarks.workload import ModelRun, Workload

_OPSETS = {"tensor_scatter": 24}


class OnnxRuntimeContender(Contender):
    """Sessions with the default number of threads, one per core."""

    name = "onnxruntime"
    _threads = 0  # the default number

    def __init__(self, threads: int) -> None:
        self._ort = import_onnxruntime()
        self._onnx: Any = import_module("onnx")
        self._ort.set_default_logger_severity(4)  # refused models are expected
        if threads == 1:
            self._threads = 1

    def version(self) -> str:
        """Return the version of ONNX Runtime, which is in several distributions."""
        return str(self._ort.__version__)

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return ``session.run``, or for ``out`` an output bound to existing memory."""
        node = self._node(case.workload)
        if node is None or case.data.dtype.name == "bfloat16" or (case.workload.out and not case.workload.is_gather):
            return {}
        if case.data.dtype.name == "float16" and case.workload.reduction != "none" and self._threads != 1:
            # 1.31.1 raises while its threads still use freed memory, and the process crashes.
            raise NotImplementedError("reductions in float16")
        session = self._session(case, node)
        feeds = {"data": case.data, "indices": case.indices, "updates": case.updates}
        given = {name: array for name, array in feeds.items() if array is not None}
        if node[0] == "Scatter rows":
            given["indices"] = case.indices[:, np.newaxis]

        def plain() -> Any:  # the call makes strided arrays contiguous, because the session accepts no others
            ready = {name: np.ascontiguousarray(array) for name, array in given.items()}
            return session.run(None, ready)[0]

        if not case.workload.out:
            run = plain if _has_gaps(given) else lambda: session.run(None, given)[0]
            return {"run": TimedCall(run)}
        if _has_gaps(given):
            return {}
        return {"bound output": self._bind_output(case, session, given)}

    def table_calls(self, case: BenchCase, table: QuantizedTable) -> Mapping[str, TimedCall]:
        """Return ``session.run`` of a node GatherBlockQuantized."""
        if case.workload.form != "gather":
            return {}
        given = {"data": table.codes, "indices": case.indices, "scales": table.scales, "zeros": table.zero_points}
        attributes = {"block_size": table.block_size, "bits": table.bits, "gather_axis": 0, "quantize_axis": 1}
        node = self._onnx.helper.make_node(
            "GatherBlockQuantized", list(given), ["out"], domain="com.microsoft", **attributes
        )
        session = self._open(self._make_model(given, [node], table.scales.dtype, {"com.microsoft": 1, "": 18}))
        return {"run": TimedCall(lambda: session.run(None, given)[0])}

    def model_calls(self, case: BenchCase, run: ModelRun) -> Mapping[str, TimedCall]:
        """Return ``session.run``."""
        session = self._open(run.source)
        return {"run": TimedCall(lambda: session.run(None, run.inputs), list)}

    def _bind_output(self, case: BenchCase, session: Any, given: dict[str, np.ndarray]) -> TimedCall:
        binding = session.io_binding()
        for name, array in given.items():
            binding.bind_cpu_input(name, array)
        out = np.empty(case.workload.slots, case.data.dtype)
        element = self._onnx.helper.np_dtype_to_tensor_dtype(out.dtype)
        binding.bind_output("out", "cpu", 0, element, out.shape, out.ctypes.data)

        def run() -> np.ndarray:
            session.run_with_iobinding(binding)
            return out

        return TimedCall(run)

    def _node(self, workload: Workload) -> tuple[str, dict[str, Any]] | None:
        """Return the operator and its attributes."""
        how, axis = workload.reduction, workload.axis
        if workload.form == "gather" and not workload.batch_dims:
            return "Gather", {"axis": axis}
        if workload.form == "gather_elements":
            return "GatherElements", {"axis": axis}
        if workload.form == "gather_nd":
            return "GatherND", {"batch_dims": workload.batch_dims}
        if workload.form == "tensor_scatter":
            return "TensorScatter", {"axis": -2}
        if how not in ("none", "add", "mul", "min", "max"):
            return None
        if workload.form == "scatter_elements":
            return "ScatterElements", {"axis": axis, "reduction": how}
        if workload.form == "scatter_nd":
            return "ScatterND", {"reduction": how}
        if workload.form == "scatter_update" and axis == 0 and len(workload.indices) == 1:
            return "Scatter rows", {"reduction": how}  # slices along axis 0 are index tuples of length 1
        return None

    def _session(self, case: BenchCase, node: tuple[str, dict[str, Any]]) -> Any:
        helper = self._onnx.helper
        op_type, attributes = node
        rows = op_type == "Scatter rows"
        arrays = {"data": case.data, "indices": case.indices[:, np.newaxis] if rows else case.indices}
        if case.updates is not None:
            arrays["updates"] = case.updates
        nodes, names = [], list(arrays)
        good = ("int64", "int32") if op_type in ("Gather", "GatherElements", "ScatterElements") else ("int64",)
        if case.indices.dtype.name not in good:
            nodes.append(helper.make_node("Cast", ["indices"], ["wide"], to=self._onnx.TensorProto.INT64))
            names[1] = "wide"
        if op_type == "TensorScatter":
            names = [names[0], names[2], names[1]]
        nodes.append(helper.make_node("ScatterND" if rows else op_type, names, ["out"], **attributes))
        return self._open(self._make_model(arrays, nodes, case.data.dtype, {"": _OPSETS.get(case.workload.form, 18)}))

    def _make_model(
        self, arrays: Mapping[str, np.ndarray], nodes: list[Any], dtype: np.dtype, opsets: Mapping[str, int]
    ) -> bytes:
        """Return a model that has the arrays as inputs, and an output ``out`` of this type."""
        helper = self._onnx.helper
        inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in arrays.items()
        ]
        output = helper.make_tensor_value_info("out", helper.np_dtype_to_tensor_dtype(dtype), None)
        graph = helper.make_graph(nodes, "one_node", inputs, [output])
        imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        content: bytes = helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()
        return content

    def _open(self, model: Path | bytes) -> Any:
        return self._ort.InferenceSession(model, make_options(self._threads), providers=["CPUExecutionProvider"])


class OnnxRuntimeOneThreadContender(OnnxRuntimeContender):
    """Sessions with one thread, without which scatters with a reduction are not correct."""

    name = "onnxruntime-1"
    _threads = 1


def _has_gaps(arrays: Mapping[str, np.ndarray]) -> bool:
    return not all(array.flags.c_contiguous for array in arrays.values())
