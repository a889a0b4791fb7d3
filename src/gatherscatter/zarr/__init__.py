"""Gathers and scatters on Zarr arrays that are larger than memory: chunk by chunk, in place, and safe against crashes.

The functions have the names of the array functions, and their results are bit-for-bit identical. Scatters change the
array. Indices and updates are in memory, or mapped into memory.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import fields
from typing import Any, TypedDict, Unpack

from numpy.typing import ArrayLike

from gatherscatter.system.extras import require
from gatherscatter.system.lazy_modules import attach

with require("zarr", "filelock", text="gatherscatter.zarr needs Zarr and filelock", install="gatherscatter[zarr]"):
    import filelock  # noqa: F401
    import zarr  # noqa: F401

from gatherscatter.errors import check_effects, keyword_fault
from gatherscatter.functions.chunked import Options
from gatherscatter.system.progress import ChunkProgress
from gatherscatter.zarr.call import Progress, Report, StoredOrPath, Terms, checked_call
from gatherscatter.zarr.gather import gather as _gather
from gatherscatter.zarr.journal import JobError
from gatherscatter.zarr.scatter import scatter as _scatter

__all__ = [
    "JobError",
    "Report",
    "gather",
    "gather_elements",
    "gather_nd",
    "scatter_elements",
    "scatter_nd",
    "scatter_update",
]


class CallOptions(TypedDict, total=False):
    """Options of gathers and scatters. `scatter_update` describes them."""

    mode: str
    num_threads: int | None
    workers: int
    memory_limit: int | None
    lock_timeout: float | None
    progress: bool | Progress
    dry_run: bool


class ScatterOptions(CallOptions, total=False):
    """Options of scatters. `scatter_update` describes them."""

    reduction: str
    include_self: bool
    accumulate: str
    job: str | None
    resume: bool | None


def scatter_update(
    array: StoredOrPath, indices: ArrayLike, updates: ArrayLike, axis: int = 0, **options: Unpack[ScatterOptions]
) -> Report:
    """Write whole slices of a stored array along ``axis``, as `gatherscatter.scatter_update` does, in place.

    Everything is checked before the first write. Each chunk with updates (or each shard, if the array has shards) is
    read, changed and written as a whole.

    Parameters
    ----------
    array : array of Zarr, rank >= 1, opened for reading and writing, or its path
        It is in a local directory, in memory, or in a session of Icechunk. With Icechunk the call makes one commit.
    indices : array of any integer type, any shape
    updates : array, shape exactly ``array.shape[:axis] + indices.shape + array.shape[axis+1:]``
    axis : int in [-r, r-1], r the rank of ``array``
    reduction, include_self, accumulate, mode : see `gatherscatter.scatter_update`
    job : str, optional
        A name for the job, which is stored in the directory of the array. A call with the name of a finished job does
        nothing.
    resume : bool, optional
        None: resume this job if it was interrupted, otherwise start it. True: only resume it. False: only start it.
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

    Sources: OpenVINO ScatterUpdate-3.

    >>> import zarr, gatherscatter.zarr as gsz
    >>> counts = zarr.create_array("counts.zarr", shape=(6,), chunks=(2,), dtype="int64", overwrite=True)
    >>> report = gsz.scatter_update(counts, [5, 0, 5], [1, 2, 4], reduction="add")
    >>> report.chunks, counts[:]
    (2, array([2, 0, 0, 0, 0, 5]))
    """
    return _run_scatter("scatter_update", array, indices, updates, axis, **options)


def scatter_elements(
    array: StoredOrPath, indices: ArrayLike, updates: ArrayLike, axis: int = 0, **options: Unpack[ScatterOptions]
) -> Report:
    """Write single elements of a stored array, as `gatherscatter.scatter_elements` does, in place.

    Parameters
    ----------
    array : array of Zarr, rank r >= 1, or its path
    indices : array of rank r, any integer type; off the axis no dimension is longer than that of ``array``
    updates : array, shape exactly ``indices.shape``
    axis : int in [-r, r-1]
    options : see `scatter_update`

    Returns
    -------
    `Report`

    Raises
    ------
    IndexError, ValueError, TypeError, FileNotFoundError, JobError : see `scatter_update`

    Sources: ONNX ScatterElements-18; OpenVINO ScatterElementsUpdate-12.

    >>> import zarr, gatherscatter.zarr as gsz
    >>> z = zarr.create_array("z.zarr", shape=(2, 3), chunks=(1, 2), dtype="int64", overwrite=True)
    >>> print(gsz.scatter_elements(z, [[2, 0], [1, 1]], [[1, 2], [3, 4]], axis=1, reduction="max"))
    scatter_elements max: 4 index tuples touch 3 of 4 chunks; 40 bytes read, 40 bytes written
    >>> z[:]
    array([[2, 0, 1],
           [0, 4, 0]])
    """
    return _run_scatter("scatter_elements", array, indices, updates, axis, **options)


def scatter_nd(
    array: StoredOrPath, indices: ArrayLike, updates: ArrayLike, **options: Unpack[ScatterOptions]
) -> Report:
    """Write elements or slices of a stored array by index tuples, as `gatherscatter.scatter_nd` does, in place.

    Parameters
    ----------
    array : array of Zarr, rank r >= 1, or its path
    indices : array of rank >= 1, any integer type, shape (..., k) with k <= r
    updates : array, shape exactly ``indices.shape[:-1] + array.shape[k:]``
    options : see `scatter_update`

    Returns
    -------
    `Report`

    Raises
    ------
    IndexError, ValueError, TypeError, FileNotFoundError, JobError : see `scatter_update`

    Sources: ONNX ScatterND-18; OpenVINO ScatterNDUpdate-15.

    >>> import zarr, gatherscatter.zarr as gsz
    >>> z = zarr.create_array("z.zarr", shape=(4, 4), chunks=(2, 2), dtype="float32", overwrite=True)
    >>> print(gsz.scatter_nd(z, [[3, 3], [0, 1], [3, 3]], [1.0, 2.0, 4.0], reduction="add", dry_run=True))
    scatter_nd add: 3 index tuples touch 2 of 4 chunks; 32 bytes read, 32 bytes written; nothing was done
    """
    return _run_scatter("scatter_nd", array, indices, updates, **options)


def gather(
    array: StoredOrPath,
    indices: ArrayLike,
    axis: int = 0,
    *,
    batch_dims: int = 0,
    out: Any = None,
    **options: Unpack[CallOptions],
) -> Any:
    """Take whole slices of a stored array along ``axis``, as `gatherscatter.gather` does.

    Each chunk that is needed is read once. With a stored ``out``, the result is computed in parts, and a chunk is read
    once for each part that needs it.

    Parameters
    ----------
    array : array of Zarr, rank >= 1, in any store, or its path
    indices, axis, batch_dims, mode : see `gatherscatter.gather`
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

    Sources: ONNX Gather-13; OpenVINO Gather-8.

    >>> import numpy as np, zarr, gatherscatter.zarr as gsz
    >>> z = zarr.create_array("z.zarr", data=np.arange(12).reshape(4, 3), chunks=(2, 2), overwrite=True)
    >>> gsz.gather(z, [3, 0])
    array([[ 9, 10, 11],
           [ 0,  1,  2]])
    """
    return _run_gather("gather", array, indices, out, {"axis": axis, "batch_dims": batch_dims}, **options)


def gather_elements(
    array: StoredOrPath, indices: ArrayLike, axis: int = 0, *, out: Any = None, **options: Unpack[CallOptions]
) -> Any:
    """Take single elements of a stored array, as `gatherscatter.gather_elements` does.

    Parameters
    ----------
    array : array of Zarr, rank >= 1, in any store, or its path
    indices, axis, mode : see `gatherscatter.gather_elements`
    out, num_threads, workers, memory_limit, lock_timeout, progress, dry_run : see `gather`

    Returns
    -------
    NumPy array of the shape of ``indices``, or ``out``; with ``dry_run`` a `Report`

    Raises
    ------
    IndexError, ValueError, TypeError
        The errors of `gatherscatter.gather_elements`.

    Sources: ONNX GatherElements-13; OpenVINO GatherElements-6.

    >>> import numpy as np, zarr, gatherscatter.zarr as gsz
    >>> z = zarr.create_array("z.zarr", data=np.arange(6).reshape(2, 3), chunks=(1, 2), overwrite=True)
    >>> gsz.gather_elements(z, [[2, 0], [1, 1]], axis=1)
    array([[2, 0],
           [4, 4]])
    """
    return _run_gather("gather_elements", array, indices, out, {"axis": axis}, **options)


def gather_nd(
    array: StoredOrPath, indices: ArrayLike, *, batch_dims: int = 0, out: Any = None, **options: Unpack[CallOptions]
) -> Any:
    """Take elements or slices of a stored array by index tuples, as `gatherscatter.gather_nd` does.

    Parameters
    ----------
    array : array of Zarr, rank >= 1, in any store, or its path
    indices, batch_dims, mode : see `gatherscatter.gather_nd`
    out, num_threads, workers, memory_limit, lock_timeout, progress, dry_run : see `gather`

    Returns
    -------
    NumPy array, or ``out``; with ``dry_run`` a `Report`

    Raises
    ------
    IndexError, ValueError, TypeError
        The errors of `gatherscatter.gather_nd`.

    Sources: ONNX GatherND-13; OpenVINO GatherND-8.

    >>> import numpy as np, zarr, gatherscatter.zarr as gsz
    >>> z = zarr.create_array("z.zarr", data=np.arange(6).reshape(2, 3), chunks=(1, 2), overwrite=True)
    >>> gsz.gather_nd(z, [[1, 2], [0, 0]])
    array([5, 0])
    """
    return _run_gather("gather_nd", array, indices, out, {"batch_dims": batch_dims}, **options)


def _run_scatter(
    op: str,
    array: StoredOrPath,
    indices: ArrayLike,
    updates: ArrayLike,
    axis: int = 0,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    job: str | None = None,
    resume: bool | None = None,
    dry_run: bool = False,
    progress: bool | Progress = False,
    **terms: Any,
) -> Report:
    carried_out = _read_terms(op, _run_scatter, terms)
    check_effects(op, reduction, include_self, accumulate)
    options = Options(reduction, include_self, accumulate)
    call = checked_call(op, op, array, indices, updates, axis=axis, mode=mode, options=options)
    try:
        with _open_progress(op, progress) as shown:
            return _scatter(call, carried_out, shown, dry_run=dry_run, job=job, resume=resume)
    except KeyboardInterrupt as interrupt:  # the note is useful, the frames that were interrupted are not
        raise interrupt.with_traceback(None) from None


def _run_gather(
    op: str,
    array: StoredOrPath,
    indices: ArrayLike,
    out: Any,
    where: dict[str, Any],
    *,
    mode: str = "raise",
    dry_run: bool = False,
    progress: bool | Progress = False,
    **terms: Any,
) -> Any:
    carried_out = _read_terms(op, _run_gather, terms)
    call = checked_call(op, op, array, indices, mode=mode, **where)
    with _open_progress(op, progress) as shown:
        return _gather(call, out, carried_out, shown, dry_run=dry_run)


def _read_terms(op: str, run: Callable[..., Any], given: dict[str, Any]) -> Terms:
    """Check the other keyword arguments of a function that ``run`` runs."""
    known = [field.name for field in fields(Terms)]
    for name in given:
        if name not in known:
            parameters = [*inspect.signature(globals()[op]).parameters, *inspect.signature(run).parameters]
            keyword_fault(op, name, [*parameters, *known])
    terms = Terms(**given)
    terms.check(op)
    return terms


def _open_progress(op: str, progress: bool | Progress) -> Any:
    """Return a context whose value is the progress callback."""
    if callable(progress):
        return nullcontext(progress)
    return ChunkProgress(op) if progress else nullcontext(lambda done, total, moved: None)


__getattr__, __dir__ = attach(__name__)
