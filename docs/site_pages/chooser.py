"""The page "Choose": a drawing of the questions that lead to an operator, and the same in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from gatherscatter.pages.elements import element
from gatherscatter.specs.table import ops
from site_pages.markdown import CHOOSER

COLUMNS, ROWS, SIDE = 4, 3, 13  # of a small picture of data
WIDTH = 400  # of the drawing


@dataclass(frozen=True)
class Answer:
    """A wish, the function for it, and the cells of a small picture that one index or call reaches."""

    want: str
    function: str
    cells: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Question:
    """A question and its answers."""

    text: str
    answers: tuple[Answer, ...]


_ROW = tuple((1, column) for column in range(COLUMNS))
_EACH = ((2, 0), (0, 1), (1, 2), (0, 3))
_BAG = tuple((0, column) for column in range(COLUMNS)) + _ROW
_TUPLES = ((0, 1), (2, 3))
QUESTIONS = (
    Question(
        "You read. What does one index name?",
        (
            Answer("a whole slice along an axis", "gather", _ROW),
            Answer("one element per position along an axis", "gather_elements", _EACH),
            Answer("an element or a slice, by coordinates", "gather_nd", _TUPLES),
            Answer("a row; the rows of a group become one row", "gather_reduce", _BAG),
            Answer("a slice of a table with codes of few bits", "gather_quantized", _ROW),
            Answer("the parent of a beam", "gather_tree", ((0, 1), (1, 2), (2, 2))),
        ),
    ),
    Question(
        "You write or add. What does one index name?",
        (
            Answer("a whole slice along an axis", "scatter_update", _ROW),
            Answer("one element per position along an axis", "scatter_elements", _EACH),
            Answer("an element or a slice, by coordinates", "scatter_nd", _TUPLES),
            Answer("the position where a cache grows", "tensor_scatter", ((1, 1), (1, 2))),
        ),
    ),
)


def pages() -> Iterator[tuple[str, str]]:
    """The page."""
    yield "choose.md", "\n\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield "# Choose a function"
    yield (
        "The website of this documentation has a drawing here. It marks the cells that each function reads or writes. "
        "Each name of a function is a link. Below the name are the operators of ONNX and OpenVINO that do the same. If "
        "you see no drawing, start at [In words](#in-words)."
    )
    yield CHOOSER
    yield (
        "You can write an index as in NumPy: [`gs.at(x)[i, j].add(v)`](indexing.md). If you know the function of "
        "another library, see [Equivalents in other libraries](known-as.md)."
    )
    yield (
        "These functions are in the package `gatherscatter`. Two packages of the same repository build on it:\n\n"
        "- `gatherscatter-models` runs, converts, checks and repairs [model files](models.md): "
        "`pip install . ./models`.\n"
        "- `gatherscatter-conformance` [tests other runtimes](conformance.md): `pip install . ./models ./conformance`."
    )
    yield "## In words"
    for question in QUESTIONS:
        yield question.text
        yield "\n".join(f"- {answer.want}: {_links(answer)}" for answer in question.answers)
    yield (
        "The `reduction` of a scatter is none (the last update wins), add, sub, mul, min, max or mean. With "
        "`include_self=False`, data does not count. To use the same indices many times, see "
        "`gs.prepare`."
    )


def _links(answer: Answer) -> str:
    operators = ", ".join(f"[{name}](ops/{name}.md)" for name in _operators(answer.function))
    return f"`gs.{answer.function}`; {operators}"


def _operators(function: str) -> list[str]:
    return list(dict.fromkeys(f"{row.domain}.{row.op_type}" for row in ops() if row.kernel == function))


def drawing() -> Markup:
    """The questions as SVG, in the colours of the page, narrow enough for a phone."""
    parts: list[Markup] = []
    y = 8
    for question in QUESTIONS:
        parts.append(element("rect", class_="ask", x=1, y=y, width=WIDTH - 2, height=34, rx=6))
        parts.append(element("text", question.text, class_="question", x=14, y=y + 22))
        top, y = y + 34, y + 46
        for answer in question.answers:
            parts += _answer(answer, y)
            last, y = y + 24, y + 56 + 15 * len(_operators(answer.function))
        parts.insert(0, element("path", class_="line", d=f"M16 {top}V{last}"))
        y += 8
    title = "From what one index names to the function, for reading and for writing; the text below says the same."
    return element("svg", *parts, class_="chooser", viewBox=f"0 0 {WIDTH} {y}", role="group", aria_label=title)


def _answer(answer: Answer, y: int) -> Iterator[Markup]:
    yield element("path", class_="line", d=f"M16 {y + 24}H30")
    everything = [(row, column) for row in range(ROWS) for column in range(COLUMNS)]
    for mark, cells in (("hit", answer.cells), ("cell", everything)):  # lines over the filled cells
        for row, column in cells:
            x, down = 34 + column * SIDE, y + 5 + row * SIDE
            yield element("rect", class_=mark, x=x, y=down, width=SIDE, height=SIDE)
    yield element("text", answer.want, x=98, y=y + 14)
    name = element("text", answer.function, class_="name", x=98, y=y + 34)
    yield element("a", name, href=f"api/arrays.html#gatherscatter.{answer.function}")
    for n, operator in enumerate(_operators(answer.function)):
        text = element("text", operator, class_="small", x=98, y=y + 50 + n * 15)
        yield element("a", text, href=f"ops/{operator}.html")
