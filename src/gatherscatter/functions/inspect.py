"""Reports about index arrays, made without running a gather or scatter."""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter.arrays import convert
from gatherscatter.errors import OpTypeError, OpValueError, integer_fault, with_call_errors
from gatherscatter.messages import hints

_KEPT = 10
_PRINTED = 3

Position = tuple[int, ...]


@dataclass(frozen=True)
class IndexPlaces:
    """The first ten indices or index tuples with some property.

    Attributes
    ----------
    positions : their positions in the array of indices
    values : the indices or tuples
    first_positions : for duplicates, the position of the first index or tuple that names the same element; else empty
    """

    positions: tuple[Position, ...] = ()
    values: tuple[int | tuple[int, ...], ...] = ()
    first_positions: tuple[Position, ...] = ()

    def __str__(self) -> str:
        shown = [f"{_name(at)} = {value}" for at, value in zip(self.positions, self.values, strict=True)]
        if self.first_positions:
            shown = [f"{text} repeats {_name(at)}" for text, at in zip(shown, self.first_positions, strict=True)]
        more = [", ..."] if len(shown) > _PRINTED else []
        return "".join([", ".join(shown[:_PRINTED]), *more])


@dataclass(frozen=True)
class IndexReport:
    """Facts about index tuples, made by `inspect`.

    Attributes
    ----------
    axes, sizes : the axes that the columns of the tuples index, and their sizes
    count : the number of tuples
    minimum, maximum : the least and greatest value of each column; empty if there are no tuples
    negative : the number of values below zero
    out_of_range : the number of values outside [-size, size-1]
    duplicates : the number of tuples that name the same element as an earlier tuple; -1 and size-1 are the same element
    is_sorted : whether the elements are in ascending order. Values out of range are before or after all elements
    hint : the probable cause of values that are out of range; empty if it is not certain
    out_of_range_places, negative_places : the first ten of these values
    duplicate_elements : the first ten duplicates, each with the first position of its element
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
    out_of_range_places: IndexPlaces = IndexPlaces()
    negative_places: IndexPlaces = IndexPlaces()
    duplicate_places: IndexPlaces = IndexPlaces()

    def __str__(self) -> str:
        ranges = [
            f"  axis {axis} of size {size}: {low}..{high}"
            for axis, size, low, high in zip(self.axes, self.sizes, self.minimum, self.maximum, strict=False)
        ]
        sortedness = "no"
        if self.is_sorted:
            sortedness = "yes, with negative indices counted from the end" if self.negative else "yes"
        lines = [
            f"{self.count} index tuples of {len(self.axes)}",
            *ranges,
            _line("out of range", self.out_of_range, self.out_of_range_places),
            *([f"    {self.hint}"] if self.hint else []),
            _line("negative", self.negative, self.negative_places),
            _line("duplicates", self.duplicates, self.duplicate_places),
            f"  sorted: {sortedness}",
        ]
        return "\n".join(lines)


def _line(name: str, count: int, listed: IndexPlaces) -> str:
    return f"  {name}: {count}" + (f" at {listed}" if count else "")


@with_call_errors
def inspect(indices: ArrayLike, shape: int | Sequence[int], *, axis: int | None = None) -> IndexReport:
    """Report the range, negatives, duplicates and order of indices into an array of a shape.

    Nothing is gathered or scattered.

    Parameters
    ----------
    indices : array of integers
        Index tuples of shape (..., k), as in `gather_nd` and `scatter_nd`. With ``axis``, or if ``shape`` is an int,
        single indices of any shape, as in `gather` and `scatter_update`.
    shape : int or sequence of int
        The shape of data. An int n means the shape (n,).
    axis : int, optional
        The axis of data that single indices index.

    Returns
    -------
    IndexReport
        Indices that are out of range are counted in the report. They do not raise an error.

    Raises
    ------
    TypeError
        The indices are not integers.
    ValueError
        The tuples are longer than ``shape``, or ``axis`` is out of range.

    >>> import gatherscatter as gs
    >>> print(gs.inspect([[3], [1], [12], [3]], (8,)))
    4 index tuples of 1
      axis 0 of size 8: 1..12
      out of range: 1 at indices[2, 0] = 12
      negative: 0
      duplicates: 1 at indices[3] = (3,) repeats indices[0]
      sorted: no
    """
    is_single = axis is not None or isinstance(shape, int | np.integer)
    array = convert.as_indices("inspect", "indices", indices, lists=not is_single)
    sizes = sizes_of("inspect", shape)
    if not is_single:
        axes, columns, slots = _tuple_axes(array, sizes), array, array.shape[:-1]
    else:
        axes, columns, slots = (normalise_axis("inspect", axis or 0, sizes),), array.reshape(-1, 1), array.shape
    own_sizes = tuple(sizes[a] for a in axes)
    tuples = columns.reshape(math.prod(columns.shape[:-1]), len(axes))
    numbers = convert.number_tuples(tuples, own_sizes)
    assert numbers is not None
    elements = numbers[numbers >= 0]
    is_bad = np.zeros(tuples.shape, bool)
    is_sorted = bool(np.all(elements[1:] >= elements[:-1]))
    if len(elements) < len(numbers):
        resolved = np.stack(convert.resolve_columns(tuples, own_sizes), axis=1)
        is_bad = resolved < 0
        is_sorted = _is_ascending(np.where(is_bad, _as_int64(tuples), resolved))
    out_of_range = int(np.count_nonzero(is_bad))
    duplicates = len(elements) - len(np.unique(elements))
    return IndexReport(
        axes=axes,
        sizes=own_sizes,
        count=len(tuples),
        minimum=tuple(int(n) for n in tuples.min(axis=0)) if len(tuples) else (),
        maximum=tuple(int(n) for n in tuples.max(axis=0)) if len(tuples) else (),
        negative=int(np.count_nonzero(tuples < 0)),
        out_of_range=out_of_range,
        duplicates=duplicates,
        out_of_range_places=_list_indices(array, is_bad),
        negative_places=_list_indices(array, tuples < 0),
        duplicate_places=_find_duplicates(array, slots, numbers) if duplicates else IndexPlaces(),
        is_sorted=is_sorted,
        hint=hints.find_hint(tuples, axes[0], sizes, negative=True) if out_of_range else "",
    )


def _as_int64(values: np.ndarray) -> np.ndarray:
    """Integers as int64. Larger ones become the largest."""
    if values.dtype == np.uint64:
        values = np.minimum(values, np.uint64(2**63 - 1))
    return values.astype(np.int64)


def _is_ascending(tuples: np.ndarray) -> bool:
    """Whether tuples are in lexicographic order."""
    is_good = np.ones(max(len(tuples) - 1, 0), bool)
    for column in reversed(tuples.T):
        is_good = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & is_good)
    return bool(is_good.all())


def _list_indices(array: np.ndarray, is_one: np.ndarray) -> IndexPlaces:
    """The first indices that a mask selects."""
    found = np.flatnonzero(is_one)[:_KEPT]
    positions = tuple(_position(n, array.shape) for n in found)
    return IndexPlaces(positions, tuple(int(array[at]) for at in positions))


def _find_duplicates(array: np.ndarray, shape: tuple[int, ...], numbers: np.ndarray) -> IndexPlaces:
    """The first tuples or single indices that repeat an element.

    ``shape`` is the shape of the tuples or indices. ``numbers`` are the elements that they name.
    """
    _, first, group = np.unique(numbers, return_index=True, return_inverse=True)
    earlier = first[group.reshape(-1)]
    repeats = np.flatnonzero((earlier != np.arange(len(numbers))) & (numbers >= 0))[:_KEPT]
    positions = tuple(_position(n, shape) for n in repeats)
    values = tuple(tuple(array[at].tolist()) if array[at].ndim else int(array[at]) for at in positions)
    return IndexPlaces(positions, values, tuple(_position(earlier[n], shape) for n in repeats))


def _position(flat: Any, shape: tuple[int, ...]) -> Position:
    return tuple(int(n) for n in np.unravel_index(flat, shape))


def _name(position: Position) -> str:
    return f"indices[{', '.join(map(str, position))}]" if position else "indices"


def sizes_of(op: str, shape: int | Sequence[int]) -> tuple[int, ...]:
    """Convert a shape, or one size, to a tuple. Messages name ``op``."""
    try:
        sizes = tuple(operator.index(n) for n in ((shape,) if isinstance(shape, int | np.integer) else shape))
    except TypeError:
        given = "an array; use its .shape" if getattr(shape, "ndim", 0) else reprlib.repr(shape)
        raise OpTypeError(f"{op}: shape must be integers, not {given}", op=op, input="shape") from None
    if any(n < 0 for n in sizes):
        raise OpValueError(f"{op}: shape {sizes} has a negative size", op=op, input="shape")
    return sizes


def _tuple_axes(indices: np.ndarray, shape: tuple[int, ...]) -> tuple[int, ...]:
    if indices.ndim == 0 or indices.shape[-1] > len(shape):
        text = (
            f"inspect: indices of shape {indices.shape} are not index tuples for shape {shape}; "
            "for single indices along one axis, pass axis="
        )
        raise OpValueError(text, op="inspect", input="indices")
    return tuple(range(indices.shape[-1]))


def normalise_axis(op: str, axis: int, shape: tuple[int, ...]) -> int:
    """Return an axis counted from the front. Messages name ``op``."""
    if not isinstance(axis, int | np.integer):
        integer_fault(op, "axis", axis)
    if not -len(shape) <= axis < len(shape):
        text = f"{op}: axis {axis} is out of range for shape {shape} (valid: {-len(shape)}..{len(shape) - 1})"
        raise OpValueError(text, op=op, input="axis")
    return int(axis) % len(shape)
