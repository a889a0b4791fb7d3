"""Casts and copies by the core, compared with the rule in `casts` and with NumPy's copies."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import gatherscatter as gs
from gatherscatter import _core
from gatherscatter.arrays import casts

NAMES = ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
NAMES += ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
TYPES = {name: np.dtype(getattr(ml_dtypes, name, name)) for name in NAMES}
OTHERS = ["float8_e4m3fn", "int4", "datetime64[s]", "U3", "S2", "O", "V4"]


def edges(dtype: np.dtype) -> np.ndarray:
    """Values near the limits of all types, and numbers that types round differently."""
    if dtype.kind == "b":
        return np.array([0, 1, 2, 255], np.uint8).view(bool)
    if dtype.kind in "iu":
        low, high = casts.bounds(dtype)
        near = [sign * 2**power + step for power in range(65) for sign in (1, -1) for step in (-1, 0, 1)]
        return np.array([value for value in (*near, low, high) if low <= value <= high], dtype)
    parts = [0.0, -0.0, 1.5, 65504.0, 65519.9, 65520.0, 3.4028235e38, 3.5e38, 1e300, 1e-45, 6e-8, 1e-310]
    parts += [1 + 2**-11 + 2**-40, 1 + 2**-8 + 2**-40, 1 + 3 * 2**-11 - 2**-40, float("inf"), float("nan")]
    with np.errstate(over="ignore", invalid="ignore"):
        real = np.array([sign * part for part in parts for sign in (1, -1)]).astype(dtype)
    if dtype.kind == "c":
        real.imag = real.real[::-1]
    return real


def bits(array: np.ndarray) -> bytes:
    """The bytes of an array, with one NaN for all."""
    array = array.reshape(-1).copy()
    parts = array.view(array.real.dtype) if array.dtype.kind == "c" else array
    if parts.dtype.kind in "fV":
        parts[parts != parts] = np.nan
    return array.tobytes()


@pytest.mark.parametrize(("source", "target"), list(itertools.product(NAMES, NAMES)))
def test_every_pair_of_types_follows_the_rule(source: str, target: str) -> None:
    values, dtype = edges(TYPES[source]), TYPES[target]
    if not casts.can_represent_type(values.dtype, dtype):
        assert _core.cast(values, dtype) is NotImplemented
        return
    if source == target:
        assert _core.cast(values, dtype).tobytes() == values.tobytes()
        return
    fitting = []
    for value in values:
        one = np.array([value], values.dtype)
        made, changed = casts.convert_checked(one, dtype)
        found = _core.cast(one, dtype)
        if changed is not None and changed.any():
            assert found is None
        else:
            assert found.dtype == dtype
            assert bits(found) == bits(made)
            fitting.append(value)
    many = np.resize(np.array(fitting, values.dtype), 1000)  # several blocks, and a part of one
    made, _ = casts.convert_checked(many, dtype)
    assert bits(_core.cast(many, dtype)) == bits(made)
    for at in (0, 511, 999):  # one value that does not fit
        for value in {value.item() for value in values if value not in fitting and value == value}:
            some = many.copy()
            some[at] = value
            assert _core.cast(some, dtype) is None


@pytest.mark.parametrize(("source", "target"), [(a, b) for a in OTHERS for b in (*OTHERS, "float32") if a != b])
def test_other_types_are_left_to_python(source: str, target: str) -> None:
    one, other = (np.dtype(getattr(ml_dtypes, name, name)) for name in (source, target))
    assert _core.cast(np.zeros(3, one), other) is NotImplemented
    assert _core.cast(np.zeros(3, np.int8), one) is NotImplemented


def layouts(shape: tuple[int, ...], dtype: np.dtype) -> list[np.ndarray]:
    size = int(np.prod(shape))
    memory = np.resize(np.arange(251, dtype=np.uint8), (size * 4 + 1) * dtype.itemsize)
    if dtype.kind == "b":
        memory &= 1
    plain = memory[: size * dtype.itemsize].view(dtype).reshape(shape)
    found = [plain, plain.T.copy().T]
    if shape:
        found.append(np.concatenate([plain, plain[..., :1]], axis=-1)[..., :-1])  # the first columns of a wider array
        found += [plain[::-1], plain[..., ::-1], np.repeat(plain, 2, axis=-1)[..., ::2]]
    found.append(np.ndarray(shape, dtype, memory.data, 1))  # not aligned
    for zeros in itertools.product((False, True), repeat=len(shape)):
        strides = tuple(0 if zero else step for zero, step in zip(zeros, plain.strides, strict=True))
        found.append(as_strided(plain, shape, strides))
    found.append(as_strided(plain, shape, tuple(reversed(plain.strides))) if shape == shape[::-1] else plain)
    return found


@pytest.mark.parametrize(
    "dtype", ["bool", "int16", "float32", ">i2", ">f4", "float64", ">c8", ">c16", "complex128", "V3", "S5", "M8[s]"]
)
@pytest.mark.parametrize("shape", [(), (1,), (1000,), (7, 5), (3, 1, 300), (2, 3, 4, 5), (70, 70), (130, 9), (0, 3)])
@pytest.mark.parametrize("threads", [1, 2])
def test_every_layout_is_copied(dtype: str, shape: tuple[int, ...], threads: int) -> None:
    before = _core.num_threads()
    gs.set_num_threads(threads)
    try:
        for array in layouts(shape, np.dtype(dtype)):
            assert _core.copied(array, array.dtype).tobytes() == array.tobytes()
            swapped = array.dtype.newbyteorder()
            if array.dtype.kind in "ifc":
                assert _core.copied(array, swapped).tobytes() == array.astype(swapped).tobytes()
                wide = np.dtype(">c16" if array.dtype.kind != "i" else ">i8")
                with np.errstate(all="ignore"):
                    assert bits(_core.cast(array, wide).astype(wide.newbyteorder("="))) == bits(
                        array.astype(wide.newbyteorder("="))
                    )
    finally:
        gs.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128", "S5"])
@pytest.mark.parametrize("width", range(1, 10))
def test_narrow_rows_are_copied_and_cast(dtype: str, width: int) -> None:
    table = np.resize(np.arange(120, dtype=np.uint8), (300, 12, np.dtype(dtype).itemsize)).view(dtype)[..., 0]
    for rows in (table[:, :width], table[:, 1 : width + 1], table[:, ::-1][:, :width], table[5:250, 11 - width : 11]):
        assert _core.copied(rows, rows.dtype).tobytes() == rows.tobytes()
        if dtype != "S5":
            wide = np.dtype(complex)
            assert bits(np.asarray(_core.cast(rows, wide))) == bits(rows.astype(wide))


@pytest.mark.parametrize("shape", [(1100, 700), (2, 300_001), (300_001, 2), (65, 64, 63)])
@pytest.mark.parametrize("dtype", ["int16", "float32", ">f8"])
@pytest.mark.parametrize("threads", [1, 2])
def test_large_arrays_are_transposed(shape: tuple[int, ...], dtype: str, threads: int) -> None:
    before = _core.num_threads()
    gs.set_num_threads(threads)
    try:
        plain = np.arange(int(np.prod(shape)), dtype=np.int64).astype(dtype).reshape(shape)
        for array in (plain.T, plain[::-1].T, plain.T[::-1, ..., 1:], np.moveaxis(plain, 0, -1)):
            assert _core.copied(array, array.dtype).tobytes() == array.tobytes()
            assert np.array_equal(_core.cast(array, np.dtype(complex)), array.astype(complex))
    finally:
        gs.set_num_threads(before)


def test_a_plan_shows_the_cast_and_its_memory() -> None:
    data, indices, updates = np.zeros(10), np.zeros(1000, np.int64), np.zeros(1000, np.float32)
    plan = gs.plan("scatter_update", data, indices, updates, reduction="add")
    assert "updates is copied first: it is cast to float64" in plan.steps
    assert plan.copies == ("updates",)
    assert plan.copied_bytes == 8000


def test_data_in_the_other_byte_order_is_the_only_copy() -> None:
    data, indices, updates = np.arange(5.0), np.array([1, 1, 4]), np.array([1, 2, 3], np.float32)
    for reduction, result in (("add", [0, 4, 2, 3, 7]), ("max", [0, 2, 2, 3, 4])):
        given = (data.astype(">f8"), indices, updates.astype(float))
        assert gs.plan("scatter_update", *given, reduction=reduction).copies == ("data",)
        found = gs.scatter_update(*given, reduction=reduction)
        assert found.dtype == ">f8"
        assert found.tolist() == result
        out = data.astype(">f8")
        assert gs.scatter_update(out, *given[1:], reduction=reduction, out=out) is out
        assert out.tolist() == result


def test_a_value_that_does_not_fit_is_named_before_anything_is_written() -> None:
    data = np.zeros(5, np.int8)
    updates = np.zeros((4, 1000), np.int64).T
    updates[700, 2] = -129
    with pytest.raises(gs.OpValueError, match=r"updates\[700, 2\] = -129 does not fit in data of type int8"):
        gs.scatter_update(data, np.zeros((1000, 4), np.int64), updates, reduction="add", out=data)
    assert not data.any()
