"""GatherTree: read the sequences that a beam search has found from their ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.adapters import array_function
from gatherscatter.errors import make_error, raise_index_error
from gatherscatter.messages.sentences import format_sentence
from gatherscatter.system.pieces import convert_dtype, make_contiguous


@array_function("step_ids", "parent_ids", "max_seq_len", "end_token")
def gather_tree(step_ids: ArrayLike, parent_ids: ArrayLike, max_seq_len: ArrayLike, end_token: ArrayLike) -> np.ndarray:
    """Follow the parents of a beam search back from the last step, and write each beam's tokens in order.

    Parameters
    ----------
    step_ids : array of numbers, shape (T, B, W)
        The token of each step, batch entry and beam. There are T steps, B batch entries and W beams.
    parent_ids : array of the shape and type of ``step_ids``
        The beam of the previous step that a token continues.
    max_seq_len : array of the type of ``step_ids``, shape (B,)
        The number of steps of each batch entry. A length greater than T counts as T.
    end_token : scalar of the type of ``step_ids``
        The token that fills a sequence after its end.

    Returns
    -------
    array of the shape and type of ``step_ids``

    Raises
    ------
    IndexError
        A parent that is followed is outside [0, W-1].
    ValueError, TypeError
        A shape or type is not valid.

    Source: OpenVINO GatherTree-1.

    >>> import numpy as np, gatherscatter as gs
    >>> steps = np.array([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]])
    >>> parents = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]])
    >>> gs.gather_tree(steps, parents, [3], 10)[:, 0]
    array([[2, 2, 2],
           [6, 5, 6],
           [7, 8, 9]])
    """
    steps = convert.as_array("gather_tree", "step_ids", step_ids)
    _working_type("gather_tree", steps.dtype)
    length, end = (
        value
        if isinstance(value, np.ndarray | np.generic)
        else convert.cast("gather_tree", name, value, "step_ids", steps)
        for name, value in (("max_seq_len", max_seq_len), ("end_token", end_token))
    )
    return run("gather_tree", steps, parent_ids, length, end)


def run(
    op: str, step_ids: ArrayLike, parent_ids: ArrayLike, max_seq_len: ArrayLike, end_token: ArrayLike
) -> np.ndarray:
    """`gather_tree` under the name ``op``."""
    names = ("step_ids", "parent_ids", "max_seq_len", "end_token")
    values = (step_ids, parent_ids, max_seq_len, end_token)
    arrays = [convert.as_array(op, name, value) for name, value in zip(names, values, strict=True)]
    dtype = arrays[0].dtype
    working = _working_type(op, dtype)
    for name, array in zip(names, arrays, strict=True):
        if array.dtype.name != dtype.name:  # the byte order may differ
            raise make_error("mixed_types", op, input=name, type=array.dtype, first="step_ids", first_type=dtype)
    _check_shapes(op, *(array.shape for array in arrays))
    steps, parents, lengths, end = (_working(array, working) for array in arrays)
    out = np.empty(steps.shape, working)
    bad = _core.gather_tree(steps, parents, lengths, end, out)
    if bad >= 0:
        beams = out.shape[2]
        subject = format_sentence("parts", "beams", beams=beams)
        raise_index_error(op, "parent_ids", arrays[1], np.array([bad]), subject=subject, axis=2, allowed=(0, beams - 1))
    return out if out.dtype == dtype else convert_dtype(out, dtype)


def _working(array: np.ndarray, dtype: np.dtype[np.generic]) -> np.ndarray:
    return make_contiguous(array) if array.dtype == dtype else convert_dtype(array, dtype)


def _working_type(op: str, dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The type in which the kernel computes. It holds every value of ``dtype``."""
    if dtype.name == "float16" or dtype.isbuiltin == 2:  # 2: registered with NumPy by another package
        return np.dtype(np.float32)  # halves, and the narrow types of ml_dtypes
    if dtype.kind == "b":
        return np.dtype(np.uint8)
    if dtype.kind in "iuf" and dtype.itemsize <= 8:
        return dtype.newbyteorder("=")
    raise make_error("tree_type", op, type=dtype)


def _check_shapes(
    op: str, steps: tuple[int, ...], parents: tuple[int, ...], lengths: tuple[int, ...], end: tuple[int, ...]
) -> None:
    if len(steps) != 3:
        raise make_error("tree_steps", op, steps=steps)
    if parents != steps:
        raise make_error("tree_parents", op, steps=steps, parents=parents)
    if lengths != steps[1:2]:
        raise make_error("tree_lengths", op, batch=steps[1:2], lengths=lengths)
    if end:
        raise make_error("tree_end", op, end=end)
