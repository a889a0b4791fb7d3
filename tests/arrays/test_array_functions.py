"""The functions in the package root: modes, out=, include_self, mean, casts, and every kind of array NumPy has."""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gatherscatter as gs
from gatherscatter import oracle
from gatherscatter.errors import OpIndexError, OpTypeError, OpValueError
from gatherscatter.operation import Form, Kernel
from gatherscatter_conformance.random_calls import fill_from_bytes
from gatherscatter_conformance.random_source import HypothesisChoices
from tests.support.cases import CASES

NAN, INF = float("nan"), float("inf")
ERRORS = (TypeError, ValueError, IndexError)
SCATTERS = ("scatter_nd", "scatter_elements", "scatter_update")
GATHERS = ("gather_nd", "gather_elements", "gather")


def equal(result: np.ndarray, expected: Any, dtype: Any = None) -> None:
    assert isinstance(result, np.ndarray)
    expected = np.array(expected, result.dtype if dtype is None else dtype)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result, expected)


def i64(values: Any) -> np.ndarray:
    return np.array(values, np.int64)


def f32(values: Any) -> np.ndarray:
    return np.array(values, np.float32)


def as_tuples(kernel: str, indices: Any) -> np.ndarray:
    """Return one-dimensional targets in the form that the kernel takes."""
    return np.asarray(indices)[..., None] if Kernel(kernel).form == Form.TUPLES else np.asarray(indices)


# ---------------------------------------------------------------------------------------------------- random calls


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items() if "version" not in name])
@given(data=st.data())
def test_random_calls(case, data):
    """Check all modes, reductions, index types and element types against the oracle, with out= and prepared indices."""
    case(HypothesisChoices(data.draw))


# Sizes that reach blocks, vector tails and several threads: (data, targets, width of a row).
LARGE = ((7, 30_000, 1), (5_000, 30_000, 1), (40, 2_000, 17), (3, 40, 1_000), (1, 9, 4_099))
LARGE_TYPES = ("float32", "float16", "bfloat16", "int8", "uint64", "bool", "complex64")


@pytest.mark.full
@pytest.mark.parametrize("sizes", LARGE, ids=str)
@pytest.mark.parametrize("element", LARGE_TYPES)
def test_larger_scatters(element, sizes):
    """Check all reductions with and without data, with many duplicates in each call."""
    size, count, width = sizes
    noise = np.random.default_rng(count)
    data = fill_from_bytes(element, (size, width), noise.bytes(size * width))
    updates = fill_from_bytes(element, (count, width), noise.bytes(count * width))
    indices = noise.integers(-size, size, (count, 1))
    for n, reduction in enumerate(oracle.REDUCTIONS):
        if oracle.is_reducible(reduction, element) and not (element == "complex64" and reduction == "mean"):
            included = reduction == "none" or bool(n % 2) == (element in LARGE_TYPES[::2])
            keywords = {"reduction": reduction, "include_self": included}
            expected = oracle.array_call("scatter_nd", data, indices, updates, **keywords)
            zero_sign = reduction not in ("min", "max")
            oracle.assert_same(gs.scatter_nd(data, indices, updates, **keywords), expected, data, zero_sign)
            written = data.copy()
            oracle.assert_same(
                gs.scatter_nd(written, indices, updates, **keywords, out=written), expected, data, zero_sign
            )
            flat = data[:, 0].copy(), indices[:, 0], updates[:, 0].copy()
            narrow = gs.scatter_elements(*flat, **keywords)
            oracle.assert_same(narrow, expected[:, 0], data, zero_sign)


@pytest.mark.parametrize("sizes", LARGE, ids=str)
@pytest.mark.parametrize("element", ["uint8", "float16", "float32", "int64", "complex128"])
def test_larger_gathers(element, sizes):
    size, count, width = sizes
    noise = np.random.default_rng(count)
    data = fill_from_bytes(element, (size, width), noise.bytes(size * width))
    indices = noise.integers(-size, size, count)
    rows = gs.gather(data, indices, 0)
    assert rows.tobytes() == b"".join(data[n].tobytes() for n in indices.tolist())
    assert gs.gather_nd(data, indices[:, None]).tobytes() == rows.tobytes()
    columns = gs.gather(np.ascontiguousarray(data.T), indices, 1)
    assert np.ascontiguousarray(columns.T).tobytes() == rows.tobytes()
    lanes = gs.gather_elements(data, np.repeat(indices[:, None], width, axis=1), 0)
    assert lanes.tobytes() == rows.tobytes()


# --------------------------------------------------------------------------------------------------------- modes


@pytest.mark.parametrize("kernel", GATHERS)
def test_gather_modes(kernel):
    gather, data = getattr(gs, kernel), i64([10, 20, 30])
    indices = as_tuples(kernel, i64([-1, -3, 2]))
    equal(gather(data, indices), [30, 10, 30])
    bad = as_tuples(kernel, i64([-3, -4, 3, 7, -9, 1]))
    for mode in ({}, {"mode": "raise"}):
        with pytest.raises(OpIndexError):
            gather(data, bad, **mode)
    equal(gather(data, bad, mode="wrap"), [10, 30, 10, 20, 10, 20])
    equal(gather(data, bad, mode="clip"), [10, 10, 30, 30, 10, 20])
    equal(gather(data, bad, mode="fill"), [10, 0, 0, 0, 0, 20])


