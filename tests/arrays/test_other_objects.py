"""Every input of every public function takes each kind of object, or says what it is and what to write."""

from __future__ import annotations

import importlib
import re
from array import array
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import gatherscatter as gs
import gatherscatter_models as gm
from gatherscatter.arrays.kinds import read_libraries
from gatherscatter_models.interface import ModelError

KINDS = [row | {"setup": library["setup"]} for library in read_libraries() for row in library["kinds"]]
EXAMPLES = {row["kind"]: row for row in KINDS if "example" in row}
LABELLED = ("data", "past_cache", "emb_table", "step_ids")

# Objects without a row: an error names their class.
OTHERS = {
    "a function": len,
    "the class int": int,
    "an object": object(),
    "a module": re,
    "None": None,
    "text": "abc",
    "ragged lists": [[0], [1, 2]],
    "a list with None": [0, None, 1],
    "an array of objects": np.array([0, None, 1], object),
    "floats": [0.5, 1.0],
    "records": np.zeros(3, [("a", "i8"), ("b", "i8")]),
    "a list of masked arrays": [np.ma.array([0, 1], mask=[True, False])] * 2,
    "a tuple of arrays": (np.array([0, 1]), np.array([1, 0])),
}


class Call(NamedTuple):
    function: Callable[..., Any]
    inputs: dict[str, Any]
    integers: tuple[str, ...] = ("indices",)


X, ROWS, U = np.arange(12.0).reshape(3, 4), np.array([2, 0, 1]), np.ones((3, 4))
TUPLES, LINES = np.array([[0, 1], [2, 3]]), np.array([[0, 1, 2, 0]] * 3)
BAGS = ("indices", "offsets", "segment_ids", "indptr")


def call(function: Callable[..., Any], integers: tuple[str, ...] = ("indices",), **inputs: Any) -> Call:
    return Call(function, inputs, integers)


def numpy_calls() -> dict[str, Call]:
    steps = np.zeros((2, 1, 3), int)
    edges = gs.prepare([[0, 1], [2, 2]], (3, 3))
    rows = gs.prepare(ROWS, 3)
    return {
        "gather": call(gs.gather, data=X, indices=ROWS),
        "gather_elements": call(gs.gather_elements, data=X, indices=LINES),
        "gather_nd": call(gs.gather_nd, data=X, indices=TUPLES),
        "scatter_update": call(gs.scatter_update, data=X, indices=ROWS, updates=U),
        "scatter_elements": call(gs.scatter_elements, data=X, indices=LINES, updates=U),
        "scatter_nd": call(gs.scatter_nd, data=X, indices=TUPLES, updates=np.ones(2)),
        "gather_reduce": call(
            gs.gather_reduce, BAGS, data=X, indices=ROWS, offsets=np.array([0, 2]), weights=np.ones(3)
        ),
        "gather_reduce by ids": call(gs.gather_reduce, BAGS, data=X, segment_ids=ROWS),
        "gather_reduce by indptr": call(gs.gather_reduce, BAGS, data=X, indices=ROWS, indptr=np.array([0, 1, 3])),
        "tensor_scatter": call(
            gs.tensor_scatter,
            ("write_indices",),
            past_cache=np.zeros((2, 3, 4)),
            update=np.ones((2, 1, 4)),
            write_indices=np.array([0, 1]),
        ),
        "gather_tree": call(
            gs.gather_tree, (), step_ids=steps, parent_ids=steps, max_seq_len=np.array([2]), end_token=np.array(9)
        ),
        "at.get": call(lambda data, key: gs.at(data)[key].get(), ("key",), data=X, key=ROWS),
        "at.add": call(lambda data, key, values: gs.at(data)[key].add(values), ("key",), data=X, key=ROWS, values=U),
        "inspect": call(lambda indices: gs.inspect(indices, (3, 4), axis=0), indices=ROWS),
        "plan": call(
            lambda data, indices, updates: gs.plan("scatter_update", data, indices, updates),
            data=X,
            indices=ROWS,
            updates=U,
        ),
        "plan of bags": call(lambda data, indices: gs.plan("gather_reduce", data, indices), data=X, indices=TUPLES),
        "prepare": call(lambda indices: gs.prepare(indices, 3), indices=ROWS),
        "Prepared.gather": call(rows.gather, data=X),
        "Prepared.scatter": call(rows.scatter, data=X, updates=U),
        "Prepared.sum": call(rows.sum, updates=U),
        "Prepared.reduce": call(lambda updates: rows.reduce(updates, "sum"), updates=U),
        "Prepared.propagate": call(edges.propagate, data=X, weights=np.ones(2)),
        "onnx.Gather": call(gs.onnx.Gather, data=X, indices=ROWS),
        "onnx.ScatterND": call(gs.onnx.ScatterND, data=X, indices=TUPLES, updates=np.ones(2)),
        "openvino.Gather": call(gs.openvino.Gather, ("indices", "axis"), data=X, indices=ROWS, axis=np.array(0)),
        "openvino.EmbeddingSegmentsSum": call(
            gs.openvino.EmbeddingSegmentsSum,
            ("indices", "segment_ids", "num_segments"),
            emb_table=X,
            indices=ROWS,
            segment_ids=np.array([0, 0, 1]),
            num_segments=np.array(2),
        ),
    }  # fmt: skip


