"""GatherBlockQuantized of ONNX Runtime: the rules of the operator beyond those of `gather_quantized`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter.arrays.convert import element_type
from gatherscatter.errors import make_error
from gatherscatter.functions import gather_quantized
from gatherscatter.operation import Operation
from gatherscatter.specs.table import Dims

_SMALLEST_BLOCK = 16


def run(operation: Operation, *inputs: Any) -> np.ndarray:
    """Run the operator on inputs of its types. An index out of range gives zeros."""
    arrays = dict(zip(("data", "indices", "scales", "zero_points"), inputs, strict=False))
    check_operation(operation, arrays["data"], arrays["scales"])
    return gather_quantized.run(operation, arrays)


def check_operation(operation: Operation, data: np.ndarray, scales: np.ndarray) -> None:
    """Check the attributes of a call."""
    assert operation.table is not None
    kind, attributes = element_type(data.dtype), operation.table._asdict()
    check(operation.op, kind, data.shape, scales.shape, gather_axis=operation.axis, **attributes)


def check(
    op: str, kind: str, data: Dims, scales: Dims, *, gather_axis: int, quantize_axis: int, block_size: int, bits: int
) -> None:
    """Check the attributes. The kernel has fewer rules for them (rulings M1 to M4).

    ``kind`` is the element type of data, ``data`` and ``scales`` are shapes. Unknown sizes are None.
    """
    rank = len(data)
    floats = kind.startswith("float")
    if rank == 0:
        raise make_error("no_rows", op, input="data")
    for name, axis in (("gather_axis", gather_axis), ("quantize_axis", quantize_axis)):
        if not -rank <= axis < rank:
            raise make_error("quantized_axis", op, input=name, axis=axis, rank=rank, shape=data)
    is_power = block_size >= _SMALLEST_BLOCK and block_size & (block_size - 1) == 0
    if not is_power and not (floats and block_size == 0):
        raise make_error("block_size_power", op, value=block_size, type=kind)
    if not floats and bits not in ((2, 4, 8) if kind == "uint8" else (4,)):
        raise make_error("bits_of_type", op, value=bits, type=kind, bits="2, 4 or 8" if kind == "uint8" else "4")
    if kind == "uint8" and (gather_axis % rank != 0 or quantize_axis % rank == 0):
        raise make_error("axes_of_bytes", op, gather_axis=gather_axis, quantize_axis=quantize_axis)
    if not floats and len(scales) == rank:  # the kernel broadcasts scales of all types
        for d in range(rank):
            if d != quantize_axis % rank and scales[d] == 1 != data[d]:
                raise make_error("shared_scales", op, shape=scales, axis=d, type=kind)
