"""The element types of OpenVINO IR that NumPy and ml_dtypes can hold, under their three names."""

from __future__ import annotations

import reprlib
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np


class ElementType(NamedTuple):
    """One element type: ``f32`` in attributes, ``FP32`` on ports, and the NumPy dtype that holds it."""

    name: str
    precision: str
    dtype: np.dtype[Any]
    is_narrow: bool = False

    @property
    def numpy_name(self) -> str:
        """The name used everywhere else in this package: ``float32``, ``bool``, ``string``."""
        return "string" if self.dtype.kind == "O" else self.dtype.name


BFLOAT16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
STRING: np.dtype[Any] = np.dtype(object)

ELEMENT_TYPES = (
    ElementType("boolean", "BOOL", np.dtype(np.bool_)),
    ElementType("i8", "I8", np.dtype(np.int8)),
    ElementType("i16", "I16", np.dtype(np.int16)),
    ElementType("i32", "I32", np.dtype(np.int32)),
    ElementType("i64", "I64", np.dtype(np.int64)),
    ElementType("u8", "U8", np.dtype(np.uint8)),
    ElementType("u16", "U16", np.dtype(np.uint16)),
    ElementType("u32", "U32", np.dtype(np.uint32)),
    ElementType("u64", "U64", np.dtype(np.uint64)),
    ElementType("f16", "FP16", np.dtype(np.float16)),
    ElementType("bf16", "BF16", BFLOAT16),
    ElementType("f32", "FP32", np.dtype(np.float32)),
    ElementType("f64", "FP64", np.dtype(np.float64)),
    ElementType("string", "STRING", STRING),
)

# Types of 4 and 8 bits. They are read, and not written.
NARROW_TYPES = tuple(
    ElementType(name, name.upper(), np.dtype(dtype), is_narrow=True)
    for name, dtype in {
        "i4": ml_dtypes.int4,
        "u4": ml_dtypes.uint4,
        "f4e2m1": ml_dtypes.float4_e2m1fn,
        "f8e4m3": ml_dtypes.float8_e4m3fn,
        "f8e5m2": ml_dtypes.float8_e5m2,
        "f8e8m0": ml_dtypes.float8_e8m0fnu,
    }.items()
)

_BY_NAME = {element_type.name: element_type for element_type in (*ELEMENT_TYPES, *NARROW_TYPES)}
_BY_DTYPE = {element_type.dtype: element_type for element_type in ELEMENT_TYPES}


def from_name(name: str) -> ElementType:
    """Return the element type with this name. ValueError for types that NumPy and ml_dtypes lack (u1, nf4)."""
    try:
        return _BY_NAME[name.lower()]
    except KeyError:
        raise ValueError(f"element type {reprlib.repr(name)} is not supported (known: {', '.join(_BY_NAME)})") from None


def from_dtype(dtype: np.dtype[Any]) -> ElementType:
    """Return the element type for ``dtype``. Every text dtype is ``string``."""
    native = dtype.newbyteorder("=") if dtype.kind not in "OUST" else STRING
    try:
        return _BY_DTYPE[native]
    except KeyError:
        raise ValueError(f"OpenVINO IR has no element type for {dtype}") from None


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether ``dtype`` is one of the four floating types."""
    return dtype.kind == "f" or dtype == BFLOAT16


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether ``dtype`` is a 16-bit float. Sums of these are computed in float32 and rounded once."""
    return is_float(dtype) and dtype.itemsize == 2
