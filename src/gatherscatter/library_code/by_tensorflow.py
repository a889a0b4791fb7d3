"""TensorFlow."""

from __future__ import annotations

from gatherscatter.library_code.call import LibraryCall
from gatherscatter.library_code.parts import fused_shape, repeated_note
from gatherscatter.specs.table import ONNX_13

FUNCTIONS = {"none": "update", "add": "add", "sub": "sub", "min": "min", "max": "max"}
TYPES = ONNX_13
WIDEN = "indices = tf.cast(indices, tf.int64)"


def code(call: LibraryCall) -> list[str]:
    """The call in TensorFlow."""
    call.require(call.kernel != "gather_tree", "only the former TensorFlow Addons had gather_tree")
    call.require(call.kernel != "tensor_scatter", "TensorFlow has no scatter of windows")
    call.require(not call.missing, "TensorFlow refuses indices out of range on a CPU, and ignores them on a GPU")
    call.require(call.type in TYPES, f"TensorFlow does not index tensors of {call.type}")
    full = call.kernel == "gather" or all(array.size for array in call.arrays.values())
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
    """gather, gather_nd, tensor_scatter_nd_update and its kin, and take_along_axis."""
    result = call.result_name
    if call.kernel == "gather_elements":
        return [f"{result} = tf.experimental.numpy.take_along_axis(data, indices, axis={call.axis})"]
    if not call.is_scatter:
        return [f"{result} = {_gather_expression(call)}"]
    known = call.kernel in ("scatter_nd", "scatter_update")
    call.require(known, f"there is no such scatter ({call.kernel})")
    call.require(call.reduction in FUNCTIONS, f"there is no tensor_scatter_nd for {call.reduction}")
    if call.kernel == "scatter_nd":
        return [f"{result} = {_function(call)}(data, indices, updates)"]
    call.require(call.axis == 0, "there is no scatter along another axis than 0")
    return [f"{result} = {_function(call)}(data, indices[..., None], updates)"]


def _normalise_indices(call: LibraryCall) -> list[str]:
    kind = "tf.int64" if call.widens_indices else "indices.dtype"
    sizes = f"tf.constant({list(call.sizes)}, {kind})" if call.by_tuple else str(call.sizes[0])
    if call.rule == "wrap":
        return [f"indices = tf.math.floormod(indices, {sizes})"]
    if call.rule == "clip":
        return [f"indices = tf.clip_by_value(indices, 0, {sizes} - 1)"]
    if call.negative:
        return [f"indices = tf.where(indices < 0, indices + {sizes}, indices)  # which must not be negative here"]
    return []


def _gather(call: LibraryCall) -> list[str]:
    if call.kernel == "gather_elements":
        return [f"at = {_grid(call)}", "output = tf.gather_nd(data, at)"]
    lines = [f"output = {_gather_expression(call)}"]
    if call.is_fused:
        lines.append(f"output = tf.reshape(output, ({fused_shape(call)}))")
    return lines


def _gather_expression(call: LibraryCall) -> str:
    batch = f", batch_dims={call.batch_dims}" if call.batch_dims else ""
    if call.kernel == "gather":
        return f"tf.gather(data, indices, axis={call.axis}{batch})"
    return f"tf.gather_nd(data, indices{batch})"


def _scatter(call: LibraryCall) -> list[str]:
    call.require(call.reduction in FUNCTIONS, f"TensorFlow has no tensor_scatter_nd for {call.reduction}")
    call.require(call.include_self or call.reduction == "none", "TensorFlow always counts data in")
    call.require(call.accumulate == "step" or call.reduction == "none", "TensorFlow chooses the type of the sum")
    combined = call.type not in ("bool", "string") or call.reduction == "none"
    call.require(combined, f"TensorFlow does not combine elements of type {call.type}")
    function = _function(call)
    if call.kernel == "scatter_nd":
        call.require(call.k > 0, "TensorFlow does not scatter with empty index tuples")
        alone = "[None]" if len(call.index_shape) == 1 else ""  # TensorFlow takes no updates of rank 0
        return [f"output = {function}(data, indices{alone}, updates{alone})"]
    if call.kernel == "scatter_elements":
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
