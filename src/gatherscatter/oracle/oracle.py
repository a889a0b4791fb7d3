"""The oracle: section 2 of docs/specification.md in slow, plain Python, written independently of the library.

All elements move one at a time, by full index tuples. Indices are Python integers, so they never overflow. Floats are
computed with NumPy scalars of the element type T, because these operations are correctly rounded in T.

There are three layers, as in the library: the kernels of section 2, the array functions (no versions, any type), and
`call("onnx.ScatterND-18", ...)`, which applies one row of the table in section 1.

Errors are plain TypeError, ValueError and IndexError. They are raised in the documented order: unknown keyword, types,
attribute values, reduction for this type, shapes, index values. An IndexError has an attribute `position`, the
coordinates of the first bad index.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter.oracle.rationals import exact_sum

Place = tuple[int, ...]  # the coordinates of an element

# ------------------------------------------------------------------------------------------------ element types

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
T15 = ("bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128", "string")
T16 = (*T15, "bfloat16")
EIGHT_BIT = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
T24 = (*T16, *EIGHT_BIT, "int4", "uint4", "float4_e2m1fn")
OV_STORAGE = ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "int4", "uint4", "float4_e2m1fn")
OVRED = ("bool", *INTEGERS, "float16", "bfloat16", "float32", "float64")
OVNUM = (*OVRED, *OV_STORAGE)
OVANY = (*OVNUM, "string")
I2 = ("int32", "int64")
IL = ("int64",)
IX = INTEGERS

HALVES = ("float16", "bfloat16")
FLOATS = (*HALVES, "float32", "float64")
COMPLEX = ("complex64", "complex128")
SUMS = ("add", "sub", "mean")


def element_type(dtype: np.dtype) -> str:
    """The specification's name of a dtype. All kinds of text are one element type."""
    return "string" if dtype.kind in "OUST" else dtype.name


def is_bytes(array: np.ndarray) -> bool:
    """Bytes and text are one element type, but can't be stored in each other, because no encoding is specified."""
    return array.dtype.kind == "S"


def as_objects(array: np.ndarray) -> np.ndarray:
    """Convert text of any width to Python objects, so that it is never truncated."""
    if array.dtype.kind not in "UST":
        return array
    out = np.empty(array.shape, object)
    for p in np.ndindex(array.shape):
        out[p] = array[p].item() if isinstance(array[p], np.generic) else array[p]
    return out


def zero_of(dtype: np.dtype) -> Any:
    if dtype.kind == "O":
        return ""
    return b"" if dtype.kind == "S" else np.zeros((), dtype)[()]


# --------------------------------------------------------------------------------------- the table of op versions

REQUIRED = object()
NONE, ADD_MUL = ("none",), ("none", "add", "mul")
ONNX_18 = ("none", "add", "mul", "max", "min")
SEU_12 = ("none", "sum", "prod", "min", "max", "mean")
SND_15 = ("none", "sum", "sub", "prod", "min", "max")
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
    def domain(self) -> str:
        return self.name.partition(".")[0]

    @property
    def op_type(self) -> str:
        return self.name.partition(".")[2].rpartition("-")[0]

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
    )
}  # fmt: skip

# ------------------------------------------------------------------------------- 2.1 helpers and the index rules


def resolve(i: int, s: int, rule: str) -> int | None:
    """The position of index value `i` on an axis of size `s`. None means zeros (gather) or skip (scatter)."""
    if rule in ("wrap", "clip"):
        if s == 0:
            raise IndexError(i)
        return i % s if rule == "wrap" else min(max(i, 0), s - 1)
    if i < 0 and rule != "nonnegative":
        i += s
    if 0 <= i < s:
        return i
    if rule in ("zeros", "fill", "drop"):
        return None
    raise IndexError(i)


def resolve_all(indices: np.ndarray, size_at: Callable[[Place], int], rule: str) -> dict[Place, Any]:
    """Check every index before any element moves, even if nothing would be copied (O19)."""
    positions = {}
    for p in np.ndindex(indices.shape):
        try:
            positions[p] = resolve(int(indices[p]), size_at(p), rule)
        except IndexError as error:
            raise at_position(error, p) from None
    return positions


