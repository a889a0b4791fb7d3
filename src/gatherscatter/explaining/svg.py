"""A drawing as SVG."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from html import escape

from gatherscatter.explaining.arrows import SIGNS, arrows, sign_element
from gatherscatter.explaining.call import Call
from gatherscatter.explaining.layout import Box, Placed, Text, around, arranged
from gatherscatter.explaining.shapes import shape_rules
from gatherscatter.explaining.style import sheet
from gatherscatter.explaining.view import Cell, Drawing
from gatherscatter.explaining.words import cell_name, count_text, heading, noun, sentence

MARGIN, LINE = 20, 18
WORDS = {
    "add": "updates are added",
    "sub": "updates are subtracted",
    "mul": "updates are multiplied",
    "min": "the least remains",
    "max": "the greatest remains",
    "mean": "the mean of all",
}
LEGEND = {
    "read": "read once",
    "again": "read more than once",
    "written": "written",
    "repeated": "written more than once",
    "untouched": "untouched",
    "negative": "negative: counts from the end",
    "bad": "out of range",
    "filled": "filled in",
}


def svg(call: Call, drawn: Drawing, theme: str = "auto") -> str:
    """The whole picture, which stands alone.

    ``theme``: "auto" is light or dark as the reader's system is; "light" or "dark".
    """
    head = list(_head(call))
    top = MARGIN + LINE * len(head) + 18
    grids = arranged(call, drawn, top, MARGIN)
    bottom = max((g.box.bottom for g in grids.values()), default=top) + 16
    footer = list(_footer(call, drawn))
    legend, below, broad = _legend(call, drawn, bottom + 8)
    lines = [Text(MARGIN, below + LINE * (n + 1), text, classes) for n, (text, classes) in enumerate(footer)]
    texts = [Text(MARGIN, MARGIN + LINE * n + 8, text, classes) for n, (text, classes) in enumerate(head)]
    width = max([g.box.right for g in grids.values()] + [_right(t) for t in (*texts, *lines)] + [430, broad]) + MARGIN
    height = below + LINE * len(footer) + MARGIN
    lower, upper = arrows(call, drawn, grids)
    body = [*_boxes(call, grids), *lower, *_texts(call, grids), *upper, *legend, *map(text_element, (*texts, *lines))]
    return _whole(call, drawn, "\n".join(body), width, height, theme)


def _whole(call: Call, drawn: Drawing, body: str, width: float, height: float, theme: str) -> str:
    scope = "gs-" + hashlib.sha256((body + theme).encode()).hexdigest()[:8]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{scope}" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-labelledby="{scope}-t {scope}-d">\n'
        f'<title id="{scope}-t">{clean(heading(call))}</title>\n'
        f'<desc id="{scope}-d">{clean(_described(call, drawn))}</desc>\n'
        f"<style>\n{sheet(scope, theme)}</style>\n"
        f'<rect class="paper" width="{width:.0f}" height="{height:.0f}"/>\n{body}\n</svg>\n'
    )


def _described(call: Call, drawn: Drawing) -> str:
    """The picture for those who can't see it; the steps are told elsewhere."""
    arrays = "; ".join(f"{grid.name} of shape {grid.shape}" for grid in drawn.grids.values())
    end = f"The call fails: {call.error}" if call.error else f"{count_text(drawn.total, noun(call))}."
    return f"{arrays}. {end}"


def _head(call: Call) -> Iterator[tuple[str, str]]:
    yield heading(call), "title"
    yield from ((line, "") for line in textwrap.wrap(sentence(call), 105))
    for rule in shape_rules(call):
        yield from ((line, "mono dim") for line in rule.splitlines())


def _footer(call: Call, drawn: Drawing) -> Iterator[tuple[str, str]]:
    if call.is_clear and len(drawn.moves) < drawn.total:
        yield f"arrows: {len(drawn.moves)} of {count_text(drawn.total, noun(call))}", "dim"
    yield from ((note, "dim") for note in call.notes)
    if call.error is not None:
        lines = textwrap.wrap(f"{type(call.error).__name__}: {call.error}"[:1000], 100)
        yield from ((line, "error") for line in lines)


def _right(text: Text) -> float:
    return text.x + len(text.text) * (9.2 if "title" in text.classes else 7.85)


