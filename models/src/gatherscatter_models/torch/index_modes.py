"""Indices that are skipped or refused, and index tuples as row numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

from gatherscatter_models.torch.nodes import BOOL, INT64, constant, ops


class TranslatedRule(NamedTuple):
    """The rule for indices of a call, as in `gatherscatter.operation.Operation`."""

    mode: str = "raise"
    negative: str = "end"

    @property
    def drops(self) -> bool:
        """Whether indices can be skipped. A scatter then has one more row, which is dropped."""
        return self.mode in ("drop", "fill") or self.negative == "skip"


def read_rule(indices: Any, options: dict[str, Any]) -> TranslatedRule:
    """Return the rule of a call. Unsigned indices are not negative, but may be as int64."""
    negative = "end" if indices.dtype.name.startswith("UINT") else options.get("negative", "end")
    return TranslatedRule(options.get("mode", "raise"), negative)


def as_int64(indices: Any) -> Any:
    """Convert indices, which are an input of the translation."""
    return indices if indices.dtype == INT64 else ops.Cast(indices, to=int(INT64))


def resolve(indices: Any, size: Any, rule: TranslatedRule) -> Any:
    """Return int64 indices for axes of a size. Indices that are skipped become the size.

    Indices that are refused stay out of range. If others are skipped, that is also true with one more row.
    """
    mode, negative = rule
    named = indices
    if mode == "wrap":
        named = ops.Mod(indices, size)
    elif mode == "clip":
        named = ops.Min(ops.Max(indices, constant(0)), ops.Sub(size, constant(1)))
    elif mode in ("drop", "fill"):
        counted = count_from_start(indices, size) if negative == "end" else indices
        named = ops.Where(is_valid(counted, size), counted, size)
    if negative == "end":
        return named
    more = ops.Add(size, constant(1)) if rule.drops else size
    if negative == "skip" and mode == "raise":
        named = ops.Where(ops.Less(indices, size), indices, more)
    return ops.Where(ops.Less(indices, constant(0)), size if negative == "skip" else more, named)


def count_from_start(indices: Any, size: Any) -> Any:
    """Add the size to negative indices."""
    return ops.Where(ops.Less(indices, constant(0)), ops.Add(indices, size), indices)


def is_valid(counted: Any, size: Any) -> Any:
    """Tell for each index whether it is in [0, size)."""
    return ops.And(ops.GreaterOrEqual(counted, constant(0)), ops.Less(counted, size))


def row_numbers(tuples: Any, dims: Any, length: int, rule: TranslatedRule) -> Any:
    """Return the numbers of the rows that index tuples of a length name.

    Tuples that are skipped get the number of rows. Those that are refused get a number that is out of range, with one
    more row if others are skipped. ``dims`` is the vector of the sizes of the indexed axes.
    """
    (mode, negative), last = rule, constant([-1])
    count = ops.ReduceProd(dims, keepdims=0)
    if negative != "end":
        more = ops.Add(count, constant(1)) if rule.drops else count
        is_below = ops.Less(tuples, constant(0))
        below = ops.Cast(ops.ReduceMax(ops.Cast(is_below, to=int(INT64)), last, keepdims=0), to=int(BOOL))
        tuples = ops.Where(is_below, constant(0), tuples)
    if mode in ("wrap", "clip"):
        tuples = resolve(tuples, dims, TranslatedRule(mode))
    else:
        tuples = count_from_start(tuples, dims)
        good = ops.ReduceMin(ops.Cast(is_valid(tuples, dims), to=int(INT64)), last, keepdims=0)
    # The weight of an axis is the product of the sizes behind it.
    weights = [
        ops.ReduceProd(ops.Slice(dims, constant([each + 1]), constant([length])), keepdims=0)
        for each in range(length - 1)
    ]
    weights = ops.Concat(*(ops.Reshape(each, constant([1])) for each in weights), constant([1]), axis=0)
    rows = ops.ReduceSum(ops.Mul(tuples, weights), last, keepdims=0)
    if negative == "skip":
        rows = ops.Where(below, count, rows)
    if mode not in ("wrap", "clip"):
        skips = mode in ("drop", "fill") or negative == "end"
        rows = ops.Where(ops.Cast(good, to=int(BOOL)), rows, count if skips else more)
    return ops.Where(below, more, rows) if negative == "error" else rows
