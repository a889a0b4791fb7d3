"""The rewritings: which condition of a finding each is an answer to, and at which nodes it can be made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gatherscatter.doctor.fixes import indices, scatters
from gatherscatter.doctor.fixes.draft import ModelDraft

HALVES = ("float16", "bfloat16")


@dataclass(frozen=True)
class Rewriting:
    """An answer to findings with one of these conditions, at nodes where ``applies``.

    ``conditions`` are keys of `gatherscatter.findings.catalog.CONDITIONS`.
    """

    conditions: tuple[str, ...]
    title: str
    applies: Callable[[ModelDraft], bool]
    rewrite: Callable[[ModelDraft], None]


def _is_min_or_max(draft: ModelDraft) -> bool:
    return draft.reduction in ("min", "max")


def _has_floats(draft: ModelDraft) -> bool:
    return (draft.data.element_type or "").startswith(("float", "bfloat"))


def _may_have_rows_of_strings(draft: ModelDraft) -> bool:
    """Then no Gather may take updates: ONNX Runtime copies only the first string of a row."""
    return draft.data.element_type in (None, "string") and scatters.has_wide_rows(draft)


def _repeats_constants(draft: ModelDraft) -> bool:
    if draft.site.row.kernel not in ("scatter_nd", "scatter_elements") or draft.reduction != "none":
        return False
    if draft.op_type == "ScatterND" and _may_have_rows_of_strings(draft):
        return False
    return draft.indices.value is not None and not draft.unique and draft.told.counts["k=0"] == 0


# What makes a model legal; done first, and what is left is compared with the result of this.
REPAIRS = (
    Rewriting(
        ("always",),
        "indices made int64, which the operator takes",
        lambda draft: (
            "indices" in draft.inputs
            and draft.indices.element_type in ("int8", "int16", "int32", "uint8", "uint16", "uint32")
            and draft.indices.element_type not in draft.site.row.index_types
        ),
        indices.widen,
    ),
)

# In the order in which they are made: each sees the node as those before have left it.
REWRITINGS = (
    Rewriting(
        ("always",),
        "Scatter became ScatterElements",
        lambda draft: draft.op_type == "Scatter",
        scatters.rename,
    ),
    Rewriting(
        ("always",),
        "TensorScatter became ScatterElements",
        lambda draft: draft.op_type == "TensorScatter",
        scatters.scatter_by_element,
    ),
    Rewriting(
        ("empty indices",),
        "a scatter without indices became Identity",
        lambda draft: draft.site.row.kernel.startswith("scatter") and draft.told.counts["empty indices"] == 1,
        indices.pass_data_through,
    ),
    Rewriting(
        ("always",),
        "min and max of halves and bools are taken in float32 and int32",
        lambda draft: _is_min_or_max(draft) and draft.data.element_type in (*HALVES, "bool"),
        scatters.reduce_in_wider_type,
    ),
    Rewriting(
        ("always",),
        "halves are added or multiplied in float32, which is exact where no place is repeated",
        lambda draft: draft.reduction in ("add", "mul") and draft.data.element_type in HALVES and draft.unique,
        scatters.reduce_in_wider_type,
    ),
    Rewriting(("repeated",), "of repeated indices the last was kept", _repeats_constants, scatters.keep_last),
    Rewriting(
        ("negative",),
        "negative indices were made positive",
        lambda draft: (
            draft.site.row.index_range == "negative"
            and "indices" in draft.inputs
            and not draft.indices.nonnegative
            and draft.told.counts["k=0"] != 1
        ),
        indices.make_nonnegative,
    ),
    Rewriting(
        ("repeated",),
        "each update got the values of the last one for the same place",
        lambda draft: (
            draft.op_type == "ScatterND"
            and draft.reduction == "none"
            and not draft.unique
            and draft.told.counts["k=0"] == 0
            and scatters.has_wide_rows(draft)
            and not _may_have_rows_of_strings(draft)
        ),
        scatters.repeat_last,
    ),
    Rewriting(
        ("repeated", "k=0"),
        "ScatterND became ScatterElements, whose updates are made one after the other",
        lambda draft: draft.op_type == "ScatterND" and (not draft.unique or draft.told.counts["k=0"] == 1),
        scatters.apply_one_by_one,
    ),
    Rewriting(
        ("k=0",),
        "GatherND by empty tuples became Expand",
        lambda draft: draft.op_type == "GatherND" and draft.told.counts["k=0"] == 1,
        indices.copy_whole,
    ),
    Rewriting(
        ("nan",),
        "NaN is put back after min and max",
        lambda draft: _is_min_or_max(draft) and _has_floats(draft),
        scatters.keep_nan,
    ),
    Rewriting(
        ("shorter indices",),
        "indices of GatherElements were made as long as data off the axis, and the result cut",
        lambda draft: draft.op_type == "GatherElements",
        indices.pad_gathered,
    ),
)

# Why a condition is left as it is, where no rewriting is an answer to it.
LEFT = {
    "wide values": "the runtime holds 64-bit numbers in 32 bits from the model's inputs on, so nothing within the "
    "graph saves them: make the values fit, or run this model elsewhere",
    "wide indices": "the runtime holds 64-bit numbers in 32 bits from the model's inputs on: make the indices fit",
    "out of range": "a bad index is an error by the specification, and no operator raises one: check indices before",
    "too negative": "a bad index is an error by the specification, and no operator raises one: check indices before",
    "empty indices": "whether indices are empty is known at run time only: don't call the model with none",
    "empty axis": "the specification has an error here, and no operator raises one",
    "always": "no rewriting gives just the same results (halves computed in float32 would be rounded otherwise)",
}
NO_ANSWER = "no rewriting is known that keeps the meaning"
