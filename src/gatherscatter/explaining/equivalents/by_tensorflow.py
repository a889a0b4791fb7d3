"""TensorFlow."""

from __future__ import annotations

from gatherscatter.explaining.equivalents.facts import Facts

FUNCTIONS = {"none": "update", "add": "add", "sub": "sub", "min": "min", "max": "max"}
_TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64", "bfloat16", "complex64", "complex128", "string")  # fmt: skip


def code(facts: Facts) -> str:
    """The call in TensorFlow."""
    facts.require(facts.kernel != "gather_tree", "only the former TensorFlow Addons had gather_tree")
    facts.require(facts.kernel != "tensor_scatter", "TensorFlow has no scatter of windows")
    facts.require(not facts.missing, "TensorFlow refuses indices out of range on a CPU, and ignores them on a GPU")
    facts.require(facts.call.type in _TYPES, f"TensorFlow does not index tensors of {facts.call.type}")
    full = facts.kernel == "gather" or all(array.size for array in facts.call.arrays.values())
    facts.require(full, "TensorFlow refuses tensors without elements here")
    lines = ["import tensorflow as tf"]
    if facts.call.is_scatter and facts.repeated and facts.reduction == "none":
        lines.append("# repeated indices: TensorFlow leaves open which update remains, here it is the last one")
    if facts.reduction in ("min", "max") and facts.has_nan:
        lines.append("# TensorFlow loses some NaN here")
    if facts.widens_indices:
        lines.append("indices = tf.cast(indices, tf.int64)")
    lines += _normalised(facts)
    return "\n".join([*lines, *(_scatter(facts) if facts.call.is_scatter else _gather(facts))])


def _normalised(facts: Facts) -> list[str]:
    kind = "tf.int64" if facts.widens_indices else "indices.dtype"
    sizes = f"tf.constant({list(facts.sizes)}, {kind})" if facts.call.by_tuple else str(facts.sizes[0])
    if facts.call.rule == "wrap":
        return [f"indices = tf.math.floormod(indices, {sizes})"]
    if facts.call.rule == "clip":
        return [f"indices = tf.clip_by_value(indices, 0, {sizes} - 1)"]
    if facts.negative:
        return [f"indices = tf.where(indices < 0, indices + {sizes}, indices)  # which must not be negative here"]
    return []


def _gather(facts: Facts) -> list[str]:
    batch = f", batch_dims={facts.batch}" if facts.batch else ""
    if facts.kernel == "gather":
        return [f"output = tf.gather(data, indices, axis={facts.axis}{batch})"]
    if facts.kernel == "gather_elements":
        return [f"at = {_grid(facts)}", "output = tf.gather_nd(data, at)"]
    lines = [f"output = tf.gather_nd(data, indices{batch})"]
    if facts.call.is_fused:
        size = " * ".join(f"data.shape[{axis}]" for axis in range(facts.batch))
        lines.append(f"output = tf.reshape(output, ({size}, *output.shape[{facts.batch}:]))")
    return lines


def _scatter(facts: Facts) -> list[str]:
    facts.require(facts.reduction in FUNCTIONS, f"TensorFlow has no tensor_scatter_nd for {facts.reduction}")
    facts.require(facts.call.include_self or facts.reduction == "none", "TensorFlow always counts data in")
    facts.require(
        facts.call.accumulate == "step" or facts.reduction == "none", "TensorFlow chooses the type of the sum"
    )
    combined = facts.call.type not in ("bool", "string") or facts.reduction == "none"
    facts.require(combined, f"TensorFlow does not combine elements of type {facts.call.type}")
    function = f"tf.tensor_scatter_nd_{FUNCTIONS[facts.reduction]}"
    if facts.kernel == "scatter_nd":
        facts.require(facts.k > 0, "TensorFlow does not scatter with empty index tuples")
        alone = "[None]" if facts.index_rank == 1 else ""  # TensorFlow takes no updates of rank 0
        return [f"output = {function}(data, indices{alone}, updates{alone})"]
    if facts.kernel == "scatter_elements":
        return [f"at = {_grid(facts)}", f"output = {function}(data, at, updates)"]
    axis, q = facts.axis, facts.index_rank
    if axis == 0:
        indices, updates = ("indices[None, None]", "updates[None]") if q == 0 else ("indices[..., None]", "updates")
        return [f"output = {function}(data, {indices}, {updates})"]
    facts.require(q > 0, "TensorFlow scatters along the first axis only")
    rest = [n for n in range(facts.rank) if n != axis]
    moved = [*range(axis, axis + q), *range(axis), *range(axis + q, facts.rank - 1 + q)]
    back = [([axis, *rest]).index(n) for n in range(facts.rank)]
    return [
        f"moved = {function}(tf.transpose(data, {[axis, *rest]}), indices[..., None], tf.transpose(updates, {moved}))",
        f"output = tf.transpose(moved, {back})",
    ]


def _grid(facts: Facts) -> str:
    """The full coordinates of every index."""
    parts = []
    for axis in range(facts.rank):
        after = facts.rank - 1 - axis
        own = f"tf.range(indices.shape[{axis}], dtype=indices.dtype)" + (f"[:{', None' * after}]" if after else "")
        parts.append("indices" if axis == facts.axis else f"tf.broadcast_to({own}, indices.shape)")
    return f"tf.stack([{', '.join(parts)}], axis=-1)"
