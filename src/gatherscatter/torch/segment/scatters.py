"""Scatters with one reduction, or with several at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gatherscatter.errors import OpValueError
from gatherscatter.torch.functions import check_memory, is_differentiated
from gatherscatter.torch.gradients import HALVES, divide_by_counts
from gatherscatter.torch.segment.places import Places
from gatherscatter.torch.segment.reduce import check_names
from gatherscatter.torch.segment.reduce import reduce as reduce_rows

Pair = tuple[Tensor, Tensor]


def scatter(
    src: Tensor,
    index: Tensor,
    dim: int = -1,
    out: Tensor | None = None,
    dim_size: int | None = None,
    reduce: str | Sequence[str] = "sum",
) -> Any:
    """Reduce the values of ``src`` that have the same ``index`` along ``dim``.

    Parameters
    ----------
    src : tensor
    index : integer tensor, 1-D along ``dim``, or with the first axes of ``src`` and broadcast over the others
        Negative ones count from the end.
    dim : int
    out : tensor, optional
        What it begins with; it is changed and returned. Only for a single reduction.
    dim_size : int, optional
        Size of the result along ``dim``; by default one more than the largest index.
    reduce : 'sum', 'add', 'mul', 'mean', 'min' or 'max'; or several of these but 'mul', and 'count', 'argmin', 'argmax'
        Several come as a tuple, made in one pass over ``src`` if ``index`` is 1-D; so is 'count' then.

    Returns
    -------
    tensor, shape of ``src`` but for ``dim``; 0 where no value comes (1 for 'mul')

    Raises
    ------
    IndexError
        An index is out of range.
    ValueError, TypeError
        Shapes, types or names don't fit.
    """
    if isinstance(reduce, str):
        return find_value_scatter("scatter", reduce)(src, index, dim, out, dim_size)
    if out is not None:
        raise OpValueError("scatter: several reductions can't begin with one out", op="scatter", input="out")
    check_names(reduce)
    return reduce_several(Places.of(src, index, dim, dim_size), src, tuple(reduce))


def scatter_sum(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:
    """The sums, from ``out`` on. Sums of 16-bit floats are rounded once."""
    return copy_to_out(out, places_for(src, index, dim, out, dim_size).put(src, "add", out))


scatter_add = scatter_sum


def scatter_mul(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:
    """The products, from ``out`` on."""
    places = places_for(src, index, dim, out, dim_size)
    start = src.new_ones(()).expand(places.shape(src)) if out is None else _save_out_values(src, out)
    return copy_to_out(out, places.put(src, "mul", start))


def scatter_mean(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:
    """The means, rounded down for integers; with ``out``, what it holds and the sums, divided by the counts."""
    places = places_for(src, index, dim, out, dim_size)
    if out is None:
        return places.put(src, "mean")
    counts = places.counts(src).clamp(min=1)
    total = places.put(src, "add", out)
    return copy_to_out(
        out, divide_by_counts(total, counts) if src.is_floating_point() else total.div(counts, rounding_mode="floor")
    )


def scatter_min(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Pair:
    """The minima and where they come from: ``src.shape[dim]`` where nothing less than ``out``, or nothing, comes."""
    return _extremum("min", torch.le, src, index, dim, out, dim_size)


def scatter_max(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Pair:
    """The maxima and where they come from: ``src.shape[dim]`` where nothing more than ``out``, or nothing, comes."""
    return _extremum("max", torch.ge, src, index, dim, out, dim_size)


def find_value_scatter(op: str, name: str) -> Callable[..., Any]:
    """The scatter of that name that gives the values alone."""
    values: dict[str, Callable[..., Any]] = {
        "sum": scatter_sum,
        "add": scatter_sum,
        "mul": scatter_mul,
        "mean": scatter_mean,
        "min": partial(_extreme_value, "min"),
        "max": partial(_extreme_value, "max"),
    }
    if name not in values:
        text = f"{op}: reduce must be one of {', '.join(map(repr, values))}, not {name!r}"
        raise OpValueError(text, op=op, input="reduce")
    return values[name]


def places_for(src: Tensor, index: Tensor, dim: int, out: Tensor | None, size: int | None) -> Places:
    """The places of an index, as many as ``out`` has if there is one."""
    check_memory("scatter", out=out)
    return Places.of(src, index, dim, size if out is None else out.shape[dim])


def copy_to_out(out: Tensor | None, result: Tensor) -> Tensor:
    """The result, in ``out`` if there is one."""
    return result if out is None else out.copy_(result)


def _save_out_values(src: Tensor, out: Tensor) -> Tensor:
    """What ``out`` held, for a backward pass that needs it when ``out`` has changed."""
    return out.clone() if is_differentiated(src, out) else out


# Rows of so many elements and more are grouped by place, and reduced in one pass; to group shorter ones takes longer
# than to pass over them again.
_WIDE = 8


def reduce_several(places: Places, src: Tensor, names: tuple[str, ...]) -> tuple[Tensor, ...]:
    """The results of several reductions."""
    check_memory("scatter", src=src)
    width = math.prod((*src.shape[: places.dim], *src.shape[places.dim + 1 :]))
    apart = src.dtype in HALVES or not src.is_floating_point()  # whose sums or means are not those of one pass
    if not places.is_line or width < _WIDE or (apart and not {"sum", "mean"}.isdisjoint(names)):
        return _reduce_one_by_one(places, src, names)
    rows = src.movedim(places.dim, 0).flatten(1)
    results = reduce_rows(rows, places.index, places.size, names)
    shape = (places.size, *src.shape[: places.dim], *src.shape[places.dim + 1 :])
    return tuple(
        result if name == "count" else result.reshape(shape).movedim(0, places.dim).contiguous()
        for name, result in zip(names, results, strict=True)
    )


def _reduce_one_by_one(places: Places, src: Tensor, names: tuple[str, ...]) -> tuple[Tensor, ...]:
    results: dict[str, Tensor] = {}
    for name in names:
        if name in results:  # a minimum or maximum comes with where it is
            continue
        if name == "count":
            counts = places.counts(src)
            results[name] = counts.flatten() if places.is_line else counts
        elif name in ("sum", "mean"):
            results[name] = places.put(src, "add" if name == "sum" else name)
        else:
            which = name.removeprefix("arg")
            results[which], results[f"arg{which}"] = places.extremum(src, which)
    return tuple(results[name] for name in names)


def _extremum(
    which: str,
    keeps: Callable[[Tensor, Tensor], Tensor],
    src: Tensor,
    index: Tensor,
    dim: int,
    out: Tensor | None,
    dim_size: int | None,
) -> Pair:
    places = places_for(src, index, dim, out, dim_size)
    values, members = reduce_several(places, src, (which, f"arg{which}"))
    if out is None:
        return values, members
    none = src.shape[places.dim]
    kept = (members == none) | keeps(out, values) | out.isnan()
    return out.copy_(torch.where(kept, out, values)), members.masked_fill(kept, none)


def _extreme_value(
    which: str, src: Tensor, index: Tensor, dim: int, out: Tensor | None, dim_size: int | None
) -> Tensor:
    """Where it comes from matters to gradients only."""
    if is_differentiated(src, *(() if out is None else (out,))):
        return (scatter_min if which == "min" else scatter_max)(src, index, dim, out, dim_size)[0]
    return copy_to_out(out, places_for(src, index, dim, out, dim_size).put(src, which, out))
