"""Models, inputs and checks that the tests of InferenceSession share."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime

from gatherscatter_models.onnx.session import InferenceSession
from tests.support.onnx_graphs import model, node

F32, I64 = np.float32, np.int64
Arrays = dict[str, np.ndarray]


def make_one_thread_options() -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return options


def make_quiet_options() -> Any:
    """Return options with the default threads, without warnings about unused values."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return options


def load_onnxruntime(made: onnx.ModelProto) -> Any:
    """Return a session of ONNX Runtime on one thread. With more threads, its ScatterND has a race."""
    return onnxruntime.InferenceSession(
        made.SerializeToString(), make_one_thread_options(), providers=["CPUExecutionProvider"]
    )


def assert_same_bits(results: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(results) == len(expected)
    for result, other in zip(results, expected, strict=True):
        assert result.dtype == other.dtype
        np.testing.assert_array_equal(result, other, strict=True)


def list_moved(session: InferenceSession) -> list[str]:
    """Return the operators that the native library runs, such as "ScatterND"."""
    return [node.label.split(" ", 1)[0] for node in session.plan.moved]


SCATTER_IO = {"x": (F32, ["n", 2]), "at": (I64, ["m", 1]), "new": (F32, ["m", 2])}
SCATTER = {
    "x": np.arange(8, dtype=F32).reshape(4, 2),
    "at": np.array([[1], [3], [1]]),
    "new": np.array([[10, 20], [30, 40], [50, 60]], F32),
}


def make_scatter_model(*nodes: onnx.NodeProto, outputs: str = "out", **options: Any) -> onnx.ModelProto:
    """Return a model with the inputs x, at and new. Its outputs have the type and shape of x."""
    return model(nodes, SCATTER_IO, {name: (F32, ["n", 2]) for name in outputs.split()}, **options)


ADD = node("ScatterND", "x at new", "sum", "collect", reduction="add")
BETWEEN = make_scatter_model(
    node("Neg", "new", "negative"),
    node("ScatterND", "x at negative", "sum", reduction="add"),
    node("Abs", "sum", "out"),
)
SUMS = """<ir_version: 10, opset_import: ["": 18]>
    g (float[n] data, int64[m, 1] indices, float[m] updates) => (float[n] out)
    { sums = ScatterND <reduction = "add"> (data, indices, updates)  out = %s (sums) }"""
