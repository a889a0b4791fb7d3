"""Statistics of groups for Dask. Each chunk gives a state of its groups, and states are merged in a tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import dask.array
import numpy as np

from gatherscatter.arrays import convert
from gatherscatter.errors import integer_fault, make_choice_error, make_error, with_call_errors
from gatherscatter.functions.gather_reduce import resolve_in_range
from gatherscatter.functions.inspect import normalise_axis
from gatherscatter.functions.statistics import names
from gatherscatter.functions.statistics.layout import LABELS, lay_out, read_size
from gatherscatter.functions.statistics.names import DEFAULT_FILL, Function
from gatherscatter.functions.statistics.reductions import REDUCTIONS, Aggregation, find_deviations

_OP = "aggregate"
_STATES = {
    "sum": ("sum",),
    "prod": ("prod",),
    "len": (),
    "mean": ("sum",),
    "var": ("center", "rest", "squares"),
    "std": ("center", "rest", "squares"),
    "min": ("min",),
    "max": ("max",),
    "first": ("first",),
    "last": ("last",),
    "any": ("any",),
    "all": ("all",),
}

_untyped: Any = dask.array


@with_call_errors
def aggregate(  # noqa: PLR0917
    group_idx: Any,
    a: Any,
    func: Any = "sum",
    size: int | None = None,
    fill_value: Any = DEFAULT_FILL,
    order: str = "C",
    dtype: Any = None,
    axis: int | None = None,
    *,
    ddof: int | None = None,
    num_threads: int | None = None,
) -> dask.array.Array:
    """Compute a statistic of the values of each group, lazily, as `gatherscatter.aggregate` does in memory.

    Each chunk of ``a`` along the axis gives a small state for each of its groups: a count, and for example a mean and
    a sum of squared deviations. States are merged in the order of the chunks (Chan, Golub and LeVeque, 1983).

    Parameters
    ----------
    group_idx : array of integers, shape (n,)
        The group of each position along ``axis``. If it is a Dask array, ``size`` is required.
    a : array of length n along ``axis``
    func : str
        'sum', 'prod', 'mean', 'var', 'std', 'min', 'max', 'first', 'last', 'any', 'all', 'len', and the same with the
        prefix 'nan'.
    size, fill_value, dtype, axis, ddof : see `gatherscatter.aggregate`
        ``axis`` can be left out if ``a`` has one dimension. ``order`` must be 'C', and ``num_threads`` has no effect.

    Returns
    -------
    Dask array
        It has one chunk of groups along the axis, and the chunks of ``a`` along others. The chunks along the axis
        decide how sums of floats are rounded.

    Raises
    ------
    IndexError
        A label is out of range. For labels in memory it is raised immediately.
    ValueError, TypeError
        A shape, a type or the name of a function is not valid.

    >>> import dask.array as da, numpy as np, gatherscatter as gs
    >>> a = da.arange(6, chunks=2)
    >>> gs.aggregate(np.array([0, 1, 0, 1, 0, 1]), a, "var").compute()
    array([2.66666667, 2.66666667])
    """
    function = names.find_function(_OP, func, tuple(_STATES))
    if order != "C":
        raise make_choice_error(_OP, "order", order, ("C",), "")
    if ddof is not None and (isinstance(ddof, bool) or not isinstance(ddof, int | np.integer)):
        integer_fault(_OP, "ddof", ddof)
    if ddof is not None and function.name not in ("var", "std"):
        raise make_error("func_option", _OP, input="ddof", func=str(function))
    array = a if isinstance(a, dask.array.Array) else _untyped.asarray(convert.as_array(_OP, "a", a))
    if axis is None and array.ndim != 1:
        raise make_error("values_rank", _OP, shape=array.shape)
    along = normalise_axis(_OP, axis or 0, array.shape)
    labels, groups = _read_labels(group_idx, size)
    if labels.shape != (array.shape[along],):
        raise make_error("labels_shape", _OP, labels=labels.shape, shape=array.shape)
    result_type = names.result_dtype(_OP, function, array.dtype, dtype)
    fill = names.choose_fill(_OP, function, fill_value, result_type)
    line = _untyped.asarray(labels).rechunk((array.chunks[along],))
    result = _untyped.reduction(
        array,
        chunk=partial(_reduce_chunk, function=function, groups=groups, dtype=result_type),
        combine=_merge_states,
        aggregate=partial(_finish, function=function, groups=groups, dtype=result_type, fill=fill, ddof=ddof or 0),
        weights=line.reshape(tuple(-1 if dim == along else 1 for dim in range(array.ndim))),
        axis=along,
        keepdims=True,
        concatenate=False,
        dtype=result_type,
        output_size=groups,
        meta=np.empty((0,) * array.ndim, result_type),
    )
    result._chunks = (*array.chunks[:along], (groups,), *array.chunks[along + 1 :])
    grouped: dask.array.Array = result
    return grouped


def _read_labels(group_idx: Any, size: int | None) -> tuple[Any, int]:
    if isinstance(group_idx, dask.array.Array):
        if size is None:
            raise make_error("lazy_size", _OP)
        if group_idx.dtype.kind not in "iu":
            raise make_error("not_integers", _OP, input=LABELS, type=group_idx.dtype)
        groups = read_size(_OP, size)
        return _untyped.map_blocks(_check_labels, group_idx, groups=groups, dtype=group_idx.dtype), groups
    labels = convert.as_indices(_OP, LABELS, group_idx)
    groups = (int(labels.max()) + 1 if labels.size else 0) if size is None else read_size(_OP, size)
    resolve_in_range(_OP, LABELS, labels, groups, "groups")
    return labels, groups


def _check_labels(labels: np.ndarray, groups: int, block_info: Any) -> np.ndarray:
    """Return a chunk of labels. Raise IndexError if any of them is out of range."""
    start = tuple(begin for begin, _ in block_info[0]["array-location"])
    labels = convert.as_indices(_OP, LABELS, labels)
    resolve_in_range(_OP, LABELS, labels, groups, "groups", start=start, chunk=block_info[0]["chunk-location"])
    return labels


class State(NamedTuple):
    """The members of a part of the values, by group.

    Attributes
    ----------
    shape : the shape of the values; the groups replace its axis `axis`
    groups : the groups that have members, in ascending order
    parts : for each of these groups "n", its number of members, and what `_STATES` lists. All have the shape
        (outer, groups, columns), or (1, groups, 1) if it is the same for all.
    """

    shape: tuple[int, ...]
    axis: int
    groups: np.ndarray
    parts: dict[str, np.ndarray]


def _reduce_chunk(
    values: np.ndarray,
    labels: np.ndarray,
    axis: Any,
    keepdims: bool,
    computing_meta: bool = False,
    *,
    function: Function,
    groups: int,
    dtype: np.dtype[Any],
) -> Any:
    """The state of a chunk. ``labels`` are repeated for all lines of values."""
    if computing_meta:  # Dask infers the type
        return values
    (along,) = axis
    if labels.size:
        line = np.ascontiguousarray(labels[tuple(slice(None) if dim == along else 0 for dim in range(labels.ndim))])
    else:
        line = np.zeros(labels.shape[along], np.int64)
    present, local, counts = _find_groups(line, groups)
    layout = lay_out(_OP, local, values, len(present), "C", along)
    call = Aggregation(_OP, function, layout, dtype, 0, options={"ddof": 0}, num_threads=1)

    def reduce(name: str, wide: bool = False) -> np.ndarray:
        """Another function of the values, with the same treatment of NaN."""
        given = _wide(values.dtype) if wide else None
        other = Function(name, function.skip_nan)
        result = names.result_dtype(_OP, other, values.dtype, given)
        return REDUCTIONS[name](Aggregation(_OP, other, layout, result, 0, options={}, num_threads=1))

    parts = {}
    if function.name in ("var", "std"):
        parts["squares"], parts["n"], parts["center"], parts["rest"] = call.moments()
    elif call.skips:
        parts["n"] = call.counts
    members = counts.reshape(1, -1, 1)
    if "n" not in parts or (parts["n"] == members).all():  # nothing was skipped
        parts["n"] = members
    for part in _STATES[function.name]:
        if part in ("sum", "prod"):
            whole = values.dtype.kind in "biu" and function.name != "mean" and dtype.kind in "biu"
            parts[part] = reduce(part, wide=not whole)
        elif part not in parts:
            parts[part] = reduce(part)
    return State(values.shape, along, present, parts)


def _find_groups(labels: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The groups that have members, the labels as positions in this list, and the numbers of members."""
    line = labels.astype(np.intp, copy=False)
    if groups > 4 * len(labels):
        return np.unique(line, return_inverse=True, return_counts=True)
    counts = np.bincount(line, minlength=groups)
    present = np.flatnonzero(counts)
    if len(present) == groups:
        return present, line, counts
    positions = np.empty(groups, np.intp)
    positions[present] = np.arange(len(present))
    return present, positions[line], counts[present]


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which floats are accumulated."""
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)


def _flatten(states: Any) -> list[State]:
    return [states] if isinstance(states, State) else [state for each in states for state in _flatten(each)]


def _merge_states(states: Any, axis: Any, keepdims: bool, computing_meta: bool = False) -> Any:
    """The state of the members of all states, which are in the order of their positions."""
    if computing_meta:
        return states
    first, *others = _flatten(states)
    if not others:
        return first
    same = all(np.array_equal(state.groups, first.groups) for state in others)
    groups = first.groups if same else np.unique(np.concatenate([state.groups for state in (first, *others)]))
    merged = {}
    for name in first.parts:
        given = [state.parts[name] for state in (first, *others)]
        outer, _, columns = np.maximum.reduce([part.shape for part in given])
        merged[name] = np.zeros((outer, len(groups), columns), np.result_type(*(part.dtype for part in given)))
    for state in (first, *others):
        at = _find_positions(state.groups, groups)
        before = {name: part[:, at] for name, part in merged.items()}
        after = _merge(before, state.parts) if before["n"].any() else state.parts
        for name, part in after.items():
            merged[name][:, at] = part
    return State(first.shape, first.axis, groups, merged)


def _find_positions(some: np.ndarray, groups: np.ndarray) -> Any:
    """The positions of some of the groups, as a slice if they are consecutive."""
    if len(some) == len(groups):
        return slice(None)
    found = np.searchsorted(groups, some)
    if len(found) and found[-1] - found[0] + 1 == len(found):
        return slice(int(found[0]), int(found[-1]) + 1)
    return found


def _merge(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The parts of the members of ``a`` and then those of ``b``, for the same groups."""
    n = a["n"] + b["n"]
    merged = {"n": n}
    with np.errstate(invalid="ignore", over="ignore"):
        if "center" in a:
            share = b["n"] / np.maximum(n, 1)
            same = np.arange(n.shape[1])  # each center is a separate group
            distance = find_deviations(b["center"], a["center"], same, 1) + (b["rest"] - a["rest"])
            merged["center"] = np.where(a["n"] == 0, b["center"], a["center"])
            merged["rest"] = np.where(a["n"] == 0, b["rest"], a["rest"] + distance * share)
            between = (distance * np.conj(distance)).real * a["n"] * share
            merged["squares"] = a["squares"] + b["squares"] + np.where((a["n"] == 0) | (b["n"] == 0), 0, between)
        for name in a.keys() - {"n", "center", "rest", "squares"}:
            both: Callable[[np.ndarray, np.ndarray], np.ndarray] = _MERGES[name]
            merged[name] = np.where(b["n"] == 0, a[name], np.where(a["n"] == 0, b[name], both(a[name], b[name])))
    return merged


_MERGES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
    "first": lambda a, b: a,
    "last": lambda a, b: b,
}


def _finish(
    states: Any,
    axis: Any,
    keepdims: bool,
    computing_meta: bool = False,
    *,
    function: Function,
    groups: int,
    dtype: np.dtype[Any],
    fill: Any,
    ddof: int,
) -> np.ndarray:
    """The results of states, for all groups."""
    if computing_meta:
        return np.empty(np.shape(states), dtype)
    state = _merge_states(states, axis, keepdims)
    parts, name = state.parts, function.name
    n = parts["n"]
    empty = n == 0
    if name in ("var", "std"):
        empty = (n <= ddof) | (n == 0)
        made = parts["squares"] / np.where(empty, 1, n - ddof)
        made = np.sqrt(made) if name == "std" else made
    else:
        made = n if name == "len" else parts["sum"] / np.maximum(n, 1) if name == "mean" else parts[name]
    before, after = state.shape[: state.axis], state.shape[state.axis + 1 :]
    results = np.full((math.prod(before), groups, math.prod(after)), fill, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        results[:, state.groups] = np.where(empty, np.asarray(fill, dtype), made.astype(dtype))
    return results.reshape(*before, groups, *after)
