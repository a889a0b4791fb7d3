"""Statistics of groups for Dask. Each chunk gives a state for each group, and states are merged in a tree."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import dask.array
import numpy as np

from gatherscatter.arrays import convert
from gatherscatter.errors import integer_fault, make_choice_error, make_error, with_call_errors
from gatherscatter.functions.gather_reduce import resolve_in_range
from gatherscatter.functions.inspect import normalise_axis
from gatherscatter.functions.statistics import names
from gatherscatter.functions.statistics.aggregate import aggregate as aggregate_in_memory
from gatherscatter.functions.statistics.layout import LABELS, read_size
from gatherscatter.functions.statistics.names import DEFAULT_FILL, Function
from gatherscatter.functions.statistics.reductions import choose_centers, find_deviations

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

State = dict[str, np.ndarray]

_untyped: Any = dask.array


@with_call_errors
def aggregate(
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

    Each chunk of ``a`` along the axis gives a small state for each group: a count, and for example a mean and a sum of
    squared deviations. States are merged in the order of the chunks (Chan, Golub and LeVeque, 1983).

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
    moved = dask.array.moveaxis(array, along, -1)
    result_type = names.result_dtype(_OP, function, array.dtype, dtype)
    fill = names.choose_fill(_OP, function, fill_value, result_type)
    result = _untyped.reduction(
        moved,
        chunk=partial(_reduce_chunk, function=function, groups=groups, dtype=result_type),
        combine=_merge_states,
        aggregate=partial(_finish, function=function, dtype=result_type, fill=fill, ddof=ddof or 0),
        weights=_untyped.asarray(labels).rechunk((moved.chunks[-1],)),
        axis=-1,
        keepdims=True,
        concatenate=False,
        dtype=result_type,
        output_size=groups,
        meta=np.empty((0,) * array.ndim, result_type),
    )
    result._chunks = (*moved.chunks[:-1], (groups,))
    grouped: dask.array.Array = dask.array.moveaxis(result, -1, along)
    return grouped


def _read_labels(group_idx: Any, size: int | None) -> tuple[Any, int]:
    if isinstance(group_idx, dask.array.Array):
        if size is None:
            raise make_error("lazy_size", _OP)
        if group_idx.dtype.kind not in "iu":
            raise make_error("not_integers", _OP, input=LABELS, type=group_idx.dtype)
        return group_idx, read_size(_OP, size)
    labels = convert.as_indices(_OP, LABELS, group_idx)
    groups = (int(labels.max()) + 1 if labels.size else 0) if size is None else read_size(_OP, size)
    resolve_in_range(_OP, LABELS, labels, groups, "groups")
    return labels, groups


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
    """The states of the groups in a chunk. ``labels`` are repeated for all lines of values."""
    if computing_meta:  # Dask asks for the type
        return values
    if labels.size:
        line = np.ascontiguousarray(labels[(0,) * (labels.ndim - 1)])
    else:
        line = np.zeros(labels.shape[-1], np.int64)
    nan = "nan" if function.skip_nan else ""

    def reduce(name: str, **options: Any) -> np.ndarray:
        return aggregate_in_memory(line, values, f"{nan}{name}", groups, axis=-1, num_threads=1, **options)

    state = {"n": reduce("len")}
    for part in _STATES[function.name]:
        if part == "center":
            # A mean is this number and a rest. So means far from zero have exact distances, also those of integers.
            state["center"] = choose_centers(values, reduce("mean", dtype=_wide(values.dtype)))
        elif part == "rest":
            away = find_deviations(values, state["center"], line, -1)
            state[part] = aggregate_in_memory(line, away, f"{nan}mean", groups, 0, axis=-1, num_threads=1)
        elif part == "squares":
            state[part] = reduce("var", dtype=np.float64, fill_value=0) * state["n"]
        elif part in ("sum", "prod"):
            whole = values.dtype.kind in "biu" and function.name != "mean" and dtype.kind in "biu"
            state[part] = reduce(part, dtype=None if whole else _wide(values.dtype))
        else:
            state[part] = reduce(part)
    return state


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which floats are accumulated."""
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)


def _flatten(states: Any) -> list[State]:
    return [states] if isinstance(states, dict) else [state for each in states for state in _flatten(each)]


def _merge_states(states: Any, axis: Any, keepdims: bool, computing_meta: bool = False) -> Any:
    if computing_meta:
        return states
    first, *others = _flatten(states)
    for other in others:
        first = _merge(first, other)
    return first


def _merge(a: State, b: State) -> State:
    """The state of the members of ``a`` and then those of ``b``."""
    n = a["n"] + b["n"]
    merged = {"n": n}
    with np.errstate(invalid="ignore", over="ignore"):
        if "center" in a:
            share = b["n"] / np.maximum(n, 1)
            same = np.arange(n.shape[-1])  # each center is a group of its own
            distance = find_deviations(b["center"], a["center"], same, -1) + (b["rest"] - a["rest"])
            merged["center"] = np.where(a["n"] == 0, b["center"], a["center"])
            merged["rest"] = np.where(a["n"] == 0, b["rest"], a["rest"] + distance * share)
            between = (distance * np.conj(distance)).real * a["n"] * share
            merged["squares"] = a["squares"] + b["squares"] + np.where((a["n"] == 0) | (b["n"] == 0), 0, between)
        for name in a.keys() - {"n", "center", "rest", "squares"}:
            both: Callable[[np.ndarray, np.ndarray], np.ndarray] = _MERGES[name]
            merged[name] = np.where(
                b["n"] == 0, a[name], np.where(a["n"] == 0, b[name], both(a[name], b[name]))
            ).astype(a[name].dtype)
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
    dtype: np.dtype[Any],
    fill: Any,
    ddof: int,
) -> np.ndarray:
    """The results of states."""
    if computing_meta:
        return np.empty(np.shape(states), dtype)
    state = _merge_states(states, axis, keepdims)
    n, name = state["n"], function.name
    empty = n == 0
    if name in ("var", "std"):
        empty = (n <= ddof) | (n == 0)
        made = state["squares"] / np.where(empty, 1, n - ddof)
        made = np.sqrt(made) if name == "std" else made
    else:
        made = n if name == "len" else state["sum"] / np.maximum(n, 1) if name == "mean" else state[name]
    with np.errstate(over="ignore", invalid="ignore"):
        results: np.ndarray = made.astype(dtype)
    np.copyto(results, fill, where=empty, casting="unsafe")
    return results
