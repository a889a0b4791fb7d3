"""The facts about all op versions, a row for each. No other file has them.

`gatherscatter.specs.table` makes op versions of the rows. The build makes the table of the operators for ONNX Runtime
from them (``cpp/onnxruntime/embed_versions.py``). Therefore, this module uses only the standard library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from gatherscatter.messages.choices import ACCUMULATE, BAG_REDUCTIONS, CODE_TYPES, MODES, NEGATIVE, REDUCTIONS
from gatherscatter.operation import REQUIRED, Kernel

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


@dataclass(frozen=True)
class Input:
    """An input of an operator.

    ``kind`` is "data" (the element type T), "indices" (an index type), "scalar" (one element of an index type),
    "integers" (of an index type that need not be that of the indices), "axis" (one element of any integer type) or
    "scales" (float32, float16 or bfloat16, which is also the type of the output).
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
class OpFacts:
    """The facts about one version of one operator. `gatherscatter.specs.table.OpVersion` describes them.

    ``prepare`` and ``finish`` are names of functions in `gatherscatter.specs.quirks`.
    """

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
    reduction: str | None = None
    deprecated: bool = False
    prepare: str | None = None
    finish: str | None = None


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
_CACHE_ATTRIBUTES = (Attribute("axis", "int", -2), Attribute("mode", "string", "linear", ("linear", "circular")))
_TABLE_INPUTS = (_DATA, _INDICES, Input("scales", "scales"), Input("zero_points", "data", optional=True))
_BLOCK_SIZE, _BITS = Attribute("block_size", "int", 128), Attribute("bits", "int", 4)
_INT32_64 = ("int32", "int64")
_INT64 = ("int64",)
_CODES = tuple(name for name in CODE_TYPES if name != "int8")

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
    """The facts of one version; ``others`` are fields of `OpFacts`."""
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
    kernel: Kernel,
    inputs: tuple[Input, ...],
    shape_rule: str,
    *versions: dict[str, Any],
    output: str = "output",
) -> Iterator[OpFacts]:
    """The versions of one operator."""
    domain, _, op_type = name.rpartition(".")
    for facts in versions:
        yield OpFacts(
            domain=domain,
            op_type=op_type,
            kernel=kernel,
            inputs=inputs,
            output=output,
            shape_rule=facts.pop("shape_rule", shape_rule),
            **facts,
        )


