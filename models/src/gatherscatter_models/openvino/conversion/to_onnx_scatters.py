"""Convert scatter layers of an IR to ONNX nodes. Their indices are already int64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gatherscatter.specs.calls import GENERIC_REDUCTIONS
from gatherscatter.specs.table import OpVersion
from gatherscatter_models.onnx.builder import BuiltTensor, OnnxBuilder
from gatherscatter_models.openvino.conversion.mapping import is_half, make_refusal, rank_and_axis, rank_of, same_sizes

Attributes = Mapping[str, Any]


def scatter_update(
    b: OnnxBuilder, row: OpVersion, inputs: list[BuiltTensor], values: Attributes, known: str
) -> BuiltTensor:
    """Convert a ScatterUpdate to ScatterND-18 with the axis moved to the front."""
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
    """Convert to ScatterElements-18. Other nodes provide the additional features of ScatterElementsUpdate-12."""
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
        return b.cast(combine(start, updates, GENERIC_REDUCTIONS.get(reduction, reduction)), data.dtype)
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
    """Convert to ScatterND-18. A sub becomes an add."""
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
    how = "add" if reduction == "sub" else GENERIC_REDUCTIONS.get(reduction, reduction)
    return b.cast(b.node("ScatterND", start, indices, updates, reduction=how), data.dtype)


def _accept_one_element(b: OnnxBuilder, data: BuiltTensor, indices: BuiltTensor, updates: BuiltTensor) -> BuiltTensor:
    """Return updates with the rank that ScatterND requires. If that is 0, one element of any rank is accepted (V13)."""
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
    """Cut indices to the size of data along the axis.

    ScatterElementsUpdate-3 does not take longer ones (V21). After the cut, they don't fit updates, which is an error.
    """
    _, axis = rank_and_axis(data.shape, indices.shape, axis)
    if same_sizes(data.shape, indices.shape, [axis]):
        return indices
    return b.node("Slice", indices, np.array([0]), b.shape(data, [axis]), np.array([axis]))


def _widen(b: OnnxBuilder, tensor: BuiltTensor, reduction: str) -> BuiltTensor:
    """Widen 16-bit floats to float32, because ONNX would round after each step, and integers of a mean to 64 bits."""
    if is_half(tensor.dtype) and reduction not in ("min", "max"):
        return b.cast(tensor, np.float32)
    return b.cast(tensor, np.int64) if reduction == "mean" and tensor.dtype.kind in "iu" else tensor


def _identity(reduction: str, dtype: np.dtype[Any]) -> np.ndarray:
    """Return the identity element of a reduction."""
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
    """Return the quotient, rounded down for integers. ONNX rounds towards zero, so the remainder is removed first."""
    if total.dtype.kind in "iu":
        total = b.node("Sub", total, b.node("Mod", total, count))
    return b.node("Div", total, count)
