"""Code for TensorFlow."""

from __future__ import annotations

from gatherscatter.explaining.library_code.call import LibraryCall
from gatherscatter.explaining.library_code.parts import (
    bag_count,
    bag_default,
    fused_shape,
    identity,
    member_count,
    member_rows,
    new_axes,
    repeated_note,
    sum_of,
    weighted_rows,
)
from gatherscatter.operation import Kernel
from gatherscatter.specs.rows import ONNX_13

FUNCTIONS = {"none": "update", "add": "add", "sub": "sub", "min": "min", "max": "max"}
TYPES = ONNX_13
_TAKE, _FLATTEN, _GREATEST = "tf.gather({}, {})", "tf.reshape({}, [-1])", "tf.reduce_max(segment_ids)"
WIDEN = "indices = tf.cast(indices, tf.int64)"


def code(call: LibraryCall) -> list[str]:
    """Write the call in TensorFlow."""
    call.require(call.kernel != Kernel.GATHER_TREE, "only the former TensorFlow Addons had gather_tree")
    call.require(call.kernel != Kernel.TENSOR_SCATTER, "TensorFlow has no scatter of windows")
    call.require(not call.missing, "TensorFlow refuses indices out of range on a CPU, and ignores them on a GPU")
    call.require(call.type in TYPES, f"TensorFlow does not index tensors of {call.type}")
    if call.reduces_bags:
        return ["import tensorflow as tf", *_reduce_bags(call)]
    full = call.kernel == Kernel.GATHER or all(array.size for array in call.arrays.values())
    call.require(full, "TensorFlow refuses tensors without elements here")
    lines = ["import tensorflow as tf"]
    if call.is_scatter:
        lines += repeated_note(call, "TensorFlow")
    if call.reduction in ("min", "max") and call.has_nan:
        lines.append("# TensorFlow loses some NaN here")
    if call.widens_indices:
        lines.append(WIDEN)
    lines += _normalise_indices(call)
    return [*lines, *(_scatter(call) if call.is_scatter else _gather(call))]


def plain_code(call: LibraryCall) -> list[str]:
    """Code with gather, gather_nd, tensor_scatter_nd_update and related functions, and take_along_axis."""
    result = call.result_name
    if call.reduces_bags:
        return _plain_bags(call)
    if call.kernel == Kernel.GATHER_ELEMENTS:
        return [f"{result} = tf.experimental.numpy.take_along_axis(data, indices, axis={call.axis})"]
    if not call.is_scatter:
        return [f"{result} = {_gather_expression(call)}"]
    known = call.kernel in (Kernel.SCATTER_ND, Kernel.SCATTER_UPDATE)
    call.require(known, f"there is no such scatter ({call.kernel})")
    call.require(call.reduction in FUNCTIONS, f"there is no tensor_scatter_nd for {call.reduction}")
    if call.kernel == Kernel.SCATTER_ND:
        return [f"{result} = {_function(call)}(data, indices, updates)"]
    call.require(call.axis == 0, "there is no scatter along another axis than 0")
    return [f"{result} = {_function(call)}(data, indices[..., None], updates)"]


def _normalise_indices(call: LibraryCall) -> list[str]:
    kind = "tf.int64" if call.widens_indices else "indices.dtype"
    sizes = f"tf.constant({list(call.sizes)}, {kind})" if call.by_tuple else str(call.sizes[0])
    if call.mode == "wrap":
        return [f"indices = tf.math.floormod(indices, {sizes})"]
    if call.mode == "clip":
        return [f"indices = tf.clip_by_value(indices, 0, {sizes} - 1)"]
    if call.negative:
        return [f"indices = tf.where(indices < 0, indices + {sizes}, indices)  # none may be negative below"]
    return []


def _gather(call: LibraryCall) -> list[str]:
    if call.kernel == Kernel.GATHER_ELEMENTS:
        return [f"at = {_grid(call)}", "output = tf.gather_nd(data, at)"]
    lines = [f"output = {_gather_expression(call)}"]
    if call.is_fused:
        lines.append(f"output = tf.reshape(output, ({fused_shape(call)}))")
    return lines


def _gather_expression(call: LibraryCall) -> str:
    batch = f", batch_dims={call.batch_dims}" if call.batch_dims else ""
    if call.kernel == Kernel.GATHER:
        return f"tf.gather(data, indices, axis={call.axis}{batch})"
    return f"tf.gather_nd(data, indices{batch})"


