"""Gather and reduce: what the C function `gatherscatter.gather_reduce` needs for arrays that are not plain."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.interop import device_function, lazy_function, to_numpy_arguments
from gatherscatter.errors import (
    accumulate_fault,
    check_effects,
    choice_fault,
    make_choice_error,
    make_error,
    place_fault,
    reduction_fault,
)
from gatherscatter.functions.gather_quantized import as_table
from gatherscatter.functions.group_reductions import StatisticRule, reduce_by_group
from gatherscatter.messages.choices import ACCUMULATE, BAG_REDUCTIONS, MODES
from gatherscatter.system.pieces import make_contiguous

_OP = "gather_reduce"


def gather_reduce(
    data: ArrayLike,
    indices: ArrayLike | None = None,
    *,
    offsets: ArrayLike | None = None,
    segment_ids: ArrayLike | None = None,
    indptr: ArrayLike | None = None,
    num_segments: int | None = None,
    weights: ArrayLike | None = None,
    scales: ArrayLike | None = None,
    zero_points: ArrayLike | None = None,
    quantize_axis: int = -1,
    block_size: int = 128,
    bits: int = 4,
    reduction: str = "add",
    default: ArrayLike = 0,
    accumulate: str = "step",
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray:
    """`gatherscatter.gather_reduce` for arguments of any kind. The core calls it if they are not plain arrays."""
    arrays: dict[str, Any] = {"data": data, "indices": indices, "offsets": offsets, "segment_ids": segment_ids,
                              "indptr": indptr, "weights": weights, "out": out}  # fmt: skip
    options: dict[str, Any] = {"num_segments": num_segments, "reduction": reduction, "default": default,
                               "accumulate": accumulate, "mode": mode, "num_threads": num_threads}  # fmt: skip
    if scales is None and (lazy := lazy_function(_OP, arrays)):
        return lazy(**arrays, **options)  # type: ignore[no-any-return]
    if scales is None and (on_device := device_function(_OP, arrays)):
        return on_device(_OP, arrays | options)  # type: ignore[no-any-return]
    layout = {"quantize_axis": quantize_axis, "block_size": block_size, "bits": bits}
    arrays |= {"scales": scales, "zero_points": zero_points}
    options |= layout
    if converted := to_numpy_arguments(_OP, arrays):
        return converted.to_caller(_core.gather_reduce(**converted.values, **options))  # type: ignore[no-any-return]
    call = prepare_arguments(_OP, **arrays, layout=layout, reduction=reduction, default=default, accumulate=accumulate)
    return call.run(_OP, num_segments, reduction, accumulate, mode, num_threads=num_threads)


def gather_statistic(
    data: ArrayLike,
    indices: ArrayLike | None = None,
    *,
    offsets: ArrayLike | None = None,
    segment_ids: ArrayLike | None = None,
    indptr: ArrayLike | None = None,
    num_segments: int | None = None,
    reduction: str,
    default: ArrayLike = 0,
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
    **others: Any,
) -> np.ndarray:
    """`gatherscatter.gather_reduce` with a statistic that is none of the reductions. Rows are gathered first."""
    for name, value in others.items():
        if value is not None and (name, value) != ("accumulate", "step"):
            raise make_error("no_effect", _OP, input=name, reduction=reduction)
    given = {"data": data, "indices": indices, "offsets": offsets, "segment_ids": segment_ids, "indptr": indptr,
             "out": out}  # fmt: skip
    options: dict[str, Any] = {"num_segments": num_segments, "reduction": reduction, "default": default, "mode": mode,
                               "num_threads": num_threads}  # fmt: skip
    if mode not in MODES[False]:
        choice_fault(_OP, "mode", mode, scatter=False)
    if lazy_function(_OP, given):
        raise make_choice_error(_OP, "reduction", reduction, BAG_REDUCTIONS, "")
    if converted := to_numpy_arguments(_OP, given):
        return converted.to_caller(gather_statistic(**converted.values, **options))  # type: ignore[no-any-return]
    rows = convert.native(convert.as_array(_OP, "data", data))
    if rows.ndim == 0:
        raise make_error("no_rows", _OP, input="data")
    members = rows.shape[:1]
    if indices is not None:
        places = convert.as_indices(_OP, "indices", indices, others={"data": rows})
        members = places.shape
        rows = _core.apply(_OP, "gather", rows, make_contiguous(places).reshape(-1), None, 0, 0, "none", True, "step",
                           mode, True, None, num_threads)  # fmt: skip
    bags = find_bags(_OP, members, has_indices=indices is not None, offsets=offsets, segment_ids=segment_ids,
                     indptr=indptr, num_segments=num_segments)  # fmt: skip
    count = len(bags.starts) - 1
    sizes = np.diff(bags.starts)
    labels = np.repeat(np.arange(count), sizes)
    if bags.order is not None:
        ordered, labels = labels, np.empty_like(labels)
        labels[bags.order] = ordered
    if reduction == "count":
        made = sizes.copy()
    else:
        groups = partial(_core.group, labels, count)
        results = reduce_by_group(
            _OP, make_contiguous(rows), labels, groups, count, (reduction,), StatisticRule(), num_threads
        )
        made = results[reduction]
    made[sizes == 0] = as_default(_OP, default, made)
    result = made.reshape(*bags.shape, *made.shape[1:])
    return result if out is None else convert.copy_into(_OP, out, result)


class BagArguments(NamedTuple):
    """The arguments of a call for the core, made by `prepare_arguments`."""

    data: np.ndarray
    indices: np.ndarray | None
    offsets: np.ndarray | None
    segment_ids: np.ndarray | None
    indptr: np.ndarray | None
    weights: np.ndarray | None
    default: Any  # 0, or an element or a row of data's type
    out: np.ndarray | None
    dtype: np.dtype[Any]  # of the result; it differs from data's only in byte order
    made: dict[str, int]  # bytes of the arrays that were made from arguments, by argument
    table: tuple[Any, ...] | None = None  # scales, zero points, quantize_axis, block_size, bits of a quantized table

    def run(
        self, op: str, num_segments: int | None, reduction: str, accumulate: str, mode: str, **more: Any
    ) -> np.ndarray:
        """The result of the call. ``more`` are arguments of `_call`."""
        made = self._call(_core.apply_bags, op, num_segments, reduction, accumulate, mode, **more)
        result = convert.set_byte_order(made, self.dtype)
        if self.out is None:
            return result
        return self.out if self._plain_out is not None else convert.copy_into(op, self.out, result)

    def describe(
        self, op: str, num_segments: int | None, reduction: str, accumulate: str, mode: str, **more: Any
    ) -> Any:
        """The facts about how the call would run, as a dict."""
        facts: dict[str, Any] = self._call(_core.describe_bags, op, num_segments, reduction, accumulate, mode, **more)
        return facts

    def _call(
        self,
        function: Callable[..., Any],
        op: str,
        num_segments: int | None,
        reduction: str,
        accumulate: str,
        mode: str,
        *,
        init: np.ndarray | None = None,
        negative: bool = True,
        embedding_rules: bool = False,
        num_threads: int | None = None,
    ) -> Any:
        """Call the core. ``init`` has the first member of each bag. For ``embedding_rules``, see `find_bags`."""
        arrays = self.data, self.indices, self.offsets, self.segment_ids, self.indptr, num_segments, self.weights, init
        rules = mode, negative, embedding_rules
        made = function(op, *arrays, reduction, self.default, accumulate, *rules, self._plain_out, num_threads,
                        self.table)  # fmt: skip
        assert made is not NotImplemented  # the arrays are native, and their types fit
        return made

    @property
    def _plain_out(self) -> np.ndarray | None:
        """``out``, if the core can write to it."""
        typing: np.ndarray = self.data if self.table is None else self.table[0]
        memory = convert.as_memory(self.out)
        return memory if memory is not None and memory.dtype == typing.dtype else None


def prepare_arguments(
    op: str,
    data: ArrayLike,
    indices: ArrayLike | None,
    *,
    offsets: ArrayLike | None = None,
    segment_ids: ArrayLike | None = None,
    indptr: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    scales: ArrayLike | None = None,
    zero_points: ArrayLike | None = None,
    layout: dict[str, int] | None = None,
    reduction: str = "add",
    default: ArrayLike = 0,
    accumulate: str = "step",
    out: np.ndarray | None = None,
) -> BagArguments:
    """Convert the arguments of a call, and check their types. The core checks shapes and values."""
    check_choices(op, reduction, accumulate)
    arguments = convert.Conversions(op)
    codes: np.ndarray | None = None
    quantized = None
    if scales is None:
        given = arguments.convert("data", data, convert.as_array)
    else:  # the type of the numbers is that of the scales
        codes, given, zeros, dtype = as_table(op, arguments, data, scales, zero_points)
        quantized = (given, zeros, *(layout or {}).values())
    check_type(op, reduction, accumulate, given.dtype)
    if (given if codes is None else codes).ndim == 0:
        raise make_error("no_rows", op, input="data")
    table = arguments.convert("data", given, lambda op, name, value: convert.native(value)) if codes is None else given
    places = {"indices": indices, "offsets": offsets, "segment_ids": segment_ids, "indptr": indptr}
    as_places = partial(convert.as_indices, others={"data": given})
    integers = {
        name: None if value is None else arguments.convert(name, value, as_places) for name, value in places.items()
    }
    weight = None if weights is None else arguments.cast("weights", weights, given)
    if weight is not None:
        weight = arguments.convert("weights", weight, lambda op, name, value: convert.native(value))
    if out is not None:
        convert.check_out(op, out, given, None)
    if default is None:
        raise make_error("default_number", op, value=default)
    if not np.isscalar(default):
        default = arguments.cast("default", default, table)
    fill = as_default(op, default, table, checks_row=codes is None)  # the core knows the rows of a quantized table
    return BagArguments(
        table if codes is None else codes,
        **integers,
        weights=weight,
        default=fill,
        out=out,
        dtype=given.dtype if codes is None else dtype,
        made=arguments.made,
        table=quantized,
    )


def as_default(op: str, default: Any, data: np.ndarray, *, checks_row: bool = True) -> Any:
    """The result for a bag without members, in data's type: 0, an element or a row."""
    if type(default) is int and default == 0:  # valid for booleans as well
        return 0
    fill = np.asarray(convert.native(convert.cast(op, "default", default, "data", data)), order="C")
    if checks_row and fill.ndim and fill.shape != data.shape[1:]:
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


