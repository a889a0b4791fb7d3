"""Model files as an attack surface: random damage, and deliberate attacks.

test_onnx_hostile.py and test_ir_hostile.py check the messages of single defects. The tests here limit the cost of any
file, and check that the command line prints one line. To run longer: ``python -m tools.fuzz_models --seconds 600``.
"""

from __future__ import annotations

import contextlib
import copy
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, TypeProto, helper

import gatherscatter_models as gm
from gatherscatter_models.interface import Model, ModelError
from gatherscatter_models.loading import load
from gatherscatter_models.openvino.ir_write import IRWriter
from tests.support.command_line import call, fail
from tests.support.onnx_graphs import function, graph, model, node
from tools import fuzz_models
from tools.fuzz_models.cases import Case
from tools.fuzz_models.damage_onnx import encode_field
from tools.fuzz_models.files import write_files
from tools.fuzz_models.inputs import draw_inputs
from tools.fuzz_models.judging import check_result
from tools.fuzz_models.limits import MEMORY, SECONDS, Meter
from tools.fuzz_models.messages import check_one_line
from tools.fuzz_models.model_tools import TOOLS
from tools.fuzz_models.models import MODELS

pytest.importorskip("openvino")  # it reads the IR files

F32, I64 = np.float32, np.int64
X, Y = {"x": (F32, [3])}, {"y": (F32, None)}
ONE = {"x": np.ones(3, F32)}
ROOT = Path(fuzz_models.__file__).parents[2]


@contextmanager
def within_limits() -> Iterator[None]:
    """Allow two seconds of processor time and 200 MB (where this can be measured), for any file."""
    with Meter() as meter:
        yield
    assert meter.seconds < SECONDS
    assert meter.memory < MEMORY


