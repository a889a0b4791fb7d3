"""The table of op versions. It is the only place for their facts.

Validation, documentation, command line, model runners and tests read it. The kernels hold the semantics that all
versions share. `gatherscatter.specs.quirks` holds the demands of single versions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter.errors import OpValueError
from gatherscatter.lazy_modules import load
from gatherscatter.specs import quirks
from gatherscatter.suggestions import find_similar, name_candidates

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
ONNX_1 = ("bool", *INTEGERS, *FLOATS, "complex64", "complex128", "string")
ONNX_13 = (*ONNX_1, "bfloat16")
ONNX_24 = (
    *ONNX_13,
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float4_e2m1fn", "int4", "uint4"),
)
# OpenVINO's narrow types that NumPy and ml_dtypes store with one element in a slot. They can only be moved.
NARROW = ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn", "int4", "uint4")
OPENVINO_REDUCED = ("bool", *INTEGERS, *FLOATS, "bfloat16")
OPENVINO_NUMBERS = (*OPENVINO_REDUCED, *NARROW)
OPENVINO_ANY = (*OPENVINO_NUMBERS, "string")

INDEX_RANGES = {
    "negative": "[-s, s-1]; a negative index counts from the end; other values raise IndexError",
    "nonnegative": "[0, s-1]; other values raise IndexError",
    "zeros": "[-s, s-1]; a negative index counts from the end; other values give zeros",
}


class REQUIRED:
    """The default of an attribute that must be given."""


@dataclass(frozen=True)
class Input:
    """An input of an operator.

    ``kind`` is "data" (the element type T), "indices" (an index type), "scalar" (one element of an index type),
    "integers" (of an index type that need not be that of the indices) or "axis" (one element of any integer type).
    """

    name: str
    kind: str
    optional: bool = False

    def __str__(self) -> str:
        return f"[{self.name}]" if self.optional else self.name


@dataclass(frozen=True)
class Attribute:
    """An attribute of an operator. ``type`` is "int", "string" or "bool"."""

    name: str
    type: str
    default: Any = REQUIRED
    choices: tuple[str, ...] | None = None

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is REQUIRED

    @property
    def default_text(self) -> str:
        """The default as text for a command line."""
        return str(self.default).lower() if self.type == "bool" else str(self.default)


@dataclass(frozen=True)
class OpVersion:
    """One version of one operator, as its specification defines it. Call it to run it.

    Attributes
    ----------
    domain : 'onnx' or 'openvino'
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

    domain: str
    op_type: str
    version: int
    kernel: str
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
        """The place of its specification."""
        if self.domain == "onnx":
            return f"ONNX operator schemas, {self.op_type}, since version {self.version}"
        return f"OpenVINO operation specifications, {self.op_type}-{self.version}"

    def __repr__(self) -> str:
        return f"op({self.name!r})"

    def __call__(self, *inputs: ArrayLike | None, **attributes: Any) -> np.ndarray:
        """Run this version on inputs in the order of the specification. See `gatherscatter.spec.call`."""
        return load(__name__, "call")(self, inputs, attributes)  # type: ignore[no-any-return]


_DATA = Input("data", "data")
_INDICES = Input("indices", "indices")
_UPDATES = Input("updates", "data")
_AXIS_INPUT = Input("axis", "axis")
_AXIS = Attribute("axis", "int", 0)
_AXIS_REQUIRED = Attribute("axis", "int")
_BATCH_DIMS = Attribute("batch_dims", "int", 0)
_USE_INIT_VAL = Attribute("use_init_val", "bool", True)
_EMB_TABLE = Input("emb_table", "data")
_OFFSETS = Input("offsets", "indices")
_SEGMENT_IDS = Input("segment_ids", "indices")
_DEFAULT_INDEX = Input("default_index", "scalar", optional=True)
_SAMPLE_WEIGHTS = Input("per_sample_weights", "data", optional=True)
_SUM_OR_MEAN = Attribute("reduction", "string", "sum", ("sum", "mean"))
_INT32_64 = ("int32", "int64")
_INT64 = ("int64",)

