"""Errors for unknown names suggest the right ones, and modules list their public names."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.messages.suggestions import read_known_as
from gatherscatter.system.extras import find_missing

X = np.zeros((4, 3))


MODULES = ["onnx", "openvino", "dask", "jax", "torch", "torch.segment", "xarray", "zarr"]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_shows_what_is_public(name: str) -> None:
    pytest.importorskip(name.split(".")[0])
    module = importlib.import_module(f"gatherscatter.{name}")
    assert set(module.__all__) <= set(dir(module))
    modules = {shown for shown in dir(module) if isinstance(getattr(module, shown), types.ModuleType)}
    assert modules <= {"segment"}  # a module that users import


def test_the_package_shows_what_it_imports_when_needed() -> None:
    assert {"explain", "at", "__version__"} <= set(dir(gs))
    for name in ("torch", "jax", "dask", "xarray", "zarr"):
        assert (name in dir(gs)) == (not find_missing(("zarr", "filelock") if name == "zarr" else (name,)))


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("scatternd", "; did you mean 'scatter_nd'?"),
        ("gatherND", "; did you mean 'gather_nd'?"),
        ("take", "; instead of np.take(x, i, axis=0) write gs.gather(x, i, 0)"),
        ("index_add", '; instead of x.index_add(0, i, u) write gs.scatter_update(x, i, u, 0, reduction="add")'),
        ("index_select", "; instead of torch.index_select(x, 0, i) write gs.gather(x, i, 0)"),
        ("put_along_axis", "; instead of np.put_along_axis(y, e, w, 0) write gs.scatter_elements(y, e, w, 0, out=y)"),
        ("segment_sum", "; instead of jax.ops.segment_sum(v, i, 3) write "),
        ("scatter_add", 'write gs.scatter_elements(x, e, w, 0, reduction="add"); '),
        ("scatter_add", "; see gatherscatter.torch.segment.scatter_add"),
        ("scatter_max", "; see gatherscatter.torch.segment.scatter_max"),
        ("ScatterNDUpdate", "; see gatherscatter.openvino.ScatterNDUpdate"),
        ("nothing_like_it", "'nothing_like_it'"),
    ],
)
def test_an_unknown_name_leads_to_the_right_one(name: str, end: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(gs, name)
    assert str(caught.value).startswith(f"module 'gatherscatter' has no attribute {name!r}")
    assert end in str(caught.value)
    assert caught.value.name == name


def test_the_names_of_torch_scatter_are_all_known() -> None:
    segment = _import("torch.segment")
    (names,) = [library["names"] for library in read_known_as()["libraries"] if library["package"] == "torch_scatter"]
    assert sorted(names) == sorted(segment.__all__)


IN_PLACE = ["index_copy_", "index_add_", "index_put_", "index_fill_", "index_reduce_", "put_", "masked_fill_",
            "masked_scatter_", "scatter_", "scatter_add_", "scatter_reduce_"]  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.filterwarnings("ignore:index_reduce")
def test_functions_of_pytorch_that_change_a_tensor_lead_to_calls_that_do(name: str) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(AttributeError) as caught:
        getattr(gs, name)
    lines = [part for part in str(caught.value).split("; ") if f"x.{name}(" in part]
    assert lines
    for line in lines:
        results = []
        for side in line.removeprefix("instead of ").split(" write "):
            names: dict[str, Any] = {}
            exec(f"import numpy as np, torch, gatherscatter as gs\n{read_known_as()['arrays']}", names)
            names |= {key: torch.from_numpy(value) for key, value in names.items() if isinstance(value, np.ndarray)}
            x = names["x"]
            eval(side, names)
            results.append(x)
        assert torch.equal(*results)


OTHER_NAMES = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "ADD": "add"}
CALLS: dict[str, Callable[[str], Any]] = {
    "scatter_nd": lambda name: gs.scatter_nd(X, [[0]], X[:1], reduction=name),
    "scatter_update": lambda name: gs.scatter_update(X, [0], X[:1], reduction=name),
    "gather_reduce": lambda name: gs.gather_reduce(X, [[0]], reduction=name),
    "onnx.ScatterND-18": lambda name: gs.onnx.ScatterND(X, [[0]], X[:1], reduction=name),
    "plan": lambda name: gs.plan("scatter_nd", X, [[0]], X[:1], reduction=name),
    "prepared": lambda name: gs.prepare([0], 4).scatter(X, X[:1], reduction=name),
    "torch": lambda name: _import("torch").scatter_update(_torch(X), _torch([0]), _torch(X[:1]), reduction=name),
    "torch.gather_reduce": lambda name: _import("torch").gather_reduce(_torch(X), _torch([[0]]), reduction=name),
    "jax": lambda name: _import("jax").scatter_update(X, [0], X[:1], reduction=name),
    "dask": lambda name: _import("dask").scatter_update(X, [0], X[:1], reduction=name),
}


def _import(name: str) -> Any:
    pytest.importorskip(name.split(".")[0])
    return importlib.import_module(f"gatherscatter.{name}")


def _torch(values: Any) -> Any:
    import torch

    return torch.tensor(values)


@pytest.mark.parametrize("op", CALLS)
@pytest.mark.parametrize("name", OTHER_NAMES)
def test_reductions_of_other_libraries_are_suggested(op: str, name: str) -> None:
    with pytest.raises(ValueError, match=rf"not '{name}'; did you mean '{OTHER_NAMES[name]}'\?"):
        CALLS[op](name)


PARAMETERS = {
    "minlength": "; did you mean 'num_segments'?",
    "fill_value": "; did you mean 'default'?",
    "include_last_offset": "; use offsets without the last one, or all of them as indptr",
    "per_sample_weights": "; did you mean 'weights'?",
    "skipna": "; use gatherscatter.aggregate with a function such as 'nansum' or 'nanmean'",
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_keywords_of_other_libraries(name: str) -> None:
    with pytest.raises(TypeError) as caught:
        gs.gather_reduce(X, segment_ids=[0, 0, 1, 1], **{name: 1})
    assert str(caught.value).endswith(PARAMETERS[name])


HABITS: dict[str, Callable[[], Any]] = {
    "axis must be an integer, not None; for the elements of all axes, pass data.ravel()": lambda: gs.gather(
        X, [0], None
    ),
    "axis must be an integer, not an array of shape (1,); axis comes after": lambda: gs.gather_elements(X, 0, X[0, :1]),
    "axis must be an integer, not 'add'; did you mean reduction='add'?": lambda: gs.scatter_update(
        X, [0], X[:1], "add"
    ),
    "accumulate must be one of 'step', 'wide', 'exact', not True; did you mean reduction='add'?": lambda: gs.scatter_nd(
        X, [[0]], X[:1], accumulate=True
    ),
    "mode must be one of 'raise', 'wrap', 'clip', 'fill', not 'mean'; did you mean reduction='mean'?": lambda: (
        gs.gather_reduce(X, [[0]], mode="mean")
    ),
    "not 'clip'; did you mean mode='clip'?": lambda: gs.gather_reduce(X, [[0]], reduction="clip"),
    "mode must be one of 'raise', 'wrap', 'clip', 'fill', not array([1, 2])": lambda: gs.gather(
        X, [0], mode=np.array([1, 2])
    ),
    "indices must be integers, not float64; updates holds integers: are indices and updates swapped?": lambda: (
        gs.scatter_update(np.zeros(5), np.array([0.5, 0.7]), np.array([0, 1]))
    ),
    "convert indices to int64, or are indices and data swapped?": lambda: gs.gather(np.array([2, 0]), np.zeros(3)),
    "all values of updates would be in range: are indices and updates swapped?": lambda: gs.scatter_update(
        np.zeros(5), np.array([50, 70]), np.array([0, 1])
    ),
    "all values of data would be in range: are indices and data swapped?": lambda: gs.gather(
        np.array([0, 1, 1]), np.array([10, 20])
    ),
    "must be integers, not bool; a mask selects with gatherscatter.at(data)[mask]": lambda: gs.gather(X, X[:, 0] > 0),
    "they are whole numbers: convert indices to int64": lambda: gs.gather(X, [0.0, 1.0]),
    "indices must be integers, not float64; indices[1] is 0.5": lambda: gs.gather(X, [0.0, 0.5]),
    "if each row holds the indices of one axis, pass indices.T": lambda: gs.gather_nd(X, np.zeros((2, 3), int)),
    "pass by name: batch_dims, mode, negative, out, num_threads": lambda: gs.gather_nd(X, [[0]], 1),
    "not 'edge'; did you mean 'clip'?": lambda: gs.gather(X, [0], mode="edge"),
    "not 'circular'; did you mean 'wrap'?": lambda: gs.gather(X, [0], mode="circular"),
    "size must be an integer, not 0.25; did you mean q=0.25?": lambda: gs.aggregate(
        [0, 1], [1.0, 2.0], "quantile", 0.25
    ),
    "is out of range for 1 groups (valid: 0..0); did you mean ddof=1?": lambda: gs.aggregate(
        [0, 1], [1.0, 2.0], "std", 1
    ),
    "use a function with the prefix 'nan', as in 'nanmean'": lambda: gs.aggregate([0], [1.0], "mean", skipna=True),
    "did you mean 'a'?": lambda: gs.aggregate([0], values=[1.0]),
    "must return one value of the result's type for each group, not shape (2,); with dtype=object, each": lambda: (
        gs.aggregate([0, 0], [1.0, 2.0], lambda values: values * 2)
    ),
    "at() got 2 positional arguments, but takes at most 1; write at(data)[key]": lambda: gs.at(X, [0]),
    "prepare() got 3 positional arguments, but takes at most 2; pass by name: axis": lambda: gs.prepare([0], 4, 0),
    "can't be stored in data of type bool; pass False": lambda: gs.at(X > 0)[0].set(0),
    "can't be stored in data of type bool; they are 0 and 1: pass them as bool": lambda: gs.scatter_update(
        X > 0, [0], [[1, 0, 1]]
    ),
    "aggregate: 1099511627776 x 1099511627776 x 1099511627776 groups do not fit in memory": lambda: gs.aggregate(
        [[0], [0], [0]], [1.0], size=(2**40,) * 3
    ),
    "aggregate: 100000000000000000...0000000000000000000 groups": lambda: gs.aggregate([0], [1.0], size=10**40),
    "; use the functions of gatherscatter.torch with the indices": lambda: _transformed(gs.prepare([0], 4).gather),
    "gather_tree: step_ids can't be taken from PyTorch": lambda: _transformed(
        lambda steps: gs.gather_tree(steps[None], steps[None], [1], 0)
    ),
    "call this outside of transformed and traced code": lambda: _transformed(lambda x: gs.tensor_scatter(x[None], x)),
    "; use jax.vjp, jax.grad or jax.jacrev": lambda: _jvp("jax", "jax"),
    "; use torch.func.vjp, torch.func.grad or torch.func.jacrev": lambda: _jvp("torch.func", "torch"),
    "pass inputs by position, not by name": lambda: gs.op("onnx.Gather")(data=X, indices=[0]),
}


def _transformed(function: Callable[[Any], Any]) -> Any:
    torch = pytest.importorskip("torch")
    return torch.vmap(function)(_torch(np.zeros((2, 4, 3))))


def _jvp(package: str, name: str) -> Any:
    module, functions = (pytest.importorskip(each) for each in (package, f"gatherscatter.{name}"))
    x = _torch(X) if name == "torch" else X
    index = _torch([0]) if name == "torch" else np.array([0])
    return module.jvp(lambda x: functions.scatter_update(x, index, x[:1], reduction="add"), (x,), (x,))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.parametrize("text", HABITS)
def test_habits_of_other_libraries(text: str) -> None:
    with pytest.raises((TypeError, ValueError, IndexError)) as caught:
        HABITS[text]()
    assert text in str(caught.value)


UNKNOWN: dict[str, Callable[[], Any]] = {
    "prepare": lambda: gs.prepare([0], 3, dim=0),
    "inspect": lambda: gs.inspect([0], 3, dim=0),
    "gather_tree": lambda: gs.gather_tree(parents=[0]),
    "at.add": lambda: gs.at(X)[0].add(1.0, output=X),
    "Prepared.scatter": lambda: gs.prepare([0], 4).scatter(X, X[:1], reduce="add"),
    "scatter_nd": lambda: gs.plan("scatter_nd", X, [[0]], X[:1], reduce="add"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_every_function_advises_about_unknown_keywords(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument '\w+'; did you mean '\w+'\?"):
        UNKNOWN[name]()


@pytest.mark.parametrize("module", ["torch", "jax", "dask"])
@pytest.mark.parametrize("function", ["gather", "scatter_update", "scatter_elements", "gather_elements"])
def test_dim_leads_to_axis(module: str, function: str) -> None:
    text = rf"{function}\(\) got an unexpected keyword argument 'dim'; did you mean 'axis'\?"
    with pytest.raises(TypeError, match=text):
        getattr(_import(module), function)(X, X, dim=0)


# ---------------------------------------------------------------------------------------------------------- at


@pytest.mark.parametrize(("name", "ours"), [("subtract", "sub"), ("multiply", "mul"), ("amax", "max")])
def test_methods_of_jax_are_suggested(name: str, ours: str) -> None:
    with pytest.raises(AttributeError, match=rf"no method '{name}' .*; did you mean '{ours}'\?"):
        getattr(gs.at(X)[0], name)


def test_at_says_what_to_write_for_an_assignment() -> None:
    with pytest.raises(TypeError, match=r"use at\(data\)\[key\].set\(values\), with out=data"):
        gs.at(X)[0] = 1.0
    for operator, method in (("+=", "add"), ("-=", "sub"), ("*=", "mul")):
        with pytest.raises(TypeError, match=rf"use at\(data\)\[key\].{method}\(values, out=data\)"):
            exec(f"gs.at(X)[0] {operator} 1.0")
    with pytest.raises(AttributeError, match=r"pass a key first: at\(data\)\[key\].add"):
        gs.at(X).add(1.0)
    assert not X.any()


def test_representations_are_short() -> None:
    assert repr(gs.at(X)) == "at(float64[4, 3])"
    assert repr(gs.at(X)[np.array([1, 2]), 1:, ..., None, -1]) == "at(float64[4, 3])[int64[2], 1:, ..., None, -1]"
    assert repr(gs.op("onnx.ScatterND")) == "op('onnx.ScatterND-18')"
