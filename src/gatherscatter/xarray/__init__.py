"""Gather and scatter by the names of dimensions, for xarray.

`gather` returns the same as `xarray.DataArray.isel` and `xarray.DataArray.sel`. In addition it checks indices, and
accepts lazy indices. `scatter` writes to the elements that `gather` reads. Both take DataArrays and Datasets, in memory
or of Dask. They need the ``xarray`` extra.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

import numpy as np

from gatherscatter.errors import OpError, OpTypeError, OpValueError, flag_fault
from gatherscatter.functions.statistics.names import DEFAULT_FILL
from gatherscatter.system.extras import require
from gatherscatter.system.lazy_modules import attach

with require("xarray", text="gatherscatter.xarray needs xarray", install="gatherscatter[xarray]"):
    import xarray as xr

from gatherscatter.xarray.elements import NamedElements, add_coordinates, check_labels
from gatherscatter.xarray.positions import Positions, find_positions, make_lookups, read_indices
from gatherscatter.xarray.statistics import aggregate_dataset

__all__ = ["aggregate", "gather", "scatter"]

Data = TypeVar("Data", xr.DataArray, xr.Dataset)

_VALUES = "gatherscatter.xarray: values"  # the name of a DataArray's values while they are part of a Dataset


def gather(
    data: Data,
    indices: Mapping[Hashable, Any] | None = None,
    *,
    mode: str = "raise",
    negative: str = "end",
    method: str | Mapping[Hashable, str | None] | None = None,
    tolerance: Any = None,
    **indices_by_name: Any,
) -> Data:
    """Take the values of ``data`` at elements that are named along some of its dimensions.

    Without ``method`` the result is identical to ``data.isel(indices)``. With ``method`` it is identical to
    ``data.sel(indices, method)``, but a single text as an exact label of dates is refused. It has the same dimensions
    in the same order, coordinates, name and attributes. Errors and lazy indices are different; see below.

    Parameters
    ----------
    data : DataArray or Dataset, any element type, in memory or of Dask
    indices : mapping from dimensions of ``data`` to indices
        An index is a DataArray, a number, a list or an array of one dimension, with integers in [-n, n-1] for a
        dimension of size n. It can also be a mask or a slice. If two indices have a dimension in common, their values
        at the same position belong together. The same holds for an index and ``data`` if the common dimension is not
        indexed. Indices without a common dimension are combined in all ways.
    mode : {'raise', 'wrap', 'clip', 'fill'}
        What happens for an index that is out of range; see `gatherscatter.gather_nd`. Coordinates are those of the
        elements that are read. With 'fill', values are 0, and coordinates are missing as after
        `xarray.DataArray.reindex`.
    negative : {'end', 'error', 'skip'}
        What happens for a negative position; see `gatherscatter.gather_nd`. With 'skip', values and coordinates are as
        with mode 'fill'. With ``method``, 'skip' does the same for labels that are missing.
    method : {None, 'exact', 'nearest', 'pad', 'ffill', 'backfill', 'bfill'}, or a mapping from dimensions to these
        None: indices are positions. Otherwise they are labels of coordinates: numbers, times or text. The method then
        selects the labels that match, as in `xarray.DataArray.sel`. A missing label is an index out of range. With a
        mapping, each dimension has its own method. A dimension that the mapping lacks has None.
    tolerance : number or timedelta, or a mapping from dimensions to these, optional
        The largest distance between a label and its match. It needs an inexact method. With a mapping, a dimension
        that it lacks has no tolerance.
    **indices_by_name : the indices as keyword arguments, instead of ``indices``
        A dimension that has the name of another parameter must be in ``indices``.

    Returns
    -------
    DataArray or Dataset, as ``data``
        Each indexed dimension of data is replaced by the dimensions of its index. Variables of a Dataset without
        indexed dimensions do not change. With lazy indices, the result and its coordinates along them are lazy.

    Raises
    ------
    IndexError
        An index is out of range, or a label is missing.
    ValueError
        A dimension does not exist or has no labels. ``method`` or ``tolerance`` has a dimension that is not indexed, or
        a value that is not valid. Sizes or coordinates of indices conflict.
    TypeError
        Indices are not integers, and ``method`` is not given. A keyword argument is unknown.
    MemoryError
        There is not enough memory for the result. The message names the dimensions of the indices if they differ.

    Source: ``xarray.DataArray.isel`` and ``xarray.DataArray.sel``; `gatherscatter.gather_nd`.

    >>> import numpy as np, xarray as xr, gatherscatter as gs
    >>> heights = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("y", "x"), coords={"x": [10, 20, 30]})
    >>> station = xr.DataArray([0, 1, 1], dims="station", coords={"station": ["a", "b", "c"]})
    >>> found = gs.xarray.gather(heights, y=station, x=xr.DataArray([2, 0, -1], dims="station"))
    >>> found.values, found.dims, found.x.values
    (array([2., 3., 5.]), ('station',), array([30, 10, 30]))
    >>> gs.xarray.gather(heights, x=[11, 28], method="nearest").values
    array([[0., 2.],
           [3., 5.]])

    Positions along one dimension, and labels along another:

    >>> near = xr.DataArray([29, 12, 18], dims="station")
    >>> gs.xarray.gather(heights, y=station, x=near, method={"x": "nearest"}, tolerance={"x": 2}).values
    array([2., 3., 4.])
    """
    op = "xarray.gather"
    dataset = _as_dataset(op, data)
    given = read_indices(op, dataset, indices, indices_by_name, _parameters(gather))
    lookups = make_lookups(op, given, (mode, negative), method, tolerance, scatter=False)
    positions = find_positions(lookups, dataset, given)
    fill = mode == "fill" or negative == "skip"
    found = {
        name: NamedElements(op, variable, positions).gather(mode="fill" if fill else "raise")
        for name, variable in _variables(dataset).items()
    }
    return _as_given(add_coordinates(op, found, dataset, positions, fill=fill), data)


def scatter(
    data: Data,
    indices: Mapping[Hashable, Any] | None = None,
    updates: Any = None,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    negative: str = "end",
    method: str | Mapping[Hashable, str | None] | None = None,
    tolerance: Any = None,
    skipna: bool = False,
    **indices_by_name: Any,
) -> Data:
    """Return a copy of ``data`` with updates at elements that are named along some of its dimensions.

    Parameters
    ----------
    data, indices, method, tolerance : as for `gather`
    updates : DataArray, number or array; for a Dataset also a Dataset
        Its dimensions must be dimensions of the result of `gather`. It is repeated along those that it does not have.
        The dimensions of an array without names are the last ones of that result. Labels of common dimensions must be
        equal.
    reduction, include_self, accumulate : see `gatherscatter.scatter_nd`
    mode : {'raise', 'wrap', 'clip', 'drop'}
        What happens for an index that is out of range. With ``method``, only 'raise' and 'drop' are valid.
    negative : {'end', 'error', 'skip'}
        What happens for a negative position, and with 'skip' also for a label that is missing: its update is skipped.
    skipna : bool, default False
        Whether to skip missing values (NaN, NaT, None). Missing updates are not written and not counted. With a
        reduction, a missing value of ``data`` is not counted: its element gets the reduction of its updates. An element
        with only missing updates keeps its value.
    **indices_by_name : as for `gather`; ``updates`` must then also be a keyword argument

    Returns
    -------
    DataArray or Dataset
        It has the dimensions, coordinates, name and attributes of ``data``. A Dataset of updates changes the variables
        that it has. Other updates change all variables that have an indexed dimension, and these variables must have
        all indexed dimensions. All other variables are unchanged.

    Raises
    ------
    IndexError
        An index is out of range, or a label is missing. Nothing is written.
    ValueError, TypeError, MemoryError
        The errors of `gather`. Names, sizes, labels or types of updates do not fit.

    Source: `gatherscatter.scatter_nd`; for ``skipna`` the reductions of xarray.

    >>> import numpy as np, xarray as xr, gatherscatter as gs
    >>> grid = xr.DataArray(np.zeros((2, 3)), dims=("y", "x"), coords={"x": [10, 20, 30]})
    >>> drop = xr.Dataset({"y": ("drop", [0, 1, 0]), "x": ("drop", [2, 0, 2]), "size": ("drop", [1.0, 2.0, np.nan])})
    >>> gs.xarray.scatter(grid, y=drop.y, x=drop.x, updates=1.0, reduction="add").values
    array([[0., 0., 2.],
           [1., 0., 0.]])
    >>> gs.xarray.scatter(grid, {"y": drop.y, "x": drop.x}, drop["size"], reduction="max", skipna=True).values
    array([[0., 0., 1.],
           [2., 0., 0.]])
    """
    op = "xarray.scatter"
    if not isinstance(skipna, bool | np.bool):
        flag_fault(op, "skipna", skipna)
    dataset = _as_dataset(op, data)
    if updates is None:
        text = f"{op}: updates is missing; with indices as keyword arguments, write updates=..."
        raise OpTypeError(text, op=op, input="updates")
    given = read_indices(op, dataset, indices, indices_by_name, _parameters(scatter))
    lookups = make_lookups(op, given, (mode, negative), method, tolerance, scatter=True)
    positions = find_positions(lookups, dataset, given)
    check_labels(op, dataset, positions, updates)
    options = {
        "reduction": reduction,
        "include_self": include_self,
        "accumulate": accumulate,
        "mode": "drop" if mode == "drop" or negative == "skip" or skipna else "raise",
    }
    written = {}
    for name, chosen in _updates_by_variable(op, data, dataset, updates, positions).items():
        try:
            written[name] = _scatter_variable(op, dataset[name].variable, positions, chosen, skipna, options)
        except OpError as error:
            error.args = (f"{op}: {str(error).removeprefix(f'{error.op}: ')}",)
            error.op = op
            if name != _VALUES:
                error.add_note(f"in the variable {name!r}")
            raise
    return _as_given(dataset.assign(written), data)


def aggregate(
    data: Data,
    by: Any,
    func: str = "mean",
    *,
    skipna: bool | None = None,
    fill_value: Any = DEFAULT_FILL,
    **options: Any,
) -> Data:
    """Compute a statistic of the values with the same label, as ``data.groupby(by)`` does.

    Parameters
    ----------
    data : DataArray or Dataset, in memory or of Dask
    by : name of a coordinate or variable, DataArray with a name, or a list of these
        The labels: numbers, text or times along some dimensions of ``data``. Elements without a label (NaN, NaT, None)
        belong to no group. With several, each combination of labels is a group. Lazy labels are computed.
    func : str
        A function of `gatherscatter.aggregate` that has a number for each group: 'sum', 'mean', 'var', 'std', 'min',
        'max', 'first', 'last', 'any', 'all', 'count', 'median', ... 'first', 'last', 'count' and 'nunique' also accept
        times, text and objects. For arrays of Dask, see `gatherscatter.dask.aggregate`.
    skipna : bool, optional
        Whether to skip missing values: NaN, NaT, None, and the missing text of a `numpy.dtypes.StringDType`. By
        default, all functions except 'any' and 'all' skip them. 'any' and 'all' skip them with True.
    fill_value : number, optional
        The result of a combination of labels without values; see `gatherscatter.aggregate`.
    **options : ``ddof``, ``q``, ``method``, ``dx``, ``dtype``, ``num_threads``; see `gatherscatter.aggregate`

    Returns
    -------
    DataArray or Dataset, as ``data``
        The dimensions of the labels are replaced by dimensions with the names of ``by`` and sorted labels. A DataArray
        has the groups where their dimension was, if there is one. A Dataset has them first. Names, attributes, and
        coordinates of other dimensions remain.

    Raises
    ------
    ValueError
        ``by`` does not exist, has no name, or does not fit ``data``; or a function or an option is not valid.
    TypeError
        A function is not defined for the type of a variable, ``data`` is neither a DataArray nor a Dataset, or a
        keyword argument is unknown. A variable of a Dataset for which the function is not defined is dropped instead.

    Source: ``xarray.DataArray.groupby``.

    >>> import numpy as np, xarray as xr, gatherscatter as gs
    >>> month = ("day", ["Mar", "Mar", "Apr", "Apr"])
    >>> rain = xr.DataArray([1.0, 2.0, 5.0, np.nan], dims="day", coords={"month": month})
    >>> found = gs.xarray.aggregate(rain, "month", "mean")
    >>> found.values, found.month.values.tolist()
    (array([5. , 1.5]), ['Apr', 'Mar'])
    """
    dataset = _as_dataset("xarray.aggregate", data)
    keeps_position = isinstance(data, xr.DataArray)
    return _as_given(aggregate_dataset(dataset, by, func, skipna, fill_value, keeps_position, options=options), data)


def _parameters(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters of a function, without the last, which takes all other keyword arguments."""
    return [*inspect.signature(function).parameters][:-1]


