"""The check of nodes before a run accepts each valid case of the corpus, with all, some or none of the sizes known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gatherscatter.arrays.convert import element_type
from gatherscatter.specs import table
from gatherscatter_conformance import corpus
from gatherscatter_conformance.case import Case
from gatherscatter_models.findings.nodes import Operand, Site
from gatherscatter_models.findings.static_checks import check_sites
from gatherscatter_models.interface import ModelError

ROWS = {row.name: row for row in table.ops()}
KNOWN: dict[str, Callable[[tuple[int, ...]], tuple[int | None, ...] | None]] = {
    "all sizes": lambda shape: shape,
    "some sizes": lambda shape: tuple(None if axis % 2 == 0 else size for axis, size in enumerate(shape)),
    "ranks": lambda shape: (None,) * len(shape),
    "types": lambda shape: None,
}


def site(case: Case, known: str) -> Site:
    row = ROWS[case.op]
    operands: list[Operand | None] = []
    for role, array in zip((each.name for each in row.inputs), case.inputs, strict=False):
        if array is None:
            operands.append(None)
            continue
        kind = "string" if array.dtype.kind in "OSUT" else element_type(array.dtype)
        constant = (lambda array=array: array) if role == "axis" else None
        operands.append(Operand(role, role, kind, KNOWN[known](array.shape), constant))
    attributes = {each.name: each.default for each in row.attributes} | dict(case.attributes)
    return Site((), "node", "node", "", row, tuple(operands), attributes)


@pytest.mark.parametrize("known", KNOWN)
def test_a_valid_call_is_not_refused(known: str) -> None:
    refused = {}
    for case in corpus.cases():
        if case.error is None:
            try:
                check_sites([site(case, known)])
            except ModelError as error:
                refused[case.id] = str(error)
    assert refused == {}
