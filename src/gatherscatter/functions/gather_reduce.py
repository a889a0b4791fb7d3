"""Gather and reduce in one pass: over bags of rows, over segments, or over the neighbours of nodes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.interop import lazy_function, to_numpy_arguments
from gatherscatter.choices import ACCUMULATE, BAG_REDUCTIONS, MODES
from gatherscatter.errors import (
    accumulate_fault,
    check_effects,
    choice_fault,
    integer_fault,
    make_choice_error,
    make_error,
    raise_index_error,
    reduction_fault,
    with_keyword_advice,
)
from gatherscatter.pieces import PIECE, concatenate_lines, extremes, make_contiguous, pieces
from gatherscatter.sentences import format_sentence

_OP = "gather_reduce"


@with_keyword_advice
def gather_reduce(
    data: ArrayLike,
    indices: ArrayLike | None = None,
    *,
    offsets: ArrayLike | None = None,
    segment_ids: ArrayLike | None = None,
    num_segments: int | None = None,
    weights: ArrayLike | None = None,
    reduction: str = "add",
    default: ArrayLike = 0,
    accumulate: str = "step",
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray:
    """Gather rows of ``data`` and reduce the rows of each bag to one row. The gathered rows are not stored.

    A bag is a group of rows, which are its members. Define the bags in exactly one of three ways: by ``indices`` of two
    or more dimensions, by ``offsets``, or by ``segment_ids``.

    Parameters
    ----------
    data : array of numbers, shape (R, ...)
    indices : array of integers in [-R, R-1], optional
        The rows of data that are members of bags; by default all rows, in order. With two or more dimensions, the last
        one holds the members of a bag.
    offsets : array of integers, shape (B,), optional
        The position in one-dimensional indices where each bag begins. The first is 0, and they do not decrease.
    segment_ids : array of integers in [0, num_segments-1], the shape of one-dimensional indices, optional
        The bag of each member, in any order.
    num_segments : int >= 0, optional
        The number of bags that ``segment_ids`` can name. The default is the greatest id plus 1.
    weights : array of data's type, the shape of indices, optional
        The factor for each member's row. Rows are multiplied before they are reduced.
    reduction : {'add', 'mul', 'min', 'max', 'mean'}
    default : scalar of data's type, or array of shape data.shape[1:]
        The result for a bag without members. ``default=data[i]`` has the effect of ``default_index=i`` in OpenVINO.
    accumulate : {'step', 'wide', 'exact'}
        How floats are added up, as in `scatter_update`.
    mode : {'raise', 'wrap', 'clip', 'fill'}
        How to treat an index that is out of range, as in `gather`. With 'fill', its row is zeros.
    out : array, optional
        The array to write the result to. The result is computed in a separate array first, so ``out`` does not change
        if the call raises an error.
    num_threads : int >= 1, optional
        The largest number of threads for this call. The result does not depend on it.

    Returns
    -------
    array of data's type, shape ``bags + data.shape[1:]``
        ``bags`` is ``indices.shape[:-1]``, (B,) or (num_segments,). Members are reduced in their order. The result is
        bit-for-bit identical to this sequence: gather, multiply, and `scatter_update` with ``include_self=False`` into
        an array full of ``default``. If two NaN are combined, the result may be either of them.

    Raises
    ------
    IndexError
        An index, offset or segment id is out of range. The message names its position.
    ValueError, TypeError
        The bags are not defined in exactly one way, or a shape, an option or a type is not valid.

    Sources: OpenVINO EmbeddingBagOffsets-15, EmbeddingBagPacked-15, EmbeddingSegmentsSum-3.

    >>> import numpy as np, gatherscatter as gs
    >>> table = np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])
    >>> gs.gather_reduce(table, [[0, 1], [2, 2]])
    array([[ 11.,  22.],
           [200., 400.]])
    >>> gs.gather_reduce(table, [0, 1, 2], offsets=[0, 2, 2], weights=[1.0, 0.5, 1.0], reduction="add", default=-1.0)
    array([[  6.,  12.],
           [ -1.,  -1.],
           [100., 200.]])
    >>> gs.gather_reduce(np.array([4.0, 7.0, 5.0]), segment_ids=[1, 0, 1], reduction="max")
    array([7., 5.])
    """
    options: dict[str, Any] = {"num_segments": num_segments, "reduction": reduction, "default": default,
                               "accumulate": accumulate, "mode": mode}  # fmt: skip
    arrays: dict[str, Any] = {"data": data, "indices": indices, "offsets": offsets, "segment_ids": segment_ids,
                              "weights": weights, "out": out}  # fmt: skip
    if lazy := lazy_function(_OP, arrays):
        return lazy(**arrays, **options, num_threads=num_threads)  # type: ignore[no-any-return]
    if converted := to_numpy_arguments(_OP, arrays):
        made = gather_reduce(**converted.values, **options, num_threads=num_threads)
        return converted.to_caller(made)  # type: ignore[no-any-return]
    call = prepare_arguments(_OP, **arrays, **options)
    result = reduce_call(_OP, call, reduction, accumulate, mode, num_threads)
    return result if out is None else convert.copy_into(_OP, out, result)


class Bags(NamedTuple):
    """The positions where bags begin among the members.

    Attributes
    ----------
    shape : the shape of the bags in the result
    starts : the position where each bag begins, and the position where the last one ends
    order : the members in the order of their bags; None if they are already in that order
    scratch : the bytes needed to find them, in addition to these two arrays
    """

    shape: tuple[int, ...]
    starts: np.ndarray
    order: np.ndarray | None = None
    scratch: int = 0


class BagArguments(NamedTuple):
    """The checked arguments of a call, made by `prepare_arguments`."""

    data: np.ndarray
    indices: np.ndarray | None
    bags: Bags
    weights: np.ndarray | None
    default: np.ndarray  # an element or a row of data's type
    out: np.ndarray | None
    shape: tuple[int, ...]  # of the result
    made: dict[str, int]  # bytes of the arrays that were made from arguments, by argument


def prepare_arguments(
    op: str,
    data: ArrayLike,
    indices: ArrayLike | None,
    *,
    offsets: ArrayLike | None,
    segment_ids: ArrayLike | None,
    num_segments: int | None,
    weights: ArrayLike | None,
    reduction: str,
    default: ArrayLike,
    accumulate: str,
    mode: str,
    out: np.ndarray | None,
) -> BagArguments:
    """Check and convert the arguments of a call. The values of indices are not checked."""
    check_choices(op, reduction, accumulate)
    if not isinstance(mode, str) or mode not in MODES[False]:
        choice_fault(op, "mode", mode, scatter=False)
    arguments = convert.Conversions(op)
    table = arguments.convert("data", data, convert.as_array)
    check_type(op, reduction, accumulate, table.dtype)
    if table.ndim == 0:
        raise make_error("no_rows", op, input="data")
    index = None if indices is None else arguments.convert("indices", indices, convert.as_indices)
    members = table.shape[:1] if index is None else index.shape
    if offsets is not None:
        offsets = arguments.convert("offsets", offsets, as_line)
    if segment_ids is not None:
        segment_ids = arguments.convert("segment_ids", segment_ids, as_line)
    bags = find_bags(op, members, index is not None, offsets, segment_ids, num_segments)
    weight = None if weights is None else arguments.cast("weights", weights, table)
    if weight is not None:
        check_members_shape(op, "weights", weight.shape, members)
    shape = bags.shape + table.shape[1:]
    if math.prod(shape) * table.itemsize >= 2**63:
        raise make_error("too_large", op, shapes=f"{shape} of {table.dtype}")
    if out is not None:
        convert.check_out(op, out, table, None)
        if out.shape != shape:
            raise make_error("result_shape", op, out=out.shape, result=shape)
    if not np.isscalar(default):
        default = arguments.cast("default", default, table)
    fill = as_default(op, default, table)
    return BagArguments(table, index, bags, weight, fill, out, shape, arguments.made)


def reduce_call(
    op: str, call: BagArguments, reduction: str, accumulate: str, mode: str, num_threads: int | None = None
) -> np.ndarray:
    """The result of a call whose arguments are checked."""
    index = call.indices

    def reduce_rows(rows: np.ndarray | None, mode: str) -> np.ndarray | None:
        return reduce_members(
            op, call.data, rows, call.bags, call.weights, reduction, call.default, accumulate, mode=mode,
            num_threads=num_threads,
        )  # fmt: skip

    # The kernel checks the rows that it reads. Indices that can be used as rows are not checked before.
    result = None
    if index is None:
        result = reduce_rows(None, "raise")
    elif _can_be_rows(index, call.data, mode):
        result = reduce_rows(make_contiguous(index).reshape(-1), mode)
    if result is None and index is not None:
        result = reduce_rows(resolve_rows(op, call.data, index, mode), mode)
    if result is None:
        raise make_error("changed_indices", op)
    return result


def find_copies(call: BagArguments) -> dict[str, int]:
    """Bytes of the arguments that are copied after they were prepared, because the kernel can't read them."""
    return {
        name: array.nbytes
        for name, array in (("data", call.data), ("indices", call.indices), ("weights", call.weights))
        if array is not None and not (array.flags.c_contiguous and array.dtype.isnative)
    }


