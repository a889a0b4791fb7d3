"""The limits of the machine: copy bandwidth, random reads and fresh memory, measured with the workloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from math import log
from time import perf_counter
from typing import Any

import numpy as np

import gatherscatter as gs
from gatherscatter.system.extras import find_missing

SIZES = (1 << 15, 1 << 19, 1 << 22, 1 << 24, 1 << 26, 1 << 28)
WIDTHS = (4, 8, 64)  # bytes read at a random position
_READS = 1 << 21
_TYPES = {4: np.float32, 8: np.float64, 64: np.float64}


@dataclass(frozen=True)
class Limits:
    """Limits, measured once per run, with a value per size of memory."""

    sizes: tuple[int, ...]
    copy_one: tuple[float, ...]  # bytes per second, read and written, on one thread
    copy_all: tuple[float, ...]  # the same, on all threads
    fresh: tuple[float, ...]  # seconds per byte, for memory that is touched for the first time
    random: dict[int, tuple[float, ...]]  # reads per second, by bytes per read

    def stream_seconds(self, traffic: float, within: float | None = None) -> float:
        """Return the least time to read and write ``traffic`` bytes in order, within ``within`` bytes if given."""
        size = (traffic if within is None else within) / 2
        return traffic / max(self._at(self.copy_one, size), self._at(self.copy_all, size))

    def fresh_seconds(self, size: float) -> float:
        """Return the cost of new memory for an output of this size."""
        return size * self._at(self.fresh, size)

    def random_seconds(self, reads: int, width: int, reach: float) -> float:
        """Return the least time for reads at random positions within ``reach`` bytes."""
        rates = [self._at(self.random[w], reach) for w in WIDTHS]
        at = float(np.interp(log(max(width, 1)), [log(w) for w in WIDTHS], [log(rate) for rate in rates]))
        return float(reads / np.exp(at))

    def _at(self, values: tuple[float, ...], size: float) -> float:
        points = [log(max(value, 1e-15)) for value in values]
        return float(np.exp(np.interp(log(max(size, 1)), [log(s) for s in self.sizes], points)))


def measure_limits(threads: int, report: Callable[[str], None], largest: int = SIZES[-1]) -> Limits:
    """Measure all limits. ``report`` is called with a text before each step."""
    sizes = tuple(size for size in SIZES if size <= largest)
    report("measuring the copy bandwidth")
    copies = [_measure_copy(size, threads) for size in sizes]
    report("measuring the cost of fresh memory")
    fresh = tuple(_measure_fresh_memory(size) for size in sizes)
    random = {}
    for width in WIDTHS:
        report(f"measuring random reads of {width} bytes")
        random[width] = tuple(_measure_random_reads(size, width, threads) for size in sizes)
    return Limits(sizes, tuple(one for one, _ in copies), tuple(many for _, many in copies), fresh, random)


def _measure_copy(size: int, threads: int) -> tuple[float, float]:
    source, target = np.ones(size // 8), np.zeros(size // 8)
    one = _time_best(lambda: np.copyto(target, source), size)
    many = one
    if threads > 1:
        parts = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
        with ThreadPoolExecutor(threads) as pool:  # np.copyto releases the interpreter lock
            many = min(many, _time_best(lambda: list(pool.map(lambda part: np.copyto(*part), parts)), size))
        if torch := _torch(threads):
            to, of = torch.from_numpy(target), torch.from_numpy(source)
            many = min(many, _time_best(lambda: to.copy_(of), size))
    return 2 * size / one, 2 * size / many


def _measure_fresh_memory(size: int) -> float:
    """Return the time of writing to a new array, minus the time of writing to a warm one."""
    warm = np.empty(size // 8)
    again = _time_best(lambda: warm.fill(1.0), size)
    new = _time_best(lambda: np.empty(size // 8).fill(1.0), size)
    return max(new - again, 0.0) / size


def _measure_random_reads(size: int, width: int, threads: int) -> float:
    """Return reads per second of the best of NumPy, PyTorch and gatherscatter, into warm memory."""
    table: np.ndarray = np.ones((size // width, width // np.dtype(_TYPES[width]).itemsize), _TYPES[width])
    count = min(_READS, 16 * len(table))
    positions = np.random.default_rng(0).integers(0, len(table), count)
    out: np.ndarray = np.empty((count, table.shape[1]), table.dtype)
    if table.shape[1] == 1:
        table, out = table.reshape(-1), out.reshape(-1)
    gs.set_num_threads(threads)
    return count / min(_time_best(call, size) for call in _readers(table, positions, out, threads))


def _readers(table: np.ndarray, positions: np.ndarray, out: np.ndarray, threads: int) -> Iterator[Callable[[], object]]:
    yield lambda: table.take(positions, 0, out, "clip")
    yield lambda: gs.gather(table, positions, out=out)
    if torch := _torch(threads):
        tensors = [torch.from_numpy(array) for array in (table, positions, out)]
        yield lambda: torch.index_select(tensors[0], 0, tensors[1], out=tensors[2])


def _torch(threads: int) -> Any:
    if find_missing(["torch"]):
        return None
    torch = import_module("torch")
    torch.set_num_threads(threads)
    return torch


def _time_best(call: Callable[[], object], size: int) -> float:
    """Return the least seconds of a call on this number of bytes."""
    repeats = max(1, (1 << 21) // size)
    best = float("inf")
    for _ in range(7):
        start = perf_counter()
        for _ in range(repeats):
            call()
        best = min(best, (perf_counter() - start) / repeats)
    return best
