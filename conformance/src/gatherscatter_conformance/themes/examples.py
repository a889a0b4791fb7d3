"""The examples that the specifications print, with the values that they print, or should have printed.

`build` refuses a case whose printed values the oracle does not give.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gatherscatter.oracle import ROWS, OracleRow
from gatherscatter_conformance.themes.draft import CaseDraft, call, i64, section
from gatherscatter_conformance.themes.values import array

MATRIX = [[1.0, 1.2], [2.3, 3.4], [4.5, 5.7]]
WIDE_MATRIX = [[1.0, 1.2, 1.9], [2.3, 3.4, 3.9], [4.5, 5.7, 5.9]]
CUBE = [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
PLANES = [[1, 2, 3, 4], [5, 6, 7, 8], [8, 7, 6, 5], [4, 3, 2, 1]]
TURNED = [[8, 7, 6, 5], [4, 3, 2, 1], [1, 2, 3, 4], [5, 6, 7, 8]]
FIVES = [[5] * 4, [6] * 4, [7] * 4, [8] * 4]
ONES = [[1] * 4, [2] * 4, [3] * 4, [4] * 4]
SIX = [[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], [[13, 14, 15, 16], [17, 18, 19, 20], [21, 22, 23, 24]]]
TWICE = {
    "add": [[7, 8, 9, 10], [13, 14, 15, 16], [18, 17, 16, 15], [16, 15, 14, 13]],
    "mul": [[5, 10, 15, 20], [60, 72, 84, 96], [168, 147, 126, 105], [128, 96, 64, 32]],
    "max": [[5, 5, 5, 5], [6, 6, 7, 8], [8, 7, 7, 7], [8, 8, 8, 8]],
    "min": [[1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3], [4, 3, 2, 1]],
}


def drafts() -> Iterator[CaseDraft]:
    """Operator by operator."""
    for row in ROWS.values():
        examples = _BY_OPERATOR.get(row.name.rpartition("-")[0])
        if examples is not None:
            yield from examples(row)


def _draft(  # noqa: PLR0917
    row: OracleRow,
    label: str,
    name: str,
    data: Any,
    indices: Any,
    updates: Any,
    stated: Any,
    *rules: str,
    **attributes: Any,
) -> CaseDraft:
    new = None if updates is None else array(name, updates)
    made = call(row, array(name, data), i64(indices), new, **attributes)
    as_printed = array(name, stated).tolist()
    return CaseDraft(row.name, "example", label, made, (section(row), *rules), stated=as_printed)


def _gather(row: OracleRow) -> Iterator[CaseDraft]:
    pairs = [[MATRIX[0], MATRIX[1]], [MATRIX[1], MATRIX[2]]]
    yield _draft(row, "example 1", "float32", MATRIX, [[0, 1], [1, 2]], None, pairs)
    columns = [[[1.0, 1.9]], [[2.3, 3.9]], [[4.5, 5.9]]]
    yield _draft(row, "example 2", "float32", WIDE_MATRIX, [[0, 2]], None, columns, axis=1)
    rules = ("O6",) if row.name == "onnx.Gather-13" else ()
    table = [[[2, 0], [1, 1]], [[12, 10], [11, 11]]]
    yield _draft(row, "table", "int64", [[0, 1, 2], [10, 11, 12]], [[2, 0], [1, 1]], None, table, *rules, axis=1)


def _openvino_gather(row: OracleRow) -> Iterator[CaseDraft]:
    five, ten = [1, 2, 3, 4, 5], [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]
    yield _draft(row, "example 1", "int32", five, [0, 0, 4], None, [1, 1, 5], axis=0)
    if "batch_dims" in row.attributes:
        ends, answer = [[0, 0, 4], [4, 0, 0]], [[1, 1, 5], [10, 6, 6]]
        yield _draft(row, "example 2", "int32", ten, ends, None, answer, axis=1, batch_dims=1)
        twenty = [ten, [[11, 12, 13, 14, 15], [16, 17, 18, 19, 20]]]
        four = [ends, [[1, 2, 4], [4, 3, 2]]]
        answers = [answer, [[12, 13, 15], [20, 19, 18]]]
        yield _draft(row, "example 3", "int32", twenty, four, None, answers, axis=2, batch_dims=2)
        forty = [[[[4 * n + m + 1 for m in range(4)] for n in range(5 * b, 5 * b + 5)]] for b in range(2)]
        picked = [[[forty[0][0][n] for n in (1, 2, 4)]], [[forty[1][0][n] for n in (4, 3, 2)]]]
        yield _draft(row, "example 4", "int32", forty, four[1], None, picked, axis=2, batch_dims=1)
        yield _draft(row, "example 5", "int32", ten, ends, None, answer, "V2", axis=1, batch_dims=-1)
    if row.rule == "zeros":
        yield _draft(row, "example 6", "int32", five, [0, -2, -1], None, [1, 4, 5], "range", axis=0)
        yield _draft(row, "example 7", "int32", five, [3, 10, -20], None, [4, 0, 0], "range", axis=0)


def _gather_elements(row: OracleRow) -> Iterator[CaseDraft]:
    rules = ("O5",) if row.name == "onnx.GatherElements-11" else ()
    for name in ("int64", "float32"):
        yield _draft(row, "example 1", name, [[1, 2], [3, 4]], [[0, 0], [1, 0]], None, [[1, 1], [4, 3]], *rules, axis=1)
        nine = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
        yield _draft(row, "example 2", name, nine, [[1, 2, 0], [2, 0, 0]], None, [[4, 8, 3], [7, 2, 3]], axis=0)


def _openvino_gather_elements(row: OracleRow) -> Iterator[CaseDraft]:
    nine = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    for name in ("int32", "float32"):
        yield _draft(row, "example 1", name, [[1, 2], [3, 4]], [[0, 1], [0, 0]], None, [[1, 4], [1, 2]], axis=0)
        longer, taken = [[1, 1, 0], [1, 0, 1]], [[7, 7, 1], [3, 4, 3]]
        yield _draft(row, "example 2", name, [[1, 7], [4, 3]], longer, None, taken, axis=1)
        yield _draft(row, "example 3", name, nine, [[1, 0, 1], [1, 2, 0]], None, [[4, 2, 6], [4, 8, 3]], axis=0)


def _gather_nd(row: OracleRow) -> Iterator[CaseDraft]:
    four = [[0, 1], [2, 3]]
    for name in ("int64", "float32"):
        yield _draft(row, "example 1", name, four, [[0, 0], [1, 1]], None, [0, 3])
        yield _draft(row, "example 2", name, four, [[1], [0]], None, [[2, 3], [0, 1]])
        yield _draft(row, "example 3", name, CUBE, [[0, 1], [1, 0]], None, [[2, 3], [4, 5]])
        yield _draft(row, "example 4", name, CUBE, [[[0, 1]], [[1, 0]]], None, [[[2, 3]], [[4, 5]]])
        if "batch_dims" in row.attributes:
            yield _draft(row, "example 5", name, CUBE, [[1], [0]], None, [[2, 3], [4, 5]], batch_dims=1)


def _openvino_gather_nd(row: OracleRow) -> Iterator[CaseDraft]:
    four = [[1, 2], [3, 4]]
    yield _draft(row, "example 1", "int32", four, [[0, 0], [1, 0]], None, [1, 3])
    yield _draft(row, "example 2", "int32", four, [[1], [0]], None, [[3, 4], [1, 2]])
    yield _draft(row, "example 3", "int32", four, [[[1]], [[0]]], None, [[[3, 4]], [[1, 2]]])
    yield _draft(row, "example 4", "int32", four, [[1], [0]], None, [2, 3], batch_dims=1)
    yield _draft(row, "example 5", "int32", SIX, [[1], [0]], None, [[5, 6, 7, 8], [13, 14, 15, 16]], batch_dims=1)
    kept = [[[2], [5], [11]], [[13], [19], [23]]]
    fused = [[2], [5], [11], [13], [19], [23]]
    answer = fused if row.version == 5 else kept
    indices = [[[[1]], [[0]], [[2]]], [[[0]], [[2]], [[2]]]]
    yield _draft(row, "example 6", "int32", SIX, indices, None, answer, "V4", batch_dims=2)
    if row.version == 8:
        data = [[[[1, 2, 3, 4], [5, 6, 7, 8]], [[9, 10, 11, 12], [13, 14, 15, 16]]]]
        pairs = [[[[1], [0]], [[3], [2]]]]
        yield _draft(row, "example 7", "int32", data, pairs, None, [[[2, 5], [12, 15]]], "V4", batch_dims=3)


def _scatter_elements(row: OracleRow) -> Iterator[CaseDraft]:
    zeros = [[0.0] * 3] * 3
    updates = [[1.0, 1.1, 1.2], [2.0, 2.1, 2.2]]
    answer = [[2.0, 1.1, 0.0], [1.0, 0.0, 2.2], [0.0, 2.1, 1.2]]
    yield _draft(row, "example 1", "float32", zeros, [[1, 0, 2], [0, 2, 1]], updates, answer)
    second = [[1.0, 1.1, 3.0, 2.1, 5.0]]
    yield _draft(row, "example 2", "float32", [[1.0, 2.0, 3.0, 4.0, 5.0]], [[1, 3]], [[1.1, 2.1]], second, axis=1)
    if row.rule == "negative" and row.name != "onnx.Scatter-9":
        third = [[1.0, 1.1, 2.1, 4.0, 5.0]]
        yield _draft(
            row, "negative indices", "float32", [[1.0, 2.0, 3.0, 4.0, 5.0]], [[1, -3]], [[1.1, 2.1]], third, axis=1
        )


def _scatter_elements_update(row: OracleRow) -> Iterator[CaseDraft]:
    if row.version == 3:
        return
    four, six, updates = [2, 3, 4, 6], [1, 0, 0, -2, -1, 2], [10, 20, 30, 40, 70, 60]
    yield _draft(row, "example 1", "float32", four, six, updates, [52, 13, 104, 76], axis=0, reduction="sum")
    yield _draft(row, "example 2", "float32", four, [1, 0, 0, 2, 3, 2], updates, [50, 10, 100, 70], axis=0,
                 reduction="sum", use_init_val=False)  # fmt: skip
    for label, start, indices, reduction, answer in (
        ("example 3", 0, [[1, 2], [0, 3]], "none", [[0, 11, 12, 0], [13, 0, 0, 14], [0] * 4]),
        ("example 4", 1, [[1, 1], [0, 3]], "sum", [[1, 24, 1, 1], [14, 1, 1, 15], [1] * 4]),
        ("example 5", 2, [[1, 1], [0, 3]], "prod", [[2, 264, 2, 2], [26, 2, 2, 28], [2] * 4]),
    ):
        data = [[start] * 4] * 3
        yield _draft(
            row, label, "int32", data, indices, [[11, 12], [13, 14]], answer, "V14", axis=1, reduction=reduction
        )


def _scatter_nd(row: OracleRow) -> Iterator[CaseDraft]:
    eight, cube = list(range(1, 9)), [PLANES, PLANES, TURNED, TURNED]
    for name in ("int64", "float32"):
        answer = [1, 11, 3, 10, 9, 6, 7, 12]
        yield _draft(row, "example 1", name, eight, [[4], [3], [1], [7]], [9, 10, 11, 12], answer)
        yield _draft(row, "example 2", name, cube, [[0], [2]], [FIVES, ONES], [FIVES, PLANES, ONES, TURNED], "O1")
        for reduction in row.reductions[1:]:
            if reduction in TWICE:
                twice = [TWICE[reduction], PLANES, TURNED, TURNED]
                yield _draft(row, "two planes into one", name, cube, [[0], [0]], [FIVES, ONES], twice, "O2",
                             reduction=reduction)  # fmt: skip
    if row.name == "openvino.ScatterNDUpdate-15":
        yield from _corrected(row)


def _corrected(row: OracleRow) -> Iterator[CaseDraft]:
    """Yield the examples whose printed result contradicts the formula, with the result of the formula (ruling V12)."""
    six = [[4], [3], [1], [7], [-2], [-4]]
    answer = [1, 11, 3, 10, 14, 6, 13, 12]
    yield _draft(row, "example of six", "int32", list(range(1, 9)), six, [9, 10, 11, 12, 13, 14], answer, "V12", "O3")
    answers = {"none": [50, 40, 20, 4], "sum": [61, 72, 23, 4], "sub": [-59, -68, -17, 4],
               "prod": [500, 2400, 60, 4], "min": [1, 2, 3, 4], "max": [50, 40, 20, 4]}  # fmt: skip
    indices, updates = [0, 2, -3, -3, 0], [10, 20, 30, 40, 50]
    for reduction, answer in answers.items():
        columns = [[index] for index in indices]
        yield _draft(
            row, "example of five", "float32", [1, 2, 3, 4], columns, updates, answer, "V12", reduction=reduction
        )
        made = call(row, array("float32", [1, 2, 3, 4]), i64(indices), array("float32", updates), reduction=reduction)
        yield CaseDraft(row.name, "example", "example of five as printed", made, ("2.6", "V12"))


def _scatter_update(row: OracleRow) -> Iterator[CaseDraft]:
    data = [[-1, 1, -1, 3, 4], [-1, 6, -1, 8, 9], [-1, 11, 1, 13, 14]]
    answer = [[1, 1, 1, 3, 4], [1, 6, 1, 8, 9], [1, 11, 2, 13, 14]]
    yield _draft(row, "example 2", "float32", data, [0, 2], [[1, 1], [1, 1], [1, 2]], answer, axis=i64([1]))
    zeros = [[0, 0]] * 4
    yield _draft(row, "formula 1", "float32", zeros, 2, [5, 6], [[0, 0], [0, 0], [5, 6], [0, 0]], "V24", axis=0)
    yield _draft(row, "formula 2", "float32", zeros, [3, 0], [[1, 2], [3, 4]], [[3, 4], [0, 0], [0, 0], [1, 2]], axis=0)
    updates = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    four = [[3, 4], [5, 6], [7, 8], [1, 2]]
    yield _draft(row, "formula 3", "float32", zeros, [[3, 0], [1, 2]], updates, four, axis=0)


_BY_OPERATOR = {
    "onnx.Gather": _gather,
    "onnx.GatherElements": _gather_elements,
    "onnx.GatherND": _gather_nd,
    "onnx.Scatter": _scatter_elements,
    "onnx.ScatterElements": _scatter_elements,
    "onnx.ScatterND": _scatter_nd,
    "openvino.Gather": _openvino_gather,
    "openvino.GatherElements": _openvino_gather_elements,
    "openvino.GatherND": _openvino_gather_nd,
    "openvino.ScatterElementsUpdate": _scatter_elements_update,
    "openvino.ScatterNDUpdate": _scatter_nd,
    "openvino.ScatterUpdate": _scatter_update,
}
