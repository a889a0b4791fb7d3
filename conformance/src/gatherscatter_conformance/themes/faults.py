"""Cases with types and attributes that an op version does not have."""

from __future__ import annotations

from collections.abc import Iterator

from gatherscatter.oracle import OracleRow
from gatherscatter_conformance.themes.draft import LINES, SCATTERS, CaseDraft, draft_line_or_gather
from gatherscatter_conformance.themes.values import ramp

FOREIGN = ("bfloat16", "complex64", "string", "float8_e4m3fn", "float8_e5m2fnuz", "int4", "float4_e2m1fn")


def drafts() -> Iterator[CaseDraft]:
    """Of every op version that takes indices of single elements."""
    for row in LINES:
        for name in FOREIGN:
            if name not in row.types:
                made = draft_line_or_gather(row, ramp(name, 4), [2, 0])
                rules = ("types", "V18") if row.name.startswith("openvino") else ("types",)
                yield CaseDraft(row.name, "type", "not a type of this version", made, rules)
        yield from _mixed(row)
        yield from _reductions(row)
        yield from _unknown(row)


def _mixed(row: OracleRow) -> Iterator[CaseDraft]:
    if row not in SCATTERS:
        return
    for data, updates in (("float32", "float64"), ("int64", "int32"), ("float32", "int32"), ("bool", "uint8")):
        made = draft_line_or_gather(row, ramp(data, 4), [2, 0])
        made.inputs[2] = ramp(updates, 2)
        yield CaseDraft(row.name, "type", f"updates of {updates}", made, ("types",))


def _reductions(row: OracleRow) -> Iterator[CaseDraft]:
    """Yield cases with names of reductions that other versions, the other specification or no specification has."""
    if row not in SCATTERS:
        return
    for reduction in ("none", "add", "max", "sum", "sub", "mean", "ADD", ""):
        if reduction in row.reductions[1:] or (reduction == "none" and "reduction" in row.attributes):
            continue
        made = draft_line_or_gather(row, ramp("float32", 4), [2, 0])
        made.attributes["reduction"] = reduction
        rules = ("attributes", "O17") if row.name.startswith("onnx") else ("attributes",)
        yield CaseDraft(row.name, "attribute", f"reduction {reduction or 'without a name'}", made, rules)


def _unknown(row: OracleRow) -> Iterator[CaseDraft]:
    for attribute, value in (
        ("batch_dims", 0),
        ("axis", 0),
        ("use_init_val", True),
        ("mode", "linear"),
        ("nonsense", 1),
    ):
        if attribute in row.attributes or attribute in row.inputs:
            continue
        made = draft_line_or_gather(row, ramp("float32", 4), [2, 0])
        made.attributes[attribute] = value
        yield CaseDraft(row.name, "attribute", f"an attribute {attribute}", made, ("attributes",))
