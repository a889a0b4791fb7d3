"""A call on a stored array and its report. All errors in arguments are raised before the first read or write."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import zarr
from numpy.typing import ArrayLike

from gatherscatter.arrays import convert
from gatherscatter.errors import OpTypeError, OpValueError, integer_fault
from gatherscatter.functions.chunked import ChunkedMovement, Route, Shape, Window, count_tuples
from gatherscatter.operation import BY_INDEX, Kernel, Operation
from gatherscatter.specs import calls
from gatherscatter.specs.table import OpVersion, slots_shape
from gatherscatter.system.progress import ChunkProgress

Progress = Callable[[int, int, int], None]  # chunks done, chunks in all, bytes moved
Stored: TypeAlias = "zarr.Array[Any]"
StoredOrPath: TypeAlias = "Stored | str | os.PathLike[str]"

BUDGET = 1 << 22  # largest number of tuples that are sorted by block at a time
TUPLE_BYTES = 64  # memory for a tuple while it is sorted
COPIES = 5  # copies of a block: as read, in the order of the tuples, changed, back in order, encoded


@dataclass(frozen=True)
class Report:
    """A report on the work of a call, or with ``dry_run=True`` on the work that it would do.

    Attributes
    ----------
    call : the function, and the reduction of a scatter
    tuples : number of index tuples
    chunks : number of chunks that the index tuples touch. If an array with shards is written, number of shards
    chunks_total : number of chunks of the array, or of its shards
    bytes_read, bytes_written : number of bytes, before compression
    resumed : number of chunks that an earlier run of the same job wrote
    snapshot : the id of the commit to Icechunk, or None
    dry_run : whether the call only reported, and neither read nor wrote anything
    """

    call: str
    tuples: int
    chunks: int
    chunks_total: int
    bytes_read: int
    bytes_written: int
    resumed: int = 0
    snapshot: str | None = None
    dry_run: bool = False

    def __str__(self) -> str:
        touched = f"{self.tuples} index tuples touch {self.chunks} of {self.chunks_total} chunks"
        moved = f"{self.bytes_read} bytes read, {self.bytes_written} bytes written"
        notes = [f"chunks that were written before: {self.resumed}"] if self.resumed else []
        notes += [f"snapshot {self.snapshot}"] if self.snapshot else []
        notes += ["nothing was done"] if self.dry_run else []
        return f"{self.call}: " + "; ".join([touched, moved, *notes])


@dataclass(frozen=True)
class Terms:
    """The terms on which a call runs; see `gatherscatter.zarr.scatter_update`."""

    num_threads: int | None = None
    workers: int = 4
    memory_limit: int | None = None
    lock_timeout: float | None = None
    progress: bool | Progress = False
    dry_run: bool = False
    job: str | None = None
    resume: bool | None = None

    def check(self, op: str) -> None:
        """Raise TypeError or ValueError for a value that is not valid."""
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
        if self.job is not None and not isinstance(self.job, str):
            raise OpTypeError(f"{op}: job must be a string, not {self.job!r}", op=op, input="job")

    def show_progress(self, op: str) -> AbstractContextManager[Progress]:
        """Return a context whose value is called with the progress."""
        if callable(self.progress):
            return nullcontext(self.progress)
        return ChunkProgress(op) if self.progress else nullcontext(lambda done, total, moved: None)


@dataclass(frozen=True)
class ChunkGrid:
    """A grid of equal blocks over an array. The last blocks can be smaller."""

    shape: Shape
    block: Shape

    @property
    def counts(self) -> Shape:
        """The number of blocks along each axis."""
        return tuple(-(-n // size) for n, size in zip(self.shape, self.block, strict=True))

    @property
    def size(self) -> int:
        """The number of blocks."""
        return math.prod(self.counts)

    def windows(self) -> Iterator[Window]:
        """Iterate over the windows of the blocks, in row-major order."""
        along = (
            [slice(start, min(start + size, n)) for start in range(0, n, size)]
            for size, n in zip(self.block, self.shape, strict=True)
        )
        return itertools.product(*along)


@dataclass(frozen=True)
class StoredCall:
    """A checked call.

    Attributes
    ----------
    array, grid : the array that is read or changed, and the blocks in which this is done
    move, route : the elements that the indices name, and the blocks in which these are
    slots : the shape of updates or of the result
    indices, updates : as given; updates are in the element type of the array
    """

    array: Stored
    grid: ChunkGrid
    move: ChunkedMovement
    route: Route
    slots: Shape
    indices: np.ndarray
    updates: np.ndarray | None = None

    @property
    def operation(self) -> Operation:
        """The gather or scatter."""
        return self.move.operation

    @property
    def op(self) -> str:
        """The name of the function in messages."""
        return self.operation.op

    @property
    def axes(self) -> Shape:
        """The axes of the array that are indexed."""
        return tuple(axis.number for axis in self.move.axes)

    @property
    def free(self) -> Shape:
        """The axes of the array that are not indexed."""
        return tuple(a for a in range(len(self.grid.shape)) if a not in self.axes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return np.dtype(self.array.dtype)

    @property
    def free_ranges(self) -> Window:
        """The full ranges of the axes that are not indexed."""
        return tuple(slice(0, self.grid.shape[a]) for a in self.free)

    def window(self, block: Shape, free: Window) -> Window:
        """Return the window of a block on the indexed axes and a window on the other axes."""
        return self.join(tuple(axis.window(b) for axis, b in zip(self.move.axes, block, strict=True)), free)

    def join(self, on_axes: tuple[Any, ...], on_free: tuple[Any, ...]) -> tuple[Any, ...]:
        """Merge items for the indexed axes and items for the others, in the order of the axes."""
        by_axis = dict(zip((*self.axes, *self.free), (*on_axes, *on_free), strict=True))
        return tuple(by_axis[axis] for axis in range(len(by_axis)))

    def free_windows(self, ranges: Window | None = None) -> list[tuple[Shape, Window]]:
        """Return the blocks along the axes that are not indexed: their numbers and windows.

        Windows are limited to ``ranges``, if given. Blocks outside are skipped.
        """
        along: list[list[tuple[int, slice]]] = []
        for axis, wanted in zip(self.free, self.free_ranges if ranges is None else ranges, strict=True):
            size = self.grid.block[axis]
            blocks = range(wanted.start // size, -(-wanted.stop // size)) if wanted.stop > wanted.start else range(0)
            along.append([(b, slice(max(b * size, wanted.start), min((b + 1) * size, wanted.stop))) for b in blocks])
        return [
            (tuple(b for b, _ in combination), tuple(s for _, s in combination))
            for combination in itertools.product(*along)
        ]

    def put_box_first(self, slots: np.ndarray) -> np.ndarray:
        """Return a view of slots with the axes of the positions first."""
        axes = self.move.slots_axes
        return np.moveaxis(slots, axes, range(len(axes))) if axes else slots[np.newaxis]

    def merge_axes(self, block: np.ndarray) -> np.ndarray:
        """Move the indexed axes of a block to the front and merge them. The first axis then has the rows."""
        front, count = np.moveaxis(block, self.axes, range(len(self.axes))), len(self.axes)
        return front.reshape(math.prod(front.shape[:count]), *front.shape[count:])

    def split_axes(self, rows: np.ndarray, shape: Shape) -> np.ndarray:
        """Undo `merge_axes` for a block of this shape."""
        front = rows.reshape([shape[a] for a in (*self.axes, *self.free)])
        return np.moveaxis(front, range(len(self.axes)), self.axes)

    def budgets(self, memory_limit: int | None, workers: int) -> tuple[int, int]:
        """Return how many tuples are sorted at a time, and how many blocks are processed at a time.

        Raises
        ------
        ValueError
            The limit is too small for one block and its updates.
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
        """The number of bytes of all touched blocks in memory."""
        return self.route.volume * math.prod(self.grid.shape[a] for a in self.free) * self.dtype.itemsize

    @property
    def block_bytes(self) -> int:
        """The number of bytes of a whole block in memory."""
        sizes = [min(size, n) for size, n in zip(self.grid.block, self.grid.shape, strict=True)]
        return math.prod(sizes) * self.dtype.itemsize


