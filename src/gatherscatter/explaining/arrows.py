"""The moves of a drawing as SVG: frames, arrows, numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from markupsafe import Markup

from gatherscatter.explaining.call import ExplainedCall
from gatherscatter.explaining.layout import Box, PlacedGrid
from gatherscatter.explaining.moves import Move, Region
from gatherscatter.explaining.scene import Drawing
from gatherscatter.pages.elements import element, join
from gatherscatter.pages.palette import HUES

SIGNS = {"add": "+", "sub": "\u2212", "mul": "\u00d7", "min": "\u2193", "max": "\u2191", "mean": "\u00f8"}


def draw_arrows(call: ExplainedCall, drawn: Drawing, grids: dict[str, PlacedGrid]) -> tuple[list[Markup], list[Markup]]:
    """Every drawn move: what lies below the values, arrows and frames; and the numbers, which lie above them."""
    lower, upper = [], []
    if call.is_scatter and call.is_clear and "output" in grids and grids[call.name("data")].cells:
        lower.append(_draw_copy_arrow(grids[call.name("data")], grids["output"]))
    taken: dict[tuple[float, float], int] = {}
    for move in drawn.moves:
        lines, numbers = _move(call, drawn, grids, move, taken)
        lower.append(element("g", lines, class_="move overlay", data_move=move.number))
        upper.append(element("g", numbers, class_="move overlay", data_move=move.number))
    return lower, upper


def _draw_copy_arrow(data: PlacedGrid, output: PlacedGrid) -> Markup:
    """The broad arrow that says that the output begins as a copy of data."""
    x1, x2, y = data.box.right + 10, output.box.x - 4, data.box.y + 10
    return join(
        element("path", class_="copy", d=f"M{x1:.1f} {y:.1f}H{x2 - 10:.1f}"),
        element("path", class_="tip", d=f"M{x2:.1f} {y:.1f}l-12 -8v16z"),
        element("text", "starts as a copy", class_="dim small middle", x=(x1 + x2) / 2, y=y - 6),
    )


def _move(
    call: ExplainedCall, drawn: Drawing, grids: dict[str, PlacedGrid], move: Move, taken: dict[tuple[float, float], int]
) -> tuple[Markup, Markup]:
    """The lines of a move, and its numbers."""
    turn = _choose_colour(call, move)
    target = None if call.error else move.target
    regions = (move.source, move.index, target)
    ends = [(grids[region.array], frames[0]) for region in regions
            if region is not None and (frames := _frames(drawn, grids, region))]  # fmt: skip
    lines = [_curve(*start, *end, turn) for start, end in pairwise(ends)]
    badges = []
    for region in (*regions, move.bag, move.weight):
        for box in [] if region is None else _frames(drawn, grids, region):
            seen = taken.get((box.x, box.y), 0)
            taken[box.x, box.y] = seen + 1
            lines.append(_draw_frame(box, turn, seen))
            badges.append(_badge(box.x + 17 * seen, box.y, move.number, turn))
    if target is not None and call.reduction in SIGNS and len(ends) > 1 and not move.fills:
        badges.append(sign_element(_find_tip(*ends[-1]), ends[-1][0].anchor(ends[-1][1]), SIGNS[call.reduction], turn))
    return join(*lines), join(*badges)


def _frames(drawn: Drawing, grids: dict[str, PlacedGrid], region: Region) -> list[Box]:
    placed = grids.get(region.array)
    return [] if placed is None else placed.frames(drawn, region)


def _choose_colour(call: ExplainedCall, move: Move) -> int:
    """Which colour: moves in turn; of GatherTree, beams in turn; bags in turn."""
    if call.kernel == "gather_tree" and move.target is not None:
        return int(move.target.key[2] or 0) % HUES
    if call.reduces_bags and move.target is not None:
        bag = [n or 0 for n in move.target.key[: len(call.bags_shape)]]
        return int(np.ravel_multi_index(bag, call.bags_shape)) % HUES
    return (move.number - 1) % HUES


def _find_tip(placed: PlacedGrid, box: Box) -> float:
    """Where an arrow to a box ends: at the first cells of a row, in front of the row's number."""
    first = min((b.x for *_, b in placed.cells), default=box.x)
    numbered = placed.grid.axes[0] is not None and box.x <= first
    return box.x - (first - placed.box.x - 4 if numbered else 3)


def _curve(source: PlacedGrid, start: Box, target: PlacedGrid, end: Box, turn: int) -> Markup:
    x1, y1, x2, y2 = start.right + 1, source.anchor(start), _find_tip(target, end), target.anchor(end)
    bend = max(24.0, abs(x2 - x1) / 2)
    path = f"M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2 - 6:.1f} {y2:.1f}"
    head = element("path", class_=f"tip{turn}", d=f"M{x2:.1f} {y2:.1f}l-8 -4.5v9z")
    return join(element("path", class_="halo", d=path), element("path", class_=f"arrow hue{turn}", d=path), head)


def _draw_frame(box: Box, turn: int, seen: int) -> Markup:
    inset = 1.5 + 2.5 * min(seen, 3)
    x, y, width, height = box.x + inset, box.y + inset, box.width - 2 * inset, box.height - 2 * inset
    return element("rect", class_=f"frame hue{turn}", x=x, y=y, rx=4, width=width, height=height)


def _badge(x: float, y: float, number: int, turn: int) -> Markup:
    circle = element("circle", class_=f"tip{turn}", cx=x, cy=y, r=8)
    return element("g", circle, element("text", str(number), x=x, y=y + 3.5), class_="badge")


def sign_element(tip: float, y: float, sign: str, turn: int) -> Markup:
    """The reduction in a square at the end of an arrow."""
    x = tip - 22
    square = element("rect", class_=f"tip{turn}", x=x, y=y - 7, width=14, height=14, rx=2)
    return element("g", square, element("text", sign, x=x + 7, y=y + 4), class_="badge")
