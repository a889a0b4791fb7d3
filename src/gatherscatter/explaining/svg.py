"""A drawing as SVG."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Iterator
from dataclasses import replace

from gatherscatter.explaining.arrows import SIGNS, Arrows, draw_sign
from gatherscatter.explaining.call import ExplainedCall
from gatherscatter.explaining.layout import Box, PlacedGrid, Text, arrange_grids, enclose
from gatherscatter.explaining.scene import Cell, Drawing, drawing
from gatherscatter.explaining.shapes import broken_rule
from gatherscatter.explaining.style import sheet
from gatherscatter.explaining.wording import cell_name, heading, noun, sentence
from gatherscatter.messages.text import count_text
from gatherscatter.operation import Kernel
from gatherscatter.pages.elements import Markup, element, join
from gatherscatter.pages.palette import CELL_STATES

MARGIN, LINE = 12, 18
LEAST_WIDTH, NARROW = 300, 300  # of a picture; of stacked arrays
WORDS = {
    "add": "updates are added",
    "sub": "updates are subtracted",
    "mul": "updates are multiplied",
    "min": "the smallest remains",
    "max": "the largest remains",
    "mean": "the mean of all",
}


def svg(
    call: ExplainedCall, drawn: Drawing, theme: str = "auto", *, is_stacked: bool = False, has_words: bool = True
) -> Markup:
    """The whole picture, as a separate file.

    ``theme``: "auto" is light or dark as the reader's system is; "light" or "dark". ``is_stacked``: the arrays are
    one below the other. ``has_words``: the name of the operator, what it does, and the error are part of the picture.
    """
    arrangement = arrange_grids(drawn, is_stacked)
    arrows = Arrows(call, drawn, arrangement)
    lower, upper = arrows.draw()
    right = max(LEAST_WIDTH, arrows.right if is_stacked else arrangement.right)
    head = list(_head(call, right)) if has_words else []
    top = LINE * len(head) + (10 if head else 0)
    legend, bottom = _legend(call, drawn, arrangement.bottom + 8, right)
    footer = list(_footer(call, drawn, right))
    below = _place_lines(footer, bottom)
    grids = arrangement.grids
    picture = [*_boxes(call, grids), *lower, *_texts(call, grids), *upper, *legend, *map(text_element, below)]
    body = (
        element("g", *map(text_element, _place_lines(head, 0)), transform=f"translate({MARGIN} {MARGIN})"),
        element("g", Markup("\n").join(picture), transform=f"translate({MARGIN} {MARGIN + top})"),
    )
    width, height = right + 2 * MARGIN, top + bottom + LINE * len(footer) + 2 * MARGIN
    return _wrap_svg(call, drawn, Markup("\n").join(body), f"{width:.0f}", f"{height:.0f}", theme)


def stacked_svg(call: ExplainedCall, drawn: Drawing) -> Markup:
    """The picture for a narrow screen: stacked, without words, and with fewer columns if the arrays are wide."""
    for columns in (5, 3):
        if arrange_grids(drawn, True).right > NARROW:
            drawn = drawing(call, columns)
    return svg(call, drawn, is_stacked=True, has_words=False)


def _place_lines(lines: list[tuple[str, str]], top: float) -> list[Text]:
    return [Text(0, top + LINE * (n + 1) - 4, text, classes) for n, (text, classes) in enumerate(lines)]


def _wrap_svg(call: ExplainedCall, drawn: Drawing, body: Markup, width: str, height: str, theme: str) -> Markup:
    scope = "gs-" + hashlib.sha256((body + theme).encode()).hexdigest()[:8]
    parts = (
        element("title", heading(call), id=f"{scope}-t"),
        element("desc", _describe(call, drawn), id=f"{scope}-d"),
        Markup(f"<style>\n{sheet(scope, theme)}</style>"),
        element("rect", class_="paper", width=width, height=height),
        body,
    )
    lines = (line for part in parts for line in ("\n", part))
    whole = element(
        *("svg", *lines, "\n"),
        xmlns="http://www.w3.org/2000/svg",
        class_=scope,
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_labelledby=f"{scope}-t {scope}-d",
    )
    return whole + "\n"


def _describe(call: ExplainedCall, drawn: Drawing) -> str:
    """The picture in words, for readers who can't see it."""
    arrays = "; ".join(f"{grid.name} of shape {grid.shape}" for grid in drawn.grids.values())
    end = f"The call fails: {call.error}" if call.error else f"{count_text(drawn.total, noun(call))}."
    return f"{arrays}. {end}"


