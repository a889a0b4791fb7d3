"""Plans of calls, as frozen data that can be printed, compared and pickled.

The core runs each gather and scatter as one of two movements, rows or lanes. Shapes and strides decide which. Sizes and
samples of the indices decide how threads divide the work. `gather_reduce` is a third movement, and the positions where
bags begin decide how threads divide it. A plan reports these decisions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert, strings
from gatherscatter.arrays.interop import to_numpy_arguments
from gatherscatter.errors import check_effects, keyword_fault, make_choice_error
from gatherscatter.functions import gather_quantized, gather_reduce

Shape = tuple[int, ...]

KERNELS = ("gather", "gather_elements", "gather_nd", "scatter_update", "scatter_elements", "scatter_nd")
_BAGS = "gather_reduce"
_QUANTIZED = "gather_quantized"


@dataclass(frozen=True)
class Rows:
    """Each index tuple names a whole row.

    ``data`` has the form [batch, outer, prod(dims), width], and the indices [batch, count, len(dims)]. The slots, which
    are a gather's output or a scatter's updates, have the form [batch, outer, count, width].
    """

    batch: int
    outer: int
    count: int
    width: int
    dims: Shape
    slots: Shape


@dataclass(frozen=True)
class Lanes:
    """Each index names the position of one element along one axis.

    ``count`` is the length of the indices along the axis, and ``size`` and ``stride`` are those of data. ``before`` and
    ``after`` are the other dims, merged where possible, with their strides in data. Strides are in elements.
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
class TableRows:
    """Indices name ``count`` rows of ``width`` numbers of a quantized table."""

    count: int
    width: int


@dataclass(frozen=True)
class BagRows:
    """Members of bags name rows of ``width`` elements. Each bag is reduced to one row."""

    count: int
    members: int
    width: int


def movement(
    kernel: str, data_shape: Shape, indices_shape: Shape, *, axis: int = 0, batch_dims: int = 0
) -> Rows | Lanes:
    """Return the movement of an array function for some shapes.

    >>> movement("gather_nd", (4, 5, 6), (7, 2))
    Rows(batch=1, outer=1, count=7, width=6, dims=(4, 5), slots=(7, 6))

    Raises
    ------
    ValueError
        The shapes are not valid. The message is the name of the fault.
    """
    return _as_movement(_core.plan(kernel, data_shape, indices_shape, axis, batch_dims))


def _as_movement(facts: dict[str, Any]) -> Rows | Lanes:
    form = Rows if facts.pop("form") == "rows" else Lanes
    return form(**facts)


@dataclass(frozen=True)
class CallPlan:
    """The plan of a call, made by `plan`.

    Attributes
    ----------
    function : the array function
    movement : the movement of the kernel. It follows from the shapes, and from the strides of data and indices
    threads : the number of threads
    split : the work that the threads divide: 'nothing', 'lines', 'tuples', 'columns', 'rows', 'elements', 'ordered',
        'updates' or 'bags'. A sentence in `steps` describes it
    scratch_bytes : the largest amount of memory, in bytes, that the call needs in addition to its inputs and its
        result. It is the sum of `copied_bytes` and of the memory of the kernel: for sums, counts and batches, or for
        the starts and rows of bags. It is exact for numbers in NumPy arrays, except for the long integers that
        ``accumulate='exact'`` needs for some sums. It is an upper bound for lists, text and objects, and for arguments
        of `gather_reduce` that are converted
    copied_bytes : the part of `scratch_bytes` for copies: of inputs that are converted or made contiguous, of rows
        that are gathered first, of numbers that represent text and objects, and of a result that is copied to ``out``
        at the end
    copies : the arguments that are copied first
    instruction_set : the instruction set of the loops: 'baseline', 'avx2' or 'avx512'. The environment variable
        GATHERSCATTER_INSTRUCTION_SET chooses an older one than the processor has. The result is bit-for-bit identical
    cache_bytes : the number of bytes of data that are assumed to stay in the caches. It follows from the cache sizes
        that the system reports. The environment variable GATHERSCATTER_CACHE_BYTES sets another number
    steps : the steps of the call and their reasons, one sentence each
    """

    function: str
    movement: Rows | Lanes | BagRows | TableRows
    threads: int
    split: str
    scratch_bytes: int
    copied_bytes: int
    copies: tuple[str, ...]
    instruction_set: str
    cache_bytes: int
    steps: tuple[str, ...]

    def __str__(self) -> str:
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        head = f"{self.function}: {threads}, {self.scratch_bytes} bytes of scratch memory"
        return "\n".join([head, *(f"  {step}" for step in self.steps)])


_SPLITS = {
    "nothing": "one thread does all the work, because several threads would not be faster",
    "lines": "threads divide the batch dims and the dims before the axis, which are independent",
    "tuples": "threads divide the indices",
    "columns": "threads divide the width of the rows; each reads all indices",
    "rows": "threads divide the destination rows; each reads all indices and uses its own, so order is kept",
    "elements": "threads divide the destination; batches of updates are sorted by thread first, so order is kept",
    "ordered": "threads divide the destination and the indices, if all indices are as well ordered as the samples",
    "updates": "threads divide the updates; each has a copy of the destination, because the order of integers does not "
    "matter",
    "bags": "threads divide the bags, by the number of members",
}


