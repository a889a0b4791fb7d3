"""The parts of the gradients of `gather_reduce`, computed without storing a row for each member.

Each function is linear in its values. Its derivative consists of these functions and `gather_reduce`. The rows of all
arrays have the same shape and type.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.adapters import array_function
from gatherscatter.errors import make_error
from gatherscatter.functions.gather_reduce import as_line, check_members_shape, find_bags, resolve_in_range
from gatherscatter.operation import Bags, Kernel, Operation
from gatherscatter.system.pieces import make_contiguous

_OP = "gather_reduce"


@array_function("values", "keys", "targets", "rows", "bags", op=_OP)
def sum_matches(
    values: ArrayLike | None,
    keys: ArrayLike,
    targets: ArrayLike,
    rows: ArrayLike,
    bags: ArrayLike,
    *,
    num_threads: int | None = None,
) -> np.ndarray:
    """For each element of ``targets``, add up the values in its bag whose keys are equal to it.

    Member m has row ``rows[m]`` of keys and values. It belongs to bag ``bags[m]``, with row ``bags[m]`` of targets.
    The derivative is therefore the same function, with keys and targets exchanged, and rows and bags exchanged.

    Parameters
    ----------
    values : array of the shape and type of keys, or None
        With None, the matching members are counted.
    keys : array of floats, shape (R, ...)
    targets : array of floats, shape (B, ...)
    rows, bags : arrays of integers in [0, R-1] and [0, B-1], shape (M,)
    num_threads : int >= 1, optional
        The largest number of threads for this call. The result does not depend on it.

    Returns
    -------
    array of the shape of targets
        The sums, in the type of values and native byte order, or the counts as int64. NaN equals NaN. Members are added
        up in their order. 16-bit floats are added up in float32.

    Raises
    ------
    IndexError
        A row or a bag is out of range.
    ValueError, TypeError
        A shape or type is not valid.

    >>> import numpy as np
    >>> keys, targets = np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([[3.0, 5.0]])
    >>> sum_matches(None, keys, targets, rows=[0, 1], bags=[0, 0])
    array([[1, 2]])
    >>> sum_matches(keys * 10, keys, targets, rows=[0, 1], bags=[0, 0])
    array([[ 30., 100.]])
    """
    key = _as_rows("keys", keys)
    target = _as_rows("targets", targets, keys=key)
    value = None if values is None else _as_rows("values", values, keys=key)
    row = _as_row_numbers("rows", rows, "keys", key)
    bag = _as_row_numbers("bags", bags, "targets", target)
    check_members_shape(_OP, "bags", bag.shape, row.shape)
    operation = Operation(_OP, Kernel.GATHER_REDUCE, bags=Bags(len(target)))
    found = find_bags(operation, bag.shape, segment_ids=bag)
    row = row if found.order is None else _core.gather(row, found.order)
    return _check_made(_core.sum_matches(value, key, target, found.starts, row, num_threads))


@array_function("a", "b", "rows_of_a", "rows_of_b", op=_OP)
def dot_rows(
    a: ArrayLike, b: ArrayLike, rows_of_a: ArrayLike, rows_of_b: ArrayLike, *, num_threads: int | None = None
) -> np.ndarray:
    """Compute the dot products of pairs of rows.

    Parameters
    ----------
    a, b : arrays of floats or complex numbers, shapes (A, ...) and (B, ...)
    rows_of_a, rows_of_b : arrays of integers in [0, A-1] and [0, B-1], shape (M,)
    num_threads : int >= 1, optional
        The largest number of threads for this call. The result does not depend on it.

    Returns
    -------
    array of the type of a in native byte order, shape (M,)
        ``(a[rows_of_a] * b[rows_of_b]).sum()`` over all axes except the first. Nothing is conjugated. 16-bit floats are
        multiplied and added up in float32.

    Raises
    ------
    IndexError
        A row is out of range.
    ValueError, TypeError
        A shape or type is not valid.

    >>> import numpy as np
    >>> dot_rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[10.0, 1.0]]), rows_of_a=[1, 0, 1], rows_of_b=[0, 0, 0])
    array([34., 12., 34.])
    """
    first = _as_rows("a", a)
    second = _as_rows("b", b, a=first)
    row = _as_row_numbers("rows_of_a", rows_of_a, "a", first)
    other = _as_row_numbers("rows_of_b", rows_of_b, "b", second)
    check_members_shape(_OP, "rows_of_b", other.shape, row.shape)
    return _check_made(_core.dot_rows(first, second, row, other, num_threads))


def _check_made(made: np.ndarray | None) -> np.ndarray:
    """Return the result of the core. None means that row numbers changed after they were checked."""
    if made is None:
        raise make_error("changed_indices", _OP)
    return made


def _as_rows(name: str, value: ArrayLike, **others: np.ndarray) -> np.ndarray:
    """Convert an array for the core. Its rows must have the shape and type of those of the other arrays."""
    array = make_contiguous(convert.native(convert.as_array(_OP, name, value)))
    if array.ndim == 0:
        raise make_error("no_rows", _OP, input=name)
    for other, rows in others.items():
        if array.shape[1:] != rows.shape[1:] or array.dtype != rows.dtype:
            shapes = {"shape": array.shape[1:], "row": rows.shape[1:]}
            raise make_error("other_rows", _OP, input=name, other=other, dtype=array.dtype, type=rows.dtype, **shapes)
    return array


def _as_row_numbers(name: str, value: ArrayLike, of: str, rows: np.ndarray) -> np.ndarray:
    """Convert and check row numbers, as int64."""
    return resolve_in_range(_OP, name, as_line(_OP, name, value), len(rows), "rows", array=of)
