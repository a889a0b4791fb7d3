"""The adapters without Python's arrays: the C interface, and ONNX Runtime with the operators of the library."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from gatherscatter.specs.own_operators import OWN_OPERATORS
from tests.contract.adapter import NO_TEXT, TABLES, Adapter
from tests.contract.calls import Call
from tests.support import c_interface, judge

_ORDERS = {  # of the inputs in the C interface
    "gather_reduce": ("data", "indices", "offsets", "segment_ids", "weights", "", "indptr"),
    "gather_quantized": ("data", "indices", "scales", "zero_points"),
}
_ARRAYS = ("data", "indices", "updates")


class CInterface(Adapter):
    name = "C"
    lacks: ClassVar = {
        **NO_TEXT,
        **dict.fromkeys(("tensor_scatter", "gather_tree", "aggregate"), "not in the C interface"),
        "prepare": "a plan has no indices",
        "gradients": "the C interface has no gradients",
        "layouts": "arrays of a host are contiguous",
        "casts": "a host casts its updates",
        "objects": "a host has no objects",
        "gather_reduce.default": "empty bags are zeros",
        **dict.fromkeys(TABLES, "bags of tables are not in the C interface"),
    }  # fmt: skip

    def find(self, function: str) -> Any:
        return c_interface.call if function in c_interface.KERNELS else None

    def parameters(self, function: str) -> set[str]:
        fields = {name for name, *_ in c_interface.Operation._fields_}
        return fields | {*_ORDERS.get(function, _ARRAYS), "num_threads", "out"}

    def call(self, call: Call, **objects: Any) -> Any:
        options = dict(call.options)
        threads = options.pop("num_threads", None)
        if call.function == "gather_reduce":
            options.setdefault("num_segments", -1)
        if call.function == "gather_quantized":
            options["packed"] = 1
        names = _ORDERS.get(call.function, _ARRAYS[: len(call.inputs)])
        out = options.get("out")
        arrays = [array if array is out else _contiguous(array) for array in map(call.inputs.get, names)]
        limit = None if threads is None else c_interface.limit_threads(threads)
        return c_interface.call(call.function, *arrays, threads=limit, **options)

    def call_into(self, call: Call, out: np.ndarray | None) -> tuple[Exception | None, np.ndarray]:
        target = next(iter(call.inputs.values())) if out is None else out
        made = judge.outcome(self.call, call._replace(options=call.options | {"out": target}))
        return made if isinstance(made, Exception) else None, target


class OnnxRuntime(Adapter):
    """Nodes of the domain gatherscatter. All nodes of several calls are in one model."""

    name = "ONNX Runtime"
    library = "onnxruntime"
    lacks: ClassVar = {
        **{name: why for name, why in NO_TEXT.items() if name != "object"},
        **dict.fromkeys(("complex64", "complex128", "float8_e8m0fnu"), "ONNX Runtime has no such tensors"),
        **dict.fromkeys(("scatter_update", "gather_tree", "aggregate"), "ONNX has no such operator"),
        "prepare": "a session has no prepared indices",
        "gradients": "ONNX Runtime has no gradients",
        "layouts": "tensors are contiguous",
        "casts": "a model casts its updates",
        "objects": "a model has no objects",
        "out": "ONNX Runtime decides where results are",
        "num_threads": "the session decides the number of threads",
        "gather_reduce.indptr": "offsets are enough",
        "gather_reduce.default": "empty bags are zeros",
        **dict.fromkeys(TABLES, "bags of tables are not operators"),
    }  # fmt: skip

    def find(self, function: str) -> Any:
        known = [name for name, row in OWN_OPERATORS.items() if row.kernel == function and name != "Scatter"]
        return known[0] if known else None

    def parameters(self, function: str) -> set[str]:
        row = OWN_OPERATORS[self.find(function)]
        return {each.name for each in row.inputs} | {each.name for each in row.attributes}

    def describe_fault(self, call: Call, name: str, position: tuple[int, ...], value: Any) -> str:
        named = call._replace(function=self.find(call.function))
        return f"gatherscatter.{super().describe_fault(named, name, position, value)}"

    def call(self, call: Call, **objects: Any) -> Any:
        """Return the result of a model with one node."""
        sessions = _sessions()
        names = [each.name for each in OWN_OPERATORS[self.find(call.function)].inputs]
        options = {key: int(value) if isinstance(value, bool) else value for key, value in call.options.items()}
        return sessions.run_node(self.find(call.function), [call.inputs.get(name) for name in names], options)

    def run_all(self, calls: Sequence[Call]) -> list[Any]:
        """Run a model in which all arrays are constants."""
        sessions = _sessions()
        nodes, constants, outputs = [], {}, {}
        for number, call in enumerate(calls):
            operator, names = self.find(call.function), []
            for each in OWN_OPERATORS[self.find(call.function)].inputs:
                array = call.inputs.get(each.name)
                names.append("" if array is None else f"{each.name}{number}")
                if array is not None:
                    constants[names[-1]] = sessions.plain(array)
            options = {key: int(value) if isinstance(value, bool) else value for key, value in call.options.items()}
            nodes.append(sessions.node(operator, names, f"y{number}", **options))
            like = call.inputs["scales" if call.function == "gather_quantized" else next(iter(call.inputs))]
            outputs[f"y{number}"] = (sessions.plain(like).dtype, None)
        folding = sessions.onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = sessions.session(sessions.model(nodes, {}, outputs, constants),
                                   sessions.options(graph_optimization_level=folding))  # fmt: skip
        made = session.run_with_ort_values([*outputs], {})
        return [sessions.read_value(value, dtype) for value, (dtype, _) in zip(made, outputs.values(), strict=True)]


def _sessions() -> Any:
    return importlib.import_module("models.tests.onnx.native.sessions")


def _contiguous(array: np.ndarray | None) -> np.ndarray | None:
    if array is None:
        return None
    made = np.array(array, array.dtype.newbyteorder("="), order="C")
    return np.require(made, requirements=["C", "A", "W"])
