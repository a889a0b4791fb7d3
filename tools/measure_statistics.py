"""Compare grouped statistics of lazy arrays with flox: ``python tools/measure_statistics.py``, on an idle machine.

Each line is one call on a new cluster of two processes: the least time of three runs, and the largest memory of a
worker above that of an idle one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import dask.array as da
import flox.xarray
import numpy as np
import psutil
import xarray as xr
from distributed import Client, LocalCluster

import gatherscatter as gs


def random_values(block_info: Any = None) -> np.ndarray:
    """Return one chunk of random numbers."""
    place = block_info[None]
    random = np.random.default_rng(place["chunk-location"])
    return random.random(place["chunk-shape"], np.float32) + np.float32(10)


def make_array(shape: tuple[int, ...], chunks: tuple[int, ...], labels: np.ndarray) -> xr.DataArray:
    """Return an array whose chunks are made when they are needed, with labels along its first dimension."""
    values = da.map_blocks(random_values, chunks=da.core.normalize_chunks(chunks, shape), dtype=np.float32)
    dims = ("time", "place")[: len(shape)]
    return xr.DataArray(values, dims=dims, coords={"group": ("time", labels)})


HOURS = np.arange(17_520)  # two years
CASES = {
    "24 hours of the day: each chunk has all groups": ((17_520, 20_000), (730, 20_000), HOURS % 24),
    "730 days in order: each chunk has 30 groups": ((17_520, 20_000), (730, 20_000), HOURS // 24),
    "100,000 random groups, one column": (
        (40_000_000,),
        (4_000_000,),
        np.random.default_rng(0).integers(0, 100_000, 40_000_000),
    ),
}

CALLS: dict[str, Callable[[xr.DataArray, str], xr.DataArray]] = {
    "gatherscatter": lambda array, func: gs.xarray.aggregate(array, "group", func),
    "flox": lambda array, func: flox.xarray.xarray_reduce(array, "group", func=func),
    "flox, engine numba": lambda array, func: flox.xarray.xarray_reduce(array, "group", func=func, engine="numba"),
}


class MemoryWatch:
    """The largest resident memory of a worker, read 50 times a second."""

    def __init__(self, client: Client) -> None:
        self.processes = [psutil.Process(pid) for pid in client.run(lambda: __import__("os").getpid()).values()]
        self.idle = max(process.memory_info().rss for process in self.processes)
        self.most = self.idle

    def wait(self, future: Any) -> Any:
        """Return the result of a future."""
        while not future.done():
            self.most = max(self.most, *(process.memory_info().rss for process in self.processes))
            time.sleep(0.02)
        return future.result()


def measure(array: xr.DataArray, func: str, call: Callable[[xr.DataArray, str], xr.DataArray]) -> tuple[Any, str]:
    """Return the result, and the time and memory as text."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.run(lambda: __import__("flox.xarray"))
        watch = MemoryWatch(client)
        times = []
        for _ in range(3):
            start = time.perf_counter()
            result = watch.wait(client.compute(call(array, func)))
            times.append(time.perf_counter() - start)
        return result, f"{min(times):.2f} s, {(watch.most - watch.idle) / 1e6:.0f} MB"


def main() -> None:
    """Print all lines."""
    for case, (shape, chunks, labels) in CASES.items():
        array = make_array(shape, chunks, labels)
        for func in ("mean", "std", "max"):
            expected = None
            for name, call in CALLS.items():
                result, text = measure(array, func, call)
                expected = result if expected is None else expected
                # Means of float32 are float32 in flox.
                np.testing.assert_allclose(result.values, expected.values, rtol=1e-3)
                print(f"{case}, {func}, {name}: {text}", flush=True)


if __name__ == "__main__":
    main()