_GATHER_SHAPE = "data.shape[:axis] + indices.shape[batch_dims:] + data.shape[axis+1:]"
_OFFSETS_SHAPE = "offsets.shape + emb_table.shape[1:]"
_PACKED_SHAPE = "indices.shape[:1] + emb_table.shape[1:]"
_GATHER_ND_SHAPE = "indices.shape[:-1] + data.shape[batch_dims+k:]"


def _reduction(*choices: str) -> Attribute:
    return Attribute("reduction", "string", "none", ("none", *choices))


def _version(
    number: int,
    element_types: tuple[str, ...],
    index_types: tuple[str, ...],
    index_range: str,
    *attributes: Attribute,
    **others: Any,
) -> dict[str, Any]:
    """The facts of one version; ``others`` are fields of `OpVersion`."""
    return {
        "version": number,
        "element_types": element_types,
        "index_types": index_types,
        "index_range": index_range,
        "attributes": attributes,
        **others,
    }


def _operator(
    name: str,
    kernel: str,
    inputs: tuple[Input, ...],
    shape_rule: str,
    *versions: dict[str, Any],
    output: str = "output",
) -> Iterator[OpVersion]:
    """The versions of one operator."""
    domain, op_type = name.split(".")
    for facts in versions:
        yield OpVersion(
            domain=domain,
            op_type=op_type,
            kernel=kernel,
            inputs=inputs,
            output=output,
            shape_rule=facts.pop("shape_rule", shape_rule),
            **facts,
        )


