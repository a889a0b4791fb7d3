"""The files of all commands: inputs never change, and other files are only replaced with --overwrite.

The commands and their outputs are found by walking through the command line, so that a new one is tested too.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import gatherscatter_models as gm
from benchmarks.command import command as benchmarks
from gatherscatter.arrays.tensor_files import TensorFileError, write_tensors
from gatherscatter.cli import main
from gatherscatter.cli.files import (
    OUTPUTS,
    InputFile,
    InputText,
    OutputFile,
    OutputFolder,
    OutputText,
    WritingCommand,
)
from gatherscatter.system.files import replace_atomically, write_text
from gatherscatter_models.doctor import fix, fixes
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.model_files import model_inputs
from gatherscatter_models.openvino.ir_write import IRWriter
from tests.support.command_line import BENCHMARKS, INPUTS, MODEL, call, fail, succeed, write_arrays

Words = tuple[str, ...]


def walk(command: click.Command = main, words: Words = ()) -> Iterator[tuple[Words, click.Command]]:
    """Return all commands that are not groups."""
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from walk(found, (*words, name))


COMMANDS = {**dict(walk()), (BENCHMARKS,): benchmarks}
WRITING = [
    (words, one.name) for words, command in COMMANDS.items() for one in command.params if isinstance(one.type, OUTPUTS)
]
NAMES = [" ".join((*words, str(name))) for words, name in WRITING]


def test_the_walk_finds_what_is_known() -> None:
    known = {("run",), ("convert",), ("apply", "onnx.ScatterND-18"), ("corpus", "export")}
    assert known <= {words for words, _ in WRITING}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_parameter_that_names_a_file_has_a_type_that_says_so(words: Words) -> None:
    command = COMMANDS[words]
    for one in command.params:
        known = isinstance(one.type, (InputFile, InputText, *OUTPUTS))
        text = f"{one.metavar} {getattr(one, 'help', '')}"
        assert known or not isinstance(one.type, click.Path | click.File), one.name
        assert known or not ("FILE" in text or "OUT" in text or "Write" in text), one.name
        if isinstance(one.type, OUTPUTS):
            assert isinstance(command, WritingCommand)
    outputs = [one for one in command.params if isinstance(one.type, OutputFile | OutputText)]
    overwrites = "overwrite" in [one.name for one in command.params]
    assert overwrites == any(not one.type.freely for one in outputs)


# Refusals


def line_of(words: Words, folder: Path, output: str) -> tuple[list[str], list[Path]]:
    """Return arguments with every file that a command reads, and these files. ``output`` is not included."""
    line, files = list(words), []
    for one in COMMANDS[words].params:
        if isinstance(one.type, InputFile | InputText):
            if one.name == "axis_option" or (one.name == "input_axis" and words[0] == "apply"):
                continue  # given by number below
            model = one.name == "model"
            file = folder / (Path(MODEL).name if model else f"{one.name}.npz")
            shutil.copy(MODEL if model else INPUTS, file)
            text = f"present={file}" if one.name == "named_inputs" else str(file)
            if one.name == "named_inputs" and words == ("run",):
                continue  # all inputs are in one file
            files.append(file)
        elif isinstance(one.type, OUTPUTS) and one.name != output and one.required:
            text = str(folder / "other.out")
        elif one.required and one.name != output:
            text = one.type.choices[0] if isinstance(one.type, click.Choice) else "0"
        else:
            continue
        line += [text] if isinstance(one, click.Argument) else [one.opts[0], text]
    if any(one.name == "axis_option" for one in COMMANDS[words].params):
        line += ["--axis", "0"]
    return line, files


def given(words: Words, output: str, target: str | Path) -> list[str]:
    one = next(each for each in COMMANDS[words].params if each.name == output)
    return [str(target)] if isinstance(one, click.Argument) else [one.opts[0], str(target)]


def spellings(file: Path, folder: Path) -> Iterator[str]:
    """Return other names of the same file."""
    yield str(file)
    yield os.path.relpath(file)
    (folder / "sub").mkdir(exist_ok=True)
    yield str(folder / "sub" / ".." / file.name)
    if sys.platform != "win32":
        link = folder / f"link{file.suffix}"
        link.unlink(missing_ok=True)
        link.symlink_to(file)
        yield str(link)
    hard = folder / f"hard{file.suffix}"
    hard.unlink(missing_ok=True)
    os.link(file, hard)
    yield str(hard)
    if (folder / file.name.upper()).exists():  # a file system that treats these as the same
        yield str(folder / file.name.upper())


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(("words", "output"), WRITING, ids=NAMES)
def test_an_input_is_never_overwritten(words: Words, output: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    line, files = line_of(words, tmp_path, output)
    if isinstance(next(one for one in COMMANDS[words].params if one.name == output).type, OutputFolder):
        pytest.skip("writes a new folder")
    overwrite = ["--overwrite"] if any(one.name == "overwrite" for one in COMMANDS[words].params) else []
    for file in files:
        for target in spellings(file, tmp_path):
            forms = [target]
            if words == ("run",):
                forms = [f"present_key={target}"] if file.suffix == ".npz" else []
                target = f"present_key={target}"
            for form in forms:
                before = contents(tmp_path)
                text = fail(*line, *given(words, output, form), *overwrite)
                assert "would overwrite the input" in text
                assert contents(tmp_path) == before
        if words != ("run",):
            text = fail(*line, *given(words, output, f"missing/../{file.name}"), *overwrite)
            assert "there is no folder" in text
            assert contents(tmp_path) == before


@pytest.mark.parametrize(("words", "output"), WRITING, ids=NAMES)
def test_a_file_that_exists_is_kept(words: Words, output: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    line, _ = line_of(words, tmp_path, output)
    kind = next(one for one in COMMANDS[words].params if one.name == output).type
    if kind.freely and isinstance(kind, OutputFile):
        pytest.skip("results are written again and again")
    target = tmp_path / "old.npz"
    if isinstance(kind, OutputFolder):
        target.mkdir()
        (target / "file").write_text("old")
    else:
        target.write_text("old")
    before = contents(tmp_path)
    text = fail(*line, *given(words, output, target))
    assert ("--overwrite" if not isinstance(kind, OutputFolder) else "is not empty") in text
    assert contents(tmp_path) == before


@pytest.mark.parametrize(("words", "output"), WRITING, ids=NAMES)
def test_a_folder_that_is_missing_is_named(words: Words, output: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    line, _ = line_of(words, tmp_path, output)
    for target in ["missing/out.npz", *(["missing/out/"] if words == ("run",) else [])]:
        assert "there is no folder missing" in fail(*line, *given(words, output, target))
    assert not (tmp_path / "missing").exists()


# Side files


def weights(folder: Path, location: str) -> Path:
    """Write a model whose weights are in another file."""
    (folder / location).write_bytes(bytes(12))
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    branches = [
        helper.make_graph([helper.make_node("Constant", [], [name], value=tensor)], name, [],
                          [helper.make_tensor_value_info(name, 1, [3])]) for name in "ab"
    ]  # fmt: skip
    nodes = [
        helper.make_node("If", ["flag"], ["w"], then_branch=branches[0], else_branch=branches[1]),
        helper.make_node("Gather", ["w", "i"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("flag", 9, []), helper.make_tensor_value_info("i", 7, ["n"])]
    made = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, ["n"])])
    path = folder / "m.onnx"
    path.write_bytes(helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString())
    return path


def test_external_data_anywhere_in_a_model_is_an_input(tmp_path: Path) -> None:
    path = weights(tmp_path, "m.bin")
    assert model_inputs(path) == [path, tmp_path / "m.bin"]
    before = contents(tmp_path)
    for line in (
        ["convert", path, tmp_path / "m.xml"],  # the weights are in m.bin
        ["doctor", path, "--json", tmp_path / "m.bin"],
        ["doctor", path, "--fix", tmp_path / "m.xml"],
    ):
        assert "m.bin would overwrite the input" in fail(*line, "--overwrite")
    for write in (gm.openvino.convert, fix):
        with pytest.raises(ModelError, match="would overwrite"):
            write(path, tmp_path / "m.xml")
    assert contents(tmp_path) == before


def look_up(folder: Path) -> Path:
    writer = IRWriter()
    rows = writer.layer("Gather", "opset8", [np.ones(3, np.float32), writer.parameter("i", "i64", [2]), np.int64(0)])
    writer.result("y", rows)
    return writer.save(folder / "ir.xml")


def test_the_weights_of_an_ir_are_an_input(tmp_path: Path) -> None:
    path = look_up(tmp_path)
    shutil.copy(path, tmp_path / "other.xml")
    (tmp_path / "other.bin").symlink_to("ir.bin")
    before = contents(tmp_path)
    for line in (
        ["doctor", path, "--html", tmp_path / "ir.bin"],
        ["doctor", path, "--fix", path],
        ["doctor", path, "--fix", tmp_path / "other.xml"],
    ):
        assert "would overwrite the input" in fail(*line, "--overwrite")
    assert contents(tmp_path) == before


def test_the_library_does_not_overwrite_the_model_either(tmp_path: Path) -> None:
    ir = look_up(tmp_path)
    model = tmp_path / "m.onnx"
    shutil.copy(MODEL, model)
    (tmp_path / "link.onnx").symlink_to(model)
    before = contents(tmp_path)
    for write, source, target in (
        (fix, model, "m.onnx"),
        (fix, model, "link.onnx"),
        (fix, ir, "ir.xml"),
    ):
        with pytest.raises(ModelError, match="would overwrite"):
            write(source, tmp_path / target)
    assert contents(tmp_path) == before


def test_outputs_of_one_name(tmp_path: Path) -> None:
    shutil.copy(MODEL, tmp_path / "m.onnx")
    out = tmp_path / "out"
    assert "is written twice" in fail("doctor", tmp_path / "m.onnx", "--json", out, "--html", f"{tmp_path}/./out")
    twice = ["-o", f"present_key={out}.npy", "-o", f"present_value={out}.npy"]
    assert "is written twice" in fail("run", MODEL, INPUTS, *twice)
    assert not out.exists()


def test_a_folder_of_outputs_is_not_written_over_inputs(tmp_path: Path) -> None:
    inputs = tmp_path / "out" / "inputs.npz"
    inputs.parent.mkdir()
    shutil.copy(INPUTS, inputs)
    os.link(inputs, tmp_path / "out" / "present_value.npy")
    before = contents(tmp_path)
    for overwrite in ([], ["--overwrite"]):
        assert "would overwrite the input" in fail("run", MODEL, inputs, "-o", f"{tmp_path}/out/", *overwrite)
    assert contents(tmp_path) == before


def test_arrays_of_zarr_are_inputs_as_a_whole(tmp_path: Path, monkeypatch: Any) -> None:
    zarr = pytest.importorskip("zarr")
    monkeypatch.chdir(tmp_path)
    zarr.create_array("data.zarr", data=np.arange(6), chunks=(2,))
    np.save("rows.npy", [1, 3])
    before = contents(tmp_path)
    for target in ("data.zarr", "./data.zarr/", "data.zarr/c/0", "data.zarr/new.npy", "data.zarr/new.zarr"):
        text = fail("apply", "onnx.Gather", "data.zarr", "rows.npy", "--axis", "0", "-o", target, "--overwrite")
        assert "would overwrite the input" in text
    (tmp_path / "kept.zarr").mkdir()
    (tmp_path / "kept.zarr" / "file").write_text("no array")
    text = fail("apply", "onnx.Gather", "data.zarr", "rows.npy", "-o", "kept.zarr", "--overwrite")
    assert "is a folder, and not an array of Zarr" in text
    zarr.open_group("group.zarr").create_array("a", data=np.arange(3))
    grouped = contents(tmp_path)
    text = fail("apply", "onnx.Gather", "data.zarr", "rows.npy", "-o", "group.zarr", "--overwrite")
    assert "is a folder, and not an array of Zarr" in text
    assert contents(tmp_path) == grouped
    shutil.rmtree("group.zarr")
    os.remove("kept.zarr/file")
    os.rmdir("kept.zarr")
    assert contents(tmp_path) == before
    zarr.create_array("out.zarr", data=np.zeros(6))
    shutil.copy("rows.npy", "out.zarr/rows.npy")
    line = ["apply", "onnx.Gather", "data.zarr", "out.zarr/rows.npy", "-o", "out.zarr", "--overwrite"]
    assert "would overwrite the input" in fail(*line)
    succeed("apply", "onnx.Gather", "data.zarr", "rows.npy", "-o", "out.zarr", "--overwrite")
    assert zarr.open_array("out.zarr")[:].tolist() == [1, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.zarr", "out.zarr", "rows.npy"]


# Outputs that are replaced


@cache
def _results() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        done = call("benchmarks", "--quick", "--only", "tiny/take", "--peers", "numpy", "--repeat", "8", "--json", file)
        assert done.exit_code == 0, done.stderr
        return file.read_bytes()


def _bench(folder: Path) -> list[str]:
    (folder / "first.json").write_bytes(_results())
    return ["benchmarks", "--from", "first.json"]


_APPLY = ("data.npy", "indices.npy", "updates.npy")
_CONFORM = ("conform", "--runtime", "numpy", "--case", "onnx/GatherND-11/*k*", "--op", "onnx.GatherND-11")
_EXPLAIN = ("explain", "onnx.Gather", "--data", "[1,2]", "--indices", "[0]")

# How each command writes each of its outputs. A new command needs an entry here.
WRITE: dict[tuple[Words, str], Callable[[Path], list[str]]] = {
    (("run",), "targets"): lambda folder: ["run", MODEL, INPUTS, "-o", "out.npz"],
    (("convert",), "target"): lambda folder: ["convert", MODEL, "out.xml"],
    (("convert",), "output"): lambda folder: ["convert", MODEL, "-o", "out.xml"],
    (("doctor",), "fixed_path"): lambda folder: ["doctor", MODEL, "--fix", "out.onnx"],
    (("doctor",), "json_path"): lambda folder: ["doctor", MODEL, "--json", "out.json"],
    (("doctor",), "html_path"): lambda folder: ["doctor", MODEL, "--html", "out.html"],
    (("conform",), "json_file"): lambda folder: [*_CONFORM, "--json", "out.json"],
    (("conform",), "html_file"): lambda folder: [*_CONFORM, "--html", "out.html"],
    (("benchmarks",), "json_file"): lambda folder: [*_bench(folder), "--json", "out.json"],
    (("benchmarks",), "markdown_file"): lambda folder: [*_bench(folder), "--markdown", "out.md"],
    (("corpus", "export"), "folder"): lambda folder: ["corpus", "export", "out", "--format", "json", "--kind", "k=0"],
    (("apply",), "output"): lambda folder: ["apply", "onnx.ScatterND", *_APPLY, "-o", "out.npz"],
    (("explain",), "output"): lambda folder: [*_EXPLAIN, "-o", "out.html"],
}


def test_every_output_is_written_in_a_test() -> None:
    found = {(words[:1] if words[0] in ("apply", "explain") else words, name) for words, name in WRITING}
    assert found == set(WRITE)


@pytest.mark.parametrize(("words", "output"), WRITE, ids=[" ".join((*words, name)) for words, name in WRITE])
def test_a_file_is_replaced_on_request_only(words: Words, output: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    write_arrays(tmp_path)
    line = WRITE[words, output](tmp_path)
    succeed(*line)
    (out,) = (path for path in tmp_path.glob("out*") if path.suffix != ".bin")
    names = {path.name for path in tmp_path.iterdir()}
    if out.is_dir():
        assert "is not empty" in fail(*line)
        return
    made = out.read_bytes()
    out.write_text("old")
    if words != ("benchmarks",):
        assert fail(*line).startswith(f"Invalid value for {line_name(line)}: {out.name} exists already; --overwrite")
        assert out.read_text() == "old"
        line.append("--overwrite")
    succeed(*line)
    assert len(out.read_bytes()) > 0.9 * len(made)
    assert {path.name for path in tmp_path.iterdir()} == names  # no other file is left behind


def line_name(line: list[str]) -> str:
    """Return the name of an output in messages."""
    if line[0] == "convert" and "-o" not in line:
        return "'TARGET'"
    return "'-o' / '--output'" if line[-2] == "-o" else f"'{line[-2]}'"


def test_the_weights_next_to_an_output_are_kept_too(tmp_path: Path) -> None:
    (tmp_path / "out.bin").write_text("old")
    assert "out.bin exists already" in fail("convert", MODEL, tmp_path / "out.xml")
    assert contents(tmp_path) == {str(tmp_path / "out.bin"): b"old"}
    succeed("convert", MODEL, tmp_path / "out.xml", "--overwrite")
    assert gm.run(tmp_path / "out.xml", dict(np.load(INPUTS)))


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="a file of POSIX systems")
def test_devices_are_written_to(tmp_path: Path) -> None:
    shutil.copy(MODEL, tmp_path / "m.onnx")
    succeed("doctor", tmp_path / "m.onnx", "--json", "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_a_link_leads_to_the_new_file(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_text("old")
    (tmp_path / "link.npy").symlink_to("a.npy")
    write_tensors(tmp_path / "link.npy", {"x": np.arange(3)})
    assert (tmp_path / "link.npy").is_symlink()
    assert np.load(tmp_path / "a.npy").tolist() == [0, 1, 2]


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: Any) -> None:
    """The old file stays, for any failure and any number of bytes already written."""
    monkeypatch.chdir(tmp_path)
    write_arrays(tmp_path)
    for name in ("old.npy", "old.npz", "old.pb", "old.txt"):
        Path(name).write_text("old")
    before = contents(tmp_path)
    assert fail("apply", "onnx.ScatterND-18", "data.npy", "far.npy", "updates.npy", "-o", "old.npy", "--overwrite")

    def cut(file: Any, array: Any, **options: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", cut)
    for name in ("old.npy", "old.npz"):
        with pytest.raises(TensorFileError, match=f"^{name}: No space left on device$"):
            write_tensors(name, {"x": np.arange(3)})
    with pytest.raises(UnicodeEncodeError):
        write_text("old.txt", "text" * 10_000 + "\ud800")
    with pytest.raises(UnicodeEncodeError), replace_atomically("old.pb") as part:
        part.write_text("half\ud800", encoding="utf-8")
    assert contents(tmp_path) == before


def test_a_fix_that_fails_at_the_end_leaves_the_old_file(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(fixes, "compare_on", lambda *args: 1 / 0)
    (tmp_path / "old.onnx").write_text("old")
    made = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18]>
        put (float[4] data, float[3] updates) => (float[4] out) <int64[3, 1] rows = {3, 0, -1}>
        { out = ScatterND (data, rows, updates) }""")
    with pytest.raises(ZeroDivisionError):
        fix(made, tmp_path / "old.onnx")
    assert contents(tmp_path) == {str(tmp_path / "old.onnx"): b"old"}


def test_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    write_tensors(path, {"x": np.arange(3)})
    usual = path.stat().st_mode
    (tmp_path / "plain").write_text("")
    assert usual == (tmp_path / "plain").stat().st_mode
    path.chmod(0o640)
    write_tensors(path, {"x": np.arange(3)})
    assert path.stat().st_mode & 0o777 == 0o640
