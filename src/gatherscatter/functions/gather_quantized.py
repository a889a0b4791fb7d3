"""Gathers from block-quantized tables: `gatherscatter.gather_quantized` for arguments that are not plain arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.convert import element_type
from gatherscatter.arrays.interop import kind_of, to_numpy_arguments
from gatherscatter.errors import make_error
from gatherscatter.messages.choices import CODE_TYPES, SCALE_TYPES

_OP = "gather_quantized"
_LARGEST_CHECKED = 1 << 22  # elements


def gather_quantized(
    data: ArrayLike,
    indices: ArrayLike,
    scales: ArrayLike,
    zero_points: ArrayLike | None = None,
    *,
    axis: int = 0,
    quantize_axis: int = -1,
    block_size: int = 128,
    bits: int = 4,
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray:
    """`gatherscatter.gather_quantized` for arguments of any kind. The core calls it if they are not plain arrays."""
    arrays: dict[str, Any] = {"data": data, "indices": indices, "scales": scales, "zero_points": zero_points,
                              "out": out}  # fmt: skip
    options: dict[str, Any] = {"axis": axis, "quantize_axis": quantize_axis, "block_size": block_size, "bits": bits,
                               "mode": mode, "num_threads": num_threads}  # fmt: skip
    if converted := to_numpy_arguments(_OP, arrays):
        return converted.to_caller(_core.gather_quantized(**converted.values, **options))  # type: ignore[no-any-return]
    call = prepare_arguments(_OP, **arrays)
    return call.run(_OP, **options)


class QuantizedArguments(NamedTuple):
    """The arguments of a call for the core, made by `prepare_arguments`."""

    data: np.ndarray
    indices: np.ndarray
    scales: np.ndarray
    zero_points: np.ndarray | None
    out: np.ndarray | None
    dtype: np.dtype[Any]  # of the result; it differs from that of scales only in byte order
    made: dict[str, int]  # bytes of the arrays that were made from arguments, by argument

    def run(self, op: str, **options: Any) -> np.ndarray:
        """The result of the call. ``options`` are those of `gather_quantized`."""
        result = convert.set_byte_order(self._call(_core.apply_quantized, op, **options), self.dtype)
        if self.out is None:
            return result
        return self.out if self._plain_out is not None else convert.copy_into(op, self.out, result)

    def describe(self, op: str, **options: Any) -> Any:
        """The facts about how the call would run, as a dict."""
        return self._call(_core.describe_quantized, op, **options)

    def _call(
        self,
        function: Any,
        op: str,
        *,
        axis: int,
        quantize_axis: int,
        block_size: int,
        bits: int,
        mode: str,
        num_threads: int | None = None,
    ) -> Any:
        arrays = self.data, self.indices, self.scales, self.zero_points
        made = function(op, *arrays, axis, quantize_axis, block_size, bits, mode, self._plain_out, num_threads)
        assert made is not NotImplemented  # the arrays are native, and their types fit
        return made

    @property
    def _plain_out(self) -> np.ndarray | None:
        """``out``, if the core can write to it."""
        memory = convert.as_memory(self.out)
        return memory if memory is not None and memory.dtype == self.scales.dtype else None


def prepare_arguments(
    op: str,
    data: ArrayLike,
    indices: ArrayLike,
    scales: ArrayLike,
    zero_points: ArrayLike | None = None,
    out: np.ndarray | None = None,
) -> QuantizedArguments:
    """Convert the arguments of a call, and check their types. The core checks shapes and values."""
    arguments = convert.Conversions(op)
    codes, factors, zeros, dtype = as_table(op, arguments, data, scales, zero_points)
    places = arguments.convert("indices", indices, convert.as_indices)
    if out is not None:
        convert.check_out(op, out, np.empty(0, dtype), None)
    return QuantizedArguments(codes, places, factors, zeros, out, dtype, arguments.made)


def check_small_table(op: str, data: np.ndarray, *others: np.ndarray | None, **options: Any) -> None:
    """Raise the errors about the shapes of a call, unless an array has more than a few million elements.

    The core checks shapes, and copies arrays that are not contiguous before.
    """
    if all(array is None or array.size <= _LARGEST_CHECKED for array in (data, *others)):
        prepare_arguments(op, data, *others).describe(op, **options)  # type: ignore[arg-type]


def as_table(
    op: str, arguments: convert.Conversions, data: ArrayLike, scales: ArrayLike, zero_points: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.dtype[Any]]:
    """Convert the arrays of a table, and check their types. Return codes, scales, zero points, and the given type."""
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
    is_list = not isinstance(value, np.ndarray | np.generic) and kind_of(value) is None
    array = convert.as_array(op, name, value)
    if is_list and array.dtype == np.float64:
        array = array.astype(np.float32)
    if element_type(array.dtype) not in SCALE_TYPES:
        raise make_error("scales_type", op, type=element_type(array.dtype), types=", ".join(SCALE_TYPES))
    return array
