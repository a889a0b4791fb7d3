"""Indices that are used repeatedly: `prepare` checks them once, and groups them by the elements that they name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.adapters import array_function
from gatherscatter.arrays.convert import is_float
from gatherscatter.errors import (
    OpTypeError,
    OpValueError,
    check_effects,
    flag_fault,
    integer_fault,
    make_error,
    name_memory_error,
)
from gatherscatter.functions.gather_reduce import check_members_shape, prepare_inputs
from gatherscatter.functions.group_reductions import StatisticRule, counts_of, read_names, reduce_by_group
from gatherscatter.functions.inspect import normalise_axis, sizes_of
from gatherscatter.messages.sentences import format_sentence
from gatherscatter.operation import Kernel, Operation
from gatherscatter.system.pieces import convert_dtype, extremes, make_contiguous, pieces

_OP = "prepare"

# Calls of plain arrays. The indices are in range, and in mode "clip" the kernel does not check them again.
_GATHER = _core.bind(Operation(_OP, Kernel.GATHER, mode="clip"), True)
_ADD = _core.bind(Operation(_OP, Kernel.SCATTER_UPDATE, mode="clip", reduction="add"), True)


@array_function("indices")
def prepare(indices: ArrayLike, shape: int | Sequence[int], *, axis: int | None = None) -> Prepared:
    """Check indices once, for repeated gathers and scatters with arrays of one shape.

    The results are those of `gather_nd`, `scatter_nd` and `gather_reduce`.

    Parameters
    ----------
    indices : array of integers
        Index tuples of shape (..., k), as in `gather_nd` and `scatter_nd`. With ``axis``, or if ``shape`` is an int,
        single indices of any shape, as in `gather` and `scatter_update`.
    shape : int or sequence of int
        The shape of data. For index tuples, its first k sizes are enough. An int n means the shape (n,).
    axis : int, optional
        The axis of data that single indices index.

    Returns
    -------
    Prepared
        Its methods ``gather``, ``scatter``, ``sum``, ``reduce`` and ``propagate`` do not check the indices again.

    Raises
    ------
    IndexError
        An index is out of range. The message names its position.
    TypeError
        The indices are not integers.
    ValueError
        The tuples are longer than ``shape``, or ``axis`` is out of range.

    Pass messages along the edges of a graph, and compute their gradient:

    >>> import numpy as np, gatherscatter as gs
    >>> source, target = gs.prepare([0, 1, 2, 2], 3), gs.prepare([1, 0, 0, 1], 3)
    >>> messages = source.gather(np.array([[1.0], [2.0], [4.0]]))
    >>> target.sum(messages).ravel()
    array([6., 5., 0.])
    >>> source.sum(target.gather(np.ones((3, 1)))).ravel()      # the gradient, back to the nodes
    array([1., 1., 2.])
    """
    return prepare_indices(_OP, indices, shape, axis)


def prepare_indices(op: str, indices: ArrayLike, shape: int | Sequence[int], axis: int | None = None) -> Prepared:
    """`prepare` under the name ``op``."""
    is_single = axis is not None or isinstance(shape, int | np.integer)
    array = convert.as_indices(op, "indices", indices, lists=not is_single)
    sizes = sizes_of(op, shape)
    if not is_single:
        if array.ndim == 0 or array.shape[-1] > len(sizes):
            text = f"{op}: indices of shape {array.shape} are not tuples for shape {sizes}; single indices need axis="
            if array.ndim == 2 and array.shape[0] == len(sizes):
                text += format_sentence("parts", "transposed")
            raise OpValueError(text, op=op, input="indices")
        first, dims, kernel = 0, sizes[: array.shape[-1]], Kernel.GATHER_ND
    else:
        first = normalise_axis(op, axis or 0, sizes)
        dims, kernel = (sizes[first],), Kernel.GATHER
    if math.prod(dims) >= 2**63:
        text = f"{op}: shape {sizes} has more elements than can be counted in 64 bits"
        raise OpValueError(text, op=op, input="shape")
    tuples = array[..., np.newaxis] if is_single else array
    rows = _core.resolve_indices(tuples, dims, "raise", "end")
    if rows is None:
        probe = np.broadcast_to(np.uint8(0), (1,) * first + (dims or (1,)))  # no memory
        convert.execute(Operation(op, kernel, first), probe, array)  # raises the error about the index
        raise make_error("changed_indices", op)
    rows.flags.writeable = False
    return Prepared(first, dims, rows)


def _is_plain(array: Any) -> TypeGuard[np.ndarray]:
    """Whether an array is one of native numbers."""
    return type(array) is np.ndarray and array.dtype.kind in "biufc" and array.dtype.isnative


@dataclass(frozen=True, eq=False)
class Prepared:
    """Checked indices, made by `prepare`. They can be pickled.

    Attributes
    ----------
    axis : the first axis of data that is indexed
    dims : the sizes of the axes that are indexed
    rows : int64 array, read-only. The number of the row that each index names, in [0, prod(dims)-1]
    """

    axis: int
    dims: tuple[int, ...]
    rows: np.ndarray

    __array_ufunc__ = None  # NumPy would make an array of this object

    @property
    def size(self) -> int:
        """The number of rows that an index can name: ``prod(dims)``."""
        return math.prod(self.dims)

    @cached_property
    def counts(self) -> np.ndarray:
        """The number of indices that name each row, in the shape of the indexed axes."""
        return counts_of(self._groups[0]).reshape(self.dims)

    @cached_property
    def unique(self) -> bool:
        """Whether no row is named more than once."""
        return self._most_updates <= 1

    @cached_property
    def is_sorted(self) -> bool:
        """Whether the rows are named in ascending order."""
        flat = self.rows.reshape(-1)
        before, after = flat[:-1], flat[1:]
        return all(bool((after[part] >= before[part]).all()) for part in pieces(after.size))

    @cached_property
    def _groups(self) -> tuple[np.ndarray, np.ndarray]:
        """The position where the indices of each row begin, and the indices in that order."""
        try:
            return _core.group(self.rows.reshape(-1), self.size)
        except MemoryError as error:
            name_memory_error(_OP, error)

    @cached_property
    def _most_updates(self) -> int:
        """The largest number of indices that name one row."""
        return extremes(self.counts.reshape(-1))[1] if self.size else 0

    @array_function("data", "out", op=_OP)
    def gather(self, data: ArrayLike, *, out: np.ndarray | None = None, num_threads: int | None = None) -> np.ndarray:
        """Take the rows of ``data`` that the indices name. This is the backward pass of `sum`.

        Parameters
        ----------
        data : array with the sizes ``dims`` from ``axis`` on, and any axes before and after them
        out, num_threads : see `gatherscatter.gather`

        Returns
        -------
        array, shape ``data.shape[:axis] + rows.shape + data.shape[axis + len(dims):]``

        Raises
        ------
        ValueError, TypeError
            A shape or type is not valid.
        """
        if (
            out is None
            and num_threads is None
            and type(data) is np.ndarray
            and data.shape[self.axis :][:1] == self.dims
        ):
            result = _GATHER(data, self.rows, self.axis)
            if result is not NotImplemented:
                return result
        operation = Operation(_OP, Kernel.GATHER, self.axis, mode="clip", num_threads=num_threads)
        return convert.execute(operation, self._merge_indexed_axes("data", data), self.rows, out=out)

    @array_function("data", "updates", op=_OP)
    def scatter(
        self,
        data: ArrayLike,
        updates: ArrayLike,
        *,
        reduction: str = "none",
        include_self: bool = True,
        accumulate: str = "step",
        num_threads: int | None = None,
    ) -> np.ndarray:
        """Copy ``data`` and write ``updates`` to the rows that the indices name.

        Parameters
        ----------
        data : array with the sizes ``dims`` from ``axis`` on
        updates : array of data's type, with the shape of the result of `gather`
        reduction, include_self, accumulate, num_threads : see `gatherscatter.scatter_nd`

        Returns
        -------
        array with the shape and type of ``data``
            It is bit-for-bit identical to the result of `scatter_nd` or `scatter_update`.

        Raises
        ------
        ValueError, TypeError
            A shape or type is not valid.
        """
        check_effects(_OP, reduction, include_self, accumulate)
        array = convert.as_array(_OP, "data", data)
        flat, new = self._merge_indexed_axes("data", array), convert.cast(_OP, "updates", updates, "data", array)
        result: Any = NotImplemented
        if accumulate == "step" and self._is_grouped(new, reduction) and new.shape == self.rows.shape + flat.shape[1:]:
            result = self._combine(flat, new, reduction, include_self, num_threads)
        if result is NotImplemented:
            operation = self._scatter_operation(reduction, accumulate, num_threads)._replace(include_self=include_self)
            result = convert.execute(operation, flat, self.rows, new)
        return np.asarray(result).reshape(array.shape)

    @array_function("updates", op=_OP)
    def sum(self, updates: ArrayLike, *, accumulate: str = "step", num_threads: int | None = None) -> np.ndarray:
        """Add up the updates for each row. This is the backward pass of `gather`.

        Parameters
        ----------
        updates : array with the shape of the result of `gather`
        accumulate, num_threads : see `gatherscatter.scatter_nd`

        Returns
        -------
        array of updates' type, shape ``updates.shape[:axis] + dims + ...``
            It is the result of a `scatter` that adds to zeros.
        """
        new = self._check_updates(updates)
        before, after = new.shape[: self.axis], new.shape[self.axis + self.rows.ndim :]
        result: Any = NotImplemented
        if accumulate == "step" and self._is_grouped(new, "add"):
            result = self._combine(None, new, "add", True, num_threads)
        if result is NotImplemented and accumulate == "step" and num_threads is None and _is_plain(new):
            result = _ADD(np.zeros((*before, self.size, *after), new.dtype), self.rows, new, self.axis)
        if result is NotImplemented:
            operation = self._scatter_operation("add", accumulate, num_threads)
            nothing = np.zeros((), new.dtype) if new.dtype != object else np.array("", object)  # objects are text
            zeros = np.broadcast_to(nothing, (*before, self.size, *after))  # no memory
            result = convert.execute(operation, zeros, self.rows, new)
        return result if len(self.dims) == 1 else np.asarray(result).reshape(before + self.dims + after)

    @array_function("updates", op=_OP)
    def reduce(
        self,
        updates: ArrayLike,
        reductions: str | Sequence[str],
        *,
        skipna: bool = False,
        ddof: int = 0,
        num_threads: int | None = None,
    ) -> tuple[np.ndarray, ...]:
        """Apply several reductions to the updates for each row.

        Parameters
        ----------
        updates : array of numbers with the shape of the result of `gather`
        reductions : one or several names
            'sum', 'mul', 'mean', 'min', 'max', 'count', 'argmin' and 'argmax' are computed together, in one pass over
            the updates. 'var', 'std', 'first', 'last', 'any' and 'all' are computed one by one, as `aggregate` does.
            'add', 'prod' and 'len' are other words for 'sum', 'mul' and 'count'. Sums and products are computed step
            by step in the order of the updates, as in `scatter`. 'argmin' and 'argmax' give the number of the least
            or greatest update, in row-major order of the indices. Of equal updates it is the first. NaN counts as the
            least and as the greatest of all.
        skipna : bool
            Skip updates that are NaN. For floats, 'count' then has the shape of the other results, and sums are
            computed in float64.
        ddof : int
            For 'var' and 'std': the sum of squared deviations is divided by the number of updates minus ``ddof``. A
            row with no more updates than ``ddof`` gets NaN, unless ``ddof`` is 0.
        num_threads : see `gatherscatter.scatter_nd`

        Returns
        -------
        tuple of arrays, in the order of the names, shape ``updates.shape[:axis] + dims + ...``
            They have updates' type, except 'count', 'argmin' and 'argmax', which are int64, and 'any' and 'all', which
            are bool. 'var' and 'std' of integers are float64. 'count' has the shape ``dims``. A row without updates
            gets 1 from 'mul', True from 'all', the number of all updates from 'argmin' and 'argmax', and 0 from the
            others.

        Raises
        ------
        ValueError, TypeError
            A shape, a type or the name of a reduction is not valid.

        >>> import numpy as np, gatherscatter as gs
        >>> sums, best = gs.prepare([0, 2, 2], 3).reduce(np.array([5.0, 4.0, 7.0]), ("sum", "argmax"))
        >>> sums, best
        (array([ 5.,  0., 11.]), array([0, 3, 2]))

        The distance from the mean of each group, as ``transform`` of pandas computes it:

        >>> groups, values = gs.prepare([0, 2, 2], 3), np.array([5.0, 4.0, 7.0])
        >>> mean, spread = groups.reduce(values, ("mean", "std"))
        >>> values - groups.gather(mean)
        array([ 0. , -1.5,  1.5])
        """
        given: Any = reductions if isinstance(reductions, list | tuple) else (reductions,)
        names = read_names(_OP, given)
        if not isinstance(skipna, bool | np.bool):
            flag_fault(_OP, "skipna", skipna)
        if isinstance(ddof, bool) or not isinstance(ddof, int | np.integer):
            integer_fault(_OP, "ddof", ddof)
        new = convert.native(self._check_updates(updates))
        first = np.moveaxis(new, range(self.axis, self.axis + self.rows.ndim), range(self.rows.ndim))
        flat = make_contiguous(first).reshape(self.rows.size, *first.shape[self.rows.ndim :])
        made = reduce_by_group(
            _OP,
            flat,
            self.rows.reshape(-1),
            lambda: self._groups,
            self.size,
            names,
            rule=StatisticRule(bool(skipna), int(ddof)),
            num_threads=num_threads,
        )
        shape = self.dims + first.shape[self.rows.ndim :]
        axes = range(len(self.dims)), range(self.axis, self.axis + len(self.dims))
        return tuple(
            convert_dtype(self.counts, self.counts.dtype)
            if name == "count" and not (skipna and is_float(new.dtype))
            else np.moveaxis(made[name].reshape(shape), *axes)
            for name in names
        )

    @array_function("data", "weights", op=_OP)
    def propagate(
        self,
        data: ArrayLike,
        weights: ArrayLike | None = None,
        reduction: str = "add",
        *,
        transpose: bool = False,
        default: ArrayLike = 0,
        accumulate: str = "step",
        num_threads: int | None = None,
    ) -> np.ndarray:
        """Pass rows of ``data`` along pairs (i, j): row i of the result reduces the rows j of ``data``.

        With 'add', this is the product of a sparse matrix and ``data``. The indices are the positions of the matrix's
        elements, and ``weights`` are their values.

        Parameters
        ----------
        data : array of numbers, shape (dims[1], ...), or (dims[0], ...) with ``transpose``
        weights : array of data's type, shape ``rows.shape``, optional
            The factor for the row of each pair.
        reduction : {'add', 'mul', 'min', 'max', 'mean'}
        transpose : bool
            Row j of the result reduces the rows i instead. This is the backward pass for 'add'.
        default, accumulate, num_threads : see `gatherscatter.gather_reduce`

        Returns
        -------
        array of data's type, shape (dims[0], ...), or (dims[1], ...) with ``transpose``

        Raises
        ------
        ValueError, TypeError
            The indices are not pairs, or a shape or type is not valid.

        Each node of a graph sums up its neighbours. The pairs are (target, source):

        >>> import numpy as np, gatherscatter as gs
        >>> edges = gs.prepare([[0, 1], [0, 2], [2, 1]], (3, 3))
        >>> edges.propagate(np.array([[1.0], [2.0], [4.0]])).ravel()
        array([6., 0., 2.])
        >>> edges.propagate(np.array([[1.0], [2.0], [4.0]]), [1.0, 0.5, 1.0], transpose=True).ravel()
        array([0. , 5. , 0.5])
        """
        if len(self.dims) != 2:
            raise make_error("propagate_pairs", _OP, count=len(self.dims))
        starts, order, rows = self._neighbours_before if transpose else self._neighbours
        source = self.dims[0 if transpose else 1]
        factors: Any = weights
        if _is_plain(weights) and weights.shape == self.rows.shape:
            factors = _core.gather(weights.reshape(-1), order)
        operation = Operation(
            _OP, Kernel.GATHER_REDUCE, reduction=reduction, accumulate=accumulate, num_threads=num_threads
        )
        if type(data) is np.ndarray and data.shape[:1] == (source,) and (weights is None or factors is not weights):
            inputs = {"data": data, "indices": rows, "indptr": starts, "weights": factors, "default": default}
            with suppress(TypeError):  # a short way to the core, which may not accept the arrays
                return _core.run(operation, inputs)
        call = prepare_inputs(operation, data, rows, indptr=starts, weights=weights, default=default)
        table, factors = call.arrays["data"], call.arrays["weights"]
        if len(table) != source:
            raise make_error("propagate_rows", _OP, rows=source, shape=table.shape)
        if factors is not None:
            check_members_shape(_OP, "weights", factors.shape, self.rows.shape)
            call.arrays["weights"] = _core.gather(make_contiguous(factors).reshape(-1), order)
        return call.run(operation)

    def _scatter_operation(self, reduction: str, accumulate: str, num_threads: int | None) -> Operation:
        """The scatter to the rows. The indices are in range, so mode "clip" does not check them again."""
        return Operation(
            _OP, Kernel.SCATTER_UPDATE, self.axis, mode="clip", reduction=reduction, accumulate=accumulate,
            num_threads=num_threads,
        )  # fmt: skip

    @cached_property
    def _neighbours(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs grouped by their first row: the start of each group, the pairs in that order, and their second rows."""
        return self._group_pairs(0)

    @cached_property
    def _neighbours_before(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs grouped by their second row: the start of each group, the pairs in that order, and their first rows."""
        return self._group_pairs(1)

    def _group_pairs(self, column: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        flat = self.rows.reshape(-1)
        rows = np.empty((2, flat.size), np.int64)
        for part in pieces(flat.size):
            np.divmod(flat[part], self.dims[1], out=(rows[0, part], rows[1, part]))
        starts, order = _core.group(rows[column], self.dims[column])
        return starts, order, _core.gather(rows[1 - column], order)

    @cached_property
    def _is_balanced(self) -> bool:
        """Whether each row has few enough updates that threads share the work evenly."""
        return self.rows.size > 0 and self._most_updates * 8 <= self.rows.size

    def _is_grouped(self, updates: np.ndarray, reduction: str) -> bool:
        """Whether `_combine` supports this reduction, and is faster: one over the first axis of native numbers.

        Groups take longer than a scatter for single elements, and if a row has less than a cache line of updates.
        """
        if self.axis != 0 or not self.dims or reduction == "none" or not self._is_balanced:
            return False
        if updates.size == self.rows.size or updates.nbytes < 64 * self.size:
            return False
        return updates.dtype.isnative and updates.dtype.kind not in "OSTU"

    def _combine(
        self, data: np.ndarray | None, updates: np.ndarray, reduction: str, include_self: bool, threads: int | None
    ) -> Any:
        flat = make_contiguous(updates).reshape(self.rows.size, *updates.shape[self.rows.ndim :])
        return _core.scatter_groups(data, *self._groups, flat, reduction, include_self, threads)

    def _check_updates(self, updates: ArrayLike) -> np.ndarray:
        """Convert updates, and check that they have the shape of the result of `gather`."""
        new = convert.as_array(_OP, "updates", updates)
        if new.shape[self.axis : self.axis + self.rows.ndim] != self.rows.shape:
            text = f"{_OP}: updates of shape {new.shape} do not fit indices of shape {self.rows.shape}"
            raise OpValueError(text, op=_OP, input="updates")
        return new

    def _merge_indexed_axes(self, name: str, value: ArrayLike) -> np.ndarray:
        """Convert data, and merge the indexed axes."""
        array = convert.as_array(_OP, name, value)
        last = self.axis + len(self.dims)
        if array.shape[self.axis : last] != self.dims:
            axes = f"axis {self.axis}" if len(self.dims) == 1 else f"axes {self.axis}..{last - 1}"
            text = f"{_OP}: {name} must have the sizes {self.dims} at {axes}, but has shape {array.shape}"
            raise OpValueError(text, op=_OP, input=name)
        shape = (*array.shape[: self.axis], self.size, *array.shape[last:])
        try:
            return array.reshape(shape, copy=False)
        except ValueError:  # these axes can't be merged in place
            return make_contiguous(array).reshape(shape)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("axis", "dims", "rows")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows = np.asarray(state["rows"])
        rows = convert_dtype(rows, rows.dtype)
        good = rows.dtype == np.int64
        if good and rows.size:
            low, high = extremes(rows.reshape(-1))
            good = low >= 0 and high < math.prod(state["dims"])
        if not good:
            raise OpTypeError(f"{_OP}: the pickle does not hold prepared indices", op=_OP, input="rows")
        rows.flags.writeable = False
        self.__dict__.update(state, rows=rows)
