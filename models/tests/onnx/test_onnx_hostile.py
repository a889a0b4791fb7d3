"""Invalid ONNX files give a clear one-line error, fast, and only take memory in proportion to the file."""

from __future__ import annotations

import os
import random
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper

from gatherscatter_models.interface import ModelError
from gatherscatter_models.loading import load
from tests.support.onnx_graphs import function, graph, model, node, referring

F32, I64 = np.float32, np.int64
MEGABYTE = 1 << 20


@pytest.fixture(autouse=True)
def modest() -> Iterator[None]:
    """Limit each test to 32 MB of Python and NumPy memory, and to a time that a slow machine can meet."""
    tracemalloc.start()
    start = time.monotonic()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 * MEGABYTE
    assert time.monotonic() - start < 20


def refusal(made: onnx.ModelProto | Path) -> str:
    """Return the single line with which a model is refused."""
    with pytest.raises(ModelError) as caught:
        load(made)
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) < 600
    return text


def refused(made: onnx.ModelProto | Path, reason: str) -> None:
    assert reason in refusal(made)


def small() -> onnx.ModelProto:
    """Return a small valid model with many features, for tests to damage."""
    then = graph([node("ScatterND", "x at u", "t", "set")], {}, {"t": (F32, [3])}, {"u": np.array([1], F32)})
    otherwise = graph([node("Put", "x", "e", "put", domain="my")], {}, {"e": (F32, [3])})
    put = function(
        "my",
        "Put",
        "x",
        "y",
        [
            node("Constant", "", "at", value=onnx.numpy_helper.from_array(np.array([0]))),
            node("Constant", "", "u", value=onnx.numpy_helper.from_array(np.array([5], F32))),
            node("ScatterElements", "x at u", "y", "put", axis=0),
        ],
    )
    made = model(
        [
            node("Constant", "", "c", value=onnx.numpy_helper.from_array(np.array([1, 2, 3], F32))),
            node("Add", "x0 c", "x", "add"),
            node("If", "flag", "y", "choose", then_branch=then, else_branch=otherwise),
            node("Gather", "words one", "word"),
        ],
        {"x0": (F32, [3]), "flag": (np.bool_, [])},
        {"y": (F32, [3]), "word": (object, [])},
        {"at": np.array([[1]]), "words": np.array(["a", "b"], object), "one": np.array(1)},
        functions=[put],
        domains={"my": 1},
    )
    load(made)
    return made


