"""The array functions for Dask: lazy, chunk by chunk, with the bits of one call in memory.

`gatherscatter.gather` and the others come here by themselves when one of their arrays is a Dask array. The functions
here do the same and have one argument more: ``plan``.
"""

from __future__ import annotations

from typing import Any

from gatherscatter.extras import require

with require("dask", text="gatherscatter.dask needs Dask", install="gatherscatter[dask]"):
    import dask.array

from gatherscatter.chunked import IndexRule, Options
from gatherscatter.dask.bags import gather_reduce
from gatherscatter.dask.caches import tensor_scatter
from gatherscatter.dask.call import checked_call
from gatherscatter.dask.graphs import build

__all__ = [
    "gather",
    "gather_elements",
    "gather_nd",
    "gather_reduce",
    "scatter_elements",
    "scatter_nd",
    "scatter_update",
    "tensor_scatter",
]

Array = dask.array.Array


def gather(
    data: Any,
    indices: Any,
    axis: int = 0,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    plan: str = "lazy",
    out: None = None,
    num_threads: int | None = None,
) -> Array:
    """Take whole slices of ``data`` along ``axis``, lazily: `gatherscatter.gather`, whose arguments and errors it has.

    Parameters
    ----------
    data, indices : Dask arrays, or what `gatherscatter.gather` takes
    plan : {'lazy', 'eager'}
        For indices that are a Dask array. 'lazy': nothing is computed now, and every chunk of indices meets every chunk
        of data that it may name a place in. 'eager': the indices are computed now, twice in all, to find which chunks
        they touch, and bad ones raise at once.
    out : None
        Dask arrays never change.
    num_threads : int, optional
        Checked, but without effect: a task runs on one thread, and the scheduler runs the tasks.

    Returns
    -------
    Dask array, off the axis in the chunks of ``data``, along the indices in those of ``indices``, or, for indices in
    memory, of the size ``array.chunk-size`` of Dask's configuration

    Raises
    ------
    IndexError
        An index is out of range: at once for indices in memory, when the result is computed for lazy ones.
    ValueError, TypeError
        At once: shapes or attributes, or types, don't fit.

    Source: as `gatherscatter.gather`.

    >>> import dask.array as da, gatherscatter as gs
    >>> gs.gather(da.arange(12, chunks=5), [7, -1, 0]).compute()
    array([ 7, 11,  0])
    """
    call = checked_call(
        IndexRule("gather", "gather", mode), data, indices, axis=axis, batch_dims=batch_dims, plan=plan, out=out,
        num_threads=num_threads,
    )  # fmt: skip
    return build(call)


def gather_elements(
    data: Any,
    indices: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    plan: str = "lazy",
    out: None = None,
    num_threads: int | None = None,
) -> Array:
    """Take single elements along ``axis``, lazily: `gatherscatter.gather_elements`; ``plan`` as in `gather`.

    Lazy indices are rechunked off the axis to the chunks of ``data``, so that only chunks in one line meet.

    >>> import dask.array as da, numpy as np, gatherscatter as gs
    >>> gs.gather_elements(da.arange(6, chunks=4).reshape(2, 3), np.array([[2, 0], [1, 1]]), axis=1).compute()
    array([[2, 0],
           [4, 4]])
    """
    call = checked_call(
        IndexRule("gather_elements", "gather_elements", mode), data, indices, axis=axis, plan=plan, out=out,
        num_threads=num_threads,
    )  # fmt: skip
    return build(call)


def gather_nd(
    data: Any,
    indices: Any,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    plan: str = "lazy",
    out: None = None,
    num_threads: int | None = None,
) -> Array:
    """Take elements or slices by index tuples, lazily: `gatherscatter.gather_nd`; ``plan`` as in `gather`.

    >>> import dask.array as da, gatherscatter as gs
    >>> gs.gather_nd(da.ones((4, 5), chunks=2).cumsum(axis=1), [[0, 1], [3, -1]]).compute()
    array([2., 5.])
    """
    call = checked_call(
        IndexRule("gather_nd", "gather_nd", mode), data, indices, batch_dims=batch_dims, plan=plan, out=out,
        num_threads=num_threads,
    )  # fmt: skip
    return build(call)


def scatter_update(
    data: Any,
    indices: Any,
    updates: Any,
    axis: int = 0,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    plan: str = "lazy",
    out: None = None,
    num_threads: int | None = None,
) -> Array:
    """Write whole slices along ``axis``, lazily: `gatherscatter.scatter_update`, whose arguments and errors it has.

    Updates to one place are combined in row-major order, however things are chunked, and by whatever scheduler.

    Parameters
    ----------
    data, indices, updates : Dask arrays, or what `gatherscatter.scatter_update` takes, in any mix
    plan, out, num_threads : see `gather`

    Returns
    -------
    Dask array with the shape, the chunks and the type of ``data``; chunks that are not touched are those of ``data``

    Raises
    ------
    IndexError, ValueError, TypeError : see `gather`

    Source: as `gatherscatter.scatter_update`.

    >>> import dask.array as da, gatherscatter as gs
    >>> gs.scatter_update(da.zeros(4, chunks=2), [3, 1, 3], [1.0, 2.0, 4.0], reduction="add").compute()
    array([0., 2., 0., 5.])
    """
    options = Options(reduction, include_self, accumulate)
    call = checked_call(
        IndexRule("scatter_update", "scatter_update", mode), data, indices, updates, axis=axis, options=options,
        plan=plan, out=out, num_threads=num_threads,
    )  # fmt: skip
    return build(call)


def scatter_elements(
    data: Any,
    indices: Any,
    updates: Any,
    axis: int = 0,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    plan: str = "lazy",
    out: None = None,
    num_threads: int | None = None,
) -> Array:
    """Write single elements along ``axis``, lazily: `gatherscatter.scatter_elements`; the rest as in `scatter_update`.

    >>> import dask.array as da, numpy as np, gatherscatter as gs
    >>> zeros = da.zeros((2, 3), chunks=2)
    >>> gs.scatter_elements(zeros, np.array([[1, 0, 1]]), np.array([[1.0, 2.0, 3.0]])).compute()
    array([[0., 2., 0.],
           [1., 0., 3.]])
    """
    options = Options(reduction, include_self, accumulate)
    call = checked_call(
        IndexRule("scatter_elements", "scatter_elements", mode), data, indices, updates, axis=axis, options=options,
        plan=plan, out=out, num_threads=num_threads,
    )  # fmt: skip
    return build(call)


def scatter_nd(
    data: Any,
    indices: Any,
    updates: Any,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    plan: str = "lazy",
    out: None = None,
    num_threads: int | None = None,
) -> Array:
    """Write by index tuples, lazily: `gatherscatter.scatter_nd`; the rest as in `scatter_update`.

    >>> import dask.array as da, gatherscatter as gs
    >>> gs.scatter_nd(da.zeros(4, chunks=2), [[3], [1], [3]], [1.0, 2.0, 4.0], reduction="max").compute()
    array([0., 2., 0., 4.])
    """
    options = Options(reduction, include_self, accumulate)
    call = checked_call(
        IndexRule("scatter_nd", "scatter_nd", mode), data, indices, updates, options=options, plan=plan, out=out,
        num_threads=num_threads,
    )  # fmt: skip
    return build(call)
