"""Whole models with operators of the domain `gatherscatter` in ordinary sessions of ONNX Runtime."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.backend.test.case.test_case import TestCase as NodeCase
from onnx.backend.test.loader import load_model_tests

import gatherscatter as gs
from models.tests.onnx.native.sessions import DOMAIN, LIBRARY, MINOR, model, node, op_error, options, run_node, session
from tests.support.judge import outcome

F32, I64, BOOL, TEXT = np.float32, np.int64, np.bool_, np.object_
InvalidArgument = onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument

SCATTER_ND = {"d": (F32, ["N"]), "i": (I64, [None, 1]), "u": (F32, [None])}
TWICE = {
    "d": np.zeros(3, F32),
    "i": np.array([[1], [1], [2]]),
    "u": np.array([1, 2, 4], F32),
}  # ONNX Runtime's node may lose one of the two additions


def sums(**attributes: Any) -> onnx.NodeProto:
    return node("ScatterND", ["d", "i", "u"], name="sums", **{"reduction": "add", "opset": 18, **attributes})


# ------------------------------------------------------------------------------------------------------- the family


def _load_node_tests() -> list[NodeCase]:
    family = {row.op_type for row in gs.ops() if row.domain == "onnx"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other operators' cases divide by zero
        cases = load_model_tests(kind="node")
    return [case for case in cases if [each.op_type in family for each in case.model.graph.node] == [True]]


NODE_TESTS = _load_node_tests()


def test_there_are_29_node_tests_of_the_family() -> None:
    assert len(NODE_TESTS) == 29


@pytest.mark.parametrize("case", NODE_TESTS, ids=lambda case: case.name)
def test_node_of_onnx_in_the_domain(case: NodeCase) -> None:
    moved = onnx.ModelProto()
    moved.CopyFrom(case.model)
    for each in moved.graph.node:
        each.domain = DOMAIN
        each.attribute.append(helper.make_attribute("opset", moved.opset_import[0].version))
    moved.opset_import[0].version = min(moved.opset_import[0].version, 18)  # no node needs a later one
    moved.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    moved.ir_version = min(moved.ir_version, 10)
    ready = session(moved)
    for inputs, outputs in case.data_sets:
        names = [each.name for each in ready.get_inputs()]
        results = ready.run(None, dict(zip(names, inputs, strict=True)))
        for result, expected in zip(results, outputs, strict=True):
            np.testing.assert_array_equal(result, expected, strict=True)


# ----------------------------------------------------------------------------------------------- where nodes stand


def test_bodies_of_if() -> None:
    other = helper.make_node("Identity", ["d"], ["y"])
    bodies = {
        f"{name}_branch": helper.make_graph(
            [each], name, [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
        )
        for name, each in (("then", sums()), ("else", other))
    }
    made = model(
        [helper.make_node("If", ["flag"], ["y"], **bodies)], {"flag": (BOOL, []), **SCATTER_ND}, {"y": (F32, None)}
    )
    ready = session(made)
    assert ready.run(None, {"flag": np.array(True), **TWICE})[0].tolist() == [0, 3, 4]
    assert ready.run(None, {"flag": np.array(False), **TWICE})[0].tolist() == [0, 0, 0]


def loop_model() -> onnx.ModelProto:
    """Return a model with y = d plus the updates, added 5 times."""
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            node("ScatterND", ["before", "i", "u"], "after", reduction="add"),
            helper.make_node("Identity", ["go"], ["goes"]),
        ],
        "body",
        [info("n", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("before", TensorProto.FLOAT, None)],
        [info("goes", TensorProto.BOOL, []), info("after", TensorProto.FLOAT, None)],
    )
    loop = helper.make_node("Loop", ["times", "", "d"], ["y"], body=body)
    return model([loop], SCATTER_ND, {"y": (F32, None)}, {"times": np.array(5)})


def test_bodies_of_loop() -> None:
    ready = session(loop_model())
    n = 100_000
    feeds = {"d": np.zeros(4, F32), "i": np.arange(n)[:, None] % 4, "u": np.ones(n, F32)}
    for _ in range(10):
        assert ready.run(None, feeds)[0].tolist() == [125_000.0] * 4


def test_functions() -> None:
    made_of = helper.make_function(
        "my", "f", ["d", "i", "u"], ["y"], [sums()], [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    )
    call = helper.make_node("f", ["d", "i", "u"], ["y"], domain="my")
    made = model([call], SCATTER_ND, {"y": (F32, None)}, functions=[made_of])
    made.opset_import.append(helper.make_opsetid("my", 1))
    assert session(made).run(None, TWICE)[0].tolist() == [0, 3, 4]


def test_constant_inputs_are_folded() -> None:
    made = model([sums()], {}, {"y": (F32, None)}, TWICE)
    assert session(made).run(None, {})[0].tolist() == [0, 3, 4]


# ------------------------------------------------------------------------------------------------------- in place


def in_place_model(op_type: str, reduction: str, *behind: onnx.NodeProto, dtype: Any = F32) -> onnx.ModelProto:
    """Return a scatter that is the only reader of a node's result, so that ONNX Runtime lets it overwrite that."""
    first = helper.make_node("Identity" if dtype == TEXT else "Neg", ["d"], ["own"])
    scatter = node(op_type, ["own", "i", "u"], reduction=reduction)
    inputs = {"d": (dtype, [None]), "i": (I64, None), "u": (dtype, [None])}
    return model([first, scatter, *behind], inputs, {"y": (dtype, None)})