# fmt: off
TABLE = (
    *_operator(
        "onnx.Gather", "gather", (_DATA, _INDICES), _GATHER_SHAPE,
        _version(1, ONNX_1, _INT32_64, "negative", _AXIS),
        _version(11, ONNX_1, _INT32_64, "negative", _AXIS),
        _version(13, ONNX_13, _INT32_64, "negative", _AXIS),
    ),
    *_operator(
        "onnx.GatherElements", "gather_elements", (_DATA, _INDICES), "indices.shape",
        _version(11, ONNX_1, _INT32_64, "negative", _AXIS),
        _version(13, ONNX_13, _INT32_64, "negative", _AXIS),
    ),
    *_operator(
        "onnx.GatherND", "gather_nd", (_DATA, _INDICES), _GATHER_ND_SHAPE,
        _version(11, ONNX_1, _INT64, "negative"),
        _version(12, ONNX_1, _INT64, "negative", _BATCH_DIMS),
        _version(13, ONNX_13, _INT64, "negative", _BATCH_DIMS),
    ),
    *_operator(
        "onnx.Scatter", "scatter_elements", (_DATA, _INDICES, _UPDATES), "data.shape",
        _version(9, ONNX_1, _INT32_64, "negative", _AXIS),
        _version(11, ONNX_1, _INT32_64, "negative", _AXIS, deprecated=True),
    ),
    *_operator(
        "onnx.ScatterElements", "scatter_elements", (_DATA, _INDICES, _UPDATES), "data.shape",
        _version(11, ONNX_1, _INT32_64, "negative", _AXIS),
        _version(13, ONNX_13, _INT32_64, "negative", _AXIS),
        _version(16, ONNX_13, _INT32_64, "negative", _AXIS, _reduction("add", "mul")),
        _version(18, ONNX_13, _INT32_64, "negative", _AXIS, _reduction("add", "mul", "max", "min")),
    ),
    *_operator(
        "onnx.ScatterND", "scatter_nd", (_DATA, _INDICES, _UPDATES), "data.shape",
        _version(11, ONNX_1, _INT64, "negative"),
        _version(13, ONNX_13, _INT64, "negative"),
        _version(16, ONNX_13, _INT64, "negative", _reduction("add", "mul")),
        _version(18, ONNX_13, _INT64, "negative", _reduction("add", "mul", "max", "min")),
    ),
    *_operator(
        "onnx.TensorScatter", "tensor_scatter",
        (Input("past_cache", "data"), Input("update", "data"), Input("write_indices", "indices", optional=True)),
        "past_cache.shape",
        _version(24, ONNX_24, _INT64, "nonnegative",
                 Attribute("axis", "int", -2), Attribute("mode", "string", "linear", ("linear", "circular"))),
        output="present_cache",
    ),
    *_operator(
        "openvino.EmbeddingBagOffsets", "gather_reduce",
        (_EMB_TABLE, _INDICES, _OFFSETS, _DEFAULT_INDEX, _SAMPLE_WEIGHTS), _OFFSETS_SHAPE,
        _version(15, OPENVINO_REDUCED, _INT32_64, "nonnegative", _SUM_OR_MEAN),
    ),
    *_operator(
        "openvino.EmbeddingBagOffsetsSum", "gather_reduce",
        (_EMB_TABLE, _INDICES, _OFFSETS, _DEFAULT_INDEX, _SAMPLE_WEIGHTS), _OFFSETS_SHAPE,
        _version(3, OPENVINO_REDUCED, _INT32_64, "nonnegative", reduction="sum"),
    ),
    *_operator(
        "openvino.EmbeddingBagPacked", "gather_reduce", (_EMB_TABLE, _INDICES, _SAMPLE_WEIGHTS), _PACKED_SHAPE,
        _version(15, OPENVINO_REDUCED, _INT32_64, "nonnegative", _SUM_OR_MEAN),
    ),
    *_operator(
        "openvino.EmbeddingBagPackedSum", "gather_reduce", (_EMB_TABLE, _INDICES, _SAMPLE_WEIGHTS), _PACKED_SHAPE,
        _version(3, OPENVINO_REDUCED, _INT32_64, "nonnegative", reduction="sum"),
    ),
    *_operator(
        "openvino.EmbeddingSegmentsSum", "gather_reduce",
        (_EMB_TABLE, _INDICES, _SEGMENT_IDS, Input("num_segments", "scalar"), _DEFAULT_INDEX, _SAMPLE_WEIGHTS),
        "(num_segments,) + emb_table.shape[1:]",
        _version(3, OPENVINO_REDUCED, _INT32_64, "nonnegative", reduction="sum"),
    ),
    *_operator(
        "openvino.Gather", "gather", (_DATA, _INDICES, _AXIS_INPUT), _GATHER_SHAPE,
        _version(1, OPENVINO_ANY, INTEGERS, "nonnegative"),
        _version(7, OPENVINO_ANY, INTEGERS, "nonnegative", _BATCH_DIMS),
        _version(8, OPENVINO_ANY, INTEGERS, "zeros", _BATCH_DIMS),
    ),
    *_operator(
        "openvino.GatherElements", "gather_elements", (_DATA, _INDICES), "indices.shape",
        _version(6, OPENVINO_ANY, _INT32_64, "nonnegative", _AXIS_REQUIRED, prepare=quirks.equal_off_axis),
    ),
    *_operator(
        "openvino.GatherND", "gather_nd", (_DATA, _INDICES), _GATHER_ND_SHAPE,
        _version(5, OPENVINO_ANY, INTEGERS, "nonnegative", _BATCH_DIMS, finish=quirks.fuse_batch_dims,
                 shape_rule=f"{_GATHER_ND_SHAPE}; the batch dims are joined if batch_dims > 1"),
        _version(8, OPENVINO_ANY, INTEGERS, "negative", _BATCH_DIMS),
    ),
    *_operator(
        "openvino.GatherTree", "gather_tree",
        tuple(Input(name, "data") for name in ("step_ids", "parent_ids", "max_seq_len", "end_token")),
        "step_ids.shape",
        _version(1, OPENVINO_NUMBERS, (), "nonnegative"),
        output="final_ids",
    ),
    *_operator(
        "openvino.SegmentMax", "gather_reduce",
        (_DATA, _SEGMENT_IDS, Input("num_segments", "scalar", optional=True)),
        "(num_segments or max(segment_ids)+1,) + data.shape[1:]",
        _version(16, OPENVINO_REDUCED, _INT32_64, "nonnegative",
                 Attribute("fill_mode", "string", choices=("ZERO", "LOWEST")), reduction="max"),
    ),
    *_operator(
        "openvino.ScatterUpdate", "scatter_update", (_DATA, _INDICES, _UPDATES, _AXIS_INPUT), "data.shape",
        _version(3, OPENVINO_NUMBERS, INTEGERS, "nonnegative"),
    ),
    *_operator(
        "openvino.ScatterElementsUpdate", "scatter_elements", (_DATA, _INDICES, _UPDATES, _AXIS_INPUT), "data.shape",
        _version(3, OPENVINO_NUMBERS, INTEGERS, "nonnegative", prepare=quirks.no_longer_along_axis),
        _version(12, OPENVINO_ANY, INTEGERS, "negative",
                 _reduction("sum", "prod", "min", "max", "mean"), _USE_INIT_VAL),
    ),
    *_operator(
        "openvino.ScatterNDUpdate", "scatter_nd", (_DATA, _INDICES, _UPDATES), "data.shape",
        _version(3, OPENVINO_NUMBERS, _INT32_64, "nonnegative", prepare=quirks.one_element_updates),
        _version(15, OPENVINO_NUMBERS, _INT32_64, "negative", _reduction("sum", "sub", "prod", "min", "max"),
                 prepare=quirks.one_element_updates),
    ),
)
# fmt: on
"""All op versions, in the order of docs/specification.md, section 1."""