def at_position(error: IndexError, p: Place) -> IndexError:
    """Add the coordinates of the bad index to the error."""
    error.position = p  # type: ignore[attr-defined]
    return error


def norm_axis(a: int, r: int) -> int:
    require(r >= 1 and -r <= a < r)
    return a + r if a < 0 else a


def require(condition: bool) -> None:
    if not condition:
        raise ValueError


# ---------------------------------------------------------------------------------- 2.10 arithmetic of reductions


def wrap_to(value: int, name: str) -> int:
    """Integers of N bits are integers modulo 2**N."""
    bits = int(name.lstrip("uint"))
    value %= 1 << bits
    return value - (1 << bits) if name[0] == "i" and value >> (bits - 1) else value


def complex_product(a: Any, b: Any) -> Any:
    """(ar br - ai bi) + (ar bi + ai br) i, with every operation rounded to the type of the parts."""
    return type(a)(complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real))


def step(reduction: str, a: Any, u: Any, name: str) -> Any:
    """f(a, u), rounded to T. `a` is the value of the slot, and `u` the update."""
    if name == "bool":
        a, u = bool(a), bool(u)
        return {"add": a or u, "mul": a and u, "min": a and u, "max": a or u, "sub": a != u}[reduction]
    if name in INTEGERS:
        a, u = int(a), int(u)
        if reduction in ("min", "max"):
            return min(a, u) if reduction == "min" else max(a, u)
        return wrap_to({"add": a + u, "sub": a - u, "mul": a * u}[reduction], name)
    if reduction in ("min", "max"):
        if a != a or u != u:  # NaN propagates from either side (O12, V17)
            return a if a != a else u
        return (a if a < u else u) if reduction == "min" else (a if a > u else u)
    if reduction == "mul":
        return complex_product(a, u) if name in COMPLEX else a * u
    return a + u if reduction == "add" else a - u


def mean(total: Any, count: int, name: str) -> Any:
    if name in COMPLEX:
        return type(total)(complex(total.real / type(total.real)(count), total.imag / type(total.real)(count)))
    return total / type(total)(count)


def fold(reduction: str, contributions: list[Any], dtype: np.dtype, accumulate: str = "step") -> Any:
    """Combine all contributions to one slot, in order. "wide": halves accumulate in float32 and are rounded once."""
    name = element_type(dtype)
    if accumulate == "exact" and reduction in SUMS and name in FLOATS:
        first, *rest = [float(c) for c in contributions]
        signed = [first, *(-c for c in rest)] if reduction == "sub" else [first, *rest]
        return dtype.type(exact_sum(signed, name, len(signed) if reduction == "mean" else 1))
    if reduction == "none":
        return contributions[-1]
    if reduction == "mean" and name in INTEGERS:
        return sum(int(c) for c in contributions) // len(contributions)
    if accumulate == "wide" and name in HALVES:
        wide = [np.float32(c) for c in contributions]
        return dtype.type(fold(reduction, wide, np.dtype(np.float32)))
    value = contributions[0]
    for u in contributions[1:]:
        value = step("add" if reduction == "mean" else reduction, value, u, name)
    return mean(value, len(contributions), name) if reduction == "mean" else value


def is_reducible(reduction: str, name: str) -> bool:
    """Whether a cell of table 2.10 exists, for the array functions. OpenVINO also refuses text."""
    if reduction == "none" or name in (*INTEGERS, *FLOATS):
        return True
    if name == "bool":
        return reduction != "mean"
    if name == "string":
        return reduction == "add"
    return name in COMPLEX and reduction not in ("min", "max")


# ---------------------------------------------------------------------------------------------- 2.2 - 2.4 gathers


def gather(data: np.ndarray, indices: np.ndarray, axis: int, b: int, rule: str) -> np.ndarray:
    r, q = data.ndim, indices.ndim
    axis = norm_axis(axis, r)
    b += q if b < 0 else 0
    require(0 <= b <= min(r, q) and b <= axis and data.shape[:b] == indices.shape[:b])
    at = resolve_all(indices, lambda p: data.shape[axis], rule)
    out = np.empty(data.shape[:axis] + indices.shape[b:] + data.shape[axis + 1 :], data.dtype)
    for batch in np.ndindex(data.shape[:b]):
        for outer in np.ndindex(data.shape[b:axis]):
            for i in np.ndindex(indices.shape[b:]):
                for inner in np.ndindex(data.shape[axis + 1 :]):
                    position = at[batch + i]
                    source = (*batch, *outer, position, *inner)
                    out[batch + outer + i + inner] = zero_of(data.dtype) if position is None else data[source]
    return out