@pytest.mark.parametrize("op_type", ["ScatterND", "ScatterElements"])
@pytest.mark.parametrize("reduction", ["none", "add", "mean"])
def test_in_place_gives_the_same(op_type: str, reduction: str) -> None:
    rng = np.random.default_rng(0)
    for size, count in ((5, 9), (1000, 300_000)):
        data, updates = rng.standard_normal(size).astype(F32), rng.standard_normal(count).astype(F32)
        indices = rng.integers(-size, size, count)
        indices = indices[:, None] if op_type == "ScatterND" else indices
        ready = session(in_place_model(op_type, reduction))
        before = data.copy()
        result = ready.run(None, {"d": data, "i": indices, "u": updates})[0]
        function = gs.scatter_nd if op_type == "ScatterND" else gs.scatter_elements
        expected = function(-before, indices, updates, reduction=reduction)
        assert result.tobytes() == expected.tobytes()
        assert data.tobytes() == before.tobytes()


def test_in_place_strings() -> None:
    made = model(
        [
            node("Gather", ["d", "all"], "own"),
            node("ScatterElements", ["own", "i", "u"], "first", reduction="add"),
            node("ScatterElements", ["first", "i", "u"], reduction="none"),
        ],
        {"d": (TEXT, [None]), "i": (I64, [None]), "u": (TEXT, [None])},
        {"y": (TEXT, None)},
        {"all": np.arange(3)},
    )
    feeds = {"d": np.array(["a", "b\0c", ""], TEXT), "i": np.array([0, 2, 0]), "u": np.array(["x", "y", "z"], TEXT)}
    assert session(made).run(None, feeds)[0].tolist() == ["z", "b\0c", "y"]


def test_data_and_updates_may_be_one_tensor() -> None:
    made = model(
        [helper.make_node("Neg", ["d"], ["own"]), node("ScatterElements", ["own", "i", "own"], reduction="add")],
        {"d": (F32, [4]), "i": (I64, [4])},
        {"y": (F32, None)},
    )
    result = session(made).run(None, {"d": np.arange(4, dtype=F32), "i": np.array([1, 1, 1, 1])})[0]
    assert result.tolist() == [0, -7, -2, -3]


def test_data_that_another_node_reads_stay() -> None:
    made = model(
        [
            helper.make_node("Neg", ["d"], ["own"]),
            node("ScatterElements", ["own", "i", "u"], "s", reduction="add"),
            helper.make_node("Sub", ["s", "own"], ["y"]),
        ],
        {"d": (F32, [4]), "i": (I64, [4]), "u": (F32, [4])},
        {"y": (F32, None)},
    )
    feeds = {"d": np.arange(4, dtype=F32), "i": np.array([1, 1, 3, 1]), "u": np.ones(4, F32)}
    assert session(made).run(None, feeds)[0].tolist() == [0, 3, 0, 1]


