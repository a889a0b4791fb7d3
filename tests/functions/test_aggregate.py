"""`gatherscatter.aggregate` against definitions in fractions, for all functions, types, layouts and thread counts."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gatherscatter as gs
from gatherscatter import _core
from gatherscatter.functions.statistics.names import FUNCTIONS, NAMES, RUNNING
from gatherscatter.functions.statistics.ordered import ORDERED
from tests.support import statistics as judge

REDUCING = [name for name in FUNCTIONS if isinstance(name, str) and FUNCTIONS[name].name not in RUNNING]
REDUCING = [name for name in REDUCING if name.removeprefix("nan") in NAMES and "array" not in name]
CHECKED = [name for name in REDUCING if "skew" not in name and "kurt" not in name]
CUMULATIVE = [f"{nan}{name}" for name in RUNNING if name != "sort" for nan in ("", "nan")]
TYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)


def fill_of(name: str, dtype: np.dtype[Any]) -> Any:
    plain = name.removeprefix("nan")
    if plain in ("sum", "sumofsquares", "len", "nunique", "trapezoid"):
        return 0
    if plain in ("any", "all", "anynan", "allnan"):
        return False
    return {"prod": 1, "argmin": -1, "argmax": -1}.get(plain, math.nan if dtype.kind in "fc" else 0)


def check(name: str, labels: np.ndarray, values: np.ndarray, groups: int, **options: Any) -> None:
    """Compare the results of one call on a line of values with the judge's."""
    with np.errstate(all="ignore"):
        found = gs.aggregate(labels, values, name, size=groups, **options)
    assert found.shape == (groups,)
    share = {"q": options["q"] / 100} if "percentile" in name and options else {}
    scale = [0.0] * groups
    for g, members in enumerate(judge.groups_of(labels.tolist(), groups)):
        each = [values[i] for i in members]
        wanted = judge.statistic(name, each, members, **(options | share))
        result = found[g]
        if wanted is judge.EMPTY:
            fill = fill_of(name, found.dtype)
            assert judge.is_nan(result) if judge.is_nan(fill) else result == fill, (name, g, result)
            continue
        numbers = [abs(judge.exact(x)) for x in each if math.isfinite(float(x))]
        scale[g] = float(sum(numbers, Fraction(0)))
        if "var" in name or "std" in name or "squares" in name:
            continue  # below: the tolerance is that of squares
        if "prod" in name:
            scale[g] = float(min(abs(wanted), Fraction(2) ** 1023)) if isinstance(wanted, Fraction) else 0
        good = judge.close(result, wanted, scale[g], len(each) + 4, found.dtype)
        assert good, (name, values.dtype, g, result, wanted)
    if "var" in name or "std" in name or "squares" in name:
        check_squares(name, labels, values, found, groups, **options)


def check_squares(
    name: str, labels: np.ndarray, values: np.ndarray, found: np.ndarray, groups: int, **options: Any
) -> None:
    for g, members in enumerate(judge.groups_of(labels.tolist(), groups)):
        each = [values[i] for i in members]
        wanted = judge.statistic(name, each, members, **options)
        if wanted is judge.EMPTY or wanted is None:
            continue
        result = found[g]
        if not isinstance(wanted, Fraction | int) or not math.isfinite(float(result)):
            assert judge.is_nan(result) or math.isinf(result)
            if isinstance(wanted, Fraction | int):  # the squares are too large for the type
                assert wanted > Fraction(float(np.finfo(found.dtype).max)) / 2**12, (name, result, wanted)
            continue
        growth = 1 if "squares" in name else growth_of_errors(each)
        if "std" in name:
            result = judge.exact(result) ** 2
            eps = Fraction(float(np.finfo(found.dtype).eps)) * 3
            least = Fraction(float(np.finfo(found.dtype).smallest_subnormal))
            floor = least * (Fraction(math.sqrt(wanted)) + 4 * least)  # the square of a rounded subnormal number
            assert abs(result - wanted) <= wanted * (eps + growth * Fraction(len(each) + 8, 2**52)) + floor, (name, g)
        else:
            scale = float(wanted * growth)
            assert judge.close(result, wanted, scale, 4 * len(each) + 8, found.dtype), (name, g, result, wanted)


def growth_of_errors(values: list[Any]) -> Fraction:
    """How many times the rounding errors of a variance can grow: distances are taken from the first value.

    With distances from the mean it would be 1 (Chan, Golub and LeVeque, 1983, section 3). The core takes those if the
    first value is more than 8 standard deviations away.
    """
    numbers = [judge.exact(x) for x in values if not judge.is_nan(x)]
    mean = sum(numbers, Fraction(0)) / len(numbers)
    squares = sum(((x - mean) ** 2 for x in numbers), Fraction(0))
    return 1 + (min((numbers[0] - mean) ** 2 * len(numbers) / squares, Fraction(64)) if squares else 0)


