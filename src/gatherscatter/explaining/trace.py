"""The steps of a call: the value of every element before and after each index."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np

from gatherscatter.explaining.call import Coordinates, ExplainedCall
from gatherscatter.explaining.moves import Move, Region, list_moves
from gatherscatter.operation import Kernel
from gatherscatter.oracle import as_objects, fold, lowest, step, zero_of
from gatherscatter.specs.table import slots_shape

MOST_STEPS = 200
MOST_CELLS = 128  # of one step
FEW = 6  # positions of an axis that is taken whole

Pair = tuple[Coordinates | None, Coordinates]


@dataclass(frozen=True)
class CellChange:
    """One element that a step writes. ``before`` is None if the element had no value."""

    source: Coordinates | None
    target: Coordinates
    read: Any
    before: Any
    after: Any
    visits: int  # how many updates have come here, with this one


@dataclass(frozen=True)
class Step:
    """One step of a trace: a move, and the elements that it changes (of a large slice the first ones)."""

    move: Move
    changes: tuple[CellChange, ...]
    total: int  # elements that it changes

    @property
    def number(self) -> int:
        return self.move.number


def trace(call: ExplainedCall, most: int = MOST_STEPS) -> Iterator[Step]:
    """The first steps of a call."""
    state = OutputState(call)
    return (state.step(move) for move in islice(list_moves(call), most))


class OutputState:
    """The output during the call. Elements are folded one by one as the specification says, not by the kernels."""

    def __init__(self, call: ExplainedCall) -> None:
        self._call = call
        self._arrays = {name: as_objects(array) for name, array in call.arrays.items()}
        self._updates: dict[Coordinates, list[Any]] = {}

    def step(self, move: Move) -> Step:
        """Take one more step."""
        if move.target is None or move.bad or self._call.error is not None:
            return Step(move, (), 0)
        pairs = islice(list_cells(self._call, move), MOST_CELLS)
        total = math.prod(self._size(move.target))
        return Step(move, tuple(self._change(move, *pair) for pair in pairs), total)

    def _size(self, region: Region) -> Iterable[int]:
        shape = shape_of(self._call, region.array)
        return (size for size, n in zip(shape, region.key, strict=True) if n is None)

    def _change(self, move: Move, source: Coordinates | None, target: Coordinates) -> CellChange:
        read = self._contribution(move, source)
        before = self.value(target)
        seen = self._updates.setdefault(target, [])
        seen.append(read)
        return CellChange(source, target, read, before, self.value(target), len(seen))

    def _contribution(self, move: Move, source: Coordinates | None) -> Any:
        """The value that a move adds to an element: the element that it reads, times its weight if there is one."""
        read = self._read(move, source)
        if move.weight is None:
            return read
        with np.errstate(all="ignore"):
            return step("mul", read, self._arrays[move.weight.array][move.weight.key], self._call.type)

    def _read(self, move: Move, source: Coordinates | None) -> Any:
        call = self._call
        if source is not None:
            assert move.source is not None
            return self._arrays[move.source.array][source]
        if call.kernel == Kernel.GATHER_TREE:
            return self._arrays["end_token"][()]
        if move.fills and call.fill_mode == "LOWEST":
            return lowest(call.type, call.data.dtype)
        return zero_of(self._arrays[call.name("data")].dtype)

    def add(self, move: Move) -> None:
        """Take a step without a record of its changes."""
        if move.target is not None and not move.bad:
            for source, target in list_cells(self._call, move, range):
                self._updates.setdefault(target, []).append(self._contribution(move, source))

    def value(self, target: Coordinates) -> Any:
        """The value of an element of the output at this step."""
        call, seen = self._call, self._updates.get(target, [])
        data = self._arrays[call.name("data")]
        if call.reduces_bags:
            with np.errstate(all="ignore"):
                return _fold_contributions(call, seen, data.dtype) if seen else None
        if not call.is_scatter:
            empty = self._arrays["end_token"][()] if call.kernel == Kernel.GATHER_TREE else None
            return seen[-1] if seen else empty
        if not seen:
            return data[target]
        with_self = call.include_self and call.reduction != "none"
        with np.errstate(all="ignore"):
            return _fold_contributions(call, [data[target], *seen] if with_self else seen, data.dtype)

    def output(self) -> np.ndarray:
        """The whole output at this step."""
        call = self._call
        data = self._arrays[call.name("data")]
        out = data.copy() if call.is_scatter else np.empty(shape_of(call, "output"), data.dtype)
        for target in np.ndindex(out.shape):
            if target in self._updates or not call.is_scatter:
                out[target] = self.value(target)
        return out


def _fold_contributions(call: ExplainedCall, contributions: list[Any], dtype: np.dtype[Any]) -> Any:
    """The fold of the specifications; and that of the array functions in a wider type, whose sum is rounded once."""
    wide = call.accumulate == "wide" and dtype.name in ("float32", "float64")
    if not wide or call.reduction not in ("add", "sub", "mean"):
        return fold(call.reduction, contributions, dtype, call.accumulate)
    reduction = "sub" if call.reduction == "sub" else "add"
    if dtype.name == "float32":
        total = fold(reduction, [np.float64(each) for each in contributions], np.dtype(np.float64))
    else:
        total = fold(reduction, contributions, dtype, "exact")
    return dtype.type(total / len(contributions) if call.reduction == "mean" else total)


def sample_positions(size: int) -> tuple[int, ...]:
    """The positions of a whole axis that a step lists: all, or the first and the last ones."""
    return tuple(range(size)) if size <= FEW else (*range(FEW - 1), size - 1)


def list_cells(
    call: ExplainedCall, move: Move, positions: Callable[[int], Iterable[int]] = sample_positions
) -> Iterator[Pair]:
    """The single elements of a move, source and target, in row-major order."""
    assert move.target is not None
    shape = shape_of(call, move.target.array)
    free = [positions(size) for size, n in zip(shape, move.target.key, strict=True) if n is None]
    for inner in product(*free):
        yield None if move.source is None else _fill_key(move.source, inner), _fill_key(move.target, inner)


def _fill_key(region: Region, inner: Coordinates) -> Coordinates:
    rest = iter(inner)
    return tuple(next(rest) if n is None else n for n in region.key)


def shape_of(call: ExplainedCall, array: str) -> Coordinates:
    """The shape of an input or of the output."""
    if array != "output":
        return call.arrays[array].shape
    if call.is_scatter or call.kernel == Kernel.GATHER_TREE:
        return call.data.shape
    if call.reduces_bags:
        return (*call.bags_shape, *call.data.shape[1:])
    assert call.indices is not None
    batch = call.batch_dims
    slots = slots_shape(call.kernel, call.data.shape, call.indices.shape, call.axis, batch)
    return (math.prod(slots[:batch]), *slots[batch:]) if call.is_fused else slots
