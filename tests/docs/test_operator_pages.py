"""The pages of operators: letters of formulas are defined, batch dims are shown."""

from __future__ import annotations

import importlib
import re
import sys

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.explaining.examples import batch_example_of
from gatherscatter_conformance.rules import RULES
from tests.support.paths import DOCS

sys.path.insert(0, str(DOCS))
ops = importlib.import_module("site_pages.ops")


@pytest.mark.parametrize("section", ops.SEMANTICS)
def test_a_formula_defines_its_letters(section: str) -> None:
    used = set(re.findall(r"\b[A-Za-z]\b", RULES[section].ruling)) - {"A", "a"}
    assert used == set(ops.LETTERS.get(section, {}))


def test_operators_with_batch_dims_show_them() -> None:
    for name, page in ops.pages():
        if name != "ops/index.md":
            assert ("## With batch_dims" in page) == ("| `batch_dims` |" in page), name
            assert "\n- B: " in page or "output[B" not in page, name


@pytest.mark.parametrize("row", [row for row in gs.ops() if batch_example_of(row.name)], ids=lambda row: row.name)
def test_batch_entries_are_taken_one_by_one(row: gs.OpVersion) -> None:
    example = batch_example_of(row.name)
    data, indices, *_ = map(np.asarray, example.inputs)
    expected = eval(example.one_by_one, {"np": np, "gs": gs, "data": data, "indices": indices})
    np.testing.assert_array_equal(example.explanation().result, expected)
