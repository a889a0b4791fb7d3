"""InferenceSession gives bit-for-bit identical results in every run: those of ONNX Runtime with one thread."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

import gatherscatter as gs
from gatherscatter_models.onnx.session import InferenceSession
from tests.support.onnx_graphs import node
from tests.support.onnx_networks import graph_network, graph_network_inputs
from tests.support.session_graphs import (
    F32,
    SCATTER,
    assert_same_bits,
    list_moved,
    load_onnxruntime,
    make_scatter_model,
)


def test_a_network_of_59_nodes_gives_what_one_thread_of_onnxruntime_gives() -> None:
    made = graph_network()
    assert len(made.graph.node) == 59
    session, inputs = InferenceSession(made), graph_network_inputs(500, 3000)
    assert list_moved(session) == [*(4 * ["ScatterND"]), "ScatterElements", "ScatterND"]
    assert_same_bits(session.run(None, inputs), load_onnxruntime(made).run(None, inputs))


def test_a_network_gives_the_same_bits_in_every_run_where_onnxruntime_races() -> None:
    session, inputs = InferenceSession(graph_network(layers=2)), graph_network_inputs(1000, 50_000)
    first = session.run(None, inputs)
    for _ in range(20):
        assert_same_bits(session.run(None, inputs), first)


def test_a_scatter_where_onnxruntime_races_has_the_bits_of_its_one_thread() -> None:
    made = make_scatter_model(node("Abs", "new", "much"), node("ScatterND", "x at much", "out", reduction="add"))
    rng = np.random.default_rng(3)
    inputs = {
        "x": rng.standard_normal((1000, 2)).astype(F32),
        "at": rng.integers(-1000, 1000, (500_000, 1)),
        "new": rng.standard_normal((500_000, 2)).astype(F32),
    }
    assert_same_bits(InferenceSession(made).run(None, inputs), load_onnxruntime(made).run(None, inputs))


def test_threads_share_a_session() -> None:
    session, inputs = InferenceSession(graph_network(layers=1)), graph_network_inputs(50, 300)
    expected = session.run(None, inputs)
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(20):
            wrong.extend(
                1 for a, b in zip(session.run(None, inputs), expected, strict=True) if a.tobytes() != b.tobytes()
            )

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_random_node_runs_once() -> None:
    made = make_scatter_model(
        node("Abs", "x", "y"),  # the seed depends on the node's position
        node("RandomUniformLike", "like", "noise"),
        node("Add", "y noise", "a"),
        node("ScatterND", "a at new", "b", reduction="add"),
        node("Sub", "b noise", "out"),
        constants={"like": np.zeros((4, 2), F32)},
    )
    session = InferenceSession(made)
    assert list_moved(session) == ["ScatterND"]
    expected = gs.onnx.ScatterND(*SCATTER.values(), reduction="add")
    np.testing.assert_allclose(session.run(None, SCATTER)[0], expected, atol=1e-4)
