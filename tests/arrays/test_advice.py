"""The advice of errors about arrays, followed to the letter on cases at the edge."""

from __future__ import annotations

import importlib
import itertools
import math
import re
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.arrays.kinds import read_kinds, read_libraries

SETUPS = {row["kind"]: library["setup"] for library in read_libraries() for row in library["kinds"]}
TABLE = np.array([1.0, 10.0, 100.0])
TIMES = np.array(["2026-01-01T12", "2026-07-01T12"], "M8[h]")


class Case(NamedTuple):
    """An object ``x`` of a refused kind, what its error says to write, and what that must give.

    ``name`` is the input that gets the object. ``use`` is a call with the advice as ``{}``.
    """

    kind: str
    example: str
    advice: str
    expected: Any
    name: str = "data"
    use: str = "np.asarray({})"


def bags(kind: str, example: str, flat: str, ids: str, sums: tuple[float, ...] = (1.0, 0.0, 110.0, 0.0)) -> list[Case]:
    """Lists as bags: [0], [], [1, 2], []. The last one is empty."""
    use = "gs.gather_reduce(TABLE, " + flat + ", {})"
    return [Case(kind, example, flat, [0, 1, 2], "indices"), Case(kind, example, ids, list(sums), "indices", use)]


LISTS = "[[0], [], [1, 2], []]"
NULLS = "[[0], None, [1, 2], []]"
ARROW_IDS = "segment_ids=pc.list_parent_indices(x), num_segments=len(x)"
PANDAS = (
    "pc.list_flatten(pa.array(x))",
    "segment_ids=pc.list_parent_indices(pa.array(x)), num_segments=len(x)",
)
POLARS = (
    "x.filter(x.list.len() > 0).explode()",
    "segment_ids=np.repeat(np.arange(len(x)), x.list.len().fill_null(0)), num_segments=len(x)",
)
ARROW_LISTS = "pd.Series({}, dtype=pd.ArrowDtype(__import__('pyarrow').list_(__import__('pyarrow').int64())))"
BERLIN = ["2026-01-01T12:00", "2026-07-01T12:00"]  # winter and summer, in UTC
CATEGORIES = "pd.Categorical(['b', 'a', 'b'], categories=['c', 'b', 'a'])"

