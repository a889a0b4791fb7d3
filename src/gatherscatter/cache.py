"""TensorScatter: writing a window of every batch entry into a cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _arrays, _core
from gatherscatter.errors import OpTypeError, OpValueError, integer_fault, raise_indices
from gatherscatter.kinds import is_lazy, taken


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
    """Write ``update`` into a cache, for every batch entry from a position of its own on.

    ``out[n, ..., w[n] + t, ...] = update[n, ..., t, ...]``, the position standing at ``axis``.

    Parameters
    ----------
    past_cache : array, shape (B, ..., M, ...), rank >= 2, M at ``axis``
    update : array of the same type and shape, but S <= M at ``axis``
    write_indices : array of any integer type, shape (B,), optional
        Where each batch entry is written; absent: at 0.
    axis : int in [-r, r-1], not the first
    mode : {'linear', 'circular'}
        'linear': ``0 <= w`` and ``w + S <= M``, else an error; 'circular': positions are taken modulo M.
    out : array, optional
        Where to write the result. ``out=past_cache`` updates in place, without a copy. Untouched when anything is
        wrong.
    num_threads : int >= 1, optional
        At most so many threads for this call.

    Returns
    -------
    array with the shape and type of ``past_cache``

    Raises
    ------
    IndexError
        A window does not fit; the message says which.
    ValueError, TypeError
        Shapes or attributes, or types, don't fit.

    Source: ONNX TensorScatter-24.

    >>> import numpy as np, gatherscatter as gs
    >>> gs.tensor_scatter(np.zeros((2, 3, 1)), np.array([[[1.0]], [[2.0]]]), np.array([0, 2])).squeeze()
    array([[1., 0., 0.],
           [0., 0., 2.]])
    """
    if mode not in ("linear", "circular"):
        error = OpValueError if isinstance(mode, str) else OpTypeError
        text = f"tensor_scatter: mode must be one of 'linear', 'circular', not {mode!r}"
        raise error(text, op="tensor_scatter", input="mode")
    arrays: dict[str, Any] = {"past_cache": past_cache, "update": update, "write_indices": write_indices}
    if is_lazy("tensor_scatter", arrays):
        from gatherscatter import dask

        lazy: Any = dask.tensor_scatter
        return lazy(**arrays, axis=axis, mode=mode, out=out, num_threads=num_threads)  # type: ignore[no-any-return]
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
    """`tensor_scatter` under the name ``op``."""
    if mode == "linear" and type(write_indices) is type(past_cache) is type(update) is np.ndarray:
        done = _one_position(op, past_cache, update, write_indices, axis, out, num_threads)
        if done is not None:
            return done
    given = {"past_cache": past_cache, "update": update, "write_indices": write_indices, "out": out}
    if foreign := taken(op, given):
        result = run(op, **foreign.values, axis=axis, mode=mode, num_threads=num_threads)
        return foreign.give(result)  # type: ignore[no-any-return]
    past = _arrays.as_array(op, "past_cache", past_cache)
    new = _arrays.cast(op, "update", update, "past_cache", past)
    window = None if write_indices is None else _arrays.as_indices(op, "write_indices", write_indices)
    axis = normalised(op, axis, past.ndim)
    check_shapes(op, past.shape, new.shape, axis, None if window is None else window.shape)
    positions = positions_of(op, window, past.shape[0], past.shape[axis], new.shape[axis], mode)
    target = past_cache if out is past_cache else past  # `execute` recognises in-place by identity
    return _arrays.execute(
        op, "scatter_update", target, positions, new, axis=axis, batch_dims=1, out=out, num_threads=num_threads
    )


def _one_position(
    op: str,
    past: np.ndarray,
    new: np.ndarray,
    window: np.ndarray,
    axis: int,
    out: np.ndarray | None,
    num_threads: int | None,
) -> np.ndarray | None:
    """The step of a decoder, where a microsecond counts: one position each, which the core checks itself.

    None when it is something else, or when anything is wrong: then the long way says what.
    """
    shape, rank = past.shape, past.ndim
    if rank < 2 or type(axis) is not int or not -rank <= axis < rank or axis % rank == 0 or shape[axis] == 0:
        return None
    if new.shape != (*shape[: axis % rank], 1, *shape[axis % rank + 1 :]) or window.shape != shape[:1]:
        return None
    try:
        return _core.apply(
            op, "scatter_update", past, window.reshape(-1, 1), new, axis, 1, "none", True, "step", "raise", False, out,
            num_threads,
        )  # fmt: skip
    except (IndexError, TypeError, ValueError):
        return None


def normalised(op: str, axis: int, rank: int) -> int:
    if rank < 2:
        raise OpValueError(f"{op}: past_cache must have at least 2 dimensions, not {rank}", op=op, input="past_cache")
    if not isinstance(axis, int | np.integer):
        integer_fault(op, "axis", axis)
    if not -rank <= axis < rank or axis % rank == 0:
        valid = f"valid: {1 - rank}..{rank - 1}, but not 0"
        text = f"{op}: axis {axis} is out of range for past_cache of rank {rank} ({valid})"
        raise OpValueError(text, op=op, input="axis")
    return axis % rank


def check_shapes(
    op: str, past: tuple[int, ...], update: tuple[int, ...], axis: int, window: tuple[int, ...] | None
) -> None:
    fits = len(past) == len(update) and update[axis] <= past[axis]
    if not fits or past[:axis] + past[axis + 1 :] != update[:axis] + update[axis + 1 :]:
        text = f"{op}: update must have the shape of past_cache, but at axis {axis} it may be shorter"
        raise OpValueError(f"{text} (past_cache {past}, update {update})", op=op, input="update")
    if window is not None and window != past[:1]:
        text = f"{op}: write_indices must have shape {past[:1]}, one position a batch entry, not {window}"
        raise OpValueError(text, op=op, input="write_indices")


def positions_of(op: str, window: np.ndarray | None, batch: int, size: int, length: int, mode: str) -> np.ndarray:
    """Where each of the updates goes, shape (batch, length)."""
    if window is None:
        window = np.zeros(batch, np.int64)
    if mode == "linear":
        bad = np.flatnonzero((window < 0) | (window > size - length))
        if bad.size:
            subject = f"{length} positions from there on in a cache of size {size}"
            raise_indices(op, "write_indices", window, bad, subject=subject, axis=None, allowed=(0, size - length))
        return window.astype(np.int64)[:, np.newaxis] + np.arange(length)
    if length == 0:
        return np.zeros((batch, 0), np.int64)
    start = np.mod(window, size) if size <= np.iinfo(window.dtype).max else np.mod(window.astype(np.int64), size)
    return (start.astype(np.int64)[:, np.newaxis] + np.arange(length)) % size
