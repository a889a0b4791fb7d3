"""Moving nodes of a model to the native library does not require ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import gatherscatter_models as gm
from gatherscatter_models.onnx.graph import walk
from gatherscatter_models.onnx.native_nodes import ModelPlan, move_nodes
from tests.support.onnx_graphs import function, graph, model, node

F32, I64 = np.float32, np.int64
INPUTS = {"x": (F32, ["n"]), "at": (I64, ["m", 1]), "new": (F32, ["m"])}
FEED = {"x": np.zeros(3, F32), "at": np.array([[1], [1], [-1]]), "new": np.array([1, 2, 4], F32)}
OUT = {"out": (F32, ["n"])}
ADD = node("ScatterND", "x at new", "out", "collect", reduction="add")


def move(made: onnx.ModelProto, **options: int) -> tuple[onnx.ModelProto, ModelPlan]:
    """Move the nodes of a copy of a model. Check that it runs and gives identical results."""
    moved = onnx.ModelProto()
    moved.CopyFrom(made)
    plan = move_nodes(moved, **options)
    onnx.checker.check_model(moved)
    for name, result in gm.run(moved, FEED).items():
        np.testing.assert_array_equal(result, gm.run(made, FEED)[name], strict=True)
    return moved, plan


def list_own(made: onnx.ModelProto) -> list[onnx.NodeProto]:
    bodies = (made.graph.node, *(each.node for each in made.functions))
    return [each for nodes in bodies for each in walk(nodes) if each.domain == "gatherscatter"]


def imports(proto: onnx.ModelProto | onnx.FunctionProto) -> dict[str, int]:
    return {entry.domain: entry.version for entry in proto.opset_import}


def test_a_node_keeps_its_attributes_and_its_name() -> None:
    made, plan = move(model([ADD, node("Neg", "out", "low")], INPUTS, {"low": (F32, ["n"])}, opset=17))
    (own,) = list_own(made)
    assert (own.op_type, own.name, list(own.input), list(own.output)) == (
        "ScatterND", "collect", ["x", "at", "new"], ["out"],
    )  # fmt: skip
    assert {each.name: onnx.helper.get_attribute_value(each) for each in own.attribute} == {
        "reduction": b"add", "opset": 16,
    }  # fmt: skip
    assert imports(made) == {"": 17, "gatherscatter": 2}
    assert plan.kept == ("Neg (2/2)",)


def test_a_model_without_nodes_to_move_is_not_changed() -> None:
    made = model([node("ScatterND", "x at new", "out")], {**INPUTS, "at": (I64, [1, 1]), "new": (F32, [1])}, OUT)
    before = onnx.printer.to_text(made)
    assert move_nodes(made) == ModelPlan((), ("ScatterND (1/1)",))
    assert onnx.printer.to_text(made) == before


def test_with_one_thread_onnxruntime_adds_up_rightly() -> None:
    assert not move(model([ADD], INPUTS, OUT), threads=1)[1].moved
    assert move(model([ADD], INPUTS, OUT), threads=2)[1].moved


def test_a_node_with_attributes_that_the_version_lacks_is_left() -> None:
    """ONNX Runtime reports what is wrong with it."""
    for bad in (
        node("ScatterND", "x at new", "out", reduction="add", axis=1),
        node("ScatterND", "x at", "out", reduction="add"),
        node("ScatterND", "x at new new", "out", reduction="add"),
        node("ScatterND", "x at new", "-", reduction="add"),
    ):
        assert not move_nodes(model([bad], INPUTS, OUT)).moved


def test_bodies() -> None:
    """Nodes in bodies are moved, even if the graph around a body also changes."""
    body, other = graph([ADD], {}, OUT), graph([node("Neg", "x", "z")], {}, {"z": (F32, ["n"])})
    collect = function("ours", "Collect", "a b c", "d", [node("ScatterND", "a b c", "d", reduction="add")])
    nodes = [
        node("Size", "x", "size"),
        node("Cast", "size", "some", to=9),
        node("If", "some", "y", then_branch=body, else_branch=other),
        node("Collect", "y at new", "sums", domain="ours"),
        node("ScatterND", "sums at new", "result", reduction="add"),
    ]
    made, plan = move(
        model(nodes, INPUTS, {"result": (F32, ["n"])}, functions=[collect], domains={"ours": 1}),
    )
    assert [each.op_type for each in list_own(made)] == ["ScatterND", "ScatterND", "ScatterND"]
    assert [each.label for each in plan.moved] == [
        "ScatterND (5/5)",
        "ScatterND 'collect' (1/1) of then_branch of If (3/5)",
        "ScatterND (1/1) of function ours.Collect",
    ]
    assert imports(made)["gatherscatter"] == imports(made.functions[0])["gatherscatter"] == 2


def make_old_function(*inputs: tuple[str, type]) -> onnx.ModelProto:
    """Return a model whose function of opset 13 gathers slices of each input."""
    old = function("ours", "Pick", "a b", "d", [node("Gather", "a b", "d")], opset=13)
    calls = [node("Pick", f"{name} at", f"{name}_out", domain="ours") for name, _ in inputs]
    declared = {name: (np.dtype(element), ["n", 2]) for name, element in inputs}
    outputs = {f"{name}_out": (np.dtype(element), None) for name, element in inputs}
    return model(calls, {**declared, "at": (I64, ["m"])}, outputs, functions=[old], domains={"ours": 1})


def test_a_function_of_an_old_opset_says_the_type_that_its_calls_agree_on() -> None:
    made = make_old_function(("x", object))
    assert len(move_nodes(made).moved) == 1
    (_, cast) = made.functions[0].node
    assert (cast.op_type, cast.attribute[0].i) == ("Cast", onnx.TensorProto.STRING)
    texts = np.array([["a", "b"], ["c", "d"]], object)
    pytest.importorskip("onnxruntime")
    (out,) = gm.onnx.InferenceSession(make_old_function(("x", object))).run(None, {"x": texts, "at": np.array([1, 0])})
    assert out.tolist() == [["c", "d"], ["a", "b"]]


def test_a_function_of_an_old_opset_for_two_types_is_left_with_a_note() -> None:
    made = make_old_function(("x", object), ("y", np.float32))
    plan = move_nodes(made)
    assert not list_own(made)
    assert "Gather (1/1) of function ours.Pick" in plan.kept
    assert plan.notes[0].startswith("Gather (1/1) of function ours.Pick stays with ONNX Runtime: its function has")
    assert plan.notes[0] in str(plan)


@pytest.mark.parametrize("limit", [10**6, 0])
def test_what_the_calls_of_a_function_say_counts(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there are too many calls to follow, types and shapes stay unknown."""
    monkeypatch.setattr("gatherscatter_models.onnx.scopes.MOST_READ", limit)
    sized = {"x": (F32, [3]), "at": (I64, [3, 1]), "new": (F32, [3])}
    collect = function("ours", "Collect", "a b c", "d", [node("ScatterND", "a b c", "d", reduction="add")])
    made = model(
        [node("Collect", "x at new", "out", domain="ours")], sized, OUT, functions=[collect], domains={"ours": 1}
    )
    assert len(move_nodes(made).moved) == (0 if limit else 1)


