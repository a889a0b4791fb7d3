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


def position(value: int, size: int, mode: str, negative: bool) -> int | None:
    """Resolve one index literally. Return None if it is bad."""
    if size and mode == "wrap":
        return value % size
    if size and mode == "clip":
        return min(max(value, 0), size - 1)
    if mode in ("raise", "skip") and negative and -size <= value < 0:
        return value + size
    return value if 0 <= value < size else None


def row(values: list[int], dims: tuple[int, ...], mode: str, negative: bool) -> int | None:
    positions = [position(value, size, mode, negative) for value, size in zip(values, dims, strict=True)]
    if None in positions:
        return None
    elements = list(itertools.product(*map(range, dims)))
    return elements.index(tuple(n for n in positions if n is not None))


@given(data=st.data())
def test_tuples_name_rows(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(INTEGERS))
    dims = tuple(data.draw(st.lists(st.integers(0, 4), max_size=4)))
    mode, negative = data.draw(st.sampled_from(MODES)), data.draw(st.booleans())
    limits = np.iinfo(dtype)
    value = st.integers(max(limits.min, -6), 6) | st.sampled_from([int(limits.min), int(limits.max)])
    tuples = data.draw(st.lists(st.lists(value, min_size=len(dims), max_size=len(dims)), max_size=6))
    given_tuples = np.array(tuples, dtype).reshape(len(tuples), len(dims))
    expected = [row(each, dims, mode, negative) for each in tuples]
    found = _core.resolve_indices(given_tuples, dims, mode, negative)
    if mode != "skip" and None in expected:
        assert found is None
    else:
        assert found is not None
        assert found.dtype == np.int64
        assert found.tolist() == [-1 if n is None else n for n in expected]


@pytest.mark.parametrize("threads", [1, 2])
def test_many_indices(threads: int) -> None:
    values = np.random.default_rng(0).integers(-3000, 3000, (400_000, 1))
    expected = np.where((values >= -1000) & (values < 1000), values % 1000, -1)[:, 0]
    before = _core.num_threads()
    _core.set_num_threads(threads)
    try:
        np.testing.assert_array_equal(_core.resolve_indices(values, (1000,), "skip", True), expected)
        np.testing.assert_array_equal(_core.resolve_indices(values[::-2], (1000,), "skip", True), expected[::-2])
    finally:
        _core.set_num_threads(before)


@pytest.mark.parametrize(
    ("tuples", "dims", "mode", "negative"),
    [
        (np.zeros((2, 1)), (3,), "raise", True),
        (np.zeros((2, 1), int), (3, 3), "raise", True),
        (np.zeros((2, 1), int), (-3,), "raise", True),
        (np.zeros((2, 1), int), [3], "raise", True),
        (np.zeros((2, 1), int), (3,), "fill", True),
        (np.zeros((2, 1), int), (3,), "raise", 1),
        (np.zeros((), int), (), "raise", True),
    ],
)
def test_what_it_does_not_take(tuples: np.ndarray, dims: tuple[int, ...], mode: str, negative: bool) -> None:
    with pytest.raises(TypeError):
        _core.resolve_indices(tuples, dims, mode, negative)
