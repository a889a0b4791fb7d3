"""JAX."""

from __future__ import annotations

from gatherscatter.explaining.equivalents.by_numpy import circular, gather, indices_lines, notes, place, starts
from gatherscatter.explaining.equivalents.facts import Facts, identity

METHODS = {"none": "set", "add": "add", "sub": "subtract", "mul": "multiply", "min": "min", "max": "max"}


def code(facts: Facts) -> str:
    """The call in JAX."""
    facts.require(facts.kernel != "gather_tree", "JAX has no beam search; a loop does it, as in NumPy")
    facts.require(facts.call.type != "string", "JAX has no strings")
    lines = ["import jax.numpy as jnp", *_notes(facts)]
    if facts.kernel == "tensor_scatter":
        return "\n".join([*lines, *_tensor_scatter(facts)])
    lines += indices_lines(facts, "jnp", "indices = indices.astype(int)")
    return "\n".join([*lines, *(_scatter(facts) if facts.call.is_scatter else _gather(facts))])


def _notes(facts: Facts) -> list[str]:
    lines = notes(facts, "JAX")
    if any(array.dtype.name in ("int64", "uint64", "float64", "complex128") for array in facts.call.arrays.values()):
        lines.append('# jax.config.update("jax_enable_x64", True) first, or 64-bit values become 32-bit ones')
    if facts.call.is_scatter and facts.kernel != "tensor_scatter":
        lines.append("# JAX drops updates whose index is out of range, without an error")
        if facts.repeated and facts.reduction == "none":
            lines.append("# repeated indices: JAX leaves open which update remains, here it is the last one")
    elif facts.kernel in ("gather", "gather_elements") and not facts.batch:
        lines.append("# JAX fills in NaN or the least integer for an index out of range, without an error")
    elif not facts.call.is_scatter:
        lines.append("# JAX takes the nearest element for an index out of range, without an error")
    return lines


def _gather(facts: Facts) -> list[str]:
    if not facts.missing:
        return gather(facts, "jnp")
    simple = facts.kernel == "gather" and facts.batch == 0 and facts.indices.dtype != "uint64"
    facts.require(simple, "zeros for indices out of range take several steps here")
    return [f'output = jnp.take(data, indices, axis={facts.axis}, mode="fill", fill_value=0)']


def _scatter(facts: Facts) -> list[str]:
    exact = facts.call.accumulate == "step" or facts.is_wide or facts.reduction not in ("add", "sub", "mul", "mean")
    facts.require(exact, "JAX adds up in the type of the array only")
    facts.require(not facts.call.by_tuple or facts.k > 0, "JAX has no empty index tuples")
    at = place(facts, "jnp")
    if facts.kernel == "scatter_update":
        at = f"{facts.columns}indices"
    if facts.reduction == "none":
        return [f"output = data.at[{at}].set(updates)"]
    if facts.reduction == "mean":
        return _mean(facts, at)
    data = "data.astype(jnp.float32)" if facts.is_wide else "data"
    first = "" if facts.call.include_self else f".at[{at}].set({_identity(facts)})"
    after = ".astype(data.dtype)" if facts.is_wide else ""
    return [f"output = {data}{first}.at[{at}].{_method(facts)}(updates){after}"]


def _identity(facts: Facts) -> str:
    facts.require(facts.reduction != "sub", "a difference without data has no first number")
    return identity(facts, "jnp.inf", "jnp.iinfo(data.dtype)")


def _method(facts: Facts) -> str:
    """JAX has no sums of booleans."""
    if facts.call.type == "bool":
        facts.require(facts.reduction != "sub", "JAX has no exclusive or of repeated indices")
        return {"add": "max", "mul": "min"}.get(facts.reduction, facts.reduction)
    return METHODS[facts.reduction]


def _mean(facts: Facts, at: str) -> list[str]:
    is_integer = facts.call.type.startswith(("int", "uint"))
    kind = "int" if is_integer else "jnp.float32" if facts.is_wide else "data.dtype"
    divided = "total // count" if is_integer else f"total / count.astype({kind})"
    facts.require(facts.call.type != "uint64", "JAX has no wider type for the sum of uint64")
    mine = int(facts.call.include_self)
    base = f"data.astype({kind})" + ("" if mine else f".at[{at}].set({'0' if is_integer else '-0.0'})")
    lines = ["# sums beyond 64 bits overflow in JAX; here they don't"] if facts.call.type == "int64" else []
    return [
        *lines,
        f"total = {base}.at[{at}].add(updates)",
        f"count = jnp.full(data.shape, {mine}).at[{at}].add(1)",
        f"output = jnp.where(count > {mine}, {divided.replace('count', 'jnp.maximum(count, 1)')}, data)"
        ".astype(data.dtype)",
    ]


def _tensor_scatter(facts: Facts) -> list[str]:
    axis = facts.axis
    moved = f"jnp.moveaxis(past_cache, {axis}, 1).at[rows, positions].set(jnp.moveaxis(update, {axis}, 1))"
    return [
        "rows = jnp.arange(past_cache.shape[0])[:, None]",
        f"positions = {starts(facts)}jnp.arange(update.shape[{axis}]){circular(facts)}",
        f"output = jnp.moveaxis({moved}, 1, {axis})",
    ]
