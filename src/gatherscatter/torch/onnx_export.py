"""Translations of the operators to ONNX, for `torch.onnx.export`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter.errors import OpValueError
from gatherscatter.extras import require

with require("onnxscript", text="ONNX export needs onnxscript, as torch.onnx.export does", install="onnxscript"):
    import onnxscript

from gatherscatter.torch.library import GATHERS, SCATTERS, operator

_ops: Any = onnxscript.opset18
_INT64 = 7  # onnx.TensorProto.INT64


def onnx_translations() -> dict[Any, Callable[..., Any]]:
    """Return the table for ``torch.onnx.export(..., dynamo=True, custom_translation_table=onnx_translations())``.

    The operators become the equivalent ONNX operators of opset 18: Gather, GatherElements, GatherND, ScatterElements
    and ScatterND. They are surrounded by Transpose where an axis is not the first.

    Raises
    ------
    ValueError
        During the export: ONNX has no equivalent of the call (``mode`` other than "raise", ``accumulate`` other than
        "step", the reduction "mean", or "sub" with ``include_self=False``).
    """
    return {operator(name): _TRANSLATIONS[name] for name in (*GATHERS, *SCATTERS)}


def _gather(data: Any, indices: Any, axis: int = 0, batch_dims: int = 0, **options: Any) -> Any:
    _check("gather", options)
    rank, index_rank = len(data.shape), len(indices.shape)
    axis, batch_dims = axis % rank, batch_dims + (index_rank if batch_dims < 0 else 0)
    if batch_dims == 0:
        return _ops.Gather(data, indices, axis=axis)
    rows = _moved(data, rank, axis, batch_dims, 1)
    taken = _ops.GatherND(rows, _tuples(indices), batch_dims=batch_dims)
    return _moved(taken, rank + index_rank - batch_dims - 1, batch_dims, axis, index_rank - batch_dims)


def _gather_elements(data: Any, indices: Any, axis: int = 0, **options: Any) -> Any:
    _check("gather_elements", options)
    return _ops.GatherElements(data, _ops.Cast(indices, to=_INT64), axis=axis)


def _gather_nd(data: Any, indices: Any, batch_dims: int = 0, **options: Any) -> Any:
    _check("gather_nd", options)
    return _ops.GatherND(data, _ops.Cast(indices, to=_INT64), batch_dims=batch_dims)


def _scatter_update(data: Any, indices: Any, updates: Any, axis: int = 0, **options: Any) -> Any:
    rank, index_rank = len(data.shape), len(indices.shape)
    axis %= rank

    def put(data: Any, updates: Any, reduction: str) -> Any:
        rows, new = _moved(data, rank, axis, 0, 1), _moved(updates, rank - 1 + index_rank, axis, 0, index_rank)
        return _moved(_ops.ScatterND(rows, _tuples(indices), new, reduction=reduction), rank, 0, axis, 1)

    return _export_scatter("scatter_update", put, data, updates, options)


def _scatter_elements(data: Any, indices: Any, updates: Any, axis: int = 0, **options: Any) -> Any:
    def put(data: Any, updates: Any, reduction: str) -> Any:
        return _ops.ScatterElements(data, _ops.Cast(indices, to=_INT64), updates, axis=axis, reduction=reduction)

    return _export_scatter("scatter_elements", put, data, updates, options)


def _scatter_nd(data: Any, indices: Any, updates: Any, **options: Any) -> Any:
    def put(data: Any, updates: Any, reduction: str) -> Any:
        return _ops.ScatterND(data, _ops.Cast(indices, to=_INT64), updates, reduction=reduction)

    return _export_scatter("scatter_nd", put, data, updates, options)


def _export_scatter(op: str, put: Callable[..., Any], data: Any, updates: Any, options: dict[str, Any]) -> Any:
    """Export a scatter. Without ``include_self``, first write the neutral value of the reduction to the places."""
    _check(op, options)
    reduction, include_self = options.get("reduction", "none"), options.get("include_self", True)
    if reduction == "mean" or (reduction == "sub" and not include_self):
        text = f"{op}: ONNX has no reduction {reduction!r}{'' if include_self else ' with include_self=False'}"
        raise OpValueError(text, op=op, input="reduction")
    updates = _ops.CastLike(updates, data)
    if reduction == "sub":
        negative = _ops.Neg(updates) if _is_signed(data) else _ops.Sub(_like(data, 0), updates)
        return put(data, negative, "add")
    if reduction != "none" and not include_self:
        neutral = _ops.Expand(_like(data, _neutral(reduction, data)), _ops.Shape(updates))
        data = put(data, neutral, "none")
    return put(data, updates, reduction)


def _like(data: Any, value: float) -> Any:
    """Return a number of the type of data."""
    number = _ops.Constant(value_float=value) if isinstance(value, float) else _ops.Constant(value_int=value)
    return _ops.CastLike(number, data)


def _is_signed(data: Any) -> bool:
    return not data.dtype.name.startswith("UINT")


def _neutral(reduction: str, data: Any) -> float:
    """Return the neutral value of a reduction."""
    if reduction in ("add", "mul"):
        return int(reduction == "mul")
    dtype = np.dtype(data.dtype.numpy())
    if dtype.kind not in "iu":
        return float("-inf") if reduction == "max" else float("inf")
    limits = np.iinfo(dtype)
    return int(limits.min if reduction == "max" else min(limits.max, 2**63 - 1))


_TRANSLATIONS: dict[str, Callable[..., Any]] = {
    "gather": _gather,
    "gather_elements": _gather_elements,
    "gather_nd": _gather_nd,
    "scatter_update": _scatter_update,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
}

# Options without an attribute in ONNX, and the value that ONNX implies.
_IN_ONNX = {"mode": "raise", "accumulate": "step"}


def _check(op: str, options: dict[str, Any]) -> None:
    for name, only in _IN_ONNX.items():
        if options.get(name, only) != only and not (name == "accumulate" and options.get("reduction") == "none"):
            text = f"{op}: ONNX has no {name}={options[name]!r}; only {name}={only!r} can be exported"
            raise OpValueError(text, op=op, input=name)


def _tuples(indices: Any) -> Any:
    return _ops.Unsqueeze(_ops.Cast(indices, to=_INT64), _ops.Constant(value_ints=[-1]))


def _moved(tensor: Any, rank: int, source: int, target: int, count: int) -> Any:
    """Move ``count`` neighbouring axes from one place to another."""
    if source == target:
        return tensor
    moved = list(range(source, source + count))
    others = [axis for axis in range(rank) if axis not in moved]
    return _ops.Transpose(tensor, perm=others[:target] + moved + others[target:])