def check_call(operation: Operation, array: Any, indices: ArrayLike, updates: ArrayLike | None = None) -> StoredCall:
    """Check everything that can be known without reading the array.

    Raises
    ------
    IndexError, TypeError, ValueError
        The errors of the array function for data of this shape and type.
    """
    op, kernel = operation.op, operation.kernel
    array = open_array(op, "array", array, mode="r+" if kernel.is_scatter else "r")
    index = convert.as_indices(op, "indices", indices)
    kind = np.dtype(array.dtype)
    probe = np.broadcast_to(np.zeros((), kind), array.shape)  # takes no memory
    update = convert.cast(op, "updates", updates, "array", probe, widen=False) if kernel.is_scatter else None
    grid = ChunkGrid(array.shape, (array.shards or array.chunks) if kernel.is_scatter else array.chunks)
    chunks, shape = tuple((size,) for size in grid.block), None if update is None else update.shape
    move = ChunkedMovement.check_call(operation, kind, array.shape, chunks, index, shape)
    if update is not None:
        _try_elements(operation, kind)
    slots = slots_shape(kernel, array.shape, index.shape, operation.axis, operation.batch_dims)
    touched = count_tuples(move, index, (0,) * len(move.positions))
    return StoredCall(array, grid, move, touched, slots, index, update)


