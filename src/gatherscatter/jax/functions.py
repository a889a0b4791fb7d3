"""The array functions for arrays of JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from gatherscatter.errors import check_effects, make_error, with_call_errors
from gatherscatter.jax import bags, gradients, inputs
from gatherscatter.jax.bags import BagReduction
from gatherscatter.jax.calls import TracedCall, execute, is_traced, normalise_call


@with_call_errors
def gather(
    data: Any,
    indices: Any,
    axis: int = 0,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    num_threads: int | None = None,
) -> jax.Array:
    """Take whole slices of ``data`` along ``axis``, as `gatherscatter.gather` does.

    Parameters
    ----------
    data : array, shape (d0, ..., dn), rank >= 1, any type of JAX except 4-bit types
    indices : array of any integer type, any shape; a scalar drops the axis
    axis : int in [-r, r-1], r the rank of ``data``
    batch_dims : int
        The number of leading dims that ``data`` and ``indices`` share; at most ``axis``.
    mode : {'raise', 'wrap', 'clip', 'fill'}
        What happens for an index that is out of range. 'raise': an error (JaxRuntimeError in compiled programs).
        'fill': zeros.
    num_threads : int >= 1, optional
        The largest number of threads for this call. Results do not depend on it.

    Returns
    -------
    jax.Array, shape ``data.shape[:axis] + indices.shape[batch_dims:] + data.shape[axis+1:]``, of data's type

    Raises
    ------
    IndexError
        An index is out of range. The message names its position.
    ValueError, TypeError
        Shapes, attributes or types do not fit, or a value needs a 64-bit type and JAX has 64-bit types switched off.

    The gradient with respect to ``data`` adds the gradient of each slice of the result to the slice of ``data`` that it
    was taken from.

    Sources: ONNX Gather-13; OpenVINO Gather-8.

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
    return _gather(TracedCall("gather", axis, batch_dims, mode=mode, num_threads=num_threads), data, indices)


@with_call_errors
def gather_elements(
    data: Any, indices: Any, axis: int = 0, *, mode: str = "raise", num_threads: int | None = None
) -> jax.Array:
    """Take single elements by their positions along ``axis``, as `gatherscatter.gather_elements` does.

    Parameters
    ----------
    data : array of rank r >= 1
    indices : array of rank r and any integer type, off the axis no longer than ``data``
    axis : int in [-r, r-1]
    mode, num_threads : see `gather`

    Returns
    -------
    jax.Array with the shape of ``indices`` and the type of ``data``

    Raises
    ------
    IndexError, ValueError, TypeError : see `gather`

    Sources: ONNX GatherElements-13; OpenVINO GatherElements-6.

    >>> import jax.numpy as jnp, gatherscatter.jax as gsj
    >>> gsj.gather_elements(jnp.array([[1, 2], [3, 4]]), jnp.array([[0, 0], [1, 0]]), axis=1)
    Array([[1, 1],
           [4, 3]], dtype=int32)
    """
    return _gather(TracedCall("gather_elements", axis, mode=mode, num_threads=num_threads), data, indices)