def gather_elements(data: np.ndarray, indices: np.ndarray, axis: int, rule: str, equal: bool) -> np.ndarray:
    require(indices.ndim == data.ndim >= 1)
    axis = norm_axis(axis, data.ndim)
    check_box(data.shape, indices.shape, axis, equal)
    at = resolve_all(indices, lambda p: data.shape[axis], rule)
    out = np.empty(indices.shape, data.dtype)
    for p in np.ndindex(indices.shape):
        out[p] = zero_of(data.dtype) if at[p] is None else data[(*p[:axis], at[p], *p[axis + 1 :])]
    return out


def check_box(data: Place, indices: Place, axis: int, equal: bool) -> None:
    """Except at the axis, indices may be shorter than data (ONNX), or must be equal (GatherElements-6)."""
    for d in range(len(data)):
        if d != axis:
            require(indices[d] == data[d] if equal else indices[d] <= data[d])


def gather_nd(data: np.ndarray, indices: np.ndarray, b: int, rule: str, fused: bool = False) -> np.ndarray:
    r, q = data.ndim, indices.ndim
    require(r >= 1 and q >= 1 and 0 <= b < min(q, r) and data.shape[:b] == indices.shape[:b])
    k = indices.shape[-1]
    require(k <= r - b)
    at = resolve_all(indices, lambda p: data.shape[b + p[-1]], rule)
    out = np.empty(indices.shape[:-1] + data.shape[b + k :], data.dtype)
    for batch in np.ndindex(indices.shape[:b]):
        for tup in np.ndindex(indices.shape[b:-1]):
            t = tuple(at[(*batch, *tup, j)] for j in range(k))
            for inner in np.ndindex(data.shape[b + k :]):
                out[batch + tup + inner] = zero_of(data.dtype) if None in t else data[batch + t + inner]
    if fused and b > 1:
        count = 1
        for d in indices.shape[:b]:
            count *= d
        out = out.reshape((count, *out.shape[b:]))
    return out


# --------------------------------------------------------------------------------------------- 2.5 - 2.7 scatters


@dataclasses.dataclass(frozen=True)
class Reduce:
    reduction: str = "none"
    initial: bool = True
    accumulate: str = "step"


def scatter(data: np.ndarray, writes: list[tuple[Place, Any]], how: Reduce) -> np.ndarray:
    """Copy data, then apply the writes in order. A slot depends only on its own writes, so it is folded separately."""
    data = as_objects(data)
    out = np.empty(data.shape, data.dtype)
    for p in np.ndindex(data.shape):
        out[p] = data[p]
    slots: dict[Place, list[Any]] = {}
    for target, update in writes:
        slots.setdefault(target, []).append(update)
    with np.errstate(all="ignore"):
        for target, updates in slots.items():
            start = [data[target]] if how.initial and how.reduction != "none" else []
            out[target] = fold(how.reduction, start + updates, data.dtype, how.accumulate)
    return out


def scatter_elements(
    data: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray,
    axis: int,
    rule: str,
    how: Reduce,
    axis_limited: bool = False,
) -> np.ndarray:
    require(indices.ndim == data.ndim >= 1 and updates.shape == indices.shape)
    axis = norm_axis(axis, data.ndim)
    check_box(data.shape, indices.shape, axis, equal=False)
    require(not axis_limited or indices.shape[axis] <= data.shape[axis])  # ScatterElementsUpdate-3 (V21)
    at = resolve_all(indices, lambda p: data.shape[axis], rule)
    updates = as_objects(updates)
    writes = []
    for p in np.ndindex(indices.shape):
        if at[p] is not None:
            writes.append(((*p[:axis], at[p], *p[axis + 1 :]), updates[p]))
    return scatter(data, writes, how)