def open_array(op: str, name: str, given: Any, *, mode: Literal["r", "r+"]) -> Stored:
    """Return the given array of Zarr, or open the one at a path.

    Raises
    ------
    TypeError
        It is a group, or not an array of Zarr.
    FileNotFoundError
        There is no array at the path.
    """
    found, at = given, None
    if isinstance(given, str | os.PathLike):
        at = os.fspath(given)
        try:
            found = zarr.open(at, mode=mode)
        except (FileNotFoundError, FileExistsError, NotADirectoryError, ValueError):
            raise FileNotFoundError(f"{op}: there is no array of Zarr at {at!r}") from None
    if isinstance(found, zarr.Group):
        text = f"{op}: {name if at is None else repr(at)} is a group"
        if arrays := dict(sorted(found.arrays())):
            likely = max(arrays, key=lambda key: arrays[key].ndim)  # coordinates have fewer dimensions
            line = f"group[{likely!r}]" if at is None else repr(f"{at}/{likely}")
            text += f" with the arrays {', '.join(map(repr, arrays))}; give {line}"
        else:
            text += ", not an array"
        raise OpTypeError(text, op=op, input=name)
    if not isinstance(found, zarr.Array):
        text = f"{op}: {name} must be an array of Zarr, as zarr.open_array returns it, or the path of one"
        raise OpTypeError(f"{text}, not {type(found).__name__}", op=op, input=name)
    return found


def _try_elements(operation: Operation, kind: np.dtype[Any]) -> None:
    """Raise the error of the kernel if it can't reduce elements of this type."""
    if kind.kind in "US" and operation.reduction != "none":
        text = f"{operation.op}: text of a fixed width can't be concatenated in place; store it with variable width"
        raise OpTypeError(text, op=operation.op, input="array")
    on_elements = operation._replace(kernel=Kernel.SCATTER_ND, mode="raise")
    convert.execute(on_elements, np.zeros(1, kind), np.zeros((0, 1), np.int64), np.zeros(0, kind))


def version_call(
    row: OpVersion, array: Stored, inputs: Sequence[np.ndarray | None], attributes: dict[str, Any]
) -> StoredCall:
    """Return a checked call of an op version. Its first input is a stored array, the others are in memory.

    Raises
    ------
    TypeError, ValueError, IndexError
        The errors of the op version for data of this shape and type. Two kinds of op versions can't be called: those
        that are not gathers or scatters by index, and those that reshape their result at the end (GatherND-5).
    """
    if row.kernel not in BY_INDEX or row.finish is not None:
        raise OpTypeError(f"{row.name} can't be applied to an array of Zarr", op=row.name, input=row.inputs[0].name)
    probe = np.broadcast_to(np.zeros((), np.dtype(array.dtype)), array.shape)  # no memory
    arrays, values = calls.check_inputs(row, (probe, *inputs), attributes)
    arrays, operation = calls.prepare_call(row, arrays, values)
    return check_call(operation, array, *arrays[1:])
