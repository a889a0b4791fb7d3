"""A gather by names equals xarray's isel, sel and reindex, including all coordinates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatherscatter.errors import OpIndexError, OpKeyValueError, OpTypeError, OpValueError

xr: Any = pytest.importorskip("xarray")
pd: Any = pytest.importorskip("pandas")
gsx: Any = pytest.importorskip("gatherscatter.xarray")

SIZES = {"t": 2, "y": 3, "x": 4}
OWN = {"p": 3, "q": 2}  # dimensions that only indices have


def make_cube() -> Any:
    rng = np.random.default_rng(0)
    return xr.DataArray(
        rng.normal(size=(2, 3, 4)),
        dims=("t", "y", "x"),
        coords={
            "t": np.array(["2020-01-01", "2020-01-02"], "M8[ns]"),
            "y": [10.0, 20.0, 30.0],
            "area": (("y", "x"), rng.integers(0, 9, (3, 4)), {"units": "m2"}),
            "row": ("y", ["a", "b", "c"]),
            "height": 2.0,
        },
        attrs={"units": "K"},
        name="temperature",
    )


CUBE = make_cube()
DATASET = xr.Dataset(
    {"t2m": CUBE, "mask": (("x", "y"), np.arange(12).reshape(4, 3)), "year": ("t", [1, 2]), "version": 3},
    coords={"station": ("y", [7, 8, 9])},
    attrs={"source": "made"},
)


@st.composite
def indices(draw: st.DrawFn) -> dict[str, Any]:
    """Return indices for some dimensions, in every form that isel accepts."""
    names = draw(st.lists(st.sampled_from(list(SIZES)), min_size=1, max_size=3, unique=True))
    return {name: draw(index(name)) for name in names}


@st.composite
def index(draw: st.DrawFn, name: str) -> Any:
    n = SIZES[name]
    form = draw(st.sampled_from(["number", "list", "array", "mask", "slice", "tuple", "variable", "named", "named"]))
    if form == "number":
        return draw(st.integers(-n, n - 1))
    if form == "slice":
        ends = st.none() | st.integers(-n, n)
        return slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, -1])))
    if form == "mask":
        return np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    if form in ("list", "array"):
        values = draw(st.lists(st.integers(-n, n - 1), max_size=4))
        return values if form == "list" else np.array(values, draw(st.sampled_from(["int8", "int64", ">i4"])))
    dims = draw(st.lists(st.sampled_from([*OWN, *SIZES]), max_size=2, unique=True))
    shape = [({**OWN, **SIZES})[dim] for dim in dims]
    values = np.array(draw(st.lists(st.integers(-n, n - 1), min_size=math.prod(shape), max_size=24)))
    values = np.resize(values, shape).astype("int64")
    if form == "tuple":
        return tuple(dims), values
    if form == "variable":
        return xr.Variable(dims, values)
    coords: dict[str, Any] = {"version": 5} if draw(st.booleans()) else {}
    if dims and draw(st.booleans()):
        coords |= {"p": ("p", ["u", "v", "w"])} if "p" in dims else {}
        coords |= {"y": CUBE.y} if "y" in dims else {}
        coords |= {"label": (dims[0], np.arange(shape[0]))}
    return xr.DataArray(values, coords, dims)


def outcome(call: Any) -> Any:
    """Return the result of a call, or None for an error."""
    try:
        return call()
    except (IndexError, ValueError, TypeError, KeyError):
        return None


@given(indices=indices(), lazy=st.booleans())
def test_a_gather_is_isel(indices: Any, lazy: bool) -> None:
    if lazy:
        pytest.importorskip("dask")
    cube, dataset = (each.chunk({"y": 2, "x": 3}) if lazy else each for each in (CUBE, DATASET))
    expected = outcome(lambda: CUBE.isel(indices))
    if expected is None:  # conflicting sizes or coordinates
        with pytest.raises((OpValueError, OpTypeError)):
            gsx.gather(cube, indices)
        return
    found = gsx.gather(cube, indices)
    assert (found.chunks is None) is (not lazy)
    found = found.compute(scheduler="sync")
    xr.testing.assert_identical(found, expected)
    assert found.dims == expected.dims
    assert {*found.indexes} == {*expected.indexes}
    xr.testing.assert_identical(gsx.gather(dataset, **indices).compute(scheduler="sync"), DATASET.isel(indices))


@given(indices=indices())
def test_lazy_indices_give_the_same(indices: Any) -> None:
    pytest.importorskip("dask")
    expected = outcome(lambda: CUBE.isel(indices))
    lazy = {name: one.chunk(2) if isinstance(one, xr.DataArray) else one for name, one in indices.items()}
    if expected is not None:
        found = gsx.gather(CUBE, lazy).compute(scheduler="sync")
        assert found.dims == expected.dims
        xr.testing.assert_equal(found.drop_indexes(found.indexes), expected.drop_indexes(expected.indexes))
        assert found.attrs == expected.attrs


def test_lazy_indices_are_not_computed() -> None:
    dask: Any = pytest.importorskip("dask")
    where = xr.DataArray([2, 0, 2], dims="p").chunk(2)

    def refuse(*given: Any, **options: Any) -> Any:
        raise AssertionError

    with dask.config.set(scheduler=refuse):
        found = gsx.gather(DATASET, y=where)
        assert found.row.chunks is not None
        gsx.gather(DATASET, y=where, mode="fill")
        gsx.gather(DATASET, y=where.astype(float), method="nearest")
        gsx.scatter(CUBE, y=where, updates=1.0, skipna=True, reduction="add")
    xr.testing.assert_equal(
        found.compute(), DATASET.isel(y=[2, 0, 2]).rename(y="p").drop_indexes("p").rename_vars(p="y")
    )


def test_lazy_coordinates_take_any_indices() -> None:
    pytest.importorskip("dask")  # dask's own indexing fails here
    where = {"y": xr.DataArray(np.zeros((3, 2), int), dims=("p", "q")), "x": []}
    xr.testing.assert_identical(gsx.gather(CUBE.chunk(2), where).compute(), CUBE.isel(where))


# ----------------------------------------------------------------------------------------------------------- labels

LABELS = {
    "numbers": ("y", xr.DataArray([12.0, 29.0, 10.0], dims="p", coords={"y": ("p", [1.0, 2.0, 3.0]), "note": 1})),
    "numbers with themselves as labels": ("y", xr.DataArray([12.0, 29.0], dims="y", coords={"y": [12.0, 29.0]})),
    "a number": ("y", 21.0),
    "a list": ("y", [10, 30]),
    "a box": ("y", xr.DataArray([[10.0, 29.9], [11.0, 12.0]], dims=("p", "t"))),
    "times": ("t", xr.DataArray(np.array(["2020-01-01T05", "2020-01-02"], "M8[s]"), dims="q")),
    "times as text": ("t", ["2020-01-02", "2020-01-01"]),
}


@pytest.mark.parametrize("method", ["exact", "nearest", "pad", "ffill", "backfill", "bfill"])
@pytest.mark.parametrize(("name", "labels"), LABELS.values(), ids=LABELS)
def test_labels_find_what_sel_finds(name: str, labels: Any, method: str) -> None:
    try:
        expected = CUBE.sel({name: labels}, method=None if method == "exact" else method)
    except KeyError:
        with pytest.raises(OpIndexError, match="is not a label of dimension"):
            gsx.gather(CUBE, {name: labels}, method=method)
        return
    xr.testing.assert_identical(gsx.gather(CUBE, {name: labels}, method=method), expected)


def test_labels_of_two_dimensions_go_together() -> None:
    cube = CUBE.assign_coords(x=[1.0, 2.0, 3.0, 4.0])
    y, x = xr.DataArray([11.0, 28.0, 19.0], dims="p"), xr.DataArray([3.3, 0.9, 4.2], dims="p")
    expected = cube.sel(y=y, x=x, method="nearest")
    xr.testing.assert_identical(gsx.gather(cube, y=y, x=x, method="nearest"), expected)
    pytest.importorskip("dask")
    found = gsx.gather(cube, y=y.chunk(2), x=x.chunk(1), method="nearest")
    xr.testing.assert_identical(found.compute(), expected)


def test_text_finds_labels() -> None:
    cube = CUBE.swap_dims(y="row")
    xr.testing.assert_identical(gsx.gather(cube, row=["c", "a"], method="exact"), cube.sel(row=["c", "a"]))


def test_labels_have_the_precision_of_the_coordinate() -> None:
    cube = CUBE.assign_coords(y=np.array([0.1, 0.2, 0.3], "float32"))
    xr.testing.assert_identical(gsx.gather(cube, y=[0.3], method="exact"), cube.sel(y=[0.3]))


def test_a_label_that_is_not_there() -> None:
    labels = xr.DataArray([[10.0, 99.0], [20.0, np.nan]], dims=("p", "q"))
    with pytest.raises(OpIndexError) as caught:
        gsx.scatter(CUBE, {"y": labels}, 1.0, method="exact")
    assert str(caught.value) == (
        "xarray.scatter: y[0, 1] = 99.0 is not a label of dimension 'y' (labels: 10.0..30.0); 2 of 4 labels are "
        "missing; method='nearest' takes the closest label"
    )
    assert (caught.value.count, caught.value.positions) == (2, ((0, 1), (1, 1)))
    with pytest.raises(OpIndexError, match=r"y = 14\.0 is not .* within a tolerance of 3"):
        gsx.gather(CUBE, y=14.0, method="nearest", tolerance=3)
    pytest.importorskip("dask")
    lazy = gsx.gather(CUBE, y=labels.fillna(10.0).chunk(1), method="exact")
    with pytest.raises(OpIndexError, match=r"y\[0, 1\] = 99\.0 is not a label"):
        lazy.compute()


def test_labels_that_are_far_leave_gaps() -> None:
    labels = [12.0, 17.0, 30.0]
    expected = CUBE.reindex(y=labels, method="nearest", tolerance=2, fill_value={"temperature": 0.0})
    found = gsx.gather(CUBE, y=labels, method="nearest", tolerance=2, mode="fill")
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.area.values, expected.area.values)
    np.testing.assert_array_equal(found.y.values, [10.0, np.nan, 30.0])
    ones = gsx.scatter(xr.zeros_like(CUBE), {"y": labels}, 1.0, method="nearest", tolerance=2, mode="drop")
    assert ones.sum(("t", "x")).values.tolist() == [8, 0, 8]


# -------------------------------------------------------------------------------------------- indices out of range


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(("mode", "inside"), [("wrap", [1, 2, 1]), ("clip", [1, 2, 0])])
def test_coordinates_are_those_of_the_element_that_is_read(mode: str, inside: Any, lazy: bool) -> None:
    where = xr.DataArray([1, 5 if mode == "wrap" else 3, -5], dims="p")
    if lazy:
        pytest.importorskip("dask")
    found = gsx.gather(CUBE, y=where.chunk(2) if lazy else where, mode=mode)
    xr.testing.assert_equal(found, CUBE.isel(y=xr.DataArray(inside, dims="p")))


@pytest.mark.parametrize("lazy", [False, True])
def test_coordinates_are_missing_where_values_are_filled(lazy: bool) -> None:
    where = xr.DataArray([1, 3, -1], dims="p")
    if lazy:
        pytest.importorskip("dask")
    found = gsx.gather(CUBE, y=where.chunk(2) if lazy else where, mode="fill").compute()
    inside = CUBE.isel(y=xr.DataArray([1, 2, 2], dims="p"))
    here = where != 3
    np.testing.assert_array_equal(found.values, inside.where(here, 0.0).values)
    for name in ("y", "area", "row"):
        xr.testing.assert_equal(found[name].variable, inside[name].variable.where(here.variable))
    assert found.height == 2.0
    if not lazy:
        all_inside = gsx.gather(CUBE, y=[0, 1], mode="fill")
        xr.testing.assert_identical(all_inside, CUBE.isel(y=[0, 1]))


def test_a_dimension_without_elements() -> None:
    nothing = CUBE.isel(y=slice(0))
    assert gsx.gather(nothing, y=[0, 1], mode="fill").y.isnull().all()
    with pytest.raises(OpIndexError, match=r"dimension 'y' with size 0 .no index is valid"):
        gsx.gather(nothing, y=[0], mode="clip")
    xr.testing.assert_identical(gsx.gather(nothing, y=[]), nothing)


# ---------------------------------------------------------------------------------------------------------- errors

WRONG = {
    "must be integers, not float64; for labels give method='nearest' or method='exact'": {"y": [10.0]},
    "must be integers, not datetime64": {"t": np.array(["2020"], "M8[D]")},
    "the mask along 'y' has 2 elements, but the dimension has 3": {"y": [True, False]},
    "2 dimensions without names; give a DataArray": {"y": [[1]]},
    "can't be made an array": {"y": (1, 2)},
    "indices along 'x' have 3 positions along 'p', others 2": {
        "y": xr.DataArray([1, 2], dims="p"),
        "x": xr.DataArray([1, 2, 0], dims="p"),
    },
    "coordinates of data and of the indices conflict": {
        "y": xr.DataArray([0, 1], dims="t", coords={"t": np.array(["2021-01-01", "2021-01-02"], "M8[ns]")})
    },
}


@pytest.mark.parametrize(("text", "where"), WRONG.items(), ids=WRONG)
def test_indices_that_do_not_fit(text: str, where: Any) -> None:
    with pytest.raises((OpTypeError, OpKeyValueError), match=text):
        gsx.gather(CUBE, where)


OPTIONS = {
    "mode must be one of 'raise', 'wrap', 'clip', 'fill', not 'drop'": {"mode": "drop"},
    "method must be one of 'exact', 'nearest'": {"method": "closest"},
    "mode 'wrap' is for positions; with labels give 'raise' or 'fill'": {"mode": "wrap", "method": "exact"},
    "tolerance needs an inexact method": {"tolerance": 1},
    "give indices as a mapping or as keyword arguments, not both": {"x": 1},
}


@pytest.mark.parametrize(("text", "options"), OPTIONS.items(), ids=OPTIONS)
def test_options_that_do_not_go_together(text: str, options: Any) -> None:
    with pytest.raises(OpValueError, match=text):
        gsx.gather(CUBE, {"y": [0]}, **options)


def test_dimensions_without_labels() -> None:
    with pytest.raises(OpValueError, match="the dimension 'x' has no labels; give positions, without method"):
        gsx.gather(CUBE, x=[1.0], method="nearest")
    with pytest.raises(OpValueError, match="labels along 'y' can't be looked up: they are not unique"):
        gsx.gather(CUBE.isel(y=[0, 0]), y=[1.0], method="exact")
    with pytest.raises(OpTypeError, match="labels along 'y' can't be a slice"):
        gsx.gather(CUBE, y=slice(1), method="exact")
    with pytest.raises(OpTypeError, match="indices must be a mapping from dimensions to indices, not list"):
        gsx.gather(CUBE, [0])


def test_an_index_of_pandas_adds_no_coordinate() -> None:
    cube = xr.DataArray(np.arange(3.0), dims="x", coords={"x": [10, 20, 30]})
    index = pd.Series([1, 2], index=[5, 6])
    for data in (cube, cube.drop_vars("x")):
        assert gsx.gather(data, x=index).identical(data.isel(x=index))


def test_labels_that_sel_takes_in_another_way_are_refused() -> None:
    hours = pd.date_range("2020-01-01", periods=48, freq="h")
    data = xr.DataArray(np.arange(48.0), dims="time", coords={"time": hours})
    with pytest.raises(TypeError, match=r"'2020-01-02' along 'time' can mean a period; give a datetime64"):
        gsx.gather(data, time="2020-01-02", method="exact")
    assert gsx.gather(data, time=["2020-01-02"], method="exact").item() == 24
    with pytest.raises(TypeError, match=r"the slice along 'time' must have integers; .* use data\.sel"):
        gsx.gather(data, time=slice("2020-01-01", "2020-01-02"))


@pytest.mark.parametrize(
    ("labels", "wanted", "end"),
    [
        (["a", "b", "c"], "q", r"\(labels: a\.\.c\)"),
        ([30, 10, 20], 11, r"\(3 labels, not sorted\)"),
        ([10, 20, 30], 11, r"\(labels: 10\.\.30\); method='nearest' takes the closest label"),
    ],
)
def test_nearest_is_suggested_only_where_it_works(labels: list[object], wanted: object, end: str) -> None:
    data = xr.DataArray(np.arange(3.0), dims="x", coords={"x": labels})
    with pytest.raises(IndexError, match=f"{end}$"):
        gsx.gather(data, x=wanted, method="exact")
