"""The exception classes, and the errors that the core and several modules raise. Their texts are in sentences.toml."""

from __future__ import annotations

import inspect
import math
import re
import reprlib
import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import zip_longest
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

import numpy as np

from gatherscatter import _core
from gatherscatter.messages import hints
from gatherscatter.messages.choices import ACCUMULATE, BAG_REDUCTIONS, MODES, NEGATIVE, REDUCTIONS, WITHOUT_ACCUMULATE
from gatherscatter.messages.sentences import format_sentence, read_sentences
from gatherscatter.messages.suggestions import suggest_choice, suggest_instead, suggest_other_choice, suggest_parameter
from gatherscatter.operation import Form, Kernel, Operation
from gatherscatter.system.pieces import concatenate_lines, extremes, make_contiguous, pieces

CONVERTED_NEGATIVE = 0x7FFFFFFF_7FFFFFFF
"""The index that a converted model has instead of a negative one that its original refuses."""

Coordinates = tuple[int, ...]
Function = TypeVar("Function", bound=Callable[..., Any])


class OpError(Exception):
    """The base class of all errors of this package about operators.

    Attributes
    ----------
    op : str
        The operator and version, such as ``"onnx.ScatterND-18"``, or the name of an array function.
    input : str or None
        The input or attribute at fault.
    count : int
        The number of indices that are out of range.
    positions : tuple of tuples of int
        The positions of the first ten of these indices.
    values : tuple of int
        The values of the first ten.
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
        # BaseException.__new__ keeps the message. torch.compile can't trace super().__init__() here.
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
    """An element type, an index type or a kind of object that the operator does not accept."""


class OpValueError(OpError, ValueError):
    """A shape, a rank, an axis or an attribute that the operator does not accept."""


class OpIndexError(OpError, IndexError):
    """At least one index is out of range. Nothing was written."""


class OpMemoryError(OpError, MemoryError):
    """There is not enough memory for the call. The caller's arrays did not change."""


KINDS: dict[str, type[OpError]] = {
    "TypeError": OpTypeError,
    "ValueError": OpValueError,
    "IndexError": OpIndexError,
    "MemoryError": OpMemoryError,
}
"""The class for each built-in exception from which it is derived."""


class OpKeyTypeError(OpTypeError, IndexError):
    """A part of a key is not an index. NumPy raises IndexError in this case."""


class OpKeyValueError(OpValueError, IndexError):
    """A key does not fit the shape of data, or its parts do not fit together. NumPy raises IndexError in this case."""


def _rebuild(cls: type[OpError], args: tuple[Any, ...], state: dict[str, Any]) -> OpError:
    error = cls(*args)
    error.__dict__.update(state)
    return error


def make_error(name: str, op: str, **values: object) -> OpError:
    """Make the error with this name in sentences.toml."""
    known = read_sentences()["errors"][name]
    raises, at, text = (known[part].format(op=op, **values) for part in ("raises", "input", "text"))
    return KINDS[raises](text, op=op, input=at)


def choice_fault(op: str, parameter: str, value: object, scatter: bool) -> NoReturn:
    """Raise the error about a word that an option does not have."""
    reductions = REDUCTIONS if scatter else BAG_REDUCTIONS
    choices = {"mode": MODES[bool(scatter)], "negative": NEGATIVE, "reduction": reductions, "accumulate": ACCUMULATE}
    wanted = choices.pop(parameter)
    if op.startswith("at."):  # the method is the reduction
        raise make_choice_error(op, parameter, value, wanted)
    raise make_choice_error(op, parameter, value, wanted, suggest_other_choice(value, wanted, choices))


def make_choice_error(
    op: str,
    parameter: str,
    value: object,
    choices: Iterable[str],
    suggestion: str | None = None,
) -> OpError:
    """Make the error about a value that is not among the choices."""
    known = list(choices)
    raises, listed = "ValueError" if isinstance(value, str) else "TypeError", ", ".join(map(repr, known))
    suggestion = suggest_choice(value, known) if suggestion is None else suggestion
    return make_error(
        "choice", op, raises=raises, input=parameter, choices=listed, value=reprlib.repr(value), suggestion=suggestion
    )


