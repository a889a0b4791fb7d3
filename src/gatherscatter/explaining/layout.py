"""The positions of all parts of a drawing, in pixels.

Indices come first, then data, then the output: side by side, or one below the other. Arrows run where there is no text:
between the arrays, and in lanes between the rows of an array.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gatherscatter.explaining.call import Coordinates
from gatherscatter.explaining.moves import Region
from gatherscatter.explaining.scene import Cell, Drawing, Grid, Pane, Span
from gatherscatter.explaining.wording import shape_text

CELL_HEIGHT, NARROWEST = 44, 40
CHARACTER = 7.9  # of the monospaced font at 13 px
GAP, PANE_GAP, COLUMN_GAP, BATCH_GAP = 22, 16, 60, 10
NAME, NUMBERS, LABEL = 38, 18, 17  # heights of an array's name, of column numbers, and of a pane's label
BADGE = 15  # width of a move's number in a cell
MOST_BADGES = 6  # of one cell
LANE, HEAD = 5, 10  # between lines in a gap between rows; the room for the head of an arrow
COLUMNS = (("indices", "bags", "weights", "updates"), ("data", "other"), ("output",))  # the roles of their arrays


Spot = tuple[Coordinates, int, int]  # a pane, a row and a column
Row = tuple[str, Coordinates, int]  # a grid, a pane and a row


@dataclass(frozen=True)
class Box:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def center(self) -> float:
        return self.x + self.width / 2

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    def moved(self, dx: float, dy: float) -> Box:
        """The same elsewhere."""
        return Box(self.x + dx, self.y + dy, self.width, self.height)


@dataclass(frozen=True)
class Text:
    """A line of text. ``classes`` are those of the style sheet."""

    x: float
    y: float
    text: str
    classes: str


@dataclass(frozen=True)
class PlacedGrid:
    """A grid and its position: boxes of cells by pane, row and column; texts, dots and bars of batches.

    ``left`` and ``right`` are the borders of its column: beyond them, arrows run freely.
    """

    grid: Grid
    box: Box
    boxes: dict[Spot, Box]
    texts: tuple[Text, ...]
    dots: tuple[Box, ...]
    bars: tuple[tuple[Box, int], ...]
    left: float = 0
    right: float = 0

    @property
    def cells(self) -> list[tuple[Cell, Box]]:
        """All drawn cells with their boxes."""
        spots = ((pane, *spot) for pane in self.grid.panes for spot in pane.cells)
        return [(pane.cells[row, column], self.boxes[pane.lead, row, column]) for pane, row, column in spots]

    def moved(self, dx: float, dy: float) -> PlacedGrid:
        """The same elsewhere."""
        return replace(
            self,
            box=self.box.moved(dx, dy),
            boxes={spot: box.moved(dx, dy) for spot, box in self.boxes.items()},
            texts=tuple(replace(text, x=text.x + dx, y=text.y + dy) for text in self.texts),
            dots=tuple(box.moved(dx, dy) for box in self.dots),
            bars=tuple((box.moved(dx, dy), number) for box, number in self.bars),
        )

    def tip(self, span: Span) -> float:
        """Where an arrow from the left ends: in front of the number of the row and of the bar of its batch entry."""
        label, box = _row_label(self.grid, span.bottom), self.frame(span)
        bars = [bar.x - 3 for bar, _ in self.bars if bar.y <= box.middle <= bar.bottom]
        return min([box.x - (16 + 6.8 * len(label) if label else 2), *bars])

    def frame(self, span: Span) -> Box:
        """The rectangle around the cells of a span."""
        corners = ((span.top, span.left), (span.bottom, span.right))
        return enclose(self.boxes[span.pane.lead, *corner] for corner in corners)


@dataclass(frozen=True)
class Arrangement:
    """The placed grids by name. ``is_stacked``: they are one below the other."""

    grids: dict[str, PlacedGrid]
    is_stacked: bool

    @property
    def right(self) -> float:
        return max((placed.right for placed in self.grids.values()), default=0)

    @property
    def bottom(self) -> float:
        return max((placed.box.bottom for placed in self.grids.values()), default=0)

    def frames(self, drawn: Drawing, region: Region) -> list[Box]:
        """The rectangles that hold a region, one per pane."""
        return [self.grids[region.array].frame(span) for span in drawn.spans(region)]

    def enters_above(self, span: Span) -> bool:
        """Whether an arrow to a span enters it from above, as other cells are in its way."""
        return not (span.is_last if self.is_stacked else span.is_first)


def _row_label(grid: Grid, row: int) -> str:
    """The text in front of a row."""
    return "" if grid.axes[0] is None else f"batch {row}" if _is_batch_axis(grid) else str(row)


def enclose(boxes: Iterable[Box]) -> Box:
    """The smallest box around others."""
    listed = list(boxes)
    x, y = min(box.x for box in listed), min(box.y for box in listed)
    return Box(x, y, max(box.right for box in listed) - x, max(box.bottom for box in listed) - y)


def arrange_grids(drawn: Drawing, is_stacked: bool) -> Arrangement:
    """Place all grids, the first one at the origin."""
    lanes, badges = _count_lanes(drawn, is_stacked), _count_badges(drawn)
    grids = [_place_grid(grid, lanes, badges[name]) for name, grid in drawn.grids.items()]
    order = [role for roles in COLUMNS for role in roles]
    grids.sort(key=lambda placed: order.index(placed.grid.role))
    columns = [[placed for placed in grids if placed.grid.role in roles] for roles in COLUMNS]
    columns = [grids] if is_stacked else [column for column in columns if column]
    heights = [sum(placed.box.height + GAP for placed in column) for column in columns]
    made: dict[str, PlacedGrid] = {}
    x = 0.0
    for column, height in zip(columns, heights, strict=True):
        y = (max(heights) - height) / 2
        right = x + max((placed.box.width for placed in column), default=0)
        for placed in column:
            made[placed.grid.name] = replace(placed.moved(x, y), left=x - 6, right=right + 4)
            y += placed.box.height + GAP
        x = right + COLUMN_GAP
    return Arrangement(made, is_stacked)


def _count_lanes(drawn: Drawing, is_stacked: bool) -> tuple[Counter[Row], Counter[Row]]:
    """How many lines run above, and how many below, each row."""
    above, below = Counter[Row](), Counter[Row]()
    empty = Arrangement({}, is_stacked)
    for start, end in (link for move in drawn.moves for link in drawn.links(move)):
        first, last = drawn.spans(start)[0], drawn.spans(end)[0]
        below[start.array, first.pane.lead, first.bottom] += not first.is_last
        above[end.array, last.pane.lead, last.top] += empty.enters_above(last)
    return above, below


def _count_badges(drawn: Drawing) -> dict[str, int]:
    """The most numbers that one cell of each grid gets, with the sign of a reduction."""
    most = dict.fromkeys(drawn.grids, 0)
    for name in drawn.grids:
        found = Counter(
            (span.pane.lead, span.top, span.left)
            for move in drawn.moves
            for region in move.regions
            if region.array == name
            for span in drawn.spans(region)
            if span.left == span.right
        )
        most[name] = min(max(found.values(), default=0), MOST_BADGES) + (name == "output")
    return most


def _place_grid(grid: Grid, lanes: tuple[Counter[Row], Counter[Row]], badges: int) -> PlacedGrid:
    """A grid at the origin."""
    cells_of = [cell for pane in grid.panes for cell in pane.cells.values()]
    wide = [max(len(cell.text) * CHARACTER + 16, len(cell.was) * 6.2 + 16) for cell in cells_of]
    width = max([NARROWEST, 6 + BADGE * badges, *wide])
    margin = _margin(grid)
    made = PlacedGrid(grid, Box(0, 0, 0, 0), {}, _name(grid, margin), (), ())
    y = float(NAME)
    for number, pane in enumerate(grid.panes):
        start = y
        made, y = _place_pane(made, pane, (margin, y, width), lanes)
        if grid.batch and pane.lead:
            made = replace(made, bars=(*made.bars, (Box(8, start + 2, 4, y - start - 2), number)))
        y += PANE_GAP
    y -= PANE_GAP
    below = []
    if not cells_of:
        empty = "empty tuples" if grid.role == "indices" and grid.shape[-1:] == (0,) else "no elements"
        below.append(Text(margin, y + 16, empty, "dim"))
        y += 24
    if grid.skipped:
        text = f"\u22ee  {grid.skipped:,} more {'pane' if grid.skipped == 1 else 'panes'}"
        below.append(Text(margin, y + 18, text, "dim small"))
        y += 22
    texts = (*made.texts, *below)
    right = max([box.right for box in made.boxes.values()] + [_right(text) for text in texts])
    return replace(made, box=Box(0, 0, right, y), texts=texts)


def _batch_text(pane: Pane, grid: Grid) -> str:
    lead = pane.lead[: grid.batch]
    return str(lead[0]) if len(lead) == 1 else f"({', '.join(map(str, lead))})"


def _right(text: Text) -> float:
    """About where a text ends."""
    if "end" in text.classes or "middle" in text.classes:
        return text.x
    advance = 6.8 if "small" in text.classes else 9.0 if "name" in text.classes else 7.6
    return text.x + len(text.text) * advance


def _is_batch_axis(grid: Grid) -> bool:
    """Whether each row is a batch entry."""
    return grid.axes[0] is not None and grid.axes[0] < grid.batch


def _margin(grid: Grid) -> float:
    """The room for the numbers of rows, and for the bars of batch entries that are panes."""
    longest = max((len(str(row)) for pane in grid.panes for row in pane.rows if row is not None), default=1)
    numbers = 14.0 + 7.5 * longest if grid.axes[0] is not None else 12.0
    return 68.0 if _is_batch_axis(grid) else numbers + (14 if grid.batch else 0)


def _name(grid: Grid, margin: float) -> tuple[Text, Text]:
    kind = f"{shape_text(grid.shape)} {grid.type}".strip()
    return Text(margin, 13, grid.name, "name"), Text(margin, 28, kind, "dim small mono")


def _place_pane(
    made: PlacedGrid,
    pane: Pane,
    origin: tuple[float, float, float],
    lanes: tuple[Counter[Row], Counter[Row]],
) -> tuple[PlacedGrid, float]:
    """The grid with one more pane, its rows below each other; and the bottom of the pane."""
    grid, (left, y, width) = made.grid, origin
    by_batch = _is_batch_axis(grid)
    boxes, texts, dots, bars = dict(made.boxes), [*made.texts], [*made.dots], [*made.bars]
    if pane.label:
        batch = f"  batch {_batch_text(pane, grid)}" if grid.batch and pane.lead else ""
        texts.append(Text(left, y + 12, f"{pane.label}{batch}", "dim small mono"))
        y += LABEL
    xs = _place_columns(pane, left, width)
    if grid.axes[1] is not None:
        y += NUMBERS
        texts += [Text(x + width / 2, y - 6, str(c), "dim small middle") for c, x in xs if c is not None]
    for row in pane.rows:
        if row is None:
            dots.append(Box(left, y, xs[-1][1] + width - left if xs else width, 16))
            y += 16
            continue
        above, below = (counter[grid.name, pane.lead, row] for counter in lanes)
        y += (HEAD + LANE * above if above else 0) + (BATCH_GAP if by_batch and row else 0)
        if grid.axes[0] is not None and xs:
            x = left - (10 if by_batch else 6)
            texts.append(Text(x, y + CELL_HEIGHT / 2 + 4, _row_label(grid, row), "dim small end"))
        if by_batch:
            bars.append((Box(left - 6, y, 4, CELL_HEIGHT), row))
        for column, x in xs:
            if column is None:
                dots.append(Box(x, y, 18, CELL_HEIGHT))
            else:
                boxes[pane.lead, row, column] = Box(x, y, width, CELL_HEIGHT)
        y += CELL_HEIGHT + (LANE * (below + 1) if below else 0)
    return replace(made, boxes=boxes, texts=tuple(texts), dots=tuple(dots), bars=tuple(bars)), y


def _place_columns(pane: Pane, left: float, width: float) -> list[tuple[int | None, float]]:
    xs: list[tuple[int | None, float]] = []
    x = left
    for column in pane.columns:
        xs.append((column, x))
        x += 18 if column is None else width
    return xs
