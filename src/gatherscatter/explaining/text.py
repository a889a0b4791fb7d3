"""A drawing as text for a terminal: grids in box drawing characters, then the steps in words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from gatherscatter.explaining.call import ExplainedCall
from gatherscatter.explaining.facts import CallFacts
from gatherscatter.explaining.layout import COLUMNS
from gatherscatter.explaining.scene import Cell, Drawing, Grid, Pane
from gatherscatter.explaining.wording import heading, noun, sentence, shape_text, step_text
from gatherscatter.messages.text import count_text

if TYPE_CHECKING:
    from gatherscatter.explaining.trace import Step

WIDTH = 100
MOST_LINES = 24  # of a trace
_RAISED = str.maketrans("0123456789", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


_wrap = partial(textwrap.wrap, break_long_words=False, break_on_hyphens=False)  # no word or address is cut


def text(explanation: CallFacts, width: int = WIDTH) -> str:
    """The text about a call: its steps. Grids are next to each other if the width allows."""
    call, drawn = explanation.call, explanation.drawing
    parts = [heading(call), *_wrap(sentence(call), width), ""]
    rules = explanation.shape_rules or (explanation.broken_rule,)
    parts += [*rules, ""] if any(rules) else []
    parts += [*_grids(drawn, width), ""]
    if call.error is not None:
        parts += [*_wrap(f"{type(call.error).__name__}: {str(call.error)[:1000]}", width), ""]
    parts += _steps(call, explanation.trace, drawn.total)
    return "\n".join(line.rstrip() for line in "\n".join([*parts, *call.notes]).splitlines())


def code_text(explanation: CallFacts) -> str:
    """The call as code for other libraries that have such a function."""
    parts = []
    for each in explanation.equivalents.values():
        if each.code is not None:
            parts.append(f"The same in {each.library}\n{textwrap.indent(each.code, '  ')}")
    return "\n\n".join(parts)


def _steps(call: ExplainedCall, steps: tuple[Step, ...], total: int) -> Iterator[str]:
    shown = steps[:MOST_LINES]
    if shown:
        yield "Step by step (raised numbers in the grids are steps)"
    width = len(str(len(shown)))
    yield from (f"  {step.number:>{width}}  {step_text(call, step)}" for step in shown)
    if total > len(shown) and shown:
        yield f"  \u2026 {len(shown)} of {count_text(total, noun(call))}"


def _grids(drawn: Drawing, width: int) -> list[str]:
    """Grids side by side, as many as fit."""
    lines: list[str] = []
    row: list[list[str]] = []
    for role in (role for column in COLUMNS for role in column):
        for grid in (grid for grid in drawn.grids.values() if grid.role == role):
            block = _block(grid)
            if row and sum(_width(each) + 4 for each in (*row, block)) > width:
                lines += [*_join_side_by_side(row), ""]
                row = []
            row.append(block)
    return [*lines, *_join_side_by_side(row)]


def _join_side_by_side(blocks: list[list[str]]) -> list[str]:
    widths = [_width(block) for block in blocks]
    rows = zip_longest(*blocks, fillvalue="")
    return ["    ".join(f"{line:<{width}}" for line, width in zip(row, widths, strict=True)) for row in rows]


def _width(block: list[str]) -> int:
    return max(map(len, block), default=0)


def _block(grid: Grid) -> list[str]:
    lines = [f"{grid.name} {shape_text(grid.shape)} {grid.type}".rstrip()]
    for pane in grid.panes:
        if pane.label:
            lines.append(f"  {pane.label}")
        lines += _pane(grid, pane)
    if not any(pane.cells for pane in grid.panes):
        lines.append("  no elements")
    if grid.skipped:
        lines.append(f"  \u2026 {grid.skipped:,} more")
    return lines


def _pane(grid: Grid, pane: Pane) -> list[str]:
    if not pane.cells:
        return []
    texts = {spot: _cell_text(cell) for spot, cell in pane.cells.items()}
    width = max(map(len, texts.values()))
    labels = [("" if grid.axes[0] is None or r is None else str(r)) for r in pane.rows]
    margin = max(map(len, labels), default=0)
    lines = []
    if grid.axes[1] is not None:
        names = "".join(" \u22ef " if c is None else f" {c:^{width}} " + " " for c in pane.columns)
        lines.append(" " * (margin + 2) + names)
    lines.append(_rule(pane, width, margin, "\u250c\u252c\u2510"))
    for label, r in zip(labels, pane.rows, strict=True):
        if r is None:
            lines.append(" " * (margin + 2) + "\u22ee")
            continue
        cells = "".join(" \u22ef \u2502" if c is None else f" {texts[r, c]:^{width}} \u2502" for c in pane.columns)
        lines.append(f"{label:>{margin}} \u2502{cells}")
    lines.append(_rule(pane, width, margin, "\u2514\u2534\u2518"))
    return lines


def _rule(pane: Pane, width: int, margin: int, corners: str) -> str:
    parts = corners[1].join("\u2500" * (3 if c is None else width + 2) for c in pane.columns)
    return " " * (margin + 1) + corners[0] + parts + corners[2]


def _cell_text(cell: Cell) -> str:
    """The value with the numbers of its steps; a bad index is crossed out."""
    raised = "\u02d9".join(str(number).translate(_RAISED) for number in cell.numbers[:3])
    more = "\u207a" if len(cell.numbers) > 3 else ""
    value = f"\u2717{cell.text}" if cell.state == "bad" else cell.text
    return f"{value}{raised}{more}"