def scatter_nd(
    data: np.ndarray, indices: np.ndarray, updates: np.ndarray, rule: str, how: Reduce, one_element: bool = False
) -> np.ndarray:
    r, q = data.ndim, indices.ndim
    require(r >= 1 and q >= 1)
    k = indices.shape[-1]
    require(k <= r)
    expected = indices.shape[:-1] + data.shape[k:]
    if one_element and expected == () and updates.size == 1:  # ScatterNDUpdate (V13)
        updates = updates.reshape(())
    require(updates.shape == expected)
    at = resolve_all(indices, lambda p: data.shape[p[-1]], rule)
    updates = as_objects(updates)
    writes = []
    for tup in np.ndindex(indices.shape[:-1]):
        t = tuple(at[(*tup, j)] for j in range(k))
        if None not in t:
            for inner in np.ndindex(data.shape[k:]):
                writes.append((t + inner, updates[tup + inner]))
    return scatter(data, writes, how)


def scatter_update(
    data: np.ndarray, indices: np.ndarray, updates: np.ndarray, axis: int, rule: str, how: Reduce
) -> np.ndarray:
    axis = norm_axis(axis, data.ndim)
    require(updates.shape == data.shape[:axis] + indices.shape + data.shape[axis + 1 :])
    at = resolve_all(indices, lambda p: data.shape[axis], rule)
    updates = as_objects(updates)
    writes = []
    for i in np.ndindex(indices.shape):
        if at[i] is not None:
            for outer in np.ndindex(data.shape[:axis]):
                for inner in np.ndindex(data.shape[axis + 1 :]):
                    writes.append(((*outer, at[i], *inner), updates[outer + i + inner]))
    return scatter(data, writes, how)


# ------------------------------------------------------------------------------- 2.8 TensorScatter, 2.9 GatherTree


def tensor_scatter(
    past: np.ndarray, update: np.ndarray, write_indices: np.ndarray | None, axis: int, mode: str
) -> np.ndarray:
    require(past.ndim >= 2)
    axis = norm_axis(axis, past.ndim)
    require(axis != 0 and update.ndim == past.ndim)
    for d in range(past.ndim):
        require(d == axis or update.shape[d] == past.shape[d])
    m, s = past.shape[axis], update.shape[axis]
    require(s <= m)
    if write_indices is None:
        write_indices = np.zeros(past.shape[:1], np.int64)
    require(write_indices.shape == past.shape[:1])
    for n in range(past.shape[0]):
        if mode == "linear" and not 0 <= int(write_indices[n]) <= m - s:
            raise at_position(IndexError(int(write_indices[n])), (n,))
    update = as_objects(update)
    writes = []
    for p in np.ndindex(update.shape):
        position = int(write_indices[p[0]]) + p[axis]
        if mode == "circular":
            position %= m
        writes.append(((*p[:axis], position, *p[axis + 1 :]), update[p]))
    return scatter(past, writes, Reduce())


def gather_tree(
    step_ids: np.ndarray, parent_ids: np.ndarray, max_seq_len: np.ndarray, end_token: np.ndarray
) -> np.ndarray:
    require(step_ids.ndim == 3 and parent_ids.shape == step_ids.shape)
    t_max, batches, beams = step_ids.shape
    require(max_seq_len.shape == (batches,) and end_token.shape == ())
    out = np.empty(step_ids.shape, step_ids.dtype)
    for p in np.ndindex(out.shape):
        out[p] = end_token[()]
    for n in range(batches):
        for w in range(beams):
            length = min(t_max, int(max_seq_len[n]))
            if length <= 0:
                continue
            out[length - 1, n, w] = step_ids[length - 1, n, w]
            parent = int(parent_ids[length - 1, n, w])
            for t in range(length - 2, -1, -1):
                if not 0 <= parent < beams:
                    raise IndexError(parent)
                out[t, n, w] = step_ids[t, n, parent]
                parent = int(parent_ids[t, n, parent])
            ended = False
            for t in range(length):
                if ended:
                    out[t, n, w] = end_token[()]
                ended = ended or bool(out[t, n, w] == end_token[()])
    return out


# ----------------------------------------------------------------------------------------------------- 2.12 bags


