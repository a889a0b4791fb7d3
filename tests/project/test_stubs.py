"""The type stubs agree with the package."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from gatherscatter import _core
from gatherscatter.specs.table import SPECIFICATIONS
from tools import write_stubs

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("domain", SPECIFICATIONS)
def test_the_stub_of_a_domain_is_what_the_table_gives(domain: str) -> None:
    stored = (write_stubs.PACKAGE / write_stubs.package_of(domain) / "__init__.pyi").read_text()
    assert stored == write_stubs.stub(domain), "run: python tools/write_stubs.py"


def test_the_sources_that_repeat_parameters_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "generate_source.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def _declared() -> dict[str, list[str]]:
    tree = ast.parse((write_stubs.PACKAGE / "_core.pyi").read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {f.name: [a.arg for a in f.args.posonlyargs + f.args.args + f.args.kwonlyargs] for f in functions}


def test_the_stub_of_the_core_names_every_function() -> None:
    assert set(_declared()) == {name for name in vars(_core) if not name.startswith("__")}


@pytest.mark.parametrize("name", _declared())
def test_the_stub_of_the_core_has_every_parameter(name: str) -> None:
    function = getattr(_core, name)
    try:
        parameters = list(inspect.signature(function).parameters)
    except ValueError:
        pytest.fail(f"{name} has no signature")
    assert parameters == _declared()[name]
