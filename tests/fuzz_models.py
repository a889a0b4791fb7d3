#!/usr/bin/env python3
"""Damaged and overgrown model files, by the thousand: each ends in a result or in one line, soon, in little memory.

    python tests/fuzz_models.py --seconds 300
    python tests/fuzz_models.py --case 'onnx-branches 1234'   # one again, and what was done to the model
    python tests/fuzz_models.py --case 'ir-shapes 7' --keep DIR   # and its files

A case is one of a dozen good models and a number from which its damage is drawn, so every case can be run again. A
process of its own loads each and runs it on random inputs, so that a crash, a hang or a lack of memory is the fault of
one case. The doctor, the converter and the planner of InferenceSession read the file, too. What was found goes out of
the way when the model asks for the work itself (see `excused`).
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import multiprocessing
import os
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, TypeProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).parent))

from growth import GROWTHS
from onnx_graphs import function, graph, model, node, referring, scan_model

SECONDS, MEMORY = 2.0, 200 << 20  # for one file; what the issue promises
HANG = 10  # seconds, after which a process is ended
ADDRESSES = 2 << 30  # bytes that a process may reserve beyond what it has at its start
LONGEST = 1000  # characters of a message
SMALL = 20_000  # elements of an input that is made up
LARGEST = 1 << 20  # bytes of a model that is damaged further, or repeated in itself
CLI_EVERY = 5  # cases

F32, I64, I32, BOOL = np.float32, np.int64, np.int32, np.bool_


class Link(NamedTuple):
    """A symbolic link in a model's folder."""

    target: str


class Folder(NamedTuple):
    """A folder where a file should be."""


Files = dict[str, bytes | Link | Folder]  # the first one is the model
Mutation = Callable[[Any, Files, random.Random], str]


# ------------------------------------------------------------------------------------------------------- good models


def tensor(values: Any, dtype: Any = None) -> TensorProto:
    return numpy_helper.from_array(np.array(values, dtype))


def as_files(made: onnx.ModelProto, **others: bytes) -> Files:
    return {"model.onnx": made.SerializeToString(), **{name.replace("_", "."): data for name, data in others.items()}}


def onnx_gathers() -> Files:
    made = model(
        [
            node("Gather", "x rows", "a", "some rows", axis=0),
            node("GatherElements", "a at", "b", axis=1),
            node("GatherND", "x pairs", "c", batch_dims=0),
            node("GatherND", "cube firsts", "d", batch_dims=1),
        ],
        {"x": (F32, ["n", 3]), "cube": (F32, [2, "k", 2])},
        {"b": (F32, None), "c": (F32, [2]), "d": (F32, None)},
        {"rows": [0, -1], "at": [[0, 2, 1], [1, 1, 0]], "pairs": [[0, 1], [0, 2]], "firsts": [[0], [-1]]},
    )
    return as_files(made)


def onnx_scatters() -> Files:
    made = model(
        [
            node("ScatterND", "x pairs u", "a", reduction="add"),
            node("ScatterElements", "a at v", "b", "put", axis=1, reduction="max"),
            node("ScatterND", "b rows v", "c"),
        ],
        {"x": (F32, [2, 3]), "u": (F32, [2])},
        {"b": (F32, [2, 3]), "c": (F32, [2, 3])},
        {"pairs": [[0, 1], [0, 1]], "at": [[0, 2, 1], [1, 1, 0]], "v": np.ones((2, 3), F32), "rows": [[0], [1]]},
    )
    return as_files(made)


def onnx_old() -> Files:
    """Scatter, which later versions of the standard call ScatterElements, and a Gather without negative indices."""
    made = model(
        [node("Scatter", "x at u", "y", axis=0), node("Gather", "y one", "z", axis=1)],
        {"x": (F32, [3, 2]), "u": (F32, [1, 2]), "at": (I64, [1, 2])},
        {"y": (F32, [3, 2]), "z": (F32, [3])},
        {"one": 1},
        opset=9,
    )
    made.graph.input.append(helper.make_tensor_value_info("one", TensorProto.INT64, []))
    return as_files(made)


def onnx_cache() -> Files:
    made = model(
        [
            node("TensorScatter", "past new at", "present", axis=1, mode="circular"),
            node("Shape", "present", "shape"),
            node("Gather", "shape one", "length"),
        ],
        {"past": (F32, ["b", 4, 2]), "new": (F32, ["b", 2, 2]), "at": (I64, ["b"])},
        {"present": (F32, None), "length": (I64, [])},
        {"one": 1},
        opset=24,
    )
    return as_files(made)


def onnx_branches() -> Files:
    """If in If; values and initializers of the enclosing graphs are read inside."""
    inner = graph([node("Neg", "x", "inner_out")], {}, {"inner_out": (F32, [3])}, name="inner")
    innermost = graph([node("Add", "x c", "other_out")], {}, {"other_out": (F32, [3])}, {"c": np.ones(3, F32)})
    then = graph(
        [node("ScatterND", "x at u", "t", "set"), node("If", "flag", "tt", then_branch=inner, else_branch=innermost)],
        {},
        {"tt": (F32, [3])},
        {"u": np.array([7], F32)},
        "then",
    )
    otherwise = graph([node("GatherElements", "x order", "e", axis=0)], {}, {"e": (F32, [3])}, {"order": [2, 1, 0]})
    made = model(
        [node("If", "flag", "y", "choose", then_branch=then, else_branch=otherwise), node("Identity", "y", "z")],
        {"flag": (BOOL, []), "x": (F32, [3])},
        {"z": (F32, [3])},
        {"at": [[1]]},
    )
    return as_files(made)


def onnx_loop() -> Files:
    body = graph(
        [
            node("Gather", "ids i", "id", "which"),
            node("Unsqueeze", "id zero", "tuple"),
            node("ScatterND", "state tuple one", "next", "add", reduction="add"),
            node("Gather", "next id", "seen"),
            node("Identity", "go", "on"),
        ],
        {"i": (I64, []), "go": (BOOL, []), "state": (F32, [4])},
        {"on": (BOOL, []), "next": (F32, [4]), "seen": (F32, [])},
        {"zero": np.array(0), "one": np.array(1, F32)},
        "body",
    )
    made = model(
        [node("Loop", "trips - start", "end all_seen", "steps", body=body)],
        {"ids": (I64, [4]), "start": (F32, [4]), "trips": (I64, [])},
        {"end": (F32, [4]), "all_seen": (F32, ["trips"])},
    )
    return as_files(made)


def onnx_scan() -> Files:
    made = scan_model()
    return as_files(made)


def onnx_functions() -> Files:
    """Functions that call each other, with attributes, defaults and an input left out."""
    pick = function(
        "my",
        "Pick",
        "data at",
        "out",
        [referring(node("Gather", "data at", "out", "pick"), "axis", "along", AttributeProto.INT)],
        defaults={"along": 0},
    )
    put = function(
        "my",
        "Put",
        "data at unused",
        "out",
        [
            node("Pick", "data at", "rows", domain="my", along=0),
            node("Constant", "", "c", value=tensor([[1.0, 2.0]], F32)),
            node("Add", "rows c", "more"),
            node("Unsqueeze", "at last", "tuples"),
            node("ScatterND", "data tuples more", "out", reduction="mul"),
            node("Constant", "", "last", value_ints=[-1]),
        ],
        domains={"my": 1},
    )
    put.node.insert(0, put.node[5])
    del put.node[6]
    made = model(
        [node("Put", "x at", "a", "call", domain="my"), node("Pick", "a at", "y", domain="my", along=1)],
        {"x": (F32, [2, 2]), "at": (I64, [1])},
        {"y": (F32, None)},
        functions=[put, pick],
        domains={"my": 1},
    )
    return as_files(made)