@pytest.mark.parametrize("kernel", SCATTERS)
def test_scatter_modes(kernel):
    scatter, data, updates = getattr(gs, kernel), i64([10, 20, 30]), i64([1, 2, 4, 8, 16, 32])
    bad = as_tuples(kernel, i64([-3, -4, 3, 7, -9, 1]))
    for mode in ({}, {"mode": "raise"}):
        with pytest.raises(OpIndexError):
            scatter(data, bad, updates, **mode)
    equal(scatter(data, bad, updates, mode="wrap", reduction="add"), [10 + 1 + 4 + 16, 20 + 8 + 32, 30 + 2])
    equal(scatter(data, bad, updates, mode="clip", reduction="add"), [10 + 1 + 2 + 16, 20 + 32, 30 + 4 + 8])
    equal(scatter(data, bad, updates, mode="drop", reduction="add"), [10 + 1, 20 + 32, 30])
    equal(scatter(data, bad, updates, mode="drop"), [1, 32, 30])


@pytest.mark.parametrize(("mode", "expected"), [("wrap", [10, 12, 11]), ("clip", [12, 12, 12]), ("fill", [0, 0, 0])])
def test_modes_use_the_true_value_of_wide_and_unsigned_indices(mode, expected):
    indices = np.array([(1 << 64) - 1, 1 << 63, (1 << 63) - 4], np.uint64)  # modulo 3: 0, 2, 1
    equal(gs.gather(i64([10, 11, 12]), indices, mode=mode), expected)


def test_narrow_indices_reach_beyond_their_type():
    lowest = np.array([-128, -1, 127], np.int8)
    wide = np.arange(200)
    equal(gs.gather(wide, lowest), [72, 199, 127])
    equal(gs.gather(wide, lowest, mode="wrap"), [72, 199, 127])
    equal(gs.gather(wide, lowest, mode="clip"), [0, 0, 127])


def test_one_bad_column_spoils_the_whole_tuple():
    data, indices = i64([[1, 2], [3, 4]]), i64([[0, 0], [5, 1], [1, -3], [1, 1]])
    equal(gs.gather_nd(data, indices, mode="fill"), [1, 0, 0, 4])
    equal(gs.scatter_nd(data, indices, i64([10, 20, 30, 40]), mode="drop"), [[10, 2], [3, 40]])
    equal(gs.gather_nd(data, indices, mode="wrap"), [1, 4, 4, 4])
    equal(gs.gather_nd(data, indices, mode="clip"), [1, 4, 3, 4])


def test_modes_on_an_axis_of_size_0():
    empty, one = np.zeros((0, 2)), i64([0])
    for mode in ("raise", "wrap", "clip"):
        with pytest.raises(OpIndexError):
            gs.gather(empty, one, mode=mode)
        with pytest.raises(OpIndexError):
            gs.scatter_nd(empty, one[:, None], np.ones((1, 2)), mode=mode)
        equal(gs.gather(empty, one[:0], mode=mode), np.zeros((0, 2)))
    equal(gs.gather(empty, one, mode="fill"), [[0, 0]])
    equal(gs.scatter_nd(empty, one[:, None], np.ones((1, 2)), mode="drop"), empty)


def test_mode_and_reduction_texts():
    data, one, update = i64([1, 2]), i64([0]), i64([5])
    for mode in ("drop", "nonsense", "RAISE", "", "linear"):
        with pytest.raises(OpValueError):
            gs.gather(data, one, mode=mode)
        with pytest.raises(OpValueError):
            gs.gather_nd(data, one, mode=mode)
    for mode in ("fill", "nonsense", "circular"):
        with pytest.raises(OpValueError):
            gs.scatter_elements(data, one, update, mode=mode)
        with pytest.raises(OpValueError):
            gs.scatter_nd(data, one[:, None], update, mode=mode)
    for reduction in ("sum", "prod", "ADD", "", "average"):
        with pytest.raises(OpValueError):
            gs.scatter_update(data, one, update, reduction=reduction)
    for mode in ("raise", "wrap", "drop"):
        with pytest.raises(OpValueError):
            gs.tensor_scatter(np.zeros((1, 2)), np.zeros((1, 1)), axis=1, mode=mode)
    with pytest.raises(TypeError):
        gs.gather(data, one, nonsense=1)
    with pytest.raises(TypeError):
        gs.scatter_nd(data, one[:, None], update, axis=0)


def test_fill_zero_of_every_kind_of_type():
    beyond = i64([0, 9])
    for dtype in ("bool", "int8", "float16", ml_dtypes.bfloat16, "complex64", ml_dtypes.int4, ml_dtypes.float8_e4m3fn):
        equal(gs.gather(np.ones(2, dtype), beyond, mode="fill"), [1, 0], dtype)
    assert not np.signbit(gs.gather(np.full(2, -1.0), beyond, mode="fill")[1])
    for dtype in (object, "U3", "S3", np.dtypes.StringDType()):
        result = gs.gather(np.array(["abc", "d"], dtype), beyond, mode="fill")
        assert [len(value) for value in result.tolist()] == [3, 0]
    assert gs.gather(np.array([], object), [0], mode="fill").tolist() == [""]
    record = np.ones(2, [("a", "i2"), ("b", "f4")])
    assert gs.gather(record, beyond, mode="fill").tolist() == [(1, 1.0), (0, 0.0)]


