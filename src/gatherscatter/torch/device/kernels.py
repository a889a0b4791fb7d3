"""The operators on any device. Their arguments and errors are those of the operators on the CPU."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.errors import check_size, index_fault, make_error
from gatherscatter.operation import Bags, Form, Kernel, Operation
from gatherscatter.torch.device import tensors
from gatherscatter.torch.device.runs import TargetRuns, is_checked
from gatherscatter.torch.gradients import same


def run(operation: Operation, data: Tensor, indices: Tensor, updates: Tensor | None = None) -> Tensor:
    """Run a gather or scatter."""
    return _gather(operation, data, indices) if updates is None else _scatter(operation, data, indices, updates)


def _gather(operation: Operation, data: Tensor, indices: Tensor) -> Tensor:
    form, axis, batch_dims = operation.kernel.form, operation.axis, operation.batch_dims
    _check_call(operation, {"data": data, "indices": indices})
    source, axis = tensors.as_movable(data), axis % max(data.ndim, 1)
    batch_dims += indices.ndim if batch_dims < 0 else 0
    operation = operation._replace(axis=axis, batch_dims=batch_dims)
    numbers, outside = find_rows(operation, data, indices)
    if form == Form.LANES:
        result = source.gather(axis, numbers) if source.numel() else source.new_zeros(indices.shape)
        return (result if outside is None else result.masked_fill(outside, 0)).view(data.dtype)
    first = axis
    if form == Form.TUPLES or batch_dims:
        first, indexed = 0, batch_dims + (indices.shape[-1] if form == Form.TUPLES else 1)
        source = source if form == Form.TUPLES else source.movedim(axis, batch_dims)
        source = source.reshape((math.prod(source.shape[:indexed]), *source.shape[indexed:]))
    if not source.shape[first]:  # then all indices are out of range
        numbers, source = numbers.masked_fill(numbers >= 0, 0), source.new_zeros(_replace(source.shape, first, 1))
    result = source.index_select(first, numbers.flatten()).reshape(_replace(source.shape, first, *numbers.shape))
    if outside is not None:
        result = result.masked_fill(outside.reshape((*outside.shape, *(1,) * (source.ndim - 1 - first))), 0)
    if form == Form.ROWS and batch_dims:
        after = range(batch_dims, indices.ndim), range(axis, axis + indices.ndim - batch_dims)
        result = result.movedim(*map(tuple, after)).contiguous()
    return result.view(data.dtype)


def _scatter(operation: Operation, data: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    op, form, batch_dims, reduction = operation.op, operation.kernel.form, operation.batch_dims, operation.reduction
    tensors.check_inputs(op, data=data, indices=indices, updates=updates)
    new = tensors.cast(op, "updates", updates, "data", data)
    _check_call(operation, {"data": data, "indices": indices, "updates": new})
    tensors.refuse_exact(op, operation.accumulate, data)
    axis = operation.axis % max(data.ndim, 1)
    operation = operation._replace(axis=axis)
    if form == Form.LANES and _is_line(indices, axis, data.shape):
        form, indices = Form.ROWS, indices[(0,) * axis + (slice(None),) + (0,) * (indices.ndim - 1 - axis)]
        operation = operation._replace(kernel=Kernel.SCATTER_UPDATE)
    numbers, outside = find_rows(operation, data, indices, updates)
    own, new = (each if reduction != "none" else tensors.as_movable(each) for each in (data, new))
    indexed = indices.shape[-1] if form == Form.TUPLES else batch_dims + 1  # the number of leading axes
    if form == Form.LANES:
        indexed, numbers = data.ndim, _number_elements(numbers, data.shape, axis)
    elif form == Form.ROWS:
        before = range(axis, axis + indices.ndim - batch_dims), range(batch_dims, indices.ndim)
        own, new = own.movedim(axis, batch_dims), new.movedim(*map(tuple, before))
    rows = own.reshape(math.prod(own.shape[:indexed]), math.prod(own.shape[indexed:]))
    if outside is not None:
        numbers = numbers.masked_fill(outside, len(rows))
    runs = TargetRuns.of(numbers.flatten(), len(rows))
    how: dict[str, Any] = {"include_self": operation.include_self, "accumulate": operation.accumulate}
    result = runs.write(rows, new.reshape(numbers.numel(), rows.shape[1]), reduction, **how).reshape(own.shape)
    if form == Form.ROWS:
        result = result.movedim(batch_dims, axis).contiguous()
    return result.view(data.dtype)


def gather_reduce(
    operation: Operation, data: Tensor, indices: Tensor | None = None, *, offsets: Tensor | None = None,
    segment_ids: Tensor | None = None, indptr: Tensor | None = None, weights: Tensor | None = None, default: Any = 0,
) -> Tensor:  # fmt: skip
    """Gather rows and reduce bags. Offsets, segment ids and pointers are checked, which waits for the device once."""
    op, num_segments = operation.op, operation.bags.num_segments if operation.bags else None
    integers = {"indices": indices, "offsets": offsets, "segment_ids": segment_ids, "indptr": indptr}
    tensors.check_inputs(op, data=data, weights=weights, **integers)
    tensors.refuse_exact(op, operation.accumulate, data)
    like = tensors.make_placeholder(op, "data", data)
    for name, each in integers.items():
        if each is not None:
            convert.as_indices(op, name, tensors.make_placeholder(op, name, each), others={"data": like})
    names = ("reduction", "accumulate", "mode", "negative")
    options: dict[str, Any] = {name: getattr(operation, name) for name in names}
    options["default"] = default

    def explain() -> NoReturn:
        """Make the call on the CPU with these integers. It raises the error."""
        there = {name: None if each is None else tensors.copy_to_cpu(op, name, each) for name, each in integers.items()}
        factors = None if weights is None else tensors.make_placeholder(op, "weights", weights)
        _core.gather_reduce(like, weights=factors, num_segments=num_segments, **there, **options)  # type: ignore[arg-type]
        raise make_error("changed_indices", op)

    members = data.shape[:1] if indices is None else indices.shape
    lines = [each for each in (offsets, segment_ids, indptr) if each is not None]
    good = data.ndim > 0 and len(members) > 0 and len(lines) + (len(members) > 1) == 1
    good = good and (weights is None or weights.shape == members) and all(each.ndim == 1 for each in lines)
    good = good and (segment_ids is None or segment_ids.shape == members) and (indptr is None or len(indptr) > 0)
    if not good or (num_segments is not None and (segment_ids is None or num_segments < 0)):
        explain()
    # A bag without members checks the other arguments.
    row = np.broadcast_to(like.reshape(-1)[:1] if like.size else np.zeros((), like.dtype), (1, *like.shape[1:]))
    empty = _core.gather_reduce(row, np.zeros((1, 0), np.int64), **options)
    skipped = find_skipped_members(operation, indices, segment_ids)
    below = None
    if skipped is not None and segment_ids is not None and segment_ids.dtype.is_signed:
        segment_ids, below = to_int64(segment_ids), segment_ids < 0
        if num_segments is None:
            num_segments = max(int(segment_ids.max()) + 1, 0) if len(segment_ids) else 0
        segment_ids = segment_ids.masked_fill(below, num_segments)
    runs, wrong = _find_bags(data, members, offsets, segment_ids, indptr, num_segments)
    if wrong is not None and below is not None:
        wrong &= ~below
    if wrong is not None and bool(wrong.any()):
        explain()
    rows = data
    if indices is not None:
        rows = _gather(Operation(op, Kernel.GATHER, mode=operation.mode, negative=operation.negative), data, indices)
    rows = rows.reshape(members.numel(), math.prod(data.shape[1:]))
    if weights is not None:
        rows = _multiply(rows, tensors.cast(op, "weights", weights, "data", data).reshape(-1, 1))
    if skipped is not None:
        rows, runs = rows[~skipped], TargetRuns.of(runs.targets_of_updates[~skipped], runs.size)
    is_zero = isinstance(default, int | float) and default == 0
    start = data.new_zeros((1, 1)) if is_zero else tensors.as_tensor(empty.reshape(1, -1), data.device)
    how: dict[str, Any] = {"include_self": False, "accumulate": operation.accumulate}
    result = runs.write(start.expand(runs.size, rows.shape[1]), rows, operation.reduction, **how)
    return result.reshape(*((runs.size,) if lines else members[:-1]), *data.shape[1:])


def find_skipped_members(operation: Operation, indices: Tensor | None, segment_ids: Tensor | None) -> Tensor | None:
    """Return the mask of the members of bags that are skipped, as a line. None: the operation skips no members."""
    if operation.negative != "skip":
        return None
    given = [each.flatten() for each in (indices, segment_ids) if each is not None]
    masks = [each < 0 for each in given if each.dtype.is_signed]
    return functools.reduce(unite, masks, None)


def _find_bags(
    data: Tensor, members: torch.Size, offsets: Tensor | None, segment_ids: Tensor | None, indptr: Tensor | None,
    num_segments: int | None,
) -> tuple[TargetRuns, Tensor | None]:  # fmt: skip
    """Return the members of each bag, and a mask of the integers that are wrong. None: all are right."""
    count = members.numel()
    if segment_ids is not None:
        ids, size = to_int64(segment_ids), num_segments
        if size is None:
            size = int(ids.max()) + 1 if count else 0
            shape, given = (size, *data.shape[1:]), data.nbytes + segment_ids.nbytes
            check_size(
                "gather_reduce", shape, data.dtype, "segment_ids", segment_ids, "num_segments", input_bytes=given
            )
        return TargetRuns.of(ids, size), None if is_checked(ids, size) else (ids < 0) | (ids >= size)
    if offsets is not None:
        pointers = torch.cat([to_int64(offsets), torch.full((1,), count, device=data.device)])
    elif indptr is not None:
        pointers = to_int64(indptr)
    else:
        pointers = torch.arange(math.prod(members[:-1]) + 1, device=data.device) * members[-1]
    runs = TargetRuns.of_starts(pointers[:-1], len(pointers) - 1, count)
    if offsets is indptr is None:
        return runs, None
    return runs, torch.cat([pointers[:1] != 0, pointers.diff() < 0, pointers[-1:] != count])


def reduce(updates: Tensor, rows: Tensor, size: int, names: Sequence[str]) -> list[Tensor]:
    """Reduce rows by target, with several reductions at once, as `Prepared.reduce` does."""
    tensors.check_inputs("scatter", updates=updates, rows=rows)
    probe = torch.zeros((), dtype=torch.uint8, device=rows.device).expand(size)
    runs = TargetRuns.of(find_rows(Operation("scatter", Kernel.GATHER), probe, rows)[0], size)
    flat, count = tensors.as_rows(updates), len(updates)

    def apply(name: str) -> Tensor:
        if name.startswith("arg"):
            numbers = torch.arange(count, device=flat.device).unsqueeze(1)
            # Each update that is the extremum of its target has its number, the others have ``count``.
            best = apply(name[3:]).index_select(0, runs.targets_of_updates)
            return write(count, torch.where(same(flat, best), numbers, count), "min")
        return write(int(name == "mul"), flat, "add" if name == "sum" else name)

    def write(empty: int, values: Tensor, reduction: str) -> Tensor:
        start = values.new_full((), empty).expand(size, values.shape[1])
        return runs.write(start, values, reduction, include_self=False)

    shape = (size, *updates.shape[1:])
    return [runs.starts.diff() if name == "count" else apply(name).reshape(shape) for name in names]


def sum_matches(
    values: Tensor | None, keys: Tensor, targets: Tensor, rows: Tensor, bags: Tensor, **options: Any
) -> Tensor:
    """Add up the values of each bag whose keys are equal to the target."""
    found = same(_gather(_OF_ROWS, keys, rows), _gather(_OF_ROWS, targets, bags))
    terms = found.long() if values is None else _gather(_OF_ROWS, values, rows).masked_fill(~found, 0)
    operation = Operation("gather_reduce", Kernel.GATHER_REDUCE, reduction="add", accumulate="wide")
    return gather_reduce(operation._replace(bags=Bags(len(targets))), terms, segment_ids=bags)


def dot_rows(a: Tensor, b: Tensor, rows_of_a: Tensor, rows_of_b: Tensor, **options: Any) -> Tensor:
    """Compute the dot products of pairs of rows. 16-bit floats are multiplied and added up in float32."""
    left, right = (
        tensors.encode(tensors.as_rows(_gather(_OF_ROWS, each, rows)), "add", "wide")
        for each, rows in ((a, rows_of_a), (b, rows_of_b))
    )
    return (left * right).sum(1).to(a.dtype)


_OF_ROWS = Operation("gather_reduce", Kernel.GATHER)


def _multiply(rows: Tensor, factors: Tensor) -> Tensor:
    """Multiply, rounded to the type of rows."""
    if rows.dtype == torch.bool:
        return rows & factors
    return tensors.decode(tensors.encode(rows, "mul") * tensors.encode(factors, "mul"), rows.dtype, "mul")


def _check_call(operation: Operation, inputs: dict[str, Tensor]) -> None:
    """Raise the errors of a call that do not depend on values."""
    op = operation.op
    tensors.check_inputs(op, **inputs)
    empty = {each: tensors.make_placeholder(op, each, tensor) for each, tensor in inputs.items()}
    others = {each: array for each, array in empty.items() if each != "indices"}
    indices = convert.as_indices(op, "indices", empty["indices"], others=others)
    convert.check_call(operation, empty["data"], indices, empty.get("updates"))


def _is_line(indices: Tensor, axis: int, shape: torch.Size) -> bool:
    """Whether indices are one line that was expanded to all lanes of data."""
    return bool(indices.numel()) and all(
        d == axis or (size == shape[d] and (stride == 0 or size == 1))
        for d, (size, stride) in enumerate(zip(indices.shape, indices.stride(), strict=True))
    )


def _number_elements(positions: Tensor, shape: torch.Size, axis: int) -> Tensor:
    """Return the number of each element in data of a shape, from positions along an axis."""
    strides = torch.empty(shape, device="meta").stride()
    numbers = positions * strides[axis]
    for d, (count, stride) in enumerate(zip(positions.shape, strides, strict=True)):
        if d != axis:
            along = torch.arange(0, count * stride, stride, device=positions.device)
            numbers = numbers + along.reshape(-1, *(1,) * (len(shape) - 1 - d))
    return numbers


def _replace(shape: Sequence[int], axis: int, *sizes: int) -> tuple[int, ...]:
    return (*shape[:axis], *sizes, *shape[axis + 1 :])


def find_rows(
    operation: Operation, data: Tensor, indices: Tensor, updates: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Return the row that each index or index tuple names, and a mask of those that are out of range, or None.

    Axis and batch_dims count from the front. With ``mode="raise"``, an index out of range raises IndexError. This waits
    for the device once.
    """
    op, axis, batch_dims = operation.op, operation.axis, operation.batch_dims
    is_nd = operation.kernel.form == Form.TUPLES
    if not is_nd and not batch_dims and is_checked(indices, data.shape[axis]):
        return indices, None
    columns = indices.unbind(-1) if is_nd else (indices,)
    sizes = data.shape[batch_dims : batch_dims + len(columns)] if is_nd else data.shape[axis : axis + 1]
    numbers = torch.zeros(indices.shape[: len(indices.shape) - is_nd], dtype=torch.int64, device=indices.device)
    skipped: Tensor | None = None
    refused: Tensor | None = None
    for column, size in zip(columns, sizes, strict=True):
        position, *masks = resolve(column, size, operation)
        numbers = numbers * size + position
        skipped, refused = unite(skipped, masks[0]), unite(refused, masks[1])
    if refused is not None and bool(refused.any()):
        others = {} if updates is None else {"updates": tensors.copy_to_cpu(op, "updates", updates)}
        on_cpu = tensors.copy_to_cpu(op, "indices", indices)
        index_fault(operation, tuple(data.shape), on_cpu, others)
    if batch_dims:
        batch = indices.shape[:batch_dims]
        first = torch.arange(math.prod(batch), device=indices.device) * math.prod(sizes)
        numbers = numbers + first.reshape(*batch, *(1,) * (numbers.ndim - batch_dims))
    return numbers, skipped


