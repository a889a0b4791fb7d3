"""The nodes of a graph that this package runs in ONNX Runtime's stead, or could run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gatherscatter import versions
from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.labels import node_label
from gatherscatter.onnx.session.facts import FAMILY, Facts
from gatherscatter.onnx.session.verdicts import Case, verdict
from gatherscatter.versions import REQUIRED, OpVersion

_PACKED = ("int4", "uint4", "int2", "uint2", "float4_e2m1fn")  # ONNX Runtime holds several elements a byte

_AS_FAST = ("gather", "gather_nd", "scatter_elements", "scatter_nd")  # kernels no slower than those of ONNX Runtime


@dataclass(frozen=True)
class FamilyNode:
    """A node that we can run: the version it runs as, its attributes, how messages name it, and why it is ours.

    ``needed``: ONNX Runtime would do worse; without, it is ours only where that saves handing values over.
    """

    node: onnx.NodeProto
    row: OpVersion
    attributes: dict[str, Any]
    label: str
    reason: str
    needed: bool


def family_nodes(facts: Facts, threads: int) -> dict[int, FamilyNode]:
    """Those of the main graph, by position; ``threads`` is how many ONNX Runtime has, 0 if it chooses."""
    opset = {entry.domain: entry.version for entry in facts.model.opset_import}.get("", 0)
    nodes = facts.model.graph.node
    found = {}
    for position, node in enumerate(nodes):
        row = _row(node, opset)
        attributes = None if row is None else _attributes(node, row)
        if row is None or attributes is None or facts.element_type(node.input[0]) in _PACKED:
            continue
        reason = verdict(_case(node, row, attributes, facts, threads))
        label = node_label(node, position + 1, len(nodes))
        if reason is not None:
            found[position] = FamilyNode(node, row, attributes, label, reason, needed=True)
        elif row.kernel in _AS_FAST and facts.element_type(node.input[0]) in row.element_types:
            found[position] = FamilyNode(node, row, attributes, label, "saves a hand-over", needed=False)
    return found


def _row(node: onnx.NodeProto, opset: int) -> OpVersion | None:
    if node.domain or node.op_type not in FAMILY:
        return None
    try:
        row = versions.find("onnx", node.op_type, opset)
    except LookupError:
        return None
    required = sum(not known.optional for known in row.inputs)
    whole = required <= len(node.input) <= len(row.inputs) and all(node.input[:required])
    return row if whole and len(node.output) == 1 and node.output[0] else None


def _attributes(node: onnx.NodeProto, row: OpVersion) -> dict[str, Any] | None:
    """All attributes with their defaults; None where the version has not those names: ONNX Runtime refuses the node."""
    given = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    texts = {name: value.decode(errors="replace") for name, value in given.items() if isinstance(value, bytes)}
    values = {known.name: known.default for known in row.attributes} | given | texts
    return values if len(values) == len(row.attributes) and REQUIRED not in values.values() else None


def _case(node: onnx.NodeProto, row: OpVersion, attributes: dict[str, Any], facts: Facts, threads: int) -> Case:
    names = {known.name: name for known, name in zip(row.inputs, node.input, strict=False)}
    data, indices = facts.shape(node.input[0]), facts.shape(names.get("indices", ""))
    return Case(
        row=row,
        reduction=attributes.get("reduction", "none"),
        element_type=facts.element_type(node.input[0]),
        elements=_count(facts.shape(names.get("updates", names.get("indices", ""))), tuples=row.kernel == "gather_nd"),
        single=data is not None and _names_elements(row, attributes, data, indices),
        may_repeat=row.kernel != "scatter_nd" or not _differ(names["indices"], data, facts),
        threads=threads,
    )


def _count(shape: tuple[int | None, ...] | None, *, tuples: bool) -> int | None:
    if shape is None:
        return None
    dims = shape[:-1] if tuples else shape
    known = [dim for dim in dims if dim is not None]
    return math.prod(known) if len(known) == len(dims) else None


def _names_elements(
    row: OpVersion, attributes: dict[str, Any], data: tuple[int | None, ...], indices: tuple[int | None, ...] | None
) -> bool:
    """Whether each index of a Gather or GatherND names one element of data."""
    if row.kernel == "gather":
        return attributes["axis"] in (-1, len(data) - 1)
    return indices is not None and indices[-1:] == (len(data) - attributes.get("batch_dims", 0),)


def _differ(indices: str, data: tuple[int | None, ...] | None, facts: Facts) -> bool:
    """Whether the index tuples of a ScatterND are constant and no two name the same place."""
    if indices not in facts.constants or data is None:
        return False
    tuples = facts.array(indices)
    if tuples.ndim == 0 or tuples.shape[-1] > len(data):
        return False
    sizes = data[: tuples.shape[-1]]
    rows = tuples.reshape(-1, tuples.shape[-1])
    if np.any(rows < 0):
        if None in sizes:
            return False
        rows = np.where(rows < 0, rows + np.array(sizes), rows)
    return len(np.unique(rows, axis=0)) == len(rows)