def plan(
    function: str | Callable[..., Any],
    data: ArrayLike,
    indices: ArrayLike | None = None,
    updates: ArrayLike | None = None,
    **options: Any,
) -> CallPlan:
    """Return the plan of a call: how it will run, and why. The call is not run.

    Parameters
    ----------
    function : an array function, or its name: 'gather', 'gather_elements', 'gather_nd', 'scatter_update',
        'scatter_elements', 'scatter_nd', 'gather_reduce' or 'gather_quantized'
    data, indices, updates, ... : the arguments of the call

    Returns
    -------
    CallPlan
        ``print`` shows its steps, and ``scratch_bytes`` is the memory that the call needs.

    Raises
    ------
    TypeError, ValueError
        The errors of the call about types, shapes and options. The values of indices are not checked. The values of
        ``offsets``, ``indptr`` and ``segment_ids`` are checked, because they decide how threads divide the bags.

    >>> import numpy as np, gatherscatter as gs
    >>> print(gs.plan("gather", np.zeros((100, 8))[:, ::2], np.array([3, 1]), num_threads=2))
    gather: 1 thread, 0 bytes of scratch memory
      2 index tuples name rows of 4 elements
      data is not contiguous, and is read without a copy
      one thread does all the work, because several threads would not be faster
    >>> print(gs.plan("gather_reduce", np.zeros((100, 8)), np.array([[3, 1], [4, 1]]), weights=np.ones((2, 2))))
    gather_reduce: 1 thread, 24 bytes of scratch memory
      4 members of 2 bags name rows of 8 elements
      the gathered rows are not stored: they are reduced in registers
      24 bytes hold the starts and rows of bags
      one thread does all the work, because several threads would not be faster
    """
    if callable(function):
        function = getattr(function, "__name__", function)
    choices = (*KERNELS, _BAGS, _QUANTIZED)
    if not isinstance(function, str) or function not in choices:
        raise make_choice_error("plan", "function", function, choices)
    if function == _QUANTIZED and updates is not None:  # the third argument
        options, updates = {"scales": updates, **options}, None
    given = options if updates is None else {"updates": updates, **options}
    known = signature(getattr(_core, function)).parameters
    for name in given.keys() - known:
        keyword_fault(function, name, known)
    if function == _BAGS:
        return _plan_bags(data, indices, **given)
    if function == _QUANTIZED:
        return _plan_quantized(data, indices, **given)
    return _plan_kernel(function, data, indices, **given)


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
    check_effects(function, reduction, include_self, accumulate)
    given: dict[str, Any] = {"data": data, "indices": indices, "updates": updates, "out": out}
    if converted := to_numpy_arguments(function, given):
        given = converted.values
    call = convert.prepare_arguments(function, function, reduction=reduction, **given)
    numbers, core_reduction = (call.data, call.updates), reduction
    if call.is_text:  # the core works on numbers that represent strings and objects
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
        facts["cache_bytes"],
        _steps(function, made, facts, _copy_steps(copies, _cast_type(given["updates"], call)), call.is_text),
    )


def _cast_type(updates: Any, call: convert.KernelArguments) -> np.dtype[Any] | None:
    """The type to which the updates are cast. None: they are an array of that type, or no array."""
    if call.updates is None or call.is_text or not isinstance(updates, np.ndarray):
        return None
    return None if updates.dtype == call.dtype else call.dtype


