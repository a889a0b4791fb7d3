"""The exception classes, and the wording of every message about arrays: one sentence that says what to do."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from gatherscatter import hints
from gatherscatter._pieces import contiguous, extremes, joined, pieces

Coordinates = tuple[int, ...]

MODES = {False: ("raise", "wrap", "clip", "fill"), True: ("raise", "wrap", "clip", "drop")}
REDUCTIONS = ("none", "add", "sub", "mul", "min", "max", "mean")
ACCUMULATE = ("step", "wide", "exact")


class OpError(Exception):
    """What all errors of this package about operators have in common.

    Attributes
    ----------
    op : str
        The operator and version, such as ``"onnx.ScatterND-18"``, or the name of an array function.
    input : str or None
        The input or attribute that is at fault.
    count : int
        How many indices are out of range.
    positions : tuple of tuples of int
        Where the first ten of them stand in the indices tensor.
    values : tuple of int
        Their values.
    axis : int or None
        The axis of data that the first one indexes.
    allowed : (int, int) or None
        The valid range on that axis, both ends included.
    """

    def __init__(
        self,
        message: str,
        *,
        op: str = "",
        input: str | None = None,
        count: int = 0,
        positions: tuple[Coordinates, ...] = (),
        values: tuple[int, ...] = (),
        axis: int | None = None,
        allowed: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(message)
        self.op = op
        self.input = input
        self.count = count
        self.positions = positions
        self.values = values
        self.axis = axis
        self.allowed = allowed

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


class OpTypeError(OpError, TypeError):
    """An element type, an index type or a kind of object that the operator does not take."""


class OpValueError(OpError, ValueError):
    """A shape, a rank, an axis or an attribute that the operator does not take."""


class OpIndexError(OpError, IndexError):
    """At least one index is out of range; nothing was written."""


class OpKeyTypeError(OpTypeError, IndexError):
    """A part of a key that is not an index; NumPy raises IndexError for it."""


class OpKeyValueError(OpValueError, IndexError):
    """A key that does not go with the shape of data, or with itself; NumPy raises IndexError for it."""


def _rebuild(cls: type[OpError], args: tuple[Any, ...], state: dict[str, Any]) -> OpError:
    error = cls(*args)
    error.__dict__.update(state)
    return error


def choice_fault(op: str, parameter: str, value: object, scatter: bool) -> NoReturn:
    """A ``mode``, ``reduction`` or ``accumulate`` that does not exist."""
    choices = {"mode": MODES[bool(scatter)], "reduction": REDUCTIONS, "accumulate": ACCUMULATE}[parameter]
    listed = ", ".join(repr(choice) for choice in choices)
    error = OpValueError if isinstance(value, str) else OpTypeError
    raise error(f"{op}: {parameter} must be one of {listed}, not {value!r}", op=op, input=parameter)


def integer_fault(op: str, parameter: str, value: object) -> NoReturn:
    """An argument that is no integer."""
    text = f"{op}: {parameter} must be an integer, not {value!r}"
    raise OpTypeError(text, op=op, input=parameter)


def threads_fault(op: str, parameter: str, value: object) -> NoReturn:
    """A number of threads below one."""
    raise OpValueError(f"{op}: {parameter} must be at least 1, not {value!r}", op=op, input=parameter)


def flag_fault(op: str, parameter: str, value: object) -> NoReturn:
    """An argument that is neither true nor false."""
    raise OpTypeError(f"{op}: {parameter} must be True or False, not {value!r}", op=op, input=parameter)


def reduction_fault(op: str, reduction: str, dtype: np.dtype[Any]) -> NoReturn:
    """A reduction that the element type does not have."""
    text = f"{op}: reduction {reduction!r} is not defined for elements of type {dtype}{only_moved(dtype)}"
    raise OpTypeError(text, op=op, input="data")


def only_moved(dtype: np.dtype[Any]) -> str:
    """What to do with a float that is longer than those that reductions know; "" for other types."""
    known = {np.longdouble: "float64", np.clongdouble: "complex128"}.get(dtype.type)
    return f", which can only be moved; convert data and updates to {known}" if known else ""


def accumulate_fault(op: str, reduction: str, dtype: np.dtype[Any]) -> NoReturn:
    """An exact result that is not offered."""
    text = f"{op}: accumulate='exact' is not defined for reduction {reduction!r} of elements of type {dtype}"
    raise OpTypeError(text, op=op, input="accumulate")


def shape_fault(
    op: str,
    kernel: str,
    fault: str,
    data: Coordinates,
    indices: Coordinates,
    updates: Coordinates | None,
    out: Coordinates | None,
    slots: Coordinates,
    axis: int,
    batch_dims: int,
) -> NoReturn:
    """Shapes or attributes that don't fit together; ``fault`` is the planner's name for it."""
    rank, tuples, last = len(data), indices[:-1], indices[-1:]
    exact = "nothing is broadcast"
    if updates is not None and _can_be_broadcast(updates, slots):
        exact += f": give np.broadcast_to(updates, {slots})"
    left = f"{rank - batch_dims} dimensions of data that are left"
    rules = {
        "axis": "data.shape[:axis] + indices.shape + data.shape[axis+1:]",
        "elements": "indices.shape",
        "nd": f"indices.shape[:-1] + data.shape[{batch_dims + sum(last)}:]",
    }
    rule = rules["nd" if kernel.endswith("nd") else "elements" if kernel.endswith("elements") else "axis"]
    texts = {
        "data_rank": ("data", "data must have at least one dimension"),
        "indices_rank": ("indices", "indices must have at least one dimension, which holds the index tuples"),
        "same_rank": ("indices", f"indices must have the rank of data ({rank}), not {len(indices)}"),
        "axis": ("axis", f"axis {axis} is out of range for data of rank {rank} (valid: {-rank}..{rank - 1})"),
        "batch_dims": ("batch_dims", f"batch_dims {batch_dims} is out of range for {_ranks(data, indices)}"),
        "batch_axis": ("batch_dims", f"batch_dims {batch_dims} must not be greater than axis {axis}"),
        "batch_shape": ("indices", "data and indices must agree in their batch dimensions"),
        "tuple_length": ("indices", f"index tuples of length {sum(last)} are longer than the {left} for them"),
        "indices_shape": ("indices", f"off axis {axis}, no dimension of indices may be longer than that of data"),
        "output_rank": ("indices", f"the result would have more than 64 dimensions ({len(tuples)} from indices)"),
        "too_large": ("indices", "the size of the result overflows 64 bits"),
        "updates_shape": ("updates", f"updates has shape {updates}, but must have {slots} = {rule}; {exact}"),
        "out_shape": ("out", f"out has shape {out}, but the result has {slots if updates is None else data}"),
    }
    at_fault, text = texts[fault]
    shapes = f"data {data}, indices {indices}" + (f", updates {updates}" if updates is not None else "")
    raise OpValueError(f"{op}: {text} ({shapes})", op=op, input=at_fault)


def _can_be_broadcast(shape: Coordinates, target: Coordinates) -> bool:
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(n in (1, wanted) for n, wanted in pairs)


def _ranks(data: Coordinates, indices: Coordinates) -> str:
    return f"data of rank {len(data)} and indices of rank {len(indices)}"


def storage_fault(op: str, name: str, needed: int, there: int) -> NoReturn:
    """A tensor of PyTorch whose storage was freed or resized."""
    text = f"{op}: {name} needs {needed} bytes of memory, but its storage has {there}: it was freed or resized"
    raise OpValueError(f"{text}; restore the storage before the call", op=op, input=name)


def index_fault(
    op: str,
    kernel: str,
    data_shape: Coordinates,
    indices: np.ndarray,
    axis: int,
    batch_dims: int,
    negative: bool,
    only_empty: bool,
) -> NoReturn:
    """Finds the indices that are out of range. ``only_empty``: just those on axes without elements."""
    if kernel.endswith("nd"):
        axes = tuple(range(batch_dims, batch_dims + indices.shape[-1]))
        columns = indices
    else:
        axes = (axis % len(data_shape),)
        columns = indices.reshape(-1, 1)  # a dimension more would be one too many for 64
    tuples = contiguous(columns).reshape(-1, len(axes)) if axes else np.empty((0, 0), np.int64)
    sizes = [data_shape[a] for a in axes]

    def find_bad(part: slice) -> np.ndarray:
        bad = np.empty(tuples[part].shape, bool)
        for j, size in enumerate(sizes):
            low, high = (-size if negative else 0), size - 1
            bad[:, j] = (size == 0) if only_empty else (tuples[part, j] < low) | (tuples[part, j] > high)
        found: np.ndarray = np.flatnonzero(bad)
        return found + int(part.start) * len(axes)

    found = joined([find_bad(piece) for piece in pieces(len(tuples))], np.dtype(np.int64))
    if found.size == 0:
        raise OpIndexError(f"{op}: indices were changed by another thread during the call", op=op, input="indices")
    first_axis = axes[int(found[0]) % len(axes)]
    raise_indices(
        op,
        "indices",
        indices,
        found,
        subject=f"axis {first_axis} of data with size {data_shape[first_axis]}",
        axis=first_axis,
        allowed=(-data_shape[first_axis] if negative else 0, data_shape[first_axis] - 1),
        hint=hints.for_columns(tuples, axes, data_shape, negative),
    )


def raise_indices(
    op: str,
    name: str,
    indices: np.ndarray,
    found: np.ndarray,
    *,
    subject: str,
    axis: int | None,
    allowed: tuple[int, int],
    hint: str = "",
) -> NoReturn:
    """Says which elements of ``indices`` are out of range: ``found`` are their flat positions, ascending."""
    low, high = allowed
    flat = contiguous(indices).reshape(-1)
    values = joined([flat[found[part]] for part in pieces(found.size)], flat.dtype)
    places = [tuple(int(c) for c in np.unravel_index(int(p), indices.shape)) for p in found[:10]]
    where = f"{name}[{', '.join(map(str, places[0]))}]" if places[0] else name
    valid = f"valid: {low}..{high}" if low <= high else "no index is valid"
    text = f"{op}: {where} = {values[0].item()} is out of range for {subject} ({valid})"
    if len(found) > 1:
        least, greatest = extremes(values)
        spread = f"all {least}" if least == greatest else f"all in {least}..{greatest}"
        text += f"; {len(found)} of {math.prod(indices.shape)} {name} are out of range, {spread}"
    raise OpIndexError(
        text + (f"; {hint}" if hint else ""),
        op=op,
        input=name,
        count=len(found),
        positions=tuple(places),
        values=tuple(v.item() for v in values[:10]),
        axis=axis,
        allowed=allowed,
    )
