"""The IR reader and writer: graphs, inputs, outputs, names, versions and attributes of layers."""

from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import gatherscatter_models as gm
from gatherscatter_models.doctor import examine
from gatherscatter_models.interface import ModelError, TensorInfo
from gatherscatter_models.openvino import ir_write
from gatherscatter_models.openvino.ir import load_ir
from gatherscatter_models.openvino.ir_write import IRWriter
from tests.support.openvino_package import assert_same, run_in_openvino


def small_model(path: Path) -> Path:
    """Return a model with data [?, 3] and a table: ScatterUpdate of row 1, plus one."""
    writer = IRWriter()
    data = writer.parameter("data", "f32", [None, 3])
    row = writer.parameter("row", "i64", ["1..4"])
    updates = writer.layer("Broadcast", "opset3", [np.float32(7), shape_for_updates(writer, row)], name="updates")
    out = writer.layer("ScatterUpdate", "opset3", [data, row, updates, np.int64(0)], name="scatter")
    plus = writer.layer("Add", "opset1", [out, np.ones((1, 3), np.float32)], name="plus")
    writer.result("scattered", out)
    writer.result("plus_one", plus)
    return writer.save(path)


def shape_for_updates(writer: IRWriter, row: ir_write.Output) -> ir_write.Output:
    count = writer.layer("ShapeOf", "opset3", [row], attributes={"output_type": "i64"})
    return writer.layer("Concat", "opset1", [count, np.array([3])], attributes={"axis": 0})


def test_inputs_outputs_and_progress(tmp_path: Path) -> None:
    model = load_ir(str(small_model(tmp_path / "small.xml")))
    assert model.inputs == (TensorInfo("data", "float32", (None, 3)), TensorInfo("row", "int64", ("1..4",)))
    assert [info.name for info in model.outputs] == ["scattered", "plus_one"]
    assert {info[1:] for info in model.outputs} == {("float32", (None, 3))}
    seen: list[str] = []
    data = np.zeros((3, 3), np.float32)
    result = model.run({"data": data, "row": [1]}, seen.append)
    assert result["plus_one"].tolist() == [[1, 1, 1], [8, 8, 8], [1, 1, 1]]
    assert data.sum() == 0
    assert model.node_count == len(seen) == 5
    assert seen[0].startswith("ShapeOf ")
    assert seen[-2:] == ["ScatterUpdate 'scatter'", "Add 'plus'"]


def test_written_models_run_in_openvino(tmp_path: Path) -> None:
    path = small_model(tmp_path / "small.xml")
    inputs = {"data": np.arange(9, dtype=np.float32).reshape(3, 3), "row": np.array([2, 0])}
    assert_same(load_ir(path).run(inputs), run_in_openvino(path, inputs))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"data": np.zeros((2, 3))}, "no value for input 'row'"),
        ({}, "no value for input 'data', 'row'"),
        ({"data": np.zeros((2, 3)), "row": [0]}, "input 'data' is float64, the model takes float32"),
        ({"data": np.zeros((2, 3), "f4"), "row": np.array([0], "i4")}, "input 'row' is int32, the model takes int64"),
        ({"data": np.zeros((2, 3), "f4"), "row": [0.5]}, "input 'row' is float64, the model takes int64"),
        ({"data": np.zeros((2, 4), "f4"), "row": [0]}, r"shape \(2, 4\), the model takes \[\?, 3\]"),
        ({"data": np.zeros(3, "f4"), "row": [0]}, r"shape \(3,\), the model takes \[\?, 3\]"),
        ({"data": np.zeros((2, 3), "f4"), "row": [0] * 5}, r"shape \(5,\), the model takes \[1..4\]"),
        ({"data": np.zeros((2, 3), "f4"), "rows": [0]}, "no input 'rows' .it has: 'data', 'row'"),
    ],
)
def test_wrong_inputs(inputs: dict[str, np.ndarray], message: str, tmp_path: Path) -> None:
    model = load_ir(small_model(tmp_path / "small.xml"))
    with pytest.raises(ModelError, match=message) as error:
        model.run(inputs)
    assert "\n" not in str(error.value)


def test_a_bad_index_is_the_operators_own_error(tmp_path: Path) -> None:
    model = load_ir(small_model(tmp_path / "small.xml"))
    with pytest.raises(IndexError, match=r"openvino\.ScatterUpdate-3: indices\[1\] = 9 is out of range") as error:
        model.run({"data": np.zeros((2, 3), np.float32), "row": [0, 9]})
    assert any("'scatter' (ScatterUpdate)" in note for note in error.value.__notes__)


