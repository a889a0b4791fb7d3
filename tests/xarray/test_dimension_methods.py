"""Methods and tolerances for each dimension, compared with isel and sel along one dimension after the other."""

from __future__ import annotations

import itertools
import re
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatherscatter.errors import OpIndexError, OpTypeError, OpValueError

xr: Any = pytest.importorskip("xarray")
gsx: Any = pytest.importorskip("gatherscatter.xarray")

HOURS = np.datetime64("2026-01-01", "ns") + np.arange(0, 30, 6).astype("m8[h]")
CUBE = xr.DataArray(
    np.arange(120.0).reshape(5, 4, 3, 2),
    dims=("time", "lat", "depth", "run"),
    coords={
        "time": HOURS,
        "lat": [10.0, 20.0, 30.0, 40.0],
        "depth": [0, 5, 20],
        "run": ["a", "b"],
        "area": (("lat", "depth"), np.arange(12).reshape(4, 3)),
        "step": ("time", np.arange(5)),
    },
    attrs={"units": "K"},
    name="temperature",
)
DATASET = xr.Dataset(
    {"t": CUBE, "ice": CUBE[:, :, 0].drop_vars(["area", "depth"]) > 50, "version": 3}, attrs={"source": "model"}
)
POINTS = 6


def point(*values: Any) -> Any:
    return xr.DataArray(np.array(values), dims="point")


# For each dimension positions, and the labels for each method.
LABELS: dict[str, dict[str | None, Any]] = {
    "time": {
        None: point(0, 4, -1, 2, 2, 1),
        "exact": point(*HOURS[[0, 4, 4, 2, 2, 1]]),
        "nearest": point(*(HOURS[[0, 4, 4, 2, 2, 1]] + np.timedelta64(2, "h"))),
        "pad": point(*(HOURS[[0, 4, 4, 2, 2, 1]] + np.timedelta64(5, "h"))),
        "bfill": point(*(HOURS[[0, 4, 4, 2, 2, 1]] - np.timedelta64(5, "h"))),
    },
    "lat": {
        None: point(3, 0, 1, 1, -4, 2),
        "exact": point(40.0, 10.0, 20.0, 20.0, 10.0, 30.0),
        "nearest": point(44.0, 7.0, 20.5, 16.0, 10.0, 31.0),
        "ffill": point(44.0, 17.0, 20.5, 26.0, 10.0, 31.0),
        "backfill": point(31.0, 7.0, 20.0, 16.0, 10.0, 21.0),
    },
    "depth": {
        None: point(2, 0, 1, 1, 0, 2),
        "exact": point(20, 0, 5, 5, 0, 20),
        "nearest": point(17, 1, 6, 3, 2, 30),
        "pad": point(30, 1, 6, 5, 2, 25),
    },
    "run": {None: point(0, 1, 1, 0, -1, 0), "exact": point("a", "b", "b", "a", "b", "a")},
}


def select(data: Any, indices: Mapping[Hashable, Any], method: Any, tolerance: Any = None) -> Any:
    """Select along one dimension after the other, with xarray."""
    for name, index in indices.items():
        how = method.get(name)
        if how is None:
            data = data.isel({name: index})
        else:
            near = (tolerance or {}).get(name)
            data = data.sel({name: index}, method=None if how == "exact" else how, tolerance=near)
    return data