# ------------------------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("op_type", ["ScatterND", "ScatterElements", "Gather", "GatherReduce", "GatherQuantized"])
def test_the_bits_are_the_same_for_any_number_of_threads(op_type: str) -> None:
    rng = np.random.default_rng(1)
    data, updates = rng.standard_normal((5000, 16)).astype(F32), rng.standard_normal((100_000, 16)).astype(F32)
    numbers = rng.integers(0, 5000, 100_000)
    boxes = {"ScatterND": numbers[:, None], "ScatterElements": np.repeat(numbers[:, None], 16, 1)}
    indices = boxes.get(op_type, numbers)
    feeds = {"d": data, "i": indices, "u": updates, "s": numbers // 7, "c": np.int8(data * 30), "x": data[:, :1]}
    names = {"Gather": "d i", "GatherReduce": "d i  s", "GatherQuantized": "c i x"}.get(op_type, "d i u").split(" ")
    attributes = {"reduction": "add"} if op_type not in ("Gather", "GatherQuantized") else {}
    inputs = {name: (feeds[name].dtype, [None] * feeds[name].ndim) for name in names if name}
    made = model([node(op_type, names, **attributes)], inputs, {"y": (F32, None)})
    used = {name: feeds[name] for name in inputs}
    results = set()
    for threads in (1, 2, 8):
        ready = session(made, options(intra_op_num_threads=threads))
        results |= {ready.run(None, used)[0].tobytes() for _ in range(5)}
    assert len(results) == 1


def test_eight_threads_share_a_session() -> None:
    ready = session(model([sums()], SCATTER_ND, {"y": (F32, None)}))

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        size, count = int(rng.integers(1, 50)), int(rng.integers(1, 60_000))
        data, updates = rng.standard_normal(size).astype(F32), rng.standard_normal(count).astype(F32)
        indices = rng.integers(0, size, (count, 1))
        if seed % 5 == 0:
            indices[-1] = size
            with pytest.raises(InvalidArgument, match=rf"indices\[{count - 1}, 0\] = {size} is out of range"):
                ready.run(None, {"d": data, "i": indices, "u": updates})
        else:
            result = ready.run(None, {"d": data, "i": indices, "u": updates})[0]
            assert result.tobytes() == gs.scatter_nd(data, indices, updates, reduction="add").tobytes()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(200)))


@pytest.mark.parametrize("count", [4, 400_000])
def test_subnormal_numbers_stay_where_the_session_flushes_them(count: int) -> None:
    tiny = np.float32(1e-41)
    feeds = {"d": np.zeros(2, F32), "i": np.arange(count)[:, None] % 2, "u": np.full(count, tiny, F32)}
    made = model([sums()], SCATTER_ND, {"y": (F32, None)})
    flushing = options()
    flushing.add_session_config_entry("session.set_denormal_as_zero", "1")
    expected = gs.scatter_nd(feeds["d"], feeds["i"], feeds["u"], reduction="add")
    assert expected[0] > 0
    assert session(made, flushing).run(None, feeds)[0].tobytes() == expected.tobytes()


def test_run_async() -> None:
    """Check a result and an error on a thread of ONNX Runtime."""
    ready = session(model([sums()], SCATTER_ND, {"y": (F32, None)}), options(intra_op_num_threads=2))
    for feeds, expected in ((TWICE, [0, 3, 4]), ({**TWICE, "i": np.array([[0], [7], [1]])}, "indices[1, 0] = 7")):
        done, got = threading.Event(), []

        def take(results: Any, _: Any, error: str, got: list[Any] = got, done: threading.Event = done) -> None:
            got.append(error or results[0].tolist())
            done.set()

        ready.run_async(None, feeds, take, None)
        assert done.wait(60)
        assert got == [expected] if isinstance(expected, list) else expected in got[0]


def test_io_binding() -> None:
    ready = session(model([sums()], SCATTER_ND, {"y": (F32, None)}))
    binding = ready.io_binding()
    for name, array in TWICE.items():
        binding.bind_cpu_input(name, array)
    binding.bind_output("y")
    ready.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].tolist() == [0, 3, 4]


