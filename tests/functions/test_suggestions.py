"""Errors for unknown names suggest the right ones, and modules list their public names."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.suggestions import read_known_as

X = np.zeros((4, 3))


MODULES = ["onnx", "openvino", "dask", "jax", "torch", "torch.segment", "xarray", "zarr"]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_shows_what_is_public(name: str) -> None:
    pytest.importorskip(name.split(".")[0])
    module = importlib.import_module(f"gatherscatter.{name}")
    assert set(module.__all__) <= set(dir(module))
    modules = {shown for shown in dir(module) if isinstance(getattr(module, shown), types.ModuleType)}
    assert modules <= {"backend", "segment"}  # modules that users import


def test_the_package_shows_what_it_imports_when_needed() -> None:
    assert {"explain", "torch", "jax", "dask", "xarray", "zarr", "at", "__version__"} <= set(dir(gs))
    assert {"InferenceSession", "backend", "reference_ops"} <= set(dir(gs.onnx))
    assert {"convert", "extensions", "op_class"} <= set(dir(gs.openvino))


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("scatternd", "; did you mean 'scatter_nd'?"),
        ("gatherND", "; did you mean 'gather_nd'?"),
        ("take", "; instead of np.take(x, i, axis=0) write gs.gather(x, i, 0)"),
        ("index_add", '; instead of x.index_add(0, i, u) write gs.scatter_update(x, i, u, 0, reduction="add")'),
        ("index_select", "; instead of torch.index_select(x, 0, i) write gs.gather(x, i, 0)"),
        ("put_along_axis", "; instead of np.put_along_axis(y, e, w, 0) write gs.scatter_elements(x, e, w, 0)"),
        ("segment_sum", "; instead of jax.ops.segment_sum(v, i, 3) write "),
        ("scatter_add", 'write gs.scatter_elements(x, e, w, 0, reduction="add"); '),
        ("scatter_add", "; see gatherscatter.torch.segment.scatter_add"),
        ("scatter_max", "; see gatherscatter.torch.segment.scatter_max"),
        ("InferenceSession", "; see gatherscatter.onnx.InferenceSession"),
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