def count_scratch(call: BagArguments, mode: str, kernel_bytes: int) -> int:
    """The scratch of a call in bytes, at most. Its kernel needs `kernel_bytes`."""
    copies, (_, starts, order, scratch) = find_copies(call), call.bags
    weight_bytes = copies.get("weights", 0)
    if order is not None and call.weights is not None:
        weight_bytes = call.weights.nbytes * (1 if call.weights.dtype.isnative else 2)
    if call.default.ndim:  # the empty rows of the result: a mask, and their numbers
        kernel_bytes = max(kernel_bytes, 9 * min(len(starts) - 1, PIECE))
        kernel_bytes += 0 if call.default.dtype.isnative else call.default.nbytes
    kernel_bytes += copies.get("data", 0) + weight_bytes
    index, index_bytes = call.indices, copies.get("indices", 0)
    if index is None:
        kernel_bytes += 8 * len(call.data) if order is None else 0
    else:
        resolved = 8 * index.size
        reads_rows = _can_be_rows(index, call.data, mode) and not (index.size and index.min() < 0)
        kernel_bytes += (index_bytes if reads_rows else resolved) + (0 if order is None else resolved)
        scratch = max(scratch, index_bytes + (0 if reads_rows else resolved))
    if call.out is not None:
        kernel_bytes += math.prod(call.shape) * call.data.itemsize
    held = sum(call.made.values()) + starts.nbytes + (0 if order is None else order.nbytes)
    return held + max(scratch, kernel_bytes)