# -------------------------------------------------------------------------------------------------------- shapes


def inferred(nodes: list[onnx.NodeProto], inputs: dict[str, Any], **constants: np.ndarray) -> list[Any] | None:
    """Return the shape of y that ONNX Runtime infers."""
    ready = session(model(nodes, inputs, {"y": (F32, None)}, constants))
    return [dim if not isinstance(dim, str) or not dim.startswith("gatherscatter_") else "?"
            for dim in ready.get_outputs()[0].shape]  # fmt: skip


@pytest.mark.parametrize(
    ("made", "shapes", "expected"),
    [
        (node("Gather", ["a", "b"], axis=1, opset=13), {"a": ["N", 5, 3], "b": [2, "M"]}, ["N", 2, "M", 3]),
        (node("Gather", ["a", "b"], axis=-1), {"a": ["N", None], "b": [None]}, ["N", "?"]),
        (node("Gather", ["a", "b"], axis=1, batch_dims=1), {"a": [4, 5, 3], "b": [4, 2]}, [4, 2, 3]),
        (node("GatherElements", ["a", "b"], axis=1), {"a": ["N", 5], "b": [2, "M"]}, [2, "M"]),
        (node("GatherND", ["a", "b"], opset=13), {"a": ["N", 5, 3], "b": ["M", 2]}, ["M", 3]),
        (node("GatherND", ["a", "b"], batch_dims=1), {"a": [4, 5, 3], "b": [4, "M", 1]}, [4, "M", 3]),
        (node("ScatterND", ["a", "b", "c"]), {"a": ["N", 5], "b": None, "c": None}, ["N", 5]),
        (node("TensorScatter", ["a", "c"]), {"a": [2, "N", 5], "c": None}, [2, "N", 5]),
        (node("TensorScatter", ["a", "c", "b"]), {"a": [2, "N", 5], "c": None, "b": [2]}, [2, "N", 5]),
        (node("GatherReduce", ["a", "b"]), {"a": ["N", 5], "b": ["B", 7]}, ["B", 5]),
        (node("GatherReduce", ["a", "b"], keepdims=1), {"a": ["N", 5], "b": ["B", 7]}, ["B", 1, 5]),
        (node("GatherReduce", ["a", "b", "o"]), {"a": ["N", 5], "b": [None], "o": ["B"]}, ["B", 5]),
        (node("GatherReduce", ["a", "b", "", "o"]), {"a": ["N", 5], "b": [None], "o": ["M"]}, ["?", 5]),
        (node("GatherReduce", ["a", "b", "", "o"], num_segments=9), {"a": ["N", 5], "b": [None], "o": ["M"]}, [9, 5]),
        (
            node("GatherReduce", ["a", "b", "", "o", "", "c"]),
            {"a": ["N", 5], "b": [None], "o": ["M"], "c": ["S", 5]},
            ["S", 5],
        ),
        (node("GatherQuantized", ["q", "b", "c"]), {"q": ["N", 5], "b": ["B", 7], "c": None}, ["B", 7, 10]),
        (node("GatherQuantized", ["q", "b", "c"], bits=8), {"q": ["N", 5], "b": ["B"], "c": None}, ["B", 5]),
        (node("GatherQuantized", ["q", "b", "c"], bits=2), {"q": [3, "M"], "b": ["B"], "c": None}, ["B", "?"]),
        (node("GatherQuantized", ["w", "b", "c"], axis=1), {"w": ["N", 5], "b": ["B"], "c": None}, ["N", "B"]),
    ],
    ids=lambda value: str(value) if isinstance(value, list) else getattr(value, "op_type", ""),
)
def test_shapes_that_are_known_before_a_run(made: onnx.NodeProto, shapes: dict[str, Any], expected: list[Any]) -> None:
    if MINOR < 24 and made.op_type in ("TensorScatter", "GatherReduce", "GatherQuantized"):
        pytest.skip("this ONNX Runtime can't describe inputs if one is absent")
    types = {"a": F32, "b": I64, "c": F32, "o": I64, "q": np.uint8, "w": np.int8}
    inputs = {name: (types[name], shape) for name, shape in shapes.items()}
    assert inferred([made], inputs) == expected