def onnx_external() -> Files:
    """Initializers and constants, in the main graph and in a branch, whose bytes are in another file."""

    def external(name: str, kind: int, shape: Sequence[int], **entries: Any) -> TensorProto:
        made = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, value in {"location": "weights.bin", **entries}.items():
            made.external_data.add(key=key, value=str(value))
        return made

    then = graph([node("Gather", "x far", "t")], {}, {"t": (F32, None)}, name="then")
    then.initializer.append(external("far", TensorProto.INT64, [1], offset=16, length=8))
    constant = node("Constant", "", "e", value=external("", TensorProto.FLOAT, [1, 2], offset=24))
    otherwise = graph([constant], {}, {"e": (F32, None)}, name="otherwise")
    made = model(
        [node("Add", "x0 w", "x"), node("If", "flag", "y", then_branch=then, else_branch=otherwise)],
        {"x0": (F32, [2, 2]), "flag": (BOOL, [])},
        {"y": (F32, None)},
    )
    made.graph.initializer.append(external("w", TensorProto.FLOAT, [2, 2], offset=0, length=16))
    made.graph.initializer.append(external("half", TensorProto.UINT4, [3], offset=1, length=2))
    return as_files(made, weights_bin=np.array([1, 2, 3, 4], F32).tobytes() + bytes(16))


def onnx_types() -> Files:
    """Every way in which a tensor can hold its values."""
    made = model(
        [
            node("Gather", "words at", "w"),
            node("ScatterElements", "words at more", "w2", axis=0),
            node("Gather", "halves at", "h"),
            node("Gather", "truths at", "t"),
            node("Gather", "bytes at", "b"),
            node("Gather", "complexes at", "c"),
            node("Gather", "brains at", "f"),
            node("Gather", "longs at", "l"),
            node("Constant", "", "k", value_strings=[b"a", b"b"]),
            node("Constant", "", "n", value_floats=[1.0, 2.0]),
        ],
        {"at": (I64, [2]), "more": (object, [2])},
        dict.fromkeys(("w", "w2", "h", "t", "b", "c", "f", "l", "k", "n"), (F32, None)),
        {"words": np.array(["a", "b", "é"], object), "halves": np.ones(3, np.float16), "truths": [True, False, True]},
    )
    made.graph.initializer.extend(
        [
            helper.make_tensor("bytes", TensorProto.INT8, [3], [1, 2, -3]),
            helper.make_tensor("complexes", TensorProto.COMPLEX64, [3], [1, 2j, 3]),
            helper.make_tensor("brains", TensorProto.BFLOAT16, [3], [1.0, 2.0, 3.0]),
            helper.make_tensor("longs", TensorProto.UINT64, [3], [1, 2, 2**64 - 1]),
        ]
    )
    for output, kind in zip(made.graph.output, (8, 8, 10, 9, 3, 14, 16, 13, 8, 1), strict=True):
        output.type.tensor_type.elem_type = kind
    return as_files(made)


def onnx_sequences() -> Files:
    made = model(
        [
            node("SequenceConstruct", "x x", "s"),
            node("SequenceAt", "s one", "a"),
            node("SplitToSequence", "x", "parts", axis=0),
            node("ConcatFromSequence", "parts", "whole", axis=0),
            node("Gather", "whole at", "y"),
            node("SequenceInsert", "s x", "t"),
        ],
        {"x": (F32, [2, 2]), "at": (I64, ["n"])},
        {"a": (F32, None), "y": (F32, None)},
        {"one": 1},
    )
    made.graph.output.append(helper.make_tensor_sequence_value_info("t", TensorProto.FLOAT, None))
    return as_files(made)


def onnx_layer() -> Files:
    """A layer of a graph network: the gathers and scatters among the nodes they usually are among."""
    made = model(
        [
            node("Gather", "table kinds", "h", "look_up"),
            node("MatMul", "h weight", "m"),
            node("Gather", "m senders", "sent"),
            node("Shape", "h", "shape"),
            node("ConstantOfShape", "shape", "zeros"),
            node("Unsqueeze", "receivers last", "to"),
            node("ScatterND", "zeros to sent", "received", reduction="add"),
            node("Relu", "received", "active"),
            node("Concat", "h active", "both", axis=1),
            node("TopK", "both k", "best best_at", axis=1),
            node("GatherElements", "both best_at", "again", axis=1),
            node("ReduceSum", "again", "total", keepdims=0),
            node("Cast", "again", "cast", to=TensorProto.FLOAT16),
        ],
        {"kinds": (I64, ["n"]), "senders": (I64, ["m"]), "receivers": (I64, ["m"])},
        {"total": (F32, []), "cast": (np.float16, None)},
        {"table": np.arange(8, dtype=F32).reshape(4, 2), "weight": np.eye(2, dtype=F32), "last": [-1], "k": [2]},
    )
    return as_files(made)


def written(build: Callable[[Any], None]) -> Files:
    """The files that an IRWriter saves."""
    from gatherscatter.openvino.ir_write import IRWriter

    writer = IRWriter()
    build(writer)
    with tempfile.TemporaryDirectory() as folder:
        path = writer.save(Path(folder, "model.xml"))
        return {"model.xml": path.read_bytes(), "model.bin": path.with_suffix(".bin").read_bytes()}


def ir_gathers() -> Files:
    def build(w: Any) -> None:
        x = w.parameter("x", "f32", [None, 3])
        table = w.layer("Add", "opset1", [x, w.constant(np.ones((1, 3), F32), "ones")], name="add")
        rows = w.layer("Gather", "opset8", [table, np.array([0, 0]), np.int64(0)], attributes={"batch_dims": 0})
        w.result("rows", rows)
        at = np.array([[0, 2, 1], [1, 1, 0]], I32)
        w.result("elements", w.layer("GatherElements", "opset6", [rows, at], attributes={"axis": 1}))
        pairs = np.array([[0, 1]], I32)
        w.result("pairs", w.layer("GatherND", "opset8", [x, pairs], attributes={"batch_dims": 0}))

    return written(build)


def ir_scatters() -> Files:
    def build(w: Any) -> None:
        x, u = w.parameter("x", "f32", [3, 2]), w.parameter("u", "f32", ["1..2", 2])
        a = w.layer("ScatterUpdate", "opset3", [x, np.array([1]), np.ones((1, 2), F32), np.int64(0)])
        b = w.layer("ScatterNDUpdate", "opset15", [a, np.array([[2], [2]]), np.ones((2, 2), F32)],
                    attributes={"reduction": "sum"})  # fmt: skip
        attributes = {"reduction": "max", "use_init_val": True}
        at = np.array([[0, 1]], I32)
        inputs = [b, at, np.ones((1, 2), F32), np.int64(0)]
        w.result("y", w.layer("ScatterElementsUpdate", "opset12", inputs, attributes=attributes, name="put"))
        w.result("u2", w.layer("Negative", "opset1", [u]))

    return written(build)


def ir_tree() -> Files:
    def build(w: Any) -> None:
        steps, parents = w.parameter("steps", "i32", [3, 1, 2]), w.parameter("parents", "i32", [3, 1, 2])
        inputs = [steps, parents, np.array([3], I32), np.array(0, I32)]
        w.result("beams", w.layer("GatherTree", "opset1", inputs))

    return written(build)


