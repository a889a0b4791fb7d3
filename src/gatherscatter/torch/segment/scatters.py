"""Scatters with one reduction, or with several at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gatherscatter.errors import OpValueError, make_choice_error
from gatherscatter.torch.functions import check_memory, is_differentiated
from gatherscatter.torch.gradients import HALVES, divide_by_counts
from gatherscatter.torch.segment.reduce import check_names
from gatherscatter.torch.segment.reduce import reduce as reduce_rows
from gatherscatter.torch.segment.targets import Targets

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
    src : tensor of rank r >= 1
    index : tensor of integers
        The target of each value along ``dim``. Either it has one dimension and the length ``src.shape[dim]``, or it has
        the first dimensions of ``src`` and is repeated along the others. Negative indices count from the end.
    dim : int in [-r, r-1]
    out : tensor of the type of ``src``, optional
        The initial values. The tensor is changed and returned. It is allowed only with a single reduction.
    dim_size : int, optional
        The size of the result along ``dim``. Default: the largest index plus one.
    reduce : 'sum', 'add', 'mul', 'mean', 'min' or 'max', or a sequence of names
        A sequence can have all of these names except 'mul', and also 'count', 'argmin' and 'argmax'. Its results are a
        tuple. They are computed in one pass over ``src`` if ``index`` is 1-D. Then 'count' is also 1-D.

    Returns
    -------
    tensor with the shape of ``src``, except along ``dim``
        A target without values is 0 (1 for 'mul').

    Raises
    ------
    IndexError
        An index or ``dim`` is out of range.
    ValueError
        Shapes or names do not fit; or ``dim_size`` is missing and ``index`` has no values (meta device, vmap).
    TypeError
        An argument is not a tensor. A tensor is sparse, nested or quantized, or on another device. Types do not fit.

    After an error, ``out`` is unchanged.

    >>> import torch
    >>> from gatherscatter.torch.segment import scatter
    >>> scatter(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 2, 0]), dim_size=4)
    tensor([5., 0., 2., 0.])
    """
    if isinstance(reduce, str) or not isinstance(reduce, Sequence):
        reduction = find_reduction("scatter", reduce)
        return reduction(Targets.of("scatter", src, index, dim, out, dim_size), src, out)
    if out is not None:
        raise OpValueError("scatter: out is allowed only with a single reduction", op="scatter", input="out")
    check_names(reduce)
    return reduce_several(Targets.of("scatter", src, index, dim, None, dim_size), src, tuple(reduce))