# ------------------------------------------------------------------------------------------------- reductions


@pytest.mark.parametrize("kernel", SCATTERS)
@pytest.mark.parametrize(("reduction", "included", "alone"), [
    ("none", [5, 20, 40], [5, 20, 40]), ("add", [18, 20, 70], [8, 20, 40]), ("sub", [2, 20, -10], [-2, 20, 40]),
    ("mul", [150, 20, 1200], [15, 20, 40]), ("min", [3, 20, 30], [3, 20, 40]), ("max", [10, 20, 40], [5, 20, 40]),
    ("mean", [6, 20, 35], [4, 20, 40]),
])  # fmt: skip
def test_include_self(kernel, reduction, included, alone):
    """Slot 0 gets 3 and 5, slot 2 gets 40, and slot 1 gets nothing."""
    scatter, indices = getattr(gs, kernel), as_tuples(kernel, i64([0, 2, 0]))
    for dtype in (np.int16, np.float64, np.float16, ml_dtypes.bfloat16):
        data, updates = np.array([10, 20, 30], dtype), np.array([3, 40, 5], dtype)
        equal(scatter(data, indices, updates, reduction=reduction), included, dtype)
        if reduction != "none":
            equal(scatter(data, indices, updates, reduction=reduction, include_self=False), alone, dtype)


def test_include_self_false_ignores_what_data_holds():
    data, zero = f32([NAN, 1]), i64([[0]])
    equal(gs.scatter_nd(data, zero, f32([2]), reduction="max", include_self=False), [2, 1])
    equal(gs.scatter_nd(data, zero, f32([-INF]), reduction="max", include_self=False), [-INF, 1])
    result = gs.scatter_nd(f32([7]), np.zeros((2, 1), int), f32([-0.0, -0.0]), reduction="add", include_self=False)
    assert np.signbit(result[0])  # the sum starts from the first update, not from +0.0
    # per element, even where a slice is only partly updated: mode="drop" skips whole tuples
    result = gs.scatter_nd(f32([1, 2]), i64([[9], [1]]), f32([5, 6]), reduction="add", include_self=False, mode="drop")
    equal(result, [1, 6])


@pytest.mark.parametrize("kernel", SCATTERS)
def test_integer_mean_is_exact_and_floors(kernel):
    def mean(data: list, updates: list, dtype: str, include_self: bool = True) -> int:
        indices = as_tuples(kernel, np.zeros(len(updates), int))
        made = np.array(data, dtype), indices, np.array(updates, dtype)
        return int(getattr(gs, kernel)(*made, reduction="mean", include_self=include_self)[0])

    assert mean([-8], [-5, -6], "int32") == -7
    assert mean([-8], [-5, -6], "int32", False) == -6
    assert mean([8], [5, 6], "int32") == 6
    assert mean([100], [100, 100], "int8") == 100
    assert mean([-128], [-127], "int8") == -128
    assert mean([255], [255] * 9 + [254], "uint8") == 254
    for dtype in oracle.INTEGERS:  # 64-bit sums need more than 64 bits
        info = np.iinfo(dtype)
        assert mean([info.max], [info.max] * 6, dtype) == info.max
        assert mean([info.min], [info.min] * 6, dtype) == info.min
        assert mean([info.max], [info.max, info.max - 2], dtype) == info.max - 1
        assert mean([info.max], [info.min], dtype) == (info.max + info.min) // 2


def test_float_mean_is_the_sum_in_the_type_divided_once():
    data, indices = f32([1e8]), i64([[0], [0]])
    expected = (np.float32(1e8) + np.float32(1) + np.float32(-1e8)) / np.float32(3)
    equal(gs.scatter_nd(data, indices, f32([1, -1e8]), reduction="mean"), [expected])
    halves = np.array([2048], np.float16)  # array functions round halves after every step
    equal(gs.scatter_nd(halves, indices, np.ones(2, np.float16), reduction="mean"), [np.float16(2048 / 3)])


@pytest.mark.parametrize("dtype", oracle.INTEGERS)
def test_integers_wrap_around(dtype):
    info, one = np.iinfo(dtype), np.ones(1, dtype)
    zero, data = i64([[0]]), np.array([info.max], dtype)
    equal(gs.scatter_nd(data, zero, one, reduction="add"), [info.min])
    equal(gs.scatter_nd(np.array([info.min], dtype), zero, one, reduction="sub"), [info.max])
    product = int(info.max) ** 2 % (1 << info.bits)
    equal(gs.scatter_nd(data, zero, data, reduction="mul"), [product])


