"""`inspect` counts what is in an index tensor."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs


def test_tuples() -> None:
    report = gs.inspect([[0, 1], [3, -1], [0, 1], [3, 4], [2, 9]], (4, 5))
    assert (report.axes, report.sizes, report.count) == ((0, 1), (4, 5), 5)
    assert (report.minimum, report.maximum) == ((0, -1), (3, 9))
    assert (report.negative, report.out_of_range) == (1, 1)
    assert report.duplicates == 2  # [0, 1] again, and [3, -1] is [3, 4]
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
def test_places_beyond_64_bits(shape: tuple[int, int]) -> None:
    """Places are compared where their row numbers would overflow, too."""
    last = shape[1] - 1
    report = gs.inspect([[0, last], [1, 0], [1, last], [1, -1], [-1, 0], [-1, 0], [shape[0], 0]], shape)
    assert (report.duplicates, report.is_sorted, report.out_of_range) == (2, True, 1)
    assert not gs.inspect([[1, 0], [0, last]], shape).is_sorted
