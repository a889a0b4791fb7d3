"""Calls on lists, and on arrays in other layouts and types, with modes and batches, and the simplest other calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.workload import Workload

_M = 1_000_000
_LAYOUTS = ("spaced", "reversed", "transposed", "unaligned", "one-element", "one-row", "one-column")
# type of data: types of updates
_TYPES = {
    "float64": ("float32", "int16"),
    "int64": ("int32", "uint8", "bool"),
    "float32": ("float64", "float16"),
    "int32": ("int64",),
}


def _row(name: str, title: str, form: str, data: Any, indices: Any, given: str, **others: Any) -> Workload:
    group = "layouts-and-types"
    return Workload(f"{group}/{name}", f"{title}, {given}", data, indices, form=form, given=given, **others)


def _casts() -> Iterator[Workload]:
    for dtype, sources in _TYPES.items():
        for source in (*sources, "swapped", "unaligned"):
            name = f"updates-{source}" if dtype == "float64" else f"updates-{source}-to-{dtype}"
            title = f"scatter add 2M into 3000 {dtype}"
            given = f"updates {source}"
            yield _row(name, title, "scatter_update", (3000,), (2 * _M,), given, dtype=dtype, reduction="add")
    for kind in ("int32", "swapped", "spaced", "reversed"):
        yield _row(f"indices-{kind}", "gather 2M of 3000", "gather", (3000,), (2 * _M,), f"indices {kind}")


def _layouts() -> Iterator[Workload]:
    for layout in _LAYOUTS:
        given = f"data {layout}"
        yield _row(f"data-{layout}", "gather 200k rows of 32 of 100k", "gather", (100_000, 32), (200_000,), given)
        yield _row(
            f"elements-{layout}",
            "gather_elements 2000x1000",
            "gather_elements",
            (2000, 1000),
            (2000, 1000),
            given,
            axis=1,
        )
        given = f"updates {layout}"
        title = "scatter add 200k rows of 32 into 50k"
        yield _row(f"rows-{layout}", title, "scatter_update", (50_000, 32), (200_000,), given, reduction="add")


def _calls() -> Iterator[Workload]:
    for mode in ("wrap", "clip", "fill"):
        given = f"mode {mode}"
        yield _row(f"mode-{mode}", "gather 2M of 20M", "gather", (20 * _M,), (2 * _M,), given)
        yield _row(f"mode-{mode}-cached", "gather 2M of 3000", "gather", (3000,), (2 * _M,), given)
    for mode in ("wrap", "clip", "drop"):
        given, title = f"mode {mode}", "scatter add 2M into 3000"
        yield _row(f"add-mode-{mode}", title, "scatter_update", (3000,), (2 * _M,), given, reduction="add")
    for count in (1, 10):
        shape = (200_000 // count, count, 1)
        title = f"gather_nd {count} of 10 in each of {shape[0] // 1000}k batches"
        yield _row(f"batches-{count}", title, "gather_nd", (shape[0], 10), shape, "batches", batch_dims=1)
    title = "sum 2M into 100k"
    yield _row("prepared", title, "scatter_update", (100_000,), (2 * _M,), "prepared", reduction="add")


def _lists() -> Iterator[Workload]:
    yield _row("indices-list", "gather 6 of 20x8", "gather", (20, 8), (6,), "indices list")
    title = "scatter add 6 rows into 20x8"
    yield _row("updates-list", title, "scatter_update", (20, 8), (6,), "updates list", reduction="add")


ROWS: tuple[Workload, ...] = (*_casts(), *_layouts(), *_calls(), *_lists())
