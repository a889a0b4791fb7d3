"""Importing the package does not import a framework. Errors name a missing package and its extra."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import gatherscatter as gs
from gatherscatter.system import lazy_modules

FRAMEWORKS = [
    "onnx",
    "onnxruntime",
    "openvino",
    "torch",
    "jax",
    "dask",
    "xarray",
    "zarr",
    "click",
    "rich",
    "ml_dtypes",
    "jinja2",
]


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_the_package_imports_no_framework() -> None:
    loaded = _run(f"import sys, gatherscatter; print([name for name in {FRAMEWORKS} if name in sys.modules])")
    assert loaded == "[]"


OUTSIDE = """
import sys
import numpy, ml_dtypes, signal, warnings, atexit, threading, os
def state():
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    errors = (numpy.geterr(), numpy.get_printoptions())
    hooks = (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook, sys.getprofile())
    threads = [thread.name for thread in threading.enumerate()]
    paths = (list(sys.path), list(sys.meta_path), list(sys.path_hooks), dict(os.environ), os.getcwd())
    return handlers, errors, hooks, threads, paths, warnings.filters[:], atexit._ncallbacks()
before = state()
%s
assert [one for one, other in zip(before, state()) if one != other] == []
"""


@pytest.mark.parametrize("imports", ["import gatherscatter", "import gatherscatter_models"])
def test_an_import_changes_nothing_outside(imports: str) -> None:
    done = subprocess.run([sys.executable, "-c", OUTSIDE % imports], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_spec_functions_need_no_framework() -> None:
    code = (
        "import sys, gatherscatter as gs\n"
        "gs.onnx.ScatterND([0.0, 0.0], [[1]], [1.0], reduction='add')\n"
        "gs.openvino.Gather(['a', 'b'], [1], 0)\n"
        f"print([name for name in {FRAMEWORKS} if name in sys.modules])"
    )
    assert _run(code) == "[]"


def test_sentences_are_read_at_the_first_error() -> None:
    code = (
        "import sys, gatherscatter as gs\n"
        "from gatherscatter.messages.sentences import read_sentences\n"
        "gs.onnx.ScatterND([0.0, 0.0], [[1]], [1.0], reduction='add')\n"
        "print(read_sentences.cache_info().currsize, 'tomllib' in sys.modules)\n"
        "try:\n    gs.gather([1], [1])\nexcept IndexError:\n    print(read_sentences.cache_info().currsize)"
    )
    assert _run(code).split() == ["0", "False", "1"]


def test_a_missing_framework_is_named_with_its_extra(tmp_path: Path) -> None:
    code = (
        "import sys, gatherscatter_models as gm\n"
        "sys.modules['openvino'] = None\n"
        "open('model.xml', 'w').write('<net/>')\n"
        "try:\n    gm.run('model.xml', {})\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "this needs OpenVINO: pip install openvino\n"


def test_every_public_function_can_be_sent_to_another_process() -> None:
    functions = [getattr(gs, name) for name in gs.__all__ if callable(getattr(gs, name))]
    assert pickle.loads(pickle.dumps(functions)) == functions


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
def test_tools_read_all_names_without_the_extras(tmp_path: Path) -> None:
    """`help` and `inspect.getmembers` read each name that `dir` lists."""
    site = Path(gs.__file__).parents[1]
    for name in ("numpy", "ml_dtypes"):
        package = Path(str(importlib.import_module(name).__file__)).parent
        (tmp_path / name).symlink_to(package)
        if (libraries := package.parent / f"{name}.libs").exists():
            (tmp_path / libraries.name).symlink_to(libraries)
    (tmp_path / "gatherscatter").symlink_to(site / "gatherscatter")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import inspect, pydoc
import gatherscatter as gs
for package in (gs, gs.onnx, gs.openvino, gs.microsoft):
    assert dict(inspect.getmembers(package)).keys() >= set(dir(package))
    assert package.__name__ in pydoc.render_doc(package)
assert not {{"torch", "zarr"}} & set(dir(gs))
try:
    gs.torch
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("gatherscatter.torch needs PyTorch: pip install ")


@pytest.mark.parametrize("package", ["gatherscatter", "gatherscatter_models", "gatherscatter_models.onnx"])
def test_all_names_are_listed_where_their_libraries_are(package: str) -> None:
    module = importlib.import_module(package)
    lazy = lazy_modules.ATTACHED[package]
    assert lazy.locations
    for name in lazy.locations:
        try:
            getattr(module, name)
        except ImportError:
            assert name not in dir(module), name
        else:
            assert name in dir(module), name
    assert not set(lazy.moved) & set(dir(module))
