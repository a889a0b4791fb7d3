"""Rules that no other test covers: limits of shapes, layouts, threads, rounding, and the checks of the core.

Each test is for a line of the core or of the Python layers that could once be changed without another test failing.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import _core
from gatherscatter.errors import OpIndexError, OpTypeError, OpValueError
from gatherscatter.functions.plan import movement
from gatherscatter.operation import Kernel, Operation
from gatherscatter.oracle import exact_sum

HALVES = (np.float16, ml_dtypes.bfloat16)
each_half = pytest.mark.parametrize("dtype", HALVES)
several_threads = pytest.mark.parametrize("threads", [1, 2, 3, 7])


def bits(array: np.ndarray) -> list[int]:
    return array.view(f"u{array.itemsize}").ravel().tolist()


# ---------------------------------------------------------------------------------------------- the limits of shapes

HUGE = 2**40
LIMITS = [
    ("gather", (2**63 - 1,), (1,), {}, None),
    ("gather", (1, HUGE, HUGE, 0), (1,), {}, None),
    ("gather", (0, HUGE, HUGE), (0,), {}, "too_large"),
    ("gather", (HUGE, HUGE), (1,), {}, "too_large"),
    ("gather_nd", (1,) * 8, (2**61, 8), {}, "too_large"),
    ("gather_nd", (2**32, 0), (2**32, 2**32, 0), {"batch_dims": 1}, "too_large"),
    ("gather_elements", (HUGE, HUGE), (1, 1), {}, "too_large"),
    ("gather", (1,) * 33, (1,) * 32, {}, None),
    ("gather", (1,) * 33, (1,) * 33, {}, "output_rank"),
    ("gather_nd", (1,) * 33, (1,) * 33, {}, None),
    ("gather_nd", (1,) * 33, (1,) * 34, {}, "output_rank"),
    ("gather_nd", (), (1, 0), {}, "data_rank"),
    ("gather_elements", (), (), {}, "data_rank"),
    ("gather", (3, 4), (3,), {"batch_dims": -2, "axis": 1}, "batch_dims"),
    ("gather", (3,), (3, 3), {"batch_dims": 2}, "batch_dims"),
    ("gather_nd", (3, 4), (3, 4), {"batch_dims": 2}, "batch_dims"),
    ("gather_nd", (3, 4, 5), (3, 4), {"batch_dims": 2}, "batch_dims"),
    ("gather_nd", (3,), (3, 1), {"batch_dims": 1}, "batch_dims"),
]


@pytest.mark.parametrize(("kernel", "data", "indices", "options", "fault"), LIMITS)
def test_shapes_at_their_limits(kernel: str, data: tuple, indices: tuple, options: dict, fault: str | None) -> None:
    if fault is None:
        assert movement(kernel, data, indices, **options).slots
        return
    with pytest.raises(ValueError, match=f"^{fault}$"):
        movement(kernel, data, indices, **options)


def test_scratch_is_what_accumulators_and_visits_take() -> None:
    data, rows, updates = np.zeros((10, 3), np.float32), np.array([1, 2]), np.zeros((2, 3), np.float32)
    for options, scratch in (
        ({"reduction": "add"}, 0),
        ({"reduction": "mean"}, 10 * 8),
        ({"reduction": "add", "include_self": False}, 10 * 8),
        ({"reduction": "add", "accumulate": "wide"}, 30 * 8),
        ({"reduction": "mean", "accumulate": "wide"}, 30 * 8 + 10 * 8),
    ):
        assert gs.plan("scatter_update", data, rows, updates, num_threads=1, **options).scratch_bytes == scratch
    for dtype, scratch in (("f2", 10 * 8), ("f4", 10 * (4 + 4)), ("f8", 10 * (8 + 8))):  # counts next to sums
        data, updates = np.zeros(10, dtype), np.zeros(2, dtype)
        plan = gs.plan("scatter_update", data, rows, updates, reduction="mean", num_threads=1)
        assert plan.scratch_bytes == scratch


# ---------------------------------------------------------------------------------------------------------- layouts


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_gathers_from_data_with_axes_in_any_order(order: tuple[int, ...]) -> None:
    data = np.arange(5 * 6 * 3 * 4, dtype=np.int16).reshape(5, 6, 3, 4).transpose(order)
    for axis in range(4):
        rows = np.arange(9) % data.shape[axis]
        np.testing.assert_array_equal(gs.gather(data, rows, axis=axis), data.take(rows, axis))
        filled = gs.gather(data, [1, 99], axis=axis, mode="fill")
        np.testing.assert_array_equal(filled.take(0, axis), data.take(1, axis))
        assert not filled.take(1, axis).any()
    tuples = np.stack([np.arange(7) % n for n in data.shape[:2]], -1)
    np.testing.assert_array_equal(gs.gather_nd(data, tuples), data[tuple(tuples.T)])


@pytest.mark.parametrize("columns", [3, 20, 70])
def test_rows_of_a_box_whose_indices_are_out_of_range_are_left_out(columns: int) -> None:
    data = np.arange(3 * 5 * columns).reshape(3, 5, columns)
    box = np.where(np.arange(columns) % 3 == 1, 5, 2) * np.ones((3, 4, 1), int)
    want = np.where(box == 2, data[:, 2:3], 0)
    np.testing.assert_array_equal(gs.gather_elements(data, box, axis=1, mode="fill"), want)
    scattered = data.copy()
    scattered[:, 2:3][box[:, :1] == 2] = -7
    got = gs.scatter_elements(data, box, np.full(box.shape, -7), axis=1, mode="drop")
    np.testing.assert_array_equal(got, scattered)


@pytest.mark.parametrize("shift", [0, 1, 300, 2999])
def test_out_that_overlaps_many_indices_or_updates(shift: int) -> None:
    n = 3000
    buffer = np.random.default_rng(0).integers(0, n, n + shift)
    data = np.arange(n) * 5
    pairs = [(buffer[:n], buffer[shift:]), (buffer[shift:], buffer[:n])]
    for indices, out in pairs + [(indices[::-1], out) for indices, out in pairs]:
        want, before = data[indices], buffer.copy()
        assert gs.gather(data, indices, out=out) is out
        np.testing.assert_array_equal(out, want)
        buffer[:] = before
        want = data.copy()
        np.add.at(want, indices, 1)
        assert gs.scatter_update(data, indices, np.ones(n, int), reduction="add", out=out) is out
        np.testing.assert_array_equal(out, want)
        buffer[:] = before
        rows, updates = np.arange(n)[::-1] // 2, indices
        want = data.copy()
        np.add.at(want, rows, updates)
        assert gs.scatter_update(data, rows, updates, reduction="add", out=out) is out
        np.testing.assert_array_equal(out, want)
        buffer[:] = before


def test_text_of_each_width_goes_all_over_a_large_array() -> None:
    rows = np.random.default_rng(0).permutation(4_000_000)[:30_000]
    for dtype in ("S5", "V3", "S1"):
        data = np.zeros(4_000_000 if dtype != "S1" else 20_000_000, dtype)
        updates = np.arange(30_000, dtype=np.uint32).view("S4")[:, np.newaxis].view(np.uint8).reshape(-1, 4)
        updates = np.resize(updates | 1, (30_000, data.itemsize)).view(dtype)[:, 0]
        for threads in (1, 3):
            result = gs.scatter_update(data, rows, updates, num_threads=threads)
            np.testing.assert_array_equal(result[rows], updates)
            assert np.count_nonzero(result.view(np.uint8)) == np.count_nonzero(updates.copy().view(np.uint8))


# ---------------------------------------------------------------------------------------------------------- threads


@several_threads
@pytest.mark.parametrize("options", [{"reduction": "mean"}, {"reduction": "add", "include_self": False}], ids=str)
def test_a_visit_counts_for_a_whole_wide_row(options: dict[str, Any], threads: int) -> None:
    rows = np.random.default_rng(0).integers(0, 12, 60)
    data, updates = np.full((20, 9000), 3), np.arange(60)[:, np.newaxis] * np.ones((1, 9000), int)
    want = gs.scatter_update(data[:, :1], rows, updates[:, :1], num_threads=1, **options)
    result = gs.scatter_update(data, rows, updates, num_threads=threads, **options)
    np.testing.assert_array_equal(result, np.broadcast_to(want, data.shape))


@several_threads
def test_lanes_of_one_axis_keep_their_order_on_all_threads(threads: int) -> None:
    indices = np.random.default_rng(0).integers(0, 50, (2, 200_000))
    data, updates = np.zeros((2, 50), np.int64), np.arange(400_000).reshape(2, -1)
    for _ in range(3):
        result = gs.scatter_elements(data, indices, updates, axis=1, num_threads=threads)
        want = np.stack([gs.scatter_update(*row) for row in zip(data, indices, updates, strict=True)])
        np.testing.assert_array_equal(result, want)
        total = gs.scatter_elements(data, indices, updates, axis=1, reduction="add", num_threads=threads)
        assert total.sum() == updates.sum()


@several_threads
@pytest.mark.parametrize("function", ["gather", "gather_elements", "gather_nd"])
def test_a_bad_index_anywhere_among_many_is_found(function: str, threads: int) -> None:
    rows = np.zeros(3001, np.int64)
    for target in (0, 255, 256, 1500, 2999, 3000):
        bad = rows.copy()
        bad[target] = 4
        data = np.zeros((4, 3)) if function != "gather_elements" else np.zeros(4)
        with pytest.raises(OpIndexError) as raised:
            getattr(gs, function)(data, bad[:, np.newaxis] if function == "gather_nd" else bad, num_threads=threads)
        assert raised.value.positions[0][0] == target


# ---------------------------------------------------------------------------------------------------------- elements


def every(dtype: Any) -> np.ndarray:
    """Return all finite numbers of a 16-bit type."""
    numbers = np.arange(2**16, dtype=np.uint16).view(dtype)
    with np.errstate(invalid="ignore"):  # some processors report signalling NaNs
        return numbers[np.isfinite(numbers.astype(np.float32))]


@each_half
@pytest.mark.parametrize("width", [1, 2, 5, 7, 8, 9, 15, 16, 23])
@pytest.mark.parametrize("include_self", [True, False])
def test_halves_are_rounded_to_nearest_even_in_rows_of_any_width(dtype: Any, width: int, include_self: bool) -> None:
    numbers = every(dtype)
    numbers = numbers[: len(numbers) // width * width].reshape(-1, width)
    rows = np.arange(len(numbers))
    with np.errstate(all="ignore"):
        for other in (numbers[::-1], np.roll(numbers, 777), (numbers.astype(np.float32) / 2049).astype(dtype)):
            if include_self:
                got = gs.scatter_update(numbers, rows, np.ascontiguousarray(other), reduction="add")
            else:
                twice, both = np.concatenate([rows, rows]), np.concatenate([numbers, other])
                got = gs.scatter_update(np.zeros_like(numbers), twice, both, reduction="add", include_self=False)
            want = (numbers.astype(np.float32) + other.astype(np.float32)).astype(dtype)
            np.testing.assert_array_equal(got, want)


def combine(reduction: str, current: np.ndarray, update: np.ndarray) -> np.ndarray:
    """Combine two rows by the rules of `gatherscatter.scatter_nd`: NaN is kept, and of equal values the current one."""
    if reduction in ("add", "sub", "mul"):
        ufunc = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[reduction]
        return ufunc(current, update)
    better = update < current if reduction == "min" else update > current
    return np.where(better | (update != update), update, current)  # NaN


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", ml_dtypes.bfloat16, "i1", "u2", "i4", "i8", "u8", "c8"], ids=str)
@pytest.mark.parametrize("reduction", ["add", "sub", "mul", "min", "max"])
@pytest.mark.parametrize("order", ["any", "runs"])
def test_rows_of_any_width_in_any_order(dtype: Any, reduction: str, order: str) -> None:
    dtype, rng = np.dtype(dtype), np.random.default_rng(6)
    if dtype.kind == "c" and reduction in ("min", "max"):
        pytest.skip("complex numbers have no order")
    lengths = rng.integers(1, 60, 40)
    rows = np.repeat(rng.permutation(40), lengths) if order == "runs" else rng.integers(0, 40, 1200)
    for width in (*range(1, 21), 33, 70):
        values = rng.integers(-100, 100, (40 + len(rows), width)) * 0.37
        special = rng.random(values.shape) < 0.01
        values[special] = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40], special.sum())
        if dtype.kind in "iu":
            values = rng.integers(0, 256, (*values.shape, dtype.itemsize), np.uint8).view(dtype)[..., 0]
        with np.errstate(all="ignore"):
            data, updates = np.split(values.astype(dtype), [40])
            expected = data.copy()
            for row, update in zip(rows, updates, strict=True):
                expected[row] = combine(reduction, expected[row], update)
        for threads in (1, 2):
            got = gs.scatter_update(data, rows, updates, reduction=reduction, num_threads=threads)
            if dtype == ml_dtypes.bfloat16:  # NumPy does not know its NaN
                got, expected = got.astype(np.float32), expected.astype(np.float32)
            if got.dtype.kind == "f":
                assert_same_floats(got, expected)
            else:
                np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
def test_means_of_runs(dtype: str, include_self: bool) -> None:
    rng = np.random.default_rng(7)
    rows = np.repeat(rng.permutation(50), rng.integers(1, 60, 50))
    data, updates = np.split(rng.integers(-100, 100, 50 + len(rows)).astype(dtype), [50])
    sums = data.astype(np.float64) * include_self
    np.add.at(sums, rows, updates)
    counts = np.bincount(rows, minlength=50) + include_self
    expected = (sums // counts if dtype[0] == "i" else sums.astype(dtype) / counts.astype(dtype)).astype(dtype)
    got = gs.scatter_update(data, rows, updates, reduction="mean", include_self=include_self)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("targets", [200, 40_000, 3_000_000])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_means_of_single_elements(dtype: str, targets: int, include_self: bool) -> None:
    rng = np.random.default_rng(targets)
    rows = rng.integers(-targets, targets + targets // 8, 60_000)  # the largest ones are out of range
    data, updates = (rng.standard_normal(n).astype(dtype) for n in (targets, len(rows)))
    for values in (data, updates):
        values[rng.random(len(values)) < 0.02] = -0.0
        values[rng.random(len(values)) < 0.001] = np.inf
        values[rng.random(len(values)) < 0.001] = np.nan
    signalling = {"f4": 0x7F800001, "f8": 0x7FF0000000000001}[dtype]
    data[-5:] = np.full(5, signalling, f"u{dtype[1]}").view(dtype)
    known = (rows < targets - 5) & ~((rows < 0) & (rows >= -5))  # nothing is added to the last targets
    rows[~known] = targets + 1
    sums = data.copy() if include_self else np.full_like(data, -0.0)
    with np.errstate(all="ignore"):
        np.add.at(sums, rows[known], updates[known])
        counts = np.bincount(rows[known] % targets, minlength=targets)
        expected = np.where(counts > 0, sums / (counts + include_self).astype(dtype), data)
    for indices in (rows, rows.astype(np.int32), np.where(known, rows % targets, rows)):
        for mode, kept in (("drop", slice(None)), ("raise", known)):
            for threads in (1, 2):
                got = gs.scatter_update(
                    data, indices[kept], updates[kept], reduction="mean", include_self=include_self, mode=mode,
                    num_threads=threads,
                )  # fmt: skip
                assert_same_floats(got, expected)
                assert got[counts == 0].tobytes() == data[counts == 0].tobytes()
    both = (np.stack([array] * 2) for array in (data, rows[known], updates[known]))
    for lane in gs.scatter_elements(*both, axis=1, reduction="mean", include_self=include_self):
        assert_same_floats(lane, expected)


def assert_same_floats(got: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(got, expected)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[is_number]), np.signbit(expected[is_number]))


@pytest.mark.parametrize("reduction", ["min", "max"])
@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("special", ["zeros", "nan"])
def test_extrema_of_runs(special: str, bits: int, reduction: str) -> None:
    # Of equal values the first one stays, and of NaNs the last one.
    rng = np.random.default_rng(3)
    for length in (*range(1, 40), 255, 256, 257, 700):
        updates = rng.choice([-0.0, 0.0], length).astype(f"f{bits // 8}")
        if special == "nan":
            is_nan = rng.random(length) < 0.1
            payloads = np.full(length, np.nan, updates.dtype).view(f"u{bits // 8}") | rng.integers(
                1, 256, length, dtype=f"u{bits // 8}"
            )
            updates[is_nan] = payloads.view(updates.dtype)[is_nan]
        want = data = np.array([-0.0, 0.0], updates.dtype)[rng.integers(0, 2, 1)]
        for update in updates:
            want = combine(reduction, want, update)
        got = gs.scatter_update(data, np.zeros(length, int), updates, reduction=reduction)
        assert got.tobytes() == want.tobytes(), length


def test_any_byte_but_zero_is_true() -> None:
    bytes_ = np.array([0, 1, 2, 255], np.uint8).view(bool)
    first, second = (each.ravel() for each in np.meshgrid(bytes_, bytes_))
    a, b = first.view(np.uint8) != 0, second.view(np.uint8) != 0
    for reduction, want in (("add", a | b), ("sub", a != b), ("mul", a & b), ("min", a & b), ("max", a | b)):
        got = gs.scatter_update(first, np.arange(16), second, reduction=reduction)
        assert got.view(np.uint8).tolist() == want.astype(np.uint8).tolist()


# -------------------------------------------------------------------------------------------------------------- sums


def total(dtype: Any, parts: list[Any], reduction: str, accumulate: str, include_self: bool = False) -> Any:
    data, updates = np.array(parts[:1], dtype), np.array(parts if not include_self else parts[1:], dtype)
    options: dict[str, Any] = {"reduction": reduction, "accumulate": accumulate, "include_self": include_self}
    return gs.scatter_update(data, np.zeros(len(updates), int), updates, **options)[0]


SMALL = 2.0**-24  # of float16
CLOSE_TO_TIES = [
    [2048.0, 1.0, SMALL],
    [2048.0, 1.0, -SMALL],
    [2048.0, 3.0, SMALL],
    [2048.0, 3.0, -SMALL],
    [2048.0, 1.0, 2.0**-12, -SMALL],
    [2048.0, 3.0, -(2.0**-12), SMALL],
    [2048.0, 1.0],
]


@pytest.mark.parametrize("parts", CLOSE_TO_TIES, ids=str)
def test_an_exact_sum_of_halves_is_rounded_once(parts: list[float]) -> None:
    for sign in (1, -1):
        signed = [sign * x for x in parts]
        for include_self in (True, False):
            assert total(np.float16, signed, "add", "exact", include_self) == exact_sum(signed, "float16")


@pytest.mark.parametrize("divisor", [3, 5, 7, 11])
def test_an_exact_mean_of_doubles_is_rounded_once_however_close_to_a_tie(divisor: int) -> None:
    for target in range(4):
        middle = 1 + (2 * target + 1) * Fraction(2) ** -53  # between two doubles
        for beyond in (-1, 0, 1):
            whole = divisor * middle
            high = float(whole)
            rest = float(whole - Fraction(high))
            parts = [high, rest + beyond * math.ulp(rest) / 2 if rest else beyond * 2.0**-150]
            parts += [0.0] * (divisor - 2)
            for sign in (1, -1):
                signed = [sign * x for x in parts]
                assert total(np.float64, signed, "mean", "exact") == exact_sum(signed, "float64", divisor)


def test_long_sums_look_at_all_targets() -> None:
    around = [1e300, -1e300, 1e-300, -1e-300]  # requires a long sum, and cancels
    for dtype, top in ((np.float64, 2.0**54), (np.float32, 2.0**25)):
        name = np.dtype(dtype).name
        wide = [float(dtype(x)) if name == "float64" else math.copysign(abs(x) ** 0.1, x) for x in around]
        wide = [float(dtype(x)) for x in wide]
        for rest in (1.0, 2.0, 3.0, -1.0, -2.0, -3.0, 5.0, 6.0, 7.0):
            parts = [wide[0], top, rest, wide[2], wide[1], wide[3]]
            assert total(dtype, parts, "add", "exact") == exact_sum(parts, name)
            assert total(dtype, parts, "mean", "exact") == exact_sum(parts, name, len(parts))


def test_a_mean_too_small_for_its_type_keeps_its_sign() -> None:
    tiny = 5e-324
    for sign in (1.0, -1.0):
        for parts in ([sign * tiny, 0.0, 0.0], [1e300, 1.0, sign * tiny, -1.0, -1e300]):
            result = total(np.float64, parts, "mean", "exact")
            assert result == 0
            assert math.copysign(1, result) == sign


def test_a_nan_is_no_number_of_a_long_sum() -> None:
    """The NaN of a sum holds the number of its long sum. A NaN in the updates must not be mistaken for one."""
    slots = 200  # with small thresholds, more than the long sums of one pass
    parts = np.array([1e30, 1.0, 1e-30, -1e30], np.float32)
    rows, updates = np.tile(np.arange(slots), len(parts)), np.repeat(parts, slots)
    rows = np.concatenate([rows, [slots, slots + 1, slots + 2]])
    updates = np.concatenate([updates, np.zeros(3, np.float32)])
    updates.view(np.uint32)[-3:] = (0x7FC00001, 0x7FC00002, 0x7FFFFFFF)
    for reduction, count in (("add", 1), ("mean", 4)):
        options: dict[str, Any] = {"reduction": reduction, "accumulate": "exact", "include_self": False}
        result = gs.scatter_update(np.zeros(slots + 3, np.float32), rows, updates, **options)
        expected = exact_sum(parts.tolist(), "float32", count)
        assert np.unique(result[:-3]).tolist() == [expected]
        assert np.isnan(result[-3:]).all()


def test_wide_sums_of_the_widest_types() -> None:
    parts = [1e16, 1.0, 1.0, -1e16]
    assert total(np.float64, parts, "add", "wide") == 2
    assert total(np.float64, parts, "mean", "wide") == 0.5
    assert total(np.float64, [0.0, *parts], "sub", "wide") == -2
    assert total(np.float64, [5.0, *parts], "mean", "wide", include_self=True) == 7 / 5
    parts = [complex(1e16, -1e16), 1 + 2j, 1 + 2j, complex(-1e16, 1e16)]
    assert total(np.complex128, parts, "add", "wide") == 2 + 4j
    assert total(np.complex128, parts, "mean", "wide") == 0.5 + 1j
    assert total(np.complex128, [0j, *parts], "sub", "wide") == -2 - 4j
    assert total(np.complex64, [1 + 8j, 2 - 4j, 3 + 0j, 2j], "mean", "wide") == 1.5 + 1.5j


def test_which_elements_have_exact_sums_and_products() -> None:
    for dtype in ("int8", "uint64", "bool", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"):
        data, updates = (np.ones(n, getattr(ml_dtypes, dtype, dtype)) for n in (3, 1))
        kind = "whole" if dtype in ("int8", "uint64", "bool") else "complex" if "complex" in dtype else "real"
        for reduction, kinds in (("add", "whole real"), ("mul", "whole")):
            options: dict[str, Any] = {"reduction": reduction, "accumulate": "exact"}
            if kind in kinds.split():
                assert gs.scatter_update(data, np.array([1]), updates, **options).dtype == data.dtype
            else:
                with pytest.raises(OpTypeError, match="accumulate='exact' is not defined"):
                    gs.scatter_update(data, np.array([1]), updates, **options)


@pytest.mark.parametrize("function", ["scatter_update", "scatter_elements"])
def test_updates_lose_no_mask(function: str) -> None:
    masked = np.ma.array([1.0, 2.0], mask=[True, False])
    for out in (None, np.zeros(3)):
        with pytest.raises(OpTypeError, match="masked"):
            getattr(gs, function)(np.zeros(3), np.array([0, 1]), masked, out=out)
    assert getattr(gs, function)(np.zeros(3), np.array([0, 1]), [1.0, 2.0]).tolist() == [1, 2, 0]


def test_an_empty_list_is_of_any_type_but_an_empty_array_is_not() -> None:
    data = np.arange(3)
    assert gs.gather(data, []).shape == (0,)
    assert gs.scatter_update(data, [], []).tolist() == [0, 1, 2]
    with pytest.raises(OpTypeError, match="indices must be integers"):
        gs.gather(data, np.zeros(0))
    with pytest.raises(OpTypeError, match="can't be stored in data"):
        gs.scatter_update(data, np.zeros(0, int), np.zeros(0))
    masked = np.ma.array([0, 1], mask=[True, False])
    with pytest.raises(OpTypeError, match="masked"):
        gs.gather(masked, [0])
    with pytest.raises(OpTypeError, match="masked"):
        gs.gather(data, masked)
    assert gs.gather(np.ma.array([1, 2]), [0]).tolist() == [1]  # no element is masked


# ------------------------------------------------------------------------------------------------------- beam search


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float32, np.float64])
def test_parents_are_beams_whatever_their_type(dtype: Any) -> None:
    steps = np.arange(12, dtype=dtype).reshape(3, 1, 4)
    parents = np.array([[[0, 0, 0, 0]], [[0, 3, 0, 0]], [[1, 0, 0, 0]]], dtype)
    lengths, end = np.array([3], dtype), np.array(99, dtype)
    assert gs.gather_tree(steps, parents, lengths, end)[:, 0, 0].tolist() == [3, 5, 8]
    for wrong in (4, 100) if np.dtype(dtype).kind == "u" else (4, 100, -1, -100):
        bad = parents.copy()
        bad[1, 0, 1] = wrong
        with pytest.raises(OpIndexError) as raised:
            gs.gather_tree(steps, bad, lengths, end)
        assert raised.value.positions[0] == (1, 0, 1)
    if np.dtype(dtype).kind == "f":
        for wrong in (-0.5, math.nan, math.inf):
            parents[1, 0, 1] = wrong
            with pytest.raises(OpIndexError):
                gs.gather_tree(steps, parents, lengths, end)
        nothing = gs.gather_tree(steps, parents, np.array([math.nan], dtype), end)
        assert (nothing == 99).all()


# ---------------------------------------------------------------------------------------------------------- prepared


def test_prepared_indices_do_what_elements_can_do() -> None:
    prepared = gs.prepare(np.arange(16), 16)
    with pytest.raises(OpTypeError, match="min"):
        prepared.scatter(np.zeros(16, complex), np.ones(16, complex), reduction="min")
    with pytest.raises(OpValueError, match="reduction must be"):
        prepared.scatter(np.zeros(16), np.ones(16), reduction="most")
    for updates in (np.ones(15), np.ones((16, 1)), np.ones(())):
        with pytest.raises(OpValueError, match="updates"):
            prepared.scatter(np.zeros(16), updates, reduction="add")
    assert prepared.scatter(np.zeros(16), np.arange(16.0)[::-1], reduction="none").tolist() == list(range(16))[::-1]
    assert prepared.sum(np.zeros((16, 0))).shape == (16, 0)


I64 = np.int64
NUMBERS = np.array([2, 0, 2], I64)
STARTS, ORDER = np.array([0, 1, 1, 3], I64), np.array([1, 0, 2], I64)


@pytest.mark.parametrize(
    "call",
    [
        lambda: _core.group(NUMBERS),
        lambda: _core.group(NUMBERS.astype(np.int32), 3),
        lambda: _core.group(np.zeros((2, 2), I64), 3),
        lambda: _core.group(NUMBERS[::2], 3),
        lambda: _core.group([0, 1], 3),
        lambda: _core.group(NUMBERS, -1),
        lambda: _core.group(NUMBERS, 2),
        lambda: _core.group(np.array([-1], I64), 2),
        lambda: _core.group(np.array([3], I64), 2),
    ],
)
def test_groups_are_of_good_row_numbers(call: Callable) -> None:
    with pytest.raises(TypeError, match=r"^group\(\) takes"):
        call()


def test_groups() -> None:
    starts, order = _core.group(NUMBERS, 3)
    assert (starts.tolist(), order.tolist()) == (STARTS.tolist(), ORDER.tolist())
    updates, data = np.array([[1.0], [2.0], [4.0]]), np.array([[8.0], [16.0], [32.0]])
    run = _core.scatter_groups
    assert run(data, starts, order, updates, "add", True, None).ravel().tolist() == [10, 16, 37]
    assert run(data, starts, order, updates, "add", False, None).ravel().tolist() == [2, 16, 5]
    assert run(None, starts, order, updates, "mean", True, 2).ravel().tolist() == [1, 0, 5 / 3]
    assert run(None, np.zeros(1, I64), np.zeros(0, I64), np.zeros((0, 2)), "add", True, None).shape == (0, 2)
    for reduction, kind in (("none", float), ("most", float), ("min", complex), ("mean", np.int64)):
        assert run(None, starts, order, updates.astype(kind), reduction, True, None) is NotImplemented


@pytest.mark.parametrize(
    "changed",
    [
        {"starts": STARTS.astype(np.int32)},
        {"starts": np.zeros((1, 4), I64)},
        {"order": ORDER.astype(np.uint64)},
        {"order": np.array([1, 0, 3], I64)},
        {"order": np.array([1, 0, -1], I64)},
        {"starts": np.array([-1, 1, 1, 3], I64)},
        {"starts": np.array([0, 2, 1, 3], I64)},
        {"starts": np.array([0, 1, 1, 4], I64)},
        {"starts": np.array([9, 10, 11, 12], I64)},
        {"starts": np.array([2**31, -(2**63), 0, 3], I64)},
        {"starts": np.zeros(0, I64)},
        {"updates": np.zeros((2, 1))},
        {"updates": np.zeros((6, 1))[::2]},
        {"updates": [[1.0]] * 3},
        {"data": np.zeros((3, 2))},
        {"data": np.zeros((4, 1))},
        {"data": np.zeros((3, 1), np.float32)},
        {"data": [[1.0]] * 3},
    ],
)
@several_threads
def test_groups_that_lie_are_refused(changed: dict[str, Any], threads: int) -> None:
    given = {"data": np.zeros((3, 1)), "starts": STARTS, "order": ORDER, "updates": np.zeros((3, 1)), **changed}
    for zeros in (False, True):
        if zeros and "data" in changed:
            continue
        data = None if zeros else given["data"]
        with pytest.raises(TypeError, match=r"^scatter_groups\(\) takes"):
            _core.scatter_groups(data, given["starts"], given["order"], given["updates"], "add", True, threads)


@pytest.mark.parametrize(
    "changed",
    [
        {"starts": STARTS.astype(np.int32)},
        {"order": ORDER.astype(np.uint64)},
        {"order": np.array([1, 0, 3], I64)},
        {"order": np.array([1, 0, -1], I64)},
        {"starts": np.array([-1, 1, 1, 3], I64)},
        {"starts": np.array([0, 2, 1, 3], I64)},
        {"starts": np.array([0, 1, 1, 4], I64)},
        {"starts": np.array([2**31, -(2**63), 0, 3], I64)},
        {"order": np.array([1, 0, 2**62], I64)},
        {"starts": np.zeros(0, I64)},
        {"updates": np.zeros((2, 1))},
        {"updates": np.zeros((6, 1))[::2]},
        {"updates": [[1.0]] * 3},
        {"names": ["add"]},
        {"names": ()},
        {"names": (1,)},
    ],
)
@pytest.mark.parametrize("name", ["add", "argmax"])
@several_threads
def test_groups_that_lie_are_not_reduced(changed: dict[str, Any], name: str, threads: int) -> None:
    given = {"starts": STARTS, "order": ORDER, "updates": np.zeros((3, 1)), "names": (name,), **changed}
    with pytest.raises(TypeError, match=r"^reduce_groups\(\) takes"):
        _core.reduce_groups(given["starts"], given["order"], given["updates"], given["names"], threads)


@pytest.mark.parametrize("name", ["none", "sub", "mean", "most", "argadd", "xxxmin", "arg"])
def test_reductions_of_groups_that_there_are_not(name: str) -> None:
    assert _core.reduce_groups(STARTS, ORDER, np.zeros((3, 1)), ("add", name), None) is NotImplemented


# ---------------------------------------------------------------------------------------------------------- arguments


def test_arguments_of_run() -> None:
    add = Operation("x", Kernel.SCATTER_UPDATE)
    arrays = {"data": np.zeros(3), "indices": np.array([1]), "updates": np.ones(1)}
    assert _core.run(add, arrays).tolist() == [0, 1, 0]
    assert _core.run(add, arrays, None).tolist() == [0, 1, 0]
    for few in ((), (add,), (add, arrays, None, None)):
        with pytest.raises(TypeError, match="takes an operation, a dict of inputs, and perhaps out"):
            _core.run(*few)
    for record in (None, "x", tuple(add)[:-1], ("x", "gather")):
        with pytest.raises(TypeError, match=r"gatherscatter\.operation\.Operation"):
            _core.run(record, arrays)
    for kernel in ("scatter", "gather_tree", None, 1):
        with pytest.raises(ValueError, match="is not a kernel of the core"):
            _core.run(add._replace(kernel=kernel), arrays)
    for part in ("bags", "table"):
        with pytest.raises(TypeError, match="has records of"):
            _core.run(Operation("x", Kernel.GATHER_REDUCE, **{part: (1,)}), arrays)
    with pytest.raises(TypeError, match="the inputs of a call are a dict"):
        _core.run(add, list(arrays.values()))
    for name in ("rows", 1, None):
        with pytest.raises(TypeError, match="is not an input of a call"):
            _core.run(add, arrays | {name: np.zeros(3)})
    for wrong in ({}, arrays | {"updates": None}, arrays | {"data": None}, arrays | {"indices": [1]}):
        with pytest.raises(TypeError, match="needs all inputs, as aligned native NumPy arrays"):
            _core.run(add, wrong)
        assert _core.run_on_tensors(add, wrong) is NotImplemented
    with pytest.raises(TypeError, match="needs all inputs"):
        _core.run(Operation("x", Kernel.GATHER), arrays)
    with pytest.raises(TypeError, match="needs all inputs"):
        _core.run(Operation("x", Kernel.GATHER_QUANTIZED), arrays)
    with pytest.raises(TypeError, match="supports\\(\\) takes"):
        _core.supports(np.dtype(float), "most")


def test_arguments_of_bound_calls() -> None:
    data, rows, updates = np.zeros((2, 3)), np.array([1]), np.ones((2, 1))
    add = Operation("x", Kernel.SCATTER_UPDATE, 1, reduction="add")
    scatter = _core.bind(add)
    assert scatter(data, rows, updates).tolist() == [[0, 1, 0], [0, 1, 0]]
    assert scatter(data, rows, np.ones((1, 3)), 0).tolist() == [[0, 0, 0], [1, 1, 1]]
    out = np.zeros((1, 3, 2)).transpose(2, 1, 0)[..., 0]  # strided
    assert scatter(data, rows, updates, 1, out).tolist() == [[0, 1, 0], [0, 1, 0]] == out.tolist()
    assert scatter(data, rows, updates, 1, None).tolist() == out.tolist()
    quiet = _core.bind(add, True)
    assert quiet(data, rows, updates).tolist() == out.tolist()
    assert quiet(data.tolist(), rows, updates) is quiet(data, rows, updates[:1]) is NotImplemented
    for few in ((data, rows), (data, rows, updates, 0, None, 0)):
        with pytest.raises(TypeError, match="takes its arrays, and perhaps an axis and out"):
            scatter(*few)
    with pytest.raises(TypeError, match="takes plain arrays only"):
        scatter(data.tolist(), rows, updates)
    for axis, text in ((2, "axis 2"), (1 << 70, "axis"), (-(1 << 70), "axis"), ("0", "axis must be an integer")):
        with pytest.raises((ValueError, TypeError), match=f"x: .*{text}"):
            scatter(data, rows, updates, axis)
    with pytest.raises(IndexError, match=r"x: indices\[0\] = 5"):
        scatter(data, rows + 4, updates)
    with pytest.raises(TypeError, match="takes an operation"):
        _core.bind(add, 1)
    with pytest.raises(TypeError, match="takes operations that move elements by index"):
        _core.bind(Operation("x", Kernel.GATHER_REDUCE))
    with pytest.raises(ValueError, match="'scatter' is not a kernel"):
        _core.bind(add._replace(kernel="scatter"))
    with pytest.raises(ValueError, match="x: mode"):
        _core.bind(Operation("x", Kernel.GATHER, mode="drop"))


def test_keys_of_calls() -> None:
    data, rows = np.zeros(3, np.float32), np.array([1])
    key = _core.make_call_key("x", None, (data, None, rows), {"axis": 1})
    assert key == ("x", None, data.dtype, None, rows.dtype, "axis", 1)
    assert _core.run_known_call({key: lambda *arrays: arrays[0]}, "x", None, (data, None, rows), {"axis": 1}) is data
    assert _core.run_known_call({key: None}, "x", "wide", (data, None, rows), {"axis": 1}) is NotImplemented
    for inputs, attributes, accumulate in (
        (([0.0], rows), {}, None),
        ((data, rows), {"axis": 1.0}, None),
        ((data, rows), {"axis": np.int64(1)}, None),
        ((data, rows), {}, 1),
        ((np.ma.array(data), rows), {}, None),
        ([data, rows], {}, None),
    ):
        assert _core.make_call_key("x", accumulate, inputs, attributes) is None
        assert _core.run_known_call({}, "x", accumulate, inputs, attributes) is NotImplemented
    for function, given in ((_core.make_call_key, ("x",)), (_core.run_known_call, ([], "x", None, (), {}))):
        with pytest.raises(TypeError, match="takes"):
            function(*given)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: gs.gather_nd(np.zeros(3), [[1]], 0), TypeError, "at most 2 positional arguments"),
        (lambda: gs.gather(np.zeros(3), [1], 0, 0), TypeError, "at most 3 positional arguments"),
        (lambda: gs.gather(np.zeros(3), [1], nonsense=1), TypeError, "unexpected keyword argument 'nonsense'"),
        (
            lambda: gs.gather(np.zeros(3), np.array([1]), data=np.zeros(3)),
            TypeError,
            "multiple values for argument 'data'",
        ),
        (lambda: gs.gather(np.zeros(3)), TypeError, "missing required argument 'indices'"),
        (lambda: gs.scatter_nd(np.zeros(3), [[1]]), TypeError, "missing required argument 'updates'"),
        (lambda: gs.gather(np.zeros(3), [1], axis=2**70), OpValueError, "axis"),
        (lambda: gs.gather(np.zeros(3), [1], axis=-(2**70)), OpValueError, "axis"),
        (lambda: gs.gather(np.zeros(3), [1], mode="drop"), OpValueError, "mode must be"),
        (lambda: gs.scatter_update(np.zeros(3), [1], [1.0], mode="fill"), OpValueError, "mode must be"),
        (lambda: gs.gather(np.zeros(3), [1], mode="most"), OpValueError, "mode must be"),
        (lambda: gs.gather(np.zeros(3), [1], mode=1), TypeError, "mode must be"),
        (lambda: gs.scatter_update(np.zeros(3), [1], [1.0], include_self="no"), TypeError, "include_self"),
        (lambda: gs.scatter_update(np.zeros(3), [1], [1.0], include_self=np.zeros(2)), TypeError, "include_self"),
        (lambda: gs.gather(np.zeros(3), [1], num_threads=0), OpValueError, "num_threads must be at least 1"),
        (lambda: gs.gather(np.zeros(3), [1], num_threads=-(2**70)), OpValueError, "num_threads must be at least 1"),
    ],
)
def test_arguments_that_are_refused(call: Callable, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_arguments_of_many_kinds() -> None:
    data, rows, updates = np.array([8.0, 0.0]), np.array([0]), np.array([1.0])
    for yes, no in ((True, False), (1, 0), (np.bool(True), np.bool(False))):
        assert gs.scatter_update(data, rows, updates, reduction="add", include_self=yes)[0] == 9
        assert gs.scatter_update(data, rows, updates, reduction="add", include_self=no)[0] == 1
    for threads in (None, 1, 2**40, np.int8(3)):
        assert gs.gather(data, np.zeros(5000, int), num_threads=threads).sum() == 40_000


# ------------------------------------------------------------------------------------------------------ all or nothing

LITTLE_MEMORY = """
import resource
import numpy as np
import gatherscatter as gs

gs.set_num_threads(2)
gs.set_pool_limit(0)
data, out = np.ones(6_000_000, np.float64), np.full(6_000_000, 7.0)
rows, updates = np.arange(4), np.ones(4)
options = [{"reduction": "mean"}, {"reduction": "add", "include_self": False}]
options += [{"reduction": "add", "accumulate": how} for how in ("wide", "exact")]
gs.scatter_update(data[:9], rows, updates, **options[0])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (20 << 20),) * 2)
for each in options:
    try:
        gs.scatter_update(data, rows, updates, out=out, **each)
    except MemoryError:
        assert (out == 7).all(), f"{each}: wrote before it knew"
    else:
        raise SystemExit(f"{each}: there was enough memory")
"""


@pytest.mark.native
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are Linux's here")
def test_out_is_not_written_to_before_there_is_memory_for_sums() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_MEMORY], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
