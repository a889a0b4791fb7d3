"""Run the array functions on arrays of JAX, immediately or in a program that is being traced."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from gatherscatter.errors import check_effects, make_error
from gatherscatter.jax import bags, gradients, inputs
from gatherscatter.jax.calls import execute, is_traced, normalise_call
from gatherscatter.operation import Operation


def run(operation: Operation, given: dict[str, Any]) -> jax.Array:
    """Run a gather or scatter."""
    op = operation.op
    check_effects(op, operation.reduction, operation.include_self, operation.accumulate)
    data = inputs.as_data(op, given["data"])
    updates = () if "updates" not in given else (inputs.as_updates(op, given["updates"], data),)
    indices = inputs.as_indices(operation, given["indices"], is_traced(data, *updates))
    if not is_traced(data, indices, *updates):
        return execute(operation, data, indices, *updates)  # type: ignore[no-any-return]
    operation = normalise_call(operation, data, indices, *updates)
    arrays = map(jnp.asarray, (data, indices, *updates))
    if updates:
        return _in_reverse(op, gradients.scatter, operation, *arrays)  # type: ignore[no-any-return]
    return _in_reverse(op, gradients.gather, operation, data.shape, *arrays)  # type: ignore[no-any-return]


def reduce(operation: Operation, given: dict[str, Any]) -> jax.Array:
    """Run `gatherscatter.gather_reduce`."""
    op, weights, default = operation.op, given["weights"], given["default"]
    arrays = {"data": inputs.as_data(op, given["data"])}
    if weights is not None:
        arrays["weights"] = inputs.as_updates(op, weights, arrays["data"], "weights")
    if not (type(default) is int and default == 0):  # False also equals 0
        arrays["default"] = inputs.as_updates(op, default, arrays["data"], "default")
    members = {name: given[name] for name in ("indices", "offsets", "segment_ids", "indptr")}
    traced = is_traced(*arrays.values(), *jax.tree.leaves(members))
    arrays |= {
        name: inputs.as_indices(operation, value, traced, name) for name, value in members.items() if value is not None
    }
    call = bags.BagReduction(operation)
    if not is_traced(*arrays.values()):
        return bags.run(call, arrays)  # type: ignore[no-any-return]
    call = bags.normalise(call, arrays)
    return _in_reverse(op, gradients.reduce, call, {name: jnp.asarray(array) for name, array in arrays.items()})  # type: ignore[no-any-return]


def _in_reverse(op: str, function: Any, *arguments: Any) -> Any:
    """Call a function that has derivatives in reverse mode only."""
    try:
        return function(*arguments)
    except TypeError as error:
        if "forward-mode" in str(error):
            raise make_error("forward_mode", op, input="data", reverse="jax.vjp, jax.grad or jax.jacrev") from None
        raise
