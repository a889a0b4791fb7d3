"""``grad``: compute the cotangents of data and updates from the cotangent of the result.

The rules use the differentiable functions themselves, so second derivatives work. Each rule holds for all scatters: a
scatter reads its targets with the matching gather. The gradients of bags add up transposed bags and matches. The
gradients of products gather and scatter all members.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gatherscatter.jax import bags
from gatherscatter.jax.bags import BagReduction, MatchSum, MemberNumbering, RowDots
from gatherscatter.jax.batching import run
from gatherscatter.jax.calls import Shape, find_slots
from gatherscatter.operation import Bags, Form, Kernel, Operation

# --------------------------------------------------------------------------------------------------------- gathers


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def gather(call: Operation, shape: Shape, data: Any, indices: Any) -> Any:
    """Gather from data of this shape."""
    return run(call, data, indices)


def _gather_forward(call: Operation, shape: Shape, data: Any, indices: Any) -> tuple[Any, Any]:
    return gather(call, shape, data, indices), indices


def _gather_backward(call: Operation, shape: Shape, indices: Any, cotangent: Any) -> tuple[Any, None]:
    call = call.make_counterpart(reduction="add", accumulate=_choose_accumulate(cotangent))
    return scatter(call, jnp.zeros(shape, cotangent.dtype), indices, cotangent), None


def _choose_accumulate(values: Any) -> str:
    """Choose a wider type for sums of 16-bit floats, which would soon stop growing."""
    return "wide" if values.dtype.itemsize == 2 else "step"


gather.defvjp(_gather_forward, _gather_backward)

# -------------------------------------------------------------------------------------------------------- scatters


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def scatter(call: Operation, data: Any, indices: Any, updates: Any) -> Any:
    """Scatter updates into data."""
    return run(call, data, indices, updates)


def _scatter_forward(call: Operation, data: Any, indices: Any, updates: Any) -> tuple[Any, Any]:
    result = scatter(call, data, indices, updates)
    return result, (indices, (data, updates, result) if call.reduction in ("mul", "min", "max") else ())


def _scatter_backward(call: Operation, saved: Any, cotangent: Any) -> tuple[Any, None, Any]:
    indices, values = saved
    targets = _Targets(call, indices, cotangent.shape)
    of_data, of_updates = _RULES[call.reduction](targets, cotangent, *values)
    if call.reduction == "none" or not call.include_self:
        of_data = targets.erase(cotangent)
    return of_data, None, of_updates


scatter.defvjp(_scatter_forward, _scatter_backward)


@dataclass(frozen=True)
class _Targets:
    """The targets of data that a scatter writes to."""

    call: Operation
    indices: Any
    shape: Shape  # of data

    def take(self, data: Any) -> Any:
        """Return the elements at the targets of the updates, and zeros for skipped updates."""
        return gather(self.call.make_counterpart(), data.shape, data, self.indices)

    def put(self, data: Any, updates: Any, reduction: str) -> Any:
        call = self.call._replace(reduction=reduction, include_self=True, accumulate="step")
        return scatter(call, data, self.indices, updates)

    def count(self, of_data: Any, of_updates: Any) -> Any:
        """Count the marked contributions to each target."""
        own = of_data if self.call.include_self else jnp.zeros_like(of_data)
        return self.put(own.astype(np.int32), of_updates.astype(np.int32), "add")

    def erase(self, data: Any) -> Any:
        slots = find_slots(self.call, data.shape, self.indices.shape)
        return self.put(data, jnp.zeros(slots, data.dtype), "none")

    # Results that depend only on the indices are constant within a row. These methods use one element for each row.

    @property
    def row_shape(self) -> Shape:
        call, form = self.call, self.call.kernel.form
        if form == Form.LANES:
            return self.shape
        last = call.batch_dims + self.indices.shape[-1] if form == Form.TUPLES else call.batch_dims
        named = {*range(last), *(() if form == Form.TUPLES else (call.axis,))}
        return tuple(n if d in named else 1 for d, n in enumerate(self.shape))

    @property
    def row_slots(self) -> Shape:
        return find_slots(self.call, self.row_shape, self.indices.shape)

    def count_rows(self) -> Any:
        return self.count(jnp.ones(self.row_shape, bool), jnp.ones(self.row_slots, bool))

    def are_written(self) -> Any:
        return self.put(jnp.zeros(self.row_shape, bool), jnp.ones(self.row_slots, bool), "none")

    def are_kept(self) -> Any:
        """Whether each update has a target, and is not skipped."""
        return self.take(jnp.ones(self.row_shape, bool))

    def is_chosen(self, reduction: str) -> Any:
        """Whether each update is the last ("none") or the first ("min") of its target."""
        order = jnp.arange(np.prod(self.row_slots, dtype=np.int64), dtype=np.int32).reshape(self.row_slots)
        beyond = jnp.full(self.row_shape, np.iinfo(np.int32).max, np.int32)
        return self.take(self.put(beyond, order, reduction)) == order


def _none(targets: _Targets, cotangent: Any) -> tuple[Any, Any]:
    return cotangent, jnp.where(targets.is_chosen("none"), targets.take(cotangent), 0)


def _add(targets: _Targets, cotangent: Any) -> tuple[Any, Any]:
    return cotangent, targets.take(cotangent)


def _sub(targets: _Targets, cotangent: Any) -> tuple[Any, Any]:
    taken = targets.take(cotangent)
    if targets.call.include_self:
        return cotangent, -taken
    return cotangent, jnp.where(targets.is_chosen("min"), taken, -taken)  # the others are subtracted from the first


def _mean(targets: _Targets, cotangent: Any) -> tuple[Any, Any]:
    share = cotangent / jnp.maximum(targets.count_rows(), 1).astype(cotangent.dtype)
    return share, targets.take(share)


def _extreme(targets: _Targets, cotangent: Any, data: Any, updates: Any, result: Any) -> tuple[Any, Any]:
    """Divide the cotangent among the contributions that are equal to the result. NaN equals NaN."""
    data_hit, updates_hit = _same(data, result), _same(updates, targets.take(result))
    hits = targets.count(data_hit, updates_hit)
    share = cotangent / jnp.maximum(hits, 1).astype(cotangent.dtype)
    return jnp.where(data_hit, share, 0), jnp.where(updates_hit, targets.take(share), 0)


def _same(a: Any, b: Any) -> Any:
    return (a == b) | ((a != a) & (b != b))


def _mul(targets: _Targets, cotangent: Any, data: Any, updates: Any, result: Any) -> tuple[Any, Any]:
    """Multiply the cotangent of each contribution by the product of the other contributions.

    A nonzero contribution is divided out of the product of all nonzero ones. Zeros are counted and added up: if there
    is one other zero, the sum keeps its derivative.
    """
    data_zero, updates_zero = data == 0, updates == 0
    # Values that take no part can be infinite or NaN.
    data_factor = jnp.where(data_zero | ~targets.are_written(), 1, data)
    updates_factor = jnp.where(updates_zero | ~targets.are_kept(), 1, updates)
    product = scatter(targets.call, data_factor, targets.indices, updates_factor)
    zeros = targets.count(data_zero, updates_zero)
    zero_data = jnp.where(data_zero, data, 0) if targets.call.include_self else jnp.zeros_like(data)
    zero_sum = targets.put(zero_data, jnp.where(updates_zero, updates, 0), "add")
    of_data = cotangent * _multiply_others(data, data_factor, product, zeros, zero_sum)
    taken = (targets.take(whole) for whole in (product, zeros, zero_sum))
    return of_data, targets.take(cotangent) * _multiply_others(updates, updates_factor, *taken)


def _multiply_others(own: Any, factor: Any, product: Any, zeros: Any, zero_sum: Any) -> Any:
    """Return the product of all contributions to a target, except ``own``."""
    is_zero = own == 0
    other_zeros = zeros - is_zero.astype(zeros.dtype)
    other_zero = zero_sum - jnp.where(is_zero, own, 0)
    return product / factor * jnp.where(other_zeros == 0, 1, jnp.where(other_zeros == 1, other_zero, 0))


_RULES: dict[str, Callable[..., tuple[Any, Any]]] = {
    "none": _none,
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "min": _extreme,
    "max": _extreme,
    "mean": _mean,
}

# ----------------------------------------------------------------------------------------------------------- bags


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def reduce(call: BagReduction, arrays: dict[str, Any]) -> Any:
    """Multiply the rows of data by their weights, and reduce them to bags."""
    return bags.run(call, arrays)


def _reduce_forward(call: BagReduction, arrays: dict[str, Any]) -> tuple[Any, Any]:
    result = reduce(call, arrays)
    return result, (arrays, result if call.operation.reduction in ("min", "max") else None)


def _reduce_backward(call: BagReduction, saved: Any, cotangent: Any) -> tuple[dict[str, Any]]:
    arrays, result = saved
    data, weights = arrays["data"], arrays.get("weights")
    members = _Members(call, arrays)
    of_bags = members.number_bags(cotangent, data.shape[1:])
    if call.operation.reduction in ("add", "mean"):
        of_data, of_weights = _add_members(members, of_bags, data, weights)
    elif result is not None and weights is None:
        of_data, of_weights = (
            _share_among_ties(members, of_bags, data, members.number_bags(result, data.shape[1:])),
            None,
        )
    else:
        _, pull = jax.vjp(partial(_reduce_in_two_steps, members, arrays.get("default", 0)), data, weights)
        of_data, of_weights = pull(of_bags)
    return ({name: {"data": of_data, "weights": of_weights}.get(name) for name in arrays},)


reduce.defvjp(_reduce_forward, _reduce_backward)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def sum_matches(call: MatchSum, values: Any, keys: Any, targets: Any, rows: Any, bags_of: Any) -> Any:
    """Add up the values whose keys are equal to the targets of their bags, or count them if there are no values."""
    arrays = {"values": values, "keys": keys, "targets": targets, "rows": rows, "bags": bags_of}
    return bags.run(call, {name: array for name, array in arrays.items() if array is not None})


def _sum_matches_forward(
    call: MatchSum, values: Any, keys: Any, targets: Any, rows: Any, bags_of: Any
) -> tuple[Any, Any]:
    saved = None if values is None else (keys, targets, rows, bags_of)
    return sum_matches(call, values, keys, targets, rows, bags_of), saved


def _sum_matches_backward(call: MatchSum, saved: Any, cotangent: Any) -> tuple[Any, None, None, None, None]:
    if saved is None:  # counts have no derivative
        return (None,) * 5
    keys, targets, rows, bags_of = saved
    return sum_matches(call, cotangent, targets, keys, bags_of, rows), None, None, None, None


sum_matches.defvjp(_sum_matches_forward, _sum_matches_backward)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def dot_rows(call: RowDots, a: Any, b: Any, rows_of_a: Any, rows_of_b: Any) -> Any:
    """Return the dot products of pairs of rows."""
    return bags.run(call, {"a": a, "b": b, "rows_of_a": rows_of_a, "rows_of_b": rows_of_b})


def _dot_rows_forward(call: RowDots, a: Any, b: Any, rows_of_a: Any, rows_of_b: Any) -> tuple[Any, Any]:
    return dot_rows(call, a, b, rows_of_a, rows_of_b), (a, b, rows_of_a, rows_of_b)


def _dot_rows_backward(call: RowDots, saved: Any, cotangent: Any) -> tuple[Any, Any, None, None]:
    a, b, rows_of_a, rows_of_b = saved

    def add_up(like: Any, rows: Any, others: Any, which: Any) -> Any:
        """Add up the rows that each row of ``like`` was multiplied by, times the cotangents of the products."""
        accumulate, bag_count = _choose_accumulate(cotangent), Bags(like.shape[0])
        how = bags.reduce_members(bags=bag_count, accumulate=accumulate, num_threads=call.num_threads)
        return reduce(how, {"data": others, "indices": which, "segment_ids": rows, "weights": cotangent})

    return add_up(a, rows_of_a, b, rows_of_b), add_up(b, rows_of_b, a, rows_of_a), None, None


dot_rows.defvjp(_dot_rows_forward, _dot_rows_backward)


class _Members:
    """The members of bags: the row of data that each takes, and the bag that it belongs to.

    Members that are skipped belong to one more bag.
    """

    def __init__(self, call: BagReduction, arrays: dict[str, Any]) -> None:
        self.call = call.operation
        self.bags = math.prod(call.bags(arrays))
        self.rows = arrays["data"].shape[0]
        self.indices = arrays["indices"] if "indices" in arrays else jnp.arange(self.rows)
        given = {name: array for name, array in arrays.items() if name in ("offsets", "segment_ids", "indptr")}
        if given:
            numbering = MemberNumbering(self.indices.shape[0], call.num_segments, self.call.negative)
            self.bag_of = bags.run(numbering, given)
        else:
            numbers = jnp.arange(self.bags).reshape(*self.indices.shape[:-1], 1)
            self.bag_of = jnp.broadcast_to(numbers, self.indices.shape)
        self.skips = self.call.negative == "skip"
        if self.skips:
            self.skipped = (self.indices < 0) | (self.bag_of < 0)
            least = np.uint32 if self.bag_of.dtype.kind == "u" else np.int32
            own = self.bag_of.astype(jnp.promote_types(self.bag_of.dtype, least))
            self.bag_of = jnp.where(self.skipped, self.bags, own)
            self.bags += 1

    def number_bags(self, values: Any, row: tuple[int, ...]) -> Any:
        """Return the rows of the bags, one after the other. That of members that are skipped is zeros."""
        rows = values.reshape(self.bags - self.skips, *row)
        return jnp.concatenate([rows, jnp.zeros((1, *row), rows.dtype)]) if self.skips else rows

    def take_rows(self, data: Any) -> Any:
        return self._take(data, self.indices, self.call.mode, self.call.negative)

    def take_bags(self, values: Any) -> Any:
        return self._take(values, self.bag_of, "raise", "end")

    def _take(self, values: Any, indices: Any, mode: str, negative: str) -> Any:
        call = Operation(bags.OP, Kernel.GATHER, mode=mode, negative=negative, num_threads=self.call.num_threads)
        return gather(call, values.shape, values, indices)

    def scatter_to(self, start: Any, updates: Any, reduction: str) -> Any:
        """Reduce updates, one for each member, to bags. Bags without members keep the value of ``start``."""
        call = self.call._replace(kernel=Kernel.SCATTER_UPDATE, mode="raise", negative="end", bags=None)
        call = call._replace(reduction=reduction, include_self=False)
        return scatter(call, start, self.bag_of, updates)

    def count(self) -> Any:
        return self.scatter_to(jnp.ones(self.bags, np.int32), jnp.ones(self.bag_of.shape, np.int32), "add")

    @property
    def none(self) -> int:
        """The number of rows in front of data: one, if members can be skipped or their index can be out of range."""
        return int(self.call.mode == "fill" or self.skips)

    def number_rows(self) -> tuple[Any, Any]:
        """Return the row and the bag of each member."""
        rows = self.take_rows(jnp.arange(self.none, self.rows + self.none))
        rows = jnp.where(self.skipped, 0, rows) if self.skips else rows
        return rows.reshape(-1), self.bag_of.reshape(-1)

    def with_none(self, data: Any) -> Any:
        """Return data, preceded by a row of zeros if members can be out of range."""
        return jnp.concatenate([jnp.zeros((1, *data.shape[1:]), data.dtype), data]) if self.none else data

    def reduce_to_rows(self, values: Any, weights: Any) -> Any:
        """Reduce values by transposed bags: the members of a row of data are the bags that contain it, with weights."""
        rows, bag_of = self.number_rows()
        transposed = {"data": values, "indices": bag_of, "segment_ids": rows}
        if weights is not None:
            transposed["weights"] = weights.reshape(-1)
        accumulate, rows_of_data = _choose_accumulate(values), Bags(self.rows + self.none)
        call = bags.reduce_members(bags=rows_of_data, accumulate=accumulate, num_threads=self.call.num_threads)
        return reduce(call, transposed)[self.none :]


def _add_members(members: _Members, of_bags: Any, data: Any, weights: Any) -> tuple[Any, Any]:
    if members.call.reduction == "mean":
        of_bags = _divide(of_bags, members.count().reshape(-1, *(1,) * (data.ndim - 1)))
    of_data = members.reduce_to_rows(of_bags, weights)
    if weights is None:
        return of_data, None
    rows, bag_of = members.number_rows()
    dots = dot_rows(RowDots(members.call.num_threads), of_bags, members.with_none(data), bag_of, rows)
    return of_data, dots.reshape(weights.shape)


def _share_among_ties(members: _Members, of_bags: Any, data: Any, result: Any) -> Any:
    """Divide the cotangent among the members that are equal to the result. NaN equals NaN."""
    call, (rows, bag_of), keys = MatchSum(members.call.num_threads), members.number_rows(), members.with_none(data)
    ties = sum_matches(call, None, keys, result, rows, bag_of)
    share = _divide(of_bags, jnp.maximum(ties, 1))
    return sum_matches(call, share, result, keys, bag_of, rows)[members.none :]


def _divide(values: Any, counts: Any) -> Any:
    """Divide values by counts, at least in float32. Counts can be too large for a half."""
    return (values / counts.astype(jnp.promote_types(values.dtype, np.float32))).astype(values.dtype)


def _reduce_in_two_steps(members: _Members, default: Any, data: Any, weights: Any) -> Any:
    rows = members.take_rows(data)
    if weights is not None:  # one bag per row: products are then rounded as in the reduction
        count = weights.size
        alone = {"data": rows.reshape(count, *data.shape[1:]), "indices": jnp.arange(count)[:, np.newaxis],
                 "weights": weights.reshape(count, 1)}  # fmt: skip
        rows = reduce(bags.reduce_members(num_threads=members.call.num_threads), alone).reshape(rows.shape)
    start = jnp.broadcast_to(jnp.asarray(default, data.dtype), (members.bags, *data.shape[1:]))
    return members.scatter_to(start, rows, members.call.reduction)
