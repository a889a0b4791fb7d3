"""The playground in a real browser: it has the library's results and messages, and all its controls work."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import oracle, playground
from gatherscatter_conformance import build, corpus, random_calls
from gatherscatter_conformance.case import Case, element_type, same
from gatherscatter_conformance.random_source import ByteChoices
from gatherscatter_conformance.store import dtype_of
from gatherscatter_conformance.themes.draft import CaseDraft, DraftedCall
from tests.support import browser
from tests.support.command_line import succeed

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def chromium() -> Iterator[browser.Browser]:
    if reason := browser.missing():
        pytest.skip(reason)
    with browser.chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "a playground #1 with 100% odd name.html"
    playground.write(path)
    return path


@pytest.fixture
def window(chromium: browser.Browser, file: Path) -> Iterator[browser.Browser]:
    """Open the page in a new wide window. It must not log errors or make requests."""
    chromium.size(1440)
    chromium.media()
    chromium.open(file)
    yield chromium
    assert chromium.console() == []
    assert {url.partition(":")[0] for url in chromium.requests()} <= {"file", "data", "about"}


# Calls as links, encoded here without the page's code.


def word(value: Any, name: str) -> str:
    if name == "string":
        return json.dumps(value)
    if name == "bool":
        return str(bool(value)).lower()
    if name.startswith("complex"):
        return repr(complex(value)).strip("()")
    return str(int(value)) if "int" in name else repr(float(value))


def nested(values: Any, name: str) -> str:
    if isinstance(values, list):
        return f"[{','.join(nested(one, name) for one in values)}]"
    return word(values, name)


def written(array: np.ndarray) -> str:
    name = element_type(array)
    if array.size == 0:
        return f"{name}({','.join(map(str, array.shape))}):[]"
    return f"{name}:{nested(array.tolist(), name)}"


def link(op: str, inputs: Sequence[np.ndarray | None], attributes: dict[str, Any]) -> str:
    names = [one.name for one in gs.op(op).inputs]
    parts = {"op": op}
    parts |= {name: written(array) for name, array in zip(names, inputs, strict=True) if array is not None}
    parts |= {name: json.dumps(value) for name, value in attributes.items()}
    return "&".join(f"{quote(name)}={quote(text)}" for name, text in parts.items())


def link_of(case: Case) -> str:
    return link(case.op, case.inputs, case.attributes)


def array_of(answer: dict[str, Any]) -> np.ndarray:
    """Return the page's result as an array."""
    name = answer["type"]
    readers = {"string": str, "bool": lambda text: {"true": True, "false": False}[text]}
    reader = readers.get(name, complex if name.startswith("complex") else int if "int" in name else float)
    array = np.empty(len(answer["values"]), dtype_of(name))
    for i, text in enumerate(answer["values"]):
        array[i] = reader(text)
    return array.reshape(answer["shape"])


def error_of(case: Case) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with pytest.raises(gs.OpError) as caught:
            gs.op(case.op)(*case.inputs, **case.attributes)
    return str(caught.value)


def wrong(case: Case, answer: dict[str, Any]) -> str | None:
    """Return the fault in a result, or an empty text."""
    if case.error is None:
        return None if "error" not in answer and same(array_of(answer), case) else f"{case.id}: {answer}"
    wanted = {"error": case.error, "text": error_of(case)}
    return None if answer == wanted else f"{case.id}: {answer}, not {wanted}"


def wording(case: Case) -> str | None:
    """Return the library's message without names and numbers."""
    return None if case.error is None else re.sub(r"-?\d+|'\w+'|^\S+", "#", error_of(case))


def spread() -> list[Case]:
    """Choose cases of each op version with each type, reduction, kind and message."""
    seen: set[Any] = set()
    chosen = []
    for case in corpus.cases():
        if sum(array.size for array in case.inputs if array is not None) > 2000:
            continue
        asks: set[Any] = {(case.op, case.kind), (case.op, case.type), (case.op, case.reduction, case.error)}
        asks |= {(case.type, case.reduction), wording(case)}
        rounds = case.kind == "rounding" and case.type in ("float16", "bfloat16")
        if rounds or not asks <= seen:
            chosen.append(case)
            seen |= asks
    return chosen


CASES = spread()