def keyword_fault(function: str, keyword: str, known: Iterable[str]) -> NoReturn:
    """Raise the error about a keyword argument that an array function does not have."""
    names = list(known)
    suggestion = suggest_parameter(keyword, names) or suggest_instead(keyword, function)
    suggestion = suggestion or format_sentence("parts", "takes", names=", ".join(names))
    raise make_error("unknown_keyword", function, input=keyword, suggestion=suggestion)


def with_call_errors(function: Function, op: str = "") -> Function:
    """Decorate a function: it raises the errors of the core for wrong arguments and a lack of memory.

    ``op`` is its name in these errors, if it is not that of the function.
    """
    signature, op = inspect.signature(function).parameters, op or function.__name__
    parameters, known = list(signature), frozenset(signature)
    by_name = [name for name, one in signature.items() if one.kind == inspect.Parameter.KEYWORD_ONLY]
    takes_any = any(one.kind == inspect.Parameter.VAR_POSITIONAL for one in signature.values())
    most = math.inf if takes_any else len(parameters) - len(by_name)

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        if keywords and not known.issuperset(keywords):
            unknown = next(keyword for keyword in keywords if keyword not in known)
            keyword_fault(op, unknown, [name for name in parameters if name != "self"])
        if len(arguments) > most:
            _refuse_positional(op, len(arguments), [name for name in parameters if name not in by_name], by_name)
        try:
            return function(*arguments, **keywords)
        except MemoryError as error:
            name_memory_error(op, error)

    return cast(Function, call)


def hide_others(function: Function) -> Function:
    """Decorate a function with ``*others: Never`` and ``**unknown: Never``: its signature does not show them.

    The function passes them to `refuse_arguments`. A call then takes 0.1 microseconds less than with
    `with_call_errors`.
    """
    signature = inspect.signature(function)
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    shown = [one for one in signature.parameters.values() if one.kind not in variable]
    function.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return function


def refuse_arguments(
    function: Callable[..., Any], op: str, others: Sequence[Any], unknown: Mapping[str, Any]
) -> NoReturn:
    """Raise the error about arguments that a function does not have. ``op`` is its name in the error."""
    parameters = inspect.signature(function).parameters
    if unknown:
        keyword_fault(op, next(iter(unknown)), [name for name in parameters if name != "self"])
    by_name = [name for name, one in parameters.items() if one.kind == inspect.Parameter.KEYWORD_ONLY]
    names = [name for name in parameters if name not in by_name]
    _refuse_positional(op, len(names) + len(others), names, by_name)


def _refuse_positional(op: str, count: int, names: list[str], by_name: list[str]) -> NoReturn:
    """Raise the error about too many positional arguments."""
    own = len(names) - ("self" in names)
    advice = format_sentence("parts", "by_name", names=", ".join(by_name)) if by_name else ""
    advice = format_sentence("parts", "key_in_brackets") if op == "at" else advice
    raise make_error("positional", op, most=own, count=count - ("self" in names), advice=advice)


def name_memory_error(op: str, error: MemoryError) -> NoReturn:
    """Raise an error about a lack of memory again. Its message names the operator."""
    named = error if isinstance(error, OpError) else make_error("memory", op, reason=str(error) or "out of memory")
    raise named from None


def memory_fault(
    op: str, shape: Coordinates, dtype: np.dtype[Any], name: str = "", values: np.ndarray | int | None = None
) -> NoReturn:
    """Raise the error about a result for which there is not enough memory.

    ``values`` are those of the input or argument ``name``, if they decide the size of the result.
    """
    cause = "" if values is None else _name_deciding_value(name, np.asarray(values), "num_segments")
    raise make_error("result_memory", op, result=describe_size(shape, dtype), cause=cause)


def check_size(  # noqa: PLR0917 - the core calls it by position
    op: str, shape: Coordinates, dtype: Any, name: str, values: Any, parameter: str, input_bytes: int
) -> None:
    """Check the size of a result that the largest of ``values`` decides, unless the caller gives ``parameter``.

    ``values`` are an array, or a tensor of PyTorch. ``dtype`` is a type of NumPy or PyTorch.

    Raises
    ------
    MemoryError
        The result can't be allocated.

    Warns
    -----
    RuntimeWarning
        It takes more than 1 GiB, and more than 1000 times the memory of the inputs.
    """
    size = math.prod(shape) * dtype.itemsize
    if size <= _LARGE:
        return
    array = np.asarray(values.cpu() if hasattr(values, "cpu") else values)
    facts = {"result": describe_size(shape, dtype), "cause": _name_deciding_value(name, array, parameter)}
    if not _can_allocate(size):
        raise make_error("result_memory", op, **facts)
    if size > _MANY * input_bytes:
        _warn(format_sentence("parts", "large_result", op=op, **facts))