# Files that are not models


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x00" * 50, b"\xff" * 50, b'{"ir_version": 8}', b"\x08\x0a"])
def test_no_model(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    assert refusal(path).startswith(f"{path}: not an ONNX model")


def test_every_truncation(tmp_path: Path) -> None:
    content = small().SerializeToString()
    path = tmp_path / "model.onnx"
    for length in range(0, len(content), 3):
        path.write_bytes(content[:length])
        refusal(path)


def test_random_damage() -> None:
    """Files with any bytes are loaded or refused with one line."""
    content = small().SerializeToString()
    rng = random.Random(3)
    refusals: list[str] = []
    for _ in range(400):
        damaged = bytearray(content)
        for _ in range(rng.choice([1, 1, 2, 8])):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        made = onnx.ModelProto()
        try:
            made.ParseFromString(bytes(damaged))
        except Exception:  # protobuf already refuses these
            continue
        try:
            load(made)
        except ModelError as error:
            refusals.append(str(error))
    assert len(refusals) > 50
    assert not any("\n" in text for text in refusals)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    refused(tmp_path / "none.onnx", "none.onnx: no such file")
    refused(tmp_path, "not a regular file")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.onnx")
    refused(tmp_path / "model.onnx", "not a regular file")


def test_a_file_too_large_for_protobuf_isnt_read(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.truncate(3 << 30)
    refused(path, "3221225472 bytes are more than an ONNX file can have")


# Tensors with false descriptions, anywhere in a model


def _initializer(made: onnx.ModelProto) -> TensorProto:
    return made.graph.initializer[0]


def _constant(made: onnx.ModelProto) -> TensorProto:
    return made.graph.node[0].attribute[0].t


def _in_branch(made: onnx.ModelProto) -> TensorProto:
    return next(a for a in made.graph.node[2].attribute if a.name == "then_branch").g.initializer[0]


def _in_function(made: onnx.ModelProto) -> TensorProto:
    return made.functions[0].node[1].attribute[0].t


def tensor(data_type: int = TensorProto.FLOAT, dims: tuple[int, ...] = (3,), **fields: Any) -> TensorProto:
    return TensorProto(data_type=data_type, dims=dims, **fields)


LIES = {
    "negative": (tensor(dims=(-3,), raw_data=b"\0" * 12), "shape [-3] has a negative dimension"),
    "two negatives": (tensor(dims=(-3, -1), raw_data=b"\0" * 12), "shape [-3, -1] has a negative dimension"),
    "huge": (tensor(dims=(1 << 40,), raw_data=b"\0" * 12), "takes 4398046511104 bytes; raw_data has 12"),
    "overflow": (tensor(dims=(1 << 40, 1 << 40)), "product of shape [1099511627776, 1099511627776] overflows"),
    "overflow to few": (tensor(dims=(1 << 32, 1 << 32), raw_data=b""), "overflows"),
    "zero hides overflow": (tensor(dims=(1 << 40, 0, 1 << 40)), "overflows"),
    "rank": (tensor(dims=(1,) * 65, raw_data=b"\0" * 4), "rank 65 is more than 64"),
    "short": (tensor(raw_data=b"\0" * 11), "float32 [3] takes 12 bytes; raw_data has 11"),
    "long": (tensor(raw_data=b"\0" * 13), "float32 [3] takes 12 bytes; raw_data has 13"),
    "packed": (tensor(TensorProto.INT4, raw_data=b"\0" * 3), "int4 [3] takes 2 bytes; raw_data has 3"),
    "no data": (tensor(), "shape [3] needs 3 values in float_data; it has 0"),
    "few values": (tensor(float_data=[1, 2]), "needs 3 values in float_data; it has 2"),
    "complex": (tensor(TensorProto.COMPLEX64, float_data=[1, 2, 3]), "needs 6 values in float_data; it has 3"),
    "wrong field": (tensor(int32_data=[1, 2, 3]), "float32 data must be in float_data, not in int32_data"),
    "two fields": (tensor(raw_data=b"\0" * 12, float_data=[1, 2, 3]), "data in raw_data and in float_data"),
    "undefined": (tensor(TensorProto.UNDEFINED, raw_data=b"\0" * 12), "0 is not an element type"),
    "unknown type": (tensor(999, raw_data=b"\0" * 12), "999 is not an element type"),
    "raw strings": (tensor(TensorProto.STRING, raw_data=b"abc"), "strings can't be in raw_data"),
    "few strings": (tensor(TensorProto.STRING, string_data=[b"a"]), "needs 3 values in string_data; it has 1"),
    "segment": (tensor(segment=TensorProto.Segment(begin=0, end=3), raw_data=b"\0" * 12), "segments aren't supported"),
}


@pytest.mark.parametrize("place", [_initializer, _constant, _in_branch, _in_function])
@pytest.mark.parametrize("lie", LIES)
def test_tensor_that_lies(place: Callable[[onnx.ModelProto], TensorProto], lie: str) -> None:
    bad, reason = LIES[lie]
    made = small()
    target = place(made)
    name = target.name
    target.CopyFrom(bad)
    target.name = name
    refused(made, reason)


def test_the_place_of_a_bad_tensor_is_named() -> None:
    made = small()
    _in_branch(made).raw_data = b"123"
    refused(made, "initializer 'u' of 'then_branch' of If 'choose' (3/4): float32 [1] takes 4 bytes; raw_data has 3")
    made = small()
    _in_function(made).raw_data = b"123"
    refused(made, "attribute 'value' of Constant (2/3) of function my.Put: float32 [1] takes 4 bytes")


def test_strings_that_would_be_padded_to_gigabytes() -> None:
    """Ten thousand short strings and one of 100 kB would take 1 GB as fixed-width characters."""
    texts = [b"a"] * 10_000 + [b"b" * 100_000]
    made = small()
    _constant(made).CopyFrom(tensor(TensorProto.STRING, (len(texts),), string_data=texts))
    made.graph.node[1].op_type = "StringConcat"
    refused(made, "strings of very different lengths")
    made = small()
    words = next(each for each in made.graph.initializer if each.name == "words")
    words.CopyFrom(tensor(TensorProto.STRING, (len(texts),), string_data=texts, name="words"))
    results = load(made).run({"x0": np.zeros(3, F32), "flag": np.array(True)})
    assert results["word"] == "a"


def test_strings_that_arent_text() -> None:
    made = small()
    words = next(each for each in made.graph.initializer if each.name == "words")
    words.string_data[0] = b"\xff\xfe"
    refused(made, "initializer 'words': a string is not UTF-8")
    made = small()
    _constant(made).CopyFrom(tensor(TensorProto.STRING, (1,), string_data=[b"\xff"]))
    refusal(made)


def test_sparse_tensors() -> None:
    sparse = onnx.SparseTensorProto(dims=[1 << 40])
    sparse.values.CopyFrom(tensor(dims=(1,), raw_data=b"\0" * 4, name="s"))
    sparse.indices.CopyFrom(tensor(TensorProto.INT64, dims=(1,), raw_data=b"\0" * 8))
    made = small()
    made.graph.sparse_initializer.append(sparse)
    refused(made, "sparse initializers aren't supported")
    made = small()
    value = made.graph.node[0].attribute[0]
    value.CopyFrom(onnx.AttributeProto(name="sparse_value", type=AttributeProto.SPARSE_TENSOR, sparse_tensor=sparse))
    refused(made, "sparse tensors aren't supported")


def test_a_default_must_fit_the_input_it_is_for() -> None:
    made = small()
    made.graph.input.append(helper.make_tensor_value_info("one", TensorProto.FLOAT, []))
    refused(made, "input 'one' must be float32; got int64")


# External data


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return the folder of a model, next to a file that does not belong to the model."""
    (tmp_path / "secret").write_bytes(b"\0" * 64)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "good.bin").write_bytes(b"\0" * 64)
    return tmp_path / "model"


def stored(folder: Path, place: Callable[[onnx.ModelProto], TensorProto], **entries: str) -> Path:
    """Return a model with one external tensor of 3 floats."""
    made = small()
    target = place(made)
    name = target.name
    target.CopyFrom(tensor(name=name, data_location=TensorProto.EXTERNAL))
    for key, value in entries.items():
        target.external_data.add(key=key, value=value)
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return path


EXTERNAL_LIES = {
    "parent": ({"location": "../secret"}, "is outside of the model's folder"),
    "roundabout": ({"location": "sub/../../secret"}, "is outside of the model's folder"),
    "backslash": ({"location": "..\\secret"}, "is outside of the model's folder"),
    "absolute": ({"location": "/etc/hostname"}, "is outside of the model's folder"),
    "drive": ({"location": "C:\\secret"}, "is outside of the model's folder"),
    "share": ({"location": "\\\\server\\share"}, "is outside of the model's folder"),
    "missing": ({"location": "none.bin"}, "external data file 'none.bin' does not exist"),
    "long name": ({"location": "x" * 5000}, "external data file"),
    "nameless": ({}, "external data without a file name"),
    "empty name": ({"location": ""}, "external data without a file name"),
    "null in name": ({"location": "good.bin\0"}, "external data without a file name"),
    "folder": ({"location": "."}, "is not a regular file"),
    "offset": ({"location": "good.bin", "offset": "64"}, "bytes 64 to 76 are outside of 'good.bin', which has 64"),
    "huge offset": ({"location": "good.bin", "offset": "9" * 19}, "are outside of 'good.bin'"),
    "huger offset": ({"location": "good.bin", "offset": "9" * 40}, "of its external data is not a byte count"),
    "negative offset": (
        {"location": "good.bin", "offset": "-4"},
        "offset '-4' of its external data is not a byte count",
    ),
    "word offset": ({"location": "good.bin", "offset": "four"}, "is not a byte count"),
    "length": ({"location": "good.bin", "length": "16"}, "shape [3] takes 12 bytes; length says 16"),
    "huge length": ({"location": "good.bin", "length": "9" * 18}, "shape [3] takes 12 bytes; length says"),
    "end": ({"location": "good.bin", "offset": "60", "length": "12"}, "bytes 60 to 72 are outside of 'good.bin'"),
}


@pytest.mark.parametrize("place", [_initializer, _constant, _in_branch, _in_function])
@pytest.mark.parametrize("lie", EXTERNAL_LIES)
def test_external_data_that_lies(outside: Path, place: Callable[[onnx.ModelProto], TensorProto], lie: str) -> None:
    entries, reason = EXTERNAL_LIES[lie]
    path = stored(outside, place, **entries)
    text = refusal(path)
    assert text.startswith(f"{path}: ")
    assert reason in text


@pytest.mark.parametrize("place", [_initializer, _constant, _in_branch, _in_function])
def test_links_out_of_the_folder(outside: Path, place: Callable[[onnx.ModelProto], TensorProto]) -> None:
    (outside / "link.bin").symlink_to(outside.parent / "secret")
    (outside / "up").symlink_to(outside.parent)
    (outside / "circle.bin").symlink_to("circle.bin")
    (outside / "inside.bin").symlink_to("good.bin")
    refused(stored(outside, place, location="link.bin"), "'link.bin' is outside of the model's folder")
    refused(stored(outside, place, location="up/secret"), "'up/secret' is outside of the model's folder")
    refused(stored(outside, place, location="circle.bin"), "external data file 'circle.bin' does not exist")
    if place is not _initializer:  # with `at`, the model would need the original shape to load
        load(stored(outside, place, location="inside.bin"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_external_data_in_a_pipe(outside: Path) -> None:
    os.mkfifo(outside / "pipe")
    refused(stored(outside, _initializer, location="pipe"), "is not a regular file")


def test_external_data_of_a_huge_shape(outside: Path) -> None:
    path = stored(outside, _initializer, location="good.bin")
    made = onnx.load(path, load_external_data=False)
    made.graph.initializer[0].dims[:] = [1 << 38]
    path.write_bytes(made.SerializeToString())
    refused(path, "bytes 0 to 1099511627776 are outside of 'good.bin', which has 64")


def test_external_data_of_strings(outside: Path) -> None:
    path = stored(outside, _initializer, location="good.bin")
    made = onnx.load(path, load_external_data=False)
    made.graph.initializer[0].data_type = TensorProto.STRING
    path.write_bytes(made.SerializeToString())
    refused(path, "strings can't be external data")


def test_external_data_of_a_model_in_memory(outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory of the process is not the folder of the model."""
    monkeypatch.chdir(outside)
    for place in (_initializer, _constant, _in_branch, _in_function):
        made = onnx.load(stored(outside, place, location="good.bin"), load_external_data=False)
        refused(made, "its data is in another file; give the model's path instead of a ModelProto")


# Graphs


X = {"x": (F32, [3])}
Y = {"y": (F32, [3])}
NO_STATE = graph([node("Identity", "go", "on")], {"i": (I64, []), "go": (np.bool_, [])}, {"on": (np.bool_, [])})


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([node("Neg", "y", "y")], "Neg (1/1): its input 'y' is the output of a later node, or part of a cycle"),
        ([node("Neg", "z", "y"), node("Neg", "y", "z")], "Neg (1/2): its input 'z' is the output of a later node"),
        ([node("Neg", "b", "y"), node("Neg", "x", "b")], "Neg (1/2): its input 'b' is the output of a later node"),
        ([node("Neg", "none", "y")], "Neg (1/1): its input 'none' isn't defined anywhere"),
        ([node("Neg", "x", "y"), node("Neg", "x", "y")], "output 'y' of Neg (2/2): there is a value of that name"),
        ([node("Neg", "x", "x"), node("Neg", "x", "y")], "output 'x' of Neg (1/2): there is a value of that name"),
        ([node("Neg", "x", "z")], "output 'y' is not an output of any node"),
        ([], "output 'y' is not an output of any node"),
        ([node("Gather", "x", "y")], "Gather (1/1): Node with schema(::Gather:13) has input size 1"),
        ([node("Gather", "x x x", "y")], "has input size 3 not in range [min=2, max=2]"),
        ([node("Gather", "x x", "y", axis="one")], "Gather (1/1): Mismatched attribute type"),
        ([node("Gather", "x x", "y", "look", axes=1)], "Gather 'look' (1/1): Unrecognized attribute: axes"),
        (
            [node("Gahter", "x x", "y", "look")],
            "Gahter 'look' (1/1): ONNX defines no such operator, and the model has no function",
        ),
        (
            [node("Thing", "x", "y", domain="far.away")],
            "far.away.Thing (1/1): no opset of domain",
        ),
        (
            [node("Thing", "x", "y", domain="near")],
            "near.Thing (1/1): ONNX defines no such operator, and the model has no function",
        ),
        ([node("TensorScatter", "x x", "y")], "No Op registered for TensorScatter with domain_version of 18"),
        ([node("If", "x", "y")], "If (1/1): Required attribute 'else_branch' is missing"),
        ([referring(node("Gather", "x x", "y"), "axis", "a", 2)], "refers to an attribute of a function"),
        ([node("Loop", "- - x", "y", body=graph([], {}, {}))], "the body of Loop takes iteration and condition"),
        ([node("Loop", "- - x", "y", body=NO_STATE)], "Loop has 1 carried values; its body takes 0"),
        ([node("Long\n\x1b[31m" * 999, "x", "y")], "Long (1/1): ONNX defines no such operator"),
        ([node("Red\x1b[31m" * 999, "x", "y")], "(1/1): ONNX defines no such operator"),
    ],
)
def test_bad_nodes(nodes: list[onnx.NodeProto], reason: str) -> None:
    refused(model(nodes, X, Y, domains={"near": 1}), reason)


