"""A network of more than fifty nodes for the tests and the figures of ONNX sessions."""

from __future__ import annotations

import numpy as np
import onnx

from tests.support.onnx_graphs import model, node

F32, I64 = np.float32, np.int64


def graph_network(layers: int = 4, width: int = 64) -> onnx.ModelProto:
    """Send messages along edges, sum them at their targets, and cache the last states. There are 13 nodes per layer."""
    rng = np.random.default_rng(7)
    constants = {"zero": F32(0), "scale": F32(0.5), "one": np.array([1], I64)}
    nodes = [node("Shape", "x", "shape"), node("Expand", "zero shape", "nothing")]
    nodes.append(node("Unsqueeze", "target one", "tuples"))
    state = "x"
    for k in range(layers):
        for name in ("w", "v"):
            constants[f"{name}{k}"] = (rng.standard_normal((width, width)) / np.sqrt(width)).astype(F32)
        constants[f"b{k}"] = rng.standard_normal(width).astype(F32)
        nodes += [
            node("Gather", f"{state} source", f"sent{k}", axis=0),
            node("MatMul", f"sent{k} w{k}", f"turned{k}"),
            node("Add", f"turned{k} b{k}", f"moved{k}"),
            node("Relu", f"moved{k}", f"messages{k}"),
            node("ScatterND", f"nothing tuples messages{k}", f"sums{k}", f"aggregate{k}", reduction="add"),
            node("MatMul", f"sums{k} v{k}", f"mixed{k}"),
            node("Mul", f"mixed{k} scale", f"scaled{k}"),
            node("Add", f"scaled{k} {state}", f"added{k}"),
            node("ReduceMean", f"added{k} one", f"mean{k}", keepdims=1),
            node("Sub", f"added{k} mean{k}", f"centred{k}"),
            node("Tanh", f"centred{k}", f"state{k}"),
            node("Softmax", f"state{k}", f"weights{k}", axis=1),
            node("Mul", f"state{k} weights{k}", f"out{k}"),
        ]
        state = f"out{k}"
    nodes += [
        node("ScatterElements", f"{state} order scores", "ranked", "rank", axis=1, reduction="max"),
        node("Gather", "ranked picked", "rows", axis=0),
        node("ScatterND", "cache slots rows", "filled", "fill"),
        node("GatherND", "filled slots", "read"),
    ]
    inputs = {
        "x": (F32, ["nodes", width]), "source": (I64, ["edges"]), "target": (I64, ["edges"]),
        "order": (I64, ["nodes", 8]), "scores": (F32, ["nodes", 8]), "picked": (I64, ["picked"]),
        "cache": (F32, ["cached", width]), "slots": (I64, ["picked", 1]),
    }  # fmt: skip
    outputs = {"read": (F32, ["picked", width]), "filled": (F32, ["cached", width]), state: (F32, ["nodes", width])}
    return model(nodes, inputs, outputs, constants, opset=18)


def graph_network_inputs(count: int, edges: int, width: int = 64) -> dict[str, np.ndarray]:
    """Return inputs of `graph_network`. Targets and slots repeat."""
    rng = np.random.default_rng(11)
    picked = max(count // 4, 2)
    return {
        "x": rng.standard_normal((count, width)).astype(F32),
        "source": rng.integers(0, count, edges),
        "target": rng.integers(-count, count, edges),
        "order": rng.integers(0, width, (count, 8)),
        "scores": rng.standard_normal((count, 8)).astype(F32),
        "picked": rng.integers(0, count, picked),
        "cache": rng.standard_normal((picked, width)).astype(F32),
        "slots": rng.integers(0, picked, (picked, 1)),
    }
