"""The command line as a whole: help, the list of operators, inspect, errors, signals and streams."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.cli.group import printable
from tests.support.command_line import BENCHMARKS, call, examples_of, fail, succeed, write_arrays
from tests.support.paths import EXAMPLES, ROOT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def arrays(folder: Path) -> Path:
    write_arrays(folder)
    return folder


COMMANDS = ("apply", "convert", "inspect", "library", "ops", "run")


def help_pages() -> list[tuple[str, ...]]:
    return [(), *((name,) for name in (*COMMANDS, BENCHMARKS)), *(("apply", row.name) for row in gs.ops())]


@pytest.mark.parametrize("page", help_pages(), ids=" ".join)
def test_every_help_page_has_an_example(page: tuple[str, ...]) -> None:
    text = succeed(*page, "--help")
    assert text.startswith("Usage: ")
    assert examples_of(text)


PAGES = [(), *((name,) for name in COMMANDS), pytest.param((BENCHMARKS,), marks=pytest.mark.full)]


@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_the_examples_in_the_help_work(page: tuple[str, ...], folder: Path) -> None:
    shutil.copytree(EXAMPLES, folder / "examples")
    for line in examples_of(succeed(*page, "--help")):
        if any(word in line for word in ("COMMAND", "OPERATOR", "COMMIT")):
            continue
        program, *args = shlex.split(line)
        module = ["-m", "gatherscatter"] if program == "gatherscatter" else []
        own = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        done = subprocess.run([sys.executable, *module, *args], capture_output=True, text=True, env=own, check=False)
        assert done.returncode == 0, (line, done.stderr)
        assert done.stderr == "" or page == (BENCHMARKS,), line  # which logs how far it is


def test_the_group_lists_its_commands() -> None:
    text = succeed("--help")
    assert all(f"\n  {name} " in text for name in COMMANDS)


def test_version() -> None:
    assert succeed("--version") == f"gatherscatter, version {gs.__version__}\n"


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from gatherscatter.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('rich', 'onnx', 'openvino') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_without_arguments_the_help_is_shown() -> None:
    result = call()
    assert "Arrays:" in result.output
    assert "error: " not in result.output


def test_ops_lists_every_version() -> None:
    text = succeed("ops")
    assert all(row.name in text for row in gs.ops())


def test_ops_of_one_domain() -> None:
    text = succeed("ops", "--domain", "openvino")
    assert "openvino.GatherTree-1" in text
    assert "onnx." not in text


def test_ops_json_is_the_table() -> None:
    rows = json.loads(succeed("ops", "--format", "json"))
    assert [row["name"] for row in rows] == [row.name for row in gs.ops()]
    one = json.loads(succeed("ops", "openvino.GatherElements-6", "--format", "json"))
    assert one["attributes"] == [
        {"name": "axis", "type": "int", "default": None, "choices": None, "required": True},
    ]


@pytest.mark.parametrize("row", gs.ops(), ids=lambda row: row.name)
def test_ops_shows_a_row_in_full(row: gs.OpVersion) -> None:
    text = succeed("ops", row.name)
    names = [*(one.name for one in row.inputs), *(one.name for one in row.attributes), *row.element_types]
    assert all(name in text for name in [*names, *row.index_types, row.source])


@pytest.mark.parametrize("args", [["onnx.Nothing"], ["ScatterND"], ["onnx.ScatterND", "--domain", "onnx"]])
def test_mistakes_with_ops_give_one_line(args: list[str]) -> None:
    assert fail("ops", *args)


def test_inspect_prints_the_report(arrays: Path) -> None:
    assert succeed("inspect", "far.npy", "--shape", "8") == f"{gs.inspect(np.load('far.npy'), (8,))}\n"
    assert succeed("inspect", "far.npy", "--shape", "(20, 3)", "--axis", "0").rstrip("\n") == str(
        gs.inspect(np.load("far.npy"), (20, 3), axis=0)
    )


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("indices.npy", "--shape"),
        ("indices.npy --shape 8;4", "'8;4' is not a shape: write sizes with commas between them, as in 8,4"),
        ("indices.npy --shape -8", "'-8' is not a shape"),
        ("indices.npy --shape 8 --axis 3", "axis"),
        ("data.npy --shape 8", "float32"),
        ("missing.npy --shape 8", "missing.npy"),
    ],
)
def test_mistakes_with_inspect_give_one_line(line: str, part: str, arrays: Path) -> None:
    assert part in fail("inspect", *line.split())


@pytest.mark.parametrize("position", ["before", "after"])
def test_traceback_on_request(position: str, arrays: Path) -> None:
    line = shlex.split("apply onnx.ScatterND-18 data.npy far.npy updates.npy")
    result = call("--traceback", *line) if position == "before" else call(*line, "--traceback")
    assert result.exit_code == 2
    assert "Traceback (most recent call last)" in result.stderr


def test_an_unknown_command_gives_one_line() -> None:
    assert "No such command 'rum'" in fail("rum")


def test_an_unexpected_error_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ArithmeticError("a bug")

    monkeypatch.setattr(gs, "ops", broken)
    assert isinstance(call("ops").exception, ArithmeticError)


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(gs, "ops", interrupted)
    result = call("ops")
    assert result.exit_code == 130
    assert "Traceback" not in result.output


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_closed_pipe_is_quiet() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "gatherscatter", "ops"], stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert done.stderr == ""
    assert done.returncode == 1


def test_names_from_files_cant_steer_the_terminal() -> None:
    assert printable("a\x1b[2J\nb\u202e") == "a\\x1b[2J\\nb\\u202e"


def test_a_name_that_the_encoding_lacks_is_escaped(arrays: Path) -> None:
    line = "apply onnx.ScatterND-18 data.npy indices.npy updates.npy -o Ω.npy"
    done = subprocess.run(
        [sys.executable, "-m", "gatherscatter", *line.split()],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "1"},
        check=False,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, rb"written: \u03a9.npy", b"")