def resolve(indices: Tensor, size: int, operation: Operation) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return positions in [0, size-1], and masks of the indices that are skipped and refused. They have position 0."""
    mode, negative = operation.rule
    is_unsigned, values = indices.dtype == torch.uint64, to_int64(indices)
    below = None if is_unsigned or negative == "end" else values < 0
    outside = None
    if mode == "wrap":
        positions = values.remainder(max(size, 1))
        if is_unsigned:
            positions = torch.where(values < 0, (positions + 2**64 % max(size, 1)) % max(size, 1), positions)
    else:
        values = values.masked_fill(values < 0, 2**63 - 1) if is_unsigned else values
        positions = values.clamp(0, max(size - 1, 0))
    if mode in ("raise", "skip"):
        outside = values >= size if below is not None else (values < -size) | (values >= size)
        positions = torch.where(values < 0, values + size, values).masked_fill(outside, 0)
    elif not size:
        outside = torch.ones_like(values, dtype=torch.bool) if below is None else ~below
    if below is not None:
        positions = positions.masked_fill(below, 0)
    skipped, refused = (outside, None) if mode == "skip" else (None, outside)
    if negative == "skip":
        return positions, unite(skipped, below), refused
    return positions, skipped, unite(refused, below)


def unite(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    """Return the mask of what is in one of two masks. None is an empty mask."""
    return one if other is None else other if one is None else one | other


def to_int64(values: Tensor) -> Tensor:
    """Convert integers. Those of uint64 that do not fit become negative."""
    return values.view(torch.int64) if values.dtype == torch.uint64 else values.to(torch.int64)