def check_named_elements(
    op: str, shape: Coordinates, dtype: Any, new_bytes: int, input_bytes: int, dims: Mapping[Hashable, object]
) -> None:
    """Check the size of the elements that indices with named dimensions read or write.

    ``shape`` and ``dtype`` are those of their values. The call allocates ``new_bytes``. ``dims`` are the dimensions of
    each index, if no dimension is common to all.

    Raises
    ------
    MemoryError
        The new bytes can't be allocated.

    Warns
    -----
    RuntimeWarning
        The values or the new bytes are more than 1 GiB, and more than 1000 times the memory of the inputs.
    """
    size = max(math.prod(shape) * dtype.itemsize, new_bytes)
    if size <= _LARGE:
        return
    listed = ", ".join(f"{name!r} has {each}" for name, each in dims.items())
    cause = format_sentence("parts", "no_common_dimension", dims=listed, first=next(iter(dims))) if dims else ""
    facts = {"elements": describe_size(shape, dtype), "cause": cause}
    if not _can_allocate(new_bytes):
        raise make_error("elements_memory", op, **facts)
    if size > _MANY * input_bytes:
        _warn(format_sentence("parts", "many_elements", op=op, **facts))


_LARGE, _MANY = 1 << 30, 1000


def _can_allocate(size: int) -> bool:
    try:
        np.empty(size, np.uint8)  # it is not written, so it takes no memory
    except (MemoryError, OverflowError, ValueError):
        return False
    return True


def _warn(text: str) -> None:
    """Warn about the line of the caller of this package."""
    warnings.warn(text, RuntimeWarning, stacklevel=count_own_frames() + 1)


def count_own_frames() -> int:
    """Count the frames of this package that are active, so that a warning names the line of the caller."""
    package, frame, count = __name__.partition(".")[0], sys._getframe(1), 0
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, count = frame.f_back, count + 1
    return count


def describe_size(shape: Coordinates, dtype: Any) -> str:
    """Describe an array by its shape, type and size in memory."""
    from gatherscatter.messages.text import bytes_text

    return format_sentence(
        "parts",
        "array_size",
        shape=shape,
        type=str(dtype).removeprefix("torch."),
        size=bytes_text(math.prod(shape) * dtype.itemsize),
    )


def _name_deciding_value(name: str, values: np.ndarray, parameter: str) -> str:
    """Return the end of a message about a result with a size that follows from the largest of some values."""
    flat = int(np.argmax(values))
    position = ", ".join(map(str, map(int, np.unravel_index(flat, values.shape))))
    where, advice = (f"{name}[{position}]", parameter) if position else (name, "")
    sentence = "deciding_value" if advice else "deciding_argument"
    return format_sentence("parts", sentence, element=where, value=values.reshape(-1)[flat], parameter=parameter)


def integer_fault(op: str, parameter: str, value: object) -> NoReturn:
    """Raise the error about an argument that is not an integer."""
    advice = ""
    if parameter == "axis" and value is None:
        advice = format_sentence("parts", "flat_axis")
    elif parameter == "axis" and getattr(value, "shape", None):
        advice = format_sentence("parts", "axis_last")
    elif isinstance(value, str):
        reduction = "reduce" if parameter.startswith("dim") else "reduction"  # as in torch_scatter
        advice = suggest_other_choice(value, (), {reduction: REDUCTIONS, "mode": (*MODES[False], *MODES[True])})
    elif isinstance(value, float | np.floating) and math.isfinite(value) and value == np.trunc(value):
        advice = format_sentence("parts", "whole_number", input=parameter, value=int(value))
    shape: Any = getattr(value, "shape", None)
    shown = f"an array of shape {tuple(shape)}" if shape else reprlib.repr(value)
    raise make_error("integer", op, input=parameter, value=shown, advice=advice)


def threads_fault(op: str, parameter: str, value: object) -> NoReturn:
    """Raise the error about a number of threads below one."""
    raise make_error("threads", op, input=parameter, value=value)


