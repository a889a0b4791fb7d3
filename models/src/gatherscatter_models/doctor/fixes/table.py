"""The rewritings: the conditions of findings that each one resolves, and the nodes to which it applies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gatherscatter.operation import Kernel
from gatherscatter_models.doctor.fixes import indices, quantized_tables, scatters
from gatherscatter_models.doctor.fixes.draft import ModelDraft

HALVES = ("float16", "bfloat16")


@dataclass(frozen=True)
class Rewriting:
    """A rewriting for findings with one of these conditions, at nodes where ``applies`` is true.

    ``conditions`` are keys of `gatherscatter_models.findings.catalog.CONDITIONS`.
    """

    conditions: tuple[str, ...]
    title: str
    applies: Callable[[ModelDraft], bool]
    rewrite: Callable[[ModelDraft], None]


def _is_min_or_max(draft: ModelDraft) -> bool:
    return draft.reduction in ("min", "max")


def sums_halves(draft: ModelDraft) -> bool:
    return draft.reduction in ("add", "mul") and draft.data.element_type in HALVES


def _races_after_cast(draft: ModelDraft) -> bool:
    """Whether a rewriting changed the type to one in which threads of ONNX Runtime lose updates."""
    was = draft.site.operand(draft.site.row.inputs[0].name)
    changed = was is not None and was.element_type != draft.data.element_type
    return draft.op_type == "ScatterND" and changed and not draft.unique


def _has_floats(draft: ModelDraft) -> bool:
    return (draft.data.element_type or "").startswith(("float", "bfloat"))


def _may_have_rows_of_strings(draft: ModelDraft) -> bool:
    """Whether rows may hold several strings. ONNX Runtime's Gather copies only the first string of a row."""
    return draft.data.element_type in (None, "string") and scatters.has_wide_rows(draft)


def _repeats_constants(draft: ModelDraft) -> bool:
    if draft.site.row.kernel not in (Kernel.SCATTER_ND, Kernel.SCATTER_ELEMENTS) or draft.reduction != "none":
        return False
    if draft.op_type == "ScatterND" and _may_have_rows_of_strings(draft):
        return False
    return draft.indices.value is not None and not draft.unique and draft.told.counts["k=0"] == 0


# Rewritings that make a model legal. They come first. The proof compares the final model with their result.
REPAIRS = (
    Rewriting(
        ("always",),
        "indices were converted to int64, which the operator takes",
        lambda draft: (
            "indices" in draft.inputs
            and draft.indices.element_type in ("int8", "int16", "int32", "uint8", "uint16", "uint32")
            and draft.indices.element_type not in draft.site.row.index_types
        ),
        indices.widen,
    ),
)

# Changes where results are rounded, so only on request. The proof compares the final model with its result.
WIDEN_HALVES = Rewriting(
    ("always",),
    "halves are added or multiplied in float32, and the result is rounded once, not after each update",
    lambda draft: sums_halves(draft) and not draft.unique,
    scatters.reduce_in_wider_type,
)

# In the order in which they are applied: each one gets the node with the changes of those before it.
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
        lambda draft: draft.site.row.kernel.is_scatter and draft.told.counts["empty indices"] == 1,
        indices.pass_data_through,
    ),
    Rewriting(
        ("always", "divisible"),
        "min and max of halves and bools are computed in float32 and int32",
        lambda draft: _is_min_or_max(draft) and draft.data.element_type in (*HALVES, "bool"),
        scatters.reduce_in_wider_type,
    ),
    Rewriting(
        ("always", "divisible"),
        "halves are added or multiplied in float32, which is exact because no index is repeated",
        lambda draft: sums_halves(draft) and draft.unique,
        scatters.reduce_in_wider_type,
    ),
    Rewriting(
        ("repeated",), "for repeated indices, only the last update was kept", _repeats_constants, scatters.keep_last
    ),
    Rewriting(
        ("negative",),
        "the size of the axis was added to negative indices",
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
        "each update got the values of the last one for the same row",
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
        ("always", "divisible", "repeated"),
        "ScatterND became ScatterElements, which applies updates one after the other",
        _races_after_cast,
        scatters.apply_one_by_one,
    ),
    Rewriting(
        ("repeated", "k=0"),
        "ScatterND became ScatterElements, which applies updates one after the other",
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
        "indices of GatherElements were padded to the size of data off the axis, and the result was cut",
        lambda draft: draft.op_type == "GatherElements",
        indices.pad_gathered,
    ),
    Rewriting(
        ("no zero points",),
        "the zero points of the specification are given",
        lambda draft: (
            draft.op_type == "GatherBlockQuantized"
            and "zero_points" not in draft.inputs
            and draft.data.element_type in ("uint8", "int4", "uint4")
        ),
        quantized_tables.give_zero_points,
    ),
)

# The reason for sums and products of halves.
INEXACT = (
    "no rewriting gives exactly the same results (halves computed in float32 would be rounded differently; "
    "--widen-halves, or widen_halves=True, allows this)"
)

# The reasons why no rewriting resolves a condition.
LEFT = {
    "wide values": "the runtime converts 64-bit inputs of the model to 32 bits, so no change of the graph helps; "
    "use values that fit in 32 bits, or another runtime",
    "wide indices": "the runtime converts 64-bit inputs of the model to 32 bits; use indices that fit in 32 bits",
    "out of range": "the specification demands an error for a bad index, and no operator raises one; check indices "
    "before you run the model",
    "too negative": "the specification demands an error for a bad index, and no operator raises one; check indices "
    "before you run the model",
    "empty indices": "only a run shows whether indices are empty; don't run the model with empty indices",
    "empty axis": "the specification demands an error here, and no operator raises one",
    "partial block": "a table with other blocks needs another quantization; choose a block_size that divides the axis",
}
NO_ANSWER = "no known rewriting keeps the results the same"
