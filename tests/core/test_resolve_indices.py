"""Index values are resolved to positions as the specification says, in every mode and integer type."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatherscatter import _core

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
MODES = ("raise", "wrap", "clip", "skip")
NEGATIVE = ("end", "error", "skip")


class BadIndexError(Exception):
    """An index that the rule refuses."""


def position(value: int, size: int, mode: str, negative: str) -> int | None:
    """Resolve one index literally. Return None if it is skipped."""
    if value < 0 and negative != "end":
        if negative == "error":
            raise BadIndexError
        return None
    if mode in ("wrap", "clip"):
        if size == 0:
            raise BadIndexError
        return value % size if mode == "wrap" else min(max(value, 0), size - 1)
    from_start = value + size if value < 0 else value
    if 0 <= from_start < size:
        return from_start
    if mode == "skip":
        return None
    raise BadIndexError


def row(values: list[int], dims: tuple[int, ...], mode: str, negative: str) -> int:
    """Return the row that a tuple names, or -1. The rule is asked about each of its indices."""
    positions = [position(value, size, mode, negative) for value, size in zip(values, dims, strict=True)]
    if None in positions:
        return -1
    elements = list(itertools.product(*map(range, dims)))
    return elements.index(tuple(n for n in positions if n is not None))


@given(data=st.data())
def test_tuples_name_rows(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(INTEGERS))
    dims = tuple(data.draw(st.lists(st.integers(0, 4), max_size=4)))
    mode, negative = data.draw(st.sampled_from(MODES)), data.draw(st.sampled_from(NEGATIVE))
    limits = np.iinfo(dtype)
    value = st.integers(max(limits.min, -6), 6) | st.sampled_from([int(limits.min), int(limits.max)])
    tuples = data.draw(st.lists(st.lists(value, min_size=len(dims), max_size=len(dims)), max_size=6))
    given_tuples = np.array(tuples, dtype).reshape(len(tuples), len(dims))
    found = _core.resolve_indices(given_tuples, dims, mode, negative)
    try:
        expected = [row(each, dims, mode, negative) for each in tuples]
    except BadIndexError:
        assert found is None
    else:
        assert found is not None
        assert found.dtype == np.int64
        assert found.tolist() == expected


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("columns", [1, 2])
def test_many_indices_of_no_row(mode: str, columns: int) -> None:
    values = np.random.default_rng(0).integers(-1, 1000, (70_000, columns))
    rows = np.ravel_multi_index(tuple(values.T.clip(0)), (1000,) * columns)
    expected = np.where((values < 0).any(axis=1), -1, rows)
    np.testing.assert_array_equal(_core.resolve_indices(values, (1000,) * columns, mode, "skip"), expected)
    assert _core.resolve_indices(values, (1000,) * columns, mode, "error") is None
    positive = values.clip(0)
    np.testing.assert_array_equal(_core.resolve_indices(positive, (1000,) * columns, mode, "error"), rows)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_indices(threads: int) -> None:
    values = np.random.default_rng(0).integers(-3000, 3000, (400_000, 1))
    expected = np.where((values >= -1000) & (values < 1000), values % 1000, -1)[:, 0]
    before = _core.num_threads()
    _core.set_num_threads(threads)
    try:
        np.testing.assert_array_equal(_core.resolve_indices(values, (1000,), "skip", "end"), expected)
        np.testing.assert_array_equal(_core.resolve_indices(values[::-2], (1000,), "skip", "end"), expected[::-2])
    finally:
        _core.set_num_threads(before)


@pytest.mark.parametrize(
    ("tuples", "dims", "mode", "negative"),
    [
        (np.zeros((2, 1)), (3,), "raise", "end"),
        (np.zeros((2, 1), int), (3, 3), "raise", "end"),
        (np.zeros((2, 1), int), (-3,), "raise", "end"),
        (np.zeros((2, 1), int), [3], "raise", "end"),
        (np.zeros((2, 1), int), (3,), "fill", "end"),
        (np.zeros((2, 1), int), (3,), "raise", True),
        (np.zeros((2, 1), int), (3,), "raise", "fill"),
        (np.zeros((), int), (), "raise", "end"),
    ],
)
def test_what_it_does_not_take(tuples: np.ndarray, dims: tuple[int, ...], mode: str, negative: str) -> None:
    with pytest.raises(TypeError):
        _core.resolve_indices(tuples, dims, mode, negative)
