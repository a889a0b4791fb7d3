"""Rewritings of scatters: repeated indices, and reductions that runtimes lack or get wrong."""

from __future__ import annotations

import math

import numpy as np

from gatherscatter.arrays.tensor_files import to_tensor_proto
from gatherscatter_models.doctor.fixes.draft import ModelDraft, UnfixableError
from gatherscatter_models.doctor.fixes.indices import make_nonnegative
from gatherscatter_models.onnx.builder import BuiltTensor


def keep_last(draft: ModelDraft) -> None:
    """Keep the last of constant indices that name the same element, in a scatter without a reduction."""
    make_nonnegative(draft)
    indices, updates = draft.indices.value, draft.tensor("updates")
    if indices is None:
        raise UnfixableError("it has negative indices along an axis of unknown size")
    if draft.op_type == "ScatterND":
        rows = indices.reshape(-1, draft.k)
        whole = draft.product(draft.data, draft.k, draft.data.rank)
        lines = draft.reshape(updates, draft.node("Concat", draft.constant([len(rows)]), whole, axis=0))
        row_axes = list(range(draft.k, draft.data.rank))
    else:
        positions = np.indices(indices.shape)
        positions[draft.axis] = indices
        rows = positions.reshape(indices.ndim, -1).T.astype(np.int64)
        lines = draft.node("Reshape", updates, draft.constant([len(rows)]))
        row_axes = []
    kept = _last_of_each(rows)
    shape = draft.constant([len(kept)])
    if row_axes:
        shape = draft.node("Concat", shape, draft.shape(draft.data, row_axes), axis=0)
    chosen = draft.node("Gather", lines, draft.constant(kept), axis=0)
    draft.inputs["updates"] = draft.reshape(chosen, shape)
    draft.inputs["indices"] = draft.constant(rows[kept])
    draft.op_type, draft.unique = "ScatterND", True
    draft.settled.add("repeated")
    draft.attributes.pop("axis", None)


def _last_of_each(rows: np.ndarray) -> np.ndarray:
    """Return the positions of rows that are not repeated later."""
    _, from_end = np.unique(rows[::-1], axis=0, return_index=True)
    return np.sort(len(rows) - 1 - from_end)


def apply_one_by_one(draft: ModelDraft) -> None:
    """Replace a ScatterND by a ScatterElements over two axes: the rows that tuples name, and the elements of a row.

    Runtimes apply the updates of a ScatterElements one after the other.
    """
    data, indices, updates, k = draft.data, draft.indices, draft.tensor("updates"), draft.k
    if k:  # a runtime that checks tuples may read and write before the start of the table
        make_nonnegative(draft)
        indices = draft.indices
    shape = draft.node("Shape", data)
    table = draft.matrix(data, k)
    # Of the indices and data, not of the updates: those of another size are to stay an error.
    demanded = draft.products((indices, 0, indices.rank - 1), (data, k, data.rank))
    draft.settled |= {"shorter indices", "longer indices", "k=0"}
    is_table = updates.rank == 2 and indices.rank == 2
    lines = updates if is_table else draft.reshape(updates, demanded)
    tuples = draft.matrix(indices, indices.rank - 1)
    rows = _row_numbers(draft, tuples, k)
    positions = draft.node("Expand", rows, demanded) if not k or has_wide_rows(draft) else rows
    draft.op_type, draft.attributes["axis"] = "ScatterElements", 0
    draft.inputs |= {"data": table, "updates": lines}
    draft.replace_indices(positions)
    if table.name != data.name:
        draft.wrap(lambda result: draft.reshape(result, shape))


def has_wide_rows(draft: ModelDraft) -> bool:
    """Whether a tuple may name a number of elements other than one."""
    shape, k = draft.data.shape, (draft.indices.shape or (None,))[-1]
    return shape is None or k is None or math.prod(dim or 0 for dim in shape[k:]) != 1


