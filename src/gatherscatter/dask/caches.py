"""tensor_scatter for Dask: a scatter along an axis, at separate positions for each batch entry."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from dask.array import Array

from gatherscatter.arrays import convert
from gatherscatter.dask import graphs, inputs
from gatherscatter.dask.call import plan_call, rechunk
from gatherscatter.dask.tasks import prevent_fusion
from gatherscatter.errors import OpIndexError
from gatherscatter.functions.tensor_scatter import check_shapes, normalise_cache_axis, positions_of
from gatherscatter.functions.tensor_scatter import tensor_scatter as tensor_scatter_in_memory
from gatherscatter.operation import Kernel, Operation

OP = "tensor_scatter"


def tensor_scatter(
    past_cache: Any,
    update: Any,
    write_indices: Any = None,
    *,
    axis: int = -2,
    mode: str = "linear",
    plan: str = "lazy",
    out: None = None,
    num_threads: int | None = None,
) -> Array:
    """Write ``update`` into a cache, lazily, as `gatherscatter.tensor_scatter` does in memory.

    Arguments and errors are the same. ``plan`` is that of `gather`. The result has the chunks of ``past_cache``. A
    window that does not fit raises immediately, or when its chunk is computed if ``write_indices`` is a Dask array.

    >>> import dask.array as da, numpy as np, gatherscatter.dask as gsd
    >>> past = da.zeros((2, 3, 1), chunks=(1, 2, 1))
    >>> gsd.tensor_scatter(past, np.array([[[1.0]], [[2.0]]]), np.array([0, 2])).compute().squeeze()
    array([[1., 0., 0.],
           [0., 0., 2.]])
    """
    inputs.check_plan(OP, plan, out)
    return run(OP, past_cache, update, write_indices, axis=axis, mode=mode, plan=plan, num_threads=num_threads)


def run(
    op: str,
    past_cache: Any,
    update: Any,
    write_indices: Any = None,
    *,
    axis: int,
    mode: str,
    plan: str = "lazy",
    num_threads: int | None = None,
) -> Array:
    """`tensor_scatter` under the name ``op``."""
    operation = Operation(op, Kernel.SCATTER_UPDATE, 1, 1, num_threads=1)
    past = inputs.as_dask(op, "past_cache", past_cache)
    update = inputs.as_dask(op, "update", inputs.as_updates(op, update, past, "update", "past_cache"))
    _check_options(past, update, mode, num_threads)
    axis = normalise_cache_axis(op, axis, past.ndim)
    window = write_indices
    if window is not None:
        window = inputs.as_indices(operation, window, "write_indices")
    check_shapes(op, past.shape, update.shape, axis, None if window is None else window.shape)
    if isinstance(window, Array):
        window = rechunk(window, past.chunks[:1])
    if update.size == 0:  # positions keep the chunks of the window, which is still checked
        update = da.zeros(update.shape, dtype=update.dtype, chunks=(past.chunks[0], *update.shape[1:]))
    positions = _positions(op, window, past.shape[0], past.shape[axis], update.shape[axis], mode)
    data, updates = (prevent_fusion(da.moveaxis(array, axis, 1), array) for array in (past, update))
    made = graphs.build(plan_call(operation, data, positions, updates, plan))
    return prevent_fusion(da.moveaxis(made, 1, axis), made)


def _check_options(past: Array, update: Array, mode: str, num_threads: int | None) -> None:
    """Check the arguments that do not depend on shapes, with a call on empty arrays."""
    empty = np.empty((0, 1), past.dtype), np.empty((0, 1), update.dtype)
    tensor_scatter_in_memory(*empty, axis=1, mode=mode, num_threads=num_threads)


def _positions(
    op: str, window: Array | np.ndarray | None, batch: int, size: int, length: int, mode: str
) -> Array | np.ndarray:
    """Return the position of each update, shape (batch, length)."""
    if not isinstance(window, Array):
        return positions_of(op, window, batch, size, length, mode)
    chunks = (window.chunks[0], (length,))
    options = {"new_axis": 1, "chunks": chunks, "dtype": np.int64, "meta": np.empty((0, 0), np.int64)}
    positions = da.map_blocks(_positions_of_chunk, window, size, length, mode, op, **options)  # type: ignore[no-untyped-call]
    return prevent_fusion(positions, window)


def _positions_of_chunk(
    window: np.ndarray, size: int, length: int, mode: str, op: str, block_info: Any = None
) -> np.ndarray:
    try:
        return positions_of(op, convert.as_indices(op, "write_indices", window), len(window), size, length, mode)
    except OpIndexError as error:
        raise _offset_error_positions(
            error, block_info[0]["array-location"][0][0], block_info[0]["chunk-location"]
        ) from None


def _offset_error_positions(error: OpIndexError, start: int, chunk: tuple[int, ...]) -> OpIndexError:
    """Return the error of a chunk, with positions in the whole array."""
    positions = tuple((start + at,) for (at,) in error.positions)
    text = str(error).replace(f"write_indices[{error.positions[0][0]}]", f"write_indices[{positions[0][0]}]", 1)
    return OpIndexError(
        f"{text}, in chunk {chunk} of write_indices",
        op=error.op,
        input="write_indices",
        count=error.count,
        positions=positions,
        values=error.values,
        axis=error.axis,
        allowed=error.allowed,
    )
