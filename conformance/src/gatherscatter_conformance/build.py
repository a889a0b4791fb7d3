"""Make the corpus: ``python -m gatherscatter_conformance.build`` answers the drafts and writes the shipped file."""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path

import numpy as np

from gatherscatter import oracle
from gatherscatter_conformance import corpus, store, unspecified
from gatherscatter_conformance.case import KINDS, Case, element_type
from gatherscatter_conformance.themes import (
    axis_shapes,
    bags,
    beams,
    caches,
    element_shapes,
    examples,
    faults,
    indices,
    moves,
    quantized,
    races,
    reductions,
    tuple_shapes,
)
from gatherscatter_conformance.themes.draft import CaseDraft

THEMES = (
    examples,
    moves,
    indices,
    reductions,
    axis_shapes,
    element_shapes,
    tuple_shapes,
    caches,
    beams,
    bags,
    quantized,
    faults,
    races,
)


def build() -> list[Case]:
    """Return all cases, sorted by id."""
    cases = sorted((make_case(draft) for theme in THEMES for draft in theme.drafts()), key=lambda case: case.id)
    for one, next_one in itertools.pairwise(cases):
        if one.id == next_one.id:
            raise ValueError(f"two cases have the same call: {one.id}")
    return cases


def make_case(draft: CaseDraft) -> Case:
    """Return the case: the answer of the oracle, and whether the specification allows another answer."""
    row = oracle.ROWS[draft.op]
    given = draft.call.attributes.get("reduction", row.attributes.get("reduction", "none"))
    expected, error = answer(draft)
    if draft.stated is not None and (expected is None or expected[0].tolist() != draft.stated):
        raise ValueError(f"{draft.op}, {draft.name}: the oracle gives {expected or error}, not {draft.stated}")
    assert draft.kind in KINDS, draft.kind
    first = draft.call.inputs[0]
    assert first is not None
    name = element_type(first)
    reduction = given if given in row.reductions else "none"
    return Case(
        id=identity(draft, name, reduction),
        op=draft.op,
        type=name,
        reduction=reduction,
        kind=draft.kind,
        inputs=tuple(draft.call.inputs),
        attributes=dict(draft.call.attributes),
        expected=expected,
        error=error,
        rules=(*draft.rules, "O24") if draft.op == "onnx.Scatter-11" else draft.rules,
        latitude=unspecified.REASONS[key] if (key := unspecified.reason(row, *draft.call, error)) else "",
        relation="zero sign free" if expected and _leaves_zero_sign_open(draft) else "exact",
    )


def _leaves_zero_sign_open(draft: CaseDraft) -> bool:
    row = oracle.ROWS[draft.op]
    return unspecified.reduces(row) and unspecified.leaves_zero_sign_open(row, draft.call.inputs, draft.call.attributes)


def answer(draft: CaseDraft) -> tuple[tuple[np.ndarray, ...] | None, str | None]:
    """Return the expected output, or the class of the error."""
    try:
        return (oracle.call(draft.op, *draft.call.inputs, **draft.call.attributes),), None
    except (IndexError, TypeError, ValueError) as error:
        return None, type(error).__name__


def identity(draft: CaseDraft, name: str, reduction: str) -> str:
    """Return the id: readable parts and a hash of the call. Other cases and the answer do not change it."""
    digest = hashlib.sha256(repr(sorted(draft.call.attributes.items())).encode())
    for array in draft.call.inputs:
        digest.update(b"-" if array is None else _content(array))
    domain, _, op = draft.op.rpartition(".")
    parts = [domain, op, name, reduction, draft.kind, f"{draft.name} {digest.hexdigest()[:6]}"]
    return "/".join(part.replace(" ", "-").replace("=", "-") for part in parts)


def _content(array: np.ndarray) -> bytes:
    name = element_type(array)
    values = repr(array.reshape(-1).tolist()).encode() if name == "string" else array.tobytes()
    return f"{name}{array.shape}".encode() + values


def locate_corpus() -> Path:
    """Return the path of the file in the package."""
    return Path(__file__).parent / "data" / corpus.FILE


def main() -> None:
    """Write the shipped file."""
    cases = build()
    store.save(locate_corpus(), store.members(cases, corpus.VERSION))
    print(f"{len(cases)} cases, {locate_corpus().stat().st_size} bytes")


if __name__ == "__main__":
    main()
