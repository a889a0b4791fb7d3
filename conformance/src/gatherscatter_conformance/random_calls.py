"""The random calls of the tests. The decisions come from a source in `gatherscatter_conformance.random_source`.

Each element of an array is chosen by a byte from a short list of values (the pool) on which errors are likely. This is
fast. Hypothesis shrinks elements to the first value of the pool. NaN and -0.0 meet much more often than among random
floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from gatherscatter import oracle
from gatherscatter_conformance.random_source import Choices

# ------------------------------------------------------------------------------------------------------ dtypes

TEXT = ("object", "<U9", "S9", "StringDType")


def dtype_of(name: str) -> np.dtype:
    """The NumPy dtype for a spec name, or for one of the four ways in which NumPy holds text."""
    if name == "StringDType":
        return np.dtypes.StringDType()
    if name in TEXT:
        return np.dtype(name)
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def representations(element_types: tuple[str, ...]) -> list[str]:
    """Element types, with `string` replaced by its four NumPy forms: each takes a different way through the code."""
    return [form for name in element_types for form in (TEXT if name == "string" else (name,))]


# Integers: both ends (wrap-around), -1 and 100 (three of them overflow int8 in a careless mean), small numbers.
# Floats: NaN, infinities, both zeros, the smallest subnormal, values whose sums and products must be rounded
# (0.1, 1/3, 2048 and 256 where float16 and bfloat16 stop counting), and values that overflow when added.
FLOAT_POOL = (0.0, 1.0, -1.0, 2.5, 0.1, 1 / 3, 256.0, 2048.0, -3.0, 300.0, 1e-3)
SPECIALS = (math.nan, math.inf, -math.inf, -0.0)
# Text: empty, non-ASCII, beyond the inline size of StringDType; never a trailing NUL, which `S` cannot hold.
TEXT_POOL = ("", "a", "bc", "é", "日本", "zz9")
LONG_TEXT = "a text that is too long to be stored inline"


def pool(name: str) -> list[Any]:
    """The values drawn for one element type."""
    dtype = dtype_of(name)
    if name in ("object", "StringDType"):
        return [*TEXT_POOL, LONG_TEXT]
    if name == "<U9":
        return list(TEXT_POOL)
    if name == "S9":
        return [text.encode() for text in TEXT_POOL]
    if name == "bool":
        return [False, True]
    if name in oracle.INTEGERS:
        info = np.iinfo(dtype)
        small = [0, 1, 2, 3, 7, 100, 127]
        return [*small, info.max, info.min, info.max - 1, *([-1, -2, -5, -100] if info.min else [128, 200])]
    if name in oracle.COMPLEX:
        return [complex(a, b) for a in (0.0, 1.0, 0.1, -2.5, math.nan, math.inf, -0.0) for b in (0.0, 3.0, -1 / 3)]
    if name in oracle.FLOATS:
        limits = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
        edge = [float(limits.max), float(limits.smallest_subnormal), -float(limits.max)]
        return [*FLOAT_POOL, *SPECIALS, *edge]
    if name in ("int4", "uint4"):
        return [0, 1, 7, *([-8, -1] if name == "int4" else [8, 15])]
    return [0.5, 1.0, 2.0, 4.0]  # 8-bit and 4-bit floats: values that every one of them can hold


def fill_from_bytes(name: str, shape: tuple[int, ...], raw: bytes) -> np.ndarray:
    """An array whose elements the bytes choose from the pool."""
    values = pool(name)
    flat = np.empty(len(raw), dtype_of(name))
    with np.errstate(all="ignore"):
        for n, byte in enumerate(raw):
            flat[n] = values[byte % len(values)]
    return flat.reshape(shape)


def draw_array(c: Choices, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Large arrays repeat what a few bytes choose, so that bytes are left for the rest of a call."""
    size = math.prod(shape)
    raw = c.raw(size if size <= 60 else 23)
    return fill_from_bytes(name, shape, (raw * (size // 23 + 1))[:size] if size > 60 else raw)


# ------------------------------------------------------------------------------------------------------ layouts

LAYOUTS = ("C", "F", "steps", "reversed", "zero stride", "swapped", "read-only", "unaligned")


def change_layout(array: np.ndarray, layout: str) -> np.ndarray:
    """The same values in another memory layout. `zero stride` repeats the first entry of the longest axis."""
    if layout == "read-only":
        array.flags.writeable = False
        return array
    if layout == "swapped" and array.dtype.kind in "iufcU" and array.dtype.name not in ("float8_e5m2",):
        return array.astype(array.dtype.newbyteorder("S"))
    if not array.ndim:
        return array
    if layout == "F":
        return np.asfortranarray(array)
    axis = int(np.argmax(array.shape))
    if layout == "zero stride":
        first = array[(slice(None),) * axis + (slice(0, 1),)]
        return np.broadcast_to(first, array.shape) if first.shape[axis] else array
    if layout == "steps":  # every second element of something larger
        wide = np.repeat(array, 2, axis=axis)
        return wide[(slice(None),) * axis + (slice(None, None, 2),)]
    if layout == "reversed":
        turned = np.ascontiguousarray(np.flip(array, axis)).reshape(array.shape)
        return np.flip(turned, axis)
    if layout == "unaligned" and array.dtype.kind in "iufcbV" and array.dtype.itemsize > 1:
        buffer = np.empty(array.nbytes + 1, np.uint8)
        moved = np.ndarray(array.shape, array.dtype, buffer=buffer.data, offset=1)
        moved[...] = array
        return moved
    return array


def draw_layout(c: Choices) -> str:
    """Draw a layout. Most are plain, because test_layouts.py tests each of the others by name."""
    return str(c.pick(("C",) * 4 + LAYOUTS))


# ------------------------------------------------------------------------------------------- shapes and indices

# Errors in strides and broadcasting are most likely at the sizes 1 and 0. test_rulings.py has an axis of 200 elements
# with int8 indices.
DIMENSIONS = (2, 3, 1, 4, 2, 3, 4, 1, 2, 3, 2, 3, 0)


def draw_shape(c: Choices, low: int, high: int) -> tuple[int, ...]:
    """At most 48 elements: the oracle is slow, and small cases find the same bugs."""
    shape: tuple[int, ...] = ()
    for _ in range(c.integer(low, high)):
        n = c.pick(DIMENSIONS)
        shape += (n if math.prod(shape) * n <= 48 else 1,)
    return shape


def index_array(
    c: Choices, shape: tuple[int, ...], size_at: Callable[[Any], int], name: str, signed: bool, bad: bool
) -> np.ndarray:
    """Valid values with many duplicates (axes are short) and, where allowed, negatives; with `bad`, one wrong value."""
    info = np.iinfo(name)
    flat = []
    raw = c.raw(math.prod(shape))
    for byte, p in zip(raw, np.ndindex(shape), strict=True):
        s = size_at(p)
        low = -s if signed and info.min else 0
        flat.append(low + (byte - low) % (s - low) if s else 0)
    if bad and flat:
        n = c.integer(0, len(flat) - 1)
        s = size_at(list(np.ndindex(shape))[n])
        # just outside on either side, clearly outside, and the ends of the index type (never add s in that type)
        candidates = (s, -s - 1, -1, s + 5, -3 * s - 2, info.max, info.min)
        flat[n] = c.pick([value for value in candidates if info.min <= value <= info.max])
    return np.array(flat, name).reshape(shape)


# Sizes of one axis, and numbers of indices into it. They fill several blocks, spans, parcels and groups if the core is
# built with small thresholds (cpp/core/sizes.hpp). The other axes are short.
LONG_AXES = (20, 9, 40, 64)
MANY_INDICES = (40, 33, 64, 97)
ORDERS = ("any", "ascending", "descending", "runs", "apart", "nearly ascending")


def draw_long_shape(c: Choices) -> tuple[tuple[int, ...], int]:
    """Draw a shape with one long axis. Return the shape and this axis."""
    n = 1
    before: list[int] = []
    after: list[int] = []
    for dims, most in ((before, 2), (after, 2)):
        for _ in range(c.pick((0, 1, 0, most))):
            dims.append(c.pick((1, 2, 3)) if n <= 2 else 1)
            n *= dims[-1]
    return (*before, c.pick(LONG_AXES), *after), len(before)


def draw_many_numbers(c: Choices, count: int, size: int) -> np.ndarray:
    """Numbers below `size`, in some order."""
    rng = np.random.default_rng(c.integer(0, 65535))
    numbers, order = rng.integers(0, size, count), c.pick(ORDERS)
    if order == "apart":  # as few duplicates as there can be
        return rng.permutation(np.arange(count) % size)
    if order == "runs":
        return np.repeat(numbers, rng.integers(1, 30, count))[:count]
    if order != "any":
        numbers.sort()
    if order == "nearly ascending":
        numbers[c.integer(0, count - 1)] = rng.integers(0, size)
    return numbers[::-1].copy() if order == "descending" else numbers


def draw_many_tuples(c: Choices, t: Traits, bad: bool, leading: tuple[int, ...], dims: tuple[int, ...]) -> np.ndarray:
    """Index tuples into `dims`, some of them negative and with `bad` one wrong."""
    numbers = draw_many_numbers(c, math.prod(leading), math.prod(dims))
    tuples = np.stack(np.unravel_index(numbers, dims), -1)
    info = np.iinfo(t.index)
    if t.signed and info.min and c.pick((False, True)):
        tuples[::3] -= dims
    if bad:
        column = c.integer(0, len(dims) - 1)
        candidates = (dims[column], -dims[column] - 1, info.max)
        wrong = c.pick([value for value in candidates if info.min <= value <= info.max])
        tuples = tuples.astype(object)
        tuples[c.integer(0, len(tuples) - 1), column] = wrong
    return tuples.astype(t.index).reshape(*leading, len(dims))


# ------------------------------------------------------------------------------------------------ calls of kernels


class RandomCall(NamedTuple):
    """Inputs in spec order, and what is passed by keyword. An omitted optional input is None."""

    inputs: list[Any]
    attributes: dict[str, Any]


class Traits(NamedTuple):
    """The arguments that a call may have: a row of the table, or an array function."""

    kernel: str
    element: str
    index: str  # type: ignore[assignment]  # a tuple has a method of that name
    signed: bool = True
    equal: bool = False  # GatherElements-6: equal sizes off the axis
    batches: bool = True
    axis_limited: bool = False  # ScatterElementsUpdate-3
    mode: str = "linear"  # of TensorScatter. If it is "circular", every write index is legal
    many: bool = False  # a long axis and many indices
    plain: bool = False  # only legal indices in C-contiguous arrays
    inputs: tuple[str, ...] = ()  # the inputs of an operator that reduces bags


def kernel_call(c: Choices, traits: Traits) -> RandomCall:
    """A call with legal shapes; one index is bad in about one call of six (also negative values where refused)."""
    bad = not traits.plain and c.pick((False,) * 5 + (True,))
    made: RandomCall = globals()[f"_{traits.kernel}"](c, traits, bad)
    if traits.plain:
        return made
    inputs = [None if array is None else change_layout(array, draw_layout(c)) for array in made.inputs]
    return RandomCall(inputs, made.attributes)


def _some_axis(c: Choices, r: int, low: int = 0) -> int:
    return c.integer(low, r - 1) - int(c.pick((0, r)))


def _gather(c: Choices, t: Traits, bad: bool) -> RandomCall:
    if t.many:
        shape, axis = draw_long_shape(c)
        b = c.integer(0, axis) if t.batches else 0
        indices = draw_many_tuples(c, t, bad, (*shape[:b], c.pick(MANY_INDICES)), shape[axis : axis + 1])[..., 0]
        return RandomCall(
            [draw_array(c, t.element, shape), indices], {"axis": axis, **({"batch_dims": b} if b else {})}
        )
    shape = draw_shape(c, 1, 4)
    axis = _some_axis(c, len(shape))
    b = c.integer(0, axis % len(shape)) if t.batches else 0
    index_shape = shape[:b] + draw_shape(c, 0, 2)
    indices = index_array(c, index_shape, lambda p: shape[axis], t.index, t.signed, bad)
    if t.batches and len(index_shape) and c.pick((False, True)):
        b -= len(index_shape)  # V2: counted from the end of indices
    attributes = {"axis": axis, **({"batch_dims": b} if t.batches else {})}
    return RandomCall([draw_array(c, t.element, shape), indices], attributes)


def _box(c: Choices, shape: tuple[int, ...], axis: int, t: Traits) -> tuple[int, ...]:
    box = [n if t.equal else c.integer(min(n, 1), n) for n in shape]
    box[axis] = c.integer(0, shape[axis]) if t.axis_limited else c.pick((2, 3, 1, 5, 4, 2, 0))
    return tuple(box)


def _many_elements(c: Choices, t: Traits, bad: bool) -> RandomCall:
    """Draw a box of indices with one long dimension: the axis, or the dimension before it.

    All indices of a slice may be equal.
    """
    shape, axis = draw_long_shape(c)
    next_to_axis = len(shape) > 1 and c.pick((False, True))
    box = [c.integer(1, n) if c.pick((False, False, True)) else n for n in shape]
    axis = (axis + 1) % len(shape) if next_to_axis else axis
    box[axis] = c.pick((2, 3, 5)) if next_to_axis else c.pick(MANY_INDICES)
    if c.pick((False, False, True)):
        line = draw_many_tuples(c, t, bad, (box[axis],), (shape[axis],))
        indices = np.ascontiguousarray(np.broadcast_to(line.reshape(-1, *[1] * (len(shape) - axis - 1)), box))
    else:
        indices = draw_many_tuples(c, t, bad, tuple(box), (shape[axis],))[..., 0]
    return RandomCall([draw_array(c, t.element, shape), indices], {"axis": axis})


def _gather_elements(c: Choices, t: Traits, bad: bool) -> RandomCall:
    if t.many:
        return _many_elements(c, t, bad)
    shape = draw_shape(c, 1, 4)
    axis = _some_axis(c, len(shape))
    box = _box(c, shape, axis % len(shape), t)
    indices = index_array(c, box, lambda p: shape[axis], t.index, t.signed, bad)
    return RandomCall([draw_array(c, t.element, shape), indices], {"axis": axis})


def _scatter_elements(c: Choices, t: Traits, bad: bool) -> RandomCall:
    (data, indices), attributes = _gather_elements(c, t, bad)
    return RandomCall([data, indices, draw_array(c, t.element, indices.shape)], attributes)


def _tuples(c: Choices, t: Traits, bad: bool, shape: tuple[int, ...], b: int) -> np.ndarray:
    """An index tensor for the ND operators, k = 0 and no tuples at all included."""
    if t.many:
        longest = shape.index(max(shape))
        last = c.integer(longest, len(shape) - 1) + 1
        return draw_many_tuples(c, t, bad, (*shape[:b], c.pick(MANY_INDICES)), shape[b:last])
    k = c.integer(0, len(shape) - b)
    leading = shape[:b] + draw_shape(c, 0, 2)
    return index_array(c, (*leading, k), lambda p: shape[b + p[-1]], t.index, t.signed, bad)


def _gather_nd(c: Choices, t: Traits, bad: bool) -> RandomCall:
    shape, last = draw_long_shape(c) if t.many else (draw_shape(c, 1, 4), -1)
    b = c.integer(0, last if t.many else len(shape) - 1) if t.batches else 0
    indices = _tuples(c, t, bad, shape, b)
    return RandomCall([draw_array(c, t.element, shape), indices], {"batch_dims": b} if t.batches else {})


def _scatter_nd(c: Choices, t: Traits, bad: bool) -> RandomCall:
    shape = draw_long_shape(c)[0] if t.many else draw_shape(c, 1, 4)
    indices = _tuples(c, t, bad, shape, 0)
    updates = draw_array(c, t.element, indices.shape[:-1] + shape[indices.shape[-1] :])
    return RandomCall([draw_array(c, t.element, shape), indices, updates], {})


def _scatter_update(c: Choices, t: Traits, bad: bool) -> RandomCall:
    (data, indices), attributes = _gather(c, t._replace(batches=False), bad)
    axis = attributes["axis"] % data.ndim
    updates = draw_array(c, t.element, data.shape[:axis] + indices.shape + data.shape[axis + 1 :])
    return RandomCall([data, indices, updates], attributes)


def _tensor_scatter(c: Choices, t: Traits, bad: bool) -> RandomCall:
    shape = draw_shape(c, 2, 4)
    axis = c.integer(1, len(shape) - 1)
    s = c.integer(0, shape[axis])
    update = draw_array(c, t.element, (*shape[:axis], s, *shape[axis + 1 :]))
    inputs = [draw_array(c, t.element, shape), update]
    if c.pick((False, True)):
        starts = shape[axis] - s + 1 if t.mode == "linear" else 9
        inputs.append(index_array(c, shape[:1], lambda p: starts, t.index, t.mode == "circular", bad))
    return RandomCall(inputs, {"axis": axis - c.pick((0, len(shape)))})


def _gather_tree(c: Choices, t: Traits, bad: bool) -> RandomCall:
    """Parents are valid or one off; lengths go from below zero to above T; the end token is among the steps."""
    shape = (c.pick(DIMENSIONS), c.pick(DIMENSIONS), c.pick(DIMENSIONS))
    name, size = t.element, math.prod(shape)
    low, high = (0, 1) if name == "bool" else (0, 3)

    def numbers(shape: tuple[int, ...], low: int, high: int) -> np.ndarray:
        count = math.prod(shape)
        raw = c.raw(count)
        return np.array([low + byte % (high - low + 1) for byte in raw], float).astype(dtype_of(name)).reshape(shape)

    top = max(shape[2] - 1, 0) + bad
    bottom = -1 if bad and name in ("int8", "int16", "int32", "int64", *oracle.FLOATS) and size else 0
    parents = numbers(shape, bottom, min(top, 1) if name == "bool" else top)
    lengths = numbers(shape[1:2], bottom, 1 if name == "bool" else 5)
    return RandomCall([numbers(shape, low, high), parents, lengths, numbers((), low, high)], {})


def _gather_reduce(c: Choices, t: Traits, bad: bool) -> RandomCall:
    """Draw the members and bags of an operator, in the form of its inputs. With `bad`, one input has a bad value."""
    shape, names = draw_shape(c, 1, 3), t.inputs[1:]
    data, rows = draw_array(c, t.element, shape), shape[0]
    given: dict[str, Any] = {}
    faulty = c.pick([name for name in names if name != "per_sample_weights"]) if bad else ""

    def draw(name: str, shape: tuple[int, ...], size: int) -> np.ndarray:
        return index_array(c, shape, lambda p: size, t.index, t.signed, name == faulty)

    members: tuple[int, ...] = (rows,)
    if "indices" in names:
        packed = "offsets" not in names and "segment_ids" not in names
        members = (c.pick((3, 2, 5, 1, 4, 0)), *((c.pick((2, 3, 1, 0)),) if packed else ()))
        given["indices"] = draw("indices", members if rows else (0, *members[1:]), rows)
        members = given["indices"].shape
    if "offsets" in names:
        given["offsets"] = np.sort(draw("offsets", (c.integer(0, 4),), members[0] + 1))
    if "segment_ids" in names:
        bags = c.integer(1, 4)
        given["segment_ids"] = np.sort(draw("segment_ids", members, bags))
        given["num_segments"] = np.array(-1 if faulty == "num_segments" else bags, t.index).reshape(c.pick(((), (1,))))
        if "indices" not in names and faulty != "segment_ids" and c.pick((False, True)):
            given["num_segments"] = None
    if "default_index" in names and rows and c.pick((False, True)):
        given["default_index"] = draw("default_index", (), rows) if c.pick((True, False)) else np.array(-1, t.index)
    if "per_sample_weights" in names and c.pick((False, True)):
        given["per_sample_weights"] = draw_array(c, t.element, members)
    return RandomCall([data, *(given.get(name) for name in names)], {})


def bags_call(c: Choices, many: bool = False) -> RandomCall:
    """A call of `gather_reduce` whose bags are legal; one index may be bad."""
    shape, _ = draw_long_shape(c) if many else (draw_shape(c, 1, 3), 0)
    element, index, form = c.pick(REDUCED), c.pick(oracle.INTEGERS), c.pick(("rows", "offsets", "segment_ids"))
    data, rows = draw_array(c, element, shape), shape[0]
    count = c.pick(MANY_INDICES) if many else c.pick((3, 2, 5, 1, 4, 0))
    bags = c.pick((1, 3, 40)) if many else c.integer(1, 4)
    members = (bags, c.pick((2, 9, 1) if many else (2, 3, 0))) if form == "rows" else (count,)
    bad, leading = c.pick((False,) * 5 + (True,)), members if rows else (0, *members[1:])
    traits = Traits("gather_reduce", element, index)
    if many:
        indices = draw_many_tuples(c, traits, bad and math.prod(leading) > 0, leading, shape[:1])[..., 0]
    else:
        indices = index_array(c, leading, lambda p: rows, index, True, bad)
    keywords: dict[str, Any] = {"reduction": c.pick(("add", "mul", "min", "max", "mean"))}
    count = indices.shape[0]
    if form == "offsets":
        offsets = np.sort(index_array(c, (bags,), lambda p: count + 1, index, False, False))
        keywords["offsets"] = np.concatenate([offsets[:1] * 0, offsets[1:]])
    if form == "segment_ids":
        ids = index_array(c, (count,), lambda p: bags, index, False, False)
        keywords |= {"segment_ids": np.sort(ids) if c.pick((False, True)) else ids, "num_segments": bags}
    if c.pick((False, True)):
        keywords["weights"] = draw_array(c, element, indices.shape)
    if c.pick((False, True)):
        keywords["default"] = draw_array(c, element, ())
    keywords |= {"mode": c.pick(oracle.GATHER_MODES), "negative": c.pick(oracle.NEGATIVE)}
    if keywords["reduction"] in oracle.SUMS and element in oracle.FLOATS:
        keywords["accumulate"] = c.pick(("step", "exact", *(["wide"] if element in oracle.HALVES else [])))
    inputs = [change_layout(array, draw_layout(c)) for array in (data, indices)]
    return RandomCall(inputs, keywords)


def _gather_quantized(c: Choices, t: Traits, bad: bool) -> RandomCall:
    """A table whose scales have one of three types, and perhaps zero points."""
    is_bytes, floats = t.element == "uint8", t.element.startswith("float")
    shape = list(draw_shape(c, 2 if is_bytes else 1, 3))
    axis, along = (0, c.integer(1, len(shape) - 1)) if is_bytes else (c.integer(0, len(shape) - 1) for _ in range(2))
    shape[along] = c.pick((2, 1, 5, 9, 16, 17, 34, 0))
    bits = c.pick((2, 4, 8)) if is_bytes else 4
    per_byte = 8 // bits if is_bytes else 1
    block_size = c.pick((16, 32, *([0] if floats else [])))
    blocks = [*shape[:-1], shape[-1] * per_byte]
    blocks[along] = -(-blocks[along] // (block_size or max(blocks[along], 1)))
    if floats:
        blocks = [1 if d != along and c.pick((False, False, True)) else n for d, n in enumerate(blocks)]
    codes = c.raw(math.prod(shape)) if is_bytes else b""
    data = np.frombuffer(codes, np.uint8).reshape(shape) if is_bytes else draw_array(c, t.element, tuple(shape))
    indices = index_array(c, draw_shape(c, 0, 2), lambda p: shape[axis], t.index, True, bad)
    scales = draw_array(c, c.pick(("float32", "float16", "bfloat16")), tuple(blocks))
    inputs: list[np.ndarray | None] = [data, indices, scales]
    has_zeros = not floats and c.pick((False, True))
    inputs.append(draw_array(c, t.element, (*blocks[:-1], -(-blocks[-1] // per_byte))) if has_zeros else None)
    axes = {"gather_axis": axis - int(c.pick((0, len(shape)))), "quantize_axis": along - int(c.pick((0, len(shape))))}
    return RandomCall(inputs, {**axes, "block_size": block_size, "bits": bits})


# --------------------------------------------------------------------------------------- calls of the op versions

# Element types that GatherTree is drawn with: the smallest storage types cannot hold a count.
TREE_TYPES = ("bool", *oracle.INTEGERS, *oracle.FLOATS)


def version_call(c: Choices, row: oracle.OracleRow) -> RandomCall:
    """A call of one op version: mostly legal, sometimes with one or two faults, so that their order is tested too."""
    types = TREE_TYPES if row.kernel == "gather_tree" else row.types
    element = c.pick(representations(types))
    mode = c.pick(row.choices["mode"]) if "mode" in row.choices else "linear"
    traits = Traits(
        kernel=row.kernel, element=element, index=c.pick(row.index_types or ("int64",)),
        signed=row.rule == "negative", equal=row.name == "openvino.GatherElements-6",
        batches="batch_dims" in row.attributes, axis_limited=row.name == "openvino.ScatterElementsUpdate-3", mode=mode,
        inputs=row.inputs,
    )  # fmt: skip
    inputs, attributes = kernel_call(c, traits)
    attributes.update({"mode": mode} if "mode" in row.choices else {})
    if "fill_mode" in row.choices:
        attributes["fill_mode"] = c.pick(row.choices["fill_mode"])
    if "reduction" in row.choices:
        attributes["reduction"] = c.pick(row.reductions)
    if "use_init_val" in row.attributes:
        attributes["use_init_val"] = c.pick((False, True))
    if "axis" in row.inputs:
        axis = c.pick(("int64", "int32", "int8"))
        inputs.append(np.array(attributes.pop("axis"), axis).reshape(c.pick(((), (1,)))))
    for _ in range(c.pick((0,) * 6 + (1, 1, 2))):
        inputs, attributes = c.pick(FAULTS)(c, row, inputs, attributes)
    return RandomCall(inputs, attributes)


def _wrong_type(c: Choices, row: oracle.OracleRow, inputs: list[np.ndarray], attributes: dict[str, Any]) -> RandomCall:
    """One input of a type that the version may not allow, or that differs from the data."""
    n = c.pick([n for n, array in enumerate(inputs) if array is not None])
    shape, size = inputs[n].shape, inputs[n].size
    other = c.pick(("bool", "uint8", "int32", "uint64", "bfloat16", "float32", "complex64", "object"))
    changed = fill_from_bytes(other, shape, bytes(size))
    return RandomCall([*inputs[:n], changed, *inputs[n + 1 :]], attributes)


def _wrong_shape(c: Choices, row: oracle.OracleRow, inputs: list[np.ndarray], attributes: dict[str, Any]) -> RandomCall:
    """One input longer by one entry, with one more axis, or without its first axis."""
    n = c.pick([n for n, array in enumerate(inputs) if array is not None])
    array = inputs[n]
    kind = c.pick(("longer", "deeper", "flatter"))
    if kind == "deeper" or not array.size or not array.ndim:
        changed = array.reshape((1, *array.shape))
    elif kind == "flatter":
        changed = np.asarray(array[0], array.dtype)
    else:
        axis = c.integer(0, array.ndim - 1)
        changed = np.concatenate([array, array[(slice(None),) * axis + (slice(0, 1),)]], axis=axis)
    return RandomCall([*inputs[:n], changed, *inputs[n + 1 :]], attributes)


def _wrong_attribute(
    c: Choices, row: oracle.OracleRow, inputs: list[np.ndarray], attributes: dict[str, Any]
) -> RandomCall:
    """Add an unknown attribute, one of another version, a value that is not allowed, or a bad axis or batch_dims."""
    quantized = ("bits", "block_size", "gather_axis", "quantize_axis") if row.kernel == "gather_quantized" else ()
    key = c.pick((*quantized, "nonsense", "reduction", "batch_dims", "axis", "use_init_val", "mode"))
    values = {"nonsense": (1,), "reduction": ("add", "sum", "max", "mean", "ADD", "none"), "batch_dims": (0, 1, 4, -9),
              "axis": (4, -5, 0), "use_init_val": (False,), "mode": ("ring", "linear"), "bits": (2, 4, 8, 3),
              "block_size": (0, 16, 8, 24, -16), "gather_axis": (0, 1, 9), "quantize_axis": (0, 1, -9)}  # fmt: skip
    return RandomCall(inputs, {**attributes, key: c.pick(values[key])})


def _wrong_order(c: Choices, row: oracle.OracleRow, inputs: list[np.ndarray], attributes: dict[str, Any]) -> RandomCall:
    """Reverse the offsets or segment ids. Calls of operators without them do not change."""
    ordered = ("offsets", "segment_ids")
    turned = [array[::-1] if name in ordered and array.ndim else array
              for name, array in zip(row.inputs, inputs, strict=False)]  # fmt: skip
    return RandomCall(turned, attributes)


FAULTS = (_wrong_type, _wrong_shape, _wrong_attribute, _wrong_order)

# --------------------------------------------------------------------------------------- calls of the array functions

ARRAY_KERNELS = ("gather", "gather_elements", "gather_nd", "scatter_update", "scatter_elements", "scatter_nd")


EVERY_FORM = tuple(representations((*oracle.T16, "int4", "float8_e4m3fn")))
REDUCED = ("bool", *oracle.INTEGERS, *oracle.FLOATS, *oracle.COMPLEX)
FIXED = tuple(name for name in EVERY_FORM if name not in TEXT)  # elements that an array holds itself


def array_call(c: Choices, kernel: str, elements: tuple[str, ...] = EVERY_FORM, many: bool = False) -> RandomCall:
    """A call of an array function: any integer index type, every mode, reduction, include_self and accumulate."""
    element = c.pick(elements)
    inputs, keywords = kernel_call(c, Traits(kernel, element, c.pick(oracle.INTEGERS), many=many))
    scatter = kernel in ARRAY_KERNELS[3:]
    keywords["mode"] = c.pick(oracle.SCATTER_MODES if scatter else oracle.GATHER_MODES)
    keywords["negative"] = c.pick(oracle.NEGATIVE)
    if scatter:
        keywords["reduction"] = c.pick(oracle.REDUCTIONS)
        keywords["include_self"] = c.pick((False, True))
        if keywords["reduction"] in oracle.SUMS and element in oracle.FLOATS:
            keywords["accumulate"] = c.pick(("step", "exact", *(["wide"] if element in oracle.HALVES else [])))
    return RandomCall(inputs, keywords)