def saved(made: onnx.ModelProto | bytes, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
    return path


def load_within_limits(path: Path) -> Model:
    with within_limits():
        return load(path)


def use(path: Path, inputs: dict[str, Any] | None) -> None:
    """Load a model, and run it if there are inputs."""
    loaded = load(path)
    if inputs is not None:
        loaded.run(inputs)


def refused(path: Path, reason: str, inputs: dict[str, Any] | None = None) -> None:
    """Check that loading or running ends with one line that gives the reason, and so does the command."""
    with within_limits(), pytest.raises(ModelError) as caught:
        use(path, inputs)
    text = str(caught.value)
    assert not check_one_line(text, "message")
    assert reason in text
    if inputs is None:
        with within_limits():
            assert reason in fail("run", path, "--random-inputs")


# At random


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a permission there")
def test_damage_at_random() -> None:
    """Each of these files ends with a result or with one line, within the limits."""
    command = [sys.executable, "-m", "tools.fuzz_models", "--cases", "600", "--seed", "1", "--seconds", "600"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "600 files" in done.stdout


@pytest.mark.parametrize("name", MODELS)
def test_the_models_are_good_before_they_are_damaged(name: str, tmp_path: Path) -> None:
    loaded = load(write_files(MODELS[name](), tmp_path))
    inputs = draw_inputs(loaded.inputs, random.Random(0))
    outputs = loaded.run(inputs)
    assert list(outputs) == [info.name for info in loaded.outputs]
    assert not check_result(loaded, inputs, outputs)


@pytest.mark.parametrize("text", ["onnx-branches 12", "ir-shapes 34"])
def test_a_case_is_the_same_again(text: str) -> None:
    case = Case.parse(text)
    assert str(case) == text
    assert case.files() == case.files()
    assert case.files() != Case(case.model, case.number + 1).files()


# Entity bombs: few bytes that represent a lot of data


def doubling(levels: int) -> onnx.ModelProto:
    """Return functions that each call the previous one twice."""
    own = {"my": 1}
    functions = [function("my", "F0", "x", "y", [node("Neg", "x", "y")])]
    for i in range(1, levels):
        calls = [node(f"F{i - 1}", "x", "z", domain="my"), node(f"F{i - 1}", "z", "y", domain="my")]
        functions.append(function("my", f"F{i}", "x", "y", calls, domains=own))
    return model([node(f"F{levels - 1}", "x", "y", domain="my")], X, Y, functions=functions, domains=own)


def test_functions_that_double(tmp_path: Path) -> None:
    """The file has two kilobytes and would expand to 2**40 nodes."""
    refused(saved(doubling(40), tmp_path), "nodes")
    loaded = load(saved(doubling(8), tmp_path))
    assert loaded.run(ONE)["y"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("encoding", ["utf-32", "utf-7", "cp932", "rot13", "zip", "idna"])
def test_encodings_that_xml_has_not(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_bytes(f'<?xml version="1.0" encoding="{encoding}"?><net name="a" version="11"/>'.encode())
    refused(path, "m.xml: ")


def test_a_document_type_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_bytes('<!DOCTYPE net [<!ENTITY a "b">]><net name="&a;" version="11"/>'.encode("utf-16"))
    refused(path, "m.xml: ")


# Huge declared shapes


@pytest.mark.parametrize("size", [2**31, 2**62, 2**63 - 1])
def test_inputs_declared_huge(size: int, tmp_path: Path) -> None:
    made = model([node("Neg", "x", "y")], {"x": (F32, [size, 2])}, Y)
    path = saved(made, tmp_path)
    refused(path, f"input 'x' must have shape [{size}, 2]; got [3]", ONE)
    assert "random inputs would take" in fail("run", path, "--random-inputs")
    writer = IRWriter()
    writer.result("y", writer.parameter("x", "f32", [size, 2]))
    path = writer.save(tmp_path / "m.xml")
    if size == 2**63 - 1:  # any size for OpenVINO
        refused(path, "input 'x' has shape (3,), the model takes [?, 2]", ONE)
        return
    refused(path, f"input 'x' has shape (3,), the model takes [{size}, 2]", ONE)
    assert "random inputs would take" in fail("run", path, "--random-inputs")


def test_an_input_of_a_thousand_dimensions(tmp_path: Path) -> None:
    made = model([node("Neg", "x", "y")], {"x": (F32, [f"size\n\x1b[31m{i}" for i in range(1000)])}, Y)
    refused(saved(made, tmp_path), "input 'x' must have shape [", ONE)


def test_outputs_declared_huge(tmp_path: Path) -> None:
    """The outputs are only displayed, never allocated."""
    path = saved(model([node("Neg", "x", "y")], X, {"y": (F32, [2**62, -1, 2**40])}), tmp_path)
    with within_limits():
        assert load(path).run(ONE)["y"].tolist() == [-1, -1, -1]


@pytest.mark.parametrize("count", [2 * 10**7, 10**18])
def test_nothing_split_into_many_parts(count: int, tmp_path: Path) -> None:
    """An empty tensor can be split into any number of empty parts."""
    writer = IRWriter()
    x = writer.parameter("x", "f32", [0])
    writer.result("y", writer.layer("Split", "opset1", [x, np.int64(0)], attributes={"num_splits": count}))
    refused(writer.save(tmp_path / "m.xml"), "OpenVINO can't read it", {"x": np.zeros(0, F32)})


# Offsets, and bytes that are used many times


def test_external_data_that_overlap_are_not_copied(tmp_path: Path) -> None:
    """A thousand tensors over the same megabyte take one megabyte."""
    (tmp_path / "w.bin").write_bytes(bytes(1 << 20))
    made = model([node("Neg", "x", "y")], X, Y)
    for i in range(1000):
        tensor = made.graph.initializer.add(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[1 << 18])
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="w.bin")
    assert load_within_limits(saved(made, tmp_path)).run(ONE)["y"].tolist() == [-1, -1, -1]


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a permission there")
@pytest.mark.parametrize("target", ["../secret", "m.bin", "up/secret", "/dev/zero"])
def test_weights_that_are_a_link_out_of_the_folder(target: str, tmp_path: Path) -> None:
    """Files next to the model belong to its author. A link there may lead to files that do not."""
    (tmp_path / "secret").write_bytes(bytes(64))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "up").symlink_to("..")
    writer = IRWriter()
    writer.result("y", writer.layer("Add", "opset1", [writer.parameter("x", "f32", [3]), np.ones(3, F32)]))
    path = writer.save(folder / "m.xml")
    path.with_suffix(".bin").unlink()
    path.with_suffix(".bin").symlink_to(target)
    refused(path, "'m.bin'")


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a permission there")
def test_weights_in_a_cache_of_links(tmp_path: Path) -> None:
    """A cache stores both files elsewhere, and links to them."""
    store = tmp_path / "store"
    store.mkdir()
    writer = IRWriter()
    writer.result("y", writer.layer("Add", "opset1", [writer.parameter("x", "f32", [3]), np.ones(3, F32)]))
    stored = writer.save(store / "m.xml")
    shown = tmp_path / "shown"
    shown.mkdir()
    for name in ("m.xml", "m.bin"):
        (shown / name).symlink_to(stored.with_name(name))
    assert load(shown / "m.xml").run(ONE)["y"].tolist() == [2, 2, 2]


# Cycles


def test_a_branch_that_reads_the_result_of_its_own_node(tmp_path: Path) -> None:
    def branch(name: str, source: str) -> onnx.GraphProto:
        return graph([node("Neg", source, name)], {}, {name: (F32, [3])})

    choose = node("If", "flag", "y", then_branch=branch("t", "y"), else_branch=branch("e", "x"))
    path = saved(model([choose], {**X, "flag": (np.bool_, [])}, Y), tmp_path)
    refused(path, "input 'y' of node: name: OpType: Neg is not output of any previous nodes")


def test_a_cycle_of_a_thousand_nodes(tmp_path: Path) -> None:
    nodes = [node("Neg", f"y{(i + 1) % 1000}", f"y{i}") for i in range(1000)]
    refused(saved(model(nodes, X, {"y0": (F32, None)}), tmp_path), "is not output of any previous nodes")


# Names given twice


def test_outputs_of_one_name(tmp_path: Path) -> None:
    made = model([node("Neg", "x", "y")], X, Y)
    made.graph.output.append(copy.deepcopy(made.graph.output[0]))
    assert list(load_within_limits(saved(made, tmp_path)).run(ONE)) == ["y"]


def test_names_of_a_megabyte(tmp_path: Path) -> None:
    name = "n\n" * 500_000
    made = model([node("Neg", "x", "y")], {}, Y)
    made.graph.node[0].input[0] = name
    made.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]))
    path = saved(made, tmp_path)
    refused(path, "must have shape [2]", {name: np.zeros(3, F32)})
    refused(path, "without an array", {})
    refused(path, "the model has no input", {"x": np.zeros(3, F32)})


