"""Keys of NumPy's indexing, as arguments of gathers and scatters."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gatherscatter.arrays import convert
from gatherscatter.errors import (
    OpIndexError,
    OpKeyTypeError,
    OpKeyValueError,
    OpTypeError,
    OpValueError,
    raise_index_error,
)
from gatherscatter.operation import Kernel

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Selection:
    """Some elements of any array of one shape.

    Attributes
    ----------
    view : the slices, as a key that makes a view
    dims : the dims of the view that the arrays of the key index
    indices : these arrays; several are combined to index tuples
    first : the position of the arrays' dims in ``data[key]``
    shape : the shape of ``data[key]``
    named : each array, with its position in the key and the axis of data that it indexes
    """

    view: tuple[Any, ...]
    dims: tuple[int, ...]
    indices: np.ndarray
    first: int
    shape: Shape
    named: tuple[tuple[int, np.ndarray, int], ...]

    @property
    def takes_one_array(self) -> bool:
        """Whether one array names whole slices along one axis."""
        return len(self.dims) == 1

    @property
    def gather(self) -> Kernel:
        """The gather that reads from the result of `of`. Its counterpart writes there."""
        return Kernel.GATHER if self.takes_one_array else Kernel.GATHER_ND

    @property
    def axis(self) -> int:
        """The axis that the gather indexes."""
        return self.dims[0] if self.takes_one_array else 0

    @property
    def indexed_axes(self) -> tuple[Shape, Shape]:
        """The axes of the view that index tuples index, and where the gather and the scatter need them."""
        dims = () if self.takes_one_array else self.dims
        return dims, tuple(range(len(dims)))

    @property
    def result_axes(self) -> tuple[Shape, Shape]:
        """The axes of ``data[key]`` that the index tuples have, and where the gather and the scatter have them."""
        rank = 0 if self.takes_one_array else self.indices.ndim - 1
        return tuple(range(self.first, self.first + rank)), tuple(range(rank))

    def of(self, array: np.ndarray) -> np.ndarray:
        """A view of an array, as the gather and the scatter need it."""
        part = array[(*self.view, ...)]
        return part if self.takes_one_array else np.moveaxis(part, *self.indexed_axes)

    def as_updates(self, op: str, values: np.ndarray) -> np.ndarray:
        """Broadcast values to the shape of ``data[key]``, and order their axes for the scatter."""
        try:
            whole = values if values.shape == self.shape else np.broadcast_to(values, self.shape)
        except ValueError:
            text = f"{op}: values of shape {values.shape} do not broadcast to {self.shape}, the shape of data[key]"
            raise OpValueError(text, op=op, input="values") from None
        return whole if self.takes_one_array else np.moveaxis(whole, *self.result_axes)

    def as_result(self, gathered: np.ndarray) -> np.ndarray:
        """Order the axes of the gather's result as in ``data[key]``."""
        return gathered if self.takes_one_array else np.moveaxis(gathered, *reversed(self.result_axes))

    def refuse(self, op: str, shape: Shape) -> None:
        """Raise an error if an array has an index that is out of range for data of this shape."""
        for n, array, axis in self.named:
            _check_range(op, n, array, shape[axis], axis)


def select(op: str, data: np.ndarray, key: tuple[Any, ...]) -> Selection:
    """Select the elements of data that a key names, by NumPy's rules. The kernels check the values of arrays later.

    Raises
    ------
    IndexError, TypeError, ValueError
        See `gatherscatter.at`.
    """
    shape = data.shape
    parts = _expand_key(op, shape, [_parse_key_part(op, n, part, len(key) > 1) for n, part in enumerate(key)])
    fancy = any(isinstance(part, np.ndarray) for _, part in parts)
    view: list[Any] = []
    arrays: dict[int, np.ndarray] = {}  # by the dim of the view that they index
    named: list[tuple[int, np.ndarray, int]] = []
    runs = 0  # of adjacent arrays and integers
    axis = dim = 0
    before: Any = None
    for n, part in parts:
        is_array = isinstance(part, np.ndarray) or (fancy and isinstance(part, int))
        if is_array:
            runs += not isinstance(before, np.ndarray | int)
            for array in _arrays_of(op, n, part, shape, axis):
                arrays[dim] = array
                named.append((n, array, axis))
                view.append(slice(None))
                axis, dim = axis + 1, dim + 1
        elif part is not Ellipsis:
            view.append(_check_integer_part(op, n, part, shape, axis) if isinstance(part, int) else part)
            axis += part is not None
            dim += not isinstance(part, int)
        before = part
    if not arrays:  # then the whole view is one slice
        view, arrays, runs = [None, *view], {0: np.zeros((), np.int64)}, 1
    dims, own, indices = _combine_index_arrays(op, arrays)
    first = dims[0] if runs == 1 else 0
    rest = [length for d, length in enumerate(data[(*view, ...)].shape) if d not in dims]
    return Selection(tuple(view), dims, indices, first, (*rest[:first], *own, *rest[first:]), tuple(named))


