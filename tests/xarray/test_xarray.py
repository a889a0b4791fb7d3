"""gatherscatter.xarray: by names, against xarray's own indexing and loops over positions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import OpIndexError

xr: Any = pytest.importorskip("xarray")
gsx: Any = pytest.importorskip("gatherscatter.xarray")

DATA = xr.DataArray(
    np.arange(24.0).reshape(2, 3, 4),
    dims=("t", "y", "x"),
    coords={"t": [1, 2], "y": [10, 20, 30], "area": (("y", "x"), np.ones((3, 4)))},
    attrs={"units": "m"},
    name="height",
)


def of(*values: Any, dims: Any) -> Any:
    return xr.DataArray(np.array(values), dims=dims)


INDICES = {
    "one": {"y": of(2, 0, -1, dims="p")},
    "a list": {"x": [3, 3, 0]},
    "a number": {"y": 1},
    "pairs": {"y": of(2, 0, 2, dims="p"), "x": of(1, 1, 1, dims="p")},
    "outer": {"y": of(2, 0, dims="a"), "x": of(1, 3, 1, dims="b")},
    "boxes": {"x": of([1, 0], [3, 2], dims=("a", "b"))},
    "walked along": {"x": of([1, 0, 3], [3, 2, 3], dims=("t", "y"))},
    "walked along, with places of its own": {"y": of([1, 0], [2, 2], dims=("t", "p")), "x": of(0, 3, dims="p")},
}


@pytest.mark.parametrize("indices", INDICES.values(), ids=INDICES)
def test_a_gather_is_what_isel_is(indices: Any) -> None:
    found, expected = gsx.gather(DATA, indices), DATA.isel(indices)
    assert set(found.dims) == set(expected.dims)
    np.testing.assert_array_equal(found.transpose(*expected.dims).values, expected.values)
    assert found.attrs == DATA.attrs
    assert found.name == DATA.name


@pytest.mark.parametrize("reduction", ["none", "add", "max"])
@pytest.mark.parametrize("indices", INDICES.values(), ids=INDICES)
def test_a_scatter_visits_position_after_position(indices: Any, reduction: str) -> None:
    slots = gsx.gather(DATA, indices)
    updates = slots.copy(data=np.random.default_rng(0).normal(10, 5, slots.shape))
    found = gsx.scatter(DATA, indices, updates, reduction=reduction)
    number = DATA.copy(data=np.arange(24).reshape(DATA.shape))
    places = gsx.gather(number, indices).values.ravel()
    expected = DATA.values.ravel().copy()
    for place, update in zip(places, updates.values.ravel(), strict=True):
        before = expected[place]
        expected[place] = {"none": update, "add": before + update, "max": max(before, update)}[reduction]
    np.testing.assert_array_equal(found.values.ravel(), expected)
    assert found.dims == DATA.dims
    assert found.attrs == DATA.attrs
    xr.testing.assert_equal(found.coords.to_dataset(), DATA.coords.to_dataset())


def test_coordinates_stay_where_they_make_sense() -> None:
    stations = xr.DataArray([2, 0], dims="station", coords={"station": ["a", "b"]})
    found = gsx.gather(DATA, {"y": stations})
    assert set(found.coords) == {"t", "station"}
    assert found.station.values.tolist() == ["a", "b"]
    assert found.dims == ("station", "t", "x")


def test_updates_are_repeated_along_dimensions_they_lack() -> None:
    where = {"y": of(0, 0, dims="p")}
    found = gsx.scatter(xr.zeros_like(DATA), where, of(1.0, 2.0, dims="p"), reduction="add")
    assert found.values[:, 0].tolist() == np.full((2, 4), 3.0).tolist()
    assert not found.values[:, 1:].any()
    by_time = gsx.scatter(xr.zeros_like(DATA), where, of(1.0, 2.0, dims="t"))
    assert by_time.values[:, 0].tolist() == [[1.0] * 4, [2.0] * 4]


@pytest.mark.parametrize("lazy", list(itertools.product([False, True], repeat=2))[1:])
def test_arrays_of_dask_stay_lazy(lazy: Any) -> None:
    pytest.importorskip("dask")
    data = DATA.chunk({"y": 2, "x": 3}) if lazy[0] else DATA
    where = {"y": of(2, 0, 2, dims="p"), "x": of(1, 1, 1, dims="p")}
    given = {name: index.chunk({"p": 2}) for name, index in where.items()} if lazy[1] else where
    for result, expected in (
        (gsx.gather(data, given), gsx.gather(DATA, where)),
        (gsx.scatter(data, given, 1.0, reduction="add"), gsx.scatter(DATA, where, 1.0, reduction="add")),
    ):
        assert result.chunks is not None
        xr.testing.assert_identical(result.compute(), expected)


def test_errors() -> None:
    with pytest.raises(OpIndexError, match="3 is out of range for axis 0"):
        gsx.gather(DATA, {"y": [3]})
    with pytest.raises(ValueError, match="there is no 'z'"):
        gsx.gather(DATA, {"z": [0]})
    with pytest.raises(ValueError, match="none is given"):
        gsx.gather(DATA, {})
    with pytest.raises(TypeError, match="along 'y' must be integers"):
        gsx.gather(DATA, {"y": [0.5]})
    with pytest.raises(TypeError, match="must be a DataArray"):
        gsx.gather(DATA.values, {"y": [0]})
    with pytest.raises(ValueError, match="updates have a dimension 'q' of 2; there are 'p': 1, 't': 2, 'x': 4"):
        gsx.scatter(DATA, {"y": of(0, dims="p")}, of(1.0, 2.0, dims="q"))
    other_years = xr.DataArray([0, 1], dims="t", coords={"t": [2, 1]})
    with pytest.raises(ValueError, match="indices do not go together"):
        gsx.gather(DATA, {"y": other_years})
    assert gs.xarray is gsx
