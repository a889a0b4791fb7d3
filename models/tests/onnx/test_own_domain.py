"""Models with nodes of the domain ``gatherscatter``, run by this package and by the reference evaluator of onnx."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import ml_dtypes  # noqa: F401  (bfloat16)
import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import gatherscatter as gs
import gatherscatter_models as gm
from gatherscatter.specs import own_operators
from gatherscatter.specs.own_operators import OWN_OPERATORS
from gatherscatter_models.interface import ModelError
from gatherscatter_models.loading import load
from gatherscatter_models.onnx import backend, reference_ops
from gatherscatter_models.onnx.graph import FAMILY
from gatherscatter_models.onnx.scopes import infer_model
from gatherscatter_models.onnx.tensors import ExternalData
from tests.support import quantized
from tests.support.onnx_graphs import function, graph, model, node

OURS = {"gatherscatter": 1}
X, AT, NEW = np.arange(12.0).reshape(4, 3), np.array([[1], [-1], [1]]), np.arange(9.0).reshape(3, 3)


def one_node(op_type: str, arrays: dict[str, Any], **attributes: Any) -> onnx.ModelProto:
    """Return a model of one node of the domain. An array that is None is an omitted input."""
    names = " ".join("-" if array is None else name for name, array in arrays.items())
    given = {name: (array.dtype, [None] * array.ndim) for name, array in arrays.items() if array is not None}
    made = model(
        [node(op_type, names, "out", domain="gatherscatter", **attributes)],
        given,
        {"out": (arrays["scales"].dtype if "scales" in arrays else next(iter(arrays.values())).dtype, None)},
        domains=OURS,
    )
    made.graph.output[0].type.tensor_type.ClearField("shape")
    return made


def run_node(op_type: str, arrays: dict[str, Any], **attributes: Any) -> np.ndarray:
    """Return the result of a node, after checking that `gatherscatter_models.run` and the evaluator of onnx agree."""
    made = one_node(op_type, arrays, **attributes)
    given = {name: array for name, array in arrays.items() if array is not None}
    result = gm.run(made, given)["out"]
    (other,) = ReferenceEvaluator(made, new_ops=reference_ops()).run(None, given)
    np.testing.assert_array_equal(result, other, strict=True)
    return result


def test_the_operators_are_those_of_onnx_and_two_more() -> None:
    assert set(OWN_OPERATORS) == {*FAMILY, "GatherReduce", "GatherQuantized"}


@pytest.mark.filterwarnings("ignore:onnx.Scatter-11 is deprecated")
def test_the_node_tests_of_onnx_pass_in_the_domain() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        found = [(each, made) for each in load_model_tests(kind="node") if (made := moved(each.model)) is not None]
    assert len(found) == 29
    for each, made in found:
        inputs, outputs = each.data_sets[0]
        np.testing.assert_array_equal(next(iter(gm.run(made, list(inputs)).values())), outputs[0], strict=True)


def moved(made: onnx.ModelProto) -> onnx.ModelProto | None:
    """Return a model of one node of the family, with the node in our domain."""
    if len(made.graph.node) != 1 or made.graph.node[0].op_type not in FAMILY:
        return None
    copy = onnx.ModelProto()
    copy.CopyFrom(made)
    copy.graph.node[0].domain = "gatherscatter"
    copy.graph.node[0].attribute.append(onnx.helper.make_attribute("opset", made.opset_import[0].version))
    copy.opset_import.append(onnx.helper.make_opsetid("gatherscatter", 1))
    return copy


def test_without_opset_a_node_is_the_array_function() -> None:
    scatter = {"x": X, "at": AT, "new": NEW}
    for attributes in (
        {"reduction": "mean", "include_self": 0},
        {"reduction": "sub", "accumulate": "exact"},
        {"reduction": "max"},
    ):
        expected = gs.scatter_nd(X, AT, NEW, **attributes)  # type: ignore[arg-type]
        np.testing.assert_array_equal(run_node("ScatterND", scatter, **attributes), expected)
    far = np.array([[0, 5, -9]], np.int8)
    ones = np.ones((1, 3))
    for op_type in ("Scatter", "ScatterElements"):
        dropped = run_node(op_type, {"x": X, "at": far, "new": ones}, axis=1, mode="drop")
        np.testing.assert_array_equal(dropped, gs.scatter_elements(X, far, ones, axis=1, mode="drop"))
    filled = run_node("Gather", {"x": X, "at": far}, axis=1, batch_dims=0, mode="fill")
    np.testing.assert_array_equal(filled, gs.gather(X, far, axis=1, mode="fill"))
    wrapped = run_node("GatherElements", {"x": X, "at": far}, axis=1, mode="wrap")
    np.testing.assert_array_equal(wrapped, gs.gather_elements(X, far, axis=1, mode="wrap"))
    clipped = run_node("GatherND", {"x": X, "at": AT + 9}, mode="clip")
    np.testing.assert_array_equal(clipped, gs.gather_nd(X, AT + 9, mode="clip"))
    cache, new = np.zeros((1, 4, 1)), np.ones((1, 2, 1))
    written = run_node("TensorScatter", {"x": cache, "new": new, "at": np.array([3], np.uint8)}, mode="circular")
    np.testing.assert_array_equal(written, gs.tensor_scatter(cache, new, [3], mode="circular"))


def test_strings_are_concatenated() -> None:
    words = {"x": np.array(["a", "b"], object), "at": np.array([[1], [1]]), "new": np.array(["c", "d"], object)}
    assert run_node("ScatterND", words, reduction="add").tolist() == ["a", "bcd"]


@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max", "mean"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool"])
@pytest.mark.parametrize("init_is_zero", [False, True])
@pytest.mark.parametrize("count", [0, 3, 40])
def test_gather_reduce_with_init_is_a_gather_and_a_scatter(
    reduction: str, dtype: str, init_is_zero: bool, count: int
) -> None:
    if dtype == "bool" and reduction == "mean":
        return
    random = np.random.default_rng(0)
    data, init = ((random.standard_normal((rows, 2)) * 3).astype(dtype) for rows in (6, 4))
    init[...] = 0 if init_is_zero else init
    rows, ids = random.integers(-6, 6, count), random.integers(0, 4, count)
    weights = (random.standard_normal(count) * 2).astype(dtype)
    row = own_operators.find("GatherReduce")
    for weight in (None, weights):
        updates = data[rows] if weight is None else (data[rows] * weight[:, np.newaxis]).astype(dtype)
        result = own_operators.run(row, (data, rows, None, ids, weight, init), {"reduction": reduction})
        expected = gs.scatter_nd(init, ids[:, np.newaxis], updates, reduction=reduction)
        assert result.dtype == expected.dtype
        assert result.tobytes() == expected.tobytes()


def test_gather_reduce_has_three_ways_to_give_bags() -> None:
    rows, ends = np.array([0, 1, 1, 3]), np.array([0, 1], np.int32)
    ids, x = np.array([1, 0, 1, 1], np.int16), X.astype(np.float32)
    by_offsets = run_node("GatherReduce", {"x": x, "rows": rows, "ends": ends})
    np.testing.assert_array_equal(by_offsets, gs.gather_reduce(x, rows, offsets=ends))
    by_ids = run_node("GatherReduce", {"x": x, "rows": rows, "ends": None, "ids": ids}, num_segments=3)
    np.testing.assert_array_equal(by_ids, gs.gather_reduce(x, rows, segment_ids=ids, num_segments=3))
    pairs = {"x": x, "rows": rows.reshape(2, 2)}
    for reduction in ("add", "mean"):
        expected = gs.gather_reduce(x, pairs["rows"], reduction=reduction)
        np.testing.assert_array_equal(run_node("GatherReduce", pairs, reduction=reduction), expected)
        kept = run_node("GatherReduce", pairs, reduction=reduction, keepdims=1)
        np.testing.assert_array_equal(kept, expected[:, np.newaxis])
    np.testing.assert_array_equal(
        run_node("GatherReduce", {"x": x, "rows": rows, "ends": ends}, keepdims=1), by_offsets
    )
    with pytest.raises(gs.OpValueError, match="num_segments must be at least 0, not -5"):
        run_node("GatherReduce", {"x": x, "rows": rows, "ends": None, "ids": ids}, num_segments=-5)
    init = np.ones((2, 3), np.float32)
    onto = run_node("GatherReduce", {**pairs, "ends": None, "ids": None, "w": None, "init": init})
    np.testing.assert_array_equal(onto, gs.gather_reduce(x, pairs["rows"]) + 1)


@pytest.mark.parametrize("kind", ["uint8", "int8", "int4", "uint4", "float8_e5m2", "float4_e2m1fn"])
@pytest.mark.parametrize("scale_type", ["float32", "float16", "bfloat16"])
def test_gather_quantized_is_the_array_function(kind: str, scale_type: str) -> None:
    random = np.random.default_rng(0)
    for _ in range(8):
        call = quantized.draw_call(random, kind, scale_type=scale_type, bad=True)
        arrays = dict(zip(("x", "rows", "scales", "zeros"), call.inputs, strict=True))
        if arrays["zeros"] is None:
            del arrays["zeros"]
        row = own_operators.find("GatherQuantized")
        result = own_operators.run(row, tuple(arrays.values()), {**call.options, "mode": "clip"})
        expected = gs.gather_quantized(*arrays.values(), **call.options, mode="clip")
        assert (result.dtype, result.tobytes()) == (expected.dtype, expected.tobytes())
        if kind in ("uint8", "int8") and scale_type != "bfloat16":  # NumPy does not compare NaN of bfloat16
            run = run_node("GatherQuantized", arrays, **call.options, mode="clip")
            assert run.tobytes() == expected.tobytes()


def test_gather_quantized_has_its_own_errors() -> None:
    table = {"x": np.zeros((2, 2), np.uint8), "rows": np.array([2]), "scales": np.ones((2, 1), np.float32)}
    with pytest.raises(gs.OpIndexError, match=r"^gatherscatter.GatherQuantized: indices\[0\] = 2 is out of range"):
        run_node("GatherQuantized", table)
    with pytest.raises(ModelError, match=r"gatherscatter.GatherQuantized: data can't be of type int16"):
        run_node("GatherQuantized", {**table, "x": np.zeros((2, 2), np.int16)})
    with pytest.raises(ModelError, match=r"gatherscatter.GatherQuantized has no attribute 'gather_axis'"):
        run_node("GatherQuantized", table, gather_axis=0)


def test_an_init_of_another_shape_is_refused() -> None:
    text = r"gatherscatter.GatherReduce: init has shape \(5, 3\), but must have \(1, 3\)"
    with pytest.raises(gs.OpValueError, match=text):
        run_node("GatherReduce", {"x": X, "rows": np.array([[0, 1]]), "e": None, "i": None, "w": None,
                                  "init": np.ones((5, 3))})  # fmt: skip


def test_errors_name_the_version_or_the_operator() -> None:
    far = {"x": X, "at": np.array([[9]]), "new": NEW[:1]}
    sentence = r"indices\[0, 0\] = 9 is out of range for axis 0 of data with size 4 \(valid: -4..3\)"
    for attributes, name in (({}, "gatherscatter.ScatterND"), ({"opset": 17}, "onnx.ScatterND-16")):
        with pytest.raises(gs.OpIndexError, match=f"^{name}: {sentence}") as caught:
            gm.run(one_node("ScatterND", far, **attributes), far, engine="reference")
        assert caught.value.__notes__ == ["in node gatherscatter.ScatterND (1/1)"]
    with pytest.raises(ModelError, match=r"gatherscatter.ScatterND: updates must have the same type as data \("):
        run_node("ScatterND", {**far, "new": NEW[:1].astype(int)})


def test_a_version_has_its_own_attributes_and_accumulate() -> None:
    scatter = {"x": X, "at": AT, "new": NEW}
    with pytest.raises(ModelError, match=r"onnx.ScatterND-16: reduction must be one of 'none', 'add', 'mul'"):
        gm.run(one_node("ScatterND", scatter, opset=17, reduction="max"), scatter)
    with pytest.raises(ModelError, match=r"onnx.ScatterND-18 has no attribute 'include_self'"):
        gm.run(one_node("ScatterND", scatter, opset=18, include_self=0), scatter)
    with pytest.raises(ModelError, match=r"onnx.Gather-13 has no attribute 'accumulate'"):
        gm.run(one_node("Gather", {"x": X, "at": AT}, opset=18, accumulate="wide"), [X, AT])
    halves = {"x": np.zeros(1, np.float16), "at": np.zeros((4096, 1), int), "new": np.ones(4096, np.float16)}
    step, exact = (
        run_node("ScatterND", halves, opset=18, reduction="add", accumulate=how) for how in ("step", "exact")
    )
    assert (step.tolist(), exact.tolist()) == ([2048], [4096])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (one_node("Scater", {"x": X}), "Node type 'Scater' from domain 'gatherscatter' is unknown"),
        (one_node("ScatterND", {"x": X}, opset=5), "onnx.ScatterND does not exist in opset 5; opset 11 introduced it"),
        (one_node("Gather", {"x": X}, opset="13"), "the attribute opset of gatherscatter.Gather must be an integer"),
        (one_node("GatherReduce", {"x": X}, opset=18), "there is no operator onnx.GatherReduce"),
        (one_node("GatherQuantized", {"x": X}, opset=18), "there is no operator onnx.GatherQuantized"),
        (
            model(
                [node("Gather", "x x", "a", domain="gatherscatter")],
                {"x": (np.int64, [1])},
                {},
                domains={"gatherscatter": 3},
            ),
            "domain 'gatherscatter' has the opsets 1 to 2, not 3",
        ),
    ],
)
def test_bad_nodes_are_refused_when_the_model_is_loaded(made: onnx.ModelProto, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load(made)


def test_nodes_in_bodies_and_functions_run() -> None:
    scatter = node("ScatterND", "state at new", "next", domain="gatherscatter", opset=18, reduction="add")
    body = graph(
        [scatter, node("Identity", "go", "on")],
        {"i": (np.int64, []), "go": (np.bool_, []), "state": (np.float64, [4, 3])},
        {"on": (np.bool_, []), "next": (np.float64, [4, 3])},
    )
    add = function("f", "Add", "state at new", "next", [scatter], domains=OURS)
    made = model(
        [
            node("Loop", "count - x", "looped", body=body),
            node("Add", "looped at new", "out", domain="f"),
        ],
        {"x": (np.float64, [4, 3]), "at": (np.int64, [3, 1]), "new": (np.float64, [3, 3])},
        {"out": (np.float64, [4, 3])},
        {"count": np.array(2)},
        functions=[add],
        domains={**OURS, "f": 1},
    )
    result = gm.run(made, {"x": X, "at": AT, "new": NEW})["out"]
    np.testing.assert_array_equal(result, X + 3 * gs.scatter_nd(np.zeros_like(X), AT, NEW, reduction="add"))


def test_types_and_shapes_behind_a_node_are_known() -> None:
    def shape(op_type: str, shapes: list[Any], types: Sequence[Any] = (np.float32,) * 6, **attributes: Any) -> Any:
        names = ["-" if each is None else f"v{number}" for number, each in enumerate(shapes)]
        made = model(
            [node(op_type, " ".join(names), "out", domain="gatherscatter", **attributes)],
            {n: (t, each) for n, each, t in zip(names, shapes, types, strict=False) if each is not None},
            {},
            domains=OURS,
        )
        info = infer_model(made, ExternalData()).find("out")
        return info.element_type, info.shape

    assert shape("Gather", [["n", 3], ["m"]], axis=1) == ("float32", ("n", "m"))
    assert shape("Gather", [["n", 3], ["n", "m"]], axis=1, batch_dims=1) == ("float32", ("n", "m"))
    assert shape("ScatterND", [["n", 3], ["m", 1], ["m", 3]]) == ("float32", ("n", 3))
    assert shape("GatherReduce", [["n", 3], ["m", 2]]) == ("float32", ("m", 3))
    assert shape("GatherReduce", [["n", 3], ["m", 2]], keepdims=1) == ("float32", ("m", 1, 3))
    assert shape("GatherReduce", [["n", 3], ["m"], ["b"]]) == ("float32", ("b", 3))
    assert shape("GatherReduce", [["n", 3], ["m"], None, ["m"]]) == ("float32", (None, 3))
    assert shape("GatherReduce", [["n", 3], ["m"], None, ["m"]], num_segments=7) == ("float32", (7, 3))
    assert shape("GatherReduce", [["n", 3], ["m"], None, ["m"], None, ["s", 3]]) == ("float32", ("s", 3))
    assert shape("Gather", [["n", 3], ["m"]], opset="x") == (None, None)
    table = [["n", 3], ["m", 2], ["n", 1]]
    assert shape("GatherQuantized", table) == ("float32", ("m", 2, 3))
    assert shape("GatherQuantized", table, axis=1) == ("float32", ("n", "m", 2))
    assert shape("GatherQuantized", table, types=[np.uint8, np.int64, np.float16]) == ("float16", ("m", 2, 6))
    assert shape("GatherQuantized", table, axis=2) == (None, None)


def test_the_backend_runs_a_node_of_the_domain() -> None:
    made = node("GatherReduce", "x rows", "out", domain="gatherscatter")
    np.testing.assert_array_equal(backend.run_node(made, [X, np.array([[0, 1]])])[0], [[3, 5, 7]])
