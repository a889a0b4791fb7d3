"""The kinds of objects that callers give as arrays: which are read, and which are refused.

An object is read if nothing is lost: a Series of integers, or an Arrow array without nulls. Labels matter only in
inputs whose dimensions the result has, such as data. Missing values, masks, units and types that NumPy does not have
matter in all inputs. The table array_kinds.toml holds all kinds. The functions here find the kinds of an object.
"""

from __future__ import annotations

import collections.abc
import io
import numbers
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from gatherscatter.errors import OpTypeError

Kinds = Iterator[str]
"""Names of rows of array_kinds.toml."""

_LABELLED = ("data", "past_cache", "emb_table", "step_ids")  # the result has the dimensions of these inputs
_OF_NUMBERS = ("updates", "update", "values", "weights", "per_sample_weights", "default", "init", "src", "a", "out")
_VALUES = _LABELLED + _OF_NUMBERS
_PLAIN_TYPES = frozenset((int, float, complex, bool, str, bytes, np.ndarray, np.float64, np.int64, np.bool, type(None)))


def check_kind(op: str, name: str, value: Any, of_objects: bool = False) -> None:
    """Refuse an object that is not read as an array, or a list with such an element.

    An array ``of_objects`` can hold objects of Python of any kind, so these are not refused.

    Raises
    ------
    TypeError
        Something would be lost, or NumPy can't read the object. The message says what to write instead.
    """
    if type(value) in _PLAIN_TYPES:
        if isinstance(value, str | bytes) and name in _LABELLED:
            refuse_object(op, name, value)
        return
    if of_objects and (isinstance(value, list | tuple) or is_element(value)):
        return
    if isinstance(value, list | tuple):
        _check_elements(op, name, value)
        return
    for kind in _find_kinds(value):
        row = read_kinds()[kind]
        if row["refused"] == "everywhere" or name in _LABELLED:
            _refuse(op, name, value, row)


def _check_elements(op: str, name: str, value: list[Any] | tuple[Any, ...]) -> None:
    """Refuse a list with an element that NumPy reads as an array, but that is refused, such as a masked array."""
    if not set(map(type, value)) - _PLAIN_TYPES:
        return
    for n, each in enumerate(value):
        if isinstance(each, list | tuple) or hasattr(each, "__array__"):
            check_kind(op, f"{name}[{n}]", each)


def _refuse(op: str, name: str, value: Any, row: dict[str, str]) -> NoReturn:
    text = f"{op}: {name} is {row['what'] if 'what' in row else describe_object(value)}"
    text += f", whose {row['lost']} would be lost" if "lost" in row else f", {row['why']}" if "why" in row else ""
    instead = row["instead"] if name in _VALUES or name.startswith("inputs[") else row.get("of_indices", row["instead"])
    raise OpTypeError(f"{text}; use {instead.replace('{}', name)}", op=op, input=name)


def describe_object(value: Any) -> str:
    """Name the class of an object, and the library that it comes from.

    >>> describe_object({1, 2}), describe_object(zip()), describe_object(len)
    ('a set', 'a zip object', 'a function')
    """
    if value is None:
        return "None"
    if type(value) is np.ndarray:
        return "a NumPy array"
    if isinstance(value, type | str | bytes):
        return f"the class {value.__name__}" if isinstance(value, type) else "text"
    words = type(value).__name__.replace("builtin_function_or_method", "function")
    if isinstance(value, collections.abc.Iterator | collections.abc.MappingView) and words != "generator":
        words += " object"
    package = str(type(value).__module__).partition(".")[0]
    library = "" if package == "builtins" else f" of {package}"
    return f"{'an' if words[:1] in 'aeiouAEIO' else 'a'} {words}{library}"


def refuse_object(op: str, name: str, value: Any) -> NoReturn:
    """Raise the error about an object of no known kind that NumPy can't read as an array."""
    advice = f"; use float({name})" if isinstance(value, numbers.Number) else ""
    advice = f"; use np.datetime64({name})" if hasattr(value, "isoformat") else advice
    raise OpTypeError(f"{op}: {name} is {describe_object(value)}, not an array{advice}", op=op, input=name)


def as_readable(value: Any) -> Any:
    """Return what NumPy can read of an object without a copy."""
    dtype = getattr(value, "dtype", None)
    own = getattr(dtype, "numpy_dtype", None)  # of a nullable type of pandas
    if isinstance(own, np.dtype) and "pandas" in _packages(value):
        return value.to_numpy(dtype=own, copy=False)
    return value


