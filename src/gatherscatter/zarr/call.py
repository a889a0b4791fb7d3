"""A call on a stored array, with all that can be wrong with it found out before the first read or write."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import zarr
from numpy.typing import ArrayLike

from gatherscatter import _arrays, plans
from gatherscatter.errors import OpTypeError, OpValueError, integer_fault
from gatherscatter.zarr.blocks import Grid, Route, Window, join, route
from gatherscatter.zarr.tuples import Shape, Tuples, check, tuples_of

Stored: TypeAlias = "zarr.Array[Any]"

BUDGET = 1 << 22  # tuples that are sorted by block in one go: they take 64 bytes each on the way
TUPLE_BYTES = 64
COPIES = 5  # of a block: as read, in the order of the tuples, changed, back in order, encoded


@dataclass(frozen=True)
class Options:
    """What a scatter does with updates, as the array functions know it."""

    reduction: str = "none"
    include_self: bool = True
    accumulate: str = "step"

    def __str__(self) -> str:
        return self.reduction + ("" if self.include_self else ", include_self=False")


@dataclass(frozen=True)
class Terms:
    """How a call is carried out; see `gatherscatter.zarr.scatter_update`."""

    num_threads: int | None = None
    workers: int = 4
    memory_limit: int | None = None
    lock_timeout: float | None = None

    def check(self, op: str) -> None:
        """Raise TypeError or ValueError for a value that makes no sense."""
        for name in ("num_threads", "workers", "memory_limit"):
            value = getattr(self, name)
            if value is None and name != "workers":
                continue
            if not isinstance(value, int | np.integer):
                integer_fault(op, name, value)
            if value < 1:
                raise OpValueError(f"{op}: {name} must be at least 1, not {value}", op=op, input=name)
        seconds = self.lock_timeout
        if seconds is not None and not (isinstance(seconds, int | float) and seconds >= 0):
            text = f"{op}: lock_timeout must be a number of seconds, not {self.lock_timeout!r}"
            raise OpValueError(text, op=op, input="lock_timeout")


@dataclass(frozen=True)
class Call:
    """A checked call.

    Attributes
    ----------
    op : the name of the function
    array, grid : what is read, and written by scatters, and the blocks in which that is done
    tuples, route : what the indices name, and in which blocks it is
    free, slots : the axes of the array that are not indexed, and the shape of updates or of the result
    indices, updates, options : as given, in the element type of the array
    """

    op: str
    array: Stored
    grid: Grid
    tuples: Tuples
    route: Route
    free: Shape
    slots: Shape
    indices: np.ndarray
    updates: np.ndarray | None = None
    options: Options = field(default_factory=Options)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return np.dtype(self.array.dtype)

    @property
    def free_ranges(self) -> Window:
        """All there is along the axes that are not indexed."""
        return tuple(slice(0, self.grid.shape[a]) for a in self.free)

    def window(self, block: Shape, free: Window) -> Window:
        """Where a block on the indexed axes and a window on the others meet."""
        own = self.route.grid.window(block)
        return join(self.tuples.axes, own, self.free, free)

    def budgets(self, memory_limit: int | None, workers: int) -> tuple[int, int]:
        """How many tuples are sorted at a time, and how many blocks are worked on at a time.

        Raises
        ------
        ValueError
            The limit does not hold one block and its updates.
        """
        if memory_limit is None:
            return BUDGET, workers
        tuples = max(min(BUDGET, memory_limit // 4 // TUPLE_BYTES), 1)
        most = int(self.route.counts.max(initial=0))
        widths = [min(self.grid.block[a], self.grid.shape[a]) for a in self.free]
        block = COPIES * self.block_bytes + most * (TUPLE_BYTES + 2 * math.prod(widths) * self.dtype.itemsize)
        possible = (memory_limit - tuples * TUPLE_BYTES) // max(block, 1)
        if possible < 1 and most:
            raise OpValueError(
                f"{self.op}: memory_limit of {memory_limit} bytes is too small: a chunk of {self.block_bytes} bytes "
                f"and up to {most} tuples in it take about {block + tuples * TUPLE_BYTES}",
                op=self.op,
                input="memory_limit",
            )
        return tuples, min(workers, max(possible, 1))

    @property
    def touched_bytes(self) -> int:
        """How many bytes the touched blocks take in memory, all together."""
        return self.route.volume * math.prod(self.grid.shape[a] for a in self.free) * self.dtype.itemsize

    @property
    def block_bytes(self) -> int:
        """How many bytes a whole block takes in memory."""
        sizes = [min(size, n) for size, n in zip(self.grid.block, self.grid.shape, strict=True)]
        return math.prod(sizes) * self.dtype.itemsize


def checked_call(
    op: str,
    kernel: str,
    array: Any,
    indices: ArrayLike,
    updates: ArrayLike | None = None,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    mode: str = "raise",
    negative: bool = True,
    options: Options | None = None,
) -> Call:
    """Check everything that can be known without reading the array. ``op`` is what messages call the ``kernel``.

    Raises
    ------
    IndexError, TypeError, ValueError
        What the array function raises for data of that shape and type.
    """
    scatter = kernel.startswith("scatter")
    options = options or Options()
    check_array(op, "array", array)
    index = _arrays.as_indices(op, "indices", indices)
    kind = np.dtype(array.dtype)
    probe = np.broadcast_to(np.zeros((), kind), array.shape)  # no memory
    update = _arrays.cast(op, "updates", updates, "array", probe, widen=False) if scatter else None
    extra: dict[str, Any] = vars(options) if scatter else {}
    made = plans.plan(kernel, probe, index, update, axis=axis, batch_dims=batch_dims, mode=mode, **extra)
    if update is not None:
        _try_elements(op, kind, options)
    if batch_dims < 0:
        batch_dims += index.ndim
    tuples = tuples_of(kernel, array.shape, index, axis, batch_dims, mode, negative)
    check(op, kernel, array.shape, index, axis, batch_dims, tuples)
    grid = Grid(array.shape, (array.shards or array.chunks) if scatter else array.chunks)
    free = tuple(a for a in range(array.ndim) if a not in tuples.axes)
    slots = made.movement.slots if update is None else update.shape
    return Call(op, array, grid, tuples, route(tuples, grid), free, slots, index, update, options)


def check_array(op: str, name: str, array: Any) -> None:
    """Only arrays of Zarr will do."""
    if not isinstance(array, zarr.Array):
        text = f"{op}: {name} must be an array of Zarr, as zarr.open_array gives it, not {type(array).__name__}"
        raise OpTypeError(text, op=op, input=name)


def _try_elements(op: str, kind: np.dtype[Any], options: Options) -> None:
    """Raise what the kernel has against reducing elements of a type."""
    if kind.kind in "US" and options.reduction != "none":
        text = f"{op}: text of a fixed width can't be concatenated in place; store it with variable width"
        raise OpTypeError(text, op=op, input="array")
    nothing = np.zeros(0, kind)
    _arrays.execute(op, "scatter_nd", np.zeros(1, kind), np.zeros((0, 1), np.int64), nothing, **vars(options))
