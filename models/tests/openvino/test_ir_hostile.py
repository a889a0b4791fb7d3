"""Damaged and hostile IR files give a one-line error of OpenVINO's reader. They do not end the process."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import onnx
import pytest

from gatherscatter.errors import OpError
from gatherscatter_models.interface import ModelError
from gatherscatter_models.openvino.ir import load_ir
from gatherscatter_models.openvino.ir_write import IRWriter

MIB = 2**20


def refused(path: str | Path) -> str:
    """Return the message of the ModelError that loading must raise."""
    start = time.perf_counter()
    with pytest.raises(ModelError) as error:
        load_ir(path)
    message = str(error.value)
    assert time.perf_counter() - start < 10
    assert message.isprintable()
    assert len(message) < 450
    return message


def refused_text(folder: Path, text: str | bytes) -> str:
    path = folder / "m.xml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return refused(path)


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
def test_entities_are_not_expanded(text: str, tmp_path: Path) -> None:
    assert "root:" not in refused_text(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x00\x01\x02",
        b'{"net": 11}',
        onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [])).SerializeToString(),
        b"<html><body/></html>",
        b"<network/>",
        b'<?xml version="1.0" encoding="utf-99"?><net version="11"/>',
        b'<net version="11" name="\xff\xfe"/>',
        b"<net/>",
        b'<net version="7"/>',
        b'<net version="eleven"/>',
        b'<net version="11"/>',
        b'<net version="11"><layers><layer/></layers></net>',
        b'<net version="11"><edges><edge from-layer="0"/></edges></net>',
    ],
)
def test_not_an_ir(text: bytes, tmp_path: Path) -> None:
    assert refused_text(tmp_path, text).startswith("m.xml: ")


def test_every_truncation_of_the_xml(model: Path) -> None:
    text = model.read_bytes()
    for end in range(0, len(text.rstrip()) - 1, 13):
        model.write_bytes(text[:end])
        refused(model)


def test_every_truncation_of_the_bin(model: Path) -> None:
    weights = model.with_suffix(".bin")
    content = weights.read_bytes()
    for end in range(len(content)):
        weights.write_bytes(content[:end])
        refused(model)
    weights.unlink()
    refused(model)
    weights.mkdir()
    refused(model)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('size="24"', 'size="20"'),
        ('size="24"', 'size="9223372036854775807"'),
        ('size="24"', 'size="-24"'),
        ('size="24"', 'size="0x18"'),
        ('size="24"', ""),
        ('offset="0"', 'offset="40"'),
        ('offset="0"', 'offset="-8"'),
        ('offset="0"', 'offset="9223372036854775807"'),
        ('shape="2,3" offset', 'shape="2,4" offset'),
        ('shape="2,3" offset', 'shape="-2,-3" offset'),
        ('shape="2,3" offset', 'shape="?,3" offset'),
        ('shape="2,3" offset', 'shape="4294967296,4294967296,1" offset'),
        ('shape="2,3" offset', 'shape="0,4611686018427387904,4" offset'),
        ('shape="2,3" offset', 'shape="18446744073709551616" offset'),
        ('shape="2,3" offset', f'shape="{",".join(["1"] * 65)}" offset'),
        ('shape="2,3" offset', f'shape="{"9," * 20000}9" offset'),
        ('shape="2,3" offset', f'shape="{"9" * 20000}" offset'),
        ('"f32" shape="2,3" offset', '"u4" shape="2,3" offset'),
        ('"f32" shape="2,3" offset', '"boolean" shape="24" offset'),
        ('"f32" shape="2,3" offset', '"string" shape="2" offset'),
        ('"f32" shape="2,3" offset', '"string" shape="999999" offset'),
        ('id="2" name="add"', 'id="5" name="add"'),
        ('id="2" name="add"', 'id="two" name="add"'),
        ('id="2" name="add"', 'id="-2" name="add"'),
        ('id="2" name="add"', 'id="1_0" name="add"'),
        ('id="2" name="add"', 'id="\u0662" name="add"'),
        ('id="2" name="add"', 'name="add"'),
        ('name="add"', ""),
        ('name="add" type="Add"', 'name="add"'),
        ('type="Add" version="opset1"', 'type="Add"'),
        ('type="Add" version="opset1"', 'type="Add" version="1"'),
        ('type="Add"', 'type="Loop"'),
        ('type="Add"', 'type="Abs"'),
        ('type="Gather"', 'type="GatherND"'),
        ('type="Result"', 'type="ReLU"'),
        ('from-layer="2"', 'from-layer="77"'),
        ('from-layer="2"', 'from-layer="5"'),
        ('to-layer="2" to-port="1"', 'to-layer="2" to-port="9"'),
        ('to-layer="2" to-port="1"', 'to-layer="2" to-port="0"'),
        ('<edge from-layer="0"', '<age from-layer="0"'),
        ('from-layer="0" from-port="0"', 'from-layer="5" from-port="3"'),
        ('from-layer="0" from-port="0"', 'from-layer="2" from-port="2"'),
        ('<port id="1" precision="FP32" />', '<port id="0" precision="FP32" />'),
        ('<port id="1" precision="FP32" />', '<port precision="FP32" />'),
        ('shape="2,3" element', 'shape="2,-3" element'),
        ('shape="2,3" element', 'shape="5..2" element'),
        ('shape="2,3" element', 'shape="2,three" element'),
        ('element_type="f32"', 'element_type="nf4"'),
        ('element_type="f32"', ""),
        ("<data shape", "<data/><data shape"),
    ],
)
def test_files_that_contradict_themselves(model: Path, old: str, new: str) -> None:
    assert damaged(model, old, new).startswith("m.xml: ")


def test_names_that_would_draw_on_the_terminal(model: Path) -> None:
    name = "a&#10;b&#9;\u202e" + "c" * 5000
    damaged(model, 'name="add" type="Add"', f'name="{name}" type="Else&#10;where"')


def test_deep_nesting(tmp_path: Path) -> None:
    deep = "<a>" * 200_000
    for text in (f'<net version="11">{deep}', f'<net version="11"><layers>{"<layer>" * 200_000}'):
        refused_text(tmp_path, text)


def test_many_elements_of_no_interest(tmp_path: Path) -> None:
    text = f'<net version="11">{"<rt_info/>" * 300_000}</net>'
    assert "no Result layer" in refused_text(tmp_path, text)


def test_a_file_that_ends_the_process_of_openvino(tmp_path: Path) -> None:
    """OpenVINO looks for the largest of no segment ids. Reading happens in another process first."""
    writer = IRWriter()
    data = writer.parameter("data", "f32", [0, 1])
    layer = writer.layer("SegmentMax", "opset16", [data, np.zeros(0, np.int32)], attributes={"fill_mode": "ZERO"})
    writer.result("y", layer)
    path = writer.save(tmp_path / "m.xml")
    assert refused(path) == "m.xml: OpenVINO can't read it: the process died (Segmentation fault)"
    writer = IRWriter()
    writer.result("y", writer.parameter("x", "f32", [1]))
    assert load_ir(writer.save(path)).run({"x": [1.0]})["y"].tolist() == [1]  # in a new process


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


def test_a_result_too_large_for_memory(tmp_path: Path) -> None:
    writer = IRWriter()
    x = writer.parameter("x", "f32", [1])
    wide = writer.layer("Broadcast", "opset3", [x, np.array([2**50])], name="wide")
    writer.result("y", writer.layer("Negative", "opset1", [wide], name="huge"))
    model = load_ir(writer.save(tmp_path / "m.xml"))
    with pytest.raises(ModelError, match=r"^layer 'huge' \(Negative\): there is not enough memory for its result$"):
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
