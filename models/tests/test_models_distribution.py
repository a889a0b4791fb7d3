"""The distribution gatherscatter-models: its version, its commands, and the files in its wheel."""

from __future__ import annotations

import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from flit_core import buildapi

import gatherscatter as gs
import gatherscatter_models
from tests.support.command_line import call
from tests.support.paths import ROOT

FOLDER = ROOT / "models"
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_both_distributions_have_one_version() -> None:
    assert gatherscatter_models.__version__ == gs.__version__
    assert f"gatherscatter[cli]=={gs.__version__}" in PROJECT["dependencies"]
    assert metadata.version("gatherscatter-models") == gs.__version__


def test_both_have_the_same_licence() -> None:
    assert (FOLDER / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    library = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for key in ("license", "requires-python"):
        assert PROJECT[key] == library[key]


def test_every_entry_point_is_a_command_of_gatherscatter() -> None:
    names = PROJECT["entry-points"]["gatherscatter.commands"]
    assert set(names) == {"run", "doctor", "convert"}
    for name in names:
        assert call(name, "--help").stdout.startswith(f"Usage: gatherscatter {name} ")


def test_the_wheel_has_the_package_with_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    with zipfile.ZipFile(tmp_path / buildapi.build_wheel(str(tmp_path))) as wheel:
        names = set(wheel.namelist())
    source = FOLDER / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    assert files <= names
    assert {name.partition("/")[0] for name in names} == {
        "gatherscatter_models",
        f"gatherscatter_models-{gs.__version__}.dist-info",
    }
