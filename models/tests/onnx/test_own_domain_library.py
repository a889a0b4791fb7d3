"""The operators of the domain give identical results and errors in Python and in the native library."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import gatherscatter_models as gm
from gatherscatter.system.native_library import library_path
from models.tests.onnx.test_own_domain import one_node

onnxruntime = pytest.importorskip("onnxruntime")

Call = tuple[str, dict[str, Any], dict[str, Any]]  # operator, inputs, attributes

RANDOM = np.random.default_rng(1)
X, W, INIT, NEW = (RANDOM.standard_normal(shape, np.float32) for shape in ((5, 3), 4, (3, 3), (3, 3)))
ROWS, IDS, ENDS, AT = np.array([0, 4, -1, 2]), np.array([2, 0, 2, 1]), np.array([0, 0, 3]), np.array([[1], [-1], [1]])
REDUCTIONS, ACCUMULATE = ("none", "add", "sub", "mul", "min", "max", "mean"), ("step", "wide", "exact")
MODES = ("raise", "wrap", "clip", "fill", "drop")


def bags(**inputs: Any) -> dict[str, Any]:
    """Return inputs of GatherReduce."""
    return {"x": X, "rows": ROWS, "ends": None, "ids": None, "w": None, "init": None} | inputs


def reductions_of_bags() -> Iterator[Call]:
    for reduction, accumulate, weights, init in product(REDUCTIONS, ACCUMULATE, (None, W), (None, INIT)):
        attributes = {"reduction": reduction, "accumulate": accumulate}
        yield "GatherReduce", bags(ids=IDS, w=weights, init=init), attributes
        yield "GatherReduce", bags(ends=ENDS, w=weights, init=init), attributes
        packed = {} if weights is None else {"w": weights.reshape(2, 2)}
        yield "GatherReduce", bags(rows=ROWS.reshape(2, 2), **packed), {**attributes, "keepdims": 1}


def bags_of_all_kinds() -> Iterator[Call]:
    for count in (-5, -1, 0, 2, 3, 7):
        for inputs in ({"ids": IDS}, {"ends": ENDS}, {"ids": IDS, "init": INIT}, {"ends": ENDS, "init": INIT}):
            yield "GatherReduce", bags(**inputs), {"num_segments": count, "keepdims": 1}
    for mode in MODES:
        far = np.array([0, 9, -7, 2], np.int32)
        yield "GatherReduce", bags(rows=far, ends=ENDS), {"mode": mode}
        yield "GatherReduce", bags(rows=far, ids=IDS.astype(np.int16), init=INIT), {"mode": mode}
    for wrong in (
        {"ends": ENDS, "ids": IDS},
        {},
        {"x": np.array(1, "f"), "ends": ENDS},
        {"rows": np.array(1)},
        {"ids": IDS, "init": INIT[:, :2]},
        {"ids": IDS, "init": np.array(1, "f")},
        {"ends": ENDS, "init": INIT[:2]},
        {"ends": ENDS, "init": INIT.astype(float)},
        {"ends": ENDS, "w": W[:2]},
        {"ends": ENDS, "w": W.astype(float)},
        {"ends": ENDS[::-1].copy()},
        {"ends": ENDS + 1},
        {"ends": ENDS[:0]},
        {"ends": ENDS * 3},
        {"ends": ENDS.reshape(1, 3)},
        {"ids": -IDS},
        {"ids": -IDS, "init": INIT},
        {"ids": -IDS * 2, "init": INIT},
        {"ids": IDS[:2]},
        {"ids": IDS.astype(float)},
        {"rows": ROWS.astype(float), "ends": ENDS},
        {"x": X[:0], "rows": ROWS[:0].reshape(0, 2)},
        {"rows": ROWS[:0], "ids": IDS[:0]},
        {"x": X > 0, "ends": ENDS},
    ):
        yield "GatherReduce", bags(**wrong), {"reduction": "mean"}


def gathers_and_scatters() -> Iterator[Call]:
    for reduction, accumulate, mode, include_self in product(REDUCTIONS, ACCUMULATE, MODES, (0, 1)):
        attributes = {"reduction": reduction, "accumulate": accumulate, "mode": mode, "include_self": include_self}
        yield "ScatterND", {"x": X, "at": AT if mode == "raise" else AT + 7, "new": NEW}, attributes
        line = np.array([[1, -1, 0 if mode == "raise" else 7]], np.int16)
        yield "ScatterElements", {"x": X, "at": line, "new": NEW[:1]}, {**attributes, "axis": 1}
    for mode in MODES:
        yield "Gather", {"x": X, "at": AT + 5}, {"mode": mode}
        yield "Gather", {"x": X, "at": np.array([[0], [1], [2], [3], [9]])}, {"mode": mode, "axis": 1, "batch_dims": 1}
        yield "GatherElements", {"x": X, "at": np.array([[7, -9, 0]], np.int8)}, {"mode": mode, "axis": 1}
        yield "GatherND", {"x": X, "at": AT + 5}, {"mode": mode}
    words = {"x": np.array(["a", "b"], object), "at": np.array([[1], [1]]), "new": np.array(["c", "d"], object)}
    for reduction in ("none", "add"):
        yield "ScatterND", words, {"reduction": reduction}
    cache = {"x": np.zeros((2, 4, 1), "f"), "new": np.ones((2, 2, 1), "f"), "at": np.array([3, 1], np.uint8)}
    for mode in ("linear", "circular", "raise"):
        yield "TensorScatter", cache, {"mode": mode}
    for attributes in (
        {"axis": "0"},
        {"axis": 9},
        {"accumulate": "wide", "opset": 18},
        {"opset": 16, "reduction": "max"},
        {"opset": 11, "reduction": "add"},
        {"opset": 18, "include_self": 0},
        {"reduction": 3},
    ):
        yield "ScatterElements", {"x": X, "at": np.array([[1, 1, 0]]), "new": NEW[:1]}, attributes


def tables() -> Iterator[Call]:
    codes, scales = RANDOM.integers(0, 256, (5, 8), np.uint8), RANDOM.standard_normal((5, 1), np.float32)
    far = np.array([[0, 9], [-7, -1]], np.int32)
    table = {"x": codes, "at": far[:, ::-1] % 5, "scales": scales}
    for bits, axis in product((2, 3, 4, 8), (0, 1, 2)):
        yield "GatherQuantized", table, {"bits": bits, "axis": axis}
    for mode in MODES:
        yield "GatherQuantized", {**table, "at": far}, {"mode": mode}
        yield "GatherQuantized", {**table, "x": codes.view(np.int8), "at": far.astype(np.int8)}, {"mode": mode}
    halves = {"scales": scales.astype(np.float16), "zeros": np.full((5, 1), 0x77, np.uint8)}
    yield "GatherQuantized", {**table, **halves}, {}
    for attributes in ({"quantize_axis": 0, "block_size": 3}, {"quantize_axis": 2}, {"block_size": -1}, {"bits": "4"}):
        yield "GatherQuantized", {**table, "scales": np.ones((2, 16), "f")}, attributes
    for wrong in ({"scales": scales[:2]}, {"zeros": codes}, {"zeros": codes.view(np.int8)}, {"x": codes[0, 0, ...]},
                  {"at": far.astype(float)}):  # fmt: skip
        yield "GatherQuantized", {**table, **wrong}, {}


def result_or_error(run: Any) -> Any:
    try:
        result = run()
    except Exception as error:
        text = str(error)
        return text[text.index("Error: ") + 7 :] if "Error: " in text else text
    return result.dtype, result.shape, result.tolist() if result.dtype == object else result.tobytes()


@pytest.mark.parametrize("calls", [reductions_of_bags, bags_of_all_kinds, gathers_and_scatters, tables])
def test_the_library_does_what_python_does(calls: Any) -> None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(str(library_path()))
    for op_type, inputs, attributes in calls():
        model = one_node(op_type, inputs, **attributes)
        given = {name: array for name, array in inputs.items() if array is not None}
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        native = result_or_error(lambda session=session, given=given: session.run(None, given)[0])
        expected = result_or_error(lambda model=model, given=given: gm.run(model, given)["out"])
        if isinstance(expected, str):  # of a model that no call can have
            expected = expected.removeprefix("ModelProto: ").partition("; in node ")[0]
        if isinstance(expected, str) and "must be integers" in expected:
            expected = expected.split(";")[0]  # the library does not read values of a wrong type
        if isinstance(native, str) and isinstance(expected, str) and " (data " not in expected:
            native = native.partition(" (data ")[0]  # the sizes of the model are not known
        assert native == expected, (op_type, attributes)