# Paths


@pytest.mark.parametrize("location", ["../../etc/passwd", "/etc/passwd", "sub/../../secret", "/proc/self/mem"])
def test_the_command_reads_no_other_files(location: str, tmp_path: Path) -> None:
    made = model([node("Add", "x w", "y")], X, Y)
    tensor = made.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[3])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    refused(saved(made, tmp_path), "is outside of the model's folder")


# Nesting


@pytest.mark.parametrize("depth", [40, 1000, 20_000])
def test_graphs_nested_by_hand(depth: int, tmp_path: Path) -> None:
    inner = graph([node("Neg", "x", "y")], X, Y).SerializeToString()
    for _ in range(depth):
        inner = encode_field(1, encode_field(5, encode_field(6, inner)))
    data = model([], X, Y).SerializeToString() + encode_field(7, inner)
    refused(saved(data, tmp_path), "not an ONNX model")


@pytest.mark.parametrize("depth", [30, 1000])
def test_types_nested_by_hand(depth: int, tmp_path: Path) -> None:
    inner = TypeProto(tensor_type=TypeProto.Tensor(elem_type=1)).SerializeToString()
    for _ in range(depth):
        inner = encode_field(4, encode_field(1, inner))
    value = encode_field(1, b"deep") + encode_field(2, inner)
    made = model([node("Neg", "x", "y")], X, Y)
    path = saved(made.SerializeToString() + encode_field(7, encode_field(11, value)), tmp_path)
    if depth == 30:
        assert load_within_limits(path).inputs[1].element_type == "sequence"
    else:
        refused(path, "not an ONNX model")


