"""Indices without a common dimension are combined in all ways. Errors and warnings name them before memory is used."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import errors

xr: Any = pytest.importorskip("xarray")
gsx: Any = pytest.importorskip("gatherscatter.xarray")

CUBE = xr.DataArray(
    np.zeros((3, 4, 5), "f4"),
    dims=("time", "lat", "lon"),
    coords={"time": np.arange(3), "lat": np.arange(4.0), "lon": np.arange(5.0)},
)
COUNT = 50_000
TRACK = {
    name: np.random.default_rng(0).integers(0, size, COUNT).astype(CUBE[name].dtype)
    for name, size in CUBE.sizes.items()
}
ROWS = {name: labels.astype(int) for name, labels in TRACK.items()}


def named(track: Any, **dims: Any) -> Any:
    return {name: xr.DataArray(labels, dims=dims.get(name, "point")) for name, labels in track.items()}


APART = {
    "arrays": (ROWS, None, "'time' has ('time',), 'lat' has ('lat',), 'lon' has ('lon',)"),
    "lists": (
        {name: rows.tolist() for name, rows in ROWS.items()},
        None,
        "'time' has ('time',), 'lat' has ('lat',), 'lon' has ('lon',)",
    ),
    "labels": (TRACK, "nearest", "'time' has ('time',), 'lat' has ('lat',), 'lon' has ('lon',)"),
    "names": (
        named(TRACK, time="t", lat="a", lon="b"),
        {"time": "pad", "lat": "exact", "lon": "nearest"},
        "'time' has ('t',), 'lat' has ('a',), 'lon' has ('b',)",
    ),
    "two of three": (
        named(ROWS, lon="x"),
        None,
        "'time' has ('point',), 'lat' has ('point',), 'lon' has ('x',)",
    ),
}


@pytest.mark.parametrize("dataset", [False, True])
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(("indices", "method", "dims"), APART.values(), ids=APART)
def test_the_error_names_the_dimensions_of_the_indices(
    monkeypatch: Any, indices: Any, method: Any, dims: str, lazy: bool, dataset: bool
) -> None:
    data = CUBE.to_dataset(name="t") if dataset else CUBE
    if lazy:
        pytest.importorskip("dask")
        data = data.chunk(time=1)
    if "point" in dims:  # a large machine has the memory
        monkeypatch.setattr(errors, "_can_allocate", lambda size: False)
    shape = (COUNT, COUNT) if "point" in dims else (COUNT,) * 3
    for function, call in {
        "gather": lambda: gsx.gather(data, indices, method=method),
        "scatter": lambda: gsx.scatter(data, indices, 1.0, method=method, reduction="add"),
    }.items():
        with pytest.raises(gs.OpMemoryError) as caught:
            call()
        text = str(caught.value)
        assert text.startswith(
            f"xarray.{function}: there is not enough memory for the elements that the indices name, of shape {shape} "
            "and type float32, which takes "
        )
        assert text.endswith(
            f"; indices are combined in all ways if no dimension is common to all: {dims}; to pair them position by "
            f'position, give them a common dimension, as in xr.DataArray(np.asarray(time), dims="point")'
        )
        assert caught.value.op == f"xarray.{function}"


def test_a_track_with_a_common_dimension_is_small() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = gsx.gather(CUBE, named(TRACK), method="nearest")
    assert found.dims == ("point",)
    assert found.size == COUNT


def test_a_size_without_several_dimensions_has_no_advice() -> None:
    wide = xr.DataArray(np.zeros(1), dims="x").expand_dims(y=2**50)
    boxes = {"x": xr.DataArray(np.zeros((20, 20), int), dims=("p", "q"))}
    for indices in (boxes, {"x": xr.DataArray([0] * 9, dims="p")}):
        with pytest.raises(
            gs.OpMemoryError, match=r"^xarray\.gather: there is not enough memory .* takes [\d.]+ [PE]iB$"
        ):
            gsx.gather(wide, indices)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_very_large_result_is_a_warning(monkeypatch: Any, lazy: bool) -> None:
    monkeypatch.setattr(errors, "_LARGE", 1 << 10)
    monkeypatch.setattr(errors, "_MANY", 2)
    rows = {"lat": xr.DataArray([0, 1] * 20, dims="a"), "lon": xr.DataArray([1, 2] * 20, dims="b")}
    if lazy:
        pytest.importorskip("dask")
        rows = {name: one.chunk(10) for name, one in rows.items()}
    advice = "'lat' has ('a',), 'lon' has ('b',); to pair them position by position"
    for call in (lambda: gsx.gather(CUBE, rows), lambda: gsx.scatter(CUBE, rows, 1.0)):
        with pytest.warns(RuntimeWarning, match=re.escape(advice)) as caught:
            result = call()
        assert caught[0].filename == __file__
        assert str(caught[0].message).startswith(f"xarray.{'gather' if 'a' in result.dims else 'scatter'}: the indices")
    xr.testing.assert_equal(gsx.gather(CUBE, lat=[0, 1]), CUBE.isel(lat=[0, 1]))
