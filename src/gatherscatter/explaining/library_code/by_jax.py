"""Code for JAX."""

from __future__ import annotations

from gatherscatter.explaining.library_code.by_numpy import (
    gather_expression,
    gather_with_empty_tuples,
    normalise_indices,
    prepare_members,
)
from gatherscatter.explaining.library_code.call import LibraryCall
from gatherscatter.explaining.library_code.parts import (
    bag_count,
    bag_default,
    clear_missing_starts,
    fuse_batch_dims,
    identity,
    index_lines,
    limits,
    map_batches,
    negative_note,
    new_axes,
    overflow_note,
    repeated_note,
    restore_bags,
    sum_of,
    weighted_rows,
    wrap_positions,
)
from gatherscatter.operation import Kernel

METHODS = {"none": "set", "add": "add", "sub": "subtract", "mul": "multiply", "min": "min", "max": "max"}


def code(call: LibraryCall) -> list[str]:
    """Write the call in JAX."""
    call.require(call.kernel != Kernel.GATHER_TREE, "JAX has no beam search; a loop does it, as in NumPy")
    call.require(call.type != "string", "JAX has no strings")
    lines = ["import jax.numpy as jnp", *_notes(call)]
    if call.reduces_bags:
        return [*lines, *prepare_members(call, "jnp"), *_reduce_bags(call)]
    if call.kernel == Kernel.TENSOR_SCATTER:
        return ["import jax", *lines, *clear_missing_starts(call), *_scatter_windows(call)]
    lines += normalise_indices(call, "jnp", "indices = indices.astype(int)")
    if call.is_scatter:
        return [*lines, *_scatter(call)]
    gather = _gather(call)
    return [*(["import jax"] if "jax.vmap" in gather[0] else []), *lines, *gather]


def plain_code(call: LibraryCall) -> list[str]:
    """Code with take, take_along_axis, indexing, ``.at[]`` and dynamic_update_slice."""
    if call.kernel == Kernel.TENSOR_SCATTER:
        return _scatter_windows(call)
    if call.reduces_bags:
        return _plain_bags(call)
    if not call.is_scatter:
        return [f"{call.result_name} = {map_batches('jax', gather_expression(call, 'jnp'), call.batch_dims)}"]
    call.require(call.reduction in METHODS, f".at[] has no {call.reduction}")
    call.require(call.include_self or call.reduction == "none", ".at[] reduces into what is there")
    lines, at = _index(call)
    return [*lines, f"{call.result_name} = data.at{at}.{METHODS[call.reduction]}(updates)"]


def _notes(call: LibraryCall) -> list[str]:
    lines = negative_note(call, "JAX")
    if any(array.dtype.name in ("int64", "uint64", "float64", "complex128") for array in call.arrays.values()):
        lines.append('# call jax.config.update("jax_enable_x64", True) first; otherwise 64-bit values lose bits')
    if call.is_scatter and call.kernel != Kernel.TENSOR_SCATTER:
        lines.append("# JAX drops updates whose index is out of range, without an error")
        lines += repeated_note(call, "JAX")
    elif call.kernel in (Kernel.GATHER, Kernel.GATHER_ELEMENTS):
        lines.append("# JAX fills in NaN or the least integer for an index out of range, without an error")
    elif not call.is_scatter and call.indices is not None:
        lines.append("# JAX takes the nearest element for an index out of range, without an error")
    return lines


def _gather(call: LibraryCall) -> list[str]:
    if call.missing:
        simple = call.kernel == Kernel.GATHER and call.batch_dims == 0 and call.index_type != "uint64"
        call.require(simple, "zeros for indices out of range take several steps here")
        return [f'output = jnp.take(data, indices, axis={call.axis}, mode="fill", fill_value=0)']
    if call.by_tuple and call.k == 0:
        expression = gather_with_empty_tuples(call, "jnp")
    else:
        expression = map_batches("jax", gather_expression(call, "jnp", f"data{call.shorter}"), call.batch_dims)
    return [f"output = {expression}", *fuse_batch_dims(call)]


def _scatter(call: LibraryCall) -> list[str]:
    call.require(call.adds_stepwise, "JAX adds up in the type of the array only")
    call.require(not call.by_tuple or call.k > 0, "JAX has no empty index tuples")
    lines, at = _index(call)
    if call.reduction == "mean":
        return [*lines, *_mean(call, at)]
    data = "data.astype(jnp.float32)" if call.is_wide else "data"
    first, after = "", ".astype(data.dtype)" if call.is_wide else ""
    if not call.include_self and call.reduction != "none":
        first = f".at{at}.set({identity(call, 'jnp.inf', 'jnp.iinfo(data.dtype)')})"
    return [*lines, f"output = {data}{first}.at{at}.{_method(call)}(updates){after}"]