CASES = [
    Case("iterator", "iter([2, 0])", "list(x)", [2, 0]),
    Case("set", "{2, 0}", "sorted(x)", [0, 2]),
    Case("mapping", "{'a': 2, 'b': 0}", "list(x.values())", [2, 0]),
    Case("mapping", "{2: 'a', 0: 'b'}", "list(x)", [2, 0]),
    Case("view of a dict", "{2: 'a', 0: 'b'}.keys()", "list(x)", [2, 0]),
    Case(
        "slice",
        "slice(1, 3)",
        "gatherscatter.at(data)[start:stop:step]",
        [10, 100],
        "indices",
        "(start := 1, stop := 3, step := None, gs.at(TABLE)[start:stop:step].get())[-1]",
    ),
    Case("ellipsis", "...", "gatherscatter.at(data)[...]", [1, 10, 100], "indices", "gs.at(TABLE)[...].get()"),
    Case("masked array", "np.ma.array([2, 5], mask=[False, True])", "x.filled(value)", [2, -1], use="{}"),
    Case("labelled Series", "pd.Series([2, 0], index=[1, 0])", "x.to_numpy()", [2, 0]),
    Case("DataFrame of pandas", "pd.DataFrame({'a': [2, 0]})", "x.to_numpy()", [[2], [0]]),
    Case(
        "mixed DataFrame of pandas",
        "pd.DataFrame({'a': [2, 0], 'b': [0.5, 1.5]})",
        "x.to_numpy(dtype=...)",
        [[2, 0.5], [0, 1.5]],
        use="x.to_numpy(dtype=float)",
    ),
    Case("MultiIndex", "pd.MultiIndex.from_tuples([(2, 0), (0, 1)])", "x.to_frame().to_numpy()", [[2, 0], [0, 1]]),
    Case("MultiIndex", "pd.MultiIndex.from_tuples([('b', 1), (None, 1), ('b', 1)])", "x.factorize()[0]", [0, 1, 0]),
    Case("missing values of pandas", "pd.Series([2, None], dtype='Int64')", "x.fillna(value)", [2, -1]),
    Case(
        "categorical of pandas with missing values",
        "pd.Categorical([2, None, 0])",
        "x[x.notna()].codes",
        [1, 0],
        "indices",
    ),
    Case(
        "categorical of pandas with missing values",
        "pd.Series(['b', None, 'a'], dtype='category')",
        "x[x.notna()].cat.codes",
        [1, 0],
        "indices",
    ),
    Case(
        "categorical of pandas with missing values", "pd.Categorical([2, None, 0])", "x.to_numpy()", [2.0, np.nan, 0.0]
    ),
    Case(
        "missing values of Awkward Array",
        "ak.Array([[0], None, [1, 2]])",
        "ak.fill_none(x, [], axis=0)",
        [1, 0, 2],
        use="ak.num({})",
    ),
    Case("categorical of pandas", CATEGORIES, "x.codes", [1, 2, 1], "indices"),
    Case("categorical of pandas", f"pd.Series({CATEGORIES})", "x.cat.codes", [1, 2, 1], "indices"),
    Case("categorical of pandas", "pd.Categorical([7, 5, 7])", "x.to_numpy()", [7, 5, 7]),
    Case(
        "zone of pandas", "pd.DatetimeIndex(BERLIN, tz='UTC').tz_convert('Europe/Berlin')", "x.tz_convert(None)", TIMES
    ),
    Case(
        "zone of pandas",
        "pd.Series(pd.DatetimeIndex(BERLIN, tz='UTC').tz_convert('Europe/Berlin'))",
        "x.dt.tz_convert(None)",
        TIMES,
    ),
    Case(
        "zone of pandas",
        "pd.DatetimeIndex(['2026', None, '2026'], tz='UTC')",
        "pd.factorize(x, use_na_sentinel=False)[0]",
        [0, 1, 0],
        "indices",
    ),
    Case(
        "other type of pandas",
        "pd.PeriodIndex(['2026', None, '2026'], freq='D')",
        "pd.factorize(x, use_na_sentinel=False)[0]",
        [0, 1, 0],
        "indices",
    ),
    Case("sparse of pandas", "pd.arrays.SparseArray([2, 0])", "x.to_dense()", [2, 0]),
    Case("sparse of pandas", "pd.Series([2, 0], dtype='Sparse[int]')", "x.sparse.to_dense()", [2, 0]),
    *bags("lists of pandas", ARROW_LISTS.format(LISTS), *PANDAS),
    *bags("lists of pandas", ARROW_LISTS.format(NULLS), *PANDAS),
    *bags("lists of pandas", f"pd.Index({ARROW_LISTS.format(NULLS)})", *PANDAS),
    Case(
        "groups of pandas",
        "pd.Series(TABLE).groupby(pd.Categorical(['b', 'a', 'b'], categories=['a', 'b', 'c']), observed=False)",
        "gatherscatter.aggregate(x.ngroup(), values, size=len(x))",
        [10, 101, 0],
        "segment_ids",
    ),
    Case(
        "groups of pandas",
        "pd.Series(TABLE).groupby(['b', None, 'b'])",
        "groupby(..., dropna=False)",
        [101, 10],
        "segment_ids",
        "(x := pd.Series(TABLE).groupby(['b', None, 'b'], dropna=False), "
        "gs.aggregate(x.ngroup(), values, size=len(x)))[1]",
    ),
    Case("DataFrame of polars", "pl.DataFrame({'a': [2, 0]})", "x.to_numpy()", [[2], [0]]),
    Case(
        "mixed DataFrame of polars",
        "pl.DataFrame({'a': [2, None], 'b': [0.5, 1.5]})",
        "x.fill_null(value).cast(pl.Float64).to_numpy()",
        [[2, 0.5], [-1, 1.5]],
    ),
    Case("nulls of polars", "pl.Series([2, None])", "x.fill_null(value)", [2, -1]),
    Case(
        "categorical of polars",
        "pl.Series(['b', 'a', 'b'], dtype=pl.Enum(['c', 'b', 'a']))",
        "x.to_physical()",
        [1, 2, 1],
    ),
    Case("categorical of polars", "pl.Series(['b', 'a'], dtype=pl.Enum(['a', 'b']))", "x.cast(pl.String)", ["b", "a"]),
    Case(
        "zone of polars",
        "pl.Series(TIMES.astype('M8[us]')).dt.replace_time_zone('UTC').dt.convert_time_zone('Europe/Berlin')",
        "x.dt.convert_time_zone('UTC').dt.replace_time_zone(None)",
        TIMES,
    ),
    *bags("lists of polars", f"pl.Series({LISTS})", *POLARS),
    *bags("lists of polars", f"pl.Series({NULLS})", *POLARS),
    Case(
        "other type of polars",
        "pl.Series([{'a': 2}, {'a': 0}])",
        "x.struct.field(name)",
        [2, 0],
        use="x.struct.field('a')",
    ),
    Case("LazyFrame", "pl.LazyFrame({'a': [2, 0]})", "x.collect().to_numpy()", [[2], [0]]),
    Case("table of Arrow", "pa.table({'a': [2, 0]})", "x['a']", [2, 0]),
    Case(
        "table of Arrow",
        "pa.record_batch({'a': [2, 0], 'b': [1, 3]})",
        "np.stack([np.asarray(each) for each in x.columns], axis=-1)",
        [[2, 1], [0, 3]],
    ),
    Case("nulls of Arrow", "pa.array([9, 2, None]).slice(1)", "x.fill_null(value)", [2, -1]),
    Case("dictionary of Arrow", "pa.array([7, 5, 7]).dictionary_encode()", "x.cast(x.type.value_type)", [7, 5, 7]),
    Case(
        "dictionary of Arrow",
        "pa.array(['c', 'b', 'a', 'b']).dictionary_encode().slice(1)",
        "x.indices",
        [1, 2, 1],
        "indices",
    ),
    Case(
        "dictionary of Arrow",
        "pa.chunked_array([['b', 'a'], ['b']]).dictionary_encode()",
        "x.combine_chunks().indices",
        [0, 1, 0],
        "indices",
    ),
    Case(
        "zone of Arrow",
        "pa.array(TIMES.astype('M8[ns]') + 1, pa.timestamp('ns', 'Europe/Berlin'))",
        "x.cast(pa.timestamp(x.type.unit))",
        TIMES.astype("M8[ns]") + 1,
    ),
    *bags("lists of Arrow", f"pa.array([[9], *{LISTS}]).slice(1)", "pc.list_flatten(x)", ARROW_IDS),
    *bags("lists of Arrow", f"pa.array({NULLS})", "pc.list_flatten(x)", ARROW_IDS),
    *bags("lists of Arrow", f"pa.chunked_array([{LISTS}[:2], {LISTS}[2:]])", "pc.list_flatten(x)", ARROW_IDS),
    *bags("lists of Arrow", f"pa.array({LISTS}, pa.large_list(pa.int64()))", "pc.list_flatten(x)", ARROW_IDS),
    Case(
        "lists of Arrow of one length",
        "pa.array([[9, 9], [2, 0]], pa.list_(pa.int64(), 2)).slice(1)",
        "np.asarray(pc.list_flatten(x)).reshape(-1, x.type.list_size)",
        [[2, 0]],
    ),
    Case(
        "lists of Arrow of one length",
        "pa.array([], pa.list_(pa.int64(), 2))",
        "np.asarray(pc.list_flatten(x)).reshape(-1, x.type.list_size)",
        np.zeros((0, 2)),
    ),
    Case("other type of Arrow", "pa.array([{'a': 2}, {'a': 0}])", "x.field(name)", [2, 0], use="x.field('a')"),
    Case("scalar of Arrow", "pa.scalar(2)", "x.as_py()", 2),
    *bags(
        "lists of Awkward Array",
        f"ak.Array({LISTS})",
        "ak.flatten(x)",
        "segment_ids=np.repeat(np.arange(len(x)), ak.num(x)), num_segments=len(x)",
    ),
    Case(
        "missing values of Awkward Array",
        "ak.Array([[2, None], [0, 1]])",
        "ak.fill_none(x, value, axis=None)",
        [[2, -1], [0, 1]],
    ),
    Case("records of Awkward Array", "ak.Array([{'a': 2}, {'a': 0}])", "one field, as in x", [2, 0], use="x['a']"),
    Case("sparse array of SciPy", "scipy.sparse.csr_array([[0, 3], [4, 0]])", "x.toarray()", [[0, 3], [4, 0]]),
    Case(
        "sparse array of SciPy",
        "scipy.sparse.csc_matrix([[0, 3], [4, 0]])",
        "np.stack(x.tocoo().coords, -1)",
        [4, 3],
        "indices",
        "gs.gather_nd(x.toarray(), {})",
    ),
    Case(
        "sparse array of SciPy",
        "scipy.sparse.coo_array([[0, 3, 0], [2, 0, 4]])",
        "indices=x.indices, indptr=x.indptr, weights=x.data after x = x.tocsr()",
        [30, 402],
        "indices",
        "(x := x.tocsr(), "
        "gs.gather_reduce(TABLE, indices=x.indices, indptr=x.indptr, weights=x.data.astype(float)))[1]",
    ),
    Case("sparse array", "sparse.GCXS(np.array([[0, 3], [4, 0]]))", "x.todense()", [[0, 3], [4, 0]]),
    Case(
        "sparse array",
        "sparse.GCXS(np.array([[0, 3], [4, 0]]))",
        "x.asformat('coo').coords.T",
        [[0, 1], [1, 0]],
        "indices",
    ),
    Case("DataArray", "xr.DataArray([2, 0], dims='x')", "x.values", [2, 0]),
    Case("Variable", "xr.Variable('x', [2, 0])", "x.values", [2, 0]),
    Case(
        "groups of xarray",
        "xr.DataArray(TABLE, dims='t', coords={'g': ('t', [3, 1, 3])}).groupby('g')",
        "gatherscatter.xarray.aggregate(array, by)",
        [10, 50.5],
        "segment_ids",
        "gs.xarray.aggregate(xr.DataArray(TABLE, dims='t', coords={'g': ('t', [3, 1, 3])}), 'g').values",
    ),
    Case("lazy collection", "dask.delayed([2, 0])", "x.compute()", [2, 0]),
    Case("quantity", "[2, 0] * astropy.units.m", "x.value", [2, 0]),
    Case("pint quantity", "pint.Quantity([2, 0], 'm')", "x.magnitude", [2, 0]),
]
UNTESTED = {
    "file",
    "future",
    "array of a GPU",
    "expression of polars",
    "mixed table of Arrow",
    "Dataset",
}  # nothing to compute


