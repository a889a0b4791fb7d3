"""`at`: NumPy's indexing notation for gathers and scatters, with the guarantees of these."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.interop import to_numpy_arguments
from gatherscatter.errors import OpIndexError, OpTypeError, OpValueError
from gatherscatter.functions.index_keys import Selection, select
from gatherscatter.pieces import convert_dtype


def at(data: Any) -> At:
    """Index an array as NumPy does, then read, write or combine: ``at(x)[i, j].add(v)``.

    ``x[key]`` of NumPy says which elements: integers, integer and boolean arrays, slices, ``...`` and ``None``, in any
    mix, and where the axes of arrays go in the result. What is done with them follows this package: repeated places
    combine every update, in row-major order, `set` keeps the last one, a bad index raises before anything is written,
    and ``data`` never changes unless it is given as ``out=``.

    Parameters
    ----------
    data : array of any element type, of NumPy, PyTorch, JAX or with ``__dlpack__``

    Returns
    -------
    At
        ``at(data)[key]`` has the methods ``get()``, ``set(values)``, ``add(values)``, ``sub``, ``mul``, ``min``,
        ``max`` and ``mean``. ``values`` are broadcast to the shape of ``data[key]``.

    Raises
    ------
    IndexError
        An index is out of range, or the key is one for which NumPy raises IndexError: it names too many axes, has a
        mask of another shape, or a part that is not an index. The latter are also a ValueError or a TypeError.
    TypeError, ValueError
        Values do not broadcast, or data can't hold them.

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
    return At(data)


