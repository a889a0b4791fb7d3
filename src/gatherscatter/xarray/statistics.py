"""Statistics of groups that have labels, for xarray."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import xarray as xr

from gatherscatter.arrays import convert
from gatherscatter.errors import OpValueError, flag_fault, keyword_fault
from gatherscatter.functions.statistics import names
from gatherscatter.functions.statistics.aggregate import aggregate as aggregate_arrays
from gatherscatter.functions.statistics.names import Function

_OP = "xarray.aggregate"


def check_labels(op: str, data: xr.Dataset, by: xr.DataArray) -> None:
    """Refuse labels of groups that have other coordinates than data along a dimension."""
    for dim, index in by.indexes.items():
        if dim in data.indexes and not index.equals(data.indexes[dim]):
            text = f"{op}: by and data have other labels along {dim!r}; align them, or drop the labels of by with "
            raise OpValueError(f"{text}drop_vars({dim!r})", op=op, input="by")


class Grouping:
    """Groups of labels, as numbers.

    Attributes
    ----------
    dims, sizes : the dimensions of the labels, and their sizes
    codes : the number of the group of each position, in the order of ``dims``; groups without a label have the last one
    names : the names of the dimensions of the result
    labels : the labels of the groups along each of them
    """

    def __init__(self, data: xr.Dataset, by: Any) -> None:
        given = [self._read(data, each) for each in (by if isinstance(by, list | tuple) else [by])]
        if not given:
            raise OpValueError(f"{_OP}: by is empty; give the name of a coordinate, or a DataArray", op=_OP, input="by")
        self.dims: tuple[Hashable, ...] = tuple(dict.fromkeys(dim for array in given for dim in array.dims))
        self.sizes: dict[Hashable, int] = {dim: size for array in given for dim, size in array.sizes.items()}
        sizes = self.sizes
        for array in given:
            check_labels(_OP, data, array)
        for dim, size in sizes.items():
            if data.sizes.get(dim) != size:
                text = f"{_OP}: by has the dimension {dim!r} of size {size}, which data does not have"
                raise OpValueError(text, op=_OP, input="by")
        self.names: tuple[Hashable, ...] = tuple(array.name for array in given)
        if len({*self.names}) < len(self.names):
            raise OpValueError(f"{_OP}: by has {self.names} with a name twice", op=_OP, input="by")
        self.labels: list[Any] = []
        numbers: Any = 0
        missing = np.zeros(tuple(sizes[dim] for dim in self.dims), bool)
        for array in given:
            variable: Any = array.variable
            spread = variable.set_dims({dim: sizes[dim] for dim in self.dims}).transpose(*self.dims).values
            codes, labels = pd.factorize(spread.reshape(-1), sort=True)
            numbers = numbers * len(labels) + codes
            missing |= (codes < 0).reshape(missing.shape)
            self.labels.append(labels)
        self.count = int(np.prod([len(labels) for labels in self.labels]))
        self.codes = np.where(missing.reshape(-1), self.count, numbers)

    def _read(self, data: xr.Dataset, by: Any) -> xr.DataArray:
        if isinstance(by, xr.DataArray):
            if by.name is None:
                text = f"{_OP}: by has no name for the dimension of the groups; use by.rename('...')"
                raise OpValueError(text, op=_OP, input="by")
            found = by
        elif isinstance(by, Hashable) and by in data.variables:
            found = data[by]
        elif isinstance(by, Hashable) and by in data.dims:
            found = xr.DataArray(np.arange(data.sizes[by]), dims=[by], name=by)
        else:
            known = ", ".join(map(repr, data.coords))
            raise OpValueError(f"{_OP}: data has no coordinate {by!r} (it has {known or 'none'})", op=_OP, input="by")
        return found.compute()  # labels are sorted


def aggregate_dataset(
    data: xr.Dataset,
    by: Any,
    func: Any,
    skipna: bool | None,
    fill_value: Any,
    keeps_position: bool,
    *,
    options: dict[str, Any],
) -> xr.Dataset:
    """A statistic of each variable. ``keeps_position``: the groups are where their dimension was, as in a DataArray."""
    known = [name for name in names.NAMES if name not in (*names.RUNNING, "array", "argmin", "argmax")]
    function = names.find_function(_OP, func, known)
    for option in options:
        if option not in _PARAMETERS:
            keyword_fault(_OP, option, _PARAMETERS)
    if skipna is not None and not isinstance(skipna, bool | np.bool):
        flag_fault(_OP, "skipna", skipna)
    groups = Grouping(data, by)
    found = {
        name: _aggregate_variable(array.variable, groups, function, skipna, fill_value, keeps_position, options=options)
        for name, array in data.data_vars.items()
        if keeps_position or _has_statistic(array.dtype, function)
    }
    coords = {
        name: coord
        for name, coord in data.coords.items()
        if not {*coord.dims} & {*groups.dims} and name not in groups.names
    }
    if groups.dims == groups.names and len(groups.labels[0]) == len(groups.codes):
        # Each position along the dimension is a group, so its coordinates remain.
        order = {groups.names[0]: np.argsort(groups.codes)}
        coords |= {
            name: coord.isel(order, missing_dims="ignore")
            for name, coord in data.coords.items()
            if name not in groups.names
        }
    made = xr.Dataset(found, coords=coords, attrs=data.attrs)
    labels = {}
    for name, values in zip(groups.names, groups.labels, strict=True):
        attrs = data[name].attrs if name in data.variables else {}
        labels[name] = xr.Variable(name, values, attrs)
    return made.assign_coords(labels)


_PARAMETERS = ("data", "by", "func", "skipna", "fill_value", "ddof", "q", "method", "dx", "dtype", "num_threads")


def _has_statistic(dtype: np.dtype[Any], function: Function) -> bool:
    """Whether values have the statistic. As in xarray, a Dataset loses variables of text and times."""
    return dtype.kind in "biufc" or convert.is_float(dtype) or function.name in names.OF_ANY_TYPE


def _aggregate_variable(
    variable: xr.Variable,
    groups: Grouping,
    function: Function,
    skipna: bool | None,
    fill_value: Any,
    keeps_position: bool,
    *,
    options: dict[str, Any],
) -> xr.Variable:
    rest = tuple(dim for dim in variable.dims if dim not in groups.dims)
    untyped: Any = variable
    if not {*groups.dims} & {*variable.dims}:
        # Each value is a separate group, which is repeated for all labels.
        made = _aggregate_axis(
            untyped.data[..., np.newaxis],
            -1,
            np.zeros(1, int),
            1,
            function,
            skipna,
            fill_value=fill_value,
            options=options,
        )
        lengths = dict(zip(groups.names, map(len, groups.labels), strict=True))
        single: Any = xr.Variable(variable.dims, made[..., 0], variable.attrs)
        repeated: xr.Variable = single.set_dims(lengths | dict(variable.sizes))
        return repeated
    if len(groups.dims) == 1:
        axis, values = variable.dims.index(groups.dims[0]), untyped.data
    else:
        # The dimensions of the groups become the last axis. A variable is repeated along those that it lacks.
        spread = untyped.set_dims({**{dim: variable.sizes[dim] for dim in rest}, **groups.sizes})
        axis, shape = len(rest), (*(variable.sizes[dim] for dim in rest), len(groups.codes))
        values = spread.transpose(*rest, *groups.dims).data.reshape(shape)
    made = _aggregate_axis(
        values, axis, groups.codes, groups.count + 1, function, skipna, fill_value=fill_value, options=options
    )
    made = made[(slice(None),) * axis + (slice(groups.count),)]
    made = made.reshape(*made.shape[:axis], *map(len, groups.labels), *made.shape[axis + 1 :])
    result = xr.Variable((*rest[:axis], *groups.names, *rest[axis:]), made, variable.attrs)
    if not keeps_position:
        return result.transpose(*groups.names, *rest)
    if len(groups.dims) == 1 and len(groups.names) == 1 and groups.dims[0] in variable.dims:
        order = [groups.names[0] if dim in groups.dims else dim for dim in variable.dims]
        return result.transpose(*order)
    return result.transpose(*rest, *groups.names)


def _aggregate_axis(
    values: Any,
    axis: int,
    codes: np.ndarray,
    count: int,
    function: Function,
    skipna: bool | None,
    *,
    fill_value: Any,
    options: dict[str, Any],
) -> Any:
    """The statistic along an axis. By default, missing values are skipped."""
    of_any_type = function.name in names.OF_ANY_TYPE
    can_skip = (convert.is_float(values.dtype) or of_any_type) and function.name not in ("anynan", "allnan")
    skips = can_skip and (function.name not in ("any", "all") if skipna is None else bool(skipna))
    name = f"nan{function.name}" if skips or function.skip_nan else function.name
    return aggregate_arrays(codes, values, name, count, fill_value, axis=axis, **options)
