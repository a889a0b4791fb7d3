"""The pictures of `gs.explain`: no line runs over a text, indices come first, and narrow pictures fit a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.explaining import Explanation
from gatherscatter.explaining.examples import CASES, EXAMPLES
from gatherscatter.explaining.svg import stacked_svg
from gatherscatter_conformance import corpus

SVG = "{http://www.w3.org/2000/svg}"
CUBE = np.arange(24).reshape(2, 3, 4)
PHONE = 390 - 2 * 12 - 2  # less the margins of the page and the border of the picture

CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "batch dims": (("gather_nd", CUBE, [[1], [2]]), {"batch_dims": 1}),
    "two batch dims": (("gather_nd", CUBE, [[[1], [0], [3]], [[2], [2], [-1]]]), {"batch_dims": 2}),
    "batch dims of gather": (("gather", CUBE, [[1, 0], [2, 2]], 2), {"batch_dims": 1}),
    "batch dims made one": (("openvino.GatherND-5", CUBE, [[[1], [0], [3]], [[2], [2], [-1]]]), {"batch_dims": 2}),
    "three dimensions": (("gather_nd", CUBE, [[1, 0, 2], [0, 2, 3], [-1, 1, 1]]), {}),
    "slices across panes": (("gather", CUBE, [2, 0, 2], 2), {}),
    "columns": (("gather", [[1, 2, 3], [4, 5, 6]], [2, 0, 1, 2], 1), {}),
    "elements": (("gather_elements", np.arange(16).reshape(4, 4), [[3, 0, 1, 2], [1, 1, -1, 0]]), {}),
    "scatter of rows": (("scatter_nd", np.zeros((3, 4)), [[2], [0], [2]], np.ones((3, 4))), {"reduction": "mean"}),
    "one target": (("scatter_nd", [5], [[0]] * 12, list(range(12))), {"reduction": "add"}),
    "scatter into panes": (("scatter_nd", CUBE, [[1, 0], [0, 2]], -CUBE[0, :2]), {"reduction": "mul"}),
    "scatter elements": (("scatter_elements", np.zeros((3, 3)), [[0, 1, 2], [2, 1, 0]], np.ones((2, 3))), {}),
    "long values": (("gather_elements", np.full((2, 9), -1 / 3e7), [[1] * 9]), {}),
    "bags with a default": (("gather_reduce", [[1, 2], [3, 4]], [1, 0, 1]), {"offsets": [0, 2, 2], "default": [7, 8]}),
    "a bad index": (("scatter_nd", [1, 2, 3], [[0], [5]], [7, 8]), {}),
    "bad shapes": (("gather_nd", CUBE, [[1], [2], [0]]), {"batch_dims": 1}),
    "a bad type": (("gather", [1], [0.5]), {}),
}


@cache
def _explanations() -> dict[str, Explanation]:
    made = {name: example.explanation() for name, example in (EXAMPLES | CASES).items()}
    made |= {name: gs.explain(*inputs, **attributes) for name, (inputs, attributes) in CALLS.items()}
    cases = corpus.cases()[::97]
    return made | {case.id: gs.explain(case.op, *case.inputs, **case.attributes) for case in cases}


def _pictures(explanation: Explanation) -> dict[str, str]:
    return {"side by side": explanation.svg(), "stacked": stacked_svg(explanation.call, explanation.drawing)}


# ------------------------------------------------------------------------------------------ geometry

Point = tuple[float, float]
Rectangle = tuple[float, float, float, float]  # left, top, right, bottom
SIZES = {"title": 17.0, "name": 14.0, "small": 11.0, "was": 10.0}


def _elements(root: Element, tag: str, dx: float = 0, dy: float = 0, within: str = "") -> Iterator[tuple[Any, ...]]:
    """All elements of a tag: the element, how far it is moved, and the class of the group around it."""
    moved = re.fullmatch(r"translate\(([\d.]+) ([\d.]+)\)", root.get("transform", ""))
    dx, dy = (dx + float(moved[1]), dy + float(moved[2])) if moved else (dx, dy)
    for child in root:
        if child.tag == f"{SVG}{tag}":
            yield child, dx, dy, within
        yield from _elements(child, tag, dx, dy, child.get("class", ""))


def _box_of_text(text: Element, dx: float, dy: float, within: str) -> Rectangle:
    classes = text.get("class", "").split()
    size = 10.0 if within == "badge" else next((SIZES[name] for name in classes if name in SIZES), 13.0)
    width = 0.6 * size * len(text.text or "")
    x, y = float(text.get("x", 0)) + dx, float(text.get("y", 0)) + dy
    centred = within == "badge" or {"value", "middle"} & set(classes)
    left = x - width / 2 if centred else x - width if "end" in classes else x
    return left, y - 0.75 * size, left + width, y + 0.15 * size


def _points(path: str) -> Iterator[Point]:
    """Points along a path, at most two pixels from each other."""
    x = y = 0.0
    for command, text in re.findall(r"([MHVClhvz])([^MHVClhvz]*)", path):
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", text)]
        first, last = (numbers[0], numbers[-1]) if numbers else (0.0, 0.0)
        start = (first, last) if command == "M" else (x, y)
        ends = {"M": [first, last], "H": [first, y], "V": [x, first], "C": numbers, "z": [x, y]}
        ends |= {"l": [x + first, y + last], "h": [x + first, y], "v": [x, y + first]}
        corners = ends[command]
        hull = [start, *zip(corners[::2], corners[1::2], strict=True)]
        x, y = hull[-1]
        steps = 1 + int(sum(abs(a - c) + abs(b - d) for (a, b), (c, d) in pairwise(hull)) / 2)
        for step in range(steps + 1):
            at = hull
            while len(at) > 1:  # de Casteljau
                t = step / steps
                at = [((1 - t) * a + t * c, (1 - t) * b + t * d) for (a, b), (c, d) in pairwise(at)]
            yield at[0]


def _crossings(picture: str) -> list[str]:
    """The texts that arrows run over."""
    root = ElementTree.fromstring(picture)
    texts = [(text.text, _box_of_text(text, *rest)) for text, *rest in _elements(root, "text")]
    arrows = [path for path in _elements(root, "path") if re.match(r"arrow|tip", path[0].get("class", ""))]
    points = np.array([(x + dx, y + dy) for path, dx, dy, _ in arrows for x, y in _points(path.get("d"))])
    if not len(points):
        return []
    x, y = points.T
    return [
        text or ""
        for text, (left, top, right, bottom) in texts
        if ((x > left) & (x < right) & (y > top) & (y < bottom)).any()
    ]


def test_the_check_finds_a_line_over_a_number() -> None:
    picture = gs.explain("gather", [10, 11], [1]).svg()
    assert _crossings(picture) == []
    through = re.sub(r'(class="arrow [^"]*" d=")', r"\1M0 0H900V0H0V900H900M0 60H900M0 95H900", picture)
    assert _crossings(through)


@pytest.mark.parametrize("layout", ["side by side", "stacked"])
def test_no_arrow_runs_over_a_text(layout: str) -> None:
    drawn = 0
    for name, explanation in _explanations().items():
        picture = _pictures(explanation)[layout]
        assert _crossings(picture) == [], name
        drawn += picture.count('class="arrow')
    assert drawn > 500


def test_no_text_of_a_cell_leaves_it_or_lies_under_a_badge() -> None:
    for name, explanation in _explanations().items():
        root = ElementTree.fromstring(explanation.svg())
        texts = [_box_of_text(*found) for found in _elements(root, "text") if found[3] in ("badge", "")
                 or "value" in found[0].get("class", "")]  # fmt: skip
        for n, (left, top, right, bottom) in enumerate(texts):
            for other_left, other_top, other_right, other_bottom in texts[n + 1 :]:
                overlap = (
                    min(right, other_right) - max(left, other_left),
                    min(bottom, other_bottom) - max(top, other_top),
                )
                same = (left, top) == (other_left, other_top)  # the sign of a reduction, once for each move
                assert same or min(overlap) <= 0.5, name


# ------------------------------------------------------------------------------------------ order


def _positions(picture: str) -> dict[str, Point]:
    """The left upper corner of the first cell of each array."""
    cells = [element for element in ElementTree.fromstring(picture).iter(f"{SVG}g") if element.get("data-at")]
    found: dict[str, Point] = {}
    for cell in cells:
        box = cell.find(f"{SVG}rect")
        found.setdefault(cell.get("data-array", ""), (float(box.get("x")), float(box.get("y"))))
    return found


@pytest.mark.parametrize("name", ["onnx.GatherND", "onnx.ScatterND", "onnx.TensorScatter", "openvino.GatherTree"])
def test_indices_come_first_then_data_then_the_output(name: str) -> None:
    explanation = EXAMPLES[name].explanation()
    call = explanation.call
    for axis, picture in enumerate(_pictures(explanation).values()):
        found = _positions(picture)
        order = [found[each][axis] for each in (call.name("indices"), call.name("data"), "output")]
        assert order == sorted(order)
        assert len({*order}) == 3


def test_arrows_lead_from_indices_and_updates_to_data_and_on_to_the_output() -> None:
    moves = gs.explain("gather", [5, 6], [1]).drawing.moves
    assert [[str(end) for end in link] for link in moves[0].links] == [
        ["indices[0]", "data[1]"],
        ["data[1]", "output[0]"],
    ]
    moves = gs.explain("scatter_nd", [5, 6], [[1]], [7]).drawing.moves
    assert [[str(end) for end in link] for link in moves[0].links] == [
        ["indices[0, :]", "data[1]"],
        ["updates[0]", "data[1]"],
        ["data[1]", "output[1]"],
    ]


# ------------------------------------------------------------------------------------------ narrow screens, failures


def test_a_stacked_picture_fits_a_phone() -> None:
    for name, explanation in _explanations().items():
        width = float(ElementTree.fromstring(stacked_svg(explanation.call, explanation.drawing)).get("width"))
        assert width <= 1.2 * PHONE, name  # a page shrinks it to the width of the phone


@pytest.mark.parametrize(
    ("call", "attributes", "rule"),
    [
        (
            ("gather_nd", CUBE, [[1], [2], [0]]),
            {"batch_dims": 1},
            "data.shape[:1] = (2,)  is not  indices.shape[:1] = (3,)",
        ),
        (
            ("scatter_nd", np.zeros((3, 4)), [[2], [0]], np.zeros((2, 3))),
            {},
            "indices.shape[:-1] + data.shape[1:] = (2, 4)  is not  updates.shape = (2, 3)",
        ),
        (("gather_elements", [[1, 2]], [[0, 0, 0]]), {}, "data.shape[1] = 2  is less than  indices.shape[1] = 3"),
        (("gather_elements", [1, 2], [[0]]), {}, "the rank of data is 1, but that of indices is 2"),
        (("gather_nd", [1, 2], [[0, 1]]), {}, "len(data.shape) = 1  is less than  indices.shape[-1] = 2"),
        (("gather_nd", [1, 2], [[5]]), {}, ""),
        (("gather", [1, 2], [0.5]), {}, ""),
    ],
)
def test_a_failed_call_shows_the_sizes_that_disagree(
    call: tuple[Any, ...], attributes: dict[str, Any], rule: str
) -> None:
    explanation = gs.explain(*call, **attributes)
    assert explanation.error is not None
    assert explanation.broken_rule == rule
    assert rule in str(explanation)
    assert rule in explanation.html()
    if rule:
        assert explanation.shape_rules == ()
        assert "output.shape =" not in explanation.html()
    assert "output" not in explanation.drawing.grids
    assert explanation.html().count(str(explanation.error)[:40]) <= 3  # the alert, and a description of each picture


def test_no_rule_is_broken_where_shapes_fit() -> None:
    for case in corpus.cases()[::41]:
        explanation = gs.explain(case.op, *case.inputs, **case.attributes)
        assert explanation.error is not None or explanation.broken_rule == "", case.id
