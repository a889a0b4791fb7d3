"""The array functions for Dask. They are lazy, work chunk by chunk, and match a call in memory bit for bit.

`gatherscatter.gather` and the other array functions call these functions if one of their arrays is a Dask array. The
functions here have one additional argument: ``plan``.
"""

from __future__ import annotations

from typing import Any

from gatherscatter.system.extras import require
from gatherscatter.system.lazy_modules import attach

with require("dask", text="gatherscatter.dask needs Dask", install="gatherscatter[dask]"):
    import dask.array

from gatherscatter.dask.bags import gather_reduce
from gatherscatter.dask.caches import tensor_scatter
from gatherscatter.dask.call import checked_call
from gatherscatter.dask.graphs import build
from gatherscatter.dask.statistics import aggregate
from gatherscatter.errors import check_effects, with_call_errors
from gatherscatter.functions.chunked import IndexRule, Options

__all__ = [
    "aggregate",
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


@with_call_errors
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
    """Take whole slices of ``data`` along ``axis``, lazily, as `gatherscatter.gather` does in memory.

    Parameters
    ----------
    data, indices : Dask arrays, or arguments of `gatherscatter.gather`
    axis, batch_dims, mode : see `gatherscatter.gather`
    plan : {'lazy', 'eager'}
        For indices that are a Dask array. 'lazy': nothing is computed now. Every chunk of indices then depends on every
        chunk of data in which it could name a place. 'eager': the indices are computed now to find the chunks that they
        touch, and again with the result. Indices out of range raise immediately.
    out : None
        Not supported, because Dask arrays never change.
    num_threads : int, optional
        Checked, but without effect: each task runs on one thread, and the scheduler runs the tasks.

    Returns
    -------
    Dask array
        Along the dimensions of ``data``, it has the chunks of ``data``. Along the dimensions of ``indices``, it has the
        chunks of ``indices``. For indices in memory, the size of these chunks is ``array.chunk-size`` of Dask's
        configuration.

    Raises
    ------
    IndexError
        An index is out of range. For indices in memory it is raised immediately. For lazy indices it is raised when the
        result is computed.
    ValueError, TypeError
        Shapes, attributes or types do not fit. It is raised immediately.

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


@with_call_errors
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
    """Take single elements along ``axis``, lazily, as `gatherscatter.gather_elements` does in memory.

    ``plan`` and the errors are those of `gather`. Lazy indices get the chunks of ``data`` in all dimensions except the
    axis. So a chunk of indices needs only the chunks of data that have the same place in these dimensions.

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


@with_call_errors
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
    """Take elements or slices by index tuples, lazily, as `gatherscatter.gather_nd` does in memory.

    ``plan`` and the errors are those of `gather`.

    >>> import dask.array as da, gatherscatter as gs
    >>> gs.gather_nd(da.ones((4, 5), chunks=2).cumsum(axis=1), [[0, 1], [3, -1]]).compute()
    array([2., 5.])
    """
    call = checked_call(
        IndexRule("gather_nd", "gather_nd", mode), data, indices, batch_dims=batch_dims, plan=plan, out=out,
        num_threads=num_threads,
    )  # fmt: skip
    return build(call)


@with_call_errors
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
    """Write whole slices along ``axis``, lazily, as `gatherscatter.scatter_update` does in memory.

    Updates to one place are combined in row-major order, for any chunking and any scheduler.

    Parameters
    ----------
    data, indices, updates : Dask arrays, or arguments of `gatherscatter.scatter_update`, in any combination
    axis, reduction, include_self, accumulate, mode : see `gatherscatter.scatter_update`
    plan, out, num_threads : see `gather`

    Returns
    -------
    Dask array with the shape, chunks and type of ``data``
        Chunks that are not touched are the chunks of ``data`` itself.

    Raises
    ------
    IndexError, ValueError, TypeError : see `gather`

    Source: as `gatherscatter.scatter_update`.

    >>> import dask.array as da, gatherscatter as gs
    >>> gs.scatter_update(da.zeros(4, chunks=2), [3, 1, 3], [1.0, 2.0, 4.0], reduction="add").compute()
    array([0., 2., 0., 5.])
    """
    check_effects("scatter_update", reduction, include_self, accumulate)
    options = Options(reduction, include_self, accumulate)
    call = checked_call(
        IndexRule("scatter_update", "scatter_update", mode), data, indices, updates, axis=axis, options=options,
        plan=plan, out=out, num_threads=num_threads,
    )  # fmt: skip
    return build(call)


@with_call_errors
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
    """Write single elements along ``axis``, lazily, as `gatherscatter.scatter_elements` does in memory.

    Arguments, result and errors are those of `scatter_update`.

    >>> import dask.array as da, numpy as np, gatherscatter as gs
    >>> zeros = da.zeros((2, 3), chunks=2)
    >>> gs.scatter_elements(zeros, np.array([[1, 0, 1]]), np.array([[1.0, 2.0, 3.0]])).compute()
    array([[0., 2., 0.],
           [1., 0., 3.]])
    """
    check_effects("scatter_elements", reduction, include_self, accumulate)
    options = Options(reduction, include_self, accumulate)
    call = checked_call(
        IndexRule("scatter_elements", "scatter_elements", mode), data, indices, updates, axis=axis, options=options,
        plan=plan, out=out, num_threads=num_threads,
    )  # fmt: skip
    return build(call)


@with_call_errors
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
    """Write elements or slices by index tuples, lazily, as `gatherscatter.scatter_nd` does in memory.

    Arguments, result and errors are those of `scatter_update`, without ``axis``.

    >>> import dask.array as da, gatherscatter as gs
    >>> gs.scatter_nd(da.zeros(4, chunks=2), [[3], [1], [3]], [1.0, 2.0, 4.0], reduction="max").compute()
    array([0., 2., 0., 4.])
    """
    check_effects("scatter_nd", reduction, include_self, accumulate)
    options = Options(reduction, include_self, accumulate)
    call = checked_call(
        IndexRule("scatter_nd", "scatter_nd", mode), data, indices, updates, options=options, plan=plan, out=out,
        num_threads=num_threads,
    )  # fmt: skip
    return build(call)


__getattr__, __dir__ = attach(__name__)