def reduce_members(
    op: str,
    data: np.ndarray,
    rows: np.ndarray | None,
    bags: Bags,
    weights: np.ndarray | None,
    reduction: str,
    default: Any,
    accumulate: str,
    *,
    mode: str = "raise",
    num_threads: int | None = None,
) -> np.ndarray | None:
    """Reduce rows of data to bags. ``rows`` has an int64 for each member; None means 0, 1, 2, ...

    The result is None if a row is out of range.
    """
    if rows is None:
        rows = np.arange(len(data), dtype=np.int64) if bags.order is None else bags.order
    elif bags.order is not None:
        rows = _core.gather(rows, bags.order)
    if weights is not None and bags.order is not None:
        weights = _core.gather(weights, bags.order)
    result = reduce_bags(op, data, bags.starts, rows, weights, reduction, default, accumulate, mode, num_threads)
    return None if result is None else result.reshape(bags.shape + data.shape[1:])


def reduce_bags(
    op: str,
    data: np.ndarray,
    starts: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray | None,
    reduction: str,
    default: Any,
    accumulate: str,
    mode: str,
    num_threads: int | None,
) -> np.ndarray | None:
    """Reduce the rows ``rows[starts[b]:starts[b + 1]]`` of data for each bag b.

    With ``mode="fill"``, row -1 means zeros. The result is None if a row is out of range.
    """
    fill = convert.native(as_default(op, default, data))
    native, weight = make_contiguous(convert.native(data)), None if weights is None else convert.native(weights)
    flat = None if weight is None else make_contiguous(weight).reshape(-1)
    empty = make_contiguous(np.zeros((), fill.dtype) if fill.ndim else fill)
    made = _core.reduce_bags(native, starts, rows, flat, empty, reduction, accumulate, mode == "fill", num_threads)
    if made is None:
        return None
    for part in pieces(len(made)) if fill.ndim else ():
        made[part][starts[1:][part] == starts[:-1][part]] = fill
    return convert.set_byte_order(made, data.dtype)


