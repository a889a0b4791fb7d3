"""A model is cut into as few parts as possible, and the plan says who runs each part and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import helper

from gatherscatter.findings import catalog
from gatherscatter.onnx.session import InferenceSession
from tests.support.onnx_graphs import model, node
from tests.support.session_graphs import (
    ADD,
    BETWEEN,
    F32,
    I64,
    SCATTER,
    assert_same_bits,
    list_runners,
    load_onnxruntime,
    make_one_thread_options,
    make_scatter_model,
)


def test_the_plan_says_who_runs_what_and_why() -> None:
    race = next(finding for finding in catalog.load() if finding.id == "onnxruntime-scatternd-race")
    assert str(InferenceSession(BETWEEN).plan).splitlines() == [
        " 1 onnxruntime    1 node: Neg",
        f" 2 gatherscatter  ScatterND (2/3): ONNX Runtime: {race.title}",
        " 3 onnxruntime    1 node: Abs",
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
    assert list_runners(InferenceSession(made)) == "o"
    monkeypatch.setattr(catalog, "load", lambda: (*known, made_up))
    assert str(InferenceSession(made).plan).splitlines() == [
        " 1 gatherscatter  GatherElements (1/3): ONNX Runtime: Wrong by one",
        " 2 onnxruntime    2 nodes: GatherElements, Abs",
    ]


def test_on_one_thread_onnxruntime_adds_up_right_and_keeps_the_node() -> None:
    assert list_runners(InferenceSession(BETWEEN, make_one_thread_options())) == "o"


def test_with_sizes_that_the_model_declares_small_nothing_is_cut() -> None:
    made = model(
        [node("ScatterND", "x at new", "out", reduction="add")],
        {"x": (F32, [4, 2]), "at": (I64, [3, 1]), "new": (F32, [3, 2])},
        {"out": (F32, [4, 2])},
    )
    session = InferenceSession(made)
    assert list_runners(session) == "o"
    assert_same_bits(session.run(None, SCATTER), load_onnxruntime(made).run(None, SCATTER))


def test_constant_indices_that_differ_stay_with_onnxruntime() -> None:
    for indices, expected in (([[1], [3], [0]], "o"), ([[1], [3], [1]], "g"), ([[1], [3], [-3]], "g")):
        made = model(
            [node("ScatterND", "x at new", "out", reduction="add")],
            {"x": (F32, [4, "width"]), "new": (F32, [3, "width"])},
            {"out": (F32, [4, "width"])},
            {"at": np.array(indices)},
        )
        assert list_runners(InferenceSession(made)) == expected


def test_as_few_parts_as_possible() -> None:
    """The nodes alternate in the model. Both scatters still wait for one part of ONNX Runtime."""
    made = make_scatter_model(
        ADD,
        node("Abs", "x", "a"),
        node("ScatterND", "a at new", "b", reduction="add"),
        node("Neg", "new", "c"),
        node("ScatterND", "x at c", "d", reduction="add"),
        node("Sum", "b d sum", "out"),
    )
    session = InferenceSession(made)
    assert list_runners(session) == "ogo"
    assert_same_bits(session.run(None, SCATTER), load_onnxruntime(made).run(None, SCATTER))


def test_a_gather_between_two_of_ours_is_ours() -> None:
    nodes = [ADD, node("Gather", "sum picked", "some"), node("ScatterND", "some at new", "b", reduction="add")]
    made = make_scatter_model(*nodes, outputs="b", constants={"picked": np.arange(4)})
    session = InferenceSession(made)
    assert str(session.plan).splitlines()[1] == " 1 gatherscatter  Gather (2/3): saves a hand-over"
    assert list_runners(session) == "g"
    assert_same_bits(session.run(None, SCATTER), load_onnxruntime(made).run(None, SCATTER))


def test_a_gather_before_a_part_of_onnxruntime_stays_there() -> None:
    """The first Gather saves a hand-over. The second does not, so ONNX Runtime keeps it."""
    made = make_scatter_model(
        ADD,
        node("Gather", "sum picked", "some"),
        node("ScatterND", "some at new", "b", reduction="add"),
        node("Gather", "b picked", "c"),
        node("Abs", "c", "out"),
        constants={"picked": np.arange(4)},
    )
    session = InferenceSession(made)
    labels = ("ScatterND 'collect' (1/5)", "Gather (2/5)", "ScatterND (3/5)"), ("Gather (4/5)", "Abs (5/5)")
    assert tuple(part.nodes for part in session.plan.parts) == labels
    assert_same_bits(session.run(None, SCATTER), load_onnxruntime(made).run(None, SCATTER))


def test_our_nodes_come_first_where_that_saves_a_part() -> None:
    made = make_scatter_model(ADD, node("Neg", "x", "a"), node("Add", "a sum", "out"))
    assert list_runners(InferenceSession(made)) == "go"


def test_a_model_that_cannot_be_cut_is_onnxruntimes_with_a_note() -> None:
    made = make_scatter_model(ADD, node("Add", "sum few", "out"))
    values = onnx.numpy_helper.from_array(np.array([5], F32), "few")
    indices = onnx.numpy_helper.from_array(np.array([1]), "where")
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2]))
    note = "ONNX Runtime has the whole model: it has sparse initializers, or two of one name"
    with pytest.warns(UserWarning, match=note):
        session = InferenceSession(made)
    assert str(session.plan) == f"note: {note}"
    assert_same_bits(session.run(None, SCATTER), load_onnxruntime(made).run(None, SCATTER))
