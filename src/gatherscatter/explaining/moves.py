"""Where every index of a call points: from which elements to which, in row-major order.

This follows the specifications' pseudo-code, one index after the other, and shares nothing with the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from gatherscatter.explaining.call import Coordinates, ExplainedCall
from gatherscatter.operation import Form
from gatherscatter.oracle import IndexRule, resolve


@dataclass(frozen=True)
class Region:
    """Elements of an array: ``key`` has a position per axis, None for a whole axis."""

    array: str
    key: tuple[int | None, ...]

    def __str__(self) -> str:
        return f"{self.array}[{', '.join(':' if n is None else str(n) for n in self.key)}]" if self.key else self.array


@dataclass(frozen=True)
class Move:
    """The effect of one index or index tuple.

    Attributes
    ----------
    number : from 1, in the order in which the specification takes them
    index : its position in the indices; None where no index decides
    values : the index values there
    resolved : the positions that they mean; None for one that is out of range
    source, target : the elements read and written; a source of None stands for zeros or the end token
    named : the part of data that the index names; for a gather it is the source
    bad : whether the call fails because of it
    bag : the offset or segment id that puts the index into its bag
    weight : the factor of the source
    fills : whether it fills the row of a bag without members
    """

    number: int
    index: Region | None
    values: Coordinates
    resolved: tuple[int | None, ...]
    source: Region | None
    target: Region | None
    named: Region | None
    bad: bool = False
    bag: Region | None = None
    weight: Region | None = None
    fills: bool = False

    @property
    def regions(self) -> tuple[Region, ...]:
        """All elements that it has to do with."""
        found = (self.index, self.bag, self.weight, self.source, self.named, self.target)
        return tuple(dict.fromkeys(region for region in found if region is not None))

    @property
    def links(self) -> tuple[tuple[Region, Region], ...]:
        """Its arrows: the index and the update point to a part of data, which is moved to the output."""
        update = None if self.source == self.named else self.source
        pairs = ((self.index, self.named), (update, self.named), (self.named, self.target))
        return tuple((start, end) for start, end in pairs if start is not None and end is not None)

    @property
    def is_negative(self) -> bool:
        """Whether a value counts from the end."""
        return any(v < 0 and p is not None for v, p in zip(self.values, self.resolved, strict=True))


def list_moves(call: ExplainedCall) -> Iterator[Move]:
    """All moves of a call whose shapes fit; nothing where they don't."""
    if not call.is_clear or call.data.ndim == 0:
        return iter(())
    special = {"gather_tree": _list_tree_moves, "tensor_scatter": _list_window_moves, "gather_reduce": _list_bag_moves}
    made = special.get(call.kernel, _list_index_moves)(call)
    return (replace(move, number=number) for number, move in enumerate(made, 1))


def resolve_position(call: ExplainedCall, value: int, size: int) -> tuple[int | None, bool]:
    """The position an index value means, and whether it is an error."""
    try:
        return resolve(value, size, IndexRule(call.mode, call.operation.negative)), False
    except IndexError:
        return None, True


def _list_index_moves(call: ExplainedCall) -> Iterator[Move]:
    data, indices = call.data, call.indices
    assert indices is not None
    tuples = indices.shape[:-1] if call.by_tuple else indices.shape
    first = call.batch_dims if call.by_tuple else call.axis
    sizes = data.shape[first : first + call.k]
    for at in np.ndindex(tuples):
        values = tuple(int(n) for n in np.atleast_1d(indices[at]))
        found = [resolve_position(call, value, size) for value, size in zip(values, sizes, strict=True)]
        resolved, bad = tuple(p for p, _ in found), any(fault for _, fault in found)
        index = Region(call.name("indices"), (*at, None) if call.by_tuple else at)
        there, here = _regions(call, at, resolved)
        lost = None in resolved  # zeros are read, or nothing is written
        named = None if lost else Region(call.name("data"), there)
        if call.is_scatter:
            target = None if lost else Region("output", there)
            yield Move(0, index, values, resolved, Region(call.name("updates"), here), target, named, bad)
        else:
            yield Move(0, index, values, resolved, named, Region("output", here), named, bad)


def _regions(
    call: ExplainedCall, at: Coordinates, resolved: tuple[int | None, ...]
) -> tuple[tuple[int | None, ...], tuple[int | None, ...]]:
    """The part of data that an index names, and its counterpart: a part of the output or of the updates."""
    rank, axis, batch = call.data.ndim, call.axis, at[: call.batch_dims]
    if call.kernel.form == Form.LANES:
        return (*at[:axis], *resolved, *at[axis + 1 :]), at
    if call.by_tuple:
        rest = (None,) * (rank - call.batch_dims - call.k)
        return (*batch, *resolved, *rest), (*(_fuse_batch_dims(call, at) if call.is_fused else at), *rest)
    outer, inner = (None,) * (axis - call.batch_dims), (None,) * (rank - axis - 1)
    return (*batch, *outer, *resolved, *inner), (*batch, *outer, *at[call.batch_dims :], *inner)


def _fuse_batch_dims(call: ExplainedCall, at: Coordinates) -> Coordinates:
    """Where OpenVINO GatherND-5 puts a row: its batch dims become one."""
    batch = int(np.ravel_multi_index(at[: call.batch_dims], call.data.shape[: call.batch_dims]))
    return (batch, *at[call.batch_dims :])


