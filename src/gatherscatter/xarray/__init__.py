"""Gather and scatter by the names of dimensions, for xarray.

Indices name places along some dimensions of data, as those of `xarray.DataArray.isel` do: several of them go together,
position by position, broadcast by the names of their own dimensions. A dimension that indices share with data, and
that is not indexed, is walked along with it. Needs the ``xarray`` extra; arrays of Dask within are lazy.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.errors import OpTypeError, OpValueError
from gatherscatter.extras import require

with require("xarray", text="gatherscatter.xarray needs the 'xarray' extra", install="gatherscatter[xarray]"):
    import xarray as xr

__all__ = ["gather", "scatter"]


def gather(data: xr.DataArray, indices: Mapping[Hashable, Any], *, mode: str = "raise") -> xr.DataArray:
    """The values of ``data`` at places that are named along some of its dimensions.

    Parameters
    ----------
    data : DataArray, any element type, in memory or of Dask
    indices : mapping from dimensions of ``data`` to integers
        DataArrays, or what becomes one: an array without dimensions' names has the dimension that it indexes, and may
        have one axis only.
    mode : {'raise', 'wrap', 'clip', 'fill'}
        See `gatherscatter.gather_nd`.

    Returns
    -------
    DataArray
        The dimensions of the indices, and then those of data that are not indexed, with their coordinates and those of
        the indices; name and attributes are data's.

    Raises
    ------
    IndexError
        An index is out of range.
    ValueError, TypeError
        Names or types don't fit.

    Source: `gatherscatter.gather_nd`; ``xarray.DataArray.isel`` without the checks.

    >>> import numpy as np, xarray as xr, gatherscatter as gs
    >>> heights = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("y", "x"), coords={"x": [10, 20, 30]})
    >>> station = xr.DataArray([0, 1, 1], dims="station", coords={"station": ["a", "b", "c"]})
    >>> found = gs.xarray.gather(heights, {"y": station, "x": xr.DataArray([2, 0, -1], dims="station")})
    >>> found.values, found.dims, found.station.values.tolist()
    (array([2., 3., 5.]), ('station',), ['a', 'b', 'c'])
    """
    places = _NamedPlaces("gather", data, indices)
    values = _core.gather_nd(places.rows(data).data, places.tuples, mode=mode)
    kept = {name: coord for name, coord in data.coords.items() if not {*coord.dims} & {*places.indexed}}
    return xr.DataArray(values, {**places.coords, **kept}, (*places.dims, *places.rest), data.name, data.attrs)


def scatter(
    data: xr.DataArray,
    indices: Mapping[Hashable, Any],
    updates: Any,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
) -> xr.DataArray:
    """A copy of ``data`` with updates at places that are named along some of its dimensions.

    Parameters
    ----------
    data, indices : as for `gather`
    updates : DataArray or number
        With any of the dimensions that `gather` gives; along the others it is repeated.
    reduction, include_self, accumulate, mode : see `gatherscatter.scatter_nd`

    Returns
    -------
    DataArray
        Like ``data``: its dimensions, coordinates, name and attributes.

    Raises
    ------
    IndexError
        An index is out of range; nothing is written.
    ValueError, TypeError
        Names, sizes or types don't fit.

    Source: `gatherscatter.scatter_nd`.

    >>> import numpy as np, xarray as xr, gatherscatter as gs
    >>> grid = xr.DataArray(np.zeros((2, 3)), dims=("y", "x"), attrs={"units": "1"})
    >>> drop = {"y": xr.DataArray([0, 1, 0], dims="drop"), "x": xr.DataArray([2, 0, 2], dims="drop")}
    >>> gs.xarray.scatter(grid, drop, 1.0, reduction="add").values
    array([[0., 0., 2.],
           [1., 0., 0.]])
    """
    places = _NamedPlaces("scatter", data, indices)
    slots = places.slots(data, updates)
    written = _core.scatter_nd(
        places.rows(data).data, places.tuples, slots, reduction=reduction, include_self=include_self,
        accumulate=accumulate, mode=mode,
    )  # fmt: skip
    rows = places.rows(data)
    return rows.copy(data=written).transpose(*data.dims)


class _NamedPlaces:
    """Index tuples over the dimensions that are indexed, or walked along, and what is known by name."""

    def __init__(self, op: str, data: xr.DataArray, indices: Mapping[Hashable, Any]) -> None:
        self.op = f"xarray.{op}"
        if not isinstance(data, xr.DataArray):
            raise OpTypeError(
                f"{self.op}: data must be a DataArray, not {type(data).__name__}", op=self.op, input="data"
            )
        unknown = [name for name in indices if name not in data.dims]
        if unknown or not indices:
            which = f"there is no {unknown[0]!r}" if unknown else "none is given"
            text = f"{self.op}: indices are for the dimensions of data, {', '.join(map(repr, data.dims))}; {which}"
            raise OpValueError(text, op=self.op, input="indices")
        named = {name: self._check_index(name, index) for name, index in indices.items()}
        walked = [name for name in data.dims if name not in named and any(name in one.dims for one in named.values())]
        self.indexed = (*walked, *named)
        whole = [data[name].copy(data=np.arange(data.sizes[name])).rename(None) for name in walked]
        try:
            aligned = xr.align(*whole, *named.values(), join="exact", copy=False)
        except ValueError as error:  # sizes or coordinates of a shared dimension
            raise OpValueError(f"{self.op}: indices do not go together: {error}", op=self.op, input="indices") from None
        columns = xr.broadcast(*aligned)
        self.dims = columns[0].dims
        self.coords: dict[Hashable, Any] = {}
        for one in columns:
            self.coords |= dict(one.coords)
        self.sizes = dict(zip(self.dims, columns[0].shape, strict=True))
        self.tuples = np.stack([one.data for one in columns], -1)
        self.rest = tuple(name for name in data.dims if name not in self.indexed)

    def _check_index(self, name: Hashable, index: Any) -> xr.DataArray:
        made = index if isinstance(index, xr.DataArray) else xr.DataArray(index, dims=[name] * (np.ndim(index) > 0))
        if made.dtype.kind not in "iu":
            text = f"{self.op}: indices along {name!r} must be integers, not {made.dtype}"
            raise OpTypeError(text, op=self.op, input="indices")
        return made.drop_vars([coord for coord in made.coords if coord == name])  # names positions, not places

    def rows(self, data: xr.DataArray) -> xr.DataArray:
        """Data with the indexed dimensions in front."""
        return data.transpose(*self.indexed, *self.rest)

    def slots(self, data: xr.DataArray, updates: Any) -> Any:
        """Updates in the shape that a gather from these places has."""
        sizes = self.sizes | {name: data.sizes[name] for name in self.rest}
        made = updates if isinstance(updates, xr.DataArray) else xr.DataArray(np.asarray(updates))
        wrong = [name for name in made.dims if made.sizes[name] != sizes.get(name)]
        if wrong:
            known = ", ".join(f"{name!r}: {size}" for name, size in sizes.items())
            text = f"{self.op}: updates have a dimension {wrong[0]!r} of {made.sizes[wrong[0]]}; there are {known}"
            raise OpValueError(text, op=self.op, input="updates")
        missing = {name: size for name, size in sizes.items() if name not in made.dims}
        variable: Any = made.variable
        return variable.set_dims({**missing, **made.sizes}).transpose(*sizes).data
