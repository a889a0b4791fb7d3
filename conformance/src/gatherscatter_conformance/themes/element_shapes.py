"""Shapes of GatherElements and the scatters of elements: boxes of indices that are smaller or larger than data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gatherscatter.oracle import ROWS, OracleRow
from gatherscatter_conformance.themes.draft import CaseDraft, call, i64, sample_types, section
from gatherscatter_conformance.themes.values import ramp

ELEMENTS = tuple(row for row in ROWS.values() if row.form == "lanes")


def drafts() -> Iterator[CaseDraft]:
    """Boxes of the size of data, of others, and of none."""
    for row in ELEMENTS:
        for name in sample_types(row):
            yield from _axes(row, name)
            yield from _boxes(row, name)
            yield from _empty(row, name)
        yield from _refused(row)
        if row.reductions != ("none",):
            yield from _reduced(row)


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
    updates: tuple[int, ...] | None = None,
    **attributes: Any,
) -> CaseDraft:
    positions = np.asarray(indices, np.int64)
    new = None if row.kernel == "gather_elements" else ramp(name, positions.shape if updates is None else updates, 3)
    made = call(row, ramp(name, data), positions, new, axis=axis, **attributes)
    return CaseDraft(row.name, kind, label, made, (section(row), *rules))


def _box_rule(row: OracleRow) -> str:
    if row.name == "openvino.GatherElements-6":
        return "V7"
    if row.name.startswith("openvino"):
        return "V21"
    return "O10" if row.kernel == "gather_elements" else "O11"


def _axes(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    rules = ("axis", *(["O5"] if row.name == "onnx.GatherElements-11" else []))
    for axis in (None, 0, 1, 2, -1, -2, -3):
        if axis is None and ("axis" in row.inputs or row.name == "openvino.GatherElements-6"):
            continue
        label = "default axis" if axis is None else f"axis {axis}".replace("-", "m")
        shape = (2, 2, 2)
        turned = (1 + np.indices(shape)[axis or 0]) % 2  # every line the other way round: all targets are different
        yield _draft(row, "axis", label, name, shape, turned, axis=axis, rules=rules)
    if row.kernel != "gather_elements":
        yield _draft(row, "axis", "one index in every row", name, (2, 3), [[1], [1]], axis=1, rules=("O4",))


def _boxes(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    rules = (_box_rule(row),)
    yield _draft(row, "box", "shorter on the axis", name, (2, 3), [[2], [0]], axis=1, rules=rules)
    yield _draft(row, "box", "shorter off the axis", name, (3, 3), [[2, 0, 1]], axis=1, rules=rules)
    yield _draft(row, "box", "shorter on both", name, (3, 3), [[2, 0], [1, 1]], axis=0, rules=rules)
    yield _draft(row, "box", "longer on the axis", name, (2, 2), [[1, 0, 1], [0, 0, 1]], axis=1, rules=rules)
    yield _draft(row, "box", "longer on axis 0", name, (2, 2), [[1, 0], [1, 1], [0, 0]], axis=0, rules=rules)
    yield _draft(row, "box", "one element of rank 4", name, (1, 2, 1, 2), [[[[1]]]], axis=3, rules=rules)
    yield _draft(row, "long axis", "200 on the axis", name, (200,), [199, 64, 100, 0], axis=0)
    wide = np.stack([[99, 64, 0], [65, 1, 98]])
    yield _draft(row, "long axis", "100 in a row", name, (2, 100), wide, axis=1)
    yield _draft(row, "long axis", "100 in a column", name, (100, 2), wide.T, axis=0)


def _empty(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    rules = ("2.11", "V20") if row.name.startswith("openvino") else ("2.11",)
    yield _draft(row, "empty", "no indices", name, (3,), [], axis=0, rules=rules)
    yield _draft(row, "empty", "no indices on the axis", name, (2, 3), np.zeros((2, 0)), axis=1, rules=rules)
    yield _draft(row, "empty", "no rows of indices", name, (2, 3), np.zeros((0, 3)), axis=0, rules=rules)
    yield _draft(row, "empty", "no indices into nothing", name, (2, 0), np.zeros((2, 0)), axis=1, rules=rules)
    yield _draft(row, "empty", "no outer rows", name, (0, 3), np.zeros((0, 2)), axis=1, rules=rules)


def _refused(row: OracleRow) -> Iterator[CaseDraft]:
    rules = (_box_rule(row),)
    scatter = row.kernel == "scatter_elements"
    yield _draft(row, "shape", "longer off the axis", "float32", (2, 3), np.zeros((3, 1)), axis=1, rules=rules)
    yield _draft(row, "shape", "longer off axis 0", "float32", (2, 3), np.zeros((1, 4)), axis=0, rules=rules)
    yield _draft(row, "shape", "indices of another rank", "float32", (2, 3), [0, 1], axis=0, rules=rules)
    yield _draft(row, "shape", "scalar indices", "float32", (3,), 1, axis=0, rules=(*rules, "2.11"))
    rank_rule = "V24" if row.name.startswith("openvino") else "O25"
    yield _draft(row, "scalar", "scalar data", "float32", (), 0, axis=0, rules=(rank_rule,))
    yield _draft(
        row,
        "out of range",
        "an index into nothing",
        "float32",
        (2, 0),
        np.zeros((2, 1)),
        axis=1,
        rules=("range", "2.11"),
    )
    for axis in (2, -3):
        label = f"axis {axis} of rank 2".replace("-", "m")
        yield _draft(row, "axis", label, "float32", (2, 3), np.zeros((2, 3)), axis=axis, rules=("axis",))
    if scatter:
        for shape in ((2, 1), (2, 3), (1, 2), (2,), (2, 2, 1), ()):
            label = "updates of shape " + " ".join(map(str, shape))
            yield _draft(row, "shape", label, "float32", (2, 3), [[0, 1], [1, 2]], axis=1, rules=rules, updates=shape)
    if "axis" in row.inputs:
        for label, axis_input in (("two elements", i64([1, 1])), ("rank 2", i64([[1]])), ("no elements", i64([]))):
            yield _draft(
                row,
                "axis",
                f"axis input of {label}",
                "float32",
                (2, 3),
                [[0, 1], [1, 2]],
                axis=axis_input,
                rules=("V16",),
            )
        one = np.array([1], np.int32)
        yield _draft(
            row,
            "axis",
            "axis input int32 of one element",
            "float32",
            (2, 3),
            [[0, 1], [1, 2]],
            axis=one,
            rules=("V16",),
        )


def _reduced(row: OracleRow) -> Iterator[CaseDraft]:
    """Every reduction along both axes, with targets that meet; row-major order is across rows where the axis is 0."""
    rules = ("V14",) if row.name.startswith("openvino") else ("O4",)
    for name in ("int64", "float32"):
        for reduction in row.reductions[1:]:
            for axis, indices in ((0, [[1, 0], [1, 1], [-1, 0]]), (1, [[2, -3, 2], [0, 1, 0]])):
                label = f"two rows along axis {axis}"
                yield _draft(row, "repeated", label, name, (2, 3), indices, axis=axis, rules=rules, reduction=reduction)
            long = (np.arange(12) * 5 % 7).reshape(1, 12)
            yield _draft(
                row, "box", "longer and combined", name, (2, 7), long, axis=1, rules=rules, reduction=reduction
            )