def _list_window_moves(call: ExplainedCall) -> Iterator[Move]:
    """TensorScatter: a window for each batch entry."""
    update, starts, axis = call.updates, call.indices, call.axis
    assert update is not None
    size, length = call.data.shape[axis], update.shape[axis]
    for n in range(call.data.shape[0]):
        start = 0 if starts is None else int(starts[n])
        bad = call.mode == "linear" and not 0 <= start <= size - length
        for t in range(length):
            position = start + t if call.mode == "linear" else (start + t) % size
            rest = [None] * (axis - 1), [None] * (call.data.ndim - axis - 1)
            index = None if starts is None else Region(call.name("indices"), (n,))
            values: Coordinates = () if starts is None else (start,)
            resolved = () if starts is None else (None if bad else position,)
            there = (n, *rest[0], position, *rest[1])
            target, named = (None, None) if bad else (Region("output", there), Region(call.name("data"), there))
            update_row = Region(call.name("updates"), (n, *rest[0], t, *rest[1]))
            yield Move(0, index, values, resolved, update_row, target, named, bad)


def _list_tree_moves(call: ExplainedCall) -> Iterator[Move]:
    """GatherTree: each sequence from its end to its beginning, then the end token after its first one."""
    steps, parents = (call.arrays[name] for name in ("step_ids", "parent_ids"))
    lengths, end = call.arrays["max_seq_len"], call.arrays["end_token"]
    beams = steps.shape[2]
    for n, w in product(range(steps.shape[1]), range(beams)):
        length, beam = min(steps.shape[0], int(lengths[n])), w
        index: Region | None = None
        values: Coordinates = ()
        tokens: dict[int, bool] = {}
        for t in range(length - 1, -1, -1):
            bad = not 0 <= beam < beams
            source = None if bad else Region("step_ids", (t, n, beam))
            resolved = () if index is None else (None if bad else beam,)
            yield Move(0, index, values, resolved, source, None if bad else Region("output", (t, n, w)), source, bad)
            if bad:
                return
            tokens[t] = bool(steps[t, n, beam] == end)
            index, beam = Region("parent_ids", (t, n, beam)), int(parents[t, n, beam])
            values = (beam,)
        first = min((t for t, ends in tokens.items() if ends), default=length)
        for t in range(first + 1, length):
            yield Move(0, None, (), (), None, Region("output", (t, n, w)), None)


def is_bad_bag_value(call: ExplainedCall, name: str, value: int) -> bool:
    """Whether a number that defines bags, or a default_index, is out of range. A default_index of -1 is none."""
    if name == "default_index":
        return value != -1 and not 0 <= value < len(call.data)
    return not 0 <= value < (call.bags_shape[0] if name == "segment_ids" else call.members[0] + 1)


def _list_bag_moves(call: ExplainedCall) -> Iterator[Move]:
    """Bag by bag its members, or what fills its row; before them the members that are in no bag."""
    try:
        bags = call.bags
    except IndexError:
        yield from _list_bag_values(call)
        return
    starts, order = bags.starts, bags.order
    outside = range(starts[0]) if order is None else sorted({*range(math.prod(call.members))} - {*order.tolist()})
    yield from (_take_member(call, n, None, None) for n in outside)
    for number, bag in enumerate(np.ndindex(bags.shape)):
        members = range(starts[number], starts[number + 1])
        yield from (_take_member(call, n if order is None else int(order[n]), number, bag) for n in members)
        if not members and call.error is None:
            yield _fill_bag(call, bag)
    if call.error is not None and call.default_row is not None:
        yield _read_bag_value(call, "default_index", (), call.default_row)


def _list_bag_values(call: ExplainedCall) -> Iterator[Move]:
    """The offsets or segment ids of a call that fails because of one."""
    assert call.bag_input is not None
    for n, value in enumerate(call.arrays[call.bag_input].tolist()):
        yield _read_bag_value(call, call.bag_input, (n,), value)


def _read_bag_value(call: ExplainedCall, name: str, at: Coordinates, value: int) -> Move:
    bad = is_bad_bag_value(call, name, value)
    return Move(0, Region(name, at), (value,), (None if bad else value,), None, None, None, bad)


def _take_member(call: ExplainedCall, n: int, number: int | None, bag: Coordinates | None) -> Move:
    """Member ``n`` in row-major order belongs to bag ``number``, which is row ``bag`` of the output."""
    at = tuple(int(i) for i in np.unravel_index(n, call.members))
    rest, name = (None,) * (call.data.ndim - 1), call.bag_input
    where = None
    if name == "segment_ids":
        where = Region(name, at)
    elif name is not None and number is not None:
        where = Region(name, (number,))
    weight = None if call.weights_input is None else Region(call.weights_input, at)
    target = None if bag is None else Region("output", (*bag, *rest))
    if call.indices is None:  # all rows in order; only the offset or segment id assigns them to a bag
        assert where is not None
        value = int(call.arrays[where.array][where.key])
        source = Region(call.name("data"), (*at, *rest))
        resolved = None if number is None else value
        return Move(0, where, (value,), (resolved,), source, target, source, weight=weight)
    value = int(call.indices[at])
    resolved, bad = resolve_position(call, value, len(call.data))
    row = None if resolved is None else Region(call.name("data"), (resolved, *rest))
    return Move(0, Region(call.name("indices"), at), (value,), (resolved,), row, target, row, bad, where, weight)


def _fill_bag(call: ExplainedCall, bag: Coordinates) -> Move:
    """The row of a bag without members."""
    rest = (None,) * (call.data.ndim - 1)
    target, row, default = Region("output", (*bag, *rest)), call.default_row, call.arrays.get("default")
    if row is not None:
        source = Region(call.name("data"), (row, *rest))
        return Move(0, Region("default_index", ()), (row,), (row,), source, target, source, fills=True)
    given = None if default is None else Region("default", (None,) * default.ndim)
    return Move(0, None, (), (), given, target, given, fills=True)