def draw(rng: np.random.Generator, dtype: str, n: int, special: bool) -> np.ndarray:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(n) < 0.5
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        wide = rng.integers(limits.min, limits.max, n, kind, endpoint=True)
        return np.where(rng.random(n) < 0.5, wide, rng.integers(0, 5, n).astype(kind))
    values = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4)).astype(kind)
    if special:
        for value in (np.nan, np.inf, -np.inf, 0.0, -0.0):
            values[rng.random(n) < 0.06] = value
    return values


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", CHECKED)
def test_results_are_those_of_fractions(name: str, dtype: str) -> None:
    rng = np.random.default_rng(CHECKED.index(name) * 100 + TYPES.index(dtype))
    for round_, special in itertools.product(range(3), (False, True)):
        groups = int(rng.integers(1, 9))
        labels = rng.integers(0, groups, int(rng.integers(0, 60)))
        labels[labels == 2] = 0
        options: dict[str, Any] = {"ddof": round_} if name.removeprefix("nan") in ("var", "std") else {}
        if name.removeprefix("nan") in ("quantile", "percentile"):
            most = 100 if "percentile" in name else 1
            options = {"q": [0.25, 1 / 3, 0.9][round_] * most, "method": ["linear", "nearest", "midpoint"][round_]}
            if most == 100:
                options["q"] = [25.0, 50.0, 75.0][round_]
        check(name, labels, draw(rng, dtype, labels.size, special), groups, **options)


def check_running(name: str, labels: np.ndarray, values: np.ndarray, groups: int) -> None:
    with np.errstate(all="ignore"):
        found = gs.aggregate(labels, values, name, size=groups)
    assert found.shape == values.shape
    for members in judge.groups_of(labels.tolist(), groups):
        each = [values[i] for i in members[:200]]
        for i, wanted in zip(members[:200], judge.running(name, each), strict=True):
            size = float(sum((abs(judge.exact(x)) for x in each if math.isfinite(float(x))), Fraction(0)))
            if "prod" in name and isinstance(wanted, Fraction):
                size = float(min(abs(wanted), Fraction(2) ** 1023))
            assert judge.close(found[i], wanted, size, len(each) + 4, found.dtype), (name, i, found[i], wanted)


@pytest.mark.parametrize("name", CUMULATIVE)
@pytest.mark.parametrize("dtype", ["int16", "uint64", "float32", "float64"])
def test_running_results_are_those_of_fractions(name: str, dtype: str) -> None:
    rng = np.random.default_rng(7)
    for special in (False, True):
        check_running(name, rng.integers(0, 5, 40), draw(rng, dtype, 40, special), 6)


