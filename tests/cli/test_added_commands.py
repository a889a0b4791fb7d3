"""Commands that other packages add with entry points."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.paths import DOCS

BROKEN = """
raise ImportError("no such thing")
"""
OTHERS = """
import click

@click.command("hello", short_help="Say hello.")
def hello():
    raise LookupError("nobody is here")

@click.command("ops")
def ops():
    print("mine")

not_a_command = 3
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with installed packages: the one of docs/extending.md, a broken one, and one with mistakes."""
    folder = tmp_path_factory.mktemp("packages")
    page = (DOCS / "extending.md").read_text(encoding="utf-8")
    (entry,) = re.findall(r'^\[project.entry-points."gatherscatter.commands"\]\n(.*)$', page, re.MULTILINE)
    (code,) = re.findall(r"```python\n# gatherscatter_shapes.py\n(.*?)```", page, re.DOTALL)
    install(folder, "gatherscatter-shapes", "gatherscatter_shapes", code, entry.replace('"', ""))
    install(folder, "broken", "broken", BROKEN, "breaks = broken:command")
    lines = "hello = others:hello\nops = others:ops\nnumber = others:not_a_command\ngone = others:gone"
    install(folder, "others", "others", OTHERS, lines)
    return folder


def install(folder: Path, name: str, module: str, code: str, entry_points: str) -> None:
    (folder / f"{module}.py").write_text(code)
    described = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(f"[gatherscatter.commands]\n{entry_points}\n")


def run(packages: Path, *words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    paths = [str(packages), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        [sys.executable, "-m", "gatherscatter", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables, "PYTHONPATH": os.pathsep.join(paths)},
    )


def test_the_command_of_the_page_works(packages: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "data.npy", np.zeros((2, 3), np.float32))
    done = run(packages, "shapes", tmp_path / "data.npy")
    assert done.stderr == ""
    assert done.stdout.split()[-3:] == ["float32", "(2,", "3)"]
    done = run(packages, "shapes", tmp_path / "none.npy")
    assert done.returncode == 2
    assert done.stderr.startswith("gatherscatter: error: Invalid value for '[FILES]...'")


def test_help_lists_added_commands_and_survives_broken_ones(packages: Path) -> None:
    done = run(packages, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    text = " ".join(done.stdout.partition("Native library:")[2].split())
    assert "From gatherscatter-shapes: shapes Print" in text
    assert "shapes Print the shapes of arrays." in text
    assert "hello Say hello." in text
    assert "breaks the command breaks of broken can't be imported: no such thing" in text
    assert "number the command number of others can't be imported: others:not_a_command must be" in text


def test_an_error_of_an_added_command_is_one_line(packages: Path) -> None:
    done = run(packages, "hello")
    assert (done.returncode, done.stderr) == (2, "gatherscatter: error: nobody is here\n")


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("breaks", "the command breaks of broken can't be imported: no such thing"),
        ("gone", "the command gone of others can't be imported: module 'others' has no attribute 'gone'"),
        ("number", "of others can't be imported: others:not_a_command must be a click.Command, not int"),
    ],
)
def test_a_broken_command_names_its_package(packages: Path, word: str, text: str) -> None:
    done = run(packages, word)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert text in done.stderr


def test_own_commands_are_not_replaced(packages: Path) -> None:
    assert "onnx.ScatterND-18" in run(packages, "ops").stdout


def test_shells_complete_added_commands(packages: Path) -> None:
    words = {"_GATHERSCATTER_COMPLETE": "bash_complete", "COMP_WORDS": "gatherscatter sh", "COMP_CWORD": "1"}
    assert run(packages, **words).stdout == "plain,shapes\n"
