"""Checks that import-linter lacks: imports of the root and by name, class names, and files that a call enters."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import gatherscatter as gs
import gatherscatter_models as gm
from tests.support.paths import ROOT

PACKAGE = Path(gs.__file__).parent
MODELS = Path(gm.__file__).parent
REFEREE = ROOT / "conformance" / "src" / "gatherscatter_conformance"
BENCHMARK = ROOT / "benchmarks"
ROOTS = ("gatherscatter", "gatherscatter_models")
TOOLS = {"cli", "explaining", "__main__.py"}
BY_NAME = {"system/lazy_modules.py", "commits.py"}  # the second imports the package of another commit


@functools.cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def sources(*folders: Path) -> Iterator[tuple[str, ast.Module]]:
    """Yield the names and contents of modules: those of the library by default."""
    for folder in folders or (PACKAGE,):
        for path in sorted(folder.rglob("*.py")):
            if "tests" not in path.relative_to(folder).parts:
                yield path.relative_to(folder).as_posix(), parse(path)


def test_only_tools_import_the_root() -> None:
    """``from gatherscatter import X`` imports the root unless X is a module."""
    found = []
    for name, tree in sources():
        if name.split("/")[0] in TOOLS or name == "__init__.py":
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found += [name for alias in node.names if alias.name == "gatherscatter"]
            elif isinstance(node, ast.ImportFrom) and node.module == "gatherscatter":
                modules = (alias.name for alias in node.names if alias.name != "_core")
                found += [name for module in modules if not (PACKAGE / f"{module}.py").exists()]
    assert found == []


def test_our_modules_are_imported_by_name_in_one_module() -> None:
    """Elsewhere, ``import_module`` gets the name of another library, as a constant."""
    found = []
    for name, tree in sources(PACKAGE, MODELS, REFEREE, BENCHMARK):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
                constant = isinstance(node.args[0], ast.Constant) and str(node.args[0].value)
                if not constant or constant.startswith(("gatherscatter", ".")):
                    found.append(name)
    assert set(found) == BY_NAME


@pytest.mark.parametrize("folder", [PACKAGE, MODELS, REFEREE, BENCHMARK], ids=lambda folder: folder.name)
def test_no_module_and_no_package_is_in_a_circle(folder: Path) -> None:
    """lint-imports compares siblings. Here, the ``__init__`` of a package is a module, and its children can import it.

    Only tools import the roots of the packages, so they are skipped.
    """
    trees = {
        ".".join((folder.name, *Path(name).with_suffix("").parts)).removesuffix(".__init__"): tree
        for name, tree in sources(folder)
    }
    imports: dict[str, set[str]] = {}
    for module, tree in trees.items():
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module in trees]
        found = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
        imports[module] = {name if name in trees else name.rpartition(".")[0] for name in found} - {
            "gatherscatter",
            "gatherscatter_models",
        }
    TopologicalSorter(imports).prepare()  # raises an error that lists the circle


def test_a_class_name_has_one_meaning() -> None:
    trees = [tree for _, tree in sources(PACKAGE, MODELS, REFEREE, BENCHMARK)]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


def documented() -> dict[str, set[str]]:
    """Return the names that docs/extending.md lists for each module."""
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(gatherscatter[\w.]*)` \| (.+?) \|", page, re.MULTILINE)
    found = {module: set(re.findall(r"`(\w+)`", names)) or set(import_module(module).__all__) for module, names in rows}
    children = {module.partition(".")[2] for module in found if re.fullmatch(r"gatherscatter\.\w+", module)}
    return found | {"gatherscatter": {*gs.__all__, *children}, "gatherscatter_models": {*gm.__all__, *dir(gm)}}


def test_the_referee_and_the_benchmark_use_only_documented_names() -> None:
    public = documented()
    used: dict[str, set[str]] = {}
    for _, tree in sources(REFEREE, BENCHMARK, ROOT / "conformance" / "lab"):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ROOTS:
                used.setdefault(str(node.module), set()).update(alias.name for alias in node.names)
            elif isinstance(node, ast.Import):
                assert all(alias.name in public for alias in node.names if alias.name.partition(".")[0] in ROOTS)
    assert {module: names - public.get(module, set()) for module, names in used.items()} == {
        module: set() for module in used
    }
    unused = {module: names - used.get(module, set()) for module, names in public.items() if module in used}
    whole = {*ROOTS, "gatherscatter.specs", "gatherscatter.oracle"}
    assert {module: names for module, names in unused.items() if names and module not in whole} == {}


def test_the_package_for_models_uses_only_documented_modules() -> None:
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(gatherscatter\.[\w.]+)`", page[page.index("gatherscatter-models uses more names") :]))
    used = set()
    for _, tree in sources(MODELS):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "gatherscatter":
                paths = [
                    (alias, PACKAGE.joinpath(*str(node.module).split(".")[1:], alias.name)) for alias in node.names
                ]
                modules = {alias.name for alias, path in paths if path.with_suffix(".py").exists()}
                used |= {f"{node.module}.{name}" for name in modules} or {str(node.module)}
    assert used - listed == set()
    assert listed - used == set()


def test_documented_names_exist() -> None:
    for module, names in documented().items():
        assert [name for name in names if not hasattr(import_module(module), name)] == [], module


DATA, INDICES, UPDATES = np.zeros((4, 3), np.float32), np.array([[1], [2]]), np.ones((2, 3), np.float32)
COUNT_FILES = """
import sys, threading
from pathlib import Path
import numpy as np
import gatherscatter as gs

