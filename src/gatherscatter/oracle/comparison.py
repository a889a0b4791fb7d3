"""Compare a result with that of the oracle, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter.oracle.element_types import as_objects


def assert_same(result: Any, expected: np.ndarray, like: np.ndarray, zero_sign: bool = True) -> None:
    """Assert equal dtype (that of `like`), shape and bits. NaN equals NaN. `zero_sign=False`: -0.0 equals 0.0 (O27)."""
    assert isinstance(result, np.ndarray), type(result)
    assert result.shape == expected.shape, (result.shape, expected.shape)
    if like.dtype.kind in "OUST":
        assert result.dtype.kind == like.dtype.kind, (result.dtype, like.dtype)
        assert as_objects(result).tolist() == as_objects(expected).tolist()
        return
    assert result.dtype == like.dtype, (result.dtype, like.dtype)
    assert make_comparable_elements(result, zero_sign) == make_comparable_elements(expected, zero_sign), (
        f"\nresult\n{result}\nexpected\n{expected}"
    )


def make_comparable_elements(array: np.ndarray, zero_sign: bool) -> list[Any]:
    """Every element as a comparable value: bytes, or a word for NaN. A complex number gives two values."""
    native = array.astype(array.dtype.newbyteorder("="), order="C")
    if native.dtype.kind == "c":
        native = native.reshape(native.shape or (1,)).view(native.real.dtype)
    return [make_comparable_element(native[p], zero_sign) for p in np.ndindex(native.shape)]


def make_comparable_element(value: Any, zero_sign: bool) -> Any:
    if value != value:
        return "nan"
    return "zero" if not zero_sign and value == 0 else value.tobytes()