@pytest.mark.parametrize(("reduction", "table"), [
    ("none", [0, 1, 0, 1]), ("add", [0, 1, 1, 1]), ("mul", [0, 0, 0, 1]), ("min", [0, 0, 0, 1]),
    ("max", [0, 1, 1, 1]), ("sub", [0, 1, 1, 0]),
])  # fmt: skip
def test_bool_reductions(reduction, table):
    data, updates = np.array([False, False, True, True]), np.array([False, True, False, True])
    equal(gs.scatter_elements(data, i64([0, 1, 2, 3]), updates, reduction=reduction), table, bool)
    with pytest.raises(OpTypeError):
        gs.scatter_elements(data, i64([0, 1, 2, 3]), updates, reduction="mean")


def test_complex_reductions():
    for dtype in (np.complex64, np.complex128):
        data, zero, updates = np.array([1 + 1j], dtype), i64([[0], [0]]), np.array([2j, 3 - 1j], dtype)
        equal(gs.scatter_nd(data, zero, updates, reduction="add"), [4 + 2j])
        equal(gs.scatter_nd(data, zero, updates, reduction="sub"), [-2 + 0j])
        equal(gs.scatter_nd(data, zero, updates, reduction="mul"), [-4 + 8j])
        equal(gs.scatter_nd(data, zero, updates, reduction="mean", include_self=False), [1.5 + 0.5j])
        for reduction in ("min", "max"):
            with pytest.raises(OpTypeError):
                gs.scatter_nd(data, zero, updates, reduction=reduction)


def test_types_without_arithmetic():
    indices = i64([[0]])
    for values in (
        np.array(["2020-01-01"], "M8[D]"), np.ones(1, [("a", "i4")]), np.ones(1, ml_dtypes.int4),
        np.ones(1, ml_dtypes.float8_e5m2), np.ones(1, ml_dtypes.float8_e4m3fn), np.ones(1, "V5"),
    ):  # fmt: skip
        for reduction in ("add", "mul", "max", "mean"):
            with pytest.raises(OpTypeError):
                gs.scatter_nd(values, indices, values, reduction=reduction)
        assert gs.scatter_nd(values, indices, values).dtype == values.dtype


# --------------------------------------------------------------------------------------------------------- out=