# fmt: off
ROWS = (
    *_operator(
        "onnx.Gather", Kernel.GATHER, (_DATA, _INDICES), _GATHER_SHAPE,
        _version(1, ONNX_1, _INT32_64, "negative", _AXIS),
        _version(11, ONNX_1, _INT32_64, "negative", _AXIS),
        _version(13, ONNX_13, _INT32_64, "negative", _AXIS),
    ),
    *_operator(
        "onnx.GatherElements", Kernel.GATHER_ELEMENTS, (_DATA, _INDICES), "indices.shape",
        _version(11, ONNX_1, _INT32_64, "negative", _AXIS),
        _version(13, ONNX_13, _INT32_64, "negative", _AXIS),
    ),
    *_operator(
        "onnx.GatherND", Kernel.GATHER_ND, (_DATA, _INDICES), _GATHER_ND_SHAPE,
        _version(11, ONNX_1, _INT64, "negative"),
        _version(12, ONNX_1, _INT64, "negative", _BATCH_DIMS),
        _version(13, ONNX_13, _INT64, "negative", _BATCH_DIMS),
    ),
    *_operator(
        "onnx.Scatter", Kernel.SCATTER_ELEMENTS, (_DATA, _INDICES, _UPDATES), "data.shape",
        _version(9, ONNX_1, _INT32_64, "negative", _AXIS),
        _version(11, ONNX_1, _INT32_64, "negative", _AXIS, deprecated=True),
    ),
    *_operator(
        "onnx.ScatterElements", Kernel.SCATTER_ELEMENTS, (_DATA, _INDICES, _UPDATES), "data.shape",
        _version(11, ONNX_1, _INT32_64, "negative", _AXIS),
        _version(13, ONNX_13, _INT32_64, "negative", _AXIS),
        _version(16, ONNX_13, _INT32_64, "negative", _AXIS, _reduction("add", "mul")),
        _version(18, ONNX_13, _INT32_64, "negative", _AXIS, _reduction("add", "mul", "max", "min")),
    ),
    *_operator(
        "onnx.ScatterND", Kernel.SCATTER_ND, (_DATA, _INDICES, _UPDATES), "data.shape",
        _version(11, ONNX_1, _INT64, "negative"),
        _version(13, ONNX_13, _INT64, "negative"),
        _version(16, ONNX_13, _INT64, "negative", _reduction("add", "mul")),
        _version(18, ONNX_13, _INT64, "negative", _reduction("add", "mul", "max", "min")),
    ),
    *_operator(
        "onnx.TensorScatter", Kernel.TENSOR_SCATTER,
        (Input("past_cache", "data"), Input("update", "data"), Input("write_indices", "indices", optional=True)),
        "past_cache.shape",
        _version(24, ONNX_24, _INT64, "nonnegative", *_CACHE_ATTRIBUTES),
        output="present_cache",
    ),
    *_operator(
        "openvino.EmbeddingBagOffsets", Kernel.GATHER_REDUCE,
        (_EMB_TABLE, _INDICES, _OFFSETS, _DEFAULT_INDEX, _SAMPLE_WEIGHTS), _OFFSETS_SHAPE,
        _version(15, OPENVINO_REDUCED, _INT32_64, "nonnegative", _SUM_OR_MEAN),
    ),
    *_operator(
        "openvino.EmbeddingBagOffsetsSum", Kernel.GATHER_REDUCE,
        (_EMB_TABLE, _INDICES, _OFFSETS, _DEFAULT_INDEX, _SAMPLE_WEIGHTS), _OFFSETS_SHAPE,
        _version(3, OPENVINO_REDUCED, _INT32_64, "nonnegative", reduction="sum"),
    ),
    *_operator(
        "openvino.EmbeddingBagPacked", Kernel.GATHER_REDUCE, (_EMB_TABLE, _INDICES, _SAMPLE_WEIGHTS), _PACKED_SHAPE,
        _version(15, OPENVINO_REDUCED, _INT32_64, "nonnegative", _SUM_OR_MEAN),
    ),
    *_operator(
        "openvino.EmbeddingBagPackedSum", Kernel.GATHER_REDUCE, (_EMB_TABLE, _INDICES, _SAMPLE_WEIGHTS), _PACKED_SHAPE,
        _version(3, OPENVINO_REDUCED, _INT32_64, "nonnegative", reduction="sum"),
    ),
    *_operator(
        "openvino.EmbeddingSegmentsSum", Kernel.GATHER_REDUCE,
        (_EMB_TABLE, _INDICES, _SEGMENT_IDS, Input("num_segments", "scalar"), _DEFAULT_INDEX, _SAMPLE_WEIGHTS),
        "(num_segments,) + emb_table.shape[1:]",
        _version(3, OPENVINO_REDUCED, _INT32_64, "nonnegative", reduction="sum"),
    ),
    *_operator(
        "openvino.Gather", Kernel.GATHER, (_DATA, _INDICES, _AXIS_INPUT), _GATHER_SHAPE,
        _version(1, OPENVINO_ANY, INTEGERS, "nonnegative"),
        _version(7, OPENVINO_ANY, INTEGERS, "nonnegative", _BATCH_DIMS),
        _version(8, OPENVINO_ANY, INTEGERS, "zeros", _BATCH_DIMS),
    ),
    *_operator(
        "openvino.GatherElements", Kernel.GATHER_ELEMENTS, (_DATA, _INDICES), "indices.shape",
        _version(6, OPENVINO_ANY, _INT32_64, "nonnegative", _AXIS_REQUIRED, prepare="equal_off_axis"),
    ),
    *_operator(
        "openvino.GatherND", Kernel.GATHER_ND, (_DATA, _INDICES), _GATHER_ND_SHAPE,
        _version(5, OPENVINO_ANY, INTEGERS, "nonnegative", _BATCH_DIMS, finish="fuse_batch_dims",
                 shape_rule=f"{_GATHER_ND_SHAPE}; the batch dims are joined if batch_dims > 1"),
        _version(8, OPENVINO_ANY, INTEGERS, "negative", _BATCH_DIMS),
    ),
    *_operator(
        "openvino.GatherTree", Kernel.GATHER_TREE,
        tuple(Input(name, "data") for name in ("step_ids", "parent_ids", "max_seq_len", "end_token")),
        "step_ids.shape",
        _version(1, OPENVINO_NUMBERS, (), "nonnegative"),
        output="final_ids",
    ),
    *_operator(
        "openvino.SegmentMax", Kernel.GATHER_REDUCE,
        (_DATA, _SEGMENT_IDS, Input("num_segments", "scalar", optional=True)),
        "(num_segments or max(segment_ids)+1,) + data.shape[1:]",
        _version(16, OPENVINO_REDUCED, _INT32_64, "nonnegative",
                 Attribute("fill_mode", "string", choices=("ZERO", "LOWEST")), reduction="max"),
    ),
    *_operator(
        "openvino.ScatterUpdate", Kernel.SCATTER_UPDATE, (_DATA, _INDICES, _UPDATES, _AXIS_INPUT), "data.shape",
        _version(3, OPENVINO_NUMBERS, INTEGERS, "nonnegative"),
    ),
    *_operator(
        "openvino.ScatterElementsUpdate", Kernel.SCATTER_ELEMENTS,
        (_DATA, _INDICES, _UPDATES, _AXIS_INPUT), "data.shape",
        _version(3, OPENVINO_NUMBERS, INTEGERS, "nonnegative", prepare="no_longer_along_axis"),
        _version(12, OPENVINO_ANY, INTEGERS, "negative",
                 _reduction("sum", "prod", "min", "max", "mean"), _USE_INIT_VAL),
    ),
    *_operator(
        "openvino.ScatterNDUpdate", Kernel.SCATTER_ND, (_DATA, _INDICES, _UPDATES), "data.shape",
        _version(3, OPENVINO_NUMBERS, _INT32_64, "nonnegative", prepare="one_element_updates"),
        _version(15, OPENVINO_NUMBERS, _INT32_64, "negative", _reduction("sum", "sub", "prod", "min", "max"),
                 prepare="one_element_updates"),
    ),
    *_operator(
        "com.microsoft.GatherBlockQuantized", Kernel.GATHER_QUANTIZED,
        _TABLE_INPUTS,
        "table[:gather_axis] + indices.shape + table[gather_axis+1:], where table is the shape of data in numbers",
        _version(1, _CODES, _INT32_64, "zeros",
                 Attribute("gather_axis", "int", 0), Attribute("quantize_axis", "int", 1),
                 _BLOCK_SIZE, _BITS),
    ),
)
# fmt: on
"""All op versions, in the order of docs/specification.md, section 1."""