DATA, INDICES, UPDATES = np.zeros((4, 3), np.float32), np.array([[1], [2]]), np.ones((2, 3), np.float32)
{setup}

def run():
    {call}

run()  # all imports are done afterwards
files = set()

def note(frame, event, argument):
    if event == "call":
        files.add(frame.f_code.co_filename)

threading.setprofile(note)
sys.setprofile(note)
run()
sys.setprofile(None)
threading.setprofile(None)
for folder in {folders}:
    print(*(Path(name).relative_to(folder).as_posix() for name in files if name.startswith(folder + "/")), sep="\\n")
"""


def entered(call: str, setup: str = "", cwd: Path | None = None) -> set[str]:
    """Return our files whose functions a second run of a call enters, in all of its threads.

    The call runs in a new process: under Python 3.11, a function that was run often can loop forever under a profiler.
    """
    code = COUNT_FILES.format(call=call, setup=setup, folders=[str(PACKAGE), str(MODELS)])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return {line for line in done.stdout.split("\n") if line.endswith(".py")}


def test_an_array_function_enters_no_python() -> None:
    assert entered("gs.gather_nd(DATA, INDICES)") == set()


def test_an_op_version_enters_one_file() -> None:
    """The first call with some types checks them. All others enter no further file."""
    assert entered("gs.onnx.ScatterND(DATA, INDICES, UPDATES)") == {"specs/calls.py"}


def test_bags_enter_no_file() -> None:
    assert entered("gs.gather_reduce(DATA, INDICES)") == set()


def test_the_doctor_enters_few_files() -> None:
    """It was 30 before the layers existed. Four files infer the facts about one operator, and five check the model."""
    setup = """
import onnx
from gatherscatter_models.doctor import examine

model = onnx.parser.parse_model('''<ir_version: 9, opset_import: ["": 18]>
    g (float[4, 3] d, int64[2, 1] i, float[2, 3] u, int64[4, 3] j) => (float[4, 3] z)
    { y = ScatterND <reduction = "add"> (d, i, u)  z = GatherElements (y, j) }''')
inputs = {"d": DATA, "i": INDICES, "u": UPDATES, "j": np.zeros((4, 3), np.int64)}
"""
    files = entered("examine(model, inputs)", setup)
    conditions = {name for name in files if name.startswith("findings/conditions/")}  # the parts of one table
    assert len(files - conditions) <= 24  # with operation.py


def test_apply_on_a_stored_array_enters_few_files(tmp_path: Path) -> None:
    """It was 25 before the layers existed."""
    zarr = pytest.importorskip("zarr")
    zarr.create_array(str(tmp_path / "data.zarr"), data=DATA, chunks=(2, 3))
    np.save(tmp_path / "indices.npy", INDICES)
    np.save(tmp_path / "updates.npy", UPDATES)
    command = "apply onnx.ScatterND-18 data.zarr indices.npy updates.npy --reduction add"
    setup = "from gatherscatter.cli import main"
    assert len(entered(f"main({command.split()!r}, standalone_mode=False)", setup, tmp_path)) <= 16  # with operation.py


def test_the_core_knows_no_python() -> None:
    core = ROOT / "cpp" / "core"
    own = {path.name for path in core.iterdir()}
    for path in core.glob("*.[ch]pp"):
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r'^#include "(.+)"', text, re.MULTILINE)) <= own, path.name
        assert not re.search(r"\bPy[A-Z_]|#include <(Python|numpy)", text), path.name
