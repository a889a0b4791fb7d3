"""The table of op versions, and the shapes of their results. `gatherscatter.specs.rows` has the facts.

Validation, documentation, command line, model runners and tests read the table. The kernels hold the semantics that all
versions share. `gatherscatter.specs.quirks` holds the demands of single versions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter.errors import OpTypeError, OpValueError
from gatherscatter.messages.suggestions import find_similar, name_candidates
from gatherscatter.operation import Form, Kernel
from gatherscatter.specs import quirks
from gatherscatter.specs.rows import ROWS, Attribute, Input, OpFacts


@dataclass(frozen=True)
class OpVersion:
    """One version of one operator, as its specification defines it. Call it to run it.

    Attributes
    ----------
    domain : 'onnx', 'openvino' or 'com.microsoft'
    op_type : the operator, such as 'GatherND'
    version : the number of the version
    kernel : the array function that it runs as, such as 'gather_nd'
    inputs, attributes : the inputs and attributes, in the order of the specification
    output : the name of the output
    element_types, index_types : the valid types of data and of indices
    index_range : the valid indices: 'negative' ([-size, size-1]), 'nonnegative' ([0, size-1]), or 'zeros' (like
        'negative', but an index out of range gives zeros and is not an error)
    shape_rule : the shape of the output, as an expression
    reduction : the reduction of an operator that has no attribute for it, else None
    deprecated : whether the specification deprecates the version
    prepare, finish : functions for the quirks of the version, or None

    >>> import numpy as np, gatherscatter as gs
    >>> row = gs.op("onnx.GatherND-12")
    >>> row.attributes
    (Attribute(name='batch_dims', type='int', default=0, choices=None),)
    >>> row(np.array([[1, 2], [3, 4]]), np.array([[1], [0]]), batch_dims=1)
    array([2, 3])
    """

    runner: ClassVar[Any]
    """The function that runs a version. `gatherscatter.specs.calls` sets it."""

    domain: str
    op_type: str
    version: int
    kernel: Kernel
    inputs: tuple[Input, ...]
    output: str
    attributes: tuple[Attribute, ...]
    element_types: tuple[str, ...]
    index_types: tuple[str, ...]
    index_range: str
    shape_rule: str
    reduction: str | None = None  # of operators that reduce without an attribute for it
    deprecated: bool = False
    prepare: Callable[..., tuple[np.ndarray, ...]] | None = field(default=None, repr=False)
    finish: Callable[..., np.ndarray] | None = field(default=None, repr=False)

    @cached_property
    def name(self) -> str:
        return f"{self.domain}.{self.op_type}-{self.version}"

    @property
    def source(self) -> str:
        """The address of its specification."""
        text = f"{self.op_type}-{self.version}"
        return {
            "onnx": f"ONNX operator schemas, {self.op_type}, since version {self.version}",
            "openvino": f"OpenVINO operation specifications, {text}",
        }.get(self.domain, f"ONNX Runtime, operator schemas of the domain {self.domain}, {text}")

    @property
    def typing_input(self) -> Input:
        """The input that has the type of the output."""
        return next((known for known in self.inputs if known.kind == "scales"), self.inputs[0])

    def __repr__(self) -> str:
        return f"op({self.name!r})"

    def __call__(self, *inputs: ArrayLike | None, **attributes: Any) -> np.ndarray:
        """Run this version on inputs in the order of the specification. See `gatherscatter.specs.call`."""
        return self.runner(self, inputs, attributes)  # type: ignore[no-any-return]


def make_op_version(row: OpFacts, cls: type[OpVersion] = OpVersion) -> OpVersion:
    """Return the op version that a row describes."""
    facts = {each.name: getattr(row, each.name) for each in fields(row)}
    return cls(**facts | {name: getattr(quirks, facts[name]) for name in ("prepare", "finish") if facts[name]})


SPECIFICATIONS = {"onnx": "ONNX", "openvino": "OpenVINO", "com.microsoft": "ONNX Runtime"}
"""The names of the specifications, by domain."""

TABLE = tuple(map(make_op_version, ROWS))
"""All op versions, in the order of docs/specification.md, section 1."""


def ops() -> tuple[OpVersion, ...]:
    """Return all op versions: those of ONNX, of OpenVINO, and of ONNX Runtime's domain com.microsoft.

    Returns
    -------
    tuple of OpVersion

    >>> import gatherscatter as gs
    >>> len(gs.ops())
    38
    >>> gs.ops()[0]
    op('onnx.Gather-1')
    """
    return TABLE


_BY_TYPE: dict[tuple[str, str], list[OpVersion]] = {}
for _row in TABLE:
    _BY_TYPE.setdefault((_row.domain, _row.op_type), []).append(_row)


def op(name: str) -> OpVersion:
    """Return the op version with this name.

    Parameters
    ----------
    name : str
        Domain, operator and version number: ``"openvino.GatherND-8"``. Without a number, it is the newest version.

    Returns
    -------
    OpVersion
        Call it to run it.

    Raises
    ------
    LookupError
        There is no such op version. The message suggests similar names, or lists all operators or versions.

    >>> import gatherscatter as gs
    >>> gs.op("openvino.GatherND-8").index_range
    'negative'
    >>> gs.op("onnx.ScatterND").version
    18
    """
    if not isinstance(name, str):
        raise OpTypeError(f"op: name must be text, such as 'onnx.ScatterND', not {type(name).__name__}", op="op")
    family, _, version = name.partition("-")
    domain, _, op_type = family.rpartition(".")
    rows = _BY_TYPE.get((domain, op_type))
    if rows is None:
        known = [f"{row[0].domain}.{row[0].op_type}" for row in _BY_TYPE.values()]
        meant = name_candidates(_find_similar_operators(family) or _find_similar_operators(op_type or domain))
        raise LookupError(f"there is no operator {name!r}{meant or '; there are ' + ', '.join(known)}")
    if not version:
        return rows[-1]
    for row in rows:
        if str(row.version) == version:
            return row
    text = f"{family} has no version {version!r}; it has {', '.join(str(row.version) for row in rows)}"
    if version.isdecimal() and rows[0].version < int(version):
        text += f"; opset {version} uses version {find(domain, op_type, int(version)).version}"
    raise LookupError(text)


def _find_similar_operators(name: str) -> list[str]:
    """Return operators with similar names, in the name's domain if it has one. ScatterND matches ScatterNDUpdate."""
    domain, _, op_type = name.rpartition(".")
    found: list[str] = []
    for known in dict.fromkeys(known for known, _ in _BY_TYPE):
        if domain.lower() in ("", known):
            types = {own.removesuffix("Update"): own for of, own in _BY_TYPE if of == known}
            similar = find_similar(op_type.removesuffix("Update"), types)
            found += [f"{known}.{types[each]}" for each in similar[:2]]
    return found


