"""``vmap``: a batch of calls becomes one call of the kernel with one more batch dim."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from gatherscatter.jax.calls import execute, is_traced
from gatherscatter.operation import Form, Operation


def run(call: Operation, *arrays: Any) -> Any:
    """Return the result of a call, on concrete or traced arrays."""
    if not is_traced(*arrays):
        return execute(call, *arrays)

    @custom_vmap
    def one(*arrays: Any) -> Any:
        return execute(call, *arrays)

    @one.def_vmap
    def many(size: int, batched: list[bool], *arrays: Any) -> tuple[Any, bool]:
        rule = _batch_gather if len(arrays) == 2 else _batch_scatter
        return rule(call, size, batched, *arrays), True

    return one(*arrays)


def _batch_gather(call: Operation, size: int, batched: list[bool], data: Any, indices: Any) -> Any:
    data_batched, indices_batched = batched
    if not data_batched:
        return _gathers_from_one(call, data, indices)
    if not indices_batched and not _shares_indices(call):
        indices = _repeat_for_batch(indices, size)
        indices_batched = True
    return run(_add_batch_dim(call, indices_batched), data, indices)


def _gathers_from_one(call: Operation, data: Any, indices: Any) -> Any:
    """Gather from shared data with the indices of the whole batch, and move the batch axis to the front."""
    if call.kernel.form == Form.LANES:
        lines = jnp.moveaxis(indices, 0, call.axis)
        merged = lines.reshape(*lines.shape[: call.axis], -1, *lines.shape[call.axis + 2 :])
        return jnp.moveaxis(run(call, data, merged).reshape(lines.shape), call.axis, 0)
    result = run(call, data, jnp.moveaxis(indices, 0, call.batch_dims))
    return jnp.moveaxis(result, call.batch_dims if call.kernel.form == Form.TUPLES else call.axis, 0)


def _batch_scatter(call: Operation, size: int, batched: list[bool], data: Any, indices: Any, updates: Any) -> Any:
    data_batched, indices_batched, updates_batched = batched
    if not indices_batched and not _shares_indices(call):
        indices = _repeat_for_batch(indices, size)
        indices_batched = True
    return run(
        _add_batch_dim(call, indices_batched),
        data if data_batched else _repeat_for_batch(data, size),
        indices,
        updates if updates_batched else _repeat_for_batch(updates, size),
    )


def _shares_indices(call: Operation) -> bool:
    """Whether the same indices apply to all positions in front of the axis."""
    return call.kernel.form == Form.ROWS and call.batch_dims == 0


def _add_batch_dim(call: Operation, indices_batched: bool) -> Operation:
    """Return the call for data with one more dim at the front."""
    form = call.kernel.form
    return call._replace(
        axis=call.axis if form == Form.TUPLES else call.axis + 1,
        batch_dims=call.batch_dims + (indices_batched and form != Form.LANES),
    )


def _repeat_for_batch(array: Any, size: int) -> Any:
    return jnp.broadcast_to(array, (size, *array.shape))