def _plan_bags(
    data: ArrayLike,
    indices: ArrayLike | None,
    *,
    offsets: ArrayLike | None = None,
    segment_ids: ArrayLike | None = None,
    indptr: ArrayLike | None = None,
    num_segments: int | None = None,
    weights: ArrayLike | None = None,
    scales: ArrayLike | None = None,
    zero_points: ArrayLike | None = None,
    quantize_axis: int = -1,
    block_size: int = 128,
    bits: int = 4,
    reduction: str = "add",
    default: ArrayLike = 0,
    accumulate: str = "step",
    mode: str = "raise",
    out: Any = None,
    num_threads: int | None = None,
) -> CallPlan:
    given: dict[str, Any] = {"data": data, "indices": indices, "offsets": offsets, "segment_ids": segment_ids,
                             "indptr": indptr, "weights": weights, "scales": scales,
                             "zero_points": zero_points, "out": out}  # fmt: skip
    if converted := to_numpy_arguments(_BAGS, given):
        given = converted.values
    layout = {"quantize_axis": quantize_axis, "block_size": block_size, "bits": bits}
    call = gather_reduce.prepare_arguments(
        _BAGS, **given, layout=layout, reduction=reduction, default=default, accumulate=accumulate
    )
    facts = call.describe(_BAGS, num_segments, reduction, accumulate, mode, num_threads=num_threads)
    made = BagRows(facts["bags"], facts["members"], facts["width"])
    copied = sum(call.made.values()) + facts["copied_bytes"]
    if out is not None:
        copied += facts["result_bytes"]
    scratch = copied + facts["scratch_bytes"]
    copies = tuple(name for name in (*given, "default") if name in call.made or facts.get(f"copies_{name}"))
    taken = "copied" if scales is None else "computed from the codes of the table"
    reduced = f"a few at a time are {taken} and combined" if facts["gathers_rows"] else "they are reduced in registers"
    steps = [
        f"{made.members} members of {made.count} bags name rows of {made.width} elements",
        "the named rows are gathered first, because data is not contiguous and has more rows"
        if facts["gathers_first"]
        else f"the gathered rows are not stored: {reduced}",
        *_copy_steps(copies),
    ]
    if facts["sorts_members"]:
        steps.append("the members are put in the order of their bags")
    if out is not None:
        steps.append(_APART)
    held = "the starts and rows of bags, sums and a few rows"
    if not facts["kernel_bytes"]:
        held = "the starts and rows of bags"
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
        facts["cache_bytes"],
        (*steps, _SPLITS[split]),
    )


def _plan_quantized(
    data: ArrayLike,
    indices: ArrayLike | None,
    scales: ArrayLike,
    zero_points: ArrayLike | None = None,
    *,
    out: Any = None,
    **options: Any,
) -> CallPlan:
    given: dict[str, Any] = {"data": data, "indices": indices, "scales": scales, "zero_points": zero_points,
                             "out": out}  # fmt: skip
    if converted := to_numpy_arguments(_QUANTIZED, given):
        given = converted.values
    call = gather_quantized.prepare_arguments(_QUANTIZED, **given)
    defaults = {"axis": 0, "quantize_axis": -1, "block_size": 128, "bits": 4, "mode": "raise"}
    facts = call.describe(_QUANTIZED, **defaults | options)
    made = TableRows(facts["rows"], facts["width"])
    copied = sum(call.made.values()) + facts["copied_bytes"]
    apart = facts["made_apart"]
    if out is not None and not apart and type(out) is not np.ndarray:
        copied, apart = copied + facts["result_bytes"], True
    copies = tuple(name for name in given if name in call.made or facts.get(f"copies_{name}"))
    steps = [
        f"{made.count} rows of {made.width} numbers are computed from the codes of the table",
        "the table is not unpacked: each thread computes a few hundred numbers at a time",
        *_copy_steps(copies),
        *([_APART] if apart else []),
    ]
    split = "tuples" if facts["threads"] > 1 else "nothing"
    return CallPlan(
        _QUANTIZED,
        made,
        facts["threads"],
        split,
        copied,
        copied,
        copies,
        facts["instruction_set"],
        facts["cache_bytes"],
        (*steps, _SPLITS[split]),
    )


def _copy_steps(copies: tuple[str, ...], cast_to: np.dtype[Any] | None = None) -> list[str]:
    """The steps that copy arguments. With ``cast_to``, the updates are cast to this type."""
    return [
        f"{name} is copied first: it is cast to {cast_to}"
        if cast_to is not None and name == "updates"
        else f"{name} is copied first: it is not a contiguous array of a suitable type"
        for name in copies
    ]


_APART = "the result is computed in a separate array and then copied to out"


def _steps(
    function: str, made: Rows | Lanes, facts: dict[str, Any], copies: list[str], is_text: bool
) -> tuple[str, ...]:
    steps = []
    if isinstance(made, Lanes):
        steps.append("each index names the position of one element along the axis")
    elif function.endswith("_elements"):
        steps.append("the indices are equal in all dims except the axis: one line of them names whole rows")
    else:
        steps.append(f"{made.batch * made.count} index tuples name rows of {made.width} elements")
    if is_text:
        steps.append("numbers represent the elements, and NumPy moves the elements afterwards")
    if facts["reads_strides"]:
        steps.append("data is not contiguous, and is read without a copy")
    steps += copies
    if facts["checked_first"]:
        steps.append("all indices are checked before the first write")
    if facts["made_apart"]:
        steps.append(_APART)
    if facts["tile"]:
        steps.append(f"{facts['tile']} columns are processed at a time, so that their data stays in the cache")
    if facts["prefetch"]:
        steps.append("memory is prefetched: the data is larger than a cache")
    if facts["stream"]:
        written = "the copy of data" if function.startswith("scatter") else "the result"
        steps.append(f"{written} is written past the caches: it is large, and its cache lines need not be loaded first")
    if facts["stream_rows"]:
        steps.append("the rows that are set are written past the caches: they are large, and sampled rows differ")
    if facts["kernel_bytes"]:
        steps.append(f"{facts['kernel_bytes']} bytes hold temporary sums, counts, batches or row numbers")
    return (*steps, _SPLITS[facts["split"]])