def ir_types() -> Files:
    """Strings, halves and truths; a model input of any rank."""
    import ml_dtypes

    def build(w: Any) -> None:
        at, any_rank = w.parameter("at", "i64", [2]), w.parameter("any", "f16", None)
        for name, values in {
            "words": np.array(["a", "é", "ccc"], object),
            "brains": np.ones(3, ml_dtypes.bfloat16),
            "truths": np.array([True, False, True]),
            "longs": np.arange(3, dtype=np.uint64),
        }.items():
            w.result(name, w.layer("Gather", "opset8", [w.constant(values, f"{name}_in"), at, np.int64(0)]))
        w.result("same", w.layer("Convert", "opset1", [any_rank], attributes={"destination_type": "i8"}))

    return written(build)


def ir_shapes() -> Files:
    """The layers around the gathers and scatters whose sizes come from values."""

    def build(w: Any) -> None:
        x = w.parameter("x", "f32", [2, 4])
        add = w.layer
        shape = add("ShapeOf", "opset3", [x], attributes={"output_type": "i64"}, outputs=["i64"])
        wide = add("Broadcast", "opset3", [add("Gather", "opset8", [x, np.int64(0), np.int64(0)]), shape])
        flat = add("Reshape", "opset1", [wide, np.array([-1])], attributes={"special_zero": False})
        padded = add("Pad", "opset1", [flat, np.array([1]), np.array([2]), np.array(0, F32)],
                     attributes={"pad_mode": "constant"})  # fmt: skip
        cut = add("Slice", "opset8", [padded, np.array([1]), np.array([9]), np.array([1])])
        tiled = add("Tile", "opset1", [cut, np.array([2])])
        masks = {"begin_mask": "0", "end_mask": "0", "new_axis_mask": "0"}
        strided = add("StridedSlice", "opset1", [tiled, np.array([0]), np.array([8]), np.array([2])], attributes=masks)
        parts = add("Split", "opset1", [strided, np.int64(0)], attributes={"num_splits": 2}, outputs=["f32", "f32"])
        joined = add("Concat", "opset1", [parts.output(1), parts], attributes={"axis": 0})
        top = {"axis": 0, "mode": "max", "sort": "value", "index_element_type": "i64"}
        best = add("TopK", "opset11", [joined, np.int64(2)], attributes=top, outputs=["f32", "i64"])
        order = add("Range", "opset4", [np.int64(0), np.int64(2), np.int64(1)], attributes={"output_type": "i64"})
        picked = add("Gather", "opset8", [best, order, np.int64(0)])
        w.result("y", add("ReduceSum", "opset1", [picked, np.array([0])], attributes={"keep_dims": True}))
        w.result("at", best.output(1))

    return written(build)


MODELS: dict[str, Callable[[], Files]] = {
    make.__name__.replace("_", "-"): make
    for make in (
        *(onnx_gathers, onnx_scatters, onnx_old, onnx_cache, onnx_branches, onnx_loop, onnx_scan, onnx_functions),
        *(onnx_external, onnx_types, onnx_sequences, onnx_layer),
        *(ir_gathers, ir_scatters, ir_tree, ir_types, ir_shapes),
    )
}

# ------------------------------------------------------------------------------------------- what damage is made from

INTEGERS = (
    *(0, 1, -1, 2, -2, 3, 4, 7, 8, 16, 31, 63, 64, 65, 100, 127, 128, 255, 256, 1000, 65_536, 10**6, 10**9),
    *(2**31 - 1, 2**31, -(2**31), 2**32, 2**33, 2**40, 2**60, 2**62, 2**63 - 1, -(2**63)),
)
FLOATS = (0.0, -0.0, 1.5, -1.0, float("nan"), float("inf"), float("-inf"), 1e300, -1e39, 1e-320)
TEXTS = (
    *("", " ", "x", "y", "X", "a\nb", "\x1b[31mred\x07", "\u202eleft", "\0", "é\u0301", "\U0001f600", "[red]", "%s"),
    *("../../etc/passwd", "/etc/passwd", "..", ".", "/", "x" * 300, "x\n" * 3000, "\u2028" * 50, "ai.onnx", "my"),
    *("0", "1", "-1", "2,3", "1" * 25, "9" * 5000, "0x10", "1_0", "\u0662", "nan", "inf", "1e400", "true", "None"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "4294967296", "?", "..", "2..1", "..."),
)
LOCATIONS = (
    *("../secret", "../../etc/passwd", "/etc/passwd", "sub/../../secret", "..\\secret", "C:\\secret", "//host/x"),
    *(
        "link",
        "up/secret",
        "loop",
        "folder",
        "none",
        "model.onnx",
        "weights.bin",
        "./weights.bin",
        "",
        ".",
        "file:///x",
    ),
    *("weights.bin\0", "~/x", "$HOME/x", "/proc/self/mem", "/dev/zero", "/dev/stdin", "x" * 5000, "a\nb"),
)
COUNTS = ("0", "1", "8", "-1", "-8", "31", "32", "33", "4096", "9" * 18, "9" * 30, "1e3", "0x10", " 8", "8 ", "+8", "")


def change(mutations: Sequence[Mutation], target: Any, files: Files, rng: random.Random) -> str:
    """One of the mutations; what was changed, in words."""
    mutation = rng.choice(mutations)
    try:
        return mutation(target, files, rng)
    except (IndexError, KeyError, ValueError, TypeError):  # there is nothing of the kind, or no place for the value
        return f"{mutation.__name__} found nothing"


def damaged_bytes(data: bytes, rng: random.Random, other: bytes) -> bytes:
    """Some bytes changed, left out, put in, or taken from another file."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(content) + 1)
        length = min(rng.choice((1, 1, 2, 4, 16, 64)), len(content) - at)
        start = rng.randrange(len(other) + 1)
        content[at : at + length] = rng.choice(
            (
                rng.randbytes(length),
                bytes(byte ^ (1 << rng.randrange(8)) for byte in content[at : at + length]),
                b"",
                content[at : at + length] * 2,
                b"\xff" * rng.choice((4, 9, 10)) + b"\x01",  # a number too large, or a length
                other[start : start + rng.choice((4, 32, 256))],
                b"0" + content[at : at + length],
            )
        )
    return bytes(content if rng.random() < 0.9 else content[: rng.randrange(len(content) + 1)])


# ------------------------------------------------------------------------------------------------- damage: protobuf


def messages(message: Any) -> Iterator[Any]:
    """A message and all those in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if is_repeated(value) else (value,):
                yield from messages(inner)


def is_repeated(value: Any) -> bool:
    return hasattr(value, "extend")


def of_type(made: onnx.ModelProto, *types: Any) -> list[Any]:
    return [message for message in messages(made) if isinstance(message, types)]


def value_names(made: onnx.ModelProto) -> list[str]:
    names = {name for each in of_type(made, onnx.NodeProto) for name in (*each.input, *each.output)}
    return sorted(names | {each.name for each in of_type(made, onnx.ValueInfoProto, TensorProto)})


def new_value(field: Any, rng: random.Random, made: onnx.ModelProto) -> Any:
    """Something that the field can hold, likely or not."""
    kind = field.cpp_type
    if kind == field.CPPTYPE_MESSAGE:
        found = rng.choice([each for each in messages(made) if field.message_type == each.DESCRIPTOR] or [None])
        return deepcopy(found)  # it may hold the list that it goes into
    if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return rng.choice(FLOATS)
    if kind == field.CPPTYPE_ENUM:
        return rng.choice(field.enum_type.values).number
    if kind == field.CPPTYPE_STRING:
        if field.type == field.TYPE_BYTES:
            return rng.randbytes(rng.choice((0, 1, 4, 8, 64)))
        return rng.choice(TEXTS) if rng.random() < 0.5 else rng.choice(value_names(made))
    return rng.choice(INTEGERS) if rng.random() < 0.6 else rng.randrange(30)


