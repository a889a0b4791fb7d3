"""The calls of the contract: a case decides everything about a call, and the oracle gives its result."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from gatherscatter import oracle
from gatherscatter.operation import FUNCTIONS, Form, Kernel
from gatherscatter_conformance import random_calls

WIDTHS = (1, 2, 3, 8, 33, 300)
"""The numbers in a row."""
ELEMENTS = tuple(random_calls.representations(oracle.T24))
SIZE = 5  # of the axis that indices name


class Case(NamedTuple):
    """What decides a call.

    Attributes
    ----------
    turn : it decides the form of the call: the axis, batch dims, the type of indices, how bags are defined
    tame : whether floats are ordinary numbers. Sums in another order are then equal, up to their rounding
    scale : how many times as many rows and indices there are
    """

    function: str
    element: str = "float64"
    width: int = 3
    turn: int = 0
    options: tuple[tuple[str, Any], ...] = ()
    tame: bool = False
    scale: int = 1

    def __str__(self) -> str:
        words = [f"{name}={value}" for name, value in self.options]
        return " ".join([self.function, self.element, f"width {self.width}", f"turn {self.turn}", *words])


class Call(NamedTuple):
    """A call of a function. Its options are neither arrays nor change with the values of arrays."""

    function: str
    inputs: dict[str, Any]
    options: dict[str, Any]


def find_epsilon(dtype: Any) -> float:
    """Return the distance from 1 to the next number of a type."""
    return float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]


def choices(function: str, parameter: str) -> tuple[str, ...]:
    """Return the words that the table of the functions has for a parameter."""
    return next(each.choices for each in FUNCTIONS[Kernel(function)].parameters if each.name == parameter)


# ---------------------------------------------------------------------------------------------------------- values


class Source:
    """The values of one call."""

    def __init__(self, case: Case) -> None:
        self.case, self.turn, self.options = case, case.turn, dict(case.options)
        self.rng = np.random.default_rng([zlib.crc32(case.function.encode()), case.width, case.turn])
        self.row = () if case.width == 1 and case.turn % 2 else (case.width,)
        self.size = SIZE * case.scale

    def values(self, *shape: int, element: str = "") -> np.ndarray:
        name = element or self.case.element
        if self.case.tame and name in (*oracle.FLOATS, *oracle.COMPLEX):
            numbers = self.rng.standard_normal(shape) * 4
            dtype = random_calls.dtype_of(name)
            return (numbers + 1j * self.rng.standard_normal(shape) if dtype.kind == "c" else numbers).astype(dtype)
        count = len(random_calls.pool(name))
        pool = random_calls.fill_from_bytes(name, (count,), bytes(range(count)))
        return np.asarray(pool[self.rng.integers(0, count, shape)], pool.dtype)

    def indices(self, *shape: int, size: int = 0) -> np.ndarray:
        """Return indices with repetitions. Some are negative, and some are out of range if the mode allows it."""
        kind = np.dtype(oracle.INTEGERS[self.turn % len(oracle.INTEGERS)] if self.case.scale == 1 else np.int64)
        size = size or self.size
        most = 2 * size + 1 if self.options.get("mode", "raise") != "raise" else size
        least = 0 if kind.kind == "u" or self.options.get("negative") == "error" else -most
        return self.rng.integers(least, most, shape).astype(kind)

    def make(self, inputs: dict[str, Any], **options: Any) -> Call:
        return Call(self.case.function, inputs, options | self.options)


def _index(s: Source) -> tuple[tuple[int, ...], np.ndarray, tuple[int, ...], dict[str, Any]]:
    """Return the shape of data, indices, the shape of the slots that they name, and where they are."""
    kernel, row, form, size, many = s.case.function, s.row, s.turn % 3, s.size, s.case.scale
    if Kernel(kernel).form == Form.TUPLES:
        shape, lead, k, batch = [
            ((size,), (7 * many,), 1, 0),
            ((3, 4), (6 * many,), 2, 0),
            ((2, size), (2, 4 * many), 1, 1),
        ][form]
        if batch and kernel == "scatter_nd":
            k, batch = 2, 0
        columns = [s.indices(*lead, size=n) for n in shape[batch : batch + k]]
        options = {"batch_dims": batch} if batch else {}
        return (*shape, *row), np.stack(columns, -1), (*lead, *shape[batch + k :], *row), options
    if Kernel(kernel).form == Form.LANES:
        lead, axis = [((), 0), ((2,), 1), ((2,), -1 - len(row))][form]
        box = (*lead, 7 * many, *(max(n - form, min(n, 1)) for n in row))
        return (*lead, size, *row), s.indices(*box), box, {"axis": axis}
    if form == 0:
        return (size, *row), s.indices(2, 4 * many), (2, 4 * many, *row), {"axis": 0}
    if form == 1 and kernel == "gather":
        return (2, size, *row), s.indices(2, 4 * many), (2, 4 * many, *row), {"axis": 1, "batch_dims": 1}
    return (2, size, *row), s.indices(6 * many), (2, 6 * many, *row), {"axis": -1 - len(row)}


def _gather(s: Source) -> Call:
    shape, indices, _, options = _index(s)
    return s.make({"data": s.values(*shape), "indices": indices}, **options)


def _scatter(s: Source) -> Call:
    shape, indices, slots, options = _index(s)
    return s.make({"data": s.values(*shape), "indices": indices, "updates": s.values(*slots)}, **options)


def _gather_reduce(s: Source) -> Call:
    form = s.turn % 4
    many, few = s.case.scale, min(s.case.scale, 1)
    members = s.indices(3 * many, 4) if form == 0 else s.indices(9 * many)
    table = _gather_quantized(s) if " of " in s.case.element else None
    inputs = (
        {"data": s.values(s.size, *s.row), "indices": members} if table is None else table.inputs | {"indices": members}
    )
    options = (
        {} if table is None else {name: table.options[name] for name in ("block_size", "bits")} | {"quantize_axis": 1}
    )
    bags: dict[str, Any] = {
        1: {"offsets": [0, 2 * few, 2 * few, 7 * few]},
        2: {"indptr": [0, 3 * few, 3 * few, 9 * many]},
    }.get(form, {})
    if form == 3:
        none = -1 if s.options.get("negative") == "skip" and members.dtype.kind == "i" else 3
        bags, options = {"segment_ids": [3, 0, none, 1, 0, 5, 3, 3, 1] * many}, options | {"num_segments": 7}
    if (s.turn // 4) % 2:
        inputs["weights"] = s.values(*members.shape, element=s.case.element.rpartition(" ")[2])
    if s.turn % 5 == 4:
        options["default"] = True if s.case.element == "bool" else 1
    return s.make(inputs | {name: np.array(value, members.dtype) for name, value in bags.items()}, **options)


def _gather_quantized(s: Source) -> Call:
    code, scale = s.case.element.split(" of ")
    packed, width = code == "uint8", 2 * s.case.width
    bits = (2, 4, 8)[s.turn % 3] if packed else 4
    per_byte, block = 8 // bits if packed else 1, (16, 3, 0)[s.turn % 3]
    numbers = width * per_byte
    blocks = -(-numbers // (block or max(numbers, 1)))
    inputs = {"data": s.values(s.size, width, element=code), "indices": s.indices(2, 3 * s.case.scale)}
    inputs["scales"] = s.values(s.size, blocks, element=scale)
    if s.turn % 2 and code in ("uint8", "int8", "int4", "uint4"):
        inputs["zero_points"] = s.values(s.size, -(-blocks // per_byte), element=code)
    if s.turn % 4 == 3 and not packed and s.case.function == "gather_quantized":
        inputs = {name: array if name == "indices" else array.T for name, array in inputs.items()}
        return s.make(inputs, axis=1, quantize_axis=0, block_size=block, bits=bits)
    return s.make(inputs, block_size=block, bits=bits)


def _tensor_scatter(s: Source) -> Call:
    starts = np.array([1, 3] if s.options.get("mode", "linear") == "linear" else [4, -7], np.int64) * min(
        s.case.scale, 1
    )
    inputs = {"past_cache": s.values(2, s.size, s.case.width), "update": s.values(2, 2 * s.case.scale, s.case.width)}
    inputs |= {} if s.turn % 3 == 2 else {"write_indices": starts}
    return s.make(inputs, **({"axis": 1} if s.turn % 2 else {}))


def _gather_tree(s: Source) -> Call:
    steps, beams = 4, s.case.width
    dtype = random_calls.dtype_of(s.case.element)

    def draw(shape: tuple[int, ...], most: int) -> np.ndarray:
        return s.rng.integers(0, most, shape).astype(dtype)

    shape, parents = (steps, 2, beams), max(min(beams, 2 if dtype.kind == "b" else 100), 1)
    return s.make({"step_ids": draw(shape, 4), "parent_ids": draw(shape, parents),
                   "max_seq_len": np.array([steps - 1, steps], dtype), "end_token": np.array(3, dtype)})  # fmt: skip


def _aggregate(s: Source) -> Call:
    labels = np.array([3, 0, 3, 1, 0, 5, 3, 3] * s.case.scale, np.int64)
    values = s.values(len(labels), *s.row)
    values = values % 100 if values.dtype.kind in "iu" else values  # so that squares do not overflow
    return s.make({"group_idx": labels, "a": values}, axis=0, size=7)


def _prepared(s: Source) -> Call:
    method = s.case.function.partition(".")[2]
    count = 6 * s.case.scale
    inputs: dict[str, Any] = {"indices": np.stack([s.indices(count, size=3), s.indices(count, size=4)], -1)}
    shape: tuple[int, ...] = (3, 4, *s.row)
    options: dict[str, Any] = {"shape": (3, 4)}
    slots: tuple[int, ...] = (count, *s.row)
    if method == "propagate":
        inputs |= {"data": s.values(4, *s.row), "weights": s.values(count)}
        return s.make(inputs, **options)
    if s.turn % 2:
        inputs, shape, slots = {"indices": s.indices(2, count)}, (2, s.size, *s.row), (2, 2, count, *s.row)
        options = {"shape": (2, s.size), "axis": 1}
    inputs |= {"data": s.values(*shape)} if method in ("gather", "scatter") else {}
    inputs |= {} if method == "gather" else {"updates": s.values(*slots)}
    return s.make(inputs, **options)


DRAWS: dict[str, Callable[[Source], Call]] = {
    **dict.fromkeys(("gather", "gather_elements", "gather_nd"), _gather),
    **dict.fromkeys(("scatter_update", "scatter_elements", "scatter_nd"), _scatter),
    "gather_reduce": _gather_reduce,
    "gather_quantized": _gather_quantized,
    "tensor_scatter": _tensor_scatter,
    "gather_tree": _gather_tree,
    "aggregate": _aggregate,
    **{f"prepare.{method}": _prepared for method in ("gather", "scatter", "sum", "reduce", "propagate")},
}
"""The functions of the contract."""


@cache
def make(case: Case) -> Call:
    return DRAWS[case.function](Source(case))
