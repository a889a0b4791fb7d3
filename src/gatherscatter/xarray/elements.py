"""The elements of a variable that positions along its dimensions name: read them, and write to them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.adapters import is_lazy
from gatherscatter.errors import OpKeyValueError, OpValueError, check_named_elements
from gatherscatter.xarray.positions import Positions


class NamedElements:
    """Index tuples over the dimensions of a variable that are indexed.

    A dimension that positions share with the variable, and that is not indexed, is indexed by each of its positions in
    turn. The same holds for the dimensions in ``single``.

    Attributes
    ----------
    dims : the dimensions of a gather's result, in the order of `xarray.Variable.isel`
    sizes : the sizes of these dimensions
    """

    def __init__(self, op: str, variable: xr.Variable, positions: Positions, single: Iterable[Hashable] = ()) -> None:
        self._op, self._variable = op, variable
        shared = {*single}.union(*(positions[name].dims for name in variable.dims if name in positions))
        named = {
            dim: positions[dim].variable if dim in positions else xr.Variable(dim, np.arange(variable.sizes[dim]))
            for dim in variable.dims
            if dim in positions or dim in shared
        }
        self.dims = tuple(
            dict.fromkeys(each for dim in variable.dims for each in (named[dim].dims if dim in named else (dim,)))
        )
        self._rest = tuple(dim for dim in variable.dims if dim not in named)
        self.sizes = {dim: variable.sizes[dim] for dim in self._rest}
        for name, one in named.items():
            for dim, size in one.sizes.items():
                if self.sizes.setdefault(dim, size) != size:
                    text = f"{op}: indices along {name!r} have {size} positions along {dim!r}, others {self.sizes[dim]}"
                    raise OpKeyValueError(text, op=op, input=str(name))
        self._named = named
        given = {name: positions[name].dims for name in named if name in positions and positions[name].dims}
        self._unpaired = {} if not given or set.intersection(*map(set, given.values())) else given
        self._box = {dim: self.sizes[dim] for dim in self.dims if dim not in self._rest}

    def gather(self, *, mode: str = "raise") -> xr.Variable:
        """Return the values of the elements."""
        if not self._named:
            return self._variable
        self._check_size()
        values = _core.gather_nd(self._rows(), self._tuples(), mode=mode)
        found = xr.Variable((*self._box, *self._rest), values, self._variable.attrs, self._variable.encoding)
        return found.transpose(*self.dims)

    def scatter(self, updates: xr.Variable, *, missing: xr.Variable | None = None, **options: Any) -> xr.Variable:
        """Return a copy of the variable with updates in the elements, except for ``missing`` updates."""
        self._check_size()
        slots = {**self._box, **{dim: self.sizes[dim] for dim in self._rest}}
        tuples = self._tuples(missing)
        written = _core.scatter_nd(self._rows(), tuples, _broadcast(updates, slots), **options)
        found = xr.Variable((*self._named, *self._rest), written, self._variable.attrs, self._variable.encoding)
        return found.transpose(*self._variable.dims)

    def read_updates(self, updates: Any) -> xr.Variable:
        """Return updates as a variable. An array without names has the last dimensions."""
        if isinstance(updates, xr.DataArray | xr.Variable):
            made: xr.Variable = updates if isinstance(updates, xr.Variable) else updates.variable
        else:
            updates = updates if is_lazy(updates) else convert.as_array(self._op, "updates", updates)
            first = len(self.dims) - np.ndim(updates)
            if first < 0:
                text = f"updates have {np.ndim(updates)} dimensions, but at most {len(self.dims)} fit: {self._known()}"
                raise OpValueError(f"{self._op}: {text}", op=self._op, input="updates")
            made = xr.Variable(self.dims[first:], updates)
        for dim, size in made.sizes.items():
            if size != self.sizes.get(dim):
                text = f"updates have a dimension {dim!r} of size {size}; the dimensions must be among {self._known()}"
                raise OpValueError(f"{self._op}: {text}", op=self._op, input="updates")
        return made

    def _check_size(self) -> None:
        """Check the memory for the elements, before an allocation fails elsewhere. Lazy arrays take none."""
        shape, dtype = tuple(self.sizes[dim] for dim in self.dims), self._variable.dtype
        lazy_tuples = any(one.chunks is not None for one in self._named.values())
        new = 0 if lazy_tuples else math.prod(self._box.values()) * len(self._named) * 8  # index tuples of int64
        if not lazy_tuples and self._variable.chunks is None:
            new += math.prod(shape) * dtype.itemsize
        inputs = self._variable.nbytes + sum(one.nbytes for one in self._named.values())
        check_named_elements(self._op, shape, dtype, new, inputs, self._unpaired)

    def _known(self) -> str:
        return ", ".join(f"{dim!r}: {self.sizes[dim]}" for dim in self.dims)

    def _rows(self) -> Any:
        """Return the values of the variable, with the indexed dimensions in front."""
        return self._variable.transpose(*self._named, *self._rest).data

    def _tuples(self, missing: xr.Variable | None = None) -> Any:
        """Return index tuples. Tuples of missing updates are out of range."""
        columns = [_broadcast(one, self._box) for one in self._named.values()]
        if missing is not None:
            first = next(iter(self._named))
            columns[0] = np.where(_broadcast(missing, self._box), self._variable.sizes[first], columns[0])
        return np.stack(columns, -1)


def _broadcast(variable: xr.Variable, sizes: dict[Hashable, int]) -> Any:
    """Return the values of a variable, repeated along the dimensions that it lacks."""
    untyped: Any = variable
    return untyped.set_dims(sizes).data


def add_coordinates(
    op: str, values: Mapping[Hashable, xr.Variable], data: xr.Dataset, positions: Positions, *, fill: bool
) -> xr.Dataset:
    """Add coordinates to values of data at positions: those of data and those of the positions, as in `Dataset.isel`.

    With ``fill`` a position can be missing, and then its coordinates are missing. Coordinates along lazy positions are
    lazy, and have no index.
    """
    coords = data.drop_vars(data.data_vars)
    lazy = {name for name, one in positions.items() if one.chunks is not None}
    if fill:
        gaps = [name for name, one in positions.items() if name in lazy or (one == data.sizes[name]).any()]
        coords = coords.pad({name: (0, 1) for name in gaps if name in coords.dims})
    own = {  # coordinates that xarray would compute or refuse
        name: coord.variable
        for name, coord in coords.coords.items()
        if {*coord.dims} & (lazy if coord.chunks is None else {*positions})
    }
    try:
        selected = coords.drop_vars(own).isel(positions, missing_dims="ignore")
        found = {name: NamedElements(op, variable, positions).gather() for name, variable in own.items()}
        return selected.assign_coords(xr.Coordinates(found, indexes={})).assign(values)
    except (IndexError, ValueError) as error:
        text = f"{op}: coordinates of data and of the indices conflict: {error}"
        raise OpKeyValueError(text, op=op, input="indices") from None


def _check_chosen_labels(op: str, data: xr.Dataset, positions: Positions, updates: xr.DataArray | xr.Dataset) -> None:
    """Raise ValueError if updates have labels along an indexed dimension, and these are not those of the elements."""
    for dim, one in positions.items():
        known = one.dims == (dim,) and one.chunks is None and dim in data.indexes and dim in updates.indexes
        if not known or ((one < -data.sizes[dim]) | (one >= data.sizes[dim])).any():
            continue  # indices that are out of range are another error, or dropped
        if not updates.indexes[dim].equals(data.indexes[dim][one.values]):
            text = f"{op}: updates have other labels along {dim!r} than the indexed elements; align them, or drop "
            raise OpKeyValueError(f"{text}the labels with drop_vars({dim!r})", op=op, input="updates")


def check_labels(op: str, data: xr.Dataset, positions: Positions, updates: Any) -> None:
    """Raise ValueError unless data, indices and updates have the same labels along the dimensions that they share."""
    sources = [("data", data), *((f"indices along {name!r}", one) for name, one in positions.items())]
    if isinstance(updates, xr.DataArray | xr.Dataset):
        sources.append(("updates", updates))
        _check_chosen_labels(op, data, positions, updates)
    first: dict[Hashable, tuple[str, Any]] = {}
    for source, labelled in sources:
        for dim, labels in labelled.indexes.items():
            if dim in positions:  # labels of data and of the result can differ along an indexed dimension
                continue
            known, expected = first.setdefault(dim, (source, labels))
            if not labels.equals(expected):
                text = f"{op}: {source} have other labels along {dim!r} than {known}; align them, or drop the labels"
                raise OpKeyValueError(f"{text} with drop_vars({dim!r})", op=op, input=source.split()[0])
