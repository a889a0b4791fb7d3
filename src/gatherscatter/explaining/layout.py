"""Where everything of a drawing stands, in pixels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gatherscatter.explaining.call import ExplainedCall
from gatherscatter.explaining.moves import Region
from gatherscatter.explaining.scene import Drawing, Grid, Pane
from gatherscatter.explaining.wording import shape_text

CELL_HEIGHT, NARROWEST = 38, 40
CHARACTER = 7.9  # of the monospaced font at 13 px
GAP, PANE_GAP, COLUMN_GAP, BATCH_GAP = 18, 16, 104, 10
HEAD, NUMBERS, LABEL = 26, 18, 17  # heights of an array's name, of column numbers, and of a pane's label


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
    def middle(self) -> float:
        return self.y + self.height / 2

    def moved(self, dx: float, dy: float) -> Box:
        """The same elsewhere."""
        return Box(self.x + dx, self.y + dy, self.width, self.height)


@dataclass(frozen=True)
class Text:
    """A line of text: ``classes`` are those of the style sheet."""

    x: float
    y: float
    text: str
    classes: str
    more: str = ""  # goes on behind it, small


@dataclass(frozen=True)
class PlacedGrid:
    """A grid and where it stands: boxes of its cells by pane, row and column; texts around them; bars of batches."""

    grid: Grid
    box: Box
    cells: tuple[tuple[Pane, int, int, Box], ...]
    texts: tuple[Text, ...]
    dots: tuple[Box, ...]
    bars: tuple[tuple[Box, int], ...]

    def moved(self, dx: float, dy: float) -> PlacedGrid:
        """The same elsewhere."""
        return PlacedGrid(
            self.grid,
            self.box.moved(dx, dy),
            tuple((p, r, c, box.moved(dx, dy)) for p, r, c, box in self.cells),
            tuple(replace(t, x=t.x + dx, y=t.y + dy) for t in self.texts),
            tuple(box.moved(dx, dy) for box in self.dots),
            tuple((box.moved(dx, dy), n) for box, n in self.bars),
        )

    def anchor(self, box: Box) -> float:
        """The height at which arrows meet a box: not the same for all columns, so that they can be told apart."""
        xs = sorted({b.x for *_, b in self.cells})
        if len(xs) < 2 or box.width > self.cells[0][3].width + 1 or box.x not in xs:
            return box.middle
        rows, column = round(box.height / CELL_HEIGHT), xs.index(box.x)
        if rows > 1:  # between rows, where no values stand
            return box.y + CELL_HEIGHT * (1 + column % (rows - 1)) + 2 * (column // (rows - 1))
        step = min(7.0, (CELL_HEIGHT - 12) / (len(xs) - 1))
        return box.middle + step * (column - (len(xs) - 1) / 2)

    def frames(self, drawn: Drawing, region: Region) -> list[Box]:
        """The rectangles that hold a region, one per pane."""
        wanted = {(pane.lead, r, c) for pane, r, c in drawn.cells(region)}
        by_pane: dict[tuple[int, ...], list[Box]] = {}
        for pane, r, c, box in self.cells:
            if (pane.lead, r, c) in wanted:
                by_pane.setdefault(pane.lead, []).append(box)
        return [enclose(boxes) for boxes in by_pane.values()]


def enclose(boxes: Iterable[Box]) -> Box:
    """The smallest box around others."""
    listed = list(boxes)
    x, y = min(b.x for b in listed), min(b.y for b in listed)
    return Box(x, y, max(b.right for b in listed) - x, max(b.bottom for b in listed) - y)


def arrange_grids(call: ExplainedCall, drawn: Drawing, top: float, left: float) -> dict[str, PlacedGrid]:
    """All grids: what is read on the left, indices in the middle, the output on the right."""
    grids = {name: _place_grid(grid) for name, grid in drawn.grids.items()}
    columns = [[g for g in grids.values() if g.grid.role in roles] for roles in
               (("data", "updates", "weights", "other"), ("indices", "bags"), ("output",))]  # fmt: skip
    deepest = max((_middle(c[0]) for c in columns if len(c) == 1), default=0)
    made: dict[str, PlacedGrid] = {}
    x = left
    for column in columns:
        y = top
        if not call.is_scatter and len(column) == 1:  # in the middle of each other
            y = top + deepest - _middle(column[0])
        if call.is_scatter and column and column is columns[1]:
            y = _align_with_updates(columns[0], column[0], top)
        for g in column:
            made[g.grid.name] = g.moved(x, y)
            y += g.box.height + GAP
        x += max(g.box.width for g in column) + COLUMN_GAP if column else 0
    return made


def _align_with_updates(column: list[PlacedGrid], indices: PlacedGrid, top: float) -> float:
    """Where the indices begin: the middle of their cells is that of the updates', but below the arrow of the copy."""
    y = top
    for g in column:
        if g.grid.role == "updates":
            return max(top + HEAD + NUMBERS + CELL_HEIGHT + 8, y + _middle(g) - _middle(indices))
        y += g.box.height + GAP
    return top


