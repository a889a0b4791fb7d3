"""Code for PyTorch."""

from __future__ import annotations

import math

from gatherscatter.explaining.library_code.call import ARITHMETIC, HALVES, LibraryCall
from gatherscatter.explaining.library_code.parts import (
    bag_count,
    bag_default,
    clear_missing_starts,
    fuse_batch_dims,
    identity,
    limits,
    map_batches,
    member_count,
    member_rows,
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

REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin", "mean": "mean"}
_BOOLEAN = {"add": "amax", "mul": "amin", "min": "amin", "max": "amax"}  # for booleans as numbers
WIDEN = "indices = indices.long()"
_TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64", "bfloat16", "complex64",
          "complex128")  # fmt: skip


def code(call: LibraryCall) -> list[str]:
    """Write the call in PyTorch."""
    call.require(call.kernel != Kernel.GATHER_TREE, "PyTorch has no beam search; a loop does it, as in NumPy")
    call.require(call.type in _TYPES, f"PyTorch does not index tensors of {call.type}")
    lines = ["import torch"]
    if call.kernel == Kernel.TENSOR_SCATTER:
        return [*lines, *clear_missing_starts(call), *_scatter_windows(call)]
    if call.reduces_bags:
        return [*lines, *_prepare_members(call), *_reduce_bags(call)]
    call.require(not call.missing or not call.is_scatter, "PyTorch has no scatter that drops indices")
    lines += _notes(call)
    if call.index_type != "int64":
        lines.append(WIDEN)
    lines += _normalise_indices(call)
    return [*lines, *(_scatter(call) if call.is_scatter else _gather(call))]


def plain_code(call: LibraryCall) -> list[str]:
    """Code with indexing, gather, scatter, scatter_reduce and index_put."""
    if call.kernel == Kernel.TENSOR_SCATTER:
        return _scatter_windows(call)
    if call.reduces_bags:
        return _plain_bags(call)
    if not call.is_scatter:
        return [f"{call.result_name} = {_gather_expression(call, 'indices.long()')}"]
    if call.kernel == Kernel.SCATTER_ELEMENTS and call.reduction != "none":
        return [f"{call.result_name} = {_reduce(call, 'data', call.axis, 'indices.long()', 'updates')}"]
    if call.kernel == Kernel.SCATTER_ND:
        call.require(call.reduction in ("none", "add", "sub"), f"index_put has no {call.reduction}")
        return _put(call, "indices.long()")
    return _assign(call, "indices.long()")


def _notes(call: LibraryCall) -> list[str]:
    if call.is_scatter:
        lines = repeated_note(call, "PyTorch")
        stepwise = call.kernel == Kernel.SCATTER_ND and _uses_index_put(call)
        if not stepwise:
            lines += _halves_note(call)
        return lines + overflow_note(call, "PyTorch")
    return negative_note(call, "PyTorch") if _is_subscript(call) else []


def _halves_note(call: LibraryCall) -> list[str]:
    if call.type in HALVES and call.reduction in ARITHMETIC and not call.is_wide:
        return [f"# PyTorch computes {call.type} in float32 and rounds once; here every step is rounded"]
    return []


def _is_subscript(call: LibraryCall) -> bool:
    """Whether the code is ``data[...]``. It accepts negative indices, unlike the functions."""
    plain = call.kernel in (Kernel.GATHER, Kernel.GATHER_ND, Kernel.GATHER_REDUCE, Kernel.SCATTER_UPDATE)
    return plain or (call.kernel == Kernel.SCATTER_ND and _uses_index_put(call))


def _uses_index_put(call: LibraryCall) -> bool:
    sums = call.reduction in ("add", "sub") and call.type != "bool"
    return (call.include_self and sums) or call.reduction == "none"


def _normalise_indices(call: LibraryCall) -> list[str]:
    sizes = f"torch.tensor({list(call.sizes)})" if call.by_tuple else str(call.sizes[0])
    if call.mode == "wrap":
        return [f"indices = indices % {sizes}"]
    if call.mode == "clip":
        last = f"{sizes} - 1" if call.by_tuple else str(call.sizes[0] - 1)
        return [f"indices = indices.clamp({'torch.tensor(0)' if call.by_tuple else 0}, {last})"]
    if call.negative and not call.missing and not _is_subscript(call):
        return [f"indices = torch.where(indices < 0, indices + {sizes}, indices)  # none may be negative below"]
    return []


