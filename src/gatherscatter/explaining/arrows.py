"""The moves of a drawing as SVG: frames, arrows, numbers."""

from __future__ import annotations

from itertools import pairwise

from gatherscatter.explaining.call import Call
from gatherscatter.explaining.layout import Box, Placed
from gatherscatter.explaining.moves import Move, Region
from gatherscatter.explaining.style import MOVES
from gatherscatter.explaining.view import Drawing

SIGNS = {"add": "+", "sub": "\u2212", "mul": "\u00d7", "min": "\u2193", "max": "\u2191", "mean": "\u00f8"}


def arrows(call: Call, drawn: Drawing, grids: dict[str, Placed]) -> tuple[list[str], list[str]]:
    """Every drawn move: what lies below the values, arrows and frames; and the numbers, which lie above them."""
    lower, upper = [], []
    if call.is_scatter and call.is_clear and "output" in grids and grids[call.name("data")].cells:
        lower.append(_copied(grids[call.name("data")], grids["output"]))
    taken: dict[tuple[float, float], int] = {}
    for move in drawn.moves:
        lines, numbers = _move(call, drawn, grids, move, taken)
        lower.append(f'<g class="move overlay" data-move="{move.number}">{lines}</g>')
        upper.append(f'<g class="move overlay" data-move="{move.number}">{numbers}</g>')
    return lower, upper


def _copied(data: Placed, output: Placed) -> str:
    """The broad arrow that says that the output begins as a copy of data."""
    x1, x2, y = data.box.right + 10, output.box.x - 4, data.box.y + 10
    return (
        f'<path class="copy" d="M{x1:.1f} {y:.1f}H{x2 - 10:.1f}"/>'
        f'<path class="tip" d="M{x2:.1f} {y:.1f}l-12 -8v16z"/>'
        f'<text class="dim small middle" x="{(x1 + x2) / 2:.1f}" y="{y - 6:.1f}">starts as a copy</text>'
    )


def _move(
    call: Call, drawn: Drawing, grids: dict[str, Placed], move: Move, taken: dict[tuple[float, float], int]
) -> tuple[str, str]:
    """The lines of a move, and its numbers."""
    turn = _turn(call, move)
    regions = (move.source, move.index, None if call.error else move.target)
    ends = [(grids[region.array], frames[0]) for region in regions
            if region is not None and (frames := _frames(drawn, grids, region))]  # fmt: skip
    lines = [_curve(*start, *end, turn) for start, end in pairwise(ends)]
    badges = []
    for region in regions:
        for box in [] if region is None else _frames(drawn, grids, region):
            seen = taken.get((box.x, box.y), 0)
            taken[box.x, box.y] = seen + 1
            lines.append(_framed(box, turn, seen))
            badges.append(_badge(box.x + 17 * seen, box.y, move.number, turn))
    if regions[-1] is not None and call.reduction in SIGNS and len(ends) > 1:
        badges.append(sign_element(_tip(*ends[-1]), ends[-1][0].anchor(ends[-1][1]), SIGNS[call.reduction], turn))
    return "".join(lines), "".join(badges)


def _frames(drawn: Drawing, grids: dict[str, Placed], region: Region) -> list[Box]:
    placed = grids.get(region.array)
    return [] if placed is None else placed.frames(drawn, region)


def _turn(call: Call, move: Move) -> int:
    """Which colour: moves in turn; of GatherTree, beams in turn."""
    if call.kernel == "gather_tree" and move.target is not None:
        return int(move.target.key[2] or 0) % MOVES
    return (move.number - 1) % MOVES


def _tip(placed: Placed, box: Box) -> float:
    """Where an arrow to a box ends: at the first cells of a row, in front of the row's number."""
    first = min((b.x for *_, b in placed.cells), default=box.x)
    numbered = placed.grid.axes[0] is not None and box.x <= first
    return box.x - (first - placed.box.x - 4 if numbered else 3)


def _curve(source: Placed, start: Box, target: Placed, end: Box, turn: int) -> str:
    x1, y1, x2, y2 = start.right + 1, source.anchor(start), _tip(target, end), target.anchor(end)
    bend = max(24.0, abs(x2 - x1) / 2)
    path = f"M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2 - 6:.1f} {y2:.1f}"
    head = f'<path class="tip{turn}" d="M{x2:.1f} {y2:.1f}l-8 -4.5v9z"/>'
    return f'<path class="halo" d="{path}"/><path class="arrow move{turn}" d="{path}"/>{head}'


def _framed(box: Box, turn: int, seen: int) -> str:
    inset = 1.5 + 2.5 * min(seen, 3)
    return (
        f'<rect class="frame move{turn}" x="{box.x + inset:.1f}" y="{box.y + inset:.1f}" rx="4" '
        f'width="{box.width - 2 * inset:.1f}" height="{box.height - 2 * inset:.1f}"/>'
    )


def _badge(x: float, y: float, number: int, turn: int) -> str:
    return (
        f'<g class="badge"><circle class="tip{turn}" cx="{x:.1f}" cy="{y:.1f}" r="8"/>'
        f'<text x="{x:.1f}" y="{y + 3.5:.1f}">{number}</text></g>'
    )


def sign_element(tip: float, y: float, sign: str, turn: int) -> str:
    """The reduction in a square at the end of an arrow."""
    x = tip - 22
    return (
        f'<g class="badge"><rect class="tip{turn}" x="{x:.1f}" y="{y - 7:.1f}" width="14" height="14" rx="2"/>'
        f'<text x="{x + 7:.1f}" y="{y + 4:.1f}">{sign}</text></g>'
    )
