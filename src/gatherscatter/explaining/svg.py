"""A drawing as SVG."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Iterator
from dataclasses import replace

from markupsafe import Markup

from gatherscatter.explaining.arrows import SIGNS, draw_arrows, sign_element
from gatherscatter.explaining.call import ExplainedCall
from gatherscatter.explaining.layout import Box, PlacedGrid, Text, arrange_grids, enclose
from gatherscatter.explaining.scene import Cell, Drawing
from gatherscatter.explaining.shapes import shape_rules
from gatherscatter.explaining.style import sheet
from gatherscatter.explaining.wording import cell_name, count_text, heading, noun, sentence
from gatherscatter.pages.elements import element, join
from gatherscatter.pages.palette import CELL_STATES

MARGIN, LINE = 20, 18
WORDS = {
    "add": "updates are added",
    "sub": "updates are subtracted",
    "mul": "updates are multiplied",
    "min": "the least remains",
    "max": "the greatest remains",
    "mean": "the mean of all",
}


def svg(call: ExplainedCall, drawn: Drawing, theme: str = "auto") -> Markup:
    """The whole picture, which stands alone.

    ``theme``: "auto" is light or dark as the reader's system is; "light" or "dark".
    """
    head = list(_head(call))
    top = MARGIN + LINE * len(head) + 18
    grids = arrange_grids(call, drawn, top, MARGIN)
    bottom = max((g.box.bottom for g in grids.values()), default=top) + 16
    footer = list(_footer(call, drawn))
    legend, below, broad = _legend(call, drawn, bottom + 8)
    lines = [Text(MARGIN, below + LINE * (n + 1), text, classes) for n, (text, classes) in enumerate(footer)]
    texts = [Text(MARGIN, MARGIN + LINE * n + 8, text, classes) for n, (text, classes) in enumerate(head)]
    width = max([g.box.right for g in grids.values()] + [_right(t) for t in (*texts, *lines)] + [430, broad]) + MARGIN
    height = below + LINE * len(footer) + MARGIN
    lower, upper = draw_arrows(call, drawn, grids)
    body = [*_boxes(call, grids), *lower, *_texts(call, grids), *upper, *legend, *map(text_element, (*texts, *lines))]
    return _wrap_svg(call, drawn, Markup("\n").join(body), f"{width:.0f}", f"{height:.0f}", theme)


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
    """The picture for those who can't see it; the steps are told elsewhere."""
    arrays = "; ".join(f"{grid.name} of shape {grid.shape}" for grid in drawn.grids.values())
    end = f"The call fails: {call.error}" if call.error else f"{count_text(drawn.total, noun(call))}."
    return f"{arrays}. {end}"


def _head(call: ExplainedCall) -> Iterator[tuple[str, str]]:
    yield heading(call), "title"
    yield from ((line, "") for line in textwrap.wrap(sentence(call), 105))
    for rule in shape_rules(call):
        yield from ((line, "mono dim") for line in rule.splitlines())


def _footer(call: ExplainedCall, drawn: Drawing) -> Iterator[tuple[str, str]]:
    if call.is_clear and len(drawn.moves) < drawn.total:
        yield f"arrows: {len(drawn.moves)} of {count_text(drawn.total, noun(call))}", "dim"
    yield from ((note, "dim") for note in call.notes)
    if call.error is not None:
        lines = textwrap.wrap(f"{type(call.error).__name__}: {call.error}"[:1000], 100)
        yield from ((line, "error") for line in lines)


def _right(text: Text) -> float:
    return text.x + len(text.text) * (9.2 if "title" in text.classes else 7.85)


def text_element(text: Text) -> Markup:
    """A line of text; what goes on behind it is small."""
    space = {"xml:space": "preserve"} if "  " in text.text else {}
    more = element("tspan", text.more, class_="dim small mono", dx=8) if text.more else None
    return element("text", text.text, more, x=float(text.x), y=float(text.y), class_=text.classes, **space)


def _boxes(call: ExplainedCall, grids: dict[str, PlacedGrid]) -> Iterator[Markup]:
    for placed in grids.values():
        yield from (_dots(box) for box in placed.dots)
        yield from (_bar(box, number) for box, number in placed.bars)
        yield from (box_element(placed.grid.name, pane.cells[r, c], box) for pane, r, c, box in placed.cells)
        if _is_wrong(call, placed) and placed.cells:
            yield _draw_cross(enclose(box for *_, box in placed.cells))