def run_call() -> dict[str, Call]:
    helper: Any = importlib.import_module("onnx.helper")
    graph = helper.make_graph(
        [helper.make_node("Gather", ["x", "i"], ["y"])],
        "gather",
        [helper.make_tensor_value_info("x", 11, [None, None]), helper.make_tensor_value_info("i", 7, [None])],
        [helper.make_tensor_value_info("y", 11, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return {"run": call(lambda x, i: gm.run(model, {"x": x, "i": i}), ("i",), x=X, i=ROWS)}


MOVES = ("gather", "gather_elements", "gather_nd", "scatter_update", "scatter_elements", "scatter_nd", "gather_reduce")


def framework_calls(framework: str, convert: Callable[[str, np.ndarray], Any]) -> dict[str, Call]:
    """Return the calls of the functions of a framework, with converted inputs."""
    module: Any = importlib.import_module(f"gatherscatter.{framework}")
    calls = numpy_calls()
    return {
        f"{framework}.{name}": Call(
            getattr(module, name), {key: convert(key, value) for key, value in calls[name].inputs.items()}, BAGS
        )
        for name in MOVES
    }


def torch_calls() -> dict[str, Call]:
    torch: Any = importlib.import_module("torch")
    module: Any = importlib.import_module("gatherscatter.torch")
    segment: Any = importlib.import_module("gatherscatter.torch.segment")
    calls = framework_calls("torch", lambda _, value: torch.from_numpy(value))
    inputs = {"src": torch.from_numpy(X), "index": torch.from_numpy(ROWS)}
    for name in ("scatter_sum", "scatter_max", "scatter_softmax", "scatter_std", "scatter_logsumexp"):
        calls[f"segment.{name}"] = Call(partial(getattr(segment, name), dim=0), inputs, ("index",))
    pointers = {"src": inputs["src"], "indptr": torch.tensor([0, 1, 3])}
    calls["segment.segment_csr"] = Call(segment.segment_csr, pointers, ("indptr",))
    calls["segment.segment_coo"] = Call(segment.segment_coo, inputs, ("index",))
    calls["segment.gather_coo"] = Call(segment.gather_coo, inputs, ("index",))
    bags = {"input": inputs["index"], "offsets": torch.tensor([0, 2])}
    calls["EmbeddingBag"] = Call(module.EmbeddingBag(3, 4), bags, ("input", "offsets"))
    return calls


def jax_calls() -> dict[str, Call]:
    jnp: Any = importlib.import_module("jax.numpy")
    return framework_calls("jax", lambda _, value: jnp.asarray(value))


def dask_calls() -> dict[str, Call]:
    array: Any = importlib.import_module("dask.array")
    return framework_calls("dask", lambda key, value: array.from_array(value) if key == "data" else value)


def xarray_calls() -> dict[str, Call]:
    xarray: Any = importlib.import_module("xarray")
    module: Any = importlib.import_module("gatherscatter.xarray")
    data = xarray.DataArray(X, dims=("row", "column"))

    def scatter(row: Any, updates: Any) -> Any:
        return module.scatter(data, {"row": row}, updates)

    return {
        "xarray.gather": call(lambda row: module.gather(data, {"row": row}), ("row",), row=ROWS),
        "xarray.scatter": call(scatter, ("row",), row=ROWS, updates=U),
    }


def zarr_calls() -> dict[str, Call]:
    zarr: Any = importlib.import_module("zarr")
    module: Any = importlib.import_module("gatherscatter.zarr")
    array = zarr.create_array(zarr.storage.MemoryStore(), data=X, chunks=(2, 2))
    known = numpy_calls()
    return {
        f"zarr.{name}": Call(
            partial(getattr(module, name), array),
            {key: value for key, value in known[name].inputs.items() if key != "data"},
        )
        for name in ("gather", "gather_nd", "gather_elements", "scatter_update", "scatter_nd")
    }


GROUPS = {
    "numpy": numpy_calls,
    "onnx": run_call,
    "torch": torch_calls,
    "jax": jax_calls,
    "dask": dask_calls,
    "xarray": xarray_calls,
    "zarr": zarr_calls,
}


# Keys take slices and integers of any class, and updates of xarray can be a Dataset.
OF_KEYS = {("slice", "key"), ("slice", "row"), ("ellipsis", "key"), ("scalar of Arrow", "key"), ("Dataset", "updates")}


def make_example(row: dict[str, str]) -> Any:
    names: dict[str, Any] = {}
    try:
        exec(row["setup"], names)
    except ImportError as error:
        pytest.skip(str(error))
    return eval(row["example"], names)


def outcome(each: Call, name: str, value: Any) -> Any:
    """Return the result, or the error. Any other error fails the test."""
    try:
        return each.function(**{**each.inputs, name: value})
    except (gs.OpError, ModelError) as error:
        text = str(error)
        assert "\n" not in text, text
        assert len(text) < 500, text
        return error


def names_instead(row: dict[str, str], text: str) -> bool:
    """Whether a message says what to write instead, for any name of the input."""
    advice = {row["instead"], row.get("of_indices", row["instead"])}
    patterns = (map(re.escape, each.split("{}")) for each in advice)
    return any(re.search("; use " + r"[\w\[\]'.]+".join(parts), text) for parts in patterns)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("kind", EXAMPLES)
@pytest.mark.filterwarnings("ignore")
def test_every_input_takes_or_refuses_a_kind(group: str, kind: str) -> None:
    pytest.importorskip(group)
    row = EXAMPLES[kind]
    value = make_example(row)
    for function, each in GROUPS[group]().items():
        for name in each.inputs:
            found = outcome(each, name, value)
            refused = row.get("refused") == "everywhere" or ("refused" in row and name in LABELLED)
            if refused and (kind, name) not in OF_KEYS:
                assert isinstance(found, gs.OpTypeError | ModelError), (function, name, found)
                assert names_instead(row, str(found)), (function, name, str(found))
            elif isinstance(found, Exception):
                assert not re.search(r"; use .*(list|to_numpy|fill|filled)\(", str(found)), (function, name, str(found))


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.filterwarnings("ignore")
def test_every_input_names_other_objects(group: str, kind: str) -> None:
    pytest.importorskip(group)
    value = OTHERS[kind]
    for function, each in GROUPS[group]().items():
        for name in each.inputs:
            found = outcome(each, name, value)
            if name in each.integers and value is not None and name not in ("key", "row"):
                assert isinstance(found, gs.OpError | ModelError), (function, name, found)
            if kind in ("a function", "the class int", "an object", "a module"):
                assert isinstance(found, gs.OpTypeError | ModelError), (function, name, found)
                assert kind in str(found), (function, name, str(found))


# Other objects of the same kinds, and None for objects that are taken.
MORE = {
    "pd.Series([2, 0], dtype='category')": "categorical of pandas",
    "pd.CategoricalIndex([2, 0])": "categorical of pandas",
    "pd.Series(pd.date_range('2026-01-01', periods=2, tz='UTC'))": "zone of pandas",
    "pd.Series([2, None], dtype='Int64')": "missing values of pandas",
    "pd.Series([True, None], dtype='boolean')": "missing values of pandas",
    "pd.Series(['a', None])": "missing values of pandas",
    "pd.Series([2, None], dtype='int64[pyarrow]')": "missing values of pandas",
    "pd.interval_range(0, 3)": "other type of pandas",
    "pd.Series([0, 1]).groupby([0, 1])": "groups of pandas",
    "pd.DataFrame({'a': pd.array([2, None])})": "mixed DataFrame of pandas",
    "pd.Series([2, 0], index=[1, 0])": "labelled Series",
    "pd.Series(pd.array([0, 1], pd.ArrowDtype(__import__('pyarrow').timestamp('us', 'UTC'))))": "zone of pandas",
    "pd.Series(pd.array([[0], [1]], pd.ArrowDtype(__import__('pyarrow').list_(__import__('pyarrow').int64()))))": (
        "lists of pandas"
    ),
    "pd.Series([2.0, np.nan])": None,
    "pd.Series(['a', 'b'])": None,
    "pd.Series(pd.date_range('2026-01-01', periods=2))": None,
    "pd.Series([2, 0], dtype='int64[pyarrow]')": None,
    "pd.RangeIndex(2)": None,
    "pl.DataFrame({'a': [2, None]})": "mixed DataFrame of polars",
    "pl.Series(['a', 'b'], dtype=pl.Enum(['a', 'b']))": "categorical of polars",
    "pl.Series([[0, 1], [1, 0]], dtype=pl.Array(pl.Int64, 2))": None,
    "pa.chunked_array([[2], [None]])": "nulls of Arrow",
    "pa.record_batch({'a': [2, 0]})": "table of Arrow",
    "pa.array([[0, 1]], pa.list_(pa.int64(), 2))": "lists of Arrow of one length",
    "pa.array(np.zeros(2, 'M8[D]')).dictionary_encode()": "dictionary of Arrow",
    "__import__('collections').UserDict(a=1)": "mapping",
    "xr.DataArray([2, 0], dims='x', coords={'x': [1, 1]}).groupby('x')": "groups of xarray",
    "pa.array(['a', 'b'])": None,
    "pa.array([True, False])": None,
    "ak.Array([[0, None], [1]])": "missing values of Awkward Array",
    "ak.Array([[0, 1], None])": "missing values of Awkward Array",
    "ak.Array([[0, 1], [2, 3]])": None,
    "scipy.sparse.dok_array((2, 2))": "sparse array of SciPy",
    "scipy.sparse.csc_matrix((2, 2))": "sparse array of SciPy",
    "sparse.GCXS(np.eye(2))": "sparse array",
    "np.ma.masked": "masked array",
    "map(int, '20')": "iterator",
    "np.nditer(np.zeros(2))": "iterator",
    "frozenset({2, 0})": "set",
    "{'a': 2}.values()": "view of a dict",
}
SETUPS = {
    "pd": "pandas",
    "pl": "polars",
    "pa": "Arrow",
    "ak": "Awkward Array",
    "scipy": "SciPy and sparse",
    "sparse": "SciPy and sparse",
    "xr": "xarray",
}


@pytest.mark.parametrize("example", MORE)
@pytest.mark.filterwarnings("ignore")
def test_other_objects_of_the_same_kinds(example: str) -> None:
    library = SETUPS.get(example.split(".")[0], "Python")
    setup = next(each["setup"] for each in read_libraries() if each["title"] == library)
    value = make_example({"setup": f"{setup}\nimport numpy as np", "example": example})
    kind = MORE[example]
    if kind is None:
        assert gs.gather(value, [1]).shape[0] == 1
        return
    with pytest.raises(gs.OpTypeError) as caught:
        gs.gather(value, [0])
    assert names_instead(EXAMPLES[kind], str(caught.value)), str(caught.value)


TAKEN = [row for row in KINDS if "taken" in row and row["taken"] != "lazily"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", TAKEN, ids=lambda row: row["kind"])
def test_what_is_taken_gives_the_same_results(row: dict[str, str]) -> None:
    value = make_example(row)
    plain = np.asarray(value)
    assert plain.reshape(-1).tolist() in ([2, 0], [0, 1])
    assert gs.gather(X, value).tolist() == X[plain].tolist()
    assert gs.gather(value, [0]).tolist() == plain[:1].tolist()
    assert gs.scatter_update(np.zeros(plain.shape, int), range(len(plain)), value).tolist() == plain.tolist()


@pytest.mark.parametrize(
    "row", [row for row in TAKEN if row["taken"].startswith("without")], ids=lambda row: row["kind"]
)
@pytest.mark.filterwarnings("ignore")
def test_no_copy_is_made(row: dict[str, str]) -> None:
    from gatherscatter.arrays.convert import as_array

    value = make_example(row)
    first, again = as_array("op", "x", value), as_array("op", "x", value)
    assert np.shares_memory(first, again)


class OnGpu:
    """An array in the memory of a GPU, as CuPy and Numba describe it."""

    __cuda_array_interface__: ClassVar[dict[str, Any]] = {
        "shape": (2,),
        "typestr": np.dtype(np.int64).str,
        "data": (0, True),
        "version": 3,
    }

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


def test_an_array_of_a_gpu() -> None:
    for name, inputs in {"data": (OnGpu(), [0]), "indices": (X, OnGpu())}.items():
        with pytest.raises(
            gs.OpTypeError, match=rf"{name} is an array in the memory of a GPU; .*{name}\.get\(\) in CuPy"
        ):
            gs.gather(*inputs)


def test_elements_of_arrays_of_objects_can_be_of_any_kind() -> None:
    things = np.array([None, None], object)
    for values in (deque([1, "a"]), range(2), array("q", [1, 2]), ["a\x00", b"a"], (1.5, None)):
        assert gs.scatter_update(things, [0, 1], values).tolist() == list(values)
    for value in ("a\x00", b"a", Decimal("1.5")):
        assert gs.at(things)[0].set(value)[0] == value
    with pytest.raises(gs.OpTypeError, match=r"updates is a generator; use list\(updates\)"):
        gs.scatter_update(things, [0, 1], (each for each in "ab"))
    for thing in ({1}, len, ..., slice(1)):
        assert gs.at(things)[0].set(thing)[0] is thing
    assert gs.gather([{"a": 1}, {2}], [1])[0] == {2}


@pytest.mark.parametrize("function", ["gather_nd", "scatter_nd"])
def test_a_tuple_of_index_arrays(function: str) -> None:
    rows, columns = np.array([0, 2]), np.array([1, 3])
    more = (np.ones(2),) if function == "scatter_nd" else ()
    for indices in ((rows, columns), ([0, 2], [1, 3])):
        with pytest.raises(
            gs.OpTypeError, match=r"use np\.stack\(indices, -1\) .*gatherscatter\.at\(data\)\[indices\]"
        ):
            getattr(gs, function)(X, indices, *more)
    with pytest.raises(gs.OpTypeError, match=r"indices is a tuple of arrays; use one of them, as in indices\[0\]"):
        getattr(gs, function)(X, (rows,), *more)
    with pytest.raises(gs.OpValueError, match=r"no index tuples of length k, use np\.empty\(\(0, k\), int\)"):
        getattr(gs, function)(X, [], *more)
    for other in (gs.prepare, gs.inspect):
        with pytest.raises(gs.OpTypeError, match=r"use np\.stack\(indices, -1\)"):
            other(([0, 2], [1, 3]), (3, 4))
    stacked = np.stack((rows, columns), -1)
    assert getattr(gs, function)(X, stacked, *more).shape == (X.shape if more else (2,))
    assert gs.gather_nd(X, (1, 2)) == X[1, 2]
    assert gs.gather_nd(X, ((0, 1), (2, 3))).tolist() == [X[0, 1], X[2, 3]]
    assert gs.gather_nd(X, (np.int64(1), 2)) == X[1, 2]
