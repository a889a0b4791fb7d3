"""A case before it is answered, and how the calls of the simplest shape look in each op version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gatherscatter.oracle import ROWS, OracleRow
from gatherscatter_conformance.case import element_type
from gatherscatter_conformance.themes.values import array, ramp

# The sections with the semantics of a kernel.
SECTIONS = {
    "gather": "2.2", "gather_elements": "2.3", "gather_nd": "2.4", "scatter_elements": "2.5", "scatter_nd": "2.6",
    "scatter_update": "2.7", "tensor_scatter": "2.8", "gather_tree": "2.9", "gather_quantized": "2.13",
    "gather_reduce": "2.12",
}  # fmt: skip
# Operators that can name any elements of a 1-D tensor.
_OTHERS = ("tensor_scatter", "gather_tree", "gather_reduce", "gather_quantized")
LINES = tuple(row for row in ROWS.values() if row.kernel not in _OTHERS)
GATHERS = tuple(row for row in LINES if not row.is_scatter)
SCATTERS = tuple(row for row in LINES if row.is_scatter)


# Element types for calls in which only the shapes matter. `sample_types` takes the first three that a version has: of 4
# bytes, of 8 bytes, and text. If the version has no text, the third type has one byte.
SAMPLE_TYPES = ("float32", "int64", "string", "uint8")

_RANGE_RULES = {
    "onnx.Gather-1": "O8", "onnx.Scatter-9": "O8", "onnx.GatherElements-11": "O9", "onnx.GatherElements-13": "O9",
    **dict.fromkeys((f"onnx.ScatterND-{version}" for version in (11, 13, 16, 18)), "O28"),
    "openvino.Gather-1": "V1", "openvino.Gather-7": "V1", "openvino.GatherElements-6": "V7",
    "openvino.GatherND-5": "V5", "openvino.GatherND-8": "V5", "openvino.ScatterUpdate-3": "V9",
    "openvino.ScatterElementsUpdate-3": "V9", "openvino.ScatterNDUpdate-3": "V9",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class CaseDraft:
    """A case without the oracle's answer.

    ``name`` is the readable part of the id. ``stated`` is the result that the specification prints or that was computed
    by hand, if there is one. `build` compares it with the answer of the oracle.
    """

    op: str
    kind: str
    name: str
    call: DraftedCall
    rules: tuple[str, ...] = ()
    stated: Any = None


class DraftedCall(NamedTuple):
    """Inputs in the order of the op version, and attributes."""

    inputs: list[np.ndarray | None]
    attributes: dict[str, Any]


def sample_types(row: OracleRow) -> tuple[str, ...]:
    """Three types of the version, of different sizes."""
    return tuple(name for name in SAMPLE_TYPES if name in row.types)[:3]


def section(row: OracleRow) -> str:
    """The sections with the semantics of an op version."""
    return SECTIONS[row.kernel]


def range_rules(row: OracleRow) -> tuple[str, ...]:
    """The rules on the range of indices."""
    return ("range", _RANGE_RULES[row.name]) if row.name in _RANGE_RULES else ("range",)


def call(
    row: OracleRow,
    data: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray | None = None,
    *,
    axis: int | np.ndarray | None = None,
    **attributes: Any,
) -> DraftedCall:
    """A call of a gather or scatter; the axis becomes an input or an attribute, as the version has it."""
    inputs: list[np.ndarray | None] = [data, indices] if updates is None else [data, indices, updates]
    if "axis" in row.inputs:
        inputs.append(np.array(axis or 0) if not isinstance(axis, np.ndarray) else axis)
    elif axis is not None or row.name == "openvino.GatherElements-6":
        attributes["axis"] = axis or 0
    return DraftedCall(inputs, attributes)


def draft_line_call(
    row: OracleRow,
    data: np.ndarray,
    elements: Any,
    updates: np.ndarray | None = None,
    index: str = "int64",
    **attributes: Any,
) -> DraftedCall:
    """A call that reads or writes these ``elements`` of 1-D data, in the form of that op version."""
    indices = np.array(elements, index)
    if row.kernel in ("gather_nd", "scatter_nd"):
        indices = indices[:, None]
    return call(row, data, indices, updates, **attributes)


def draft_line_or_gather(row: OracleRow, data: np.ndarray, elements: Any, index: str = "int64") -> DraftedCall:
    """Return a call like `draft_line_call`. A scatter gets one update for each element."""
    updates = ramp(element_type(data), len(elements), start=data.size) if row in SCATTERS else None
    return draft_line_call(row, data, elements, updates, index)


def i64(values: Any) -> np.ndarray:
    """Indices, or an axis."""
    return array("int64", values)
