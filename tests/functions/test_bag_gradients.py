"""The parts of gradients of bags, sums of matches and products of pairs of rows, compared with loops in Python."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from gatherscatter import _core
from gatherscatter.errors import OpError, OpIndexError, OpValueError
from gatherscatter.functions.bag_gradients import dot_rows, sum_matches
from tests.support.byte_order import swapped

FLOATS = {name: np.dtype(getattr(ml_dtypes, name, None) or name) for name in (
    "float16", "bfloat16", "float32", "float64")}  # fmt: skip
SHAPES = [(), (1,), (3,), (2, 4), (300,), (0,), (3, 0)]
THREADS = (1, 2, 5)


def draw(shape: tuple[int, ...], dtype: np.dtype, seed: int) -> np.ndarray:
    """Return few different values, among them NaN, infinities and both zeros."""
    values = np.array([0.0, -0.0, 1.0, 1.5, -2.0, np.nan, np.inf, -np.inf])
    return np.random.default_rng(seed).choice(values, shape).astype(dtype)


def pairs(rows: int, bags: int, members: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Return members in any order, with none in the last bag."""
    rng = np.random.default_rng(5)
    return rng.integers(0, rows, members), rng.integers(0, bags - 1, members)


def find_matches(keys: np.ndarray, targets: np.ndarray, rows: np.ndarray, bags: np.ndarray) -> Any:
    """Find, for each element of targets, the rows of keys that have an equal element in its position."""
    for row, bag in zip(rows.tolist(), bags.tolist(), strict=True):
        for position in np.ndindex(keys.shape[1:]):
            key, target = float(keys[(row, *position)]), float(targets[(bag, *position)])
            if key == target or (key != key and target != target):
                yield (bag, *position), (row, *position)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FLOATS)
def test_a_sum_of_matches_is_that_of_a_loop(name: str, shape: tuple[int, ...]) -> None:
    dtype = FLOATS[name]
    keys, targets = draw((7, *shape), dtype, 0), draw((9, *shape), dtype, 1)
    values = np.random.default_rng(2).standard_normal(keys.shape).astype(dtype)
    rows, bags = pairs(7, 9)
    wide = np.float32 if dtype.itemsize == 2 else dtype
    counts, sums = np.zeros(targets.shape, np.int64), np.zeros(targets.shape, wide)
    for position, source in find_matches(keys, targets, rows, bags):
        counts[position] += 1
        sums[position] += values[source].astype(wide)
    for threads, order in itertools.product(THREADS, (np.arange(40), np.argsort(bags, kind="stable"))):
        own = rows[order].astype(np.int32), bags[order]
        found = sum_matches(None, keys, targets, *own, num_threads=threads)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, counts)
        found = sum_matches(values, keys, targets, *own, num_threads=threads)
        assert found.dtype == dtype
        assert found.tobytes() == sums.astype(dtype).tobytes()
    assert counts.any() == (counts.size > 0)


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda a: a[::-1], lambda a: a.astype(swapped("f4"))])
def test_every_layout(layout: Callable[[np.ndarray], np.ndarray]) -> None:
    keys, targets = draw((7, 3), FLOATS["float32"], 0), draw((9, 3), FLOATS["float32"], 1)
    members = pairs(7, 9)
    own = layout(keys), layout(targets)
    plain = [np.ascontiguousarray(each.astype(np.float32)) for each in own]
    np.testing.assert_array_equal(sum_matches(None, *own, *members), sum_matches(None, *plain, *members))
    finite = [np.nan_to_num(each, posinf=3, neginf=4) for each in plain]
    found = dot_rows(*(layout(np.ascontiguousarray(layout(each))) for each in finite), *members)
    expected = [layout(np.ascontiguousarray(layout(each))).astype(np.float64) for each in finite]
    np.testing.assert_array_equal(found, (expected[0][members[0]] * expected[1][members[1]]).sum(1))


@pytest.mark.parametrize("width", [0, 1, 5, 16, 17, 100])
@pytest.mark.parametrize("name", [*FLOATS, "complex64", "complex128"])
def test_products_of_pairs_of_rows(name: str, width: int) -> None:
    """Small whole numbers have exact sums in any order. Other sums must have the order that the core promises."""
    dtype, rng = FLOATS.get(name) or np.dtype(name), np.random.default_rng(3)
    members = pairs(7, 9)
    for scale in (1, np.pi):
        a, b = (np.round(rng.standard_normal((n, width)) * 3) * scale for n in (7, 9))
        if dtype.kind == "c":
            a, b = a * (1 + 2j), b * (3 - 1j)
        a, b = a.astype(dtype), b.astype(dtype)
        found = [dot_rows(a, b, *members, num_threads=threads) for threads in THREADS]
        assert len({each.tobytes() for each in found}) == 1
        assert found[0].dtype == dtype
        wide = np.float32 if dtype.itemsize == 2 else dtype
        expected = np.array([add_in_lanes(a[i].astype(wide), b[j].astype(wide)) for i, j in zip(*members, strict=True)])
        if dtype.kind != "c":  # NumPy multiplies complex numbers in a different order
            assert found[0].tobytes() == expected.astype(wide).astype(dtype).tobytes()
        elif scale == 1:
            np.testing.assert_array_equal(found[0], expected)
        else:
            np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-5)