def find(domain: str, op_type: str, opset: int) -> OpVersion:
    """Return the newest version of an operator that is not above an opset.

    >>> find("onnx", "ScatterND", 17).name
    'onnx.ScatterND-16'

    Raises
    ------
    LookupError
        There is no such operator, or it is newer than that opset.
    """
    rows = _BY_TYPE.get((domain, op_type))
    if rows is None:
        raise LookupError(f"there is no operator {domain}.{op_type}")
    older = [row for row in rows if row.version <= opset]
    if not older:
        raise LookupError(f"{domain}.{op_type} does not exist in opset {opset}; opset {rows[0].version} introduced it")
    return older[-1]


# A dim is an int if the size is known, and anything else if it is not. A shape is None if the rank is unknown.
Dims = Sequence[Any]


def slots_shape(kernel: Kernel, data: Dims, indices: Dims, axis: int, batch_dims: int) -> tuple[Any, ...]:
    """Return the shape of a gather's output and of a scatter's updates, for valid shapes and attributes.

    The core computes the same from known sizes, and checks them. Here, only the length of index tuples must be known.

    >>> slots_shape(Kernel.GATHER, (2, "n", 5), (None, 3), axis=1, batch_dims=0)
    (2, None, 3, 5)
    """
    batch_dims += len(indices) if batch_dims < 0 else 0
    if kernel.form == Form.LANES:
        return tuple(indices)
    if kernel.form == Form.TUPLES:
        return (*indices[:-1], *data[batch_dims + int(indices[-1]) :])
    axis += len(data) if axis < 0 else 0
    return (*data[:axis], *indices[batch_dims:], *data[axis + 1 :])


