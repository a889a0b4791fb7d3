"""The page of a conformance report in a real browser: it shows the report's data, and all of its controls work."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.conform_reports import HOSTILE, KINDS, RULES, VERDICTS, random_report, sample
from gatherscatter_conformance import report_page
from tests.support import browser

pytestmark = pytest.mark.full

SAMPLE = sample()
RANDOM = random_report(400, 4, seed=7)
ALL = ""  # the row of all op versions
TYPES = ["float32", "float16", "int64", "string"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[browser.Browser]:
    if reason := browser.missing():
        pytest.skip(reason)
    with browser.chromium() as opened:
        yield opened


@pytest.fixture
def window(chromium: browser.Browser) -> browser.Browser:
    """Return the browser with a wide window in light mode, independent of earlier tests."""
    chromium.size(1440)
    chromium.media()
    return chromium


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "a report #1 with 100% odd name.html"
    report_page.write(SAMPLE, path)
    return path


@pytest.fixture(scope="module")
def random_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "random.html"
    report_page.write(RANDOM, path)
    return path


# The displayed and the expected results.

Cells = dict[tuple[str, str], dict[str, int]]


def cells(window: browser.Browser) -> Cells:
    rows = window.run("""
        const tallies = (cell) => [...cell.querySelectorAll(".tally")].map((tally) => tally.dataset);
        return [...document.querySelectorAll(".cell")].map((cell) => [
            cell.dataset.op, cell.dataset.runtime, tallies(cell).map(({ verdict, count }) => [verdict, Number(count)]),
        ]);""")
    return {(op, runtime): dict(counts) for op, runtime, counts in rows}


def meets(case: dict[str, Any], chosen: dict[str, Any]) -> bool:
    return (
        all(chosen.get(name) in (None, case[name]) for name in ("op", "type", "reduction", "kind"))
        and chosen.get("rule") in (None, *case["rules"])
        and all(word in case["id"].lower() for word in chosen.get("search", "").lower().split())
    )


def expected_results(report: dict[str, Any], chosen: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Return the case, runtime and verdict of each result that matches the filters."""
    for case in report["cases"]:
        for runtime, results in report["results"].items():
            if not meets(case, chosen) or chosen.get("runtime") not in (None, runtime) or case["id"] not in results:
                continue
            verdict = results[case["id"]]["verdict"]
            if verdict in chosen.get("verdict", [verdict]):
                yield case, runtime, verdict


def expected_cells(report: dict[str, Any], chosen: dict[str, Any]) -> Cells:
    found: dict[tuple[str, str], Counter[str]] = {}
    for case, runtime, verdict in expected_results(report, chosen):
        for op in (case["op"], ALL):
            found.setdefault((op, runtime), Counter())[verdict] += 1
    return {key: dict(counts) for key, counts in found.items()}


def choose(window: browser.Browser, chosen: dict[str, Any]) -> None:
    """Choose values in the form, as a user would."""
    window.run(
        """
        document.getElementById("reset").click();
        const form = document.getElementById("filters");
        for (const [name, value] of Object.entries(arguments[0])) {
            if (name === "verdict") {
                for (const box of form.querySelectorAll("[name=verdict]")) if (value.includes(box.value)) box.click();
                continue;
            }
            form.elements[name].value = value;
            form.elements[name].dispatchEvent(new Event(name === "search" ? "input" : "change", { bubbles: true }));
        }""",
        chosen,
    )


def shown_cases(window: browser.Browser) -> str:
    return str(window.run("return document.getElementById('shown').textContent"))


FOCUSED = """
const { dataset, id, tagName } = document.activeElement;
return { ...dataset, id, tagName };
"""


def open_cell(window: browser.Browser, op: str, runtime: str) -> None:
    window.run(
        "[...document.querySelectorAll('.cell')]"
        ".find((cell) => cell.dataset.op === arguments[0] && cell.dataset.runtime === arguments[1]).click()",
        op,
        runtime,
    )
    window.wait("return document.querySelector('dialog').open")


