"""The inputs of a session, checked against what its model declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gatherscatter.model_interface import TensorInfo
from gatherscatter.onnx.model import NOT_TENSORS, check_inputs
from gatherscatter.onnx.session.ort_values import to_array


class SessionInputs:
    """Takes arrays and OrtValues; ``optional`` inputs may be left out."""

    def __init__(self, required: Sequence[TensorInfo], optional: Sequence[TensorInfo]) -> None:
        self._required = required
        self._optional = optional
        self._names = {info.name for info in required}
        self._plain = {info.name: _form(info) for info in (*required, *optional) if _is_plain(info)}

    def check(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The inputs as arrays of the declared types and shapes, or `ModelError`."""
        if self._names <= given.keys() and all(self._fits(name, value) for name, value in given.items()):
            return given
        return check_inputs(self._required, {name: to_array(value) for name, value in given.items()}, self._optional)

    def _fits(self, name: str, value: Any) -> bool:
        """Whether an array is just what is expected, as nearly all are; else the long way converts it or complains."""
        form = self._plain.get(name)
        if form is None or type(value) is not np.ndarray:
            return False
        dtype, rank, fixed = form
        shape = value.shape
        if value.dtype is not dtype or (rank is not None and len(shape) != rank):
            return False
        return all(shape[axis] == size for axis, size in fixed)


def _is_plain(info: TensorInfo) -> bool:
    return info.element_type not in (*NOT_TENSORS, "string")


def _form(info: TensorInfo) -> tuple[np.dtype[Any], int | None, list[tuple[int, int]]]:
    """Element type, rank, and the dims that are numbers."""
    dims = info.shape or ()
    fixed = [(axis, size) for axis, size in enumerate(dims) if isinstance(size, int)]
    return np.dtype(info.element_type), None if info.shape is None else len(dims), fixed