def flag_fault(op: str, parameter: str, value: object) -> NoReturn:
    """Raise the error about an argument that is neither True nor False."""
    raise make_error("flag", op, input=parameter, value=value)


def reduction_fault(op: str, reduction: str, dtype: np.dtype[Any]) -> NoReturn:
    """Raise the error about a reduction that the element type does not support."""
    raise make_error("reduction", op, reduction=reduction, type=f"{dtype}{only_moved(dtype)}")


def only_moved(dtype: np.dtype[Any]) -> str:
    """Return the advice for a float type that is too long for reductions, or "" for other types."""
    known = {np.longdouble: "float64", np.clongdouble: "complex128"}.get(dtype.type)
    return format_sentence("parts", "only_moved", type=known) if known else ""


def accumulate_fault(op: str, reduction: str, dtype: np.dtype[Any]) -> NoReturn:
    """Raise the error about an exact result that is not defined."""
    raise make_error("accumulate", op, reduction=reduction, type=dtype)


def check_effects(op: str, reduction: object, include_self: object = True, accumulate: object = "step") -> None:
    """Refuse options that have no effect with the reduction."""
    if not include_self and reduction == "none":
        raise make_error("no_effect", op, input="include_self", reduction=reduction)
    if not isinstance(accumulate, str) or accumulate not in ACCUMULATE:
        choice_fault(op, "accumulate", accumulate, scatter=True)
    if accumulate != "step" and reduction in WITHOUT_ACCUMULATE:
        raise make_error("no_effect", op, input="accumulate", reduction=reduction)


class Shapes(NamedTuple):
    """The shapes of a call. ``slots`` is that of a gather's result, and of the updates of a scatter."""

    data: Coordinates
    indices: Coordinates
    updates: Coordinates | None = None
    out: Coordinates | None = None
    slots: Coordinates = ()


_RULES = {Form.ROWS: "rule_axis", Form.LANES: "rule_elements", Form.TUPLES: "rule_nd"}


def shape_fault(operation: Operation, fault: str, shapes: Shapes) -> NoReturn:
    """Raise the error about shapes or attributes that don't fit together. ``fault`` is the planner's name for it."""
    data, indices, updates, out, slots = shapes
    form, axis, batch_dims = operation.kernel.form, operation.axis, operation.batch_dims
    rank, k = len(data), sum(indices[-1:])
    batch = batch_dims + (len(indices) if batch_dims < 0 else 0)
    if fault == "updates_shape" and updates is not None and _can_be_broadcast(updates, slots):
        advice = format_sentence("parts", "broadcast", slots=slots)
    elif form == Form.TUPLES and _is_one_tuple(fault, shapes, batch_dims):
        advice = format_sentence("parts", "one_tuple", k=k)
    elif fault == "tuple_length" and len(indices) == 2 and batch_dims == 0 and indices[0] == rank:
        advice = format_sentence("parts", "transposed")
    elif fault in ("same_rank", "indices_shape"):
        advice = advise_off_axis(data, indices, axis, updates)
    else:
        advice = ""
    raise make_error(
        fault,
        operation.op,
        shapes=list_shapes(data, indices, updates),
        rank=rank,
        index_rank=len(indices),
        tuple_rank=len(indices[:-1]),
        axis=axis,
        low=-rank,
        high=rank - 1,
        batch_dims=batch_dims,
        k=k,
        data_batch=data[:batch],
        index_batch=indices[:batch],
        updates=updates,
        slots=slots,
        rule=format_sentence("parts", _RULES[form], first=batch_dims + k),
        advice=advice,
        out=out,
        result=slots if updates is None else data,
    )


def report(fault: str, *facts: Any) -> None:
    """Raise the error about a fault that the core has found. The first fact can be the operation, as a tuple."""
    if facts and isinstance(facts[0], tuple):
        op, kernel, *rest = facts[0]
        facts = (Operation(op, Kernel(kernel), *rest), *facts[1:])
    globals()[fault](*facts)


def problem_fault(op: str, error: str, values: dict[str, Any], dtype: np.dtype[Any] | None) -> NoReturn:
    """Raise the error with this name that the front end of the core has found, for data of a type."""
    if "of" in values:
        values["shapes"] = f"{values.pop('of')} of {dtype}"
    elif error == "output_rank":
        values["shapes"] = list_shapes(values.pop("data"), values.pop("indices"))
    raise make_error(error, op, **values)


