"""Sums in a wider type and exact sums, compared with rational arithmetic and ``math.fsum``."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.oracle import FORMATS, exact_sum

FLOATS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}
each_float = pytest.mark.parametrize("name", FLOATS)


def bits(array: Any) -> Any:
    array = np.asarray(array)
    whole = array.view(f"u{array.itemsize}")
    return np.where(np.isnan(array.astype(np.float64)), whole * 0 - 1, whole).tolist()  # all NaN count as equal


def values(kind: str, name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return floats whose sums are numerically difficult."""
    precision, lowest, highest = FORMATS[name]
    mantissa = rng.integers(-(2**precision) + 1, 2**precision, n).astype(np.float64)
    if kind == "any size":
        exponents = rng.integers(lowest, highest - precision, n)
    elif kind == "subnormal":
        exponents = rng.integers(lowest, lowest + 4, n)
    elif kind == "largest":
        exponents = np.full(n, highest - precision)
    elif kind == "ties":
        mantissa = rng.choice([1.0, 3.0, -1.0, 2.0 ** (precision - 1) + 1], n)
        exponents = rng.choice([0, 1, precision], n)
    else:  # all similar
        exponents = np.full(n, 1 - precision)
    with np.errstate(over="ignore"):
        result = np.ldexp(mantissa, exponents).astype(FLOATS[name])
    if kind != "largest":  # most terms cancel
        result[n // 2 : n // 2 * 2] = -result[: n // 2][::-1]
        with np.errstate(over="ignore"):
            result[rng.integers(0, n, n // 8)] *= 2
    return result


def expected(data: np.ndarray, rows: np.ndarray, updates: np.ndarray, how: str, include_self: bool, name: str) -> Any:
    result = data.copy()
    for slot in set(rows.tolist()):
        met = [float(x) for x in updates[rows == slot]]
        met = [-x for x in met] if how == "sub" and include_self else met
        if how == "sub" and not include_self:
            met = [met[0], *(-x for x in met[1:])]
        met = ([float(data[slot])] if include_self else []) + met
        result[slot] = exact_sum(met, name, len(met) if how == "mean" else 1)
    return result


@each_float
@pytest.mark.parametrize("kind", ["alike", "any size", "subnormal", "largest", "ties"])
@pytest.mark.parametrize("how", ["add", "sub", "mean"])
def test_exact_is_the_real_sum_rounded_once(name: str, kind: str, how: str) -> None:
    rng = np.random.default_rng([len(name), len(kind), len(how)])
    for seed in range(12):
        n = int(rng.choice([1, 2, 3, 17, 80, 400]))
        data, updates = values(kind, name, 5, rng), values(kind, name, n, rng)
        rows = rng.integers(0, 4, n)
        if n == 3:
            rows[:] = 2
        include_self = bool(seed % 3)
        options: dict[str, Any] = {"reduction": how, "include_self": include_self, "accumulate": "exact"}
        with np.errstate(all="ignore"):
            want = expected(data, rows, updates, how, include_self, name)
        assert bits(gs.scatter_update(data, rows, updates, **options)) == bits(want)
        if how != "sub" or include_self:  # in any order
            order = rng.permutation(n)
            assert bits(gs.scatter_elements(data, rows[order], updates[order], num_threads=3, **options)) == bits(want)
        wide = np.repeat(data[:, np.newaxis], 70, 1), np.repeat(updates[:, np.newaxis], 70, 1)
        result = gs.scatter_nd(wide[0], rows[:, np.newaxis], wide[1], num_threads=2, **options)
        assert bits(result) == bits(np.repeat(want[:, np.newaxis], 70, 1))
        assert bits(gs.scatter_update(data, rows, updates, out=data, **options)) == bits(want)


SPECIALS = [
    ([math.inf, 1.0], math.inf),
    ([math.inf, -math.inf], math.nan),
    ([-math.inf, -math.inf, 3.0], -math.inf),
    ([math.nan, math.inf], math.nan),
    ([-0.0, -0.0], -0.0),
    ([-0.0, 0.0], 0.0),
    ([1.0, -1.0], 0.0),
    ([1.0, -1.0, -0.0], 0.0),
]


@each_float
@pytest.mark.parametrize(("met", "want"), SPECIALS)
def test_special_values(name: str, met: list[float], want: float) -> None:
    for order in (met, met[::-1]):
        data, updates = np.array([order[0], 5], FLOATS[name]), np.array(order[1:], FLOATS[name])
        result = gs.scatter_update(data, [0] * len(updates), updates, reduction="add", accumulate="exact")
        assert bits(result) == bits(np.array([want, 5], FLOATS[name]))


@each_float
def test_untouched_targets_keep_their_bits(name: str) -> None:
    size = np.dtype(FLOATS[name]).itemsize
    signalling = {"float16": 0x7C01, "bfloat16": 0x7F81, "float32": 0x7F800001, "float64": 0x7FF0000000000001}[name]
    data = np.array([signalling, 1 << (8 * size - 1), 0, 0], f"u{size}").view(FLOATS[name])
    for accumulate in ("step", "wide", "exact"):
        for reduction in ("add", "mean"):
            for include_self in (True, False):
                result = gs.scatter_update(
                    data, [3, 3], np.ones(2, data.dtype), reduction=reduction, include_self=include_self,
                    accumulate=accumulate,
                )  # fmt: skip
                assert result.view(f"u{size}")[:3].tolist() == data.view(f"u{size}")[:3].tolist()


def test_untouched_complex_targets_keep_their_bits() -> None:
    data = np.array([0x7F800001, 1 << 31, 0, 0x7FA00000, 0, 0], "u4").view(np.complex64)
    result = gs.scatter_update(data, [2], np.ones(1, data.dtype), reduction="add", accumulate="wide")
    assert result.view("u4")[:4].tolist() == data.view("u4")[:4].tolist()


def test_float64_is_fsum() -> None:
    rng = np.random.default_rng(0)
    updates = rng.normal(0, 1, 20_000) * 10.0 ** rng.integers(-200, 200, 20_000)
    rows = rng.integers(0, 50, updates.size)
    result = gs.scatter_update(np.zeros(50), rows, updates, reduction="add", accumulate="exact")
    assert result.tolist() == [math.fsum(updates[rows == slot]) for slot in range(50)]


def test_more_unknown_sums_than_are_added_up_at_a_time() -> None:
    slots = 250_000
    for dtype, parts in ((np.float64, (1e30, 1.0, 1e-30, -1e30, 0.0)), (np.float32, (1e30, 1.0, 1e-30, -1e30, 0.0))):
        rows = np.tile(np.arange(slots), len(parts))
        updates = np.repeat(np.array(parts, dtype), slots)
        result = gs.scatter_update(np.full(slots, -1, dtype), rows, updates, reduction="add", accumulate="exact")
        assert np.unique(result).tolist() == [dtype(1e-30)]


def test_unknown_sums_of_many_elements_that_one_thread_owns() -> None:
    size, count = 3_000_000, 100_000  # beyond the caches
    targets = np.random.default_rng(0).permutation(size)[:count]
    updates = np.repeat(np.array([2.0**100, 1, -(2.0**100)], np.float32), count)
    want = np.zeros(size, np.float32)
    want[targets] = 1
    got = gs.scatter_update(
        np.zeros_like(want), np.tile(targets, 3), updates, reduction="add", accumulate="exact", num_threads=2
    )
    assert np.array_equal(got, want)


def test_what_peers_get_wrong() -> None:
    def total(dtype: Any, n: int, value: float, reduction: str, accumulate: str) -> float:
        zeros, updates = np.zeros(1, dtype), np.full(n, value, dtype)
        rows = np.zeros(n, np.uint8)
        options: dict[str, Any] = {"reduction": reduction, "include_self": False, "accumulate": accumulate}
        return float(gs.scatter_update(zeros, rows, updates, **options)[0])

    for accumulate in ("wide", "exact"):
        assert total(ml_dtypes.bfloat16, 4096, 1, "add", accumulate) == 4096
        assert total(np.float32, 20_000_000, 1, "add", accumulate) == 20_000_000
        assert total(np.float32, 20_000_000, 3, "mean", accumulate) == 3
    assert total(ml_dtypes.bfloat16, 4096, 1, "add", "step") == 256  # the type cannot count further: ruling O16
    assert total(np.float32, 20_000_000, 1, "add", "step") == 2**24


def test_wide_adds_in_a_wider_type() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 10, 5000)
    for dtype, wider in ((np.float16, np.float32), (ml_dtypes.bfloat16, np.float32), (np.float32, np.float64),
                         (np.complex64, np.complex128)):  # fmt: skip
        data, updates = rng.normal(0, 9, 10).astype(dtype), rng.normal(0, 9, 5000).astype(dtype)
        want = data.astype(wider)
        np.add.at(want, rows, updates.astype(wider))
        result = gs.scatter_update(data, rows, updates, reduction="add", accumulate="wide")
        np.testing.assert_array_equal(result, want.astype(dtype))
        counts = (np.bincount(rows) + 1).astype(wider)
        result = gs.scatter_update(data, rows, updates, reduction="mean", accumulate="wide")
        np.testing.assert_array_equal(result, (want / counts).astype(dtype))
    for one in (np.float64(1), np.complex128(1 + 1j)):
        updates = np.array([1e16 * one, one, -1e16 * one])
        assert gs.scatter_update(np.zeros(1, one.dtype), [0] * 3, updates, reduction="add", accumulate="wide")[0] == one
        assert gs.scatter_update(np.zeros(1, one.dtype), [0] * 3, updates, reduction="add")[0] != one
    overflow = gs.scatter_update(np.array([1e308]), [0, 0], np.array([1e308, 1.0]), reduction="add", accumulate="wide")
    assert overflow.tolist() == [math.inf]


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool"])
def test_whole_numbers_are_the_same_in_all_ways(dtype: str) -> None:
    rng = np.random.default_rng(0)
    data, updates, rows = (
        rng.integers(0, 2, 5).astype(dtype),
        rng.integers(0, 99, 300).astype(dtype),
        rng.integers(0, 5, 300),
    )
    for reduction in ("add", "sub", "mul"):
        results = [
            gs.scatter_update(data, rows, updates, reduction=reduction, accumulate=accumulate)
            for accumulate in ("step", "wide", "exact")
        ]
        assert results[0].tolist() == results[1].tolist() == results[2].tolist()


def test_what_is_not_offered_says_so() -> None:
    data, rows, updates = np.zeros(3), [1], np.ones(1)
    with pytest.raises(ValueError, match="accumulate must be one of 'step', 'wide', 'exact', not 'most'"):
        gs.scatter_update(data, rows, updates, reduction="add", accumulate="most")
    with pytest.raises(TypeError, match="accumulate must be one of"):
        gs.scatter_nd(data, [rows], updates, accumulate=3)
    with pytest.raises(
        TypeError, match="accumulate='exact' is not defined for reduction 'mul' of elements of type float64"
    ):
        gs.scatter_elements(data, rows, updates, reduction="mul", accumulate="exact")
    with pytest.raises(TypeError, match="accumulate='exact' is not defined for reduction 'add'"):
        gs.scatter_update(data.astype(complex), rows, updates.astype(complex), reduction="add", accumulate="exact")
    for reduction in ("none", "min", "max"):
        with pytest.raises(ValueError, match=f"accumulate has no effect with reduction '{reduction}'; leave it out"):
            gs.scatter_update(data, rows, updates, reduction=reduction, accumulate="exact")
    with pytest.raises(TypeError, match="no attribute 'accumulate'"):
        gs.onnx.Gather(data, rows, accumulate="exact")


def test_a_bad_index_leaves_out_alone() -> None:
    data = np.array([1e30, 1.0, 2.0], np.float32)
    before = data.copy()
    rows = np.array([0, 0, 3])
    for accumulate in ("wide", "exact"):
        with pytest.raises(IndexError):
            gs.scatter_update(data, rows, before, reduction="add", accumulate=accumulate, out=data)
        np.testing.assert_array_equal(data, before)


def test_the_specifications_have_their_own_way() -> None:
    data, rows, updates = np.array([2048], np.float16), np.array([0, 0]), np.ones(2, np.float16)
    assert gs.onnx.ScatterElements(data, rows, updates, reduction="add").tolist() == [2048]
    assert gs.onnx.ScatterElements(data, rows, updates, reduction="add", accumulate="wide").tolist() == [2050]
    assert gs.onnx.ScatterND(data, rows[:, np.newaxis], updates, reduction="add", accumulate="exact").tolist() == [2050]
    own = gs.openvino.ScatterElementsUpdate(data, rows, updates, 0, reduction="sum")
    assert own.tolist() == [2050]
    single = np.array([2.0**24], np.float32), rows, np.ones(2, np.float32), 0
    assert gs.openvino.ScatterElementsUpdate(*single, reduction="sum").tolist() == [2**24]
    assert gs.openvino.ScatterElementsUpdate(*single, reduction="sum", accumulate="wide").tolist() == [2**24 + 2]
    step = gs.openvino.ScatterElementsUpdate(data, rows, updates, 0, reduction="sum", accumulate="step")
    assert step.tolist() == [2048]
    edges = gs.prepare(rows, 1)
    assert edges.scatter(data, updates, reduction="add", accumulate="exact").tolist() == [2050]
    assert edges.sum(np.array([2048, 1], np.float16), accumulate="wide").tolist() == [2048]