def test_results_share_no_memory(tmp_path: Path) -> None:
    writer = IRWriter()
    data = writer.parameter("data", "f32", [2])
    writer.result("same", data)
    writer.result("again", data)
    writer.result("constant", writer.constant(np.ones(2, np.float32)))
    writer.result("view", writer.layer("Unsqueeze", "opset1", [data, np.int64(0)]))
    array = np.zeros(2, np.float32)
    result = load_ir(writer.save(tmp_path / "m.xml")).run({"data": array})
    for one in result.values():
        one += 5
    assert array.tolist() == [0, 0]
    assert [one.ravel().tolist() for one in result.values()] == [[5, 5], [5, 5], [6, 6], [5, 5]]


def test_input_forms(tmp_path: Path) -> None:
    """Byte-swapped arrays and lists are accepted. Inputs can be named by their tensor or by their Parameter."""
    writer = IRWriter()
    data = writer.parameter("data", "i32", None)
    writer.result("out", data)
    path = writer.save(tmp_path / "m.xml")
    path.write_text(path.read_text().replace('names="data', 'names="data:0,data'))
    model = load_ir(path)
    assert model.inputs == (TensorInfo("data", "int32", None),)
    for value in ([1, 2], np.array([1, 2], ">i4"), np.array([1, 2], np.int32)):
        out = model.run({"data:0": value})["out"]
        assert (out.dtype, out.tolist()) == (np.int32, [1, 2])
    with pytest.raises(ModelError, match="given twice"):
        model.run({"data": [1], "data:0": [1]})
    with pytest.raises(ModelError, match="out of bounds"):
        model.run({"data": [2**40]})


def test_tensors_are_dropped_after_their_last_use(tmp_path: Path) -> None:
    writer = IRWriter()
    value = writer.parameter("x", "f32", [None])
    for _ in range(20):
        value = writer.layer("Negative", "opset1", [value])
    writer.result("y", value)
    model, data = load_ir(writer.save(tmp_path / "m.xml")), np.ones(2**18, np.float32)
    tracemalloc.start()
    model.run({"x": data})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * data.nbytes


def test_output_names_as_openvino_shows_them(tmp_path: Path) -> None:
    writer = IRWriter()
    data = writer.parameter("data", "f32", [2])
    relu = writer.layer("ReLU", "opset1", [data])
    writer.result("b,1", relu)
    writer.result("a", relu)
    path = writer.save(tmp_path / "m.xml")
    text = path.read_text()
    old = re.sub(' output_names="[^"]*"', "", text)
    nameless = re.sub(' names="[^"]*"', "", old)
    for content, ours, theirs in (
        (text, ["b,1", "a"], ["b,1", "a"]),
        (old, ["a", "b,1"], ["a", "a"]),  # two outputs share a tensor, but need two names
        (nameless, ["b,1", "a"], [None, None]),  # the names of the Result layers
    ):
        path.write_text(content)
        assert [info.name for info in load_ir(path).outputs] == ours
        assert openvino_names(path) == theirs


def openvino_names(path: Path) -> list[str | None]:
    import openvino

    return [min(port.get_names(), default=None) for port in openvino.Core().read_model(path).outputs]


def test_only_what_results_need_is_run(tmp_path: Path) -> None:
    writer = IRWriter()
    data = writer.parameter("data", "f32", [2])
    writer.layer("Negative", "opset1", [data])
    writer.result("out", writer.layer("ReLU", "opset1", [data]))
    model = load_ir(writer.save(tmp_path / "m.xml"))
    assert model.node_count == 1
    assert model.run({"data": np.array([-1, 2], np.float32)})["out"].tolist() == [0, 2]


def test_an_unknown_layer_is_named(tmp_path: Path) -> None:
    writer = IRWriter()
    writer.result("out", writer.layer("Sinh", "opset1", [writer.parameter("x", "f32", [2])], name="strange"))
    with pytest.raises(ModelError, match="--engine openvino") as error:
        load_ir(writer.save(tmp_path / "m.xml"))
    assert "m.xml: layer 'strange' (Sinh) is of a type that gatherscatter does not run" in str(error.value)