def test_every_kind_has_a_case() -> None:
    assert {case.kind for case in CASES} | UNTESTED == set(read_kinds())


def call_with(name: str, value: Any) -> Any:
    """Give an object to a function as this input."""
    if name == "data":
        return gs.gather(value, [0])
    return gs.gather_reduce(TABLE, segment_ids=value) if name == "segment_ids" else gs.gather(TABLE, value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}: {case.advice}")
def test_the_advice_gives_the_right_numbers(case: Case) -> None:
    names: dict[str, Any] = {
        "gs": gs,
        "gatherscatter": gs,
        "TABLE": TABLE,
        "values": TABLE,
        "BERLIN": BERLIN,
        "TIMES": TIMES,
        "value": -1,
    }
    try:
        exec(f"import numpy as np\n{SETUPS[case.kind]}", names)
        if "pc." in case.advice:
            names |= {"pa": importlib.import_module("pyarrow"), "pc": importlib.import_module("pyarrow.compute")}
        importlib.import_module("gatherscatter.xarray") if "xarray" in case.advice else None
    except ImportError as error:
        pytest.skip(str(error))
    names[case.name] = eval(case.example, names)
    with pytest.raises(gs.OpTypeError) as caught:
        call_with(case.name, names[case.name])
    advice, use = (re.sub(r"\bx\b", case.name, text) for text in (case.advice, case.use))
    assert advice in str(caught.value)
    names[case.name] = eval(case.example, names)  # an iterator can be used only once
    found = eval(use.replace("{}", advice), names)
    np.testing.assert_array_equal(np.asarray(found), case.expected)


