"""Code for NumPy."""

from __future__ import annotations

from gatherscatter.explaining.library_code.call import LibraryCall
from gatherscatter.explaining.library_code.parts import (
    bag_count,
    bag_default,
    bags_by_repeat,
    clear_missing_starts,
    fuse_batch_dims,
    identity,
    index_lines,
    index_tuple,
    limits,
    member_rows,
    negative_note,
    new_axes,
    restore_bags,
    sum_of,
    weighted_rows,
    wrap_positions,
)
from gatherscatter.operation import Kernel

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


def code(call: LibraryCall) -> list[str]:
    """Write the call in NumPy."""
    lines = ["import numpy as np"]
    if call.kernel == Kernel.GATHER_TREE:
        return [*lines, _TREE]
    if call.kernel == Kernel.TENSOR_SCATTER:
        return [*lines, *clear_missing_starts(call), *_scatter_windows(call)]
    if call.reduces_bags:
        return [*lines, *negative_note(call, "NumPy"), *prepare_members(call, "np"), *_reduce_bags(call)]
    lines += negative_note(call, "NumPy") + normalise_indices(call, "np", "indices = indices.astype(np.int64)")
    return [*lines, *(_scatter(call) if call.is_scatter else _gather(call))]


def plain_code(call: LibraryCall) -> list[str]:
    """Code with take, take_along_axis, put_along_axis, indexing, and ``at`` of ufuncs."""
    if call.kernel == Kernel.TENSOR_SCATTER:
        return _scatter_windows(call)
    if call.reduces_bags:
        return _plain_bags(call)
    if not call.is_scatter:
        return [f"{call.result_name} = {_stack_batches(call, call.batch_dims, 'data', 'indices')}"]
    call.require(call.include_self or call.reduction == "none", "ufuncs reduce into what is there")
    call.require(call.reduction in ("none", *UFUNCS), f"no ufunc gives a {call.reduction}")
    if call.reduction == "none":
        return _assign(call)
    return [*index_lines(call, "np"), _copy(call), _combine(call, UFUNCS[call.reduction])]


def prepare_members(call: LibraryCall, library: str) -> list[str]:
    """Lines for ``rows`` and ``bags``, for NumPy and JAX."""
    widen = "indices = indices.astype(int)"
    lines = [] if call.indices is None else normalise_indices(call, library, widen)
    return [*lines, *member_rows(call), bags_by_repeat(call, library)]


def _reduce_bags(call: LibraryCall) -> list[str]:
    call.require(call.adds_stepwise, "NumPy adds up in the type of the array only")
    data, is_mean = call.name("data"), call.reduction == "mean"
    is_integer = call.type.startswith(("int", "uint"))
    kind = "object" if is_mean and is_integer else "np.float32" if call.is_wide else f"{data}.dtype"
    first = "0" if kind == "object" else identity(sum_of(call), "np.inf", limits(call, "np"))
    ufunc = "add" if is_mean else UFUNCS[call.reduction]
    lines = [
        f"output = np.full(({bag_count(call)}, *{data}.shape[1:]), {first}, {kind})",
        f"np.{ufunc}.at(output, bags, rows)",
    ]
    has_empty = bool(call.empty_bags.any())
    if is_mean or has_empty:
        lines.append("count = np.bincount(bags, minlength=len(output))")
    if is_mean:
        divided = "//" if is_integer else "/"
        lines.append(f"output = output {divided} np.maximum(count, 1){new_axes(call)}.astype({kind})")
    if call.is_wide or kind == "object":
        lines.append(f"output = output.astype({data}.dtype)")
    if has_empty:
        default = bag_default(call, _lowest(call))
        lines += ["import ml_dtypes"] if "ml_dtypes" in default else []
        lines.append(f"output[count == 0] = {default}")
    return [*lines, *restore_bags(call)]


def _lowest(call: LibraryCall) -> str:
    return f"{limits(call, 'ml_dtypes' if call.type == 'bfloat16' else 'np')}.min"