@pytest.mark.parametrize("depth", [300, 2000])
@pytest.mark.parametrize("order", [1, -1])
def test_functions_that_call_each_other_deeply(depth: int, order: int, tmp_path: Path) -> None:
    functions = [function("my", "F0", "x", "y", [node("Neg", "x", "y")])]
    for i in range(1, depth):
        calls = [node(f"F{i - 1}", "x", "y", domain="my")]
        functions.append(function("my", f"F{i}", "x", "y", calls, domains={"my": 1}))
    last = [node(f"F{depth - 1}", "x", "y", domain="my")]
    refused(saved(model(last, X, Y, functions=functions[::order], domains={"my": 1}), tmp_path), "deep")


def test_many_functions(tmp_path: Path) -> None:
    functions = [function("my", f"F{i}", "x", "y", [node("Neg", "x", "y")]) for i in range(3000)]
    made = model([node("F2999", "x", "y", domain="my")], X, Y, functions=functions, domains={"my": 1})
    loaded = load_within_limits(saved(made, tmp_path))
    assert loaded.run(ONE)["y"].tolist() == [-1, -1, -1]


def test_many_branches(tmp_path: Path) -> None:
    """The model has two thousand consecutive subgraphs."""
    nodes = []
    for i in range(1000):
        then = graph([node("Neg", f"v{i}", f"t{i}")], {}, {f"t{i}": (F32, None)})
        other = graph([node("Abs", f"v{i}", f"e{i}")], {}, {f"e{i}": (F32, None)})
        nodes.append(node("If", "flag", f"v{i + 1}", then_branch=then, else_branch=other))
    made = model(nodes, {"v0": (F32, [3]), "flag": (np.bool_, [])}, {"v1000": (F32, None)})
    loaded = load_within_limits(saved(made, tmp_path))
    assert loaded.run({"v0": np.ones(3, F32), "flag": np.array(True)})["v1000"].tolist() == [1, 1, 1]


# Errors of nodes outside the family


@pytest.mark.parametrize(
    ("nodes", "inputs"),
    [
        ([node("Cast", "x", "n", to=7), node("Reshape", "x n", "y")], {"x": np.full((3,), 7, F32)}),
    ],
)
def test_errors_of_other_nodes_are_one_line(
    nodes: list[onnx.NodeProto], inputs: dict[str, np.ndarray], tmp_path: Path
) -> None:
    path = saved(model(nodes, X, Y), tmp_path)
    loaded = load(path)
    with pytest.raises((ModelError, TypeError, ValueError, IndexError, RuntimeError)) as caught:
        loaded.run(inputs)
    assert not check_one_line(str(caught.value), "message")
    result = call("run", path, "--random-inputs")
    assert result.exit_code == 2, result.exception
    assert not check_one_line(result.stderr.rstrip("\n"), "output")


def test_a_result_is_the_callers_own(tmp_path: Path) -> None:
    """This holds even if the result is a constant of the model."""
    made = model([node("Constant", "", "y", value_floats=[1.0, 2.0])], {}, Y)
    loaded = load(saved(made, tmp_path))
    result = loaded.run({})["y"]
    if result.flags.writeable:
        result[...] = 0
    assert loaded.run({})["y"].tolist() == [1, 2]


def test_long_attributes(tmp_path: Path) -> None:
    path = saved(
        model([node("ScatterND", "x at x", "y", reduction="9" * 5000)], {**X, "at": (I64, [3, 1])}, Y), tmp_path
    )
    with pytest.raises(ValueError, match="reduction must be one of") as caught:
        load(path).run({**ONE, "at": np.zeros((3, 1), I64)})
    assert not check_one_line(str(caught.value), "message")
    writer = IRWriter()
    writer.result("y", writer.layer("Convert", "opset1", [writer.parameter("x", "f32", [3])],
                                    attributes={"destination_type": "&" * 5000}))  # fmt: skip
    refused(writer.save(tmp_path / "m.xml"), "OpenVINO can't read it")


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 18]> {text}')


