"""GatherTree: the sequences that a beam search has found, read from their ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _arrays, _core
from gatherscatter._pieces import contiguous, converted
from gatherscatter.errors import OpTypeError, OpValueError, raise_indices
from gatherscatter.kinds import taken


def gather_tree(step_ids: ArrayLike, parent_ids: ArrayLike, max_seq_len: ArrayLike, end_token: ArrayLike) -> np.ndarray:
    """Follow the parents of a beam search back from the last step, and lay out each beam's tokens in order.

    Parameters
    ----------
    step_ids : array of numbers, shape (T, B, W): the token of each step, batch entry and beam
    parent_ids : array of the same shape and type: which beam of the step before a token continues
    max_seq_len : array of the same type, shape (B,): how many steps each batch entry has; at most T count
    end_token : scalar of the same type: what stands after the end of a sequence

    Returns
    -------
    array of the same shape and type

    Raises
    ------
    IndexError
        A parent that is followed is outside [0, W-1].
    ValueError, TypeError
        Shapes or types don't fit.

    Source: OpenVINO GatherTree-1.

    >>> import numpy as np, gatherscatter as gs
    >>> steps = np.array([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]])
    >>> parents = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]])
    >>> gs.gather_tree(steps, parents, [3], 10)[:, 0]
    array([[2, 2, 2],
           [6, 5, 6],
           [7, 8, 9]])
    """
    given = {"step_ids": step_ids, "parent_ids": parent_ids, "max_seq_len": max_seq_len, "end_token": end_token}
    if foreign := taken("gather_tree", given):
        return foreign.give(gather_tree(**foreign.values))  # type: ignore[no-any-return]
    steps = _arrays.as_array("gather_tree", "step_ids", step_ids)
    _working_type("gather_tree", steps.dtype)
    length, end = (
        value
        if isinstance(value, np.ndarray | np.generic)
        else _arrays.cast("gather_tree", name, value, "step_ids", steps)
        for name, value in (("max_seq_len", max_seq_len), ("end_token", end_token))
    )
    return run("gather_tree", steps, parent_ids, length, end)


def run(
    op: str, step_ids: ArrayLike, parent_ids: ArrayLike, max_seq_len: ArrayLike, end_token: ArrayLike
) -> np.ndarray:
    """`gather_tree` under the name ``op``."""
    names = ("step_ids", "parent_ids", "max_seq_len", "end_token")
    values = (step_ids, parent_ids, max_seq_len, end_token)
    arrays = [_arrays.as_array(op, name, value) for name, value in zip(names, values, strict=True)]
    dtype = arrays[0].dtype
    working = _working_type(op, dtype)
    for name, array in zip(names, arrays, strict=True):
        if array.dtype.name != dtype.name:  # the byte order may differ
            text = f"{op}: {name} is of type {array.dtype}, but step_ids of type {dtype}"
            raise OpTypeError(text, op=op, input=name)
    _check_shapes(op, *(array.shape for array in arrays))
    steps, parents, lengths, end = (_working(array, working) for array in arrays)
    out = np.empty(steps.shape, working)
    bad = _core.gather_tree(steps, parents, lengths, end, out)
    if bad >= 0:
        beams = out.shape[2]
        subject = f"the beams, of which there are {beams}"
        raise_indices(op, "parent_ids", arrays[1], np.array([bad]), subject=subject, axis=2, allowed=(0, beams - 1))
    return out if out.dtype == dtype else converted(out, dtype)


def _working(array: np.ndarray, dtype: np.dtype[np.generic]) -> np.ndarray:
    return contiguous(array) if array.dtype == dtype else converted(array, dtype)


def _working_type(op: str, dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The type the kernel computes in: it holds every value of ``dtype``."""
    if dtype.name == "float16" or dtype.isbuiltin == 2:  # 2: registered with NumPy by another package
        return np.dtype(np.float32)  # halves, and the narrow types of ml_dtypes
    if dtype.kind == "b":
        return np.dtype(np.uint8)
    if dtype.kind in "iuf" and dtype.itemsize <= 8:
        return dtype.newbyteorder("=")
    raise OpTypeError(f"{op}: step_ids must be numbers of at most 64 bits, not {dtype}", op=op, input="step_ids")


def _check_shapes(
    op: str, steps: tuple[int, ...], parents: tuple[int, ...], lengths: tuple[int, ...], end: tuple[int, ...]
) -> None:
    rules = [
        (len(steps) == 3, "step_ids", f"step_ids must have shape (T, B, W), not {steps}"),
        (parents == steps, "parent_ids", f"parent_ids must have the shape of step_ids {steps}, not {parents}"),
        (lengths == steps[1:2], "max_seq_len", f"max_seq_len must have shape (B,) = {steps[1:2]}, not {lengths}"),
        (end == (), "end_token", f"end_token must be a scalar, not of shape {end}"),
    ]
    for holds, name, text in rules:
        if not holds:
            raise OpValueError(f"{op}: {text}", op=op, input=name)