def test_an_attribute_given_twice() -> None:
    bad = node("Gather", "x x", "y", axis=0)
    bad.attribute.append(helper.make_attribute("axis", 1))
    refused(model([bad], X, Y), "Gather (1/1): two attributes have the same name")


def test_names_given_twice() -> None:
    made = model([node("Neg", "x", "y")], X, Y, {"c": np.zeros(1)})
    made.graph.initializer.append(made.graph.initializer[0])
    refused(made, "initializer 'c': there is one of that name already")
    made = model([node("Neg", "x", "y")], X, Y)
    made.graph.input.append(made.graph.input[0])
    refused(made, "input 'x': there is a value of that name already")
    made = small()
    branch = next(a for a in made.graph.node[2].attribute if a.name == "then_branch").g
    branch.initializer.append(branch.initializer[0])
    refused(made, "two initializers of 'then_branch' of If 'choose' (3/4) have the same name")
    made = small()
    branch = next(a for a in made.graph.node[2].attribute if a.name == "then_branch").g
    branch.node[0].output[0] = branch.output[0].name = "x0"
    refused(made, "output 'x0' of ScatterND 'set' (1/1) of 'then_branch' of If 'choose' (3/4): an enclosing graph has")


def test_nameless_values() -> None:
    made = model([node("Neg", "x", "y")], X, Y)
    made.graph.input.append(onnx.ValueInfoProto())
    refused(made, "an input has no name")
    made = model([node("Neg", "x", "y")], X, Y)
    made.graph.initializer.append(tensor(raw_data=b"\0" * 12))
    refused(made, "nameless initializer")