@pytest.mark.parametrize("kernel", GATHERS)
def test_gather_out(kernel):
    gather, data = getattr(gs, kernel), f32([10, 20, 30])
    indices = as_tuples(kernel, i64([2, 0]))
    out = np.full(2, -1, np.float32)
    assert gather(data, indices, out=out) is out
    equal(out, [30, 10], np.float32)
    wide = np.full(4, -1, np.float32)
    view = wide[::2]
    assert gather(data, indices, out=view) is view
    equal(wide, [30, -1, 10, -1], np.float32)
    for wrong in (np.zeros(3, np.float32), np.zeros((2, 1), np.float32), np.zeros((), np.float32)):
        with pytest.raises(OpValueError):
            gather(data, indices, out=wrong)
    for dtype in (np.float64, np.float16, np.int32, object):
        with pytest.raises(OpTypeError):
            gather(data, indices, out=np.zeros(2, dtype))
    frozen = np.zeros(2, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(OpValueError):
        gather(data, indices, out=frozen)
    equal(frozen, [0, 0])
    with pytest.raises(OpTypeError):
        gather(data, indices, out=[0.0, 0.0])


@pytest.mark.parametrize("kernel", GATHERS)
def test_gather_out_is_all_or_nothing(kernel):
    out = np.full(3, 7, np.int64)
    with pytest.raises(OpIndexError):
        getattr(gs, kernel)(i64([1, 2]), as_tuples(kernel, i64([0, 1, 2])), out=out)
    equal(out, [7, 7, 7])


@pytest.mark.parametrize("reduction", oracle.REDUCTIONS)
@pytest.mark.parametrize("kernel", SCATTERS)
def test_scatter_out_in_place_and_elsewhere(kernel, reduction):
    scatter, updates = getattr(gs, kernel), f32([5, 6, 7])
    indices = as_tuples(kernel, i64([1, -1, 1]))
    data = f32([1, 2, 3, 4])
    expected = scatter(data, indices, updates, reduction=reduction)
    equal(data, [1, 2, 3, 4])
    out = np.full(4, NAN, np.float32)
    assert scatter(data, indices, updates, reduction=reduction, out=out) is out
    equal(out, expected)
    equal(data, [1, 2, 3, 4])
    assert scatter(data, indices, updates, reduction=reduction, out=data) is data
    equal(data, expected)


@pytest.mark.parametrize("kernel", SCATTERS)
def test_scatter_out_that_does_not_fit(kernel):
    scatter, data, updates = getattr(gs, kernel), f32([1, 2, 3, 4]), f32([5, 6])
    indices = as_tuples(kernel, i64([1, 3]))
    for wrong in (np.zeros(3, np.float32), np.zeros((4, 1), np.float32)):
        with pytest.raises(OpValueError):
            scatter(data, indices, updates, out=wrong)
    for dtype in (np.float64, np.int32):
        with pytest.raises(OpTypeError):
            scatter(data, indices, updates, out=np.zeros(4, dtype))
    data.flags.writeable = False
    with pytest.raises(OpValueError):
        scatter(data, indices, updates, out=data)
    equal(data, [1, 2, 3, 4])


@pytest.mark.parametrize("where", [0, -1])
@pytest.mark.parametrize("size", [4, 300_000])
@pytest.mark.parametrize("kernel", SCATTERS)
def test_scatter_in_place_is_all_or_nothing(kernel, size, where):
    """Nothing is written if the first or last index is bad, even with enough updates for several threads."""
    scatter, data = getattr(gs, kernel), np.arange(size, dtype=np.float32)
    before = data.copy()
    indices = np.arange(size)
    indices[where] = size
    for mode in ("none", "add", "mean"):
        with pytest.raises(OpIndexError) as caught:
            scatter(data, as_tuples(kernel, indices), np.ones(size, np.float32), reduction=mode, out=data)
        assert caught.value.count == 1
        assert caught.value.positions[0][0] == where % size
        np.testing.assert_array_equal(data, before)


@pytest.mark.parametrize("keywords", [{"reduction": "sum"}, {"mode": "fill"}, {"reduction": "nonsense", "mode": "?"}])
@pytest.mark.parametrize("kernel", SCATTERS)
def test_nothing_is_written_when_a_word_or_a_shape_is_wrong(kernel, keywords):
    data, indices = f32([1, 2]), as_tuples(kernel, i64([0, 1]))
    with pytest.raises(OpValueError):
        getattr(gs, kernel)(data, indices, f32([8, 9]), out=data, **keywords)
    with pytest.raises(OpValueError):
        getattr(gs, kernel)(data, indices, f32([8, 9, 10]), out=data)
    with pytest.raises(OpTypeError):
        getattr(gs, kernel)(data, indices, np.array([8, 9j]), out=data)
    equal(data, [1, 2])


@pytest.mark.parametrize("kernel", SCATTERS)
def test_out_that_overlaps_the_updates_or_the_indices(kernel):
    """The result is the same as if every input had been copied first."""
    scatter = getattr(gs, kernel)
    base = i64([0, 1, 2, 3, 4, 5])
    data, updates = base[:4], base[2:]  # data and updates share two numbers
    indices = as_tuples(kernel, i64([3, 2, 1, 0]))
    expected = scatter(data.copy(), indices, updates.copy(), reduction="add")
    equal(scatter(data, indices, updates, reduction="add", out=data), expected)
    equal(expected, [5, 5, 5, 5])
    base = i64([1, 0, 3, 2])  # data is also its index tensor
    indices = as_tuples(kernel, base)
    equal(scatter(base, indices, i64([10, 20, 30, 40]), out=base), [20, 10, 40, 30])
    base = i64([5, 6, 7, 8])
    shifted = np.concatenate([base, base])
    out = shifted[1:5]  # overlaps data, but is not data
    expected = scatter(shifted[:4].copy(), as_tuples(kernel, i64([0, 0])), i64([1, 2]), reduction="add")
    equal(scatter(shifted[:4], as_tuples(kernel, i64([0, 0])), i64([1, 2]), reduction="add", out=out), expected)
    base = f32([1, 2, 3, 4])  # the same memory, in reverse order
    expected = scatter(base.copy(), as_tuples(kernel, i64([0])), f32([9]))
    equal(scatter(base, as_tuples(kernel, i64([0])), f32([9]), out=base[::-1]), expected)


@pytest.mark.parametrize("kernel", GATHERS)
def test_gather_out_that_overlaps_data_or_indices(kernel):
    gather = getattr(gs, kernel)
    data = i64([10, 20, 30, 40])
    equal(gather(data, as_tuples(kernel, i64([3, 2, 1, 0])), out=data), [40, 30, 20, 10])
    base = i64([10, 20, 30, 40, 50])
    equal(gather(base[:4], as_tuples(kernel, i64([0, 1, 2, 3])), out=base[1:]), [10, 20, 30, 40])
    indices = i64([2, 0, 1])
    equal(gather(i64([10, 20, 30]), as_tuples(kernel, indices), out=indices), [30, 10, 20])


def test_out_of_other_functions():
    past, update = np.zeros((2, 4), np.float32), np.ones((2, 1), np.float32)
    assert gs.tensor_scatter(past, update, i64([1, 3]), axis=1, out=past) is past
    equal(past, [[0, 1, 0, 0], [0, 0, 0, 1]])
    with pytest.raises(OpIndexError):
        gs.tensor_scatter(past, update + 8, i64([0, 4]), axis=1, out=past)
    equal(past, [[0, 1, 0, 0], [0, 0, 0, 1]])
    out = np.zeros((2, 4), np.float32)
    assert gs.tensor_scatter(past, update, i64([0, 0]), axis=1, out=out) is out
    equal(out, [[1, 1, 0, 0], [1, 0, 0, 1]])
    three = np.zeros((2, 3, 2), np.int16)
    view = np.zeros((2, 2, 3), np.int16).transpose(0, 2, 1)  # out in another memory order
    result = gs.scatter_nd(three, i64([[1, 2]]), np.array([[5, 6]], np.int16), out=view)
    assert result is view
    equal(view, [[[0, 0], [0, 0], [0, 0]], [[0, 0], [0, 0], [5, 6]]])


# ------------------------------------------------------------------------------------------------- casts, lists


def test_updates_are_cast_to_the_type_of_data():
    data, indices = f32([1, 2]), i64([[1]])
    for updates in (np.array([0.1]), np.array([7]), np.array([True]), np.array([3], np.uint8), np.array([2.5], "f2"),
                    np.array([1.5], ml_dtypes.bfloat16)):  # fmt: skip
        equal(gs.scatter_nd(data, indices, updates), [1, np.float32(updates[0])], np.float32)
    narrow = np.zeros(2, np.int8)
    equal(gs.scatter_nd(narrow, indices, np.array([-128])), [0, -128], np.int8)
    equal(gs.scatter_nd(narrow, indices, np.array([True])), [0, 1], np.int8)
    equal(gs.scatter_nd(np.zeros(2, np.uint64), indices, np.array([5])), [0, 5], np.uint64)
    equal(gs.scatter_nd(np.zeros(2, np.complex64), indices, f32([5])), [0, 5], np.complex64)
    equal(gs.scatter_nd(np.zeros(2, ml_dtypes.bfloat16), indices, np.array([2.5])), [0, 2.5], ml_dtypes.bfloat16)
    half = gs.scatter_nd(np.zeros(2, np.float16), indices, np.array([0.1]), reduction="add")
    equal(half, [0, np.float16(0.1)], np.float16)


@pytest.mark.parametrize(("data", "update"), [
    ("int8", 128), ("int8", -129), ("uint8", -1), ("uint8", 256), ("uint64", -1), ("int32", 1 << 31),
    ("int64", 1 << 63),
])  # fmt: skip
def test_integers_that_do_not_fit_are_an_error(data, update):
    array = np.zeros(2, data)
    updates = np.array([0, update], np.uint64 if update >= 1 << 63 else np.int64)
    for reduction in ("none", "add"):
        with pytest.raises(OpValueError):
            gs.scatter_nd(array, i64([[0], [1]]), updates, reduction=reduction, out=array)
    equal(array, [0, 0])


def test_casts_that_would_lose_digits_or_meaning():
    refused = "int64 float64, uint8 float32, int32 complex64, int8 bfloat16, float32 complex64, float32 U3, U3 float32"
    for data, updates in (pair.split() for pair in refused.split(", ")):
        types = [np.dtype(getattr(ml_dtypes, name, name)) for name in (data, updates)]
        with pytest.raises(OpTypeError):
            gs.scatter_nd(np.zeros(2, types[0]), i64([[0]]), np.zeros(1, types[1]))


def test_lists_are_arrays():
    equal(gs.gather([10, 20, 30], [2, 0]), [30, 10])
    equal(gs.gather([[1, 2], [3, 4]], 1, -1), [2, 4])
    equal(gs.gather_elements([[1, 2], [3, 4]], [[0, 0], [1, 0]], 1), [[1, 1], [4, 3]])
    equal(gs.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]), [2, 3])
    equal(gs.gather_nd((1, 2), [1]), 2)
    equal(gs.scatter_nd([1, 2, 3, 4, 5, 6, 7, 8], [[4], [3], [1], [7]], [9, 10, 11, 12]), [1, 11, 3, 10, 9, 6, 7, 12])
    equal(gs.scatter_update([1.5, 2.5], [0], [4]), [4, 2.5], np.float64)
    equal(gs.scatter_elements([1, 2, 3], [-1, 2], [10, 20], reduction="add"), [1, 2, 33])
    equal(gs.tensor_scatter([[0, 0, 0]], [[7]], [2], axis=1), [[0, 0, 7]])
    equal(gs.gather_tree([[[1, 2]], [[3, 4]]], [[[0, 0]], [[1, 0]]], [2], 9), [[[2, 1]], [[3, 4]]])
    assert gs.gather(["a", "b"], [1, 1]).tolist() == ["b", "b"]