def bags(data: np.ndarray, given: dict[str, Any], values: dict[str, Any], how: Reduce) -> np.ndarray:
    """Embedding bags, embedding segments and SegmentMax."""
    indices, offsets, ids = given.get("indices"), given.get("offsets"), given.get("segment_ids")
    weights, number, default = given.get("per_sample_weights"), given.get("num_segments"), given.get("default_index")
    require(data.ndim >= 1)
    if indices is not None:
        require(indices.ndim == (2 if offsets is None and ids is None else 1))
    require(offsets is None or offsets.ndim == 1)
    places = list(np.ndindex(data.shape[:1] if indices is None else indices.shape))
    require(ids is None or (ids.ndim == 1 and len(ids) == len(places)))
    require(weights is None or (indices is not None and weights.shape == indices.shape and how.reduction != "mean"))
    fallback = -1 if default is None else axis_input(default)
    if number is not None:
        number = axis_input(number)
        require(number >= 0)
    if offsets is not None:
        for b in range(len(offsets)):
            if not 0 <= int(offsets[b]) <= len(places):
                raise at_position(IndexError(int(offsets[b])), (b,))
        require(all(int(offsets[b]) <= int(offsets[b + 1]) for b in range(len(offsets) - 1)))
        ends = [*[int(each) for each in offsets[1:]], len(places)]
        members = [places[int(offsets[b]) : ends[b]] for b in range(len(offsets))]
    elif ids is not None:
        if number is None:
            number = max(int(each) for each in ids) + 1 if len(ids) else 0
        for m in range(len(ids)):
            if not 0 <= int(ids[m]) < number:
                raise at_position(IndexError(int(ids[m])), (m,))
        require(all(int(ids[m]) <= int(ids[m + 1]) for m in range(len(ids) - 1)))
        members = [[places[m] for m in range(len(ids)) if int(ids[m]) == b] for b in range(number)]
    else:
        members = [[(b, m) for m in range(indices.shape[1])] for b in range(indices.shape[0])]  # type: ignore[union-attr]
    s = data.shape[0]
    row_of = {p: p[0] for p in places}
    if indices is not None:
        row_of = resolve_all(indices, lambda p: s, "nonnegative")
    if fallback != -1:
        fallback_row = resolve(fallback, s, "nonnegative")
    name = element_type(data.dtype)
    out = np.empty((len(members), *data.shape[1:]), data.dtype)
    with np.errstate(all="ignore"):
        for b, *q in np.ndindex(out.shape):
            rows = [data[(row_of[p], *q)] for p in members[b]]
            if weights is not None:
                rows = [step("mul", row, weights[p], name) for row, p in zip(rows, members[b], strict=True)]
            if rows:
                out[(b, *q)] = fold(how.reduction, rows, data.dtype, how.accumulate)
            elif fallback != -1:
                out[(b, *q)] = data[(fallback_row, *q)]
            else:
                out[(b, *q)] = lowest(name, data.dtype) if values.get("fill_mode") == "LOWEST" else zero_of(data.dtype)
    return out


def lowest(name: str, dtype: np.dtype) -> Any:
    """The lowest number of a type. For floats, it is the lowest finite one (V30)."""
    if name in ("bool", *INTEGERS):
        unsigned = name == "bool" or name.startswith("u")
        return 0 if unsigned else -(1 << (8 * dtype.itemsize - 1))
    largest = {
        "float16": (2 - 2**-10) * 2.0**15,
        "bfloat16": (2 - 2**-7) * 2.0**127,
        "float32": (2 - 2**-23) * 2.0**127,
        "float64": (2 - 2**-52) * 2.0**1023,
    }
    return -largest[name]


# ---------------------------------------------------------------------------------------- one row of the table