def is_element(value: Any) -> bool:
    """Whether an object is one element of an array of objects, and not an array or a sequence."""
    if hasattr(value, "__array__"):
        return False
    is_iterable = isinstance(value, collections.abc.Iterable)
    return not is_iterable or isinstance(value, set | frozenset | collections.abc.Mapping)


def as_objects(value: Any) -> np.ndarray:
    """Return an array of objects, with the elements of a sequence unchanged."""
    if not is_element(value):
        return np.asarray(value, dtype=object)
    array = np.empty((), object)
    array[()] = value
    return array


def is_read_by_numpy(cls: type) -> bool:
    """Whether objects of a class go with NumPy's arrays though they have ``__dlpack__``."""
    return not _packages_of(cls).isdisjoint(("pandas", "polars", "pyarrow", "awkward"))


@lru_cache(maxsize=1)
def read_kinds() -> dict[str, dict[str, str]]:
    """Read array_kinds.toml: the refused kinds by name."""
    libraries = read_libraries()
    return {row["kind"]: row for library in libraries for row in library["kinds"] if "refused" in row}


def read_libraries() -> list[dict[str, Any]]:
    """Read array_kinds.toml: all kinds by library."""
    import tomllib

    text = Path(__file__).with_name("array_kinds.toml").read_text("utf-8")
    libraries: list[dict[str, Any]] = tomllib.loads(text)["libraries"]
    return libraries


def _packages(value: Any) -> set[str]:
    """The packages of the class of an object, and of its base classes."""
    return _packages_of(type(value))


def _packages_of(cls: type) -> set[str]:
    return {str(base.__module__).partition(".")[0] for base in cls.__mro__}


def _find_kinds(value: Any) -> Kinds:
    """Find the refused kinds of an object. Some of them may be refused as data only."""
    for package in _packages(value):
        if package in _KINDS_OF and package in sys.modules:
            yield from _KINDS_OF[package](value, sys.modules[package])
    yield from _python_kinds(value)


def _class_names(value: Any) -> set[str]:
    return {base.__name__ for base in type(value).__mro__}


def _python_kinds(value: Any) -> Kinds:
    if isinstance(value, io.IOBase):
        yield "file"
    elif isinstance(value, collections.abc.Iterator) and not hasattr(value, "__array__"):
        yield "iterator"
    elif isinstance(value, set | frozenset):
        yield "set"
    elif isinstance(value, collections.abc.Mapping):
        yield "mapping"
    elif isinstance(value, collections.abc.MappingView):
        yield "view of a dict"
    elif isinstance(value, slice):
        yield "slice"
    elif value is Ellipsis:
        yield "ellipsis"
    elif hasattr(type(value), "__cuda_array_interface__") and not _packages(value) & {"jax", "jaxlib", "torch"}:
        yield "array of a GPU"
    elif "Future" in _class_names(value) and hasattr(value, "result"):
        yield "future"


def _numpy_kinds(value: Any, numpy: Any) -> Kinds:
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        yield "masked array"


def _unit_kinds(value: Any, package: Any) -> Kinds:
    if _class_names(value) & {"Quantity", "PlainQuantity", "unyt_array"}:
        yield "pint quantity" if package.__name__ == "pint" else "quantity"


def _dask_kinds(value: Any, dask: Any) -> Kinds:
    array = sys.modules.get("dask.array")
    if hasattr(value, "__dask_graph__") and not (array is not None and isinstance(value, array.Array)):
        yield "lazy collection"


def _xarray_kinds(value: Any, xarray: Any) -> Kinds:
    if any(name.endswith("GroupBy") for name in _class_names(value)):
        yield "groups of xarray"
    for name in ("Dataset", "DataArray", "Variable"):
        if isinstance(value, getattr(xarray, name)):
            yield name


def _scipy_kinds(value: Any, scipy: Any) -> Kinds:
    if "scipy.sparse" in sys.modules and scipy.sparse.issparse(value):
        yield "sparse array of SciPy"


def _sparse_kinds(value: Any, sparse: Any) -> Kinds:
    if isinstance(value, sparse.SparseArray):
        yield "sparse array"