def test_results_are_arrays_also_when_they_have_no_axes():
    for result in (gs.gather([5, 6], 1), gs.gather_nd([5, 6], [1]), gs.gather_nd(np.array(["x", "y"], object), [1])):
        assert isinstance(result, np.ndarray)
        assert result.shape == ()


@pytest.mark.parametrize("dtype", oracle.INTEGERS)
def test_any_integer_type_may_index(dtype):
    indices = np.array([1, 0], dtype)
    equal(gs.gather([5, 6], indices), [6, 5])
    equal(gs.scatter_elements([5, 6], indices, [7, 8]), [8, 7])
    equal(gs.tensor_scatter(np.zeros((2, 2)), np.ones((2, 1)), indices, axis=1), [[0, 1], [1, 0]])


@pytest.mark.parametrize("dtype", ["bool", "float32", "float64", "complex64", "U1", "object", "M8[D]", "m8[s]"])
def test_nothing_else_may_index(dtype):
    indices = np.zeros(1, dtype)
    with pytest.raises(OpTypeError):
        gs.gather([5, 6], indices)
    with pytest.raises(OpTypeError):
        gs.scatter_nd([5, 6], indices[:, None], [7])
    with pytest.raises(OpTypeError):
        gs.tensor_scatter(np.zeros((1, 2)), np.ones((1, 1)), indices, axis=1)