class Bags(NamedTuple):
    """The positions where bags begin among the members.

    Attributes
    ----------
    shape : the shape of the bags in the result
    starts : the position where each bag begins, and the position where the last one ends
    order : the members in the order of their bags; None if they are already in that order
    """

    shape: tuple[int, ...]
    starts: np.ndarray
    order: np.ndarray | None = None


def find_bags(
    op: str,
    members: tuple[int, ...],
    *,
    has_indices: bool = True,
    offsets: ArrayLike | None = None,
    segment_ids: ArrayLike | None = None,
    indptr: ArrayLike | None = None,
    num_segments: int | None = None,
    embedding_rules: bool = False,
) -> Bags:
    """Find the bags. ``members`` is the shape of the indices, or without indices the number of rows of data.

    ``embedding_rules``: those of OpenVINO's embedding operators. The first offset can be greater than 0 (V26), and
    segment ids must be sorted (V28).
    """
    given = {"offsets": offsets, "segment_ids": segment_ids, "indptr": indptr}
    offsets, segment_ids, indptr = (
        None if value is None else convert.as_indices(op, name, value) for name, value in given.items()
    )
    return Bags(*_core.find_bags(op, members, has_indices, offsets, segment_ids, indptr, num_segments, embedding_rules))


def as_line(op: str, name: str, value: ArrayLike) -> np.ndarray:
    """Convert integers, and check that they have one dimension."""
    array = convert.as_indices(op, name, value)
    if array.ndim != 1:
        raise make_error("bags_rank", op, input=name, shape=array.shape)
    return array


def resolve_in_range(
    op: str, name: str, values: np.ndarray, size: int, kind: str, *, negative: bool = False, **facts: Any
) -> np.ndarray:
    """Values in [0, size-1] as one-dimensional int64. ``negative``: accept [-size, -1], counted from the end.

    ``kind`` and ``facts`` describe in an error what the values number, as in `errors.place_fault`.
    """
    flat = values.reshape(-1)
    numbers = _core.resolve_indices(flat[:, np.newaxis], (size,), "raise", negative)
    if numbers is None:
        place_fault(op, name, values, size, kind, negative, **facts)
    return numbers