def add_in_lanes(a: np.ndarray, b: np.ndarray) -> Any:
    """Add sixteen sums of every sixteenth product in pairs."""
    sums = np.zeros(16, a.dtype)
    for column, product in enumerate(a * b):
        sums[column % 16] += product
    while len(sums) > 1:
        sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
    return sums[0]


def test_lists_and_no_members() -> None:
    none = np.zeros(0, int)
    assert sum_matches(None, np.ones((0, 2)), np.ones((3, 2)), none, none).tolist() == [[0, 0]] * 3
    assert sum_matches(np.ones((1, 2)), np.ones((1, 2)), np.ones((0, 2)), none, none).shape == (0, 2)
    assert dot_rows(np.ones((0, 2)), np.ones((3, 2)), none, none).shape == (0,)
    assert dot_rows(np.ones(2), np.ones(3), [0], [1]).tolist() == [1]


KEYS, TARGETS = np.ones((3, 2)), np.ones((2, 2))
WRONG: dict[str, tuple[Callable[..., Any], tuple[Any, ...], type[Exception], str]] = {
    "row": (sum_matches, (None, KEYS, TARGETS, [0, 3], [0, 0]), OpIndexError, r"rows\[1\] = 3 is out of range for axis "
            r"0 of keys with size 3 \(valid: 0..2\)"),
    "negative row": (sum_matches, (None, KEYS, TARGETS, [-1], [0]), OpIndexError, r"rows\[0\] = -1 is out of range"),
    "bag": (sum_matches, (None, KEYS, TARGETS, [0], [2]), OpIndexError, r"bags\[0\] = 2 is out of range"),
    "row of a": (dot_rows, (KEYS, TARGETS, [3], [0]), OpIndexError, r"rows_of_a\[0\] = 3 is out of range"),
    "row of b": (dot_rows, (KEYS, TARGETS, [0], [-1]), OpIndexError, r"rows_of_b\[0\] = -1 is out of range"),
    "members": (dot_rows, (KEYS, TARGETS, [0], [0, 1]), OpValueError, r"rows_of_b has shape \(2,\), but must"),
    "values": (sum_matches, (KEYS[:2], KEYS, TARGETS, [0], [0]), TypeError, "values of the shape of keys"),
    "targets": (sum_matches, (None, KEYS, TARGETS[:, :1], [0], [0]), OpValueError, r"targets has rows of shape \(1,\)"),
    "types": (dot_rows, (KEYS, TARGETS.astype("f4"), [0], [0]), OpValueError, r"b has rows .* float32, but a has"),
    "line": (sum_matches, (None, KEYS, TARGETS, [[0]], [0]), OpValueError, "rows must have one dimension"),
    "integers": (sum_matches, (None, KEYS.astype(int), TARGETS.astype(int), [0], [0]), TypeError, "takes floats"),
    "truths": (dot_rows, (KEYS > 0, TARGETS > 0, [0], [0]), TypeError, "takes floats or complex numbers"),
    "scalar": (sum_matches, (None, np.array(1.0), TARGETS, [], []), OpValueError, "keys must have at least one"),
    "threads": (dot_rows, (KEYS, TARGETS, [0], [0]), OpError, "num_threads must be at least 1"),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_what_is_refused(fault: str) -> None:
    call, arguments, kind, text = WRONG[fault]
    with pytest.raises(kind, match=text):
        call(*arguments, num_threads=0 if fault == "threads" else None)


def test_the_core_reads_no_row_that_is_not_there() -> None:
    """Another thread may change row numbers after they were checked."""
    starts, rows, keys = np.array([0, 1, 2]), np.array([0, 2]), np.ones((3, 40))
    targets = keys[:2]
    assert _core.sum_matches(None, keys, targets, starts, rows, 1).tolist() == [[1] * 40] * 2
    for bad in (3, -1, 2**62, -(2**63)):
        for values in (None, keys):
            assert _core.sum_matches(values, keys, targets, starts, np.array([0, bad]), 2) is None
        for wrong in ([bad, 1, 2], [0, bad, 2], [0, 1, bad]):
            if wrong != [0, 1, 2]:
                assert _core.sum_matches(None, keys, targets, np.array(wrong), rows, 2) is None
        for both in ((rows, np.array([0, bad])), (np.array([bad, 0]), rows)):
            assert _core.dot_rows(keys, keys, *both, 2) is None