class At:
    """An array that waits for a key; see `at`."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __getitem__(self, key: Any) -> Place:
        return Place(self._data, key if isinstance(key, tuple) else (key,))

    def __repr__(self) -> str:
        return f"at({self._data!r})"


class Place:
    """Some elements of an array. Every method returns a new array, of the kind that was given, or ``out``."""

    def __init__(self, data: Any, key: tuple[Any, ...]) -> None:
        self._data, self._key = data, key

    def get(self, *, out: Any = None, num_threads: int | None = None) -> Any:
        """What ``data[key]`` is, always as a copy.

        >>> import gatherscatter as gs
        >>> gs.at([[1, 2], [3, 4]])[:, [1, 1, 0]].get()
        array([[2, 2, 1],
               [4, 4, 3]])
        """
        if out is None and (common := _read_common_key(self._data, self._key)):
            indices, axis = common
            with _leave_to_long_way("at.get", self._data, self._key):
                if axis is None:
                    return _core.gather_nd(self._data, indices, num_threads=num_threads)
                return _core.gather(self._data, indices, axis, num_threads=num_threads)
        given = self._named_arrays(out=out)
        if converted := to_numpy_arguments("at.get", given):
            return converted.to_caller(
                _rebuild_place(converted.values).get(out=converted.values["out"], num_threads=num_threads)
            )
        data = convert.as_array("at.get", "data", self._data)
        chosen = select("at.get", data, self._key)
        with _translate_index_errors(chosen, "at.get", data):
            made = convert.execute(
                "at.get", chosen.gather, chosen.of(data), chosen.indices, axis=chosen.axis, num_threads=num_threads
            )
        result = chosen.as_result(made)
        return result if out is None else _copy_result("at.get", result, out)

    def set(self, values: ArrayLike, *, out: Any = None, num_threads: int | None = None) -> Any:
        """Data with ``values`` at these places; of several for one place the last remains.

        >>> import gatherscatter as gs
        >>> gs.at([0, 0, 0])[[1, 1]].set([5, 6])
        array([0, 6, 0])
        """
        return self._scatter("at.set", values, out, reduction="none", num_threads=num_threads)

    def add(
        self,
        values: ArrayLike,
        *,
        include_self: bool = True,
        accumulate: str = "step",
        out: Any = None,
        num_threads: int | None = None,
    ) -> Any:
        """Data with ``values`` added; ``include_self`` and ``accumulate`` as in `gatherscatter.scatter_nd`.

        >>> import gatherscatter as gs
        >>> gs.at([0, 0, 0])[[1, 1]].add([5, 6])
        array([ 0, 11,  0])
        """
        return self._scatter(
            "at.add",
            values,
            out,
            reduction="add",
            include_self=include_self,
            accumulate=accumulate,
            num_threads=num_threads,
        )

    def sub(
        self, values: ArrayLike, *, accumulate: str = "step", out: Any = None, num_threads: int | None = None
    ) -> Any:
        """Data with ``values`` subtracted.

        >>> import gatherscatter as gs
        >>> gs.at([9, 9])[0].sub(4)
        array([5, 9])
        """
        return self._scatter("at.sub", values, out, reduction="sub", accumulate=accumulate, num_threads=num_threads)

    def mul(
        self, values: ArrayLike, *, include_self: bool = True, out: Any = None, num_threads: int | None = None
    ) -> Any:
        """Data multiplied by ``values``.

        >>> import gatherscatter as gs
        >>> gs.at([1, 2])[[1, 1]].mul([3, 5])
        array([ 1, 30])
        """
        return self._scatter("at.mul", values, out, reduction="mul", include_self=include_self, num_threads=num_threads)

    def min(
        self, values: ArrayLike, *, include_self: bool = True, out: Any = None, num_threads: int | None = None
    ) -> Any:
        """The least of data and ``values``; NaN passes through.

        >>> import gatherscatter as gs
        >>> gs.at([5, 5])[[0, 0]].min([7, 3])
        array([3, 5])
        """
        return self._scatter("at.min", values, out, reduction="min", include_self=include_self, num_threads=num_threads)

    def max(
        self, values: ArrayLike, *, include_self: bool = True, out: Any = None, num_threads: int | None = None
    ) -> Any:
        """The greatest of data and ``values``; NaN passes through.

        >>> import gatherscatter as gs
        >>> gs.at([5, 5])[[0, 0]].max([7, 3])
        array([7, 5])
        """
        return self._scatter("at.max", values, out, reduction="max", include_self=include_self, num_threads=num_threads)

    def mean(
        self,
        values: ArrayLike,
        *,
        include_self: bool = True,
        accumulate: str = "step",
        out: Any = None,
        num_threads: int | None = None,
    ) -> Any:
        """The mean of data, if ``include_self``, and of all ``values`` that come to a place.

        >>> import gatherscatter as gs
        >>> gs.at([0.0, 8.0])[[1, 1]].mean([1.0, 3.0])
        array([0., 4.])
        """
        return self._scatter(
            "at.mean",
            values,
            out,
            reduction="mean",
            include_self=include_self,
            accumulate=accumulate,
            num_threads=num_threads,
        )

    def _named_arrays(self, **others: Any) -> dict[str, Any]:
        """All arrays by the names that messages have for them."""
        return {"data": self._data, **{f"key[{n}]": part for n, part in enumerate(self._key)}, **others}

    def _scatter(self, op: str, values: Any, out: Any, **how: Any) -> Any:
        own = self._data
        if (
            type(values) is np.ndarray
            and type(own) is np.ndarray
            and values.dtype == own.dtype
            and (out is None or (out is own and own.flags.carray))
            and (common := _read_common_key(own, self._key))
        ):
            indices, axis = common
            with _leave_to_long_way(op, own, self._key):
                if axis is None:
                    return _core.scatter_nd(own, indices, values, out=out, **how)
                return _core.scatter_update(own, indices, values, axis, out=out, **how)
        if converted := to_numpy_arguments(op, self._named_arrays(values=values, out=out)):
            known = converted.values
            return converted.to_caller(_rebuild_place(known)._scatter(op, known["values"], known["out"], **how))
        data = convert.as_array(op, "data", self._data)
        chosen = select(op, data, self._key)
        updates = chosen.as_updates(op, convert.cast(op, "values", values, "data", data))
        if out is None or out is not self._data:
            result = _write_to_copy(op, chosen, data, updates, how)
            return result if out is None else _copy_result(op, result, out)
        convert.check_out(op, out, data, None)
        _write_in_place(op, chosen, out, updates, how)
        return out


def _read_common_key(data: Any, key: tuple[Any, ...]) -> tuple[np.ndarray, int | None] | None:
    """Read a common key: the indices, and the axis that they index. The axis is None if the indices are index tuples.

    A common key is an array of integers, perhaps after some ``:``, or several arrays of one dim and one length. For
    other keys, and if data is not a NumPy array of numbers, the result is None, and `select` reads the key.
    """
    if not key or type(data) is not np.ndarray or data.dtype.kind not in "iufc":
        return None
    last = key[-1]
    if type(last) is not np.ndarray or last.dtype.kind not in "iu" or last.ndim == 0:
        return None
    if all(type(part) is slice and part.start is part.stop is part.step is None for part in key[:-1]):
        return last, len(key) - 1
    for part in key:
        if type(part) is not np.ndarray or part.dtype != last.dtype or part.shape != last.shape or part.ndim != 1:
            return None
    return np.array(key).T, None


@contextmanager
def _leave_to_long_way(op: str, data: np.ndarray, key: tuple[Any, ...]) -> Iterator[None]:
    """Suppress errors that the core raises before it writes, so that the caller goes on with the long way.

    An error for a bad index is worded in terms of the key.
    """
    try:
        yield
    except OpIndexError:
        select(op, data, key).refuse(op, data.shape)
        raise
    except (OpTypeError, OpValueError):
        pass


def _rebuild_place(given: dict[str, Any]) -> Place:
    """The same, of NumPy's arrays."""
    return Place(given["data"], tuple(part for name, part in given.items() if name.startswith("key[")))