def _middle(placed: PlacedGrid) -> float:
    boxes = [box for *_, box in placed.cells]
    return enclose(boxes).middle if boxes else placed.box.middle


def _place_grid(grid: Grid) -> PlacedGrid:
    """A grid at the origin."""
    cells_of = [cell for pane in grid.panes for cell in pane.cells.values()]
    width = (
        max(
            max([NARROWEST, len(cell.text) * CHARACTER + 14, len(cell.was) * 6.2 + 18 if cell.was else 0])
            for cell in cells_of
        )
        if cells_of
        else NARROWEST
    )
    batch_rows = grid.axes[0] is not None and grid.axes[0] < grid.batch
    margin = _margin(grid, batch_rows)
    cells: list[tuple[Pane, int, int, Box]] = []
    texts = [_name(grid, margin)]
    dots: list[Box] = []
    bars: list[tuple[Box, int]] = []
    y = float(HEAD)
    for number, pane in enumerate(grid.panes):
        start = y
        if pane.label:
            batch = len(pane.lead) and grid.batch > 0
            text = f"{pane.label}  batch {_batch_text(pane, grid)}" if batch else pane.label
            texts.append(Text(margin, y + 12, text, "dim small mono"))
            y += LABEL
        if grid.axes[1] is not None:
            y += NUMBERS
        y = _rows(pane, grid, (margin, y, width), cells, texts, dots, bars if batch_rows else [])
        if grid.batch and pane.lead:
            bars.append((Box(margin - 26, start + 2, 4, y - start - 2), number))
        y += PANE_GAP
    y -= PANE_GAP
    if not cells:
        empty = "empty tuples" if grid.role == "indices" and grid.shape[-1:] == (0,) else "no elements"
        texts.append(Text(margin, y + 16, empty, "dim"))
        y += 24
    if grid.skipped:
        text = f"\u22ee  {grid.skipped:,} more such {'pane' if grid.skipped == 1 else 'panes'}"
        texts.append(Text(margin, y + 18, text, "dim small"))
        y += 22
    boxes = [box for *_, box in cells]
    right = max([b.right for b in boxes] + [_right(t) for t in texts])
    return PlacedGrid(grid, Box(0, 0, right, y), tuple(cells), tuple(texts), tuple(dots), tuple(bars))


def _batch_text(pane: Pane, grid: Grid) -> str:
    lead = pane.lead[: grid.batch]
    return str(lead[0]) if len(lead) == 1 else f"({', '.join(map(str, lead))})"


def _right(text: Text) -> float:
    """About where a text ends."""
    if "end" in text.classes or "middle" in text.classes:
        return text.x
    advance = 6.8 if "small" in text.classes else 9.0 if "name" in text.classes else 7.6
    return text.x + len(text.text) * advance + (8 + len(text.more) * 6.8 if text.more else 0)


def _margin(grid: Grid, batch_rows: bool) -> float:
    """The room for row numbers."""
    longest = max((len(str(r)) for pane in grid.panes for r in pane.rows if r is not None), default=1)
    return 60.0 if batch_rows else 14.0 + 7.5 * longest if grid.axes[0] is not None else 12.0


def _name(grid: Grid, margin: float) -> Text:
    return Text(margin, 13, grid.name, "name", f"{shape_text(grid.shape)} {grid.type}".strip())


def _rows(
    pane: Pane,
    grid: Grid,
    origin: tuple[float, float, float],
    cells: list[tuple[Pane, int, int, Box]],
    texts: list[Text],
    dots: list[Box],
    bars: list[tuple[Box, int]],
) -> float:
    """Put the cells of a pane below each other; the bottom."""
    left, y, width = origin
    top, by_batch = y, grid.axes[0] is not None and grid.axes[0] < grid.batch
    xs = _columns(pane, left, width)
    if grid.axes[1] is not None:
        texts += [Text(x + width / 2, y - 10, str(c), "dim small middle") for c, x in xs if c is not None]
    for r in pane.rows:
        if r is None:
            dots.append(Box(left, y, xs[-1][1] + width - left if xs else width, 16))
            y += 16
            continue
        if by_batch and y > top:
            y += BATCH_GAP
        if grid.axes[0] is not None and xs:
            label = f"batch {r}" if by_batch else str(r)
            texts.append(Text(left - (10 if by_batch else 6), y + CELL_HEIGHT / 2 + 4, label, "dim small end"))
        if by_batch:
            bars.append((Box(left - 6, y, 4, CELL_HEIGHT), r))
        for c, x in xs:
            if c is None:
                dots.append(Box(x, y, 18, CELL_HEIGHT))
            else:
                cells.append((pane, r, c, Box(x, y, width, CELL_HEIGHT)))
        y += CELL_HEIGHT
    return y


def _columns(pane: Pane, left: float, width: float) -> list[tuple[int | None, float]]:
    xs: list[tuple[int | None, float]] = []
    x = left
    for c in pane.columns:
        xs.append((c, x))
        x += 18 if c is None else width
    return xs
