"""Plans as Python sees them: what a call will do, and why, as plain frozen data that one can print, compare and pickle.

Gathers and scatters are one of two movements. The core decides which, from shapes and strides. It also decides how
threads divide the work, from sizes and samples of the indices. `gather_reduce` is a third movement, for which it looks
at where bags begin. A plan reports these decisions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert, strings
from gatherscatter.arrays.interop import to_numpy_arguments
from gatherscatter.errors import OpTypeError
from gatherscatter.functions import gather_reduce

Shape = tuple[int, ...]

KERNELS = ("gather", "gather_elements", "gather_nd", "scatter_update", "scatter_elements", "scatter_nd")
_BAGS = "gather_reduce"


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


@dataclass(frozen=True)
class BagRows:
    """Members of bags name rows of ``width`` elements. Each bag becomes one row."""

    count: int
    members: int
    width: int


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
    return _as_movement(_core.plan(kernel, data_shape, indices_shape, axis, batch_dims))


def _as_movement(facts: dict[str, Any]) -> Rows | Lanes:
    form = Rows if facts.pop("form") == "rows" else Lanes
    return form(**facts)


@dataclass(frozen=True)
class CallPlan:
    """What a call will do; `plan` makes it.

    Attributes
    ----------
    function : the array function
    movement : the movement that the kernel makes. It follows from the shapes and from the strides of data and indices
    threads : how many threads will take part
    split : what they divide between them: 'nothing', 'lines', 'tuples', 'columns', 'rows', 'elements', 'ordered' or
        'bags'
    scratch_bytes : the most memory that the call takes beside its inputs and its result: `copied_bytes`, and what the
        kernel needs for sums, counts and batches, or where bags begin and which rows they have. Exact for numbers in
        NumPy arrays, except for what exact sums that don't fit take; for lists, text and objects an upper bound. For
        arguments of `gather_reduce` that are converted, too
    copied_bytes : the part of it for copies: of inputs that are converted or put in order, of numbers that stand for
        text and objects, and of a result that is copied to ``out`` in the end
    copies : the arguments that are copied first
    instruction_set : the instruction set whose loops run: 'baseline', 'avx2' or 'avx512'. The environment variable
        GATHERSCATTER_INSTRUCTION_SET chooses an older one than the processor has. All give the same bits
    hardware_gather : whether the processor gathers elements of 4 or 8 bytes by one instruction. The first call measures
        whether that is faster. The environment variable GATHERSCATTER_HARDWARE_GATHER=0 or =1 decides instead
    cache_bytes : how many bytes of data are taken to stay in the caches. It follows from what the system reports. The
        environment variable GATHERSCATTER_CACHE_BYTES sets another number
    steps : what will happen and why, one sentence each
    """

    function: str
    movement: Rows | Lanes | BagRows
    threads: int
    split: str
    scratch_bytes: int
    copied_bytes: int
    copies: tuple[str, ...]
    instruction_set: str
    hardware_gather: bool
    cache_bytes: int
    steps: tuple[str, ...]

    def __str__(self) -> str:
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        head = f"{self.function}: {threads}, {self.scratch_bytes} bytes beside inputs and output"
        return "\n".join([head, *(f"  {step}" for step in self.steps)])


_SPLITS = {
    "nothing": "one thread does it all: the work is too small, or memory or the cache sets the pace",
    "lines": "threads divide the batch dims and those before the axis, which never meet",
    "tuples": "threads divide the indices",
    "columns": "threads divide the width of the rows; each looks at all indices",
    "rows": "threads divide the destination rows; each looks at all indices and picks its own, so order is kept",
    "elements": "threads divide the destination; batches of updates are sorted by owner first, so order is kept",
    "ordered": "threads divide the destination, and the indices with it, if they are all in such order as samples show",
    "bags": "threads divide the bags, by the number of members",
}


def plan(
    function: str,
    data: ArrayLike,
    indices: ArrayLike | None = None,
    updates: ArrayLike | None = None,
    **options: Any,
) -> CallPlan:
    """Say which path a call takes, and why, without running it.

    Parameters
    ----------
    function : the name of an array function: 'gather', 'gather_elements', 'gather_nd', 'scatter_update',
        'scatter_elements', 'scatter_nd' or 'gather_reduce'
    data, indices, updates, ... : what the function would be called with

    Raises
    ------
    TypeError, ValueError
        What the call would raise for types, shapes and attributes. The values of indices are not checked. Those of
        ``offsets`` and ``segment_ids`` are, since it depends on them how threads divide the bags.

    >>> import numpy as np, gatherscatter as gs
    >>> print(gs.plan("gather", np.zeros((100, 8))[:, ::2], np.array([3, 1]), num_threads=2))
    gather: 1 thread, 0 bytes beside inputs and output
      2 index tuples name rows of 4 elements
      data is not contiguous, and is read where it lies
      one thread does it all: the work is too small, or memory or the cache sets the pace
    >>> print(gs.plan("gather_reduce", np.zeros((100, 8)), np.array([[3, 1], [4, 1]]), weights=np.ones((2, 2))))
    gather_reduce: 1 thread, 24 bytes beside inputs and output
      4 members of 2 bags name rows of 8 elements
      the gathered rows are not stored: they are reduced in registers
      24 bytes hold where bags begin and which rows they have
      one thread does it all: the work is too small, or memory or the cache sets the pace
    """
    if function not in (*KERNELS, _BAGS):
        names = ", ".join((*KERNELS, _BAGS))
        raise OpTypeError(f"plan: function must be one of {names}, not {function!r}", op="plan")
    make: Callable[..., CallPlan] = _plan_bags if function == _BAGS else partial(_plan_kernel, function)
    given = options if updates is None else {"updates": updates, **options}
    for name in given.keys() - signature(make).parameters:
        raise OpTypeError(f"plan: {function} has no parameter {name!r}", op="plan")
    return make(data, indices, **given)


def _plan_kernel(
    function: str,
    data: ArrayLike,
    indices: ArrayLike | None,
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
    given: dict[str, Any] = {"data": data, "indices": indices, "updates": updates, "out": out}
    if converted := to_numpy_arguments(function, given):
        given = converted.values
    call = convert.prepare_arguments(function, function, reduction=reduction, **given)
    numbers, core_reduction = (call.data, call.updates), reduction
    if call.is_text:  # the core is given numbers in place of strings and objects
        numbers = (
            np.empty(call.data.shape, np.int64),
            None if call.updates is None else np.empty(call.updates.shape, np.int64),
        )
        core_reduction = "none"
    facts = _core.describe_call(
        function, function, numbers[0], call.indices, numbers[1], axis, batch_dims, core_reduction, include_self,
        accumulate, mode, True, call.out, num_threads,
    )  # fmt: skip
    made = _as_movement(facts["plan"])
    own_bytes = strings.scratch_bytes(call.data, call.updates, math.prod(made.slots), reduction) if call.is_text else 0
    if out is not None and call.out is None:
        facts["made_apart"] = True
        own_bytes += math.prod(made.slots if call.updates is None else call.data.shape) * call.data.itemsize
    copies = tuple(name for name in given if name in call.made or facts.get(f"copies_{name}"))
    copied = sum(call.made.values()) + facts["copied_bytes"] + own_bytes
    return CallPlan(
        function,
        made,
        facts["threads"],
        facts["split"],
        copied + facts["kernel_bytes"],
        copied,
        copies,
        facts["instruction_set"],
        facts["hardware_gather"],
        facts["cache_bytes"],
        _steps(function, made, facts, copies, call.is_text),
    )


def _plan_bags(
    data: ArrayLike,
    indices: ArrayLike | None,
    *,
    offsets: ArrayLike | None = None,
    segment_ids: ArrayLike | None = None,
    num_segments: int | None = None,
    weights: ArrayLike | None = None,
    reduction: str = "add",
    default: ArrayLike = 0,
    accumulate: str = "step",
    mode: str = "raise",
    out: Any = None,
    num_threads: int | None = None,
) -> CallPlan:
    given: dict[str, Any] = {"data": data, "indices": indices, "offsets": offsets, "segment_ids": segment_ids,
                             "weights": weights, "out": out}  # fmt: skip
    if converted := to_numpy_arguments(_BAGS, given):
        given = converted.values
    call = gather_reduce.prepare_arguments(
        _BAGS, **given, num_segments=num_segments, reduction=reduction, default=default, accumulate=accumulate,
        mode=mode,
    )  # fmt: skip
    bags = call.bags
    made = BagRows(len(bags.starts) - 1, int(bags.starts[-1]), math.prod(call.data.shape[1:]))
    facts = _core.describe_bags(
        call.data.dtype.newbyteorder("="), made.width, bags.starts, call.weights is not None, reduction, accumulate,
        mode == "fill", num_threads,
    )  # fmt: skip
    later = gather_reduce.find_copies(call)
    copied = sum(call.made.values()) + sum(later.values())
    if out is not None:
        copied += math.prod(call.shape) * call.data.itemsize
    scratch = gather_reduce.count_scratch(call, mode, facts["kernel_bytes"])
    copies = tuple(name for name in (*given, "default") if name in call.made or name in later)
    steps = [
        f"{made.members} members of {made.count} bags name rows of {made.width} elements",
        "the gathered rows are not stored: "
        + ("a few at a time are copied and combined" if facts["gathers_rows"] else "they are reduced in registers"),
        *_copy_steps(copies),
    ]
    if bags.order is not None:
        steps.append("the members are put in the order of their bags")
    if out is not None:
        steps.append(_APART)
    held = "where bags begin, which rows they have, sums and a few rows"
    if not facts["kernel_bytes"]:
        held = "where bags begin and which rows they have"
    steps.append(f"{scratch - copied} bytes hold {held}")
    if facts["divides_columns"]:
        steps.append("threads divide the columns of bags with very many members")
    split = "bags" if facts["threads"] > 1 else "nothing"
    return CallPlan(
        _BAGS,
        made,
        facts["threads"],
        split,
        scratch,
        copied,
        copies,
        facts["instruction_set"],
        facts["hardware_gather"],
        facts["cache_bytes"],
        (*steps, _SPLITS[split]),
    )


def _copy_steps(copies: tuple[str, ...]) -> list[str]:
    return [f"{name} is copied first: it is not contiguous, or no array of a fitting type" for name in copies]


_APART = "the result is made in an array of its own and then copied to out"


def _steps(
    function: str, made: Rows | Lanes, facts: dict[str, Any], copies: tuple[str, ...], is_text: bool
) -> tuple[str, ...]:
    steps = []
    if isinstance(made, Lanes):
        steps.append("each index names the position of one element along the axis")
    elif function.endswith("_elements"):
        steps.append("the indices only repeat off the axis: they are taken as one line, which names whole rows")
    else:
        steps.append(f"{made.batch * made.count} index tuples name rows of {made.width} elements")
    if is_text:
        steps.append("numbers stand for the elements, and NumPy moves these afterwards")
    if facts["reads_strides"]:
        steps.append("data is not contiguous, and is read where it lies")
    steps += _copy_steps(copies)
    if facts["checked_first"]:
        steps.append("all indices are checked before the first write")
    if facts["made_apart"]:
        steps.append(_APART)
    if facts["tile"]:
        steps.append(f"{facts['tile']} columns are taken at a time, so that what they touch stays in the cache")
    if facts["prefetch"]:
        steps.append("memory is asked for in advance: a cache does not hold it all")
    if facts["stream"]:
        written = "the copy of data" if function.startswith("scatter") else "the result"
        steps.append(f"{written} is written past the caches: it is large, and its lines need not be loaded first")
    if facts["kernel_bytes"]:
        steps.append(f"{facts['kernel_bytes']} bytes hold sums, counts or batches on the way")
    return (*steps, _SPLITS[facts["split"]])
