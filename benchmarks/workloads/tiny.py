"""Calls on tiny arrays, for which only the call itself takes time, by all ways into the core."""

from __future__ import annotations

from typing import Any

from benchmarks.workload import Workload, add, add_elements, add_tuples, elements, put_tuples, sum_rows, tuples

_CUBE = (4, 4, 4)


def _gather(name: str, title: str, entry: str = "", form: str = "gather") -> Workload:
    indices = (6, 1) if form == "gather_nd" else (6,)
    return Workload(f"small-calls/{name}", title, (20, 8), indices, form=form, entry=entry)


def _reduce(name: str, title: str, grouping: str = "offsets", **others: Any) -> Workload:
    indices = (3, 2) if grouping == "packed" else (6,)
    return sum_rows(f"small-calls/{name}", title, (20, 8), indices, grouping=grouping, bags=3, **others)


ROWS: tuple[Workload, ...] = (
    _gather("gather", "gather 6 of 20x8"),
    _gather("list", "gather by a list", "list"),
    _gather("at", "at(x)[i].get()", "at"),
    _gather("onnx", "onnx.Gather", "onnx"),
    _gather("openvino", "openvino.GatherND", "openvino", "gather_nd"),
    _gather("torch", "torch.gather", "torch"),
    _reduce("bags", "3 bags by offsets"),
    _reduce("segments", "3 segments", "segments"),
    _reduce("packed", "3 bags of 2", "packed"),
    _reduce("propagate", "propagate 6 pairs", prepared=True),
    _reduce("torch-bags", "torch.gather_reduce", entry="torch"),
    Workload("tiny/take", "gather 3 of 4x4x4", _CUBE, (3,)),
    Workload("tiny/take-out", "gather 3 of 4x4x4, out=", _CUBE, (3,), out=True),
    tuples("tiny/gather-nd", "gather_nd 3 rows of 4x4x4", _CUBE, (3, 1)),
    tuples("tiny/gather-pairs", "gather_nd 3 pairs of 4x4x4", _CUBE, (3, 2)),
    elements("tiny/gather-elements", "gather_elements 4x4x4", _CUBE, _CUBE, axis=1),
    put_tuples("tiny/scatter-nd", "scatter_nd set 3 rows of 4x4x4", _CUBE, (3, 1), "permutation"),
    put_tuples("tiny/scatter-pairs", "scatter_nd set 3 pairs of 4x4x4", _CUBE, (3, 2), "permutation"),
    put_tuples("tiny/scatter-in-place", "scatter_nd set 3 rows, in place", _CUBE, (3, 1), "permutation", out=True),
    add_tuples("tiny/scatter-add", "scatter_nd add 3 rows of 4x4x4", _CUBE, (3, 1)),
    add_elements("tiny/scatter-elements", "scatter_elements add 4x4x4", _CUBE, _CUBE, axis=1),
    Workload("tiny/1k", "gather 1000 of 1000", (1000,), (1000,)),
    add("tiny/add-1k", "scatter add 1000 into 100", (100,), (1000,)),
)
