"""The functions of `aggregate`: their names, the types of their results, and the results of empty groups."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gatherscatter.arrays.convert import is_float
from gatherscatter.errors import make_choice_error, make_error

_NAN = float("nan")

# The result of an empty group, by function. It is what NumPy returns for an empty array where there is one.
_FILLS: dict[str, Any] = {
    **dict.fromkeys(("sum", "sumofsquares", "len", "nunique", "trapezoid", "cumsum", "cummin", "cummax"), 0),
    **dict.fromkeys(("prod", "cumprod"), 1),
    **dict.fromkeys(("any", "all", "anynan", "allnan"), False),
    **dict.fromkeys(("argmin", "argmax"), -1),
    **dict.fromkeys(("min", "max", "first", "last"), _NAN),  # 0 for types without NaN
    **dict.fromkeys(("mean", "var", "std", "skew", "kurt", "median", "quantile", "percentile"), _NAN),
    **dict.fromkeys(("array", "sort"), None),
}
NAMES = tuple(_FILLS)
_WITHOUT_NAN_FORM = ("array", "sort", "anynan", "allnan")

_OTHER_WORDS = {
    "add": "sum",
    "plus": "sum",
    "mul": "prod",
    "multiply": "prod",
    "product": "prod",
    "times": "prod",
    "count": "len",
    "amin": "min",
    "minimum": "min",
    "amax": "max",
    "maximum": "max",
    "or": "any",
    "and": "all",
    "sorted": "sort",
    "asort": "sort",
    "asorted": "sort",
    "rsorted": "sort",
    "dsort": "sort",
    "split": "array",
    "splice": "array",
    "kurtosis": "kurt",
}
_BUILTINS: dict[Any, str] = {
    builtins.sum: "sum",
    builtins.min: "min",
    builtins.max: "max",
    builtins.any: "any",
    builtins.all: "all",
    builtins.len: "len",
    builtins.sorted: "sort",
    builtins.list: "array",
    builtins.slice: "array",
}
_UFUNCS: dict[Any, str] = {np.add: "sum", np.multiply: "prod", np.minimum: "min", np.maximum: "max",
                           np.logical_and: "all", np.logical_or: "any", np.asarray: "array"}  # fmt: skip

# The options of a function, with their defaults.
OPTIONS: dict[str, dict[str, Any]] = {
    "var": {"ddof": 0},
    "std": {"ddof": 0},
    "quantile": {"q": 0.5, "method": "linear"},
    "percentile": {"q": 50.0, "method": "linear"},
    "trapezoid": {"dx": 1.0},
    "sort": {"reverse": False},
}

_BOOL = ("any", "all", "anynan", "allnan")
_COUNTS = ("len", "nunique", "argmin", "argmax")
_SAME_TYPE = ("min", "max", "first", "last", "sort", "cummin", "cummax")
_REAL = ("var", "std", "sumofsquares")  # also of complex numbers
_SUMS = ("sum", "prod", "cumsum", "cumprod")
RUNNING = ("cumsum", "cumprod", "cummin", "cummax", "sort")  # a result for each value
OF_ANY_TYPE = ("first", "last", "len", "array", "sort", "nunique")
OF_NUMBERS = ("sum", "prod", "len")  # for a single number as `a`


class _DefaultFill:
    def __repr__(self) -> str:
        return "<that of func>"


DEFAULT_FILL = _DefaultFill()


class Function(NamedTuple):
    """A function of the list, and whether it skips NaN."""

    name: str
    skip_nan: bool

    def __str__(self) -> str:
        return f"nan{self.name}" if self.skip_nan else self.name


def _list_names() -> dict[Any, Function]:
    known: dict[Any, Function] = {}
    for name in NAMES:
        known[name] = Function(name, False)
        if name not in _WITHOUT_NAN_FORM:
            known[f"nan{name}"] = Function(name, True)
    known |= {word: known[name] for word, name in {**_OTHER_WORDS, **_BUILTINS, **_UFUNCS}.items()}
    for name in list(known):
        if isinstance(name, str) and callable(function := getattr(np, name, None)):
            known.setdefault(function, known[name])
    return known


FUNCTIONS = _list_names()


def find_function(op: str, func: Any, known: Sequence[str] = NAMES) -> Function:
    """The function of a name, or one with a NumPy function's or a built-in's meaning, of those that are known."""
    try:
        found = FUNCTIONS.get(func)
    except TypeError:  # it can't be hashed
        found = None
    if found is None or found.name not in known:
        raise make_choice_error(op, "func", func if isinstance(func, str) else repr(func), sorted(known))
    return found


def is_known(func: Any) -> bool:
    """Whether `find_function` finds a function. Otherwise, a function of Python can be applied to each group."""
    try:
        return func in FUNCTIONS
    except TypeError:
        return False


def result_dtype(op: str, function: Function, values: np.dtype[Any], given: Any) -> np.dtype[Any]:
    """The type of the results: that of NumPy's function for values of this type, or the one that is given."""
    name = function.name
    natural = _natural_dtype(name, values)
    if given is None:
        return natural
    try:
        dtype: np.dtype[Any] = np.dtype(given)
    except TypeError:
        raise make_error("option_type", op, input="dtype", wanted="a type", value=given) from None
    if dtype.kind not in "biufc" and dtype != natural and not is_float(dtype):
        raise make_error("result_type", op, func=str(function), type=values, dtype=dtype)
    loses_imaginary = natural.kind == "c" and dtype.kind != "c"
    not_whole = name in ("len", "nunique") and dtype.kind not in "iu"
    not_numbers = dtype.kind == "b" and name not in _BOOL and natural.kind != "b"
    if loses_imaginary or not_whole or not_numbers:
        raise make_error("result_type", op, func=str(function), type=values, dtype=dtype)
    return dtype


