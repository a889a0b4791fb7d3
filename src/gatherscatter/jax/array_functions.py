"""The array functions for JAX, with gradients. They work in compiled programs.

Made by tools/generate_source.py from src/gatherscatter/operation.py.
"""

from __future__ import annotations

from typing import Any

import jax

from gatherscatter.errors import with_call_errors
from gatherscatter.jax.functions import reduce, run
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
    num_threads: int | None = None,
) -> jax.Array:
    """Take whole slices of ``data`` along ``axis``, as `gatherscatter.gather` does, with the same arguments and errors.

    In compiled programs, an index that is out of range raises JaxRuntimeError. A value that needs a 64-bit type raises
    ValueError if JAX has 64-bit types switched off. The types of ``data`` are those of JAX except 4-bit types.

    The gradient with respect to ``data`` adds the gradient of each slice of the result to the slice of ``data`` that it
    was taken from.

    Source: as `gatherscatter.gather`.

    >>> import jax, jax.numpy as jnp, gatherscatter.jax as gsj
    >>> table = jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> jax.jit(gsj.gather)(table, jnp.array([2, 0, -1]))
    Array([[5., 6.],
           [1., 2.],
           [5., 6.]], dtype=float32)
    >>> jax.grad(lambda table: gsj.gather(table, [2, 0, -1]).sum())(table)
    Array([[1., 1.],
           [0., 0.],
           [2., 2.]], dtype=float32)
    """
    operation = Operation("gather", Kernel.GATHER, axis, batch_dims, mode, negative, num_threads=num_threads)
    inputs = {"data": data, "indices": indices}
    return run(operation, inputs)


@with_call_errors
def gather_elements(
    data: Any,
    indices: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    negative: str = "end",
    num_threads: int | None = None,
) -> jax.Array:
    """Take single elements, as `gatherscatter.gather_elements` does, with the same arguments and errors.

    Source: as `gatherscatter.gather_elements`.

    >>> import jax.numpy as jnp, gatherscatter.jax as gsj
    >>> gsj.gather_elements(jnp.array([[1, 2], [3, 4]]), jnp.array([[0, 0], [1, 0]]), axis=1)
    Array([[1, 1],
           [4, 3]], dtype=int32)
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
    return run(operation, inputs)


@with_call_errors
def gather_nd(
    data: Any,
    indices: Any,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    negative: str = "end",
    num_threads: int | None = None,
) -> jax.Array:
    """Take elements or slices named by index tuples.

    As `gatherscatter.gather_nd` does, with the same arguments and errors.

    Source: as `gatherscatter.gather_nd`.

    >>> import jax.numpy as jnp, gatherscatter.jax as gsj
    >>> gsj.gather_nd(jnp.array([[1, 2], [3, 4]]), jnp.array([[0, 0], [1, 0]]))
    Array([1, 3], dtype=int32)
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
    return run(operation, inputs)


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
    num_threads: int | None = None,
) -> jax.Array:
    """Write whole slices along ``axis``, as `gatherscatter.scatter_update` does, with the same arguments and errors.

    Of several updates to one target, 'none' stores the last, and only it has a gradient. With 'min' and 'max', equal
    contributions share the gradient equally.

    Source: as `gatherscatter.scatter_update`.

    >>> import jax, jax.numpy as jnp, gatherscatter.jax as gsj
    >>> updates = jnp.array([1.0, 2.0, 4.0])
    >>> gsj.scatter_update(jnp.zeros(4), [3, 1, 3], updates)
    Array([0., 2., 0., 4.], dtype=float32)
    >>> jax.grad(lambda updates: gsj.scatter_update(jnp.zeros(4), [3, 1, 3], updates).sum())(updates)
    Array([0., 1., 1.], dtype=float32)
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
    return run(operation, inputs)


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
    num_threads: int | None = None,
) -> jax.Array:
    """Write single elements, as `gatherscatter.scatter_elements` does, with the same arguments and errors.

    Source: as `gatherscatter.scatter_elements`.

    >>> import jax.numpy as jnp, gatherscatter.jax as gsj
    >>> gsj.scatter_elements(jnp.zeros((2, 3)), jnp.array([[1, 0, 1]]), jnp.array([[1.0, 2.0, 3.0]]))
    Array([[0., 2., 0.],
           [1., 0., 3.]], dtype=float32)
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
    return run(operation, inputs)


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
    num_threads: int | None = None,
) -> jax.Array:
    """Write elements or slices named by index tuples.

    As `gatherscatter.scatter_nd` does, with the same arguments and errors.

    Source: as `gatherscatter.scatter_nd`.

    >>> import jax.numpy as jnp, gatherscatter.jax as gsj
    >>> gsj.scatter_nd(jnp.zeros(4), jnp.array([[1], [3], [1]]), jnp.array([1.0, 2.0, 4.0]), reduction="add")
    Array([0., 5., 0., 2.], dtype=float32)
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
    return run(operation, inputs)


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
    num_threads: int | None = None,
) -> jax.Array:
    """Gather rows of ``data`` and reduce the rows of each bag to one row.

    As `gatherscatter.gather_reduce` does, with the same arguments and errors.

    There is no ``out``, and data are not a quantized table. ``num_segments`` is required if ``segment_ids`` is traced.
    ``default`` has no gradient. Members that are equal to a 'min' or 'max' share its gradient equally. With
    mode='fill', an index out of range has no gradient.

    The gathered rows are not stored. The gradients of 'add' and 'mean', and of 'min' and 'max' without weights, do not
    store them either. The gradients of 'mul', and of 'min' and 'max' with weights, are those of a gather followed by a
    scatter, which store the gathered rows. In compiled programs, some gradients call back into Python
    (`jax.pure_callback`). A callback takes about 0.1 ms and copies the arrays.

    Under `jax.vmap`, a batch over indices and weights is one call if the last dimension of indices holds the bags. Any
    other batch is one callback that makes a call for each entry. The errors of these calls name positions within the
    entry.

    Source: as `gatherscatter.gather_reduce`.

    >>> import jax, jax.numpy as jnp, gatherscatter.jax as gsj
    >>> table = jnp.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])
    >>> jax.jit(gsj.gather_reduce)(table, jnp.array([[0, 1], [2, 2]]))
    Array([[ 11.,  22.],
           [200., 400.]], dtype=float32)
    >>> jax.grad(lambda table: gsj.gather_reduce(table, [0, 1, 0], offsets=[0, 2], weights=[1, 2, 3]).sum())(table)
    Array([[4., 4.],
           [2., 2.],
           [0., 0.]], dtype=float32)
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
    return reduce(operation, inputs)