def test_it_agrees_with_the_corpus(window: browser.Browser) -> None:
    assert len(CASES) >= 300
    assert {case.op for case in CASES} == {row.name for row in gs.ops()}
    assert find_faults(window, CASES) == []


def find_faults(window: browser.Browser, cases: list[Case]) -> list[str]:
    """Return the faults in the page's results for cases."""
    answers = []
    for start in range(0, len(cases), 200):
        links = [link_of(case) for case in cases[start : start + 200]]
        answers += window.run(
            """
            return arguments[0].map((fragment) => {
                playground.show(fragment);
                const { textContent } = document.getElementById("link-mistake");
                return textContent ? { mistake: textContent } : playground.answer();
            });""",
            links,
        )
    return [text for case, answer in zip(cases, answers, strict=True) if (text := wrong(case, answer))]


def draw_case(row: oracle.OracleRow, seed: int) -> Case:
    """Return a random call of an op version, with the oracle's result. Links contain native values."""
    choices = ByteChoices(np.random.default_rng(seed).bytes(400))
    inputs, attributes = random_calls.version_call(choices, row)
    native = [None if array is None else array.astype(array.dtype.newbyteorder("=")) for array in inputs]
    return build.make_case(CaseDraft(row.name, "plain", f"random {seed}", DraftedCall(native, attributes)))


DRAWN = [row for row in oracle.ROWS.values() if row.kernel in ("gather_reduce", "gather_quantized")]


@pytest.mark.parametrize("row", DRAWN, ids=lambda row: row.name)
def test_random_bags_and_tables_have_the_results_of_the_library(window: browser.Browser, row: oracle.OracleRow) -> None:
    drawn = [draw_case(row, seed) for seed in range(200)]
    # Python may name any of several unknown attributes.
    cases = [case for case in drawn if len(case.attributes.keys() - row.attributes.keys()) < 2]
    assert sum(case.error is None for case in cases) > 80
    out_of_range = set() if row.rule == "zeros" else {"IndexError"}
    assert {case.error for case in cases} >= {"TypeError", "ValueError"} | out_of_range
    assert find_faults(window, cases) == []


SHOWN = """
const text = (id) => document.getElementById(id).textContent;
const hidden = document.getElementById("fault").hidden || document.getElementById("fault").className === "warned";
return { fault: hidden ? null : text("fault"), type: text("result-type"), result: text("result") };
"""


