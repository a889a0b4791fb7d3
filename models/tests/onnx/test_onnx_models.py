"""Complete ONNX models: nodes of the family run on the package's kernels, all others in the onnx package."""

from __future__ import annotations

import re
import shutil
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import AttributeProto, TensorProto
from onnx.reference import ReferenceEvaluator

import gatherscatter as gs
import gatherscatter_models as gm
from gatherscatter.arrays.tensor_files import read_tensors
from gatherscatter_models.interface import ModelError, TensorInfo, name_inputs
from gatherscatter_models.onnx.inputs import check_input
from gatherscatter_models.onnx.running import ReferenceModel, SessionModel, load_onnx
from tests.support.onnx_graphs import function, graph, model, node, referring, scan_model
from tests.support.recording import record_versions

F32, I64 = np.float32, np.int64
load, run = partial(gm.load, engine="reference"), partial(gm.run, engine="reference")
RNG = np.random.default_rng(5)


def onnxruntime_run(made: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Use one thread, because with more, ScatterND adds duplicates in a race."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs), strict=True))


def reference_run(made: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    evaluator = ReferenceEvaluator(made)
    return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))


def assert_same(results: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert list(results) == list(expected)
    for name, result in results.items():
        assert result.dtype == expected[name].dtype
        np.testing.assert_allclose(result, expected[name], rtol=1e-5, atol=1e-6, strict=True)


@pytest.fixture
def versions_called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the op versions that run."""
    return record_versions(monkeypatch)


def message_passing() -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Return two rounds of a graph network and a read-out: 15 nodes, 6 of them in the family."""
    made = model(
        [
            node("Gather", "embedding kinds", "x", "look_up"),
            node("Gather", "x senders", "sent", "send", axis=0),
            node("MatMul", "sent weight", "messages"),
            node("Unsqueeze", "receivers one", "targets"),
            node("Mul", "x zero", "empty"),
            node("ScatterND", "empty targets messages", "summed", "receive", reduction="add"),
            node("Add", "x summed", "y"),
            node("Relu", "y", "z"),
            node("Transpose", "z", "z_t", perm=[1, 0]),
            node("TopK", "z_t k", "best best_at", axis=1),
            node("GatherElements", "z_t best_at", "again", "read_out", axis=1),
            node("Sub", "best again", "nothing"),
            node("ScatterElements", "z_t best_at best", "doubled", "write", axis=1, reduction="add"),
            node("GatherND", "doubled picks", "picked", "pick"),
            node("ReduceSum", "doubled", "total", keepdims=0),
        ],
        {"kinds": (I64, ["n"]), "senders": (I64, ["m"]), "receivers": (I64, ["m"])},
        {"doubled": (F32, None), "picked": (F32, None), "nothing": (F32, None), "total": (F32, [])},
        {
            "embedding": RNG.normal(size=(7, 4)).astype(F32),
            "weight": RNG.normal(size=(4, 4)).astype(F32),
            "one": np.array([1]),
            "zero": np.float32(0),
            "k": np.array([3]),
            "picks": np.array([[0, -1], [3, 2]]),
        },
    )
    inputs = {
        "kinds": RNG.integers(0, 7, 10),
        "senders": RNG.integers(0, 10, 40),
        "receivers": RNG.integers(-10, 10, 40),
    }
    return made, inputs


def test_whole_model_agrees_with_onnxruntime_and_the_reference(versions_called: list[str]) -> None:
    made, inputs = message_passing()
    results = run(made, inputs)
    assert versions_called == [
        *("onnx.Gather-13", "onnx.Gather-13", "onnx.ScatterND-18", "onnx.GatherElements-13"),
        *("onnx.ScatterElements-18", "onnx.GatherND-13"),
    ]
    assert_same(results, onnxruntime_run(made, inputs))
    assert_same(results, reference_run(made, inputs))


def test_what_a_model_says_about_itself() -> None:
    loaded = load(message_passing()[0])
    assert loaded.node_count == 15
    assert loaded.inputs == (
        TensorInfo("kinds", "int64", ("n",)),
        TensorInfo("senders", "int64", ("m",)),
        TensorInfo("receivers", "int64", ("m",)),
    )
    assert loaded.outputs[0] == TensorInfo("doubled", "float32", None)
    assert loaded.outputs[3] == TensorInfo("total", "float32", ())


def test_progress_names_every_top_level_node_before_it_runs() -> None:
    made, inputs = message_passing()
    seen: list[str] = []
    loaded = load(made)
    loaded.run(inputs, progress=seen.append)
    assert len(seen) == 15
    assert seen[0] == "Gather 'look_up' (1/15)"
    assert seen[2] == "MatMul (3/15)"
    assert seen[5] == "ScatterND 'receive' (6/15)"
    loaded.run(inputs)
    assert len(seen) == 15


def test_the_model_given_is_not_changed() -> None:
    made, inputs = message_passing()
    before = made.SerializeToString()
    run(made, inputs)
    assert made.SerializeToString() == before


def test_bytes_of_a_file_are_a_model() -> None:
    inputs = {"x": np.arange(6, dtype=F32).reshape(3, 2), "at": np.array([2, 0])}
    declared = {"x": (F32, [3, 2]), "at": (I64, [2])}
    content = model([node("Gather", "x at", "y")], declared, {"y": (F32, [2, 2])}).SerializeToString()
    np.testing.assert_array_equal(run(content, inputs)["y"], inputs["x"][[2, 0]])
    with pytest.raises(gm.ModelError, match="not an ONNX model, or a truncated one"):
        run(b"abc", {})


def test_inputs_in_order() -> None:
    made, inputs = message_passing()
    assert_same(run(made, list(inputs.values())), run(made, inputs))
    with pytest.raises(ModelError, match=r"the model has 3 inputs \(kinds, senders, receivers\), but got 1"):
        run(made, [inputs["kinds"]])


def test_narrow_types_that_numpy_saved_are_taken_where_the_type_is_known(tmp_path: Path) -> None:
    """np.save keeps the bytes of bfloat16 but not the name. The input of a model declares the type."""
    np.save(tmp_path / "x.npy", np.array([1, 2], ml_dtypes.bfloat16))
    raw = read_tensors(tmp_path / "x.npy")["x"]
    assert raw.dtype == np.dtype("V2")
    taken = check_input(TensorInfo("x", "bfloat16", (2,)), raw)
    assert taken.tolist() == [1, 2]
    with pytest.raises(ModelError, match="input 'x' must be float16; got void16"):
        check_input(TensorInfo("x", "float16", (2,)), raw)


def test_kv_cache_update() -> None:
    made = model(
        [
            node("MatMul", "token weight", "key"),
            node("TensorScatter", "past key position", "present", axis=1, mode="circular"),
            node("TensorScatter", "past key -", "at_start", axis=1),
            node("TensorScatter", "past key", "at_start_too", axis=1),
            node("ReduceMean", "present", "mean", keepdims=0),
        ],
        {"token": (F32, ["b", 2, 3]), "past": (F32, ["b", 5, 3]), "position": (I64, ["b"])},
        dict.fromkeys(("present", "at_start", "at_start_too", "mean"), (F32, None)),
        {"weight": RNG.normal(size=(3, 3)).astype(F32)},
        opset=24,
    )
    inputs = {
        "token": RNG.normal(size=(2, 2, 3)).astype(F32),
        "past": RNG.normal(size=(2, 5, 3)).astype(F32),
        "position": np.array([4, 1]),
    }
    assert_same(run(made, inputs), onnxruntime_run(made, inputs))


def by_branch() -> onnx.ModelProto:
    """Return an If with family nodes in both branches, which read values of the main graph."""
    then = graph(
        [node("ScatterND", "x at new", "then_out", "set", reduction="add")],
        {},
        {"then_out": (F32, ["n"])},
        {"new": np.array([10, 20], F32)},
        "then",
    )
    otherwise = graph([node("GatherND", "x at", "else_out", "get")], {}, {"else_out": (F32, ["n"])}, name="else")
    return model(
        [node("If", "flag", "y", "choose", then_branch=then, else_branch=otherwise), node("Neg", "y", "z")],
        {"flag": (np.bool_, []), "x": (F32, ["n"]), "at": (I64, [2, 1])},
        {"z": (F32, None)},
    )


@pytest.mark.parametrize("flag", [True, False])
def test_if(flag: bool, versions_called: list[str]) -> None:
    inputs = {"flag": np.array(flag), "x": np.arange(4, dtype=F32), "at": np.array([[1], [1]])}
    assert_same(run(by_branch(), inputs), onnxruntime_run(by_branch(), inputs))
    assert versions_called == ["onnx.ScatterND-18" if flag else "onnx.GatherND-13"]


def cumulative(trips: str, condition: str) -> onnx.ModelProto:
    """Return a Loop over a list of positions. Each step adds one row of updates and collects the current values."""
    body = graph(
        [
            node("Gather", "positions i", "position", "which"),
            node("Unsqueeze", "position zero", "tuple"),
            node("Gather", "updates i", "update"),
            node("ScatterND", "state tuple update", "next", "add", reduction="add"),
            node("Gather", "next position", "seen"),
            node("ReduceSum", "next", "sum", keepdims=0),
            node("Less", "sum most", "go_on"),
        ],
        {"i": (I64, []), "go": (np.bool_, []), "state": (F32, [4, 2])},
        {"go_on": (np.bool_, []), "next": (F32, [4, 2]), "seen": (F32, [2]), "sum": (F32, [])},
        name="body",
    )
    return model(
        [node("Loop", f"{trips} {condition} start", "end all_seen all_sums", "steps", body=body)],
        {
            "positions": (I64, ["n"]),
            "updates": (F32, ["n", 2]),
            "start": (F32, [4, 2]),
            "trips": (I64, []),
            "condition": (np.bool_, []),
            "most": (F32, []),
        },
        {"end": (F32, None), "all_seen": (F32, None), "all_sums": (F32, None)},
        {"zero": np.array([0])},
    )


@pytest.mark.parametrize("trips", ["trips", "-"])
@pytest.mark.parametrize("condition", ["condition", "-"])
@pytest.mark.parametrize(("count", "go", "most"), [(5, True, 99), (5, True, 6), (0, True, 99), (5, False, 99)])
def test_loop(trips: str, condition: str, count: int, go: bool, most: float) -> None:
    if trips == "-":
        most = min(most, 6)  # otherwise it would never end
    inputs = {
        "positions": np.array([2, 0, 2, -1, 3, 1, 1]),
        "updates": np.arange(14, dtype=F32).reshape(7, 2) / 4,
        "start": np.zeros((4, 2), F32),
        "trips": np.array(count),
        "condition": np.array(go),
        "most": np.array(most, F32),
    }
    made = cumulative(trips, condition)
    assert_same(run(made, inputs), onnxruntime_run(made, inputs))


def test_scan(versions_called: list[str]) -> None:
    made = scan_model()
    inputs = {
        "start": np.zeros(3, F32),
        "at_all": np.array([[0], [2], [-1], [0]]),
        "new_all": np.array([[1], [2], [3], [4]], F32),
    }
    assert_same(run(made, inputs), onnxruntime_run(made, inputs))
    assert len(versions_called) == 8


def test_loop_in_loop_in_if() -> None:
    inner = graph(
        [
            node("Identity", "inner_go", "inner_more"),
            node("Add", "j i", "where"),
            node("Unsqueeze", "where zero", "where_tuple"),
            node("ScatterND", "inner_x where_tuple one", "inner_y", reduction="add"),
        ],
        {"j": (I64, []), "inner_go": (np.bool_, []), "inner_x": (F32, [5])},
        {"inner_more": (np.bool_, []), "inner_y": (F32, [5])},
    )
    outer = graph(
        [node("Identity", "go", "more"), node("Loop", "three - x_in", "x_out", body=inner)],
        {"i": (I64, []), "go": (np.bool_, []), "x_in": (F32, [5])},
        {"more": (np.bool_, []), "x_out": (F32, [5])},
    )
    then = graph([node("Loop", "three - x", "then_y", body=outer)], {}, {"then_y": (F32, [5])})
    otherwise = graph([node("Identity", "x", "else_y")], {}, {"else_y": (F32, [5])})
    made = model(
        [node("If", "flag", "y", then_branch=then, else_branch=otherwise)],
        {"flag": (np.bool_, []), "x": (F32, [5])},
        {"y": (F32, [5])},
        {"zero": np.array([0]), "three": np.array(3), "one": np.float32(1)},
    )
    results = run(made, {"flag": np.array(True), "x": np.zeros(5, F32)})
    assert results["y"].tolist() == [1, 2, 3, 2, 1]


def test_a_subgraphs_own_constant_wins_over_a_name_outside() -> None:
    then = graph([node("Gather", "x k", "then_y")], {}, {"then_y": (F32, [])}, {"k": np.array(2)})
    otherwise = graph([node("Gather", "x k", "else_y")], {}, {"else_y": (F32, [])})
    made = model(
        [node("If", "flag", "y", then_branch=then, else_branch=otherwise)],
        {"flag": (np.bool_, []), "x": (F32, [3])},
        {"y": (F32, [])},
        {"k": np.array(1)},
    )
    x = np.array([10, 11, 12], F32)
    assert run(made, {"flag": np.array(True), "x": x})["y"] == 12
    assert run(made, {"flag": np.array(False), "x": x})["y"] == 11


def test_functions_of_other_opsets() -> None:
    """The same function body is used at opsets 11 and 18 in a model of opset 16. One function calls the other."""
    body = [node("ScatterND", "x at u", "y", "set")]
    old = function("my.old", "Put", "x at u", "y", body, opset=11)
    new = function(
        "my.new",
        "PutTwice",
        "x at u",
        "z",
        [node("Put", "x at u", "y", domain="my.old"), node("ScatterND", "y at u", "z", reduction="max")],
        opset=18,
        domains={"my.old": 1},
    )
    made = model(
        [node("PutTwice", "x at u", "a", domain="my.new"), node("ScatterND", "a at u", "b", reduction="add")],
        {"x": (F32, [4]), "at": (I64, [2, 1]), "u": (F32, [2])},
        {"a": (F32, [4]), "b": (F32, [4])},
        opset=16,
        functions=[new, old],  # callers first, because the order does not matter
        domains={"my.old": 1, "my.new": 1},
    )
    results = run(made, {"x": np.array([1, 2, 3, 4], F32), "at": np.array([[0], [0]]), "u": np.array([5, 6], F32)})
    assert results["a"].tolist() == [6, 2, 3, 4]
    assert results["b"].tolist() == [17, 2, 3, 4]


def test_function_attributes_reach_our_nodes() -> None:
    take = referring(node("Gather", "x at", "y"), "axis", "along", AttributeProto.INT)
    made = model(
        [
            node("Take", "x at", "a", domain="my"),
            node("Take", "x at", "b", domain="my", along=1),
            node("Take", "x at", "c", domain="my", along=-2),
        ],
        {"x": (F32, [2, 3]), "at": (I64, [1])},
        {"a": (F32, None), "b": (F32, None), "c": (F32, None)},
        functions=[function("my", "Take", "x at", "y", [take], defaults={"along": 0})],
        domains={"my": 1},
    )
    x, at = np.arange(6, dtype=F32).reshape(2, 3), np.array([1])
    results = run(made, {"x": x, "at": at})
    assert results["a"].tolist() == results["c"].tolist() == [[3, 4, 5]]
    assert results["b"].tolist() == [[1], [4]]


def test_function_with_an_input_left_out_and_a_subgraph() -> None:
    then = graph([node("TensorScatter", "past update where", "t", axis=1)], {}, {"t": (F32, None)})
    otherwise = graph([node("Identity", "past", "e")], {}, {"e": (F32, None)})
    body = [node("If", "flag", "present", then_branch=then, else_branch=otherwise)]
    made = model(
        [node("Put", "flag past update", "y", domain="my")],
        {"flag": (np.bool_, []), "past": (F32, [1, 2]), "update": (F32, [1, 1])},
        {"y": (F32, [1, 2])},
        opset=24,
        functions=[function("my", "Put", "flag past update where", "present", body, opset=24)],
        domains={"my": 1},
    )
    given = {"flag": np.array(True), "past": np.zeros((1, 2), F32), "update": np.ones((1, 1), F32)}
    assert run(made, given)["y"].tolist() == [[1, 0]]


def test_the_long_name_of_the_default_domain() -> None:
    made = model([node("Gather", "x at", "y", domain="ai.onnx")], {"x": (F32, [3]), "at": (I64, [])}, {"y": (F32, [])})
    made.opset_import[0].domain = "ai.onnx"
    assert run(made, {"x": np.array([1, 2, 3], F32), "at": np.array(-1)})["y"] == 3
    assert made.graph.node[0].domain == "ai.onnx"


def one_node(op_type: str, opset: int, dtype: Any = F32, **attributes: Any) -> onnx.ModelProto:
    return model(
        [node(op_type, "data at updates", "y", "it", **attributes)],
        {"data": (dtype, [3]), "at": (I64, [2] if "ND" not in op_type else [2, 1]), "updates": (dtype, [2])},
        {"y": (dtype, [3])},
        opset=opset,
    )


def given(op_type: str, dtype: Any = F32) -> dict[str, np.ndarray]:
    at = np.array([1, 1]) if "ND" not in op_type else np.array([[1], [1]])
    return {"data": np.array([1, 2, 3], dtype), "at": at, "updates": np.array([7, 4], dtype)}


def test_scatter_of_opset_10() -> None:
    for opset in (9, 10):
        made, inputs = one_node("Scatter", opset), given("Scatter")
        assert run(made, inputs)["y"].tolist() == [1, 4, 3]
        assert_same(run(made, inputs), onnxruntime_run(made, inputs))


def test_deprecated_scatter_runs_with_a_warning_o24() -> None:
    with pytest.warns(DeprecationWarning, match="onnx.Scatter-11 is deprecated; use onnx.ScatterElements"):
        assert run(one_node("Scatter", 13), given("Scatter"))["y"].tolist() == [1, 4, 3]


@pytest.mark.parametrize("op_type", ["ScatterND", "ScatterElements"])
def test_the_opset_decides_what_a_reduction_may_be(op_type: str) -> None:
    """There is none before 16; add and mul at 16; max and min from 18 on (O17: others run max at 16 as none)."""
    for opset in (11, 13):
        assert run(one_node(op_type, opset), given(op_type))["y"].tolist() == [1, 4, 3]
        with pytest.raises(ModelError, match=f"Unrecognized attribute: reduction for operator {op_type}"):
            run(one_node(op_type, opset, reduction="add"), given(op_type))
    for opset in (16, 17):
        assert run(one_node(op_type, opset, reduction="add"), given(op_type))["y"].tolist() == [1, 13, 3]
        with pytest.raises(ModelError, match=f"onnx.{op_type}-16: reduction must be one of"):
            run(one_node(op_type, opset, reduction="max"), given(op_type))
    for opset in (18, 21, onnx.defs.onnx_opset_version()):
        assert run(one_node(op_type, opset, reduction="max"), given(op_type))["y"].tolist() == [1, 7, 3]
        assert run(one_node(op_type, opset), given(op_type))["y"].tolist() == [1, 4, 3]


def test_the_opset_decides_which_types_there_are() -> None:
    bfloat16 = np.dtype(ml_dtypes.bfloat16)
    assert run(one_node("ScatterND", 13, bfloat16), given("ScatterND", bfloat16))["y"].tolist() == [1, 4, 3]
    with pytest.raises(ModelError, match=r"onnx.ScatterND-11: data can't be of type bfloat16"):
        run(one_node("ScatterND", 11, bfloat16), given("ScatterND", bfloat16))


def test_the_opset_decides_whether_gathernd_has_batch_dims() -> None:
    def made(opset: int) -> onnx.ModelProto:
        return model(
            [node("GatherND", "x at", "y", batch_dims=1)],
            {"x": (I64, [2, 2]), "at": (I64, [2, 1])},
            {"y": (I64, None)},
            opset=opset,
        )

    inputs = {"x": np.array([[1, 2], [3, 4]]), "at": np.array([[1], [0]])}
    assert run(made(12), inputs)["y"].tolist() == [2, 3]
    with pytest.raises(ModelError, match="Unrecognized attribute: batch_dims for operator GatherND"):
        run(made(11), inputs)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "int4", "uint4", "float4_e2m1fn", "bfloat16"])
