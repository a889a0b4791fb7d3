"""Random block-quantized tables and calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy the names of int4, float8 and float4)
import numpy as np

FLOATS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn")
INTEGERS = ("uint8", "int8", "int4", "uint4")
SCALES = ("float32", "float16", "bfloat16")


@dataclass
class QuantizedCall:
    """The arguments of a call of `gather_quantized`."""

    data: np.ndarray
    indices: np.ndarray
    scales: np.ndarray
    zero_points: np.ndarray | None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> tuple[np.ndarray | None, ...]:
        return self.data, self.indices, self.scales, self.zero_points


def draw_codes(generator: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """All codes of a type. Those of ml_dtypes have one code in a byte, and other bits of the byte are random."""
    codes = generator.integers(0, 256, shape, np.uint8)
    if kind in ("int4", "uint4"):
        return (codes & 15).astype(np.int8).astype(kind) if kind == "uint4" else (codes % 16 - 8.0).astype(kind)
    return codes if kind == "uint8" else _as(codes, kind)


def _as(codes: np.ndarray, kind: str) -> np.ndarray:
    return (codes & 15 if kind == "float4_e2m1fn" else codes).view(kind)


def draw_call(
    generator: np.random.Generator,
    kind: str,
    *,
    scale_type: str = "float32",
    rank: int | None = None,
    bad: bool = False,
    like_onnxruntime: bool = False,
) -> QuantizedCall:
    """A random call. ``bad``: indices can be out of range. ``like_onnxruntime``: only what its kernel supports."""
    rank = int(generator.integers(2 if like_onnxruntime else 1, 5)) if rank is None else rank
    bits = int(generator.choice([2, 4, 8])) if kind == "uint8" else 4
    packed = kind == "uint8" and bits < 8
    if packed:
        rank = max(rank, 2)
    axis, along = (int(generator.integers(rank)) for _ in range(2))
    if kind == "uint8" and like_onnxruntime:
        axis, along = 0, rank - 1
    elif packed:
        axis = int(generator.integers(rank - 1))
    block = int(generator.choice([16, 32] if like_onnxruntime else [1, 2, 3, 16, 20, 32, 700]))
    shape = [int(n) for n in generator.integers(1, 6, rank)]
    shape[along] = int(generator.integers(1, 80))
    if rank <= 2 and generator.random() < 0.1:
        shape[int(generator.integers(rank))] = 1200
    count = 8 // bits if packed else 1
    numbers = [*shape[:-1], shape[-1] * count]
    floats = kind in FLOATS
    whole = generator.random() < 0.2 and (floats or not like_onnxruntime)
    blocks = list(numbers)
    blocks[along] = 1 if whole else -(-numbers[along] // block)
    if floats or not like_onnxruntime:
        blocks = [1 if d != along and generator.random() < 0.2 else n for d, n in enumerate(blocks)]
    powers = np.float64(10) ** generator.integers(-6, 5, blocks)
    scales = (generator.standard_normal(blocks) * powers).astype(scale_type)
    if generator.random() < 0.2 and scales.size:
        scales.reshape(-1)[generator.integers(scales.size)] = generator.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
    zeros = None
    if not floats and generator.random() < 0.5:
        zeros = draw_codes(generator, kind, (*blocks[:-1], -(-blocks[-1] // count)))
    size = shape[axis]
    reach = 2 if bad else 0
    index_shape = tuple(int(n) for n in generator.integers(0, 4, generator.integers(0, 3)))
    index_type = generator.choice(["int32", "int64"] if like_onnxruntime else ["int16", "int32", "int64"])
    indices = generator.integers(-size - reach, size + reach, index_shape).astype(index_type)
    options = {"axis": axis, "quantize_axis": along, "block_size": 0 if whole else block, "bits": bits}
    return QuantizedCall(draw_codes(generator, kind, tuple(shape)), indices, scales, zeros, options)