def _natural_dtype(name: str, values: np.dtype[Any]) -> np.dtype[Any]:
    if name in _BOOL:
        return np.dtype(bool)
    if name in _COUNTS:
        return np.dtype(np.int64)
    if name == "array":
        return np.dtype(object)
    if name in _SAME_TYPE:
        return values
    whole = values.kind in "biu"
    if name in _SUMS or (name == "sumofsquares" and whole):
        return np.dtype(np.uint64 if values.kind == "u" else np.int64) if whole else values
    if whole:
        return np.dtype(np.float64)
    real: np.dtype[Any] = np.finfo(values).dtype if name in _REAL and values.kind == "c" else values
    return real


def default_fill(name: str, has_nan: bool) -> Any:
    """The result of an empty group that has one number, if the caller does not give it."""
    fill = _FILLS[name]
    return 0 if fill != fill and not has_nan else fill


def choose_fill(op: str, function: Function, fill_value: Any, dtype: np.dtype[Any]) -> Any:
    """The result of an empty group, in the type of the results."""
    if fill_value is DEFAULT_FILL:
        fill = _FILLS[function.name]
        if fill is None:
            return np.empty(0, dtype if function.name == "sort" else None)
        if fill != fill:  # NaN
            if dtype.kind in "mM":
                return np.array("NaT", dtype)[()]
            if hasattr(dtype, "na_object"):
                return dtype.na_object
            if dtype.kind == "O":
                return _NAN
            if not is_float(dtype):
                return np.zeros((), dtype)[()]
            return complex(_NAN, _NAN) if dtype.kind == "c" else _NAN
        return fill
    if function.name == "array":
        return fill_value
    if fill_value is None:
        raise make_error("fill_type", op, value=fill_value, type=dtype)
    value = np.asarray(fill_value)
    if value.ndim == 0 and value.dtype.kind in "biufc" and (dtype.kind in "biufc" or is_float(dtype)):
        with np.errstate(all="ignore"):
            cast = value.astype(dtype)
        is_nan = value.dtype.kind in "fc" and bool(np.isnan(value))
        exact = is_float(dtype) and (dtype.kind == "c" or value.dtype.kind != "c")
        if exact or (not is_nan and bool(cast == value)):
            return cast[()]
    elif value.ndim == 0 and dtype.kind not in "biufc":
        try:
            cast = value.astype(dtype)
            if str(cast) == str(value):
                return cast[()]
        except (TypeError, ValueError):
            pass
    raise make_error("fill_value", op, value=fill_value, type=dtype)