@pytest.mark.parametrize("opset", [0, -1, onnx.defs.onnx_opset_version() + 1, 1 << 40])
def test_unsupported_opsets(opset: int) -> None:
    made = model([node("Neg", "x", "y")], X, Y)
    made.opset_import[0].version = opset
    refused(made, f"opset {opset} isn't supported; the installed onnx package has 1 to ")
    made = small()
    made.functions[0].opset_import[0].version = opset
    refused(made, f"opset {opset} of function my.Put isn't supported")


def test_missing_and_contradicting_opsets() -> None:
    made = model([node("Neg", "x", "y")], X, Y)
    made.opset_import.append(helper.make_opsetid("ai.onnx", 11))
    refused(made, "two opsets of domain 'ai.onnx' are imported")
    del made.opset_import[:]
    refused(made, "Neg (1/1): no opset of domain 'ai.onnx' is imported")


def test_an_ir_of_the_future() -> None:
    made = model([node("Neg", "x", "y")], X, Y)
    made.ir_version = 1000
    refused(made, "IR version 1000 is newer than the installed onnx package")


def calling(functions: list[onnx.FunctionProto], call: onnx.NodeProto | None = None) -> onnx.ModelProto:
    return model([call or node("F", "x", "y", domain="my")], X, Y, functions=functions, domains={"my": 1})


