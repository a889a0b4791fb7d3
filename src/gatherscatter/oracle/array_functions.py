"""The array functions: no versions, any element type."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter.oracle.arithmetic import Reduce, fold, step, wrap_to
from gatherscatter.oracle.element_types import COMPLEX, FLOATS, INTEGERS, SUMS, element_type, is_bytes, zero_of
from gatherscatter.oracle.gathers import gather, gather_elements, gather_nd
from gatherscatter.oracle.indices import IndexRule, require, resolve
from gatherscatter.oracle.op_versions import check_reduction
from gatherscatter.oracle.scatters import scatter_elements, scatter_nd, scatter_update

GATHER_MODES = ("raise", "wrap", "clip", "fill")
SCATTER_MODES = ("raise", "wrap", "clip", "drop")
NEGATIVE = ("end", "error", "skip")
REDUCTIONS = ("none", "add", "sub", "mul", "min", "max", "mean")


def array_call(kernel: str, *inputs: Any, axis: int = 0, batch_dims: int = 0, mode: str = "raise",
               negative: str = "end", fill_value: Any = None, reduction: str = "none", include_self: bool = True,
               accumulate: str = "step") -> np.ndarray:  # fmt: skip
    """Return or raise the expected outcome of `gs.<kernel>(*inputs, ...)`, for the functions with a mode."""
    require(include_self or reduction != "none")
    require(accumulate == "step" or reduction in (*SUMS, "mul"))
    data, indices, *rest = [np.asarray(x) for x in inputs]
    if indices.dtype.kind not in "iu":
        raise TypeError(indices.dtype)
    updates: Any = cast_updates(rest[0], data.dtype) if rest else None
    require(mode in (SCATTER_MODES if rest else GATHER_MODES) and negative in NEGATIVE and reduction in REDUCTIONS)
    require(fill_value is None or not rest)
    check_reduction(reduction, element_type(data.dtype))
    how = Reduce(reduction, include_self, accumulate)
    rule = IndexRule(mode, negative, fill_value)
    if kernel == "gather":
        return gather(data, indices, axis, batch_dims, rule)
    if kernel == "gather_elements":
        return gather_elements(data, indices, axis, rule, equal=False)
    if kernel == "gather_nd":
        return gather_nd(data, indices, batch_dims, rule)
    if kernel == "scatter_elements":
        return scatter_elements(data, indices, updates, axis, rule, how)
    if kernel == "scatter_update":
        return scatter_update(data, indices, updates, axis, rule, how)
    return scatter_nd(data, indices, updates, rule, how)


def gather_reduce(data: np.ndarray, rows: list[int], bag_of: list[int], bags: int, weights: list[Any] | None,
                  reduction: str, *, default: Any, accumulate: str, mode: str,
                  negative: str = "end") -> np.ndarray:  # fmt: skip
    """Member m is row rows[m] of data times weights[m], and belongs to bag bag_of[m]. Each bag is folded separately.

    With ``negative="skip"``, there is no member m if rows[m] or bag_of[m] is negative.
    """
    name = element_type(data.dtype)
    out = np.empty((bags, *data.shape[1:]), data.dtype)
    sources = [resolve(row, data.shape[0], IndexRule(mode, negative)) for row in rows]
    skipped = [negative == "skip" and min(pair) < 0 for pair in zip(rows, bag_of, strict=True)]
    with np.errstate(all="ignore"):
        for b, *p in np.ndindex(out.shape):
            members = [m for m in range(len(rows)) if bag_of[m] == b and not skipped[m]]
            found = [(m, sources[m]) for m in members]
            values = [zero_of(data.dtype) if row is None else data[(row, *p)] for m, row in found]
            if weights is not None:
                values = [step("mul", value, weights[m], name) for value, m in zip(values, members, strict=True)]
            out[(b, *p)] = fold(reduction, values, data.dtype, accumulate) if values else default
    return out


def cast_updates(updates: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert to data's type, element by element. TypeError if the type can lose digits, ValueError on overflow."""
    source, target = element_type(updates.dtype), element_type(dtype)
    if source == target and is_bytes(updates) == (dtype.kind == "S"):
        return updates
    numbers = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
    if source not in numbers or target not in numbers or (source in COMPLEX and target not in COMPLEX):
        raise TypeError(source)
    if target in INTEGERS:
        if source not in (*INTEGERS, "bool"):
            raise TypeError(source)
        for p in np.ndindex(updates.shape):
            require(wrap_to(int(updates[p]), target) == int(updates[p]))
    out = np.empty(updates.shape, dtype)
    with np.errstate(all="ignore"):
        for p in np.ndindex(updates.shape):
            out[p] = updates[p].astype(dtype)
    return out
