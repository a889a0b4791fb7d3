"""The nodes of a graph that this package runs in ONNX Runtime's stead, or could run."""

from __future__ import annotations

from dataclasses import dataclass

from gatherscatter.findings.nodes import Site, collect_static_values
from gatherscatter.model_interface import ModelError
from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.graph import is_family, node_label
from gatherscatter.onnx.session.facts import ModelFacts
from gatherscatter.onnx.session.verdicts import find_reason
from gatherscatter.onnx.value_info import read_site
from gatherscatter.specs.table import REQUIRED

_PACKED = ("int4", "uint4", "int2", "uint2", "float4_e2m1fn")  # ONNX Runtime holds several elements a byte

_AS_FAST = ("gather", "gather_nd", "scatter_elements", "scatter_nd")  # kernels no slower than those of ONNX Runtime


@dataclass(frozen=True)
class FamilyNode:
    """A node that we can run, and why it is ours.

    ``needed``: ONNX Runtime would do worse; without, it is ours only where that saves handing values over.
    """

    node: onnx.NodeProto
    site: Site
    reason: str
    needed: bool


def family_nodes(facts: ModelFacts, threads: int) -> dict[int, FamilyNode]:
    """Those of the main graph, by position; ``threads`` is how many ONNX Runtime has, 0 if it chooses."""
    nodes = facts.model.graph.node
    found = {}
    for position, node in enumerate(nodes):
        site = _read_site(node, facts, position)
        data = None if site is None else site.operands[0]
        if site is None or data is None or data.element_type in _PACKED:
            continue
        reason = find_reason(collect_static_values(site), threads)
        if reason is not None:
            found[position] = FamilyNode(node, site, reason, needed=True)
        elif site.row.kernel in _AS_FAST and data.element_type in site.row.element_types:
            found[position] = FamilyNode(node, site, "saves a hand-over", needed=False)
    return found


def _read_site(node: onnx.NodeProto, facts: ModelFacts, position: int) -> Site | None:
    """A node of the family; None for others, and where ONNX Runtime refuses the inputs or attributes."""
    if not is_family(node):
        return None
    try:
        site = read_site(node, facts.scope, (position,), node_label(node, position + 1, len(facts.model.graph.node)))
    except (LookupError, ModelError):
        return None
    row, given = site.row, site.attributes
    required = sum(not known.optional for known in row.inputs)
    whole = required <= len(node.input) <= len(row.inputs) and all(node.input[:required])
    named = len(given) == len(row.attributes) and REQUIRED not in given.values()
    return site if whole and named and len(node.output) == 1 and node.output[0] else None