def test_a_size_that_is_not_known_is_not_taken_for_minus_one() -> None:
    """ONNX Runtime folds Shape if it considers sizes known."""
    nodes = [
        node("Gather", ["d", "i"], "g"),
        helper.make_node("Shape", ["g"], ["s"]),
        helper.make_node("ConstantOfShape", ["s"], ["zeros"]),
        helper.make_node("Add", ["g", "zeros"], ["y"]),
    ]
    made = model(nodes, {"d": (F32, [None, 3]), "i": (I64, [None])}, {"y": (F32, None)})
    data = np.arange(6, dtype=F32).reshape(2, 3)
    ready = session(made)
    for count in (1, 4):
        assert ready.run(None, {"d": data, "i": np.ones(count, I64)})[0].tolist() == [data[1].tolist()] * count


def test_scalar_indices_of_known_and_unknown_rank() -> None:
    made = model([node("Gather", ["d", "i"])], {"d": (F32, [2, 3]), "i": (I64, [])}, {"y": (F32, None)})
    assert session(made).run(None, {"d": np.ones((2, 3), F32), "i": np.array(1)})[0].tolist() == [1, 1, 1]
    made = model([node("Gather", ["d", "i"])], {"d": (F32, [2, 3]), "i": (I64, None)}, {"y": (F32, None)})
    assert session(made).run(None, {"d": np.ones((2, 3), F32), "i": np.array([[1]])})[0].shape == (1, 1, 3)


def test_types_are_known_to_the_nodes_behind() -> None:
    """The type is that of the data, even if ranks are unknown."""
    for dtype in (np.float64, np.int32, np.uint8):
        nodes = [node("Gather", ["d", "i"], "g"), helper.make_node("Mul", ["g", "g"], ["y"])]
        made = model(nodes, {"d": (dtype, None), "i": (I64, None)}, {"y": (dtype, None)})
        assert session(made).run(None, {"d": np.array([2, 3], dtype), "i": np.array(1)})[0] == 9


# -------------------------------------------------------------------------------------------------------- errors


def test_an_error_names_the_node_and_the_position() -> None:
    ready = session(model([sums()], SCATTER_ND, {"y": (F32, None)}))
    with pytest.raises(InvalidArgument) as caught:
        ready.run(None, {**TWICE, "i": np.array([[0], [7], [1]])})
    assert "Name:'sums'" in str(caught.value)
    assert str(caught.value).endswith(
        "IndexError: onnx.ScatterND-18: indices[1, 0] = 7 is out of range for axis 0 of data with size 3 (valid: -3..2)"
    )
    assert isinstance(op_error(caught.value), gs.OpIndexError)
    assert ready.run(None, TWICE)[0].tolist() == [0, 3, 4]


