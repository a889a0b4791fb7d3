"""Values between ONNX Runtime and NumPy: the same memory on both sides, also for types that NumPy lacks.

ONNX Runtime reads contiguous NumPy arrays where they lie, and its results are views of its own memory.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.session.runtime import onnxruntime

_NAMES = ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
# Types that NumPy has from ml_dtypes only: ONNX Runtime makes no arrays of them.
FOREIGN = {onnx.helper.np_dtype_to_tensor_dtype(np.dtype(getattr(ml_dtypes, name))): name for name in _NAMES}


def to_feed(value: Any) -> Any:
    """What ``run`` of ONNX Runtime takes for a value: an array of a foreign type becomes an OrtValue."""
    if isinstance(value, np.ndarray) and value.dtype.isbuiltin == 2:
        return to_ort(value)
    return value


def to_ort(value: Any) -> Any:
    """An OrtValue of the array's memory; of a copy if the array isn't contiguous."""
    if not isinstance(value, np.ndarray):
        return value
    array = value if value.flags.c_contiguous else value.copy()
    if array.dtype.isbuiltin != 2:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    bits = array.view(f"u{array.itemsize}")
    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, kind)


def owned(value: Any) -> Any:
    """An OrtValue with memory of its own, a copy: views that others make of it don't keep an array of ours alive."""
    if not isinstance(value, np.ndarray) or value.dtype.kind in "OSUT":
        return to_ort(value)
    foreign = value.dtype.isbuiltin == 2
    kind = onnx.helper.np_dtype_to_tensor_dtype(value.dtype) if foreign else value.dtype.type
    result = onnxruntime.OrtValue.ortvalue_from_shape_and_type(value.shape, kind)
    result.update_inplace(value.view(f"u{value.itemsize}") if foreign else value)
    return result


def to_array(value: Any) -> Any:
    """The array of an OrtValue's memory; what is no tensor, or of a packed type, stays what it is."""
    if not isinstance(value, onnxruntime.OrtValue) or not value.is_tensor():
        return value
    foreign = FOREIGN.get(value.element_type())
    if foreign is not None:
        return np.asarray(_Memory(value, np.dtype(foreign).itemsize)).view(foreign)
    try:
        return value.numpy()
    except RuntimeError:  # int4 and other packed types
        return value


class _Memory:
    """The bits of a tensor, for NumPy's array interface; the array made of it keeps the OrtValue alive."""

    def __init__(self, value: Any, itemsize: int) -> None:
        self.value = value
        shape, bits = tuple(value.shape()), f"<u{itemsize}"
        address = id(value) if 0 in shape else value.data_ptr()  # NumPy wants one of empty memory, too
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": bits, "data": (address, False)}
