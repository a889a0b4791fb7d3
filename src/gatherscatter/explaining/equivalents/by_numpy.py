"""NumPy."""

from __future__ import annotations

from gatherscatter.explaining.equivalents.facts import Facts, identity

UFUNCS = {"add": "add", "sub": "subtract", "mul": "multiply", "min": "minimum", "max": "maximum"}

_TREE = """\
output = np.full_like(step_ids, end_token)
for n, length in enumerate(max_seq_len):
    beams = np.arange(step_ids.shape[2])
    for t in reversed(range(min(int(length), len(step_ids)))):
        output[t, n] = step_ids[t, n, beams]
        beams = parent_ids[t, n, beams].astype(int)
    ended = np.cumsum(output[:, n] == end_token, axis=0) > 0
    output[:, n][ended] = end_token"""


def code(facts: Facts) -> str:
    """The call in NumPy."""
    lines = ["import numpy as np"]
    if facts.call.kernel == "gather_tree":
        return "\n".join([*lines, _TREE])
    if facts.call.kernel == "tensor_scatter":
        return "\n".join([*lines, *_tensor_scatter(facts)])
    lines += notes(facts, "NumPy") + indices_lines(facts, "np", "indices = indices.astype(np.int64)")
    return "\n".join([*lines, *(_scatter(facts) if facts.call.is_scatter else gather(facts, "np"))])


def notes(facts: Facts, library: str) -> list[str]:
    """Where the library means something else."""
    if facts.call.rule == "nonnegative":
        return [f"# {library} would take negative indices from the end; {facts.call.op} refuses them"]
    return []


def indices_lines(facts: Facts, library: str, widen: str) -> list[str]:
    """Indices as the library takes them."""
    lines = [widen] if facts.widens_indices and not facts.missing else []
    sizes = f"{library}.array({list(facts.sizes)})" if facts.call.by_tuple else str(facts.sizes[0])
    if facts.call.rule == "wrap":
        lines.append(f"indices = indices % {sizes}")
    if facts.call.rule == "clip":
        last = f"{sizes} - 1" if facts.call.by_tuple else str(facts.sizes[0] - 1)
        lines.append(f"indices = {library}.clip(indices, 0, {last})")
    return lines


def gather(facts: Facts, library: str) -> list[str]:
    """Gathers, in what NumPy and JAX have in common."""
    if facts.missing:
        return _with_zeros(facts, library)
    if facts.kernel == "gather_elements":
        return [f"output = {library}.take_along_axis(data{facts.shorter}, indices, axis={facts.axis})"]
    if facts.kernel == "gather_nd":
        return _gather_nd(facts, library)
    if facts.batch == 0:
        return [f"output = {library}.take(data, indices, axis={facts.axis})"]
    batch, axis = facts.batch, facts.axis
    moved = "data" if axis == batch else f"{library}.moveaxis(data, {axis}, {batch})"
    lines = [f"output = {moved}[{facts.rows(library)}indices]"]
    own = facts.index_rank - batch
    if axis != batch and own:
        source, target = list(range(batch, batch + own)), list(range(axis, axis + own))
        lines.append(f"output = {library}.moveaxis(output, {source}, {target})")
    return lines


def _gather_nd(facts: Facts, library: str) -> list[str]:
    if facts.k == 0:
        between = tuple(range(facts.batch, facts.index_rank - 1))
        shape = f"indices.shape[:-1] + data.shape[{facts.batch}:]"
        lines = [f"output = {library}.broadcast_to({library}.expand_dims(data, {between}), {shape})"]
    elif facts.batch:
        lines = [f"output = data[({facts.rows(library)}*{library}.moveaxis(indices, -1, 0))]"]
    else:
        lines = [f"output = data[tuple({library}.moveaxis(indices, -1, 0))]"]
    if facts.call.is_fused:
        size = " * ".join(f"data.shape[{axis}]" for axis in range(facts.batch))
        lines.append(f"output = output.reshape({size}, *output.shape[{facts.batch}:])")
    return lines


def _with_zeros(facts: Facts, library: str) -> list[str]:
    """Zeros where an index is out of range."""
    simple = facts.kernel == "gather" and facts.batch in (0, facts.axis) and facts.sizes[0] > 0
    facts.require(simple, "zeros for indices out of range take several steps here")
    size, zero = facts.sizes[0], "''" if facts.call.type == "string" else "0"
    first = "" if facts.batch else facts.columns
    taken = f"data[{facts.rows(library)}found]" if facts.batch else f"np.take(data, found, axis={facts.axis})"
    return [
        f"inside = (indices >= {-size}) & (indices < {size})",
        "found = np.where(inside, indices, 0).astype(int)",
        f"output = np.array({taken})",
        f"output[{first}~inside] = {zero}",
    ]