def _pandas_kinds(value: Any, pandas: Any) -> Kinds:
    names, dtype = _class_names(value), getattr(value, "dtype", None)
    type_name = type(dtype).__name__
    if "BaseGroupBy" in names and hasattr(value, "ngroup"):
        yield "groups of pandas"
    elif "DataFrame" in names:
        if len(set(value.dtypes)) > 1 or not all(isinstance(each, np.dtype) for each in value.dtypes):
            yield "mixed DataFrame of pandas"
        yield "DataFrame of pandas"
    elif "MultiIndex" in names:
        yield "MultiIndex"
    elif type_name == "CategoricalDtype":  # its codes are -1 for missing values
        yield f"categorical of pandas{' with missing values' if pandas.isna(value).any() else ''}"
    elif type_name == "SparseDtype":
        yield "sparse of pandas"
    elif type_name == "DatetimeTZDtype":
        yield "zone of pandas"
    elif type_name in ("PeriodDtype", "IntervalDtype"):
        yield "other type of pandas"
    elif (kind := _arrow_kind(getattr(dtype, "pyarrow_dtype", None))) is not None:
        of_lists = kind.startswith("lists of Arrow")
        yield "zone of pandas" if kind == "zone of Arrow" else "lists of pandas" if of_lists else "other type of pandas"
    elif isinstance(dtype, pandas.api.extensions.ExtensionDtype) and pandas.isna(value).any():
        yield "missing values of pandas"
    elif "Series" in names and not _counts_rows(value.index, pandas):
        yield "labelled Series"


def _counts_rows(index: Any, pandas: Any) -> bool:
    """Whether the labels of a Series are the numbers of its rows."""
    return isinstance(index, pandas.RangeIndex) and (index.start, index.step) == (0, 1)


def _polars_kinds(value: Any, polars: Any) -> Kinds:
    if isinstance(value, polars.Expr | polars.LazyFrame):
        yield "expression of polars" if isinstance(value, polars.Expr) else "LazyFrame"
    elif isinstance(value, polars.DataFrame):
        if _is_mixed(value.dtypes) or any(column.null_count() for column in value.get_columns()):
            yield "mixed DataFrame of polars"
        yield "DataFrame of polars"
    elif isinstance(value, polars.Series):
        dtype = value.dtype
        if dtype in (polars.Categorical, polars.Enum):
            yield "categorical of polars"
        elif dtype == polars.List:
            yield "lists of polars"
        elif dtype in (polars.Struct, polars.Decimal):
            yield "other type of polars"
        elif getattr(dtype, "time_zone", None):
            yield "zone of polars"
        elif value.null_count():
            yield "nulls of polars"


def _is_mixed(types: Iterable[Any]) -> bool:
    """Whether columns have different types, or one that is not numeric. Types are those of polars or pyarrow."""
    texts = {str(each).lower() for each in types}
    return len(texts) > 1 or not next(iter(texts), "int").startswith(("int", "uint", "float", "double", "half"))


def _pyarrow_kinds(value: Any, pyarrow: Any) -> Kinds:
    if isinstance(value, pyarrow.Table | pyarrow.RecordBatch):
        if _is_mixed(value.schema.types) or any(column.null_count for column in value.columns):
            yield "mixed table of Arrow"
        yield "table of Arrow"
    elif isinstance(value, pyarrow.Scalar):
        yield "scalar of Arrow"
    elif isinstance(value, pyarrow.Array | pyarrow.ChunkedArray):
        if (kind := _arrow_kind(value.type)) is not None:
            yield kind
        elif value.null_count:
            yield "nulls of Arrow"


def _arrow_kind(dtype: Any) -> str | None:
    """Return the kind of a type of Arrow that NumPy does not have, or None."""
    if dtype is None:
        return None
    types = sys.modules["pyarrow"].types
    if types.is_dictionary(dtype):
        return "dictionary of Arrow"
    if types.is_list(dtype) or types.is_large_list(dtype) or types.is_list_view(dtype):
        return "lists of Arrow"
    if types.is_fixed_size_list(dtype):
        return "lists of Arrow of one length"
    if types.is_nested(dtype) or types.is_decimal(dtype):
        return "other type of Arrow"
    return "zone of Arrow" if getattr(dtype, "tz", None) else None


def _awkward_kinds(value: Any, awkward: Any) -> Kinds:
    if not isinstance(value, awkward.Array):
        return
    if awkward.fields(value):
        yield "records of Awkward Array"
        return
    try:
        awkward.to_numpy(value, allow_missing=False)
    except ValueError:
        has_none = any(awkward.any(awkward.is_none(value, axis=axis), axis=None) for axis in range(value.ndim))
        yield "missing values of Awkward Array" if has_none else "lists of Awkward Array"


_KINDS_OF: dict[str, Callable[[Any, Any], Kinds]] = {
    "astropy": _unit_kinds,
    "awkward": _awkward_kinds,
    "dask": _dask_kinds,
    "numpy": _numpy_kinds,
    "pandas": _pandas_kinds,
    "pint": _unit_kinds,
    "polars": _polars_kinds,
    "pyarrow": _pyarrow_kinds,
    "scipy": _scipy_kinds,
    "sparse": _sparse_kinds,
    "unyt": _unit_kinds,
    "xarray": _xarray_kinds,
}
