"""The moves of a drawing as SVG: frames, arrows, numbers.

An arrow leaves a cell at its right edge, or at its bottom if other cells are to the right. It runs through the gap
below the row, past the array, and enters the next array in the same way.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from gatherscatter.explaining.call import ExplainedCall
from gatherscatter.explaining.layout import BADGE, COLUMN_GAP, HEAD, LANE, MOST_BADGES, Arrangement, Box, PlacedGrid
from gatherscatter.explaining.moves import Move, Region
from gatherscatter.explaining.scene import Drawing, Span
from gatherscatter.operation import Kernel
from gatherscatter.pages.elements import Markup, element, join
from gatherscatter.pages.palette import HUES

SIGNS = {"add": "+", "sub": "\u2212", "mul": "\u00d7", "min": "\u2193", "max": "\u2191", "mean": "\u00f8"}
_SHIFTS = (0, 7, -7, 13, -13)  # of arrows that meet at the same edge


@dataclass
class Arrows:
    """Draws the moves of one drawing, and keeps a list of the lanes that are taken."""

    call: ExplainedCall
    drawn: Drawing
    arrangement: Arrangement
    _taken: Counter[tuple[object, ...]] = field(default_factory=Counter)
    _links: int = 0

    @property
    def right(self) -> float:
        """Where the arrows at the right of stacked arrays end."""
        return self.arrangement.right + 0.75 * self._bulge(self._links)

    def draw(self) -> tuple[list[Markup], list[Markup]]:
        """Return the parts below the values of cells, and those above: lines and frames; heads, numbers and signs."""
        lower, upper = [], []
        for move in self.drawn.moves:
            lines, numbers = self._draw_move(move)
            lower.append(element("g", lines, class_="move overlay", data_move=move.number))
            upper.append(element("g", numbers, class_="move overlay", data_move=move.number))
        return lower, upper

    def _draw_move(self, move: Move) -> tuple[Markup, Markup]:
        turn = choose_colour(self.call, move)
        links = [self._draw_link(start, end, turn) for start, end in self.drawn.links(move)]
        lines, badges = [line for line, _ in links], [head for _, head in links]
        for region in move.regions:
            for box in self.arrangement.frames(self.drawn, region):
                seen = self._take("badge", region.array, box.x, box.y)
                lines.append(_draw_frame(box, turn, seen))
                if seen < MOST_BADGES:
                    text = str(move.number) if seen < MOST_BADGES - 1 else "\u2026"
                    badges.append(_draw_badge(box.x + 9 + BADGE * seen, box.y + 9, text, turn))
                if region == move.target and self.call.reduction in SIGNS and not move.fills:
                    badges.append(draw_sign(box.right - 9, box.y + 9, SIGNS[self.call.reduction], turn))
        return join(*lines), join(*badges)

    def _take(self, *key: object) -> int:
        """How often a key was taken before."""
        self._taken[key] += 1
        return self._taken[key] - 1

    def _draw_link(self, start: Region, end: Region, turn: int) -> tuple[Markup, Markup]:
        """Return the line of an arrow and its head. Heads are above all lines, whose halos would cover them."""
        self._links += 1
        source, target = (self.arrangement.grids[region.array] for region in (start, end))
        first, last = (self.drawn.spans(region)[0] for region in (start, end))
        out, y1 = self._leave(source, first)
        into, y2, head = self._enter(target, last)
        if self.arrangement.is_stacked:
            border = self.arrangement.right
            bend = border + self._bulge(self._links)
            way = f"H{border:.1f}C{bend:.1f} {y1:.1f} {bend:.1f} {y2:.1f} {border:.1f} {y2:.1f}"
        else:
            bend = (source.right + target.left) / 2
            way = f"H{source.right:.1f}C{bend:.1f} {y1:.1f} {bend:.1f} {y2:.1f} {target.left:.1f} {y2:.1f}"
        path = out + way + into
        kind = "flow" if end.array == "output" else "pointer"
        line = element("path", class_="halo", d=path), element("path", class_=f"arrow {kind} hue{turn}", d=path)
        return join(*line), element("path", class_=f"tip{turn}", d=head)

    def _bulge(self, number: int) -> float:
        """How far the curve of a link swings out at the right of stacked arrays."""
        return min(16 + 7 * number, COLUMN_GAP)

    def _leave(self, placed: PlacedGrid, span: Span) -> tuple[str, float]:
        """The first part of a path, and the height at which it continues to the right."""
        is_right = self.arrangement.is_stacked and span.is_last
        box, shift = placed.frame(span), self._shift("right" if is_right else "leave", placed, span)
        if span.is_last:
            return f"M{box.right + 1:.1f} {box.middle + shift:.1f}", box.middle + shift
        y = box.bottom + LANE * (1 + self._take("below", placed.grid.name, span.pane.lead, span.bottom))
        return f"M{box.center + shift:.1f} {box.bottom + 1:.1f}V{y:.1f}", y

    def _enter(self, placed: PlacedGrid, span: Span) -> tuple[str, float, str]:
        """The last part of a path, the height at which it comes in, and the head of the arrow."""
        is_right = self.arrangement.is_stacked and not self.arrangement.enters_above(span)
        box, shift = placed.frame(span), self._shift("right" if is_right else "enter", placed, span)
        if self.arrangement.enters_above(span):
            y = box.y - HEAD - LANE * self._take("above", placed.grid.name, span.pane.lead, span.top)
            x = box.center + shift
            return f"H{x:.1f}V{box.y - 6:.1f}", y, f"M{x:.1f} {box.y:.1f}l-4.5 -8h9z"
        y = box.middle + shift
        if self.arrangement.is_stacked:
            return f"H{box.right + 7:.1f}", y, f"M{box.right + 1:.1f} {y:.1f}l8 -4.5v9z"
        tip = placed.tip(span)
        return f"H{tip - 6:.1f}", y, f"M{tip:.1f} {y:.1f}l-8 -4.5v9z"

    def _shift(self, way: str, placed: PlacedGrid, span: Span) -> float:
        """How far from the middle of an edge an arrow meets it."""
        return _SHIFTS[self._take(way, placed.grid.name, span.pane.lead, span.top, span.left) % len(_SHIFTS)]


def choose_colour(call: ExplainedCall, move: Move) -> int:
    """Which colour: moves in turn; of GatherTree, beams in turn; bags in turn."""
    if call.kernel == Kernel.GATHER_TREE and move.target is not None:
        return int(move.target.key[2] or 0) % HUES
    if call.reduces_bags and move.target is not None:
        bag = [n or 0 for n in move.target.key[: len(call.bags_shape)]]
        return int(np.ravel_multi_index(bag, call.bags_shape)) % HUES
    return (move.number - 1) % HUES


def _draw_frame(box: Box, turn: int, seen: int) -> Markup:
    inset = 1.5 + 2.5 * min(seen, 2)
    x, y, width, height = box.x + inset, box.y + inset, box.width - 2 * inset, box.height - 2 * inset
    return element("rect", class_=f"frame hue{turn}", x=x, y=y, rx=4, width=width, height=height)


def _draw_badge(x: float, y: float, text: str, turn: int) -> Markup:
    circle = element("circle", class_=f"tip{turn}", cx=x, cy=y, r=7)
    return element("g", circle, element("text", text, x=x, y=y + 3.5), class_="badge")


def draw_sign(x: float, y: float, sign: str, turn: int) -> Markup:
    """The sign of a reduction in a square around a point."""
    square = element("rect", class_=f"tip{turn}", x=x - 6.5, y=y - 6.5, width=13, height=13, rx=2)
    return element("g", square, element("text", sign, x=x, y=y + 4), class_="badge")
