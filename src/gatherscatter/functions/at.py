"""`at`: gathers and scatters in NumPy's indexing notation."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Never, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.adapters import dispatch
from gatherscatter.arrays.kinds import check_kind
from gatherscatter.errors import OpError, OpIndexError, OpTypeError, check_effects, hide_others, refuse_arguments
from gatherscatter.functions.index_keys import Selection, select
from gatherscatter.messages.suggestions import suggest_choice
from gatherscatter.operation import Kernel, Operation
from gatherscatter.system.pieces import convert_dtype


@hide_others
def at(data: Any, *others: Never, **unknown: Never) -> At:
    """Index an array as NumPy does, then read, write or combine: ``at(x)[i, j].add(v)``.

    The key selects the same elements as ``x[key]`` in NumPy. It may mix integers, integer and boolean arrays, slices,
    ``...`` and ``None``. The result has its axes in the same order as in NumPy. Reads and writes
    follow the rules of this package:

    - Repeated elements combine every update, in row-major order. `set` keeps the last one.
    - A bad index raises an error before anything is written.
    - ``data`` does not change unless it is given as ``out=``.

    Parameters
    ----------
    data : array of any element type, from NumPy, PyTorch, JAX, or any object with ``__dlpack__``

    Returns
    -------
    At
        ``at(data)[key]`` has the methods ``get()``, ``set(values)``, ``add(values)``, ``sub``, ``mul``, ``min``,
        ``max`` and ``mean``. ``values`` are broadcast to the shape of ``data[key]``.

    Raises
    ------
    IndexError
        An index is out of range, or the key is not valid: it names too many axes, has a mask of another shape, or has a
        part that is not an index. Errors about the key are also a ValueError or a TypeError.
    TypeError, ValueError
        ``values`` do not broadcast to the shape of ``data[key]``, or data can't hold them.

    Source: NumPy's user guide, "Indexing on ndarrays"; `gatherscatter.scatter_nd`.

    >>> import numpy as np, gatherscatter as gs
    >>> x = np.zeros((3, 4), int)
    >>> gs.at(x)[[0, 2, 0], 1:3].add([[1], [10], [100]])
    array([[  0, 101, 101,   0],
           [  0,   0,   0,   0],
           [  0,  10,  10,   0]])
    >>> gs.at(x)[..., -1].set(7, out=x)[:, -1]
    array([7, 7, 7])
    >>> gs.at([10.0, 20.0, 30.0])[[2, 0]].get()
    array([30., 10.])
    """
    if others or unknown:
        refuse_arguments(at, "at", others, unknown)
    return At(data)


class At:
    """An array without a key yet. Use `at` to make one."""

    __slots__ = ("_data",)
    __iter__ = __contains__ = None  # Python would call __getitem__ without end

    def __init__(self, data: Any) -> None:
        self._data = data

    def __getitem__(self, key: Any) -> Place:
        return Place(self._data, key if isinstance(key, tuple) else (key,))

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        text = "at: assignment is not supported; use at(data)[key].set(values), with out=data to change data in place"
        raise OpTypeError(text, op="at")

    def __getattr__(self, name: str) -> NoReturn:
        text = (
            f"at: pass a key first: at(data)[key].{name}(...)"
            if name in _METHODS
            else _explain_method("at(data)", name)
        )
        raise AttributeError(text, name=name)

    def __repr__(self) -> str:
        return f"at({_describe(self._data)})"


def _refuse_in_place(operator: str, method: str) -> Callable[[Any, Any], NoReturn]:
    def refuse(self: Place, values: Any) -> NoReturn:
        text = f"at: {operator} is not supported; use at(data)[key].{method}(values, out=data)"
        raise OpTypeError(text, op="at")

    return refuse


class Place:
    """Some elements of an array. Every method returns ``out``, or a new array of the same library as data."""

    __slots__ = ("_data", "_key")

    def __init__(self, data: Any, key: tuple[Any, ...]) -> None:
        self._data, self._key = data, key

    def __repr__(self) -> str:
        return f"at({_describe(self._data)})[{', '.join(map(_describe, self._key))}]"

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(_explain_method("at(data)[key]", name), name=name)

    __iadd__ = _refuse_in_place("+=", "add")
    __isub__ = _refuse_in_place("-=", "sub")
    __imul__ = _refuse_in_place("*=", "mul")

    @hide_others
    def get(self, *others: Never, out: Any = None, num_threads: int | None = None, **unknown: Never) -> Any:
        """Return ``data[key]``, always as a copy.

        >>> import gatherscatter as gs
        >>> gs.at([[1, 2], [3, 4]])[:, [1, 1, 0]].get()
        array([[2, 2, 1],
               [4, 4, 3]])
        """
        if others or unknown:
            refuse_arguments(Place.get, "at.get", others, unknown)
        data, key = self._data, self._key
        if out is None and num_threads is None:
            made: Any = NotImplemented
            if len(key) == 1 and type(key[0]) is _ndarray and key[0].ndim:  # the most common key
                made = _READ[False](data, key[0])
            if made is NotImplemented and (common := _read_common_key(data, key)):
                takes_tuples, indices, axis = common
                made = _READ[takes_tuples](data, indices, axis)
            if made is not NotImplemented:
                return made
        arrays = self._name_arrays(out=out)
        return dispatch("at", "at.get", arrays, {"num_threads": num_threads}, partial(_read, "at.get"))

    @hide_others
    def set(
        self, values: ArrayLike, *others: Never, out: Any = None, num_threads: int | None = None, **unknown: Never
    ) -> Any:
        """Write ``values`` to these elements. Of several values for one element, the last remains.

        >>> import gatherscatter as gs
        >>> gs.at([0, 0, 0])[[1, 1]].set([5, 6])
        array([0, 6, 0])
        """
        if others or unknown:
            refuse_arguments(Place.set, "at.set", others, unknown)
        return self._scatter("set", values, out, True, "step", num_threads)

    @hide_others
    def add(
        self,
        values: ArrayLike,
        *others: Never,
        include_self: bool = True,
        accumulate: str = "step",
        out: Any = None,
        num_threads: int | None = None,
        **unknown: Never,
    ) -> Any:
        """Add ``values``. For ``include_self`` and ``accumulate``, see `gatherscatter.scatter_nd`.

        >>> import gatherscatter as gs
        >>> gs.at([0, 0, 0])[[1, 1]].add([5, 6])
        array([ 0, 11,  0])
        """
        if others or unknown:
            refuse_arguments(Place.add, "at.add", others, unknown)
        return self._scatter("add", values, out, include_self, accumulate, num_threads)

    @hide_others
    def sub(
        self,
        values: ArrayLike,
        *others: Never,
        accumulate: str = "step",
        out: Any = None,
        num_threads: int | None = None,
        **unknown: Never,
    ) -> Any:
        """Subtract ``values``.

        >>> import gatherscatter as gs
        >>> gs.at([9, 9])[0].sub(4)
        array([5, 9])
        """
        if others or unknown:
            refuse_arguments(Place.sub, "at.sub", others, unknown)
        return self._scatter("sub", values, out, True, accumulate, num_threads)

    @hide_others
    def mul(
        self,
        values: ArrayLike,
        *others: Never,
        include_self: bool = True,
        out: Any = None,
        num_threads: int | None = None,
        **unknown: Never,
    ) -> Any:
        """Multiply by ``values``.

        >>> import gatherscatter as gs
        >>> gs.at([1, 2])[[1, 1]].mul([3, 5])
        array([ 1, 30])
        """
        if others or unknown:
            refuse_arguments(Place.mul, "at.mul", others, unknown)
        return self._scatter("mul", values, out, include_self, "step", num_threads)

    @hide_others
    def min(
        self,
        values: ArrayLike,
        *others: Never,
        include_self: bool = True,
        out: Any = None,
        num_threads: int | None = None,
        **unknown: Never,
    ) -> Any:
        """Take the minimum of data and ``values``. NaN is propagated.

        >>> import gatherscatter as gs
        >>> gs.at([5, 5])[[0, 0]].min([7, 3])
        array([3, 5])
        """
        if others or unknown:
            refuse_arguments(Place.min, "at.min", others, unknown)
        return self._scatter("min", values, out, include_self, "step", num_threads)

    @hide_others
    def max(
        self,
        values: ArrayLike,
        *others: Never,
        include_self: bool = True,
        out: Any = None,
        num_threads: int | None = None,
        **unknown: Never,
    ) -> Any:
        """Take the maximum of data and ``values``. NaN is propagated.

        >>> import gatherscatter as gs
        >>> gs.at([5, 5])[[0, 0]].max([7, 3])
        array([7, 5])
        """
        if others or unknown:
            refuse_arguments(Place.max, "at.max", others, unknown)
        return self._scatter("max", values, out, include_self, "step", num_threads)

    @hide_others
    def mean(
        self,
        values: ArrayLike,
        *others: Never,
        include_self: bool = True,
        accumulate: str = "step",
        out: Any = None,
        num_threads: int | None = None,
        **unknown: Never,
    ) -> Any:
        """Take the mean of all ``values`` for an element. It includes the element of data if ``include_self`` is true.

        >>> import gatherscatter as gs
        >>> gs.at([0.0, 8.0])[[1, 1]].mean([1.0, 3.0])
        array([0., 4.])
        """
        if others or unknown:
            refuse_arguments(Place.mean, "at.mean", others, unknown)
        return self._scatter("mean", values, out, include_self, accumulate, num_threads)

    def _name_arrays(self, **others: Any) -> dict[str, Any]:
        """Return all arrays, by the names that messages use."""
        return {"data": self._data, **{f"key[{n}]": part for n, part in enumerate(self._key)}, **others}

    def _scatter(
        self, method: str, values: Any, out: Any, include_self: bool, accumulate: str, num_threads: int | None
    ) -> Any:
        data, key = self._data, self._key
        is_default = out is None and include_self is True and accumulate == "step" and num_threads is None
        if is_default and type(values) is _ndarray and len(key) == 1 and type(key[0]) is _ndarray and key[0].ndim:
            made = _WRITE[method][False](data, key[0], values)
            if made is not NotImplemented:
                return made
        common = _read_common_key(data, key)
        if common and is_default:
            takes_tuples, indices, axis = common
            write = _WRITE[method][takes_tuples]
            made = write(data, indices, values, axis) if type(values) is _ndarray else NotImplemented
            if made is NotImplemented and (updates := _broadcast(values, data, common)) is not None:
                made = write(data, indices, updates, axis)
            if made is not NotImplemented:
                return made
        operation = _make_scatter(method, include_self, accumulate, num_threads)
        check_effects(operation.op, operation.reduction, include_self, accumulate)
        if common and (out is None or (out is data and data.flags.carray)):
            takes_tuples, indices, axis = common
            if (updates := _broadcast(values, data, common)) is not None:
                arrays = {"data": data, "indices": indices, "updates": updates}
                with suppress(OpError, TypeError):  # the general code raises the error in terms of the key
                    return _core.run(operation._replace(kernel=_KERNELS[takes_tuples], axis=axis), arrays, out)
        arrays = self._name_arrays(values=values, out=out)
        return dispatch("at", operation.op, arrays, {"operation": operation}, _write)


def _make_scatter(method: str, include_self: bool, accumulate: str, num_threads: int | None) -> Operation:
    """Return the operation of a method, along axis 0."""
    reduction = "none" if method == "set" else method
    operation = Operation(f"at.{method}", Kernel.SCATTER_UPDATE, reduction=reduction, num_threads=num_threads)
    return operation._replace(include_self=include_self, accumulate=accumulate)


def _read(op: str, *, data: Any, out: Any, num_threads: int | None, **key: Any) -> np.ndarray:
    """Read elements. ``key`` has the parts of the key, in order."""
    array = convert.as_array(op, "data", data)
    chosen = select(op, array, tuple(key.values()))
    operation = Operation(op, chosen.gather, chosen.axis, num_threads=num_threads)
    with _translate_index_errors(chosen, op, array):
        made = convert.execute(operation, chosen.of(array), chosen.indices)
    result = chosen.as_result(made)
    return result if out is None else _copy_result(op, result, out)


def _write(*, data: Any, values: Any, out: Any, operation: Operation, **key: Any) -> Any:
    """Write or combine elements. ``key`` has the parts of the key, in order."""
    op = operation.op
    array = convert.as_array(op, "data", data)
    chosen = select(op, array, tuple(key.values()))
    updates = chosen.as_updates(op, convert.cast(op, "values", values, "data", array))
    operation = operation._replace(kernel=chosen.gather.counterpart, axis=chosen.axis)
    if out is None or not (out is data or convert.is_same_memory(out, array)):
        result = _write_to_copy(operation, chosen, array, updates)
        return result if out is None else _copy_result(op, result, out)
    convert.check_out(op, out, array, None)
    _write_in_place(operation, chosen, out, updates)
    return out


def read_key(arrays: dict[str, Any]) -> tuple[Any, ...]:
    """Return the key of a call from its arrays, in which the parts have the names of `Place._name_arrays`."""
    return tuple(part for name, part in arrays.items() if name.startswith("key["))


_METHODS = ("get", "set", "add", "sub", "mul", "min", "max", "mean")
_KERNELS = (Kernel.SCATTER_UPDATE, Kernel.SCATTER_ND)  # of one array, and of index tuples
_READ = [_core.bind(Operation("at.get", kernel.counterpart), True) for kernel in _KERNELS]
_WRITE = {
    method: [_core.bind(_make_scatter(method, True, "step", None)._replace(kernel=kernel), True) for kernel in _KERNELS]
    for method in _METHODS[1:]
}
"""The calls of the methods with default options, on plain arrays and an axis. Others give NotImplemented."""


def _explain_method(owner: str, name: str) -> str:
    listed = ", ".join(_METHODS)
    return f"{owner} has no method {name!r} (methods: {listed}){suggest_choice(name, _METHODS)}"


def _describe(part: Any) -> str:
    """Describe data, or a part of a key, in a few words. An array is described by its type and shape.

    >>> _describe(np.zeros((4, 3))), _describe(slice(1, None)), _describe([0, 2])
    ('float64[4, 3]', '1:', '[0, 2]')
    """
    shape = getattr(part, "shape", None)
    if shape and hasattr(part, "dtype"):
        return f"{part.dtype}{list(shape)}"
    if isinstance(part, slice):
        ends = ["" if end is None else str(end) for end in (part.start, part.stop, part.step)]
        return ":".join(ends if part.step is not None else ends[:2])
    return "..." if part is ... else reprlib.repr(part)


_CommonKey = tuple[bool, np.ndarray, int]  # whether the indices are index tuples, the indices, and their axis


def _read_common_key(data: Any, key: tuple[Any, ...]) -> _CommonKey | None:
    """Read a common key of a NumPy array. None: `select` reads the key.

    A common key is one of the following:

    - an integer, an array of integers, or one of them after some ``:``
    - a list of integers
    - a mask, or a list of truth values
    - several integers, or several arrays of integers of one dim and one length
    """
    if type(data) is not _ndarray or not key:
        return None
    last = key[-1]
    if type(last) is _ndarray:
        if last.ndim == 0:
            return None
    elif _is_integer(last):
        last = np.asarray(last)
    elif type(last) is list and len(key) == 1:
        try:
            check_kind("at", "key", last)
            last = np.asarray(last)
        except (OpTypeError, ValueError):  # a masked array in the list, or lists of different lengths
            return None
    else:
        return None
    kind = last.dtype.kind
    if len(key) == 1 and kind != "b":
        return (False, last, 0) if kind in "iu" else None
    if kind == "b":
        fits = len(key) == 1 and last.shape == data.shape[: last.ndim]
        return (True, np.array(last.nonzero()).T, 0) if fits else None
    if kind not in "iu":
        return None
    if all(type(part) is slice and part.start is part.stop is part.step is None for part in key[:-1]):
        return False, last, len(key) - 1
    if last.ndim == 0:
        return (True, np.array(key), 0) if all(map(_is_integer, key)) else None
    for part in key:
        if type(part) is not _ndarray or part.dtype != last.dtype or part.shape != last.shape or part.ndim != 1:
            return None
    return True, np.array(key).T, 0


_ndarray = np.ndarray  # one lookup less


def _is_integer(part: Any) -> bool:
    return type(part) is int or isinstance(part, np.integer)


def _broadcast(values: Any, data: np.ndarray, key: _CommonKey) -> np.ndarray | None:
    """Broadcast a number or an array of numbers to the shape of ``data[key]``, for a common key.

    For other values, the result is None. Then `convert.cast` reads them, or raises the error about them.
    """
    if type(values) not in (np.ndarray, int, float, complex, bool) and not isinstance(values, np.generic):
        return None
    array: np.ndarray = np.asarray(values)
    if array.dtype.kind not in "biufc" or data.dtype.kind not in "biufc":
        return None
    takes_tuples, indices, axis = key
    if takes_tuples:
        shape = (*indices.shape[:-1], *data.shape[indices.shape[-1] :])
    else:
        shape = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])
    if array.shape == shape:
        return array
    cast = array if array.dtype == data.dtype else _core.cast(array, data.dtype)
    if type(cast) is not np.ndarray:  # a value does not fit
        return None
    try:
        spread: np.ndarray = np.broadcast_to(cast, shape)
    except ValueError:
        return None
    return spread


def _write_in_place(operation: Operation, chosen: Selection, array: np.ndarray, updates: np.ndarray) -> None:
    """Write in place, after all checks."""
    part = chosen.of(array)
    is_view = not part.flags.c_contiguous and array.dtype.kind in "biufc" and not _may_overlap_itself(array)
    few = _find_few_rows(chosen, part) if is_view else None
    with _translate_index_errors(chosen, operation.op, array):
        if few:  # the kernel would copy the whole view
            key, indices = few
            rows = part[key]
            convert.execute(operation, rows, indices, updates, rows)
            part[key] = rows
        else:
            convert.execute(operation, part, chosen.indices, updates, part)


def _may_overlap_itself(array: np.ndarray) -> bool:
    """Whether elements of an array may share memory."""
    extent = array.itemsize
    for stride, size in sorted((abs(stride), size) for stride, size in zip(array.strides, array.shape, strict=True)):
        if size > 1 and stride < extent:
            return True
        extent += stride * (size - 1)
    return False


def _find_few_rows(chosen: Selection, part: np.ndarray) -> tuple[tuple[Any, ...], np.ndarray] | None:
    """A key that names each row once, and the indices into these rows.

    The result is None if more than an eighth of all rows may be named, or if one is out of range.
    """
    indices = chosen.indices
    if chosen.takes_one_array:
        tuples, sizes, shape = indices.reshape(-1, 1), part.shape[chosen.axis : chosen.axis + 1], indices.shape
    else:
        k = indices.shape[-1]
        tuples, sizes, shape = indices.reshape(-1, k), part.shape[:k], (*indices.shape[:-1], 1)
    if len(tuples) > math.prod(sizes) // 8 or len(tuples) == 0:
        return None
    numbers = convert.number_tuples(tuples, sizes)
    if numbers is None or numbers.min() < 0:
        return None
    named, slots = np.unique(numbers, return_inverse=True)
    return (*(slice(None),) * chosen.axis, *np.unravel_index(named, sizes)), slots.reshape(shape)


def _write_to_copy(operation: Operation, chosen: Selection, data: np.ndarray, updates: np.ndarray) -> np.ndarray:
    """Write to a copy. Text of a fixed width is widened if necessary, so nothing is cut off."""
    if data.dtype.kind not in "US":
        result = convert_dtype(data, data.dtype)
        _write_in_place(operation, chosen, result, updates)
        return result
    words = data.astype(object)
    _write_in_place(operation, chosen, words, updates.astype(object))
    wide = words.astype(data.dtype.kind)
    return wide.astype(np.promote_types(wide.dtype, data.dtype))


@contextmanager
def _translate_index_errors(chosen: Selection, op: str, data: np.ndarray) -> Iterator[None]:
    """Raise the kernel's error about a bad index in terms of the key."""
    try:
        yield
    except OpIndexError:
        _refuse(chosen, op, data)
        raise


def _refuse(chosen: Selection, op: str, data: np.ndarray) -> None:
    """Raise the error about a bad index of the key, without the error of the kernel that led to it."""
    try:
        chosen.refuse(op, data.shape)
    except OpIndexError as error:
        raise error from None


def _copy_result(op: str, result: np.ndarray, out: Any) -> Any:
    convert.check_out(op, out, result, result)
    return convert.copy_into(op, out, result)
