"""Convert the indices of a dimension (integers, masks, slices, labels) to checked positions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import xarray as xr
from pandas.errors import InvalidIndexError  # type: ignore[import-untyped]

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.adapters import is_lazy
from gatherscatter.arrays.convert import native
from gatherscatter.errors import (
    OpIndexError,
    OpKeyValueError,
    OpTypeError,
    OpValueError,
    keyword_fault,
    make_choice_error,
    raise_index_error,
)
from gatherscatter.messages.choices import MODES, NEGATIVE
from gatherscatter.messages.suggestions import find_similar, name_candidates, suggest_instead, suggest_parameter

METHODS = ("exact", "nearest", "pad", "ffill", "backfill", "bfill")

Positions = dict[Hashable, xr.DataArray]
"""For each dimension integers in [0, size], in memory or of Dask. The size itself stands for a missing position."""


@dataclass(frozen=True)
class Lookup:
    """The rules for reading the index of a dimension. `gather` and `scatter` describe the parameters.

    Attributes
    ----------
    op : the name of the function in messages
    """

    op: str
    mode: str
    negative: str
    method: str | None
    tolerance: Any

    @property
    def skips(self) -> bool:
        """Whether indices can be skipped."""
        return self.mode in ("fill", "drop") or self.negative == "skip"

    def check(self, name: Hashable, *, scatter: bool) -> None:
        """Raise TypeError or ValueError for a value that is not valid, or that conflicts with another value.

        ``name`` is the dimension.
        """
        if self.mode not in MODES[scatter]:
            raise make_choice_error(self.op, "mode", self.mode, MODES[scatter])
        if self.negative not in NEGATIVE:
            raise make_choice_error(self.op, "negative", self.negative, NEGATIVE)
        if self.method is not None and self.method not in METHODS:
            raise make_choice_error(self.op, "method", self.method, METHODS)
        if self.method is not None and self.mode in ("wrap", "clip"):
            text = f"{self.op}: mode {self.mode!r} is for positions; with labels give 'raise' or {MODES[scatter][-1]!r}"
            raise OpValueError(text, op=self.op, input="mode")
        if self.tolerance is not None and self.method in (None, "exact"):
            text = (
                f"{self.op}: tolerance needs an inexact method, such as 'nearest'; the method of dimension {name!r} is"
            )
            text += f" {self.method!r}; give the tolerances of others by name, as in tolerance={{'lat': 0.5}}"
            raise OpValueError(text, op=self.op, input="tolerance")


def make_lookups(
    op: str,
    indices: Mapping[Hashable, Any],
    rule: tuple[str, str],
    method: str | Mapping[Hashable, str | None] | None,
    tolerance: Any,
    *,
    scatter: bool,
) -> dict[Hashable, Lookup]:
    """Return the checked rules of each indexed dimension. Dimensions that a mapping lacks have the default, None.

    ``rule`` is the mode and the rule for negative indices.
    """

    def find(parameter: str, given: Any, name: Hashable) -> Any:
        if not isinstance(given, Mapping):
            return given
        for dim in given:
            if dim not in indices:
                text = (
                    f"{op}: {parameter} is for the indexed dimensions, {', '.join(map(repr, indices))}; {dim!r} is not"
                )
                raise OpValueError(f"{text} one of them{suggest_similar(dim, indices)}", op=op, input=parameter)
        return given.get(name)

    lookups = {}
    for name in indices:
        lookups[name] = Lookup(op, *rule, find("method", method, name), find("tolerance", tolerance, name))
        lookups[name].check(name, scatter=scatter)
    return lookups


def read_indices(
    op: str, data: xr.Dataset, indices: Any, by_name: Mapping[Any, Any], parameters: Iterable[str]
) -> Mapping[Hashable, Any]:
    """Return the indices of a call, from a mapping or from keyword arguments.

    ``parameters`` are those of the function. A keyword argument that is similar to one of them is not an index.

    Raises
    ------
    TypeError
        The indices are not a mapping, or a keyword argument is unknown.
    ValueError
        A dimension does not exist, or there are no indices.
    """
    if not isinstance(indices, Mapping | None):
        text = f"{op}: indices must be a mapping from dimensions to indices, not {type(indices).__name__}"
        raise OpTypeError(f"{text}; or give each index as a keyword argument", op=op, input="indices")
    known = list(parameters)
    for name in by_name:
        if name in data.dims:
            continue
        meant = find_similar(name, known) if len(name) == 1 else suggest_parameter(name, known)
        is_option = meant or suggest_instead(name, op)
        if indices or (is_option and not suggest_similar(name, data.dims)):
            keyword_fault(op, name, known)
    if indices and by_name:
        raise OpValueError(f"{op}: give indices as a mapping or as keyword arguments, not both", op=op, input="indices")
    given = indices or by_name
    unknown = [name for name in given if name not in data.dims]
    if unknown or not given:
        which = f"there is no {unknown[0]!r}{suggest_similar(unknown[0], data.dims)}" if unknown else "none is given"
        text = f"{op}: indices are for the dimensions of data, {', '.join(map(repr, data.dims))}; {which}"
        raise OpValueError(text, op=op, input="indices")
    return given


def suggest_similar(name: Hashable, dims: Iterable[Hashable]) -> str:
    """Return the end of an error about an unknown dimension, or "" if none has a similar name."""
    known = [dim for dim in dims if isinstance(dim, str)]
    return name_candidates(map(repr, find_similar(name, known)[:1])) if isinstance(name, str) else ""


def find_positions(lookups: Mapping[Hashable, Lookup], data: xr.Dataset, indices: Mapping[Hashable, Any]) -> Positions:
    """Return the positions that indices or labels name along dimensions of data. ``lookups`` has the rules of each.

    Raises
    ------
    IndexError
        An index is out of range, or a label is missing. Lazy indices raise it when they are computed.
    TypeError, ValueError
        A dimension has no labels, or the type or shape of an index does not fit.
    """
    positions = {
        name: _Dimension(lookup, name, data.sizes[name], _labels(lookup, data, name)).find(indices[name])
        for name, lookup in lookups.items()
    }
    replaced = {*data.data_vars} | {name for name, lookup in lookups.items() if lookup.method}
    return {name: one.drop_vars(replaced & {*one.coords}) for name, one in positions.items()}


def _labels(lookup: Lookup, data: xr.Dataset, name: Hashable) -> Any:
    if lookup.method is None:
        return None
    if name not in data.indexes:
        text = f"{lookup.op}: the dimension {name!r} has no labels; give positions, without method"
        raise OpValueError(text, op=lookup.op, input=str(name))
    return data.indexes[name]


@dataclass(frozen=True)
class _Dimension:
    """An indexed dimension.

    Attributes
    ----------
    labels : an index of pandas if indices are labels, otherwise None
    """

    lookup: Lookup
    name: Hashable
    size: int
    labels: Any

    def find(self, given: Any) -> xr.DataArray:
        """Return the positions, with the dimensions and coordinates of the given index."""
        index = self._as_data_array(given)
        self._check_period(index)
        if index.chunks is None:
            return index.copy(data=self.locate(index.values))
        meta = np.empty((0,) * index.ndim, np.int64)
        return index.copy(data=index.data.map_blocks(_locate_chunk, self, dtype=np.int64, meta=meta))

    def _check_period(self, index: xr.DataArray) -> None:
        """Refuse a single text for dates: `sel` would take it as a period, which can have many labels."""
        is_date = self.labels is not None and self.labels.dtype.kind == "M"
        if self.lookup.method == "exact" and is_date and index.ndim == 0 and index.dtype.kind in "OTU":
            text = f"{index.item()!r} along {self.name!r} can mean a period; give a datetime64, or select the period"
            raise OpTypeError(f"{self.lookup.op}: {text} with data.sel first", op=self.lookup.op, input=str(self.name))

    def locate(self, values: np.ndarray, start: tuple[int, ...] | None = None, chunk: Any = ()) -> np.ndarray:
        """Return the positions for the values of an index, or of its ``chunk`` that starts at ``start``."""
        flat = values.reshape(-1)
        if self.labels is None:
            mode = self.lookup.mode if self.lookup.mode in ("wrap", "clip") and self.size else "skip"
            negative = "end" if self.lookup.negative == "end" else "skip"
            positions = _core.resolve_indices(native(flat)[:, np.newaxis], (self.size,), mode, negative)
            assert positions is not None  # these rules skip bad indices
        else:
            positions = self._find_labels(self.labels, flat)
        missing = (positions < 0).reshape(values.shape)
        refused = self._find_refused(values, missing)
        if refused.any():
            if self.labels is not None:
                self._raise_label_error(self.labels, values, refused, start)
            raise_index_error(
                self.lookup.op,
                str(self.name),
                values,
                np.flatnonzero(refused),
                subject=f"dimension {self.name!r} with size {self.size}",
                axis=None,
                allowed=(-self.size if self.lookup.negative == "end" else 0, self.size - 1),
                start=start,
                chunk=chunk,
            )
        return np.where(missing, self.size, positions.reshape(values.shape))

    def _find_refused(self, values: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """Return which of the values have no position and are not skipped."""
        mode, negative = self.lookup.mode, self.lookup.negative
        if self.labels is not None:
            return missing & (not self.lookup.skips)
        below = (values < 0) & (negative != "end")
        refused = missing & ~below & (mode not in ("fill", "drop"))
        return refused | below if negative == "error" else refused

    def _find_labels(self, labels: Any, wanted: np.ndarray) -> np.ndarray:
        """Return the positions of labels, -1 for missing labels."""
        if labels.dtype.kind == "f" and wanted.dtype.kind in "iuf":
            wanted = wanted.astype(labels.dtype)  # as `sel` compares them
        method = None if self.lookup.method == "exact" else self.lookup.method
        try:
            if not labels.is_unique:
                raise ValueError("they are not unique")
            positions: np.ndarray = labels.get_indexer(wanted, method, tolerance=self.lookup.tolerance)
            return positions
        except (TypeError, ValueError, NotImplementedError, InvalidIndexError) as error:
            text = f"{self.lookup.op}: labels along {self.name!r} can't be looked up: {error}"
            kind = OpTypeError if isinstance(error, TypeError) else OpValueError
            raise kind(text, op=self.lookup.op, input=str(self.name)) from None

    def _raise_label_error(
        self, labels: Any, wanted: np.ndarray, missing: np.ndarray, start: tuple[int, ...] | None
    ) -> NoReturn:
        found = np.argwhere(missing)[:10]
        positions = tuple(map(tuple, (found + (start or 0)).tolist()))
        values = tuple(wanted[tuple(at)] for at in found)
        count = int(missing.sum())
        is_sorted = labels.is_monotonic_increasing or labels.is_monotonic_decreasing
        ends = f"labels: {labels[0]}..{labels[-1]}" if is_sorted else f"{len(labels)} labels, not sorted"
        known = ends if len(labels) else "it has none"
        near = "" if self.lookup.tolerance is None else f" within a tolerance of {self.lookup.tolerance}"
        label = f"{self.name}{list(positions[0]) or ''}"
        text = f"{self.lookup.op}: {label} = {values[0]} is not a label of dimension {self.name!r}{near} ({known})"
        text += f"; {count} of {wanted.size} labels are missing" if count > 1 else ""
        if self.lookup.method == "exact" and is_sorted and len(labels) and labels.dtype.kind in "iufmM":
            text += "; method='nearest' takes the closest label"
        raise OpIndexError(
            text, op=self.lookup.op, input=str(self.name), count=count, positions=positions, values=values
        )

    def _as_data_array(self, given: Any) -> xr.DataArray:
        if isinstance(given, slice):
            if self.labels is not None:
                text = f"labels along {self.name!r} can't be a slice; select the slice with data.sel first"
                raise OpTypeError(f"{self.lookup.op}: {text}", op=self.lookup.op, input=str(self.name))
            try:
                given = np.arange(self.size)[given]
            except TypeError:
                text = f"the slice along {self.name!r} must have integers; to select by labels, use data.sel first"
                raise OpTypeError(f"{self.lookup.op}: {text}", op=self.lookup.op, input=str(self.name)) from None
        index = self._with_dims(given)
        if self.labels is None and index.dtype.kind == "b" and index.dims == (self.name,):
            if index.size != self.size:
                text = f"the mask along {self.name!r} has {index.size} elements, but the dimension has {self.size}"
                raise OpKeyValueError(f"{self.lookup.op}: {text}", op=self.lookup.op, input=str(self.name))
            return index.copy(data=np.arange(self.size))[index.values]
        if self.labels is None and index.size == 0 and isinstance(given, list):
            return index.astype(np.int64)
        if self.labels is None and index.dtype.kind not in "iu":
            text = f"indices along {self.name!r} must be integers, not {index.dtype}"
            text += "; for labels give method='nearest' or method='exact'"
            raise OpTypeError(f"{self.lookup.op}: {text}", op=self.lookup.op, input="indices")
        return index

    def _with_dims(self, given: Any) -> xr.DataArray:
        if isinstance(given, xr.DataArray):
            return given
        if self.labels is None and not isinstance(given, xr.Variable | tuple | list) and not is_lazy(given):
            given = convert.as_array(self.lookup.op, str(self.name), given)
        try:
            if isinstance(given, xr.Variable | tuple):
                return xr.DataArray(xr.as_variable(given))
            rank = np.ndim(given)
        except (TypeError, ValueError) as error:
            text = f"{self.lookup.op}: indices along {self.name!r} can't be made an array: {error}"
            raise OpTypeError(text, op=self.lookup.op, input="indices") from None
        if rank > 1:
            text = f"indices along {self.name!r} have {rank} dimensions without names; give a DataArray"
            raise OpKeyValueError(f"{self.lookup.op}: {text}", op=self.lookup.op, input="indices")
        return xr.DataArray(xr.Variable([self.name] * rank, given))  # an index of pandas adds no coordinate


def _locate_chunk(values: np.ndarray, dimension: _Dimension, block_info: Any = None) -> np.ndarray:
    """Call `_Dimension.locate` for a chunk of Dask."""
    where = block_info[0]
    return dimension.locate(values, tuple(first for first, _ in where["array-location"]), where["chunk-location"])
