"""Unusual graphs give the results of ONNX Runtime: subgraphs, functions, sequences, outputs of any kind."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from gatherscatter_models.onnx.session import InferenceSession
from tests.support.onnx_graphs import function, graph, model, node
from tests.support.session_graphs import (
    ADD,
    F32,
    I64,
    SCATTER,
    assert_same_bits,
    list_moved,
    load_onnxruntime,
    make_quiet_options,
    make_scatter_model,
)

BRANCHES = {
    "then_branch": graph([node("Add", "sum x", "t")], {}, {"t": (F32, ["n", 2])}),
    "else_branch": graph([node("Sub", "sum x", "e")], {}, {"e": (F32, ["n", 2])}),
}
BODY = graph(
    [node("ScatterElements", "state spot one", "next"), node("Identity", "going", "still")],
    {"turn": (I64, []), "going": (np.bool_, []), "state": (F32, ["k"])},
    {"still": (np.bool_, []), "next": (F32, ["k"])},
)
UNUSUAL: dict[str, onnx.ModelProto] = {
    "an output that is an input": make_scatter_model(ADD, node("Abs", "sum", "out"), outputs="x out"),
    "an output that is an initializer": make_scatter_model(ADD, outputs="sum table", constants={"table": SCATTER["x"]}),
    "an output of ours that ONNX Runtime needs": make_scatter_model(ADD, node("Abs", "sum", "out"), outputs="sum out"),
    "an output twice": make_scatter_model(ADD, node("Abs", "sum", "out"), outputs="out sum"),
    "nodes that nobody needs": make_scatter_model(
        ADD, node("ScatterND", "sum at new", "b", reduction="add"), node("Abs", "x", "c"), node("Abs", "sum", "out")
    ),
    "optional inputs left out": make_scatter_model(ADD, node("Clip", "sum - high", "out"), constants={"high": F32(30)}),
    "several outputs": make_scatter_model(
        node("Split", "new", "left right", axis=1, num_outputs=2),
        node("Concat", "right left", "swapped", axis=1),
        node("ScatterND", "x at swapped", "sum", reduction="add"),
        node("Split", "sum", "a out", axis=1, num_outputs=2),
    ),
    "an output left out": make_scatter_model(ADD, node("Dropout", "sum", "out -")),
    "one value for two nodes": make_scatter_model(
        node("Abs", "new", "a"),
        node("ScatterND", "x at a", "b", reduction="add"),
        node("ReduceSum", "a", "c", keepdims=0),
        node("Add", "b c", "out"),
    ),
    "a Constant for us and for ONNX Runtime": make_scatter_model(
        node("Constant", "", "c", value=onnx.numpy_helper.from_array(SCATTER["new"])),
        node("ScatterND", "x at c", "b", reduction="max"),
        node("ReduceSum", "c", "d", keepdims=0),
        node("Constant", "", "two", value_float=2.0),
        node("Pow", "d two", "e"),
        node("Add", "b e", "out"),
        outputs="out c",
    ),
    "what follows from constants": make_scatter_model(
        node("Neg", "weights", "negative"),
        node("Mul", "new negative", "a"),
        node("ScatterND", "x at a", "b", reduction="add"),
        node("Mul", "b negative", "c"),
        node("ScatterND", "c at big", "out", reduction="add"),
        node("Expand", "negative shape", "big"),
        constants={"weights": np.array([[2, 3]], F32), "shape": np.array([3, 2])},
    ),
    "a subgraph that needs our result": make_scatter_model(
        ADD,
        node("ReduceSum", "sum", "total", keepdims=0),
        node("Greater", "total limit", "many"),
        node("If", "many", "out", **BRANCHES),
        constants={"limit": F32(10)},
    ),
    "a subgraph with nodes of the family": model(
        [
            node("Loop", "times - x", "looped", "turns", body=BODY),
            node("ScatterND", "looped at new", "out", reduction="add"),
        ],
        {"x": (F32, ["n"]), "at": (I64, ["m", 1]), "new": (F32, ["m"])},
        {"out": (F32, ["n"])},
        {"times": np.array(2), "spot": np.array([1]), "one": np.ones(1, F32)},
    ),
    "a function": make_scatter_model(
        node("Collect", "x at new", "sum", domain="ours"),
        node("Collect", "sum at new", "out", domain="ours"),
        functions=[
            function(
                "ours",
                "Collect",
                "a b c",
                "d",
                [node("Neg", "c", "n"), node("ScatterND", "a b n", "e", reduction="add"), node("Abs", "e", "d")],
            )
        ],
        domains={"ours": 1},
    ),
    "a sequence": make_scatter_model(
        node("SplitToSequence", "x", "parts", axis=1),
        ADD,
        node("SequenceInsert", "parts sum", "more"),
        node("ConcatFromSequence", "more", "out", axis=1),
    ),
    "an optional": make_scatter_model(
        node("Optional", "x", "maybe"), ADD, node("OptionalGetElement", "maybe", "y"), node("Add", "y sum", "out")
    ),
    "nodes of ONNX Runtime's own": make_scatter_model(
        node("Gelu", "new", "a", domain="com.microsoft"),
        node("ScatterND", "x at a", "b", reduction="add"),
        node("Gelu", "b", "out", domain="com.microsoft"),
        domains={"com.microsoft": 1},
    ),
    "a type that only ONNX Runtime has": make_scatter_model(
        node("Gelu", "x", "a", domain="com.microsoft"),
        node("ScatterND", "a at new", "b", reduction="add"),
        node("Abs", "b", "out"),
        domains={"com.microsoft": 1},
    ),
    "the domain by its long name": make_scatter_model(
        node("ScatterND", "x at new", "a", reduction="add", domain="ai.onnx"), node("Abs", "a", "out")
    ),
}


@pytest.mark.parametrize("made", UNUSUAL.values(), ids=UNUSUAL)
def test_an_unusual_graph(made: onnx.ModelProto) -> None:
    inputs = dict(SCATTER) if len(made.graph.input[0].type.tensor_type.shape.dim) == 2 else {
        "x": np.arange(4, dtype=F32), "at": SCATTER["at"], "new": np.array([1, 2, 4], F32)
    }  # fmt: skip
    before = made.SerializeToString()
    session = InferenceSession(made)
    assert list_moved(session)
    expected = load_onnxruntime(made).run(None, inputs)
    for _ in range(2):
        assert_same_bits(session.run(None, inputs), expected)
    name = session.get_outputs()[-1].name
    assert_same_bits(session.run([name], inputs), expected[-1:])
    assert made.SerializeToString() == before


def test_a_node_without_a_name_gets_one_that_no_other_has() -> None:
    other = node("ScatterND", "x at new", "a", "b", reduction="add")
    made = make_scatter_model(other, node("ScatterND", "a at new", "b", reduction="add"), outputs="b")
    session = InferenceSession(made)
    assert [each.name for each in session.plan.moved] == ["b", "b_"]
    assert_same_bits(session.run(None, SCATTER), load_onnxruntime(made).run(None, SCATTER))


def test_a_graph_without_nodes() -> None:
    made = make_scatter_model(outputs="x")
    assert_same_bits(InferenceSession(made).run(None, SCATTER), [SCATTER["x"]])


def test_a_graph_of_ours_alone() -> None:
    session = InferenceSession(make_scatter_model(ADD, outputs="sum"))
    assert list_moved(session) == ["ScatterND"]
    assert_same_bits(
        session.run(None, SCATTER), load_onnxruntime(make_scatter_model(ADD, outputs="sum")).run(None, SCATTER)
    )


def test_what_a_model_says_wrongly_of_its_values_is_not_believed() -> None:
    """ONNX Runtime only warns about a wrong value_info."""
    made = make_scatter_model(ADD, node("Abs", "sum", "a"), node("ScatterND", "a at new", "b", reduction="add"))
    made.graph.node.append(node("Neg", "b", "out"))
    made.graph.value_info.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, [7, 2]))
    made.graph.output.append(helper.make_tensor_value_info("sum", TensorProto.FLOAT, [9, 2]))
    session = InferenceSession(made, make_quiet_options())
    assert list_moved(session) == ["ScatterND", "ScatterND"]
    assert_same_bits(session.run(None, SCATTER), load_onnxruntime(made).run(None, SCATTER))
