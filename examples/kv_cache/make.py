"""Write a KV-cache update as two ONNX models, with TensorScatter and with ScatterND, and the inputs for both.

A decoder keeps the keys and values of all tokens so far in caches of a fixed length. Each step writes the keys and
values of the new tokens. Each sequence has its own position. Opset 24 has TensorScatter for this. For older opsets,
exporters use ScatterND with the coordinates (batch, head, position) of each new row.

    python make.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

BATCH, HEADS, LENGTH, NEW, WIDTH = 2, 2, 6, 2, 3
CACHES = ("key", "value")
IR_VERSION = 10  # old enough for every runtime that has the operators


def tensor_scatter_model() -> onnx.ModelProto:
    """Return the model with one TensorScatter for each cache."""
    nodes = [
        helper.make_node(
            "TensorScatter",
            [f"{cache}_cache", f"new_{cache}", "positions"],
            [f"present_{cache}"],
            axis=-2,
            mode="linear",
        )
        for cache in CACHES
    ]
    return _model("kv_cache_tensor_scatter", nodes, [], opset=24)


def scatter_nd_model() -> onnx.ModelProto:
    """Return the model that computes the coordinates of each new row and has one ScatterND for each cache."""
    constants: dict[str, np.ndarray] = {
        "zero": np.array(0, np.int64),
        "one": np.array(1, np.int64),
        "batch_axes": np.array([1, 2], np.int64),
        "head_axes": np.array([0, 2], np.int64),
        "step_axes": np.array([0, 1], np.int64),
        "last_axis": np.array([-1], np.int64),
    }
    nodes = [
        helper.make_node("Shape", ["new_key"], ["rows"], start=0, end=3),
        helper.make_node("Split", ["rows"], ["batch", "heads", "steps"], num_outputs=3),
    ]
    for size, axes in (("batch", "batch_axes"), ("heads", "head_axes"), ("steps", "step_axes")):
        nodes += [
            helper.make_node("Squeeze", [size], [f"{size}_count"]),
            helper.make_node("Range", ["zero", f"{size}_count", "one"], [f"{size}_range"]),
            helper.make_node("Unsqueeze", [f"{size}_range", axes], [f"{size}_box"]),
        ]
    nodes += [
        helper.make_node("Unsqueeze", ["positions", "batch_axes"], ["start_box"]),
        helper.make_node("Add", ["start_box", "steps_box"], ["position_box"]),
    ]
    for part, box in (("b", "batch_box"), ("h", "heads_box"), ("p", "position_box")):
        nodes += [
            helper.make_node("Expand", [box, "rows"], [f"{part}_full"]),
            helper.make_node("Unsqueeze", [f"{part}_full", "last_axis"], [f"{part}_column"]),
        ]
    nodes.append(helper.make_node("Concat", ["b_column", "h_column", "p_column"], ["coordinates"], axis=-1))
    nodes += [
        helper.make_node("ScatterND", [f"{cache}_cache", "coordinates", f"new_{cache}"], [f"present_{cache}"])
        for cache in CACHES
    ]
    initializers = [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()]
    return _model("kv_cache_scatter_nd", nodes, initializers, opset=18)


def inputs() -> dict[str, Any]:
    """Return two sequences with 3 and 1 tokens in the cache and two new tokens each. Empty positions are zero."""
    positions = np.array([3, 1], np.int64)
    arrays: dict[str, Any] = {"positions": positions}
    for number, cache in enumerate(CACHES, start=1):
        past = np.zeros((BATCH, HEADS, LENGTH, WIDTH), np.float32)
        for sequence, filled in enumerate(positions):
            past[sequence, :, :filled] = number
        arrays[f"{cache}_cache"] = past
        new = 10 * number + np.arange(BATCH * HEADS * NEW * WIDTH, dtype=np.float32) / 10
        arrays[f"new_{cache}"] = new.reshape(BATCH, HEADS, NEW, WIDTH)
    return arrays


def _model(name: str, nodes: list[onnx.NodeProto], initializers: list[onnx.TensorProto], opset: int) -> onnx.ModelProto:
    def caches(pattern: str, length: str) -> list[onnx.ValueInfoProto]:
        shape = ["batch", "heads", length, "width"]
        return [helper.make_tensor_value_info(pattern.format(cache), TensorProto.FLOAT, shape) for cache in CACHES]

    graph = helper.make_graph(
        nodes,
        name,
        [
            *caches("{}_cache", "length"),
            *caches("new_{}", "new"),
            helper.make_tensor_value_info("positions", TensorProto.INT64, ["batch"]),
        ],
        caches("present_{}", "length"),
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION)
    onnx.checker.check_model(model, full_check=True)
    return model


def main(folder: Path) -> None:
    """Write both models and the inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(tensor_scatter_model(), folder / "tensor_scatter.onnx")
    onnx.save(scatter_nd_model(), folder / "scatter_nd.onnx")
    np.savez(folder / "inputs.npz", **inputs())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
