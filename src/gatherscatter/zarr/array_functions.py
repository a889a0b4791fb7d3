"""The array functions for stored arrays of Zarr.

Made by tools/generate_source.py from src/gatherscatter/operation.py.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from gatherscatter.errors import with_call_errors
from gatherscatter.operation import Kernel, Operation
from gatherscatter.zarr.call import Progress, Report, StoredOrPath, Terms
from gatherscatter.zarr.gather import run as run_gather
from gatherscatter.zarr.scatter import run as run_scatter

__all__ = [
    "gather",
    "gather_elements",
    "gather_nd",
    "scatter_elements",
    "scatter_nd",
    "scatter_update",
]


@with_call_errors
def gather(
    array: StoredOrPath,
    indices: ArrayLike,
    axis: int = 0,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    negative: str = "end",
    out: Any = None,
    num_threads: int | None = None,
    workers: int = 4,
    memory_limit: int | None = None,
    lock_timeout: float | None = None,
    progress: bool | Progress = False,
    dry_run: bool = False,
) -> Any:
    """Take whole slices of ``data`` along ``axis``, as `gatherscatter.gather` does, in a stored array.

    Each chunk that is needed is read once. With a stored ``out``, the result is computed in parts, and a chunk is read
    once for each part that needs it.

    Parameters
    ----------
    array : array of Zarr, rank >= 1, in any store, or its path
    out : NumPy array, array of Zarr or its path, optional
        The array for the result, with its exact shape and type. An array of Zarr is written chunk by chunk. It must be
        in a store that `scatter_update` accepts, and must not have an interrupted scatter. Repeat an interrupted call
        from the start.
    num_threads, workers, memory_limit, lock_timeout, progress, dry_run : see `scatter_update`

    Returns
    -------
    NumPy array, or ``out`` (opened if it is a path); with ``dry_run`` a `Report`

    Raises
    ------
    IndexError, ValueError, TypeError
        The errors of `gatherscatter.gather`. The array is a group.
    FileNotFoundError
        There is no array at a path.
    JobError
        A scatter into ``out`` was interrupted, or another process holds its lock.

    Source: as `gatherscatter.gather`.

    >>> import numpy as np, zarr, gatherscatter.zarr as gsz
    >>> z = zarr.create_array("z.zarr", data=np.arange(12).reshape(4, 3), chunks=(2, 2), overwrite=True)
    >>> gsz.gather(z, [3, 0])
    array([[ 9, 10, 11],
           [ 0,  1,  2]])
    """
    operation = Operation("gather", Kernel.GATHER, axis, batch_dims, mode, negative, num_threads=num_threads)
    terms = Terms(
        num_threads=num_threads,
        workers=workers,
        memory_limit=memory_limit,
        lock_timeout=lock_timeout,
        progress=progress,
        dry_run=dry_run,
    )
    return run_gather(operation, array, indices, out, terms)


@with_call_errors
def gather_elements(
    array: StoredOrPath,
    indices: ArrayLike,
    axis: int = 0,
    *,
    mode: str = "raise",
    negative: str = "end",
    out: Any = None,
    num_threads: int | None = None,
    workers: int = 4,
    memory_limit: int | None = None,
    lock_timeout: float | None = None,
    progress: bool | Progress = False,
    dry_run: bool = False,
) -> Any:
    """Take single elements, as `gatherscatter.gather_elements` does, in a stored array.

    ``out``, the options of stored arrays, the result and the errors are those of `gather`.

    Source: as `gatherscatter.gather_elements`.

    >>> import numpy as np, zarr, gatherscatter.zarr as gsz
    >>> z = zarr.create_array("z.zarr", data=np.arange(6).reshape(2, 3), chunks=(1, 2), overwrite=True)
    >>> gsz.gather_elements(z, [[2, 0], [1, 1]], axis=1)
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
    terms = Terms(
        num_threads=num_threads,
        workers=workers,
        memory_limit=memory_limit,
        lock_timeout=lock_timeout,
        progress=progress,
        dry_run=dry_run,
    )
    return run_gather(operation, array, indices, out, terms)


@with_call_errors
def gather_nd(
    array: StoredOrPath,
    indices: ArrayLike,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    negative: str = "end",
    out: Any = None,
    num_threads: int | None = None,
    workers: int = 4,
    memory_limit: int | None = None,
    lock_timeout: float | None = None,
    progress: bool | Progress = False,
    dry_run: bool = False,
) -> Any:
    """Take elements or slices named by index tuples, as `gatherscatter.gather_nd` does, in a stored array.

    ``out``, the options of stored arrays, the result and the errors are those of `gather`.

    Source: as `gatherscatter.gather_nd`.

    >>> import numpy as np, zarr, gatherscatter.zarr as gsz
    >>> z = zarr.create_array("z.zarr", data=np.arange(6).reshape(2, 3), chunks=(1, 2), overwrite=True)
    >>> gsz.gather_nd(z, [[1, 2], [0, 0]])
    array([5, 0])
    """
    operation = Operation(
        "gather_nd",
        Kernel.GATHER_ND,
        batch_dims=batch_dims,
        mode=mode,
        negative=negative,
        num_threads=num_threads,
    )
    terms = Terms(
        num_threads=num_threads,
        workers=workers,
        memory_limit=memory_limit,
        lock_timeout=lock_timeout,
        progress=progress,
        dry_run=dry_run,
    )
    return run_gather(operation, array, indices, out, terms)