def _gather(call: LibraryCall) -> list[str]:
    if call.missing:
        simple = (
            call.kernel == Kernel.GATHER and call.batch_dims == 0 and call.sizes[0] > 0 and call.index_type != "uint64"
        )
        call.require(simple, "zeros for indices out of range take several steps here")
        size = call.sizes[0]
        return [
            f"inside = (indices >= {-size}) & (indices < {size})",
            f"output = data{call.subscript('torch.where(inside, indices, 0)')}",
            f"output{call.subscript('~inside')} = 0",
        ]
    if call.by_tuple and call.k == 0:
        batch = call.batch_dims
        ones = ", ".join(["1"] * (len(call.index_shape) - 1 - batch))
        parts = [f"*data.shape[:{batch}]" if batch else "", ones, f"*data.shape[{batch}:]"]
        inner = ", ".join(part for part in parts if part)
        expression = f"data.reshape({inner}).expand(indices.shape[:-1] + data.shape[{batch}:])"
    else:
        expression = _gather_expression(call, "indices")
    return [f"output = {expression}", *fuse_batch_dims(call)]


def _gather_expression(call: LibraryCall, indices: str) -> str:
    """The gather. ``indices`` are int64, as the functions need."""
    if call.kernel == Kernel.GATHER_ELEMENTS:
        return f"torch.gather(data, {call.axis}, {indices})"
    one = "data[indices.unbind(-1)]" if call.by_tuple else f"data{call.subscript('indices')}"
    return map_batches("torch", one, call.batch_dims)


def _scatter(call: LibraryCall) -> list[str]:
    call.require(call.adds_stepwise, "PyTorch chooses the type of the sum itself")
    call.require(not call.by_tuple or call.k > 0, "PyTorch has no empty index tuples")
    if call.kernel == Kernel.SCATTER_UPDATE:
        call.require(call.reduction == "none", "expand the indices, and use scatter_reduce")
    if call.kernel == Kernel.SCATTER_ND and _uses_index_put(call):
        return _put(call, "indices")
    if call.reduction == "none":
        return _assign(call, "indices")
    return _scatter_reduce(call)


def _assign(call: LibraryCall, indices: str) -> list[str]:
    result = call.result_name
    if call.kernel == Kernel.SCATTER_UPDATE:
        return [f"{result} = data.clone()", f"{result}{call.subscript('indices')} = updates"]
    return [f"{result} = data.scatter({call.axis}, {indices}, updates)"]


def _put(call: LibraryCall, indices: str) -> list[str]:
    updates = "-updates" if call.reduction == "sub" else "updates"
    accumulate = ", accumulate=True" if call.reduction != "none" else ""
    data, after = "data", ""
    if call.is_wide:
        data, updates, after = "data.float()", f"{updates}.float()", ".to(data.dtype)"
    return [
        f"at = {indices}.unbind(-1)",
        f"{call.result_name} = {data}.index_put(at, {updates}{accumulate}){after}",
    ]


def _reduce(call: LibraryCall, data: str, axis: int, indices: str, updates: str, name: str = "") -> str:
    name = name or REDUCTIONS[call.reduction]
    return f'{data}.scatter_reduce({axis}, {indices}, {updates}, "{name}", include_self={call.include_self})'


def _scatter_reduce(call: LibraryCall) -> list[str]:
    """Code with scatter_reduce. Tuples become row numbers, and booleans become numbers."""
    complex_product = call.type.startswith("complex") and call.reduction != "add"
    call.require(not complex_product, f"scatter_reduce has no {call.reduction} of complex numbers")
    is_bool = call.type == "bool"
    call.require(call.reduction in REDUCTIONS or (call.reduction == "sub" and not is_bool and call.include_self),
                 f"scatter_reduce has no {call.reduction} like this")  # fmt: skip
    name = _BOOLEAN[call.reduction] if is_bool else \
        REDUCTIONS[call.reduction if call.reduction != "sub" else "add"]  # fmt: skip
    working, back = _choose_casts(call)
    data, updates = f"data{working}", f"updates{working}"
    updates = f"-{updates}" if call.reduction == "sub" else updates
    if not call.by_tuple:
        return [f"output = {_reduce(call, data, call.axis, 'indices', updates, name)}{back}"]
    rows, number = math.prod(call.sizes), math.prod(call.index_shape[:-1])
    width = math.prod(call.data.shape[call.k :])
    data, updates = f"{data}.reshape({rows}, {width})", f"{updates}.reshape({number}, {width})"
    index = f"rows.reshape({number}, 1).expand({number}, {width})"
    return [
        f"rows = {_row_number(call)}",
        f"output = {_reduce(call, data, 0, index, updates, name)}.reshape(data.shape){back}",
    ]


def _choose_casts(call: LibraryCall, data: str = "data") -> tuple[str, str]:
    """Convert to another type and back: PyTorch has no sums of booleans, and its means of integers overflow."""
    if call.type == "bool":
        return ".byte()", ".bool()"
    if call.is_wide:
        return ".float()", f".to({data}.dtype)"
    narrow = call.type.startswith(("int", "uint")) and call.type != "int64"
    return (".long()", f".to({data}.dtype)") if narrow and call.reduction == "mean" else ("", "")


def _row_number(call: LibraryCall) -> str:
    """``indices[..., 0] * 5 + indices[..., 1]``."""
    terms = []
    for j in range(call.k):
        stride = math.prod(call.sizes[j + 1 :])
        terms.append(f"indices[..., {j}]" + (f" * {stride}" if stride != 1 else ""))
    return " + ".join(terms)


