"""The two checks run every test file, and all paths that files of the repository mention exist."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator

from conftest import QUICK
from tests.support.paths import ROOT

TESTS = ("tests", "models/tests", "conformance/tests", "benchmarks/tests")
FILES = sorted(path.relative_to(ROOT).as_posix() for folder in TESTS for path in (ROOT / folder).rglob("test_*.py"))
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUN, FULL = ((ROOT / ".ci" / name).read_text(encoding="utf-8").replace("\\\n", " ") for name in ("run", "full"))
FOLDERS = ("benchmarks", "conformance", "cpp", "docs", "examples", "models", "src", "tests", "tools")
PATH = re.compile(
    r"(?<![\w/.])(?:tests|tools|src/gatherscatter|models/src|models/tests|conformance|benchmarks)/[\w/.-]*\w"
)  # not cpp/tests
PAGE_OF_THE_SITE = "conformance/results"  # a file only after a build of the site
NAMING = [
    *(ROOT / ".ci").iterdir(),
    *(ROOT / name for name in ("CONTRIBUTING.md", "README.md", "RELEASING.md", "pyproject.toml")),
    *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")),
]


def covered(file: str, paths: list[str]) -> bool:
    return any(file == path or file.startswith(f"{path}/") for path in paths)


def runs() -> list[list[str]]:
    """Return the paths of the two runs of pytest in .ci/run: without frameworks, and with all of them."""
    commands = re.findall(r'^ +[\w./]+/bin/pytest -q (?:--without-quick )?-m "not full" (.*)$', RUN, re.MULTILINE)
    assert len(commands) == 2
    return [command.split() for command in commands]


def is_full(node: ast.AST) -> bool:
    return ast.unparse(node) == "pytest.mark.full"


def checks_of(file: str) -> set[str]:
    """Return which of the two checks run tests of a file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    body = ast.parse(text).body
    if any(isinstance(node, ast.Assign) and is_full(node.value) for node in body):
        return {"full"}
    tests = [node for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    found = {"full" if any(map(is_full, test.decorator_list)) else "run" for test in tests}
    return found | ({"full"} if "marks=pytest.mark.full" in text else set())


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
    assert "/bin/pytest -q --all -m full " in FULL


INSTALLED = {
    *modules_of(SETTINGS["project"]["dependencies"]),
    *modules_of(SETTINGS["project"]["optional-dependencies"]["test"]),
}


def test_ci_runs_files_with_the_frameworks_that_they_need() -> None:
    alone = [file for file in FILES if not covered(file, runs()[1]) and "run" in checks_of(file)]
    missing = {file: needed(file) - INSTALLED for file in alone}
    assert {file: names for file, names in missing.items() if names} == {}


def test_parts_of_the_full_check_are_described() -> None:
    parts = re.search(r"^parts=\((.*)\)$", FULL, re.MULTILINE)[1].split()  # type: ignore[index]
    assert re.findall(r"^#   (\w+)  ", FULL, re.MULTILINE) == parts
    assert re.findall(r"^part_(\w+)\(\)", FULL, re.MULTILINE) == parts


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
        if not (ROOT / name).exists()
        and not (ROOT / "docs" / name).exists()
        and name.removesuffix(".md") != PAGE_OF_THE_SITE
    }
    assert missing == set()


# The checks that run the programs that guarantees.md names. They run for a shorter time there, or with fewer files.
CHECKS_OF_PROGRAMS = {
    "tools/fuzz.py": {"run", "full"},
    "tools/fuzz_statistics.py": {"full"},
    "tools/soak.py": set[str](),  # project/test_soak.py runs it
    ".ci/sanitize address": {"run", "full"},
    ".ci/sanitize thread": {"full"},
}


def test_guarantees_say_which_check_runs_their_tests() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| **")]
    rows = [row for row in rows if len(row) == 3]  # not those of tensors on other devices
    assert len(rows) > 20
    for promise, tests, checks in rows:
        found: set[str] = set()
        for name in re.findall(r"`((?:[\w/]+/)?test_\w+\.py)", tests):
            [file] = {name, f"tests/{name}", f"models/tests/{name}"} & set(FILES)
            found |= checks_of(file)
        for folder in re.findall(r"`(\w+/\w+/)`", tests):
            found |= set().union(
                *(checks_of(file) for file in FILES if file.startswith((f"tests/{folder}", f"models/tests/{folder}")))
            )
        for program, its_checks in CHECKS_OF_PROGRAMS.items():
            found |= its_checks if f"`{program}`" in tests else set()
        assert checks == ", ".join(name for name in ("run", "full") if name in found), promise