def test_narrow_types_pass_through_a_model(name: str) -> None:
    dtype = np.dtype(name)
    made = model(
        [node("TensorScatter", "past update", "y", axis=1), node("Identity", "y", "z")],
        {"update": (dtype, [1, 2])},
        {"z": (dtype, [1, 3])},
        {"past": np.array([[1, 2, 3]]).astype(dtype)},
        opset=24,
    )
    results = run(made, {"update": np.array([[3, 1]]).astype(dtype)})
    assert results["z"].dtype == dtype
    assert results["z"].astype(F32).tolist() == [[3, 1, 3]]


def test_strings_pass_through_a_model() -> None:
    made = model(
        [node("Gather", "words at", "some"), node("StringConcat", "some suffix", "y")],
        {"at": (I64, [2]), "suffix": (object, [2])},
        {"y": (object, [2])},
        {"words": np.array(["beta", "", "gamma"], object)},
        opset=20,
    )
    for suffix in (np.array(["!", "?"]), ["!", "?"], np.array([b"!", b"?"]), np.array(["!", "?"], "T")):
        assert run(made, {"at": np.array([2, 0]), "suffix": suffix})["y"].tolist() == ["gamma!", "beta?"]


# Errors


def test_an_error_names_its_node_and_stays_what_it_is() -> None:
    made = message_passing()[0]
    inputs = {"kinds": np.arange(3), "senders": np.array([0, 1]), "receivers": np.array([1, 3])}
    with pytest.raises(gs.OpIndexError) as caught:
        run(made, inputs)
    assert caught.value.__notes__ == ["in node ScatterND 'receive' (6/15)"]
    assert caught.value.positions == ((1, 0),)
    assert caught.value.values == (3,)
    assert caught.value.allowed == (-3, 2)
    assert str(caught.value).startswith("onnx.ScatterND-18: indices[1, 0] = 3 is out of range")