def test_a_model_in_memory_runs() -> None:
    import openvino
    import openvino.opset15 as ops

    data, rows = ops.parameter([3, 2], np.float32, name="data"), ops.parameter([-1], np.int64, name="rows")
    picked = ops.gather(data, rows, ops.constant(np.int64(0)))
    model = openvino.Model([picked.output(0)], [data, rows], "picked")
    inputs = {"data": np.arange(6, dtype=np.float32).reshape(3, 2), "rows": np.array([2, -1])}
    (out,) = gm.run(model, inputs).values()
    assert out.tolist() == [[4, 5], [4, 5]]
    (theirs,) = gm.run(model, inputs, engine="openvino").values()
    assert theirs.tolist() == out.tolist()
    assert [node.site.name for node in examine(model).nodes] == [picked.get_friendly_name()]


def test_layers_may_stand_in_any_order(tmp_path: Path) -> None:
    path = small_model(tmp_path / "m.xml")
    text = path.read_text()
    layers = re.findall(r"<layer .*?</layer>", text, re.DOTALL)
    start, end = text.index("<layer "), text.rindex("</layer>") + len("</layer>")
    path.write_text(text[:start] + "\n".join(reversed(layers)) + text[end:])
    result = load_ir(path).run({"data": np.zeros((2, 3), np.float32), "row": [1]})
    assert result["scattered"].tolist() == [[0, 0, 0], [7, 7, 7]]


@pytest.mark.parametrize(
    ("kind", "version", "attributes", "expected"),
    [
        ("GatherND", "opset5", {"batch_dims": 2}, (4,)),
        ("GatherND", "opset7", {"batch_dims": 2}, (4,)),
        ("GatherND", "opset8", {"batch_dims": 2}, (2, 2)),
        ("GatherND", "opset15", {"batch_dims": 2}, (2, 2)),
        ("GatherND", "opset15", {}, (2, 2, 2, 3)),
    ],
)
def test_opset_picks_the_version(
    kind: str, version: str, attributes: dict[str, object], expected: tuple[int, ...], tmp_path: Path
) -> None:
    writer = IRWriter()
    data, indices = writer.parameter("data", "f32", [2, 2, 3]), writer.parameter("indices", "i64", [2, 2, 1])
    writer.result("out", writer.layer(kind, version, [data, indices], attributes=attributes))
    model = load_ir(writer.save(tmp_path / "m.xml"))
    out = model.run({"data": np.zeros((2, 2, 3), np.float32), "indices": np.ones((2, 2, 1), np.int64)})["out"]
    assert out.shape == expected


def test_family_attributes(tmp_path: Path) -> None:
    writer = IRWriter()
    data = writer.parameter("data", "i32", [3])
    inputs = [data, np.array([0, 0, -1]), np.array([5, 6, 7], np.int32), np.int64(0)]
    attributes = {"reduction": "sum", "use_init_val": False}
    writer.result("out", writer.layer("ScatterElementsUpdate", "opset12", inputs, attributes=attributes))
    path = writer.save(tmp_path / "m.xml")
    assert load_ir(path).run({"data": np.array([1, 2, 3], np.int32)})["out"].tolist() == [11, 2, 7]


def test_writer_refuses(tmp_path: Path) -> None:
    writer = IRWriter()
    with pytest.raises(ValueError, match="no element type for complex64"):
        writer.constant(np.zeros(1, np.complex64))
    with pytest.raises(ValueError, match=r"an \.xml file, not 'm\.ir'"):
        writer.save(tmp_path / "m.ir")
    with pytest.raises(ValueError, match="element type 'q7' is not supported"):
        writer.parameter("x", "q7", [1])


def test_writer_docstring() -> None:
    import doctest

    assert doctest.testmod(ir_write).failed == 0


FORKED = """
import os, sys
import gatherscatter_models.openvino.graph as graph
from gatherscatter.system.processes import shared_process
process = lambda: shared_process(graph.__name__)
path = sys.argv[1]
graph.read_ir(path)
own = process()._process.pid
if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0
    graph.read_ir(path)
    assert process()._process.pid == own
else:
    graph.read_ir(path)
    assert process()._process.pid != own
    process().close()
    os._exit(0)
"""


@pytest.mark.native
def test_a_forked_process_reads_files_through_its_own(tmp_path: Path) -> None:
    path = small_model(tmp_path / "small.xml")
    done = subprocess.run([sys.executable, "-c", FORKED, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
