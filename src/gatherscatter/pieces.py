"""Long work on arrays in short pieces: Python handles signals, such as Ctrl-C, between two calls of NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gatherscatter import _core

PIECE = 1 << 18  # elements, on which NumPy works for a few milliseconds


def pieces(n: int, size: int = PIECE) -> Iterator[slice]:
    """Consecutive slices of [0, n)."""
    for begin in range(0, n, size):
        yield slice(begin, min(begin + size, n))


def convert_dtype(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """``array.astype(dtype)`` in C order."""
    return _core.copied(array, dtype)


def make_contiguous(array: np.ndarray) -> np.ndarray:
    """Return the array if it is aligned and in C order, else a copy that is."""
    return array if array.flags.c_contiguous and array.flags.aligned else _core.copied(array, array.dtype)


def concatenate_lines(lines: list[np.ndarray], dtype: np.dtype[Any]) -> np.ndarray:
    """Concatenate one-dimensional arrays."""
    result, begin = np.empty(sum(map(len, lines)), dtype), 0
    for line in lines:
        result[begin : begin + len(line)] = line
        begin += len(line)
    return result


def extremes(array: np.ndarray) -> tuple[Any, Any]:
    """Return the least and the greatest element of a one-dimensional array that is not empty."""
    ranges = [(array[part].min(), array[part].max()) for part in pieces(len(array))]
    return min(low for low, _ in ranges).item(), max(high for _, high in ranges).item()