def _head(call: ExplainedCall, width: float) -> Iterator[tuple[str, str]]:
    yield from ((line, "title") for line in textwrap.wrap(heading(call), int(width / 10.5)))
    yield from ((line, "") for line in textwrap.wrap(sentence(call), int(width / 7)))
    if call.error is not None:
        error = f"{type(call.error).__name__}: {call.error}"[:1000]
        yield from ((line, "error") for line in textwrap.wrap(error, int(width / 7.9)))
    yield from ((line, "error mono") for line in textwrap.wrap(broken_rule(call), int(width / 8)))


def _footer(call: ExplainedCall, drawn: Drawing, width: float) -> Iterator[tuple[str, str]]:
    lines = list(call.notes)
    if call.is_clear and len(drawn.moves) < drawn.total:
        lines.insert(0, f"arrows: {len(drawn.moves)} of {count_text(drawn.total, noun(call))}")
    yield from ((line, "dim") for text in lines for line in textwrap.wrap(text, int(width / 7)))


def text_element(text: Text) -> Markup:
    """A line of text."""
    space = {"xml:space": "preserve"} if "  " in text.text else {}
    return element("text", text.text, x=float(text.x), y=float(text.y), class_=text.classes, **space)


def _boxes(call: ExplainedCall, grids: dict[str, PlacedGrid]) -> Iterator[Markup]:
    for placed in grids.values():
        yield from (_dots(box) for box in placed.dots)
        yield from (_bar(box, number) for box, number in placed.bars)
        yield from (box_element(placed.grid.name, cell, box) for cell, box in placed.cells)
        if _is_wrong(call, placed) and placed.cells:
            whole = enclose(box for _, box in placed.cells)
            yield element("rect", class_="wrong", x=whole.x, y=whole.y, width=whole.width, height=whole.height)


def _is_wrong(call: ExplainedCall, placed: PlacedGrid) -> bool:
    """Whether the call failed for this input as a whole."""
    return call.error is not None and not call.is_clear and getattr(call.error, "input", None) == placed.grid.name


def _texts(call: ExplainedCall, grids: dict[str, PlacedGrid]) -> Iterator[Markup]:
    for placed in grids.values():
        for text in placed.texts:
            wrong = "error" if _is_wrong(call, placed) and "name" in text.classes else ""
            yield text_element(replace(text, classes=f"{text.classes} over {wrong}".rstrip()))
        yield from (value_element(placed.grid.name, cell, box) for cell, box in placed.cells)


def box_element(array: str, cell: Cell, box: Box) -> Markup:
    """The box of a cell and its pattern. A reader who points at it sees its name and state."""
    name = cell_name(array, cell.at)
    about = [f"{name} = {cell.text}" if cell.text else name]
    about += [CELL_STATES[cell.state]] if cell.state in CELL_STATES else []
    about += [f"step {', '.join(map(str, cell.numbers))}"] if cell.numbers else []
    parts = (element("title", "; ".join(about)), _draw_box(box), draw_pattern(cell.state, box))
    moves = " ".join(map(str, cell.numbers))
    return element("g", *parts, class_=f"cell {cell.state}", **data_of(array, cell), data_moves=moves)


def _draw_box(box: Box) -> Markup:
    return element("rect", class_="box", x=box.x, y=box.y, width=box.width, height=box.height)