def list_shapes(data: Coordinates, indices: Coordinates, updates: Coordinates | None = None) -> str:
    """List the shapes of a call, as errors show them."""
    name = "gather_shapes" if updates is None else "scatter_shapes"
    return format_sentence("parts", name, data=data, indices=indices, updates=updates)


def _can_be_broadcast(shape: Coordinates, target: Coordinates) -> bool:
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(n in (1, wanted) for n, wanted in pairs)


def advise_off_axis(data: Coordinates, indices: Coordinates, axis: int, updates: Coordinates | None = None) -> str:
    """Return the end of an error about indices for single elements whose shape differs from data's off the axis."""
    if not -len(data) <= axis < len(data):
        return ""
    axis %= len(data)
    if indices == data[:axis] + data[axis + 1 :]:
        key = "[..., None]" if axis == len(data) - 1 else f"[{':, ' * axis}None]"
        arguments = f"indices{key} and updates{key}" if updates == indices else f"indices{key}"
        return format_sentence("parts", "dropped_axis", axis=axis, arguments=arguments)
    if len(indices) > len(data):
        return ""
    padded = (1,) * (len(data) - len(indices)) + indices
    wanted = (*data[:axis], padded[axis], *data[axis + 1 :])
    if _can_be_broadcast(padded, wanted):
        return format_sentence("parts", "broadcast_indices", shape=wanted)
    wanted = (*padded[:axis], data[axis], *padded[axis + 1 :])
    if updates is not None or not _can_be_broadcast(data, wanted):
        return ""
    return format_sentence("parts", "broadcast_data", shape=wanted)


def _is_one_tuple(fault: str, shapes: Shapes, batch_dims: int) -> bool:
    """Whether the call seems to give single indices instead of index tuples. They then form one tuple."""
    _, indices, updates, _, slots = shapes
    if len(indices) != 1 or batch_dims != 0:
        return False
    if fault == "tuple_length" or not updates:
        return fault == "tuple_length"
    return updates[0] == indices[0] or (slots == () and updates[0] > 1)


def storage_fault(op: str, name: str, needed: int, there: int) -> NoReturn:
    """Raise the error about a PyTorch tensor with a storage that was freed or resized."""
    raise make_error("storage", op, input=name, needed=needed, there=there)


@dataclass(frozen=True)
class BadIndices:
    """The facts of a message about indices that are out of range.

    Attributes
    ----------
    count : the number of these indices
    positions : the flat positions of the first ten
    values : the values of the first ten
    least, greatest : the range of all their values
    """

    count: int
    positions: Sequence[int]
    values: Sequence[int]
    least: int
    greatest: int


def index_fault(
    operation: Operation,
    data_shape: Coordinates,
    indices: np.ndarray,
    others: Mapping[str, np.ndarray] | None = None,
) -> NoReturn:
    """Raise the error about indices that the operation refuses.

    ``others`` are inputs with which the indices may have been swapped.
    """
    op, kernel = operation.op, operation.kernel
    axis, batch_dims, is_nd = operation.axis, operation.batch_dims, kernel.form == Form.TUPLES
    first_axis = batch_dims if is_nd else axis % len(data_shape)
    tuples = indices if is_nd else indices.reshape(-1, 1)  # another dimension could exceed NumPy's limit of 64
    may_be_batched = (
        kernel == Kernel.GATHER_ND
        and batch_dims == 0
        and indices.ndim > 1
        and indices.shape[0] == data_shape[0]
        and indices.shape[-1] < len(data_shape)
    )
    found = _core.find_bad_indices(tuples, data_shape, first_axis, *operation.rule, may_be_batched)
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
        allowed=(-size if operation.negative == "end" else 0, size - 1),
        hint=hints.word_hint(hint, data_shape[first_axis : first_axis + tuples.shape[-1]], indices.dtype)
        or ("" if is_nd else _find_swapped(indices, count, data_shape, first_axis, others or {})),
    )


