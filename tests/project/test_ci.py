"""CI runs every test file, and all paths that files of the repository mention exist."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator

from conftest import QUICK
from tests.support.paths import ROOT

TESTS = ("tests", "conformance/tests", "benchmarks/tests")
FILES = sorted(path.relative_to(ROOT).as_posix() for folder in TESTS for path in (ROOT / folder).rglob("test_*.py"))
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8").replace("\\\n", " ")
FOLDERS = ("benchmarks", "conformance", "cpp", "docs", "examples", "src", "tests", "tools")
PATH = re.compile(r"(?<![\w/.])(?:tests|tools|src/gatherscatter|conformance|benchmarks)/[\w/.-]*\w")  # not cpp/tests
NAMING = [
    *(ROOT / ".ci").iterdir(),
    *(ROOT / name for name in ("CONTRIBUTING.md", "README.md", "RELEASING.md", "pyproject.toml")),
    *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")),
]


def covered(file: str, paths: list[str]) -> bool:
    return any(file == path or file.startswith(f"{path}/") for path in paths)


def runs() -> list[list[str]]:
    """Return the paths of the two runs of pytest: without frameworks, and with all of them."""
    commands = re.findall(r"^\.venv/bin/pytest (.*)$", CI, re.MULTILINE)
    assert len(commands) == 2
    return [[word for word in command.split() if not word.startswith("-")] for command in commands]


def modules_of(requirements: list[str]) -> Iterator[str]:
    for requirement in requirements:
        name, extras = re.match(r"([\w-]+)(?:\[([\w,-]+)\])?", requirement).groups()  # type: ignore[union-attr]
        if name == "gatherscatter":
            for extra in extras.split(","):
                yield from modules_of(SETTINGS["project"]["optional-dependencies"][extra])
        else:
            yield name.replace("-", "_")


def needed(file: str) -> set[str]:
    """Return the modules without which tests of a file are skipped or differ."""
    calls = [
        node for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    ]
    names = {
        str(call.args[0].value)
        for call in calls
        if ast.unparse(call.func).endswith(("importorskip", "find_spec"))
        if call.args
        if isinstance(call.args[0], ast.Constant)
    }
    return {name.partition(".")[0] for name in names} - {"gatherscatter"}


def test_ci_runs_every_file() -> None:
    assert [file for file in FILES if file.startswith("tests/") and file.count("/") < 2] == []
    assert SETTINGS["tool"]["pytest"]["ini_options"]["testpaths"] == list(TESTS)
    assert [file for file in FILES if not (covered(file, runs()[0]) or covered(file, runs()[1]))] == []


INSTALLED = {
    *modules_of(SETTINGS["project"]["dependencies"]),
    *modules_of(SETTINGS["project"]["optional-dependencies"]["test"]),
}


def test_ci_runs_files_with_the_frameworks_that_they_need() -> None:
    missing = {file: needed(file) - INSTALLED for file in FILES if not covered(file, runs()[1])}
    assert {file: names for file, names in missing.items() if names} == {}


def test_the_quick_tests_exist() -> None:
    quick = {f"{folder}/{name}.py" for folder, names in QUICK.items() for name in names}
    assert quick <= set(FILES)


def test_platforms_of_the_table_are_steps() -> None:
    ports = (ROOT / ".ci" / "ports").read_text(encoding="utf-8")
    steps = set(re.search(r"^steps=\((.*)\)$", ports, re.MULTILINE)[1].split())  # type: ignore[index]
    table = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\| `\.ci/ports ([\w.-]+)` \|$", table, re.MULTILINE)) == steps
    assert set(re.findall(r"^step_([\w.-]+)\(\)", ports, re.MULTILINE)) == steps


def test_names_of_files_are_unique() -> None:
    assert [name for name, count in Counter(file.rpartition("/")[2] for file in FILES).items() if count > 1] == []


def test_paths_that_files_name_exist() -> None:
    missing = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in NAMING
        if file.suffix in ("", ".md", ".py", ".toml", ".cpp", ".hpp")
        for name in PATH.findall(file.read_text(encoding="utf-8"))
        if not (ROOT / name).exists() and not (ROOT / "docs" / name).exists()
    }
    assert missing == set()


def test_tests_that_guarantees_name_exist() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:[\w/]+/)?test_\w+\.py)", page)
    assert len(named) > 30
    assert [name for name in named if not {name, f"tests/{name}"} & set(FILES)] == []