def test_functions_that_call_themselves() -> None:
    own = {"my": 1}
    once = function("my", "F", "x", "y", [node("F", "x", "y", domain="my")], domains=own)
    refused(calling([once]), "function my.F calls itself")
    first = function("my", "F", "x", "y", [node("G", "x", "y", domain="my")], domains=own)
    second = function("my", "G", "x", "y", [node("F", "x", "y", domain="my")], domains=own)
    refused(calling([first, second]), "function my.F calls itself")


def test_functions_called_wrongly() -> None:
    good = function("my", "F", "x", "y", [node("Neg", "x", "y")])
    load(calling([good]))
    refused(calling([good], node("F", "x x", "y", domain="my")), "the function has 1 inputs and 1 outputs")
    refused(calling([good, good]), "two functions have the same name")
    needy = function("my", "F", "x", "y", [node("Neg", "x", "y")], attributes=["a"])
    refused(calling([needy]), "my.F (1/1): attribute 'a' of the function is missing")
    undefined = function("my", "F", "x", "y", [node("Neg", "z", "y")])
    refused(calling([undefined]), "Neg (1/1) of function my.F: its input 'z' isn't defined anywhere")
    elsewhere = function("my", "F", "x", "y", [node("G", "x", "y", domain="other")])
    refused(calling([elsewhere]), "other.G (1/1) of function my.F: no opset of domain 'other' is imported")
    unimported = model([node("F", "x", "y", domain="my")], X, Y, functions=[good])
    refused(unimported, "no opset of domain 'my' is imported")


