"""Move nodes of a model to the native library: those that ONNX Runtime gets wrong, refuses or runs slower.

The findings list the nodes that ONNX Runtime gets wrong or refuses. Nodes that it runs correctly and fast stay there.
If shapes or values are unknown, a finding may apply, and the node is moved. Data of unknown type counts as float32.
Nodes are moved for speed only if sizes are known. A GatherBlockQuantized of com.microsoft is moved only if it is known
to be valid, because the operator that replaces it has fewer rules.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import onnx

from gatherscatter.errors import OpValueError
from gatherscatter.operation import REQUIRED, Kernel
from gatherscatter.specs import quantized
from gatherscatter.specs.rows import DOMAIN, DOMAIN_VERSION
from gatherscatter_models.findings.nodes import NodeValues, Site, collect_static_values
from gatherscatter_models.findings.verdicts import judge_before_run
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.bodies import Body, find_bodies, read_site
from gatherscatter_models.onnx.builder import FreeNames, names_of
from gatherscatter_models.onnx.graph import find_reads, is_contributed, is_family, is_own, normalise, one_line, walk
from gatherscatter_models.onnx.native_fusion import find_pairs
from gatherscatter_models.onnx.tensors import ExternalData

# Measured with ONNX Runtime 1.32.0 on the CPU: from this number of elements on, gatherscatter's kernels are faster. A
# GatherND of 1000 takes 5 us instead of 10 us, a Gather of 10,000 takes 10 us instead of 33 us.
MANY = 1024
_CAST_LIKE = 15  # the first opset with this operator
_CAST_TO_NUMBER = 6  # the first opset in which Cast takes the number of a type


@dataclass(frozen=True)
class MovedNode:
    """A node moved to the native library: its name, its label in messages, and the reason."""

    name: str
    label: str
    reason: str


@dataclass(frozen=True)
class ModelPlan:
    """The nodes of a model that the native library runs (``moved``), and those that ONNX Runtime runs (``kept``).

    ``notes`` name nodes that should be moved but could not be.
    """

    moved: tuple[MovedNode, ...] = ()
    kept: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"gatherscatter  {node.label}: {node.reason}" for node in self.moved]
        if self.kept:
            kinds = Counter(label.split(" ", 1)[0] for label in self.kept)
            listed = ", ".join(f"{times} {kind}" if times > 1 else kind for kind, times in kinds.most_common())
            nodes = "1 node" if len(self.kept) == 1 else f"{len(self.kept)} nodes"
            lines.append(f"onnxruntime    {nodes}: {one_line(listed, 80)}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def move_nodes(
    model: onnx.ModelProto, path: Path | None = None, *, threads: int = 0, fuse: bool = True, move_all: bool = False
) -> ModelPlan:
    """Move nodes of a model to the native library, in place: in the main graph, in functions and in subgraphs.

    Parameters
    ----------
    model : the model; without nodes to move, only names of the default domain and calls of functions are completed
    path : the path of the model, for its external data
    threads : number of threads that ONNX Runtime will have; 0 if it chooses
    fuse : whether pairs of nodes, such as Gather and ScatterND, become one GatherReduce
    move_all : whether to move even gathers and scatters that ONNX Runtime runs well. Their errors are then as here

    Raises
    ------
    Any exception
        The model is damaged or unusual. It may be partly changed.

    >>> model = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 18]>
    ...     g (float[n] data, int64[m, 1] indices, float[m] x) => (float[n] out)
    ...     { sums = ScatterND <reduction = "add"> (data, indices, x)  out = Neg (sums) }''')
    >>> print(move_nodes(model))
    gatherscatter  ScatterND (1/2): ONNX Runtime: ScatterND with a reduction loses updates of repeated indices: its threads race
    onnxruntime    1 node: Neg
    >>> model.graph.node[0].domain, model.graph.node[0].name
    ('gatherscatter', 'sums')
    """  # noqa: E501
    normalise(model)
    bodies = list(find_bodies(model, ExternalData(path)))
    free = FreeNames(names_of(model))
    changes = [_find_changes(body, threads, fuse, move_all, free) for body in bodies]
    moved: list[MovedNode] = []
    kept: list[str] = []
    notes: list[str] = []
    for body, changed in zip(bodies, changes, strict=True):
        for position, node in enumerate(body.proto.node):
            change = changed.get(position)
            if change is None and is_own(node):
                moved.append(MovedNode(node.name, body.label(position), "the model has it in this domain already"))
            elif change is None or change.note:
                kept.append(body.label(position))
            elif change.moved is not None:
                moved.append(change.moved)
            notes += [change.note] if change is not None and change.note else []
    for body, changed in reversed(list(zip(bodies, changes, strict=True))):  # subgraphs before the graphs they are in
        _change(body.proto, changed)
    if moved:
        _import_domain(model)
    return ModelPlan(tuple(moved), tuple(kept), tuple(notes))


class _Change(NamedTuple):
    """The nodes that replace a node. ``moved`` and ``note`` are for the plan."""

    nodes: list[onnx.NodeProto]
    moved: MovedNode | None = None
    note: str = ""


def _find_changes(body: Body, threads: int, fuse: bool, move_all: bool, free: FreeNames) -> dict[int, _Change]:
    """Return the changes of a body, by the position of the node. ``free`` names new values."""
    changes = {}
    names = {node.name for node in body.proto.node}
    constants = _find_constants(body.proto)
    for position, node in enumerate(body.proto.node):
        is_candidate = is_family(node) or is_contributed(node)
        move = _find_move(body, position, threads, move_all, constants) if is_candidate else None
        if move is None:
            continue
        site, reason = move
        label = body.label(position)
        moved = _move(node, site, _find_name(node, names))
        typing = node.input[site.row.inputs.index(site.row.typing_input)]
        nodes = _say_type(moved, typing, body, free) if body.in_function else [moved]
        if not nodes:
            opset = body.scopes[0].opset
            note = f"{label} stays with ONNX Runtime: its function has opset {opset}, and its type is unknown; {reason}"
            changes[position] = _Change([node], note=note)
            continue
        changes[position] = _Change(nodes, MovedNode(moved.name, label, reason))
    for pair in find_pairs(body, free) if fuse else ():
        before = changes.get(pair.reader, _Change([])).moved
        reason = f"one step with {body.label(pair.gather)}{pair.remark}"
        if before is not None:
            reason = f"{before.reason}; {reason}"
        name = before.name if before is not None else _find_name(body.proto.node[pair.reader], names)
        pair.nodes[-1].name = name
        changes.update(dict.fromkeys(pair.dropped, _Change([])))
        changes[pair.reader] = _Change(pair.nodes, MovedNode(name, body.label(pair.reader), reason))
    return changes


def _find_name(node: onnx.NodeProto, names: set[str]) -> str:
    """Return the name of a node. A node without one gets the name of its output, or a similar unused name."""
    name = node.name or node.output[0]
    while not node.name and name in names:
        name += "_"
    names.add(name)
    return name


def _find_constants(proto: onnx.GraphProto | onnx.FunctionProto) -> set[str]:
    """Return the values that depend on no input. ONNX Runtime computes them when it loads a model."""
    known = {""} if isinstance(proto, onnx.FunctionProto) else {"", *(tensor.name for tensor in proto.initializer)}
    for node in proto.node:
        if known.issuperset(find_reads(node)):
            known.update(node.output)
    return known


def _find_move(body: Body, position: int, threads: int, move_all: bool, constants: set[str]) -> tuple[Site, str] | None:
    """Return the site of a gather or scatter and the reason to move it; None if it stays with ONNX Runtime."""
    node = body.proto.node[position]
    for scope in body.scopes:
        try:
            site = read_site(node, scope, (*body.key, position), body.label(position), body.graph)
        except (LookupError, ModelError):
            return None
        data = site.operands[0] if site.operands else None
        if data is None or not _is_whole(node, site) or (is_contributed(node) and not _is_valid_table(site)):
            return None
        values = collect_static_values(site)
        reason = _find_fault(values, threads)
        if reason is None and not constants.issuperset(node.input):
            reason = _find_slowness(values) or ("its errors are those of gatherscatter" if move_all else None)
        if reason is not None:
            return site, reason
    return None


def _is_whole(node: onnx.NodeProto, site: Site) -> bool:
    """Whether the number of inputs and the names of attributes are valid. If not, ONNX Runtime reports the error."""
    row = site.row
    linked = {attribute.name for attribute in node.attribute if attribute.ref_attr_name}
    required = sum(not known.optional for known in row.inputs)
    whole = required <= len(node.input) <= len(row.inputs) and all(node.input[:required])
    named = site.attributes.keys() | linked == {known.name for known in row.attributes}
    outputs = [bool(name) for name in node.output]
    return whole and named and REQUIRED not in site.attributes.values() and outputs == [True]


def _is_valid_table(site: Site) -> bool:
    """Whether a GatherBlockQuantized is known to follow the rules that GatherQuantized does not have."""
    data, indices, scales = (site.operand(role) for role in ("data", "indices", "scales"))
    if data is None or indices is None or scales is None or data.shape is None or scales.shape is None:
        return False
    row, kind, attributes = site.row, data.element_type, site.attributes
    types_fit = kind in row.element_types and indices.element_type in row.index_types
    if kind is None or not types_fit or None in scales.shape or len(attributes) < len(row.attributes):
        return False
    try:
        quantized.check(row.name, kind, data.shape, scales.shape, **attributes)
    except OpValueError:
        return False
    return True


def _find_fault(values: NodeValues, threads: int) -> str | None:
    data = values.row.inputs[0].name
    if values.types.get(data) is None:  # after an operator of another domain; other types are rare in such models
        values = replace(values, types=values.types | {data: "float32"})
    reasons = judge_before_run("onnxruntime", values, threads=threads).reasons
    return f"ONNX Runtime: {reasons[0].finding.title}" if reasons else None


def _find_slowness(values: NodeValues) -> str | None:
    if values.row.op_type == "ScatterElements" and (values.elements or 0) >= MANY:
        return f"ONNX Runtime takes longer for {values.elements} elements"
    if values.row.op_type in ("Gather", "GatherND") and values.slice_shape == () and (values.count or 0) >= MANY:
        return f"ONNX Runtime takes longer for {values.count} single elements"
    return None


def _move(node: onnx.NodeProto, site: Site, name: str) -> onnx.NodeProto:
    """Return a node of the domain ``gatherscatter`` that replaces one of ONNX or of ONNX Runtime's domain."""
    if site.row.kernel == Kernel.GATHER_QUANTIZED:
        attributes = dict(site.attributes)
        axis = attributes.pop("gather_axis")
        return onnx.helper.make_node(
            "GatherQuantized", node.input, node.output, name, domain=DOMAIN, axis=axis, mode="fill", **attributes
        )
    moved = onnx.NodeProto()
    moved.CopyFrom(node)
    moved.domain, moved.name = DOMAIN, name
    moved.attribute.append(onnx.helper.make_attribute("opset", site.row.version))
    return moved


def _say_type(node: onnx.NodeProto, typing: str, body: Body, free: FreeNames) -> list[onnx.NodeProto]:
    """Return a moved node in a function, and a cast that declares the type of its result; none if that is impossible.

    In functions, ONNX Runtime does not infer the types of nodes of other domains. It removes casts that change nothing.
    ``typing`` is the input that has the type of the result.
    """
    (result,) = node.output
    types = {scope.find(typing).elem_type for scope in body.scopes}
    node.output[0] = free(f"{result}/untyped")
    if body.scopes[0].opset >= _CAST_LIKE:
        return [node, onnx.helper.make_node("CastLike", [node.output[0], typing], [result])]
    if len(types) == 1 and 0 not in types and body.scopes[0].opset >= _CAST_TO_NUMBER:
        return [node, onnx.helper.make_node("Cast", [node.output[0]], [result], to=types.pop())]
    return []


def _change(proto: onnx.GraphProto | onnx.FunctionProto, changes: dict[int, _Change]) -> None:
    """Put the changed nodes of a body in place."""
    if not changes:
        return
    nodes = [
        each
        for position, node in enumerate(proto.node)
        for each in (changes[position].nodes if position in changes else [node])
    ]
    del proto.node[:]
    proto.node.extend(nodes)


def _import_domain(model: onnx.ModelProto) -> None:
    """Import the domain in the model, and in each function that has nodes of it."""
    if not model.opset_import:  # before IR version 3 there was nothing to import
        model.opset_import.add(domain="", version=1)
    for proto in (model, *(each for each in model.functions if any(map(is_own, walk(each.node))))):
        if all(entry.domain != DOMAIN for entry in proto.opset_import):
            proto.opset_import.add(domain=DOMAIN, version=DOMAIN_VERSION)
