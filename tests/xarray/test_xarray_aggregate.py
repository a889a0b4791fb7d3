"""`gatherscatter.xarray.aggregate` against ``groupby`` of xarray."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs

xr = pytest.importorskip("xarray")
FUNCTIONS = ["sum", "prod", "mean", "var", "std", "min", "max", "first", "last", "any", "all", "count", "median"]


def sample(dtype: str, nan: bool) -> Any:
    rng = np.random.default_rng(1)
    values = (rng.standard_normal((3, 12, 2)) * 9).astype(dtype)
    if nan:
        values[rng.random(values.shape) < 0.3] = np.nan
    return xr.DataArray(
        values,
        dims=("y", "t", "x"),
        coords={
            "t": np.arange("2026-01", "2027-01", dtype="datetime64[M]").astype("datetime64[ns]"),
            "season": ("t", list("aabbbcccaaab"), {"long_name": "season"}),
            "zone": (("y", "x"), [[1.0, 2.0], [2.0, np.nan], [1.0, 1.0]]),
            "height": ("y", [10, 20, 30]),
            "scalar": 7,
        },
        name="rain",
        attrs={"units": "mm"},
    )


@pytest.mark.parametrize(
    ("dtype", "lazy"), [("float64", False), ("float64", True), ("float32", False), ("int32", False)]
)
@pytest.mark.parametrize("by", ["season", "zone", "t.quarter", "t"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_groupby(name: str, by: str, dtype: str, lazy: bool) -> None:
    data = sample(dtype, dtype[0] == "f")
    labels = data.t.dt.quarter if by == "t.quarter" else by
    if lazy:
        pytest.importorskip("dask")
    if lazy and name in ("median", "prod"):
        pytest.skip("median needs all values; products of chunks are rounded in another order")
    given = data.chunk({"t": 5, "y": 2}) if lazy else data
    with xr.set_options(use_flox=False, keep_attrs=True):
        grouped = data.groupby(labels)
        wanted = getattr(grouped, name)()
    found = gs.xarray.aggregate(given, labels, name)
    assert (found.chunks is not None) == lazy
    if name in ("any", "all"):
        assert found.dtype == bool
    found = found.compute()
    assert found.dims == wanted.dims
    xr.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == "float32" else 1e-12)
    assert found.attrs == wanted.attrs
    assert found.name == wanted.name
    assert {*found.coords} == {*wanted.coords}


def test_a_dataset_and_several_labels() -> None:
    data = sample("float64", True)
    dataset = xr.Dataset(
        {"rain": data, "level": ("t", np.arange(12.0)), "site": ("y", [1.0, 2.0, 3.0])}, attrs={"a": 1}
    )
    with xr.set_options(use_flox=False, keep_attrs=True):
        wanted = dataset.groupby("season").mean()
    found = gs.xarray.aggregate(dataset, "season", "mean")
    xr.testing.assert_allclose(found, wanted)
    assert found.attrs == {"a": 1}
    both = gs.xarray.aggregate(data, ["season", data.t.dt.quarter], "max", fill_value=-1)
    assert both.dims == ("y", "x", "season", "quarter")
    assert both.sel(season="c", quarter=1).values.tolist() == [[-1.0, -1.0]] * 3
    wanted = data.isel(t=[5]).max("t")  # the only month of season c in the second quarter
    np.testing.assert_array_equal(both.sel(season="c", quarter=2), np.where(np.isnan(wanted), -1, wanted))


@pytest.mark.parametrize("name", ["sum", "mean", "std", "count", "max"])
def test_a_dataset_with_variables_of_all_kinds(name: str) -> None:
    dataset = xr.Dataset(
        {"a": ("x", [1.0, 2.0, 3.0]), "c": ("z", [1.0, 2.0, 3.0]), "name": ("x", ["p", "q", "r"])},
        coords={"month": ("x", [1, 1, 2])},
    )
    with xr.set_options(use_flox=False, keep_attrs=True):
        wanted = getattr(dataset.drop_vars("name").groupby("month"), name)()
    found = gs.xarray.aggregate(dataset, "month", name)
    if name == "count":
        found = found.drop_vars("name")
    xr.testing.assert_allclose(found, wanted)


def test_nan_functions_of_the_list() -> None:
    data = sample("float64", True)
    found = gs.xarray.aggregate(data, "season", "anynan")
    with xr.set_options(use_flox=False):
        wanted = data.isnull().groupby("season").any()
    np.testing.assert_array_equal(found.values, wanted.values)


def test_errors() -> None:
    data = sample("float64", False)
    with pytest.raises(ValueError, match="data has no coordinate 'month'"):
        gs.xarray.aggregate(data, "month")
    with pytest.raises(ValueError, match="by has no name"):
        gs.xarray.aggregate(data, xr.DataArray([1, 2, 1], dims="y"))
    with pytest.raises(ValueError, match="of size 4, which data does not have"):
        gs.xarray.aggregate(data, xr.DataArray([1, 2, 1, 1], dims="y", name="g"))
    with pytest.raises(ValueError, match="func must be one of"):
        gs.xarray.aggregate(data, "season", "cumsum")
    with pytest.raises(TypeError, match="skipna"):
        gs.xarray.aggregate(data, "season", skipna="yes")
    with pytest.raises(TypeError, match="data must be a DataArray"):
        gs.xarray.aggregate(data.values, "season")
    labelled = data.assign_coords(y=[0, 1, 2])
    with pytest.raises(ValueError, match="other labels along 'y'"):
        gs.xarray.aggregate(labelled, xr.DataArray([1, 2, 1], dims="y", coords={"y": [2, 1, 0]}, name="g"))
    with pytest.raises(ValueError, match="with a name twice"):
        gs.xarray.aggregate(data, ["season", "season"])
    with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
        gs.xarray.aggregate(data, "season", axis=0)
    with pytest.raises(ValueError, match="by is empty"):
        gs.xarray.aggregate(data, [])


UNKNOWN = {
    "out": "; use the result, which is a new array",
    "min_count": "; use np.where on the result, with the numbers of values that",
    "inplace": "; use data[...] = updates, which writes in place",
    "skip_na": "; did you mean 'skipna'?",
    "fillvalue": "; did you mean 'fill_value'?",
    "tolerance": "; it takes data, by, func, skipna, fill_value, ddof, q, method, dx, dtype, num_threads",
    "size": "; it takes data, by",
}


@pytest.mark.parametrize(("name", "advice"), UNKNOWN.items(), ids=UNKNOWN)
@pytest.mark.parametrize("lazy", [False, True])
def test_unknown_keywords_get_advice(name: str, advice: str, lazy: bool) -> None:
    data = sample("float64", False)
    if lazy:
        pytest.importorskip("dask")
        data = data.chunk()
    with pytest.raises(
        gs.OpTypeError, match=re.escape(f"xarray.aggregate() got an unexpected keyword argument '{name}'{advice}")
    ):
        gs.xarray.aggregate(data, "season", **{name: data})


@pytest.mark.parametrize("lazy", [False, True])
def test_other_dimensions_can_be_empty_or_come_first(lazy: bool) -> None:
    for shape, dims in (((3, 0), ("t", "x")), ((0, 3), ("x", "t")), ((2, 3, 4), ("x", "t", "y"))):
        values = np.arange(float(np.prod(shape))).reshape(shape)
        array = xr.DataArray(values, dims=dims, coords={"g": ("t", [0, 1, 0])})
        found = gs.xarray.aggregate(array.chunk() if lazy else array, "g", "sum")
        assert found.dims == tuple("g" if dim == "t" else dim for dim in dims)
        axis = dims.index("t")
        labelled = np.stack([values.take([0, 2], axis).sum(axis), values.take(1, axis)])
        np.testing.assert_array_equal(found.transpose("g", ...).values, labelled)


def with_missing(kind: str) -> Any:
    """Return values of times, objects or text. Some of them are missing, in one group all."""
    rng = np.random.default_rng(3)
    numbers = rng.integers(0, 20, (3, 12, 2))
    missing = (rng.random(numbers.shape) < 0.4) & (kind not in ("text", "strings"))
    values: Any
    if kind in ("times", "durations"):
        values = numbers.astype("m8[h]").astype("m8[ns]")
        values = values + np.datetime64("2026-01-01") if kind == "times" else values
        values[missing] = "NaT"
    else:
        values = np.array([f"w{number}" for number in numbers.ravel()], object).reshape(numbers.shape)
        values[missing] = np.resize([None, np.nan], missing.sum()) if kind == "mixed" else None
        values = values.astype({"text": "U3", "strings": np.dtypes.StringDType()}.get(kind, object))
    if kind not in ("text", "strings"):
        values[:, [8, 9, 10]] = np.nan if kind == "mixed" else None
    coords = {"season": ("t", list("aabbaaabddda")), "half": ("t", list("pqpqpqpqpqpp"))}
    return xr.DataArray(values, dims=("y", "t", "x"), coords=coords, name="seen")


KINDS = ["times", "durations", "objects", "mixed", "text", "strings"]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("skipna", [None, True, False])
@pytest.mark.parametrize("name", ["first", "last", "count"])
@pytest.mark.parametrize("kind", KINDS)
def test_missing_times_and_objects_are_skipped_as_in_groupby(kind: str, name: str, skipna: Any, lazy: bool) -> None:
    if lazy:
        pytest.importorskip("dask")
    data = with_missing(kind)
    plain = data.astype(object) if kind == "strings" else data  # groupby does not take the type
    given = data.chunk({"t": 5, "y": 2}) if lazy else data
    found = gs.xarray.aggregate(given, "season", name, skipna=skipna)
    with xr.set_options(use_flox=False):
        if name == "count" and skipna is False:
            wanted = xr.ones_like(data, int).groupby("season").sum().rename("seen")
        else:
            wanted = getattr(plain.groupby("season"), name)(**({} if name == "count" else {"skipna": skipna}))
    assert found.dtype == (int if name == "count" else data.dtype)
    assert (found.chunks is not None) == lazy
    found = found.compute()
    xr.testing.assert_identical(found.astype(wanted.dtype), wanted)
    assert found.dims == wanted.dims


@pytest.mark.parametrize("kind", KINDS)
def test_missing_times_and_objects_are_not_counted_as_distinct(kind: str) -> None:
    import pandas as pd

    data = with_missing(kind)
    for skipna in (None, True, False):
        found = gs.xarray.aggregate(data, "season", "nunique", skipna=skipna)
        for season in found.season.values:
            for y, x in np.ndindex(3, 2):
                values = pd.Series(data.values[y, data.season.values == season, x].astype(data.dtype))
                wanted = values.dropna().nunique() + (skipna is False and bool(values.isna().any()))
                assert found.sel(season=season).values[y, x] == wanted


@pytest.mark.parametrize("kind", KINDS[:4])
def test_combinations_without_values_are_missing(kind: str) -> None:
    data = with_missing(kind)
    found = gs.xarray.aggregate(data.isel(t=slice(5)), ["season", "half"], "first")
    dense = data.isel(t=slice(5), x=0, y=0)
    for season in "ab":
        for half in "pq":
            there = dense.values[(dense.season.values == season) & (dense.half.values == half)]
            there = there[~xr.DataArray(there).isnull().values]
            one = found.isel(x=0, y=0).sel(season=season, half=half)
            assert one.isnull() if len(there) == 0 else one.values[()] == there[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["min", "max", "mean", "median", "sum", "any", "std"])
def test_numbers_are_needed_for_other_functions(kind: str, name: str) -> None:
    for skipna in (None, True, False):
        with pytest.raises(gs.OpTypeError, match=f"'{name}' is not defined for values of type"):
            gs.xarray.aggregate(with_missing(kind), "season", name, skipna=skipna)


def test_a_dataset_of_times_and_objects() -> None:
    dataset = xr.Dataset({kind: with_missing(kind) for kind in KINDS[:5]})
    with xr.set_options(use_flox=False):
        for name in ("first", "last", "count"):
            wanted = getattr(dataset.groupby("season"), name)()
            found = gs.xarray.aggregate(dataset, "season", name)
            for kind in KINDS[:5]:
                xr.testing.assert_identical(found[kind].transpose(*wanted[kind].dims), wanted[kind])


def test_the_missing_text_of_a_type() -> None:
    data = xr.DataArray(
        np.array(["a", np.nan, np.nan, "b"], np.dtypes.StringDType(na_object=np.nan)),
        dims="t",
        coords={"g": ("t", [0, 1, 0, 0])},
    )
    assert gs.xarray.aggregate(data, "g", "count").values.tolist() == [2, 0]
    found = gs.xarray.aggregate(data, "g", "last")
    assert found.values[0] == "b"
    assert found.isnull().values.tolist() == [False, True]
    assert found.dtype == data.dtype