DOMAIN = "gatherscatter"
DOMAIN_VERSION = 2

_NEGATIVE = Attribute("negative", "string", "end", NEGATIVE)
_GATHER_MODE = (Attribute("mode", "string", "raise", MODES[False]), _NEGATIVE)
_ACCUMULATE = Attribute("accumulate", "string", "step", ACCUMULATE)
_SCATTER_ATTRIBUTES = (
    Attribute("reduction", "string", "none", REDUCTIONS),
    Attribute("include_self", "bool", True),
    _ACCUMULATE,
    Attribute("mode", "string", "raise", MODES[True]),
    _NEGATIVE,
)
# The operators of ONNX that are also in the domain gatherscatter, with the attributes that they have there.
_OWN_ATTRIBUTES = {
    "Gather": (_AXIS, _BATCH_DIMS, *_GATHER_MODE),
    "GatherElements": (_AXIS, *_GATHER_MODE),
    "GatherND": (_BATCH_DIMS, *_GATHER_MODE),
    "Scatter": (_AXIS, *_SCATTER_ATTRIBUTES),
    "ScatterElements": (_AXIS, *_SCATTER_ATTRIBUTES),
    "ScatterND": _SCATTER_ATTRIBUTES,
    "TensorScatter": _CACHE_ATTRIBUTES,
}


def _own_row(row: OpFacts, attributes: tuple[Attribute, ...]) -> OpFacts:
    """The operator of ONNX in the domain gatherscatter: all types, and indices that count from the end."""
    return replace(row, domain=DOMAIN, version=DOMAIN_VERSION, attributes=attributes, element_types=ONNX_24,
                   index_types=INTEGERS, index_range="negative", deprecated=False)  # fmt: skip


_NEWEST = {row.op_type: row for row in ROWS if row.domain == "onnx"}
OWN_ROWS = (
    *(_own_row(_NEWEST[op_type], attributes) for op_type, attributes in _OWN_ATTRIBUTES.items()),
    *_operator(
        f"{DOMAIN}.GatherReduce", Kernel.GATHER_REDUCE,
        (_DATA, _INDICES, Input("offsets", "integers", optional=True), Input("segment_ids", "integers", optional=True),
         Input("weights", "data", optional=True), Input("init", "data", optional=True)),
        "bags + data.shape[1:]",
        _version(DOMAIN_VERSION, ONNX_24, INTEGERS, "negative",
                 Attribute("reduction", "string", "add", BAG_REDUCTIONS), _ACCUMULATE,
                 Attribute("num_segments", "int", -1), *_GATHER_MODE, Attribute("keepdims", "bool", False)),
    ),
    *_operator(
        f"{DOMAIN}.GatherQuantized", Kernel.GATHER_QUANTIZED, _TABLE_INPUTS,
        "table[:axis] + indices.shape + table[axis+1:], where table is the shape of data in numbers",
        _version(DOMAIN_VERSION, CODE_TYPES, INTEGERS, "negative",
                 _AXIS, Attribute("quantize_axis", "int", -1), _BLOCK_SIZE, _BITS, *_GATHER_MODE),
    ),
)  # fmt: skip
"""The operators of the domain gatherscatter, which have no versions."""
