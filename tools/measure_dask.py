"""Print the figures of docs/dask.md: ``python tools/measure_dask.py``, on an idle machine with 6 GB of free memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np

import gatherscatter as gs

SIZE = 10_000  # 400 MB of float32, in 100 chunks of 4 MB


def least(call: Callable[[], Any], runs: int = 7) -> float:
    """Return the least time of several runs, in ms."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
        del result
    return min(times) * 1e3


def show(name: str, in_memory: Callable[[], Any], lazy: Callable[[], Any]) -> None:
    """Print one row of the table."""
    graph, memory = lazy(), least(in_memory)
    persist = least(lambda: graph.persist(scheduler="threads"))
    compute = least(lambda: graph.compute(scheduler="threads"))
    made = least(lazy, 3)
    ratio = persist / memory
    print(
        f"{name}: {memory:.0f} in memory, {persist:.0f} persist ({ratio:.1f}), {compute:.0f} compute, {made:.0f} graph"
    )


def main() -> None:
    """Print all rows."""
    random = np.random.default_rng(0)
    data = random.random((SIZE, SIZE), dtype=np.float32)
    squares = da.from_array(data, chunks=SIZE // 10).persist()
    show("copy", data.copy, lambda: squares.map_blocks(np.copy))
    lines = SIZE // 100, SIZE
    places, updates = random.integers(0, SIZE, (SIZE, SIZE), np.int32), random.random((SIZE, SIZE), dtype=np.float32)
    strips, box, new = (da.from_array(array, chunks=lines).persist() for array in (data, places, updates))
    show("gather_elements", lambda: gs.gather_elements(data, places, 1), lambda: gs.gather_elements(strips, box, 1))
    show(
        "scatter_elements",
        lambda: gs.scatter_elements(data, places, updates, 1, reduction="add"),
        lambda: gs.scatter_elements(strips, box, new, 1, reduction="add"),
    )
    points, values = random.integers(0, SIZE, (10_000_000, 2)), random.random(10_000_000, dtype=np.float32)
    show(
        "scatter_nd",
        lambda: gs.scatter_nd(data, points, values, reduction="add"),
        lambda: gs.scatter_nd(squares, points, values, reduction="add"),
    )
    rows = random.integers(0, SIZE, SIZE)
    cut = da.from_array(updates, chunks=SIZE // 10).persist()
    for name, given in (("scatter_update", updates), ("scatter_update, updates in chunks", cut)):
        show(
            name,
            lambda: gs.scatter_update(data, rows, updates, reduction="add"),
            lambda given=given: gs.scatter_update(squares, rows, given, reduction="add"),
        )
    show("gather", lambda: gs.gather(data, rows), lambda: gs.gather(squares, rows))


if __name__ == "__main__":
    main()