def value_element(array: str, cell: Cell, box: Box) -> Markup:
    """The value of a cell, and below it what a scatter found there."""
    x, y = box.center, box.middle + (5 if cell.was else 8)
    text = element("text", cell.text, class_=f"value {cell.state}", **data_of(array, cell), x=x, y=y)
    if not cell.was:
        return text
    return join(text, element("text", cell.was, class_=f"value was {cell.state}", x=x, y=box.bottom - 7))


def data_of(array: str, cell: Cell) -> dict[str, str]:
    """Attributes by which a page finds a cell."""
    return {"data_array": array, "data_at": ",".join(map(str, cell.at))}


def draw_pattern(state: str, box: Box) -> Markup | None:
    """The sign of a state, without colour: a hatched edge, a corner, a cross."""
    if state in ("again", "repeated"):
        step, band = 5.0, 5.0
        xs = [box.x + step * n for n in range(int((box.width - band) / step) + 1)]
        path = "".join(f"M{x:.1f} {box.y + band:.1f}l{band:.0f} -{band:.0f}" for x in xs)
        return element("path", class_="stripe", d=path)
    if state == "negative":
        return element("path", class_="corner", d=f"M{box.right:.1f} {box.y:.1f}v11l-11 -11z")
    return _draw_cross(box) if state == "bad" else None


def _draw_cross(box: Box) -> Markup:
    """A cross in the corner, so that the value can be read."""
    x, y, size = box.right - 13, box.y + 3, 10
    return element("path", class_="cross overlay", d=f"M{x:.1f} {y:.1f}l{size} {size}m0 -{size}l-{size} {size}")


def _dots(box: Box) -> Markup:
    """An ellipsis across or down."""
    across = box.width < box.height
    x, y = box.x + box.width / 2, box.middle
    spots = [(x + n * 5, y) for n in (-1, 0, 1)] if across else [(box.x + 16 + n * 5, y) for n in (-1, 0, 1)]
    return join(*(element("circle", class_="dots", cx=cx, cy=cy, r=1.5) for cx, cy in spots))


def _bar(box: Box, number: int) -> Markup:
    """The bar of a batch entry: whole for even ones, broken for odd ones."""
    pieces = [box] if number % 2 == 0 else [Box(box.x, box.y + n, 4, 4) for n in range(0, int(box.height), 7)]
    path = "".join(f"M{b.x:.1f} {b.y:.1f}h{b.width:.1f}v{b.height:.1f}h-{b.width:.1f}z" for b in pieces)
    return element("path", class_="batch", d=path)


def _legend(call: ExplainedCall, drawn: Drawing, y: float, most: float) -> tuple[list[Markup], float]:
    """A small cell for every state that occurs, and the sign of a reduction; and the bottom."""
    entries = [(state, CELL_STATES[state]) for state in drawn.states if state in CELL_STATES]
    if call.kernel == Kernel.GATHER_TREE:
        entries = [(state, "the end token" if state == "filled" else text) for state, text in entries]
    if call.reduction in SIGNS and (call.is_scatter or call.reduces_bags) and call.error is None:
        does = WORDS[call.reduction].replace("updates", "rows" if call.reduces_bags else "updates")
        text = f"{call.reduction}: {does}" + (", without data" if call.is_scatter and not call.include_self else "")
        entries.append(("sign", text))
    made, x = [], 0.0
    for state, text in entries:
        width = 34 + len(text) * 6.6
        if x and x + width > most:
            x, y = 0.0, y + 24
        box = Box(x, y, 20, 16)
        sign = draw_sign(box.center, box.middle, SIGNS[call.reduction], 5) if state == "sign" else _draw_box(box)
        words = element("text", text, x=x + 26, y=y + 12)
        made.append(element("g", sign, draw_pattern(state, box), words, class_=f"legend {state}"))
        x += width + 10
    return made, y + 20
