"""Every reduction of every element type, where it rounds, overflows or meets NaN, and where it does not exist."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from gatherscatter.oracle import COMPLEX, FLOATS, GENERIC, HALVES, INTEGERS, OracleRow
from gatherscatter_conformance.themes.draft import SCATTERS, CaseDraft, draft_line_call, sample_types, section
from gatherscatter_conformance.themes.values import array, limits_of, ramp

REDUCING = tuple(row for row in SCATTERS if len(row.reductions) > 1)
NAN, INF = math.nan, math.inf


def drafts() -> Iterator[CaseDraft]:
    """Of all versions with reductions; and repeated targets of all that overwrite."""
    for row in SCATTERS:
        for name in row.types:
            yield from _repeated(row, name, "none", {})
    for row in REDUCING:
        for name in row.types:
            for reduction in row.reductions[1:]:
                yield from _plain(row, name, reduction)
                for attributes in _initial(row):
                    yield from _repeated(row, name, reduction, attributes | {"reduction": reduction})
        yield from _floats(row)
        yield from _integers(row)
        yield from _bools(row)
        if "use_init_val" in row.attributes:
            yield from _means(row)
            yield from _without_data(row)


def _initial(row: OracleRow) -> tuple[dict[str, Any], ...]:
    return ({}, {"use_init_val": False}) if "use_init_val" in row.attributes else ({},)


def _rules(row: OracleRow, name: str, reduction: str) -> tuple[str, ...]:
    """The rules for a reduction of a type."""
    onnx = row.name.startswith("onnx")
    rules = [section(row), *(["2.10"] if reduction != "none" else [])]
    if reduction == "mul" and row.name == "onnx.ScatterND-18":
        rules.append("O2")
    if name == "bool" and reduction != "none":
        rules.append("O13" if onnx else "V18")
    if name == "string" and reduction != "none" and onnx:
        rules.append("O14")
    if name in COMPLEX and reduction in ("min", "max"):
        rules.append("O15")
    return tuple(rules)


def _small(name: str, count: int, start: int = 0) -> np.ndarray:
    """Values whose sums and products of a few are exact in every type."""
    if name in (*INTEGERS, *FLOATS):
        return array(name, [1 + (start + n) % 3 for n in range(count)])
    return ramp(name, count, start)


def _plain(row: OracleRow, name: str, reduction: str) -> Iterator[CaseDraft]:
    """One update for each target; three elements are not touched."""
    made = draft_line_call(row, _small(name, 6), [4, 0, 2], _small(name, 3, 7), reduction=reduction)
    rules = _rules(row, name, reduction)
    yield CaseDraft(row.name, "plain", "three of six", made, rules)


def _repeated(row: OracleRow, name: str, reduction: str, attributes: dict[str, Any]) -> Iterator[CaseDraft]:
    """Yield four updates of two targets. If indices may be negative, also write to the last element as -1 and 2."""
    rules = _rules(row, name, reduction)
    rules = (*rules, "O3") if reduction == "none" else rules
    suffix = " without data" if attributes.get("use_init_val") is False else ""
    made = draft_line_call(row, _small(name, 4), [2, 0, 2, 0], _small(name, 4, 5), **attributes)
    yield CaseDraft(row.name, "repeated", f"two targets twice{suffix}", made, rules)
    if row.rule == "negative" and name in sample_types(row):
        made = draft_line_call(row, _small(name, 3), [-1, 2], _small(name, 2, 4), **attributes)
        yield CaseDraft(row.name, "repeated", f"m1 and 2 of three{suffix}", made, (*rules, "O4"))


# Updates of one element: the kind and the label of the case, the element of data, and the updates.
_FLOAT_MEETINGS: tuple[tuple[str, str, float, list[float]], ...] = (
    ("nan", "nan in data", NAN, [1.0]),
    ("nan", "nan in an update", 1.0, [NAN]),
    ("nan", "nan then a number", 1.0, [NAN, 5.0]),
    ("nan", "a number then nan", 1.0, [5.0, NAN]),
    ("nan", "infinities of both signs", INF, [-INF]),
    ("nan", "infinity", 1.0, [INF]),
    ("nan", "infinity and zero", INF, [0.0]),
    ("zero sign", "minus zero to zero", 0.0, [-0.0]),
    ("zero sign", "zero to minus zero", -0.0, [0.0]),
    ("zero sign", "minus zeros", -0.0, [-0.0]),
)
# In each format, a number to which adding 1 has no effect, and a large number, for products and sums that overflow.
_STUCK = {"float16": 2048.0, "bfloat16": 256.0, "float32": 2.0**24, "float64": 2.0**53}
_LARGEST = {"float16": 65504.0, "bfloat16": float(2**127), "float32": float(2**127), "float64": 2.0**1023}


def _floats(row: OracleRow) -> Iterator[CaseDraft]:
    for name in FLOATS:
        for reduction in row.reductions[1:]:
            rules = _rules(row, name, reduction)
            generic = GENERIC.get(reduction, reduction)
            for kind, label, data, updates in _FLOAT_MEETINGS:
                more = {"nan": ("O12", "V17"), "zero sign": ("O27",)}[kind] if generic in ("min", "max") else ()
                yield _draft_meeting_case(
                    row, kind, label, name, data, updates, reduction=reduction, rules=(*rules, *more)
                )
            if generic not in ("min", "max"):
                yield from _rounding(row, name, reduction, rules)


def _rounding(row: OracleRow, name: str, reduction: str, rules: tuple[str, ...]) -> Iterator[CaseDraft]:
    generic, stuck, large = GENERIC.get(reduction, reduction), _STUCK[name], _LARGEST[name]
    halves = (("O16",) if row.name.startswith("onnx") else ("V19",)) if name in HALVES else ("O27",)
    if generic == "mul":
        meetings = [
            ("one third of a third", 1 / 3, [1 / 3]),
            ("products that leave the range on the way", 300.0 if name == "float16" else large, [300.0, 0.001]),
            ("products of three", 1.1, [1.1, 1.1]),
            ("overflow", large, [4.0]),
            ("underflow", 2.0**-14 if name == "float16" else 1 / large, [1 / 1024, 1 / 4096]),
        ]
    else:
        meetings = [
            ("a tenth and two tenths", 0.1, [0.2]),
            ("where counting stops by one", stuck, [1.0]),
            ("where counting stops", stuck, [1.0, 1.0]),
            ("large and small", 0.0, [stuck * 4, 1.0, -stuck * 4, 1.0]),
            ("tenths", 0.1, [0.1] * 7),
            ("overflow on the way", large, [large, -large]),
            ("overflow", -large if generic == "sub" else large, [large, large]),
        ]
    for label, data, updates in meetings:
        several = halves if len(updates) > 1 else ()
        yield _draft_meeting_case(
            row, "rounding", label, name, data, updates, reduction=reduction, rules=(*rules, *several)
        )


def _draft_meeting_case(
    row: OracleRow,
    kind: str,
    label: str,
    name: str,
    data: Any,
    updates: list[Any],
    *,
    reduction: str,
    rules: tuple[str, ...],
    **attributes: Any,
) -> CaseDraft:
    """All updates go to the middle one of three elements."""
    three = array(name, [1, data, 1])
    made = draft_line_call(row, three, [1] * len(updates), array(name, updates), reduction=reduction, **attributes)
    return CaseDraft(row.name, kind, label, made, rules)


def _integers(row: OracleRow) -> Iterator[CaseDraft]:
    for name in INTEGERS:
        low, high = limits_of(name)
        for reduction in row.reductions[1:]:
            rules = _rules(row, name, reduction)
            generic = GENERIC.get(reduction, reduction)
            meetings: list[tuple[str, str, int, list[int]]] = []
            if generic in ("add", "sub", "mul"):
                meetings += [
                    ("wrap-around", "above the top", high, {"add": [1], "sub": [high, high], "mul": [2]}[generic]),
                    ("wrap-around", "below the bottom", low, {"add": [high, high], "sub": [1], "mul": [3]}[generic]),
                    (
                        "wrap-around",
                        "there and back",
                        high - 1,
                        {"add": [2, low], "sub": [high, 2], "mul": [3, 5]}[generic],
                    ),
                ]
            if generic in ("min", "max"):
                meetings += [
                    ("plain", "limits", 5, [low, high]),
                    ("plain", "limits in data", low if generic == "max" else high, [7]),
                ]
            if name in ("int64", "uint64"):
                meetings += [("wide values", "beyond 32 bits", (1 << 40) + 1, [(1 << 33) + 3])]
                meetings += [("wide values", "beyond 53 bits", (1 << 60) + 1, [2])]
            for kind, label, data, updates in meetings:
                yield _draft_meeting_case(row, kind, label, name, data, updates, reduction=reduction, rules=rules)
    for name, values in (("float64", (2.2, 1e-40, 1e300)), ("complex128", (0.1 + 2.2j, 1e-40j))):
        if name in row.types:
            for reduction in row.reductions[1:]:
                if name == "float64" or reduction not in ("min", "max"):
                    rules = _rules(row, name, reduction)
                    yield _draft_meeting_case(
                        row,
                        "wide values",
                        "beyond 32 bits",
                        name,
                        values[0],
                        [values[1]],
                        reduction=reduction,
                        rules=rules,
                    )
                    yield _draft_meeting_case(
                        row,
                        "wide values",
                        "beyond the range of 32 bits",
                        name,
                        1.0,
                        [values[-1]],
                        reduction=reduction,
                        rules=rules,
                    )


def _bools(row: OracleRow) -> Iterator[CaseDraft]:
    """The truth tables: two targets once, two targets twice."""
    for reduction in row.reductions[1:]:
        rules = _rules(row, "bool", reduction)
        data = array("bool", [True, True, False, False])
        once = draft_line_call(row, data, [0, 1, 2, 3], array("bool", [True, False, True, False]), reduction=reduction)
        yield CaseDraft(row.name, "plain", "truth table", once, rules)
        twice = draft_line_call(row, data, [0, 0, 3, 3], array("bool", [False, True, True, True]), reduction=reduction)
        yield CaseDraft(row.name, "repeated", "two updates each", twice, rules)


def _means(row: OracleRow) -> Iterator[CaseDraft]:
    """ScatterElementsUpdate-12: means of negative numbers, of sums that leave the type, of several updates."""
    rules = ("2.5", "2.10", "V10")
    signed = [name for name in INTEGERS if name.startswith("int")]
    for initial in (True, False):
        suffix = "" if initial else " without data"
        for name in signed:
            yield _mean(row, f"of m8 and m5{suffix}", name, -8, [-5], initial, rules=rules)
            yield _mean(row, f"of m8 m5 m6{suffix}", name, -8, [-5, -6], initial, rules=rules)
            yield _mean(row, f"of m1 and 0{suffix}", name, -1, [0, -1], initial, rules=rules)
        for name in INTEGERS:
            bottom, top = limits_of(name)
            yield _mean(row, f"of the largest{suffix}", name, top, [top] * 3, initial, rules=rules)
            yield _mean(row, f"of the smallest{suffix}", name, bottom, [bottom] * 3, initial, rules=rules)
            yield _mean(row, f"of hundreds{suffix}", name, 100, [100] * 3, initial, rules=rules)
            yield _mean(row, f"of 1 2 4 8{suffix}", name, 1, [2, 4, 8], initial, rules=rules)
        for name in FLOATS:
            yield _mean(row, f"of 1 2 4 4{suffix}", name, 1, [2, 4, 4], initial, rules=rules)
            yield _mean(row, f"of 1 and 2{suffix}", name, 1, [2], initial, rules=rules)
            yield _mean(row, f"of nan{suffix}", name, 1, [NAN, 2], initial, rules=rules, kind="nan")
            yield _mean(row, f"of infinity{suffix}", name, 1, [INF], initial, rules=rules, kind="nan")


def _mean(
    row: OracleRow, label: str, name: str, data: Any, updates: list[Any], initial: bool, *, rules: tuple[str, ...],
    kind: str = "mean",
) -> CaseDraft:  # fmt: skip
    more = {} if initial else {"use_init_val": False}
    return _draft_meeting_case(row, kind, label, name, data, updates, reduction="mean", rules=rules, **more)


def _without_data(row: OracleRow) -> Iterator[CaseDraft]:
    """Yield cases with ``use_init_val=False``.

    Only elements with updates lose their value. Results may be infinite. Without a reduction, it has no effect.
    """
    for reduction in row.reductions:
        rules = (*_rules(row, "float32", reduction), "V11")
        for name in (*FLOATS, "int32", "int64", "uint8", "bool"):
            if (reduction, name) != ("mean", "bool"):
                data = array(name, [1, 0, 1, 1])
                made = draft_line_call(row, data, [1, 3], array(name, [0, 1]), reduction=reduction, use_init_val=False)
                yield CaseDraft(row.name, "initial value", "untouched stay", made, rules)
        for name in FLOATS if reduction != "none" else ():
            for label, updates in (("minus infinity", [-INF, -INF]), ("infinity", [INF, INF]), ("one nan", [NAN])):
                yield _draft_meeting_case(
                    row,
                    "initial value",
                    label,
                    name,
                    1.0,
                    updates,
                    reduction=reduction,
                    rules=rules,
                    use_init_val=False,
                )
            yield _draft_meeting_case(
                row,
                "initial value",
                "nan in data",
                name,
                NAN,
                [1.0],
                reduction=reduction,
                rules=rules,
                use_init_val=False,
            )
