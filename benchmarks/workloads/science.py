"""Workloads of science: histograms, sampling, zones, files, assembly and deposition."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.workload import Workload, add, add_tuples, elements, put_tuples, tuples

_5M = 5_000_000


def _histograms() -> Iterator[Workload]:
    for bins in (100, 10_000, 1_000_000):
        for name in ("uniform", "normal", "constant"):
            text = f"5M weights into {bins} bins, {name}"
            yield add(f"histograms/{bins}-{name}", text, (bins,), (_5M,), name, dtype="float64", out=True)
    for bins, name in ((500, "uniform"), (300_000, "zipf"), (10_000_000, "sorted")):
        text = f"5M weights into {bins} bins, {name}, new array"
        yield add(f"histograms/{bins}-{name}", text, (bins,), (_5M,), name, dtype="float64")
    yield add("histograms/counts", "5M counts into 10000 bins, int64", (10_000,), (_5M,), dtype="int64")
    yield add("histograms/small", "100k weights into 50 bins", (50,), (100_000,), "normal")
    text, cells = "5000 slices of 1000x100x100", (1000, 100, 100)
    yield tuples("histograms/cells", text, cells, (5000, 2), dtype="float64")
    shapes = (cells, (5000, 2))
    yield put_tuples("histograms/set-cells", f"set {text}", *shapes, "permutation", dtype="float64", out=True)


def _arrays() -> Iterator[Workload]:
    yield tuples("arrays/points", "100k points of (93, 721, 1440)", (93, 721, 1440), (100_000, 3), "clustered")
    text, cube = "take_along_axis 50 of 400³, axis 0", (400, 400, 400)
    yield elements("arrays/topk", text, cube, (50, 400, 400), "permutation", dtype="float64")
    yield add("arrays/zones", "zonal sums: 20k rowsx2000 into 5000", (5000, 2000), (20_000,))
    yield Workload("arrays/reorder-0", "permute 8000 rows of 8000", (8000, 8000), (8000,), "permutation")
    yield Workload("arrays/reorder-1", "permute 8000 columns of 8000", (8000, 8000), (8000,), "permutation", axis=1)
    yield Workload("arrays/batches", "20k rows of 150 bytes from 1M", (1_000_000, 150), (20_000,), dtype="uint8")
    text = "2500 frames of 64² from 10k, sorted"
    yield Workload("arrays/frames", text, (10_000, 64, 64), (2500,), "sorted", dtype="uint16")
    yield Workload("arrays/runs", "1.5M of 100M in runs of 1448", (100_000_000,), (1_482_752,), "runs", 1448)


def _physics() -> Iterator[Workload]:
    assemble = partial(add, distribution="clustered", dtype="float64")
    yield assemble("physics/assembly", "assembly: add 3M into 500k nodes", (500_000,), (3_000_000,))
    text = "assembly: add 1M 3x3 blocks into 500k"
    yield assemble("physics/assembly-blocks", text, (500_000, 3, 3), (1_000_000,))
    for name in ("sorted", "uniform"):
        text, cube = f"deposition: add 8M into 128³, {name}", (128,) * 3
        yield add_tuples(f"physics/deposition-{name}", text, cube, (8_000_000, 3), name, dtype="float64")


ROWS: tuple[Workload, ...] = (*_histograms(), *_arrays(), *_physics())
