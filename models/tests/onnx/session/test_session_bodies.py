"""Nodes in functions and in the bodies of If, Loop and Scan also run in the native library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import gatherscatter as gs
from gatherscatter_models.onnx.session import InferenceSession
from tests.support.session_graphs import F32, assert_same_bits, load_onnxruntime, make_quiet_options

FEED = {"x": np.zeros(3, F32), "i": np.array([[1], [1], [2]]), "u": np.array([1, 2, 4], F32)}


def parse(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(text)


LOOP = """<ir_version: 10, opset_import: ["": 18]>
    g (float[n, 8] x, int64[m, 1] i, float[m, 8] u, int64 times, bool going) => (float[n, 8] out, float[n, 8] sums)
    {
        sums = ScatterND <reduction = "add"> (x, i, u)
        out = Loop (times, going, x)
            <body = b (int64 turn, bool on, float[n, 8] state) => (bool still, float[n, 8] next)
            { next = ScatterND <reduction = "add"> (state, i, u)  still = Identity (on) }>
    }"""


def test_sums_are_right_in_100_of_100_runs() -> None:
    """Sums in the main graph and in the body of a Loop, with the default threads. ONNX Runtime loses updates there."""
    rng = np.random.default_rng(5)
    updates = rng.integers(0, 9, (20_000, 8)).astype(F32)
    index = rng.integers(0, 4, (20_000, 1))
    feed = {"x": np.zeros((4, 8), F32), "i": index, "u": updates, "times": np.array(2), "going": np.array(True)}
    session = InferenceSession(parse(LOOP))
    assert [node.label for node in session.plan.moved] == ["ScatterND (1/2)", "ScatterND (1/2) of body of Loop (2/2)"]
    expected = np.stack([updates[index[:, 0] == row].sum(axis=0) for row in range(4)])
    for _ in range(100):
        out, sums = session.run(None, feed)
        np.testing.assert_array_equal(sums, expected)
        np.testing.assert_array_equal(out, 2 * expected)


BODIES = {
    "If": """<ir_version: 10, opset_import: ["": 18]>
        g (float[n] x, int64[m, 1] i, float[m] u) => (float[n] out)
        <int64 none = {0}>
        {
            y = Abs (x)
            size = Size (x)
            c = Greater (size, none)
            out = If (c) <then_branch = t () => (float[n] a) { a = ScatterND <reduction = "add"> (y, i, u) },
                          else_branch = e () => (float[n] b) { b = Neg (y) }>
        }""",
    "Loop": """<ir_version: 10, opset_import: ["": 18]>
        g (float[n] x, int64[m, 1] i, float[m] u) => (float[n] out)
        <int64 times = {3}, bool going = {1}>
        {
            out = Loop (times, going, x) <body = b (int64 turn, bool on, float[n] state) => (bool still, float[n] next)
                { next = ScatterND <reduction = "add"> (state, i, u)  still = Identity (on) }>
        }""",
    "Scan": """<ir_version: 10, opset_import: ["": 18]>
        g (float[n] x, int64[m, 1] i, float[m] u) => (float[n] out)
        {
            rows = Unsqueeze (u, axis)
            out, all = Scan <num_scan_inputs = 1,
                body = b (float[n] state, float[1] one) => (float[n] next, float[n] seen)
                {
                    more = ScatterND <reduction = "add"> (state, i, u)
                    next = Add (more, one)
                    seen = Identity (next)
                }> (x, rows)
        }""",
    "function": """<ir_version: 10, opset_import: ["": 18, "my": 1]>
        g (float[n] x, int64[m, 1] i, float[m] u) => (float[n] out) { y = my.f (x, i, u)  out = my.f (y, i, u) }
        <domain: "my", opset_import: ["": 16]>
        f (a, b, c) => (r) { q = ScatterND <reduction = "add"> (a, b, c)  r = Neg (q) }""",
    "attribute of a function": """<ir_version: 10, opset_import: ["": 18, "my": 1]>
        g (float[n] x, int64[m, 1] i, float[m] u) => (float[n] out) { out = my.f <kind = "max"> (x, i, u) }
        <domain: "my", opset_import: ["": 18]>
        f <kind> (a, b, c) => (r) { r = ScatterND <reduction: string = @kind> (a, b, c) }""",
    "default attribute and an input left out": """<ir_version: 10, opset_import: ["": 18, "my": 1]>
        g (float[n] x, int64[m, 1] i, float[m] u) => (float[n] out) { out = my.f (x, i, u) }
        <domain: "my", opset_import: ["": 18]>
        f <kind: string = "add"> (a, b, c, d) => (r)
        { q = ScatterND <reduction: string = @kind> (a, b, c)  r = Clip (q, d) }""",
    "function in a function, in a branch": """<ir_version: 10, opset_import: ["": 18, "my": 1]>
        g (float[n] x, int64[m, 1] i, float[m] u) => (float[n] out)
        <bool c = {1}>
        {
            out = If (c) <then_branch = t () => (float[n] a) { a = my.f (x, i, u) },
                          else_branch = e () => (float[n] b) { b = Neg (x) }>
        }
        <domain: "my", opset_import: ["": 18, "my": 1]>
        f (a, b, c) => (r) { q = my.h (a, b, c)  r = my.h (q, b, c) }
        <domain: "my", opset_import: ["": 18]>
        h (a, b, c) => (r) { r = ScatterND <reduction = "add"> (a, b, c) }""",
}


def make_model(name: str) -> onnx.ModelProto:
    made = parse(BODIES[name])
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1]), "axis"))
    return made


@pytest.mark.parametrize("name", BODIES)
def test_a_body_gives_what_one_thread_of_onnxruntime_gives(name: str) -> None:
    made = make_model(name)
    before = made.SerializeToString()
    session = InferenceSession(made, make_quiet_options())
    assert len(session.plan.moved) == 1
    assert_same_bits(session.run(None, FEED), load_onnxruntime(made).run(None, FEED))
    assert made.SerializeToString() == before


@pytest.mark.parametrize("name", ["If", "Loop", "function"])
def test_a_bad_index_in_a_body_names_the_node(name: str) -> None:
    made = make_model(name)
    bodies = [*made.functions, *(each.g for node in made.graph.node for each in node.attribute)]
    for body in bodies:
        for number, node in enumerate(body.node):
            node.name = f"inner{number}"
    session = InferenceSession(made, make_quiet_options())
    with pytest.raises(gs.OpIndexError, match=r"indices\[1, 0\] = 9 is out of range") as caught:
        session.run(None, {**FEED, "i": np.array([[0], [9], [0]])})
    assert caught.value.__notes__[0].startswith("in node ScatterND '")
    assert caught.value.__notes__[0].endswith("inner0'")


def test_what_a_function_is_called_with_decides() -> None:
    """ONNX Runtime's Gather of strings is wrong if slices have several elements."""
    text = """<ir_version: 10, opset_import: ["": 18, "my": 1]>
        g (string[%s] x, int64[k] i) => (out) { out = my.f (x, i) }
        <domain: "my", opset_import: ["": 18]> f (a, b) => (r) { r = Gather (a, b) }"""
    feed: dict[str, Any] = {"x": np.array([["a", "b"], ["c", "d"]], object), "i": np.array([1])}
    session = InferenceSession(parse(text % "2, 2"))
    assert [node.label for node in session.plan.moved] == ["Gather (1/1) of function my.f"]
    assert session.run(None, feed)[0].tolist() == [["c", "d"]]
    assert not InferenceSession(parse(text % "4")).plan.moved


def test_external_data_of_a_subgraph(tmp_path: Path) -> None:
    made = make_model("If")
    branch = next(each.g for each in made.graph.node[-1].attribute if each.name == "then_branch")
    branch.node[0].input[2] = "inner"
    branch.initializer.append(onnx.numpy_helper.from_array(FEED["u"], "inner"))
    path = tmp_path / "model.onnx"
    onnx.save(made, path, save_as_external_data=True, location="weights", size_threshold=0, convert_attribute=True)
    expected = onnxruntime.InferenceSession(path, make_quiet_options()).run(None, FEED)
    assert_same_bits(InferenceSession(path, make_quiet_options()).run(None, FEED), expected)
