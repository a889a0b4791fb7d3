"""The documentation site builds without warnings, its links work, and it works without a network."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.explaining.playground.texts import presets
from gatherscatter_conformance import corpus
from gatherscatter_conformance.run import conform
from tests.support import browser
from tests.support.paths import DOCS

sys.path.insert(0, str(DOCS))
chooser, differences, docstrings, known_as, links, ops, outcomes, topics = (
    importlib.import_module(f"site_pages.{name}")
    for name in ("chooser", "differences", "docstrings", "known_as", "links", "ops", "outcomes", "topics")
)

MISSING = [name for name in ("sphinx", "myst_parser", "furo") if find_spec(name) is None]
needs_sphinx = pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}: pip install --group docs")
needs_browser = pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing()))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as described in CONTRIBUTING.md."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(DOCS), str(out)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert built.returncode == 0, built.stderr
    return out


@pytest.fixture(scope="module")
def chromium() -> Iterator[browser.Browser]:
    with browser.chromium() as one:
        yield one


# ------------------------------------------------------------------------------------------------- the built site


@pytest.mark.full
@needs_sphinx
def test_all_links_lead_somewhere_and_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > 50
    assert list(links.faults(site)) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('<a href="gone.html">', "no such file"),
        ('<a href="other.html#gone">', "no such anchor"),
        ('<a href="#gone">', "no such anchor"),
        ('<a href="../outside.html">', "leaves the site"),
        ('<a href="https://nowhere">', "no address"),
        ('<script src="https://example.org/x.js"></script>', "from elsewhere"),
        ('<svg><a href="other.html#gone"></a></svg>', "no such anchor"),
    ],
)
def test_a_bad_link_is_found(text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "outside.html").write_text("")
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "other.html").write_text('<p id="there">')
    (folder / "page.html").write_text(f'<a href="other.html#there"></a><a href="https://example.org/x"></a>{text}')
    assert [sentence for sentence in links.faults(folder) if fault in sentence]
    (folder / "page.html").write_text('<a href="other.html#there"></a>')
    assert list(links.faults(folder)) == []


@pytest.mark.full
@needs_sphinx
@needs_browser
@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("ScatterNDUpdate", "OpenVINO ScatterNDUpdate"),
        ("torch_scatter", "From torch_scatter and pyg-lib"),
        ("einx", "From einx"),
    ],
)
def test_search_finds_a_page_from_files_alone(site: Path, chromium: browser.Browser, words: str, title: str) -> None:
    chromium.open(site / "index.html")
    chromium.run("document.querySelector('input[name=q]').focus()")
    chromium.keys(words, browser.ENTER)
    found = chromium.wait(
        "const found = [...document.querySelectorAll('#search-results li a')];"
        "return found.some(a => a.textContent === arguments[0]) ? found.map(a => [a.textContent, a.href]) : null",
        title,
    )
    assert all(address.startswith("file:") for _, address in found)
    assert chromium.console() == []
    assert [request for request in chromium.requests() if not request.startswith(("file:", "data:", "about:"))] == []
    chromium.driver.get(next(address for text, address in found if text == title))
    assert chromium.run("return document.querySelector('h1').textContent").startswith(title)


@pytest.mark.full
@needs_sphinx
@needs_browser
def test_every_page_fits_a_phone_and_asks_for_nothing(site: Path, chromium: browser.Browser) -> None:
    chromium.size(360)
    for path in sorted(site.rglob("*.html")):
        chromium.open(path)
        width = "return (document.querySelector('.content') ?? document.documentElement).scrollWidth"
        assert chromium.run(width) <= 360, path  # tables, code and drawings scroll by themselves
        assert chromium.console() == [], path
        assert [address for address in chromium.requests() if not address.startswith(("file:", "data:"))] == [], path


@pytest.mark.full
@needs_sphinx
@needs_browser
def test_the_drawing_that_helps_to_choose_has_names_and_links(site: Path, chromium: browser.Browser) -> None:
    chromium.open(site / "choose.html")
    tree = chromium.accessibility_tree()
    named = {(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if "role" in node}
    assert {("link", "gather_nd"), ("link", "onnx.TensorScatter")} <= named
    assert any(role == "group" and name.startswith("From what one index names") for role, name in named)
    for dark, least in ((False, 0), (True, 200)):  # dark text on light, or light text on dark
        chromium.media(dark=dark)
        colour = chromium.run("return getComputedStyle(document.querySelector('.chooser .question')).fill")
        assert (int(colour.removeprefix("rgb(").split(",")[0]) >= 200) == (least == 200)


@pytest.mark.full
@needs_sphinx
@needs_browser
def test_every_operator_shows_the_calls_of_the_playground(site: Path, chromium: browser.Browser) -> None:
    titles = "return [...document.querySelectorAll('details summary')].map((one) => one.textContent)"
    for row in {f"{row.domain}.{row.op_type}": row for row in gs.ops() if not row.deprecated}.values():
        chromium.open(site / "ops" / f"{row.domain}.{row.op_type}.html")
        assert set(chromium.run(titles)) >= {preset.title for preset in presets(row)}
        assert chromium.run("return document.querySelectorAll('details:has(summary) svg').length") >= 2


# ------------------------------------------------------------------------------------------------ what pages say


def test_every_operator_has_a_page_with_all_that_the_table_says() -> None:
    pages = dict(ops.pages())
    for row in gs.ops():
        page = pages[f"ops/{row.domain}.{row.op_type}.md"]
        assert f"Elements of version {row.version}: " in page
        for fact in (*row.inputs, *row.attributes):
            assert f"`{fact.name}`" in page
        assert row.source in page
    assert len(pages) == len({(row.domain, row.op_type) for row in gs.ops()}) + 1


def test_the_pages_of_operators_name_versions_with_rulings_and_departures() -> None:
    page = dict(ops.pages())["ops/onnx.GatherND.md"]
    assert "**O20 (version 12, 13): GatherND batch dims that differ**: an error." in page
    assert "GatherND reads memory outside data if an index is out of range. Out-of-bounds memory." in page
    assert "`openvino-gathernd-out-of-range`" in page


def test_there_is_one_answer_for_each_function() -> None:
    answers = [answer.function for question in chooser.QUESTIONS for answer in question.answers]
    assert sorted(answers) == sorted({row.kernel for row in gs.ops()})


@pytest.mark.parametrize("library", known_as.LIBRARIES, ids=lambda library: library.package)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_both_sides_of_i_know_it_as_give_the_same(library: known_as.Library) -> None:
    pytest.importorskip(library.package)
    for theirs, ours, wanted, found in known_as.outcomes(library):
        assert np.asarray(found).dtype == np.asarray(wanted).dtype, (theirs, ours)
        np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted), err_msg=f"{theirs} | {ours}")
        if library.native:
            assert type(found) is type(wanted), (theirs, ours)


# Other values, types and layouts of the arrays, with which the lines must give equal numbers. Types can differ.
CHANGES = {
    "integers": "x, u, v, w, x3 = (np.arange(a.size).reshape(a.shape) + 5 for a in (x, u, v, w, x3))",
    "small integers": "x, u, v, w, x3 = ((a + 50).astype(np.int8) for a in (x, u, v, w, x3))",
    "float32": "x, u, v, w, x3 = (a.astype(np.float32) for a in (x, u, v, w, x3))",
    "NaN": "x, u, v, w = (a.copy() for a in (x, u, v, w)); x[0, 1] = v[0] = w[0] = u[1, 2] = np.nan; x[2] = np.inf",
    "int32 indices": "i, j, a, b, p, f, e, i2, far = (a.astype(np.int32) for a in (i, j, a, b, p, f, e, i2, far))",
    "columns first": "x, u, w = map(np.asfortranarray, (x, u, w))",
    "nothing": "i, a, b, f, j, far, p, u, v, i2, x3 = (a[:0] for a in (i, a, b, f, j, far, p, u, v, i2, x3))",
    "one index": "i, a, b, f, j, far, p, u, v, w, e = (a[:1] for a in (i, a, b, f, j, far, p, u, v, w, e))",
}


@pytest.mark.full
@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("library", known_as.LIBRARIES, ids=lambda library: library.package)
@pytest.mark.filterwarnings("ignore")
def test_both_sides_give_equal_numbers_for_other_arrays(library: known_as.Library, changes: str) -> None:
    pytest.importorskip(library.package)
    for line in library.lines:
        try:
            ((theirs, ours, wanted, found),) = known_as.outcomes(replace(library, lines=(line,)), CHANGES[changes])
        except Exception as error:  # ours is for floats only, or theirs refuses such arrays
            if "src must be floats" in str(error) or not _runs(library, line[0], CHANGES[changes]):
                continue
            raise
        np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted), err_msg=f"{theirs} | {ours}")


def _runs(library: known_as.Library, theirs: str, changes: str) -> bool:
    try:
        list(known_as.outcomes(replace(library, lines=((theirs, "None"),)), changes))
    except Exception:
        return False
    return True


def test_outcomes_are_taken_from_a_report() -> None:
    cases = [
        case for topic in topics.TOPICS[:3] for cases in topic.cases() for case in cases if case.op == "onnx.Gather-13"
    ]
    collected = outcomes.collect_outcomes(conform(["numpy"], cases).to_dict())
    its = [collected[case.id]["numpy"] for case in cases]
    assert its == ["an error", "an error", "`[1, 4, 3]`"]  # indices 8, 2**32 + 1, and (-4, 3, -2)


def test_every_kept_outcome_is_of_a_case_that_there_is() -> None:
    kept = json.loads(differences.FILE.read_text(encoding="utf-8"))
    asked = {case.id for topic in topics.TOPICS for cases in topic.cases() for case in cases}
    assert set(kept["outcomes"]) == asked
    assert all(corpus.case(id) for id in asked)
    assert all(
        of_engines["gatherscatter"] == differences.wanted(corpus.case(id))
        for id, of_engines in kept["outcomes"].items()
    )


def test_docstrings_get_their_headings() -> None:
    lines = [
        "Do it.",
        "",
        "Raises",
        "------",
        "A, B : see `f`",
        "",
        "More.",
        "",
        "Sources: here; there.",
        "",
        ">>> 1",
        "1",
    ]
    docstrings.sections(None, "function", "f", None, None, lines)
    assert lines == [
        *("Do it.", "", "Raises", "------", "A, B", "    see `f`", ""),
        *("Notes", "-----", "", "More.", ""),
        *("Source", "------", "", "here; there.", ""),
        *("Examples", "--------", "", ">>> 1", "1"),
    ]
