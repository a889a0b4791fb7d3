"""Quirks: demands of single op versions beyond the rules of their kernels.

A ``prepare`` function gets the op version's name, its input arrays and its normalised axis. It returns the arrays for
the kernel. A ``finish`` function gets the inputs, the attributes and the kernel's result. It returns the final result.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gatherscatter.errors import advise_off_axis, list_shapes, make_error

Arrays = tuple[np.ndarray, ...]


def equal_off_axis(op: str, arrays: Arrays, axis: int) -> Arrays:
    """OpenVINO GatherElements-6: data and indices have equal dims except at the axis. ONNX allows shorter indices."""
    data, indices = arrays[:2]
    if data.ndim == indices.ndim:
        for d in range(data.ndim):
            if d != axis and data.shape[d] != indices.shape[d]:
                advice = advise_off_axis(data.shape, indices.shape, axis)
                shapes = list_shapes(data.shape, indices.shape)
                raise make_error("equal_off_axis", op, axis=axis, advice=advice, shapes=shapes)
    return arrays


def no_longer_along_axis(op: str, arrays: Arrays, axis: int) -> Arrays:
    """OpenVINO ScatterElementsUpdate-3: no dim of indices is longer than that of data, even at the axis (V21)."""
    data, indices = arrays[:2]
    if data.ndim == indices.ndim and indices.ndim > 0 and indices.shape[axis] > data.shape[axis]:
        raise make_error("no_longer_along_axis", op, axis=axis, shapes=list_shapes(data.shape, indices.shape))
    return arrays


def one_element_updates(op: str, arrays: Arrays, axis: int) -> Arrays:
    """OpenVINO ScatterNDUpdate: if updates should have rank 0, any tensor with one element is accepted (V13)."""
    data, indices, updates = arrays
    if indices.ndim == 1 and indices.shape[0] == data.ndim and updates.size == 1:
        updates = updates.reshape(())
    return data, indices, updates


def fuse_batch_dims(arrays: Arrays, attributes: dict[str, Any], result: np.ndarray) -> np.ndarray:
    """OpenVINO GatherND-5: several batch dims are merged into one in the result (V4)."""
    batch_dims = attributes["batch_dims"]
    if batch_dims <= 1:
        return result
    return result.reshape(math.prod(result.shape[:batch_dims]), *result.shape[batch_dims:])
