"""The parts of a drawing of a call: grids of cells, the state of each cell, and the moves between them.

The number of cells is bounded, however large the arrays are. The cells that the first moves read or write are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice, product

import numpy as np

from gatherscatter.explaining.call import Coordinates, ExplainedCall
from gatherscatter.explaining.counts import Counts
from gatherscatter.explaining.cropping import MOST_COLUMNS, MOST_ROWS, Order, choose_positions, is_in_pane
from gatherscatter.explaining.cropping import choose_panes as leads_of
from gatherscatter.explaining.moves import Move, Region, is_bad_bag_value, list_moves, resolve_position
from gatherscatter.explaining.wording import value_text
from gatherscatter.operation import Kernel
from gatherscatter.pages.palette import CELL_STATES

MOST_MOVES = 12
STATES = (*CELL_STATES, "index", "plain")  # an index, and a value that nothing happens to, have no colour


@dataclass(frozen=True)
class Cell:
    """An element: ``state`` is one of `STATES`, ``numbers`` are those of the drawn moves that touch it."""

    at: Coordinates
    text: str
    state: str
    numbers: tuple[int, ...]
    before: str = ""  # what a scatter found there

    @property
    def was(self) -> str:
        """The text about an element that a scatter has changed."""
        return f"was {self.before}" if self.before and self.state in ("written", "repeated") else ""


@dataclass(frozen=True)
class Pane:
    """A part of an array in two dimensions. None among its rows and columns stands for those that are skipped."""

    lead: Coordinates
    label: str
    rows: tuple[int | None, ...]
    columns: tuple[int | None, ...]
    cells: dict[tuple[int, int], Cell]


@dataclass(frozen=True)
class Span:
    """The drawn cells of a region in one pane: its first and last rows and columns."""

    pane: Pane
    top: int
    bottom: int
    left: int
    right: int

    @property
    def is_first(self) -> bool:
        """Whether no cell is to the left of it."""
        return self.left == min(c for c in self.pane.columns if c is not None)

    @property
    def is_last(self) -> bool:
        """Whether no cell is to the right of it."""
        return self.right == max(c for c in self.pane.columns if c is not None)


@dataclass(frozen=True)
class Grid:
    """An array. ``skipped`` is the number of panes that are not drawn.

    ``role`` is data, indices, updates, bags (offsets and the like), weights, output or other.
    """

    name: str
    role: str
    shape: Coordinates
    type: str
    axes: tuple[int | None, int | None]  # which axes rows and columns are; None where there is none
    panes: tuple[Pane, ...]
    skipped: int = 0
    batch: int = 0  # leading axes that are batch dims


@dataclass(frozen=True)
class Drawing:
    """All grids, the moves that are drawn between them, and the number of all moves."""

    grids: dict[str, Grid]
    moves: tuple[Move, ...]
    total: int
    states: tuple[str, ...] = field(default=())

    def spans(self, region: Region) -> list[Span]:
        """The drawn cells of a region, pane by pane."""
        grid = self.grids.get(region.array)
        spans = []
        for pane in () if grid is None else grid.panes:
            spots = [spot for spot, cell in pane.cells.items() if _is_within(cell.at, region.key)]
            if spots:
                rows, columns = zip(*spots, strict=True)
                spans.append(Span(pane, min(rows), max(rows), min(columns), max(columns)))
        return spans

    def links(self, move: Move) -> list[tuple[Region, Region]]:
        """The arrows of a move between drawn cells."""
        return [(start, end) for start, end in move.links if self.spans(start) and self.spans(end)]

    def shows(self, region: Region) -> bool:
        """Whether a region is drawn; one without elements always is."""
        grid = self.grids.get(region.array)
        return grid is not None and (0 in grid.shape or bool(self.spans(region)))


def _is_within(at: Coordinates, key: tuple[int | None, ...]) -> bool:
    return all(k is None or k == n for n, k in zip(at, key, strict=True))


def drawing(call: ExplainedCall, columns: int = MOST_COLUMNS) -> Drawing:
    """The drawing of a call, with at most ``columns`` columns of each array."""
    listed = tuple(islice(list_moves(call), MOST_MOVES))
    counts = Counts(call)
    arrays = call.arrays if call.result is None else {**call.arrays, "output": call.result}
    grids = {name: _grid(call, name, array, listed, counts, columns) for name, array in arrays.items()}
    drawn = Drawing(grids, (), counts.total)
    seen = tuple(move for move in listed if all(map(drawn.shows, _drawable(call, move))))
    states = {cell.state for grid in grids.values() for pane in grid.panes for cell in pane.cells.values()}
    return Drawing(grids, seen, counts.total, tuple(state for state in STATES if state in states))


def _drawable(call: ExplainedCall, move: Move) -> list[Region]:
    """The regions of a move without the output of a call that failed."""
    return [region for region in move.regions if call.error is None or region.array != "output"]


def _grid(
    call: ExplainedCall, name: str, array: np.ndarray, listed: tuple[Move, ...], counts: Counts, most_columns: int
) -> Grid:
    shape = array.shape
    role = _role(call, name)
    order = _order(call, name, role, len(shape))
    regions = [region for move in listed for region in move.regions if region.array == name]
    leads = leads_of(shape, order, regions)
    panes = []
    for lead in leads:
        within = [region for region in regions if is_in_pane(region, order, lead)]
        rows, columns = (
            choose_positions(shape, axis, within, most, len(leads))
            for axis, most in zip(order[-2:], (MOST_ROWS, most_columns), strict=True)
        )
        cells = {}
        for r, c in product(rows, columns):
            at = _find_coordinates(order, (*lead, r, c), len(shape))
            cells[r, c] = _cell(call, name, role, array, at, listed, counts=counts)
        panes.append(Pane(tuple(lead), _label(order, lead), _gaps(rows), _gaps(columns), cells))
    total = math.prod(shape[axis] for axis in order[:-2] if axis is not None)
    batch = call.batch_dims if role in ("data", "indices", "output") and call.batch_dims > 0 else 0
    if call.is_fused and role == "output":
        batch = 1
    kind = call.type if role == "output" else _type(array)
    return Grid(name, role, shape, kind, (order[-2], order[-1]), tuple(panes), total - len(panes), batch)


def _type(array: np.ndarray) -> str:
    return "string" if array.dtype.kind in "OSUT" else array.dtype.name


def _role(call: ExplainedCall, name: str) -> str:
    roles = {call.name(role): role for role in ("data", "indices", "updates")}
    if call.reduces_bags:
        roles |= {"offsets": "bags", "segment_ids": "bags", "indptr": "bags", "default_index": "bags"}
        roles |= {"per_sample_weights": "weights", "weights": "weights"}
    return "output" if name == "output" else roles.get(name, "other")


def _order(call: ExplainedCall, name: str, role: str, rank: int) -> Order:
    """The axes from the outermost to columns. Lists run down, index tuples across."""
    if call.kernel == Kernel.GATHER_TREE and rank == 3:
        return (1, 0, 2)  # time runs down within a batch entry
    if rank == 0:
        return (None, None)
    if rank == 1:
        return (None, 0) if _runs_across(call, role) else (0, None)
    return tuple(range(rank))


def _runs_across(call: ExplainedCall, role: str) -> bool:
    """Whether a list is a row: an index tuple, or a slice along the last axis of data."""
    indices = call.indices
    if indices is None or call.kernel in (Kernel.TENSOR_SCATTER, Kernel.GATHER_TREE) or role in ("data", "other"):
        return False
    if role == "indices":
        return call.by_tuple
    one = indices.ndim == 1 if call.by_tuple else indices.ndim == 0
    return one and call.data.ndim > 1 and not (not call.by_tuple and call.axis == call.data.ndim - 1)


def _find_coordinates(order: Order, spot: tuple[int, ...], rank: int) -> Coordinates:
    at = [0] * rank
    for axis, n in zip(order, spot, strict=True):
        if axis is not None:
            at[axis] = n
    return tuple(at)


def _gaps(positions: Iterable[int]) -> tuple[int | None, ...]:
    """Positions, with None for those that are skipped."""
    made: list[int | None] = []
    last = -1
    for n in positions:
        if n != last + 1:
            made.append(None)
        made.append(n)
        last = n
    return tuple(made)


def _label(order: Order, lead: Coordinates) -> str:
    """``[0, :, :]`` for a pane of an array of three or more dimensions."""
    if not lead:
        return ""
    named = {axis: str(n) for axis, n in zip(order, lead, strict=False)}
    return f"[{', '.join(named.get(axis, ':') for axis in range(len(order)))}]"


def _cell(
    call: ExplainedCall,
    name: str,
    role: str,
    array: np.ndarray,
    at: Coordinates,
    listed: tuple[Move, ...],
    *,
    counts: Counts,
) -> Cell:
    touching = [m for m in listed if any(r.array == name and _is_within(at, r.key) for r in m.regions)]
    numbers = tuple(move.number for move in touching)
    before = value_text(call.data[at]) if role == "output" and call.is_scatter else ""
    return Cell(at, value_text(array[at]), _state(call, name, role, array, at, counts), numbers, before)


def _state(call: ExplainedCall, name: str, role: str, array: np.ndarray, at: Coordinates, counts: Counts) -> str:
    if role == "indices" and call.is_clear:
        return _index_state(call, at)
    if role == "bags" and call.is_clear:
        return "bad" if is_bad_bag_value(call, name, int(array[at])) else "index"
    if role == "weights" and call.error is not None:
        return "plain"
    if not call.is_clear or role == "other":
        return "plain"
    if call.is_scatter and role == "output":
        return ("untouched", "written", "repeated")[min(2, counts.of(at))]
    if not call.is_scatter and role == "data":
        return ("untouched", "read", "again")[min(2, counts.of(at))]
    if not call.is_scatter and role == "output" and counts.is_filled(at):
        return "filled"
    return "plain" if call.is_scatter and role == "data" else "written" if role == "output" else "read"


def _index_state(call: ExplainedCall, at: Coordinates) -> str:
    """Of an index value: whether it is out of range, or counts from the end."""
    assert call.indices is not None
    value, data = int(call.indices[at]), call.data.shape
    if call.kernel == Kernel.TENSOR_SCATTER:
        assert call.updates is not None
        fits = 0 <= value <= data[call.axis] - call.updates.shape[call.axis]
        return "index" if fits or call.mode == "circular" else "bad"
    if call.kernel == Kernel.GATHER_TREE:
        return "index" if 0 <= value < data[2] else "bad" if call.error is not None else "index"
    size = data[call.batch_dims + at[-1]] if call.by_tuple else data[call.axis]
    position, bad = resolve_position(call, value, size)
    return "bad" if bad or position is None else "negative" if value < 0 else "index"