@pytest.mark.parametrize(("count", "moved"), [(1023, 0), (1024, 1)])
@pytest.mark.parametrize("op_type", ["Gather", "GatherND", "ScatterElements"])
def test_many_single_elements_are_moved(op_type: str, count: int, moved: int) -> None:
    """ONNX Runtime's result is right, but slower."""
    inputs = {"x": (F32, ["n"]), "at": (I64, [count, 1] if op_type == "GatherND" else [count]), "new": (F32, [count])}
    given = "x at new" if op_type == "ScatterElements" else "x at"
    plan = move_nodes(model([node(op_type, given, "out")], inputs, {"out": (F32, None)}))
    assert len(plan.moved) == moved
    assert all("ONNX Runtime takes longer" in each.reason for each in plan.moved)


def test_the_names_are_new() -> None:
    nodes = [node("Neg", "new", "less", "out"), node("ScatterND", "x at less", "out", reduction="add")]
    made, plan = move(model(nodes, INPUTS, OUT))
    assert [each.name for each in made.graph.node] == ["out", "out_"]
    assert plan.moved[0].name == "out_"


def test_a_model_without_imports_keeps_its_opset() -> None:
    made = model([node("Gather", "x at", "out")], {"x": (np.dtype(object), ["n", 2]), "at": (I64, ["m"])},
                 {"out": (np.dtype(object), None)})  # fmt: skip
    del made.opset_import[:]
    made.ir_version = 2
    assert len(move_nodes(made).moved) == 1
    assert imports(made) == {"": 1, "gatherscatter": 2}


def test_moving_again_changes_nothing() -> None:
    made, plan = move(model([ADD], INPUTS, OUT))
    before = made.SerializeToString()
    again = move_nodes(made)
    assert made.SerializeToString() == before
    assert [each.name for each in again.moved] == [each.name for each in plan.moved]


def test_the_value_before_a_cast_in_a_function_has_a_name_that_nothing_has() -> None:
    inner = [
        node("Neg", "x", "w/untyped"),
        node("ScatterND", "x at new", "w", reduction="add"),
        node("Add", "w w/untyped", "y"),
    ]
    called = function("local", "f", "x at new", "y", inner)
    moved, _ = move(
        model([node("f", "x at new", "out", domain="local")], INPUTS, OUT, functions=[called], domains={"local": 1})
    )
    outputs = [name for each in moved.functions[0].node for name in each.output]
    assert len(set(outputs)) == len(outputs) == 4


def test_a_node_that_onnxruntime_computes_on_loading_is_not_moved_for_speed() -> None:
    nodes = [
        node("ConstantOfShape", "size", "zeros"),
        node("ScatterElements", "zeros rows ones", "first"),
        node("ScatterElements", "first at ones", "out"),
    ]
    constants = {"size": np.array([5000]), "rows": np.arange(5000), "ones": np.ones(5000, F32)}
    made = model(nodes, {"at": (I64, [5000])}, {"out": (F32, [5000])}, constants)
    assert [moved.label for moved in move_nodes(made, threads=1).moved] == ["ScatterElements (3/3)"]
