"""NumPy code for the numbers of a block-quantized table."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter.arrays.convert import element_type


def number_lines(arrays: dict[str, np.ndarray], attributes: dict[str, Any]) -> list[str]:
    """Lines that replace ``data`` by the numbers of the table."""
    kind, bits = element_type(arrays["data"].dtype), attributes["bits"]
    along, block_size = attributes["quantize_axis"], attributes["block_size"]
    lines = []
    codes, zeros = "data", "zero_points" if "zero_points" in arrays else "0"
    if kind == "uint8":
        lines += [
            "def unpack(codes):",
            f"    shifts = np.arange(0, 8, {bits}, dtype=np.uint8)",
            f"    return (codes[..., np.newaxis] >> shifts & {2**bits - 1}).reshape(*codes.shape[:-1], -1)",
        ]
        codes = "unpack(data)"
        zeros = "unpack(zero_points)[..., : scales.shape[-1]]" if zeros == "zero_points" else str(2 ** (bits - 1))
    blocks = (
        f"np.arange(codes.shape[{along}]) // {block_size}" if block_size else f"np.zeros(codes.shape[{along}], int)"
    )
    lines += [f"codes = {codes}", f"blocks = {blocks}"]
    if "zero_points" in arrays:
        lines.append(f"zeros = np.take({zeros}, blocks, axis={along}).astype(np.float32)")
        zeros = "zeros"
    factors = f"np.take(scales, blocks, axis={along}).astype(np.float32)"
    lines.append(f"data = ((codes.astype(np.float32) - {zeros}) * {factors}).astype(scales.dtype)")
    return lines