def _combine_index_arrays(op: str, arrays: dict[int, np.ndarray]) -> tuple[Shape, Shape, np.ndarray]:
    """The dims, the shape to which the arrays broadcast, and the indices that they form."""
    dims = tuple(arrays)
    if len(arrays) == 1:
        array = arrays[dims[0]]
        return dims, array.shape, array
    try:
        together = np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays.values())
        text = f"{op}: the arrays of the key can't be broadcast together: their shapes are {shapes}"
        raise OpKeyValueError(text, op=op, input="key") from None
    return dims, together[0].shape, np.stack(together, axis=-1)


def _parse_key_part(op: str, n: int, part: Any, is_tuple: bool) -> tuple[int, Any]:
    """Convert a part of a key to None, Ellipsis, a slice, an int, or an array of integers or booleans."""
    if part is None or part is Ellipsis:
        return n, part
    if isinstance(part, slice):
        try:
            part.indices(1)
        except (TypeError, ValueError) as error:
            text = f"{op}: key[{n}] is not a valid slice: {error}"
            raise OpKeyTypeError(text, op=op, input=f"key[{n}]") from None
        return n, part
    if not isinstance(part, bool | np.bool):
        try:
            return n, operator.index(part)
        except (TypeError, ValueError):
            pass
    try:
        array = convert.as_array(op, f"key[{n}]" if is_tuple else "key", part)
    except OpTypeError as error:
        raise OpKeyTypeError(*error.args, op=op, input=f"key[{n}]") from None
    except OpValueError as error:
        raise OpKeyValueError(*error.args, op=op, input=f"key[{n}]") from None
    if array.size == 0 and not isinstance(part, np.ndarray) and array.dtype == np.float64:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub" or array.shape == ():
        found = "a single truth value" if array.dtype.kind == "b" else f"of type {array.dtype}"
        text = (
            f"{op}: key[{n}] is {found}; an index is an integer, a slice, ..., None, or an array of integers or masks"
        )
        raise OpKeyTypeError(text, op=op, input=f"key[{n}]")
    return n, convert.native(array)


def _expand_key(op: str, shape: Shape, parts: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Add a slice for each axis that is not named."""
    named = sum(_count_consumed_axes(part) for _, part in parts)
    dots = [n for n, (_, part) in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise OpKeyTypeError(f"{op}: the key has {len(dots)} ellipses; at most one is allowed", op=op, input="key")
    if named > len(shape):
        text = f"{op}: the key names {named} axes, but data has {len(shape)}"
        raise OpKeyValueError(text, op=op, input="key")
    rest = [(-1, slice(None))] * (len(shape) - named)
    start = dots[0] + 1 if dots else len(parts)  # the ellipsis stays, because it separates its neighbours
    return [*parts[:start], *rest, *parts[start:]]


def _count_consumed_axes(part: Any) -> int:
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype.kind == "b" else 1


def _arrays_of(op: str, n: int, part: Any, shape: Shape, axis: int) -> list[np.ndarray]:
    """The integers of a part, for each axis that it indexes."""
    array = np.asarray(_check_integer_part(op, n, part, shape, axis) if isinstance(part, int) else part)
    if array.dtype.kind == "b":
        if array.shape != shape[axis : axis + array.ndim]:
            there = shape[axis : axis + array.ndim]
            text = f"{op}: key[{n}] is a mask of shape {array.shape}, but data has shape {there} at these axes"
            raise OpKeyValueError(text, op=op, input=f"key[{n}]")
        return list(np.nonzero(array))
    if array.dtype == np.uint64:  # it has no common integer type with signed types
        _check_range(op, n, array, shape[axis], axis)
        array = array.astype(np.int64)
    return [array]


def _check_integer_part(op: str, n: int, part: int, shape: Shape, axis: int) -> int:
    size = shape[axis]
    if not -size <= part < size:  # a Python int may exceed every array type
        name, valid = f"key[{n}]", f"valid: {-size}..{size - 1}" if size else "no index is valid"
        text = f"{op}: {name} = {part} is out of range for axis {axis} of data with size {size} ({valid})"
        allowed = (-size, size - 1)
        raise OpIndexError(
            text, op=op, input=name, count=1, positions=((),), values=(part,), axis=axis, allowed=allowed
        )
    return part


def _check_range(op: str, n: int, array: np.ndarray, size: int, axis: int) -> None:
    if array.size == 0 or (-size <= array.min() and array.max() < size):
        return
    bad = np.flatnonzero((array < -size) | (array >= size))
    subject = f"axis {axis} of data with size {size}"
    raise_index_error(op, f"key[{n}]", array, bad, subject=subject, axis=axis, allowed=(-size, size - 1))
