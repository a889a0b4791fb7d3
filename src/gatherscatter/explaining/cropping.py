"""Which parts of large arrays are drawn."""

from __future__ import annotations

from itertools import islice, product

from gatherscatter.explaining.call import Coordinates
from gatherscatter.explaining.moves import Region
from gatherscatter.explaining.trace import sample_positions

MOST_ROWS, MOST_COLUMNS, MOST_PANES = 8, 9, 3
MOST_IN_STACK = 5  # rows and columns where there are several panes

Order = tuple[int | None, ...]  # the axes of an array from the outermost to columns; None where there is none


def choose_panes(shape: Coordinates, order: Order, regions: list[Region]) -> list[Coordinates]:
    """Which panes are drawn: those that moves touch, and the first ones."""
    axes = [axis for axis in order[:-2] if axis is not None]
    sizes = [shape[axis] for axis in axes]
    found: dict[Coordinates, None] = {}
    for region in regions:
        whole = [range(size if size <= MOST_PANES else 2) for size in sizes]
        ranges = [whole[n] if (at := region.key[axis]) is None else (at,) for n, axis in enumerate(axes)]
        found |= dict.fromkeys(islice(product(*ranges), MOST_PANES))
    found |= dict.fromkeys(islice(product(*map(range, sizes)), MOST_PANES))
    return sorted(list(found)[:MOST_PANES])


def is_in_pane(region: Region, order: Order, lead: Coordinates) -> bool:
    """Whether a region is in a pane."""
    return all(axis is None or region.key[axis] in (None, n) for axis, n in zip(order, lead, strict=False))


def choose_positions(
    shape: Coordinates, axis: int | None, regions: list[Region], most: int, panes: int
) -> tuple[int, ...]:
    """The positions on the axis of rows, or of columns, that are drawn in a pane."""
    if axis is None:
        return (0,)
    wanted = list(dict.fromkeys(n for region in regions if (n := region.key[axis]) is not None))
    is_whole = any(region.key[axis] is None for region in regions)
    return _crop_axis(shape[axis], wanted, most if panes == 1 else min(most, MOST_IN_STACK), is_whole)


def _crop_axis(size: int, wanted: list[int], most: int, is_whole: bool) -> tuple[int, ...]:
    """All positions of a short axis; of a long one those wanted, and the first and the last."""
    if size <= most:
        return tuple(range(size))
    if is_whole and not wanted:
        sampled = sample_positions(size)
        return sampled if len(sampled) <= most else (*range(most - 1), size - 1)
    ends = [*range(most - 2), size - 1] if not wanted else [0, size - 1]
    kept = sorted({*wanted[: max(1, most - 2)], *(ends if most > 2 else ())})
    filled = [*kept, *(n for n in range(most) if n not in kept)]
    return tuple(sorted(filled[:most] if not wanted else filled[: max(len(kept), min(most, len(kept) + 2))]))
