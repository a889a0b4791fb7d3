"""The session runs the nodes that ONNX Runtime lacks or gets wrong. The nodes that stay there have equal results."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidGraph

import gatherscatter as gs
import gatherscatter_models as gm
from gatherscatter_models.onnx.native_nodes import move_nodes
from gatherscatter_models.onnx.session import InferenceSession
from tests.support.onnx_graphs import function, model, node
from tests.support.quantized import QuantizedCall, draw_call, draw_codes
from tests.support.session_graphs import (
    F32,
    I64,
    list_moved,
    load_onnxruntime,
)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("reduction", ["add", "mul", "max"])
@pytest.mark.parametrize("op_type", ["ScatterND", "ScatterElements"])
def test_halves_have_reductions(op_type: str, reduction: str, dtype: Any) -> None:
    """ONNX Runtime casts before and after these reductions."""
    to = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    shape = ["m", 1] if op_type == "ScatterND" else ["m"]
    made = model(
        [
            node("Cast", "x", "half", to=to),
            node("Cast", "new", "small", to=to),
            node(op_type, "half at small", "sum", reduction=reduction),
            node("Cast", "sum", "out", to=TensorProto.FLOAT),
        ],
        {"x": (F32, ["n"]), "at": (I64, shape), "new": (F32, ["m"])},
        {"out": (F32, ["n"])},
    )
    inputs = {"x": np.array([1, 2, 4], F32), "at": np.array([1, 2, 1]), "new": np.array([8, 16, 32], F32)}
    inputs["at"] = inputs["at"].reshape(3, *([1] * (len(shape) - 1)))
    session = InferenceSession(made)
    assert list_moved(session) == [op_type]
    expected = {"add": [1, 42, 20], "mul": [1, 512, 64], "max": [1, 32, 16]}[reduction]
    assert session.run(None, inputs)[0].tolist() == expected


def test_bfloat16_goes_in_and_comes_out() -> None:
    bf16 = ml_dtypes.bfloat16
    made = model(
        [node("ScatterND", "x at new", "sum", reduction="add"), node("Identity", "sum", "out")],
        {"x": (bf16, ["n"]), "at": (I64, ["m", 1]), "new": (bf16, ["m"])},
        {"out": (bf16, ["n"]), "sum": (bf16, ["n"])},
    )
    arrays = {"x": np.array([1, 2], bf16), "at": np.array([[1], [1]]), "new": np.array([4, 8], bf16)}
    inputs = {name: to_ort_value(array) for name, array in arrays.items()}
    for result in InferenceSession(made).run_with_ort_values(None, inputs):
        assert result.data_type() == "tensor(bfloat16)"
        shorts = (ctypes.c_uint16 * 2).from_address(result.data_ptr())
        assert np.array(shorts, np.uint16).view(bf16).tolist() == [1, 14]


def to_ort_value(array: np.ndarray) -> Any:
    """Convert to an OrtValue. NumPy does not have bfloat16, so ONNX Runtime gets the bits."""
    if array.dtype != ml_dtypes.bfloat16:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), TensorProto.BFLOAT16)


def test_the_deprecated_scatter_runs() -> None:
    made = model(
        [node("Scatter", "x at new", "out")],
        {"x": (F32, [3]), "at": (I64, [1]), "new": (F32, [1])},
        {"out": (F32, [3])},
        opset=11,
    )
    with pytest.raises((Fail, InvalidGraph)):
        load_onnxruntime(made)
    inputs = {"x": np.zeros(3, F32), "at": np.array([-1]), "new": np.ones(1, F32)}
    (out,) = InferenceSession(made).run(None, inputs)
    assert out.tolist() == [0, 0, 1]


@pytest.mark.parametrize("op_type", ["ScatterND", "ScatterElements"])
def test_nan_in_data_is_kept(op_type: str) -> None:
    at = np.array([[0], [1]]) if op_type == "ScatterND" else np.array([0, 1])
    made = model(
        [node(op_type, "x at new", "out", reduction="max")],
        {"x": (F32, ["n"]), "at": (I64, at.shape), "new": (F32, ["m"])},
        {"out": (F32, ["n"])},
    )
    inputs = {"x": np.array([np.nan, 1], F32), "at": at, "new": np.array([3, 2], F32)}
    assert load_onnxruntime(made).run(None, inputs)[0].tolist() == [3, 2]
    np.testing.assert_array_equal(InferenceSession(made).run(None, inputs)[0], np.array([np.nan, 2], F32))


def test_gather_of_strings_copies_whole_slices() -> None:
    made = model(
        [node("Gather", "x at", "out")], {"x": (np.dtype(object), ["n", 2]), "at": (I64, ["m"])},
        {"out": (np.dtype(object), None)},
    )  # fmt: skip
    inputs = {"x": np.array([["a", "b"], ["c", "d"]], object), "at": np.array([1])}
    assert InferenceSession(made).run(None, inputs)[0].tolist() == [["c", "d"]]


def test_batch_dims_that_differ_are_an_error() -> None:
    made = model(
        [node("GatherND", "x at", "out", batch_dims=1)],
        {"x": (F32, ["a", 3]), "at": (I64, ["b", 1])},
        {"out": (F32, None)},
    )
    inputs = {"x": np.zeros((2, 3), F32), "at": np.zeros((4, 1), I64)}
    with pytest.raises(ValueError, match="GatherND-13"):
        InferenceSession(made).run(None, inputs)


def test_a_negative_write_index_of_a_circular_cache_counts_from_the_end() -> None:
    made = model(
        [node("TensorScatter", "x new at", "out", axis=1, mode="circular")],
        {"x": (F32, [1, 3]), "new": (F32, [1, 1]), "at": (I64, [1])},
        {"out": (F32, None)},
        opset=24,
    )
    inputs = {"x": np.zeros((1, 3), F32), "new": np.ones((1, 1), F32), "at": np.array([-1])}
    assert InferenceSession(made).run(None, inputs)[0].tolist() == [[0, 0, 1]]


def test_a_cache_of_elements_of_four_bits() -> None:
    """One byte holds two elements."""
    made = model(
        [
            node("Cast", "x", "cache", to=TensorProto.INT4),
            node("Cast", "new", "few", to=TensorProto.INT4),
            node("TensorScatter", "cache few at", "filled", axis=1),
            node("Cast", "filled", "out", to=TensorProto.FLOAT),
        ],
        {"x": (F32, [1, 3]), "new": (F32, [1, 1]), "at": (I64, [1])},
        {"out": (F32, [1, 3])},
        opset=24,
    )
    inputs = {"x": np.array([[1, -2, 3]], F32), "new": np.array([[-5]], F32), "at": np.array([2])}
    assert InferenceSession(made).run(None, inputs)[0].tolist() == [[1, -2, -5]]


TYPES = ["float32", "float64", "float16", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]
CALLS = [(op_type, "none") for op_type in ("Gather", "GatherND", "GatherElements", "ScatterND", "ScatterElements")]
CALLS += [(op_type, name) for op_type in ("ScatterND", "ScatterElements") for name in ("add", "mul", "min", "max")]


@pytest.mark.parametrize("element_type", [*TYPES, "uint64", "string"])
@pytest.mark.parametrize(("op_type", "reduction"), CALLS)
def test_what_is_left_to_onnxruntime_it_does_as_we_do(op_type: str, reduction: str, element_type: str) -> None:
    dtype = np.dtype(object if element_type == "string" else element_type)
    data, new = np.array([1, 0, 1, 1]).astype(dtype), np.array([1, 0, 1]).astype(dtype)
    if element_type == "string":
        data, new = np.array(["a", "b", "c", "d"], object), np.array(["x", "y", "z"], object)
    at = np.array([1, -2, 1]).reshape((3, 1) if op_type.endswith("ND") else 3)
    inputs = {"x": data, "at": at} | ({"new": new} if op_type.startswith("Scatter") else {})
    attributes = {} if reduction == "none" else {"reduction": reduction}
    made = model(
        [node(op_type, " ".join(inputs), "out", **attributes)],
        {name: (array.dtype, array.shape) for name, array in inputs.items()},
        {"out": (dtype, None)},
    )
    session = InferenceSession(made)
    if not list_moved(session) and not (element_type == "string" and reduction in ("mul", "min", "max")):
        expected = getattr(gs.onnx, op_type)(*inputs.values(), **attributes)
        assert session.run(None, inputs)[0].tolist() == expected.tolist()


def test_data_of_unknown_type_counts_as_float32() -> None:
    """After an operator of another domain, types are unknown. A Gather there stays with ONNX Runtime."""
    nodes = [helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft"), node("Gather", "y at", "out", axis=1)]
    made = model(nodes, {"x": (F32, [2, 8]), "at": (I64, [3])}, {"out": (F32, None)})
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    assert list_moved(InferenceSession(made)) == []


def make_table(
    call: QuantizedCall, to: int = TensorProto.FLOAT, in_function: bool = False, **changed: Any
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Return a model that reads rows of a quantized table as numbers of type ``to``, and its inputs."""
    table = {"codes": call.data, "scales": call.scales}
    if call.zero_points is not None:
        table["zeros"] = call.zero_points
    options = {name: value for name, value in call.options.items() if name != "axis"}
    options |= {"gather_axis": call.options["axis"]} | changed
    names = f"codes rows scales {'zeros' if call.zero_points is not None else ''}".strip()
    gather = node("GatherBlockQuantized", names, "picked", "embedding", domain="com.microsoft", **options)
    read, domains = [gather], {"com.microsoft": 1}
    if in_function:
        inner = function("f", "Read", names, "picked", [gather], domains=domains)
        read, domains = [node("Read", names, "picked", domain="f")], {"f": 1, **domains}
    made = model(
        [*read, node("Cast", "picked", "out", to=to)],
        {"rows": (call.indices.dtype, [None] * call.indices.ndim)},
        {"out": (F32, None)},
        table,
        functions=[inner] if in_function else [],
        domains=domains,
    )
    return made, {"rows": call.indices}