@pytest.mark.parametrize(
    ("inputs", "attributes", "sentence"),
    [
        ("d i u", {"opset": 5}, "onnx.ScatterND does not exist in opset 5; opset 11 introduced it"),
        ("d i u", {"opset": -(2**63)}, f"onnx.ScatterND does not exist in opset {-(2**63)}; opset 11 introduced it"),
        ("d i u", {"opset": 2**63 - 1, "reduction": "mean"}, "reduction must be one of 'none', 'add', 'mul', 'max'"),
        ("d i u", {"opset": "18"}, "gatherscatter.ScatterND: opset must be of type int, not str"),
        ("d i u", {"reduction": 7}, "gatherscatter.ScatterND: reduction must be of type string, not int"),
        ("d i u", {"reduction": ""}, "reduction must be one of 'none', 'add', 'sub'"),
        ("d i u", {"reduction": "x" * 100_000}, "reduction must be one of 'none', 'add', 'sub'"),
        ("d i u", {"reduction": "it's \n\x01\u00e9"}, "not \"it's \\n\\x01"),
        ("d i u", {"include_self": 2}, "include_self must be True or False, not 2"),
        ("d i u", {"mode": "fill"}, "mode must be one of 'raise', 'wrap', 'clip', 'drop', not 'fill'"),
        ("d i u", {"axis": 0}, "gatherscatter.ScatterND has no attribute 'axis'"),
        ("d i u", {"axis": np.zeros(3, F32)}, "gatherscatter.ScatterND has no attribute 'axis'"),
        ("d i u", {"keepdims": 1, "opset": 18}, "onnx.ScatterND-18 has no attribute 'keepdims' (attributes:"),
        ("d i d", {}, "updates has shape (3,), but must have (2,)"),
        ("d u u", {}, "indices must be integers, not float32"),
        ("d i i", {}, "updates must have the same type as data (float32), not int64"),
        ("s i u", {}, "data must have at least one dimension"),
        ("d s u", {}, "indices must be integers"),
    ],
)
def test_what_is_wrong_is_said(inputs: str, attributes: dict[str, Any], sentence: str) -> None:
    feeds = {"d": np.zeros(3, F32), "i": np.zeros((2, 1), I64), "u": np.zeros(2, F32), "s": np.zeros((), F32)}
    result = outcome(run_node, "ScatterND", [feeds[name] for name in inputs.split()], attributes)
    assert isinstance(result, gs.OpError), result
    assert sentence in str(result)


def test_a_wrong_tensor_attribute_is_said() -> None:
    made = node("Gather", ["d", "i"], axis=1)
    made.attribute[0].CopyFrom(helper.make_attribute("axis", helper.make_tensor("t", 1, [1], [1.0])))
    ready = session(model([made], {"d": (F32, [3]), "i": (I64, [1])}, {"y": (F32, None)}))
    with pytest.raises(InvalidArgument, match=r"gatherscatter\.Gather: axis must be of type int, not list"):
        ready.run(None, {"d": np.zeros(3, F32), "i": np.zeros(1, I64)})


def test_inputs_that_are_missing_are_refused_when_the_session_is_made() -> None:
    for inputs in (["d"], ["d", ""], []):
        with pytest.raises(Exception, match="Gather"):
            session(model([node("Gather", inputs)], {"d": (F32, [3])}, {"y": (F32, None)}))


def test_constants_with_a_bad_index_are_refused_when_they_are_folded() -> None:
    made = model([sums()], {}, {"y": (F32, None)}, {**TWICE, "i": np.array([[0], [9], [1]])})
    with pytest.raises(Exception, match=r"onnx.ScatterND-18: indices\[1, 0\] = 9 is out of range"):
        session(made).run(None, {})


@pytest.mark.parametrize("size", [0, 1])
def test_empty_tensors(size: int) -> None:
    data, indices = np.ones((3, size, 2), F32), np.zeros((0,), I64)
    assert run_node("Gather", [data, indices], {"axis": 1}).shape == (3, 0, 2)
    assert run_node("GatherND", [data, np.zeros((0, 3), I64)], {}).shape == (0,)
    updates = np.zeros((0,), F32)
    assert run_node("ScatterND", [data, np.zeros((0, 3), I64), updates], {"reduction": "add"}).tolist() == data.tolist()
    assert run_node("GatherReduce", [data, np.zeros((0, 4), I64)], {}).shape == (0, size, 2)
    assert run_node("GatherReduce", [data, indices, None, indices], {}).shape == (0, size, 2)
    texts = np.full((3, size), "a", object)
    assert run_node("Gather", [texts, indices], {}).shape == (0, size)


# Empty index tuples take no memory, but each gathers all of the data.


def test_results_that_overflow_are_refused() -> None:
    result = outcome(run_node, "GatherND", [np.zeros(64, F32), np.zeros((2**59, 0), I64)], {})
    assert "the size of the result overflows 64 bits" in str(result)


def test_results_that_no_memory_holds_are_refused() -> None:
    with pytest.raises(Exception, match="running GatherND node"):  # the error comes from ONNX Runtime
        run_node("GatherND", [np.zeros(64, F32), np.zeros((2**44, 0), I64)], {})


# --------------------------------------------------------------------------------------------------- GatherReduce