@st.composite
def calls(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    names = draw(st.lists(st.sampled_from(list(LABELS)), min_size=1, max_size=4, unique=True))
    methods = {name: draw(st.sampled_from(list(LABELS[name]))) for name in names}
    indices = {name: LABELS[name][methods[name]] for name in names}
    outer = draw(st.sampled_from([None, *names]))
    if outer is not None:  # one index has another dimension
        indices[outer] = indices[outer][:2].rename(point="other")
    given = {name: how for name, how in methods.items() if how is not None or draw(st.booleans())}
    return indices, given


@given(call=calls(), lazy=st.sampled_from(["", "data", "indices", "both"]))
def test_each_dimension_has_its_own_method(call: Any, lazy: str) -> None:
    indices, method = call
    chosen = {name: how for name, how in method.items() if how}
    cube, dataset, where = CUBE, DATASET, indices
    if lazy:
        pytest.importorskip("dask")
        if lazy != "indices":
            cube, dataset = CUBE.chunk(time=2, lat=3), DATASET.chunk(time=2, lat=3)
        if lazy != "data":
            where = {name: one.chunk(2) if one.dtype.kind != "U" else one for name, one in indices.items()}
    for data, plain in ((cube, CUBE), (dataset, DATASET)):
        wanted = select(plain, indices, chosen)
        found = gsx.gather(data, where, method=method).compute(scheduler="sync")
        if lazy in ("indices", "both"):  # coordinates along lazy indices have no index
            found, wanted = found.drop_indexes(found.indexes), wanted.drop_indexes(wanted.indexes)
        xr.testing.assert_identical(found, with_order_of(found, wanted))
        xr.testing.assert_identical(found, by_name(data, where, method).compute(scheduler="sync"))


def with_order_of(found: Any, wanted: Any) -> Any:
    """Transpose what is wanted. Several steps can put the dimensions of indices in another order."""
    if isinstance(wanted, xr.DataArray):
        return with_order_of(found.to_dataset(name="v"), wanted.to_dataset(name="v")).v.rename(wanted.name)
    order = {name: one.transpose(*found[name].dims) for name, one in wanted.variables.items() if one.ndim > 1}
    return wanted.assign({name: one for name, one in order.items() if name in wanted.data_vars}).assign_coords(
        {name: one for name, one in order.items() if name in wanted.coords}
    )


def by_name(data: Any, indices: Any, method: Any) -> Any:
    found = gsx.gather(data, method=method, **indices)
    return found.drop_indexes(found.indexes) if any(one.chunks for one in indices.values()) else found


@pytest.mark.parametrize("names", list(itertools.permutations(["time", "lat", "depth"])))
def test_a_track_in_one_call_in_any_order(names: Any) -> None:
    method = {"time": "pad", "lat": "nearest"}
    indices = {name: LABELS[name][method.get(name)] for name in names}
    found = gsx.gather(CUBE, indices, method=method, tolerance={"lat": 4.5, "time": np.timedelta64(6, "h")})
    assert found.dims == ("point", "run")
    xr.testing.assert_identical(found, select(CUBE, indices, method).transpose("point", "run"))
    plain = {"lat": 17.0, "depth": [2, 0], "time": slice(1, 3)}
    found = gsx.gather(CUBE, plain, method={"lat": "nearest"}, tolerance={"lat": 3})
    xr.testing.assert_identical(found, select(CUBE, plain, {"lat": "nearest"}, {"lat": 3}))


@pytest.mark.parametrize("reduction", ["none", "add"])
@pytest.mark.parametrize("data", [CUBE, DATASET[["t"]]], ids=["array", "dataset"])
def test_a_scatter_writes_where_a_gather_reads(data: Any, reduction: str) -> None:
    method = {"time": "nearest", "lat": "exact", "depth": "pad"}
    indices = {name: LABELS[name][method.get(name)] for name in ("run", "depth", "time", "lat")}
    updates = xr.DataArray(np.arange(1.0, 7), dims="point")
    positions = {
        name: index if name == "run" else data.get_index(name).get_indexer(index, {"exact": None}.get(how, how))
        for name, index in indices.items()
        for how in [method.get(name)]
    }
    wanted = gsx.scatter(data, {name: point(*one) for name, one in positions.items()}, updates, reduction=reduction)
    tolerance = {"time": np.timedelta64(2, "h"), "depth": 10}
    found = gsx.scatter(data, indices, updates, method=method, tolerance=tolerance, reduction=reduction)
    xr.testing.assert_identical(found, wanted)
    found = gsx.scatter(data, updates=updates, method=method, tolerance=tolerance, reduction=reduction, **indices)
    xr.testing.assert_identical(found, wanted)
    with pytest.raises(OpIndexError, match=r"depth\[0\] = 30 is not a label .* within a tolerance of 9"):
        gsx.scatter(data, indices, updates, method=method, tolerance={"depth": 9})
    some = gsx.scatter(data, indices, updates, method=method, tolerance={"depth": 9}, mode="drop")
    xr.testing.assert_identical(
        some, gsx.scatter(data, {n: i[1:] for n, i in indices.items()}, updates[1:], method=method)
    )


def test_coordinates_of_a_track_do_not_conflict() -> None:
    track = xr.Dataset(
        {"lat": ("point", [11.0, 19.0]), "depth": ("point", [5, 0])},
        coords={"time": ("point", HOURS[:2] + np.timedelta64(1, "h")), "point": ["p", "q"]},
    )
    indices = {"time": track.time, "lat": track.lat, "depth": track.depth}
    method = {"time": "ffill", "lat": "nearest", "depth": "exact"}
    found = gsx.gather(CUBE, indices, method=method)
    xr.testing.assert_identical(found, select(CUBE, indices, method))
    assert found.time.values.tolist() == HOURS[:2].tolist()
    same = gsx.gather(CUBE, {**indices, "time": point(0, 1)}, method={"lat": "nearest", "depth": "exact"})
    xr.testing.assert_identical(same.drop_vars("point"), found.drop_vars("point"))


ONE = {"lat": [10.0], "time": [0]}
WRONG: dict[str, dict[str, Any]] = {
    "method is for the indexed dimensions, 'lat', 'time'; 'lats' is not one of them; did you mean 'lat'?": {
        "method": {"lats": "nearest"}
    },
    "tolerance is for the indexed dimensions, 'lat', 'time'; 'depth' is not one of them": {
        "method": {"lat": "nearest"},
        "tolerance": {"depth": 1},
    },
    "method is for the indexed dimensions, 'lat', 'time'; 3 is not one of them": {"method": {3: "nearest"}},
    "'pad', 'ffill', 'backfill', 'bfill', not 'neares'; did you mean 'nearest'?": {"method": {"lat": "neares"}},
    "tolerance needs an inexact method, such as 'nearest'; the method of dimension 'time' is None": {
        "method": {"lat": "nearest"},
        "tolerance": {"time": 1},
    },
    "tolerance needs an inexact method, such as 'nearest'; the method of dimension 'lat' is 'exact'": {
        "method": {"lat": "exact"},
        "tolerance": {"lat": 1},
    },
    "the method of dimension 'time' is None": {"method": {"lat": "pad"}, "tolerance": 1},
    "mode 'wrap' is for positions; with labels give 'raise'": {"method": {"lat": "pad"}, "mode": "wrap"},
}


@pytest.mark.parametrize(("text", "options"), WRONG.items(), ids=WRONG)
def test_a_mapping_that_does_not_fit_is_an_error_that_names_the_dimension(text: str, options: Any) -> None:
    for call in (lambda: gsx.gather(CUBE, ONE, **options), lambda: gsx.scatter(CUBE, ONE, 1.0, **options)):
        with pytest.raises(OpValueError, match=re.escape(text)) as caught:
            call()
        assert caught.value.input in options


def test_positions_and_labels_are_told_apart() -> None:
    with pytest.raises(OpTypeError, match="indices along 'lat' must be integers, not float64"):
        gsx.gather(CUBE, {"lat": [10.0], "time": [HOURS[0]]}, method={"time": "exact"})
    with pytest.raises(OpTypeError, match="labels along 'time' can't be a slice"):
        gsx.gather(CUBE, {"lat": [0], "time": slice(1)}, method={"time": "exact"})
    with pytest.raises(
        OpIndexError, match=r"lat\[0\] = 16\.0 is not a label of dimension 'lat' within a tolerance of 3"
    ):
        gsx.gather(CUBE, {"lat": [16.0], "depth": [16]}, method="nearest", tolerance={"lat": 3})
    none = gsx.gather(CUBE, {"lat": [1], "time": [0]}, method={"lat": None}, tolerance={"time": None})
    xr.testing.assert_identical(none, CUBE.isel(lat=[1], time=[0]))
