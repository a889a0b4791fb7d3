"""Scatter layers of an IR as ONNX nodes; their indices are int64 already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gatherscatter.onnx.builder import BuiltTensor, OnnxBuilder
from gatherscatter.openvino.conversion.mapping import is_half, make_refusal, rank_and_axis, rank_of, same_sizes
from gatherscatter.specs.calls import REDUCTIONS
from gatherscatter.specs.table import OpVersion

Attributes = Mapping[str, Any]


def scatter_update(
    b: OnnxBuilder, row: OpVersion, inputs: list[BuiltTensor], values: Attributes, known: str
) -> BuiltTensor:
    """ScatterND-18 with the axis moved to the front."""
    data, indices, updates = inputs
    tuples = b.node("Unsqueeze", indices, np.array([-1], np.int64))
    if values["axis"] == 0:
        return b.node("ScatterND", data, tuples, updates)
    rank, more = rank_of(data.shape, "data"), rank_of(indices.shape, "indices")
    if not -rank <= (axis := values["axis"]) < rank:
        raise make_refusal(f"axis {axis} is out of range for data of rank {rank}")
    axis %= rank
    before, after = list(range(axis)), list(range(axis + 1, rank))
    rows = b.transpose(data, [axis, *before, *after])
    dims = [*range(axis, axis + more), *before, *(d + more - 1 for d in after)]
    written = b.node("ScatterND", rows, tuples, b.transpose(updates, dims))
    return b.transpose(written, [*range(1, axis + 1), 0, *after])


def scatter_elements(
    b: OnnxBuilder, row: OpVersion, inputs: list[BuiltTensor], values: Attributes, known: str
) -> BuiltTensor:
    """ScatterElements-18; what version 12 has beyond it is put together."""
    data, indices, updates = inputs
    axis, reduction = values["axis"], values.get("reduction", "none")
    if row.prepare is not None:
        indices = _shorten_indices(b, data, indices, axis)

    def combine(data: BuiltTensor, updates: BuiltTensor, how: Any) -> BuiltTensor:
        return b.node("ScatterElements", data, indices, updates, axis=axis, reduction=how)

    if reduction == "none":
        return combine(data, updates, "none")
    start, updates = _widen(b, data, reduction), _widen(b, updates, reduction)
    if not values["use_init_val"]:
        how = "sum" if reduction == "mean" else reduction
        start = combine(start, _filled(b, _identity(how, start.dtype), indices), "none")
    if reduction != "mean":
        return b.cast(combine(start, updates, REDUCTIONS.get(reduction, reduction)), data.dtype)
    if data.dtype.name in ("int64", "uint64"):
        raise make_refusal("means of 64-bit integers need sums of more bits; convert data and updates to int32 first")
    total = combine(start, updates, "add")
    one, zero = np.ones((), total.dtype), np.zeros((), total.dtype)
    visits = combine(_filled(b, zero, data), _filled(b, one, indices), "add")
    count = b.node("Add", visits, one) if values["use_init_val"] else visits
    mean = _quotient(b, total, b.node("Where", b.node("Greater", count, zero), count, one))
    return b.node("Where", b.node("Greater", visits, zero), b.cast(mean, data.dtype), data)


def scatter_nd(
    b: OnnxBuilder, row: OpVersion, inputs: list[BuiltTensor], values: Attributes, known: str
) -> BuiltTensor:
    """ScatterND-18; sub is an add."""
    data, indices, updates = inputs
    reduction = values.get("reduction", "none")
    updates = _accept_one_element(b, data, indices, updates)
    if reduction == "none":
        return b.node("ScatterND", data, indices, updates)
    if reduction == "sub" and data.dtype == np.bool_:  # exclusive or: the parity of a sum
        whole, more = b.cast(data, np.int32), b.cast(updates, np.int32)
        parity = b.node("Mod", b.node("ScatterND", whole, indices, more, reduction="add"), np.array(2, np.int32))
        return b.cast(parity, np.bool_)
    start, updates = _widen(b, data, reduction), _widen(b, updates, reduction)
    if reduction == "sub":  # of -0.0, so that the sign of zero comes out right
        updates = b.node("Sub", _identity("sum", updates.dtype), updates)
    how = "add" if reduction == "sub" else REDUCTIONS.get(reduction, reduction)
    return b.cast(b.node("ScatterND", start, indices, updates, reduction=how), data.dtype)


def _accept_one_element(b: OnnxBuilder, data: BuiltTensor, indices: BuiltTensor, updates: BuiltTensor) -> BuiltTensor:
    """Updates with the rank that ScatterND wants. Where that is 0, one element of any rank will do (V13)."""
    if updates.rank == 0 or indices.rank not in (None, 1):
        return updates
    if data.rank is not None and indices.shape is not None and indices.shape[0] is not None:
        fits = indices.shape == (data.rank,)
        return b.node("Reshape", updates, np.array([], np.int64)) if fits else updates
    sizes = b.node("Shape", indices)
    is_single = b.node("Equal", b.node("Shape", sizes), np.array([1]))
    columns = b.node("ReduceProd", sizes, np.array([0]), keepdims=1)
    is_whole = b.node("Equal", columns, b.node("Shape", b.node("Shape", data)))
    rank = b.node("Where", b.node("And", is_single, is_whole), np.array([0]), np.array([np.iinfo(np.int64).max]))
    return b.node("Reshape", updates, b.node("Slice", b.node("Shape", updates), np.array([0]), rank))


def _shorten_indices(b: OnnxBuilder, data: BuiltTensor, indices: BuiltTensor, axis: int) -> BuiltTensor:
    """ScatterElementsUpdate-3 takes no more indices along the axis than data has (V21): cut, longer ones do not fit
    updates any more."""
    _, axis = rank_and_axis(data.shape, indices.shape, axis)
    if same_sizes(data.shape, indices.shape, [axis]):
        return indices
    return b.node("Slice", indices, np.array([0]), b.shape(data, [axis]), np.array([axis]))


def _widen(b: OnnxBuilder, tensor: BuiltTensor, reduction: str) -> BuiltTensor:
    """16-bit floats in float32, where ONNX would round after each step; integers of a mean in 64 bits."""
    if is_half(tensor.dtype) and reduction not in ("min", "max"):
        return b.cast(tensor, np.float32)
    return b.cast(tensor, np.int64) if reduction == "mean" and tensor.dtype.kind in "iu" else tensor


def _identity(reduction: str, dtype: np.dtype[Any]) -> np.ndarray:
    """What a reduction leaves as it was."""
    if reduction == "sum":
        return np.array(-0.0 if dtype.kind not in "iub" else 0, dtype)
    if reduction == "prod":
        return np.array(1, dtype)
    sign = -1 if reduction == "max" else 1
    if dtype == np.bool_:
        return np.array(sign > 0)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array(limits.max if sign > 0 else limits.min, dtype)
    return np.array(sign * np.inf, dtype)


def _filled(b: OnnxBuilder, value: np.ndarray, like: BuiltTensor) -> BuiltTensor:
    return b.node("Expand", value, b.shape(like))


def _quotient(b: OnnxBuilder, total: BuiltTensor, count: BuiltTensor) -> BuiltTensor:
    """The quotient; of integers rounded down: what is over goes first, since ONNX cuts towards zero."""
    if total.dtype.kind in "iu":
        total = b.node("Sub", total, b.node("Mod", total, count))
    return b.node("Div", total, count)