def test_shape_errors():
    cube = np.zeros((2, 3, 4))
    calls = [
        (gs.gather, (cube, [0], 3), {}), (gs.gather, (cube, [0], -4), {}), (gs.gather, (5, [0]), {}),
        (gs.gather, (cube, np.zeros((3, 1), int), 1), {"batch_dims": 1}),
        (gs.gather, (cube, np.zeros((2, 1), int), 0), {"batch_dims": 1}),
        (gs.gather_elements, (cube, [0]), {}), (gs.gather_elements, (cube, np.zeros((2, 4, 4), int)), {}),
        (gs.gather_nd, (cube, [[0, 0, 0, 0]]), {}), (gs.gather_nd, (cube, 0), {}),
        (gs.gather_nd, (cube, [[0]]), {"batch_dims": 1}), (gs.gather_nd, (cube, [[0], [0]]), {"batch_dims": 2}),
        (gs.scatter_nd, (cube, [[0]], np.zeros((3, 4))), {}), (gs.scatter_nd, (cube, [[0]], np.zeros((1, 3, 1))), {}),
        (gs.scatter_nd, ([1, 2], [0], [5]), {}),  # only OpenVINO has an exception for one element (V13)
        (gs.scatter_elements, ([1, 2], [0, 1], [5]), {}), (gs.scatter_update, (cube, [0], np.zeros((1, 3, 1))), {}),
    ]  # fmt: skip
    for function, inputs, keywords in calls:
        with pytest.raises(OpValueError):
            function(*inputs, **keywords)


# -------------------------------------------------------------------------------------------- other kinds of arrays


def test_datetimes_and_timedeltas_move():
    days = np.array(["2020-01-01", "NaT", "2021-05-05"], "M8[D]")
    result = gs.gather(days, [2, 1])
    assert result.dtype == days.dtype
    assert result.astype(str).tolist() == ["2021-05-05", "NaT"]
    changed = gs.scatter_nd(days, [[0]], days[2:])
    assert changed.astype(str).tolist() == ["2021-05-05", "NaT", "2021-05-05"]
    spans = np.array([1, 2], "m8[ms]")
    equal(gs.scatter_elements(spans, [1], spans[:1]), np.array([1, 1], "m8[ms]"), "m8[ms]")
    assert gs.gather(days, [9], mode="fill").astype(str).tolist() == ["1970-01-01"]


def test_structured_arrays_move():
    people = np.array([(1, 2.5, "ab"), (3, 4.5, "cd")], [("n", "i4"), ("x", "f8"), ("s", "U2")])
    assert gs.gather(people, [1, 0, 1]).tolist() == [(3, 4.5, "cd"), (1, 2.5, "ab"), (3, 4.5, "cd")]
    assert gs.gather_nd(people, [[1]]).dtype == people.dtype
    assert gs.scatter_nd(people, [[0]], people[1:]).tolist() == [(3, 4.5, "cd"), (3, 4.5, "cd")]


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 32, 100])
def test_elements_of_any_width_move(width):
    raw = np.random.default_rng(width).integers(0, 256, (6, width), np.uint8)
    data = raw.reshape(-1).view(f"V{width}")
    assert gs.gather(data, [5, 0, 5]).tobytes() == raw[[5, 0, 5]].tobytes()
    written = gs.scatter_elements(data, [2, 2], data[:2])
    assert written.tobytes() == raw[[0, 1, 1, 3, 4, 5]].tobytes()
    padded = np.zeros((6, 2), data.dtype)
    padded[:, 1] = data
    assert gs.gather(padded, [3, 1], 0)[:, 1].tobytes() == raw[[3, 1]].tobytes()


@pytest.mark.parametrize("width", [3, 7, 12])
@pytest.mark.parametrize("shape", [(10, 600), (3000, 100), (40, 5)])
def test_boxes_of_elements_of_odd_width(width, shape):
    rng = np.random.default_rng(width)
    data = rng.integers(0, 256, (*shape, width), np.uint8).view(f"V{width}")[..., 0]
    box = rng.integers(0, shape[0], (50, shape[1]))
    taken = gs.gather_elements(data, box, axis=0)
    assert taken.tobytes() == data[box, np.arange(shape[1])].tobytes()
    written = data.copy()
    written[box, np.arange(shape[1])] = taken[::-1]
    assert gs.scatter_elements(data, box, taken[::-1].copy(), axis=0).tobytes() == written.tobytes()


def test_long_doubles_move():
    data = np.array([1, 2, 3], np.longdouble) / 3
    equal(gs.gather(data, [2, 0]), data[[2, 0]], np.longdouble)


@pytest.mark.parametrize("name", ["int2", "int4", "uint2", "uint4", "bfloat16", "float4_e2m1fn", "float8_e3m4",
                                  "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
                                  "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"])  # fmt: skip
