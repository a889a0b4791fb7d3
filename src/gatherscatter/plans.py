"""Plans as Python sees them: what a call will do, and why, as plain frozen data that one can print, compare and pickle.

Every operator but GatherTree is one of two movements. The core computes which, from shapes alone, and how the work is
divided between threads, from sizes; this is its answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _arrays, _core, _strings
from gatherscatter.errors import OpTypeError

Shape = tuple[int, ...]

KERNELS = ("gather", "gather_elements", "gather_nd", "scatter_update", "scatter_elements", "scatter_nd")


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


def movement(
    kernel: str, data_shape: Shape, indices_shape: Shape, *, axis: int = 0, batch_dims: int = 0
) -> Rows | Lanes:
    """The movement of an array function for some shapes.

    >>> movement("gather_nd", (4, 5, 6), (7, 2))
    Rows(batch=1, outer=1, count=7, width=6, dims=(4, 5), slots=(7, 6))

    Raises
    ------
    ValueError
        Names the fault of the shapes.
    """
    facts = _core.plan(kernel, data_shape, indices_shape, axis, batch_dims)
    form = Rows if facts.pop("form") == "rows" else Lanes
    return form(**facts)


@dataclass(frozen=True)
class CallPlan:
    """What a call will do; `plan` makes it.

    Attributes
    ----------
    function : the array function
    movement : the movement that follows from the shapes
    threads : how many threads will take part
    split : what they divide between them: 'nothing', 'lines', 'tuples', 'columns', 'rows', 'elements' or 'ordered'
    scratch_bytes : memory that the kernel needs beside the output
    copies : the arguments that are copied first
    steps : what will happen and why, one sentence each
    """

    function: str
    movement: Rows | Lanes
    threads: int
    split: str
    scratch_bytes: int
    copies: tuple[str, ...]
    steps: tuple[str, ...]

    def __str__(self) -> str:
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        head = f"{self.function}: {threads}, {self.scratch_bytes} bytes beside the output"
        return "\n".join([head, *(f"  {step}" for step in self.steps)])


_SPLITS = {
    "nothing": "one thread does it all: the work is too small, or memory or the cache sets the pace",
    "lines": "threads divide the batch dims and those before the axis, which never meet",
    "tuples": "threads divide the indices",
    "columns": "threads divide the width of the rows; each looks at all indices",
    "rows": "threads divide the destination rows; each looks at all indices and picks its own, so order is kept",
    "elements": "threads divide the destination; batches of updates are sorted by owner first, so order is kept",
    "ordered": "threads divide the destination, and the indices with it, if they are all in such order as samples show",
}


def plan(
    function: str,
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike | None = None,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    out: Any = None,
    num_threads: int | None = None,
) -> CallPlan:
    """Say which path a call takes, and why, without running it.

    Parameters
    ----------
    function : the name of an array function: 'gather', 'gather_elements', 'gather_nd', 'scatter_update',
        'scatter_elements' or 'scatter_nd'
    data, indices, updates, ... : what the function would be called with

    Raises
    ------
    TypeError, ValueError
        What the call would raise for types, shapes and attributes. Indices and ``out`` are not checked.

    >>> import numpy as np, gatherscatter as gs
    >>> print(gs.plan("gather", np.zeros((100, 8))[:, ::2], np.array([3, 1]), num_threads=2))
    gather: 1 thread, 0 bytes beside the output
      2 index tuples name rows of 4 elements
      data is not contiguous, and is read where it lies
      one thread does it all: the work is too small, or memory or the cache sets the pace
    """
    if function not in KERNELS:
        raise OpTypeError(f"plan: function must be one of {', '.join(KERNELS)}, not {function!r}", op="plan")
    array = _arrays.as_array(function, "data", data)
    index = _arrays.as_indices(function, "indices", indices)
    update = _arrays.cast(function, "updates", updates, "data", array) if function.startswith("scatter") else None
    if _strings.needs_numbers(array, update, reduction):
        array, update = _numbers(array), None if update is None else _numbers(update)
    if reduction != "none" and update is not None and not array.dtype.isnative:
        array, update = (each.astype(each.dtype.newbyteorder("=")) for each in (array, update))
    facts = _core.explain(
        function, function, array, index, update, axis, batch_dims, reduction, include_self, accumulate, mode, True,
        out, num_threads,
    )  # fmt: skip
    if (
        update is not None
        and out is not None
        and out is not data
        and _arrays.accumulates(reduction, accumulate, include_self)
    ):
        facts["scratch"] += 0 if facts["made_apart"] else array.nbytes
        facts["made_apart"] = True
    facts["checked_first"] = out is not None and not facts["made_apart"]
    made = movement(function, array.shape, index.shape, axis=axis, batch_dims=batch_dims)
    copies = _copies(facts, {"data": (data, array), "indices": (indices, index), "updates": (updates, update)})
    return CallPlan(
        function, made, facts["threads"], facts["split"], facts["scratch"], copies, _steps(made, facts, copies)
    )


def _numbers(array: np.ndarray) -> np.ndarray:
    """What the core is given in place of strings and objects."""
    return np.empty(array.shape, np.int64)


def _copies(facts: dict[str, Any], arguments: dict[str, tuple[Any, Any]]) -> tuple[str, ...]:
    made = [name for name, (given, array) in arguments.items() if given is not array and given is not None]
    if not facts["scatter"] and not facts["data_in_order"] and not facts["data_in_place"]:
        made.append("data")
    made += [name for name in ("indices", "updates") if not facts[f"{name}_in_order"]]
    return tuple(dict.fromkeys(made))


def _steps(made: Rows | Lanes, facts: dict[str, Any], copies: tuple[str, ...]) -> tuple[str, ...]:
    steps = []
    if isinstance(made, Rows):
        steps.append(f"{made.batch * made.count} index tuples name rows of {made.width} elements")
    elif facts["form"] == "rows":
        steps.append("the indices only repeat off the axis: they are taken as one line, which names whole rows")
    else:
        steps.append("each index names the position of one element along the axis")
    if facts["data_in_place"]:
        steps.append("data is not contiguous, and is read where it lies")
    steps += [f"{name} is copied first: it is not contiguous, or no array of a fitting type" for name in copies]
    if facts["checked_first"]:
        steps.append("all indices are checked before the first write")
    if facts["made_apart"]:
        steps.append("the result is made apart and then copied to out")
    if facts["tile"]:
        steps.append(f"{facts['tile']} columns are taken at a time, so that what they touch stays in the cache")
    if facts["far"]:
        steps.append("memory is asked for in advance: the cache does not hold it all")
    if facts["scratch"]:
        steps.append(f"{facts['scratch']} bytes hold sums, counts or batches on the way")
    return (*steps, _SPLITS[facts["split"]])