def _scatter_variable(
    op: str, variable: xr.Variable, positions: Positions, given: Any, skipna: bool, options: dict[str, Any]
) -> Any:
    updates = NamedElements(op, variable, positions).read_updates(given)
    missing = updates.isnull() if skipna and _may_be_missing(updates) else None
    elements = NamedElements(op, variable, positions, single=() if missing is None else missing.dims)
    written: Any = elements.scatter(updates, missing=missing, **options)
    counts_self = options["include_self"] and options["reduction"] != "none"
    if not (skipna and counts_self and _may_be_missing(variable)):
        return written
    alone = elements.scatter(updates, missing=missing, **(options | {"include_self": False}))
    return written.where(variable.notnull(), alone)


def _may_be_missing(variable: xr.Variable) -> bool:
    """Return whether an element can be missing. Lazy variables are not computed for this."""
    return variable.chunks is not None or bool(variable.isnull().any())


def _updates_by_variable(
    op: str, data: xr.DataArray | xr.Dataset, dataset: xr.Dataset, updates: Any, positions: Positions
) -> dict[Hashable, Any]:
    """Return the variables that a scatter changes, with the updates of each."""
    if not isinstance(updates, xr.Dataset):
        chosen = {name: updates for name, variable in _variables(dataset).items() if {*positions} & {*variable.dims}}
    elif isinstance(data, xr.DataArray):
        raise OpTypeError(f"{op}: updates are a Dataset, but data is a DataArray", op=op, input="updates")
    else:
        chosen = dict(updates.data_vars)
    for name in chosen:
        if name not in dataset.data_vars:
            raise OpValueError(f"{op}: updates have a variable {name!r}, which data lacks", op=op, input="updates")
        lacking = [dim for dim in positions if dim not in dataset[name].dims]
        if lacking:
            text = f"{op}: the variable {name!r} does not have the dimension {lacking[0]!r}; choose variables that do"
            raise OpValueError(f"{text}, with data[[...]]", op=op, input="data")
    return chosen


def _variables(data: xr.Dataset) -> dict[Hashable, xr.Variable]:
    return {name: array.variable for name, array in data.data_vars.items()}


def _as_dataset(op: str, data: Any) -> xr.Dataset:
    """Return data as a Dataset. A DataArray becomes its only variable."""
    if isinstance(data, xr.Dataset):
        return data
    if not isinstance(data, xr.DataArray):
        text = f"{op}: data must be a DataArray or a Dataset, not {type(data).__name__}"
        raise OpTypeError(text, op=op, input="data")
    return data.to_dataset(name=_VALUES)


def _as_given(result: xr.Dataset, data: Data) -> Data:
    """Undo `_as_dataset`."""
    return result[_VALUES].rename(data.name) if isinstance(data, xr.DataArray) else result


__getattr__, __dir__ = attach(__name__)
