"""One test per ruling of docs/rulings.md, with explicit numbers: O is for ONNX, V for OpenVINO, M for ONNX Runtime."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import OpIndexError, OpTypeError, OpValueError

NAN, INF = float("nan"), float("inf")
ND_SCATTERS = [f"onnx.ScatterND-{v}" for v in (11, 13, 16, 18)]
ND_GATHERS = [f"onnx.GatherND-{v}" for v in (11, 12, 13)]
ELEMENT_SCATTERS = ["onnx.Scatter-9", *(f"onnx.ScatterElements-{v}" for v in (11, 13, 16, 18))]
ELEMENT_GATHERS = ["onnx.GatherElements-11", "onnx.GatherElements-13"]


def i64(values: Any) -> np.ndarray:
    return np.array(values, np.int64)


def f32(values: Any) -> np.ndarray:
    return np.array(values, np.float32)


def text(values: Any) -> np.ndarray:
    return np.array(values, object)


def equal(result: np.ndarray, expected: Any) -> None:
    """Check that numbers and shape are equal. NaN equals NaN."""
    expected = np.array(expected, dtype=result.dtype)
    assert result.shape == expected.shape
    if result.dtype == ml_dtypes.bfloat16:  # NumPy does not recognize this type's NaN
        result, expected = result.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_array_equal(result, expected)


# ------------------------------------------------------------------------------------------------------------ ONNX


@pytest.mark.parametrize("name", ND_SCATTERS)
def test_o1_updates_shape_ends_with_all_remaining_dims_of_data(name):
    data, indices = np.zeros((2, 3, 4), np.float32), i64([[1], [0], [1], [0], [1]])
    updates = np.arange(60, dtype=np.float32).reshape(5, 3, 4)
    result = gs.op(name)(data, indices, updates)
    equal(result, [updates[3], updates[4]])
    with pytest.raises(OpValueError):  # the printed formula, data.shape[k:r-1], loses the last dim
        gs.op(name)(data, indices, updates[:, :, 0])


@pytest.mark.parametrize("version", [16, 18])
def test_o2_mul_multiplies(version):
    result = gs.op(f"onnx.ScatterND-{version}")(i64([2, 3]), i64([[0], [0], [1]]), i64([5, 7, 10]), reduction="mul")
    equal(result, [70, 30])


@pytest.mark.parametrize("name", ND_SCATTERS)
def test_o3_last_write_in_row_major_order_wins_nd(name):
    equal(gs.op(name)(i64([0, 0, 0]), i64([[1], [0], [1], [1]]), i64([10, 20, 30, 40])), [20, 40, 0])
    strings = gs.op(name)(text(["a", "b"]), i64([[0], [0]]), text(["first", "last"]))
    assert strings.tolist() == ["last", "b"]
    # large enough for several threads: 300000 writes to 7 targets, and two dims of tuples
    count = 300_000
    indices = (np.arange(count) % 7).reshape(300, 1000, 1)
    expected = [count - 1 - (count - 1 - target) % 7 for target in range(7)]
    equal(gs.op(name)(np.zeros(7, np.int64), indices, np.arange(count).reshape(300, 1000)), expected)


@pytest.mark.parametrize("name", ELEMENT_SCATTERS)
def test_o3_last_write_in_row_major_order_wins_elements(name):
    indices, updates = i64([[1, 0], [1, 1], [0, 1]]), i64([[1, 2], [3, 4], [5, 6]])
    equal(gs.op(name)(np.zeros((3, 2), np.int64), indices, updates), [[5, 2], [3, 6], [0, 0]])
    count = 300_000
    updates = np.arange(2 * count).reshape(count, 2)
    result = gs.op(name)(np.zeros((3, 2), np.int64), np.zeros((count, 2), np.int64), updates)
    equal(result, [[2 * count - 2, 2 * count - 1], [0, 0], [0, 0]])


@pytest.mark.parametrize("version", [16, 18])
def test_o4_duplicates_are_equal_target_positions(version):
    scatter = gs.op(f"onnx.ScatterElements-{version}")
    # the same index in every row is not a duplicate, because the rows differ
    equal(scatter(np.zeros((2, 3), np.int64), i64([[1], [1]]), i64([[5], [6]]), axis=1), [[0, 5, 0], [0, 6, 0]])
    # -1 and s-1 are the same position
    equal(scatter(i64([0, 0, 100]), i64([-1, 2]), i64([1, 2]), reduction="add"), [0, 0, 103])
    equal(scatter(i64([0, 0, 100]), i64([2, -1]), i64([1, 2])), [0, 0, 2])


@pytest.mark.parametrize("name", ELEMENT_GATHERS)
def test_o5_gather_elements_output_has_the_rank_of_data(name):
    result = gs.op(name)(i64([[1, 2], [3, 4]]), i64([[0, 0], [1, 0]]), axis=1)
    assert result.ndim == 2
    equal(result, [[1, 1], [4, 3]])


@pytest.mark.parametrize("version", [12, 13])
def test_o6_gather_nd_rank_is_q_plus_r_minus_k_minus_1_minus_b(version):
    gather_nd = gs.op(f"onnx.GatherND-{version}")
    data = np.arange(24).reshape(2, 3, 4)
    result = gather_nd(data, i64([[[1, 0], [2, 3]], [[0, 1], [1, 2]]]), batch_dims=1)  # q 3, r 3, k 2, b 1
    equal(result, [[4, 11], [13, 18]])
    result = gather_nd(data, i64([[1], [2]]), batch_dims=1)  # gathering starts from the zero-based dim b
    equal(result, [[4, 5, 6, 7], [20, 21, 22, 23]])


def test_o6_gather_13_table_is_section_2_2():
    data = i64([[0, 1, 2], [10, 11, 12]])
    equal(gs.op("onnx.Gather-13")(data, i64([[2, 0], [1, 1]]), axis=1), [[[2, 0], [1, 1]], [[12, 10], [11, 11]]])


@pytest.mark.parametrize("name", [*ND_GATHERS, "openvino.GatherND-5", "openvino.GatherND-8"])
def test_o7_k_0_gathers_the_whole_tensor(name):
    data = i64([[1, 2, 3], [4, 5, 6]])
    equal(gs.op(name)(data, np.zeros((2, 0), np.int64)), [data, data])
    equal(gs.op(name)(data, np.zeros((0,), np.int64)), data)  # q = 1: one empty tuple
    assert gs.op(name)(data, np.zeros((0, 0), np.int64)).shape == (0, 2, 3)
    assert gs.op(name)(data, np.zeros((2, 0, 0), np.int64)).shape == (2, 0, 2, 3)


@pytest.mark.parametrize("name", [*ND_SCATTERS, "openvino.ScatterNDUpdate-3", "openvino.ScatterNDUpdate-15"])
def test_o7_k_0_scatters_whole_tensors(name):
    data = i64([1, 2, 3])
    updates = i64([[10, 20, 30], [40, 50, 60]])
    equal(gs.op(name)(data, np.zeros((2, 0), np.int64), updates), [40, 50, 60])
    equal(gs.op(name)(data, np.zeros((0,), np.int64), updates[0]), [10, 20, 30])
    equal(gs.op(name)(data, np.zeros((0, 0), np.int64), updates[:0]), [1, 2, 3])
    reduction = {"onnx.ScatterND-16": "add", "onnx.ScatterND-18": "add", "openvino.ScatterNDUpdate-15": "sum"}.get(name)
    if reduction:
        equal(gs.op(name)(data, np.zeros((2, 0), np.int64), updates, reduction=reduction), [51, 72, 93])


def test_o8_gather_1_and_scatter_9_count_negative_indices_from_the_end():
    equal(gs.op("onnx.Gather-1")(i64([10, 20, 30]), i64([-1, -3])), [30, 10])
    equal(gs.op("onnx.Scatter-9")(i64([10, 20, 30]), i64([-1, -3]), i64([1, 2])), [2, 20, 1])
    for bad in (3, -4):
        with pytest.raises(OpIndexError):
            gs.op("onnx.Gather-1")(i64([10, 20, 30]), i64([bad]))
        with pytest.raises(OpIndexError):
            gs.op("onnx.Scatter-9")(i64([10, 20, 30]), i64([bad]), i64([1]))


@pytest.mark.parametrize("name", ELEMENT_GATHERS)
def test_o9_gather_elements_refuses_what_the_reference_wraps(name):
    for bad in (2, 3, -3, 1 << 40, -(1 << 63)):
        with pytest.raises(OpIndexError):
            gs.op(name)(i64([[1, 2], [3, 4]]), i64([[0, bad]]), axis=1)
    big = np.arange(200).reshape(2, 100)  # more than the 64 that the reference supports
    equal(gs.op(name)(big, i64([[99, -100], [64, -1]]), axis=1), [[99, 0], [164, 199]])


@pytest.mark.parametrize("name", ELEMENT_GATHERS)
def test_o10_gather_elements_off_axis_dims_may_be_smaller_never_larger(name):
    data = i64([[1, 2, 3], [4, 5, 6]])
    equal(gs.op(name)(data, i64([[2, 0, 0, 1, -1]]), axis=1), [[3, 1, 1, 2, 3]])  # one row, and longer than the axis
    equal(gs.op(name)(data, i64([[1, 0]]), axis=0), [[4, 2]])
    with pytest.raises(OpValueError):
        gs.op(name)(data, np.zeros((3, 1), np.int64), axis=1)
    with pytest.raises(OpValueError):
        gs.op(name)(data, np.zeros((1, 4), np.int64), axis=0)
    with pytest.raises(OpValueError):
        gs.op(name)(data, i64([0, 1]), axis=0)


@pytest.mark.parametrize("name", ELEMENT_SCATTERS)
def test_o11_scatter_elements_shapes(name):
    data = np.zeros((2, 3), np.int64)
    longer = i64([[0, 1, 2, 0, 1]])
    equal(gs.op(name)(data, longer, i64([[1, 2, 3, 4, 5]]), axis=1), [[4, 5, 3], [0, 0, 0]])
    with pytest.raises(OpValueError):  # updates larger than indices
        gs.op(name)(data, i64([[0]]), i64([[1, 2]]), axis=1)
    with pytest.raises(OpValueError):  # off the axis larger than data
        gs.op(name)(data, np.zeros((3, 1), np.int64), np.zeros((3, 1), np.int64), axis=1)
    with pytest.raises(OpValueError):  # a different rank
        gs.op(name)(data, i64([0]), i64([0]), axis=1)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("reduction", ["min", "max"])
def test_o12_nan_propagates_from_data_and_from_updates(reduction, dtype):
    data, updates = np.array([NAN, 1, 1, 2], dtype), np.array([1, NAN, 7, 5], dtype)
    indices = i64([0, 1, 1, 2])  # slot 1 gets a NaN and then a number
    expected = [NAN, NAN, 5 if reduction == "max" else 1, 2]
    equal(gs.op("onnx.ScatterElements-18")(data, indices, updates, reduction=reduction), expected)
    equal(gs.op("onnx.ScatterND-18")(data, indices[:, None], updates, reduction=reduction), expected)


@pytest.mark.parametrize(("reduction", "expected"), [
    ("add", [True, True, True, False]), ("mul", [True, False, False, False]),
    ("min", [True, False, False, False]), ("max", [True, True, True, False]),
])  # fmt: skip
def test_o13_bool_reductions(reduction, expected):
    data, indices = np.array([True, True, False, False]), i64([0, 1, 2, 3])
    updates = np.array([True, False, True, False])
    equal(gs.op("onnx.ScatterElements-18")(data, indices, updates, reduction=reduction), expected)
    equal(gs.op("onnx.ScatterND-18")(data, indices[:, None], updates, reduction=reduction), expected)


def test_o14_string_add_concatenates_in_row_major_order():
    data, updates = text(["a", "b", "c"]), text(["x", "y", "z"])
    result = gs.op("onnx.ScatterND-18")(data, i64([[2], [0], [-1]]), updates, reduction="add")
    assert result.tolist() == ["ay", "b", "cxz"]
    result = gs.op("onnx.ScatterElements-18")(data, i64([2, 0, -1]), updates, reduction="add")
    assert result.tolist() == ["ay", "b", "cxz"]
    assert gs.op("onnx.ScatterND-16")(data, i64([[1]]), text(["!"]), reduction="add").tolist() == ["a", "b!", "c"]
    for reduction in ("mul", "min", "max"):
        with pytest.raises(OpTypeError):
            gs.op("onnx.ScatterND-18")(data, i64([[2], [0], [-1]]), updates, reduction=reduction)
        with pytest.raises(OpTypeError):
            gs.op("onnx.ScatterElements-18")(data, i64([2, 0, -1]), updates, reduction=reduction)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_o15_complex_has_no_min_and_max(dtype):
    data, updates = np.array([1 + 2j, 3], dtype), np.array([1j, 2], dtype)
    for reduction in ("min", "max"):
        with pytest.raises(OpTypeError):
            gs.op("onnx.ScatterND-18")(data, i64([[0], [0]]), updates, reduction=reduction)
        with pytest.raises(OpTypeError):
            gs.op("onnx.ScatterElements-18")(data, i64([0, 0]), updates, reduction=reduction)
    equal(gs.op("onnx.ScatterND-18")(data, i64([[0], [0]]), updates, reduction="add"), [3 + 3j, 3])
    equal(gs.op("onnx.ScatterND-18")(data, i64([[0], [0]]), updates, reduction="mul"), [-4 + 2j, 3])


@pytest.mark.parametrize(("dtype", "stuck"), [(np.float16, 2048), (ml_dtypes.bfloat16, 256)])
def test_o16_halves_are_rounded_after_every_step(dtype, stuck):
    data, ones = np.array([stuck], dtype), np.ones(2, dtype)
    equal(gs.op("onnx.ScatterND-18")(data, i64([[0], [0]]), ones, reduction="add"), [stuck])
    equal(gs.op("onnx.ScatterElements-18")(data, i64([0, 0]), ones, reduction="add"), [stuck])
    equal(gs.scatter_nd(data, i64([[0], [0]]), ones, reduction="add"), [stuck])


def test_o16_half_products_overflow_on_the_way():
    data, updates = np.array([300], np.float16), np.array([300, 0.001], np.float16)
    equal(gs.op("onnx.ScatterND-18")(data, i64([[0], [0]]), updates, reduction="mul"), [INF])


@pytest.mark.parametrize("family", ["ScatterND", "ScatterElements"])
def test_o17_reductions_that_the_version_does_not_list(family):
    data, updates = f32([1, 2]), f32([5])
    indices = i64([[0]]) if family == "ScatterND" else i64([0])
    for version, refused in ((11, ("add", "none")), (13, ("mul", "none")), (16, ("max", "min", "sum", "Add", "")),
                             (18, ("mean", "sub", "sum", "prod", "ADD", "nonsense"))):  # fmt: skip
        for reduction in refused:
            with pytest.raises(OpValueError):
                gs.op(f"onnx.{family}-{version}")(data, indices, updates, reduction=reduction)
    with pytest.raises(OpValueError):
        getattr(gs.onnx, family)(data, indices, updates, reduction="max", opset=17)
    equal(getattr(gs.onnx, family)(data, indices, updates, reduction="max", opset=18), [5, 2])


@pytest.mark.parametrize("name", ND_SCATTERS)
def test_o18_updates_are_never_broadcast(name):
    data, indices = np.zeros((3, 4), np.float32), i64([[0], [2]])
    for shape in ((1, 4), (2, 1), (4,), (), (1,), (2, 4, 1), (1, 2, 4), (4, 2), (3, 4)):
        with pytest.raises(OpValueError):
            gs.op(name)(data, indices, np.ones(shape, np.float32))
    with pytest.raises(OpValueError):  # one element is not rank 0 (only OpenVINO accepts it, V13)
        gs.op(name)(f32([1, 2]), i64([0]), f32([5]))


def test_o19_indices_are_checked_when_nothing_would_be_copied():
    empty = np.zeros((2, 0), np.float32)
    calls = [
        ("onnx.Gather-13", empty, i64([2]), None, {"axis": 0}),
        ("onnx.GatherND-13", empty, i64([[2]]), None, {}),
        ("onnx.ScatterND-18", empty, i64([[2]]), np.zeros((1, 0), np.float32), {}),
        ("onnx.Gather-13", empty, i64([0]), None, {"axis": 1}),  # with s = 0 every index is bad
        ("onnx.GatherND-13", np.zeros((3, 0), np.float32), i64([[0], [-4]]), None, {}),
    ]
    for name, data, indices, updates, attributes in calls:
        inputs = [data, indices] if updates is None else [data, indices, updates]
        with pytest.raises(OpIndexError):
            gs.op(name)(*inputs, **attributes)
    equal(gs.op("onnx.ScatterND-18")(empty, i64([[1]]), np.zeros((1, 0), np.float32)), empty)


def test_o20_gather_nd_batch_dims_must_be_equal():
    for data, indices in (((2, 3), (4, 1)), ((1, 3), (4, 1)), ((4, 3), (2, 1)), ((2, 3), (0, 1))):
        for version in (12, 13):
            with pytest.raises(OpValueError):
                gs.op(f"onnx.GatherND-{version}")(np.zeros(data), np.zeros(indices, np.int64), batch_dims=1)


def test_o21_index_types():
    data, narrow, wide = i64([1, 2]), np.array([[0]], np.int32), i64([[0]])
    for name in ND_GATHERS:
        with pytest.raises(OpTypeError):
            gs.op(name)(data, narrow)
        equal(gs.op(name)(data, wide), [1])
    for name in ND_SCATTERS:
        with pytest.raises(OpTypeError):
            gs.op(name)(data, narrow, i64([5]))
    for name in ("onnx.Gather-1", "onnx.Gather-13", *ELEMENT_GATHERS):
        equal(gs.op(name)(data, narrow[0]), [1])
        for dtype in ("int8", "int16", "uint8", "uint16", "uint32", "uint64", "float32", "bool"):
            with pytest.raises(OpTypeError):
                gs.op(name)(data, np.array([0], dtype))
    with pytest.raises(OpTypeError):
        gs.op("onnx.TensorScatter-24")(np.zeros((2, 3)), np.zeros((2, 1)), np.zeros(2, np.int32), axis=1)


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_o22_tensor_scatter_takes_only_the_sequence_coordinate_modulo_its_length(mode):
    past = np.zeros((4, 3, 2, 1), np.int64)  # batch 4 and heads 3 are larger than the 2 slots of the cache
    update = np.arange(1, 13).reshape(4, 3, 1, 1)
    result = gs.op("onnx.TensorScatter-24")(past, update, i64([0, 1, 1, 0]), mode=mode)
    expected = [[[[1], [0]], [[2], [0]], [[3], [0]]], [[[0], [4]], [[0], [5]], [[0], [6]]],
                [[[0], [7]], [[0], [8]], [[0], [9]]], [[[10], [0]], [[11], [0]], [[12], [0]]]]  # fmt: skip
    equal(result, expected)


def test_o23_tensor_scatter_write_indices():
    past, update = np.zeros((2, 4), np.int64), i64([[1, 2], [3, 4]])
    scatter = gs.op("onnx.TensorScatter-24")
    equal(scatter(past, update, i64([0, 2]), axis=1), [[1, 2, 0, 0], [0, 0, 3, 4]])
    equal(scatter(past, update, axis=1), [[1, 2, 0, 0], [3, 4, 0, 0]])
    equal(scatter(past, update, None, axis=-1), [[1, 2, 0, 0], [3, 4, 0, 0]])
    for bad in ([0, -1], [3, 0], [0, 4], [1 << 62, 0], [(1 << 63) - 1, 0]):
        with pytest.raises(OpIndexError):
            scatter(past, update, i64(bad), axis=1)
    # circular: floor modulo, and any distance
    equal(scatter(past, update, i64([-1, 3]), axis=1, mode="circular"), [[2, 0, 0, 1], [4, 0, 0, 3]])
    equal(scatter(past, update, i64([9, -6]), axis=1, mode="circular"), [[0, 1, 2, 0], [0, 0, 3, 4]])
    ends = i64([(1 << 63) - 1, -(1 << 63)])  # 3 and 0 modulo 4; adding t must not overflow
    equal(scatter(past, update, ends, axis=1, mode="circular"), [[2, 0, 0, 1], [3, 4, 0, 0]])


def test_o23_tensor_scatter_shape_rules():
    scatter, past = gs.op("onnx.TensorScatter-24"), np.zeros((2, 4, 3), np.float32)
    update = np.ones((2, 2, 3), np.float32)
    for axis in (0, -3, 3, -4):  # the batch axis, and outside
        with pytest.raises(OpValueError):
            scatter(past, update, axis=axis)
    for mode in ("linear", "circular"):  # S > M in both modes
        with pytest.raises(OpValueError):
            scatter(past, np.ones((2, 5, 3), np.float32), mode=mode)
    for shape in ((1, 2, 3), (2, 2, 2), (2, 2), (2, 2, 3, 1)):
        with pytest.raises(OpValueError):
            scatter(past, np.ones(shape, np.float32))
    for wrong in (np.zeros(3, np.int64), np.zeros((2, 1), np.int64), np.zeros((), np.int64)):
        with pytest.raises(OpValueError):
            scatter(past, update, wrong)
    with pytest.raises(OpValueError):
        scatter(past, update, mode="ring")
    with pytest.raises(OpValueError):
        scatter(np.zeros(4, np.float32), np.zeros(2, np.float32), axis=0)
    equal(scatter(past, update[:, :0]), past)  # S = 0 copies


def test_o24_scatter_9_works_and_scatter_11_is_deprecated():
    arguments = i64([1, 2, 3]), i64([1]), i64([9])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        equal(gs.op("onnx.Scatter-9")(*arguments), [1, 9, 3])
        equal(gs.onnx.Scatter(*arguments, opset=9), [1, 9, 3])
        equal(gs.onnx.Scatter(*arguments, opset=10), [1, 9, 3])
    with pytest.warns(DeprecationWarning, match="Scatter"):
        equal(gs.op("onnx.Scatter-11")(*arguments), [1, 9, 3])
    with pytest.warns(DeprecationWarning, match="Scatter"):
        equal(gs.onnx.Scatter(*arguments, opset=11), [1, 9, 3])
    assert [version.name for version in gs.ops() if version.deprecated] == ["onnx.Scatter-11"]


def test_o25_rank_0_data_is_an_error_everywhere():
    scalar, zero, empty = np.array(1.0, np.float32), i64(0), i64([])
    tuple_ = np.zeros((1, 0), np.int64)
    calls = [
        ("onnx.Gather-13", scalar, zero), ("onnx.GatherElements-13", scalar, zero),
        ("onnx.GatherND-13", scalar, empty), ("onnx.GatherND-13", scalar, tuple_),
        ("onnx.Scatter-9", scalar, zero, scalar), ("onnx.ScatterElements-18", scalar, zero, scalar),
        ("onnx.ScatterND-18", scalar, empty, scalar), ("onnx.ScatterND-18", scalar, tuple_, f32([1])),
        ("onnx.TensorScatter-24", scalar, scalar), ("openvino.Gather-8", scalar, zero, zero),
        ("openvino.GatherND-8", scalar, empty), ("openvino.ScatterUpdate-3", scalar, zero, scalar, zero),
        ("openvino.ScatterElementsUpdate-3", scalar, zero, scalar, zero),
        ("openvino.ScatterElementsUpdate-12", scalar, zero, scalar, zero),
        ("openvino.ScatterNDUpdate-15", scalar, empty, scalar),
    ]  # fmt: skip
    for name, *inputs in calls:
        with pytest.raises(OpValueError):
            gs.op(name)(*inputs)
    with pytest.raises(OpValueError):
        gs.op("openvino.GatherElements-6")(scalar, zero, axis=0)
    with pytest.raises(OpValueError):  # rank-0 indices: only Gather and ScatterUpdate accept them
        gs.op("onnx.GatherND-13")(f32([1, 2]), zero)
    with pytest.raises(OpValueError):
        gs.op("onnx.ScatterND-18")(f32([1, 2]), zero, scalar)


@pytest.mark.parametrize("name", ND_SCATTERS)
def test_o26_an_index_tuple_is_one_position_not_a_list_of_rows(name):
    data = i64([[1, 2], [3, 4]])
    equal(gs.op(name)(data, i64([[0, 1]]), i64([9])), [[1, 9], [3, 4]])
    equal(gs.op(name)(data, i64([1, 0]), np.array(7)), [[1, 2], [7, 4]])


def test_o27_float_sums_are_sequential_in_row_major_order():
    updates = f32([1e8, 1, -1e8, 1])
    indices = i64([[0], [0], [0], [0]])
    equal(gs.op("onnx.ScatterND-18")(f32([0]), indices, updates, reduction="add"), [1])
    equal(gs.op("onnx.ScatterND-18")(f32([0]), indices, updates[::-1], reduction="add"), [0])
    count = 200_000  # enough for several threads
    many = f32(np.tile([1e8, 1, -1e8, 1], count // 4))
    total = np.float32(0)
    for update in many:
        total += update
    result = gs.op("onnx.ScatterElements-18")(f32([0]), np.zeros(count, np.int64), many, reduction="add")
    equal(result, [total])
    for reduction in ("min", "max"):  # either zero may win
        assert gs.op("onnx.ScatterND-18")(f32([0.0]), i64([[0]]), f32([-0.0]), reduction=reduction)[0] == 0


@pytest.mark.parametrize("version", [11, 13, 16, 18])
def test_o28_scatternd_refuses_an_index_out_of_range(version):
    scatter, data = gs.op(f"onnx.ScatterND-{version}"), i64([10, 20, 30])
    equal(scatter(data, i64([[-3], [2]]), i64([1, 2])), [1, 20, 2])
    for bad in (-4, 3, 1 << 32, -(1 << 62)):
        with pytest.raises(OpIndexError, match=rf"indices\[1, 0\] = {bad} is out of range"):
            scatter(data, i64([[0], [bad]]), i64([1, 2]))
    equal(data, [10, 20, 30])


# -------------------------------------------------------------------------------------------------------- OpenVINO


@pytest.mark.parametrize("version", [1, 7])
def test_v1_gather_1_and_7_refuse_negative_and_too_large(version):
    gather = gs.op(f"openvino.Gather-{version}")
    equal(gather(i64([10, 20, 30]), i64([2, 0, 2]), 0), [30, 10, 30])
    for bad in (-1, -3, 3, 1 << 32, 1 << 62):
        with pytest.raises(OpIndexError):
            gather(i64([10, 20, 30]), i64([0, bad]), 0)


def test_v1_gather_8_answers_zero():
    gather = gs.op("openvino.Gather-8")
    equal(gather(i64([10, 20, 30]), i64([-1, -3, -4, 3, 2, 1 << 40]), 0), [30, 10, 0, 0, 30, 0])
    equal(gather(i64([10, 20, 30]), np.array([(1 << 64) - 1, 1 << 63, 1], np.uint64), 0), [0, 0, 20])
    equal(gather(f32([[1, 2], [3, 4]]), i64([5, 1]), 0), [[0, 0], [3, 4]])
    equal(gather(f32([[1, 2], [3, 4]]), i64([[-3]]), 1), [[[0]], [[0]]])


@pytest.mark.parametrize("version", [7, 8])
def test_v2_gather_batch_dims_are_normalised_by_the_rank_of_indices(version):
    gather = gs.op(f"openvino.Gather-{version}")
    data, cube = i64([[10, 20], [30, 40]]), i64([[[0, 1]], [[1, 0]]])
    # b = -3 with r = 2 and q = 3 means 0
    equal(gather(data, cube, 1, batch_dims=-3), [[[[10, 20]], [[20, 10]]], [[[30, 40]], [[40, 30]]]])
    equal(gather(data, cube, 1, batch_dims=-2), [[[10, 20]], [[40, 30]]])
    equal(gather(data, i64([1, 0]), 1, batch_dims=1), [20, 30])  # b = q: one index per batch
    equal(gather(data, i64([1, 0]), 1, batch_dims=0), [[20, 10], [40, 30]])
    for b in (2, 3, -4, 4, -9):  # b > axis, b > r, below -q
        with pytest.raises(OpValueError):
            gather(data, cube, 1, batch_dims=b)
    with pytest.raises(OpValueError):  # b > axis
        gather(data, cube, 0, batch_dims=1)
    with pytest.raises(OpValueError):  # batch dims differ
        gather(data, i64([[0], [1], [1]]), 1, batch_dims=1)


@pytest.mark.parametrize("version", [5, 8])
def test_v3_gather_nd_batch_dims_are_not_broadcast(version):
    for data, indices in (((1, 3), (4, 1)), ((4, 3), (1, 1)), ((2, 3), (4, 1))):
        with pytest.raises(OpValueError):
            gs.op(f"openvino.GatherND-{version}")(np.zeros(data), np.zeros(indices, np.int64), batch_dims=1)


def test_v4_gather_nd_5_fuses_the_batch_dims_and_8_keeps_them():
    data = np.arange(1, 25).reshape(2, 3, 4)
    five, eight = gs.op("openvino.GatherND-5"), gs.op("openvino.GatherND-8")
    indices = i64([[[1], [0], [2]], [[0], [2], [2]]])
    equal(eight(data, indices, batch_dims=2), [[2, 5, 11], [13, 19, 23]])
    equal(five(data, indices, batch_dims=2), [2, 5, 11, 13, 19, 23])
    equal(eight(data, indices[..., None], batch_dims=2), [[[2], [5], [11]], [[13], [19], [23]]])
    equal(five(data, indices[..., None], batch_dims=2), [[2], [5], [11], [13], [19], [23]])
    for b in (0, 1):  # the same for b <= 1
        indices = i64([[[0, 1]], [[1, 0]]])
        equal(five(data, indices, batch_dims=b), eight(data, indices, batch_dims=b))
    assert five(np.zeros((0, 3, 4)), np.zeros((0, 3, 1), np.int64), batch_dims=2).shape == (0,)


def test_v5_gather_nd_8_counts_from_the_end_and_5_refuses():
    data, indices = i64([10, 20, 30]), i64([[-1], [0], [-3]])
    equal(gs.op("openvino.GatherND-8")(data, indices), [30, 10, 10])
    for bad in (indices, i64([[3]])):
        with pytest.raises(OpIndexError):
            gs.op("openvino.GatherND-5")(data, bad)
    for bad in (i64([[-4]]), i64([[3]])):
        with pytest.raises(OpIndexError):
            gs.op("openvino.GatherND-8")(data, bad)


@pytest.mark.parametrize("version", [5, 8])
def test_v6_gather_nd_k_is_bounded_by_rank_minus_batch_dims(version):
    gather_nd, data = gs.op(f"openvino.GatherND-{version}"), np.arange(4).reshape(2, 2)
    equal(gather_nd(data, i64([[0, 1], [1, 0]])), [1, 2])
    with pytest.raises(OpValueError):  # k = 2 <= r, but r - b = 1
        gather_nd(data, i64([[0, 1], [1, 0]]), batch_dims=1)
    for b in (2, -1):  # outside 0 <= b < min(q, r)
        with pytest.raises(OpValueError):
            gather_nd(data, i64([[0], [1]]), batch_dims=b)


def test_v7_gather_elements_6_refuses_negative_and_too_large_and_unequal_shapes():
    gather, data = gs.op("openvino.GatherElements-6"), i64([[1, 2, 3], [4, 5, 6]])
    equal(gather(data, i64([[2, 0, 0, 1], [1, 1, 2, 0]]), axis=1), [[3, 1, 1, 2], [5, 5, 6, 4]])
    for bad in (-1, 3, -4, 1 << 33):
        with pytest.raises(OpIndexError):
            gather(data, i64([[2, 0], [1, bad]]), axis=1)
    with pytest.raises(OpValueError):  # sizes off the axis must be equal
        gather(data, i64([[2, 0]]), axis=1)


def test_v8_scatter_update_takes_the_exact_shape():
    scatter, data = gs.op("openvino.ScatterUpdate-3"), np.zeros((3, 3), np.float32)
    for shape in ((3, 5), (2, 3), (3, 1), (1, 2), (3, 2, 1), (2,), ()):
        with pytest.raises(OpValueError):
            scatter(data, i64([0, 2]), np.ones(shape, np.float32), 1)
    equal(scatter(data, i64([0, 2]), np.ones((3, 2), np.float32), 1), [[1, 0, 1]] * 3)


def test_v9_version_3_scatters_refuse_negative_and_too_large():
    data, update = i64([1, 2, 3]), i64([9])
    for bad in (-1, -3, 3, 1 << 40):
        for name in ("ScatterUpdate-3", "ScatterElementsUpdate-3"):
            with pytest.raises(OpIndexError):
                gs.op(f"openvino.{name}")(data, i64([bad]), update, 0)
        with pytest.raises(OpIndexError):
            gs.op("openvino.ScatterNDUpdate-3")(data, i64([[bad]]), update)
    equal(gs.op("openvino.ScatterElementsUpdate-12")(data, i64([-1]), update, 0), [1, 2, 9])
    equal(gs.op("openvino.ScatterNDUpdate-15")(data, i64([[-3]]), update), [9, 2, 3])
    for bad in (-4, 3):
        with pytest.raises(OpIndexError):
            gs.op("openvino.ScatterElementsUpdate-12")(data, i64([bad]), update, 0)
        with pytest.raises(OpIndexError):
            gs.op("openvino.ScatterNDUpdate-15")(data, i64([[bad]]), update)


def seu12(data: np.ndarray, updates: np.ndarray, reduction: str, use_init_val: bool) -> np.ndarray:
    """Every update is in slot 0."""
    indices = np.zeros(len(updates), np.int64)
    scatter = gs.op("openvino.ScatterElementsUpdate-12")
    return scatter(data, indices, updates, 0, reduction=reduction, use_init_val=use_init_val)


def test_v10_mean_is_over_all_contributions_and_floors():
    data, updates = np.array([-8, 5], np.int32), np.array([-5, -6], np.int32)
    equal(seu12(data, updates, "mean", True), [-7, 5])  # floor(-19 / 3)
    equal(seu12(data, updates, "mean", False), [-6, 5])  # floor(-11 / 2)
    hundreds = np.full(3, 100, np.int8)  # the exact sum is 300 and must not wrap around to 44
    equal(seu12(hundreds[:1], hundreds, "mean", False), [100])
    equal(seu12(np.array([-100], np.int8), np.full(4, -100, np.int8), "mean", True), [-100])
    half = np.array([1 << 63], np.uint64)
    equal(seu12(half, half, "mean", True), [1 << 63])
    ends = np.array([-(1 << 63)] * 3, np.int64)
    equal(seu12(ends[:1], ends, "mean", True), [-(1 << 63)])
    equal(seu12(f32([1]), f32([2, 4, 4]), "mean", True), [2.75])
    equal(seu12(f32([1]), f32([2, 4, 4]), "mean", False), [np.float32(10) / np.float32(3)])


def test_v11_infinities_survive_without_the_initial_value():
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
        one, down = np.array([1, 2], dtype), np.array([-INF, -INF], dtype)
        equal(seu12(one, down, "max", False), [-INF, 2])
        equal(seu12(one, -down, "min", False), [INF, 2])
        equal(seu12(one, down, "max", True), [1, 2])
        equal(seu12(one, -down, "min", True), [1, 2])


def test_v12_scatter_nd_update_15_examples_corrected():
    scatter = gs.op("openvino.ScatterNDUpdate-15")
    result = scatter(i64([1, 2, 3, 4, 5, 6, 7, 8]), i64([[4], [3], [1], [7], [-2], [-4]]), i64([9, 10, 11, 12, 13, 14]))
    equal(result, [1, 11, 3, 10, 14, 6, 13, 12])  # position 4 is written by 9 and then by 14
    data, indices, updates = f32([1, 2, 3, 4]), i64([0, 2, -3, -3, 0]), f32([10, 20, 30, 40, 50])
    answers = {"none": [50, 40, 20, 4], "sum": [61, 72, 23, 4], "sub": [-59, -68, -17, 4],
               "prod": [500, 2400, 60, 4], "min": [1, 2, 3, 4], "max": [50, 40, 20, 4]}  # fmt: skip
    for reduction, expected in answers.items():
        equal(scatter(data, indices[:, None], updates, reduction=reduction), expected)
        with pytest.raises(OpValueError):  # as printed: one tuple of five indices into rank-1 data
            scatter(data, indices, updates, reduction=reduction)


@pytest.mark.parametrize("version", [3, 15])
def test_v13_expected_rank_0_updates_may_be_any_single_element(version):
    scatter, data = gs.op(f"openvino.ScatterNDUpdate-{version}"), i64([[1, 2], [3, 4]])
    for updates in (np.array(9), i64([9]), i64([[[9]]])):
        equal(scatter(data, i64([1, 0]), updates), [[1, 2], [9, 4]])
    for updates in (i64([9, 9]), i64([]), i64([[9], [9]])):
        with pytest.raises(OpValueError):
            scatter(data, i64([1, 0]), updates)
    with pytest.raises(OpValueError):  # only where rank 0 is expected
        scatter(i64([1, 2]), i64([[1]]), np.array(9))


def test_v14_scatter_elements_update_12_on_the_second_axis():
    data, indices, updates = np.zeros((2, 3), np.int64), i64([[2, -3], [0, 1]]), i64([[1, 2], [3, 4]])
    result = gs.op("openvino.ScatterElementsUpdate-12")(data, indices, updates, 1, reduction="sum")
    equal(result, [[2, 0, 1], [3, 4, 0]])
    with pytest.raises(OpIndexError):  # the range is that of the axis, s = 3
        gs.op("openvino.ScatterElementsUpdate-12")(data, i64([[2, -4], [0, 1]]), updates, 1)


def test_v15_gather_tree():
    tree = gs.op("openvino.GatherTree-1")
    steps = np.array([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]], np.int32)
    parents = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]], np.int32)

    def run(length: int, end: int, parents: np.ndarray = parents) -> np.ndarray:
        return tree(steps, parents, np.array([length], np.int32), np.array(end, np.int32))

    equal(run(3, 10), [[[2, 2, 2]], [[6, 5, 6]], [[7, 8, 9]]])
    equal(run(3, 6), [[[2, 2, 2]], [[6, 5, 6]], [[6, 8, 6]]])
    equal(run(2, 10), [[[1, 2, 2]], [[4, 5, 6]], [[10, 10, 10]]])
    equal(run(7, 10), run(3, 10))  # a length above T clamps
    for length in (0, -1):
        equal(run(length, 10), np.full((3, 1, 3), 10))
    equal(run(1, 10, np.full_like(parents, 99)), [[[1, 2, 3]], [[10] * 3], [[10] * 3]])  # parents that are never read
    for bad in (3, -1):
        broken = parents.copy()
        broken[2, 0, 1] = bad
        with pytest.raises(OpIndexError):
            run(3, 10, broken)
        broken = parents.copy()
        broken[0, 0, :] = bad  # level 0 is read last and never used
        equal(run(3, 10, broken), run(3, 10))


def test_v15_gather_tree_shapes():
    tree, ids = gs.op("openvino.GatherTree-1"), np.zeros((3, 2, 4), np.float32)
    length, end = np.zeros(2, np.float32), np.array(0, np.float32)
    equal(tree(ids, ids, length, end), ids)
    bad_calls = [
        (ids, ids[:2], length, end), (ids[0], ids[0], length, end), (ids, ids, length[:1], end),
        (ids, ids, length[:, None], end), (ids, ids, length, length[:1]),
    ]  # fmt: skip
    for inputs in bad_calls:
        with pytest.raises(OpValueError):
            tree(*inputs)
    with pytest.raises(OpTypeError):  # all four inputs have one type
        tree(ids, ids.astype(np.int32), length, end)


def test_v16_the_axis_input_is_one_number():
    data, indices, updates = i64([[1, 2], [3, 4]]), i64([[0, 1]]), i64([[8, 9]])
    calls = {
        "Gather-1": [data, indices], "Gather-7": [data, indices], "Gather-8": [data, indices],
        "ScatterUpdate-3": [data, i64(0), i64([8, 9])],
        "ScatterElementsUpdate-3": [data, indices, updates], "ScatterElementsUpdate-12": [data, indices, updates],
    }  # fmt: skip
    for name, inputs in calls.items():
        function = gs.op(f"openvino.{name}")
        plain = function(*inputs, 0)
        for axis in (np.int8(0), np.array(0, np.uint64), np.array([0], np.int32), i64(-2), -2):
            equal(function(*inputs, axis), plain)
        for axis in (i64([0, 0]), i64([0, 1]), i64([]), i64([[0]]), 2, -3, i64(2), np.array([1 << 63], np.uint64)):
            with pytest.raises(OpValueError):
                function(*inputs, axis)
        for axis in (np.array(0.0), np.array([False])):
            with pytest.raises(OpTypeError):
                function(*inputs, axis)


def test_v17_nan_propagates():
    for reduction in ("min", "max"):
        equal(seu12(f32([NAN, 3]), f32([1]), reduction, True), [NAN, 3])
        equal(seu12(f32([1, 3]), f32([NAN, 2]), reduction, True), [NAN, 3])
        equal(seu12(f32([NAN, 3]), f32([1]), reduction, False), [1, 3])  # data does not take part
        for data, update in ((NAN, 1), (1, NAN)):
            scatter = gs.op("openvino.ScatterNDUpdate-15")
            equal(scatter(f32([data]), i64([[0]]), f32([update]), reduction=reduction), [NAN])


def test_v18_booleans_are_numeric_and_nothing_is_narrowed():
    two = np.array([True, True])
    equal(gs.op("openvino.ScatterUpdate-3")(two, i64([1]), np.array([False]), 0), [True, False])
    expected = {"sum": [True, True], "prod": [True, False], "sub": [False, True], "min": [True, False],
                "max": [True, True]}  # fmt: skip
    scatter = gs.op("openvino.ScatterNDUpdate-15")
    for reduction, answer in expected.items():  # sub is exclusive or
        equal(scatter(two, i64([[0], [1]]), np.array([True, False]), reduction=reduction), answer)
    with pytest.raises(OpTypeError):
        seu12(two, two, "mean", True)
    wide = i64([(1 << 40) + 1, -(1 << 62)])
    equal(gs.op("openvino.ScatterUpdate-3")(wide, i64([1]), wide[:1], 0), [(1 << 40) + 1] * 2)
    equal(gs.op("openvino.GatherND-8")(np.array([2.2]), i64([[0]])), [2.2])
    for name in ("openvino.GatherND-8", "openvino.GatherND-5"):
        with pytest.raises(OpIndexError):  # as int32 this index would be 1
            gs.op(name)(wide, i64([[(1 << 32) + 1]]))
    data = np.arange(200)
    equal(gs.op("openvino.GatherND-8")(data, np.array([[-1]], np.int8)), [199])  # widen before adding the size


@pytest.mark.parametrize(("dtype", "start"), [(np.float16, 2048), (ml_dtypes.bfloat16, 256)])
def test_v19_openvino_halves_accumulate_in_float32(dtype, start):
    data, ones = np.array([start], dtype), np.ones(2, dtype)
    equal(gs.op("openvino.ScatterNDUpdate-15")(data, i64([[0], [0]]), ones, reduction="sum"), [start + 2])
    equal(seu12(data, ones, "sum", True), [start + 2])
    equal(seu12(data, np.full(3, start, dtype), "mean", True), [start])
    data = np.array([start * 2 + 4], dtype)
    result = gs.op("openvino.ScatterNDUpdate-15")(data, i64([[0]] * 4), np.ones(4, dtype), reduction="sub")
    equal(result, [start * 2])


def test_v19_half_products_do_not_overflow_on_the_way():
    data, updates = np.array([300], np.float16), np.array([300, 0.001], np.float16)
    equal(seu12(data, updates, "prod", True), [90.06])
    equal(seu12(np.array([1], np.float16), np.array([40000, 40000], np.float16), "mean", False), [40000])


def test_v20_empty_indices_and_k_0():
    data = np.arange(6).reshape(2, 3)
    none = np.zeros((0,), np.int64)
    assert gs.op("openvino.Gather-8")(data, none, 1).shape == (2, 0)
    equal(gs.op("openvino.Gather-8")(np.zeros((2, 0)), i64([0, 1, -1]), 1), np.zeros((2, 3)))  # zeros, no error
    assert gs.op("openvino.Gather-8")(np.zeros((2, 0)), none, 1).shape == (2, 0)
    for name in ("openvino.Gather-1", "openvino.Gather-7"):
        with pytest.raises(OpIndexError):
            gs.op(name)(np.zeros((2, 0)), i64([0]), 1)
        assert gs.op(name)(np.zeros((2, 0)), none, 1).shape == (2, 0)  # no index, no error
    gather = gs.op("openvino.GatherElements-6")
    assert gather(data, np.zeros((2, 0), np.int64), axis=1).shape == (2, 0)
    assert gather(data, np.zeros((0, 3), np.int64), axis=0).shape == (0, 3)
    equal(gs.op("openvino.GatherND-8")(data, np.zeros((1, 0), np.int64)), [data])
    update = gs.op("openvino.ScatterNDUpdate-15")(data, np.zeros((1, 0), np.int64), data[None], reduction="sum")
    equal(update, data + data)
    equal(gs.op("openvino.ScatterUpdate-3")(data, none, np.zeros((2, 0), np.int64), 1), data)
    equal(gs.op("openvino.ScatterNDUpdate-3")(data, np.zeros((0, 2), np.int64), none), data)


@pytest.mark.parametrize("version", [3, 12])
def test_v21_scatter_elements_update_shapes(version):
    scatter, data = gs.op(f"openvino.ScatterElementsUpdate-{version}"), np.zeros((2, 2), np.int64)
    with pytest.raises(OpValueError):  # larger off the axis: an error for both
        scatter(data, np.zeros((3, 2), np.int64), np.ones((3, 2), np.int64), 1)
    longer = i64([[0, 1, 0]])
    if version == 3:
        with pytest.raises(OpValueError):
            scatter(data, longer, longer + 5, 1)
    else:
        equal(scatter(data, longer, i64([[5, 6, 7]]), 1), [[7, 6], [0, 0]])
    equal(scatter(data, i64([[1]]), i64([[5]]), 1), [[0, 5], [0, 0]])


def test_v22_gather_8_zero_of_other_types():
    gather, beyond = gs.op("openvino.Gather-8"), i64([0, 9])
    equal(gather(np.array([True, True]), beyond, 0), [True, False])
    assert gather(text(["a", "b"]), beyond, 0).tolist() == ["a", ""]
    assert gather(text([]), beyond, 0).tolist() == ["", ""]  # text even if there is no element to look at
    assert gather(np.array(["a", "b"]), beyond, 0).tolist() == ["a", ""]
    assert gather(np.array(["a", "b"], np.dtypes.StringDType()), beyond, 0).tolist() == ["a", ""]
    assert not np.signbit(gather(np.array([-1.0, -1.0]), beyond, 0)[1])
    equal(gather(np.array([2, 3], ml_dtypes.bfloat16), beyond, 0), [2, 0])


def test_v23_axes_count_from_zero_and_the_output_is_a_copy():
    data = i64([[1, 2], [3, 4]])
    equal(gs.op("openvino.Gather-8")(data, i64([1]), 1), [[2], [4]])
    equal(gs.op("openvino.Gather-8")(data, i64([1]), 0), [[3, 4]])
    result = gs.op("openvino.ScatterUpdate-3")(data, i64([0]), i64([[8, 9]]), 0)
    equal(result, [[8, 9], [3, 4]])
    equal(data, [[1, 2], [3, 4]])
    assert not np.shares_memory(result, data)
    copy = gs.op("openvino.ScatterUpdate-3")(data, i64([]), np.zeros((0, 2), np.int64), 0)
    assert not np.shares_memory(copy, data)


def test_v24_scalar_indices_for_scatter_update_and_gather():
    data = i64([[1, 2], [3, 4]])
    equal(gs.op("openvino.ScatterUpdate-3")(data, np.array(1), i64([8, 9]), 0), [[1, 2], [8, 9]])
    equal(gs.op("openvino.ScatterUpdate-3")(data, np.array(1), i64([8, 9]), 1), [[1, 8], [3, 9]])
    equal(gs.op("openvino.ScatterUpdate-3")(i64([1, 2]), np.array(1), np.array(9), 0), [1, 9])
    equal(gs.op("openvino.Gather-8")(data, np.array(1), 1), [2, 4])
    equal(gs.op("openvino.Gather-1")(i64([5, 6]), np.array(1), 0), 6)
    for name in ("ScatterUpdate-3", "ScatterElementsUpdate-3", "ScatterElementsUpdate-12"):
        with pytest.raises(OpValueError):
            gs.op(f"openvino.{name}")(np.array(1), np.array(0), np.array(2), 0)


OFFSETS = ["openvino.EmbeddingBagOffsets-15", "openvino.EmbeddingBagOffsetsSum-3"]
PACKED = ["openvino.EmbeddingBagPacked-15", "openvino.EmbeddingBagPackedSum-3"]
SEGMENTS = "openvino.EmbeddingSegmentsSum-3"
ROWS_OF_TWO = f32([[1, 2], [10, 20], [100, 200]])


def test_v25_embedding_operators_refuse_negative_and_too_large_indices():
    for bad in (-1, 3, -3, 1 << 40):
        for name in OFFSETS:
            with pytest.raises(OpIndexError):
                gs.op(name)(ROWS_OF_TWO, i64([0, bad]), i64([0]))
        for name in PACKED:
            with pytest.raises(OpIndexError):
                gs.op(name)(ROWS_OF_TWO, i64([[0, bad]]))
        with pytest.raises(OpIndexError):
            gs.op(SEGMENTS)(ROWS_OF_TWO, i64([0, bad]), i64([0, 0]), i64(1))


@pytest.mark.parametrize("name", OFFSETS)
def test_v26_offsets_ascend_and_what_is_before_the_first_is_in_no_bag(name):
    embed = gs.op(name)
    equal(embed(ROWS_OF_TWO, i64([2, 0, 1, 1]), i64([1, 3])), [[11, 22], [10, 20]])
    equal(embed(ROWS_OF_TWO, i64([2, 0, 1]), i64([0, 0, 3])), [[0, 0], [111, 222], [0, 0]])
    with pytest.raises(OpIndexError):  # an index that is in no bag is also checked
        embed(ROWS_OF_TWO, i64([7, 0, 1, 1]), i64([1, 3]))
    with pytest.raises(OpValueError, match=r"offsets\[2\] = 1 comes after 2"):
        embed(ROWS_OF_TWO, i64([2, 0, 1, 1]), i64([0, 2, 1]))
    for bad in (-1, 5):
        with pytest.raises(OpIndexError):
            embed(ROWS_OF_TWO, i64([2, 0, 1, 1]), i64([0, bad]))


def test_v27_empty_bags_are_zeros_or_the_row_of_default_index():
    indices, offsets, weights = i64([1, 2]), i64([0, 2]), f32([2, 3])
    for name in OFFSETS:
        embed = gs.op(name)
        equal(embed(ROWS_OF_TWO, indices, offsets), [[110, 220], [0, 0]])
        equal(embed(ROWS_OF_TWO, indices, offsets, i64(-1)), [[110, 220], [0, 0]])
        equal(embed(ROWS_OF_TWO, indices, offsets, i64(0), weights), [[320, 640], [1, 2]])
        for bad in (-2, 3):  # even if no bag is empty
            with pytest.raises(OpIndexError):
                embed(ROWS_OF_TWO, indices, offsets[:1], i64(bad))
    equal(gs.op(OFFSETS[0])(ROWS_OF_TWO, indices, offsets, reduction="mean"), [[55, 110], [0, 0]])
    for name in PACKED:
        equal(gs.op(name)(ROWS_OF_TWO, np.zeros((2, 0), np.int64)), [[0, 0], [0, 0]])
    equal(gs.op(PACKED[0])(ROWS_OF_TWO, np.zeros((1, 0), np.int64), reduction="mean"), [[0, 0]])
    equal(gs.op(SEGMENTS)(ROWS_OF_TWO, indices, i64([1, 1]), i64(2), i64(-1)), [[0, 0], [110, 220]])
    equal(gs.op(SEGMENTS)(ROWS_OF_TWO, indices, i64([1, 1]), i64(2), i64(2)), [[100, 200], [110, 220]])


def test_v28_segment_ids_must_be_sorted():
    with pytest.raises(OpValueError, match=r"segment_ids\[2\] = 0 comes after 1"):
        gs.op(SEGMENTS)(ROWS_OF_TWO, i64([0, 1, 2]), i64([0, 1, 0]), i64(2))
    with pytest.raises(OpValueError, match=r"segment_ids\[1\] = 0 comes after 1"):
        gs.op("openvino.SegmentMax-16")(ROWS_OF_TWO, i64([1, 0, 1]), fill_mode="ZERO")


def test_v29_segments_are_as_many_as_num_segments_says():
    segment_max = gs.op("openvino.SegmentMax-16")
    equal(segment_max(ROWS_OF_TWO, i64([0, 0, 2]), fill_mode="ZERO"), [[10, 20], [0, 0], [100, 200]])
    for number in (i64(4), i64([4])):
        result = segment_max(ROWS_OF_TWO, i64([0, 0, 2]), number, fill_mode="ZERO")
        equal(result, [[10, 20], [0, 0], [100, 200], [0, 0]])
    with pytest.raises(OpIndexError):
        segment_max(ROWS_OF_TWO, i64([0, 0, 2]), i64(2), fill_mode="ZERO")
    with pytest.raises(OpIndexError):
        gs.op(SEGMENTS)(ROWS_OF_TWO, i64([0]), i64([2]), i64(2))
    for wrong in (i64(-1), i64([1, 2]), i64([[3]])):
        with pytest.raises(OpValueError):
            segment_max(ROWS_OF_TWO, i64([0, 0, 2]), wrong, fill_mode="ZERO")
    with pytest.raises(OpValueError):
        gs.op(OFFSETS[0])(ROWS_OF_TWO, i64([0]), i64([0]), i64([0, 1]))


def test_v30_segment_max_fills_with_zeros_or_the_lowest_finite_number():
    segment_max = gs.op("openvino.SegmentMax-16")
    for name, lowest in (
        ("float32", -3.4028234663852886e38),
        ("float64", -1.7976931348623157e308),
        ("float16", -65504.0),
        ("bfloat16", -3.3895313892515355e38),
        ("int8", -128),
        ("uint8", 0),
        ("bool", False),
    ):
        data = np.ones(1, np.dtype(getattr(ml_dtypes, name, None) or name))
        assert segment_max(data, i64([1]), fill_mode="LOWEST")[0] == np.array(lowest, data.dtype)
        assert segment_max(data, i64([1]), fill_mode="ZERO")[0] == 0
    with pytest.raises(OpTypeError):
        segment_max(ROWS_OF_TWO, i64([0, 0, 1]), empty_segment_value="ZERO")
    with pytest.raises(OpTypeError):  # it is required
        segment_max(ROWS_OF_TWO, i64([0, 0, 1]))


def test_v31_weights_and_means_of_integers():
    hidden = f32([[NAN], [1]])
    for name in OFFSETS:
        equal(gs.op(name)(hidden, i64([0, 1]), i64([0]), None, f32([0, 1])), [[NAN]])
    halves = np.array([[3], [1]], np.float16)  # 3 * 0.333 is rounded to 0.999, before it is added
    third = np.array([1 / 3] * 2, np.float16)
    expected = (np.float32(halves[0, 0] * third[0]) + np.float32(halves[1, 0] * third[1])).astype(np.float16)
    equal(gs.op(PACKED[0])(halves, i64([[0, 1]]), third[None]), [[expected]])
    for name in (OFFSETS[0], PACKED[0]):
        indices, offsets = (i64([0, 1, 1]), (i64([0]),)) if name in OFFSETS else (i64([[0, 1, 1]]), ())
        equal(gs.op(name)(i64([[-3], [-2]]), indices, *offsets, reduction="mean"), [[-3]])  # -7 / 3, rounded down
    with pytest.raises(OpValueError):
        gs.op(PACKED[0])(ROWS_OF_TWO, i64([[0]]), f32([[1]]), reduction="mean")


def test_bags_accumulate_in_the_types_that_there_are():
    with pytest.raises(OpValueError, match="accumulate must be one of"):
        gs.openvino.EmbeddingBagPackedSum(ROWS_OF_TWO, i64([[0, 1]]), accumulate="twice")
    for accumulate in ("step", "wide", "exact"):
        equal(gs.openvino.EmbeddingBagPackedSum(ROWS_OF_TWO, i64([[0, 1]]), accumulate=accumulate), [[11, 22]])


# -------------------------------------------------------------------------------------------------- ONNX Runtime


QUANTIZED = gs.op("com.microsoft.GatherBlockQuantized-1")
BYTES = np.array([[0x98, 0xBA] * 8, [0x10, 0x32] * 8], np.uint8)  # 8, 9, 10, 11, ... and 0, 1, 2, 3, ...


def test_m1_uint8_is_gathered_along_the_first_axis():
    for axes in ({"gather_axis": 1, "quantize_axis": 0}, {"quantize_axis": 0}, {"gather_axis": -1}):
        for bits in (2, 4, 8):
            with pytest.raises(OpValueError, match="gather_axis must be the first axis"):
                QUANTIZED(BYTES, i64([0]), f32([[1], [1]]), block_size=32, bits=bits, **axes)
    table, scales = np.array([[[3, 4], [5, 6]]], np.uint8), f32([[[1, 10]]])  # the middle axis is quantized
    equal(QUANTIZED(table, i64([0]), scales, block_size=16, bits=8, quantize_axis=1), [[[-125, -1240], [-123, -1220]]])


def test_m2_low_bits_come_first_and_rows_of_zero_points_begin_with_a_new_byte():
    ones = f32([[1, 1, 1], [1, 1, 1]])
    table = np.array([[0x10] * 24, [0x32] * 24], np.uint8)
    zeros = np.array([[0x21, 0xF3], [0x54, 0xF6]], np.uint8)  # 1, 2, 3 and padding; 4, 5, 6 and padding
    result = QUANTIZED(table, i64([1, 0]), ones, zeros, block_size=16)
    equal(result[0], [-2, -1] * 8 + [-3, -2] * 8 + [-4, -3] * 8)
    equal(result[1], [-1, 0] * 8 + [-2, -1] * 8 + [-3, -2] * 8)


def test_m3_default_zero_points():
    one = f32([[1], [1]])
    equal(QUANTIZED(BYTES, i64([1]), one, block_size=32), [[-8, -7, -6, -5] * 8])
    equal(
        QUANTIZED(np.array([[0b11100100] * 4], np.uint8), i64([0]), one[:1], block_size=16, bits=2),
        [[-2, -1, 0, 1] * 4],
    )
    equal(QUANTIZED(np.array([[7] * 16], np.uint8), i64([0]), one[:1], block_size=16, bits=8), [[-121] * 16])
    equal(QUANTIZED(np.full((1, 16), 7, "uint4"), i64([0]), one[:1], block_size=16), [[7] * 16])
    equal(QUANTIZED(np.full((1, 16), -8, "int4"), i64([0]), one[:1], block_size=16), [[-8] * 16])
    floats = np.ones((1, 16), "float8_e5m2")
    with pytest.raises(OpValueError, match="zero_points must not be given"):
        QUANTIZED(floats, i64([0]), one[:1], floats[:, :1], block_size=16)


def test_m4_blocks():
    table = np.ones((1, 18), "uint4")
    equal(QUANTIZED(table, i64([0]), f32([[2, 3]]), block_size=16), [[2] * 16 + [3] * 2])
    for block_size in (0, 1, 8, 24, -16):
        with pytest.raises(OpValueError, match="block_size must be a power of 2"):
            QUANTIZED(table, i64([0]), f32([[2, 3]]), block_size=block_size)
    equal(QUANTIZED(np.ones((1, 18), "float8_e5m2"), i64([0]), f32([[2]]), block_size=0), [[2] * 18])
    assert QUANTIZED(np.ones((1, 0), "uint4"), i64([0]), f32(np.ones((1, 0))), block_size=16).shape == (1, 0)


def test_m5_products_are_rounded_once():
    third = np.float16(1 / 3)
    result = QUANTIZED(np.full((1, 16), 7, "uint4"), i64([0]), np.full((1, 1), third), block_size=16)
    assert result.dtype == np.float16
    equal(result, [[np.float16(7 * float(third))] * 16])
    tenth = np.float32(0.1)
    result = QUANTIZED(np.full((1, 16), 7, "uint4"), i64([0]), np.full((1, 1), tenth), block_size=16)
    equal(result, [[np.float32(7) * tenth] * 16])


def test_m6_only_floats_share_scales():
    table, one = np.ones((3, 16)), f32([[5]])
    equal(QUANTIZED(table.astype("float4_e2m1fn"), i64([2]), one, block_size=16), [[5] * 16])
    for name in ("int4", "uint4"):
        with pytest.raises(OpValueError, match="with one scale for all positions of axis 0"):
            QUANTIZED(table.astype(name), i64([2]), one, block_size=16)
        equal(QUANTIZED(table[:1].astype(name), i64([0]), one, block_size=16), [[5] * 16])


def test_m7_an_index_out_of_range_gives_zeros():
    minus = f32([[-1], [-1]])
    result = QUANTIZED(BYTES, i64([2, -1, -3, 1 << 40]), minus, block_size=32)
    equal(result, [[0] * 32, [8, 7, 6, 5] * 8, [0] * 32, [0] * 32])
    assert not np.signbit(result[0]).any()


def test_m8_bits_of_other_types():
    one = f32([[1]])
    for name in ("int4", "uint4"):
        for bits in (2, 8):
            with pytest.raises(OpValueError, match=f"bits must be 4 for data of type {name}"):
                QUANTIZED(np.ones((1, 16), name), i64([0]), one, block_size=16, bits=bits)
    equal(QUANTIZED(np.ones((1, 16), "float8_e4m3fn"), i64([0]), one, block_size=16, bits=3), [[1] * 16])
