"""All HTML pages of the package: their policy, hostile names, and the page in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import onnx
import pytest

import gatherscatter as gs
import gatherscatter_conformance
import gatherscatter_models
from gatherscatter.explaining.playground import server
from gatherscatter_conformance import report_page
from gatherscatter_conformance.report import ConformReport
from gatherscatter_models.doctor import examine, fix
from tests.support import browser
from tests.support.paths import ROOT

HOSTILE = (
    "</script></title></style><script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"
    "&amp;&"
)
SHORT = '<i>"&'  # short, because drawings shorten long texts
PACKAGE = Path(gs.__file__).parent
MODELS = Path(gatherscatter_models.__file__).parent
REFEREE = Path(gatherscatter_conformance.__file__).parent
BENCHMARK = ROOT / "benchmarks"
SCRIPT = '<script(?: type="module")?>'  # scripts of other types hold data


class Elements(HTMLParser):
    """Collect the elements of a page with the names of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(tag, ""), *((tag, name) for name, _ in attrs)]


def write_doctor(path: Path) -> None:
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18]>
        put (float[4] data, float[3] updates) => (float[4] out) <int64[3, 1] rows = {3, 0, -1}>
        { out = ScatterND (data, rows, updates) }""")
    for name in (model.graph.node[0].input[1], model.graph.initializer[0].name):
        assert name == "rows"
    model.graph.node[0].name = HOSTILE
    model.graph.node[0].input[1] = model.graph.initializer[0].name = f"rows{HOSTILE}"
    fixed = fix(model, path.with_suffix(".onnx"), run_on=())
    examine(model).save_html(path, fixed)


def write_conform(path: Path) -> None:
    report = ConformReport().to_dict()
    report["machine"] = HOSTILE
    report_page.write(report, path)


def write_explain(path: Path) -> None:
    gs.explain("gather", [HOSTILE, SHORT], [1, 0]).save(path)


FILES: dict[str, Callable[[Path], None]] = {
    "doctor": write_doctor,
    "explaining": write_explain,
    "gatherscatter_conformance": write_conform,
}
# A server has this page. tests/explaining/test_playground.py opens it in a browser.
PAGES = FILES | {"playground": lambda path: path.write_bytes(server.page()) and None}


def test_these_are_all_pages() -> None:
    """A single template begins all pages. The templates of generators extend it."""
    folders = (PACKAGE, MODELS, BENCHMARK, REFEREE)
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".html")]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    doctype = re.compile("<!doctype html>(<html|\\n)", re.IGNORECASE)
    assert [path for path in texts if doctype.search(texts[path])] == [PACKAGE / "pages" / "base.html"]
    pages = [path for path in texts if texts[path].startswith('{% extends "base.html" %}')]
    generators = {
        folder.name: folder for folder in (*PACKAGE.iterdir(), *MODELS.iterdir(), BENCHMARK, REFEREE) if folder.is_dir()
    }
    owners = [next(name for name, folder in generators.items() if path.is_relative_to(folder)) for path in pages]
    assert sorted(owners) == sorted([*FILES, "explaining"])  # and the playground


class Texts(HTMLParser):
    """Collect the texts that a page shows or holds: texts, values of attributes, and the strings in its data."""

    def __init__(self) -> None:
        super().__init__()
        self.found, self.data = "", False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.data = ("type", "application/json") in attrs
        self.found += "".join(f"{value}\n" for _, value in attrs)

    def handle_data(self, data: str) -> None:
        self.found += "".join(strings(json.loads(data))) if self.data and data.strip() else data


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_name_stays_text(name: str, tmp_path: Path) -> None:
    PAGES[name](tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    texts = Texts()
    texts.feed(html)
    text = SHORT if name == "explaining" else HOSTILE
    assert text in texts.found
    assert text not in html


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_a_policy_that_allows_its_own_script_only(name: str, tmp_path: Path) -> None:
    PAGES[name](tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    (rules,) = re.findall('<meta http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert html.index("Content-Security-Policy") < html.index("<style")
    assert rules.startswith("default-src 'none'; ")
    by_name = dict(rule.split(" ", 1) for rule in rules.split("; "))
    connects = {"connect-src": "'self'"} if name == "playground" else {}
    assert {rule: value for rule, value in by_name.items() if rule == "connect-src"} == connects
    known = {"default-src", "base-uri", "form-action", "style-src", "img-src", "script-src"}
    assert by_name.keys() <= known | connects.keys()
    allowed = by_name.get("script-src", "")
    scripts = re.findall(rf"{SCRIPT}(.*?)</script>", html, re.DOTALL)
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in scripts]
    assert allowed == " ".join(hashes)
    elements = Elements()
    elements.feed(html)
    assert not [(tag, name) for tag, name in elements.found if tag == "img" or name.startswith("on")]


@pytest.fixture(scope="module")
def window() -> Iterator[browser.Browser]:
    if reason := browser.missing():
        pytest.skip(reason)
    with browser.chromium() as made:
        yield made


@pytest.mark.full
@pytest.mark.parametrize("name", FILES)
def test_a_page_works_and_names_stay_text(name: str, tmp_path: Path, window: browser.Browser) -> None:
    PAGES[name](tmp_path / "page.html")
    window.open(tmp_path / "page.html")
    assert window.run("return document.title") != "taken"
    scripts = len(re.findall(SCRIPT, (tmp_path / "page.html").read_text("utf-8")))
    assert window.run("return document.querySelectorAll(\"script:not([type*='/'])\").length") == scripts
    assert window.console() == []
    assert [address for address in window.requests() if not address.startswith(("file:", "data:"))] == []


@pytest.mark.full
@pytest.mark.parametrize("name", FILES)
def test_a_script_without_a_hash_does_not_run(name: str, tmp_path: Path, window: browser.Browser) -> None:
    PAGES[name](tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    script = "<script>document.title = 'taken'</script>"
    (tmp_path / "page.html").write_text(html.replace("</body>", f"{script}</body>"), encoding="utf-8")
    window.open(tmp_path / "page.html")
    assert window.run("return document.title") != "taken"
    (refused,) = window.console()
    assert "Content Security Policy" in refused
