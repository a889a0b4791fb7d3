"""Shapes of Gather and ScatterUpdate: indices of any rank replace an axis."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gatherscatter.oracle import ROWS, OracleRow
from gatherscatter_conformance.themes.draft import CaseDraft, DraftedCall, call, i64, sample_types, section
from gatherscatter_conformance.themes.values import ramp

ALONG_AXIS = tuple(row for row in ROWS.values() if row.kernel in ("gather", "scatter_update"))
BATCHED = tuple(row for row in ALONG_AXIS if "batch_dims" in row.attributes)


def drafts() -> Iterator[CaseDraft]:
    """Legal shapes with several types, the others with one."""
    for row in ALONG_AXIS:
        for name in sample_types(row):
            yield from _axes(row, name)
            yield from _ranks(row, name)
            yield from _empty(row, name)
        yield from _long(row)
        yield from _refused(row)
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
    axis: int | np.ndarray | None,
    rules: tuple[str, ...] = (),
    **attributes: int,
) -> CaseDraft:
    """A call with ordinary values; the shape of updates follows from the others."""
    positions = np.asarray(indices, np.int64)
    updates = None
    if row.kernel == "scatter_update":
        at = int(np.asarray(axis or 0).reshape(-1)[0]) % max(len(data), 1)
        updates = ramp(name, data[:at] + positions.shape + data[at + 1 :], start=3)
    made = call(row, ramp(name, data), positions, updates, axis=axis, **attributes)
    return CaseDraft(row.name, kind, label, made, (section(row), *rules))


def _axes(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    rules = ("axis", "V23") if "axis" in row.inputs else ("axis",)
    for axis in (None, 0, 1, 2, -1, -2, -3):
        label = "default axis" if axis is None else f"axis {axis}".replace("-", "m")
        if axis is not None or "axis" not in row.inputs:
            yield _draft(row, "axis", label, name, (2, 2, 3), [1, 0], axis=axis, rules=rules)


def _ranks(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    more = ("V24",) if row.name.startswith("openvino") else ()
    yield _draft(row, "scalar", "scalar index into a vector", name, (3,), 1, axis=0, rules=("2.11", *more))
    yield _draft(row, "scalar", "scalar index into a matrix", name, (2, 3), 2, axis=1, rules=("2.11", *more))
    yield _draft(row, "slices", "indices of rank 2 in the middle", name, (2, 3, 2), [[0, 2], [1, 0]], axis=1)
    yield _draft(row, "slices", "indices of rank 3", name, (3, 2), [[[0], [2]]], axis=0)
    yield _draft(row, "slices", "one index", name, (2, 3), [1], axis=0)


def _empty(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    rules = ("2.11", "V20") if row.name.startswith("openvino") else ("2.11",)
    yield _draft(row, "empty", "no indices", name, (3,), [], axis=0, rules=rules)
    yield _draft(row, "empty", "no indices of rank 2", name, (2, 3), np.zeros((2, 0)), axis=1, rules=rules)
    yield _draft(row, "empty", "no indices into nothing", name, (0, 2), [], axis=0, rules=rules)
    yield _draft(row, "empty", "rows without elements", name, (3, 0), [2, 0], axis=0, rules=rules)
    yield _draft(row, "empty", "no outer rows", name, (0, 3), [2, 0], axis=1, rules=rules)


def _long(row: OracleRow) -> Iterator[CaseDraft]:
    for name in sample_types(row):
        yield _draft(row, "long axis", "100 on the axis", name, (100,), [99, 64, 65, 0], axis=0)
        yield _draft(row, "long axis", "1000 behind", name, (2, 300), [299, 128, 64], axis=1)


def _refused(row: OracleRow) -> Iterator[CaseDraft]:
    for axis in (2, -3, 7):
        label = f"axis {axis} of rank 2".replace("-", "m")
        yield CaseDraft(row.name, "axis", label, _draft_call(row, (2, 3), [0], (1, 3), axis), (section(row), "axis"))
    rank_0 = _draft_call(row, (), 0, (), 0)
    yield CaseDraft(row.name, "scalar", "scalar data", rank_0, (section(row), *_rank_rules(row)))
    yield _draft(row, "out of range", "an index into nothing", "float32", (0, 2), [0], axis=0, rules=("2.11", "range"))
    if "axis" in row.inputs:
        for dtype in ("int8", "int32", "uint64"):
            one = np.array([1], dtype)
            yield _draft(
                row,
                "axis",
                f"axis input {dtype} of one element",
                "float32",
                (2, 3),
                [1],
                axis=one,
                rules=("axis", "V16"),
            )
        for label, wrong_axis in (("two elements", i64([0, 0])), ("no elements", i64([])), ("rank 2", i64([[0]]))):
            wrong = _draft_call(row, (2, 3), [0], (1, 3), wrong_axis)
            yield CaseDraft(row.name, "axis", f"axis input of {label}", wrong, (section(row), "V16"))
        real = _draft_call(row, (2, 3), [0], (1, 3), np.array(0, np.float32))
        yield CaseDraft(row.name, "type", "axis input float32", real, (section(row), "V16", "types"))
    if row.kernel == "scatter_update":
        for shape in ((3, 5), (2, 3), (3, 1), (1, 2), (3, 2, 1), (2,), ()):
            label = "updates of shape " + " ".join(map(str, shape))
            yield CaseDraft(row.name, "shape", label, _draft_call(row, (3, 3), [0, 2], shape, 1), ("2.7", "V8"))


def _draft_call(
    row: OracleRow, data: tuple[int, ...], indices: object, updates: tuple[int, ...], axis: int | np.ndarray
) -> DraftedCall:
    scatter = row.kernel == "scatter_update"
    return call(row, ramp("float32", data), i64(indices), ramp("float32", updates) if scatter else None, axis=axis)


def _rank_rules(row: OracleRow) -> tuple[str, ...]:
    return ("V24",) if row.name.startswith("openvino") else ("O25",)


def _batches(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    rules = ("V2",)
    yield _draft(row, "batch dims", "one", name, (2, 3), [[2, 0], [1, 1]], axis=1, rules=rules, batch_dims=1)
    yield _draft(
        row,
        "batch dims",
        "one counted from the end",
        name,
        (2, 3),
        [[2, 0], [1, 1]],
        axis=1,
        rules=rules,
        batch_dims=-1,
    )
    yield _draft(row, "batch dims", "all of the indices", name, (2, 3), [2, 0], axis=1, rules=rules, batch_dims=1)
    yield _draft(row, "batch dims", "two", name, (2, 2, 3), [[[2], [0]], [[1], [1]]], axis=2, rules=rules, batch_dims=2)
    yield _draft(row, "batch dims", "none of two", name, (2, 3), [[2, 0], [1, 1]], axis=1, rules=rules, batch_dims=-2)
    yield _draft(
        row,
        "batch dims",
        "one and an axis behind",
        name,
        (2, 2, 3),
        [[2, 0], [1, 1]],
        axis=2,
        rules=rules,
        batch_dims=1,
    )
    yield _draft(row, "empty", "no batches", name, (0, 3), np.zeros((0, 2)), axis=1, rules=("V2", "2.11"), batch_dims=1)
    cube = [[[0, 1]], [[1, 0]]]
    label = "m3 with rank 2 and 3"
    yield _draft(row, "batch dims", label, name, (2, 2), cube, axis=1, rules=rules, batch_dims=-3)


def _refused_batches(row: OracleRow) -> Iterator[CaseDraft]:
    for label, data, indices, axis, b in (
        ("behind the axis", (2, 3), [[0], [1]], 0, 1),
        ("more than the rank of indices", (2, 3), [0, 1], 1, 2),
        ("below the rank of indices", (2, 3), [[0], [1]], 1, -3),
        ("of different sizes", (2, 3), [[0], [1], [1]], 1, 1),
        ("of size one and two", (2, 3), [[0]], 1, 1),
    ):
        yield _draft(row, "batch dims", label, "float32", data, indices, axis=axis, rules=("V2",), batch_dims=b)
