"""The operators on any device. Their arguments and errors are those of the operators on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.errors import check_size, index_fault, make_error
from gatherscatter.functions import bag_gradients
from gatherscatter.torch.device import tensors
from gatherscatter.torch.device.runs import PlaceRuns


def gather(
    name: str, data: Tensor, indices: Tensor, axis: int = 0, *, batch_dims: int = 0, mode: str = "raise", **options: Any
) -> Tensor:
    """Gather by name: "gather", "gather_elements" or "gather_nd"."""
    places: dict[str, Any] = {"axis": axis, "batch_dims": batch_dims, "mode": mode}
    _check_call(name, {"data": data, "indices": indices}, **places, **options)
    source, axis = tensors.as_movable(data), axis % max(data.ndim, 1)
    batch_dims += indices.ndim if batch_dims < 0 else 0
    numbers, outside = find_rows(name, name, data, indices, axis, batch_dims, mode)
    if name == "gather_elements":
        result = source.gather(axis, numbers) if source.numel() else source.new_zeros(indices.shape)
        return (result if outside is None else result.masked_fill(outside, 0)).view(data.dtype)
    if name == "gather_nd":
        first, last = 0, batch_dims + indices.shape[-1]
        source = source.reshape(-1 if source.numel() else math.prod(source.shape[:last]), *source.shape[last:])
    elif batch_dims:
        first, source = 0, source.movedim(axis, batch_dims).flatten(0, batch_dims)
    else:
        first = axis
    if not source.shape[first]:  # then all indices are out of range
        numbers, source = numbers.masked_fill(numbers >= 0, 0), source.new_zeros(_replace(source.shape, first, 1))
    result = source.index_select(first, numbers.flatten()).reshape(_replace(source.shape, first, *numbers.shape))
    if outside is not None:
        result = result.masked_fill(outside.reshape((*outside.shape, *(1,) * (source.ndim - 1 - first))), 0)
    if name == "gather" and batch_dims:
        after = range(batch_dims, indices.ndim), range(axis, axis + indices.ndim - batch_dims)
        result = result.movedim(*map(tuple, after)).contiguous()
    return result.view(data.dtype)


def scatter(
    name: str, data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, *, reduction: str = "none",
    include_self: bool = True, accumulate: str = "step", mode: str = "raise", batch_dims: int = 0, op: str = "",
    **options: Any,
) -> Tensor:  # fmt: skip
    """Scatter by name: "scatter_update", "scatter_elements" or "scatter_nd". Errors name ``op``."""
    op = op or name
    tensors.check_inputs(op, data=data, indices=indices, updates=updates)
    new = tensors.cast(op, "updates", updates, "data", data)
    how: dict[str, Any] = {"reduction": reduction, "include_self": include_self, "accumulate": accumulate}
    places: dict[str, Any] = {"axis": axis, "batch_dims": batch_dims, "mode": mode}
    _check_call(name, {"data": data, "indices": indices, "updates": new}, op, **places, **how, **options)
    tensors.refuse_exact(op, accumulate, data)
    axis %= max(data.ndim, 1)
    if name == "scatter_elements" and _is_line(indices, axis, data.shape):
        name, indices = "scatter_update", indices[(0,) * axis + (slice(None),) + (0,) * (indices.ndim - 1 - axis)]
    numbers, outside = find_rows(op, name, data, indices, axis, batch_dims, mode, updates)
    own, new = (each if reduction != "none" else tensors.as_movable(each) for each in (data, new))
    if name == "scatter_elements":
        rows, new = own.reshape(-1, 1), new.reshape(-1, 1)
        numbers = _number_elements(numbers, data.shape, axis)
    elif name == "scatter_nd":
        k = indices.shape[-1]
        width = math.prod(data.shape[k:])
        rows, new = own.reshape(math.prod(data.shape[:k]), width), new.reshape(numbers.numel(), width)
    else:
        moved = own.movedim(axis, batch_dims)
        width = math.prod(moved.shape[batch_dims + 1 :])
        rows = moved.reshape(math.prod(moved.shape[: batch_dims + 1]), width)
        before = range(axis, axis + indices.ndim - batch_dims), range(batch_dims, indices.ndim)
        new = new.movedim(*map(tuple, before)).reshape(numbers.numel(), width)
    if outside is not None:
        numbers = numbers.masked_fill(outside, len(rows))
    result = PlaceRuns.of(numbers.flatten(), len(rows)).write(rows, new, **how)
    if name == "scatter_update":
        return result.reshape(moved.shape).movedim(batch_dims, axis).contiguous().view(data.dtype)
    return result.reshape(data.shape).view(data.dtype)


def gather_reduce(
    data: Tensor, indices: Tensor | None = None, offsets: Tensor | None = None, segment_ids: Tensor | None = None,
    weights: Tensor | None = None, indptr: Tensor | None = None, *, num_segments: int | None = None,
    default: Any = 0, mode: str = "raise", **options: Any,
) -> Tensor:  # fmt: skip
    """Gather rows and reduce bags. Offsets, segment ids and pointers are checked, which waits for the device once."""
    op = "gather_reduce"
    integers = {"indices": indices, "offsets": offsets, "segment_ids": segment_ids, "indptr": indptr}
    tensors.check_inputs(op, data=data, weights=weights, **integers)
    tensors.refuse_exact(op, options.get("accumulate", "step"), data)
    like = tensors.make_placeholder(op, "data", data)
    for name, each in integers.items():
        if each is not None:
            convert.as_indices(op, name, tensors.make_placeholder(op, name, each), others={"data": like})
    options |= {"mode": mode, "default": default}

    def explain() -> NoReturn:
        """Make the call on the CPU with these integers. It raises the error."""
        there = {name: None if each is None else tensors.copy_to_cpu(op, name, each) for name, each in integers.items()}
        factors = None if weights is None else tensors.make_placeholder(op, "weights", weights)
        _core.gather_reduce(like, weights=factors, num_segments=num_segments, **there, **options)  # type: ignore[arg-type]
        raise make_error("changed_indices", op)

    members = data.shape[:1] if indices is None else indices.shape
    ends = next((each for name, each in integers.items() if each is not None and name != "indices"), None)
    ways = sum(each is not None for each in (offsets, segment_ids, indptr)) + (len(members) > 1)
    good = data.ndim > 0 and len(members) > 0 and ways == 1 and (ends is None or ends.ndim == 1)
    if segment_ids is not None:
        good = good and segment_ids.shape == members and (num_segments is None or num_segments >= 0)
    else:
        good = good and num_segments is None and (ends is None or len(ends) > 0 or (indptr is None and members == (0,)))
    if not good or (weights is not None and weights.shape != members):
        explain()
    # A bag without members checks the other arguments.
    row = np.broadcast_to(like.reshape(-1)[:1] if like.size else np.zeros((), like.dtype), (1, *like.shape[1:]))
    empty = _core.gather_reduce(row, np.zeros((1, 0), np.int64), **options)
    runs, bags = _find_bags(data, members, ends, segment_ids is not None, indptr is not None, num_segments, explain)
    rows = data.reshape(len(data), math.prod(data.shape[1:]))
    if indices is not None:
        numbers, outside = find_rows(op, "gather", data, indices, 0, 0, mode)
        rows = _take(rows, numbers.flatten(), None if outside is None else outside.flatten())
    if weights is not None:
        rows = multiply(rows, tensors.cast(op, "weights", weights, "data", data).reshape(-1, 1))
    if isinstance(default, int | float) and default == 0:
        start = data.new_zeros(()).expand(runs.size, rows.shape[1])
    else:
        start = tensors.as_tensor(empty.reshape(1, -1), data.device).expand(runs.size, -1)
    how = {"reduction": options.get("reduction", "add"), "accumulate": options.get("accumulate", "step")}
    return runs.write(start, rows, include_self=False, **how).reshape(*bags, *data.shape[1:])


def _find_bags(
    data: Tensor, members: torch.Size, ends: Tensor | None, are_ids: bool, has_end: bool, num_segments: int | None,
    explain: Callable[[], NoReturn],
) -> tuple[PlaceRuns, torch.Size]:  # fmt: skip
    """Return the members of each bag, and the shape of the bags. ``explain`` raises the error about their values."""
    count = math.prod(members)
    if ends is None:
        bags = members[:-1]
        starts = torch.arange(math.prod(bags), device=data.device) * members[-1]
        return PlaceRuns.of_starts(starts, len(starts), count), bags
    values = to_int64(ends)
    if are_ids:
        size = num_segments if num_segments is not None else int(values.max()) + 1 if count else 0
        if num_segments is None:
            shape, given = (size, *data.shape[1:]), data.nbytes + ends.nbytes
            check_size("gather_reduce", shape, data.dtype, "segment_ids", ends, "num_segments", given)
        wrong = (values < 0) | (values >= size)
    else:
        size = len(values) - has_end
        last = values[-1:] != count if has_end else values[-1:] > count
        wrong = torch.cat([values[:1] != 0, values.diff() < 0, last])
    if bool(wrong.any()):
        explain()
    return PlaceRuns.of(values, size) if are_ids else PlaceRuns.of_starts(values[:size], size, count), torch.Size(
        (size,)
    )


def reduce(updates: Tensor, rows: Tensor, size: int, names: list[str]) -> list[Tensor]:
    """Reduce rows by place, with several reductions at once."""
    tensors.check_inputs("scatter", updates=updates, rows=rows)
    position, outside = resolve(rows, size, "raise")
    if outside is not None and bool(outside.any()):
        index_fault("scatter", "gather", (size,), tensors.copy_to_cpu("scatter", "indices", rows), 0, 0, True, False)
    return reduce_runs(PlaceRuns.of(position, size), updates, names)


def reduce_runs(runs: PlaceRuns, updates: Tensor, names: Sequence[str]) -> list[Tensor]:
    """Apply several reductions to the same runs, with the results of `Prepared.reduce`."""
    flat = updates.reshape(len(updates), math.prod(updates.shape[1:]))
    count, shape = len(updates), (runs.size, *updates.shape[1:])

    def apply(name: str) -> Tensor:
        if name == "count":
            return runs.starts.diff()
        empty = int(name == "mul")
        if name.startswith("arg"):
            best, numbers = apply(name[3:]).reshape(runs.size, -1), torch.arange(count, device=flat.device)
            if runs.order is not None:  # the place of each update
                place = torch.empty_like(runs.places).index_put_((runs.order,), runs.places)
            else:
                place = runs.places
            found = torch.where(_same(flat, best.index_select(0, place)), numbers.unsqueeze(1), count)
            none = numbers.new_full((), count).expand(runs.size, flat.shape[1])
            return runs.write(none, found, "min").reshape(shape)
        start = flat.new_full((), empty).expand(runs.size, flat.shape[1])
        reduction = "add" if name == "sum" else name
        return runs.write(start, flat, reduction, include_self=False).reshape(shape)

    return [apply(name) for name in names]


def sum_matches(
    values: Tensor | None, keys: Tensor, targets: Tensor, rows: Tensor, bags: Tensor, **options: Any
) -> Tensor:
    """Add up the values of each bag whose keys are equal to the target."""
    given = {"values": values, "keys": keys, "targets": targets, "rows": rows, "bags": bags}
    row, bag = _check_numbers(bag_gradients.sum_matches, given, options, {"rows": keys, "bags": targets})
    flat = {
        name: each.reshape(len(each), math.prod(each.shape[1:]))
        for name, each in list(given.items())[:3]
        if each is not None
    }
    found = _same(flat["keys"].index_select(0, row), flat["targets"].index_select(0, bag))
    terms = found.to(torch.int64) if values is None else flat["values"].index_select(0, row).masked_fill(~found, 0)
    start = terms.new_zeros(()).expand(len(targets), terms.shape[1])
    return PlaceRuns.of(bag, len(targets)).write(start, terms, "add", accumulate="wide").reshape(targets.shape)


def dot_rows(a: Tensor, b: Tensor, rows_of_a: Tensor, rows_of_b: Tensor, **options: Any) -> Tensor:
    """Compute the dot products of pairs of rows. 16-bit floats are multiplied and added up in float32."""
    given = {"a": a, "b": b, "rows_of_a": rows_of_a, "rows_of_b": rows_of_b}
    numbers = _check_numbers(bag_gradients.dot_rows, given, options, {"rows_of_a": a, "rows_of_b": b})
    left, right = (
        tensors.encode(each.index_select(0, row), "add", "wide").reshape(len(row), math.prod(each.shape[1:]))
        for each, row in zip((a, b), numbers, strict=True)
    )
    return (left * right).sum(1).to(a.dtype)


def _check_numbers(
    function: Callable[..., Any],
    given: Mapping[str, Tensor | None],
    options: dict[str, Any],
    numbered: dict[str, Tensor],
) -> list[Tensor]:
    """Return row numbers as int64. If one is out of range, or a shape does not fit, the function on the CPU raises."""
    tensors.check_inputs("gather_reduce", **given)
    found = [resolve(given[name], len(of) if of.ndim else 0, "raise") for name, of in numbered.items()]  # type: ignore[arg-type]
    shapes = {each.shape[1:] for name, each in given.items() if each is not None and name not in numbered}
    lines = {tuple(given[name].shape) for name in numbered}  # type: ignore[union-attr]
    wrong = torch.stack([outside.any() for _, outside in found if outside is not None])
    if len(shapes) > 1 or len(lines) > 1 or bool(wrong.any()):
        function(
            *(None if each is None else tensors.copy_to_cpu("gather_reduce", "rows", each) for each in given.values())
        )
        raise make_error("changed_indices", "gather_reduce")
    return [position for position, _ in found]


def multiply(rows: Tensor, factors: Tensor) -> Tensor:
    """Multiply, rounded to the type of rows."""
    if rows.dtype == torch.bool:
        return rows & factors
    product = tensors.encode(rows, "mul") * tensors.encode(factors, "mul")
    return tensors.decode(product, rows.dtype, "mul")


def _take(rows: Tensor, numbers: Tensor, outside: Tensor | None) -> Tensor:
    """Return the rows with these numbers, and zeros for those outside."""
    plain = tensors.as_movable(rows)
    plain = plain if len(plain) else plain.new_zeros((1, plain.shape[1]))
    result = plain.index_select(0, numbers)
    return (result if outside is None else result.masked_fill(outside.unsqueeze(1), 0)).view(rows.dtype)


def _same(values: Tensor, others: Tensor) -> Tensor:
    """Whether elements are equal, or both NaN."""
    return (values == others) | ((values != values) & (others != others))


def _check_call(name: str, inputs: dict[str, Tensor], op: str = "", **attributes: Any) -> None:
    """Raise the errors of a call that do not depend on values."""
    op = op or name
    tensors.check_inputs(op, **inputs)
    empty = {each: tensors.make_placeholder(op, each, tensor) for each, tensor in inputs.items()}
    others = {each: array for each, array in empty.items() if each != "indices"}
    indices = convert.as_indices(op, "indices", empty["indices"], others=others)
    convert.check_call(op, name, empty["data"], indices, empty.get("updates"), **attributes)


def _is_line(indices: Tensor, axis: int, shape: torch.Size) -> bool:
    """Whether indices are one line that was expanded to all lanes of data."""
    return bool(indices.numel()) and all(
        d == axis or (size == shape[d] and (stride == 0 or size == 1))
        for d, (size, stride) in enumerate(zip(indices.shape, indices.stride(), strict=True))
    )


def _number_elements(positions: Tensor, shape: torch.Size, axis: int) -> Tensor:
    """Return the number of each element in data of a shape, from positions along an axis."""
    stride, numbers = 1, torch.zeros((), dtype=torch.int64, device=positions.device)
    for d in reversed(range(len(shape))):
        along = torch.arange(positions.shape[d], device=positions.device).reshape(-1, *(1,) * (len(shape) - 1 - d))
        numbers = numbers + (positions if d == axis else along) * stride
        stride *= shape[d]
    return numbers


def _replace(shape: Sequence[int], axis: int, *sizes: int) -> tuple[int, ...]:
    return (*shape[:axis], *sizes, *shape[axis + 1 :])


def find_rows(
    op: str, kernel: str, data: Tensor, indices: Tensor, axis: int, batch_dims: int, mode: str,
    updates: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Return the row that each index or index tuple names, and a mask of those that are out of range, or None.

    With ``mode="raise"``, an index out of range raises IndexError. This waits for the device once.
    """
    is_nd = kernel.endswith("nd")
    columns = indices.unbind(-1) if is_nd else (indices,)
    sizes = data.shape[batch_dims : batch_dims + len(columns)] if is_nd else data.shape[axis : axis + 1]
    numbers = torch.zeros(indices.shape[: len(indices.shape) - is_nd], dtype=torch.int64, device=indices.device)
    outside = None
    is_empty = mode in ("wrap", "clip") and 0 in sizes and indices.numel() > 0
    for column, size in zip(columns, sizes, strict=True):
        position, wrong = resolve(column, size, mode)
        numbers = numbers * size + position
        outside = wrong if outside is None or wrong is None else outside | wrong
    if is_empty or (mode == "raise" and outside is not None and bool(outside.any())):
        others = {} if updates is None else {"updates": tensors.copy_to_cpu(op, "updates", updates)}
        index_fault(
            op, kernel, tuple(data.shape), tensors.copy_to_cpu(op, "indices", indices), axis, batch_dims, True,
            is_empty, others,
        )  # fmt: skip
    if batch_dims:
        batch = indices.shape[:batch_dims]
        first = torch.arange(math.prod(batch), device=indices.device) * math.prod(sizes)
        numbers = numbers + first.reshape(*batch, *(1,) * (numbers.ndim - batch_dims))
    return numbers, None if mode == "raise" else outside


def resolve(indices: Tensor, size: int, mode: str) -> tuple[Tensor, Tensor | None]:
    """Return positions in [0, size-1], and a mask of the indices that are out of range and have position 0."""
    is_unsigned, values = indices.dtype == torch.uint64, to_int64(indices)
    if mode == "wrap":
        rest = values.remainder(max(size, 1))
        return torch.where(
            values < 0, (rest + 2**64 % max(size, 1)) % max(size, 1), rest
        ) if is_unsigned else rest, None
    if is_unsigned:
        values = values.masked_fill(values < 0, 2**63 - 1)
    if mode == "clip":
        return values.clamp(0, max(size - 1, 0)), None
    outside = (values < -size) | (values >= size)
    return torch.where(values < 0, values + size, values).masked_fill(outside, 0), outside


def to_int64(values: Tensor) -> Tensor:
    """Convert integers. Those of uint64 that do not fit become negative."""
    return values.view(torch.int64) if values.dtype == torch.uint64 else values.to(torch.int64)
