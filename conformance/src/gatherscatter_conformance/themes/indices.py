"""Cases about index values: their types, negative indices, and indices that are out of range."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gatherscatter.oracle import INTEGERS, OracleRow
from gatherscatter_conformance.themes.draft import (
    LINES,
    SCATTERS,
    CaseDraft,
    call,
    draft_line_or_gather,
    i64,
    range_rules,
    sample_types,
    section,
)
from gatherscatter_conformance.themes.values import ramp

# Indices that are out of range for three elements: just outside, further outside, beyond 32 bits (some of them would be
# legal after truncation to 32 bits), and the limits of int64.
OUTSIDE = (3, -4, 8, -9, 1 << 31, (1 << 32) + 1, -(1 << 32), (1 << 40) + 2, (1 << 63) - 1, -(1 << 63))


def drafts() -> Iterator[CaseDraft]:
    """Of every op version that takes indices of single elements."""
    for row in LINES:
        yield from _types(row)
        for name in sample_types(row):
            yield from _negative(row, name)
            yield from _outside(row, name)
        yield from _several(row)
    yield from _empty_slices()


def _types(row: OracleRow) -> Iterator[CaseDraft]:
    data = ramp("float32", 5)
    rule = "O21" if row.name.startswith("onnx") else section(row)
    for index in INTEGERS:
        kind = "index type"
        yield CaseDraft(row.name, kind, f"{index} indices", draft_line_or_gather(row, data, [4, 0, 2], index), (rule,))
        if index in row.index_types and row.rule != "nonnegative" and index.startswith("int"):
            below = draft_line_or_gather(row, data, [-1, 0, -3], index)
            yield CaseDraft(row.name, kind, f"{index} indices below zero", below, (rule, "range"))
    for index in ("float32", "bool"):
        yield CaseDraft(row.name, kind, f"{index} indices", draft_line_or_gather(row, data, [1, 0], index), (rule,))
    if "int8" in row.index_types:  # the size must not be added in the type of the index
        for index in ("int8", "uint8"):
            top = [-1 if index == "int8" and row.rule != "nonnegative" else 127]
            wide = draft_line_or_gather(row, np.arange(200, dtype=np.float32), top, index)
            yield CaseDraft(row.name, kind, f"{index} index into 200", wide, (rule, "range"))
    if "uint64" in row.index_types:
        for value in (1 << 63, (1 << 64) - 1, (1 << 32) + 1):
            far = draft_line_or_gather(row, data, [1, value], "uint64")
            yield CaseDraft(row.name, "out of range", f"uint64 index {value}", far, range_rules(row))


def _negative(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    rules = range_rules(row)
    for elements in ([-1], [-4, 3, -2], [0, -3]):
        listed = " ".join(map(str, elements)).replace("-", "m")
        below = draft_line_or_gather(row, ramp(name, 4), elements)
        yield CaseDraft(row.name, "negative", f"at {listed}", below, rules)


def _outside(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    zero_rules = ("V22",) if row.rule == "zeros" and name == "string" else ()
    rules = (*range_rules(row), *zero_rules)
    for element in OUTSIDE if name == "float32" else OUTSIDE[:4]:
        text = str(element).replace("-", "m")
        wrong = draft_line_or_gather(row, ramp(name, 3), [1, element])
        yield CaseDraft(row.name, "out of range", f"{text} of three", wrong, rules)


def _several(row: OracleRow) -> Iterator[CaseDraft]:
    """A bad index at the end, several bad ones, and one between good ones of a longer tensor."""
    rules = range_rules(row)
    for label, size, elements in (
        ("last of many", 16, [*range(16), 16]),
        ("all", 3, [5, 6, 7]),
        ("in the middle", 3, [0, 1, 99, 1, 0]),
    ):
        wrong = draft_line_or_gather(row, ramp("float32", size), elements)
        yield CaseDraft(row.name, "out of range", f"{label} out", wrong, rules)


def _empty_slices() -> Iterator[CaseDraft]:
    """Yield cases with empty slices. Indices are checked although no element is moved."""
    for row in LINES:
        if row.form == "lanes":
            continue
        rules = ("O19", "2.11", *range_rules(row))
        for name in ("float32", "int64"):
            for element, label in ((1, "in range"), (2, "out of range"), (-3, "out of range below")):
                indices = i64([[element]] if row.form == "tuples" else [element])
                updates = ramp(name, (1, 0)) if row in SCATTERS else None
                made = call(row, ramp(name, (2, 0)), indices, updates)
                inside = label == "in range"
                kind = "empty" if inside else "out of range"
                yield CaseDraft(row.name, kind, f"empty slices {label}", made, rules)
