"""Every element type through every op version: values must not change a bit."""

from __future__ import annotations

from collections.abc import Iterator

from gatherscatter_conformance.themes.draft import (
    GATHERS,
    SCATTERS,
    CaseDraft,
    draft_line_call,
    i64,
    sample_types,
    section,
)
from gatherscatter_conformance.themes.draft import call as call_of
from gatherscatter_conformance.themes.values import edges, ramp

WIDE = ("int64", "uint64", "float64", "complex128")  # what 32 bits, or 64 of a complex number, cannot hold


def drafts() -> Iterator[CaseDraft]:
    """Ordinary values, edges of the type, and whole rows."""
    for row in GATHERS:
        for name in row.types:
            rules = (section(row), "types")
            yield CaseDraft(row.name, "plain", "four of five", draft_line_call(row, ramp(name, 5), [3, 0, 3, 4]), rules)
            data = edges(name)
            kind = "wide values" if name in WIDE else "plain"
            back = range(len(data) - 1, -1, -1)
            yield CaseDraft(
                row.name, kind, "edges of the type", draft_line_call(row, data, back), (*rules, *_width(row.name, name))
            )
    for row in SCATTERS:
        for name in row.types:
            rules = (section(row), "types")
            three = draft_line_call(row, ramp(name, 5), [3, 0, 4], ramp(name, 3, start=5))
            yield CaseDraft(row.name, "plain", "three of five", three, rules)
            updates = edges(name)
            kind = "wide values" if name in WIDE else "plain"
            back = range(len(updates) - 1, -1, -1)
            over = draft_line_call(row, ramp(name, len(updates)), back, updates)
            yield CaseDraft(row.name, kind, "edges of the type", over, (*rules, *_width(row.name, name)))
    for row in (*GATHERS, *SCATTERS):
        if row.form == "lanes":
            continue
        for name in sample_types(row):
            indices = i64([[2], [0]]) if row.form == "tuples" else i64([2, 0])
            new = ramp(name, (2, 3), start=9) if row in SCATTERS else None
            rows = call_of(row, ramp(name, (3, 3)), indices, new)
            yield CaseDraft(row.name, "slices", "two rows of three", rows, (section(row), "types"))


def _width(op: str, name: str) -> tuple[str, ...]:
    return ("V18",) if name in WIDE and op.startswith("openvino") else ()