def test_ml_dtypes_move(name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    data, indices = np.ones((2, 3), dtype), i64([[0, 2], [1, 1]])
    assert gs.gather_elements(data, indices, 1).dtype == dtype
    update = np.array([[0.5 if "float" in name else 0]], float).astype(dtype)
    result = gs.tensor_scatter(data, update.repeat(2, axis=0), [0, 2], axis=1)
    assert result.dtype == dtype
    assert (result != data).tolist() == [[True, False, False], [False, False, True]]


class Opaque:
    """A type that can only be moved. It supports neither comparison nor addition."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        raise AssertionError


def test_objects_move_by_identity():
    things = np.array([Opaque(), Opaque(), Opaque()], object)
    moved = gs.gather(things, [2, 0])
    assert moved[0] is things[2]
    assert moved[1] is things[0]
    nested = np.empty(2, object)
    nested[:] = [[1, 2], (3,)]
    assert gs.gather_nd(nested, [[1], [0]]).tolist() == [(3,), [1, 2]]
    new = Opaque()
    updates = np.array([new], object)
    written = gs.scatter_nd(things, [[1]], updates)
    assert written[1] is new
    assert written[0] is things[0]
    assert gs.scatter_elements(things, [0], updates, out=things) is things
    assert things[0] is new


def test_object_references_are_counted():
    value = object()
    data = np.array([value, None], object)
    before = sys.getrefcount(value)
    for _ in range(50):
        gs.gather(data, [0, 0, 0])
        gs.scatter_nd(data, [[1], [1]], np.array([value, value], object))
        gs.scatter_elements(data, [1, 1], np.array([value, None], object), out=data)
    assert sys.getrefcount(value) == before


# ------------------------------------------------------------------------------------------------------- text


@pytest.mark.parametrize("dtype", [object, "U", np.dtypes.StringDType()])
def test_text_moves_and_concatenates(dtype):
    data = np.array(["aé", "", "日本"], dtype)
    assert gs.gather(data, [2, 0, -2]).tolist() == ["日本", "aé", ""]
    updates = np.array(["x", "yz"], dtype)
    assert gs.scatter_elements(data, [1, 1], updates).tolist() == ["aé", "yz", "日本"]
    assert gs.scatter_elements(data, [1, 1], updates, reduction="add").tolist() == ["aé", "xyz", "日本"]
    alone = gs.scatter_elements(data, [0, 0], updates, reduction="add", include_self=False)
    assert alone.tolist() == ["xyz", "", "日本"]
    for reduction in ("sub", "mul", "min", "max", "mean"):
        with pytest.raises(OpTypeError):
            gs.scatter_elements(data, [1, 1], updates, reduction=reduction)
    assert gs.scatter_elements(data, [1, 1], updates).dtype.kind == data.dtype.kind


def test_wider_text_takes_what_is_gathered():
    out = np.empty(2, "U5")
    assert gs.gather(np.array(["abc", "de"]), [1, 0], out=out) is out
    assert out.tolist() == ["de", "abc"]


def test_fixed_width_text_widens():
    data, long = np.array(["ab", "cd"]), np.array(["a much longer text"])
    result = gs.scatter_nd(data, [[0]], long)
    assert result.tolist() == ["a much longer text", "cd"]
    assert result.dtype.kind == "U"
    assert gs.scatter_nd(long, [[0]], data[:1]).dtype == long.dtype  # nothing needs to be widened
    assert gs.scatter_nd(data, [[0]], data[1:]).dtype == data.dtype
    joined = gs.scatter_nd(data, [[0], [0], [0]], np.array(["ef", "gh", "ij"]), reduction="add")
    assert joined.tolist() == ["abefghij", "cd"]
    with pytest.raises(ERRORS):  # text in written cannot be widened, so nothing is written
        gs.scatter_nd(data, [[0]], long, out=data)
    with pytest.raises(ERRORS):
        gs.scatter_nd(data, [[0]], data[1:], reduction="add", out=data)
    assert data.tolist() == ["ab", "cd"]
    assert gs.scatter_nd(data, [[0]], data[1:], out=data).tolist() == ["cd", "cd"]


def test_bytes_text():
    data = np.array([b"ab", b"c"])
    assert gs.gather(data, [1, 0]).tolist() == [b"c", b"ab"]
    assert gs.scatter_nd(data, [[1]], np.array([b"wxyz"])).tolist() == [b"ab", b"wxyz"]
    assert gs.scatter_nd(data, [[1], [1]], np.array([b"d", b"e"]), reduction="add").tolist() == [b"ab", b"cde"]
    with pytest.raises(OpTypeError):
        gs.scatter_nd(data, [[1]], data[:1], reduction="max")


def test_text_of_different_kinds_mixes_without_loss():
    objects = np.array(["a", "b"], object)
    assert gs.scatter_nd(objects, [[0]], np.array(["long text"])).tolist() == ["long text", "b"]
    variable = np.array(["a", "b"], np.dtypes.StringDType())
    assert gs.scatter_nd(variable, [[0]], np.array(["long text"])).tolist() == ["long text", "b"]
    assert gs.scatter_nd(variable, [[0]], objects[1:], reduction="add").tolist() == ["ab", "b"]


def test_text_without_width():
    """NumPy makes new arrays of such text one character wide. No access may go beyond the old array."""
    empty = np.zeros(5, dtype=[("a", "S0")])["a"]
    assert empty.dtype.itemsize == 0
    assert gs.gather(empty, np.array([1, 4])).tolist() == [b"", b""]
    assert gs.scatter_nd(empty, np.array([[1]]), empty[:1]).tolist() == [b""] * 5