@with_call_errors
def gather_nd(
    data: Any, indices: Any, *, batch_dims: int = 0, mode: str = "raise", num_threads: int | None = None
) -> jax.Array:
    """Take elements or slices named by index tuples, as `gatherscatter.gather_nd` does.

    Parameters
    ----------
    data : array of rank r >= 1
    indices : array of rank >= 1, any integer type, shape (..., k) with k <= r - batch_dims
    batch_dims : int in [0, min(r, rank of indices)), the number of leading dims that ``data`` and ``indices`` share
    mode, num_threads : see `gather`

    Returns
    -------
    jax.Array, shape ``indices.shape[:-1] + data.shape[batch_dims + k:]``, of data's type

    Raises
    ------
    IndexError, ValueError, TypeError : see `gather`

    Sources: ONNX GatherND-13; OpenVINO GatherND-8.

    >>> import jax.numpy as jnp, gatherscatter.jax as gsj
    >>> gsj.gather_nd(jnp.array([[1, 2], [3, 4]]), jnp.array([[0, 0], [1, 0]]))
    Array([1, 3], dtype=int32)
    """
    return _gather(TracedCall("gather_nd", batch_dims=batch_dims, mode=mode, num_threads=num_threads), data, indices)


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
    num_threads: int | None = None,
) -> jax.Array:
    """Write whole slices along ``axis``, as `gatherscatter.scatter_update` does: the reverse of `gather`.

    Parameters
    ----------
    data : array of rank r >= 1; it is not changed
    indices : array of any integer type, any shape
    updates : array, shape exactly ``data.shape[:axis] + indices.shape + data.shape[axis+1:]``
        Its type is that of ``data``, or one that can be stored in it.
    axis : int in [-r, r-1]
    reduction : {'none', 'add', 'sub', 'mul', 'min', 'max', 'mean'}
        'none' overwrites. Of several updates to one place, the last in row-major order is stored, and only it has a
        gradient. With 'min' and 'max', equal contributions share the gradient equally.
    include_self : bool
        Whether the element of ``data`` is one of the contributions. Places without updates always keep their element.
    accumulate : {'step', 'wide', 'exact'}
        How floats are added up; see `gatherscatter.scatter_update`.
    mode : {'raise', 'wrap', 'clip', 'drop'}
        What happens for an index that is out of range; see `gather`. 'drop' skips its update.
    num_threads : int >= 1, optional
        The largest number of threads for this call. Results do not depend on it.

    Returns
    -------
    jax.Array with the shape and type of ``data``

    Raises
    ------
    IndexError, ValueError, TypeError : see `gather`

    Sources: OpenVINO ScatterUpdate-3; for the reductions ONNX ScatterND-18 and OpenVINO ScatterElementsUpdate-12.

    >>> import jax, jax.numpy as jnp, gatherscatter.jax as gsj
    >>> updates = jnp.array([1.0, 2.0, 4.0])
    >>> gsj.scatter_update(jnp.zeros(4), [3, 1, 3], updates)
    Array([0., 2., 0., 4.], dtype=float32)
    >>> jax.grad(lambda updates: gsj.scatter_update(jnp.zeros(4), [3, 1, 3], updates).sum())(updates)
    Array([0., 1., 1.], dtype=float32)
    """
    call = TracedCall("scatter_update", axis, 0, reduction, include_self, accumulate, mode, num_threads)
    return _scatter(call, data, indices, updates)


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
    num_threads: int | None = None,
) -> jax.Array:
    """Write single elements, as `gatherscatter.scatter_elements` does: the reverse of `gather_elements`.

    Parameters
    ----------
    data : array of rank r >= 1; it is not changed
    indices : array of rank r and any integer type, off the axis no longer than ``data``
    updates : array with the shape of ``indices``
    axis : int in [-r, r-1]
    reduction, include_self, accumulate, mode, num_threads : see `scatter_update`

    Returns
    -------
    jax.Array with the shape and type of ``data``

    Raises
    ------
    IndexError, ValueError, TypeError : see `gather`

    Sources: ONNX ScatterElements-18; OpenVINO ScatterElementsUpdate-12.

    >>> import jax.numpy as jnp, gatherscatter.jax as gsj
    >>> gsj.scatter_elements(jnp.zeros((2, 3)), jnp.array([[1, 0, 1]]), jnp.array([[1.0, 2.0, 3.0]]))
    Array([[0., 2., 0.],
           [1., 0., 3.]], dtype=float32)
    """
    call = TracedCall("scatter_elements", axis, 0, reduction, include_self, accumulate, mode, num_threads)
    return _scatter(call, data, indices, updates)


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
    num_threads: int | None = None,
) -> jax.Array:
    """Write elements or slices named by index tuples, as `gatherscatter.scatter_nd` does: the reverse of `gather_nd`.

    Parameters
    ----------
    data : array of rank r >= 1; it is not changed
    indices : array of rank >= 1, any integer type, shape (..., k) with k <= r
    updates : array, shape exactly ``indices.shape[:-1] + data.shape[k:]``
    reduction, include_self, accumulate, mode, num_threads : see `scatter_update`

    Returns
    -------
    jax.Array with the shape and type of ``data``

    Raises
    ------
    IndexError, ValueError, TypeError : see `gather`

    Sources: ONNX ScatterND-18; OpenVINO ScatterNDUpdate-15.

    >>> import jax.numpy as jnp, gatherscatter.jax as gsj
    >>> gsj.scatter_nd(jnp.zeros(4), jnp.array([[1], [3], [1]]), jnp.array([1.0, 2.0, 4.0]), reduction="add")
    Array([0., 5., 0., 2.], dtype=float32)
    """
    call = TracedCall("scatter_nd", 0, 0, reduction, include_self, accumulate, mode, num_threads)
    return _scatter(call, data, indices, updates)


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
    num_threads: int | None = None,
) -> jax.Array:
    """Gather rows and reduce the rows of each bag to one row, as `gatherscatter.gather_reduce` does.

    Arguments and errors are the same, except that there is no ``out``. The gathered rows are not stored. In compiled
    programs, some gradients call back into Python (`jax.pure_callback`). A callback takes about 0.1 ms and copies the
    arrays.

    Parameters
    ----------
    data, indices, offsets, segment_ids, indptr, reduction, accumulate, mode, num_threads
        See `gatherscatter.gather_reduce`.
        Members that are equal to a 'min' or 'max' share its gradient equally. With mode='fill', an index out of range
        has no gradient.
    num_segments : int >= 0, optional
        As for `gatherscatter.gather_reduce`. It is required if ``segment_ids`` is traced.
    weights, default : of the type of ``data``, or of a type that can be stored in it
        ``default`` has no gradient.

    Returns
    -------
    jax.Array of data's type, shape ``bags + data.shape[1:]``

    Notes
    -----
    The gradients of 'add' and 'mean', and of 'min' and 'max' without weights, do not store the gathered rows. The
    gradients of 'mul', and of 'min' and 'max' with weights, are those of a gather followed by a scatter, which store
    the gathered rows.

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
    op = bags.OP
    arrays = {"data": inputs.as_data(op, data)}
    if weights is not None:
        arrays["weights"] = inputs.as_updates(op, weights, arrays["data"], "weights")
    if not (type(default) is int and default == 0):  # False also equals 0
        arrays["default"] = inputs.as_updates(op, default, arrays["data"], "default")
    members = {"indices": indices, "offsets": offsets, "segment_ids": segment_ids, "indptr": indptr}
    traced = is_traced(*arrays.values(), *jax.tree.leaves(members))
    arrays |= {name: inputs.as_indices(op, value, traced, name) for name, value in members.items() if value is not None}
    call = BagReduction(num_segments, reduction, accumulate, mode, num_threads)
    if is_traced(*arrays.values()):
        call = bags.normalise(call, arrays)
        result: jax.Array = _in_reverse(
            op, gradients.reduce, call, {name: jnp.asarray(array) for name, array in arrays.items()}
        )
    else:
        result = bags.run(call, arrays)
    return result


def _in_reverse(op: str, function: Any, *arguments: Any) -> Any:
    """Call a function that has derivatives in reverse mode only."""
    try:
        return function(*arguments)
    except TypeError as error:
        if "forward-mode" in str(error):
            raise make_error("forward_mode", op, input="data", reverse="jax.vjp, jax.grad or jax.jacrev") from None
        raise


def _gather(call: TracedCall, data: Any, indices: Any) -> jax.Array:
    data = inputs.as_data(call.op, data)
    indices = inputs.as_indices(call.op, indices, is_traced(data))
    if is_traced(data, indices):
        call = normalise_call(call, data, indices)
        result: jax.Array = _in_reverse(
            call.op, gradients.gather, call, data.shape, jnp.asarray(data), jnp.asarray(indices)
        )
    else:
        result = execute(call, data, indices)
    return result


def _scatter(call: TracedCall, data: Any, indices: Any, updates: Any) -> jax.Array:
    check_effects(call.op, call.reduction, call.include_self, call.accumulate)
    data = inputs.as_data(call.op, data)
    updates = inputs.as_updates(call.op, updates, data)
    indices = inputs.as_indices(call.op, indices, is_traced(data, updates))
    if is_traced(data, indices, updates):
        call = normalise_call(call, data, indices, updates)
        result: jax.Array = _in_reverse(
            call.op, gradients.scatter, call, jnp.asarray(data), jnp.asarray(indices), jnp.asarray(updates)
        )
    else:
        result = execute(call, data, indices, updates)
    return result