def call(name: str, *inputs: Any, **attributes: Any) -> np.ndarray:
    """Return or raise the expected outcome of `gs.op(name)(*inputs, **attributes)`."""
    row = ROWS[name]
    family = {a for other in ROWS.values() if (other.domain, other.op_type) == (row.domain, row.op_type)
              for a in other.attributes}  # fmt: skip
    for attribute in attributes:
        if attribute not in family:
            raise TypeError(attribute)
    for attribute, default in row.attributes.items():
        if default is REQUIRED and attribute not in attributes:
            raise TypeError(attribute)
    given: dict[str, Any] = {
        key: None if x is None else np.asarray(x) for key, x in zip(row.inputs, inputs, strict=False)
    }
    check_types(row, given)
    for attribute, value in attributes.items():
        require(attribute in row.attributes)
        require(attribute not in row.choices or value in row.choices[attribute])
    values = {k: v for k, v in row.attributes.items() if v is not REQUIRED} | attributes
    reduction = values.get("reduction", row.fixed_reduction)
    reduction = GENERIC.get(reduction, reduction)
    check_reduction(reduction, element_type(given[row.inputs[0]].dtype), text=row.domain == "onnx")
    accumulate = "wide" if row.domain == "openvino" else "step"
    return dispatch(row, given, values, Reduce(reduction, values.get("use_init_val", True), accumulate))


def check_types(row: OracleRow, given: dict[str, Any]) -> None:
    names = {key: element_type(value.dtype) for key, value in given.items() if value is not None}
    main = names[row.inputs[0]]
    for key, name in names.items():
        if key in ("indices", "write_indices", "offsets", "segment_ids", "num_segments", "default_index"):
            allowed = name in row.index_types and name == names.get("indices", name)  # one T_IND
        elif key == "axis":
            allowed = name in IX
        else:
            allowed = name in row.types and name == main
        if not allowed:
            raise TypeError(f"{key}: {name}")


def check_reduction(reduction: str, name: str, text: bool = True) -> None:
    if not is_reducible(reduction, name) or (name == "string" and reduction != "none" and not text):
        raise TypeError(reduction)


def axis_input(axis: np.ndarray) -> int:
    require(axis.ndim <= 1 and axis.size == 1)  # a scalar or one element (V16, V29)
    return int(axis.reshape(())[()])


def dispatch(row: OracleRow, given: dict[str, Any], values: dict[str, Any], how: Reduce) -> np.ndarray:
    x = list(given.values())
    if row.kernel == "gather_reduce":
        return bags(x[0], given, values, how)
    if row.kernel == "gather_tree":
        return gather_tree(*x)
    axis = axis_input(given["axis"]) if "axis" in given else values.get("axis", 0)
    for key in ("updates", "update"):
        if key in given and is_bytes(given[key]) != is_bytes(x[0]):
            raise TypeError(key)
    if row.kernel == "tensor_scatter":
        return tensor_scatter(x[0], x[1], given.get("write_indices"), values["axis"], values["mode"])
    if row.kernel == "gather":
        return gather(x[0], x[1], axis, values.get("batch_dims", 0), row.rule)
    if row.kernel == "gather_elements":
        return gather_elements(x[0], x[1], axis, row.rule, equal=row.domain == "openvino")
    if row.kernel == "gather_nd":
        return gather_nd(x[0], x[1], values.get("batch_dims", 0), row.rule, fused=row.name == "openvino.GatherND-5")
    if row.kernel == "scatter_elements":
        limited = row.name == "openvino.ScatterElementsUpdate-3"
        return scatter_elements(x[0], x[1], x[2], axis, row.rule, how, axis_limited=limited)
    if row.kernel == "scatter_update":
        return scatter_update(x[0], x[1], x[2], axis, row.rule, how)
    return scatter_nd(x[0], x[1], x[2], row.rule, how, one_element=row.domain == "openvino")


# ---------------------------------------------------------------------------------------------- array functions

GATHER_MODES = ("raise", "wrap", "clip", "fill")
SCATTER_MODES = ("raise", "wrap", "clip", "drop")
REDUCTIONS = ("none", "add", "sub", "mul", "min", "max", "mean")


