"""The table of op versions: the only place for their facts.

Validation, documentation, command line, model runners and tests read it. Semantics that all versions share are in the
kernels; what a version alone demands is in `gatherscatter.deviations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import deviations

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
ONNX_1 = ("bool", *INTEGERS, *FLOATS, "complex64", "complex128", "string")
ONNX_13 = (*ONNX_1, "bfloat16")
ONNX_24 = (
    *ONNX_13,
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float4_e2m1fn", "int4", "uint4"),
)
# Of OpenVINO's narrow types, those that NumPy and ml_dtypes hold one element a slot; they are moved, not computed with.
NARROW = ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn", "int4", "uint4")
OPENVINO_NUMBERS = ("bool", *INTEGERS, *FLOATS, "bfloat16", *NARROW)
OPENVINO_ANY = (*OPENVINO_NUMBERS, "string")

INDEX_RANGES = {
    "negative": "[-s, s-1], negative counts from the end; else IndexError",
    "nonnegative": "[0, s-1]; else IndexError",
    "zeros": "[-s, s-1], negative counts from the end; else zeros",
}


class REQUIRED:
    """Stands for the default of an attribute that must be given."""


@dataclass(frozen=True)
class Input:
    """An input of an operator. ``kind`` is "data" (the element type T), "indices" (an index type) or "axis"."""

    name: str
    kind: str
    optional: bool = False


@dataclass(frozen=True)
class Attribute:
    """An attribute of an operator. ``type`` is "int", "string" or "bool"."""

    name: str
    type: str
    default: Any = REQUIRED
    choices: tuple[str, ...] | None = None


@dataclass(frozen=True)
class OpVersion:
    """One version of one operator, as its specification has it; call it to run it.

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
    deprecated: bool = False
    prepare: Callable[..., tuple[np.ndarray, ...]] | None = field(default=None, repr=False)
    finish: Callable[..., np.ndarray] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return f"{self.domain}.{self.op_type}-{self.version}"

    @property
    def source(self) -> str:
        """Where the specification stands."""
        if self.domain == "onnx":
            return f"ONNX operator schemas, {self.op_type}, since version {self.version}"
        return f"OpenVINO operation specifications, {self.op_type}-{self.version}"

    def __call__(self, *inputs: ArrayLike | None, **attributes: Any) -> np.ndarray:
        """Run this version on inputs in the order of the specification; see `gatherscatter.spec.call`."""
        from gatherscatter.spec import call

        return call(self, inputs, attributes)


def element_type(dtype: np.dtype[Any]) -> str:
    """The name the table has for a NumPy dtype: "float32", "bfloat16", "string", ...

    >>> element_type(np.dtype("<U5"))
    'string'
    """
    return "string" if dtype.kind in "OSUT" else dtype.name


_DATA = Input("data", "data")
_INDICES = Input("indices", "indices")
_UPDATES = Input("updates", "data")
_AXIS_INPUT = Input("axis", "axis")
_AXIS = Attribute("axis", "int", 0)
_BATCH_DIMS = Attribute("batch_dims", "int", 0)
_ANY_INDEX = INTEGERS
_BOTH_INDEX = ("int32", "int64")
_LONG_INDEX = ("int64",)

_TAKE_SHAPE = "data.shape[:axis] + indices.shape[batch_dims:] + data.shape[axis+1:]"
_ND_SHAPE = "indices.shape[:-1] + data.shape[batch_dims+k:]"


def _reduction(*choices: str) -> Attribute:
    return Attribute("reduction", "string", "none", ("none", *choices))


def _versions(domain: str, op_type: str, versions: dict[int, dict[str, Any]], **common: Any) -> Iterator[OpVersion]:
    """Rows of one operator: ``common`` facts, and those of each version."""
    for version, facts in versions.items():
        yield OpVersion(domain, op_type, version, **{"output": "output", "attributes": (), **common, **facts})


def _onnx() -> Iterator[OpVersion]:
    gather = {"inputs": (_DATA, _INDICES), "index_types": _BOTH_INDEX, "index_range": "negative"}
    scatter = {
        "inputs": (_DATA, _INDICES, _UPDATES),
        "index_types": _BOTH_INDEX,
        "index_range": "negative",
        "shape_rule": "data.shape",
    }
    old, new = {"element_types": ONNX_1}, {"element_types": ONNX_13}
    add_mul, all_four = _reduction("add", "mul"), _reduction("add", "mul", "max", "min")
    yield from _versions(
        "onnx", "Gather", {1: old, 11: old, 13: new}, kernel="gather", attributes=(_AXIS,), shape_rule=_TAKE_SHAPE,
        **gather,
    )  # fmt: skip
    yield from _versions(
        "onnx", "GatherElements", {11: old, 13: new}, kernel="gather_elements", attributes=(_AXIS,),
        shape_rule="indices.shape", **gather,
    )  # fmt: skip
    batched = {"attributes": (_BATCH_DIMS,)}
    yield from _versions(
        "onnx", "GatherND", {11: old, 12: old | batched, 13: new | batched}, kernel="gather_nd", shape_rule=_ND_SHAPE,
        **gather | {"index_types": _LONG_INDEX},
    )  # fmt: skip
    yield from _versions(
        "onnx", "Scatter", {9: old, 11: old | {"deprecated": True}}, kernel="scatter_elements", attributes=(_AXIS,),
        **scatter,
    )  # fmt: skip
    yield from _versions(
        "onnx", "ScatterElements",
        {11: old, 13: new, 16: new | {"attributes": (_AXIS, add_mul)}, 18: new | {"attributes": (_AXIS, all_four)}},
        kernel="scatter_elements", **{"attributes": (_AXIS,)} | scatter,
    )  # fmt: skip
    yield from _versions(
        "onnx", "ScatterND",
        {11: old, 13: new, 16: new | {"attributes": (add_mul,)}, 18: new | {"attributes": (all_four,)}},
        kernel="scatter_nd", **scatter | {"index_types": _LONG_INDEX},
    )  # fmt: skip
    yield OpVersion(
        "onnx", "TensorScatter", 24, "tensor_scatter",
        inputs=(Input("past_cache", "data"), Input("update", "data"), Input("write_indices", "indices", optional=True)),
        output="present_cache",
        attributes=(Attribute("axis", "int", -2), Attribute("mode", "string", "linear", ("linear", "circular"))),
        element_types=ONNX_24, index_types=_LONG_INDEX, index_range="nonnegative", shape_rule="past_cache.shape",
    )  # fmt: skip


