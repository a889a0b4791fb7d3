"""All examples in docstrings and documentation run and print the documented output."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import benchmarks
import gatherscatter
import gatherscatter_conformance
import gatherscatter_models
from gatherscatter import _core
from tests.support.paths import DOCS, ROOT

PACKAGES = (gatherscatter, gatherscatter_models, gatherscatter_conformance, benchmarks)
MODULES = [
    info.name
    for package in PACKAGES
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not info.name.startswith("benchmarks.tests")
]
PUBLIC = [name for name in gatherscatter.__all__ if callable(getattr(gatherscatter, name))]


def _run(name: str, text: str) -> None:
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.failures == 0, name


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_of_a_module(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name.endswith("__main__"):
        pytest.skip("runs the command line")
    monkeypatch.chdir(tmp_path)  # examples may write files
    try:
        module: ModuleType = importlib.import_module(name)
    except ImportError as error:
        if "pip install" not in str(error):  # a message that names the missing package and its source
            raise
        pytest.skip(str(error))
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


@pytest.mark.parametrize("name", [name for name in vars(_core) if name in gatherscatter.__all__])
def test_docstrings_of_the_core(name: str) -> None:
    _run(name, getattr(_core, name).__doc__)


ARRAY_FUNCTIONS = [name for name in PUBLIC if name.startswith(("gather", "scatter", "tensor"))] + ["inspect"]


@pytest.mark.parametrize("name", ARRAY_FUNCTIONS)
def test_an_array_function_says_shapes_errors_and_source_and_has_an_example(name: str) -> None:
    text = getattr(gatherscatter, name).__doc__
    for needed in ("Raises", ">>>", "Parameters"):
        assert needed in text
    assert "Source" in text or name == "inspect"


sys.path.insert(0, str(DOCS))
MADE = dict(importlib.import_module("site_pages").pages())  # pages that the build of the site generates
WRITTEN = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    if path.relative_to(ROOT).as_posix().removeprefix("docs/") not in MADE
}
PAGES = WRITTEN | {f"docs/{name}": text for name, text in MADE.items()}
# The libraries that all examples of a page need, but the tests do not.
PAGES_OF = {
    "docs/pytorch.md": "torch",
    "docs/jax.md": "jax",
    "docs/dask.md": "dask",
    "docs/zarr.md": "icechunk",
    "docs/xarray.md": "xarray dask",
    "docs/scale.md": "dask zarr",
    "docs/coming-from/pandas.md": "pandas pyarrow",
    "docs/coming-from/torch_scatter.md": "torch",
    "docs/coming-from/jax.md": "jax",
    "docs/coming-from/einx.md": "einx",
}
# The libraries that single examples need. Without them, these examples are skipped and the others run.
OPTIONAL = re.compile(r"^>>> import (tensorflow)\b", re.MULTILINE)


@pytest.mark.parametrize("name", [name for name, text in PAGES.items() if "```python" in text])
def test_python_examples_of_a_page(name: str) -> None:
    for needed in PAGES_OF.get(name, "").split():
        pytest.importorskip(needed)
    blocks = re.findall(r"```python\n(.*?)```", PAGES[name], re.DOTALL)
    lacking = {block: found[1] for block in blocks if (found := OPTIONAL.search(block)) and not find_spec(found[1])}
    _run(name, "\n".join(block for block in blocks if block not in lacking))
    if lacking:
        pytest.skip(
            f"ran all but {len(lacking)} of {len(blocks)} examples, which need {', '.join({*lacking.values()})}"
        )