def repeat_last(draft: ModelDraft) -> None:
    """Give each update of a ScatterND the values of the last one for the same row. Then their order does not matter.

    Rows are copied as a whole. A ScatterElements would copy single elements.
    """
    make_nonnegative(draft)
    data, indices, updates, k = draft.data, draft.indices, draft.tensor("updates"), draft.k
    demanded = draft.products((indices, 0, indices.rank - 1), (data, k, data.rank))
    rows = draft.node("Reshape", _row_numbers(draft, draft.matrix(indices, indices.rank - 1), k), draft.constant([-1]))
    zero = to_tensor_proto(np.zeros(1, np.int64), "")
    none = draft.node("ConstantOfShape", draft.product(data, 0, k), value=zero)
    count = draft.node("Gather", demanded, draft.constant(0))
    numbers = draft.node("Range", draft.constant(0), count, draft.constant(1))
    last = draft.node("ScatterElements", none, rows, numbers, axis=0)
    lines = draft.node("Gather", draft.reshape(updates, demanded), draft.node("Gather", last, rows), axis=0)
    draft.inputs["updates"] = draft.reshape(lines, draft.node("Shape", updates))
    draft.unique = True
    draft.settled.add("repeated")


def _row_numbers(draft: ModelDraft, tuples: BuiltTensor, k: int) -> BuiltTensor:
    """Return the row of the flattened data that each tuple names, as (n, 1). Bad tuples get a row out of range."""
    if k == 0:
        return draft.constant([[0]])
    if k == 1:
        return tuples
    rows = good = None
    for column in range(k):
        index = draft.node("Gather", tuples, draft.constant([column]), axis=1)
        size = draft.shape(draft.data, column)
        inside = draft.node("Less", index, size)
        rows = draft.node("Add", draft.node("Mul", rows, size), index) if rows else index
        good = draft.node("And", good, inside) if good else inside
    return draft.node("Where", good, rows, draft.product(draft.data, 0, k))


def keep_nan(draft: ModelDraft) -> None:
    """After a min or max, put NaN wherever data or an update is NaN."""
    data, indices, updates = draft.data, draft.indices, draft.tensor("updates")
    op_type, attributes = draft.op_type, draft.attributes | {"reduction": "max"}
    if draft.scope.opset < 18:
        raise UnfixableError("the rewriting needs opset 18 or newer")

    def step(result: BuiltTensor) -> BuiltTensor:
        held, marks = (draft.cast(draft.node("IsNaN", each), np.int32) for each in (data, updates))
        lost = draft.cast(draft.node(op_type, held, indices, marks, **attributes), np.bool_)
        return draft.node("Where", lost, draft.constant(np.array(np.nan, data.dtype)), result)

    draft.settled.add("nan")
    draft.wrap(step)


def reduce_in_wider_type(draft: ModelDraft) -> None:
    """Reduce in float32 or int32, and convert the result back.

    For min and max this is exact. It is also exact if each element of data gets one update: a half is then rounded
    once in either type. Other sums and products of halves are rounded once at the end, instead of after each update.
    """
    data = draft.data
    wider = np.dtype(np.int32 if data.element_type == "bool" else np.float32)
    own = data.dtype
    for role in ("data", "updates"):
        draft.inputs[role] = draft.cast(draft.inputs[role], wider)
    draft.wrap(lambda result: draft.cast(result, own))


def rename(draft: ModelDraft) -> None:
    """Rename Scatter, the old name of ScatterElements."""
    draft.op_type = "ScatterElements"


def scatter_by_element(draft: ModelDraft) -> None:
    """Replace a TensorScatter by a ScatterElements at the positions that follow the write indices."""
    past, update, axis = draft.data, draft.tensor("update"), draft.axis
    if past.element_type is None or past.element_type.startswith(("float8", "float4", "int4", "uint4")):
        raise UnfixableError(f"ScatterElements does not take {past.element_type or 'data of unknown type'}")
    size = draft.shape(past, axis)
    steps = draft.node("Range", draft.constant(0), draft.shape(update, axis), draft.constant(1))
    positions = draft.node("Reshape", steps, draft.constant([-1 if each == axis else 1 for each in range(past.rank)]))
    if start := draft.inputs.pop("write_indices", None):
        first = start
        if draft.attributes["mode"] == "linear":  # in this mode, a negative start is an error
            first = draft.node("Where", draft.node("Less", first, draft.constant(0)), size, first)
        column = draft.node("Reshape", first, draft.constant([-1] + [1] * (past.rank - 1)))
        positions = draft.node("Add", column, positions)
    if draft.attributes["mode"] == "circular":
        positions = draft.node("Mod", positions, size)
    whole = draft.node("Expand", positions, draft.node("Shape", update))
    draft.op_type, draft.attributes = "ScatterElements", {"axis": axis}
    draft.inputs = {"past_cache": past, "indices": whole, "update": update}