def array_call(kernel: str, *inputs: Any, axis: int = 0, batch_dims: int = 0, mode: str = "raise",
               reduction: str = "none", include_self: bool = True, accumulate: str = "step") -> np.ndarray:  # fmt: skip
    """Return or raise the expected outcome of `gs.<kernel>(*inputs, ...)`, for the functions with a mode."""
    require(include_self or reduction != "none")
    require(accumulate == "step" or reduction in (*SUMS, "mul"))
    data, indices, *rest = [np.asarray(x) for x in inputs]
    if indices.dtype.kind not in "iu":
        raise TypeError(indices.dtype)
    updates: Any = cast_updates(rest[0], data.dtype) if rest else None
    require(mode in (SCATTER_MODES if rest else GATHER_MODES) and reduction in REDUCTIONS)
    check_reduction(reduction, element_type(data.dtype))
    how = Reduce(reduction, include_self, accumulate)
    if kernel == "gather":
        return gather(data, indices, axis, batch_dims, mode)
    if kernel == "gather_elements":
        return gather_elements(data, indices, axis, mode, equal=False)
    if kernel == "gather_nd":
        return gather_nd(data, indices, batch_dims, mode)
    if kernel == "scatter_elements":
        return scatter_elements(data, indices, updates, axis, mode, how)
    if kernel == "scatter_update":
        return scatter_update(data, indices, updates, axis, mode, how)
    return scatter_nd(data, indices, updates, mode, how)


def gather_reduce(data: np.ndarray, rows: list[int], bag_of: list[int], bags: int, weights: list[Any] | None,
                  reduction: str, default: Any, accumulate: str, mode: str) -> np.ndarray:  # fmt: skip
    """Member m is row rows[m] of data times weights[m], and belongs to bag bag_of[m]. Each bag is folded separately."""
    name = element_type(data.dtype)
    out = np.empty((bags, *data.shape[1:]), data.dtype)
    sources = [resolve(row, data.shape[0], mode) for row in rows]
    with np.errstate(all="ignore"):
        for b, *p in np.ndindex(out.shape):
            members = [m for m in range(len(rows)) if bag_of[m] == b]
            found = [(m, sources[m]) for m in members]
            values = [zero_of(data.dtype) if row is None else data[(row, *p)] for m, row in found]
            if weights is not None:
                values = [step("mul", value, weights[m], name) for value, m in zip(values, members, strict=True)]
            out[(b, *p)] = fold(reduction, values, data.dtype, accumulate) if values else default
    return out


def cast_updates(updates: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert to data's type, element by element. TypeError if the type can lose digits, ValueError on overflow."""
    source, target = element_type(updates.dtype), element_type(dtype)
    if source == target and is_bytes(updates) == (dtype.kind == "S"):
        return updates
    numbers = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
    if source not in numbers or target not in numbers or (source in COMPLEX and target not in COMPLEX):
        raise TypeError(source)
    if target in INTEGERS:
        if source not in (*INTEGERS, "bool"):
            raise TypeError(source)
        for p in np.ndindex(updates.shape):
            require(wrap_to(int(updates[p]), target) == int(updates[p]))
    out = np.empty(updates.shape, dtype)
    with np.errstate(all="ignore"):
        for p in np.ndindex(updates.shape):
            out[p] = updates[p].astype(dtype)
    return out


# ----------------------------------------------------------------------------------------------------- judgement


def assert_same(result: Any, expected: np.ndarray, like: np.ndarray, zero_sign: bool = True) -> None:
    """Assert equal dtype (that of `like`), shape and bits. NaN equals NaN. `zero_sign=False`: -0.0 equals 0.0 (O27)."""
    assert isinstance(result, np.ndarray), type(result)
    assert result.shape == expected.shape, (result.shape, expected.shape)
    if like.dtype.kind in "OUST":
        assert result.dtype.kind == like.dtype.kind, (result.dtype, like.dtype)
        assert as_objects(result).tolist() == as_objects(expected).tolist()
        return
    assert result.dtype == like.dtype, (result.dtype, like.dtype)
    assert make_comparable_elements(result, zero_sign) == make_comparable_elements(expected, zero_sign), (
        f"\nresult\n{result}\nexpected\n{expected}"
    )


def make_comparable_elements(array: np.ndarray, zero_sign: bool) -> list[Any]:
    """Every element as a comparable value: bytes, or a word for NaN. A complex number gives two values."""
    native = array.astype(array.dtype.newbyteorder("="), order="C")
    if native.dtype.kind == "c":
        native = native.reshape(native.shape or (1,)).view(native.real.dtype)
    return [make_comparable_element(native[p], zero_sign) for p in np.ndindex(native.shape)]


def make_comparable_element(value: Any, zero_sign: bool) -> Any:
    if value != value:
        return "nan"
    return "zero" if not zero_sign and value == 0 else value.tobytes()
