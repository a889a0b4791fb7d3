"""GatherBlockQuantized: every type, packing, axis and rule of block-quantized tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gatherscatter.oracle import INTEGERS, ROWS
from gatherscatter_conformance.themes.draft import CaseDraft, DraftedCall
from gatherscatter_conformance.themes.values import array

ROW = ROWS["com.microsoft.GatherBlockQuantized-1"]
SCALES = ("float32", "float16", "bfloat16")
FLOATS = tuple(name for name in ROW.types if name.startswith("float"))
NIBBLES = ("int4", "uint4")
FAR = (3, -4, 100, -100, 1 << 31, (1 << 32) + 1, -(1 << 32), (1 << 63) - 1, -(1 << 63))


def drafts() -> Iterator[CaseDraft]:
    """Cases for each type, and then for each rule."""
    for name in ROW.types:
        for scale in SCALES:
            yield from _plain(name, scale)
        yield from _indices(name)
        yield from _shapes(name)
    yield from _bytes()
    yield from _axes()
    yield from _blocks()
    yield from _values()
    yield from _index_types()
    yield from _attributes()
    yield from _types()


def codes(name: str, shape: Sequence[int], step: int = 37) -> np.ndarray:
    """Different codes of a type."""
    raw = (np.arange(math.prod(shape)) * step + 11) % 251
    if name == "uint8":
        return raw.astype(np.uint8).reshape(shape)
    if name in NIBBLES:
        return array(name, raw % 16 - (8 if name == "int4" else 0)).reshape(shape)
    bits = raw % 16 if name == "float4_e2m1fn" else raw % 120  # none is NaN
    return bits.astype(np.uint8).view(array(name, 0).dtype).reshape(shape)


def scales(shape: Sequence[int], name: str = "float32") -> np.ndarray:
    """Different scales, some of them negative."""
    values = [(n % 7 + 1) / 8 * (-1) ** (n % 3) for n in range(math.prod(shape))]
    return array(name, values).reshape(shape)


def table(
    name: str, shape: Sequence[int], indices: Any, *, block: int = 16, scale: str = "float32", zeros: bool = False,
    bits: int = 4, **attributes: int,
) -> DraftedCall:  # fmt: skip
    """A call with a table whose last axis is quantized, unless ``quantize_axis`` says otherwise."""
    along = attributes.get("quantize_axis", len(shape) - 1) % len(shape)
    per_byte = 8 // bits if name == "uint8" else 1
    blocks = [*shape[:-1], shape[-1] * per_byte]
    blocks[along] = -(-blocks[along] // block) if block else min(blocks[along], 1)
    inputs = [codes(name, shape), np.array(indices, np.int64), scales(blocks, scale)]
    if zeros:
        inputs.append(codes(name, (*blocks[:-1], -(-blocks[-1] // per_byte)), 91))
    made = {"quantize_axis": along, "block_size": block, **attributes}
    return DraftedCall([*inputs], made | ({"bits": bits} if bits != 4 else {}))


def _draft(kind: str, name: str, call: DraftedCall, *rules: str, stated: Any = None) -> CaseDraft:
    inputs = [*call.inputs, *[None] * (len(ROW.inputs) - len(call.inputs))]
    return CaseDraft(ROW.name, kind, name, call._replace(inputs=inputs), ("2.13", *rules), stated=stated)


def _plain(name: str, scale: str) -> Iterator[CaseDraft]:
    shape = (3, 20) if name == "uint8" else (3, 40)
    yield _draft("plain", f"rows with scales of {scale}", table(name, shape, [2, 0], scale=scale), "M5", "types")
    if name not in FLOATS:
        made = table(name, shape, [1, 2], scale=scale, zeros=True)
        yield _draft("plain", f"zero points and scales of {scale}", made, "M3", "M5", "types")


def _indices(name: str) -> Iterator[CaseDraft]:
    shape = (3, 16)
    yield _draft("negative", "from the end", table(name, shape, [-1, 0, -3]), "M7")
    for index in FAR:
        label = str(index).replace("-", "m")
        yield _draft("out of range", f"index {label}", table(name, shape, [1, index]), "M7")
    yield _draft("out of range", "several", table(name, shape, [[3, 0], [2, -4]], zeros=name not in FLOATS), "M7")


def _shapes(name: str) -> Iterator[CaseDraft]:
    yield _draft("scalar", "scalar index", table(name, (3, 16), 1))
    yield _draft("plain", "indices of rank 2", table(name, (3, 16), [[0, 2], [1, 1]]))
    yield _draft("slices", "data of rank 3", table(name, (3, 2, 16), [2, 0]))
    yield _draft("long axis", "70 rows", table(name, (70, 16), [69, -70, 64]))
    yield _draft("empty", "no indices", table(name, (3, 16), np.zeros((0, 2))), "2.11")
    yield _draft("empty", "no rows", table(name, (0, 16), [0, -1]), "2.11", "M7")
    yield _draft("empty", "no columns", table(name, (3, 0), [2, 0]), "2.11")
    changes: tuple[tuple[str, Callable[[Any], list[Any]]], ...] = (
        ("scales of rank 1", lambda x: [x[0], x[1], x[2][0]]),
        ("one block too many", lambda x: [x[0], x[1], np.repeat(x[2], 2, axis=1)]),
        ("too few rows of scales", lambda x: [x[0], x[1], x[2][:2]]),
    )
    for label, change in changes:
        call = table(name, (3, 16), [0])
        yield _draft("shape", label, call._replace(inputs=change(call.inputs)), "M4")
    shared = table(name, (3, 16), [2, 0])
    inputs = [*shared.inputs[:2], shared.inputs[2][:1]]  # type: ignore[index]
    yield _draft("shape", "one scale for all rows", shared._replace(inputs=inputs), "M6")


def _bytes() -> Iterator[CaseDraft]:
    """Codes in bytes."""
    for bits in (2, 4, 8):
        for block in (16, 32):
            made = table("uint8", (3, 20), [2, 0, 1], block=block, bits=bits)
            yield _draft("plain", f"{bits} bits and blocks of {block}", made, "M2", "M3")
            made = table("uint8", (3, 20), [2, 0, 1], block=block, bits=bits, zeros=True)
            yield _draft("plain", f"{bits} bits and zero points and blocks of {block}", made, "M2")
        yield _draft("slices", f"{bits} bits of rank 3", table("uint8", (2, 3, 9), [1], bits=bits, zeros=True), "M2")
        middle = table("uint8", (2, 17, 4), [1, 0], bits=bits, zeros=True, quantize_axis=1)
        yield _draft("plain", f"{bits} bits and the middle axis quantized", middle, "M1", "M2")
        first = table("uint8", (17, 4), [1, 0], bits=bits, quantize_axis=0)
        yield _draft("axis", f"{bits} bits and the first axis quantized", first, "M1")
        last = table("uint8", (3, 4), [1, 0], bits=bits, gather_axis=1)
        yield _draft("axis", f"{bits} bits and the last axis gathered", last, "M1")
    nibbles = np.array([[0x98, 0xBA] * 4], np.uint8)
    ones = np.ones((1, 1), np.float32)
    call = DraftedCall([nibbles, np.array([0]), ones], {"block_size": 16})
    yield _draft("example", "low bits first", call, "M2", "M3", stated=[[0.0, 1.0, 2.0, 3.0] * 4])
    pairs = np.array([[0b11100100] * 4], np.uint8)
    call = DraftedCall([pairs, np.array([0]), ones], {"block_size": 16, "bits": 2})
    yield _draft("example", "low bits first of 2 bits", call, "M2", "M3", stated=[[-2.0, -1.0, 0.0, 1.0] * 4])


def _axes() -> Iterator[CaseDraft]:
    for name in (*NIBBLES, "float8_e4m3fn", "float4_e2m1fn"):
        for gather in (0, 1, 2, -1):
            for along in (0, 1, 2, -2):
                shape = [2, 3, 2]
                shape[along] = 18
                made = table(name, shape, [1, 0], gather_axis=gather, quantize_axis=along, zeros=name in NIBBLES)
                made.attributes["quantize_axis"] = along
                label = f"axes {gather} and {along}".replace("-", "m")
                yield _draft("axis", label, made, "axis", "M3")
        yield _draft("axis", "rank 1", table(name, (20,), [19, 0], quantize_axis=0), "axis")
        for key, axis in (("gather_axis", 2), ("gather_axis", -3), ("quantize_axis", 2), ("quantize_axis", -3)):
            made = table(name, (3, 16), [0])
            made.attributes[key] = axis
            yield _draft("axis", f"{key} {axis}".replace("-", "m"), made, "axis")
    scalar = DraftedCall([codes("int4", ()), np.array([0]), scales(())], {"quantize_axis": 0})
    yield _draft("scalar", "data of rank 0", scalar, "axis")


def _blocks() -> Iterator[CaseDraft]:
    for name in (*NIBBLES, "float8_e5m2", "uint8"):
        for size in (1, 15, 16, 17, 33):
            made = table(name, (3, size), [2, 0], zeros=name not in FLOATS, bits=8 if name == "uint8" else 4)
            yield _draft("plain", f"an axis of {size} in blocks of 16", made, "M4")
        yield _draft("plain", "a block longer than the axis", table(name, (3, 20), [2, 0], block=128), "M4")
    for name in FLOATS:
        yield _draft("plain", "one block", table(name, (3, 21), [2, 0], block=0), "M4")
        yield _draft(
            "plain", "one block along the first axis", table(name, (3, 4), [2, 0], block=0, quantize_axis=0), "M4"
        )
        made = table(name, (3, 21), [2, 0], block=0)
        inputs = [*made.inputs[:2], made.inputs[2][:1]]  # type: ignore[index]
        yield _draft("plain", "one scale for the table", made._replace(inputs=inputs), "M6")
        made = table(name, (3, 2, 17), [2, 0])
        inputs = [*made.inputs[:2], made.inputs[2][:, :1]]  # type: ignore[index]
        yield _draft("plain", "scales shared along the middle axis", made._replace(inputs=inputs), "M6")


def _values() -> Iterator[CaseDraft]:
    bits = np.array([[0x00, 0x80, 0x7F, 0xFF, 0x7C, 0xFC, 0x7E, 0x01]], np.uint8)
    for name in FLOATS:
        odd = (bits & 15 if name == "float4_e2m1fn" else bits).view(array(name, 0).dtype)
        call = DraftedCall([odd, np.array([0]), array("float32", [[2.0]])], {"block_size": 16})
        yield _draft("nan", "codes of NaN and infinities and zeros", call, "M5")
    for scale in SCALES:
        for label, value in (("NaN", math.nan), ("infinity", math.inf), ("m0", -0.0), ("the smallest", 0.0)):
            factor = array(scale, [[value], [1], [value]])
            if label == "the smallest":
                factor = np.array([[1], [2], [1]], f"u{factor.itemsize}").view(factor.dtype)
            call = DraftedCall([codes("int4", (3, 16)), np.array([2, 1]), factor], {"block_size": 16})
            kind = "zero sign" if label == "m0" else "nan"
            yield _draft(kind, f"a scale of {label} as {scale}", call, "M5")
        for third in (1 / 3, 0.1, 6e4, 1e-7):
            call = DraftedCall(
                [codes("uint8", (1, 16)), np.array([0]), array(scale, [[third]])], {"block_size": 16, "bits": 8}
            )
            yield _draft("rounding", f"products with {third:g} as {scale}".replace("+", ""), call, "M5")


def _index_types() -> Iterator[CaseDraft]:
    for index in (*INTEGERS, "float32", "bool"):
        made = table("uint4", (3, 16), [1, 0])
        made.inputs[1] = array(index, [1, 0])
        yield _draft("index type", f"{index} indices", made)


def _attributes() -> Iterator[CaseDraft]:
    for block in (0, 1, 8, 15, 24, -16, 48):
        made = table("int4", (3, 16), [0])
        made.attributes["block_size"] = block
        yield _draft("attribute", f"block_size {block}".replace("-", "m"), made, "M4")
        if block:
            made = table("float8_e4m3fn", (3, 16), [0])
            made.attributes["block_size"] = block
            yield _draft("attribute", f"block_size {block} of floats".replace("-", "m"), made, "M4")
    for name, bits in (("int4", 2), ("int4", 8), ("uint4", 8), ("uint8", 3), ("uint8", 16), ("float8_e5m2", 8),
                       ("float4_e2m1fn", 3)):  # fmt: skip
        made = table(name, (3, 16), [0])
        made.attributes["bits"] = bits
        yield _draft("attribute", f"bits {bits} for {name}", made, "M8")
    for name, value in (("axis", 0), ("batch_dims", 0), ("mode", "clip")):
        made = table("uint4", (3, 16), [0])
        made.attributes[name] = value
        yield _draft("attribute", f"an attribute {name}", made, "attributes")


def _types() -> Iterator[CaseDraft]:
    for name in ("int8", "int32", "float32", "float8_e8m0fnu", "bool"):
        values = np.ones((3, 16), array(name, 0).dtype)
        call = DraftedCall([values, np.array([0]), scales((3, 1))], {"block_size": 16})
        yield _draft("type", "not a type of this version", call, "types")
    for name in ("float64", "int32"):
        made = table("uint4", (3, 16), [0])
        made.inputs[2] = np.ones((3, 1), name)
        yield _draft("type", f"scales of {name}", made, "types")
    made = table("uint4", (3, 16), [0], zeros=True)
    made.inputs[3] = codes("int4", (3, 1))
    yield _draft("type", "zero points of another type", made, "types")
    made = table("float8_e5m2", (3, 16), [0])
    made.inputs.append(codes("float8_e5m2", (3, 1)))
    yield _draft("shape", "zero points of floats", made, "M3")
    for label, shape in (("zero points without padding", (3, 2)), ("zero points of rank 1", (1,))):
        made = table("uint8", (3, 16), [0], zeros=True)
        made.inputs[3] = codes("uint8", shape)
        yield _draft("shape", label, made, "M2")
