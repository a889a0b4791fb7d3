"""Rewritings of indices: negative ones, types, and index tensors of odd shapes."""

from __future__ import annotations

import numpy as np

from gatherscatter_models.doctor.fixes.draft import ModelDraft, UnfixableError
from gatherscatter_models.findings.nodes import BY_TUPLE


def make_nonnegative(draft: ModelDraft) -> None:
    """Add the size to negative indices. An index below -size becomes the size, so it stays an error."""
    indices = draft.indices
    draft.settled |= {"negative", "too negative"}
    if indices.nonnegative:
        return
    axes = _indexed_axes(draft)
    if indices.value is not None and draft.data.shape is not None:
        sizes = np.array([draft.data.shape[axis] or -1 for axis in np.ravel(axes)]).reshape(np.shape(axes))
        wide = indices.value.astype(np.int64)
        if np.all(sizes > 0) and np.all((wide >= -sizes) & (wide < sizes)):
            counted = np.where(wide < 0, wide + sizes, wide).astype(indices.value.dtype)
            draft.inputs["indices"] = draft.constant(counted)
            return
    size = draft.shape(draft.data, axes, indices.dtype)
    zero = draft.constant(np.zeros((), indices.dtype))
    moved = draft.node("Add", indices, size)
    from_front = draft.node("Where", draft.node("Less", indices, zero), moved, indices)
    draft.replace_indices(draft.node("Where", draft.node("Less", from_front, zero), size, from_front))


def _indexed_axes(draft: ModelDraft) -> list[int] | int:
    if draft.site.row.kernel in BY_TUPLE:
        first = int(draft.attributes.get("batch_dims", 0))
        if first < 0 or first + draft.k > draft.data.rank:
            raise UnfixableError("batch_dims and the length of its index tuples do not fit the rank of data")
        return list(range(first, first + draft.k))
    return draft.axis


def widen(draft: ModelDraft) -> None:
    """Convert indices of a type that the version does not take to int64."""
    draft.inputs["indices"] = draft.cast(draft.indices, np.int64)


def pad_gathered(draft: ModelDraft) -> None:
    """Pad indices with zeros to the size of data off the axis, and cut the result."""
    indices, rank = draft.indices, draft.data.rank
    wanted = draft.node("Shape", indices)
    lacking = draft.node("Sub", draft.node("Shape", draft.data), wanted)
    zero = draft.constant(0)
    lacking = draft.node("Where", draft.node("Less", lacking, zero), zero, lacking)  # longer ones must stay an error
    off = draft.constant([0 if axis == draft.axis else 1 for axis in range(rank)])
    pads = draft.node("Concat", draft.constant([0] * rank), draft.node("Mul", lacking, off), axis=0)
    padded = draft.node("Pad", indices, pads, np.zeros((), indices.dtype))
    draft.settled.add("shorter indices")
    draft.inputs["indices"] = padded._replace(info=padded.info._replace(is_size=indices.nonnegative))
    draft.wrap(lambda result: draft.node("Slice", result, draft.constant([0] * rank), wanted))


def copy_whole(draft: ModelDraft) -> None:
    """Replace a GatherND by empty tuples, which gives a copy of data for each tuple."""
    if draft.attributes.get("batch_dims", 0) != 0:
        raise UnfixableError("GatherND with batch_dims and index tuples of length 0")
    rank = draft.indices.rank
    ends = draft.constant([rank - 1])
    counts = draft.node("Slice", draft.node("Shape", draft.indices), draft.constant([0]), ends)
    shape = draft.node("Concat", counts, draft.node("Shape", draft.data), axis=0)
    draft.op_type, draft.attributes = "Expand", {}
    draft.inputs["indices"] = shape


def pass_data_through(draft: ModelDraft) -> None:
    """Replace a scatter without indices, which gives data, by Identity."""
    draft.op_type, draft.attributes = "Identity", {}
    draft.inputs = {"data": draft.data}