def _prepare_members(call: LibraryCall) -> list[str]:
    """Lines for ``rows`` and ``bags``."""
    lines = negative_note(call, "PyTorch")
    if call.indices is not None:
        lines += ([WIDEN] if call.widens_indices else []) + _normalise_indices(call)
    lines += member_rows(call)
    if call.bag_input is None:
        return [*lines, f"bags = torch.arange({bag_count(call)}).repeat_interleave(indices.shape[-1])"]
    signed = ".long()" if call.arrays[call.bag_input].dtype.name not in ("int32", "int64") else ""
    if call.bag_input == "segment_ids":
        return [*lines, f"bags = segment_ids{signed}"]
    if call.bag_input == "indptr":
        return [*lines, f"bags = torch.repeat_interleave(torch.diff(indptr{signed}))"]
    ends = f"append=offsets{signed}.new_tensor([{member_count(call)}])"
    return [*lines, f"bags = torch.repeat_interleave(torch.diff(offsets{signed}, {ends}))"]


def _reduce_bags(call: LibraryCall) -> list[str]:
    """Code with index_add and index_reduce. Booleans become numbers, because PyTorch has no sums of booleans."""
    call.require(call.adds_stepwise, "PyTorch chooses the type of the sum itself")
    complex_product = call.type.startswith("complex") and call.reduction != "add"
    call.require(not complex_product, f"index_reduce has no {call.reduction} of complex numbers")
    data, is_mean = call.name("data"), call.reduction == "mean"
    working, back = _choose_casts(call, data)
    is_sum = call.reduction in ("add", "mean") and call.type != "bool"
    types = {".byte()": "torch.uint8", ".long()": "torch.int64", ".float()": "torch.float32"}
    kind = types.get(working, f"{data}.dtype")
    first = "0" if working == ".long()" else identity(sum_of(call), "torch.inf", limits(call, "torch"))
    combined = f"index_add(0, bags, rows{working})"
    if not is_sum:
        name = _BOOLEAN[call.reduction] if call.type == "bool" else REDUCTIONS[call.reduction]
        combined = f'index_reduce(0, bags, rows{working}, "{name}")'
    lines = _halves_note(call) + overflow_note(call, "PyTorch")
    full = f"torch.full(({bag_count(call)}, *{data}.shape[1:]), {first}, dtype={kind})"
    lines.append(f"output = {full}.{combined}{'' if is_mean else back}")
    has_empty = bool(call.empty_bags.any())
    if is_mean or has_empty:
        lines.append("count = torch.bincount(bags, minlength=len(output))")
    if is_mean:
        count = f"count.clamp(min=1){new_axes(call)}"
        whole = call.type.startswith(("int", "uint"))
        divided = f'torch.div(output, {count}, rounding_mode="floor")' if whole else f"output / {count}.to({kind})"
        lines.append(f"output = ({divided}){back}" if back else f"output = {divided}")
    if has_empty:
        default = bag_default(call, f"{limits(call, 'torch')}.min")
        lines.append(f"output[count == 0] = {default}")
    return [*lines, *restore_bags(call)]


def _plain_bags(call: LibraryCall) -> list[str]:
    """Code with embedding_bag, index_add and index_reduce."""
    data, result = call.name("data"), call.result_name
    call.require(call.default_row is None, "PyTorch has no rows for empty bags")
    if call.bag_input != "segment_ids":
        call.require(call.rank == 2, "embedding_bag takes tables of two dimensions")
        offsets = {None: "", "offsets": ", offsets", "indptr": ", indptr, include_last_offset=True"}[call.bag_input]
        weights = f", per_sample_weights={call.weights_input}" if call.weights_input else ""
        mode = "mean" if call.reduction == "mean" else "sum"
        return [f'{result} = torch.nn.functional.embedding_bag(indices, {data}{offsets}, mode="{mode}"{weights})']
    lines = weighted_rows(call)
    shape = f"({bag_count(call)}, *{data}.shape[1:])"
    if call.reduction == "add":
        return [*lines, f"{result} = torch.zeros({shape}, dtype={data}.dtype).index_add(0, segment_ids, rows)"]
    default = bag_default(call, f"{limits(call, 'torch')}.min")
    full = f"torch.full({shape}, {default}, dtype={data}.dtype)"
    return [*lines, f'{result} = {full}.index_reduce(0, segment_ids, rows, "amax", include_self=False)']


def _scatter_windows(call: LibraryCall) -> list[str]:
    result, axis = call.result_name, call.axis
    return [
        f"{result} = past_cache.clone()",
        f"length = update.shape[{axis}]",
        f"starts = torch.zeros(len({result}), dtype=torch.int64) if write_indices is None else write_indices",
        "for n, start in enumerate(starts):",
        f"    {result}[n].index_copy_({axis - 1}, {wrap_positions(call, 'start + torch.arange(length)')}, update[n])",
    ]