def _plain_bags(call: LibraryCall) -> list[str]:
    """Code with sum, mean and max along an axis, and with ``reduceat`` and ``at`` of ufuncs."""
    data, result = call.name("data"), call.result_name
    call.require(call.default_row is None, "NumPy has no rows for empty bags")
    rows = weighted_rows(call)
    if call.bag_input is None:
        return [*rows, f"{result} = rows.{'mean' if call.reduction == 'mean' else 'sum'}(axis=1, dtype={data}.dtype)"]
    call.require(call.reduction != "mean", "no ufunc gives a mean")
    ufunc = UFUNCS[call.reduction]
    if call.bag_input in ("offsets", "indptr"):
        offsets = "offsets" if call.bag_input == "offsets" else "indptr[:-1]"
        return [*rows, f"{result} = np.{ufunc}.reduceat(rows, {offsets}, axis=0, dtype={data}.dtype)"]
    call.require(call.reduction != "max" or call.fill_mode == "LOWEST", "no maximum gives zeros for no rows")
    default = bag_default(call, _lowest(call))
    return [
        *(["import ml_dtypes"] if "ml_dtypes" in default else []),
        *rows,
        f"{result} = np.full(({bag_count(call)}, *{data}.shape[1:]), {default}, {data}.dtype)",
        f"np.{ufunc}.at({result}, segment_ids, rows)",
    ]


def normalise_indices(call: LibraryCall, library: str, widen: str) -> list[str]:
    """Lines that convert indices for the library."""
    lines = [widen] if call.widens_indices and not call.missing else []
    sizes = f"{library}.array({list(call.sizes)})" if call.by_tuple else str(call.sizes[0])
    if call.mode == "wrap":
        lines.append(f"indices = indices % {sizes}")
    if call.mode == "clip":
        last = f"{sizes} - 1" if call.by_tuple else str(call.sizes[0] - 1)
        lines.append(f"indices = {library}.clip(indices, 0, {last})")
    return lines


def gather_with_empty_tuples(call: LibraryCall, library: str) -> str:
    """Code that repeats all of data for each tuple."""
    between = tuple(range(call.batch_dims, len(call.index_shape) - 1))
    shape = f"indices.shape[:-1] + data.shape[{call.batch_dims}:]"
    return f"{library}.broadcast_to({library}.expand_dims(data, {between}), {shape})"


def gather_expression(call: LibraryCall, library: str, data: str = "data", indices: str = "indices") -> str:
    """The gather in one batch, for NumPy and JAX."""
    if call.kernel == Kernel.GATHER_ELEMENTS:
        return f"{library}.take_along_axis({data}, {indices}, axis={call.axis})"
    if call.kernel == Kernel.GATHER_ND:
        return f"{data}[{index_tuple(library, indices)}]"
    return f"{library}.take({data}, {indices}, axis={call.axis - call.batch_dims})"


def _stack_batches(call: LibraryCall, number: int, data: str, indices: str) -> str:
    """An expression that is evaluated for each batch entry and stacked."""
    if number <= 0:
        return gather_expression(call, "np", data, indices)
    inner = _stack_batches(call, number - 1, f"d{number}", f"i{number}")
    return f"np.stack([{inner} for d{number}, i{number} in zip({data}, {indices}, strict=True)])"


def _gather(call: LibraryCall) -> list[str]:
    if call.missing:
        return _gather_with_zeros(call)
    if call.by_tuple and call.k == 0:
        lines = [f"output = {gather_with_empty_tuples(call, 'np')}"]
    elif call.batch_dims:
        lines = _gather_from_batches(call)
    else:
        lines = [f"output = {gather_expression(call, 'np', f'data{call.shorter}')}"]
    return [*lines, *fuse_batch_dims(call)]


def _gather_from_batches(call: LibraryCall) -> list[str]:
    """Index arrays for the batch dims, which are faster than a loop and may be empty."""
    batch, axis = call.batch_dims, call.axis
    if call.by_tuple:
        return [f"output = data[({_batch_arrays(call)}*np.moveaxis(indices, -1, 0))]"]
    moved = "data" if axis == batch else f"np.moveaxis(data, {axis}, {batch})"
    lines = [f"output = {moved}[{_batch_arrays(call)}indices]"]
    own = len(call.index_shape) - batch
    if axis != batch and own:
        source, target = list(range(batch, batch + own)), list(range(axis, axis + own))
        lines.append(f"output = np.moveaxis(output, {source}, {target})")
    return lines


def _batch_arrays(call: LibraryCall) -> str:
    """``np.arange(indices.shape[0])[:, None], `` for each batch dim."""
    after = [len(call.index_shape) - call.by_tuple - 1 - axis for axis in range(call.batch_dims)]
    new_axes = [f"[:{', None' * number}]" if number else "" for number in after]
    return "".join(f"np.arange(indices.shape[{axis}]){new}, " for axis, new in enumerate(new_axes))


