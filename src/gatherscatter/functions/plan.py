"""Plans of calls, as frozen data that can be printed, compared and pickled.

The core runs each gather and scatter as one of two movements, rows or lanes. Shapes and strides decide which. Sizes and
samples of the indices decide how threads divide the work. `gather_reduce` is a third movement, and the positions where
bags begin decide how threads divide it. A plan reports these decisions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert, strings
from gatherscatter.arrays.adapters import dispatch
from gatherscatter.errors import check_effects, keyword_fault, make_choice_error
from gatherscatter.functions import gather_quantized, gather_reduce
from gatherscatter.operation import FUNCTIONS, Form, Kernel, make_operation

Shape = tuple[int, ...]


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
    choices = tuple(FUNCTIONS)
    if not isinstance(function, str) or function not in choices:
        raise make_choice_error("plan", "function", function, choices)
    given = {"data": data, "indices": indices, **options}
    if updates is not None:  # the third argument
        third = FUNCTIONS[Kernel(function)].positional[2:]
        given[third[0].name if third else "updates"] = updates
    known = [each.name for each in FUNCTIONS[Kernel(function)].parameters]
    for name in given.keys() - set(known):
        keyword_fault(function, name, known)
    names = [each.name for each in FUNCTIONS[Kernel(function)].parameters if each.type in ("array", "out")]
    arrays = {name: given.pop(name) for name in names if name in given}
    how = {Kernel.GATHER_REDUCE: _plan_bags, Kernel.GATHER_QUANTIZED: _plan_table}.get(Kernel(function), _plan_kernel)
    return dispatch("plan", function, arrays, given, partial(how, function))  # type: ignore[no-any-return]


def _plan_kernel(function: str, *, out: Any = None, **given: Any) -> CallPlan:
    operation = make_operation(function, given)
    check_effects(function, operation.reduction, operation.include_self, operation.accumulate)
    arrays: dict[str, Any] = {name: given.get(name) for name in ("data", "indices", "updates")}
    call = convert.prepare_inputs(operation, **arrays, out=out)
    data, updates = call.arrays["data"], call.arrays["updates"]
    numbers, core = call.arrays, operation
    if call.is_text:  # the core works on numbers that represent strings and objects
        numbers = numbers | {
            name: None if each is None else np.empty(each.shape, np.int64)
            for name, each in (("data", data), ("updates", updates))
        }
        core = operation._replace(reduction="none")
    facts = _core.describe(core, numbers, call.out)
    made = _as_movement(facts["plan"])
    own_bytes = 0
    if call.is_text:
        own_bytes = strings.scratch_bytes(data, updates, math.prod(made.slots), operation.reduction)
    if out is not None and call.out is None:
        facts["made_apart"] = True
        own_bytes += math.prod(made.slots if updates is None else data.shape) * data.itemsize
    copies = tuple(name for name in (*arrays, "out") if name in call.made or facts.get(f"copies_{name}"))
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
        _steps(
            operation.kernel, made, facts, _copy_steps(copies, _cast_type(given.get("updates"), call)), call.is_text
        ),
    )


def _cast_type(updates: Any, call: convert.Inputs) -> np.dtype[Any] | None:
    """The type to which the updates are cast. None: they are an array of that type, or no array."""
    if call.arrays["updates"] is None or call.is_text or not isinstance(updates, np.ndarray):
        return None
    return None if updates.dtype == call.dtype else call.dtype


def _plan_bags(function: str, *, out: Any = None, default: Any = 0, **given: Any) -> CallPlan:
    operation = make_operation(function, given)
    names = [name for name in FUNCTIONS[operation.kernel].inputs if name != "default"]
    arrays: dict[str, Any] = {name: given.get(name) for name in names}
    call = gather_reduce.prepare_inputs(operation, **arrays, default=default, out=out)
    facts = _core.describe(operation, call.arrays, call.out)
    made = BagRows(facts["bags"], facts["members"], facts["width"])
    copied = sum(call.made.values()) + facts["copied_bytes"]
    if out is not None:
        copied += facts["result_bytes"]
    scratch = copied + facts["scratch_bytes"]
    copies = tuple(name for name in (*arrays, "out", "default") if name in call.made or facts.get(f"copies_{name}"))
    taken = "copied" if arrays["scales"] is None else "computed from the codes of the table"
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
        function,
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


def _plan_table(function: str, *, out: Any = None, **given: Any) -> CallPlan:
    operation = make_operation(function, given)
    arrays: dict[str, Any] = {name: given.get(name) for name in FUNCTIONS[operation.kernel].inputs}
    call = gather_quantized.prepare_inputs(function, **arrays, out=out)
    facts = _core.describe(operation, call.arrays, call.out)
    made = TableRows(facts["rows"], facts["width"])
    copied = sum(call.made.values()) + facts["copied_bytes"]
    apart = facts["made_apart"]
    if out is not None and not apart and type(out) is not np.ndarray:
        copied, apart = copied + facts["result_bytes"], True
    copies = tuple(name for name in (*arrays, "out") if name in call.made or facts.get(f"copies_{name}"))
    steps = [
        f"{made.count} rows of {made.width} numbers are computed from the codes of the table",
        "the table is not unpacked: each thread computes a few hundred numbers at a time",
        *_copy_steps(copies),
        *([_APART] if apart else []),
    ]
    split = "tuples" if facts["threads"] > 1 else "nothing"
    return CallPlan(
        function,
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
    kernel: Kernel, made: Rows | Lanes, facts: dict[str, Any], copies: list[str], is_text: bool
) -> tuple[str, ...]:
    steps = []
    if isinstance(made, Lanes):
        steps.append("each index names the position of one element along the axis")
    elif kernel.form == Form.LANES:
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
        written = "the copy of data" if kernel.is_scatter else "the result"
        steps.append(f"{written} is written past the caches: it is large, and its cache lines need not be loaded first")
    if facts["stream_rows"]:
        steps.append("the rows that are set are written past the caches: they are large, and sampled rows differ")
    if facts["kernel_bytes"]:
        steps.append(f"{facts['kernel_bytes']} bytes hold temporary sums, counts, batches or row numbers")
    return (*steps, _SPLITS[facts["split"]])