def test_a_type_that_the_reduction_lacks_is_refused_before_the_run() -> None:
    made = model(
        [node("Put", "x at u", "y", "call", domain="my")],
        {"x": (np.complex64, [3]), "at": (I64, [1, 1]), "u": (np.complex64, [1])},
        {"y": (np.complex64, [3])},
        functions=[function("my", "Put", "x at u", "y", [node("ScatterND", "x at u", "y", "set", reduction="max")])],
        domains={"my": 1},
    )
    with pytest.raises(ModelError, match=r"'max' is not defined for .* complex64; in node ScatterND 'set' "):
        load(made)


def test_an_error_of_another_operator_names_its_node_too() -> None:
    made = model([node("MatMul", "x x", "y", "square")], {"x": (F32, [2, "n"])}, {"y": (F32, None)})
    with pytest.raises(ValueError, match="Unable to multiply") as caught:
        run(made, {"x": np.zeros((2, 3), F32)})
    assert caught.value.__notes__ == ["in node MatMul 'square' (1/1)"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "inputs without an array: 'x', 'at'"),
        ({"x": np.zeros((2, 3), F32)}, "input without an array: 'at'"),
        ({"x": np.zeros((2, 3), F32), "at": [0], "z": 1}, "the model has no input 'z'; its inputs are 'x', 'at', 'w'"),
        ({"x": np.zeros((2, 3)), "at": [0]}, "input 'x' must be float32; got float64"),
        ({"x": np.zeros((2, 3), F32), "at": np.array([0], np.int32)}, "input 'at' must be int64; got int32"),
        ({"x": np.zeros((2, 3), F32), "at": [0.5]}, "input 'at' must be int64; got float64"),
        ({"x": np.zeros((2, 3), F32), "at": [2**70]}, "input 'at' can't become an array of int64"),
        ({"x": [[1, 2], [3]], "at": [0]}, "input 'x' can't become an array of float32"),
        ({"x": np.zeros((3, 3), F32), "at": [0]}, r"input 'x' must have shape \[2, n\]; got \[3, 3\]"),
        ({"x": np.zeros((2, 3, 1), F32), "at": [0]}, r"input 'x' must have shape \[2, n\]; got \[2, 3, 1\]"),
        ({"x": np.zeros((2, 3), F32), "at": [0], "w": np.zeros(3, F32)}, r"input 'w' must have shape \[2\]; got \[3\]"),
    ],
)
def test_inputs_are_checked_before_anything_runs(inputs: dict[str, Any], message: str) -> None:
    made = model(
        [node("Gather", "x at", "y")],
        {"x": (F32, [2, "n"]), "at": (I64, [None]), "w": (F32, [2])},
        {"y": (F32, None)},
        {"w": np.zeros(2, F32)},
    )
    with pytest.raises(ModelError, match=message) as caught:
        run(made, inputs)
    assert "\n" not in str(caught.value)


