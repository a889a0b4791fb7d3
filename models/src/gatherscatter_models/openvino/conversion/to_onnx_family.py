"""Convert gather and scatter layers of an IR to ONNX nodes with the same results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gatherscatter.errors import CONVERTED_NEGATIVE
from gatherscatter.specs.table import OpVersion
from gatherscatter_models.onnx.builder import BuiltTensor, OnnxBuilder
from gatherscatter_models.openvino.conversion.mapping import check_types, make_refusal, one_integer
from gatherscatter_models.openvino.conversion.to_onnx_gathers import gather, gather_elements, gather_nd
from gatherscatter_models.openvino.conversion.to_onnx_scatters import scatter_elements, scatter_nd, scatter_update

# An index beyond every axis, even in a runtime that keeps only its lower 32 bits.
NOWHERE = np.int64(CONVERTED_NEGATIVE)

Attributes = Mapping[str, Any]


def family_to_onnx(
    builder: OnnxBuilder, row: OpVersion, inputs: list[BuiltTensor], attributes: Attributes, indices: str
) -> BuiltTensor:
    """Return the result of the nodes for one layer. ``indices`` is that of `gatherscatter_models.openvino.convert`."""
    rule = _RULES.get(row.op_type)
    if rule is None:
        raise make_refusal(f"ONNX has no operator like {row.op_type}")
    values = {attribute.name: attributes.get(attribute.name, attribute.default) for attribute in row.attributes}
    check_types(row, [one.dtype for one in inputs], values.get("reduction", "none"))
    if "axis" in (kinds := [known.kind for known in row.inputs]):
        values["axis"] = one_integer(inputs.pop(kinds.index("axis")).value, "axis")
    inputs[1] = _widen_indices(builder, row, inputs[1], indices)
    return rule(builder, row, inputs, values, indices)


def _widen_indices(b: OnnxBuilder, row: OpVersion, indices: BuiltTensor, known: str) -> BuiltTensor:
    """Convert the indices to int64. A negative index that is an error in OpenVINO stays an error in ONNX."""
    unsigned = indices.dtype.kind == "u"
    wide = b.cast(indices, np.int64)
    # uint64 beyond int64 becomes negative: no axis has that many elements.
    can_be_wrong = indices.dtype == np.uint64 if unsigned else row.index_range == "nonnegative"
    if wide.value is not None:
        bad = wide.value < 0
        return b.constant(np.where(bad, NOWHERE, wide.value)) if can_be_wrong and bad.any() else wide
    if not can_be_wrong or known != "any":
        return wide
    return b.node("Where", b.node("Less", wide, np.array(0, np.int64)), np.array(NOWHERE), wide)


_RULES: dict[str, Callable[[OnnxBuilder, OpVersion, list[BuiltTensor], Attributes, str], BuiltTensor]] = {
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "ScatterElementsUpdate": scatter_elements,
    "ScatterNDUpdate": scatter_nd,
    "ScatterUpdate": scatter_update,
}
