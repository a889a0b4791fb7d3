"""The table of op versions: docs/specification.md, section 1."""

from __future__ import annotations

import dataclasses
from typing import Any

from gatherscatter.oracle.element_types import I2, IL, IX, OVANY, OVNUM, OVRED, QUANTIZED, T15, T16, T24

REQUIRED = object()
NONE, ADD_MUL = ("none",), ("none", "add", "mul")
ONNX_18 = ("none", "add", "mul", "max", "min")
SEU_12 = ("none", "sum", "prod", "min", "max", "mean")
SND_15 = ("none", "sum", "sub", "prod", "min", "max")
FORMS = {
    "gather": "rows", "gather_elements": "lanes", "gather_nd": "tuples", "gather_quantized": "rows",
    "scatter_update": "rows", "scatter_elements": "lanes", "scatter_nd": "tuples", "tensor_scatter": "rows",
    "gather_reduce": "bags", "gather_tree": "tree",
}  # fmt: skip
GENERIC = {"sum": "add", "prod": "mul"}  # OpenVINO's names of reductions


@dataclasses.dataclass(frozen=True)
class OracleRow:
    """One op version of docs/specification.md, section 1."""

    name: str
    kernel: str
    inputs: tuple[str, ...]
    types: tuple[str, ...]
    index_types: tuple[str, ...]
    rule: str  # negative = N, nonnegative = P, zeros = Z, own = the op has its own rule
    attributes: dict[str, Any]
    choices: dict[str, tuple[str, ...]]
    deprecated: bool = False

    @property
    def form(self) -> str:
        """What an index names: "rows" along an axis, "lanes", elements by "tuples", members of "bags" or a "tree"."""
        return FORMS[self.kernel]

    @property
    def is_scatter(self) -> bool:
        """Whether the operator writes updates into data."""
        return self.kernel in ("scatter_update", "scatter_elements", "scatter_nd")

    @property
    def domain(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def op_type(self) -> str:
        return self.name.rpartition(".")[2].rpartition("-")[0]

    @property
    def version(self) -> int:
        return int(self.name.rpartition("-")[2])

    @property
    def reductions(self) -> tuple[str, ...]:
        return self.choices.get("reduction", NONE)

    @property
    def fixed_reduction(self) -> str:
        """The reduction of an operator that has no attribute for it."""
        if self.kernel != "gather_reduce":
            return "none"
        return "max" if self.op_type == "SegmentMax" else "sum"


def _row(
    name: str,
    kernel: str,
    inputs: str,
    types: tuple[str, ...],
    index_types: tuple[str, ...],
    rule: str,
    *attributes: Any,
) -> OracleRow:
    defaults = {a[0]: a[1] for a in attributes}
    choices = {a[0]: a[2] for a in attributes if len(a) == 3}
    return OracleRow(name, kernel, tuple(inputs.split()), types, index_types, rule, defaults, choices,
               deprecated=name == "onnx.Scatter-11")  # fmt: skip


_AXIS, _BATCH, _MUST = ("axis", 0), ("batch_dims", 0), ("axis", REQUIRED)
_DI, _DIU, _DIA, _DIUA = "data indices", "data indices updates", "data indices axis", "data indices updates axis"
_TREE = "step_ids parent_ids max_seq_len end_token"
_BAG_OFFSETS = "emb_table indices offsets default_index per_sample_weights"
_BAG_PACKED = "emb_table indices per_sample_weights"
_SEGMENTS = "emb_table indices segment_ids num_segments default_index per_sample_weights"
_SUM_MEAN = ("reduction", "sum", ("sum", "mean"))

ROWS = {
    row.name: row
    for row in (
        _row("onnx.Gather-1", "gather", _DI, T15, I2, "negative", _AXIS),
        _row("onnx.Gather-11", "gather", _DI, T15, I2, "negative", _AXIS),
        _row("onnx.Gather-13", "gather", _DI, T16, I2, "negative", _AXIS),
        _row("onnx.GatherElements-11", "gather_elements", _DI, T15, I2, "negative", _AXIS),
        _row("onnx.GatherElements-13", "gather_elements", _DI, T16, I2, "negative", _AXIS),
        _row("onnx.GatherND-11", "gather_nd", _DI, T15, IL, "negative"),
        _row("onnx.GatherND-12", "gather_nd", _DI, T15, IL, "negative", _BATCH),
        _row("onnx.GatherND-13", "gather_nd", _DI, T16, IL, "negative", _BATCH),
        _row("onnx.Scatter-9", "scatter_elements", _DIU, T15, I2, "negative", _AXIS),
        _row("onnx.Scatter-11", "scatter_elements", _DIU, T15, I2, "negative", _AXIS),
        _row("onnx.ScatterElements-11", "scatter_elements", _DIU, T15, I2, "negative", _AXIS),
        _row("onnx.ScatterElements-13", "scatter_elements", _DIU, T16, I2, "negative", _AXIS),
        _row("onnx.ScatterElements-16", "scatter_elements", _DIU, T16, I2, "negative", _AXIS,
             ("reduction", "none", ADD_MUL)),
        _row("onnx.ScatterElements-18", "scatter_elements", _DIU, T16, I2, "negative", _AXIS,
             ("reduction", "none", ONNX_18)),
        _row("onnx.ScatterND-11", "scatter_nd", _DIU, T15, IL, "negative"),
        _row("onnx.ScatterND-13", "scatter_nd", _DIU, T16, IL, "negative"),
        _row("onnx.ScatterND-16", "scatter_nd", _DIU, T16, IL, "negative", ("reduction", "none", ADD_MUL)),
        _row("onnx.ScatterND-18", "scatter_nd", _DIU, T16, IL, "negative", ("reduction", "none", ONNX_18)),
        _row("onnx.TensorScatter-24", "tensor_scatter", "past_cache update write_indices", T24, IL, "own",
             ("axis", -2), ("mode", "linear", ("linear", "circular"))),
        _row("openvino.EmbeddingBagOffsets-15", "gather_reduce", _BAG_OFFSETS, OVRED, I2, "nonnegative", _SUM_MEAN),
        _row("openvino.EmbeddingBagOffsetsSum-3", "gather_reduce", _BAG_OFFSETS, OVRED, I2, "nonnegative"),
        _row("openvino.EmbeddingBagPacked-15", "gather_reduce", _BAG_PACKED, OVRED, I2, "nonnegative", _SUM_MEAN),
        _row("openvino.EmbeddingBagPackedSum-3", "gather_reduce", _BAG_PACKED, OVRED, I2, "nonnegative"),
        _row("openvino.EmbeddingSegmentsSum-3", "gather_reduce", _SEGMENTS, OVRED, I2, "nonnegative"),
        _row("openvino.Gather-1", "gather", _DIA, OVANY, IX, "nonnegative"),
        _row("openvino.Gather-7", "gather", _DIA, OVANY, IX, "nonnegative", _BATCH),
        _row("openvino.Gather-8", "gather", _DIA, OVANY, IX, "zeros", _BATCH),
        _row("openvino.GatherElements-6", "gather_elements", _DI, OVANY, I2, "nonnegative", _MUST),
        _row("openvino.GatherND-5", "gather_nd", _DI, OVANY, IX, "nonnegative", _BATCH),
        _row("openvino.GatherND-8", "gather_nd", _DI, OVANY, IX, "negative", _BATCH),
        _row("openvino.GatherTree-1", "gather_tree", _TREE, OVNUM, (), "own"),
        _row("openvino.SegmentMax-16", "gather_reduce", "data segment_ids num_segments", OVRED, I2, "nonnegative",
             ("fill_mode", REQUIRED, ("ZERO", "LOWEST"))),
        _row("openvino.ScatterUpdate-3", "scatter_update", _DIUA, OVNUM, IX, "nonnegative"),
        _row("openvino.ScatterElementsUpdate-3", "scatter_elements", _DIUA, OVNUM, IX, "nonnegative"),
        _row("openvino.ScatterElementsUpdate-12", "scatter_elements", _DIUA, OVANY, IX, "negative",
             ("reduction", "none", SEU_12), ("use_init_val", True)),
        _row("openvino.ScatterNDUpdate-3", "scatter_nd", _DIU, OVNUM, I2, "nonnegative"),
        _row("openvino.ScatterNDUpdate-15", "scatter_nd", _DIU, OVNUM, I2, "negative",
             ("reduction", "none", SND_15)),
        _row("com.microsoft.GatherBlockQuantized-1", "gather_quantized", "data indices scales zero_points", QUANTIZED,
             I2, "zeros", ("gather_axis", 0), ("quantize_axis", 1), ("block_size", 128), ("bits", 4)),
    )
}  # fmt: skip
