"""Run pairs of nodes as one step: Gather, and the ScatterND, ScatterElements, ReduceSum or ReduceMean after it.

The gathered rows are reduced while they are read, so they are not stored. The result is bit-for-bit identical to that
of the two nodes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.functions.gather_reduce import BagArguments, check_type
from gatherscatter.pieces import PIECE, pieces
from gatherscatter.specs.calls import check_inputs, default_accumulate, normalise_reduction
from gatherscatter_models.onnx.evaluator import Evaluator, EvaluatorOp, LabelledNode
from gatherscatter_models.onnx.graph import find_reads

# With fewer bytes of gathered rows, or a scatter of narrower rows, two steps are as fast.
LEAST_BYTES = 1 << 17
LEAST_ROW_BYTES = 32


class FusingEvaluator(Evaluator):
    """An evaluator that runs pairs of nodes as one step."""

    def __init__(self, proto: Any, **options: Any) -> None:
        super().__init__(proto, **options)
        self.rt_nodes_ = _fuse(self.rt_nodes_, self.output_names)


class FusedNode(LabelledNode):
    """A pair of nodes. It runs as one step if types, shapes and values allow it, else as two."""

    def run(self, *inputs: Any, **options: Any) -> Any:
        """Run the pair. Errors are those of the two nodes, and progress counts both."""
        if self.progress is not None:
            self.progress(self.node.gather.label)
        (result,) = super().run(*inputs, **options)
        return self.node.run_separately(*inputs) if result is None else (result,)


class Pair:
    """A Gather and the only node that reads its result (the reader).

    The inputs are those of the Gather, then the other inputs of the reader. The class has the interface of a node of
    the reference evaluator.
    """

    has_linked_attribute = False

    def __init__(self, gather: LabelledNode, reader: LabelledNode) -> None:
        self.gather, self.reader = gather, reader
        self.place = list(reader.input).index(gather.output[0])  # among the inputs of the reader
        self.onnx_node, self.op_type, self.output = reader.onnx_node, reader.op_type, reader.output
        self.input = [*gather.input, *reader.input[: self.place], *reader.input[self.place + 1 :]]

    def need_context(self) -> bool:
        """Return False: neither node has a subgraph."""
        return False

    def run(self, *inputs: Any) -> tuple[np.ndarray | None]:
        """Return the result of one step. None means that the two nodes must run, and raise their errors."""
        try:
            return (_run_at_once(self.gather.node, self.reader.node, *inputs),)
        except (TypeError, ValueError, IndexError):
            return (None,)

    def run_separately(self, data: Any, indices: Any, *others: Any) -> Any:
        """Return the result of the two nodes, run one after the other."""
        (rows,) = self.gather.run(data, indices)
        return self.reader.run(*others[: self.place], rows, *others[self.place :])


class ViewingExpand:
    """An Expand whose result only the kernels read, as indices. It repeats elements without copying them.

    The kernels treat indices that repeat in this way as indices of rows.
    """

    def __init__(self, node: Any) -> None:
        self.node = node

    def __getattr__(self, name: str) -> Any:
        return getattr(self.node, name)

    def run(self, data: Any, shape: Any) -> Any:
        """Return the data with this shape. Errors are those of the node."""
        try:
            return (np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(shape.tolist()))),)
        except (TypeError, ValueError):
            return self.node.run(data, shape)


def _fuse(nodes: Sequence[LabelledNode], outputs: Iterable[str]) -> list[LabelledNode]:
    """Return the nodes, with a `FusedNode` instead of the second node of each pair, and views of expanded indices."""
    gathers = {node.output[0]: place for place, node in enumerate(nodes) if _is_row_gather(node)}
    expanded = {node.output[0]: place for place, node in enumerate(nodes) if _is_expand(node)}
    if not gathers and not expanded:
        return list(nodes)
    reads = Counter(name for node in nodes for name in find_reads(node.onnx_node))
    reads.update(outputs)
    fused = dict(enumerate(nodes))
    for place, node in enumerate(nodes):
        name = _name_of_rows(node)
        if name in gathers and reads[name] == 1:
            gather = fused.pop(gathers[name])
            fused[place] = FusedNode(Pair(gather, node), f"{gather.label} and {node.label}")
        index = node.input[1] if _is_family(node, "ScatterElements", "GatherElements") else ""
        if index in expanded and reads[index] == 1:
            expand = nodes[expanded[index]]
            fused[expanded[index]] = LabelledNode(ViewingExpand(expand.node), expand.label)
    return list(fused.values())


def _is_row_gather(node: LabelledNode) -> bool:
    return _is_family(node, "Gather") and getattr(node.node, "axis", 0) == 0


def _is_expand(node: LabelledNode) -> bool:
    return not node.domain and node.op_type == "Expand"


def _name_of_rows(node: LabelledNode) -> str:
    """Return the name of the input that may hold gathered rows; empty if there is none."""
    place = 0
    if _is_family(node, "ScatterND", "ScatterElements"):
        place = 2
    elif node.domain or node.op_type not in ("ReduceSum", "ReduceMean") or node.has_linked_attribute:
        return ""
    return "".join(node.input[place : place + 1])


def _is_family(node: LabelledNode, *op_types: str) -> bool:
    """Whether a node runs as a version of one of these operators in ONNX, in either domain."""
    if not isinstance(node.node, EvaluatorOp) or node.op_type not in op_types or node.has_linked_attribute:
        return False
    return node.row.domain == "onnx" and "accumulate" not in node.attributes_names_


def _run_at_once(gather: EvaluatorOp, reader: Any, data: Any, indices: Any, *others: Any) -> np.ndarray | None:
    """Return the result of the two nodes; None if two steps are as fast, or may give other bits."""
    if indices.size * data[:1].nbytes < LEAST_BYTES or not data.dtype.isnative:
        return None
    (data, indices), _ = check_inputs(gather.row, (data, indices), _attributes(gather))
    rows = _resolve(gather, indices, len(data))
    if rows is None:
        return None
    if isinstance(reader, EvaluatorOp):
        return _scatter(reader, data, rows, indices.shape, *others)
    return _reduce(reader, data, rows, indices.shape, *others)


def _scatter(
    node: EvaluatorOp, data: np.ndarray, rows: np.ndarray, members: tuple[int, ...], init: Any, indices: Any
) -> np.ndarray | None:
    """Return ScatterND or ScatterElements of ``init`` and these rows of data. ``members`` is their shape."""
    updates = np.broadcast_to(np.zeros((), data.dtype), members + data.shape[1:])  # takes no memory
    (init, indices, _), values = check_inputs(node.row, (init, indices, updates), _attributes(node))
    reduction, accumulate = normalise_reduction(node.row, values), default_accumulate(node.row, data)
    row_bytes = math.prod(data.shape[1:]) * data.itemsize
    if reduction == "none" or init.shape[1:] != data.shape[1:] or row_bytes < LEAST_ROW_BYTES:
        return None
    check_type(node.row.name, reduction, accumulate, data.dtype)
    if node.op_type == "ScatterND":
        line = indices[..., 0] if indices.shape == (*members, 1) else None
    else:
        of_rows = values["axis"] in (0, -init.ndim) and len(members) == 1 and indices.shape == updates.shape
        line = _find_line(indices) if of_rows else None
    targets = None if line is None else _resolve(node, line, len(init))
    if not (init.dtype.isnative and data.dtype.isnative):
        return None
    if targets is None or len(init) > len(targets):  # a copy of init is faster than bags of one row each
        return None
    call = _bag_call(data, rows, segment_ids=targets)
    return call.run(node.row.name, None, reduction, accumulate, "raise", init=init)


def _bag_call(data: np.ndarray, rows: np.ndarray, segment_ids: np.ndarray | None = None) -> BagArguments:
    return BagArguments(data, rows, None, segment_ids, None, None, default=0, out=None, dtype=data.dtype, made={})


def _reduce(
    node: Any, data: np.ndarray, rows: np.ndarray, members: tuple[int, ...], axes: Any = None
) -> np.ndarray | None:
    """Return the result of ReduceSum or ReduceMean of these rows of data.

    This holds only if each bag is the last dimension of ``members``. The result must match NumPy's bit for bit. NumPy
    adds row by row, starting with 0. It adds single elements in another order, and rounds means of integers
    differently.
    """
    axes = getattr(node, "axes", None) if axes is None else axes
    reduction = {"ReduceSum": "add", "ReduceMean": "mean"}[node.op_type]
    last = len(members) - 1
    if axes is None or np.ravel(axes).tolist() not in ([last], [-data.ndim]):
        return None
    without_proof = "biuc" if reduction == "mean" else "bc"
    if members[-1] == 0 or math.prod(data.shape[1:]) < 2 or data.dtype.kind in without_proof:
        return None
    check_type(node.op_type, reduction, "step", data.dtype)
    result = _bag_call(data, rows.reshape(members)).run(node.op_type, None, reduction, "step", "raise")
    flat = result.reshape(-1)
    for part in pieces(len(flat)):  # -0.0 becomes 0.0, as in a sum that begins with 0
        np.add(flat[part], np.zeros((), flat.dtype), out=flat[part])
    return np.expand_dims(result, last) if node.keepdims else result


def _attributes(node: EvaluatorOp) -> dict[str, Any]:
    return {name: getattr(node, name) for name in node.attributes_names_}


def _resolve(node: EvaluatorOp, indices: np.ndarray, size: int) -> np.ndarray | None:
    """Return the indices as a vector of numbers in [0, size-1]; None if one is out of range for the node."""
    negative = node.row.index_range != "nonnegative"
    return _core.resolve_indices(indices.reshape(-1, 1), (size,), "raise", negative)


def _find_line(box: np.ndarray) -> np.ndarray | None:
    """Return the index of each row of a box; None if the indices of a row differ."""
    line = box[(slice(None), *[slice(1)] * (box.ndim - 1))]
    if any(box.strides[1:]):
        for part in pieces(len(box), max(PIECE * len(box) // box.size, 1)):
            if (box[part] != line[part]).any():
                return None
    return line.reshape(-1)
