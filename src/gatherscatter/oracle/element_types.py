"""The element types of docs/specification.md, section 1, and conversions of single elements."""

from __future__ import annotations

from typing import Any

import numpy as np

Coordinates = tuple[int, ...]  # the coordinates of an element

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
T15 = ("bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128", "string")
T16 = (*T15, "bfloat16")
EIGHT_BIT = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
T24 = (*T16, *EIGHT_BIT, "int4", "uint4", "float4_e2m1fn")
QUANTIZED = ("int4", "uint4", "uint8", *EIGHT_BIT[:4], "float4_e2m1fn")
OV_STORAGE = ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "int4", "uint4", "float4_e2m1fn")
OVRED = ("bool", *INTEGERS, "float16", "bfloat16", "float32", "float64")
OVNUM = (*OVRED, *OV_STORAGE)
OVANY = (*OVNUM, "string")
I2 = ("int32", "int64")
IL = ("int64",)
IX = INTEGERS

HALVES = ("float16", "bfloat16")
FLOATS = (*HALVES, "float32", "float64")
COMPLEX = ("complex64", "complex128")
SUMS = ("add", "sub", "mean")


def element_type(dtype: np.dtype) -> str:
    """The specification's name of a dtype. All kinds of text are one element type."""
    return "string" if dtype.kind in "OUST" else dtype.name


def is_bytes(array: np.ndarray) -> bool:
    """Bytes and text are one element type, but can't be stored in each other, because no encoding is specified."""
    return array.dtype.kind == "S"


def as_objects(array: np.ndarray) -> np.ndarray:
    """Convert text of any width to Python objects, so that it is never truncated."""
    if array.dtype.kind not in "UST":
        return array
    out = np.empty(array.shape, object)
    for p in np.ndindex(array.shape):
        out[p] = array[p].item() if isinstance(array[p], np.generic) else array[p]
    return out


def zero_of(dtype: np.dtype) -> Any:
    if dtype.kind == "O":
        return ""
    return b"" if dtype.kind == "S" else np.zeros((), dtype)[()]
