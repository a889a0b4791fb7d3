"""The distributions next to the library: their versions, their commands, and the files in their wheels."""

from __future__ import annotations

import importlib
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from flit_core import buildapi

import gatherscatter as gs
from tests.support.command_line import call
from tests.support.paths import ROOT

COMMANDS = {"models": {"run", "doctor", "convert"}, "conformance": {"conform", "corpus"}}
NEEDED = {"models": "gatherscatter[cli]", "conformance": "gatherscatter-models"}


def project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("name", COMMANDS)
def test_all_have_the_version_of_the_library(name: str) -> None:
    assert importlib.import_module(f"gatherscatter_{name}").__version__ == gs.__version__
    assert metadata.version(f"gatherscatter-{name}") == gs.__version__
    assert f"{NEEDED[name]}=={gs.__version__}" in project(ROOT / name)["dependencies"]


@pytest.mark.parametrize("name", COMMANDS)
def test_all_have_the_licence_of_the_library(name: str) -> None:
    assert (ROOT / name / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    for key in ("license", "requires-python"):
        assert project(ROOT / name)[key] == project(ROOT)[key]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_entry_point_is_a_command_of_gatherscatter(name: str) -> None:
    commands = project(ROOT / name)["entry-points"]["gatherscatter.commands"]
    assert set(commands) == COMMANDS[name]
    for command in commands:
        assert call(command, "--help").stdout.startswith(f"Usage: gatherscatter {command} ")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_wheel_has_the_package_with_its_data(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / name)
    with zipfile.ZipFile(tmp_path / buildapi.build_wheel(str(tmp_path))) as wheel:
        names = set(wheel.namelist())
    source = ROOT / name / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert {file for file in files if "__pycache__" not in file} <= names
    package = f"gatherscatter_{name}"
    assert {file.partition("/")[0] for file in names} == {package, f"{package}-{gs.__version__}.dist-info"}
