"""gatherscatter.xarray: calls by names, compared with xarray's indexing and loops over positions."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import OpIndexError, OpTypeError

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
    "walked along, with its own elements": {"y": of([1, 0], [2, 2], dims=("t", "p")), "x": of(0, 3, dims="p")},
}


@pytest.mark.parametrize("indices", INDICES.values(), ids=INDICES)
def test_a_gather_is_what_isel_is(indices: Any) -> None:
    found, expected = gsx.gather(DATA, indices), DATA.isel(indices)
    xr.testing.assert_identical(found, expected)
    assert found.dims == expected.dims


@pytest.mark.parametrize("reduction", ["none", "add", "max"])
@pytest.mark.parametrize("indices", INDICES.values(), ids=INDICES)
def test_a_scatter_visits_position_after_position(indices: Any, reduction: str) -> None:
    slots = gsx.gather(DATA, indices)
    updates = slots.copy(data=np.random.default_rng(0).normal(10, 5, slots.shape))
    found = gsx.scatter(DATA, indices, updates, reduction=reduction)
    number = DATA.copy(data=np.arange(24).reshape(DATA.shape))
    elements = gsx.gather(number, indices).values.ravel()
    expected = DATA.values.ravel().copy()
    for element, update in zip(elements, updates.values.ravel(), strict=True):
        before = expected[element]
        expected[element] = {"none": update, "add": before + update, "max": max(before, update)}[reduction]
    np.testing.assert_array_equal(found.values.ravel(), expected)
    assert found.dims == DATA.dims
    assert found.attrs == DATA.attrs
    xr.testing.assert_equal(found.coords.to_dataset(), DATA.coords.to_dataset())


def test_coordinates_stay_where_they_make_sense() -> None:
    stations = xr.DataArray([2, 0], dims="station", coords={"station": ["a", "b"]})
    found = gsx.gather(DATA, {"y": stations})
    assert set(found.coords) == {"t", "y", "area", "station"}
    assert found.station.values.tolist() == ["a", "b"]
    assert found.y.values.tolist() == [30, 10]
    assert found.dims == ("t", "station", "x")


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


# ------------------------------------------------------------------------------------------------- forms of a scatter

WHERE = {"y": of(2, 0, 2, dims="p"), "x": of(1, 1, -3, dims="p")}


def test_indices_by_name() -> None:
    expected = gsx.scatter(DATA, WHERE, 1.0, reduction="add")
    xr.testing.assert_identical(gsx.scatter(DATA, updates=1.0, reduction="add", **WHERE), expected)
    with pytest.raises(TypeError, match=r"updates is missing; with indices as keyword arguments, write updates=\.\.\."):
        gsx.scatter(DATA, 1.0, **WHERE)
    with pytest.raises(ValueError, match="as a mapping or as keyword arguments, not both"):
        gsx.scatter(DATA, WHERE, 1.0, t=0)
    modes = DATA.rename(t="mode")
    assert gsx.scatter(modes, {"mode": 1}, 0.0).sum() == DATA[0].sum()


NEW_OBJECT = "; use the result, which is a new object; to change data in place, write data[...] = updates, or call an"
UNKNOWN = {
    "out": f"{NEW_OBJECT} array function such as gatherscatter.scatter_nd on data.values with out=data.values",
    "inplace": "; use data[...] = updates, which writes in place: the result is a new object",
    "copy": "; use the call without it: the result is a new object",
    "tolerances": "; did you mean 'tolerance'?",
    "methods": "; did you mean 'method'?",
    "where": "; use indices of the chosen elements",
}


@pytest.mark.parametrize("data", [DATA, DATA.to_dataset()], ids=["array", "dataset"])
@pytest.mark.parametrize(("name", "advice"), UNKNOWN.items(), ids=UNKNOWN)
def test_unknown_keywords_get_advice(name: str, advice: str, data: Any) -> None:
    given = {name: DATA.values}
    calls = {
        "gather": [lambda: gsx.gather(data, WHERE, **given), lambda: gsx.gather(data, **WHERE, **given)],
        "scatter": [
            lambda: gsx.scatter(data, WHERE, 1.0, **given),
            lambda: gsx.scatter(data, updates=1.0, **WHERE, **given),
        ],
    }
    for function, (first, second) in calls.items():
        text = f"xarray.{function}() got an unexpected keyword argument '{name}'{advice}"
        for call in (first, second):
            with pytest.raises(OpTypeError, match=re.escape(text)) as caught:
                call()
            assert caught.value.input == name


def test_an_unknown_keyword_next_to_indices_is_not_an_index() -> None:
    with pytest.raises(OpTypeError, match=r"unexpected keyword argument 'reduce'; did you mean 'reduction'\?"):
        gsx.scatter(DATA, WHERE, 1.0, reduce="add")
    takes = "'missing_dims'; it takes data, indices, mode, negative, method, tolerance$"
    with pytest.raises(OpTypeError, match=rf"^xarray\.gather\(\) got an unexpected keyword argument {takes}"):
        gsx.gather(DATA, WHERE, missing_dims="ignore")


def test_a_dimension_can_have_any_name() -> None:
    data = DATA.rename(t="out", y="where", x="methods")
    found = gsx.gather(data, out=1, where=[0, 2], methods=[3])
    xr.testing.assert_identical(found, data.isel(out=1, where=[0, 2], methods=[3]))
    with pytest.raises(ValueError, match=r"there is no 'method_'; did you mean 'methods'\?"):
        gsx.gather(data, method_=1)
    with pytest.raises(ValueError, match=r"for the dimensions of data, 't', 'y', 'x'; there is no 'z'$"):
        gsx.gather(DATA, z=1)


def test_an_array_without_names_has_the_last_dimensions() -> None:
    box = np.arange(12.0).reshape(3, 4)
    xr.testing.assert_identical(
        gsx.scatter(DATA, {"t": 1}, box), gsx.scatter(DATA, {"t": 1}, of(*box, dims=("y", "x")))
    )
    expected = DATA.copy(deep=True)
    expected[{"t": 1}] = box
    xr.testing.assert_identical(gsx.scatter(DATA, {"t": 1}, box), expected)
    with pytest.raises(ValueError, match="updates have 3 dimensions, but at most 2 fit: 'y': 3, 'x': 4"):
        gsx.scatter(DATA, {"t": 1}, box[None])


def test_a_scatter_is_the_assignment_of_xarray() -> None:
    for where in (WHERE, {"y": [2, 0]}, {"t": slice(1), "x": 3}, {"y": np.array([True, False, True]), "x": [0, 3]}):
        expected = DATA.copy(deep=True)
        expected[where] = 7.0
        xr.testing.assert_identical(gsx.scatter(DATA, where, 7.0), expected)


def test_updates_with_other_labels_are_refused() -> None:
    updates = xr.DataArray([1.0, 2.0], dims="t", coords={"t": [2, 1]})
    with pytest.raises(ValueError, match="updates have other labels along 't' than data; align them"):
        gsx.scatter(DATA, WHERE, updates)
    xr.testing.assert_identical(
        gsx.scatter(DATA, WHERE, updates.sortby("t")), gsx.scatter(DATA, WHERE, of(2.0, 1.0, dims="t"))
    )
    stations = WHERE["y"].assign_coords(p=["a", "b", "c"])
    with pytest.raises(ValueError, match="updates have other labels along 'p' than indices along 'y'"):
        gsx.scatter(DATA, {"y": stations}, xr.DataArray([1.0] * 3, dims="p", coords={"p": ["a", "c", "b"]}))
    years = xr.DataArray([0, 1], dims="t", coords={"t": [2, 1]})
    with pytest.raises(ValueError, match="indices along 'y' have other labels along 't' than data"):
        gsx.scatter(DATA, {"y": years}, 1.0)


DATASET = xr.Dataset({"height": DATA, "depth": -DATA, "year": ("t", [3, 4])}, attrs={"source": "made"})


def test_a_dataset_is_its_variables() -> None:
    one = gsx.scatter(DATASET, WHERE, 1.0, reduction="add")
    xr.testing.assert_identical(one.height, gsx.scatter(DATA, WHERE, 1.0, reduction="add").rename("height"))
    xr.testing.assert_identical(one.depth, gsx.scatter(DATASET.depth, WHERE, 1.0, reduction="add"))
    xr.testing.assert_identical(one.year, DATASET.year)
    assert one.attrs == DATASET.attrs
    updates = xr.Dataset({"depth": ("p", [1.0, 2.0, 3.0])})
    some = gsx.scatter(DATASET, updates=updates, **WHERE)
    xr.testing.assert_identical(some.depth, gsx.scatter(DATASET.depth, WHERE, updates.depth))
    xr.testing.assert_identical(some.drop_vars("depth"), DATASET.drop_vars("depth"))


def test_datasets_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="updates have a variable 'width', which data lacks"):
        gsx.scatter(DATASET, WHERE, xr.Dataset({"width": 1.0}))
    with pytest.raises(
        ValueError, match="the variable 'year' does not have the dimension 'y'; choose variables that do"
    ):
        gsx.scatter(DATASET, {"t": 0, "y": 0}, 1.0)
    with pytest.raises(ValueError, match="the variable 'year' does not have the dimension 'y'"):
        gsx.scatter(DATASET, WHERE, xr.Dataset({"year": 1.0}))
    with pytest.raises(TypeError, match="updates are a Dataset, but data is a DataArray"):
        gsx.scatter(DATA, WHERE, xr.Dataset({"height": 1.0}))
    with pytest.raises(TypeError, match="can't be stored") as caught:
        gsx.scatter(DATASET, WHERE, "text")
    assert caught.value.__notes__ == ["in the variable 'height'"]


# ---------------------------------------------------------------------------------------------------- missing values


def reduce_present(reduction: str, members: list[float]) -> float:
    """Reduce the members that are not missing, with xarray. Without any, the result is missing."""
    if reduction == "none":
        return members[-1]
    names = {"add": "sum", "mul": "prod"}
    return float(getattr(xr.DataArray(members), names.get(reduction, reduction))(skipna=True))


def scatter_present(data: Any, elements: Any, updates: Any, reduction: str, include_self: bool) -> Any:
    """Compute a scatter with skipna, element by element."""
    result = data.copy()
    for element in np.unique(elements):
        pairs = zip(elements, updates, strict=True)
        members = [update for at, update in pairs if at == element and not np.isnan(update)]
        own = [data[element]] if include_self and reduction != "none" else []
        if members:
            result[element] = reduce_present(reduction, own + members)
    return result


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    ("reduction", "include_self"),
    [("none", True), *itertools.product(["add", "mul", "min", "max", "mean"], [True, False])],
)
@pytest.mark.parametrize("dims", [("p",), ("p", "t"), ("t",)])
def test_missing_updates_are_not_counted(dims: Any, reduction: str, include_self: bool, lazy: bool) -> None:
    if lazy:
        pytest.importorskip("dask")
    rng = np.random.default_rng(1)
    where = {"y": xr.DataArray(rng.integers(0, 3, 12), dims="p"), "x": xr.DataArray(rng.integers(0, 4, 12), dims="p")}
    updates = xr.DataArray(rng.integers(-4, 5, [{"p": 12, "t": 2}[dim] for dim in dims]).astype(float), dims=dims)
    updates = updates.where(rng.random(updates.shape) < 0.6)
    updates[{dims[0]: 0}] = np.nan
    data = DATA.where(xr.DataArray(rng.random(DATA.shape) < 0.7, dims=DATA.dims))
    full = updates.broadcast_like(xr.DataArray(np.zeros((2, 12)), dims=("t", "p"))).transpose("t", "p")
    flat = np.arange(24).reshape(DATA.shape)[:, where["y"].values, where["x"].values]
    expected = scatter_present(data.values.ravel(), flat.ravel(), full.values.ravel(), reduction, include_self)
    given = (data.chunk({"y": 2}), {name: one.chunk(5) for name, one in where.items()}) if lazy else (data, where)
    found = gsx.scatter(
        *given, updates.chunk(3) if lazy else updates, reduction=reduction, include_self=include_self, skipna=True
    )
    assert (found.chunks is not None) is lazy
    np.testing.assert_allclose(found.values.ravel(), expected, rtol=1e-15)
    xr.testing.assert_identical(found.compute().copy(data=data.values), data)  # everything except the values


def test_missing_values_of_every_type() -> None:
    grid = xr.DataArray(np.array(["2020", "2021", "2022"], "M8[ns]"), dims="x")
    found = gsx.scatter(grid, {"x": [0, 1]}, np.array(["NaT", "2030"], "M8[ns]"), skipna=True)
    assert found.values.astype("M8[Y]").astype(str).tolist() == ["2020", "2030", "2022"]
    counts = xr.DataArray([1, 2], dims="x")
    assert gsx.scatter(counts, {"x": [1, 1]}, [3, 4], reduction="add", skipna=True).values.tolist() == [1, 9]
    words = xr.DataArray(np.array(["a", "b"], object), dims="x")
    assert gsx.scatter(words, {"x": [0, 1]}, np.array(["c", None], object), skipna=True).values.tolist() == ["c", "b"]


def test_a_bad_index_is_an_error_with_skipna_too() -> None:
    for lazy in (False, True):
        where = of(0, 3, dims="p")
        if lazy:
            pytest.importorskip("dask")
        with pytest.raises(OpIndexError, match=r"y\[1\] = 3 is out of range for dimension 'y'"):
            gsx.scatter(DATA, {"y": where.chunk(1) if lazy else where}, np.nan, skipna=True).compute()


def test_errors() -> None:
    with pytest.raises(OpIndexError, match="3 is out of range for dimension 'y' with size 3"):
        gsx.gather(DATA, {"y": [3]})
    with pytest.raises(ValueError, match="there is no 'z'"):
        gsx.gather(DATA, {"z": [0]})
    with pytest.raises(ValueError, match="none is given"):
        gsx.gather(DATA, {})
    with pytest.raises(TypeError, match="along 'y' must be integers"):
        gsx.gather(DATA, {"y": [0.5]})
    with pytest.raises(TypeError, match="must be a DataArray or a Dataset, not ndarray"):
        gsx.gather(DATA.values, {"y": [0]})
    with pytest.raises(
        ValueError, match="a dimension 'q' of size 2; the dimensions must be among 't': 2, 'p': 1, 'x': 4"
    ):
        gsx.scatter(DATA, {"y": of(0, dims="p")}, of(1.0, 2.0, dims="q"))
    other_years = xr.DataArray([0, 1], dims="t", coords={"t": [2, 1]})
    with pytest.raises(ValueError, match="coordinates of data and of the indices conflict"):
        gsx.gather(DATA, {"y": other_years})
    assert gs.xarray is gsx


# --------------------------------------------------------------------------------------------------- array functions

LOSING = {
    "gather": lambda x: gs.gather(x, [0]),
    "gather_elements": lambda x: gs.gather_elements(x, np.zeros((2, 3, 4), int)),
    "gather_nd": lambda x: gs.gather_nd(x, [[0]]),
    "gather_reduce": lambda x: gs.gather_reduce(x, [[0]]),
    "scatter_update": lambda x: gs.scatter_update(x, [], np.zeros((0, 3, 4))),
    "scatter_elements": lambda x: gs.scatter_elements(x, np.zeros((2, 3, 4), int), np.zeros((2, 3, 4))),
    "scatter_nd": lambda x: gs.scatter_nd(x, [[0, 0, 0]], [1.0]),
    "at.get": lambda x: gs.at(x)[0].get(),
    "at.add": lambda x: gs.at(x)[[0]].add(1.0),
    "onnx.Gather-13": lambda x: gs.onnx.Gather(x, [0]),
    "openvino.EmbeddingBagPackedSum-3": lambda x: gs.openvino.EmbeddingBagPackedSum(x, [[0]]),
    "tensor_scatter": lambda x: gs.tensor_scatter(x, np.zeros((2, 1, 4))),
    "gather_tree": lambda x: gs.gather_tree(x, np.zeros((2, 3, 4), int), [1, 1, 1], 0),
}


@pytest.mark.parametrize(("name", "call"), LOSING.items(), ids=LOSING)
def test_names_are_not_lost_by_array_functions(name: str, call: Any) -> None:
    first = {"openvino.EmbeddingBagPackedSum-3": "emb_table", "tensor_scatter": "past_cache", "gather_tree": "step_ids"}
    text = f"{name}: {first.get(name, 'data')} is a DataArray, whose dimension names would be lost; use gatherscatter"
    with pytest.raises(OpTypeError, match=re.escape(text)):
        call(DATA)
    with pytest.raises(OpTypeError, match="is a Variable, whose dimension names would be lost"):
        call(DATA.variable)
    with pytest.raises(OpTypeError, match="is a Dataset; use gatherscatter"):
        call(DATASET)


def test_other_inputs_may_have_names() -> None:
    rows, updates = of(1, 0, dims="p"), of(5.0, 6.0, dims="p")
    assert gs.gather(np.arange(3), rows).tolist() == [1, 0]
    assert gs.scatter_update(np.zeros(2), rows, updates).tolist() == [6, 5]
    with pytest.raises(OpTypeError, match="indices is a Dataset"):
        gs.gather(np.arange(3), rows.to_dataset(name="rows"))


def test_lazy_array_functions_lose_no_names() -> None:
    da: Any = pytest.importorskip("dask.array")
    for data in (DATA, DATA.chunk(1)):
        with pytest.raises(OpTypeError, match="gather: data is a DataArray, whose dimension names would be lost"):
            gs.gather(data, da.zeros(2, dtype=int))
    with pytest.raises(OpTypeError, match="gather: data is a DataArray"):
        gs.gather(DATA.chunk(1), [0])


def test_labels_of_updates_are_those_of_the_elements() -> None:
    data = xr.DataArray(np.zeros(3), dims="x", coords={"x": [10, 20, 30]})
    updates = xr.DataArray([1.0, 2.0], dims="x", coords={"x": [20, 30]})
    for elements, method in (([1, 2], None), ([20, 30], "exact")):
        assert gs.xarray.scatter(data, {"x": elements}, updates, method=method).values.tolist() == [0, 1, 2]
    with pytest.raises(gs.OpValueError, match="updates have other labels along 'x' than the indexed elements"):
        gs.xarray.scatter(data, {"x": [0, 1]}, updates)
    assert gs.xarray.scatter(data, {"x": [0, 1]}, updates.drop_vars("x")).values.tolist() == [1, 2, 0]
    with pytest.raises(gs.OpTypeError, match="skipna must be True or False, not 'no'"):
        gs.xarray.scatter(data, {"x": [0, 1]}, updates.drop_vars("x"), skipna="no")