def _write_in_place(op: str, chosen: Selection, array: np.ndarray, updates: np.ndarray, how: dict[str, Any]) -> None:
    """In place: everything that can be wrong is found out before."""
    part = chosen.of(array)
    is_view = not part.flags.c_contiguous and array.dtype.kind in "biufc" and not _may_overlap_itself(array)
    few = _find_few_rows(chosen, part) if is_view else None
    with _translate_index_errors(chosen, op, array):
        if few:  # kernels would copy all of a view
            key, indices = few
            rows = part[key]
            convert.execute(op, chosen.scatter, rows, indices, updates, axis=chosen.axis, out=rows, **how)
            part[key] = rows
        else:
            convert.execute(op, chosen.scatter, part, chosen.indices, updates, axis=chosen.axis, out=part, **how)


def _may_overlap_itself(array: np.ndarray) -> bool:
    """Whether elements of an array may share memory."""
    extent = array.itemsize
    for stride, size in sorted((abs(stride), size) for stride, size in zip(array.strides, array.shape, strict=True)):
        if size > 1 and stride < extent:
            return True
        extent += stride * (size - 1)
    return False


def _find_few_rows(chosen: Selection, part: np.ndarray) -> tuple[tuple[Any, ...], np.ndarray] | None:
    """A key that names each row once, and the indices changed to count among these rows.

    None: more than an eighth of all rows may be named, or one is out of range.
    """
    indices = chosen.indices
    if chosen.takes_one_array:
        tuples, sizes, shape = indices.reshape(-1, 1), part.shape[chosen.axis : chosen.axis + 1], indices.shape
    else:
        k = indices.shape[-1]
        tuples, sizes, shape = indices.reshape(-1, k), part.shape[:k], (*indices.shape[:-1], 1)
    if len(tuples) > math.prod(sizes) // 8 or len(tuples) == 0:
        return None
    numbers = convert.number_places(tuples, sizes)
    if numbers is None or numbers.min() < 0:
        return None
    named, places = np.unique(numbers, return_inverse=True)
    return (*(slice(None),) * chosen.axis, *np.unravel_index(named, sizes)), places.reshape(shape)


def _write_to_copy(
    op: str, chosen: Selection, data: np.ndarray, updates: np.ndarray, how: dict[str, Any]
) -> np.ndarray:
    """A changed copy. Text of a fixed width widens so that nothing is cut."""
    if data.dtype.kind not in "US":
        result = convert_dtype(data, data.dtype)
        _write_in_place(op, chosen, result, updates, how)
        return result
    words = data.astype(object)
    _write_in_place(op, chosen, words, updates.astype(object), how)
    wide = words.astype(data.dtype.kind)
    return wide.astype(np.promote_types(wide.dtype, data.dtype))


@contextmanager
def _translate_index_errors(chosen: Selection, op: str, data: np.ndarray) -> Iterator[None]:
    """The kernel's error for a bad index, in the terms of the key."""
    try:
        yield
    except OpIndexError:
        chosen.refuse(op, data.shape)
        raise


def _copy_result(op: str, result: np.ndarray, out: Any) -> Any:
    convert.check_out(op, out, result, result)
    return convert.copy_into(op, out, result)
