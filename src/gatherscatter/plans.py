"""Plans as Python sees them: plain frozen data that one can print, compare, hash and pickle.

Every operator but GatherTree is one of two movements. The core computes which, from shapes alone; this is its answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from gatherscatter import _core

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Rows:
    """An index tuple names a whole row.

    ``data`` is seen as [batch, outer, prod(dims), width], the slots (a gather's output, a scatter's updates) as
    [batch, outer, count, width], the indices as [batch, count, len(dims)].
    """

    batch: int
    outer: int
    count: int
    width: int
    dims: Shape
    slots: Shape


@dataclass(frozen=True)
class Lanes:
    """Each element of the index box names its own position along one axis.

    ``count`` is the box's length along the axis, ``size`` and ``stride`` are data's; ``before`` and ``after`` are the
    other dims, merged where possible, with their strides in data. Strides are in elements.
    """

    before: Shape
    before_stride: Shape
    count: int
    size: int
    stride: int
    after: Shape
    after_stride: Shape
    slots: Shape


def plan(kernel: str, data_shape: Shape, indices_shape: Shape, *, axis: int = 0, batch_dims: int = 0) -> Rows | Lanes:
    """The plan of an array function for some shapes.

    >>> plan("gather_nd", (4, 5, 6), (7, 2))
    Rows(batch=1, outer=1, count=7, width=6, dims=(4, 5), slots=(7, 6))

    Raises
    ------
    ValueError
        Names the fault of the shapes.
    """
    facts = _core.plan(kernel, data_shape, indices_shape, axis, batch_dims)
    form = Rows if facts.pop("form") == "rows" else Lanes
    return form(**facts)