def _scatter(facts: Facts) -> list[str]:
    facts.require(not facts.missing, "NumPy has no scatter that drops indices; select the good ones first")
    exact = facts.call.accumulate == "step" or facts.is_wide or facts.reduction not in ("add", "sub", "mul", "mean")
    facts.require(exact, "NumPy adds up in the type of the array only")
    if facts.call.by_tuple and facts.k == 0:
        return _whole(facts)
    at = place(facts, "np")
    if facts.reduction == "none":
        return ["output = data.copy()", _assigned(facts, at)]
    lines = [f"at = {at}"]
    if facts.reduction == "mean":
        return [*lines, *_mean(facts)]
    lines.append("output = data.astype(np.float32)" if facts.is_wide else "output = data.copy()")
    if not facts.call.include_self:
        facts.require(facts.reduction != "sub", "a difference without data has no first number")
        lines.append(f"output[at] = {identity(facts, 'np.inf', 'np.iinfo(data.dtype)')}")
    ufunc = "logical_xor" if facts.call.type == "bool" and facts.reduction == "sub" else UFUNCS[facts.reduction]
    lines.append(f"np.{ufunc}.at(output, at, updates)")
    return [*lines, "output = output.astype(data.dtype)"] if facts.is_wide else lines


def place(facts: Facts, library: str) -> str:
    """The index expression of a scatter."""
    if facts.kernel == "scatter_nd":
        return f"tuple({library}.moveaxis(indices, -1, 0))"
    if facts.kernel == "scatter_elements":
        return facts.grid(library)
    return f"({'slice(None), ' * facts.axis}indices{',' * (facts.axis == 0)})"


def _assigned(facts: Facts, at: str) -> str:
    if facts.kernel == "scatter_elements":
        return f"np.put_along_axis(output{facts.shorter}, indices, updates, axis={facts.axis})"
    if facts.kernel == "scatter_update":
        return f"output[{facts.columns}indices] = updates"
    return f"output[{at}] = updates"


def _whole(facts: Facts) -> list[str]:
    """Empty tuples: each update goes to all of data."""
    simple = facts.reduction in ("none", *UFUNCS) and facts.call.include_self and not facts.is_wide
    facts.require(simple, "empty index tuples take several steps here")
    made = f"np.{UFUNCS[facts.reduction]}(output, updates[at])" if facts.reduction != "none" else "updates[at].copy()"
    if facts.call.type == "bool" and facts.reduction == "sub":
        made = "output ^ updates[at]"
    return ["output = data.copy()", "for at in np.ndindex(indices.shape[:-1]):", f"    output = {made}"]


def _mean(facts: Facts) -> list[str]:
    is_integer = facts.call.type.startswith(("int", "uint"))
    kind = "object" if is_integer else "np.float32" if facts.is_wide else "data.dtype"
    divided = "total // count" if is_integer else f"total / count.astype({kind})"
    if facts.call.include_self:
        lines = [f"total, count = data.astype({kind}), np.ones(data.shape, int)"]
    else:
        lines = [f"total, count = np.zeros(data.shape, {kind}), np.zeros(data.shape, int)"]
        if not is_integer:
            lines.append("total[at] = -0.0")
    lines += ["np.add.at(total, at, updates)", "np.add.at(count, at, 1)"]
    if facts.call.include_self:
        return [*lines, f"output = ({divided}).astype(data.dtype)"]
    return [
        *lines,
        "touched, count = count > 0, np.maximum(count, 1)",
        f"output = np.where(touched, ({divided}).astype(data.dtype), data)",
    ]


def _tensor_scatter(facts: Facts) -> list[str]:
    axis = facts.axis
    return [
        "rows = np.arange(past_cache.shape[0])[:, None]",
        f"positions = {starts(facts)}np.arange(update.shape[{axis}]){circular(facts)}",
        "output = past_cache.copy()",
        f"np.moveaxis(output, {axis}, 1)[rows, positions] = np.moveaxis(update, {axis}, 1)",
    ]


def starts(facts: Facts) -> str:
    """Where the windows of TensorScatter begin, as the first part of a sum."""
    first = "write_indices[:, None] + " if facts.call.indices is not None else ""
    return "(" * (facts.call.rule == "circular") + first


def circular(facts: Facts) -> str:
    """The modulo after that sum."""
    return f") % past_cache.shape[{facts.axis}]" if facts.call.rule == "circular" else ""