def test_lists_and_foreign_layouts_are_taken() -> None:
    made = model(
        [node("Add", "x zero", "z"), node("ScatterND", "z at u", "y")],
        {"x": (F32, [3]), "at": (I64, [1, 1]), "u": (F32, [1])},
        {"y": (F32, [3])},
        {"zero": np.float32(0)},
    )
    for x in ([1, 2, 3], (1.0, 2.0, 3.0), np.array([1, 2, 3], ">f4"), np.array([1, 0, 2, 0, 3], F32)[::2]):
        assert run(made, {"x": x, "at": [[0]], "u": [9]})["y"].tolist() == [9, 2, 3]


def test_an_input_with_a_default_may_be_given_or_not() -> None:
    made = model(
        [node("Gather", "x at", "y")], {"x": (F32, [2]), "at": (I64, [])}, {"y": (F32, [])}, {"at": np.array(1)}
    )
    loaded = load(made)
    assert [info.name for info in loaded.inputs] == ["x"]
    x = np.array([5, 6], F32)
    assert loaded.run({"x": x})["y"] == 6
    assert loaded.run({"x": x, "at": np.array(0)})["y"] == 5


def test_a_constant_that_is_an_output_cannot_be_written_to() -> None:
    constant = onnx.helper.make_tensor("c", TensorProto.FLOAT, [2], [1, 2])
    made = model([node("Neg", "c", "y")], {}, {"c": (F32, [2]), "y": (F32, [2])})
    made.graph.initializer.append(constant)
    loaded = load(made)
    with pytest.raises(ValueError, match="read-only"):
        loaded.run({})["c"][0] = 5
    assert loaded.run({})["y"].tolist() == [-1, -2]


