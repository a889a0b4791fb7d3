"""Random arrays that fit the declared inputs of a model.

An integer input may index an axis of any size, and its type does not show it. Zero is in range for every axis that has
elements. Integers are therefore all zero, unless the caller gives a larger bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from gatherscatter.messages.text import shape_text
from gatherscatter_models.interface import ModelError, TensorInfo

LARGEST = 4 << 30  # bytes in total, so that a shape in a model file can't fill the memory
STRING_LENGTH = 4
UNNAMED = "?"  # the name in --dim of unknown sizes without a name


def make_inputs(
    declared: Sequence[TensorInfo],
    *,
    seed: int = 0,
    sizes: Mapping[str, int] | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    below: int = 1,
) -> dict[str, np.ndarray]:
    """Make an array for each declared input: floats in [0, 1), integers in 0 .. below - 1, random bools and letters."""
    generator = np.random.default_rng(seed)
    wanted = {info.name: _shape(info, sizes or {}, shapes or {}) for info in declared}
    total = sum(math.prod(shape) * _item_size(info) for info, shape in zip(declared, wanted.values(), strict=True))
    if total > LARGEST:
        raise ModelError(
            f"random inputs would take {total / 2**30:.1f} GiB, more than {LARGEST >> 30} GiB: "
            "choose smaller shapes or pass the inputs as files"
        )
    return {info.name: _random(generator, info, wanted[info.name], below) for info in declared}


def _shape(info: TensorInfo, sizes: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    if info.name in shapes:
        return _check_shape(info, shapes[info.name])
    if info.shape is None:
        raise ModelError(f"input {info.name!r} has no declared rank: give its shape with --shape {info.name}=2,3")
    return tuple(size if isinstance(size, int) else sizes.get(size or UNNAMED, 1) for size in info.shape)


def _check_shape(info: TensorInfo, shape: tuple[int, ...]) -> tuple[int, ...]:
    fixed = info.shape if info.shape is not None else (None,) * len(shape)
    fits = len(fixed) == len(shape) and all(
        not isinstance(size, int) or size == given for size, given in zip(fixed, shape, strict=True)
    )
    if not fits:
        raise ModelError(
            f"input {info.name!r} has the declared shape {shape_text(info.shape)}, not {shape_text(shape)}"
        )
    return shape


def numpy_type(info: TensorInfo) -> np.dtype:
    """Return the NumPy type of an element type name."""
    import ml_dtypes  # noqa: F401  registers bfloat16 and the narrow types with NumPy

    if info.element_type == "string":
        return np.dtype(object)
    try:
        return np.dtype(info.element_type)
    except TypeError:
        raise ModelError(f"input {info.name!r}: no random values for element type {info.element_type!r}") from None


def _item_size(info: TensorInfo) -> int:
    return max(numpy_type(info).itemsize, 8)  # values are drawn as 8-byte numbers first


def _random(generator: np.random.Generator, info: TensorInfo, shape: tuple[int, ...], below: int) -> np.ndarray:
    dtype = numpy_type(info)
    if info.element_type == "string":
        letters = generator.integers(ord("a"), ord("z") + 1, size=(*shape, STRING_LENGTH), dtype=np.uint32)
        return letters.view(f"<U{STRING_LENGTH}").reshape(shape).astype(object)
    if dtype == np.bool_:
        return generator.integers(0, 2, size=shape).astype(np.bool_)
    if dtype.kind in "iu" or info.element_type.lstrip("u").startswith("int"):
        return generator.integers(0, min(below, _largest(dtype) + 1), size=shape).astype(dtype)
    values = generator.random(shape)
    return (values + 1j * generator.random(shape)).astype(dtype) if dtype.kind == "c" else values.astype(dtype)


def _largest(dtype: np.dtype) -> int:
    if dtype.kind in "iu":
        return min(int(np.iinfo(dtype).max), 2**62)
    return 15 if dtype.name.startswith("u") else 7  # right for int4 and uint4; too large for int2