@pytest.mark.parametrize(
    ("kind", "in_function"),
    [
        *[(kind, False) for kind in ("uint8", "int4", "uint4", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn")],
        ("uint8", True),  # ONNX Runtime has no functions of the other types
    ],
)
def test_quantized_tables_that_onnxruntime_refuses_are_read(kind: str, in_function: bool) -> None:
    random = np.random.default_rng(0)
    for _ in range(6):
        call = draw_call(random, kind, scale_type="bfloat16", bad=True, like_onnxruntime=True)
        made, inputs = make_table(call, in_function=in_function)
        session = InferenceSession(made)
        assert list_moved(session) == ["com.microsoft.GatherBlockQuantized"]
        assert "bfloat16" in session.plan.moved[0].reason
        assert session.run(None, inputs)[0].tobytes() == gm.run(made, inputs)["out"].tobytes()


def test_quantized_tables_of_other_layouts_are_read() -> None:
    random = np.random.default_rng(1)
    codes, rows = random.integers(0, 256, (5, 40, 3), np.uint8), np.array([4, -5, 5, 0, -6], np.int32)
    inner = QuantizedCall(codes, rows, random.standard_normal((5, 3, 6), np.float32), None,
                          {"axis": 0, "quantize_axis": 1, "block_size": 16, "bits": 4})  # fmt: skip
    line = QuantizedCall(draw_codes(random, "int4", (40,)), rows, np.float32([1, 2, 3]), None,
                         {"axis": 0, "quantize_axis": 0, "block_size": 16, "bits": 4})  # fmt: skip
    for call in (inner, line):
        made, inputs = make_table(call)
        session = InferenceSession(made)
        assert list_moved(session) == ["com.microsoft.GatherBlockQuantized"]
        assert session.run(None, inputs)[0].tobytes() == gm.run(made, inputs)["out"].tobytes()


@pytest.mark.parametrize("kind", ["uint8", "int4", "uint4"])
def test_quantized_tables_that_onnxruntime_reads_rightly_stay_there(kind: str) -> None:
    random = np.random.default_rng(2)
    for _ in range(6):
        made, inputs = make_table(draw_call(random, kind, bad=True, like_onnxruntime=True))
        session = InferenceSession(made)
        assert list_moved(session) == []
        assert session.run(None, inputs)[0].tobytes() == gm.run(made, inputs)["out"].tobytes()


@pytest.mark.parametrize(
    "changed",
    [{"block_size": 8}, {"bits": 3}, {"gather_axis": 1}, {"quantize_axis": 2}, {"scales": np.ones((1, 2))},
     {"indices": np.zeros(1, np.int8)}, {"axis": 1}],
)  # fmt: skip
def test_quantized_tables_against_the_rules_are_left_to_onnxruntime(changed: dict[str, Any]) -> None:
    parts = {"data": np.zeros((3, 16), np.uint8), "indices": np.array([0]), "scales": np.ones((3, 2))}
    parts |= {name: changed[name] for name in parts if name in changed}
    parts["scales"] = parts["scales"].astype(ml_dtypes.bfloat16)
    call = QuantizedCall(**parts, zero_points=None, options={"axis": 0, "quantize_axis": 1, "block_size": 16})
    others = {name: value for name, value in changed.items() if name not in parts}
    assert move_nodes(make_table(call)[0]).moved or changed.keys() & parts.keys()
    assert not move_nodes(make_table(call, **others)[0]).moved