@pytest.mark.parametrize("name", [*CHECKED, *CUMULATIVE, "skew", "nankurt"])
@pytest.mark.parametrize("layout", ["random", "ascending", "one group", "runs"])
@pytest.mark.parametrize("shape", [(200_000, 1, 50), (200_000, 1, 60_000), (3000, 70, 40), (900, 6, 11)])
def test_the_number_of_threads_changes_no_bit(name: str, shape: tuple[int, int, int], layout: str) -> None:
    members, columns, groups = shape
    if layout != "random" and columns > 1:
        pytest.skip("rows do not depend on the layout of labels")
    rng = np.random.default_rng(3)
    values = rng.standard_normal((members, columns)).astype(np.float32)
    values[rng.random(values.shape) < 0.01] = np.nan
    labels = rng.integers(0, groups, members, np.int32 if layout == "runs" else np.int64)
    if layout == "ascending":
        labels.sort()
    elif layout == "one group":
        labels[:] = 3
    elif layout == "runs":
        labels = np.repeat(labels[: members // 400], 400)
    results = [gs.aggregate(labels, values, name, axis=0, size=groups, num_threads=n) for n in (1, 2, 3)]
    for other in results[1:]:
        assert other.tobytes() == results[0].tobytes()
    if columns == 1 and name in ("sum", "nanmean", "std", "argmax", "nanfirst", "last", "all", "cumsum"):
        line, some = values[:2000, 0], labels[:2000]
        check_line = check_running if name == "cumsum" else check
        check_line(name, some, line, groups)


@pytest.mark.parametrize("name", [*CHECKED, *CUMULATIVE, "sort", "skew", "kurt", "nanskew"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_an_axis_is_grouped_line_by_line(name: str, axis: int) -> None:
    rng = np.random.default_rng(5)
    a = rng.standard_normal((4, 5, 6))
    a[rng.random(a.shape) < 0.2] = np.nan
    length = a.shape[axis]
    labels = rng.integers(0, 3, length)
    found = gs.aggregate(labels, a, name, axis=axis, size=4)
    lines = np.moveaxis(a, axis, -1)
    wanted = [gs.aggregate(labels, np.ascontiguousarray(line), name, size=4) for line in lines.reshape(-1, length)]
    np.testing.assert_allclose(np.moveaxis(found, axis, -1).reshape(-1, len(wanted[0])), wanted, rtol=1e-12)
    # labels that differ from line to line
    many = rng.integers(0, 3, a.shape)
    found = gs.aggregate(many, a, name, axis=axis, size=4)
    rows = zip(np.moveaxis(many, axis, -1).reshape(-1, length), lines.reshape(-1, length), strict=True)
    wanted = [gs.aggregate(row, np.ascontiguousarray(line), name, size=4) for row, line in rows]
    np.testing.assert_allclose(np.moveaxis(found, axis, -1).reshape(-1, len(wanted[0])), wanted, rtol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
def test_labels_of_several_dimensions_name_positions(order: str) -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, [[3], [4], [5]], (3, 50))
    a = rng.standard_normal(50)
    wanted = np.zeros((3, 4, 5))
    np.add.at(wanted, tuple(labels), a)
    found = gs.aggregate(labels, a, order=order, size=(3, 4, 5))
    np.testing.assert_allclose(found, wanted, rtol=1e-13)
    assert found.flags.f_contiguous if order == "F" else found.flags.c_contiguous
    firsts = gs.aggregate(labels, a, "argmin", order=order, size=(3, 4, 5))
    assert all(firsts[tuple(labels[:, i])] == i or a[firsts[tuple(labels[:, i])]] <= a[i] for i in range(50))


def test_integers_do_not_overflow_into_wrong_means_and_variances() -> None:
    big = 2**63 - 1
    values = np.array([big, big, big - 2, -big, -big], np.int64)
    assert gs.aggregate([0, 0, 0, 1, 1], values, "mean").tolist() == [float(big), -float(big)]
    assert gs.aggregate([0, 0, 0, 1, 1], values, "var").tolist() == pytest.approx([8 / 9, 0.0])
    spread = np.array([big, -big - 1], np.int64)
    assert gs.aggregate([0, 0], spread, "std") == pytest.approx((2**64 - 1) / 2)
    unsigned = np.array([2**64 - 1, 2**64 - 3, 0], np.uint64)
    assert gs.aggregate([0, 0, 1], unsigned, "var").tolist() == [1.0, 0.0]
    small = np.full(100_000, 127, np.int8)
    assert gs.aggregate(np.zeros(100_000, int), small, "mean").tolist() == [127.0]


NARROW = [("float16", np.float64), ("bfloat16", np.float64), ("bool", np.int32), ("int8", np.int64)]
NARROW += [("uint8", np.uint64), ("int16", np.int32), ("uint16", np.uint32), ("uint32", np.uint64)]


@pytest.mark.parametrize("columns", [1, 2, 7, 300])
@pytest.mark.parametrize(("narrow", "wide"), NARROW)
def test_narrow_values_have_the_statistics_of_wide_ones(narrow: str, wide: Any, columns: int) -> None:
    rng = np.random.default_rng(columns)
    dtype = np.dtype(getattr(ml_dtypes, narrow, narrow))
    values = rng.integers(0, 2**16, (700, columns))
    is_float = dtype.kind in "fV"
    values = (values % 200 - 100 if is_float else values).astype(dtype)
    if is_float:
        values[rng.random(values.shape) < 0.2] = np.nan
    for labels in (rng.integers(0, 90, 700), np.sort(rng.integers(0, 90, 700)).astype(np.int32)):
        for name in (*CHECKED, *CUMULATIVE):
            if columns > 7 and FUNCTIONS[name].name in ORDERED:
                continue  # slow, and the same for any number of columns
            with np.errstate(all="ignore"):
                found = gs.aggregate(labels, values, name, size=100, axis=0)
                # Running sums of halves are rounded to float32 first.
                same = values.astype(np.float32 if is_float and name in CUMULATIVE else wide)
                wanted = gs.aggregate(labels, same, name, size=100, axis=0).astype(found.dtype)
            np.testing.assert_array_equal(found.astype(float), wanted.astype(float), err_msg=name)


def test_a_variance_is_right_far_from_zero() -> None:
    values = 1e9 + np.array([0.0, 1.0, 2.0, 3.0])
    assert gs.aggregate([0] * 4, values, "var").tolist() == [1.25]
    values = np.concatenate(([1e9], np.random.default_rng(0).standard_normal(9999)))
    wanted = judge.statistic("var", values.tolist(), range(10000))
    assert abs(float(gs.aggregate(np.zeros(10000, int), values, "var")[0]) / float(wanted) - 1) < 1e-13


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
@pytest.mark.parametrize("first", [3, 14, 18, 10**8, 2**40])
def test_a_variance_is_right_if_the_first_value_is_far_from_the_mean(dtype: str, first: int) -> None:
    """Distances from the first value are added up. If it is too far away, they are computed again, from the mean."""
    rng = np.random.default_rng(3)
    values = (rng.standard_normal(40_000) * (1000 if dtype == "int64" else 1)).astype(dtype)
    values[:3] = first * (1000 if dtype == "int64" else 1)
    labels = rng.integers(0, 3, values.size)
    labels[:3] = 0, 1, 2
    made = gs.aggregate(labels, values, "var")
    for group in range(3):
        members = values[labels == group]
        parts = [members.real, members.imag] if dtype.startswith("complex") else [members]
        exact = [[Fraction(x) for x in part.tolist()] for part in parts]
        squares = sum(sum(x * x for x in part) - sum(part) ** 2 / len(part) for part in exact)
        wanted = float(squares / members.size)
        # At 16 standard deviations, the sums are 257 times the result. Each has a rounding error of about 1e-15.
        assert abs(made[group] - wanted) <= 1e-12 * wanted


def test_variances_of_numbers_that_are_not_finite_or_huge() -> None:
    labels = np.repeat([0, 1, 2, 3], 300)
    values = np.repeat([1.0, np.inf, 1.0, 1e200], 300)
    values[605], values[905:1000] = np.nan, -1e200
    made = gs.aggregate(labels, values, "var")
    assert made[0] == 0
    assert np.isnan(made[1:3]).all()
    assert made[3] == np.inf


def test_text_times_and_objects() -> None:
    labels = [1, 0, 1, 3]
    text = np.array(["b", "a", "c", "b"])
    assert gs.aggregate(labels, text, "first", fill_value="-").tolist() == ["a", "b", "-", "b"]
    assert gs.aggregate(labels, text, "len").tolist() == [1, 2, 0, 1]
    assert gs.aggregate(labels, text, "nunique").tolist() == [1, 2, 0, 1]
    assert [each.tolist() for each in gs.aggregate(labels, text, "array")] == [["a"], ["b", "c"], [], ["b"]]
    times = np.array(["2026-01-03", "2026-01-01", "2026-01-02", "2026-01-05"], "datetime64[D]")
    assert gs.aggregate([0, 0, 0, 1], times, "sort").tolist() == sorted(times[:3].tolist()) + times[3:].tolist()
    last = gs.aggregate(labels, times, "last", size=4)
    assert str(last[1]) == "2026-01-02"
    assert np.isnat(last[2])
    with pytest.raises(gs.OpTypeError, match="'sum' is not defined for values of type <U1"):
        gs.aggregate(labels, text)


def test_a_function_of_python_gets_each_group_in_order() -> None:
    seen = []

    def first(group: np.ndarray) -> Any:
        seen.append(group.tolist())
        return group[0]

    found = gs.aggregate([2, 0, 2], [1.0, 2.0, 3.0], first, size=4)
    assert seen == [[2.0], [1.0, 3.0]]
    np.testing.assert_array_equal(found, [2.0, np.nan, 1.0, np.nan])
    assert gs.aggregate([0, 1, 0], np.array([1, 2, 3]), np.ptp, dtype=int, fill_value=-1, size=3).tolist() == [2, 0, -1]
    with pytest.raises(gs.OpValueError, match="reverse has no effect"):
        gs.aggregate([0], [1.0], np.ptp, reverse=True)


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "negative": (
        lambda: gs.aggregate([0, -1], [1, 2]),
        IndexError,
        r"group_idx\[1\] = -1 is out of range for 1 groups",
    ),
    "too large": (lambda: gs.aggregate([0, 5], [1, 2], size=3), IndexError, r"group_idx\[1\] = 5 .* for 3 groups"),
    "too large, sorted": (lambda: gs.aggregate([0, 5], [1, 2], "median", size=3), IndexError, r"group_idx\[1\] = 5"),
    "too large, lines": (
        lambda: gs.aggregate([[0, 5]], [[1, 2]], axis=1, size=3),
        IndexError,
        r"group_idx\[0, 1\] = 5",
    ),
    "positions": (lambda: gs.aggregate([[0, 1], [0, 9]], [1, 2], size=(2, 2)), IndexError, r"group_idx\[1\] = 9"),
    "floats": (lambda: gs.aggregate([0.5], [1]), TypeError, "group_idx must be integers"),
    "length": (lambda: gs.aggregate([0, 1], [1, 2, 3]), ValueError, r"group_idx of shape \(2,\) does not fit"),
    "no axis": (lambda: gs.aggregate([0, 1], [[1], [2]]), ValueError, "give the axis"),
    "axis": (lambda: gs.aggregate([0, 1], [[1], [2]], axis=2), ValueError, "axis"),
    "axis length": (lambda: gs.aggregate([0, 1], [[1, 2, 3]], axis=1), ValueError, "does not fit"),
    "function": (lambda: gs.aggregate([0], [1], "meen"), ValueError, "func must be one of .*mean"),
    "option": (lambda: gs.aggregate([0], [1], "mean", ddof=1), ValueError, "ddof has no effect with func='mean'"),
    "q": (lambda: gs.aggregate([0], [1], "quantile", q=50), ValueError, r"q must be in \[0, 1\], not 50"),
    "method": (
        lambda: gs.aggregate([0], [1], "quantile", method="cubic"),
        ValueError,
        "method must be one of 'linear'",
    ),
    "fill": (lambda: gs.aggregate([1], [1], "min", fill_value=0.5), ValueError, "fill_value 0.5 is not a value of"),
    "fill nan": (lambda: gs.aggregate([1], [1], "min", fill_value=np.nan), ValueError, "fill_value nan is not a value"),
    "fill bool": (lambda: gs.aggregate([1], [1], "any", fill_value=7), ValueError, "fill_value 7 is not a value"),
    "fill none": (lambda: gs.aggregate([1], [1], fill_value=None), TypeError, "fill_value must be a value"),
    "type": (lambda: gs.aggregate([0], [1j], "mean", dtype=float), TypeError, "has no result of type float64"),
    "complex skew": (lambda: gs.aggregate([0], [1j], "skew"), TypeError, "'skew' is not defined for values of type"),
    "number": (lambda: gs.aggregate([0], 1.0, "mean"), ValueError, "a is a single number"),
    "size": (lambda: gs.aggregate([0], [1], size=-1), ValueError, "size must be at least 0"),
    "size type": (lambda: gs.aggregate([0], [1], size=cast(Any, 2.0)), TypeError, "size must be an integer"),
    "sizes": (lambda: gs.aggregate([[0], [0]], [1], size=3), ValueError, "must list 2 numbers"),
    "order": (lambda: gs.aggregate([0], [1], order="A"), ValueError, "order must be one of 'C', 'F'"),
    "keyword": (
        lambda: gs.aggregate([0], [1], **cast(Any, {"functon": "sum"})),
        TypeError,
        "unexpected keyword argument 'functon'",
    ),
    "ddof": (
        lambda: gs.aggregate([0], [1.0], "var", ddof=cast(Any, "1")),
        TypeError,
        "ddof must be an integer, not '1'",
    ),
    "ddof true": (lambda: gs.aggregate([0], [1.0], "var", ddof=True), TypeError, "ddof must be an integer, not True"),
    "q list": (lambda: gs.aggregate([0], [1.0], "quantile", q=cast(Any, [0.5])), TypeError, "q must be a number"),
    "dx": (lambda: gs.aggregate([0], [1.0], "trapezoid", dx=cast(Any, "1")), TypeError, "dx must be a number"),
    "reverse": (lambda: gs.aggregate([0], [1], "sort", reverse=cast(Any, "no")), TypeError, "reverse must be True or"),
    "dtype": (lambda: gs.aggregate([0], [1.0], dtype="foo"), TypeError, "dtype must be a type, not 'foo'"),
    "dtype text": (lambda: gs.aggregate([0], [1.0], dtype="U3"), TypeError, "has no result of type <U3"),
    "fill large": (lambda: gs.aggregate([1], [1], fill_value=2**70), ValueError, "fill_value .* is not a value"),
    "fill fraction": (lambda: gs.aggregate([1], [1], fill_value=Fraction(1, 2)), ValueError, "fill_value .* is not a"),
    "fill text": (lambda: gs.aggregate([1], ["a"], "first", fill_value="none"), ValueError, "fill_value 'none' is not"),
    "threads": (lambda: gs.aggregate([0], [1], num_threads=0), ValueError, "num_threads"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes(mistake: str) -> None:
    call, kind, text = WRONG[mistake]
    with pytest.raises(kind, match=text) as caught:
        call()
    assert isinstance(caught.value, gs.OpError)


def test_calls_without_labels_values_or_groups() -> None:
    none = np.zeros(0, int)
    assert gs.aggregate(none, np.zeros(0)).shape == (0,)
    for name in [*CHECKED, "sort", "cumsum", "array"]:
        found = gs.aggregate(none, np.zeros(0), name, size=3)
        assert found.shape == ((0,) if name in ("sort", "cumsum") else (3,)), name
    assert gs.aggregate(none, np.zeros((4, 0)), "mean", axis=1, size=2).shape == (4, 2)
    assert gs.aggregate([0, 1], np.zeros((2, 0)), "mean", axis=0).shape == (2, 0)
    assert gs.aggregate([0, 1], np.zeros((2, 0)), "median", axis=0).shape == (2, 0)


@pytest.mark.parametrize("call", [
    lambda: gs.aggregate([0, 1], np.ones((2, 8)), "cumsum", size=2**61, axis=0),
    lambda: gs.aggregate([0, 5], np.ones((2, 4)), "cummax", size=2**62, axis=0),
    lambda: gs.aggregate([0, 1], [1.0, 2.0], size=2**64),
    lambda: gs.aggregate([0, 1], [1.0, 2.0], "median", size=2**62),
    lambda: gs.aggregate([[0], [1]], [1.0], size=(2**40, 2**40)),
    lambda: gs.aggregate(np.array([0, 2**63 - 1]), [1.0, 2.0]),
    lambda: gs.aggregate(np.array([0, 2**63], np.uint64), [1.0, 2.0]),
])  # fmt: skip
def test_groups_that_do_not_fit_in_memory(call: Any) -> None:
    with pytest.raises(gs.OpValueError, match="groups do not fit in memory"):
        call()


def test_a_size_beyond_memory_is_a_memory_error() -> None:
    with pytest.raises(MemoryError):
        gs.aggregate([0, 1], np.ones((2, 8)), "cumsum", size=2**50, axis=0)


def test_labels_of_columns_are_named_as_they_were_given() -> None:
    for name in ("mean", "median", "sort", "nunique", "array"):
        with pytest.raises(IndexError, match=r"group_idx\[1\] = 3 is out of range for 3 groups"):
            gs.aggregate([0, 3], np.ones((2, 2)), name, size=3, axis=0)


def test_integers_give_floats_without_wrapping() -> None:
    large = np.array([2**62, 2**62])
    assert gs.aggregate([0, 0], large, "sum", dtype="f8").tolist() == [2.0**63]
    assert gs.aggregate([0, 0], np.array([2**40, 2**40]), "prod", dtype="f8").tolist() == [2.0**80]
    running = gs.aggregate([0] * 3, np.array([2**24, 1, 1], "f4"), "cumsum", dtype="f8")
    assert running.tolist() == [2.0**24, 2.0**24 + 1, 2.0**24 + 2]


def test_quantiles_of_infinite_and_huge_values() -> None:
    assert gs.aggregate([0, 0], [np.inf, np.inf], "median").tolist() == [np.inf]
    assert gs.aggregate([0, 0], [-1.7e308, 1.7e308], "median").tolist() == [0.0]
    assert gs.aggregate([0, 0], [1.7e308, 1.7e308], "quantile", q=0.3).tolist() == [1.7e308]


def test_skewness_and_kurtosis_of_constant_tiny_and_large_values() -> None:
    assert gs.aggregate([0] * 3, [0.1] * 3, "skew").tolist() == [0.0]
    assert gs.aggregate([0] * 6, [0.1] * 6, "kurt").tolist() == [0.0]
    wanted = gs.aggregate([0] * 3, [1.0, 2.0, 4.0], "skew")
    np.testing.assert_allclose(gs.aggregate([0] * 3, [1e-120, 2e-120, 4e-120], "skew"), wanted)
    wanted = gs.aggregate([0] * 3, [0, 1, 5], "skew")
    np.testing.assert_allclose(gs.aggregate([0] * 3, 2**60 + np.array([0, 1, 5]), "skew"), wanted)
    np.testing.assert_allclose(gs.aggregate([0] * 3, 1e9 + np.array([0.0, 1, 5]), "skew"), wanted)


def test_a_negative_ddof_leaves_empty_groups_empty() -> None:
    found = gs.aggregate([0, 2], [1.0, 2.0], "var", ddof=-1)
    np.testing.assert_array_equal(found, [0.0, np.nan, 0.0])


def test_counts_without_nan_of_prepared_indices() -> None:
    groups = gs.prepare([0, 2, 2], 3)
    assert groups.reduce(np.array([1.0, 2.0, np.nan]), "count", skipna=True)[0].tolist() == [1, 0, 1]
    assert groups.reduce(np.ones((3, 2), int), ("count", "sum"), skipna=True)[0].tolist() == [1, 0, 2]


@settings(max_examples=150)
@given(st.data())
def test_random_calls(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(CHECKED))
    dtype = data.draw(st.sampled_from(TYPES))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    groups = data.draw(st.integers(1, 12))
    labels = rng.integers(0, groups, data.draw(st.integers(0, 200))).astype(
        data.draw(st.sampled_from(["i1", "u4", "i8"]))
    )
    options: dict[str, Any] = {}
    if name.removeprefix("nan") in ("var", "std"):
        options["ddof"] = data.draw(st.integers(0, 3))
    check(name, labels, draw(rng, dtype, labels.size, data.draw(st.booleans())), groups, **options)


def test_the_core_refuses_what_it_cannot_read() -> None:
    values, labels = np.zeros((1, 3, 1)), np.zeros(3, np.int64)
    good: tuple[Any, ...] = ("sum", values, labels, 1, False, "raise", None, None)
    for position, wrong in [
        (0, "no"),
        (1, values[0]),
        (1, values[:, :2]),
        (2, labels.astype(float)),
        (3, -1),
        (4, 1),
        (5, "x"),
    ]:
        arguments = [*good]
        arguments[position] = wrong
        with pytest.raises(TypeError, match=r"group_statistic\(\) takes"):
            _core.group_statistic(*arguments)
    assert _core.group_statistic("sum", values.astype("U1"), labels, 1, False, "raise", None, None) is NotImplemented
    assert _core.group_statistic("sum", values, labels + 1, 1, False, "raise", None, None) is None
    skipped = _core.group_statistic("count", None, np.array([0, -1, 5, 0]), 2, False, "skip", None, None)[0]
    assert skipped.ravel().tolist() == [2, 0]
    with pytest.raises(TypeError, match=r"sort_groups\(\) takes"):
        _core.sort_groups(np.zeros(3), np.array([0, 5]), None, None)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("copies", [1, 20_000])
def test_variances_with_one_value_whose_square_is_nearly_too_large(dtype: Any, copies: int) -> None:
    """Squared distances from the first value can be too large where those from the mean are not."""
    for values in ([1e154, 0, 0, 0], [0, 0.9e154, 0.9e154, 0.9e154, 0.9e154, 0.9e154], [1.2e154, 1.1e154, 1e154]):
        for line in (values, values[::-1]):
            labels = np.repeat(np.arange(copies), len(line))
            found = gs.aggregate(labels, np.tile(np.array(line, dtype), copies), "var")
            numbers = [Fraction(float(x)) for x in line]
            mean = sum(numbers) / len(numbers)
            wanted = float(sum((x - mean) ** 2 for x in numbers) / len(numbers))
            np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_a_bad_label_of_values_without_elements_is_an_error() -> None:
    for name in ("sum", "mean", "var", "min", "first", "len", "argmax", "any", "cumsum"):
        with pytest.raises(IndexError, match=r"group_idx\[0\] = 5"):
            gs.aggregate([5, 0, 1], np.empty((0, 3)), name, size=2, axis=1)


@pytest.mark.native
def test_a_second_walk_without_memory_is_an_error() -> None:
    """Threads compute several tables at the same time, and none of them may run out of memory."""
    script = """
import resource, sys, numpy as np, gatherscatter as gs
labels, values = np.zeros(3000, int), np.zeros((4, 3000))
values[:, 0] = 1e6
values[:, 1::2] = 1
gs.aggregate(labels[:10], values[:, :10], "var", size=5, axis=1, num_threads=4)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
for more in range(50, 800, 50):
    resource.setrlimit(resource.RLIMIT_AS, (used + more * 2**20, resource.RLIM_INFINITY))
    try:
        made = gs.aggregate(labels, values, "var", size=10**6, axis=1, num_threads=4)
        assert made[0, 0] > 1e8
        del made
        print("computed")
    except MemoryError:
        print("refused")
"""
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert {*made.stdout.split()} == {"computed", "refused"}


LARGE = np.arange(300)
RESULTS_OUT_OF_RANGE: dict[str, tuple[Callable[[], Any], str]] = {
    "len": (lambda: gs.aggregate(LARGE * 0, LARGE, "len", dtype="u1"), "'len' of group 0 is 300, which uint8"),
    "nunique": (lambda: gs.aggregate(LARGE * 0, LARGE, "nunique", dtype="u1"), "'nunique' of group 0 is 300"),
    "argmax": (lambda: gs.aggregate(LARGE * 0, LARGE, "argmax", dtype="i1"), "'argmax' of group 0 is 299, which int8"),
    "mean of NaN": (lambda: gs.aggregate([1], [np.nan], "mean", dtype="i8"), "'mean' of group 1 is nan, which int64"),
    "var": (lambda: gs.aggregate([0, 0], [0, 100000], "var", dtype="i2"), "'var' of group 0 is 2500000000.0"),
    "sum of floats": (lambda: gs.aggregate([0], [2.0**63], "sum", dtype="i8"), "which int64 does not hold"),
    "sum, below": (lambda: gs.aggregate([0], [-1], "sum", dtype="u8"), "'sum' of group 0 is -1, which uint64"),
    "cumsum": (lambda: gs.aggregate([0, 0], [200, 100], "cumsum", dtype="u1"), "'cumsum' of value 1 is 300"),
    "max": (
        lambda: gs.aggregate([0], np.array([2**64 - 1], "u8"), "max", dtype="i8"),
        "of group 0 is 18446744073709551615",
    ),
    "first": (lambda: gs.aggregate([0, 3], [1, -1], "first", dtype="u8"), "'first' of group 3 is -1"),
    "sort": (lambda: gs.aggregate([0, 0], [1, -1], "sort", dtype="u8"), "'sort' of value 0 is -1"),
    "median": (lambda: gs.aggregate([0], [np.inf], "median", dtype="i4"), "'median' of group 0 is inf"),
    "halves": (lambda: gs.aggregate([0], np.array([6e4], "f2"), "min", dtype="i2"), "'min' of group 0 is 60000.0"),
    "columns": (lambda: gs.aggregate([0, 2], [[1, 2], [3, 400]], "sum", axis=0, dtype="u1"), "'sum' of group 2 is 400"),
    "Python": (lambda: gs.aggregate([0, 1], [1, 2], lambda v: np.nan, dtype="i4"), "'<lambda>' of group 0 is nan"),
}


@pytest.mark.parametrize(("call", "said"), RESULTS_OUT_OF_RANGE.values(), ids=RESULTS_OUT_OF_RANGE)
def test_a_result_that_its_type_does_not_hold_is_an_error(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        call()
    assert "does not hold; leave dtype out, or give one that does" in str(caught.value)


def test_results_at_the_limits_of_their_type() -> None:
    for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        limits = np.iinfo(dtype)
        for value in (limits.min, limits.max):
            made = gs.aggregate([0], np.array([value], "u8" if value > 2**63 else "i8"), "sum", dtype=dtype)
            assert (made.dtype, made.tolist()) == (np.dtype(dtype), [value])
    assert gs.aggregate([0], [-(2.0**63)], "sum", dtype="i8").tolist() == [-(2**63)]
    assert gs.aggregate([0, 0, 1], [2, 3, -0.5], "mean", dtype="i4").tolist() == [2, 0]  # fractions are cut off
    assert gs.aggregate([1], [5.0], "mean", dtype="i4").tolist() == [0, 5]  # an empty group has the fill value
    assert gs.aggregate([0], [1e300], "sum", dtype="f4").tolist() == [np.inf]  # as NumPy does


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["M8[s]", "m8[ns]"])
def test_times_are_sorted_with_missing_ones_last(dtype: str, reverse: bool) -> None:
    limits = np.iinfo(np.int64)
    numbers = np.array([5, limits.min, limits.max, limits.min + 1, -5, limits.min, 0, limits.max - 1] * 3)
    values, labels = numbers.view(dtype), np.arange(24) % 5  # the least integer is NaT
    found = gs.aggregate(labels, values, "sort", reverse=reverse)
    for group in range(5):
        expected = np.sort(values[labels == group])
        real = expected[~np.isnat(expected)]
        expected[: len(real)] = real[::-1] if reverse else real
        np.testing.assert_array_equal(found[labels == group], expected)
    assert values.view(np.int64).tolist() == numbers.tolist()


def test_distinct_records_are_counted() -> None:
    records = np.array([(1, 2.0), (1, 3.0), (1, 2.0), (4, 2.0)], [("a", "i4"), ("b", "f8")])
    assert gs.aggregate([0, 0, 0, 2], records, "nunique").tolist() == [2, 0, 1]
    assert gs.aggregate([0, 0, 0, 2], records.view("V12"), "nunique").tolist() == [2, 0, 1]
