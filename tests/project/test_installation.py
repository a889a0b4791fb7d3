"""What an installation contains: NumPy and ml_dtypes are enough for arrays, and other features name what they need."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

import gatherscatter as gs
from gatherscatter.system.extras import install_command
from tests.support.paths import ROOT

Run = subprocess.CompletedProcess[str]
BASE = ("numpy", "ml_dtypes")
COMMAND_LINE = ("click", "rich", "jinja2", "markupsafe", "pygments", "markdown_it", "mdurl")


class Environment:
    """An environment with gatherscatter and some other packages, and nothing else."""

    def __init__(self, folder: Path, packages: tuple[str, ...]) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        site = sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)})
        self.site = Path(site)
        shutil.copytree(Path(gs.__file__).parent, self.site / "gatherscatter", ignore=shutil.ignore_patterns("*.so"))
        shutil.copy(gs._core.__file__, self.site / "gatherscatter")  # type: ignore[attr-defined]
        self._link_metadata("gatherscatter")
        for package in packages:
            self._link(package)

    def _link(self, package: str) -> None:
        spec = find_spec(package)
        assert spec is not None, package
        assert spec.origin is not None
        source = Path(spec.origin).parent
        (self.site / package).symlink_to(source, target_is_directory=True)
        libraries = source.with_name(f"{package}.libs")  # of NumPy
        if libraries.exists():
            (self.site / libraries.name).symlink_to(libraries, target_is_directory=True)

    def _link_metadata(self, distribution: str) -> None:
        folder = Path(str(metadata.distribution(distribution)._path))  # type: ignore[attr-defined]
        (self.site / folder.name).symlink_to(folder, target_is_directory=True)

    def run(self, *words: str | Path, cwd: Path | None = None) -> Run:
        command = [str(self.python), "-I", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)

    def print(self, code: str) -> str:
        """Run code that must succeed, and return the text that it prints."""
        done = self.run("-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("bare"), BASE)


@pytest.fixture(scope="module")
def with_commands(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("commands"), (*BASE, *COMMAND_LINE))


def test_two_packages_are_required() -> None:
    required = [text for text in metadata.requires("gatherscatter") or () if "extra ==" not in text]
    assert {re.split(r"[^\w-]", text)[0] for text in required} == {"numpy", "ml-dtypes"}


def test_the_examples_of_the_readme_need_nothing_else(bare: Environment) -> None:
    code = (
        "import doctest, pathlib, re\n"
        f"page = pathlib.Path({str(ROOT / 'README.md')!r}).read_text(encoding='utf-8')\n"
        "text = '\\n'.join(re.findall('```python\\n(.*?)```', page, re.DOTALL))\n"
        "test = doctest.DocTestParser().get_doctest(text, {}, 'README.md', 'README.md', 0)\n"
        "failed, tried = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)\n"
        "assert tried > 10 and not failed\n"
        "import sys; print(sorted({name.partition('.')[0] for name in sys.modules} & "
        f"{set(COMMAND_LINE)!r}))"
    )
    assert bare.print(code) == "[]\n"


def test_the_doctests_of_the_array_functions_need_nothing_else(bare: Environment) -> None:
    code = (
        "import doctest, pkgutil, importlib\n"
        "total = 0\n"
        "for package in ('functions', 'specs', 'arrays', 'oracle'):\n"
        "    found = importlib.import_module(f'gatherscatter.{package}')\n"
        "    for info in pkgutil.iter_modules(found.__path__, f'{found.__name__}.'):\n"
        "        if info.name in ('gatherscatter.functions.settings', 'gatherscatter.arrays.jax_arrays',\n"
        "                         'gatherscatter.arrays.torch_tensors'):  # they need threadpoolctl, JAX and PyTorch\n"
        "            continue\n"
        "        failed, tried = doctest.testmod(importlib.import_module(info.name))\n"
        "        assert not failed, info.name\n"
        "        total += tried\n"
        "print(total)"
    )
    assert int(bare.print(code)) > 50


def test_every_module_can_be_imported_or_names_what_to_install(bare: Environment, with_commands: Environment) -> None:
    root = bare.site / "gatherscatter"
    paths = (path.relative_to(bare.site).with_suffix("") for path in root.rglob("*.py"))
    modules = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    assert len(modules) > 150
    code = (
        "import importlib\n"
        f"for name in {modules!r}:\n"
        "    try:\n"
        "        importlib.import_module(name)\n"
        "    except ImportError as error:\n"
        "        if 'pip install' not in str(error):\n"
        "            print(name, error)"
    )
    assert bare.print(code) == ""
    assert with_commands.print(code) == ""


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("gs.explain('gather', [1, 2], [0]).svg()", "cli"),
        ("gs.explain('gather', [1, 2], [0]).html()", "cli"),
        ("import gatherscatter.explaining.playground.server", "cli"),
        ("gs.torch", "torch"),
        ("gs.jax", "jax"),
        ("gs.dask", "dask"),
        ("gs.zarr", "zarr"),
        ("gs.xarray", "xarray"),
        ("import gatherscatter.cli", "cli"),
    ],
)
def test_a_feature_names_the_extra_that_it_needs(bare: Environment, code: str, extra: str) -> None:
    done = bare.run("-c", f"import gatherscatter as gs\n{code}")
    assert install_command(f"gatherscatter[{extra}]") in done.stderr.splitlines()[-1]


MOVED = {
    "gs.run": "gatherscatter_models.run",
    "gs.ModelError": "gatherscatter_models.ModelError",
    "gs.models": "gatherscatter_models",
    "gs.findings": "gatherscatter_models.findings",
    "gs.doctor": "gatherscatter_models.doctor",
    "gs.onnx.InferenceSession": "gatherscatter_models.onnx.InferenceSession",
    "gs.onnx.backend": "gatherscatter_models.onnx.backend",
    "gs.onnx.reference_ops": "gatherscatter_models.onnx.reference_ops",
    "gs.openvino.convert": "gatherscatter_models.openvino.convert",
    "gs.openvino.extensions": "gatherscatter_models.openvino.extensions",
    "gs.openvino.op_class": "gatherscatter_models.openvino.op_class",
    "from gatherscatter import run": "gatherscatter_models.run",
    "from gatherscatter.onnx import backend": "gatherscatter_models.onnx.backend",
    "from gatherscatter.openvino import convert": "gatherscatter_models.openvino.convert",
    "import gatherscatter.doctor": "gatherscatter_models.doctor",
    "import gatherscatter.onnx.backend": "gatherscatter_models.onnx.backend",
    "from gatherscatter.doctor import examine, fix": "gatherscatter_models.doctor",
}


@pytest.mark.parametrize("code", MOVED)
def test_a_name_for_models_says_where_it_is(bare: Environment, code: str) -> None:
    last = bare.run("-c", f"import gatherscatter as gs\n{code}").stderr.splitlines()[-1]
    where = f"is now {MOVED[code]}, in the package gatherscatter-models: "
    assert last.endswith(where + install_command("gatherscatter-models"))
    assert last.endswith("(in a clone: pip install ./models)")


@pytest.mark.parametrize("name", ["check_export", "onnx_translations"])
def test_a_name_for_exports_says_where_it_is(name: str) -> None:
    torch = pytest.importorskip("gatherscatter.torch", exc_type=ImportError)
    with pytest.raises(ImportError, match=f"is now gatherscatter_models.torch.{name}, in the package"):
        getattr(torch, name)


def test_a_notebook_shows_an_explanation_as_text_if_pages_are_missing(bare: Environment) -> None:
    code = "import gatherscatter as gs; made = gs.explain('gather', [[1, 2]], [0]); print(made._repr_svg_(), made)\n"
    shown = bare.print(code + "print(made._repr_html_())")
    assert shown.startswith("None gather, axis = 0\n")
    assert "<pre>gather, axis = 0\n" in shown
    assert "pip install click jinja2 markupsafe rich" in shown


def test_a_notebook_shows_something_if_a_page_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> str:
        raise ValueError("no <page> today")

    made = gs.explain("gather", [[1, 2]], [0])
    monkeypatch.setattr("gatherscatter.explaining.page.fragment", fail)
    monkeypatch.setattr("gatherscatter.explaining.svg.svg", fail)
    assert made._repr_html_().startswith("<pre>gather, axis = 0\n")
    assert "no &lt;page&gt; today" in made._repr_html_()
    assert made._repr_svg_() is None
    monkeypatch.setattr("gatherscatter.explaining.text.text", fail)
    assert "&lt;Explanation of gather" in made._repr_html_()


def test_the_command_line_names_its_extra_in_one_line(bare: Environment) -> None:
    done = bare.run("-m", "gatherscatter", "ops")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "gatherscatter: error: the command line needs click and rich: pip install click jinja2 markupsafe rich\n"
    )


@pytest.mark.parametrize(
    ("word", "advice"),
    [
        ("conform", "pip install gatherscatter-conformance (in a clone: pip install ./conformance)"),
        ("corpus", "pip install gatherscatter-conformance (in a clone: pip install ./conformance)"),
        ("run", "pip install gatherscatter-models (in a clone: pip install ./models)"),
        ("bench", "in a clone of gatherscatter, run python -m benchmarks"),
    ],
)
def test_words_of_other_packages_say_what_to_type(with_commands: Environment, word: str, advice: str) -> None:
    for words in ((word,), (word, "--help"), (word, "list", "--no-such-option")):
        done = with_commands.run("-m", "gatherscatter", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"gatherscatter: error: {word} is not part of this package: {advice}\n"


def test_help_and_commands_need_no_model_reader(with_commands: Environment, tmp_path: Path) -> None:
    done = with_commands.run("-m", "gatherscatter", "--help")
    assert done.returncode == 0
    assert "conform" not in done.stdout
    assert "Arrays:" in done.stdout
    assert "convert" not in done.stdout
    assert "onnx.ScatterND-18" in with_commands.run("-m", "gatherscatter", "ops").stdout
    code = "from gatherscatter.explaining.playground.server import page; print(len(page()) > 50_000)"
    assert with_commands.print(code) == "True\n"