HOSTILE = {
    "more outputs of Split than num_outputs":  # aborts onnx.shape_inference
        "g (float[a,b] x, int64[m] i) => (float[n] o) { r = Shape(x) p,q,s = Split<num_outputs=2>(r) o = Gather(x,i) }",
    "a size of 2**31": "g (int64[2147483648] c, int64[m] i) => (int64[n] o) { o = Gather(c,i) }",
    "a size of 2**62": """g (int64[4611686018427387904] c, int64[m] i) => (int64[n] o)
        { s = Shape(c) t = ConstantOfShape(s) o = Gather(t,i) }""",
    "a Range of 2**62": """g (int64[m] i) => (int64[n] o)
        <int64 a = {0}, int64 b = {4611686018427387904}, int64 c = {1}> { t = Range(a, b, c) o = Gather(t,i) }""",
    "negative batch_dims": "g (float[a,b] x, int64[m,1] i) => (float[n] o) { o = GatherND<batch_dims=-1>(x,i) }",
}  # fmt: skip


def wide_calls(count: int) -> onnx.ModelProto:
    """Return calls of a function that joins many values of high rank."""
    made = [function("my", "F", "a", "b", [node("Concat", "a " * 2700, "c", axis=0), node("Identity", "a", "b")])]
    nodes = [node("F", f"v{i}" if i else "x", f"v{i + 1}", domain="my") for i in range(count)]
    gather = node("Gather", f"v{count} at", "y")
    return model([*nodes, gather], {"x": (F32, [1] * 64)}, Y, {"at": [0]}, functions=made, domains={"my": 1})


def long_shape(count: int) -> onnx.ModelProto:
    made = node("Reshape", "x", "v", shape=[2**62 + 1] * count)
    return model([made, node("Gather", "v at", "y")], {"x": (F32, [2**62])}, Y, {"at": [0]}, opset=4)


def nameless_parts(count: int) -> onnx.ModelProto:
    made = onnx.NodeProto(op_type="Split", input=["x"], output=["v", *[""] * count])
    return model([made, node("Gather", "v at", "y")], {"x": (F32, [1] * 64)}, Y, {"at": [0]}, opset=11)


def repeated_constant(count: int) -> onnx.ModelProto:
    made = node("Concat", "c " * count, "v", axis=0)
    return model([made, node("Gather", "v at", "y")], {}, {"y": (I64, None)}, {"at": [0], "c": np.arange(64)})


def repeated_input(count: int) -> onnx.ModelProto:
    made = node("Concat", "x " * count, "v", axis=0)
    return model([made, node("Gather", "v at", "y")], {"x": (F32, [1] * 64)}, Y, {"at": [0]})


def largest_of_many(count: int) -> onnx.ModelProto:
    made = node("Max", "c " * count, "v")
    return model([made, node("Gather", "v at", "y")], {}, {"y": (I64, None)}, {"at": [0], "c": np.arange(64)})


REPEATED = {wide_calls: 900, long_shape: 40_000, nameless_parts: 200_000, repeated_constant: 150_000,
            repeated_input: 150_000, largest_of_many: 150_000}  # fmt: skip


@pytest.mark.parametrize("tool", ["doctor", "session"])
@pytest.mark.parametrize("build", REPEATED)
def test_what_is_named_often_costs_little(build: Callable[[int], onnx.ModelProto], tool: str, tmp_path: Path) -> None:
    """In files of up to 400 KB, a few bytes represent a value of high rank, or many elements."""
    path = saved(build(REPEATED[build]), tmp_path)
    assert path.stat().st_size < 500_000
    with within_limits(), contextlib.suppress(ModelError):
        TOOLS[tool](path)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", HOSTILE)
def test_tools_read_models_within_limits(name: str, tool: str, tmp_path: Path) -> None:
    path = saved(parsed(HOSTILE[name]), tmp_path)
    with within_limits(), contextlib.suppress(ModelError):
        TOOLS[tool](path)


def test_a_session_with_a_size_of_2_31() -> None:
    with within_limits():
        session = gm.onnx.InferenceSession(parsed(HOSTILE["a size of 2**31"]))
    assert session.get_inputs()[0].shape == [2**31]


def test_convert_refuses_a_model_without_the_default_domain() -> None:
    made = parsed("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    made.graph.node[0].op_type, made.graph.node[0].domain = "Scaler", "ai.onnx.ml"
    made.opset_import[0].domain, made.opset_import[0].version = "ai.onnx.ml", 3
    with pytest.raises(ModelError, match=r"Scaler \(1/1\): convert does not support nodes of domain ai\.onnx\.ml"):
        gm.openvino.convert(made)
