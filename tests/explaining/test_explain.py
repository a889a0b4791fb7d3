"""`gs.explain`: its steps agree with results, its pictures are valid XML, and its texts equal those written by hand."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.explaining.call import record_call
from gatherscatter.explaining.counts import Counts
from gatherscatter.explaining.examples import EXAMPLES, example_of, write_pictures
from gatherscatter.explaining.moves import list_moves
from gatherscatter.explaining.trace import OutputState, list_cells
from gatherscatter_conformance import corpus
from tests.support.paths import DOCS

BOUND = 400_000  # the largest size of a picture
HOSTILE = ["</text><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a\x00\x1b[31m\ud800\ufffe&"]
SVG = "{http://www.w3.org/2000/svg}"


def _kernels() -> list[str]:
    return sorted({row.kernel for row in gs.ops()})


@pytest.mark.full
@pytest.mark.parametrize("kernel", _kernels())
def test_the_last_state_of_the_steps_is_the_result_for_the_whole_corpus(kernel: str) -> None:
    names = [row.name for row in gs.ops() if row.kernel == kernel]
    for case in (case for name in names for case in corpus.cases(op=name)):
        call = record_call(case.op, case.inputs, case.attributes)
        state = OutputState(call)
        for move in list_moves(call):
            state.add(move)
        if case.expected is not None:
            assert call.error is None, case.id
            assert corpus.same(call.result, case), case.id
            assert corpus.same(state.output(), case), case.id
        else:
            assert type(call.error).__mro__[2].__name__ == case.error or case.error in str(type(call.error).__mro__)


@pytest.mark.full
@pytest.mark.parametrize("kernel", _kernels())
def test_elements_are_counted_as_often_as_indices_name_them(kernel: str) -> None:
    names = [row.name for row in gs.ops() if row.kernel == kernel]
    for case in [case for name in names for case in corpus.cases(op=name)][::9]:
        call = record_call(case.op, case.inputs, case.attributes)
        if not call.is_clear or call.data.size > 100:
            continue
        seen: Counter[Any] = Counter()
        for move in list_moves(call):
            if move.target is not None:
                seen.update(target if call.is_scatter else source for source, target in list_cells(call, move, range))
        counts = Counts(call)
        assert {at: counts.of(at) for at in np.ndindex(call.data.shape)} == {
            at: seen[at] for at in np.ndindex(call.data.shape)
        }, case.id


def test_the_shape_rule_ends_with_the_shape_of_the_result() -> None:
    for case in corpus.cases()[::5]:
        explanation = gs.explain(case.op, *case.inputs, **case.attributes)
        if explanation.result is None:
            continue
        shapes = {"output": explanation.result.shape, "updates": getattr(explanation.call.updates, "shape", ())}
        for rule in explanation.shape_rules:
            last = re.findall(r"\([\d, ]*\)", rule)[-1]
            assert eval(last) == shapes[rule.partition(".")[0]], (case.id, rule)


def test_the_shape_rule_of_a_gather_nd_by_hand() -> None:
    rules = gs.explain("gather_nd", np.zeros((4, 2, 3)), [[[1], [0]]] * 4, batch_dims=1).shape_rules
    assert rules == (
        "output.shape = indices.shape[:-1] + data.shape[batch_dims+k:]    (batch_dims = 1, k = 1)\n"
        "             = indices.shape[:-1] + data.shape[2:]\n"
        "             = (4, 2) + (3,) = (4, 2, 3)",
    )


def test_steps_in_words_by_hand() -> None:
    explanation = gs.explain("onnx.ScatterND-18", [1, 2, 3], [[2], [-1], [0]], [10, 20, 30], reduction="add")
    text = str(explanation)
    assert "1  indices[0] = 2: updates[0] → output[2]: 3 + 10 = 13" in text
    assert "2  indices[1] = -1, which is 2 counted from the front: updates[1] → output[2]: 13 + 20 = 33" in text
    assert "3  indices[2] = 0: updates[2] → output[0]: 1 + 30 = 31" in text


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("scatter_nd", [5, 6], [[1], [1]], [7, 8]), "output[1]: 7 becomes 8, the last update wins"),
        (("openvino.Gather-8", [1, 2], [9], 0), "indices[0] = 9: out of range: zeros into output[0]"),
        (("onnx.Gather-13", [[1, 2], [3, 4]], [1]), "data[1, :] → output[0, :]: [3, 4]"),
        (("openvino.GatherTree-1", [[[5]], [[6]]], [[[0]], [[0]]], [2], 5), "after the end token: the end token"),
        (("onnx.TensorScatter-24", np.zeros((1, 3, 1)), np.ones((1, 1, 1)), [2]), "write_indices[0] = 2: update[0, 0"),
    ],
)
def test_what_a_step_says(call: tuple[Any, ...], words: str) -> None:
    assert words in str(gs.explain(*call))


def test_integers_that_wrap_around_are_said_to() -> None:
    explanation = gs.explain("scatter_nd", np.array([100], np.int8), [[0]], np.array([100], np.int8), reduction="add")
    assert "100 + 100 = -56 (200 does not fit int8, which wraps around)" in str(explanation)


def test_mean_shows_what_it_is_after_each_contribution() -> None:
    steps = gs.explain("scatter_nd", [2.0], [[0], [0]], [4.0, 9.0], reduction="mean").trace
    assert [change.after for step in steps for change in step.changes] == [3.0, 5.0]


def test_the_text_of_a_grid_is_drawn_with_boxes() -> None:
    assert str(gs.explain("gather", [[7, 8]], [0], 1)).splitlines()[8:14] == [
        "indices (1,) int64    data (1, 2) int64    output (1, 1) int64",
        "  ┌────┐                  0    1               0",
        "0 │ 0¹ │                ┌────┬────┐          ┌────┐",
        "  └────┘              0 │ 7¹ │ 8  │        0 │ 7¹ │",
        "                        └────┴────┘          └────┘",
        "",
    ]


def test_a_call_may_be_named_in_every_way() -> None:
    inputs = ([1, 2, 3], [[2], [0]])
    ways = [
        "gather_nd",
        gs.gather_nd,
        "onnx.GatherND",
        gs.onnx.GatherND,
        gs.op("onnx.GatherND-12"),
        gs.openvino.GatherND,
    ]
    assert [gs.explain(way, *inputs).result.tolist() for way in ways] == [[3, 1]] * len(ways)
    assert gs.explain(gs.onnx.GatherND, *inputs, opset=11).op == "onnx.GatherND-11"
    assert gs.explain("gather_nd", data=inputs[0], indices=inputs[1]).result.tolist() == [3, 1]


def test_names_that_are_none_raise() -> None:
    with pytest.raises(LookupError, match=r"there is no operator 'onnx\.GatherMD'"):
        gs.explain("onnx.GatherMD", [1], [0])
    with pytest.raises(LookupError, match="there is no operator 'sorted'"):
        gs.explain(sorted, [1])
    with pytest.raises(TypeError, match="op must be a name"):
        gs.explain(3, [1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="out is not allowed"):
        gs.explain("gather", [1], [0], out=np.zeros(1))


def test_nothing_of_the_caller_is_changed() -> None:
    data, indices, updates = np.arange(4.0), np.array([[1], [1]]), np.array([5.0, 6.0])
    explanation = gs.explain("scatter_nd", data, indices, updates, reduction="add")
    assert str(explanation)
    assert explanation.html()
    assert (data.tolist(), indices.tolist(), updates.tolist()) == ([0, 1, 2, 3], [[1], [1]], [5, 6])


def _states(svg: str, array: str) -> dict[str, str]:
    """Return the state of every drawn cell of an array, by its coordinates."""
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    return {g.get("data-at"): g.get("class").split()[1] for g in groups if g.get("data-array") == array}


def test_what_happens_to_cells_is_told_apart() -> None:
    picture = gs.explain("gather", [1, 2, 3], [0, -1, 0]).svg()
    assert _states(picture, "data") == {"0": "again", "1": "untouched", "2": "read"}
    assert _states(picture, "indices") == {"0": "index", "1": "negative", "2": "index"}
    picture = gs.explain("scatter_nd", [1, 2, 3], [[0], [2], [-1]], [4, 5, 6]).svg()
    assert _states(picture, "output") == {"0": "written", "1": "untouched", "2": "repeated"}
    assert _states(gs.explain("openvino.Gather-8", [1], [0, 4], 0).svg(), "output") == {"0": "written", "1": "filled"}


def test_every_state_has_a_pattern_besides_its_colour() -> None:
    picture = gs.explain("gather", [1, 2, 3], [0, -1, 0]).svg()
    for state, shape in (("again", "stripe"), ("negative", "corner")):
        cells = [g for g in ElementTree.fromstring(picture).iter(f"{SVG}g") if g.get("class") == f"cell {state}"]
        assert cells
        assert all(shape in [path.get("class") for path in g.iter(f"{SVG}path")] for g in cells)
    bad = ElementTree.fromstring(gs.explain("gather", [1], [3]).svg())
    crossed = [g for g in bad.iter(f"{SVG}g") if g.get("class") == "cell bad"]
    assert [g.get("data-at") for g in crossed] == ["0"]
    assert any("cross" in path.get("class") for path in crossed[0].iter(f"{SVG}path"))


def test_a_bad_index_is_marked_and_explained_in_the_words_of_the_library() -> None:
    explanation = gs.explain("onnx.GatherND-13", [[1, 2], [3, 4]], [[0, 1], [1, 7]])
    assert isinstance(explanation.error, IndexError)
    assert explanation.result is None
    assert _states(explanation.svg(), "indices") == {"0,0": "index", "0,1": "index", "1,0": "index", "1,1": "bad"}
    assert "indices[1, 1] = 7 is out of range for axis 1 of data with size 2 (valid: -2..1)" in explanation.svg()
    assert "✗7" in str(explanation)
    assert "out of range; the call fails, and nothing is written" in str(explanation)
    assert "out of range" in repr(explanation) or "OpIndexError" in repr(explanation)


def test_an_input_of_a_wrong_shape_is_crossed_out() -> None:
    explanation = gs.explain("scatter_nd", np.zeros((3, 4)), [[2], [0]], np.zeros((2, 3)))
    root = ElementTree.fromstring(explanation.svg())
    names = [text for text in root.iter(f"{SVG}text") if "name" in text.get("class")]
    assert [text.text for text in names if "error" in text.get("class")] == ["updates"]
    assert "nothing is broadcast" in str(explanation)
    assert explanation.trace == ()


@pytest.mark.parametrize(
    "call",
    [
        ("gather", [1.0], [0.5]),
        ("gather", [1], "no indices"),
        ("gather", None, None),
        ("gather", 5, [0]),
        ("scatter_nd", [[1], [2, 3]], [[0]], [1]),
        ("gather",),
        ("onnx.ScatterND-18", [1], [[0]]),
        ("onnx.Gather-13", [1], np.array([0], np.int8)),
        ("gather_nd", [1], 0),
        ("openvino.Gather-8", [1], [0], [0, 0]),
        ("onnx.TensorScatter-24", [1, 2], [1], [0]),
        ("openvino.GatherTree-1", [[[1]]], [[[5]]], [1], [0, 0]),
    ],
)
def test_errors_of_a_call_are_explained_not_raised(call: tuple[Any, ...]) -> None:
    explanation = gs.explain(*call)
    assert explanation.error is not None
    assert type(explanation.error).__name__ in str(explanation)
    assert ElementTree.fromstring(explanation.svg()) is not None
    assert explanation.html().startswith("<!DOCTYPE html>")
    assert all(other.code is None for other in explanation.equivalents.values())


def test_attributes_that_are_wrong_are_explained() -> None:
    for attributes in ({"axis": 9}, {"axis": "x"}, {"colour": "red"}, {"batch_dims": 4}, {"mode": 7}):
        assert str(gs.explain("gather", [[1]], [0], **attributes).error)


def test_strings_from_anywhere_are_only_text() -> None:
    data = np.array(HOSTILE, object)
    explanation = gs.explain("onnx.Gather-13", data, [2, 0, 1], evil='"><script>alert(2)</script>')
    for made in (explanation, gs.explain("onnx.Gather-13", data, [2, 0, 1])):
        picture, page = made.svg(), made.html()
        picture.encode()
        page.encode()
        assert not list(ElementTree.fromstring(picture).iter(f"{SVG}script"))
        assert page.count("<script") == 2  # the steps, and the step that the picture shows
        assert "<img" not in page
        assert "\x1b" not in str(made)


@pytest.mark.full
def test_pictures_of_the_corpus_are_xml_of_bounded_size() -> None:
    for case in corpus.cases()[::23]:
        explanation = gs.explain(case.op, *case.inputs, **case.attributes)
        for picture in (explanation.svg(), explanation.svg("dark")):
            ElementTree.fromstring(picture)
            assert len(picture) < BOUND, case.id
        assert "var(" not in explanation.svg("light")
        assert str(explanation)
        assert explanation.html()


@pytest.mark.parametrize(
    ("operator", "shapes"),
    [
        ("gather", ((300_000, 10), (1_000_000,))),
        ("gather_elements", ((1000, 1000), (1000, 1000))),
        ("gather_nd", ((100, 100, 100), (1000, 100, 2))),
        ("gather_nd", ((4, 4, 4, 4, 4, 4, 4, 4), (50, 3))),
        ("gather", (tuple([2] * 16), (5,))),
    ],
)
def test_large_arrays_are_summarised(operator: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    data = np.zeros(shapes[0], np.float32)
    indices = np.random.default_rng(0).integers(0, min(shapes[0]), shapes[1])
    explanation = gs.explain(operator, data, indices)
    assert len(explanation.svg()) < BOUND
    assert len(str(explanation)) < 20_000
    assert len(explanation.html()) < 4 * BOUND
    assert len(explanation.trace) <= 200
    total = math.prod(shapes[1][:-1] if operator == "gather_nd" else shapes[1])
    assert explanation.drawing.total == total
    assert f"of {total:,} " in str(explanation) or total <= 24


def test_cells_that_the_first_indices_name_are_drawn_however_far_they_are() -> None:
    explanation = gs.explain("scatter_nd", np.zeros((5000, 5000)), [[4000, 17], [3, 4990]], [1.0, 2.0])
    states = _states(explanation.svg(), "output")
    assert states["4000,17"] == states["3,4990"] == "written"
    assert states["0,0"] == "untouched"


def test_a_duplicate_that_is_not_drawn_counts_all_the_same() -> None:
    indices = np.concatenate([np.arange(5000), [2]])
    explanation = gs.explain("gather", np.zeros(5000), indices)
    assert [_states(explanation.svg(), "data")[n] for n in "123"] == ["read", "again", "read"]


def test_a_deprecated_version_says_so() -> None:
    assert "deprecated" in str(gs.explain("onnx.Scatter-11", [1, 2], [0], [5]))


def test_inputs_may_be_arrays_of_other_libraries() -> None:
    torch = pytest.importorskip("torch")
    assert gs.explain("gather", torch.tensor([1.5, 2.5]), torch.tensor([1])).result.tolist() == [2.5]


def test_pictures_follow_the_reader_or_a_fixed_theme() -> None:
    explanation = gs.explain("gather", [1], [0])
    assert "prefers-color-scheme: dark" in explanation.svg()
    assert explanation.svg("light") != explanation.svg("dark")
    with pytest.raises(ValueError, match="theme must be one of 'auto', 'light', 'dark', not 'red'"):
        explanation.svg("red")


def test_files_are_written_by_their_suffix(tmp_path: Path) -> None:
    explanation = gs.explain("gather", [1], [0])
    explanation.save(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text(encoding="utf-8") == explanation.svg()
    explanation.save(str(tmp_path / "x.html"))
    assert (tmp_path / "x.html").read_text(encoding="utf-8") == explanation.html()
    with pytest.raises(ValueError, match=r"must end in \.svg, \.png, \.html"):
        explanation.save(tmp_path / "x.gif")


def test_a_png_is_twice_as_large_as_the_svg(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    explanation = gs.explain("gather", [1], [0])
    explanation.save(tmp_path / "x.png")
    data = (tmp_path / "x.png").read_bytes()
    width = int(ElementTree.fromstring(explanation.svg()).get("width"))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(data[16:20], "big") == 2 * width


def test_a_png_without_its_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ImportError, match=r"pip install .*resvg-py"):
        gs.explain("gather", [1], [0]).save(tmp_path / "x.png")


@pytest.mark.parametrize("row", gs.ops(), ids=lambda row: row.name)
def test_every_version_has_an_example_that_runs(row: gs.OpVersion) -> None:
    explanation = example_of(row.name).explanation()
    assert explanation.error is None
    assert explanation.op == row.name
    assert explanation.drawing.moves


@pytest.mark.filterwarnings("ignore:onnx.Scatter-11 is deprecated")
def test_the_code_of_an_example_gives_its_result() -> None:
    for example in EXAMPLES.values():
        result = eval(example.code, {"gs": gs, "np": np})
        np.testing.assert_array_equal(result, example.explanation().result)


def test_a_notebook_shows_the_picture() -> None:
    formatters = pytest.importorskip("IPython.core.formatters")
    shown, _ = formatters.DisplayFormatter().format(gs.explain("gather", [1, 2], [1]))
    assert set(shown) >= {"text/html", "image/svg+xml", "text/plain"}
    assert "<svg" in shown["text/html"]
    assert "<script" not in shown["text/html"]


def test_the_pictures_of_the_documentation_are_those_of_the_examples(tmp_path: Path) -> None:
    pictures = DOCS / "pictures"
    for path in write_pictures(tmp_path):
        drawn = (pictures / path.name).read_text(encoding="utf-8")
        assert drawn == path.read_text(encoding="utf-8"), f"write_pictures({str(pictures)!r}) draws {path.name} anew"


@pytest.mark.parametrize("accumulate", ["step", "wide", "exact"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8"])
@pytest.mark.parametrize("seed", [7, 8, 9])
def test_steps_of_array_functions_follow_their_options(dtype: str, accumulate: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    for reduction in ("none", "add", "sub", "min", "max", "mean") + (("mul",) if accumulate != "exact" else ()):
        for include_self in (True, False):
            for mode, low in (("raise", -4), ("wrap", -9), ("clip", -9), ("drop", -9)):
                data, updates = (random.integers(-99, 99, n).astype(dtype) / np.dtype(dtype).type(3) for n in (4, 12))
                indices = random.integers(low, -low, (12, 1)) if low < -4 else random.integers(-4, 4, (12, 1))
                if accumulate != "step" and reduction in ("none", "min", "max"):
                    continue  # the option has no effect
                included = include_self or reduction == "none"
                options = {"reduction": reduction, "include_self": included, "accumulate": accumulate, "mode": mode}
                call = record_call("scatter_nd", (data.astype(dtype), indices, updates.astype(dtype)), options)
                assert call.error is None, options
                state = OutputState(call)
                for move in list_moves(call):
                    state.add(move)
                np.testing.assert_array_equal(state.output(), call.result, err_msg=str(options))


def test_steps_of_a_gather_that_fills() -> None:
    explanation = gs.explain("gather_nd", [5, 6], [[0], [9], [-1]], mode="fill")
    assert explanation.result.tolist() == [5, 0, 6]
    assert [change.after for step in explanation.trace for change in step.changes] == [5, 0, 6]


def test_the_caller_may_change_its_arrays_afterwards() -> None:
    data = np.array([[1, 2], [3, 4]])
    explanation = gs.explain("gather_nd", data, [[0]])
    before = str(gs.explain("gather_nd", data.copy(), [[0]]))
    data[:] = 99
    assert str(explanation) == before


def test_suffixes_in_capitals(tmp_path: Path) -> None:
    gs.explain("gather", [1, 2, 3], [1]).save(tmp_path / "x.SVG")
    assert (tmp_path / "x.SVG").read_text().startswith("<svg")