def ops() -> tuple[OpVersion, ...]:
    """Return all op versions: first those of ONNX, then those of OpenVINO.

    Returns
    -------
    tuple of OpVersion

    >>> import gatherscatter as gs
    >>> len(gs.ops())
    37
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
    family, _, version = name.partition("-")
    domain, _, op_type = family.partition(".")
    rows = _BY_TYPE.get((domain, op_type))
    if rows is None:
        known = [f"{row[0].domain}.{row[0].op_type}" for row in _BY_TYPE.values()]
        meant = name_candidates(_find_similar_operators(family))
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


def slots_shape(kernel: str, data: Dims, indices: Dims, axis: int, batch_dims: int) -> tuple[Any, ...]:
    """Return the shape of a gather's output and of a scatter's updates, for valid shapes and attributes.

    The core computes the same from known sizes, and checks them. Here, only the length of index tuples must be known.

    >>> slots_shape("gather", (2, "n", 5), (None, 3), axis=1, batch_dims=0)
    (2, None, 3, 5)
    """
    batch_dims += len(indices) if batch_dims < 0 else 0
    if kernel.endswith("_elements"):
        return tuple(indices)
    if kernel.endswith("_nd"):
        return (*indices[:-1], *data[batch_dims + int(indices[-1]) :])
    axis += len(data) if axis < 0 else 0
    return (*data[:axis], *indices[batch_dims:], *data[axis + 1 :])


def result_shape(
    row: OpVersion, shapes: Sequence[Dims | None], attributes: Mapping[str, Any], axis: int | None
) -> Dims | None:
    """Return the shape of the result from those of the inputs. ``axis`` is None if it is an unknown input.

    >>> from gatherscatter.specs.table import op
    >>> result_shape(op("onnx.GatherND-13"), [(None, 3, 4), (None, 2, 1)], {"batch_dims": 1}, None)
    (None, 2, 4)
    """
    data, indices = shapes[:2]
    if row.kernel == "gather_elements":
        return indices
    if row.kernel == "gather_reduce":
        return None if data is None else [_count_bags(row, shapes), *data[1:]]
    if row.kernel not in ("gather", "gather_nd"):
        return data  # scatters, caches and trees have the shape of their first input
    if data is None or indices is None:
        return None
    batch_dims = attributes.get("batch_dims", 0)
    if row.kernel == "gather":
        return _gather(row, data, indices, batch_dims, axis)
    return _gather_nd(row, data, indices, batch_dims)


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
        text = f"{row.name}: axis {axis} is out of range for data of rank {len(data)}"
        raise OpValueError(text, op=row.name, input="axis")
    return slots_shape(row.kernel, data, indices, axis, batch_dims)


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