def _scatter(call: LibraryCall) -> list[str]:
    call.require(call.reduction in FUNCTIONS, f"TensorFlow has no tensor_scatter_nd for {call.reduction}")
    call.require(call.include_self or call.reduction == "none", "TensorFlow always counts data in")
    call.require(call.accumulate == "step" or call.reduction == "none", "TensorFlow chooses the type of the sum")
    combined = call.type not in ("bool", "string") or call.reduction == "none"
    call.require(combined, f"TensorFlow does not combine elements of type {call.type}")
    function = _function(call)
    if call.kernel == Kernel.SCATTER_ND:
        call.require(call.k > 0, "TensorFlow does not scatter with empty index tuples")
        alone = "[None]" if len(call.index_shape) == 1 else ""  # TensorFlow does not accept updates of rank 0
        return [f"output = {function}(data, indices{alone}, updates{alone})"]
    if call.kernel == Kernel.SCATTER_ELEMENTS:
        return [f"at = {_grid(call)}", f"output = {function}(data, at, updates)"]
    axis, q = call.axis, len(call.index_shape)
    if axis == 0:
        indices, updates = ("indices[None, None]", "updates[None]") if q == 0 else ("indices[..., None]", "updates")
        return [f"output = {function}(data, {indices}, {updates})"]
    call.require(q > 0, "TensorFlow scatters along the first axis only")
    rest = [n for n in range(call.rank) if n != axis]
    moved = [*range(axis, axis + q), *range(axis), *range(axis + q, call.rank - 1 + q)]
    back = [([axis, *rest]).index(n) for n in range(call.rank)]
    return [
        f"moved = {function}(tf.transpose(data, {[axis, *rest]}), indices[..., None], tf.transpose(updates, {moved}))",
        f"output = tf.transpose(moved, {back})",
    ]


def _reduce_bags(call: LibraryCall) -> list[str]:
    """Code that scatters the members into rows of the neutral element."""
    is_mean = call.reduction == "mean"
    whole = call.type.startswith(("int", "uint", "bool"))
    call.require(not is_mean or not whole, "TensorFlow has no rounded mean of integers")
    call.require(is_mean or call.reduction in FUNCTIONS, f"TensorFlow has no tensor_scatter_nd for {call.reduction}")
    call.require(call.type != "bool", "TensorFlow does not combine elements of type bool")
    call.require(call.is_wide or call.accumulate == "step", "TensorFlow chooses the type of the sum")
    call.require(call.mode == "raise" and not call.negative, "select the rows first")
    call.require(all(array.size for array in call.arrays.values()), "TensorFlow refuses tensors without elements here")
    data, kind = call.name("data"), "tf.float32" if call.is_wide else f"{call.name('data')}.dtype"
    lines = ["# TensorFlow loses some NaN here"] if call.reduction in ("min", "max") and call.has_nan else []
    lines += [*member_rows(call, _TAKE, _FLATTEN), f"bags = {_bags(call)}"]
    if call.is_wide:
        lines.append(f"rows = tf.cast(rows, {kind})")
    first = identity(sum_of(call), "float('inf')", f"{data}.dtype")
    full = f"tf.fill(({bag_count(call, _GREATEST)}, *{data}.shape[1:]), tf.constant({first}, {kind}))"
    lines.append(f"output = {_function(sum_of(call))}({full}, bags[:, None], rows)")
    has_empty = bool(call.empty_bags.any())
    if is_mean or has_empty:
        lines.append(f"count = tf.math.bincount(tf.cast(bags, tf.int32), minlength=len(output)){new_axes(call)}")
    if is_mean:
        lines.append(f"output = output / tf.cast(tf.maximum(count, 1), {kind})")
    if call.is_wide:
        lines.append(f"output = tf.cast(output, {data}.dtype)")
    if has_empty:
        default = bag_default(call, f"{data}.dtype.min", _TAKE)
        lines.append(f"output = tf.where(count == 0, tf.cast({default}, {data}.dtype), output)")
    return lines


def _bags(call: LibraryCall) -> str:
    if call.bag_input == "segment_ids":
        return "segment_ids"
    if call.bag_input is None:
        return f"tf.repeat(tf.range({bag_count(call)}), indices.shape[-1])"
    if call.bag_input == "indptr":
        return "tf.repeat(tf.range(len(indptr) - 1), indptr[1:] - indptr[:-1])"
    return f"tf.repeat(tf.range(len(offsets)), tf.concat([offsets[1:], [{member_count(call)}]], 0) - offsets)"


def _plain_bags(call: LibraryCall) -> list[str]:
    """Code with reduce_sum and reduce_mean along an axis, unsorted_segment_sum and unsorted_segment_max."""
    result = call.result_name
    call.require(call.bag_input not in ("offsets", "indptr"), "TensorFlow has no bags by offsets")
    call.require(call.default_row is None, "TensorFlow has no rows for empty bags")
    lines = weighted_rows(call, _TAKE)
    if call.bag_input is None:
        return [*lines, f"{result} = tf.reduce_{'mean' if call.reduction == 'mean' else 'sum'}(rows, axis=1)"]
    call.require(call.reduction != "max" or call.fill_mode == "LOWEST", "no maximum gives zeros for no rows")
    name = {"add": "sum", "max": "max"}[call.reduction]
    return [*lines, f"{result} = tf.math.unsorted_segment_{name}(rows, segment_ids, {bag_count(call, _GREATEST)})"]


def _function(call: LibraryCall) -> str:
    return f"tf.tensor_scatter_nd_{FUNCTIONS[call.reduction]}"


def _grid(call: LibraryCall) -> str:
    """The full coordinates of every index."""
    parts = []
    for axis in range(call.rank):
        after = call.rank - 1 - axis
        own = f"tf.range(indices.shape[{axis}], dtype=indices.dtype)" + (f"[:{', None' * after}]" if after else "")
        parts.append("indices" if axis == call.axis else f"tf.broadcast_to({own}, indices.shape)")
    return f"tf.stack([{', '.join(parts)}], axis=-1)"
