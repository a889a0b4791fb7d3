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
from gatherscatter_models.onnx import running  # noqa: F401  (its memory is not that of a test)
from tests.support.onnx_graphs import function, graph, model, node

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
    "negative": tensor(dims=(-3,), raw_data=b"\0" * 12),
    "two negatives": tensor(dims=(-3, -1), raw_data=b"\0" * 12),
    "huge": tensor(dims=(1 << 40,), raw_data=b"\0" * 12),
    "overflow": tensor(dims=(1 << 40, 1 << 40)),
    "overflow to few": tensor(dims=(1 << 32, 1 << 32), raw_data=b""),
    "zero hides overflow": tensor(dims=(1 << 40, 0, 1 << 40)),
    "short": tensor(raw_data=b"\0" * 11),
    "long": tensor(raw_data=b"\0" * 13),
    "packed": tensor(TensorProto.INT4, raw_data=b"\0" * 3),
    "no data": tensor(),
    "few values": tensor(float_data=[1, 2]),
    "complex": tensor(TensorProto.COMPLEX64, float_data=[1, 2, 3]),
    "wrong field": tensor(int32_data=[1, 2, 3]),
    "two fields": tensor(raw_data=b"\0" * 12, float_data=[1, 2, 3]),
    "undefined": tensor(TensorProto.UNDEFINED, raw_data=b"\0" * 12),
    "unknown type": tensor(999, raw_data=b"\0" * 12),
    "raw strings": tensor(TensorProto.STRING, raw_data=b"abc"),
    "few strings": tensor(TensorProto.STRING, string_data=[b"a"]),
}


@pytest.mark.parametrize("find_tensor", [_initializer, _constant, _in_branch, _in_function])
@pytest.mark.parametrize("lie", LIES)
def test_tensor_that_lies(find_tensor: Callable[[onnx.ModelProto], TensorProto], lie: str) -> None:
    made = small()
    target = find_tensor(made)
    name = target.name
    target.CopyFrom(LIES[lie])
    target.name = name
    refusal(made)


def test_a_long_string_among_short_ones() -> None:
    """Ten thousand short strings and one of 100 kB would take 1 GB as fixed-width characters."""
    texts = [b"a"] * 10_000 + [b"b" * 100_000]
    made = small()
    words = next(each for each in made.graph.initializer if each.name == "words")
    words.CopyFrom(tensor(TensorProto.STRING, (len(texts),), string_data=texts, name="words"))
    results = load(made).run({"x0": np.zeros(3, F32), "flag": np.array(True)})
    assert results["word"] == "a"


def test_strings_that_arent_text() -> None:
    made = small()
    words = next(each for each in made.graph.initializer if each.name == "words")
    words.string_data[0] = b"\xff\xfe"
    refused(made, "initializer 'words': not a valid TensorProto ('utf-8' codec can't decode byte 0xff")
    made = small()
    _constant(made).CopyFrom(tensor(TensorProto.STRING, (1,), string_data=[b"\xff"]))
    refusal(made)


def test_sparse_tensors() -> None:
    sparse = onnx.SparseTensorProto(dims=[1 << 40])
    sparse.values.CopyFrom(tensor(dims=(1,), raw_data=b"\0" * 4, name="s"))
    sparse.indices.CopyFrom(tensor(TensorProto.INT64, dims=(1,), raw_data=b"\0" * 8))
    made = small()
    made.graph.sparse_initializer.append(sparse)
    refusal(made)
    made = small()
    value = made.graph.node[0].attribute[0]
    value.CopyFrom(onnx.AttributeProto(name="sparse_value", type=AttributeProto.SPARSE_TENSOR, sparse_tensor=sparse))
    refusal(made)


def test_a_default_must_fit_the_input_it_is_for() -> None:
    made = small()
    made.graph.input.append(helper.make_tensor_value_info("one", TensorProto.FLOAT, []))
    refusal(made)