def _find_swapped(
    indices: np.ndarray,
    count: int,
    data_shape: Coordinates,
    axis: int,
    others: Mapping[str, np.ndarray],
) -> str:
    """Return a hint if the indices seem to be swapped with data or updates: only the others would be in range."""
    if count * 2 <= indices.size:
        return ""
    for name in ("updates", "data"):
        other = others.get(name)
        if other is None or other.dtype.kind not in "iuf" or not other.size:
            continue
        if name == "data":  # with data as indices, the indices would be data
            size = indices.shape[axis] if axis < indices.ndim and other.dtype.kind != "f" else 0
        else:
            size = data_shape[axis] if other.shape == indices.shape else 0
        if -size <= other.min() and other.max() < size and (other == np.trunc(other)).all():
            return format_sentence("hints", "swapped_inputs", other=name)
    return ""


def reword(error: OpError, op: str, names: Mapping[str, str]) -> OpError:
    """Return the error of an operator, worded for the function ``op`` that called it. ``names`` maps input names."""
    text = str(error).removeprefix(f"{error.op}: ")
    text = re.sub(rf"\b({'|'.join(names)})\b", lambda found: names[found[0]], text)
    return type(error)(f"{op}: {text}", **vars(error) | {"op": op, "input": names.get(str(error.input), error.input)})


def range_fault(
    op: str,
    name: str,
    values: np.ndarray,
    size: int,
    kind: str,
    negative: str,
    *,
    start: Coordinates | None = None,
    chunk: Coordinates = (),
    **facts: object,
) -> NoReturn:
    """Raise the error about values outside [0, size-1]. Negative values are treated as in an `Operation`.

    ``kind`` is the sentence about what the values number. It needs the facts. ``size`` counts the positions between
    members, and for all other kinds what is numbered. For ``start`` and ``chunk`` see `raise_index_error`.
    """
    flat, low = values.reshape(-1), -size if negative == "end" else 0
    below = -math.inf if negative == "skip" else low
    bad = concatenate_lines(
        [np.flatnonzero((flat[part] < below) | (flat[part] > size - 1)) + part.start for part in pieces(flat.size)],
        np.dtype(np.int64),
    )
    if bad.size == 0:
        raise make_error("changed_indices", op)
    subject = format_sentence("parts", kind, size=size - 1 if kind == "members" else size, **facts)
    raise_index_error(
        op, name, values, bad, subject=subject, axis=None, allowed=(low, size - 1), start=start, chunk=chunk
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
    hint: str = "",
    plural: str = "",
    start: Coordinates | None = None,
    chunk: Coordinates = (),
) -> NoReturn:
    """Raise the error about ``indices`` that are out of range. ``found`` are their flat positions, ascending.

    If ``start`` is given, ``indices`` are a ``chunk`` of a larger array, and the chunk begins there. ``plural`` is the
    name for several elements, if it is not ``name``.
    """
    flat = make_contiguous(indices).reshape(-1)
    values = concatenate_lines([flat[found[part]] for part in pieces(found.size)], flat.dtype)
    bad = BadIndices(len(found), found[:10].tolist(), values[:10].tolist(), *extremes(values))
    _raise_index_error(
        op,
        name,
        indices,
        bad,
        subject=subject,
        axis=axis,
        allowed=allowed,
        hint=hint,
        plural=plural,
        start=start,
        chunk=chunk,
    )


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
    plural: str = "",
    start: Coordinates | None = None,
    chunk: Coordinates = (),
) -> NoReturn:
    low, high = allowed
    if bad.values[0] == CONVERTED_NEGATIVE:
        hint = format_sentence("hints", "converted_negative")
    positions = [tuple(int(c) for c in np.unravel_index(p, indices.shape)) for p in bad.positions]
    if start is not None:
        positions = [tuple(map(sum, zip_longest(position, start, fillvalue=0))) for position in positions]
    kinds = ("index", "indices") if start is None else ("chunk_index", "chunk_indices")
    spread = "all_equal" if bad.least == bad.greatest else "all_between"
    error = make_error(
        kinds[bad.count > 1],
        op,
        input=plural or name,
        element=f"{name}[{', '.join(map(str, positions[0]))}]" if positions[0] else name,
        value=bad.values[0],
        subject=subject,
        valid=format_sentence("parts", "valid" if low <= high else "none_valid", low=low, high=high),
        count=bad.count,
        total=math.prod(indices.shape),
        chunk=chunk,
        spread=format_sentence("parts", spread, low=bad.least, high=bad.greatest),
        hint=hint and f"; {hint}",
    )
    error.input = name
    error.count, error.positions, error.values = bad.count, tuple(positions), tuple(bad.values)
    error.axis, error.allowed = axis, allowed
    raise error
