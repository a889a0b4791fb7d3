"""Random graphs of 5 to 15 nodes give the results of ONNX Runtime with one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from hypothesis import given
from hypothesis import strategies as st

from gatherscatter_models.onnx.session import InferenceSession
from tests.support.onnx_graphs import graph, model, node
from tests.support.session_graphs import (
    F32,
    I64,
    assert_same_bits,
    load_onnxruntime,
    make_quiet_options,
)

ROWS = 4
KINDS = ["Add", "Sub", "Max", "Relu", "Split", "Gather", "GatherElements", "If", *(6 * ["Scatter"])]


@st.composite
def draw_graph(draw: Callable[[Any], Any]) -> onnx.ModelProto:
    """Return 5 to 15 nodes on tensors of shape [n, 2]. Integers are small, so that every sum is exact in any order."""
    known, nodes = ["x", "y", "table"], []
    for number in range(draw(st.integers(5, 15))):
        kind, a, b = draw(st.sampled_from(KINDS)), draw(st.sampled_from(known)), draw(st.sampled_from(known))
        nodes += draw_nodes(draw, kind, a, b, f"v{number}")
        known.append(f"v{number}")
    outputs = draw(st.lists(st.sampled_from(known), min_size=1, max_size=4, unique=True))
    sized = draw(st.sampled_from([ROWS, "n"]))
    inputs = {
        "x": (F32, [sized, 2]), "y": (F32, [sized, 2]), "flag": (np.bool_, []),
        "tuples": (I64, [sized, 1]), "box": (I64, [sized, 2]), "rows": (I64, [sized]),
    }  # fmt: skip
    constants = {"table": np.arange(2 * ROWS, dtype=F32).reshape(ROWS, 2)}
    return model(nodes, inputs, dict.fromkeys(outputs, (F32, None)), constants)


def draw_nodes(draw: Callable[[Any], Any], kind: str, a: str, b: str, out: str) -> list[onnx.NodeProto]:
    if kind == "Scatter":
        op_type, at = draw(st.sampled_from([("ScatterND", "tuples"), ("ScatterElements", "box")]))
        return [node(op_type, f"{a} {at} {b}", out, reduction=draw(st.sampled_from(["none", "add", "max", "min"])))]
    if kind == "Split":
        halves = node("Split", a, f"{out}a {out}b", axis=0, num_outputs=2)
        return [halves, node("Concat", f"{out}b {out}a", out, axis=0)]
    if kind == "If":
        sides = {"then_branch": f"{out}t", "else_branch": f"{out}e"}
        bodies = {
            side: graph([node("Neg", name, made)], {}, {made: (F32, None)})
            for (side, made), name in zip(sides.items(), (a, b), strict=True)
        }
        return [node("If", "flag", out, **bodies)]
    second = {"Relu": "", "Gather": " rows", "GatherElements": " box"}.get(kind, f" {b}")
    return [node(kind, a + second, out, **({"axis": 0} if kind.startswith("Gather") else {}))]


@given(made=draw_graph(), seed=st.integers(0, 2**32 - 1))
def test_a_random_graph_gives_what_one_thread_of_onnxruntime_gives(made: onnx.ModelProto, seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = {
        "x": rng.integers(-9, 9, (ROWS, 2)).astype(F32),
        "y": rng.integers(-9, 9, (ROWS, 2)).astype(F32),
        "flag": np.array(bool(seed % 2)),
        "tuples": rng.integers(-ROWS, ROWS, (ROWS, 1)),
        "box": rng.integers(-ROWS, ROWS, (ROWS, 2)),
        "rows": rng.integers(-ROWS, ROWS, ROWS),
    }
    copies = {name: array.copy() for name, array in inputs.items()}
    session, expected = InferenceSession(made, make_quiet_options()), load_onnxruntime(made).run(None, inputs)
    for _ in range(2):
        assert_same_bits(session.run(None, inputs), expected)
    assert_same_bits(list(inputs.values()), list(copies.values()))