def _index(call: LibraryCall) -> tuple[list[str], str]:
    """The lines before the index expression, and the subscript."""
    if call.kernel == Kernel.SCATTER_UPDATE:
        return [], call.subscript("indices")
    return index_lines(call, "jnp"), "[at]"


def _method(call: LibraryCall) -> str:
    """Replace sums of booleans, which JAX does not have."""
    if call.type == "bool" and call.reduction != "none":
        call.require(call.reduction != "sub", "JAX has no exclusive or of repeated indices")
        return {"add": "max", "mul": "min"}.get(call.reduction, call.reduction)
    return METHODS[call.reduction]


def _mean(call: LibraryCall, at: str) -> list[str]:
    is_integer = call.type.startswith(("int", "uint"))
    kind = "int" if is_integer else "jnp.float32" if call.is_wide else "data.dtype"
    divided = "total // count" if is_integer else f"total / count.astype({kind})"
    call.require(call.type != "uint64", "JAX has no wider type for the sum of uint64")
    mine = int(call.include_self)
    base = f"data.astype({kind})" + ("" if mine else f".at{at}.set({'0' if is_integer else '-0.0'})")
    return [
        *overflow_note(call, "JAX"),
        f"total = {base}.at{at}.add(updates)",
        f"count = jnp.full(data.shape, {mine}).at{at}.add(1)",
        f"output = jnp.where(count > {mine}, {divided.replace('count', 'jnp.maximum(count, 1)')}, data)"
        ".astype(data.dtype)",
    ]


def _reduce_bags(call: LibraryCall) -> list[str]:
    call.require(call.adds_stepwise, "JAX adds up in the type of the array only")
    data, is_mean = call.name("data"), call.reduction == "mean"
    is_integer = call.type.startswith(("int", "uint"))
    call.require(not is_mean or call.type != "uint64", "JAX has no wider type for the sum of uint64")
    kind = "int" if is_mean and is_integer else "jnp.float32" if call.is_wide else f"{data}.dtype"
    first = "0" if kind == "int" else identity(sum_of(call), "jnp.inf", limits(call, "jnp"))
    full = f"jnp.full(({bag_count(call)}, *{data}.shape[1:]), {first}, {kind})"
    has_empty = bool(call.empty_bags.any())
    lines = [*overflow_note(call, "JAX"), f"output = {full}.at[bags].{_method(sum_of(call))}(rows)"]
    if is_mean or has_empty:
        lines.append(f"count = jnp.bincount(bags, length=len(output)){new_axes(call)}")
    if is_mean:
        divided = "//" if is_integer else "/"
        lines.append(f"output = output {divided} jnp.maximum(count, 1).astype({kind})")
    if kind != f"{data}.dtype":
        lines.append(f"output = output.astype({data}.dtype)")
    if has_empty:
        default = bag_default(call, f"{limits(call, 'jnp')}.min")
        lines.append(f"output = jnp.where(count == 0, {default}, output).astype({data}.dtype)")
    return [*lines, *restore_bags(call)]


def _plain_bags(call: LibraryCall) -> list[str]:
    """Code with sum and mean along an axis, segment_sum and segment_max."""
    data, result = call.name("data"), call.result_name
    call.require(call.default_row is None, "JAX has no rows for empty bags")
    lines = weighted_rows(call)
    if call.bag_input is None:
        return [*lines, f"{result} = rows.{'mean' if call.reduction == 'mean' else 'sum'}(axis=1, dtype={data}.dtype)"]
    call.require(call.bag_input == "segment_ids", "JAX has no bags by offsets")
    call.require(call.reduction != "max" or call.fill_mode == "LOWEST", "no maximum gives zeros for no rows")
    name = {"add": "sum", "max": "max"}[call.reduction]
    return [*lines, f"{result} = jax.ops.segment_{name}(rows, segment_ids, {bag_count(call)})"]


def _scatter_windows(call: LibraryCall) -> list[str]:
    axis = call.axis
    body = f"jax.lax.dynamic_update_slice_in_dim(past, new, start, {axis - 1})"
    if call.mode == "circular":
        positions = wrap_positions(call, f"start + jnp.arange(update.shape[{axis}])")
        body = f"past.at[{':, ' * (axis - 1)}{positions}].set(new)"
    return [
        "starts = jnp.zeros(len(past_cache), int) if write_indices is None else write_indices",
        f"{call.result_name} = jax.vmap(lambda past, new, start: {body})(past_cache, update, starts)",
    ]