@pytest.mark.parametrize("case", CASES[:: len(CASES) // 20], ids=lambda case: case.id)
def test_a_link_shows_the_answer(window: browser.Browser, case: Case) -> None:
    window.run("location.hash = arguments[0]", link_of(case))
    window.wait("return playground.fragment().startsWith(`op=${arguments[0]}&`)", case.op)
    shown = window.run(SHOWN)
    if case.error is not None:
        assert shown["fault"] == f"{case.error}: {error_of(case)}"
        return
    assert case.expected is not None
    expected = case.expected[0]
    assert shown["type"] == f"{element_type(expected)} {expected.shape}"
    texts = window.run("return playground.answer().values")
    found = [
        json.loads(each) if case.type == "string" else each
        for each in re.findall(r'"(?:[^"\\]|\\.)*"|[^\s,[\]]+', shown["result"])
    ]
    assert found == texts


def defaults_of(op: str) -> dict[str, Any]:
    return {one.name: "" if one.type == "int" else one.default for one in gs.op(op).attributes}


# Values that are not in a list of choices can only come from links.
TYPED = [case for case in CASES if case.kind != "attribute" and case.attributes.keys() <= defaults_of(case.op).keys()]


@pytest.mark.parametrize("case", TYPED[3 :: len(TYPED) // 20], ids=lambda case: case.id)
def test_values_can_be_typed(window: browser.Browser, case: Case) -> None:
    """Operator and version are chosen from lists. Types, shapes and values are typed into fields."""
    row = gs.op(case.op)
    defaults = defaults_of(case.op)
    window.run(
        """
        const set = (id, value, event) => {
            const field = document.getElementById(id);
            if (field.type === "checkbox") field.checked = value; else field.value = value;
            field.dispatchEvent(new Event(event, { bubbles: true }));
        };
        const [family, version, inputs, attributes] = arguments;
        set("operator", family, "change");
        set("version", version, "change");
        for (const { name, type, shape, text } of inputs) {
            const given = document.getElementById(`given-${name}`);
            if (given) set(`given-${name}`, type !== null, "change");
            if (type === null) continue;
            set(`type-${name}`, type, "change");
            document.getElementById(`form-${name}`)?.click();
            if (!document.getElementById(`values-${name}`)) document.getElementById(`form-${name}`).click();
            if (text === null) set(`shape-${name}`, shape, "change"); else set(`values-${name}`, text, "input");
        }
        for (const [name, value] of attributes) {
            const list = document.getElementById(`attribute-${name}`);
            set(`attribute-${name}`, value, list.tagName === "SELECT" || list.type === "checkbox" ? "change" : "input");
        }""",
        f"{row.domain}.{row.op_type}",
        str(row.version),
        [
            {
                "name": one.name,
                "type": None if array is None else element_type(array),
                "shape": "" if array is None else str(list(array.shape)),
                "text": None if array is None or array.size == 0 else written(array).partition(":")[2],
            }
            for one, array in zip(row.inputs, case.inputs, strict=True)
        ],
        [[name, case.attributes.get(name, default)] for name, default in defaults.items()],
    )
    assert wrong(case, window.run("return playground.answer()")) is None


def python_of(window: browser.Browser, fragment: str) -> tuple[str, dict[str, Any]]:
    """Return the page's Python call for a link, and the page's result."""
    script = """
    playground.show(arguments[0]);
    return [document.getElementById("python").textContent, playground.answer()];"""
    text, answer = window.run(script, fragment)
    return text, answer


def carried_out(text: str) -> np.ndarray | str:
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            exec(text, names)
        except gs.OpError as error:
            return str(error)
    return np.asarray(names["result"])


def test_the_call_in_python_does_the_same(window: browser.Browser) -> None:
    for case in CASES[1 :: len(CASES) // 80]:
        text, _ = python_of(window, link_of(case))
        result = carried_out(text)
        if isinstance(result, str):
            assert result == error_of(case)
        else:
            assert same(result, case), case.id


PRESETS = json.loads((Path(playground.__file__).parent / "page" / "presets.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("family", list(PRESETS))
def test_every_example_does_what_the_library_does(window: browser.Browser, family: str) -> None:
    for op in gs.ops():
        if f"{op.domain}.{op.op_type}" == family:
            check_examples(window, op)


def check_examples(window: browser.Browser, op: gs.OpVersion) -> None:
    titles = window.run(
        """
        playground.show(arguments[0]);
        return [...document.querySelectorAll("#examples button")].map((button) => button.textContent);""",
        f"op={op.name}&{PRESETS[f'{op.domain}.{op.op_type}'][0]['fragment']}",
    )
    assert len(titles) >= 2
    for number, title in enumerate(titles):
        window.run("document.querySelectorAll('#examples button')[arguments[0]].click()", number)
        text, answer = python_of(window, window.run("return playground.fragment()"))
        result = carried_out(text)
        if isinstance(result, str):
            assert answer["text"] == result, title
        else:
            assert result.shape == tuple(answer["shape"]), title
            np.testing.assert_array_equal(result, array_of(answer), err_msg=title)
        drawn = "return document.querySelectorAll('#picture svg .cell').length"
        assert window.run(drawn) > 0, title


def test_a_link_is_the_state(window: browser.Browser) -> None:
    """The link that the page makes from another link leads to the same result. So does the address bar."""
    for case in CASES[:: len(CASES) // 50]:
        first, second = window.run(
            """
            playground.show(arguments[0]);
            const first = [playground.fragment(), playground.answer()];
            playground.show("op=onnx.Gather-13&data=int32:[1]&indices=int64:0");
            playground.show(first[0]);
            return [first, [playground.fragment(), playground.answer()]];""",
            link_of(case),
        )
        assert first == second
    window.wait("return location.hash.slice(1) === playground.fragment()")


HOSTILE = [
    "op=<img src=x onerror=hacked=1>",
    'op=onnx.ScatterND-18&data=string:["<img src=x onerror=hacked=1>","</script><script>hacked=1</script>"]'
    '&indices=int64:[[0]]&updates=string:["<svg onload=hacked=1>"]',
    "op=onnx.Gather-13&data=int32:[1]&indices=int64:0&<b onclick=hacked=1>=<i>",
    "op=onnx.Gather-13&data=<script>:[1]&indices=int64:0",
    "op=onnx.Gather-13&data=constructor:[1]&indices=int64:0",
    "op=__proto__&data=int32:[1]&indices=int64:0",
    "op=onnx.Gather-13&data=int32:[1]&indices=int64:0&__proto__=1&axis=javascript:hacked=1",
    "op=onnx.Gather-13&data=int32:" + "[" * 3000 + "&indices=int64:0",
    "op=onnx.Gather-13&data=int32(999999,999999,0):[]&indices=int64:0",
    "op=onnx.Gather-13&data=int32:[1,[2]]&indices=int64:0",
    "op=onnx.Gather-13&data=int32:[1]&indices=%",
    "javascript:hacked=1",
    "&&&===",
    "op",
]


@pytest.mark.parametrize("fragment", HOSTILE)
def test_nothing_in_a_link_is_executed(window: browser.Browser, fragment: str) -> None:
    before = window.run("return document.querySelectorAll('script, img, iframe').length")
    for text in (fragment, quote(fragment, safe="=&")):
        window.run("playground.show(arguments[0])", text)
        window.run("location.hash = arguments[0]", text)
    assert window.run("return [typeof hacked, document.querySelectorAll('script, img, iframe').length]") == [
        "undefined",
        before,
    ]
    assert window.run("return document.querySelectorAll('svg image, svg script, svg foreignObject').length") == 0


def test_a_link_that_makes_no_sense_leaves_the_page_as_it_is(window: browser.Browser) -> None:
    before = window.run("return playground.answer()")
    window.run("playground.show('op=onnx.Gather-13&data=int32:[1,[2]]&indices=int64:0')")
    assert window.run("return playground.answer()") == before
    said = "This link can't be shown: a list stands where others have a value."
    assert window.run("return document.getElementById('link-mistake').textContent") == said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2", "a closing bracket is missing"),
        ("[[1], [2, 3]]", "the lists of dimension 1 have different lengths: 1 and 2"),
        ("[1, x]", '"x" is no int32'),
        ("[1, 99999999999]", "99999999999 does not fit in int32"),
        ("", "there is no value"),
        ("[1]]", "there is something after the last bracket"),
    ],
)
def test_a_slip_of_the_pen_is_named_beside_the_field(window: browser.Browser, text: str, message: str) -> None:
    before = window.run("return playground.answer()")
    found = window.run(
        """
        document.getElementById("form-data").click();
        const field = document.getElementById("values-data");
        field.value = arguments[0];
        field.dispatchEvent(new Event("input"));
        return [document.getElementById("mistake-data").textContent, field.getAttribute("aria-invalid")];""",
        text,
    )
    assert found[1] == "true"
    assert message in found[0] or found[0] == "there is a closing bracket too many"
    assert window.run("return playground.answer()") == before


def focused(window: browser.Browser) -> str:
    return str(window.run("return document.activeElement.id"))


def tab_to(window: browser.Browser, wanted: str) -> None:
    for _ in range(60):
        if focused(window) == wanted:
            return
        window.keys(browser.TAB)
    raise AssertionError(f"no Tab leads to {wanted}")


def test_it_works_by_keys_alone(window: browser.Browser) -> None:
    window.run("document.activeElement.blur()")
    tab_to(window, "operator")
    window.keys("ScatterND", browser.TAB)
    window.wait("return playground.fragment().startsWith('op=onnx.ScatterND-18')")
    tab_to(window, "step")
    window.keys(browser.LEFT)
    assert "of 4." in window.run("return document.getElementById('step').getAttribute('aria-valuetext')")
    tab_to(window, "cell-data-0")
    window.keys(browser.RIGHT, browser.RIGHT, "77")
    assert focused(window) == "cell-data-2"
    assert window.run("return playground.answer().values")[2] == "77"
    tab_to(window, "cell-indices-0")
    window.keys(browser.DOWN, "100")
    assert focused(window) == "cell-indices-1"
    # The live region announces the outcome.
    said = "return document.getElementById('said').textContent.startsWith(arguments[0])"
    window.wait(said, "IndexError: onnx.ScatterND-18: indices[1, 0] = 100 is out of range")
    window.keys(browser.CONTROL + "a", "3")
    window.wait(said, "Result: int32 (8,): [")


def test_every_control_has_a_name(window: browser.Browser) -> None:
    window.run(
        "playground.show(arguments[0])", f"op=onnx.TensorScatter-24&{PRESETS['onnx.TensorScatter'][0]['fragment']}"
    )
    tree = window.accessibility_tree()
    roles = {"button", "combobox", "textbox", "checkbox", "slider", "img", "region"}
    nameless = [
        node["role"]["value"]
        for node in tree
        if not node.get("ignored") and node.get("role", {}).get("value") in roles and not node["name"].get("value")
    ]
    assert nameless == []


def test_pointing_at_an_index_shows_it_alone(window: browser.Browser) -> None:
    assert window.run("return document.querySelectorAll('.arrow').length") > 2
    window.run(
        "document.querySelector('.cell[data-group=\"1\"]').dispatchEvent(new Event('pointerover', { bubbles: true }))"
    )
    assert window.run(
        "return [...document.querySelectorAll('.arrow')].every((arrow) => arrow.classList.contains('hue1'))"
    )
    assert window.run("return document.getElementById('sentence').textContent") != ""


def test_steps_build_the_result(window: browser.Browser) -> None:
    window.run(
        "playground.show('op=onnx.ScatterND-18&data=int32:[10,20]&indices=int64:[[0],[-2]]&updates=int32:[1,2]&reduction=add')"
    )
    sentences = []
    for _ in range(2):
        window.run("document.getElementById('forth').click()")
        sentences.append(window.run("return document.getElementById('sentence').textContent"))
    assert sentences == [
        "1 of 2. indices[0] = [0]: updates[0] = 1 is added to output[0]: 10 + 1 = 11.",
        "2 of 2. indices[1] = [-2] (-2 counts from the end of axis 0: 2 - 2 = 0): "
        "updates[1] = 2 is added to output[0]: 11 + 2 = 13.",
    ]


TIMES = "\N{MULTIPLICATION SIGN}"
TABLE = "emb_table=float32:[[1,2],[10,20],[100,200]]"
BAGS = [
    (
        f"openvino.EmbeddingBagOffsets-15&{TABLE}&indices=int32:[0,2,1]&offsets=int32:[0,2,2]&default_index=int32:1"
        "&per_sample_weights=float32:[0.5,-1,3]",
        [
            "1 of 4. indices[0] = 0, offsets[0] = 0, per_sample_weights[0] = 0.5: "
            f"emb_table[0, :] {TIMES} 0.5 goes to output[0, :].",
            "2 of 4. indices[1] = 2, offsets[0] = 0, per_sample_weights[1] = -1: "
            f"emb_table[2, :] {TIMES} (-1) is added to output[0, :].",
            "3 of 4. offsets[1] = 2, default_index = 1: emb_table[1, :] goes to output[1, :].",
            "4 of 4. indices[2] = 1, offsets[2] = 2, per_sample_weights[2] = 3: "
            f"emb_table[1, :] {TIMES} 3 goes to output[2, :].",
        ],
        "output.shape = offsets.shape + emb_table.shape[1:] = (3,) + (2,) = (3, 2)",
    ),
    (
        "openvino.EmbeddingBagPacked-15&emb_table=int32:[-3,4]&indices=int64:[[0,1]]&reduction=mean",
        [
            "1 of 2. indices[0, 0] = 0: emb_table[0] = -3 goes to output[0].",
            "2 of 2. indices[0, 1] = 1: emb_table[1] = 4 is one more contribution to output[0]: the mean is now 0.",
        ],
        "output.shape = indices.shape[:1] + emb_table.shape[1:] = (1,) + () = (1,)",
    ),
    (
        "openvino.SegmentMax-16&data=int8:[3,7,-5]&segment_ids=int32:[0,0,2]&fill_mode=LOWEST",
        [
            "1 of 4. segment_ids[0] = 0: data[0] = 3 goes to output[0].",
            "2 of 4. segment_ids[1] = 0: data[1] = 7 is compared with output[0]: max(3, 7) = 7.",
            "3 of 4. output[1] is filled with -128.",
            "4 of 4. segment_ids[2] = 2: data[2] = -5 goes to output[2].",
        ],
        "output.shape = (num_segments or max(segment_ids)+1,) + data.shape[1:] = (3,) + () = (3,)",
    ),
]


PACKED = "com.microsoft.GatherBlockQuantized-1&data=uint8:[[33,67],[228,169]]"
TABLE_RULE = "output.shape = table[:gather_axis] + indices.shape + table[gather_axis+1:] = "
TABLE_TERMS = ", where table is the shape of data in numbers"
QUANTIZED = [
    (
        f"{PACKED}&indices=int64:[1,2]&scales=float32:[[0.5],[2]]",
        [
            f"1 of 2. indices[0] = 1: (data[1, :] - 8) {TIMES} scales[1, 0] goes to output[0, :].",
            "2 of 2. indices[1] = 2 (2 is out of range on axis 0, which gives zeros here): "
            "output[1, :] is filled with 0.",
        ],
        f"{TABLE_RULE}() + (2,) + (4,) = (2, 4){TABLE_TERMS}",
    ),
    (
        f"{PACKED}&indices=int32:-1&scales=float32:[[0.5],[2]]&zero_points=uint8:[[1],[2]]&bits=2",
        [
            "1 of 1. indices = -1 (-1 counts from the end of axis 0: 2 - 1 = 1): "
            f"(data[1, :] - zero_points[1, 0]) {TIMES} scales[1, 0] goes to output[:].",
        ],
        f"{TABLE_RULE}() + () + (8,) = (8,){TABLE_TERMS}",
    ),
    (
        "com.microsoft.GatherBlockQuantized-1&data=int4:[1,-2,3]&indices=int64:[1]&scales=float16:[0.1]&quantize_axis=0",
        [f"1 of 1. indices[0] = 1: data[1] {TIMES} scales[0] = -0.2 goes to output[0]."],
        f"{TABLE_RULE}() + (1,) + () = (1,){TABLE_TERMS}",
    ),
    (
        "com.microsoft.GatherBlockQuantized-1&data=float8_e5m2:[[1,2],[3,4]]&indices=int64:[0]&scales=float32:[[3]]"
        "&gather_axis=1&quantize_axis=0&block_size=0",
        [f"1 of 1. indices[0] = 0: data[:, 0] {TIMES} scales[0, 0] goes to output[:, 0]."],
        f"{TABLE_RULE}(2,) + (1,) + () = (2, 1){TABLE_TERMS}",
    ),
]
EXPLAINED = [*BAGS, *QUANTIZED]


@pytest.mark.parametrize(("fragment", "sentences", "rule"), EXPLAINED, ids=[fragment for fragment, _, _ in EXPLAINED])
def test_steps_explain_bags_and_tables(window: browser.Browser, fragment: str, sentences: list[str], rule: str) -> None:
    window.run("playground.show(`op=${arguments[0]}`)", fragment)
    text = "return document.getElementById(arguments[0]).textContent"
    found = []
    for _ in sentences:
        window.run("document.getElementById('forth').click()")
        found.append(window.run(text, "sentence"))
    assert found == sentences
    assert window.run(text, "rule") == rule


def touched(window: browser.Browser) -> dict[str, str]:
    """Return the titles of the cells that a step of the picture touches, with the number of the step."""
    cells = """
    const cells = [...document.querySelectorAll("#picture .cell")].filter((cell) => cell.querySelector(".ground"));
    return cells.map((cell) => [cell.querySelector("title").textContent, cell.dataset.group ?? ""]);"""
    return {title: group for title, group in window.run(cells) if group}


def test_the_picture_shows_bags(window: browser.Browser) -> None:
    """Each member's index, offset, weight, row and bag have its number. A row of zeros is filled in."""
    fragment = f"{TABLE}&indices=int32:[2,0]&offsets=int32:[0,1,1]&per_sample_weights=float32:[3,4]"
    window.run("playground.show(`op=openvino.EmbeddingBagOffsets-15&${arguments[0]}`)", fragment)
    assert touched(window) == {
        "indices[0] = 2: read once": "0",
        "indices[1] = 0: read once": "2",
        "offsets[0] = 0: read once": "0",
        "offsets[1] = 1: read once": "1",
        "offsets[2] = 1: read once": "2",
        "per_sample_weights[0] = 3: read once": "0",
        "per_sample_weights[1] = 4: read once": "2",
        "emb_table[2, 0] = 100: read once": "0",
        "emb_table[2, 1] = 200: read once": "0",
        "emb_table[0, 0] = 1: read once": "2",
        "emb_table[0, 1] = 2: read once": "2",
        "output[0, 0] = 300: written": "0",
        "output[0, 1] = 600: written": "0",
        "output[1, 0] = 0: filled in": "1",
        "output[1, 1] = 0: filled in": "1",
        "output[2, 0] = 4: written": "2",
        "output[2, 1] = 8: written": "2",
    }
    assert window.run("return document.querySelectorAll('#picture .arrow').length") == 4


def test_the_picture_shows_the_codes_of_bytes(window: browser.Browser) -> None:
    """Each index has the number of its bytes, scales and zero points. A byte is read once for all of its codes."""
    fragment = f"{PACKED}&indices=int64:[1,5]&scales=float32:[[0.5],[2]]&zero_points=uint8:[[1],[20]]"
    window.run("playground.show(`op=${arguments[0]}`)", fragment)
    assert touched(window) == {
        "indices[0] = 1: read once": "0",
        "indices[1] = 5: read once": "1",
        "scales[1, 0] = 2: read once": "0",
        "zero_points[1, 0] = 20: read once": "0",
        "data[1, 0] = 228: read once": "0",
        "data[1, 1] = 169: read once": "0",
        **{f"output[0, {n}] = {number}: written": "0" for n, number in enumerate((0, 20, 10, 12))},
        **{f"output[1, {n}] = 0: filled in": "1" for n in range(4)},
    }
    texts = "return [...document.querySelectorAll('#picture text.value')].map((text) => text.textContent)"
    assert {"1 2", "3 4", "4 14", "9 10", "1 0", "4 1"} <= {*window.run(texts)}
    assert window.run("return document.querySelectorAll('#picture .arrow').length") == 2


@pytest.mark.parametrize(
    ("fragment", "optional"),
    [
        (
            f"openvino.EmbeddingSegmentsSum-3&{TABLE}&indices=int32:[0,2]&segment_ids=int32:[0,2]&num_segments=int32:4",
            ["default_index", "per_sample_weights"],
        ),
        ("openvino.SegmentMax-16&data=int32:[3,7]&segment_ids=int64:[0,2]&fill_mode=ZERO", ["num_segments"]),
        ("openvino.EmbeddingBagPackedSum-3&emb_table=bool:[true,false]&indices=int64:[[1,0]]", ["per_sample_weights"]),
        ("onnx.TensorScatter-24&past_cache=int32:[[[1],[2]]]&update=int32:[[[3]]]", ["write_indices"]),
        (f"{PACKED}&indices=int64:[1]&scales=float32:[[0.5],[2]]&bits=2", ["zero_points"]),
        (
            "com.microsoft.GatherBlockQuantized-1&data=uint4:[[3,6]]&indices=int64:[0]&scales=float32:[[2]]",
            ["zero_points"],
        ),
    ],
)
def test_an_input_begins_with_values_that_change_nothing(
    window: browser.Browser, fragment: str, optional: list[str]
) -> None:
    window.run("playground.show(`op=${arguments[0]}`)", fragment)
    before = window.run("return playground.answer()")
    for name in optional:
        window.run("document.getElementById(`given-${arguments[0]}`).click()", name)
        assert f"&{name}=" in window.run("return playground.fragment()")
        assert window.run("return playground.answer()") == before


def test_index_types_follow_that_of_the_indices(window: browser.Browser) -> None:
    window.run("playground.show(`op=${arguments[0]}`)", BAGS[0][0])
    before = window.run("return playground.answer()")
    window.run(
        """
        const list = document.getElementById("type-indices");
        list.value = "int64";
        list.dispatchEvent(new Event("change"));"""
    )
    assert window.run("return playground.answer()") == before
    assert re.findall(r"int\d+", window.run("return playground.fragment()")) == ["int64"] * 3


def test_a_choice_that_must_be_made_is_empty_at_first(window: browser.Browser) -> None:
    window.run("playground.show('op=openvino.SegmentMax-16&data=int32:[3]&segment_ids=int64:[0]')")
    assert window.run("return playground.answer().error") == "TypeError"
    chosen = "return document.getElementById('attribute-fill_mode').selectedOptions[0].textContent"
    assert window.run(chosen) == "required"


def test_a_telephone_shows_all_of_it(window: browser.Browser) -> None:
    window.size(360, 740)
    for op, presets in PRESETS.items():
        for preset in presets:
            window.run("playground.show(arguments[0])", f"op={gs.op(op).name}&{preset['fragment']}")
            assert window.run("return document.documentElement.scrollWidth") <= 360, (op, preset["title"])


CROSSINGS = """
const texts = [...document.querySelectorAll("#picture svg text")].map((text) => [text.textContent, text.getBBox()]);
const lines = [...document.querySelectorAll("#picture .arrow path:not(.halo)")];
const found = [];
for (const line of lines)
    for (let at = 0; at <= line.getTotalLength(); at += 2) {
        const { x, y } = line.getPointAtLength(at);
        for (const [text, box] of texts)
            if (x > box.x && x < box.x + box.width && y > box.y + box.height / 5 && y < box.y + box.height * 4 / 5)
                found.push(text);
    }
return [lines.length, [...new Set(found)]];
"""


@pytest.mark.parametrize("width", [1440, 390])
def test_no_arrow_runs_over_a_text(window: browser.Browser, width: int) -> None:
    window.size(width)
    drawn = 0
    for op, presets in PRESETS.items():
        for preset in presets:
            window.run("playground.show(arguments[0])", f"op={gs.op(op).name}&{preset['fragment']}")
            for step in (None, 1):
                if step and window.run("return !document.getElementById('steps').hidden"):
                    window.run("document.getElementById('forth').click()")
                count, crossed = window.run(CROSSINGS)
                drawn += count
                assert crossed == [], (op, preset["title"], step)
    assert drawn > 400


ORDERS = {
    "onnx.GatherND-13&data=int32:[1,2]&indices=int64:[[1]]": ["indices", "data", "output"],
    "onnx.ScatterND-18&data=int32:[1,2]&indices=int64:[[1]]&updates=int32:[9]": ["indices", "data", "output"],
    "onnx.ScatterND-18&data=int32:[1,2]&indices=int64:[[7]]&updates=int32:[9]": ["indices", "data"],
    "onnx.TensorScatter-24&past_cache=int32:[[[1],[2]]]&update=int32:[[[3]]]&write_indices=int64:[1]": [
        *("write_indices", "past_cache", "present_cache"),
    ],
}


@pytest.mark.parametrize("fragment", ORDERS)
@pytest.mark.parametrize(("width", "axis"), [(1440, "x"), (390, "y")])
def test_indices_come_first_then_data_then_the_output(
    window: browser.Browser, fragment: str, width: int, axis: str
) -> None:
    window.size(width)
    window.run("playground.show(`op=${arguments[0]}`)", fragment)
    script = """
    const titles = [...document.querySelectorAll("#picture text.title")];
    const nameOf = (title) => title.querySelector(".name").textContent;
    return titles.map((title) => [nameOf(title), Number(title.getAttribute(arguments[0]))]);"""
    found = dict(window.run(script, axis))
    order = [found[name] for name in ORDERS[fragment]]
    assert order == sorted(order)
    assert len({*order}) == len(order)


def test_dark_and_light(window: browser.Browser) -> None:
    colours = "const { color, backgroundColor } = getComputedStyle(document.body); return [color, backgroundColor]"
    light = window.run(colours)
    window.media(dark=True)
    dark = window.run(colours)
    assert light != dark
    assert sum(map(int, re.findall(r"\d+", light[1]))) > 600
    assert sum(map(int, re.findall(r"\d+", dark[1]))) < 150


def test_the_link_is_copied(window: browser.Browser) -> None:
    window.wait("return document.getElementById('said').textContent.startsWith('Result')")
    window.run("document.getElementById('copy-link').click()")
    said = "return ['Copied', 'Press Ctrl+C'].includes(document.getElementById('said').textContent)"
    assert window.wait(said)
    assert window.run("return location.hash.slice(1) === playground.fragment()")


def test_the_page_loads_nothing_and_knows_no_version_by_itself() -> None:
    page = playground.page()
    assert re.findall(r"https?://[^\s\"']+", page) == ["http://www.w3.org/2000/svg"]
    scripts = "".join(
        path.read_text(encoding="utf-8") for path in (Path(playground.__file__).parent / "page").glob("*.js")
    )
    code = "\n".join(line for line in scripts.splitlines() if not line.lstrip().startswith("//"))
    assert not [row.name for row in gs.ops() if row.name in code]


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    said = succeed("playground", "-o", tmp_path / "page.html")
    assert said == f"written: {tmp_path / 'page.html'}\n"
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == playground.page()
