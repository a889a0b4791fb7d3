"""Layers that join, cut and pad along axes."""

from __future__ import annotations

from types import EllipsisType
from typing import Literal

import numpy as np

from gatherscatter_models.openvino.layers.operands import (
    Array,
    axes_of,
    axis_of,
    check_fits_memory,
    integer,
    integers,
    require_same_type,
)

Mask = tuple[int, ...]
_MOST_PARTS = 65536  # limits the parts of an empty axis, which a file could split into any number


def concat(*inputs: Array, axis: int) -> Array:
    """Join the inputs along the axis."""
    require_same_type(*inputs)
    return np.concatenate(inputs, axis_of(axis, inputs[0].ndim))


def split(data: Array, axis: Array, *, num_splits: int) -> tuple[Array, ...]:
    """Split the data into equal parts."""
    along = axis_of(integer(axis, "axis"), data.ndim)
    if not 1 <= num_splits <= _MOST_PARTS or data.shape[along] % num_splits:
        raise ValueError(f"{data.shape[along]} along axis {along} can't be split into {num_splits} equal parts")
    return _cut(data, along, (data.shape[along] // num_splits,) * num_splits)


def variadic_split(data: Array, axis: Array, split_lengths: Array) -> tuple[Array, ...]:
    """Split the data into parts of the given lengths. One of them may be -1."""
    along = axis_of(integer(axis, "axis"), data.ndim)
    lengths = list(integers(split_lengths, "split_lengths"))
    if lengths.count(-1) == 1:
        lengths[lengths.index(-1)] = data.shape[along] - sum(lengths) - 1
    if min(lengths, default=0) < 0 or sum(lengths) != data.shape[along]:
        raise ValueError(f"split_lengths {lengths} don't add up to {data.shape[along]}")
    return _cut(data, along, tuple(lengths))


def _cut(data: Array, axis: int, lengths: tuple[int, ...]) -> tuple[Array, ...]:
    ends = np.cumsum(lengths).tolist()
    return tuple(
        data[(slice(None),) * axis + (slice(end - length, end),)] for end, length in zip(ends, lengths, strict=True)
    )


def slice_8(data: Array, start: Array, stop: Array, step: Array, axes: Array | None = None) -> Array:
    """Take Python's slices along the named axes."""
    starts, stops, steps = integers(start, "start"), integers(stop, "stop"), integers(step, "step")
    named = tuple(range(len(starts))) if axes is None else integers(axes, "axes")
    if not len(starts) == len(stops) == len(steps) == len(named):
        raise ValueError("start, stop, step and axes differ in length")
    index = [slice(None)] * data.ndim
    for axis, begin, end, by in zip(axes_of(named, data.ndim), starts, stops, steps, strict=True):
        index[axis] = slice(begin, end, by)
    return data[tuple(index)]


def strided_slice(
    data: Array,
    begin: Array,
    end: Array | None = None,
    strides: Array | None = None,
    *,
    begin_mask: Mask,
    end_mask: Mask,
    new_axis_mask: Mask = (),
    shrink_axis_mask: Mask = (),
    ellipsis_mask: Mask = (),
) -> Array:
    """Index like NumPy, with masks. An ellipsis takes precedence over a new axis, and this over a removed axis."""
    begins = integers(begin, "begin")
    ends = begins if end is None else integers(end, "end")
    steps = (1,) * len(begins) if strides is None else integers(strides, "strides")
    if not len(begins) == len(ends) == len(steps):
        raise ValueError("begin, end and strides differ in length")
    index: list[slice | int | EllipsisType | None] = []
    for i, (first, last, step) in enumerate(zip(begins, ends, steps, strict=True)):
        if _bit(ellipsis_mask, i):
            index.append(...)
        elif _bit(new_axis_mask, i):
            index.append(None)
        elif _bit(shrink_axis_mask, i):
            index.append(0 if _bit(begin_mask, i) else first)
        else:
            index.append(slice(None if _bit(begin_mask, i) else first, None if _bit(end_mask, i) else last, step))
    return data[tuple(index)]


def _bit(mask: Mask, i: int) -> bool:
    """Return a bit of a mask. A mask that is shorter than the slices continues with zeros."""
    return i < len(mask) and mask[i] != 0


def pad(
    data: Array,
    pads_begin: Array,
    pads_end: Array,
    pad_value: Array | None = None,
    *,
    pad_mode: Literal["constant", "edge", "reflect", "symmetric"],
) -> Array:
    """Extend each dimension at both ends. Negative pads cut it."""
    pads = list(zip(integers(pads_begin, "pads_begin"), integers(pads_end, "pads_end"), strict=True))
    if len(pads) != data.ndim:
        raise ValueError(f"{len(pads)} pairs of pads for data of rank {data.ndim}")
    sizes = tuple(before + size + after for size, (before, after) in zip(data.shape, pads, strict=True))
    check_fits_memory(sizes, data.dtype)
    cuts = (slice(max(0, -low), size + min(0, high)) for size, (low, high) in zip(data.shape, pads, strict=True))
    kept = data[tuple(cuts)]
    grown = [(max(0, low), max(0, high)) for low, high in pads]
    if pad_mode == "constant":
        value = data.dtype.type() if pad_value is None else pad_value
        if pad_value is not None:
            require_same_type(data, pad_value)
        result = np.full(sizes, value, data.dtype)
        result[tuple(slice(low, low + size) for size, (low, _) in zip(kept.shape, grown, strict=True))] = kept
        return result
    spare = 1 if pad_mode == "reflect" else 0
    if pad_mode != "edge" and any(max(pair) > size - spare for size, pair in zip(kept.shape, grown, strict=True)):
        raise ValueError(f"pads {pads} exceed the limit of pad_mode {pad_mode} for shape {data.shape}")
    return np.pad(kept, grown, pad_mode)