@with_call_errors
def scatter_update(
    array: StoredOrPath,
    indices: ArrayLike,
    updates: ArrayLike,
    axis: int = 0,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    negative: str = "end",
    num_threads: int | None = None,
    workers: int = 4,
    memory_limit: int | None = None,
    lock_timeout: float | None = None,
    progress: bool | Progress = False,
    dry_run: bool = False,
    job: str | None = None,
    resume: bool | None = None,
) -> Report:
    """Write whole slices along ``axis``, as `gatherscatter.scatter_update` does, in a stored array.

    Everything is checked before the first write. Each chunk with updates (or each shard, if the array has shards) is
    read, changed and written as a whole.

    Parameters
    ----------
    array : array of Zarr, rank >= 1, opened for reading and writing, or its path
        It is in a local directory, in memory, or in a session of Icechunk. With Icechunk the call makes one commit.
    num_threads : int >= 1, optional
        The number of threads for a chunk, as for the array functions.
    workers : int >= 1, default 4
        The number of chunks that are processed at the same time.
    memory_limit : int, optional
        The approximate number of bytes that the call can use in addition to indices and updates. Default: no limit.
    lock_timeout : float, optional
        The number of seconds to wait for another process that writes to the array. Default: no limit.
    progress : bool or callable, default False
        True: a bar on stderr, if that is a terminal. A callable gets the number of finished chunks, the number of all
        chunks, and the number of bytes moved.
    dry_run : bool, default False
        Change nothing, and only report what would be touched.
    job : str, optional
        A name for the job, which is stored in the directory of the array. A call with the name of a finished job does
        nothing.
    resume : bool, optional
        None: resume this job if it was interrupted, otherwise start it. True: only resume it. False: only start it.

    Returns
    -------
    `Report`

    Raises
    ------
    IndexError, ValueError, TypeError
        The errors of `gatherscatter.scatter_update`. The array is a group or is in a store without locks. The memory
        limit is too small for a chunk.
    FileNotFoundError
        There is no array at a path.
    JobError
        Another job on the array was interrupted. This job was interrupted, and a chunk was changed afterwards. Another
        process holds the lock. A commit changed the same chunks.

    Source: as `gatherscatter.scatter_update`.

    >>> import zarr, gatherscatter.zarr as gsz
    >>> counts = zarr.create_array("counts.zarr", shape=(6,), chunks=(2,), dtype="int64", overwrite=True)
    >>> report = gsz.scatter_update(counts, [5, 0, 5], [1, 2, 4], reduction="add")
    >>> report.chunks, counts[:]
    (2, array([2, 0, 0, 0, 0, 5]))
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
    terms = Terms(
        num_threads=num_threads,
        workers=workers,
        memory_limit=memory_limit,
        lock_timeout=lock_timeout,
        progress=progress,
        dry_run=dry_run,
        job=job,
        resume=resume,
    )
    return run_scatter(operation, array, indices, updates, terms)


@with_call_errors
def scatter_elements(
    array: StoredOrPath,
    indices: ArrayLike,
    updates: ArrayLike,
    axis: int = 0,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    negative: str = "end",
    num_threads: int | None = None,
    workers: int = 4,
    memory_limit: int | None = None,
    lock_timeout: float | None = None,
    progress: bool | Progress = False,
    dry_run: bool = False,
    job: str | None = None,
    resume: bool | None = None,
) -> Report:
    """Write single elements, as `gatherscatter.scatter_elements` does, in a stored array.

    The options of stored arrays, the report and the errors are those of `scatter_update`.

    Source: as `gatherscatter.scatter_elements`.

    >>> import zarr, gatherscatter.zarr as gsz
    >>> z = zarr.create_array("z.zarr", shape=(2, 3), chunks=(1, 2), dtype="int64", overwrite=True)
    >>> print(gsz.scatter_elements(z, [[2, 0], [1, 1]], [[1, 2], [3, 4]], axis=1, reduction="max"))
    scatter_elements max: 4 index tuples touch 3 of 4 chunks; 40 bytes read, 40 bytes written
    >>> z[:]
    array([[2, 0, 1],
           [0, 4, 0]])
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
    terms = Terms(
        num_threads=num_threads,
        workers=workers,
        memory_limit=memory_limit,
        lock_timeout=lock_timeout,
        progress=progress,
        dry_run=dry_run,
        job=job,
        resume=resume,
    )
    return run_scatter(operation, array, indices, updates, terms)


@with_call_errors
def scatter_nd(
    array: StoredOrPath,
    indices: ArrayLike,
    updates: ArrayLike,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    negative: str = "end",
    num_threads: int | None = None,
    workers: int = 4,
    memory_limit: int | None = None,
    lock_timeout: float | None = None,
    progress: bool | Progress = False,
    dry_run: bool = False,
    job: str | None = None,
    resume: bool | None = None,
) -> Report:
    """Write elements or slices named by index tuples, as `gatherscatter.scatter_nd` does, in a stored array.

    The options of stored arrays, the report and the errors are those of `scatter_update`.

    Source: as `gatherscatter.scatter_nd`.

    >>> import zarr, gatherscatter.zarr as gsz
    >>> z = zarr.create_array("z.zarr", shape=(4, 4), chunks=(2, 2), dtype="float32", overwrite=True)
    >>> print(gsz.scatter_nd(z, [[3, 3], [0, 1], [3, 3]], [1.0, 2.0, 4.0], reduction="add", dry_run=True))
    scatter_nd add: 3 index tuples touch 2 of 4 chunks; 32 bytes read, 32 bytes written; nothing was done
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
    terms = Terms(
        num_threads=num_threads,
        workers=workers,
        memory_limit=memory_limit,
        lock_timeout=lock_timeout,
        progress=progress,
        dry_run=dry_run,
        job=job,
        resume=resume,
    )
    return run_scatter(operation, array, indices, updates, terms)