def entry(id_: str, part: str = "") -> str:
    """Return JavaScript for a case in its list, or for a part of it."""
    return f'document.querySelector("[data-case={id_!r}] {part}")'


def open_case(window: browser.Browser, id_: str) -> str:
    """Open all groups and then a case. Return its text."""
    window.run("for (const group of document.querySelectorAll('.kind')) group.open = true")
    window.wait(f"return {entry(id_)}")
    window.run(f"{entry(id_)}.open = true")
    window.wait(f"return {entry(id_, '.content h4')}")
    return str(window.run(f"return {entry(id_)}.innerText"))


# Opening.


def test_it_opens_from_a_file_without_an_error_and_asks_for_nothing(window: browser.Browser, page: Path) -> None:
    window.open(page)
    open_cell(window, "onnx.ScatterND-18", "openvino")
    open_case(window, SAMPLE["cases"][0]["id"])
    assert window.console() == []
    assert [url for url in window.requests() if not url.startswith("data:")] == [page.as_uri()]


@pytest.mark.parametrize("report", [SAMPLE, RANDOM], ids=["sample", "random"])
def test_the_matrix_counts_what_the_report_holds(
    window: browser.Browser, page: Path, random_page: Path, report: dict[str, Any]
) -> None:
    window.open(page if report is SAMPLE else random_page)
    assert cells(window) == expected_cells(report, {})
    total = len(report["cases"])
    assert shown_cases(window) == f"{total} of {total} cases"


def test_a_cell_leads_with_its_worst_verdict_and_is_spoken_in_full(window: browser.Browser, page: Path) -> None:
    window.open(page)
    cell = "document.querySelector('[data-op=\"onnx.ScatterND-18\"][data-runtime=onnxruntime]')"
    assert window.run(f"return {cell}.getAttribute('aria-label')") == (
        "onnx.ScatterND-18, ONNX Runtime, default threads: 1 crashes, 1 nondeterministic, 1 refuses, 1 allowed, 1 pass"
    )
    assert "crashes 1" in window.run(f"return {cell}.innerText")
    rows = window.run("return [...document.querySelectorAll('tbody th')].map((head) => head.textContent)")
    ops = ["onnx.Gather-9", "onnx.Gather-13", "onnx.ScatterND-18", "openvino.ScatterUpdate-3"]
    assert rows == ["all op versions", *ops]


def test_every_verdict_has_a_sign_of_its_own_and_a_meaning(window: browser.Browser, page: Path) -> None:
    window.open(page)
    lines = window.run(
        "return [...document.querySelectorAll('.verdict')].map((line) => "
        "['.sign', 'strong', 'small', '.count'].map((part) => line.querySelector(part).textContent))"
    )
    assert len({sign for sign, *_ in lines}) == len(VERDICTS)
    assert {name: title for _, name, title, _ in lines} == VERDICTS
    counts = Counter(verdict for *_, verdict in expected_results(SAMPLE, {}))
    assert {name: int(count.replace(",", "")) for _, name, _, count in lines} == counts


def test_the_head_says_where_it_was_made(window: browser.Browser, page: Path) -> None:
    window.open(page)
    text = window.run(
        "document.getElementById('runtimes').open = true; return document.querySelector('header').innerText"
    )
    for part in (
        "2026-11-21 20:00:00 UTC",
        HOSTILE,
        "3.11.9",
        "0.1.0",
        "version 1.0, 10 cases",
        "OpenVINO CPU openvino 1.2.3, 1.3 s; a recipe",
    ):
        assert " ".join(part.split()) in " ".join(text.split())


@pytest.mark.parametrize("complete", [True, False])
def test_the_head_says_that_a_run_was_ended(window: browser.Browser, complete: bool, tmp_path: Path) -> None:
    report_page.write(SAMPLE | {"complete": complete}, tmp_path / "report.html")
    window.open(tmp_path / "report.html")
    text = window.run("return document.getElementById('about').innerText")
    assert ("the run ended before its last case" in text) is not complete


