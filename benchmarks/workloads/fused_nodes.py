"""Models of a Gather and the node that reads its rows. They run in one step or in two.

The sizes are those of a layer of a graph network on ogbn-arxiv. The edges are random.
"""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from benchmarks.workload import ModelRun, Workload

GROUP = "fused-nodes"
_NODES, _EDGES, _WIDTH = 169_343, 1_166_243, 128
_BAG = 50  # rows


def _add(data: str, result: str, init: str) -> str:
    return f"{result}_rows = Gather ({data}, source)  {result} = {_scatter('add', init, f'{result}_rows')}"


def _scatter(reduction: str, init: str, rows: str) -> str:
    return f'ScatterND <reduction = "{reduction}"> ({init}, target, {rows})'


_BODIES = {
    "add": _add("x", "out", "zeros"),
    "add-sorted": _add("x", "out", "zeros"),
    "add-own": _add("x", "out", "x"),
    "max": f"rows = Gather (x, source)  out = {_scatter('max', 'zeros', 'rows')}",
    "add-elements": """rows = Gather (x, source)  wide = Expand (target, shape)
        out = ScatterElements <axis = 0, reduction = "add"> (zeros, wide, rows)""",
    "mean": """rows = Gather (x, source)  axis = Constant <value_ints = [1]> ()
        out = ReduceMean <keepdims = 0> (rows, axis)""",
    "small": "  ".join(_add(data, result, data) for data, result in pairwise(["x", "a", "b", "c", "d", "out"])),
}


def _row(name: str, title: str, **others: Any) -> Workload:
    facts = {"data": (_NODES, _WIDTH), "indices": (_EDGES,), "entry": "load", **others}
    return Workload(f"{GROUP}/{name}", GROUP, title, "model", **facts)


ROWS: tuple[Workload, ...] = (
    _row("add", "Gather, ScatterND add into zeros"),
    _row("add-sorted", "the same, target indices in order", distribution="sorted"),
    _row("add-own", "Gather, ScatterND add into the data of the Gather"),
    _row("max", "Gather, ScatterND max into zeros"),
    _row("add-elements", "Gather, ScatterElements add into zeros, with an Expand of the indices"),
    _row("mean", f"Gather, ReduceMean of bags of {_BAG} rows", indices=(_EDGES // _BAG, _BAG)),
    _row("small", "ten nodes with four rows in all", data=(4, _WIDTH), indices=(4,)),
)


def make_run(workload: Workload, rng: np.random.Generator) -> ModelRun:
    """Return the model, and inputs: data, source and target indices, zeros, and the shape of the gathered rows."""
    nodes, width = workload.data
    target = rng.integers(0, nodes, prod(workload.indices))
    if workload.distribution == "sorted":
        target.sort()
    inputs: dict[str, np.ndarray] = {
        "x": rng.standard_normal((nodes, width), np.float32),
        "source": rng.integers(0, nodes, workload.indices),
        "target": target[:, np.newaxis],
        "zeros": np.full((nodes, width), 0, np.float32),  # np.zeros would not touch the memory
        "shape": np.array([target.size, width]),
    }
    types = ", ".join(f"{_type_text(array)} {name}" for name, array in inputs.items())
    text = f"""<ir_version: 10, opset_import: ["": 18]>
        layer ({types}) => (float[m, n] out) {{ {_BODIES[workload.id.removeprefix(f"{GROUP}/")]} }}"""
    model: bytes = import_module("onnx").parser.parse_model(text).SerializeToString()
    return ModelRun(model, inputs)


def _type_text(array: np.ndarray) -> str:
    name = {"float32": "float"}.get(array.dtype.name, array.dtype.name)
    return f"{name}[{', '.join(map(str, array.shape))}]"
