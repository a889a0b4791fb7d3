"""TensorScatter: write a window of every batch entry into a cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.adapters import array_function
from gatherscatter.errors import integer_fault, make_choice_error, make_error, raise_index_error
from gatherscatter.messages.sentences import format_sentence
from gatherscatter.operation import Kernel, Operation


@array_function("past_cache", "update", "write_indices", "out")
def tensor_scatter(
    past_cache: ArrayLike,
    update: ArrayLike,
    write_indices: ArrayLike | None = None,
    *,
    axis: int = -2,
    mode: str = "linear",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray:
    """Write ``update`` into a cache. Each batch entry has its own start position.

    ``out[n, ..., w[n] + t, ...] = update[n, ..., t, ...]``. Here w is ``write_indices``, and the position
    ``w[n] + t`` is at ``axis``.

    Parameters
    ----------
    past_cache : array of rank r >= 2, shape (B, ..., M, ...), with M at ``axis``
    update : array of the same type and shape, except for a length S <= M at ``axis``
    write_indices : array of any integer type, shape (B,), optional
        The position where each batch entry begins. The default is 0 for all.
    axis : int in [-r, r-1], not the first axis
    mode : {'linear', 'circular'}
        'linear': each window must lie in the cache: ``0 <= w[n]`` and ``w[n] + S <= M``.
        'circular': positions are taken modulo M.
    out : array, optional
        The array to write the result to. ``out=past_cache`` updates the cache in place, without a copy. It does not
        change if the call raises an error.
    num_threads : int >= 1, optional
        The largest number of threads for this call. The result does not depend on it.

    Returns
    -------
    array with the shape and type of ``past_cache``

    Raises
    ------
    IndexError
        A window does not fit. The message names its position in ``write_indices``.
    ValueError, TypeError
        A shape, an option or a type is not valid.

    Source: ONNX TensorScatter-24.

    >>> import numpy as np, gatherscatter as gs
    >>> gs.tensor_scatter(np.zeros((2, 3, 1)), np.array([[[1.0]], [[2.0]]]), np.array([0, 2])).squeeze()
    array([[1., 0., 0.],
           [0., 0., 2.]])
    """
    if mode not in ("linear", "circular"):
        raise make_choice_error("tensor_scatter", "mode", mode, ("linear", "circular"))
    return run(
        "tensor_scatter", past_cache, update, write_indices, axis=axis, mode=mode, out=out, num_threads=num_threads
    )


def run(
    op: str,
    past_cache: ArrayLike,
    update: ArrayLike,
    write_indices: ArrayLike | None = None,
    *,
    axis: int,
    mode: str,
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray:
    """`tensor_scatter` under the name ``op``, on NumPy's arrays and values without an adapter."""
    if mode == "linear" and num_threads is None:
        result: np.ndarray = _try_single_position(past_cache, update, write_indices, axis, out)
        if result is not NotImplemented:
            return result
    past = convert.as_array(op, "past_cache", past_cache)
    new = convert.cast(op, "update", update, "past_cache", past)
    window = None
    if write_indices is not None:
        window = convert.as_indices(op, "write_indices", write_indices, others={"update": new})
    axis = normalise_cache_axis(op, axis, past.ndim)
    check_shapes(op, past.shape, new.shape, axis, None if window is None else window.shape)
    positions = positions_of(op, window, past.shape[0], past.shape[axis], new.shape[axis], mode)
    operation = Operation(op, Kernel.SCATTER_UPDATE, axis, 1, negative="error", num_threads=num_threads)
    return convert.execute(operation, past, positions, new, out)


def _try_single_position(past: Any, new: Any, window: Any, axis: int, out: np.ndarray | None) -> Any:
    """Run the step of a decoder, with one position for each batch entry. The core checks the positions.

    This saves microseconds in every step. The result is NotImplemented for other calls, and if an argument is wrong.
    The caller then uses the general code, which raises the error.
    """
    if not type(past) is type(new) is type(window) is np.ndarray:
        return NotImplemented
    shape, rank = past.shape, past.ndim
    if rank < 2 or type(axis) is not int or not -rank <= axis < rank or axis % rank == 0 or shape[axis] == 0:
        return NotImplemented
    if new.shape != (*shape[: axis % rank], 1, *shape[axis % rank + 1 :]) or window.shape != shape[:1]:
        return NotImplemented
    try:
        return _WRITE(past, window.reshape(-1, 1), new, axis, out)
    except (IndexError, TypeError, ValueError):
        return NotImplemented


def normalise_cache_axis(op: str, axis: int, rank: int) -> int:
    if rank < 2:
        raise make_error("cache_rank", op, rank=rank)
    if not isinstance(axis, int | np.integer):
        integer_fault(op, "axis", axis)
    if not -rank <= axis < rank or axis % rank == 0:
        raise make_error("cache_axis", op, axis=axis, rank=rank, low=1 - rank, high=rank - 1)
    return axis % rank


def check_shapes(
    op: str, past: tuple[int, ...], update: tuple[int, ...], axis: int, window: tuple[int, ...] | None
) -> None:
    fits = len(past) == len(update) and update[axis] <= past[axis]
    if not fits or past[:axis] + past[axis + 1 :] != update[:axis] + update[axis + 1 :]:
        raise make_error("cache_update", op, axis=axis, past=past, update=update)
    if window is not None and window != past[:1]:
        raise make_error("cache_starts", op, batch=past[:1], starts=window)


def positions_of(op: str, window: np.ndarray | None, batch: int, size: int, length: int, mode: str) -> np.ndarray:
    """The position of each update in the cache, shape (batch, length)."""
    if window is None:
        window = np.zeros(batch, np.int64)
    if mode == "circular" and length == 0:
        return np.zeros((batch, 0), np.int64)
    count, rule = (size, ("wrap", "end")) if mode == "circular" else (size - length + 1, ("raise", "error"))
    start = _core.resolve_indices(window[:, np.newaxis], (count,), *rule)
    if start is None:
        bad = np.flatnonzero((window < 0) | (window >= count))
        if bad.size == 0:
            raise make_error("changed_indices", op)
        subject = format_sentence("parts", "window", length=length, size=size)
        raise_index_error(op, "write_indices", window, bad, subject=subject, axis=None, allowed=(0, count - 1))
    positions = start[:, np.newaxis] + np.arange(length)
    return positions % size if mode == "circular" else positions


_WRITE = _core.bind(Operation("tensor_scatter", Kernel.SCATTER_UPDATE, 1, 1, negative="error"), True)