def test_negative_declared_dims_are_unknown_ones() -> None:
    made = model([node("Identity", "x", "y")], {"x": (F32, [-1, 2])}, {"y": (F32, None)})
    assert load(made).inputs[0].shape == (None, 2)


# Files


@pytest.fixture
def stored(tmp_path: Path) -> tuple[Path, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return a model with external data, its inputs, and the expected results."""
    made, inputs = message_passing()
    path = tmp_path / "model.onnx"
    expected = run(made, inputs)
    onnx.save_model(made, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path, inputs, expected


Stored = tuple[Path, dict[str, np.ndarray], dict[str, np.ndarray]]


def test_external_data(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    path, inputs, expected = stored
    assert (path.parent / "weights.bin").stat().st_size > 100
    assert_same(run(path, inputs), expected)
    assert_same(run(str(path), inputs), expected)
    monkeypatch.chdir(path.parent)
    assert_same(run("model.onnx", inputs), expected)


def test_external_data_in_a_subfolder(stored: Stored) -> None:
    path, inputs, expected = stored
    (path.parent / "data").mkdir()
    (path.parent / "weights.bin").rename(path.parent / "data" / "weights.bin")
    made = onnx.load(path, load_external_data=False)
    for tensor in made.graph.initializer:
        tensor.external_data[0].value = "data/weights.bin"
    path.write_bytes(made.SerializeToString())
    assert_same(run(path, inputs), expected)


def test_external_data_behind_the_links_of_a_model_cache(stored: Stored, tmp_path: Path) -> None:
    """snapshots/model.onnx and snapshots/weights.bin link to files in blobs/, as in download caches."""
    path, inputs, expected = stored
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshots").mkdir()
    for name in ("model.onnx", "weights.bin"):
        shutil.move(path.parent / name, tmp_path / "blobs" / f"{name}-hash")
        (tmp_path / "snapshots" / name).symlink_to(Path("..") / "blobs" / f"{name}-hash")
    assert_same(run(tmp_path / "snapshots" / "model.onnx", inputs), expected)


def test_external_data_of_every_kind(tmp_path: Path) -> None:
    """The data is in the main graph, a constant or a subgraph; with packed types; without offset and length."""
    int4 = np.dtype(ml_dtypes.int4)
    (tmp_path / "floats.bin").write_bytes(np.arange(4, dtype="<f4").tobytes())
    (tmp_path / "packed.bin").write_bytes(bytes([0xFF, 0x21, 0x03]))

    def external(name: str, data_type: int, file: str, **more: int) -> TensorProto:
        tensor = TensorProto(name=name, data_type=data_type, dims=[3], data_location=TensorProto.EXTERNAL)
        for key, value in {"location": file, **more}.items():
            tensor.external_data.add(key=key, value=str(value))
        return tensor

    then = graph([node("Gather", "inside at", "then_y")], {}, {"then_y": (F32, [])})
    then.initializer.append(external("inside", TensorProto.FLOAT, "floats.bin", offset=4, length=12))
    otherwise = graph([node("Identity", "zero", "else_y")], {}, {"else_y": (F32, [])})
    made = model(
        [
            node("Constant", "", "constant", value=external("", TensorProto.FLOAT, "floats.bin")),
            node("Gather", "constant at", "a"),
            node("If", "flag", "b", then_branch=then, else_branch=otherwise),
            node("Identity", "packed", "c"),
        ],
        {"at": (I64, []), "flag": (np.bool_, [])},
        {"a": (F32, []), "b": (F32, []), "c": (int4, [3])},
        {"zero": np.float32(0)},
        opset=24,
    )
    made.graph.initializer.append(external("packed", TensorProto.INT4, "packed.bin", offset=1, length=2))
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())
    results = run(path, {"at": np.array(-1), "flag": np.array(True)})
    assert (results["a"], results["b"]) == (2, 3)
    assert results["c"].astype(int).tolist() == [1, 2, 3]


def test_a_file_is_told_by_its_content_when_its_name_doesnt(tmp_path: Path) -> None:
    made, inputs = message_passing()
    path = tmp_path / "model.bin"
    path.write_bytes(made.SerializeToString())
    assert_same(run(path, inputs), run(made, inputs))
    pytest.importorskip("openvino")
    (tmp_path / "model.net").write_bytes(b"\xef\xbb\xbf \n<?xml version='1.0'?><net/>")
    with pytest.raises(ModelError):
        load(tmp_path / "model.net")


def test_engines(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    made = one_node("ScatterND", 18, reduction="add")
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())
    for source in (path, made):
        for engine in ("auto", "onnxruntime", "reference", "openvino"):
            assert run(source, given("ScatterND"), engine=engine)["y"].tolist() == [1, 13, 3]
    assert isinstance(gm.load(made), SessionModel)
    assert isinstance(load(made), ReferenceModel)
    with pytest.raises(ValueError, match="engine must be one of auto, onnxruntime, reference, openvino; got 'gpu'"):
        load(path, engine="gpu")


def test_a_model_that_onnxruntime_refuses_runs_on_the_reference_evaluator() -> None:
    bfloat16 = np.dtype(ml_dtypes.bfloat16)
    made = model([node("Mul", "x x", "y", "square")], {"x": (bfloat16, [2])}, {"y": (bfloat16, [2])})
    inputs = {"x": np.array([2, 3], bfloat16)}
    reason = "ONNX Runtime has no kernel for Mul 'square' (1/1)"
    with pytest.warns(UserWarning, match="the reference evaluator runs the model") as caught:
        assert gm.run(made, inputs)["y"].tolist() == [4, 9]
    assert [str(each.message) for each in caught] == [f"the reference evaluator runs the model, because {reason}"]
    assert caught[0].filename == __file__
    with pytest.raises(ModelError, match=re.escape(reason)):
        gm.run(made, inputs, engine="onnxruntime")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(made, inputs)["y"].tolist() == [4, 9]


def test_an_error_of_onnxruntime_names_its_node() -> None:
    made = model([node("Reshape", "x shape", "y", "fold")], {"x": (F32, [4]), "shape": (I64, [1])}, {"y": (F32, None)})
    with pytest.raises(ModelError, match="cannot be reshaped to the requested shape") as caught:
        gm.run(made, {"x": np.zeros(4, F32), "shape": np.array([3])})
    assert caught.value.__notes__ == ["in node Reshape 'fold'"]
    assert str(caught.value).isprintable()


def test_sequence_inputs_get_the_models_names() -> None:
    infos = (TensorInfo("a", "float32", None), TensorInfo("b", "float32", None))
    assert name_inputs(infos, [1, 2]) == {"a": 1, "b": 2}
    assert name_inputs(infos, {"b": 2}) == {"b": 2}


def test_only_paths_and_models_are_loaded() -> None:
    with pytest.raises(TypeError, match="int"):
        load_onnx(3)  # type: ignore[arg-type]


def test_infinities_dont_warn() -> None:
    made = model([node("Div", "x x", "y")], {"x": (F32, [2])}, {"y": (F32, [2])})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(run(made, {"x": np.zeros(2, F32)})["y"]).all()


def test_a_model_runs_in_several_threads_at_once() -> None:
    from concurrent.futures import ThreadPoolExecutor

    made, inputs = message_passing()
    loaded = load(made)
    expected = loaded.run(inputs)
    seen: list[list[str]] = [[] for _ in range(8)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda names: loaded.run(inputs, names.append), seen))
    for result, names in zip(results, seen, strict=True):
        assert_same(result, expected)
        assert len(names) == 15