def _gather_with_zeros(call: LibraryCall) -> list[str]:
    """Lines that write zeros where an index is out of range."""
    simple = call.kernel == Kernel.GATHER and call.batch_dims in (0, call.axis) and call.sizes[0] > 0
    call.require(simple, "zeros for indices out of range take several steps here")
    size, zero = call.sizes[0], "''" if call.type == "string" else "0"
    taken = f"data[{_batch_arrays(call)}found]" if call.batch_dims else f"np.take(data, found, axis={call.axis})"
    return [
        f"inside = (indices >= {-size}) & (indices < {size})",
        "found = np.where(inside, indices, 0).astype(int)",
        f"output = np.array({taken})",
        f"output{call.subscript('~inside')} = {zero}",
    ]


def _scatter(call: LibraryCall) -> list[str]:
    call.require(not call.missing, "NumPy has no scatter that drops indices; select the good ones first")
    call.require(call.adds_stepwise, "NumPy adds up in the type of the array only")
    if call.by_tuple and call.k == 0:
        return _scatter_whole(call)
    if call.reduction == "none":
        return _assign(call, call.shorter)
    lines = index_lines(call, "np")
    if call.reduction == "mean":
        return [*lines, *_mean(call)]
    lines.append("output = data.astype(np.float32)" if call.is_wide else _copy(call))
    if not call.include_self:
        lines.append(f"output[at] = {identity(call, 'np.inf', 'np.iinfo(data.dtype)')}")
    lines.append(_combine(call, "logical_xor" if _is_xor(call) else UFUNCS[call.reduction]))
    return [*lines, "output = output.astype(data.dtype)"] if call.is_wide else lines


def _assign(call: LibraryCall, part: str = "") -> list[str]:
    result = call.result_name
    if call.kernel == Kernel.SCATTER_ELEMENTS:
        return [_copy(call), f"np.put_along_axis({result}{part}, indices, updates, axis={call.axis})"]
    if call.kernel == Kernel.SCATTER_UPDATE:
        return [_copy(call), f"{result}{call.subscript('indices')} = updates"]
    return [*index_lines(call, "np"), _copy(call), f"{result}[at] = updates"]


def _copy(call: LibraryCall) -> str:
    return f"{call.result_name} = data.copy()"


def _combine(call: LibraryCall, ufunc: str) -> str:
    return f"np.{ufunc}.at({call.result_name}, at, updates)"


def _is_xor(call: LibraryCall) -> bool:
    """Replace differences of booleans, which NumPy does not have."""
    return call.type == "bool" and call.reduction == "sub"


def _scatter_whole(call: LibraryCall) -> list[str]:
    """Code for empty tuples: each update goes to all of data."""
    simple = call.reduction in ("none", *UFUNCS) and call.include_self and not call.is_wide
    call.require(simple, "empty index tuples take several steps here")
    made = f"np.{UFUNCS[call.reduction]}(output, updates[at])" if call.reduction != "none" else "updates[at].copy()"
    if _is_xor(call):
        made = "output ^ updates[at]"
    return ["output = data.copy()", "for at in np.ndindex(indices.shape[:-1]):", f"    output = {made}"]


def _mean(call: LibraryCall) -> list[str]:
    is_integer = call.type.startswith(("int", "uint"))
    kind = "object" if is_integer else "np.float32" if call.is_wide else "data.dtype"
    divided = "total // count" if is_integer else f"total / count.astype({kind})"
    if call.include_self:
        lines = [f"total, count = data.astype({kind}), np.ones(data.shape, int)"]
    else:
        lines = [f"total, count = np.zeros(data.shape, {kind}), np.zeros(data.shape, int)"]
        if not is_integer:
            lines.append("total[at] = -0.0")
    lines += ["np.add.at(total, at, updates)", "np.add.at(count, at, 1)"]
    if call.include_self:
        return [*lines, f"output = ({divided}).astype(data.dtype)"]
    return [
        *lines,
        "touched, count = count > 0, np.maximum(count, 1)",
        f"output = np.where(touched, ({divided}).astype(data.dtype), data)",
    ]


def _scatter_windows(call: LibraryCall) -> list[str]:
    result, axis = call.result_name, call.axis
    return [
        f"{result} = past_cache.copy()",
        f"length = update.shape[{axis}]",
        f"starts = np.zeros(len({result}), np.int64) if write_indices is None else write_indices",
        "for n, start in enumerate(starts):",
        f"    {result}[n][{':, ' * (axis - 1)}{wrap_positions(call, 'start + np.arange(length)')}] = update[n]",
    ]
