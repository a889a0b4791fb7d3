"""The arrays of a call of `aggregate` in the form of the core: labels in a line, and values in three dimensions."""

from __future__ import annotations

import math
import reprlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.errors import check_size, integer_fault, make_error
from gatherscatter.functions.gather_reduce import resolve_in_range
from gatherscatter.functions.inspect import normalise_axis
from gatherscatter.system.pieces import PIECE, make_contiguous, pieces

LABELS, VALUES = "group_idx", "a"


class LabelLayout(NamedTuple):
    """Labels and values, and how results get the shape that the caller expects.

    Attributes
    ----------
    labels : the group of each member, one-dimensional
    values : shape (outer, members, columns); of shape () for a single number
    groups : the number of groups
    group_shape : the shape of the results of groups
    value_shape : the shape of `a`
    axis : the axis of the groups, if labels differ along other axes too: they were moved to the front
    length : the length of that axis
    order : how groups are numbered that have several dimensions
    """

    labels: np.ndarray
    values: np.ndarray
    groups: int
    group_shape: tuple[int, ...]
    value_shape: tuple[int, ...]
    axis: int | None = None
    length: int = 0
    order: str = "C"

    def shape_groups(self, results: np.ndarray) -> np.ndarray:
        """Results of shape (outer, groups, columns) in the shape of the caller."""
        if self.axis is None:
            return results.reshape(self.group_shape, order="F" if self.order == "F" else "C")
        front = (*self.group_shape[: self.axis], *self.group_shape[self.axis + 1 :])
        return np.moveaxis(results.reshape(*front, self.group_shape[self.axis]), -1, self.axis)

    def shape_values(self, results: np.ndarray) -> np.ndarray:
        """Results of shape (outer, members, columns) in the shape of `a`."""
        if self.axis is None:
            return results.reshape(self.value_shape)
        front = (*self.value_shape[: self.axis], *self.value_shape[self.axis + 1 :])
        return np.moveaxis(results.reshape(*front, self.value_shape[self.axis]), -1, self.axis)

    def number_positions(self, positions: np.ndarray) -> np.ndarray:
        """Positions of members along the axis of the caller. -1 remains."""
        if self.axis is None:
            return positions
        return np.where(positions < 0, positions, positions % max(self.length, 1))

    def as_line(self) -> LabelLayout:
        """The same call with values of shape (1, members, 1)."""
        outer, members, columns = self.values.shape
        rows = outer * columns
        if rows == 1:
            return self
        labels = _number_lines(np.broadcast_to(self.labels, (rows, members)), self.groups)
        values = make_contiguous(self.values.transpose(0, 2, 1)).reshape(1, rows * members, 1)
        return self._replace(labels=labels, values=values, groups=rows * self.groups)

    def from_line(self, results: np.ndarray, *, of_members: bool = False) -> np.ndarray:
        """Results of `as_line` in the shape (outer, groups, columns), or (outer, members, columns)."""
        outer, members, columns = self.values.shape
        return results.reshape(outer, columns, members if of_members else self.groups).transpose(0, 2, 1)


def lay_out(op: str, group_idx: ArrayLike, a: ArrayLike, size: Any, order: str, axis: int | None) -> LabelLayout:
    """Convert and check the arrays of a call. The core checks labels of one dimension, unless they decide the size."""
    labels = convert.as_indices(op, LABELS, group_idx)
    values = convert.native(convert.as_array(op, VALUES, a))
    if labels.ndim == 0:
        raise make_error("labels_rank", op, input=LABELS)
    if order not in ("C", "F"):
        raise make_error("choice", op, raises="ValueError", input="order", choices="'C', 'F'", value=repr(order),
                         suggestion="")  # fmt: skip
    if axis is not None:
        return _lay_out_axis(op, labels, values, size, normalise_axis(op, axis, values.shape))
    shape: tuple[int, ...]
    if labels.ndim == 1:
        shape = (_size_of(op, labels, size, values),)
    else:
        labels, shape = _ravel(op, labels, size, order)
    if values.ndim > 1:
        raise make_error("values_rank", op, shape=values.shape)
    if values.ndim == 1 and len(values) != labels.size:
        raise make_error("labels_shape", op, labels=np.shape(group_idx), shape=values.shape)
    line = make_contiguous(values).reshape(1, len(values), 1) if values.ndim else values
    numbered = order if len(shape) > 1 else "C"
    return LabelLayout(make_contiguous(labels), line, math.prod(shape), shape, (labels.size,), order=numbered)


