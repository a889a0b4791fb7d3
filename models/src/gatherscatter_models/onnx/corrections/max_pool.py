"""The MaxPool operator, as its specification defines it.

The reference evaluator's MaxPool (onnx 1.23) pads the wrong dimensions if pads differ, and counts windows wrongly with
SAME_LOWER.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from onnx.reference.op_run import OpRun


class Windows(NamedTuple):
    """The positions of windows along one dimension."""

    before: int  # padding
    after: int
    number: int
    stride: int
    dilation: int
    extent: int

    def cut(self, padded: np.ndarray, axis: int) -> np.ndarray:
        """Return the windows along a dimension of a padded array. Their elements lie along a new last dimension."""
        windows = np.lib.stride_tricks.sliding_window_view(padded, self.extent, axis=axis)
        chosen = [slice(None)] * windows.ndim
        chosen[axis] = slice(0, (self.number - 1) * self.stride + 1, self.stride)
        chosen[-1] = slice(None, None, self.dilation)
        return windows[tuple(chosen)]


class MaxPool(OpRun):
    """Returns the greatest element of each window, and its position."""

    op_domain = ""

    def _run(
        self,
        x: np.ndarray,
        *,
        kernel_shape: Sequence[int],
        strides: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        auto_pad: str = "NOTSET",
        ceil_mode: int = 0,
        storage_order: int = 0,
    ) -> tuple[np.ndarray, ...]:
        ones = [1] * len(kernel_shape)
        bounds = np.reshape(pads or [0] * 2 * len(ones), (2, -1)).T.tolist()
        along = [
            _windows(size, kernel, stride, dilation, bound, auto_pad, ceil_mode)
            for size, kernel, stride, dilation, bound in zip(
                x.shape[2:], kernel_shape, strides or ones, dilations or ones, bounds, strict=True
            )
        ]
        values = _pad_array(x, along, np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf)
        if len(self.onnx_node.output) == 1:
            for axis, at in enumerate(along, 2):
                values = at.cut(values, axis).max(axis=-1)
            return (values,)
        values, places = (
            _cut_windows(values, along),
            _cut_windows(_pad_array(_places(x.shape, storage_order), along, -1), along),
        )
        best = values.argmax(axis=-1)[..., None]
        return tuple(np.take_along_axis(array, best, axis=-1)[..., 0] for array in (values, places))


def _windows(
    size: int, kernel: int, stride: int, dilation: int, bound: Sequence[int], auto_pad: str, ceil_mode: int
) -> Windows:
    extent = (kernel - 1) * dilation + 1
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        count = math.ceil(size / stride)
        padding = max((count - 1) * stride + extent - size, 0)
        before = padding // 2 if auto_pad == "SAME_UPPER" else padding - padding // 2
    else:
        before, after = (0, 0) if auto_pad == "VALID" else bound
        steps = (size + before + after - extent) / stride
        count = 1 + (math.ceil(steps) if ceil_mode else math.floor(steps))
        if ceil_mode and (count - 1) * stride >= size + before:  # a window entirely in the padding
            count -= 1
    return Windows(before, max((count - 1) * stride + extent - size - before, 0), count, stride, dilation, extent)


def _pad_array(array: np.ndarray, along: Sequence[Windows], fill: float) -> np.ndarray:
    return np.pad(array, [(0, 0), (0, 0), *((at.before, at.after) for at in along)], constant_values=fill)


def _cut_windows(padded: np.ndarray, along: Sequence[Windows]) -> np.ndarray:
    """Return all windows. The elements of each lie along the last dimension."""
    windows = padded
    for axis, at in enumerate(along, 2):
        windows = at.cut(windows, axis)
    return windows.reshape(*windows.shape[: padded.ndim], -1)


def _places(shape: Sequence[int], storage_order: int) -> np.ndarray:
    """Return the position of each element in x, counted in row-major (0) or column-major (1) order."""
    channels, each = math.prod(shape[:2]), math.prod(shape[2:])
    of_channel = np.arange(each).reshape(shape[2:], order="F" if storage_order else "C")
    starts = each * np.arange(channels).reshape(*shape[:2], *[1] * (len(shape) - 2))
    return starts + of_channel
