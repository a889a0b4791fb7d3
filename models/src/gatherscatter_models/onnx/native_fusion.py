"""Fuse pairs of nodes into one GatherReduce: Gather, and the scatter, ReduceSum or ReduceMean after it.

The gathered rows are reduced while they are read, so they are not stored. A pair is fused only if types and ranks are
known, and if GatherReduce accepts every call that the two nodes accept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import onnx

from gatherscatter.specs import table
from gatherscatter.specs.rows import DOMAIN, INTEGERS
from gatherscatter_models.onnx.bodies import Body
from gatherscatter_models.onnx.builder import FreeNames
from gatherscatter_models.onnx.graph import find_reads, is_family
from gatherscatter_models.onnx.scopes import Scope
from gatherscatter_models.onnx.value_info import ValueInfo

# With narrower rows, or with fewer bytes of gathered rows (if known), two nodes are as fast.
LEAST_ROW_BYTES = 32
LEAST_BYTES = 1 << 17
_SUMMED = ("float32", "float64")  # ReduceSum and ReduceMean add these types in the order of the rows, without widening
_REDUCED = (*INTEGERS, "float16", "bfloat16", *_SUMMED)


class RowPair(NamedTuple):
    """Two nodes of a body by position.

    ``nodes`` replace the reader. ``dropped`` are the Gather and other nodes whose results are no longer read.
    ``remark`` tells how results differ from those of ONNX Runtime.
    """

    gather: int
    reader: int
    nodes: list[onnx.NodeProto]
    dropped: list[int]
    remark: str


def find_pairs(body: Body, free: FreeNames) -> list[RowPair]:
    """Return the pairs of a graph that can be fused. ``free`` names new values.

    Functions have none, because their types depend on the call.
    """
    if body.in_function:
        return []
    (scope,) = body.scopes
    nodes = body.proto.node
    makers = {name: position for position, node in enumerate(nodes) for name in node.output if name}
    reads = Counter(name for node in nodes for name in find_reads(node))
    reads.update(value.name for value in body.proto.output)
    pairs = []
    for position, node in enumerate(nodes):
        first = 2 if is_family(node) else 0
        rows = "".join(node.input[first : first + 1])
        gather = makers.get(rows)
        if gather is None or reads[rows] != 1 or not _gathers_rows(nodes[gather], scope):
            continue
        made = _RowReader(node, nodes[gather], scope, {name: nodes[at] for name, at in makers.items()}, free).fuse()
        if made:
            reads.subtract(node.input)
            reads.update(name for each in made for name in each.input)
            dropped = [gather, *_find_unread(node.input[1] if first else "", nodes, makers, reads)]
            remark = "" if first else ", which adds row by row; ONNX Runtime adds in another order"
            pairs.append(RowPair(gather, position, made, dropped, remark))
    return pairs


def _find_unread(
    name: str, nodes: Sequence[onnx.NodeProto], makers: Mapping[str, int], reads: Counter[str]
) -> Iterator[int]:
    """Return the nodes that only computed the indices of a scatter that was removed."""
    while name in makers and not reads[name]:
        maker = nodes[makers[name]]
        if maker.domain or maker.op_type not in ("Expand", "Unsqueeze"):
            return
        yield makers[name]
        reads.subtract(maker.input)
        name = maker.input[0]


def _gathers_rows(node: onnx.NodeProto, scope: Scope) -> bool:
    """Whether a node gathers rows of numbers that are wide enough, and enough of them (if the number is known)."""
    if node.op_type != "Gather" or not is_family(node) or _attributes(node).get("axis", 0) != 0:
        return False
    data, indices = (scope.find(name) for name in node.input)
    row_bytes = _row_bytes(data)
    if row_bytes is None or row_bytes < LEAST_ROW_BYTES or indices.sizes is None:
        return False
    unknown = None in indices.sizes
    return unknown or math.prod(size for size in indices.sizes if size is not None) * row_bytes >= LEAST_BYTES


class _RowReader:
    """A node that reads gathered rows."""

    def __init__(
        self,
        node: onnx.NodeProto,
        gather: onnx.NodeProto,
        scope: Scope,
        makers: Mapping[str, onnx.NodeProto],
        free: FreeNames,
    ) -> None:
        self.node, self.gather, self.scope, self.makers, self.free = node, gather, scope, makers, free
        self.attributes = _attributes(node)
        self.data, self.indices = (scope.find(name) for name in gather.input)

    def fuse(self) -> list[onnx.NodeProto]:
        """Return the nodes that replace the pair; none if it stays."""
        if None in self.attributes.values() or len(self.node.output) != 1:  # None: the caller of a function gives it
            return []
        if not self.node.domain and self.node.op_type in ("ReduceSum", "ReduceMean"):
            return self._fuse_reduction()
        if self.node.op_type in ("ScatterND", "ScatterElements") and is_family(self.node):
            return self._fuse_scatter()
        return []

    def _fuse_reduction(self) -> list[onnx.NodeProto]:
        """Fuse a reduction if each bag is the last dimension of the indices.

        GatherReduce does not give NaN for the mean of no rows.
        """
        members, width = self.indices.sizes or (), self.data.sizes or ()
        last, rank = len(members) - 1, len(members) + len(width) - 1
        axes = self.attributes.get("axes", ())
        if len(self.node.input) == 2:
            axes = self.scope.find(self.node.input[1]).values or ()
        is_mean = self.node.op_type == "ReduceMean"
        if last < 1 or tuple(axes) not in ((last,), (last - rank,)) or self.data.element_type not in _SUMMED:
            return []
        if is_mean and not members[-1]:
            return []
        keepdims = self.attributes.get("keepdims", 1)
        return [self._make("mean" if is_mean else "add", [], keepdims=keepdims)]

    def _fuse_scatter(self) -> list[onnx.NodeProto]:
        """Fuse a scatter if each of its indices names a row of data, and each gathered row has one index."""
        try:
            row = table.find("onnx", self.node.op_type, self.scope.opset)
        except LookupError:
            return []
        reduction = self.attributes.get("reduction", b"none").decode()
        choices = next((known.choices for known in row.attributes if known.name == "reduction"), None)
        if reduction == "none" or reduction not in (choices or ()) or self.data.element_type not in _REDUCED:
            return []
        if self.indices.sizes is None or len(self.indices.sizes) != 1:
            return []
        ids = self._find_ids()
        if ids is None:
            return []
        name, rank = ids
        made = []
        if rank != 1:
            line, shape = (self.free(f"{self.node.output[0]}/{part}") for part in ("segment_ids", "line"))
            value = onnx.helper.make_tensor(shape, onnx.TensorProto.INT64, [1], [-1])
            made.append(onnx.helper.make_node("Constant", [], [shape], value=value))
            made.append(onnx.helper.make_node("Reshape", [name, shape], [line]))
            name = line
        return [*made, self._make(reduction, ["", name, "", self.node.input[0]])]

    def _find_ids(self) -> tuple[str, int] | None:
        """Return a value with one index for each gathered row, and its rank; None if there is none.

        ScatterND requires updates whose shape fits its indices. So with tuples of one index, rows of data are rows of
        the result. ScatterElements accepts boxes that are smaller than the result.
        """
        init, name = self.node.input[:2]
        shape = self.scope.find(name).shape
        if self.node.op_type == "ScatterND":
            return self._without_last_dim(name) if shape is not None and len(shape) == 2 and shape[1] == 1 else None
        expand, into = self.makers.get(name), self.scope.find(init).shape
        if shape is None or into is None or expand is None or expand.domain or expand.op_type != "Expand":
            return None
        column = self.scope.find(expand.input[0]).shape
        is_column = column is not None and len(column) == 2 and column[1] == 1 and column[0] is not None
        if not is_column or column is None or len(shape) != 2 or shape[0] != column[0]:
            return None
        on_rows = self.attributes.get("axis", 0) in (0, -2)
        same_width = self.data.shape is not None and into[1:] == self.data.shape[1:]
        return self._without_last_dim(expand.input[0]) if on_rows and same_width else None

    def _without_last_dim(self, name: str) -> tuple[str, int]:
        """Return the vector of indices from which Unsqueeze made a column, or the column itself."""
        maker = self.makers.get(name)
        if maker is not None and not maker.domain and maker.op_type == "Unsqueeze":
            shape = self.scope.find(maker.input[0]).shape
            if shape is not None and len(shape) == 1:
                return maker.input[0], 1
        return name, 2

    def _make(self, reduction: str, others: list[str], **attributes: Any) -> onnx.NodeProto:
        inputs = [*self.gather.input, *others]
        return onnx.helper.make_node(
            "GatherReduce", inputs, self.node.output, domain=DOMAIN, reduction=reduction, **attributes
        )


def _row_bytes(data: ValueInfo) -> int | None:
    """Return the bytes of a row of numbers; None if unknown."""
    sizes, name = data.sizes, data.element_type
    if not sizes or len(sizes) < 2 or None in sizes[1:] or name in (None, "string"):
        return None
    return math.prod(size for size in sizes[1:] if size is not None) * data.dtype.itemsize


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    """Return the attributes of a node, with None for those that the caller of a function gives."""
    return {each.name: None if each.ref_attr_name else onnx.helper.get_attribute_value(each) for each in node.attribute}
