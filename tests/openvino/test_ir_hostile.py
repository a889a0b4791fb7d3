"""Damaged and hostile IR files give a clear one-line error, fast, and only take memory in proportion to the file."""

from __future__ import annotations

import os
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from gatherscatter.errors import OpError
from gatherscatter.model_interface import ModelError
from gatherscatter.openvino.ir import load_ir
from gatherscatter.openvino.ir_write import IRWriter

MIB = 2**20


def refused(path: str | Path, *, memory: int = MIB) -> str:
    """Return the message of the ModelError that loading must raise."""
    tracemalloc.start()
    start = time.perf_counter()
    try:
        with pytest.raises(ModelError) as error:
            load_ir(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    message = str(error.value)
    assert time.perf_counter() - start < 10
    assert peak < memory
    assert message.isprintable()
    assert len(message) < 400
    return message


def refused_text(folder: Path, text: str | bytes, *, memory: int = MIB) -> str:
    path = folder / "m.xml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return refused(path, memory=memory)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a model with x [2, 3] plus a constant, and rows 1 and 0 of the sum.

    Layer ids: x 0, ones 1, add 2, rows 3, axis 4, pick 5, y 6.
    """
    writer = IRWriter()
    x = writer.parameter("x", "f32", [2, 3])
    total = writer.layer("Add", "opset1", [x, writer.constant(np.ones((2, 3), np.float32), "ones")], name="add")
    rows, axis = writer.constant(np.array([1, 0]), "rows"), writer.constant(np.int64(0), "axis")
    writer.result("y", writer.layer("Gather", "opset8", [total, rows, axis], name="pick"))
    path = writer.save(tmp_path / "m.xml")
    assert load_ir(path).run({"x": np.zeros((2, 3), np.float32)})["y"].tolist() == [[1] * 3] * 2
    return path


def damaged(model: Path, old: str, new: str) -> str:
    """Return the error of loading a model in which ``old``, which must occur, was replaced once."""
    text = model.read_text()
    assert old in text
    return refused_text(model.parent, text.replace(old, new, 1))


BILLION_LAUGHS = (
    """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a0 "ha">{entities}]><net name="&a20;" version="11"/>""".format(
        entities="".join(f'<!ENTITY a{i + 1} "{f"&a{i};" * 10}">' for i in range(20))
    )
)


@pytest.mark.parametrize(
    "text",
    [
        BILLION_LAUGHS,
        '<!DOCTYPE net [<!ENTITY x SYSTEM "file:///etc/passwd">]><net version="11">&x;</net>',
        '<!DOCTYPE net SYSTEM "http://localhost/net.dtd"><net version="11"/>',
        '<!DOCTYPE net [<!ENTITY % p "<!ENTITY x SYSTEM \'file:///etc/passwd\'>"> %p;]><net version="11"/>',
        '<!DOCTYPE net><net version="11"/>',
    ],
)
def test_entities_and_document_types(text: str, tmp_path: Path) -> None:
    assert refused_text(tmp_path, text) == "m.xml: refused XML: a document type declaration"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not well-formed XML (line 1, column 0: no element found)"),
        (b"\x00\x01\x02", "not well-formed XML"),
        (b'{"net": 11}', "not well-formed XML"),
        (b"<html><body/></html>", "not an OpenVINO IR: the root element is <html>, not <net>"),
        (b"<network/>", "the root element is <network>"),
        (b'<?xml version="1.0" encoding="utf-99"?><net version="11"/>', "not well-formed XML"),
        (b'<net version="11" name="\xff\xfe"/>', "not well-formed XML"),
        (b"<net/>", "<net> lacks the attribute 'version'"),
        (b'<net version="7"/>', "IR version 7 is not supported (10 and 11 are)"),
        (b'<net version="eleven"/>', "<net>: version is 'eleven', not an integer"),
        (b'<net version="11"/>', "the model has no Result layer"),
        (b'<net version="11"><layers><layer/></layers></net>', "line 1: <layer> lacks the attribute 'id'"),
        (b'<net version="11"><edges><edge from-layer="0"/></edges></net>', "<edge> lacks the attribute 'from-port'"),
    ],
)
def test_not_an_ir(text: bytes, message: str, tmp_path: Path) -> None:
    assert message in refused_text(tmp_path, text)


def test_every_truncation_of_the_xml(model: Path) -> None:
    text = model.read_bytes()
    for end in range(0, len(text.rstrip()) - 1, 13):
        model.write_bytes(text[:end])
        with pytest.raises(ModelError, match="not well-formed XML"):
            load_ir(model)


def test_every_truncation_of_the_bin(model: Path) -> None:
    weights = model.with_suffix(".bin")
    content = weights.read_bytes()
    for end in range(len(content)):
        weights.write_bytes(content[:end])
        assert f"lie outside 'm.bin', which has {end} bytes" in refused(model)
    weights.unlink()
    assert "layer 1 'ones' (Const): its values are in 'm.bin', which does not exist" in refused(model)
    weights.mkdir()
    assert "'m.bin', which does not exist" in refused(model)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('size="24"', 'size="20"', "size is 20, but f32 of shape (2, 3) takes 24 bytes"),
        ('size="24"', 'size="9223372036854775807"', "lie outside 'm.bin', which has 48 bytes"),
        ('size="24"', 'size="-24"', "lie outside"),
        ('size="24"', 'size="0x18"', "size is '0x18', not an integer"),
        ('size="24"', "", "its <data> lacks the attribute 'size'"),
        ('offset="0"', 'offset="40"', "bytes 40 to 64 lie outside 'm.bin', which has 48 bytes"),
        ('offset="0"', 'offset="-8"', "lie outside"),
        ('offset="0"', 'offset="9223372036854775807"', "lie outside"),
        ('shape="2,3" offset', 'shape="2,4" offset', "size is 24, but f32 of shape (2, 4) takes 32 bytes"),
        ('shape="2,3" offset', 'shape="-2,-3" offset', "has a negative dimension"),
        ('shape="2,3" offset', 'shape="?,3" offset', "a dimension of shape is '?', not an integer"),
        ('shape="2,3" offset', 'shape="4294967296,4294967296,1" offset', "more elements than memory can hold"),
        ('shape="2,3" offset', 'shape="0,4611686018427387904,4" offset', "more elements than memory can hold"),
        ('shape="2,3" offset', 'shape="18446744073709551616" offset', "not an integer"),
        ('shape="2,3" offset', f'shape="{",".join(["1"] * 65)}" offset', "more than 64 dimensions"),
        ('shape="2,3" offset', f'shape="{"9," * 20000}9" offset', "more than 64 dimensions"),
        ('shape="2,3" offset', f'shape="{"9" * 20000}" offset', "not an integer"),
        ('"f32" shape="2,3" offset', '"u4" shape="2,3" offset', "element type 'u4' is not supported"),
        ('"f32" shape="2,3" offset', '"boolean" shape="24" offset', "boolean constant holds bytes other than 0 and 1"),
        ('"f32" shape="2,3" offset', '"string" shape="2" offset', "the offsets of its 2 strings contradict"),
        ('"f32" shape="2,3" offset', '"string" shape="999999" offset', "the header of 999999 strings takes"),
    ],
)
def test_constants_that_lie(model: Path, old: str, new: str, message: str) -> None:
    if "string" in new:
        text = model.read_text().replace(old, new, 1)
        model.write_text(text)
        with pytest.raises(ModelError) as error:  # strings are unpacked at their first use
            load_ir(model).run({"x": np.zeros((2, 3), np.float32)})
        assert message in str(error.value)
        return
    said = damaged(model, old, new)
    assert message in said
    assert "layer 1 'ones' (Const)" in said


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'id="2" name="add"',
            'id="5" name="add"',
            "layer 5 'pick' (Gather): its id is already that of layer 5 'add' (Add)",
        ),
        ('id="2" name="add"', 'id="two" name="add"', "<layer>: id is 'two', not an integer"),
        ('id="2" name="add"', 'id="-2" name="add"', "<layer>: id is negative: -2"),
        ('id="2" name="add"', 'id="1_0" name="add"', "<layer>: id is '1_0', not an integer"),
        ('id="2" name="add"', 'id="\u0662" name="add"', "not an integer"),
        ('id="2" name="add"', 'name="add"', "<layer> lacks the attribute 'id'"),
        ('name="add"', "", "layer 2 lacks the attribute 'name'"),
        ('name="add" type="Add"', 'name="add"', "layer 2 'add' lacks the attribute 'type'"),
        ('type="Add" version="opset1"', 'type="Add"', "layer 2 'add' (Add) lacks the attribute 'version'"),
        ('type="Add" version="opset1"', 'type="Add" version="1"', "layer 2 'add' (Add) is of a type of 1 that"),
        ('type="Add"', 'type="Loop"', "layer 2 'add' (Loop) is of a type that gatherscatter does not run"),
        ('type="Add"', 'type="Abs"', "layer 2 'add' (Abs): it has 2 inputs and takes 1"),
        ('type="Gather"', 'type="GatherND"', "layer 5 'pick' (GatherND): it has 3 inputs and takes 2"),
        ('type="Result"', 'type="ReLU"', "the model has no Result layer"),
        ('from-layer="2"', 'from-layer="77"', "edge 77:2 -> 5:0: there is no layer 77"),
        ('from-layer="2"', 'from-layer="5"', "edge 5:2 -> 5:0: layer 5 'pick' (Gather) has no output port 2"),
        ('to-layer="2" to-port="1"', 'to-layer="2" to-port="9"', "layer 2 'add' (Add) has no input port 9"),
        ('to-layer="2" to-port="1"', 'to-layer="2" to-port="0"', "input port 0 of layer 2 'add' (Add) has an edge"),
        ('<edge from-layer="0"', '<age from-layer="0"', "layer 2 'add' (Add): no edge leads to its input port 0"),
        ('from-layer="0" from-port="0"', 'from-layer="5" from-port="3"', "the edges form a cycle through layer "),
        ('from-layer="0" from-port="0"', 'from-layer="2" from-port="2"', "a cycle through layer 2 'add' (Add)"),
        ('<port id="1" precision="FP32" />', '<port id="0" precision="FP32" />', "'add' (Add) has two input ports"),
        ('<port id="1" precision="FP32" />', '<port precision="FP32" />', "an input <port> lacks the attribute 'id'"),
        ('shape="2,3" element', 'shape="2,-3" element', "layer 0 'x' (Parameter): '-3' is not a dimension"),
        ('shape="2,3" element', 'shape="5..2" element', "layer 0 'x' (Parameter): '5..2' is not a dimension"),
        ('shape="2,3" element', 'shape="2,three" element', "a dimension of shape is 'three', not an integer"),
        ('shape="2,3" element', f'shape="{"1," * 65}1" element', "more than 64 dimensions"),
        ('element_type="f32"', 'element_type="nf4"', "layer 0 'x' (Parameter): element type 'nf4' is not supported"),
        ('element_type="f32"', "", "layer 0 'x' (Parameter): its <data> lacks the attribute 'element_type'"),
        ("<data shape", "<data/><data shape", "layer 0 'x' (Parameter) has two <data> elements"),
    ],
)
def test_graphs_that_do_not_hold(model: Path, old: str, new: str, message: str) -> None:
    text = model.read_text()
    if "<age" in new:
        text = text.replace(old, new, 1)
        said = refused_text(model.parent, text)
    else:
        said = damaged(model, old, new)
    assert message in said
    assert said.startswith("m.xml: ")


def test_names_that_would_draw_on_the_terminal(model: Path) -> None:
    name = "a&#10;b&#9;\u202e" + "c" * 5000
    said = damaged(model, 'name="add" type="Add"', f'name="{name}" type="Else&#10;where"')
    assert r"layer 2 'a\nb\t\u202ecc" in said
    assert r"'Else\nwhere'" in said


def test_deep_nesting(tmp_path: Path) -> None:
    deep = "<a>" * 200_000
    for text in (f'<net version="11">{deep}', f'<net version="11"><layers>{"<layer>" * 200_000}'):
        said = refused_text(tmp_path, text, memory=4 * MIB)
        assert "nested more than 256 deep" in said or "lacks the attribute 'id'" in said


def test_many_elements_of_no_interest_take_no_memory(tmp_path: Path) -> None:
    text = f'<net version="11">{"<rt_info/>" * 300_000}</net>'
    assert "no Result layer" in refused_text(tmp_path, text, memory=MIB)


def test_long_text_takes_no_more_memory_than_the_file(tmp_path: Path) -> None:
    port = f'<output><port id="0"><dim>{"9" * 3_000_000}</dim></port></output>'
    layer = f'<layer id="0" name="x" type="Abs" version="opset1">{port}</layer>'
    text = f'<net version="11"><layers>{layer}</layers></net>'
    assert "no Result layer" in refused_text(tmp_path, text, memory=2 * len(text))


LAYER = '<layer id="{0}" name="l{0}" type="{1}" version="opset1">{2}</layer>'
DATA = '<data element_type="{0}" shape="{1}" offset="0" size="{1}"/><output><port id="0"/></output>'


def test_constants_that_overlap_are_not_copied(tmp_path: Path) -> None:
    """A thousand layers over the same megabyte take one megabyte."""
    (tmp_path / "m.bin").write_bytes(bytes(MIB))
    count, port = 1000, '<input><port id="0"/></input>'
    layers = "".join(LAYER.format(i, "Const", DATA.format("boolean" if i % 2 else "u8", MIB)) for i in range(count))
    layers += "".join(LAYER.format(i + count, "Result", port) for i in range(count))
    edges = "".join(f'<edge from-layer="{i}" from-port="0" to-layer="{i + count}" to-port="0"/>' for i in range(count))
    (tmp_path / "m.xml").write_text(f'<net version="11"><layers>{layers}</layers><edges>{edges}</edges></net>')
    tracemalloc.start()
    load_ir(tmp_path / "m.xml")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * MIB


def test_a_long_chain_needs_no_recursion(tmp_path: Path) -> None:
    writer = IRWriter()
    value = writer.parameter("x", "f32", [1])
    for _ in range(3000):
        value = writer.layer("Negative", "opset1", [value])
    writer.result("y", value)
    model = load_ir(writer.save(tmp_path / "m.xml"))
    assert model.run({"x": np.ones(1, np.float32)})["y"].tolist() == [1]


@pytest.mark.parametrize("name", ["none.xml", "../none.xml", "a\nb.xml", "no\udcffsuch.xml"])
def test_paths_that_lead_nowhere(name: str, tmp_path: Path) -> None:
    assert refused(tmp_path / name).endswith(": there is no such file")


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    assert "there is no such file" in refused(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.xml")  # opening it would wait forever
        assert "there is no such file" in refused(tmp_path / "pipe.xml")


def test_two_inputs_of_one_name(model: Path) -> None:
    text = model.read_text().replace('name="ones" type="Const"', 'name="x" type="Parameter"')
    assert "2 Parameter layers have the name 'x'" in refused_text(model.parent, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '<layer id="0" name="r" type="Result" version="opset1"/>',
            "layer 0 'r' (Result) must have 1 input and 0 output",
        ),
        (
            '<layer id="0" name="p" type="Parameter" version="opset1"/>',
            "layer 0 'p' (Parameter) must have 0 input and 1",
        ),
    ],
)
def test_layers_without_ports(text: str, message: str, tmp_path: Path) -> None:
    assert message in refused_text(tmp_path, f'<net version="11"><layers>{text}{text.replace("0", "1")}</layers></net>')


def test_a_result_too_large_for_memory(tmp_path: Path) -> None:
    writer = IRWriter()
    x = writer.parameter("x", "f32", [1])
    wide = writer.layer("Broadcast", "opset3", [x, np.array([2**50])], name="wide")
    writer.result("y", writer.layer("Negative", "opset1", [wide], name="huge"))
    model = load_ir(writer.save(tmp_path / "m.xml"))
    with pytest.raises(ModelError, match=r"^layer 3 'huge' \(Negative\): there is not enough memory for its result$"):
        model.run({"x": np.ones(1, np.float32)})


def test_random_damage_never_surprises(model: Path) -> None:
    """A few wrong bytes lead to a model that runs, or to an error of this package."""
    rng = np.random.default_rng(4)
    text, weights = model.read_bytes(), model.with_suffix(".bin").read_bytes()
    pieces = [b"0", b"9", b"-1", b'"', b"<", b"/", b"u8", b"i64", b"", b"3", b"4294967296", b" ", b"opset3", b"2,3"]
    refusals = 0
    for _ in range(600):
        damage = bytearray(text)
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(len(damage)))
            damage[at : at + int(rng.integers(0, 3))] = pieces[int(rng.integers(len(pieces)))]
        model.write_bytes(damage)
        model.with_suffix(".bin").write_bytes(weights[: int(rng.integers(len(weights) - 8, len(weights) + 1))])
        try:
            loaded = load_ir(model)
            loaded.run({info.name: np.zeros((2, 3), np.float32) for info in loaded.inputs})
        except (ModelError, OpError):
            refusals += 1
    assert 300 < refusals < 600