def reduce_onto(
    op: str,
    init: np.ndarray,
    data: np.ndarray,
    rows: np.ndarray,
    targets: np.ndarray,
    reduction: str,
    accumulate: str,
) -> np.ndarray | None:
    """Reduce each row of data to the row of ``init`` that its target names. None: a gather and a scatter are as fast.

    ``rows`` and ``targets`` are one-dimensional int64 arrays, with all values in range. The result is bit-for-bit
    identical to that of a gather and a scatter.
    """
    if len(init) > len(targets):  # a copy of init is faster than bags of one row each
        return None
    if reduction == "add" and _is_zeros(init):
        bags = find_bags_by_segments(op, targets, len(init))
        result = reduce_members(op, data, rows, bags, None, reduction, 0, accumulate)
        return None if result is None else add_zero(result)
    # Rows of init are the first members of their bags.
    own = np.arange(len(init))
    if init is not data:
        if 2 * (len(init) + len(data)) > len(rows):  # as much memory as the gathered rows
            return None
        data, rows = np.concatenate([init, data]), rows + len(init)
    bags = find_bags_by_segments(op, np.concatenate([own, targets]), len(init))
    return reduce_members(op, data, np.concatenate([own, rows]), bags, None, reduction, 0, accumulate)


def _is_zeros(array: np.ndarray) -> bool:
    """Whether all elements are 0, and none is -0.0."""
    flat = make_contiguous(array).reshape(-1)
    bits = flat.view(f"u{min(array.itemsize, 8)}")
    return not any(bits[part].any() for part in pieces(len(bits)))


def add_zero(array: np.ndarray) -> np.ndarray:
    """Replace -0.0 by 0.0 in place, as a sum that begins with 0 does."""
    flat = array.reshape(-1)
    for part in pieces(len(flat)):
        np.add(flat[part], np.zeros((), array.dtype), out=flat[part])
    return array


def as_default(op: str, default: Any, data: np.ndarray) -> np.ndarray:
    """The result for a bag without members, in data's type: an element or a row."""
    is_zero = type(default) is int and default == 0  # valid for booleans as well
    fill = np.zeros((), data.dtype) if is_zero else convert.cast(op, "default", default, "data", data)
    if fill.ndim and fill.shape != data.shape[1:]:
        raise make_error("default_shape", op, shape=fill.shape, row=data.shape[1:])
    return fill


def check_choices(op: str, reduction: str, accumulate: str) -> None:
    """Refuse an unknown ``reduction`` or ``accumulate``."""
    if not isinstance(reduction, str) or reduction not in BAG_REDUCTIONS:
        raise make_choice_error(op, "reduction", reduction, BAG_REDUCTIONS)
    if not isinstance(accumulate, str) or accumulate not in ACCUMULATE:
        choice_fault(op, "accumulate", accumulate, scatter=False)
    check_effects(op, reduction, accumulate=accumulate)


def check_type(op: str, reduction: str, accumulate: str, dtype: np.dtype[Any]) -> None:
    """Refuse element types for which the reduction is not defined."""
    if accumulate == "exact" and (dtype.kind == "c" or (reduction == "mul" and dtype.kind not in "biu")):
        accumulate_fault(op, reduction, dtype)
    if not _core.supports(dtype, reduction):
        reduction_fault(op, reduction, dtype)


def check_members_shape(op: str, name: str, shape: tuple[int, ...], members: tuple[int, ...]) -> None:
    """Refuse an array that does not have one element for each member."""
    if shape != members:
        raise make_error("members_shape", op, input=name, shape=shape, members=members, member="member")


def find_bags(
    op: str,
    members: tuple[int, ...],
    has_indices: bool,
    offsets: ArrayLike | None,
    segment_ids: ArrayLike | None,
    num_segments: int | None,
) -> Bags:
    """Find the bags. ``members`` is the shape of the indices, or without indices the number of rows of data."""
    given = [
        name
        for name, is_given in (
            (f"indices of {len(members)} dimensions", has_indices and len(members) > 1),
            ("offsets", offsets is not None),
            ("segment_ids", segment_ids is not None),
        )
        if is_given
    ]
    if len(given) != 1:
        raise make_error("bags_missing", op, given=" and ".join(given) or "none")
    if num_segments is not None and segment_ids is None:
        raise make_error("num_segments_alone", op)
    if len(members) == 0:
        raise make_error("bags_rank", op, input="indices", shape=members)
    if offsets is not None:
        line = as_line(op, "offsets", offsets)
        if len(line) == 0 and members[0] > 0:
            raise make_error("no_offsets", op, count=members[0])
        bags = find_bags_by_offsets(op, line, members[0])
        if bags.starts[0] != 0:
            raise make_error("offsets_start", op, value=int(line[0]), count=int(line[0]))
        return bags
    if segment_ids is not None:
        if not isinstance(num_segments, int | np.integer | None):
            integer_fault(op, "num_segments", num_segments)
        line = as_line(op, "segment_ids", segment_ids)
        check_members_shape(op, "segment_ids", line.shape, members)
        return find_bags_by_segments(op, line, num_segments)
    return find_bags_by_rows(members)