def change_field(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    """Any field of any message."""
    message = rng.choice(list(messages(made)))
    present = [field for field, _ in message.ListFields()]
    field = rng.choice(present if present and rng.random() < 0.8 else list(message.DESCRIPTOR.fields))
    what = f"{message.DESCRIPTOR.name}.{field.name}"
    with contextlib.suppress(ValueError, TypeError):  # a number that is out of range stays what it was
        if is_repeated(getattr(message, field.name)):
            return f"{what}: {change_list(getattr(message, field.name), new_value(field, rng, made), rng)}"
        if rng.random() < 0.2:
            message.ClearField(field.name)
            return f"{what} cleared"
        value = new_value(field, rng, made)
        if field.message_type is None:
            setattr(message, field.name, value)
        elif value is not None:
            copy = type(value)()
            copy.CopyFrom(value)
            getattr(message, field.name).CopyFrom(copy)
        return f"{what} = {str(value)[:60]!r}"
    return f"{what} kept"


def change_list(values: Any, value: Any, rng: random.Random) -> str:
    """One element more or less, or another one, or another order."""
    action = rng.choice(("add", "remove", "replace", "double", "shuffle", "clear", "many"))
    at = rng.randrange(len(values)) if values else 0
    if action == "add" and value is not None:
        values.append(value)
    elif action == "remove" and values:
        del values[at]
    elif action == "replace" and values and value is not None:
        if hasattr(value, "CopyFrom"):
            values[at].CopyFrom(type(value).FromString(value.SerializeToString()))
        else:
            values[at] = value
    elif action == "double" and values:
        values.extend([values[at]])
    elif action == "shuffle":
        kept = list(values)
        rng.shuffle(kept)
        kept = [type(each).FromString(each.SerializeToString()) if hasattr(each, "CopyFrom") else each for each in kept]
        del values[:]
        values.extend(kept)
    elif action == "clear":
        del values[:]
    elif value is not None:
        size = value.ByteSize() if hasattr(value, "ByteSize") else len(str(value))
        values.extend([value] * min(rng.choice((2, 66, 1000)), LARGEST // (size + 1)))
    return action


def change_dims(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    found = rng.choice(of_type(made, TensorProto))
    dims = [rng.choice(INTEGERS) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 65, 1000)))]
    if found.dims and rng.random() < 0.5:
        dims = list(found.dims)
        dims[rng.randrange(len(dims))] = rng.choice(INTEGERS)
    found.dims[:] = dims
    return f"dims of {found.name!r} = {dims[:4]}"


def change_data(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    """Other values of the same type and shape, which are mostly indices."""
    chosen = rng.choice([each for each in of_type(made, TensorProto) if each.raw_data])
    chosen.raw_data = b"".join(
        rng.choice(INTEGERS).to_bytes(8, "little", signed=True)
        if rng.random() < 0.3
        else rng.randrange(-3, 4).to_bytes(8, "little", signed=True)
        for _ in range(len(chosen.raw_data) // 8 + 1)
    )[: len(chosen.raw_data)]
    return f"data of {chosen.name!r}"


def change_type(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    """The declared type of an input or output, or the type of a tensor."""
    found = rng.choice(of_type(made, onnx.ValueInfoProto, TensorProto))
    if isinstance(found, TensorProto):
        found.data_type = rng.choice((*range(30), -1, 1000))
        return f"type of {found.name!r} = {found.data_type}"
    kind = rng.randrange(6)
    if kind < 2:
        found.type.tensor_type.elem_type = rng.choice((*range(30), -1, 1000))
    elif kind < 4:
        del found.type.tensor_type.shape.dim[:]
        for _ in range(rng.choice((0, 1, 2, 3, 64, 65, 1000))):
            size = found.type.tensor_type.shape.dim.add()
            if rng.random() < 0.7:
                size.dim_value = rng.choice(INTEGERS)
            else:
                size.dim_param = rng.choice(TEXTS)
    else:
        inner = found.type
        for _ in range(rng.choice((1, 2, 3, 20))):
            chosen = rng.randrange(3)
            inner = (inner.sequence_type, inner.optional_type, inner.map_type)[chosen]
            inner = inner.value_type if chosen == 2 else inner.elem_type
        inner.tensor_type.elem_type = rng.randrange(20)
    return f"declaration of {found.name!r} = {str(found.type)[:50]!r}"


def rewire(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    """An input or output of a node gets another name, which may close a cycle."""
    found = rng.choice(of_type(made, onnx.NodeProto))
    names = found.input if rng.random() < 0.7 else found.output
    at, name = rng.randrange(len(names)), rng.choice([*value_names(made), "", "nowhere"])
    text = f"{found.op_type}: {names[at]!r} -> {name!r}"
    names[at] = name
    return text


def rename(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    """One value is called something else wherever it is named, so the model stays as good as it was."""
    old = rng.choice(value_names(made))
    new = rng.choice((*TEXTS, *value_names(made)))
    for message in messages(made):
        if isinstance(message, onnx.NodeProto):
            for names in (message.input, message.output):
                names[:] = [new if name == old else name for name in names]
        elif isinstance(message, onnx.ValueInfoProto | TensorProto) and message.name == old:
            message.name = new
    return f"{old!r} renamed {new[:40]!r}"


def change_operator(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    found = rng.choice(of_type(made, onnx.NodeProto))
    old, names = found.op_type, sorted({schema.name for schema in onnx.defs.get_all_schemas()})
    found.op_type = rng.choice(names)
    if rng.random() < 0.5:
        del found.attribute[:]
    if rng.random() < 0.2:
        found.domain = rng.choice(("", "ai.onnx", "ai.onnx.ml", "my", "com.microsoft"))
    return f"{old} -> {found.domain}.{found.op_type}"


def change_attribute(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    """Another type, another value, one that a schema knows, or a reference to one of a function."""
    found = rng.choice(of_type(made, onnx.NodeProto))
    known = onnx.defs.get_schema(found.op_type).attributes if onnx.defs.has(found.op_type) else {}
    name = rng.choice([*sorted(known), *(each.name for each in found.attribute), "axis"])
    value = rng.choice(
        (rng.choice(INTEGERS), rng.randrange(-4, 5), rng.choice(FLOATS), rng.choice(TEXTS), [1, 2], [1.5], ["a", "b"])
    )
    for at in reversed(range(len(found.attribute))):
        if found.attribute[at].name == name:
            del found.attribute[at]
    made_attribute = helper.make_attribute(name, value)
    if rng.random() < 0.2:
        made_attribute.type = rng.randrange(1, 15)
    if rng.random() < 0.1:
        made_attribute.ref_attr_name = rng.choice(("along", "axis", ""))
    found.attribute.append(made_attribute)
    return f"{found.op_type}.{name} = {str(value)[:40]!r}"


def change_opset(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    entry = rng.choice(of_type(made, onnx.OperatorSetIdProto))
    entry.version = rng.choice((*range(1, 30), *INTEGERS))
    if rng.random() < 0.2:
        made.opset_import.add(domain=rng.choice(("", "ai.onnx", "my", "ai.onnx.ml")), version=rng.randrange(1, 30))
    return f"opset of {entry.domain!r} = {entry.version}"


def change_external(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    """Where the bytes of a tensor are; a tensor that had none gets an address."""
    found = rng.choice(of_type(made, TensorProto))
    if found.data_location != TensorProto.EXTERNAL:
        found.ClearField("raw_data")
        found.data_location = TensorProto.EXTERNAL
        found.external_data.add(key="location", value="weights.bin")
    key = rng.choice(("location", "location", "offset", "length", "checksum"))
    value = rng.choice(LOCATIONS if key == "location" else COUNTS)
    kept = [entry for entry in found.external_data if entry.key != key or rng.random() < 0.2]
    kept = [(entry.key, entry.value) for entry in kept] + [(key, value)]
    del found.external_data[:]
    for name, text in kept:
        found.external_data.add(key=name, value=text)
    return f"external {key} of {found.name!r} = {value[:40]!r}"


def change_weights(made: Any, files: Files, rng: random.Random) -> str:
    """The other file is cut, longer, a link, a folder, or not there."""
    name = next((name for name in files if name.endswith(".bin")), "weights.bin")
    data = files.get(name, bytes(64))
    data = data if isinstance(data, bytes) else bytes(64)
    cut = data[: rng.randrange(len(data) + 1)]
    files[name] = rng.choice(
        (cut, data + bytes(64), rng.randbytes(len(data)), Folder(), Link("../secret"), Link(name), Link("model.onnx"))
    )
    if rng.random() < 0.1:
        del files[name]
    return f"{name}: {str(files.get(name))[:40]}"


ONNX_MUTATIONS: tuple[Mutation, ...] = (
    *(change_field, change_field, change_field, change_dims, change_data, change_data, change_type, rewire, rename),
    *(change_operator, change_attribute, change_opset, change_external, change_weights),
)


def length_delimited(number: int, payload: bytes) -> bytes:
    """A field of a protobuf message; unlike the package's own messages it can be nested at will."""
    size, length = bytearray(), len(payload)
    while length > 127:
        size.append(length & 127 | 128)
        length >>= 7
    return bytes([number << 3 | 2, *size, length]) + payload


def deeper(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """One more node, or one more input, with graphs or types inside each other."""
    depth = rng.choice((1, 2, 5, 10, 20, 30, 32, 40, 100, 1000))
    if rng.random() < 0.3:
        inner = TypeProto(tensor_type=TypeProto.Tensor(elem_type=1)).SerializeToString()
        for _ in range(depth):
            inner = length_delimited(rng.choice((4, 9)), length_delimited(1, inner))
        added = length_delimited(11, length_delimited(1, b"deep") + length_delimited(2, inner))
        return data + length_delimited(7, added), f"types {depth} deep"
    condition = rng.choice((b"flag", b"x", b"deep", b"none"))
    inner = graph([node("Identity", "x", f"deep{depth}")], {}, {f"deep{depth}": (F32, None)}).SerializeToString()
    for level in reversed(range(depth)):
        stub = graph([node("Identity", "x", f"other{level}")], {}, {f"other{level}": (F32, None)})
        branches = length_delimited(5, length_delimited(6, inner) + b"\x0a\x0bthen_branch\xa0\x01\x05")
        branches += length_delimited(5, helper.make_attribute("else_branch", stub).SerializeToString())
        made = length_delimited(1, condition) + helper.make_node("If", [], [f"deep{level}"]).SerializeToString()
        output = length_delimited(12, onnx.ValueInfoProto(name=f"deep{level}").SerializeToString())
        inner = length_delimited(1, made + branches) + (output if level else b"") + b"\x12\x04deep"
    return data + length_delimited(7, inner), f"graphs {depth} deep"


def grow(rng: random.Random) -> tuple[bytes, str]:
    """A model that has thousands of something."""
    # The values of growing_values are what the model asks for.
    name = rng.choice([name for name in GROWTHS if name != "growing_values"])
    count = round(10 ** rng.uniform(1, 3.6))
    return GROWTHS[name](count).SerializeToString(), f"{count} {name}"


def damage_onnx(files: Files, rng: random.Random) -> tuple[Files, list[str]]:
    data, log = files["model.onnx"], []
    assert isinstance(data, bytes)
    style = rng.random()
    if rng.random() < 0.03:
        data, said = grow(rng)
        log.append(said)
        style = max(style, 0.4)  # half of these stay as they are
    if style < 0.75 and not (log and style < 0.6):
        made = onnx.ModelProto.FromString(data)
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
            if made.ByteSize() < LARGEST:
                log.append(change(ONNX_MUTATIONS, made, files, rng))
        data = made.SerializeToString()
    elif style < 0.82:
        data, said = deeper(data, rng)
        log.append(said)
    if style > 0.97 or 0.8 < style < 0.95:
        other = MODELS[rng.choice([name for name in MODELS if name.startswith("onnx")])]()["model.onnx"]
        assert isinstance(other, bytes)
        data = damaged_bytes(data, rng, other)
        log.append("bytes")
    return {**files, "model.onnx": data}, log


# ------------------------------------------------------------------------------------------------------ damage: XML


KINDS = (
    *("Gather", "GatherND", "GatherElements", "GatherTree", "ScatterUpdate", "ScatterElementsUpdate", "Const"),
    *("ScatterNDUpdate", "Parameter", "Result", "Loop", "If", "TensorIterator", "None", "Softmax"),
)


def change_xml_attribute(net: ElementTree.Element, files: Files, rng: random.Random) -> str:
    found = rng.choice([each for each in net.iter() if each.attrib])
    name = rng.choice([*found.attrib, "id"])
    old = found.get(name, "")
    others = [value for each in net.iter(found.tag) for key, value in each.attrib.items() if key == name]
    number = rng.choice((rng.choice(INTEGERS), rng.randrange(9)))
    value = rng.choice((rng.choice(TEXTS), str(number), str(number), rng.choice([*others, "0"])))
    if rng.random() < 0.15 and old:
        del found.attrib[name]
        return f"<{found.tag}> lost {name}"
    found.set(name, value.replace("\0", ""))
    return f"<{found.tag} {name}> {old[:30]!r} -> {value[:40]!r}"


def change_kind(net: ElementTree.Element, files: Files, rng: random.Random) -> str:
    """Another type or opset of a layer."""
    from gatherscatter.openvino.layers.table import LAYERS

    found = rng.choice(net.findall("layers/layer"))
    if rng.random() < 0.7:
        found.set("type", rng.choice((*KINDS, *LAYERS)))
    else:
        found.set("version", rng.choice((*(f"opset{n}" for n in range(20)), "extension", "", "opset" + "9" * 4000)))
    return f"layer {found.get('id')} is a {found.get('type')} {found.get('version', '')[:20]}"


def change_edge(net: ElementTree.Element, files: Files, rng: random.Random) -> str:
    """Cycles, dangling ends, and two edges into one port."""
    edges = net.findall("edges")[0]
    found = rng.choice(list(edges))
    before = dict(found.attrib)
    source = rng.choice(list(edges))
    action = rng.randrange(4)
    if action == 0:
        found.set("from-layer", source.get("to-layer", ""))
        found.set("from-port", str(rng.randrange(5)))
    elif action == 1:
        for name in ("from-layer", "from-port"):
            found.set(name, source.get(name, ""))
    elif action == 2:
        edges.append(ElementTree.Element("edge", found.attrib))
    else:
        edges.remove(found)
    return f"edge {before} -> {found.attrib}"


def change_elements(net: ElementTree.Element, files: Files, rng: random.Random) -> str:
    """Elements left out, doubled, moved and put inside each other; text where none belongs."""
    parents = [each for each in net.iter() if len(each)]
    parent = rng.choice(parents or [net])
    child = rng.choice(list(parent)) if len(parent) else net
    most = LARGEST // len(ElementTree.tostring(child))
    action = rng.choice(("remove", "double", "move", "deep", "text", "many", "attributes"))
    if action == "remove" and child is not net:
        parent.remove(child)
    elif action == "double" and child is not net:
        parent.extend(deepcopy(child) for _ in range(min(rng.choice((1, 2, 70)), most)))
    elif action == "move" and child is not net:
        parent.remove(child)
        rng.choice([each for each in net.iter() if each is not child]).append(child)
    elif action == "deep":
        inner = child
        for _ in range(min(rng.choice((1, 5, 100, 255, 300)), most)):
            inner = ElementTree.SubElement(inner, child.tag, child.attrib)
    elif action == "text":
        child.text = rng.choice(TEXTS).replace("\0", "") * rng.choice((1, 1, 1000))
    elif action == "many":
        for _ in range(min(rng.choice((10, 1000, 20_000)), most)):
            ElementTree.SubElement(parent, rng.choice(("dim", "port", "edge", "layer", "x")), child.attrib)
    else:
        child.attrib.update({f"a{i}": "x" * rng.choice((1, 1000)) for i in range(500)})
    return f"{action} <{child.tag}> in <{parent.tag}>"


def change_constant(net: ElementTree.Element, files: Files, rng: random.Random) -> str:
    """Where a constant is, what it is and how large."""
    found = [each for each in net.iter("data") if each.get("offset")]
    chosen, name = rng.choice(found), rng.choice(("offset", "size", "shape", "element_type"))
    kinds = ("f32", "i64", "i32", "u8", "boolean", "string", "bf16", "u4", "nf4", "", "F32")
    sizes = [",".join(str(rng.choice(INTEGERS)) for _ in range(rng.choice((0, 1, 2, 3, 64, 65))))]
    new = rng.choice({"element_type": kinds, "shape": sizes}.get(name, [str(each) for each in INTEGERS]))
    text = f"constant: {name} {chosen.get(name)!r} -> {new[:40]!r}"
    chosen.set(name, new)
    return text


def change_values(net: ElementTree.Element, files: Files, rng: random.Random) -> str:
    """Other numbers in the .bin, where counts, sizes and indices are."""
    data = files["model.bin"]
    content, at = bytearray(data), rng.randrange(0, len(data) - 7, 4)
    value = rng.choice((rng.choice(INTEGERS), rng.randrange(-5, 9)))
    content[at : at + 8] = value.to_bytes(8, "little", signed=True)
    files["model.bin"] = bytes(content)
    return f"at byte {at} of the .bin: {value}"


IR_MUTATIONS: tuple[Mutation, ...] = (
    *(change_xml_attribute, change_xml_attribute, change_kind, change_edge, change_elements, change_constant),
    *(change_values, change_values, change_weights),
)

PROLOGUES = (
    b'<!DOCTYPE net [<!ENTITY a "aaaaaaaaaa">]>',
    b'<!DOCTYPE net [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
    b'<!DOCTYPE net SYSTEM "file:///etc/passwd">',
    b"<?xml-stylesheet href='file:///etc/passwd'?>",
    b"<!-- " + b"-" * 5000 + b" -->",
    b"<![CDATA[x]]>",
    b'<?xml version="1.1"?>',
    b"\0",
    b" " * 5000,
)
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-7", "utf-8-sig", "cp037", "ascii", "idna", "rot13", "zip")


def around_xml(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Document types, encodings that are not the declared one, and characters that XML does not have."""
    declaration, _, body = data.partition(b"?>")
    action = rng.randrange(4)
    if action == 0:
        chosen = rng.choice(PROLOGUES)
        return rng.choice((declaration + b"?>" + chosen + body, chosen + data, data + chosen)), f"{chosen[:30]!r}"
    if action == 1:
        encoding = rng.choice(ENCODINGS)
        named = f'<?xml version="1.0" encoding="{encoding}"?>'.encode()
        return rng.choice((named + body, named + b"\xff\xfe" + body)), f"declared {encoding}"
    if action == 2:
        encoding = rng.choice(ENCODINGS[:7])
        with contextlib.suppress(UnicodeError):
            return data.decode().replace("utf-8", encoding).encode(encoding), f"written in {encoding}"
    reference = rng.choice((b"&#0;", b"&#xD800;", b"&#10;", b"&#x1F600;", b"&a;", b"&lt;", b"&amp;" * 1000, b"]]>"))
    at = data.find(b'"', rng.randrange(len(data))) + 1
    return data[:at] + reference + data[at:], f"{reference[:10]!r} at {at}"


def damage_ir(files: Files, rng: random.Random) -> tuple[Files, list[str]]:
    data, log = files["model.xml"], []
    assert isinstance(data, bytes)
    style = rng.random()
    if style < 0.8:
        net = ElementTree.fromstring(data)
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
            if len(ElementTree.tostring(net)) < LARGEST:
                log.append(change(IR_MUTATIONS, net, files, rng))
        text = ElementTree.tostring(net, encoding="unicode")
        data = b"<?xml version='1.0' encoding='utf-8'?>\n" + text.encode("utf-8", "xmlcharrefreplace")
    if 0.75 < style < 0.9:
        data, said = around_xml(data, rng)
        log.append(said)
    elif style >= 0.9:
        data = damaged_bytes(data, rng, b"&<>'\"0123456789-,?.opset8f32i64NaN" * 9)
        log.append("bytes")
    return {**files, "model.xml": data}, log


# ------------------------------------------------------------------------------------------------------------- cases


class Case(NamedTuple):
    """A good model, and what its damage is drawn from."""

    model: str
    number: int

    def __str__(self) -> str:
        return f"{self.model} {self.number}"

    @staticmethod
    def parse(text: str) -> Case:
        name, number = text.split()
        if name not in MODELS:
            raise argparse.ArgumentTypeError(f"no model {name!r}; there is {', '.join(MODELS)}")
        return Case(name, int(number))

    def files(self) -> tuple[Files, list[str]]:
        """The damaged files, and what was done to them."""
        rng = random.Random(str(self))
        damage = damage_onnx if self.model.startswith("onnx") else damage_ir
        return damage(MODELS[self.model](), rng)


def write(files: Files, folder: Path) -> Path:
    """Put the files into a new folder ``model``, beside one that is none of its business; the model's path."""
    shutil.rmtree(folder, ignore_errors=True)
    place = folder / "model"
    place.mkdir(parents=True)
    (folder / "secret").write_bytes(b"secret!!" * 64)
    links: Files = {"link": Link("../secret"), "up": Link(".."), "loop": Link("loop"), "folder": Folder()}
    for name, content in {**links, **files}.items():
        path = place / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, Link):
            path.symlink_to(content.target)
        else:
            path.mkdir()
    return place / next(iter(files))


# ---------------------------------------------------------------------------------------------------------- judgement


class Verdict(NamedTuple):
    """What became of one case."""

    ran: bool = False  # to a result, not to an error
    seconds: float = 0.0
    memory: int = 0
    faults: tuple[str, ...] = ()  # a kind of fault, a colon, and details
    trace: str = ""


class Watch:
    """Which files were opened meanwhile, outside of the model's folder and of Python's own."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.found: list[str] = []
        own = (sys.prefix, sys.base_prefix, *sys.path[1:], Path(__file__).parent.parent, Path(onnx.__file__).parent)
        self.allowed = (*(os.path.realpath(path) for path in own if str(path)), os.devnull)
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event == "open" and isinstance(arguments[0], str | bytes):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if not path.startswith((self.folder, *self.allowed)):
                self.found.append(f"opened {path}")
        elif event == "subprocess.Popen" and arguments[0] == sys.executable:
            pass  # regular expressions
        elif event.split(".")[0] in ("socket", "subprocess", "pickle", "shutil") or event in ("os.system", "os.remove"):
            self.found.append(event)

    @contextlib.contextmanager
    def over(self, folder: Path) -> Iterator[None]:
        self.found, self.folder = [], os.path.realpath(folder) + os.sep
        try:
            yield
        finally:
            self.folder = None


class Meter:
    """Processor time of the process, and memory that it got beyond what it had."""

    def __enter__(self) -> Meter:
        reset_peak()
        self.before, self.start = status("VmRSS"), time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds = time.process_time() - self.start
        self.memory = status("VmHWM") - self.before


def reset_peak() -> None:
    """Let the peak of the memory be counted anew; where that can't be done it is that of all cases before, too."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def status(name: str) -> int:
    """Bytes, from what Linux says of the process."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return int(text.partition(f"{name}:")[2].split()[0]) << 10


def limit_addresses() -> None:
    """Memory that is reserved far beyond the limit is refused, whether it would be used or not."""
    if sys.platform == "linux":
        import resource

        most = status("VmSize") + ADDRESSES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def random_inputs(infos: Sequence[Any], rng: random.Random) -> dict[str, Any]:
    """Arrays as they are declared, when that is small; else ones that the model has to refuse."""
    sizes: dict[str | None, int] = {}
    return {info.name: random_input(info, sizes, np.random.default_rng(rng.getrandbits(32))) for info in infos}


def random_input(info: Any, sizes: dict[str | None, int], rng: np.random.Generator) -> Any:
    from gatherscatter.cli.random_inputs import numpy_type
    from gatherscatter.model_interface import ModelError

    shape = [random_size(dim, sizes, rng) for dim in ((2,) if info.shape is None else info.shape)]
    if len(shape) > 64 or np.prod([float(size) for size in shape]) > SMALL:
        shape = [1]
    try:
        dtype = numpy_type(info)
    except ModelError:  # no tensor
        return [np.zeros(2, F32)]
    if dtype.hasobject:
        return np.array(rng.integers(0, 9, shape).astype(str), object).reshape(shape)
    if dtype.kind in "iu" or dtype.name.lstrip("u").startswith("int"):
        return rng.integers(0, rng.choice((1, 2, 4)), shape).astype(dtype)
    return rng.integers(-8, 8, shape).astype(F32).astype(dtype)


def random_size(dim: int | str | None, sizes: dict[str | None, int], rng: np.random.Generator) -> int:
    if isinstance(dim, int):
        return dim
    bounds = re.fullmatch(r"(\d{0,9})\.\.(\d*)", dim or "", re.ASCII)
    if bounds:
        return int(bounds[1] or 0)
    return sizes.setdefault(dim, int(rng.integers(1, 4)))


def one_line_faults(text: str, where: str) -> list[str]:
    """What is wrong with a message."""
    found = []
    if len(text.splitlines()) != 1:
        found.append(f"{where} of {len(text.splitlines())} lines: {text[:200]!r}")
    elif not text.isprintable():
        found.append(f"{where} not printable: {text[:200]!r}")
    if len(text) > LONGEST:
        found.append(f"{where} of {len(text)} characters: {text[:100]!r}")
    return found


def error_faults(error: Exception, stage: str) -> list[str]:
    """Whether this is how loading or running a model may end."""
    from gatherscatter.cli.failures import EXPECTED, wording
    from gatherscatter.errors import OpError
    from gatherscatter.model_interface import ModelError

    name = type(error).__name__
    if isinstance(error, MemoryError) and stage == "load":
        return [f"memory asked for by load: {error}"]
    if stage == "load" and not isinstance(error, ModelError):
        return [f"{name} from load: {str(error)[:200]!r}"]
    if not isinstance(error, EXPECTED):
        return [f"{name} from run: {str(error)[:200]!r}"]
    notes = list(getattr(error, "__notes__", ()))
    own = "message" if isinstance(error, ModelError | OpError) else f"message of {name}"
    faults = one_line_faults(str(error) or name, own)
    faults += [fault for note in notes for fault in one_line_faults(note, "note")]
    return faults + one_line_faults(wording(error), "command's line")


def same(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return repr(a) == repr(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()


def result_faults(loaded: Any, inputs: dict[str, Any], outputs: dict[str, Any]) -> list[str]:
    """What is wrong with a result: the names, or that it is another one the second time."""
    if list(outputs) != list(dict.fromkeys(info.name for info in loaded.outputs)):
        return [f"outputs: {list(outputs)}"]
    first, given = deepcopy(outputs), deepcopy(inputs)
    for value in outputs.values():
        if isinstance(value, np.ndarray) and value.flags.writeable and not value.dtype.hasobject:
            value.fill(0)  # the caller may do what he likes with a result
    second = loaded.run(given)
    return [f"another result the second time: {name!r}" for name in first if not same(first[name], second[name])]


def judge(path: Path, rng: random.Random, watch: Watch, command_line: bool) -> Verdict:
    """Load and run a model, and say what was wrong with how that ended."""
    from gatherscatter.models import load

    faults: list[str] = []
    stage, ran, trace = "load", False, ""
    with Meter() as meter, watch.over(path.parent), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            loaded = load(path)
            stage = "run"
            inputs = random_inputs(loaded.inputs, rng)
            outputs = loaded.run(deepcopy(inputs))  # a result may be an input
            ran = True
        except Exception as error:
            faults += error_faults(error, stage)
            trace = traceback.format_exc()
    faults += [f"{found.rstrip()} in {stage}" for found in watch.found]
    faults += [f"warning {one.category.__name__}: {one.message}" for one in warned
               if not issubclass(one.category, DeprecationWarning)]  # fmt: skip
    faults += limit_faults(meter, stage)
    if ran and path.suffix == ".onnx":
        faults += info_faults(path, outputs)
    if ran and random_stateless(path):
        faults += result_faults(loaded, inputs, outputs)
    faults += tool_faults(path, watch)
    if command_line:
        faults += command_faults(path, watch)
    return Verdict(ran, meter.seconds, meter.memory, tuple(faults), trace)


def plan_session(path: Path) -> object:
    """Cut a model as InferenceSession does before ONNX Runtime gets any of it."""
    from gatherscatter.model_interface import ModelError
    from gatherscatter.onnx.session import _read
    from gatherscatter.onnx.session.facts import Facts
    from gatherscatter.onnx.session.family_nodes import family_nodes
    from gatherscatter.onnx.session.partition import partition

    try:
        facts = Facts(_read(path), path)
        known = family_nodes(facts, 0)
        ours = {position for position, made in known.items() if made.needed}
        return partition(facts.model.graph, ours, known.keys() - ours, facts.given, [*facts.constants])
    except Exception as error:  # whatever it is: ONNX Runtime gets the whole model then
        raise ModelError("ONNX Runtime has the whole model") from error


def examine(path: Path) -> object:
    from gatherscatter.doctor import examine

    return examine(path)


def convert(path: Path) -> object:
    from gatherscatter.openvino import convert

    return convert(path)


TOOLS: dict[str, Callable[[Path], object]] = {"doctor": examine, "convert": convert, "session": plan_session}


def tool_faults(path: Path, watch: Watch) -> list[str]:
    """Whether the tools that read a model end in a result or a ModelError, within the limits."""
    from gatherscatter.model_interface import ModelError

    faults = []
    for name, tool in TOOLS.items():
        if tool is plan_session and path.suffix != ".onnx":
            continue
        with Meter() as meter, watch.over(path.parent), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                tool(path)
            except ModelError as error:
                faults += one_line_faults(str(error), f"{name}'s message")
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                faults.append(
                    f"{type(error).__name__} from {name} at {Path(where.filename).name}: {str(error)[:200]!r}"
                )
        faults += [*limit_faults(meter, name), *(f"{name} {found}" for found in watch.found)]
    return faults


def info_faults(path: Path, outputs: dict[str, Any]) -> list[str]:
    """What `infer_model` says of the outputs and does not hold."""
    from gatherscatter.onnx.external_data import ExternalData
    from gatherscatter.onnx.rewrite import normalise
    from gatherscatter.onnx.value_info import infer_model

    made = onnx.load(path, load_external_data=False)
    normalise(made)
    scope = infer_model(made, ExternalData(path))
    faults = []
    for name, value in outputs.items():
        info = scope.find(name)
        if not isinstance(value, np.ndarray) or value.size == 0:  # a loop without iterations gives what it declares
            continue
        if info.sizes is not None and (
            len(info.sizes) != value.ndim
            or any(size not in (None, dim) for size, dim in zip(info.sizes, value.shape, strict=True))
        ):
            faults.append(f"inferred shape: {info.shape} of {name!r}, which has {value.shape}")
        if info.values is not None and any(
            said not in (None, found) for said, found in zip(info.values, value.ravel().tolist(), strict=True)
        ):
            faults.append(f"inferred values: {info.values} of {name!r}, which has {value.tolist()}")
    return faults


def random_stateless(path: Path) -> bool:
    """Whether the model draws nothing at random."""
    content = path.read_bytes()
    return not any(word in content for word in (b"Random", b"Dropout", b"Bernoulli", b"Multinomial"))


def limit_faults(meter: Meter, stage: str) -> list[str]:
    faults = [f"{meter.seconds:.1f} s in {stage}"] if meter.seconds > SECONDS else []
    return faults + ([f"{meter.memory >> 20} MB in {stage}"] if meter.memory > MEMORY else [])


def command_faults(path: Path, watch: Watch) -> list[str]:
    """Whether ``gatherscatter run`` ends in a table or in one line."""
    from command_line import call

    with Meter() as meter, watch.over(path.parent), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = call("run", path, "--random-inputs")
    faults = limit_faults(meter, "command")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        where = traceback.format_exception(result.exception)[-2:]
        return [*faults, f"command raised {type(result.exception).__name__}: {' '.join(where)[:300]}"]
    if result.exit_code not in (0, 2):
        faults.append(f"command: exit code {result.exit_code}")
    if result.exit_code == 2:
        faults += one_line_faults(result.stderr.removesuffix("\n"), "command's output")
    return faults + [f"command {found}" for found in watch.found]


LOOPS = (b"Loop", b"Scan")


def excused(case: Case, fault: str) -> bool:
    """Work that the model itself describes: loops, and values of a size that is itself a value."""
    data = next(iter(case.files()[0].values()))
    if not isinstance(data, bytes) or "load" in fault:
        return False
    return any(word in data for word in LOOPS) and (fault.startswith("hang") or " s in run" in fault)


# ---------------------------------------------------------------------------------------------------------- processes


def work(connection: Connection, log: str) -> None:
    """Judge case after case; the end of a process that takes too long is where it stood."""
    import gatherscatter.openvino.ir  # noqa: F401  what is loaded before isn't counted
    from gatherscatter.models import load

    file = Path(log).open("w")  # noqa: SIM115  open as long as the process is there
    os.dup2(file.fileno(), 2)
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        for make in MODELS.values():
            path = write(make(), Path(folder))
            loaded = load(path)
            loaded.run(random_inputs(loaded.inputs, random.Random(0)))
            tool_faults(path, watch)
        limit_addresses()
        while True:
            try:
                case, command_line = connection.recv()
            except EOFError:
                return
            path = write(case.files()[0], Path(folder))
            faulthandler.dump_traceback_later(HANG, exit=True, file=file)
            verdict = judge(path, random.Random(case.number), watch, command_line)
            faulthandler.cancel_dump_traceback_later()
            connection.send(verdict)


class Judge:
    """A process that judges cases; a new one takes its place when it ends."""

    def __init__(self) -> None:
        self.log = tempfile.NamedTemporaryFile("r", suffix=".log")  # noqa: SIM115  closed with the judge
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=work, args=(other, self.log.name), daemon=True)
        self.process.start()
        other.close()

    def judge(self, case: Case) -> Verdict:
        try:
            self.connection.send((case, case.number % CLI_EVERY == 0))
            if self.connection.poll(6 * HANG):
                return self.connection.recv()
            fault = "hang, for ever"
        except (EOFError, OSError):
            self.process.join(HANG)
            fault = f"crash: {self.process.exitcode}"
        self.stop()
        trace = Path(self.log.name).read_text(errors="replace")[-3000:]
        self.start()
        return Verdict(faults=(f"hang of {HANG} s" if "Timeout" in trace else fault,), trace=trace)

    def stop(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


class Summary:
    """What was found so far, one example of each."""

    def __init__(self) -> None:
        self.cases = self.results = self.faulty = 0
        self.seconds, self.slowest = 0.0, ""
        self.memory, self.largest = 0, ""
        self.found: dict[str, list[str]] = {}

    def add(self, case: Case, verdict: Verdict) -> None:
        self.cases += 1
        self.results += verdict.ran
        if verdict.seconds > self.seconds:
            self.seconds, self.slowest = verdict.seconds, str(case)
        if verdict.memory > self.memory:
            self.memory, self.largest = verdict.memory, str(case)
        for fault in verdict.faults:
            self.faulty += 1
            place = [line.strip() for line in verdict.trace.splitlines() if "File " in line][-1:]
            kind = " ".join([re.sub(r"[0-9.]+", "#", fault.partition(":")[0]), *place])
            self.found.setdefault(kind, []).append(f"{case}: {fault}")

    def __str__(self) -> str:
        peaks = f"most time {self.seconds:.2f} s ({self.slowest}), most memory {self.memory >> 20} MB ({self.largest})"
        lines = [f"{self.cases} files, {self.results} with a result; {peaks}; {len(self.found)} kinds of faults"]
        for kind, examples in sorted(self.found.items(), key=lambda item: -len(item[1])):
            lines.append(f"{len(examples)} times: {kind}")
            lines += [f"    {example[:300]}" for example in examples[:3]]
        return "\n".join(lines)


def cases(seed: int, models: Sequence[str]) -> Iterator[Case]:
    """The models in turn."""
    for number in range(seed, sys.maxsize):
        yield Case(models[number % len(models)], number)


def fuzz(end: Callable[[int], bool], seed: int, models: Sequence[str]) -> Summary:
    """Judge cases until it is the end; a case that went wrong is judged again by a fresh process."""
    summary, judging = Summary(), Judge()
    try:
        for case in cases(seed, models):
            if end(summary.cases):
                break
            verdict = judging.judge(case)
            if verdict.faults and not any(fault.startswith(("hang", "crash")) for fault in verdict.faults):
                verdict = judging.judge(case)
            kept = tuple(fault for fault in verdict.faults if not excused(case, fault))
            summary.add(case, verdict._replace(faults=kept))
            if summary.cases % 1000 == 0:
                print(f"\r{summary.cases:,} files, now {case}", end="", file=sys.stderr, flush=True)
    finally:
        judging.stop()
    return summary


def again(case: Case, keep: Path | None) -> Summary:
    """One case, with all there is to say of it."""
    files, log = case.files()
    print(*log, sep="\n")
    if keep:
        print("written:", write(files, keep))
    summary, judging = Summary(), Judge()
    verdict = judging.judge(case)
    judging.stop()
    summary.add(case, verdict)
    print(verdict.trace)
    return summary


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=float, default=float("inf"), help="at most so many")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**40)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--case", type=Case.parse)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where to write the files of the case")
    given = parser.parse_args()
    stop = time.monotonic() + given.seconds
    if given.case:
        summary = again(given.case, given.keep)
    else:
        print(f"seed {given.seed}", flush=True)
        summary = fuzz(lambda done: done >= given.cases or time.monotonic() > stop, given.seed, given.models)
    print(summary)
    return 1 if summary.found else 0


if __name__ == "__main__":
    sys.exit(main())
