"""Gathers from block-quantized tables: `gatherscatter.gather_quantized` for arguments that are not plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.adapters import adapter_of
from gatherscatter.arrays.convert import element_type
from gatherscatter.errors import make_error
from gatherscatter.messages.choices import CODE_TYPES, SCALE_TYPES
from gatherscatter.operation import Operation

_LARGEST_CHECKED = 1 << 22  # elements


def run(operation: Operation, arrays: dict[str, Any], out: np.ndarray | None = None) -> np.ndarray:
    """Run a call on NumPy's arrays, and on values without an adapter."""
    return prepare_inputs(operation.op, **arrays, out=out).run(operation, out)


def prepare_inputs(
    op: str,
    data: ArrayLike,
    indices: ArrayLike,
    scales: ArrayLike,
    zero_points: ArrayLike | None = None,
    out: np.ndarray | None = None,
) -> convert.Inputs:
    """Convert the inputs of a call, and check their types. The core checks shapes and values."""
    arguments = convert.Conversions(op)
    codes, factors, zeros, dtype = as_table(arguments, data, scales, zero_points)
    index_array = arguments.convert("indices", indices, convert.as_indices)
    if out is not None:
        convert.check_out(op, out, np.empty(0, dtype), None)
    arrays = {"data": codes, "indices": index_array, "scales": factors, "zero_points": zeros}
    return convert.Inputs(arrays, convert.plain_out(out, factors.dtype), dtype, arguments.made)


def check_small_table(operation: Operation, data: np.ndarray, *others: np.ndarray | None) -> None:
    """Raise the errors about the shapes of a call, unless an array has more than a few million elements.

    The core checks shapes, and copies arrays that are not contiguous before.
    """
    if all(array is None or array.size <= _LARGEST_CHECKED for array in (data, *others)):
        _core.check(operation, prepare_inputs(operation.op, data, *others).arrays)  # type: ignore[arg-type]


def as_table(
    arguments: convert.Conversions, data: ArrayLike, scales: ArrayLike, zero_points: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.dtype[Any]]:
    """Convert the arrays of a table, and check their types. Return codes, scales, zero points, and the given type."""
    op = arguments.op
    codes = arguments.convert("data", data, convert.as_array)
    if element_type(codes.dtype) not in CODE_TYPES:
        raise make_error("codes_type", op, type=element_type(codes.dtype), types=", ".join(CODE_TYPES))
    factors = arguments.convert("scales", scales, _as_scales)
    dtype = factors.dtype
    factors = arguments.convert("scales", factors, lambda op, name, value: convert.native(value))
    zeros = None
    if zero_points is not None:
        zeros = arguments.convert("zero_points", zero_points, convert.as_array)
        if zeros.dtype != codes.dtype:
            given, wanted = element_type(zeros.dtype), element_type(codes.dtype)
            raise make_error("zero_points_type", op, type=given, data_type=wanted)
    return codes, factors, zeros, dtype


def _as_scales(op: str, name: str, value: Any) -> np.ndarray:
    """Convert scales to an array. Lists of Python's floats become float32."""
    is_list = not isinstance(value, np.ndarray | np.generic) and adapter_of(value) is None
    array = convert.as_array(op, name, value)
    if is_list and array.dtype == np.float64:
        array = array.astype(np.float32)
    if element_type(array.dtype) not in SCALE_TYPES:
        raise make_error("scales_type", op, type=element_type(array.dtype), types=", ".join(SCALE_TYPES))
    return array
