"""Long work on arrays in short pieces: Python handles signals, such as Ctrl-C, between two calls of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


def take_elements(line: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """``line[positions]``, for positions in range."""
    if _moves(line.dtype):
        return _core.gather(line, positions)
    taken = np.empty(len(positions), line.dtype)
    for part in pieces(len(positions)):
        taken[part] = line[positions[part]]
    return taken


def put_elements(line: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return an array with ``line[i]`` at ``positions[i]``, for positions that are a permutation."""
    result = np.empty(len(line), line.dtype)
    if _moves(line.dtype):
        return _core.scatter_update(result, positions, line, out=result)
    for part in pieces(len(positions)):
        result[positions[part]] = line[part]
    return result


def _moves(dtype: np.dtype[Any]) -> bool:
    """Whether the core moves elements of a type. Those with references to objects it does not."""
    return not dtype.hasobject and dtype.kind != "T"


def select(mask: np.ndarray, line: np.ndarray) -> np.ndarray:
    """``line[mask]``."""
    return concatenate_lines([line[part][mask[part]] for part in pieces(len(line))], line.dtype)


def member_pieces(shape: tuple[int, ...]) -> Iterator[slice]:
    """Slices of the second of three dimensions."""
    return pieces(shape[1], max(PIECE // max(shape[0] * shape[2], 1), 1))


def compute_members(shape: tuple[int, ...], compute: Callable[[slice], Any]) -> np.ndarray:
    """Return an array of float64 with what ``compute`` returns for slices of the second dimension."""
    made = np.empty(shape)
    for part in member_pieces(shape):
        made[:, part] = compute(part)
    return made


def count_before(flags: np.ndarray) -> np.ndarray:
    """Return how many flags are set before each position, and at the end how many there are."""
    counts = np.zeros(len(flags) + 1, np.int64)
    for part in pieces(len(flags)):
        np.cumsum(flags[part], out=counts[part.start + 1 : part.stop + 1])
        counts[part.start + 1 : part.stop + 1] += counts[part.start]
    return counts


def extremes(array: np.ndarray) -> tuple[Any, Any]:
    """Return the least and the greatest element of a one-dimensional array that is not empty."""
    ranges = [(array[part].min(), array[part].max()) for part in pieces(len(array))]
    return min(low for low, _ in ranges).item(), max(high for _, high in ranges).item()
