"""A Gather and the only reader of its rows become one node if the meaning is certain to be the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import gatherscatter_models as gm
from gatherscatter_models.onnx.native_nodes import ModelPlan, move_nodes
from tests.support.onnx_graphs import function, graph, model, node
from tests.support.session_graphs import F32, I64, Arrays

WIDTH = 64
INPUTS: dict[str, Any] = {
    "table": (F32, ["v", WIDTH]), "rows": (I64, ["m"]), "init": (F32, ["n", WIDTH]), "ids": (I64, ["m"]),
}  # fmt: skip
OUT = {"out": (F32, ["n", WIDTH])}
AXIS = {"axis": np.array([1])}
GATHER = node("Gather", "table rows", "some", "pick")
TUPLES = node("Unsqueeze", "ids axis", "tuples")
ADD = node("ScatterND", "init tuples some", "out", "sums", reduction="add")


def make_feed(seed: int = 0, bags: int = 50, members: int = 2000) -> Arrays:
    rng = np.random.default_rng(seed)
    return {
        "table": rng.standard_normal((300, WIDTH)).astype(F32),
        "rows": rng.integers(-300, 300, members),
        "init": rng.standard_normal((bags, WIDTH)).astype(F32),
        "ids": rng.integers(0, bags, members),
    }


def move(made: onnx.ModelProto, **options: bool) -> tuple[list[str], ModelPlan]:
    """Return the operators after the nodes of a copy were moved."""
    moved = onnx.ModelProto()
    moved.CopyFrom(made)
    plan = move_nodes(moved, **options)
    return [each.op_type for each in moved.graph.node], plan


def check_bits(made: onnx.ModelProto, feed: Arrays) -> None:
    """Check that the fused model gives the bits of the two nodes."""
    expected = gm.run(made, feed)
    move_nodes(made)
    onnx.checker.check_model(made)
    for name, result in gm.run(made, feed).items():
        np.testing.assert_array_equal(result.view(np.uint32), expected[name].view(np.uint32))


@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
def test_gather_and_scatter_nd(reduction: str) -> None:
    made = model([GATHER, TUPLES, node("ScatterND", "init tuples some", "out", reduction=reduction)], INPUTS, OUT, AXIS)
    operators, plan = move(made)
    assert operators == ["GatherReduce"]
    (moved,) = plan.moved
    assert (moved.name, moved.label) == ("out", "ScatterND (3/3)")
    assert moved.reason.endswith("; one step with Gather 'pick' (1/3)")
    assert not plan.kept
    check_bits(made, make_feed())


def test_indices_that_are_tuples_already() -> None:
    made = model([GATHER, ADD], INPUTS | {"tuples": (I64, ["m", 1])}, OUT)
    operators, _ = move(made)
    assert operators == ["Constant", "Reshape", "GatherReduce"]
    feed = make_feed()
    check_bits(made, {**feed, "tuples": feed["ids"][:, None]})


def test_gather_and_scatter_elements() -> None:
    """PyTorch exports sums over an expanded index in this form."""
    shape = {**AXIS, "shape": np.array([1, WIDTH])}
    nodes = [
        node("Gather", "table rows", "some"),
        node("Unsqueeze", "ids axis", "column"),
        node("Expand", "column shape", "box"),
        node("ScatterElements", "init box some", "out", axis=0, reduction="add"),
    ]
    made = model(nodes, INPUTS, OUT, shape)
    assert move(made)[0] == ["GatherReduce"]
    check_bits(made, make_feed())


@pytest.mark.parametrize(("op_type", "keepdims"), [("ReduceSum", 0), ("ReduceSum", 1), ("ReduceMean", 1)])
@pytest.mark.parametrize("opset", [11, 18])
def test_gather_and_reduce(op_type: str, keepdims: int, opset: int) -> None:
    axes = {"axes": [1]} if opset == 11 else {}
    reduce = node(op_type, "some" if axes else "some axis", "out", keepdims=keepdims, **axes)
    inputs = INPUTS | {"rows": (I64, ["m", 20])}
    shape = ["m", 1, WIDTH] if keepdims else ["m", WIDTH]
    made = model([GATHER, reduce], inputs, {"out": (F32, shape)}, {} if axes else AXIS, opset=opset)
    operators, plan = move(made)
    assert operators == ["GatherReduce"]
    assert plan.moved[0].reason.startswith("one step with Gather 'pick' (1/2), which adds row by row; ")
    feed = make_feed()
    check_bits(made, {**feed, "rows": feed["rows"].reshape(100, 20)})


def test_in_a_subgraph() -> None:
    body, other = graph([GATHER, TUPLES, ADD], {}, OUT), graph([node("Neg", "init", "e")], {}, {"e": OUT["out"]})
    made = model(
        [node("If", "some_rows", "out", then_branch=body, else_branch=other)],
        INPUTS | {"some_rows": (np.bool_, [])},
        OUT,
        AXIS,
    )
    _, plan = move(made)
    assert plan.moved[0].label == "ScatterND 'sums' (3/3) of then_branch of If (1/1)"
    assert plan.moved[0].reason.endswith("one step with Gather 'pick' (1/3) of then_branch of If (1/1)")
    check_bits(made, {**make_feed(), "some_rows": np.array(True)})


def test_indices_of_several_scatters() -> None:
    """The Unsqueeze is removed with the last scatter that reads it."""
    more = [node("Gather", "table rows", "others"), node("ScatterND", "out tuples others", "last", reduction="max")]
    made = model([GATHER, TUPLES, ADD, *more], INPUTS, {"last": OUT["out"]}, AXIS)
    assert move(made)[0] == ["GatherReduce", "GatherReduce"]
    check_bits(made, make_feed())
    kept = model([GATHER, TUPLES, ADD], INPUTS, OUT | {"tuples": (I64, ["m", 1])}, AXIS)
    assert move(kept)[0] == ["Unsqueeze", "GatherReduce"]


def with_inputs(**changed: Any) -> onnx.ModelProto:
    return model([GATHER, TUPLES, ADD], INPUTS | changed, {"out": (changed.get("table", (F32,))[0], None)}, AXIS)


ELEMENTS = node("ScatterElements", "init box some", "out", axis=0, reduction="add")
BOX = [node("Unsqueeze", "ids axis", "column"), node("Expand", "column shape", "box")]
SHAPE = {**AXIS, "shape": np.array([1, WIDTH])}
TWO = {**INPUTS, "rows": (I64, ["m", 20])}
MEAN = node("ReduceMean", "some axis", "out")

APART = {
    "fuse is off": with_inputs(),
    "the rows are an output": model([GATHER, TUPLES, ADD], INPUTS, OUT | {"some": (F32, None)}, AXIS),
    "another reader": model([GATHER, TUPLES, ADD, node("Neg", "some", "b")], INPUTS, OUT | {"b": (F32, None)}, AXIS),
    "the rows are data": model([GATHER, TUPLES, node("ScatterND", "some tuples init", "out", reduction="add")],
                               INPUTS, OUT, AXIS),
    "no reduction": model([GATHER, TUPLES, node("ScatterND", "init tuples some", "out")], INPUTS, OUT, AXIS),
    "a reduction that the version lacks": model(
        [GATHER, TUPLES, node("ScatterND", "init tuples some", "out", reduction="max")], INPUTS, OUT, AXIS, opset=16),
    "another axis": model([node("Gather", "table rows", "some", axis=1), TUPLES, ADD], INPUTS, OUT, AXIS),
    "narrow rows": with_inputs(table=(F32, ["v", 4]), init=(F32, ["n", 4])),
    "rows of unknown width": with_inputs(table=(F32, ["v", "w"]), init=(F32, ["n", "w"])),
    "few rows": with_inputs(rows=(I64, [100])),
    "booleans": with_inputs(table=(np.bool_, ["v", WIDTH]), init=(np.bool_, ["n", WIDTH])),
    "rows of several indices": with_inputs(rows=(I64, ["m", 3])),
    "tuples of unknown length": model([GATHER, ADD], INPUTS | {"tuples": (I64, ["m", "k"])}, OUT),
    "an expanded index that is wider": model([GATHER, *BOX, ELEMENTS], INPUTS | {"init": (F32, ["n", 80])}, OUT, SHAPE),
    "an index that is not a column": model([GATHER, ELEMENTS], INPUTS | {"box": (I64, ["m", WIDTH])}, OUT),
    "an expanded index of unknown length": model(
        [GATHER, *BOX, ELEMENTS], INPUTS | {"ids": (I64, [1])}, OUT, {**AXIS, "shape": np.array([2000, WIDTH])}),
    "columns": model(
        [GATHER, *BOX, node("ScatterElements", "init box some", "out", axis=1, reduction="add")], INPUTS, OUT, SHAPE),
    "another dimension": model([GATHER, node("ReduceSum", "some axis", "out")], TWO, {"out": (F32, None)},
                               {"axis": np.array([0])}),
    "a dimension that is not known": model([GATHER, node("ReduceSum", "some axis", "out")],
                                           TWO | {"axis": (I64, [1])}, {"out": (F32, None)}),
    "a mean of perhaps no rows": model(
        [GATHER, MEAN], INPUTS | {"rows": (I64, ["m", "k"])}, {"out": (F32, None)}, AXIS),
    "sums of halves": model([GATHER, node("ReduceSum", "some axis", "out")],
                            TWO | {"table": (np.float16, ["v", WIDTH])}, {"out": (np.float16, None)}, AXIS),
    "another operator": model([GATHER, node("ReduceMax", "some axis", "out")], TWO, {"out": (F32, None)}, AXIS),
    "in a function": model(
        [node("Layer", "table rows ids axis init", "out", domain="ours")], INPUTS, OUT, AXIS, domains={"ours": 1},
        functions=[function("ours", "Layer", "table rows ids axis init", "out", [GATHER, TUPLES, ADD])]),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_pairs_that_stay_apart(name: str) -> None:
    made = APART[name]
    operators, plan = move(made, fuse=name != "fuse is off") if name != "in a function" else ([], move_nodes(made))
    assert "GatherReduce" not in operators
    assert not any("one step" in each.reason for each in plan.moved)


def test_new_values_have_names_that_nothing_has() -> None:
    inputs = {**{name: known for name, known in INPUTS.items() if name != "ids"}, "tuples": (I64, ["m", 1])}
    feed = make_feed()
    feed["tuples"] = feed.pop("ids")[:, None]
    outputs = {**OUT, "seen": (F32, ["v", WIDTH])}
    made = model([node("Neg", "table", "out/line"), GATHER, ADD, node("Abs", "out/line", "seen")], inputs, outputs)
    assert "GatherReduce" in move(made)[0]
    check_bits(made, feed)
    # In If branches, neither node may get a name that the outer graph uses.
    branches = {"then_branch": [GATHER, ADD], "else_branch": [node("Identity", "init", "out")]}
    choice = node("If", "which", "out", **{name: graph(nodes, {}, OUT) for name, nodes in branches.items()})
    nodes = [node("Neg", "table", "out/line"), choice, node("Abs", "out/line", "seen")]
    made = model(nodes, {**inputs, "which": (np.bool_, [])}, outputs)
    check_bits(made, {**feed, "which": np.array(True)})
    (inner,) = (each.g for each in made.graph.node[1].attribute if each.name == "then_branch")
    assert [name for each in inner.node for name in each.output] == ["out/line_2", "out/segment_ids", "out"]
