"""Shapes of GatherND and the scatters of tuples: slices, batch dimensions, tuples of length 0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gatherscatter.oracle import ROWS, OracleRow
from gatherscatter_conformance.themes.draft import CaseDraft, call, sample_types, section
from gatherscatter_conformance.themes.values import ramp

TUPLES = tuple(row for row in ROWS.values() if row.form == "tuples")
BATCHED = tuple(row for row in TUPLES if "batch_dims" in row.attributes)


def drafts() -> Iterator[CaseDraft]:
    """Tuples of every length into data of rank 1 to 4."""
    for row in TUPLES:
        for name in sample_types(row):
            yield from _slices(row, name)
            yield from _empty(row, name)
            yield from _length_0(row, name)
        yield from _refused(row)
        if row.reductions != ("none",):
            yield from _reduced(row)
    for row in BATCHED:
        for name in sample_types(row):
            yield from _batches(row, name)
        yield from _refused_batches(row)


def _draft(
    row: OracleRow,
    kind: str,
    label: str,
    name: str,
    data: tuple[int, ...],
    indices: object,
    *,
    rules: tuple[str, ...] = (),
    updates: tuple[int, ...] | None = None,
    **attributes: Any,
) -> CaseDraft:
    positions = np.asarray(indices, np.int64)
    new = None
    if row.kernel == "scatter_nd":
        regular = positions.shape[:-1] + data[positions.shape[-1] :] if positions.ndim else ()
        new = ramp(name, regular if updates is None else updates, start=3)
    made = call(row, ramp(name, data), positions, new, **attributes)
    return CaseDraft(row.name, kind, label, made, (section(row), *rules))


def _slices(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    shape_rules = ("O1", "O26") if row.name.startswith("onnx.Scatter") else ()
    yield _draft(row, "slices", "elements of a matrix", name, (2, 3), [[1, 2], [0, 0]], rules=shape_rules)
    yield _draft(row, "slices", "rows of a cube", name, (2, 2, 2), [[1, 0], [0, 1]], rules=shape_rules)
    yield _draft(row, "slices", "planes of a cube", name, (3, 2, 2), [[2], [0]], rules=shape_rules)
    yield _draft(row, "slices", "tuples of rank 3", name, (2, 2, 2), [[[0, 1]], [[1, 0]]], rules=shape_rules)
    yield _draft(
        row, "slices", "elements of rank 4", name, (2, 1, 2, 2), [[1, 0, 1, 0], [0, 0, 0, 1]], rules=shape_rules
    )
    yield _draft(row, "long axis", "100 in a row", name, (2, 100), [[1, 99], [0, 64], [1, 65]])
    yield _draft(row, "scalar", "one tuple", name, (2, 3), [1, 2], rules=("2.11",))
    yield _draft(row, "scalar", "one tuple of length 1", name, (3,), [1], rules=("2.11",))
    yield _draft(row, "slices", "one tuple, a row", name, (2, 3), [1], rules=("2.11",))


def _empty(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    rules = ("2.11", "V20") if row.name.startswith("openvino") else ("2.11",)
    yield _draft(row, "empty", "no tuples", name, (3,), np.zeros((0, 1)), rules=rules)
    yield _draft(row, "empty", "no tuples of rank 3", name, (2, 3), np.zeros((2, 0, 1)), rules=rules)
    yield _draft(row, "empty", "no tuples into nothing", name, (0, 2), np.zeros((0, 1)), rules=rules)
    yield _draft(row, "empty", "rows without elements", name, (2, 0), [[1], [0]], rules=rules)


def _length_0(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    rules = ("O7", *(["V20"] if row.name.startswith("openvino") else []))
    yield _draft(row, "k=0", "one empty tuple of rank 1", name, (2, 2), np.zeros(0), rules=rules)
    yield _draft(row, "k=0", "one empty tuple", name, (3,), np.zeros((1, 0)), rules=rules)
    yield _draft(row, "k=0", "two empty tuples", name, (3,), np.zeros((2, 0)), rules=rules)
    yield _draft(row, "k=0", "no empty tuples", name, (3,), np.zeros((0, 0)), rules=rules)
    for reduction in row.reductions[1:] if name != "string" else ():
        label = "two empty tuples combined"
        yield _draft(row, "k=0", label, name, (3,), np.zeros((2, 0)), rules=rules, reduction=reduction)


def _reduced(row: OracleRow) -> Iterator[CaseDraft]:
    for name in ("int64", "float32"):
        for reduction in row.reductions[1:]:
            yield _draft(row, "repeated", "rows twice", name, (3, 2), [[0], [2], [0]], reduction=reduction)
            elements = [[0, 1], [1, -1], [0, 1], [-2, 1]]
            label = "elements of a matrix under several names"
            yield _draft(row, "repeated", label, name, (2, 3), elements, rules=("O4",), reduction=reduction)


def _refused(row: OracleRow) -> Iterator[CaseDraft]:
    openvino = row.name.startswith("openvino")
    yield _draft(row, "shape", "tuples longer than the rank", "float32", (2, 3), [[0, 0, 0]], updates=(1,))
    yield _draft(row, "shape", "scalar indices", "float32", (3,), 1, rules=("2.11",))
    yield _draft(
        row, "scalar", "scalar data", "float32", (), np.zeros((1, 0)), rules=("V24",) if openvino else ("O25",)
    )
    yield _draft(row, "out of range", "a tuple into nothing", "float32", (0, 2), [[0]], rules=("range",))
    if row.kernel == "scatter_nd":
        rules = ("V13",) if openvino else ("O1", "O18")
        for shape in ((2, 3), (1, 4), (2, 1), (4,), (), (1,), (2, 4, 1), (1, 2, 4), (4, 2), (3, 4)):
            label = "updates of shape " + " ".join(map(str, shape))
            yield _draft(row, "shape", label, "float32", (3, 4), [[0], [2]], rules=rules, updates=shape)
        for shape in ((1,), (1, 1), (2,), (0,)):
            label = "for one element updates of shape " + " ".join(map(str, shape))
            yield _draft(row, "shape", label, "float32", (2, 2), [1, 0], rules=rules, updates=shape)
        yield _draft(row, "shape", "for two elements a scalar", "float32", (3,), [[0], [2]], rules=rules, updates=())


def _batches(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    rules = ("V4",) if row.name.startswith("openvino") else ("O6",)
    for label, data, indices, b in (
        ("one, elements", (2, 3), [[1], [0]], 1),
        ("one, rows", (2, 3, 2), [[1], [0]], 1),
        ("one, two tuples each", (2, 2, 3), [[[1, 0], [0, 2]], [[0, 1], [1, 2]]], 1),
        ("two, elements", (2, 2, 3), [[[1], [0]], [[2], [2]]], 2),
        ("two, one tuple each", (2, 2, 3), [[[[1]], [[0]]], [[[2]], [[2]]]], 2),
        ("two, rows", (1, 2, 2, 2), [[[1], [0]]], 2),
        ("three", (1, 2, 2, 3), [[[[1], [0]], [[2], [0]]]], 3),
    ):
        yield _draft(row, "batch dims", label, name, data, indices, rules=rules, batch_dims=b)
    yield _draft(row, "empty", "no batches", name, (0, 3), np.zeros((0, 1)), rules=("2.11", *rules), batch_dims=1)
    yield _draft(
        row, "empty", "no batches of two", name, (2, 0, 3), np.zeros((2, 0, 1)), rules=("2.11", *rules), batch_dims=2
    )
    yield _draft(row, "k=0", "in batches", name, (2, 3), np.zeros((2, 0)), rules=("O7",), batch_dims=1)


def _refused_batches(row: OracleRow) -> Iterator[CaseDraft]:
    openvino = row.name.startswith("openvino")
    size_rules = ("V3",) if openvino else ("O20",)
    for data, indices in (((1, 3), (4, 1)), ((4, 3), (1, 1)), ((2, 3), (4, 1)), ((4, 3), (2, 1)), ((2, 3), (0, 1))):
        label = f"of size {data[0]} and {indices[0]}"
        yield _draft(row, "batch dims", label, "float32", data, np.zeros(indices), rules=size_rules, batch_dims=1)
    tuple_rules = ("V6",) if openvino else ("O6",)
    label = "tuples longer than what is left"
    yield _draft(row, "batch dims", label, "float32", (2, 2), [[0, 1], [1, 0]], rules=tuple_rules, batch_dims=1)
    for b in (2, -1, 5, -9):
        label = f"of number {b}".replace("-", "m")
        yield _draft(row, "batch dims", label, "float32", (2, 2), [[0], [1]], rules=tuple_rules, batch_dims=b)
