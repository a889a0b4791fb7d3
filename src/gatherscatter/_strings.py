"""Strings and other objects: the kernels move row numbers, NumPy moves the objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter.errors import OpTypeError, reduction_fault

GATHER_OF = {"scatter_update": "gather", "scatter_elements": "gather_elements", "scatter_nd": "gather_nd"}

Core = Callable[..., np.ndarray]


def text_kind(array: np.ndarray) -> str:
    """ "str" or "bytes" for an array of text; "" for any other. Empty object arrays hold str."""
    if array.dtype.kind == "O":
        kinds = {type(element) for element in array.flat}
        return "bytes" if kinds == {bytes} else "str" if all(issubclass(kind, str) for kind in kinds) else ""
    return {"U": "str", "T": "str", "S": "bytes"}.get(array.dtype.kind, "")


def needs_numbers(data: np.ndarray, updates: np.ndarray | None, reduction: str) -> bool:
    """Whether the kernels can't move or combine these elements themselves."""
    if data.dtype.hasobject:
        return True
    if data.dtype.kind not in "US":
        return False
    other_type = updates is not None and updates.dtype != data.dtype
    return data.dtype.itemsize == 0 or reduction != "none" or other_type


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
    if reduction not in ("none", "add") or (reduction == "add" and not text_kind(data)):
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
    try:
        return _concatenate(data, updates, targets, include_self)
    except TypeError:  # a missing value of StringDType
        raise OpTypeError(f"{op}: not all elements are text that can be concatenated", op=op, input="data") from None


def _numbers(array: np.ndarray) -> np.ndarray:
    """1, 2, 3, ... in the shape of an array; 0 stands for nothing."""
    return np.arange(1, array.size + 1, dtype=np.int64).reshape(array.shape)


def _gather(core: Core, data: np.ndarray) -> np.ndarray:
    sources = core(_numbers(data), None)
    out = np.zeros(sources.shape, data.dtype)  # what no source is found for stays zero
    if data.dtype.kind == "O" and np.any(sources == 0) and text_kind(data):
        out[...] = ""
    found = sources > 0
    out[found] = data.reshape(-1)[sources[found] - 1]
    return out


def _common_type(data: np.ndarray, updates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One type for both, wide enough that no text is cut."""
    dtype = _wide_enough(data.dtype, updates.dtype) if data.dtype.kind in "US" else data.dtype
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
