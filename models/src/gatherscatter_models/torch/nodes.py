"""Nodes of ONNX that several translations need. Each function adds nodes to the graph that is being exported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gatherscatter.system.extras import require

with require("onnxscript", text="ONNX export needs onnxscript, as torch.onnx.export does", install="onnxscript"):
    import onnxscript
    from onnxscript import ir

ops: Any = onnxscript.opset18
"""The operators of the opset. A call adds a node."""

BOOL, UINT8 = ir.DataType.BOOL, ir.DataType.UINT8
INT32, INT64 = ir.DataType.INT32, ir.DataType.INT64
FLOAT, DOUBLE = ir.DataType.FLOAT, ir.DataType.DOUBLE
HALVES = (ir.DataType.FLOAT16, ir.DataType.BFLOAT16)


def numpy_type(dtype: ir.DataType) -> np.dtype[Any]:
    """Return the type of NumPy for an element type."""
    return np.dtype(dtype.numpy())


def constant(value: ArrayLike, dtype: DTypeLike = np.int64) -> Any:
    """Return a constant of a type of NumPy."""
    return ops.Constant(value=ir.tensor(np.array(value, dtype)))


def size_of(tensor: Any, axis: int) -> Any:
    """Return the size of an axis, as a vector of length 1."""
    return ops.Shape(tensor, start=axis, end=axis + 1)


def filled(shape: Any, value: Any, dtype: ir.DataType) -> Any:
    """Return a tensor of a shape in which each element is the number ``value``."""
    if isinstance(value, ir.Value):
        return ops.Expand(cast(value, dtype), shape)
    return ops.ConstantOfShape(shape, value=ir.tensor(np.array([value], numpy_type(dtype))))


def cast(tensor: Any, dtype: ir.DataType) -> Any:
    """Convert the elements."""
    return tensor if tensor.dtype == dtype else ops.Cast(tensor, to=int(dtype))


def where(condition: Any, chosen: Any, other: Any, dtype: ir.DataType) -> Any:
    """Choose elements of a type. ONNX Runtime's Where does not accept booleans, halves and most short integers."""
    if dtype == BOOL:
        return ops.Or(ops.And(condition, chosen), ops.And(ops.Not(condition), other))
    if dtype in (FLOAT, DOUBLE, INT32, INT64):
        return ops.Where(condition, chosen, other)
    wide = int(FLOAT if dtype in HALVES else INT64)
    return ops.Cast(ops.Where(condition, ops.Cast(chosen, to=wide), ops.Cast(other, to=wide)), to=int(dtype))


def joined(*shapes: Any) -> Any:
    """Join vectors of sizes. A list of numbers is a constant vector."""
    parts = [constant(each) if isinstance(each, list) else each for each in shapes]
    return parts[0] if len(parts) == 1 else ops.Concat(*parts, axis=0)


def column(tensor: Any) -> Any:
    """Add a last axis of size 1."""
    return ops.Unsqueeze(tensor, constant([-1]))


def moved(tensor: Any, rank: int, source: int, target: int, count: int) -> Any:
    """Move ``count`` neighbouring axes from one position to another."""
    if source == target:
        return tensor
    axes = list(range(source, source + count))
    others = [axis for axis in range(rank) if axis not in axes]
    return transposed(tensor, others[:target] + axes + others[target:])


def transposed(tensor: Any, axes: Sequence[int]) -> Any:
    """Order the axes."""
    return tensor if list(axes) == sorted(axes) else ops.Transpose(tensor, perm=list(axes))