# External data


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return the folder of a model, next to a file that does not belong to the model."""
    (tmp_path / "secret").write_bytes(b"\0" * 64)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "good.bin").write_bytes(b"\0" * 64)
    return tmp_path / "model"


def stored(folder: Path, find_tensor: Callable[[onnx.ModelProto], TensorProto], **entries: str) -> Path:
    """Return a model with one external tensor of 3 floats."""
    made = small()
    target = find_tensor(made)
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
    "nameless": ({}, ""),
    "empty name": ({"location": ""}, "external data without a file name"),
    "null in name": ({"location": "good.bin\0"}, "external data without a file name"),
    "folder": ({"location": "."}, "is not a regular file"),
    "offset": ({"location": "good.bin", "offset": "64"}, ""),
    "huge offset": ({"location": "good.bin", "offset": "9" * 19}, ""),
    "huger offset": ({"location": "good.bin", "offset": "9" * 40}, ""),
    "negative offset": ({"location": "good.bin", "offset": "-4"}, ""),
    "word offset": ({"location": "good.bin", "offset": "four"}, ""),
    "length": ({"location": "good.bin", "length": "16"}, ""),
    "huge length": ({"location": "good.bin", "length": "9" * 18}, ""),
    "end": ({"location": "good.bin", "offset": "60", "length": "12"}, ""),
}


@pytest.mark.parametrize("find_tensor", [_initializer, _constant, _in_branch, _in_function])
@pytest.mark.parametrize("lie", EXTERNAL_LIES)
def test_external_data_that_lies(
    outside: Path, find_tensor: Callable[[onnx.ModelProto], TensorProto], lie: str
) -> None:
    entries, reason = EXTERNAL_LIES[lie]
    path = stored(outside, find_tensor, **entries)
    text = refusal(path)
    assert text.startswith(f"{path}: ")
    assert reason in text


@pytest.mark.parametrize("find_tensor", [_initializer, _constant, _in_branch, _in_function])
def test_links_out_of_the_folder(outside: Path, find_tensor: Callable[[onnx.ModelProto], TensorProto]) -> None:
    (outside / "link.bin").symlink_to(outside.parent / "secret")
    (outside / "up").symlink_to(outside.parent)
    (outside / "circle.bin").symlink_to("circle.bin")
    (outside / "inside.bin").symlink_to("good.bin")
    refused(stored(outside, find_tensor, location="link.bin"), "'link.bin' is outside of the model's folder")
    refused(stored(outside, find_tensor, location="up/secret"), "'up/secret' is outside of the model's folder")
    refused(stored(outside, find_tensor, location="circle.bin"), "external data file 'circle.bin' does not exist")
    if find_tensor is _constant:  # the others need their original shapes
        load(stored(outside, find_tensor, location="inside.bin"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_external_data_in_a_pipe(outside: Path) -> None:
    os.mkfifo(outside / "pipe")
    refused(stored(outside, _initializer, location="pipe"), "is not a regular file")


def test_external_data_of_a_huge_shape(outside: Path) -> None:
    path = stored(outside, _initializer, location="good.bin")
    made = onnx.load(path, load_external_data=False)
    made.graph.initializer[0].dims[:] = [1 << 38]
    path.write_bytes(made.SerializeToString())
    refusal(path)


def test_external_data_of_strings(outside: Path) -> None:
    path = stored(outside, _initializer, location="good.bin")
    made = onnx.load(path, load_external_data=False)
    made.graph.initializer[0].data_type = TensorProto.STRING
    path.write_bytes(made.SerializeToString())
    refusal(path)


def test_external_data_of_a_model_in_memory(outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory of the process is not the folder of the model."""
    monkeypatch.chdir(outside)
    for find_tensor in (_initializer, _constant, _in_branch, _in_function):
        made = onnx.load(stored(outside, find_tensor, location="good.bin"), load_external_data=False)
        refused(made, "its data is in another file; give the model's path instead of a ModelProto")


# Graphs


X = {"x": (F32, [3])}
Y = {"y": (F32, [3])}
NO_STATE = graph([node("Identity", "go", "on")], {"i": (I64, []), "go": (np.bool_, [])}, {"on": (np.bool_, [])})


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([node("Neg", "y", "y")], "input 'y' of node: name: OpType: Neg is not output of any previous nodes"),
        ([node("Neg", "z", "y"), node("Neg", "y", "z")], "input 'z' of node: name: OpType: Neg is not output"),
        ([node("Neg", "b", "y"), node("Neg", "x", "b")], "input 'b' of node: name: OpType: Neg is not output"),
        ([node("Neg", "none", "y")], "input 'none' of node: name: OpType: Neg is not output"),
        ([node("Neg", "x", "y"), node("Neg", "x", "y")], "'y' has been used as output names multiple times"),
        ([node("Neg", "x", "x"), node("Neg", "x", "y")], "'x' has been used as output names multiple times"),
        ([node("Neg", "x", "z")], "output 'y' is not an output of any node"),
        ([], "output 'y' is not an output of any node"),
        ([node("Gather", "x", "y")], "Node with schema(::Gather:13) has input size 1 not in range [min=2, max=2]"),
        ([node("Gather", "x x x", "y")], "has input size 3 not in range [min=2, max=2]"),
        ([node("Gather", "x x", "y", axis="one")], "Mismatched attribute type in ' : axis'. Expected: 'INT'"),
        ([node("Gather", "x x", "y", "look", axes=1)], "Unrecognized attribute: axes for operator Gather"),
        ([node("Gahter", "x x", "y", "look")], "No Op registered for Gahter with domain_version of 18"),
        ([node("Thing", "x", "y", domain="far.away")], "No opset import for domain 'far.away'"),
        ([node("Thing", "x", "y", domain="near")], "Node type 'Thing' from domain 'near' is unknown"),
        ([node("TensorScatter", "x x", "y")], "No Op registered for TensorScatter with domain_version of 18"),
        ([node("If", "x", "y")], "Required attribute 'else_branch' is missing"),
        (
            [node("Loop", "- - x", "y", body=graph([], {}, {}))],
            "(op_type:Loop): [ShapeInferenceError] Graph has 0",
        ),
        ([node("Loop", "- - x", "y", body=NO_STATE)], "(op_type:Loop): [ShapeInferenceError] Graph has 2 inputs"),
        ([node("Long\n\x1b[31m" * 999, "x", "y")], "No Op registered for Long"),
        ([node("Red\x1b[31m" * 999, "x", "y")], "No Op registered for Red"),
    ],
)
def test_bad_nodes(nodes: list[onnx.NodeProto], reason: str) -> None:
    refused(model(nodes, X, Y, domains={"near": 1}), reason)


