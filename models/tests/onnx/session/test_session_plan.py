"""The plan lists the nodes that the native library runs, with reasons. All others stay with ONNX Runtime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from gatherscatter_models.findings import catalog
from gatherscatter_models.onnx.native_nodes import move_nodes
from gatherscatter_models.onnx.session import InferenceSession
from tests.support.onnx_graphs import model, node
from tests.support.session_graphs import (
    ADD,
    BETWEEN,
    F32,
    I64,
    SCATTER,
    assert_same_bits,
    list_moved,
    load_onnxruntime,
    make_one_thread_options,
    make_scatter_model,
)


def test_the_plan_says_who_runs_what_and_why() -> None:
    race = next(finding for finding in catalog.load() if finding.id == "onnxruntime-scatternd-race")
    assert str(InferenceSession(BETWEEN).plan).splitlines() == [
        f"gatherscatter  ScatterND (2/3): ONNX Runtime: {race.title}",
        "onnxruntime    2 nodes: Neg, Abs",
    ]


@pytest.mark.parametrize("setting", ["", "an option of ONNX Runtime"])
def test_a_new_finding_takes_its_nodes_from_onnxruntime(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    known = catalog.load()
    made_up = replace(
        next(finding for finding in known if finding.id == "onnxruntime-gather-strings"),
        id="made-up", ops=("GatherElements",), types=("float32",), condition="negative", setting=setting,
        title="Wrong by one",
    )  # fmt: skip
    made = model(
        [node("GatherElements", "x at", "a"), node("GatherElements", "a zeros", "b"), node("Abs", "b", "out")],
        {"x": (F32, ["n"]), "at": (I64, ["m"])},
        {"out": (F32, ["m"])},
        {"zeros": np.zeros(3, I64)},
    )
    assert list_moved(InferenceSession(made)) == []
    monkeypatch.setattr(catalog, "load", lambda: (*known, made_up))
    assert str(InferenceSession(made).plan).splitlines() == [
        "gatherscatter  GatherElements (1/3): ONNX Runtime: Wrong by one",
        "onnxruntime    2 nodes: GatherElements, Abs",
    ]


def test_on_one_thread_onnxruntime_adds_up_right_and_keeps_the_node() -> None:
    assert list_moved(InferenceSession(BETWEEN, make_one_thread_options())) == []


def test_with_sizes_that_the_model_declares_small_nothing_is_moved() -> None:
    made = model(
        [node("ScatterND", "x at new", "out", reduction="add")],
        {"x": (F32, [4, 2]), "at": (I64, [3, 1]), "new": (F32, [3, 2])},
        {"out": (F32, [4, 2])},
    )
    session = InferenceSession(made)
    assert list_moved(session) == []
    assert_same_bits(session.run(None, SCATTER), load_onnxruntime(made).run(None, SCATTER))


def test_constant_indices_that_differ_stay_with_onnxruntime() -> None:
    for indices, expected in (([[1], [3], [0]], 0), ([[1], [3], [1]], 1), ([[1], [3], [-3]], 1)):
        made = model(
            [node("ScatterND", "x at new", "out", reduction="add")],
            {"x": (F32, [4, "width"]), "new": (F32, [3, "width"])},
            {"out": (F32, [4, "width"])},
            {"at": np.array(indices)},
        )
        assert len(list_moved(InferenceSession(made))) == expected


def test_nodes_in_subgraphs_and_functions_are_named_with_their_graph() -> None:
    made = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 18, "my": 1]>
        g (float[n] x, int64[m, 1] i, float[m] u, bool c) => (float[n] out)
        {
            y = my.f (x, i, u)
            out = If (c) <then_branch = t () => (float[n] a) { a = ScatterND <reduction = "add"> (y, i, u) },
                          else_branch = e () => (float[n] b) { b = Neg (y) }>
        }
        <domain: "my", opset_import: ["": 18]>
        f (a, b, c) => (r) { q = ScatterND <reduction = "add"> (a, b, c)  r = Neg (q) }"""
    )
    made.graph.node[1].name = "choice"
    session = InferenceSession(made)
    assert [node.label for node in session.plan.moved] == [
        "ScatterND (1/1) of then_branch of If 'choice' (2/2)",
        "ScatterND (1/2) of function my.f",
    ]
    assert [node.name for node in session.plan.moved] == ["a", "q"]


def test_a_model_without_nodes_to_move_reaches_onnxruntime_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def record(self: InferenceSession, *arguments: object, **others: object) -> None:
        given.append((arguments, others))

    monkeypatch.setattr(onnxruntime.InferenceSession, "__init__", record)
    content = make_scatter_model(node("Gather", "x at", "out")).SerializeToString()
    options = make_one_thread_options()
    InferenceSession(content, options, ["CPUExecutionProvider"], read_config_from_model=0)
    assert given == [((content, options, ["CPUExecutionProvider"], None), {"read_config_from_model": 0})]


def test_a_model_that_cannot_be_read_is_onnxruntime_s_with_a_note(tmp_path: Path) -> None:
    """ONNX Runtime has a separate format."""
    path, options = tmp_path / "model.ort", make_one_thread_options()
    options.optimized_model_filepath = str(path)
    options.add_session_config_entry("session.save_model_format", "ORT")
    expected = onnxruntime.InferenceSession(BETWEEN.SerializeToString(), options).run(None, SCATTER)
    with pytest.warns(UserWarning, match="ONNX Runtime runs the whole model: "):
        session = InferenceSession(path)
    assert str(session.plan).startswith("note: ONNX Runtime runs the whole model: ")
    assert_same_bits(session.run(None, SCATTER), expected)


def test_sparse_initializers() -> None:
    made = make_scatter_model(ADD, node("Add", "sum few", "out"))
    values = onnx.numpy_helper.from_array(np.array([5], F32), "few")
    indices = onnx.numpy_helper.from_array(np.array([1]), "where")
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2]))
    session = InferenceSession(made)
    assert list_moved(session) == ["ScatterND"]
    assert_same_bits(session.run(None, SCATTER), load_onnxruntime(made).run(None, SCATTER))


def test_a_model_that_has_nodes_of_the_library_needs_no_other_session() -> None:
    made = onnx.ModelProto()
    made.CopyFrom(BETWEEN)
    move_nodes(made)
    session = InferenceSession(made.SerializeToString())
    assert [node.label for node in session.plan.moved] == ["gatherscatter.ScatterND 'sum' (2/3)"]
    assert_same_bits(session.run(None, SCATTER), load_onnxruntime(BETWEEN).run(None, SCATTER))