def followed(error: str, pattern: str, **names: Any) -> Any:
    """Evaluate the advice in an error."""
    found = re.search(pattern, error)
    assert found, error
    values = {"np": np, "broadcast_to": np.broadcast_to, "itertools": itertools} | names
    return [eval(each, values) for each in found.groups()]


DAY = np.timedelta64(1, "D")
LABELS = {
    "text": ["b", "a", "b"],
    "wide text": np.array(["b", "a", "b"], np.dtypes.StringDType()),
    "objects": np.array(["b", "a", "b"], object),
    "floats": [2.5, -np.inf, 2.5],
    "dates": np.datetime64("2026-01-01") + np.array([DAY, -DAY, DAY]),
    "dates of Python": [date(2026, 1, 2), date(2026, 1, 1), date(2026, 1, 2)],
    "complex numbers": [2j, 1j, 2j],
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_that_are_no_numbers(kind: str) -> None:
    calls = {
        "group_idx": lambda labels: gs.aggregate(labels, TABLE),
        "segment_ids": lambda labels: gs.gather_reduce(TABLE, segment_ids=labels),
    }
    for name, call in calls.items():
        with pytest.raises(gs.OpTypeError) as caught:
            call(LABELS[kind])
        (numbers,) = followed(str(caught.value), r"number the labels with (np\.unique.*)$", **{name: LABELS[kind]})
        assert call(numbers).tolist() == [10, 101]


def test_missing_labels_are_to_be_left_out() -> None:
    for labels in (["a", None], [1.5, np.nan], np.array(["2026", "NaT"], "M8[D]")):
        with pytest.raises(gs.OpTypeError, match="some labels are missing: leave out their positions in all inputs"):
            gs.aggregate(labels, TABLE[:2])


def test_lists_that_can_be_no_bags_get_no_advice_about_bags() -> None:
    for call in (
        lambda: gs.gather([[1], [2, 3]], [0]),
        lambda: gs.gather(TABLE, [[0], [1, 2]]),
        lambda: gs.gather_reduce(TABLE, [0, [1, 2]]),
        lambda: gs.gather_reduce(TABLE, [[[0]], [[1, 2], [0]]]),
        lambda: gs.gather_reduce(TABLE, segment_ids=[[0], [1, 2]]),
    ):
        with pytest.raises(gs.OpError) as caught:
            call()
        assert "bags" not in str(caught.value)


@pytest.mark.parametrize("lists", [[[0], [], [1, 2], []], [[], [2]], [[0, 1], [2], []]])
@pytest.mark.parametrize("kind", [list, "array of lists", "array of arrays"])
def test_lists_of_different_lengths(lists: list[list[int]], kind: Any) -> None:
    indices: Any = lists
    if kind is not list:
        indices = np.empty(len(lists), object)
        indices[:] = lists if kind == "array of lists" else [np.array(each, int) for each in lists]
    with pytest.raises(gs.OpError) as caught:
        gs.gather_reduce(TABLE, indices)
    flat, indptr = followed(str(caught.value), r"pass (list\(.*\)) and indptr=(np.*)$", indices=indices)
    assert gs.gather_reduce(TABLE, flat, indptr=indptr).tolist() == [TABLE[each].sum() for each in lists]


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("arrays", ["gs.gather_elements", "gs.onnx.GatherElements", "gs.openvino.GatherElements"])
def test_positions_along_an_axis(axis: int, arrays: str) -> None:
    data = np.random.default_rng(0).permutation(24).reshape(2, 3, 4)
    indices = data.argmax(axis)
    with pytest.raises(gs.OpValueError) as caught:
        eval(arrays)(data, indices, axis=axis)
    (kept,) = followed(str(caught.value), r"pass (indices\[.*\]) \(", indices=indices)
    np.testing.assert_array_equal(eval(arrays)(data, kept, axis=axis), data.max(axis, keepdims=True))
    updates = indices * 0
    with pytest.raises(gs.OpValueError) as caught:
        gs.scatter_elements(data, indices, updates, axis)
    given = {"indices": indices, "updates": updates}
    both = followed(str(caught.value), r"pass (indices\[.*\]) and (updates\[.*\]) \(", **given)
    np.testing.assert_array_equal(gs.scatter_elements(data, *both, axis).min(axis), np.zeros(updates.shape))


@pytest.mark.parametrize(
    ("data", "indices", "axis"), [((3, 4), (2,), 1), ((1, 4), (3, 2), 1), ((2, 3, 4), (3, 5), -1), ((4, 1), (2, 3), 0)]
)
def test_shapes_that_numpy_would_broadcast(data: tuple[int, ...], indices: tuple[int, ...], axis: int) -> None:
    """`numpy.take_along_axis` broadcasts arrays of equal rank."""
    given = {"data": np.arange(math.prod(data)).reshape(data), "indices": np.ones(indices, int)}
    with pytest.raises(gs.OpValueError) as caught:
        gs.gather_elements(**given, axis=axis)
    found = re.search(r"pass broadcast_to\((\w+),", str(caught.value))
    assert found
    (changed,) = followed(str(caught.value), r"pass (broadcast_to\(.*?\)\)) of NumPy", **given)
    by_numpy = given["indices"].reshape((1,) * (len(data) - len(indices)) + indices)
    expected = np.take_along_axis(given["data"], by_numpy, axis)
    np.testing.assert_array_equal(gs.gather_elements(**given | {found[1]: changed}, axis=axis), expected)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors() -> None:
    torch = pytest.importorskip("torch")
    for layout in (torch.strided, torch.jagged):
        lists = [torch.tensor([0]), torch.tensor([], dtype=torch.int64), torch.tensor([1, 2])]
        indices = torch.nested.nested_tensor(lists, layout=layout)
        with pytest.raises(gs.OpTypeError) as caught:
            gs.gather_reduce(torch.from_numpy(TABLE), indices)
        pattern = r"use (torch\.cat.*), and for bags indptr=(.*)$"
        flat, indptr = followed(str(caught.value), pattern, indices=indices, torch=torch)
        assert gs.gather_reduce(torch.from_numpy(TABLE), flat, indptr=indptr).tolist() == [1, 0, 110]
