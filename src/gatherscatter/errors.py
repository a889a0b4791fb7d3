"""The exception classes, and the errors that the core and several modules raise. Their texts are in sentences.toml."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NoReturn

import numpy as np

from gatherscatter import _core, hints
from gatherscatter.pieces import concatenate_lines, extremes, make_contiguous, pieces
from gatherscatter.sentences import format_sentence, read_sentences

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


KINDS: dict[str, type[OpError]] = {"TypeError": OpTypeError, "ValueError": OpValueError, "IndexError": OpIndexError}
"""The classes by the built-in exceptions that they are."""


class OpKeyTypeError(OpTypeError, IndexError):
    """A part of a key that is not an index; NumPy raises IndexError for it."""


class OpKeyValueError(OpValueError, IndexError):
    """A key that does not go with the shape of data, or with itself; NumPy raises IndexError for it."""


def _rebuild(cls: type[OpError], args: tuple[Any, ...], state: dict[str, Any]) -> OpError:
    error = cls(*args)
    error.__dict__.update(state)
    return error


def make_error(name: str, op: str, **values: object) -> OpError:
    """The error of a name in sentences.toml."""
    known = read_sentences()["errors"][name]
    raises, at, text = (known[part].format(op=op, **values) for part in ("raises", "input", "text"))
    return KINDS[raises](text, op=op, input=at)


def choice_fault(op: str, parameter: str, value: object, scatter: bool) -> NoReturn:
    """A ``mode``, ``reduction`` or ``accumulate`` that does not exist."""
    choices = {"mode": MODES[bool(scatter)], "reduction": REDUCTIONS, "accumulate": ACCUMULATE}[parameter]
    raise make_choice_error(op, parameter, value, choices)


def make_choice_error(
    op: str, parameter: str, value: object, choices: Iterable[str], write: Callable[[object], str] = repr
) -> OpError:
    """A word that is none of the choices, or no word; ``write`` gives it as the error shows it."""
    raises, listed = "ValueError" if isinstance(value, str) else "TypeError", ", ".join(map(repr, choices))
    return make_error("choice", op, raises=raises, input=parameter, choices=listed, value=write(value))


def integer_fault(op: str, parameter: str, value: object) -> NoReturn:
    """An argument that is no integer."""
    raise make_error("integer", op, input=parameter, value=value)


def threads_fault(op: str, parameter: str, value: object) -> NoReturn:
    """A number of threads below one."""
    raise make_error("threads", op, input=parameter, value=value)


def flag_fault(op: str, parameter: str, value: object) -> NoReturn:
    """An argument that is neither true nor false."""
    raise make_error("flag", op, input=parameter, value=value)


def reduction_fault(op: str, reduction: str, dtype: np.dtype[Any]) -> NoReturn:
    """A reduction that the element type does not have."""
    raise make_error("reduction", op, reduction=reduction, type=f"{dtype}{only_moved(dtype)}")


def only_moved(dtype: np.dtype[Any]) -> str:
    """What to do with a float that is longer than those that reductions know; "" for other types."""
    known = {np.longdouble: "float64", np.clongdouble: "complex128"}.get(dtype.type)
    return format_sentence("parts", "only_moved", type=known) if known else ""


def accumulate_fault(op: str, reduction: str, dtype: np.dtype[Any]) -> NoReturn:
    """An exact result that is not offered."""
    raise make_error("accumulate", op, reduction=reduction, type=dtype)


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
    rank, k = len(data), sum(indices[-1:])
    rule = "rule_nd" if kernel.endswith("nd") else "rule_elements" if kernel.endswith("elements") else "rule_axis"
    advised = updates is not None and _can_be_broadcast(updates, slots)
    raise make_error(
        fault,
        op,
        shapes=list_shapes(data, indices, updates),
        rank=rank,
        index_rank=len(indices),
        tuple_rank=len(indices[:-1]),
        axis=axis,
        low=-rank,
        high=rank - 1,
        batch_dims=batch_dims,
        k=k,
        left=rank - batch_dims,
        updates=updates,
        slots=slots,
        rule=format_sentence("parts", rule, first=batch_dims + k),
        advice=format_sentence("parts", "broadcast", slots=slots) if advised else "",
        out=out,
        result=slots if updates is None else data,
    )


def list_shapes(data: Coordinates, indices: Coordinates, updates: Coordinates | None = None) -> str:
    """The shapes of a call, as errors list them."""
    name = "gather_shapes" if updates is None else "scatter_shapes"
    return format_sentence("parts", name, data=data, indices=indices, updates=updates)


def _can_be_broadcast(shape: Coordinates, target: Coordinates) -> bool:
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(n in (1, wanted) for n, wanted in pairs)


def storage_fault(op: str, name: str, needed: int, there: int) -> NoReturn:
    """A tensor of PyTorch whose storage was freed or resized."""
    raise make_error("storage", op, input=name, needed=needed, there=there)


@dataclass(frozen=True)
class BadIndices:
    """What a message says about indices that are out of range.

    Attributes
    ----------
    count : how many they are
    positions : where the first ten of them stand among all elements
    values : their values
    least, greatest : of the values of all
    """

    count: int
    positions: Sequence[int]
    values: Sequence[int]
    least: int
    greatest: int


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
    is_nd = kernel.endswith("nd")
    first_axis = batch_dims if is_nd else axis % len(data_shape)
    tuples = indices if is_nd else indices.reshape(-1, 1)  # a dimension more would be one too many for 64
    found = _core.find_bad_indices(tuples, data_shape, first_axis, negative, only_empty)
    if found is None:
        raise make_error("changed_indices", op)
    count, positions, values, least, greatest, bad_axis, hint = found
    size = data_shape[bad_axis]
    _raise_index_error(
        op,
        "indices",
        indices,
        BadIndices(count, positions, values, least, greatest),
        subject=format_sentence("parts", "axis", axis=bad_axis, size=size),
        axis=bad_axis,
        allowed=(-size if negative else 0, size - 1),
        hint=hints.word_hint(hint, data_shape[first_axis : first_axis + tuples.shape[-1]], indices.dtype),
    )


def raise_index_error(
    op: str,
    name: str,
    indices: np.ndarray,
    found: np.ndarray,
    *,
    subject: str,
    axis: int | None,
    allowed: tuple[int, int],
    start: Coordinates | None = None,
    chunk: Coordinates = (),
) -> NoReturn:
    """Says which elements of ``indices`` are out of range: ``found`` are their flat positions, ascending.

    If ``start`` is given, these are the indices of a ``chunk``, which begins there in the whole.
    """
    flat = make_contiguous(indices).reshape(-1)
    values = concatenate_lines([flat[found[part]] for part in pieces(found.size)], flat.dtype)
    bad = BadIndices(len(found), found[:10].tolist(), values[:10].tolist(), *extremes(values))
    _raise_index_error(op, name, indices, bad, subject=subject, axis=axis, allowed=allowed, start=start, chunk=chunk)


def _raise_index_error(
    op: str,
    name: str,
    indices: np.ndarray,
    bad: BadIndices,
    *,
    subject: str,
    axis: int | None,
    allowed: tuple[int, int],
    hint: str = "",
    start: Coordinates | None = None,
    chunk: Coordinates = (),
) -> NoReturn:
    low, high = allowed
    places = [tuple(int(c) for c in np.unravel_index(p, indices.shape)) for p in bad.positions]
    if start is not None:
        places = [tuple(map(sum, zip_longest(place, start, fillvalue=0))) for place in places]
    kinds = ("index", "indices") if start is None else ("chunk_index", "chunk_indices")
    spread = "all_equal" if bad.least == bad.greatest else "all_between"
    error = make_error(
        kinds[bad.count > 1],
        op,
        input=name,
        place=f"{name}[{', '.join(map(str, places[0]))}]" if places[0] else name,
        value=bad.values[0],
        subject=subject,
        valid=format_sentence("parts", "valid" if low <= high else "none_valid", low=low, high=high),
        count=bad.count,
        total=math.prod(indices.shape),
        chunk=chunk,
        spread=format_sentence("parts", spread, low=bad.least, high=bad.greatest),
        hint=hint and f"; {hint}",
    )
    error.count, error.positions, error.values = bad.count, tuple(places), tuple(bad.values)
    error.axis, error.allowed = axis, allowed
    raise error
