"""The array functions for Dask. They are lazy.

Made by tools/generate_source.py from src/gatherscatter/operation.py.
"""

from __future__ import annotations

from typing import Any

from dask.array import Array

from gatherscatter.dask.bags import reduce
from gatherscatter.dask.graphs import run
from gatherscatter.errors import with_call_errors
from gatherscatter.operation import Bags, Kernel, Operation

__all__ = [
    "gather",
    "gather_elements",
    "gather_nd",
    "gather_reduce",
    "scatter_elements",
    "scatter_nd",
    "scatter_update",
]


@with_call_errors
def gather(
    data: Any,
    indices: Any,
    axis: int = 0,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    negative: str = "end",
    out: None = None,
    num_threads: int | None = None,
    plan: str = "lazy",
) -> Array:
    """Take whole slices of ``data`` along ``axis``, lazily, as `gatherscatter.gather` does in memory.

    Parameters
    ----------
    plan : {'lazy', 'eager'}
        For indices that are a Dask array. 'lazy': nothing is computed now. Every chunk of indices then depends on every
        chunk of data in which it could name an element. 'eager': the indices are computed now to find the chunks that
        they touch, and again with the result. Indices out of range raise immediately.
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
    operation = Operation("gather", Kernel.GATHER, axis, batch_dims, mode, negative, num_threads=num_threads)
    inputs = {"data": data, "indices": indices}
    return run(operation, inputs, plan, out)


@with_call_errors
def gather_elements(
    data: Any,
    indices: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    negative: str = "end",
    out: None = None,
    num_threads: int | None = None,
    plan: str = "lazy",
) -> Array:
    """Take single elements, lazily, as `gatherscatter.gather_elements` does in memory.

    ``plan``, ``out``, ``num_threads`` and the errors are those of `gather`. Lazy indices get the chunks of ``data`` in
    all dimensions except the axis. So a chunk of indices needs only the chunks of data with the same position in these
    dimensions.

    Source: as `gatherscatter.gather_elements`.

    >>> import dask.array as da, numpy as np, gatherscatter as gs
    >>> gs.gather_elements(da.arange(6, chunks=4).reshape(2, 3), np.array([[2, 0], [1, 1]]), axis=1).compute()
    array([[2, 0],
           [4, 4]])
    """
    operation = Operation(
        "gather_elements",
        Kernel.GATHER_ELEMENTS,
        axis,
        mode=mode,
        negative=negative,
        num_threads=num_threads,
    )
    inputs = {"data": data, "indices": indices}
    return run(operation, inputs, plan, out)


@with_call_errors
def gather_nd(
    data: Any,
    indices: Any,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    negative: str = "end",
    out: None = None,
    num_threads: int | None = None,
    plan: str = "lazy",
) -> Array:
    """Take elements or slices named by index tuples, lazily, as `gatherscatter.gather_nd` does in memory.

    ``plan``, ``out``, ``num_threads`` and the errors are those of `gather`.

    Source: as `gatherscatter.gather_nd`.

    >>> import dask.array as da, gatherscatter as gs
    >>> gs.gather_nd(da.ones((4, 5), chunks=2).cumsum(axis=1), [[0, 1], [3, -1]]).compute()
    array([2., 5.])
    """
    operation = Operation(
        "gather_nd",
        Kernel.GATHER_ND,
        batch_dims=batch_dims,
        mode=mode,
        negative=negative,
        num_threads=num_threads,
    )
    inputs = {"data": data, "indices": indices}
    return run(operation, inputs, plan, out)


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
    negative: str = "end",
    out: None = None,
    num_threads: int | None = None,
    plan: str = "lazy",
) -> Array:
    """Write whole slices along ``axis``, lazily, as `gatherscatter.scatter_update` does in memory.

    Updates to one target are combined in row-major order, for any chunking and any scheduler. Arrays in memory and Dask
    arrays can be combined in any way. The result has the chunks of ``data``. Chunks that are not touched are the chunks
    of ``data`` itself. ``plan``, ``out``, ``num_threads`` and the errors are those of `gather`.

    Source: as `gatherscatter.scatter_update`.

    >>> import dask.array as da, gatherscatter as gs
    >>> gs.scatter_update(da.zeros(4, chunks=2), [3, 1, 3], [1.0, 2.0, 4.0], reduction="add").compute()
    array([0., 2., 0., 5.])
    """
    operation = Operation(
        "scatter_update",
        Kernel.SCATTER_UPDATE,
        axis,
        mode=mode,
        negative=negative,
        reduction=reduction,
        include_self=include_self,
        accumulate=accumulate,
        num_threads=num_threads,
    )
    inputs = {"data": data, "indices": indices, "updates": updates}
    return run(operation, inputs, plan, out)


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
    negative: str = "end",
    out: None = None,
    num_threads: int | None = None,
    plan: str = "lazy",
) -> Array:
    """Write single elements, lazily, as `gatherscatter.scatter_elements` does in memory.

    The result and the errors are those of `scatter_update`.

    Source: as `gatherscatter.scatter_elements`.

    >>> import dask.array as da, numpy as np, gatherscatter as gs
    >>> zeros = da.zeros((2, 3), chunks=2)
    >>> gs.scatter_elements(zeros, np.array([[1, 0, 1]]), np.array([[1.0, 2.0, 3.0]])).compute()
    array([[0., 2., 0.],
           [1., 0., 3.]])
    """
    operation = Operation(
        "scatter_elements",
        Kernel.SCATTER_ELEMENTS,
        axis,
        mode=mode,
        negative=negative,
        reduction=reduction,
        include_self=include_self,
        accumulate=accumulate,
        num_threads=num_threads,
    )
    inputs = {"data": data, "indices": indices, "updates": updates}
    return run(operation, inputs, plan, out)


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
    negative: str = "end",
    out: None = None,
    num_threads: int | None = None,
    plan: str = "lazy",
) -> Array:
    """Write elements or slices named by index tuples, lazily, as `gatherscatter.scatter_nd` does in memory.

    The result and the errors are those of `scatter_update`.

    Source: as `gatherscatter.scatter_nd`.

    >>> import dask.array as da, gatherscatter as gs
    >>> gs.scatter_nd(da.zeros(4, chunks=2), [[3], [1], [3]], [1.0, 2.0, 4.0], reduction="max").compute()
    array([0., 2., 0., 4.])
    """
    operation = Operation(
        "scatter_nd",
        Kernel.SCATTER_ND,
        mode=mode,
        negative=negative,
        reduction=reduction,
        include_self=include_self,
        accumulate=accumulate,
        num_threads=num_threads,
    )
    inputs = {"data": data, "indices": indices, "updates": updates}
    return run(operation, inputs, plan, out)


@with_call_errors
def gather_reduce(
    data: Any,
    indices: Any = None,
    *,
    offsets: Any = None,
    segment_ids: Any = None,
    indptr: Any = None,
    num_segments: int | None = None,
    weights: Any = None,
    reduction: str = "add",
    default: Any = 0,
    accumulate: str = "step",
    mode: str = "raise",
    negative: str = "end",
    out: None = None,
    num_threads: int | None = None,
    plan: str = "lazy",
) -> Array:
    """Gather rows of ``data`` and reduce the rows of each bag to one row.

    Lazily, as `gatherscatter.gather_reduce` does in memory.

    If ``data`` has one chunk along axis 0, each task is a call in memory, which does not store the gathered rows.
    Several chunks are merged if together they are at most ``array.chunk-size`` of Dask's configuration, and have no
    more rows than there are members. Otherwise the task of a chunk of bags gets its rows from other tasks.

    Dask arrays of offsets, segment ids or pointers are computed immediately, because the graph depends on their values.
    They must fit in memory. With ``plan='eager'``, lazy indices are computed now and used like indices in memory, so
    only the chunks of data that they touch have tasks. ``out`` and ``num_threads`` are those of `gather`.

    Returns
    -------
    Dask array
        Along the dimensions of the bags, it has the chunks of lazy indices. Along the dimensions of a row, it has the
        chunks of ``data``. A bag belongs to the chunk in which it starts. A chunk is divided if its task would need
        more than ``array.chunk-size`` for its indices, weights, gathered rows and results. A single bag is never
        divided.

    Raises
    ------
    IndexError
        An index, an offset or a segment id is out of range. The error is raised immediately, except for lazy indices:
        it is then raised when the result is computed.
    ValueError, TypeError
        Shapes, bags, attributes or types do not fit. It is raised immediately.

    Source: as `gatherscatter.gather_reduce`.

    >>> import dask.array as da, gatherscatter as gs
    >>> gs.gather_reduce(da.arange(6, chunks=4), [[0, 1], [5, 5]]).compute()
    array([ 1, 10])
    >>> gs.gather_reduce(da.arange(6, chunks=4), offsets=[0, 3, 3], default=-1).compute()
    array([ 3, -1, 12])
    """
    operation = Operation(
        "gather_reduce",
        Kernel.GATHER_REDUCE,
        mode=mode,
        negative=negative,
        reduction=reduction,
        accumulate=accumulate,
        num_threads=num_threads,
        bags=Bags(num_segments),
    )
    inputs = {
        "data": data,
        "indices": indices,
        "offsets": offsets,
        "segment_ids": segment_ids,
        "indptr": indptr,
        "weights": weights,
        "default": default,
    }
    return reduce(operation, inputs, plan, out)