def nested(depth: int) -> onnx.ModelProto:
    """Return nested graphs."""
    made = model([], {**X, "flag": (np.bool_, [])}, {"t0": (F32, [3])})
    inner = made.graph
    for level in range(depth):
        branch = inner.node.add(op_type="If", input=["flag"], output=[f"t{level}"])
        inner = branch.attribute.add(name="then_branch", type=AttributeProto.GRAPH).g
        inner.name = "then"
        inner.output.add(name=f"t{level + 1}")
        branch.attribute.add(name="else_branch", type=AttributeProto.GRAPH).g.CopyFrom(_other(level))
    inner.node.append(node("Identity", "x", f"t{depth}"))
    return made


@pytest.mark.parametrize("depth", [60, 400])
def test_graphs_inside_each_other(depth: int) -> None:
    """The depth exceeds that of any file: protobuf refuses to parse more than a hundred nested messages."""
    refused(nested(depth), "a part of it can't be read")


def test_graphs_inside_each_other_as_deep_as_a_file_can_be(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(nested(31).SerializeToString())
    result = load(path).run({"x": [1, 2, 3], "flag": np.array(True)})
    assert result["t0"].tolist() == [1, 2, 3]
    path.write_bytes(nested(40).SerializeToString())
    refused(path, "not an ONNX model")


def _other(level: int) -> onnx.GraphProto:
    return graph([node("Identity", "x", f"e{level}")], {}, {f"e{level}": (F32, [3])})


def test_a_file_of_many_empty_nodes_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    nodes = b"\x0a\x00" * 100_000
    length = len(nodes)
    size = bytes([length & 0x7F | 0x80, length >> 7 & 0x7F | 0x80, length >> 14])
    path.write_bytes(b"\x08\x08\x3a" + size + nodes)
    refusal(path)
