"""What is probably meant by indices that are out of range; said only when the numbers leave no other reading."""

from __future__ import annotations

import itertools

import numpy as np

from gatherscatter.pieces import extremes
from gatherscatter.sentences import format_sentence

Ranges = list[tuple[int, int]]


def find_hint(columns: np.ndarray, axes: tuple[int, ...], shape: tuple[int, ...], negative: bool) -> str:
    """A hint for index tuples ``columns[..., j]`` into ``axes[j]`` of ``shape``; empty when nothing is certain."""
    flat = columns.reshape(-1, columns.shape[-1])
    ranges = [extremes(flat[:, j]) for j in range(flat.shape[1])]
    sizes = [shape[axis] for axis in axes]
    return (
        _refused_negatives(ranges, sizes, negative)
        or _counted_from_one(ranges, sizes)
        or _detect_integer_overflow(ranges, sizes, columns.dtype)
        or _detect_swapped_columns(ranges, sizes)
        or _wrong_axis(ranges, axes, shape)
    )


def _join_sizes(sizes: list[int]) -> str:
    return ", ".join(map(str, sizes)) if len(set(sizes)) > 1 else str(sizes[0])


def _refused_negatives(ranges: Ranges, sizes: list[int], negative: bool) -> str:
    """-1 where this version does not count from the end."""
    fits = all(-size <= low and high < size for (low, high), size in zip(ranges, sizes, strict=True))
    if not negative and fits and any(low < 0 for low, _ in ranges):
        return format_sentence("hints", "refused_negatives", sizes=_join_sizes(sizes))
    return ""


def _counted_from_one(ranges: Ranges, sizes: list[int]) -> str:
    """All values in 1..size, and the size itself among them."""
    if all(low >= 1 and high <= size for (low, high), size in zip(ranges, sizes, strict=True)):
        return format_sentence("hints", "counted_from_one", sizes=_join_sizes(sizes))
    return ""


def _detect_integer_overflow(ranges: Ranges, sizes: list[int], dtype: np.dtype[np.integer]) -> str:
    """A negative number stored without a sign, or a number shifted by 2^32."""
    bits = 8 * dtype.itemsize
    for (_, high), size in zip(ranges, sizes, strict=True):
        # A narrow type has too few values for one of them to tell, but for the commonest negative number.
        if dtype.kind == "u" and (-size <= high - 2**bits < 0 if bits >= 32 else high == 2**bits - 1):
            return format_sentence("hints", "unsigned", value=high, meant=high - 2**bits, type=dtype)
        if size <= 2**31 and -size <= high - 2**32 < size:
            return format_sentence("hints", "overflow", value=high, rest=f"{high - 2**32:+d}")
    return ""


def _detect_swapped_columns(ranges: Ranges, sizes: list[int]) -> str:
    """Tuples that are in range when two of their columns change places."""
    for i, j in itertools.combinations(range(len(sizes)), 2):
        swapped = list(sizes)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        if all(-size <= low and high < size for (low, high), size in zip(ranges, swapped, strict=True)):
            return format_sentence("hints", "swapped_columns", i=i, j=j)
    return ""


def _wrong_axis(ranges: Ranges, axes: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Values along one axis that reach exactly to the end of exactly one other."""
    if len(axes) != 1:
        return ""
    low, high = ranges[0]
    exact = [axis for axis, size in enumerate(shape) if axis != axes[0] and low >= 0 and high == size - 1]
    return format_sentence("hints", "wrong_axis", axis=exact[0]) if len(exact) == 1 else ""
