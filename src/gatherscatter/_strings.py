"""Strings and other objects: the kernels move row numbers, NumPy moves the objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter.errors import reduction_fault

GATHER_OF = {"scatter_update": "gather", "scatter_elements": "gather_elements", "scatter_nd": "gather_nd"}

Core = Callable[..., np.ndarray]


def is_string(array: np.ndarray) -> bool:
    """Whether an array holds text: fixed-width, NumPy's StringDType, or objects of str or bytes."""
    if array.dtype.kind == "O":
        return array.size > 0 and all(isinstance(element, str | bytes) for element in array.flat)
    return array.dtype.kind in "UST"


def execute(
    op: str,
    kernel: str,
    core: Core,
    data: np.ndarray,
    updates: np.ndarray | None,
    reduction: str,
    include_self: bool,
    mode: str,
) -> np.ndarray:
    """Run a kernel on objects; ``core`` runs it on numbers with the same indices and attributes."""
    if updates is None:
        return _gather(core, data)
    if reduction not in ("none", "add") or (reduction == "add" and not (is_string(data) or data.size == 0)):
        reduction_fault(op, reduction, data.dtype)
    data, updates = _common_type(data, updates)
    last_update = core(np.zeros(data.shape, np.int64), _numbers(updates), reduction="none")
    if reduction == "none":
        out = data.copy()
        touched = last_update > 0
        out[touched] = updates.reshape(-1)[last_update[touched] - 1]
        return out
    targets = core(_numbers(data), None, kernel=GATHER_OF[kernel], reduction="none",
                   mode="fill" if mode == "drop" else mode)  # fmt: skip
    return _concatenate(data, updates, targets, include_self)


def _numbers(array: np.ndarray) -> np.ndarray:
    """1, 2, 3, ... in the shape of an array; 0 stands for nothing."""
    return np.arange(1, array.size + 1, dtype=np.int64).reshape(array.shape)


def _gather(core: Core, data: np.ndarray) -> np.ndarray:
    sources = core(_numbers(data), None)
    padded = np.empty(data.size + 1, data.dtype)
    text = data.dtype.kind == "O" and (data.size == 0 or is_string(data))
    padded[0] = "" if text else np.zeros((), data.dtype)[()]
    padded[1:] = data.reshape(-1)
    return padded[sources.reshape(-1)].reshape(sources.shape)  # an array also where the result has rank 0


def _common_type(data: np.ndarray, updates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One type for both, wide enough that no text is cut."""
    if data.dtype.kind in "US" and updates.dtype.kind in "OT":
        updates = updates.astype(data.dtype.kind)
    dtype = data.dtype
    if data.dtype.kind == updates.dtype.kind and data.dtype.kind in "US":
        dtype = _wide_enough(dtype, updates.dtype)
    return data.astype(dtype, copy=False), updates.astype(dtype, copy=False)


def _wide_enough(dtype: np.dtype[Any], other: np.dtype[Any]) -> np.dtype[Any]:
    """A fixed-width type as wide as both, in the byte order of the first."""
    return np.promote_types(dtype, other).newbyteorder(dtype.byteorder)


def _concatenate(data: np.ndarray, updates: np.ndarray, targets: np.ndarray, include_self: bool) -> np.ndarray:
    texts = data.reshape(-1).tolist()
    touched = set()
    for target, update in zip(targets.reshape(-1).tolist(), updates.reshape(-1).tolist(), strict=True):
        if target == 0:
            continue
        replace = not include_self and target not in touched
        texts[target - 1] = update if replace else texts[target - 1] + update
        touched.add(target)
    dtype: Any = data.dtype
    if data.dtype.kind in "US":
        widest = max((len(text) for text in texts), default=1)
        dtype = _wide_enough(data.dtype, np.dtype(f"{data.dtype.kind}{max(widest, 1)}"))
    out = np.empty(data.shape, dtype)
    out.reshape(-1)[:] = texts
    return out