def scatter_sum(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:
    """Return the sums, including the values in ``out``. Sums of 16-bit floats are rounded once."""
    return add(Targets.of("scatter_sum", src, index, dim, out, dim_size), src, out)


def scatter_add(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:
    """Return the sums: another name of `scatter_sum`."""
    return add(Targets.of("scatter_add", src, index, dim, out, dim_size), src, out)


def scatter_mul(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:
    """Return the products, including the values in ``out``."""
    return multiply(Targets.of("scatter_mul", src, index, dim, out, dim_size), src, out)


def scatter_mean(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:
    """Return the means, rounded down for integers. The values in ``out`` are added to the sums before the division."""
    return average(Targets.of("scatter_mean", src, index, dim, out, dim_size), src, out)


def scatter_min(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Pair:
    """Return the minimum of the values with the same index, and its position in ``src`` along ``dim``.

    The other arguments, the shape of the result and the errors are those of `scatter`. If a target gets no value, or if
    no value is less than the one in ``out``, the position is ``src.shape[dim]``.

    >>> import torch
    >>> from gatherscatter.torch.segment import scatter_min
    >>> scatter_min(torch.tensor([3.0, 1.0, 2.0]), torch.tensor([0, 0, 2]))
    (tensor([1., 0., 2.]), tensor([1, 3, 2]))
    """
    return find_minima(Targets.of("scatter_min", src, index, dim, out, dim_size), src, out)


def scatter_max(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Pair:
    """Return the maximum of the values with the same index, and its position in ``src`` along ``dim``.

    The other arguments, the shape of the result and the errors are those of `scatter`. If a target gets no value, or if
    no value is greater than the one in ``out``, the position is ``src.shape[dim]``.

    >>> import torch
    >>> from gatherscatter.torch.segment import scatter_max
    >>> scatter_max(torch.tensor([3.0, 1.0, 2.0]), torch.tensor([0, 0, 2]))
    (tensor([3., 0., 2.]), tensor([0, 3, 2]))
    """
    return find_maxima(Targets.of("scatter_max", src, index, dim, out, dim_size), src, out)


# ------------------------------------------------------------------------------------ reductions of values by target


def add(targets: Targets, src: Tensor, out: Tensor | None) -> Tensor:
    """Return the sums, including the values in ``out``."""
    return copy_to_out(out, targets.put(src, "add", out))


def multiply(targets: Targets, src: Tensor, out: Tensor | None) -> Tensor:
    """Return the products, including the values in ``out``."""
    start = src.new_ones(()).expand(targets.shape(src)) if out is None else _save_out_values(src, out)
    return copy_to_out(out, targets.put(src, "mul", start))


def average(targets: Targets, src: Tensor, out: Tensor | None) -> Tensor:
    """Return the means. With ``out``, its values are added to the sums before the division."""
    if out is None:
        return targets.put(src, "mean")
    counts = targets.counts(src).clamp(min=1)
    total = targets.put(src, "add", out)
    return copy_to_out(
        out, divide_by_counts(total, counts) if src.is_floating_point() else total.div(counts, rounding_mode="floor")
    )


def find_minima(targets: Targets, src: Tensor, out: Tensor | None) -> Pair:
    """Return the minima, including the values in ``out``, and their positions."""
    return _find_extrema("min", torch.le, targets, src, out)


def find_maxima(targets: Targets, src: Tensor, out: Tensor | None) -> Pair:
    """Return the maxima, including the values in ``out``, and their positions."""
    return _find_extrema("max", torch.ge, targets, src, out)


def find_reduction(op: str, name: Any) -> Callable[..., Tensor]:
    """Return the reduction with this name. It returns values, without positions."""
    known: dict[str, Callable[..., Tensor]] = {
        "sum": add,
        "add": add,
        "mul": multiply,
        "mean": average,
        "min": partial(_find_extreme_values, "min"),
        "max": partial(_find_extreme_values, "max"),
    }
    if not isinstance(name, str) or name not in known:
        raise make_choice_error(op, "reduce", name, known)
    return known[name]


def copy_to_out(out: Tensor | None, result: Tensor) -> Tensor:
    """Return the result, in ``out`` if it is given."""
    return result if out is None else out.copy_(result)


def _save_out_values(src: Tensor, out: Tensor) -> Tensor:
    """Return ``out``, or a copy of it if a backward pass needs its old values."""
    return out.clone() if is_differentiated(src, out) else out


# Rows of at least this many elements are grouped by target and reduced in one pass. For shorter rows, grouping takes
# longer than several passes.
_WIDE = 8


def reduce_several(targets: Targets, src: Tensor, names: tuple[str, ...]) -> tuple[Tensor, ...]:
    """Return the results of several reductions."""
    check_memory(targets.op, src=src)
    width = math.prod((*src.shape[: targets.dim], *src.shape[targets.dim + 1 :]))
    apart = src.dtype in HALVES or not src.is_floating_point()  # their sums or means differ from those of one pass
    if not targets.is_line or width < _WIDE or (apart and not {"sum", "mean"}.isdisjoint(names)):
        return _reduce_one_by_one(targets, src, names)
    rows = src.movedim(targets.dim, 0).flatten(1)
    results = targets.call(reduce_rows, rows, targets.index, targets.size, names)
    shape = (targets.size, *src.shape[: targets.dim], *src.shape[targets.dim + 1 :])
    return tuple(
        result if name == "count" else result.reshape(shape).movedim(0, targets.dim).contiguous()
        for name, result in zip(names, results, strict=True)
    )


def _reduce_one_by_one(targets: Targets, src: Tensor, names: tuple[str, ...]) -> tuple[Tensor, ...]:
    results: dict[str, Tensor] = {}
    for name in names:
        if name in results:  # a minimum or maximum is computed with its position
            continue
        if name == "count":
            counts = targets.counts(src)
            results[name] = counts.flatten() if targets.is_line else counts
        elif name in ("sum", "mean"):
            results[name] = targets.put(src, "add" if name == "sum" else name)
        else:
            which = name.removeprefix("arg")
            results[which], results[f"arg{which}"] = targets.extremum(src, which)
    return tuple(results[name] for name in names)


def _find_extrema(
    which: str, keeps: Callable[[Tensor, Tensor], Tensor], targets: Targets, src: Tensor, out: Tensor | None
) -> Pair:
    values, members = reduce_several(targets, src, (which, f"arg{which}"))
    if out is None:
        return values, members
    none = src.shape[targets.dim]
    kept = (members == none) | keeps(out, values) | out.isnan()
    return out.copy_(torch.where(kept, out, values)), members.masked_fill(kept, none)


def _find_extreme_values(which: str, targets: Targets, src: Tensor, out: Tensor | None) -> Tensor:
    """Return minima or maxima. Their positions are only needed for gradients."""
    if is_differentiated(src, *(() if out is None else (out,))):
        return (find_minima if which == "min" else find_maxima)(targets, src, out)[0]
    return copy_to_out(out, targets.put(src, which, out))
