"""What an index tensor is like, found out without running anything."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import hints
from gatherscatter.arrays import convert
from gatherscatter.errors import OpTypeError, OpValueError, integer_fault


@dataclass(frozen=True)
class IndexReport:
    """Facts about index tuples; `inspect` makes it.

    Attributes
    ----------
    axes, sizes : the axes that the columns of the tuples index, and their sizes
    count : how many tuples there are
    minimum, maximum : the range of each column; empty when there are no tuples
    negative : how many values are below zero
    out_of_range : how many values are outside [-size, size-1]
    duplicates : how many tuples name a place that an earlier one has named (-1 and size-1 are one place)
    is_sorted : whether the places named are in ascending order
    hint : what out-of-range values probably mean; empty when nothing is certain
    """

    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    count: int
    minimum: tuple[int, ...]
    maximum: tuple[int, ...]
    negative: int
    out_of_range: int
    duplicates: int
    is_sorted: bool
    hint: str

    def __str__(self) -> str:
        ranges = [
            f"  axis {axis} of size {size}: {low}..{high}"
            for axis, size, low, high in zip(self.axes, self.sizes, self.minimum, self.maximum, strict=False)
        ]
        lines = [
            f"{self.count} index tuples of {len(self.axes)}",
            *ranges,
            f"  out of range: {self.out_of_range}" + (f" ({self.hint})" if self.hint else ""),
            f"  negative: {self.negative}",
            f"  duplicates: {self.duplicates}",
            f"  sorted: {'yes' if self.is_sorted else 'no'}",
        ]
        return "\n".join(lines)


def inspect(indices: ArrayLike, shape: int | Sequence[int], *, axis: int | None = None) -> IndexReport:
    """Report range, negatives, duplicates and sortedness of indices into an array of a shape, without running anything.

    Parameters
    ----------
    indices : array of integers
        Index tuples, shape (..., k), as `gather_nd` and `scatter_nd` take them; or, with ``axis``, single indices into
        that axis, of any shape.
    shape : int or sequence of int
        The shape of data. A single int stands for one axis of that size.
    axis : int, optional
        The axis that single indices are for.

    Raises
    ------
    TypeError
        Indices that are no integers.
    ValueError
        Tuples longer than the shape, or an axis that it does not have.

    >>> import gatherscatter as gs
    >>> print(gs.inspect([[3], [1], [12], [3]], (8,)))
    4 index tuples of 1
      axis 0 of size 8: 1..12
      out of range: 1
      negative: 0
      duplicates: 1
      sorted: no
    """
    array = convert.as_indices("inspect", "indices", indices)
    sizes = sizes_of("inspect", shape)
    if axis is None and not isinstance(shape, int | np.integer):
        axes, columns = _tuple_axes(array, sizes), array
    else:
        axes, columns = (normalise_axis("inspect", axis or 0, sizes),), array.reshape(-1, 1)
    own_sizes = tuple(sizes[a] for a in axes)
    tuples = columns.reshape(math.prod(columns.shape[:-1]), len(axes))
    numbers = convert.number_places(tuples, own_sizes)
    assert numbers is not None
    places, out_of_range = numbers[numbers >= 0], 0
    if len(places) < len(numbers):
        out_of_range = sum(int(np.count_nonzero(column < 0)) for column in convert.resolve_columns(tuples, own_sizes))
    return IndexReport(
        axes=axes,
        sizes=own_sizes,
        count=len(tuples),
        minimum=tuple(int(n) for n in tuples.min(axis=0)) if len(tuples) else (),
        maximum=tuple(int(n) for n in tuples.max(axis=0)) if len(tuples) else (),
        negative=int(np.count_nonzero(tuples < 0)),
        out_of_range=out_of_range,
        duplicates=len(places) - len(np.unique(places)),
        is_sorted=bool(np.all(places[1:] >= places[:-1])),
        hint=hints.find_hint(tuples, axes[0], sizes, negative=True) if out_of_range else "",
    )


def sizes_of(op: str, shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape, or one size, as a tuple; messages are in the name of ``op``."""
    try:
        sizes = tuple(operator.index(n) for n in ((shape,) if isinstance(shape, int | np.integer) else shape))
    except TypeError:
        raise OpTypeError(f"{op}: shape must be integers, not {shape!r}", op=op, input="shape") from None
    if any(n < 0 for n in sizes):
        raise OpValueError(f"{op}: shape {sizes} has a negative size", op=op, input="shape")
    return sizes


def _tuple_axes(indices: np.ndarray, shape: tuple[int, ...]) -> tuple[int, ...]:
    if indices.ndim == 0 or indices.shape[-1] > len(shape):
        text = (
            f"inspect: indices of shape {indices.shape} hold no tuples into shape {shape}; "
            "give axis= if they are single indices along one axis"
        )
        raise OpValueError(text, op="inspect", input="indices")
    return tuple(range(indices.shape[-1]))


def normalise_axis(op: str, axis: int, shape: tuple[int, ...]) -> int:
    """An axis counted from the front; messages are in the name of ``op``."""
    if not isinstance(axis, int | np.integer):
        integer_fault(op, "axis", axis)
    if not -len(shape) <= axis < len(shape):
        raise OpValueError(f"{op}: axis {axis} is out of range for shape {shape}", op=op, input="axis")
    return int(axis) % len(shape)
