"""Cases with thousands of updates to a few targets, on which threads may race.

All sums and products are exact in their type, for any order of the updates. So a different result means that updates
were lost. The values follow patterns, so that they compress well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gatherscatter.oracle import GENERIC, ROWS, OracleRow
from gatherscatter_conformance.themes.draft import SCATTERS, CaseDraft, call, section
from gatherscatter_conformance.themes.values import array

COUNT = 10_000
MANY = 300_000  # with less, ONNX Runtime does not divide single elements between threads
NEWEST = tuple(
    ROWS[name]
    for name in (
        *("onnx.ScatterElements-16", "onnx.ScatterElements-18", "onnx.ScatterND-16", "onnx.ScatterND-18"),
        *("openvino.ScatterElementsUpdate-12", "openvino.ScatterNDUpdate-15"),
    )
)


def drafts() -> Iterator[CaseDraft]:
    """Yield scatters of 10,000 elements to 7 targets, of 300 rows to 5 targets, and of many ones to one target.

    Also yield permutations, in which no index is repeated.
    """
    for row in NEWEST:
        for reduction in row.reductions[1:]:
            yield _elements(row, "float32", reduction)
        yield _elements(row, "int64", row.reductions[1])
        if row.kernel == "scatter_nd":
            for reduction in row.reductions[1:]:
                yield _rows(row, reduction)
            if "max" in row.reductions:
                yield _one_target(row)
    for row in SCATTERS:
        yield _permutation(row, "float32")
        yield _elements(row, "float32", "none")


def _updates(name: str, reduction: str, count: int) -> np.ndarray:
    generic = GENERIC.get(reduction, reduction)
    n = np.arange(count)
    if generic == "mul":  # ones, and one 2 for every 1001 updates, so that products stay exact
        return array(name, np.where(n % 1001 == 0, 2, 1))
    if generic in ("add", "sub"):
        return array(name, np.ones(count))
    return array(name, n * 7 % 1009)


def _elements(row: OracleRow, name: str, reduction: str) -> CaseDraft:
    targets = np.arange(COUNT) * 3 % 7
    indices = targets[:, None] if row.kernel == "scatter_nd" else targets
    more: dict[str, Any] = {} if reduction == "none" else {"reduction": reduction}
    made = call(row, array(name, np.ones(7)), indices, _updates(name, reduction, COUNT), **more)
    rules = (section(row), "O3") if reduction == "none" else (section(row), "2.10")
    return CaseDraft(row.name, "many updates", f"{COUNT} to 7 places", made, rules)


def _one_target(row: OracleRow) -> CaseDraft:
    """Return a sum of ones in float32. It is exact, because float32 holds all integers up to 2**24."""
    made = call(
        row,
        np.zeros(1, np.float32),
        np.zeros((MANY, 1), np.int64),
        np.ones(MANY, np.float32),
        reduction=row.reductions[1],
    )
    return CaseDraft(row.name, "many updates", f"{MANY} to one place", made, (section(row), "2.10"))


def _rows(row: OracleRow, reduction: str) -> CaseDraft:
    count = 300
    updates = np.repeat(_updates("float32", reduction, count)[:, None], 16, axis=1)
    indices = (np.arange(count) % 5)[:, None]
    made = call(row, np.ones((5, 16), np.float32), indices, updates, reduction=reduction)
    return CaseDraft(row.name, "many updates", f"{count} rows to 5 places", made, (section(row), "2.10"))


def _permutation(row: OracleRow, name: str) -> CaseDraft:
    targets = np.arange(COUNT) * 77 % (COUNT + 1)  # 10,001 has no factor in common with 77
    indices = targets[:, None] if row.kernel == "scatter_nd" else targets
    made = call(row, array(name, np.zeros(COUNT + 1)), indices, array(name, np.arange(COUNT) % 100))
    return CaseDraft(row.name, "many updates", f"{COUNT} different places", made, (section(row),))