def _is_wrong(call: ExplainedCall, placed: PlacedGrid) -> bool:
    """Whether the call failed for this input as a whole."""
    return call.error is not None and not call.is_clear and getattr(call.error, "input", None) == placed.grid.name


def _texts(call: ExplainedCall, grids: dict[str, PlacedGrid]) -> Iterator[Markup]:
    for placed in grids.values():
        for text in placed.texts:
            wrong = "error" if _is_wrong(call, placed) and "name" in text.classes else ""
            yield text_element(replace(text, classes=f"{text.classes} over {wrong}".rstrip()))
        for pane, r, c, box in placed.cells:
            yield value_element(call, placed.grid.name, pane.cells[r, c], box)


def box_element(array: str, cell: Cell, box: Box) -> Markup:
    """The box of a cell and its pattern; what it is is said when it is pointed at."""
    name = cell_name(array, cell.at)
    about = [f"{name} = {cell.text}" if cell.text else name]
    about += [CELL_STATES[cell.state]] if cell.state in CELL_STATES else []
    about += [f"step {', '.join(map(str, cell.numbers))}"] if cell.numbers else []
    parts = (element("title", "; ".join(about)), _draw_box(box), draw_pattern(cell.state, box))
    moves = " ".join(map(str, cell.numbers))
    return element("g", *parts, class_=f"cell {cell.state}", **data_of(array, cell), data_moves=moves)


def _draw_box(box: Box) -> Markup:
    return element("rect", class_="box", x=box.x, y=box.y, width=box.width, height=box.height)


def value_element(call: ExplainedCall, array: str, cell: Cell, box: Box) -> Markup:
    """The value of a cell, and below it what a scatter found there."""
    x, y = box.x + box.width / 2, box.middle + (0 if cell.was else 5)
    text = element("text", cell.text, class_=f"value {cell.state}", **data_of(array, cell), x=x, y=y)
    if not cell.was:
        return text
    return join(text, element("text", cell.was, class_=f"value was {cell.state}", x=x, y=box.bottom - 7))


def data_of(array: str, cell: Cell) -> dict[str, str]:
    """Attributes by which a page finds a cell."""
    return {"data_array": array, "data_at": ",".join(map(str, cell.at))}


def draw_pattern(state: str, box: Box) -> Markup | None:
    """What tells a state apart without colour: a hatched edge, a corner, a cross."""
    if state in ("again", "repeated"):
        step, band = 5.0, 5.0
        xs = [box.x + step * n for n in range(int((box.width - band) / step) + 1)]
        path = "".join(f"M{x:.1f} {box.y + band:.1f}l{band:.0f} -{band:.0f}" for x in xs)
        return element("path", class_="stripe", d=path)
    if state == "negative":
        return element("path", class_="corner", d=f"M{box.right:.1f} {box.y:.1f}v11l-11 -11z")
    return _draw_cross(box) if state == "bad" else None


def _draw_cross(box: Box) -> Markup:
    x, y, width, height = box.x + 3, box.y + 3, box.width - 6, box.height - 6
    down = f"M{x:.1f} {y:.1f}l{width:.1f} {height:.1f}"
    return element("path", class_="cross overlay", d=f"{down}M{x:.1f} {y + height:.1f}l{width:.1f} {-height:.1f}")


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


def _legend(call: ExplainedCall, drawn: Drawing, y: float) -> tuple[list[Markup], float, float]:
    """A small cell for every state that occurs; the bottom and the right end."""
    made, x, right = [], float(MARGIN), 0.0
    for state in drawn.states:
        if state not in CELL_STATES:
            continue
        text = "the end token" if state == "filled" and call.kernel == "gather_tree" else CELL_STATES[state]
        width = 34 + len(text) * 6.6
        if x + width > 760:
            x, y = float(MARGIN), y + 24
        box = Box(x, y, 20, 16)
        words = element("text", text, x=x + 26, y=y + 12)
        made.append(element("g", _draw_box(box), draw_pattern(state, box), words, class_=f"legend {state}"))
        x += width + 10
        right = max(right, x)
    if call.reduction in SIGNS and (call.is_scatter or call.reduces_bags):
        sign = sign_element(x + 24, y + 8, SIGNS[call.reduction], 5)
        does = WORDS[call.reduction].replace("updates", "rows" if call.reduces_bags else "updates")
        text = f"{call.reduction}: {does}" + (", without data" if call.is_scatter and not call.include_self else "")
        made.append(join(sign, element("text", text, class_="legend", x=x + 24, y=y + 12)))
        right = max(right, x + 34 + len(text) * 6.6)
    return made, y + 20, right