def clean(text: str) -> str:
    """Text that XML can hold, escaped."""
    return escape(re.sub("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text))


def text_element(text: Text) -> str:
    """A line of text; what goes on behind it is small."""
    space = ' xml:space="preserve"' if "  " in text.text else ""
    more = f'<tspan class="dim small mono" dx="8">{clean(text.more)}</tspan>' if text.more else ""
    return f'<text x="{text.x:.1f}" y="{text.y:.1f}" class="{text.classes}"{space}>{clean(text.text)}{more}</text>'


def _boxes(call: Call, grids: dict[str, Placed]) -> Iterator[str]:
    for placed in grids.values():
        yield from (_dots(box) for box in placed.dots)
        yield from (_bar(box, number) for box, number in placed.bars)
        yield from (box_element(placed.grid.name, pane.cells[r, c], box) for pane, r, c, box in placed.cells)
        if _is_wrong(call, placed) and placed.cells:
            yield _crossed(around(box for *_, box in placed.cells))


def _is_wrong(call: Call, placed: Placed) -> bool:
    """Whether the call failed for this input as a whole."""
    return call.error is not None and not call.is_clear and getattr(call.error, "input", None) == placed.grid.name


def _texts(call: Call, grids: dict[str, Placed]) -> Iterator[str]:
    for placed in grids.values():
        for text in placed.texts:
            wrong = "error" if _is_wrong(call, placed) and "name" in text.classes else ""
            yield text_element(replace(text, classes=f"{text.classes} over {wrong}".rstrip()))
        for pane, r, c, box in placed.cells:
            yield value_element(call, placed.grid.name, pane.cells[r, c], box)


def box_element(array: str, cell: Cell, box: Box) -> str:
    """The box of a cell and its pattern; what it is is said when it is pointed at."""
    name = cell_name(array, cell.at)
    about = [f"{name} = {cell.text}" if cell.text else name]
    about += [LEGEND[cell.state]] if cell.state in LEGEND else []
    about += [f"step {', '.join(map(str, cell.numbers))}"] if cell.numbers else []
    return (
        f'<g class="cell {cell.state}" {data_of(array, cell)} data-moves="{" ".join(map(str, cell.numbers))}">'
        f"<title>{clean('; '.join(about))}</title>"
        f'<rect class="box" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"/>'
        f"{pattern(cell.state, box)}</g>"
    )


def value_element(call: Call, array: str, cell: Cell, box: Box) -> str:
    """The value of a cell, and below it what a scatter found there."""
    x, y = box.x + box.width / 2, box.middle + (0 if cell.was else 5)
    text = f'<text class="value {cell.state}" {data_of(array, cell)} x="{x:.1f}" y="{y:.1f}">{clean(cell.text)}</text>'
    if not cell.was:
        return text
    return f'{text}<text class="value was {cell.state}" x="{x:.1f}" y="{box.bottom - 7:.1f}">{clean(cell.was)}</text>'


def data_of(array: str, cell: Cell) -> str:
    """Attributes by which a page finds a cell."""
    return f'data-array="{clean(array)}" data-at="{",".join(map(str, cell.at))}"'


def pattern(state: str, box: Box) -> str:
    """What tells a state apart without colour: a hatched edge, a corner, a cross."""
    if state in ("again", "repeated"):
        step, band = 5.0, 5.0
        xs = [box.x + step * n for n in range(int((box.width - band) / step) + 1)]
        path = "".join(f"M{x:.1f} {box.y + band:.1f}l{band:.0f} -{band:.0f}" for x in xs)
        return f'<path class="stripe" d="{path}"/>'
    if state == "negative":
        return f'<path class="corner" d="M{box.right:.1f} {box.y:.1f}v11l-11 -11z"/>'
    if state == "bad":
        return _crossed(box)
    return ""


def _crossed(box: Box) -> str:
    x, y, width, height = box.x + 3, box.y + 3, box.width - 6, box.height - 6
    down = f"M{x:.1f} {y:.1f}l{width:.1f} {height:.1f}"
    return f'<path class="cross overlay" d="{down}M{x:.1f} {y + height:.1f}l{width:.1f} {-height:.1f}"/>'


def _dots(box: Box) -> str:
    """An ellipsis across or down."""
    across = box.width < box.height
    x, y = box.x + box.width / 2, box.middle
    spots = [(x + n * 5, y) for n in (-1, 0, 1)] if across else [(box.x + 16 + n * 5, y) for n in (-1, 0, 1)]
    return "".join(f'<circle class="dots" cx="{cx:.1f}" cy="{cy:.1f}" r="1.5"/>' for cx, cy in spots)


def _bar(box: Box, number: int) -> str:
    """The bar of a batch entry: whole for even ones, broken for odd ones."""
    pieces = [box] if number % 2 == 0 else [Box(box.x, box.y + n, 4, 4) for n in range(0, int(box.height), 7)]
    path = "".join(f"M{b.x:.1f} {b.y:.1f}h{b.width:.1f}v{b.height:.1f}h-{b.width:.1f}z" for b in pieces)
    return f'<path class="batch" d="{path}"/>'


def _legend(call: Call, drawn: Drawing, y: float) -> tuple[list[str], float, float]:
    """A small cell for every state that occurs; the bottom and the right end."""
    made, x, right = [], float(MARGIN), 0.0
    for state in drawn.states:
        if state not in LEGEND:
            continue
        text = "the end token" if state == "filled" and call.kernel == "gather_tree" else LEGEND[state]
        width = 34 + len(text) * 6.6
        if x + width > 760:
            x, y = float(MARGIN), y + 24
        box = Box(x, y, 20, 16)
        made.append(f'<g class="legend {state}"><rect class="box" x="{x:.1f}" y="{y:.1f}" width="20" height="16"/>'
                    f'{pattern(state, box)}<text x="{x + 26:.1f}" y="{y + 12:.1f}">{text}</text></g>')  # fmt: skip
        x += width + 10
        right = max(right, x)
    if call.reduction in SIGNS and call.is_scatter:
        sign = sign_element(x + 24, y + 8, SIGNS[call.reduction], 5)
        text = f"{call.reduction}: {WORDS[call.reduction]}" + ("" if call.include_self else ", without data")
        made.append(f'{sign}<text class="legend" x="{x + 24:.1f}" y="{y + 12:.1f}">{text}</text>')
        right = max(right, x + 34 + len(text) * 6.6)
    return made, y + 20, right