def test_thousands_of_cases_make_a_page_of_some_megabytes(window: browser.Browser, tmp_path: Path) -> None:
    report = random_report(5000, 8, seed=1)
    path = tmp_path / "large.html"
    report_page.write(report, path)
    assert path.stat().st_size < 4e6
    window.open(path)
    assert cells(window) == expected_cells(report, {})


# Filters.

ONE_FILTER = [
    {"op": "onnx.ScatterND-7"},
    {"type": "float16"},
    {"reduction": "mul"},
    {"kind": "repeated"},
    {"rule": "O3"},
    {"runtime": "runtime-2"},
    {"verdict": ["differs"]},
    {"verdict": ["differs", "hangs"]},
    {"search": "string 01"},
    {"search": "FLOAT16"},
]


@pytest.mark.parametrize("chosen", ONE_FILTER, ids=str)
def test_a_filter_alone(window: browser.Browser, random_page: Path, chosen: dict[str, Any]) -> None:
    window.open(random_page)
    choose(window, chosen)
    found = cells(window)
    assert found == expected_cells(RANDOM, chosen)
    assert found != expected_cells(RANDOM, {})


def random_choice(chance: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {
        "op": sorted({case["op"] for case in RANDOM["cases"]}),
        "type": TYPES,
        "reduction": ["none", "add", "mul"],
        "kind": list(KINDS),
        "rule": list(RULES),
        "runtime": list(RANDOM["results"]),
        "search": ["scatter", "onnx 1", "add nd-", "gather 0", "zz"],
    }
    chosen = {name: chance.choice(values) for name, values in options.items() if chance.random() < 0.3}
    if chance.random() < 0.5:
        chosen["verdict"] = chance.sample(list(VERDICTS), chance.randrange(1, 5))
    return chosen


def test_filters_combined_and_their_counts(window: browser.Browser, random_page: Path) -> None:
    chance = random.Random(3)
    window.open(random_page)
    for _ in range(60):
        chosen = random_choice(chance)
        choose(window, chosen)
        assert cells(window) == expected_cells(RANDOM, chosen), chosen
        count = len({case["id"] for case, *_ in expected_results(RANDOM, chosen)})
        assert shown_cases(window) == f"{count} of 400 cases", chosen
        # An option shows how many cases would remain.
        name = chance.choice(["op", "type", "reduction", "kind", "rule", "runtime"])
        options = window.run(
            "return [...document.querySelector(`select[name=${arguments[0]}]`).options].slice(1)"
            ".map((option) => [option.value, option.textContent, option.disabled])",
            name,
        )
        for value, text, disabled in options:
            left = {case["id"] for case, *_ in expected_results(RANDOM, chosen | {name: value})}
            assert text.endswith(f" ({len(left)})"), (chosen, name, value)
            assert disabled == (not left and chosen.get(name) != value), (chosen, name, value)


def test_only_departures(window: browser.Browser, random_page: Path) -> None:
    window.open(random_page)
    window.run("document.getElementById('departures').click()")
    departures = [verdict for verdict in VERDICTS if verdict not in ("allowed", "pass", "not asked")]
    assert cells(window) == expected_cells(RANDOM, {"verdict": departures})


def test_what_is_chosen_is_explained(window: browser.Browser, page: Path) -> None:
    window.open(page)
    assert not window.run("return document.getElementById('meaning').checkVisibility()")
    choose(window, {"kind": "repeated", "rule": "O3"})
    text = window.run("return document.getElementById('meaning').innerText")
    assert KINDS["repeated"] in text
    assert RULES["O3"]["text"] in text


def test_nothing_left_is_said(window: browser.Browser, page: Path) -> None:
    window.open(page)
    choose(window, {"search": "no such case"})
    assert cells(window) == {}
    assert "No case matches these filters" in window.run("return document.getElementById('matrix').textContent")


# Cases.


def test_a_cell_lists_its_cases_by_verdict_and_kind(window: browser.Browser, random_page: Path) -> None:
    window.open(random_page)
    chosen = {"op": "onnx.Gather-7", "type": "float32"}
    choose(window, chosen)
    open_cell(window, "onnx.Gather-7", "runtime-1")
    window.run("for (const group of document.querySelectorAll('.kind')) group.open = true")
    window.wait("return [...document.querySelectorAll('.kind')].every((group) => group.querySelector('.case'))")
    listed = window.run("""return [...document.querySelectorAll("[data-case]")].map((entry) => [
        entry.closest("section[data-verdict]").dataset.verdict,
        entry.closest(".kind").dataset.kind,
        entry.dataset.case,
    ])""")
    results = expected_results(RANDOM, chosen | {"runtime": "runtime-1"})
    expected = [(verdict, case["kind"], case["id"]) for case, _, verdict in results]
    assert sorted(map(tuple, listed)) == sorted(expected)
    order = list(dict.fromkeys(verdict for verdict, *_ in listed))
    assert order == [verdict for verdict in VERDICTS if verdict in order]


def test_long_lists_grow_by_hand(window: browser.Browser, random_page: Path) -> None:
    window.open(random_page)
    choose(window, {"verdict": ["pass"], "kind": "plain"})
    open_cell(window, ALL, "runtime-0")
    passed = [
        case["id"]
        for case, *_ in expected_results(RANDOM, {"verdict": ["pass"], "kind": "plain", "runtime": "runtime-0"})
    ]
    listed = "return [...document.querySelectorAll('[data-case]')].map((entry) => entry.dataset.case)"
    assert len(passed) > 50
    window.wait("return document.querySelector('.more')")
    assert window.run(listed) == passed[:50]
    window.run("document.querySelector('.more button').click()")
    assert window.run(listed) == passed
    assert window.run("return document.activeElement.parentElement.dataset.case") == passed[50]
    assert window.run("return document.querySelector('.more')") is None


def test_a_case_shows_all_of_itself(window: browser.Browser, page: Path) -> None:
    case = SAMPLE["cases"][2]
    window.open(page)
    open_cell(window, case["op"], "onnxruntime")
    text = " ".join(open_case(window, case["id"]).split())
    result = SAMPLE["results"]["onnxruntime"][case["id"]]
    rules = [RULES[name][part] for name in case["rules"] for part in RULES[name]]
    for part in (
        *("data float16[4]", "[2, 1, 2, 3]", "input 1 is omitted", "output float16[4]", "[2, 7, 2, nan]"),
        *("-9223372036854775808", KINDS["plain"], result["message"], *rules, "OpenVINO CPU: pass"),
    ):
        assert " ".join(part.split()) in text
    assert window.run(f"return {entry(case['id'], 'summary .dim')}.textContent") == "it refuses"


def test_what_differs_is_marked(window: browser.Browser, page: Path) -> None:
    window.open(page)
    open_cell(window, "onnx.ScatterND-18", "openvino")
    open_case(window, SAMPLE["cases"][4]["id"])
    marked = f"return [...{entry(SAMPLE['cases'][4]['id'])}.querySelectorAll('mark')].map((mark) => mark.textContent)"
    assert window.run(marked) == ["8"]


def test_a_refusal_that_is_expected_and_what_the_text_leaves_open(window: browser.Browser, page: Path) -> None:
    window.open(page)
    open_cell(window, "onnx.ScatterND-18", "openvino")
    assert "The call is refused: IndexError" in open_case(window, SAMPLE["cases"][3]["id"])
    assert SAMPLE["cases"][1]["latitude"] in open_case(window, SAMPLE["cases"][1]["id"])


def script(window: browser.Browser, id_: str) -> str:
    return str(window.run(f"return {entry(id_, '.script')}.textContent"))


@pytest.mark.parametrize("number", [0, 3, 4, 5, 6])
def test_the_script_is_the_reports(window: browser.Browser, page: Path, number: int) -> None:
    case = SAMPLE["cases"][number]
    window.open(page)
    open_cell(window, case["op"], "openvino")
    open_case(window, case["id"])
    assert script(window, case["id"]) == SAMPLE["results"]["openvino"][case["id"]]["script"]


def test_to_the_same_case_in_another_runtime(window: browser.Browser, page: Path) -> None:
    case = SAMPLE["cases"][0]
    window.open(page)
    choose(window, {"verdict": ["differs"]})
    open_cell(window, case["op"], "openvino")
    open_case(window, case["id"])
    window.run("document.querySelector('.elsewhere button').click()")
    window.wait("return document.querySelector('[data-case] .content h4')")
    assert "ONNX Runtime, default threads" in window.run("return document.querySelector('dialog h2').textContent")
    assert script(window, case["id"]) == SAMPLE["results"]["onnxruntime"][case["id"]]["script"]
    window.keys(browser.ESCAPE)
    window.wait("return document.activeElement.matches('.cell')")
    focused = window.run(FOCUSED)
    assert (focused["op"], focused["runtime"]) == (case["op"], "onnxruntime")


REFUSE = "navigator.clipboard.writeText = () => Promise.reject(new DOMException('no', 'NotAllowedError'))"
ABSENT = "Object.defineProperty(navigator, 'clipboard', { value: undefined })"
BROKEN = f"{REFUSE}; document.execCommand = () => false"


@pytest.mark.parametrize("before", ["", REFUSE, ABSENT], ids=["as it is", "refused", "absent"])
def test_copying_a_script(window: browser.Browser, page: Path, before: str) -> None:
    case = SAMPLE["cases"][4]
    window.open(page)
    window.run(before)
    open_cell(window, case["op"], "openvino")
    open_case(window, case["id"])
    window.driver.find_element("css selector", f"[data-case={case['id']!r}] .copy").click()
    window.wait(
        "return [...document.querySelectorAll('[role=status]')].some((status) => status.textContent === 'Copied')"
    )
    # Pasted into a field, as into a bug report.
    window.run(
        "const field = document.createElement('textarea');document.querySelector('dialog').append(field);field.focus()"
    )
    window.keys(browser.CONTROL + "v")
    pasted = window.wait("return document.querySelector('textarea').value")
    assert pasted == SAMPLE["results"]["openvino"][case["id"]]["script"]


def test_where_nothing_can_be_copied_the_script_is_selected(window: browser.Browser, page: Path) -> None:
    case = SAMPLE["cases"][4]
    window.open(page)
    window.run(BROKEN)
    open_cell(window, case["op"], "openvino")
    open_case(window, case["id"])
    window.run(f"{entry(case['id'], '.copy')}.click()")
    window.wait(
        "return [...document.querySelectorAll('[role=status]')].some((status) => status.textContent.includes('Ctrl+C'))"
    )
    assert (
        window.run("return getSelection().toString().trim()")
        == SAMPLE["results"]["openvino"][case["id"]]["script"].strip()
    )


# The address.


def test_a_link_brings_everything_back(window: browser.Browser, random_page: Path) -> None:
    chosen = {"type": "int64", "kind": "out of range", "search": "scatter", "verdict": ["pass", "out-of-bounds memory"]}
    case, runtime, _ = next(expected_results(RANDOM, chosen))
    window.open(random_page)
    choose(window, chosen)
    open_cell(window, case["op"], runtime)
    open_case(window, case["id"])
    fragment = window.run("return location.hash")
    window.open(random_page, fragment)
    window.wait("return document.querySelector('[data-case] .content h4')")
    assert window.run("return document.querySelector('.content:not(:empty)').parentElement.dataset.case") == case["id"]
    assert cells(window) == expected_cells(RANDOM, chosen)
    values = window.run(
        "const form = document.getElementById('filters'); return [form.type.value, form.kind.value, form.search.value]"
    )
    assert values == ["int64", "out of range", "scatter"]
    assert window.run("return location.hash") == fragment


def test_a_link_to_a_case_far_down_a_list(window: browser.Browser, random_page: Path) -> None:
    plain = [
        case for case, *_ in expected_results(RANDOM, {"verdict": ["pass"], "kind": "plain", "runtime": "runtime-0"})
    ]
    window.open(random_page, f"#column=runtime-0&case={plain[-1]['id']}")
    window.wait("return document.querySelector('[data-case] .content h4')")
    window.wait("""
        const box = document.querySelector(".content h4").getBoundingClientRect();
        return box.top > 0 && box.top < innerHeight;
    """)


@pytest.mark.parametrize(
    "fragment", ["#type=nonsense&verdict=x,y&column=z&case=q&row=r", "#%E0%A4%A", "#=&&=", "#row=onnx.Gather-9"]
)
def test_a_link_that_means_nothing_opens_the_page(window: browser.Browser, page: Path, fragment: str) -> None:
    window.open(page, fragment)
    assert cells(window) == expected_cells(SAMPLE, {})
    assert window.console() == []


def test_back_closes_what_was_opened(window: browser.Browser, page: Path) -> None:
    window.open(page)
    choose(window, {"type": "float32"})
    open_cell(window, "onnx.ScatterND-18", "openvino")
    window.driver.back()
    window.wait("return !document.querySelector('dialog').open")
    assert cells(window) == expected_cells(SAMPLE, {"type": "float32"})
    window.driver.forward()
    window.wait("return document.querySelector('dialog').open")


# By keyboard alone.


def tab_to(window: browser.Browser, condition: str) -> None:
    for _ in range(60):
        window.keys(browser.TAB)
        if window.run(f"const element = document.activeElement; return {condition}"):
            return
    raise AssertionError(f"Tab never reaches {condition}")


def test_by_keyboard_alone(window: browser.Browser, page: Path) -> None:
    window.open(page)
    window.keys(browser.TAB, browser.ENTER)  # the link that skips the form
    assert window.run(FOCUSED)["op"] == ALL
    window.keys(browser.DOWN, browser.DOWN, browser.DOWN, browser.RIGHT)
    focused = window.run(FOCUSED)
    assert (focused["op"], focused["runtime"]) == ("onnx.ScatterND-18", "openvino")
    outline = window.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    window.keys(browser.ENTER)
    window.wait("return document.querySelector('dialog').open")
    tab_to(window, "element.matches('.kind > summary')")
    tab_to(window, "element.matches('.case summary')")
    window.keys(browser.ENTER)
    window.wait("return document.querySelector('[data-case] .script')")
    tab_to(window, "element.matches('.copy')")
    window.keys(browser.ENTER)
    window.wait("return document.querySelector('[role=status]').textContent === 'Copied'")
    window.keys(browser.ESCAPE)
    window.wait("return !document.querySelector('dialog').open && location.hash === ''")
    focused = window.run(FOCUSED)
    assert (focused["op"], focused["runtime"]) == ("onnx.ScatterND-18", "openvino")


def test_keys_within_the_matrix(window: browser.Browser, page: Path) -> None:
    window.open(page)
    window.keys(browser.TAB, browser.ENTER)
    walked = []
    for keys in (browser.END, browser.CONTROL + browser.END, browser.DOWN, browser.HOME, browser.LEFT, browser.UP):
        window.keys(keys)
        focused = window.run(FOCUSED)
        walked.append((focused["op"], focused["runtime"]))
        window.keys(browser.CONTROL)  # a key without a meaning changes nothing
    last = "openvino.ScatterUpdate-3"
    assert walked == [
        (ALL, "gatherscatter"),
        (last, "gatherscatter"),
        (last, "gatherscatter"),
        (last, "onnxruntime"),
        (last, "onnxruntime"),
        ("onnx.ScatterND-18", "onnxruntime"),
    ]
    assert window.run("return document.querySelectorAll('#matrix [tabindex=\"0\"]').length") == 1


def test_filters_by_keyboard(window: browser.Browser, page: Path) -> None:
    window.open(page)
    tab_to(window, "element.name === 'search'")
    window.keys("gather-13")
    assert cells(window) == expected_cells(SAMPLE, {"search": "gather-13"})
    tab_to(window, "element.name === 'type'")
    window.keys("s")  # string
    assert cells(window) == expected_cells(SAMPLE, {"search": "gather-13", "type": "string"})
    tab_to(window, "element.value === 'pass'")
    window.keys(" ")
    assert cells(window) == expected_cells(SAMPLE, {"search": "gather-13", "type": "string", "verdict": ["pass"]})
    tab_to(window, "element.id === 'reset'")
    window.keys(browser.ENTER)
    assert cells(window) == expected_cells(SAMPLE, {})


def test_everything_that_takes_the_focus_has_a_name(window: browser.Browser, page: Path) -> None:
    window.open(page)
    open_cell(window, "onnx.ScatterND-18", "openvino")
    open_case(window, SAMPLE["cases"][0]["id"])
    nodes = window.accessibility_tree()
    roles = Counter(node["role"]["value"] for node in nodes if not node["ignored"])
    assert roles["dialog"] == 1
    nameless = [
        node["role"]["value"]
        for node in nodes
        if not node["ignored"]
        and any(item["name"] == "focusable" and item["value"]["value"] for item in node.get("properties", []))
        and not node.get("name", {}).get("value")
    ]
    assert nameless == []


@pytest.mark.parametrize("width", [360, 1440])
def test_the_matrix_is_a_grid_whatever_it_looks_like(window: browser.Browser, page: Path, width: int) -> None:
    window.size(width)
    window.open(page)
    nodes = window.accessibility_tree()
    roles = Counter(node["role"]["value"] for node in nodes if not node["ignored"])
    names = ("grid", "row", "rowheader", "columnheader", "gridcell")
    assert {name: roles[name] for name in names} == dict(zip(names, (1, 6, 5, 4, 15), strict=True))


# On any screen, and on paper.

OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("width", [320, 360, 700, 768])
def test_no_page_is_wider_than_its_screen(window: browser.Browser, page: Path, width: int) -> None:
    window.size(width, 800)
    window.open(page)
    assert window.run("return innerWidth") == width
    assert window.run(OVERFLOW) <= 0
    open_cell(window, "onnx.ScatterND-18", "openvino")
    open_case(window, SAMPLE["cases"][0]["id"])
    assert window.run(OVERFLOW) <= 0
    assert window.run("const box = document.querySelector('dialog'); return box.scrollWidth - box.clientWidth") <= 0


def test_on_a_telephone_each_cell_says_its_runtime_and_can_be_touched(window: browser.Browser, page: Path) -> None:
    window.size(360, 800)
    window.open(page)
    boxes = window.run("""return [...document.querySelectorAll(".cell")].map((cell) => {
        const { width, height, left, right } = cell.getBoundingClientRect();
        return [cell.innerText, width, height, left, right];
    })""")
    assert len(boxes) == len(expected_cells(SAMPLE, {}))
    for text, _, height, left, right in boxes:
        assert any(runtime["title"] in text for runtime in SAMPLE["runtimes"])
        assert height >= 44
        assert left >= 0
        assert right <= 360
    assert cells(window) == expected_cells(SAMPLE, {})


# The texts whose contrast with their background is below the WCAG 2 limit for small text.
CONTRAST = """
const channels = (color) => color.match(/[\\d.]+/g).map(Number);
const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
        const color = channels(getComputedStyle(at).backgroundColor);
        if (color[3] !== 0) return color;
    }
    return [255, 255, 255];
};
const weak = [];
let count = 0;
for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility() || element.closest("script, noscript, option")) continue;
    const [a, b] = [luminance(channels(getComputedStyle(element).color)), luminance(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    count += 1;
    if (ratio < 4.5) weak.push([element.tagName, element.className, element.textContent.slice(0, 40), ratio]);
}
return [count, weak, getComputedStyle(document.body).backgroundColor];
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_contrast(window: browser.Browser, page: Path, dark: bool) -> None:
    window.media(dark=dark)
    window.open(page)
    tones = window.run(
        "return [...new Set([...document.querySelectorAll('.cell')].map((cell) => cell.className))].length"
    )
    assert tones == 5
    open_cell(window, "onnx.ScatterND-18", "openvino")
    for case in SAMPLE["cases"][:5]:
        open_case(window, case["id"])
    count, weak, background = window.run(CONTRAST)
    assert count > 100
    assert weak == []
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) == dark


def test_on_paper_signs_need_no_colour_and_lists_no_scrolling(window: browser.Browser, random_page: Path) -> None:
    window.open(random_page)
    window.media(printed=True)
    grounds = window.run(
        "return [...document.querySelectorAll('.cell, .sign')].map((e) => getComputedStyle(e).backgroundColor)"
    )
    assert set(grounds) == {"rgba(0, 0, 0, 0)"}
    assert window.run("const box = document.getElementById('matrix'); return box.scrollWidth <= box.clientWidth")
    assert window.run(OVERFLOW) <= 0
    choose(window, {"verdict": ["pass"], "kind": "plain"})
    assert "with kind plain" in window.run("return document.getElementById('filters').innerText")
    window.media()
    open_cell(window, ALL, "runtime-0")
    window.wait("return document.querySelectorAll('[data-case]').length === 50")
    window.run("[...document.querySelectorAll('[data-case]')].slice(0, 9).forEach((entry) => { entry.open = true })")
    window.wait("return document.querySelectorAll('.content h4').length >= 18")
    assert browser.pages_of_pdf(window.command("Page.printToPDF")["data"]) > 2


# Hostile and unknown texts.


def test_texts_stay_texts(window: browser.Browser, page: Path) -> None:
    window.open(page)
    open_cell(window, ALL, "openvino")
    for case in SAMPLE["cases"]:
        open_case(window, case["id"])
    title = window.run("return document.title")
    assert title == "Conformance of gather and scatter, 2026-11-21"
    assert window.run("return document.querySelectorAll('img, i, dialog script').length") == 0
    assert window.run(f"return {entry(SAMPLE['cases'][0]['id'], '.message')}.textContent") == HOSTILE
    assert window.console() == []


def test_the_pages_rule_keeps_foreign_scripts_from_running(window: browser.Browser, page: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    handler = "<img src='x' onerror='document.title = `run`'><script>document.title = 'run'</script>"
    broken.write_text(page.read_text(encoding="utf-8").replace("<main>", f"<main>{handler}"), encoding="utf-8")
    window.open(broken)
    assert window.run("return document.title") != "run"
    assert any("Content Security Policy" in line for line in window.console())


def test_the_file_is_the_same_each_time_and_names_no_address() -> None:
    text = report_page.page(SAMPLE)
    assert text == report_page.page(SAMPLE)
    assert "{{" not in text
    assert not re.search(r"https?:|\bfetch\(|XMLHttpRequest|@import|url\(", text)


def test_a_verdict_that_the_page_does_not_know_is_shown(window: browser.Browser, tmp_path: Path) -> None:
    report = sample()
    report["verdicts"].append({"name": "melts", "title": "the machine melts", "severity": 0})
    report["results"]["openvino"][report["cases"][5]["id"]]["verdict"] = "melts"
    path = tmp_path / "new.html"
    report_page.write(report, path)
    window.open(path)
    assert cells(window) == expected_cells(report, {})
    cell = "document.querySelector('[data-op=\"onnx.Gather-9\"][data-runtime=openvino]')"
    assert window.run(f"return {cell}.innerText").split() == ["M", "melts", "1"]


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="reports of format 1; this one has format 2"):
        report_page.write(SAMPLE | {"format": 2}, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []
