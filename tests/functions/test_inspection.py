"""`inspect` counts the properties of an index tensor."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs


def test_tuples() -> None:
    report = gs.inspect([[0, 1], [3, -1], [0, 1], [3, 4], [2, 9]], (4, 5))
    assert (report.axes, report.sizes, report.count) == ((0, 1), (4, 5), 5)
    assert (report.minimum, report.maximum) == ((0, -1), (3, 9))
    assert (report.negative, report.out_of_range) == (1, 1)
    assert report.duplicates == 2  # [0, 1] is repeated, and [3, -1] is [3, 4]
    assert not report.is_sorted


def test_single_indices_along_an_axis() -> None:
    report = gs.inspect(np.array([[0, 1], [1, 4]]), (3, 5), axis=-1)
    assert (report.axes, report.count, report.duplicates, report.is_sorted) == ((1,), 4, 1, True)


def test_an_int_is_the_size_of_one_axis() -> None:
    assert gs.inspect([1, 2, 8], 8).out_of_range == 1
    assert gs.inspect([1, 2, 8], 8).hint == "all values lie in 1..8: if they count from one, subtract 1"


def test_no_indices() -> None:
    report = gs.inspect(np.zeros((0, 2), np.int32), (4, 5))
    assert (report.count, report.minimum, report.out_of_range, report.is_sorted) == (0, (), 0, True)
    assert "0 index tuples" in str(report)


def test_unsigned_values_beyond_int64() -> None:
    report = gs.inspect(np.array([[2**64 - 1]], np.uint64), (4,))
    assert report.out_of_range == 1
    assert "is -1 stored as uint64" in report.hint


@pytest.mark.parametrize(
    ("indices", "shape", "axis", "error"),
    [
        ([[0, 1, 2]], (4, 5), None, ValueError),
        (3, (4, 5), None, ValueError),
        ([0], (4, 5), 2, ValueError),
        ([0.5], 4, None, TypeError),
    ],
)
def test_bad_calls(indices: object, shape: object, axis: int | None, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^inspect: "):
        gs.inspect(indices, shape, axis=axis)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(2**40, 2**40), (2**20, 2**20)])
def test_elements_beyond_64_bits(shape: tuple[int, int]) -> None:
    """Elements are compared correctly even if their row numbers would overflow."""
    last = shape[1] - 1
    report = gs.inspect([[0, last], [1, 0], [1, last], [1, -1], [-1, 0], [-1, 0], [shape[0], 0]], shape)
    assert (report.duplicates, report.is_sorted, report.out_of_range) == (2, True, 1)
    assert not gs.inspect([[1, 0], [0, last]], shape).is_sorted


def test_positions_and_values_are_reported() -> None:
    report = gs.inspect([[0, 2], [-1, 3], [8, 1], [7, 3], [0, 2]], (8, 4))
    assert (report.out_of_range_places.positions, report.out_of_range_places.values) == (((2, 0),), (8,))
    assert (report.negative_places.positions, report.negative_places.values) == (((1, 0),), (-1,))
    repeated = report.duplicate_places
    assert (repeated.positions, repeated.values, repeated.first_positions) == (
        ((3,), (4,)),
        ((7, 3), (0, 2)),
        ((1,), (0,)),
    )
    assert "  out of range: 1 at indices[2, 0] = 8\n" in str(report)
    assert "indices[3] = (7, 3) repeats indices[1], indices[4] = (0, 2) repeats indices[0]\n" in str(report)


def test_positions_of_single_indices() -> None:
    report = gs.inspect([[3, 1], [-5, 9]], 8, axis=0)
    assert report.out_of_range_places.positions == ((1, 1),)
    assert (report.duplicate_places.positions, report.duplicate_places.first_positions) == (((1, 0),), ((0, 0),))
    assert report.duplicate_places.values == (-5,)
    column = gs.inspect([[3], [3]], 8, axis=0)  # not tuples of one index
    assert (column.duplicate_places.positions, column.duplicate_places.values) == (((1, 0),), (3,))


def test_ten_positions_are_kept_and_three_printed() -> None:
    report = gs.inspect(np.arange(100, 150)[:, np.newaxis], (8,))
    assert report.out_of_range == 50
    assert report.out_of_range_places.values == tuple(range(100, 110))
    assert "50 at indices[0, 0] = 100, indices[1, 0] = 101, indices[2, 0] = 102, ...\n" in str(report)


def test_values_out_of_range_are_sorted_last() -> None:
    for indices, is_sorted in (
        ([5, 0], False), ([0, 5], True), ([5, 6], True), ([6, 5], False), ([-9, 0], True), ([0, -9], False),
        ([-9, -4, -1, 4], True), ([3, -1, 9], True), ([9, -1], False),
    ):  # fmt: skip
        assert gs.inspect(indices, 4).is_sorted == is_sorted, indices
    assert not gs.inspect(np.array([2**64 - 1, 0], "u8"), 4).is_sorted
    assert gs.inspect(np.array([0, 2**64 - 1], "u8"), 4).is_sorted
    for tuples, is_sorted in (([[0, 9], [1, 0]], True), ([[1, 0], [0, 9]], False), ([[1, 9], [1, 0]], False)):
        assert gs.inspect(tuples, (2, 3)).is_sorted == is_sorted, tuples