def test_bags_with_init_are_a_gather_and_a_scatter() -> None:
    rng = np.random.default_rng(3)
    data, indices = rng.standard_normal((50, 4)).astype(F32), rng.integers(0, 50, 300)
    ids, init = rng.integers(0, 20, 300), rng.standard_normal((20, 4)).astype(F32)
    for reduction in ("add", "mul", "min", "max"):
        result = run_node("GatherReduce", [data, indices, None, ids, None, init], {"reduction": reduction})
        expected = gs.scatter_nd(init, ids[:, None], gs.gather(data, indices), reduction=reduction)
        assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("shape", [(6, 4), (2, 3, 4)])
def test_bags_that_keep_their_dimension(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    data, indices = rng.standard_normal((50, 5)).astype(F32), rng.integers(0, 50, shape)
    result = run_node("GatherReduce", [data, indices], {"reduction": "mean", "keepdims": 1})
    expected = gs.gather_reduce(data, indices, reduction="mean")
    assert result.shape == (*shape[:-1], 1, 5)
    assert result.tobytes() == expected.tobytes()


def test_without_num_segments_the_largest_id_counts() -> None:
    data = np.array([[1], [2], [4]], F32)
    for ids, expected in (([0, 3, 0], [[5], [0], [0], [2]]), ([-1, 0, 0], "segment_ids"), ([2**62, 0, 0], "")):
        result = outcome(run_node, "GatherReduce", [data, np.arange(3), None, np.array(ids)], {})
        if isinstance(expected, list):
            assert result.tolist() == expected
        else:
            assert isinstance(result, Exception)
            assert expected in str(result)


def test_bags_have_numbers_only() -> None:
    texts = np.array(["a", "b"], object)
    result = outcome(run_node, "GatherReduce", [texts, np.zeros((1, 2), I64)], {})
    assert isinstance(result, gs.OpTypeError)
    assert str(result) == "gatherscatter.GatherReduce: reduction 'add' is not defined for elements of type string"


# --------------------------------------------------------------------------------------------------------- memory


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs the memory of a process, from Linux")
def test_errors_keep_no_memory() -> None:
    """Twenty thousand bad indices, and sessions with an invalid node, do not increase the memory of the process."""
    bad = {**TWICE, "i": np.array([[0], [7], [1]])}
    ready = session(model([sums()], SCATTER_ND, {"y": (F32, None)}))
    wrong = model([sums(opset=5)], SCATTER_ND, {"y": (F32, None)})

    def fail(bad_indices: int, wrong_nodes: int) -> int:
        for _ in range(bad_indices):
            with pytest.raises(InvalidArgument):
                ready.run(None, bad)
        for _ in range(wrong_nodes):
            with pytest.raises(InvalidArgument):
                session(wrong).run(None, TWICE)
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = fail(2_000, 30)
    assert fail(20_000, 30) - before < 1_000_000


# ------------------------------------------------------------------------------------------------------- registering


def test_options_may_be_registered_twice_and_used_for_several_sessions() -> None:
    made = model([sums()], SCATTER_ND, {"y": (F32, None)})
    shared = options()
    shared.register_custom_ops_library(LIBRARY)
    first, second = session(made, shared), session(made, shared)
    del first
    gc.collect()
    shared.register_custom_ops_library(LIBRARY)
    third = session(made, shared)
    del shared
    for ready in (second, third):
        assert ready.run(None, TWICE)[0].tolist() == [0, 3, 4]


def test_a_copy_of_options_is_registered_anew() -> None:
    """A session returns a copy with the entries of its options, but without operators."""
    made = model([sums()], SCATTER_ND, {"y": (F32, None)})
    copy = session(made).get_session_options()
    copy.register_custom_ops_library(LIBRARY)
    assert session(made, copy).run(None, TWICE)[0].tolist() == [0, 3, 4]


def test_models_without_the_domain_are_as_before() -> None:
    plain = helper.make_node("ScatterND", ["d", "i", "u"], ["y"])
    made = model([plain], SCATTER_ND, {"y": (F32, None)})
    feeds = {**TWICE, "i": np.array([[1], [0], [2]])}
    assert session(made).run(None, feeds)[0].tolist() == [2, 1, 4]