def as_line(op: str, name: str, value: ArrayLike) -> np.ndarray:
    """Convert integers, and check that they have one dimension."""
    array = convert.as_indices(op, name, value)
    if array.ndim != 1:
        raise make_error("bags_rank", op, input=name, shape=array.shape)
    return array


def find_bags_by_rows(members: tuple[int, ...]) -> Bags:
    """Find the bags if the last dimension holds the members of a bag."""
    count = math.prod(members[:-1])
    starts = np.arange(count + 1, dtype=np.int64)
    starts *= members[-1]
    return Bags(members[:-1], starts)


def find_bags_by_offsets(op: str, offsets: np.ndarray, count: int) -> Bags:
    """Find the bags that begin at offsets. The last one ends with the last of ``count`` members."""
    starts = resolve_in_range(op, "offsets", offsets, count + 1, format_sentence("parts", "members", size=count))
    if (place := find_descent(starts)) is not None:
        raise make_error("offsets_order", op, place=place, value=int(starts[place]), before=int(starts[place - 1]))
    ends = concatenate_lines([starts, np.array([count])], np.dtype(np.int64))
    return Bags((len(starts),), ends, scratch=starts.nbytes)


def find_bags_by_segments(op: str, ids: np.ndarray, num_segments: int | None) -> Bags:
    """Find the bags from the id of each member. ``num_segments=None``: the greatest id plus 1."""
    if num_segments is not None and num_segments < 0:
        raise make_error("num_segments", op, value=num_segments)
    count = int(num_segments) if num_segments is not None else max(extremes(ids)[1] + 1, 0) if ids.size else 0
    if (count + 1) * 8 >= 2**63:  # bytes of where each bag begins
        raise make_error("too_large", op, shapes=f"{count} segments")
    numbers = resolve_in_range(op, "segment_ids", ids, count, format_sentence("parts", "segments", size=count))
    starts, order = _core.group(numbers, count)
    scratch = numbers.nbytes + min(len(numbers), PIECE)  # a byte tells whether a number is less than the one before it
    if find_descent(numbers) is None:
        return Bags((count,), starts, scratch=scratch + order.nbytes)
    return Bags((count,), starts, order, scratch)


def find_descent(numbers: np.ndarray) -> int | None:
    """The first position with a number that is less than the one before it."""
    for part in pieces(max(len(numbers) - 1, 0)):
        descends = numbers[1:][part] < numbers[:-1][part]
        if descends.any():
            return int(part.start) + int(descends.argmax()) + 1
    return None


def resolve_in_range(
    op: str, name: str, values: np.ndarray, size: int, subject: str, *, negative: bool = False
) -> np.ndarray:
    """Values in [0, size-1] as one-dimensional int64. ``negative``: accept [-size, -1], counted from the end."""
    flat, low = values.reshape(-1), -size if negative else 0
    numbers = _core.resolve_indices(flat[:, np.newaxis], (size,), "raise", negative)
    if numbers is None:
        bad = concatenate_lines(
            [np.flatnonzero((flat[part] < low) | (flat[part] > size - 1)) + part.start for part in pieces(flat.size)],
            np.dtype(np.int64),
        )
        if bad.size == 0:
            raise make_error("changed_indices", op)
        raise_index_error(op, name, values, bad, subject=subject, axis=None, allowed=(low, size - 1))
    return numbers


def _can_be_rows(indices: np.ndarray, data: np.ndarray, mode: str) -> bool:
    """Whether the kernel can use indices as rows if none is negative. Rows without elements are not read."""
    return mode == "raise" and indices.dtype == np.int64 and 0 not in data.shape


def resolve_rows(op: str, data: np.ndarray, indices: np.ndarray, mode: str) -> np.ndarray:
    """The row of data of each member, or -1 for zeros."""
    flat = indices.reshape(-1)
    rows = _core.resolve_indices(flat[:, np.newaxis], data.shape[:1], "skip" if mode == "fill" else mode, True)
    if rows is None:
        probe = np.broadcast_to(np.uint8(0), data.shape[:1])  # no memory
        convert.execute(op, "gather", probe, indices, mode=mode)  # raises the error about the index
        raise make_error("changed_indices", op)
    return rows
