"""Block-quantized tables: codes of 2, 4 or 8 bits, with a scale and a zero point for each block of a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.workload import Workload, numpy_dtype

_CODES = (1 << 20) - 1  # random bytes that are repeated; an odd number, so that rows differ


class QuantizedTable(NamedTuple):
    """A table with rows along axis 0. Codes and zero points of less than 8 bits are packed, lowest bits first."""

    codes: np.ndarray  # uint8, [rows, bytes]
    scales: np.ndarray  # [rows, blocks]
    zero_points: np.ndarray  # uint8, [rows, bytes]
    block_size: int
    bits: int

    @property
    def options(self) -> dict[str, int]:
        """The keywords of our functions, apart from the arrays."""
        return {"block_size": self.block_size, "bits": self.bits}

    def take(self, rows: np.ndarray) -> QuantizedTable:
        """Return the table of these rows."""
        return self._replace(codes=self.codes[rows], scales=self.scales[rows], zero_points=self.zero_points[rows])

    def dequantize(self) -> np.ndarray:
        """Return the numbers, ``(code - zero_point) * scale``, computed in float32."""
        codes = _unpack(self.codes, self.bits)
        blocks, width = self.scales.shape[-1], codes.shape[-1]
        zeros = _unpack(self.zero_points, self.bits)[..., :blocks]
        where = np.arange(width) // self.block_size
        numbers = (codes - zeros[..., where]) * self.scales.astype(np.float32)[..., where]
        result: np.ndarray = numbers.astype(self.scales.dtype)
        return result


def draw_table(workload: Workload, rng: np.random.Generator) -> QuantizedTable:
    """Return a table of the workload's shape. Its scales have few digits, so that float16 holds zero * scale too."""
    (rows, width), bits = workload.data, workload.bits
    block = min(workload.block_size, width)
    blocks = -(-width // block)
    codes = np.resize(rng.integers(0, 256, _CODES, np.uint8), (rows, width * bits // 8))
    zeros = np.resize(rng.integers(0, 256, _CODES, np.uint8), (rows, -(-blocks * bits // 8)))
    scales = np.resize(rng.integers(64, 128, _CODES) / 4096, (rows, blocks))
    return QuantizedTable(codes, scales.astype(numpy_dtype(workload.dtype)), zeros, block, bits)


def _unpack(packed: np.ndarray, bits: int) -> np.ndarray:
    parts = [packed >> shift & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    return np.stack(parts, axis=-1).reshape(*packed.shape[:-1], -1).astype(np.float32)
