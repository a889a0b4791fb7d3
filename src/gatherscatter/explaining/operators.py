"""The operators that can be explained, by the names and functions that stand for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gatherscatter as gs
from gatherscatter.errors import OpTypeError
from gatherscatter.specs.rows import Attribute, Input
from gatherscatter.specs.table import SPECIFICATIONS, OpVersion, find, op

# The array functions, by the row of the table whose inputs have the same names and order; without its version.
FUNCTIONS = {
    "gather": "onnx.Gather",
    "gather_elements": "onnx.GatherElements",
    "gather_nd": "onnx.GatherND",
    "scatter_update": "openvino.ScatterUpdate",
    "scatter_elements": "onnx.ScatterElements",
    "scatter_nd": "onnx.ScatterND",
    "tensor_scatter": "onnx.TensorScatter",
    "gather_tree": "openvino.GatherTree",
    "gather_quantized": "com.microsoft.GatherBlockQuantized",
}
# Of the array function that reduces bags. It takes them in the ways of several operators.
_BAG_INPUTS = (
    Input("data", "data"),
    Input("indices", "indices", optional=True),
    Input("offsets", "indices", optional=True),
    Input("segment_ids", "indices", optional=True),
    Input("indptr", "indices", optional=True),
    Input("num_segments", "scalar", optional=True),
    Input("weights", "data", optional=True),
    Input("default", "data", optional=True),
)


def resolve_operator(operator: Any, attributes: dict[str, Any]) -> tuple[OpVersion, str | None]:
    """The op version, and the name of the array function if it is one."""
    if isinstance(operator, OpVersion):
        return operator, None
    if callable(operator):
        operator = _name_of(operator, attributes)
    if not isinstance(operator, str):
        raise OpTypeError(f"explain: op must be a name or a function, not {operator!r}", op="explain", input="op")
    if operator == "gather_reduce":
        return _gather_reduce(attributes), operator
    if operator in FUNCTIONS:
        return op(FUNCTIONS[operator]), operator
    return op(operator), None


def _gather_reduce(attributes: dict[str, Any]) -> OpVersion:
    """A row for a call of the array function: its inputs, and the shape rule of the operator with bags like these."""
    like = {"offsets": "openvino.EmbeddingBagOffsets", "segment_ids": "openvino.SegmentMax"}
    row = op(next((like[name] for name in like if attributes.get(name) is not None), "openvino.EmbeddingBagPacked"))
    rule = row.shape_rule.replace("emb_table", "data").replace("indices.shape[:1]", "indices.shape[:-1]")
    if attributes.get("indptr") is not None:
        rule = "(len(indptr) - 1,) + data.shape[1:]"
    return replace(row, inputs=_BAG_INPUTS, attributes=(Attribute("reduction", "string", "add"),), shape_rule=rule,
                   reduction=None)  # fmt: skip


def _name_of(function: Callable[..., Any], attributes: dict[str, Any]) -> str:
    """The name of an array function of the package root, or of an operator's function in `gatherscatter.onnx`, ..."""
    name = getattr(function, "__name__", repr(function))
    if function is getattr(gs, name, None):
        return name
    for domain in SPECIFICATIONS:
        if function is getattr(getattr(gs, domain.rpartition(".")[2]), name, None):
            opset = attributes.pop("opset", None)
            return f"{domain}.{name}" if opset is None else find(domain, name, opset).name
    raise LookupError(f"there is no operator {name!r}; give gatherscatter.gather_nd, gatherscatter.onnx.GatherND, ...")