def _openvino() -> Iterator[OpVersion]:
    gather = {"inputs": (_DATA, _INDICES), "element_types": OPENVINO_ANY, "index_types": _ANY_INDEX}
    scatter = {"element_types": OPENVINO_NUMBERS, "index_types": _ANY_INDEX, "shape_rule": "data.shape"}
    by_axis = (_DATA, _INDICES, _UPDATES, _AXIS_INPUT)
    strict, negative = {"index_range": "nonnegative"}, {"index_range": "negative"}
    batched = {"attributes": (_BATCH_DIMS,)}
    yield from _versions(
        "openvino", "Gather", {1: strict, 7: strict | batched, 8: {"index_range": "zeros"} | batched}, kernel="gather",
        shape_rule=_TAKE_SHAPE, **gather | {"inputs": (_DATA, _INDICES, _AXIS_INPUT)},
    )  # fmt: skip
    yield from _versions(
        "openvino", "GatherElements", {6: strict}, kernel="gather_elements", attributes=(Attribute("axis", "int"),),
        shape_rule="indices.shape", prepare=deviations.equal_off_axis, **gather | {"index_types": _BOTH_INDEX},
    )  # fmt: skip
    fused = {"finish": deviations.fuse_batch_dims, "shape_rule": f"as version 8; batch_dims > 1: [prod] of {_ND_SHAPE}"}
    yield from _versions(
        "openvino", "GatherND", {5: strict | fused, 8: negative}, kernel="gather_nd",
        **{"attributes": (_BATCH_DIMS,), "shape_rule": _ND_SHAPE} | gather,
    )  # fmt: skip
    yield OpVersion(
        "openvino", "GatherTree", 1, "gather_tree",
        inputs=tuple(Input(name, "data") for name in ("step_ids", "parent_ids", "max_seq_len", "end_token")),
        output="final_ids", attributes=(), element_types=OPENVINO_NUMBERS, index_types=(), index_range="nonnegative",
        shape_rule="step_ids.shape",
    )  # fmt: skip
    yield from _versions("openvino", "ScatterUpdate", {3: strict}, kernel="scatter_update", inputs=by_axis, **scatter)
    extended = {
        "element_types": OPENVINO_ANY,
        "attributes": (_reduction("sum", "prod", "min", "max", "mean"), Attribute("use_init_val", "bool", True)),
    }
    yield from _versions(
        "openvino", "ScatterElementsUpdate",
        {3: strict | {"prepare": deviations.no_longer_along_axis}, 12: negative | extended},
        kernel="scatter_elements", inputs=by_axis, **scatter,
    )  # fmt: skip
    yield from _versions(
        "openvino", "ScatterNDUpdate",
        {3: strict, 15: negative | {"attributes": (_reduction("sum", "sub", "prod", "min", "max"),)}},
        kernel="scatter_nd", inputs=(_DATA, _INDICES, _UPDATES), prepare=deviations.one_element_updates,
        **scatter | {"index_types": _BOTH_INDEX},
    )  # fmt: skip


TABLE = (*_onnx(), *_openvino())
"""All op versions, in the order of the specification digest."""


def ops() -> tuple[OpVersion, ...]:
    """All op versions there are, ONNX first.

    >>> len(ops())
    31
    """
    return TABLE


_BY_TYPE: dict[tuple[str, str], list[OpVersion]] = {}
for _row in TABLE:
    _BY_TYPE.setdefault((_row.domain, _row.op_type), []).append(_row)


def op(name: str) -> OpVersion:
    """The op version of a name; without a version number, the newest.

    >>> op("openvino.GatherND-8").index_range
    'negative'
    >>> op("onnx.ScatterND").version
    18

    Raises
    ------
    LookupError
        There is none; the message lists what there is.
    """
    family, _, version = name.partition("-")
    rows = [row for row in TABLE if f"{row.domain}.{row.op_type}" == family]
    if not rows:
        known = ", ".join(dict.fromkeys(f"{row.domain}.{row.op_type}" for row in TABLE))
        raise LookupError(f"there is no operator {name!r}; there are {known}")
    if not version:
        return rows[-1]
    for row in rows:
        if str(row.version) == version:
            return row
    raise LookupError(f"{family} has no version {version!r}; it has {', '.join(str(row.version) for row in rows)}")


def find(domain: str, op_type: str, opset: int) -> OpVersion:
    """The newest version of an operator that is not above an opset.

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
        raise LookupError(f"{domain}.{op_type} is not in opset {opset}; it came with {rows[0].version}")
    return older[-1]
