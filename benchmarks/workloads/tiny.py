"""Calls on tiny arrays, for which only the call itself takes time, by all ways into the core."""

from __future__ import annotations

from typing import Any

from benchmarks.workload import Workload

_CUBE = (4, 4, 4)


def _gather(name: str, title: str, entry: str = "", form: str = "gather") -> Workload:
    indices = (6, 1) if form == "gather_nd" else (6,)
    return Workload(f"small-calls/{name}", "small-calls", title, form, (20, 8), indices, entry=entry)


def _reduce(name: str, title: str, grouping: str = "offsets", **others: Any) -> Workload:
    indices = (3, 2) if grouping == "packed" else (6,)
    return Workload(
        f"small-calls/{name}",
        "small-calls",
        title,
        "gather_reduce",
        (20, 8),
        indices,
        grouping=grouping,
        bags=3,
        reduction="add",
        **others,
    )


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
    Workload("tiny/take", "tiny", "gather 3 of 4x4x4", "gather", _CUBE, (3,)),
    Workload("tiny/take-out", "tiny", "gather 3 of 4x4x4, out=", "gather", _CUBE, (3,), out=True),
    Workload("tiny/gather-nd", "tiny", "gather_nd 3 rows of 4x4x4", "gather_nd", _CUBE, (3, 1)),
    Workload("tiny/gather-pairs", "tiny", "gather_nd 3 pairs of 4x4x4", "gather_nd", _CUBE, (3, 2)),
    Workload("tiny/gather-elements", "tiny", "gather_elements 4x4x4", "gather_elements", _CUBE, _CUBE, axis=1),
    Workload(
        "tiny/scatter-nd",
        "tiny",
        "scatter_nd set 3 rows of 4x4x4",
        "scatter_nd",
        _CUBE,
        (3, 1),
        "permutation",
    ),
    Workload(
        "tiny/scatter-pairs", "tiny", "scatter_nd set 3 pairs of 4x4x4", "scatter_nd", _CUBE, (3, 2), "permutation"
    ),
    Workload(
        "tiny/scatter-in-place",
        "tiny",
        "scatter_nd set 3 rows, in place",
        "scatter_nd",
        _CUBE,
        (3, 1),
        "permutation",
        out=True,
    ),
    Workload(
        "tiny/scatter-add", "tiny", "scatter_nd add 3 rows of 4x4x4", "scatter_nd", _CUBE, (3, 1), reduction="add"
    ),
    Workload(
        "tiny/scatter-elements",
        "tiny",
        "scatter_elements add 4x4x4",
        "scatter_elements",
        _CUBE,
        _CUBE,
        axis=1,
        reduction="add",
    ),
    Workload("tiny/1k", "tiny", "gather 1000 of 1000", "gather", (1000,), (1000,)),
    Workload("tiny/add-1k", "tiny", "scatter add 1000 into 100", "scatter_update", (100,), (1000,), reduction="add"),
)