def result_shape(
    row: OpVersion,
    shapes: Sequence[Dims | None],
    attributes: Mapping[str, Any],
    axis: int | None,
    data_type: str | None = None,
) -> Dims | None:
    """Return the shape of the result from those of the inputs. ``axis`` is None if it is an unknown input.

    ``data_type`` is the element type of data. It matters to quantized tables only.

    >>> from gatherscatter.specs.table import op
    >>> result_shape(op("onnx.GatherND-13"), [(None, 3, 4), (None, 2, 1)], {"batch_dims": 1}, None)
    (None, 2, 4)
    """
    data, indices = shapes[:2]
    if row.kernel == Kernel.GATHER_ELEMENTS:
        return indices
    if row.kernel == Kernel.GATHER_REDUCE:
        return None if data is None else [_count_bags(row, shapes), *data[1:]]
    if row.kernel == Kernel.GATHER_QUANTIZED:
        return _gather_quantized(row, data, indices, attributes, data_type)
    if row.kernel not in (Kernel.GATHER, Kernel.GATHER_ND):
        return data  # scatters, caches and trees have the shape of their first input
    if data is None or indices is None:
        return None
    batch_dims = attributes.get("batch_dims", 0)
    if row.kernel == Kernel.GATHER:
        return _gather(row, data, indices, batch_dims, axis)
    return _gather_nd(row, data, indices, batch_dims)


def codes_per_byte(data_type: str | None, bits: int) -> int:
    """Return the number of codes in an element of a quantized table's last axis.

    >>> codes_per_byte("uint8", 2), codes_per_byte("uint4", 4)
    (4, 1)
    """
    return 8 // bits if data_type == "uint8" and bits in (2, 4, 8) else 1


def gather_axis_name(row: OpVersion) -> str:
    """Return the name of the attribute or input with the axis of the indices.

    >>> gather_axis_name(op("com.microsoft.GatherBlockQuantized"))
    'gather_axis'
    """
    return next((known.name for known in row.attributes if known.name == "gather_axis"), "axis")


def _gather_quantized(
    row: OpVersion, data: Dims | None, indices: Dims | None, attributes: Mapping[str, Any], data_type: str | None
) -> Dims | None:
    if data is None or indices is None or data_type is None:
        return None
    table, per_byte = list(data), codes_per_byte(data_type, attributes["bits"])
    if table and per_byte > 1:
        table[-1] = table[-1] * per_byte if isinstance(table[-1], int) else None
    return _gather(row, table, indices, 0, attributes[gather_axis_name(row)])


def _count_bags(row: OpVersion, shapes: Sequence[Dims | None]) -> Any:
    """Return the number of bags if it follows from a shape."""
    names = [known.name for known in row.inputs]
    if "segment_ids" in names:
        return None  # it depends on a value
    bags = shapes[names.index("offsets" if "offsets" in names else "indices")]
    return bags[0] if bags else None


def _gather(row: OpVersion, data: Dims, indices: Dims, batch_dims: int, axis: int | None) -> Dims:
    batch_dims += len(indices) if batch_dims < 0 else 0
    if axis is None:
        return [None] * (len(data) + len(indices) - 1 - batch_dims)
    if not -len(data) <= axis < len(data):
        name = gather_axis_name(row)
        text = f"{row.name}: {name} {axis} is out of range for data of rank {len(data)}"
        raise OpValueError(text, op=row.name, input=name)
    return slots_shape(Kernel.GATHER, data, indices, axis, batch_dims)


def _gather_nd(row: OpVersion, data: Dims, indices: Dims, batch_dims: int) -> Dims | None:
    if not indices or not isinstance(indices[-1], int):
        return None  # the length of the tuples decides the rank
    if not 0 <= batch_dims < min(len(data), len(indices)) or indices[-1] > len(data) - batch_dims:
        tuples = f"tuples of {indices[-1]} indices after {batch_dims} batch dims"
        text = f"{row.name}: data of rank {len(data)} can't be indexed by {tuples}"
        raise OpValueError(text, op=row.name, input="indices")
    dims = slots_shape(row.kernel, data, indices, 0, batch_dims)
    if row.finish is None or batch_dims <= 1:
        return dims
    batch = dims[:batch_dims]  # GatherND-5 merges them into one dim
    return (math.prod(batch) if all(isinstance(dim, int) for dim in batch) else None, *dims[batch_dims:])
