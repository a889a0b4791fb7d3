"""The functions of torch_scatter under their own names: `scatter`, `segment_csr`, `scatter_softmax`, and so on.

Arguments and meaning are those that torch_scatter 2.1 documents. Results are the same bits for any number of threads;
of equal values, `scatter_min` and `scatter_max` name the first, and the gradient goes there. Without ``dim_size`` the
largest index decides, which a compiled function can't know.

>>> import torch
>>> from gatherscatter.torch.segment import scatter, scatter_max
>>> src, index = torch.tensor([[1.0, 2.0], [5.0, 6.0], [3.0, 8.0]]), torch.tensor([1, 0, 1])
>>> scatter(src, index, dim=0, reduce="mean")
tensor([[5., 6.],
        [2., 5.]])
>>> total, number, best = scatter(src, index, dim=0, reduce=("sum", "count", "argmax"))     # in one pass
>>> total, number, best
(tensor([[ 5.,  6.],
        [ 4., 10.]]), tensor([1, 2]), tensor([[1, 1],
        [2, 2]]))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gatherscatter.errors import OpValueError
from gatherscatter.torch import functions
from gatherscatter.torch.places import Places
from gatherscatter.torch.reduce import check_names
from gatherscatter.torch.reduce import reduce as reduce_rows

__all__ = [
    "gather_coo",
    "gather_csr",
    "scatter",
    "scatter_add",
    "scatter_log_softmax",
    "scatter_logsumexp",
    "scatter_max",
    "scatter_mean",
    "scatter_min",
    "scatter_mul",
    "scatter_softmax",
    "scatter_std",
    "scatter_sum",
    "segment_add_coo",
    "segment_add_csr",
    "segment_coo",
    "segment_csr",
    "segment_max_coo",
    "segment_max_csr",
    "segment_mean_coo",
    "segment_mean_csr",
    "segment_min_coo",
    "segment_min_csr",
    "segment_sum_coo",
    "segment_sum_csr",
]

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
    dim : int
    out : tensor, optional
        What it begins with; it is changed and returned.
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
    if not isinstance(reduce, str):
        return _several(Places.of(src, index, dim, dim_size), src, tuple(reduce))
    return _value("scatter", reduce)(src, index, dim, out, dim_size)


def scatter_sum(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:
    """The sums, from ``out`` on. Sums of 16-bit floats are rounded once."""
    return _into(out, _places(src, index, dim, out, dim_size).put(src, "add", out))


scatter_add = scatter_sum


def scatter_mul(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:
    """The products, from ``out`` on."""
    places = _places(src, index, dim, out, dim_size)
    start = src.new_ones(()).expand(places.shape(src)) if out is None else out
    return _into(out, places.put(src, "mul", start))


def scatter_mean(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:
    """The means, rounded down for integers; with ``out``, what it holds and the sums, divided by the counts."""
    places = _places(src, index, dim, out, dim_size)
    if out is None:
        return places.put(src, "mean")
    counts = places.put(torch.ones_like(src, dtype=torch.int64), "add").clamp(min=1)
    total = places.put(src, "add", out)
    return _into(out, total / counts if src.is_floating_point() else torch.div(total, counts, rounding_mode="floor"))


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


def scatter_std(
    src: Tensor,
    index: Tensor,
    dim: int = -1,
    out: Tensor | None = None,
    dim_size: int | None = None,
    unbiased: bool = True,
) -> Tensor:
    """The standard deviations; 0, with a gradient of 0, where all values are the same."""
    places = _places(src, index, dim, out, dim_size)
    off = src - places.take(places.put(src, "mean"))
    counts = places.put(torch.ones_like(src), "add")
    squares = places.put(off * off, "add") / (counts - 1 if unbiased else counts).clamp(min=1)
    same = squares == 0
    return _into(out, squares.masked_fill(same, 1).sqrt().masked_fill(same, 0))


def scatter_softmax(src: Tensor, index: Tensor, dim: int = -1, dim_size: int | None = None) -> Tensor:
    """Softmax over the values that have the same index, in the shape of ``src``."""
    places = _of_floats("scatter_softmax", src, index, dim, dim_size)
    powers = (src - places.take(_top(places, src))).exp()
    return powers / places.take(places.put(powers, "add"))


def scatter_log_softmax(
    src: Tensor, index: Tensor, dim: int = -1, eps: float = 1e-12, dim_size: int | None = None
) -> Tensor:
    """The logarithm of `scatter_softmax`; ``eps`` is added to the sum of powers."""
    places = _of_floats("scatter_log_softmax", src, index, dim, dim_size)
    off = src - places.take(_top(places, src))
    return off - places.take((places.put(off.exp(), "add") + eps).log())


def scatter_logsumexp(
    src: Tensor,
    index: Tensor,
    dim: int = -1,
    out: Tensor | None = None,
    dim_size: int | None = None,
    eps: float = 1e-12,
) -> Tensor:
    """``log(sum(exp(src)))`` of the values with the same index, and of ``out``; where nothing comes, ``out`` or 0."""
    places = _of_floats("scatter_logsumexp", src, index, dim, dim_size if out is None else out.shape[dim])
    top = _top(places, src)
    if out is not None:
        top = torch.maximum(top, out.detach().nan_to_num(neginf=torch.finfo(out.dtype).min))
    start = None if out is None else (out - top).exp()
    found = (places.put((src - places.take(top)).exp(), "add", start) + eps).log() + top
    comes = places.put(torch.ones_like(src, dtype=torch.bool), "max")
    return _into(out, torch.where(comes, found, torch.zeros_like(found) if out is None else out))


# ---------------------------------------------------------------------------------------------------------- segments


def segment_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None, reduce: str = "sum") -> Tensor:
    """Reduce ``src[..., indptr[..., i] : indptr[..., i + 1], ...]`` along the last axis of ``indptr``.

    Its axes before that are those of ``src``, or of length 1. ``reduce`` as in `scatter`.
    """
    return _segment_csr(src, indptr, out, _value("segment_csr", reduce))  # type: ignore[no-any-return]


def segment_sum_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """`segment_csr` with sums."""
    return _segment_csr(src, indptr, out, scatter_sum)  # type: ignore[no-any-return]


segment_add_csr = segment_sum_csr


def segment_mean_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """`segment_csr` with means."""
    return _segment_csr(src, indptr, out, scatter_mean)  # type: ignore[no-any-return]


def segment_min_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Pair:
    """`segment_csr` with minima, and where they come from."""
    return _segment_csr(src, indptr, out, scatter_min)  # type: ignore[no-any-return]


def segment_max_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Pair:
    """`segment_csr` with maxima, and where they come from."""
    return _segment_csr(src, indptr, out, scatter_max)  # type: ignore[no-any-return]


def gather_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """Repeat ``src[..., i, ...]`` for the positions of segment i; the reverse of `segment_csr`."""
    dim = indptr.ndim - 1
    count = int(indptr.flatten()[-1])
    return gather_coo(src, _segments(indptr.expand(*src.shape[:dim], -1), count), out)


def segment_coo(
    src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None, reduce: str = "sum"
) -> Tensor:
    """`scatter` along the last axis of ``index``, whose values ascend; here they need not."""
    return _segment_coo(src, index, out, dim_size, _value("segment_coo", reduce))  # type: ignore[no-any-return]


def segment_sum_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Tensor:
    """`segment_coo` with sums."""
    return _segment_coo(src, index, out, dim_size, scatter_sum)  # type: ignore[no-any-return]


segment_add_coo = segment_sum_coo


def segment_mean_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Tensor:
    """`segment_coo` with means."""
    return _segment_coo(src, index, out, dim_size, scatter_mean)  # type: ignore[no-any-return]


def segment_min_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Pair:
    """`segment_coo` with minima, and where they come from."""
    return _segment_coo(src, index, out, dim_size, scatter_min)  # type: ignore[no-any-return]


def segment_max_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Pair:
    """`segment_coo` with maxima, and where they come from."""
    return _segment_coo(src, index, out, dim_size, scatter_max)  # type: ignore[no-any-return]


def gather_coo(src: Tensor, index: Tensor, out: Tensor | None = None) -> Tensor:
    """``src[..., index[..., i], ...]`` along the last axis of ``index``; the reverse of `segment_coo`."""
    dim = index.ndim - 1
    whole = index.expand(*src.shape[:dim], -1)
    return _into(out, functions.gather("gather", src, whole, axis=dim, batch_dims=dim))


# ------------------------------------------------------------------------------------------------------------- parts


def _places(src: Tensor, index: Tensor, dim: int, out: Tensor | None, size: int | None) -> Places:
    return Places.of(src, index, dim, size if out is None else out.shape[dim])


def _of_floats(op: str, src: Tensor, index: Tensor, dim: int, size: int | None) -> Places:
    if not src.is_floating_point():
        raise OpValueError(f"{op}: src must be floats, not {src.dtype}", op=op, input="src")
    return Places.of(src, index, dim, size)


def _into(out: Tensor | None, result: Tensor) -> Tensor:
    return result if out is None else out.copy_(result)


def _top(places: Places, src: Tensor) -> Tensor:
    """The largest value of each place, which only keeps powers in range and has no gradient; 0 instead of infinity."""
    with torch.no_grad():
        return places.put(src, "max").nan_to_num(posinf=0, neginf=0)


# Rows of so many elements and more are grouped by place, and reduced in one pass; to group shorter ones takes longer
# than to pass over them again.
_WIDE = 8


def _several(places: Places, src: Tensor, names: tuple[str, ...]) -> tuple[Tensor, ...]:
    check_names(names)
    width = math.prod(src.shape) // max(src.shape[places.dim], 1)
    if not places.is_line or width < _WIDE:
        return tuple(_one(places, src, name) for name in names)
    rows = src.movedim(places.dim, 0).flatten(1)
    results = reduce_rows(rows, places.index, places.size, names)
    shape = (places.size, *src.shape[: places.dim], *src.shape[places.dim + 1 :])
    return tuple(
        result if name == "count" else result.reshape(shape).movedim(0, places.dim)
        for name, result in zip(names, results, strict=True)
    )


def _one(places: Places, src: Tensor, name: str) -> Tensor:
    if name == "count":
        one = places.index if places.is_line else src
        along = Places(places.index, 0 if places.is_line else places.dim, places.size)
        return along.put(torch.ones_like(one, dtype=torch.int64), "add")
    if name in ("sum", "mean"):
        return places.put(src, "add" if name == "sum" else name)
    values, members = places.extremum(src, name[-3:])
    return members if name.startswith("arg") else values


def _extremum(
    which: str,
    keeps: Callable[[Tensor, Tensor], Tensor],
    src: Tensor,
    index: Tensor,
    dim: int,
    out: Tensor | None,
    dim_size: int | None,
) -> Pair:
    places = _places(src, index, dim, out, dim_size)
    values, members = _several(places, src, (which, f"arg{which}"))
    if out is None:
        return values, members
    none = src.shape[places.dim]
    kept = (members == none) | keeps(out, values) | out.isnan()
    return out.copy_(torch.where(kept, out, values)), members.masked_fill(kept, none)


def _segments(indptr: Tensor, count: int) -> Tensor:
    """The segment of each position; the number of segments where it is in none."""
    if indptr.ndim == 1:
        bounds = torch.cat([indptr.new_zeros(1), indptr, indptr.new_full((1,), count)])
        numbers = torch.arange(-1, indptr.shape[0])
        numbers[0] = indptr.shape[0] - 1
        return numbers.repeat_interleave(bounds.diff(), output_size=count)
    positions = torch.arange(count).expand(*indptr.shape[:-1], count)
    found = torch.searchsorted(indptr.contiguous(), positions.contiguous(), right=True) - 1
    return found.masked_fill(found < 0, indptr.shape[-1] - 1)


def _segment_csr(src: Tensor, indptr: Tensor, out: Tensor | None, reduce: Callable[..., Any]) -> Any:
    dim = indptr.ndim - 1
    size = indptr.shape[-1] - 1
    index = _segments(indptr.expand(*src.shape[:dim], -1), src.shape[dim])
    # One place more, for what is in no segment.
    result = reduce(src, index, dim, None, size + 1)
    if isinstance(result, tuple):
        values, members = (each.narrow(dim, 0, size) for each in result)
        return _into(out, values), members
    return _into(out, result.narrow(dim, 0, size))


def _segment_coo(
    src: Tensor, index: Tensor, out: Tensor | None, dim_size: int | None, reduce: Callable[..., Any]
) -> Any:
    dim = index.ndim - 1
    return reduce(src, index.expand(*src.shape[:dim], -1), dim, out, dim_size)


def _value(op: str, name: str) -> Callable[..., Any]:
    """The scatter that gives the values alone."""
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


def _extreme_value(
    which: str, src: Tensor, index: Tensor, dim: int, out: Tensor | None, dim_size: int | None
) -> Tensor:
    """Where it comes from matters to gradients only."""
    if functions.is_differentiated(src):
        return (scatter_min if which == "min" else scatter_max)(src, index, dim, out, dim_size)[0]
    return _into(out, _places(src, index, dim, out, dim_size).put(src, which, out))