def test_an_attribute_given_twice() -> None:
    bad = node("Gather", "x x", "y", axis=0)
    bad.attribute.append(helper.make_attribute("axis", 1))
    refused(model([bad], X, Y), "Attribute 'axis' appeared multiple times")


def test_names_given_twice() -> None:
    made = model([node("Neg", "x", "y")], X, Y, {"c": np.zeros(1)})
    made.graph.initializer.append(made.graph.initializer[0])
    refusal(made)
    made = model([node("Neg", "x", "y")], X, Y)
    made.graph.input.append(made.graph.input[0])
    refusal(made)
    made = small()
    branch = next(a for a in made.graph.node[2].attribute if a.name == "then_branch").g
    branch.initializer.append(branch.initializer[0])
    refusal(made)
    made = small()
    branch = next(a for a in made.graph.node[2].attribute if a.name == "then_branch").g
    branch.node[0].output[0] = branch.output[0].name = "x0"
    refusal(made)


def test_nameless_values() -> None:
    made = model([node("Neg", "x", "y")], X, Y)
    made.graph.input.append(onnx.ValueInfoProto())
    refusal(made)
    made = model([node("Neg", "x", "y")], X, Y)
    made.graph.initializer.append(tensor(raw_data=b"\0" * 12))
    refusal(made)


@pytest.mark.parametrize("opset", [0, -1, onnx.defs.onnx_opset_version() + 1, 1 << 40])
def test_unsupported_opsets(opset: int) -> None:
    made = model([node("Neg", "x", "y")], X, Y)
    made.opset_import[0].version = opset
    refusal(made)
    made = small()
    made.functions[0].opset_import[0].version = opset
    refusal(made)


def test_missing_opsets() -> None:
    made = model([node("Neg", "x", "y")], X, Y)
    del made.opset_import[:]
    refusal(made)


def test_an_ir_of_the_future() -> None:
    made = model([node("Neg", "x", "y")], X, Y)
    made.ir_version = 1000
    refusal(made)


def calling(functions: list[onnx.FunctionProto], call: onnx.NodeProto | None = None) -> onnx.ModelProto:
    return model([call or node("F", "x", "y", domain="my")], X, Y, functions=functions, domains={"my": 1})


def test_functions_that_call_themselves() -> None:
    own = {"my": 1}
    once = function("my", "F", "x", "y", [node("F", "x", "y", domain="my")], domains=own)
    refusal(calling([once]))
    first = function("my", "F", "x", "y", [node("G", "x", "y", domain="my")], domains=own)
    second = function("my", "G", "x", "y", [node("F", "x", "y", domain="my")], domains=own)
    refusal(calling([first, second]))


def test_functions_called_wrongly() -> None:
    good = function("my", "F", "x", "y", [node("Neg", "x", "y")])
    load(calling([good]))
    refusal(calling([good, good]))
    undefined = function("my", "F", "x", "y", [node("Neg", "z", "y")])
    refusal(calling([undefined]))
    elsewhere = function("my", "F", "x", "y", [node("G", "x", "y", domain="other")])
    refusal(calling([elsewhere]))
    unimported = model([node("F", "x", "y", domain="my")], X, Y, functions=[good])
    refusal(unimported)


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
    refusal(nested(depth))


def test_graphs_inside_each_other_as_deep_as_a_file_can_be(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(nested(31).SerializeToString())
    result = load(path).run({"x": [1, 2, 3], "flag": np.array(True)})
    assert result["t0"].tolist() == [1, 2, 3]
    path.write_bytes(nested(40).SerializeToString())
    refusal(path)


def _other(level: int) -> onnx.GraphProto:
    return graph([node("Identity", "x", f"e{level}")], {}, {f"e{level}": (F32, [3])})


def test_a_file_of_many_empty_nodes_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    nodes = b"\x0a\x00" * 100_000
    length = len(nodes)
    size = bytes([length & 0x7F | 0x80, length >> 7 & 0x7F | 0x80, length >> 14])
    path.write_bytes(b"\x08\x08\x3a" + size + nodes)
    refusal(path)
