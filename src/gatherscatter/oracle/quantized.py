"""Gathers from block-quantized tables: docs/specification.md, 2.13."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from gatherscatter.oracle.element_types import Coordinates, element_type
from gatherscatter.oracle.indices import IndexRule, Z, norm_axis, require, resolve_all
from gatherscatter.oracle.rationals import round_to_format

# The floats with few bits: bits of exponent and of mantissa, bias, and the codes that are not numbers.
_IEEE, _LAST, _MINUS_ZERO, _NONE = "ieee", "all bits set", "minus zero", "none"
SMALL_FLOATS = {
    "float4_e2m1fn": (2, 1, 1, _NONE),
    "float8_e4m3fn": (4, 3, 7, _LAST),
    "float8_e4m3fnuz": (4, 3, 8, _MINUS_ZERO),
    "float8_e5m2": (5, 2, 15, _IEEE),
    "float8_e5m2fnuz": (5, 2, 16, _MINUS_ZERO),
}
CODES = ("uint8", "int8", "int4", "uint4", *SMALL_FLOATS)
SCALES = ("float32", "float16", "bfloat16")


def gather_quantized(
    data: np.ndarray,
    indices: np.ndarray,
    scales: np.ndarray,
    zero_points: np.ndarray | None,
    axis: int,
    quantize_axis: int,
    *,
    block_size: int,
    bits: int,
    rule: IndexRule,
) -> np.ndarray:
    """Each number is computed alone, from its code, the scale and the zero point of its block."""
    kind = element_type(data.dtype)
    require(data.ndim >= 1)
    axis, along = norm_axis(axis, data.ndim), norm_axis(quantize_axis, data.ndim)
    require(block_size >= 0)
    require(zero_points is None or kind not in SMALL_FLOATS)
    require(not (kind == "uint8" and bits < 8 and axis == data.ndim - 1))
    codes = unpack(data, bits)
    size = codes.shape[along]
    block = block_size if block_size > 0 else max(size, 1)
    blocks = (*codes.shape[:along], -(-size // block), *codes.shape[along + 1 :])
    require(scales.ndim == data.ndim)
    for d in range(data.ndim):
        require(scales.shape[d] == blocks[d] or (scales.shape[d] == 1 and d != along))
    if zero_points is not None:
        packed = list(scales.shape)
        if kind == "uint8":
            packed[-1] = -(-packed[-1] // (8 // bits))
        require(list(zero_points.shape) == packed)
        zero_points = unpack(zero_points, bits)  # the codes behind the last block are not used
    at = resolve_all(indices, lambda p: codes.shape[axis], rule)
    out = np.full(
        codes.shape[:axis] + indices.shape + codes.shape[axis + 1 :], rule.element(scales.dtype), scales.dtype
    )
    for outer in np.ndindex(codes.shape[:axis]):
        for i in np.ndindex(indices.shape):
            for inner in np.ndindex(codes.shape[axis + 1 :]):
                if at[i] is None:
                    continue
                p: Coordinates = (*outer, at[i], *inner)
                q = tuple(
                    0 if scales.shape[d] == 1 and d != along else p[d] // block if d == along else p[d]
                    for d in range(data.ndim)
                )
                zero = None if zero_points is None else int(zero_points[q])
                out[outer + i + inner] = number(int(codes[p]), kind, bits, scales[q], zero)
    return out


def gather_block_quantized(data: np.ndarray, indices: np.ndarray, scales: np.ndarray,
                           zero_points: np.ndarray | None = None, *, gather_axis: int, quantize_axis: int,
                           block_size: int, bits: int) -> np.ndarray:  # fmt: skip
    """The operator of ONNX Runtime, with its demands on attributes (M1 to M4)."""
    kind, r = element_type(data.dtype), data.ndim
    floats = kind in SMALL_FLOATS
    axis, along = norm_axis(gather_axis, r), norm_axis(quantize_axis, r)
    require(block_size in [2**n for n in range(4, 63)] or (floats and block_size == 0))
    if kind == "uint8":
        require(bits in (2, 4, 8) and axis == 0 and along != 0)
    elif not floats:
        require(bits == 4)
    if not floats and scales.ndim == r:
        require(all(d == along or scales.shape[d] != 1 or data.shape[d] == 1 for d in range(r)))
    return gather_quantized(data, indices, scales, zero_points, axis, along, block_size=block_size, bits=bits, rule=Z)


def unpack(array: np.ndarray, bits: int) -> np.ndarray:
    """One code for each number, as an unsigned integer. A byte of uint8 holds codes from the lowest bits on."""
    kind = element_type(array.dtype)
    if kind != "uint8":
        mask = 15 if kind in ("int4", "uint4", "float4_e2m1fn") else 255
        return np.asarray(array.view(np.uint8) & mask)
    count = 8 // bits
    out = np.zeros((*array.shape[:-1], array.shape[-1] * count), np.uint8)
    for p in np.ndindex(out.shape):
        byte = int(array[(*p[:-1], p[-1] // count)])
        out[p] = byte >> (p[-1] % count * bits) & (2**bits - 1)
    return out


def number(code: int, kind: str, bits: int, scale: Any, zero: int | None) -> Any:
    """(value of the code - zero point) * scale, rounded to float32 and then to the type of the scale."""
    dtype = np.asarray(scale).dtype
    factor = float(scale)
    if kind in SMALL_FLOATS:
        value: Any = small_float(code, kind)
    else:
        width = bits if kind == "uint8" else 8 if kind == "int8" else 4
        signed = kind.startswith("int")
        default = 2 ** (bits - 1) if kind == "uint8" else 0
        value = float(_signed(code, width, signed) - (default if zero is None else _signed(zero, width, signed)))
    product = value * factor  # as float64
    if np.isfinite(value) and np.isfinite(factor):
        exact = Fraction(value) * Fraction(factor)
        if exact != 0:  # a product that is 0 has the sign of float64's product
            product = round_to_format(exact, "float32")
            name = element_type(dtype)
            if np.isfinite(product) and product != 0 and name != "float32":
                rounded = round_to_format(Fraction(product), name)
                product = rounded if rounded != 0 else np.copysign(0.0, product)
            elif product == 0:
                product = np.copysign(0.0, value * factor or float(exact))
    return np.asarray(product).astype(dtype)[()]


def _signed(code: int, bits: int, signed: bool) -> int:
    return code - 2**bits if signed and code >= 2 ** (bits - 1) else code


def small_float(code: int, kind: str) -> float:
    """The value of a code of a float with few bits."""
    exponent_bits, mantissa_bits, bias, odd = SMALL_FLOATS[kind]
    sign = -1.0 if code >> (exponent_bits + mantissa_bits) else 1.0
    exponent = code >> mantissa_bits & (2**exponent_bits - 1)
    mantissa = code & (2**mantissa_bits - 1)
    if odd == _MINUS_ZERO and sign < 0 and exponent == 0 and mantissa == 0:
        return float("nan")
    if exponent == 2**exponent_bits - 1:
        if odd == _IEEE:
            return float("nan") if mantissa else sign * float("inf")
        if odd == _LAST and mantissa == 2**mantissa_bits - 1:
            return float("nan")
    if exponent == 0:
        return float(sign * mantissa * 2.0 ** (1 - bias - mantissa_bits))
    return float(sign * (mantissa + 2**mantissa_bits) * 2.0 ** (exponent - bias - mantissa_bits))