def _lay_out_axis(op: str, labels: np.ndarray, values: np.ndarray, size: Any, axis: int) -> LabelLayout:
    if size is not None and np.ndim(size):
        raise make_error("axis_size", op, value=size)
    length = values.shape[axis]
    if labels.ndim == 1:
        if len(labels) != length:
            raise make_error("labels_shape", op, labels=labels.shape, shape=values.shape)
        groups = _size_of(op, labels, size, values)
        _check_groups(op, groups, values, length)
        outer, columns = math.prod(values.shape[:axis]), math.prod(values.shape[axis + 1 :])
        return LabelLayout(
            make_contiguous(labels),
            make_contiguous(values).reshape(outer, length, columns),
            groups,
            (*values.shape[:axis], groups, *values.shape[axis + 1 :]),
            values.shape,
        )
    try:
        if labels.ndim != values.ndim:
            raise ValueError
        spread = np.broadcast_to(labels, values.shape)
    except ValueError:
        raise make_error("labels_shape", op, labels=labels.shape, shape=values.shape) from None
    groups = _size_of(op, labels, size, values)
    _check_groups(op, groups, values, length)
    numbers = resolve_in_range(op, LABELS, labels, groups, "groups").reshape(labels.shape)
    rows = math.prod(values.shape[:axis] + values.shape[axis + 1 :])
    spread = make_contiguous(np.moveaxis(np.broadcast_to(numbers, values.shape), axis, -1)).reshape(rows, length)
    line = make_contiguous(np.moveaxis(values, axis, -1)).reshape(1, values.size, 1)
    shape = (*values.shape[:axis], groups, *values.shape[axis + 1 :])
    return LabelLayout(_number_lines(spread, groups), line, rows * groups, shape, values.shape, axis, length)


def _number_lines(labels: np.ndarray, groups: int) -> np.ndarray:
    """Number the groups of several lines of labels, one line after the other."""
    rows, length = labels.shape
    numbers = np.empty((rows, length), np.int64)
    for part in pieces(rows, max(PIECE // max(length, 1), 1)):
        for inner in pieces(length):
            first = np.arange(part.start, part.stop)[:, np.newaxis] * groups
            np.add(labels[part, inner], first, out=numbers[part, inner], casting="unsafe")
    return numbers.reshape(-1)


def _check_groups(op: str, groups: int, values: np.ndarray, length: int) -> None:
    """Refuse groups of all lines along the axis that do not fit in memory."""
    lines = values.size // max(length, 1)
    if groups * lines > _MOST_GROUPS:
        raise make_error("many_groups", op, value=f"{groups} x {lines}")


def _size_of(op: str, labels: np.ndarray, size: Any, values: np.ndarray) -> int:
    """The number of groups: ``size``, or one more than the largest label."""
    if size is None:
        if labels.size == 0:
            return 0
        high = _core.find_greatest_label(make_contiguous(labels).reshape(-1))
        if high < 0 or high == 2**63 - 1:
            greatest = int(labels.max())
            if greatest >= _MOST_GROUPS:
                raise make_error("many_groups", op, value=greatest + 1)
            resolve_in_range(op, LABELS, labels, greatest + 1 if greatest >= 0 else 0, "groups")
        check_size(
            op, (high + 1,), np.dtype(np.int64), LABELS, labels, "size", input_bytes=labels.nbytes + values.nbytes
        )
        return int(high) + 1
    return read_size(op, size)


# More groups do not fit in memory.
_MOST_GROUPS = 2**56


def read_size(op: str, size: Any) -> int:
    if isinstance(size, bool) or not isinstance(size, int | np.integer):
        integer_fault(op, "size", size)
    if size < 0:
        raise make_error("group_size", op, value=size)
    if size > _MOST_GROUPS:
        raise make_error("many_groups", op, value=reprlib.repr(size))
    return int(size)


def _ravel(op: str, labels: np.ndarray, size: Any, order: str) -> tuple[np.ndarray, tuple[int, ...]]:
    """Labels of shape (k, members), which number the elements of a result with k dimensions, as numbers of groups."""
    labels = labels.reshape(len(labels), math.prod(labels.shape[1:]))
    if size is None:
        shape = tuple(_size_of(op, line, None, line) for line in labels)
    elif np.ndim(size) != 1 or len(size) != len(labels):
        raise make_error("axis_sizes", op, value=size, count=len(labels))
    else:
        shape = tuple(read_size(op, each) for each in size)
    if math.prod(shape) > _MOST_GROUPS:
        raise make_error("many_groups", op, value=" x ".join(map(str, shape)))
    tuples = labels if order == "C" else labels[::-1]
    sizes = shape if order == "C" else shape[::-1]
    numbers = _core.resolve_indices(make_contiguous(tuples.T), sizes, "raise", "error")
    if numbers is None:
        for line, each in zip(labels, shape, strict=True):
            resolve_in_range(op, LABELS, line, each, "groups")
        raise make_error("changed_indices", op)
    return numbers, shape
