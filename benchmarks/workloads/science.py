"""Workloads of science: histograms, sampling, zones, files, assembly and deposition."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.workload import Workload


def _histograms() -> Iterator[Workload]:
    for bins in (100, 10_000, 1_000_000):
        for name in ("uniform", "normal", "constant"):
            yield Workload(
                f"histograms/{bins}-{name}",
                "histograms",
                f"5M weights into {bins} bins, {name}",
                "scatter_update",
                (bins,),
                (5_000_000,),
                name,
                dtype="float64",
                reduction="add",
                out=True,
            )
    for bins, name in ((500, "uniform"), (300_000, "zipf"), (10_000_000, "sorted")):
        yield Workload(
            f"histograms/{bins}-{name}",
            "histograms",
            f"5M weights into {bins} bins, {name}, new array",
            "scatter_update",
            (bins,),
            (5_000_000,),
            name,
            dtype="float64",
            reduction="add",
        )
    yield Workload(
        "histograms/counts",
        "histograms",
        "5M counts into 10000 bins, int64",
        "scatter_update",
        (10_000,),
        (5_000_000,),
        dtype="int64",
        reduction="add",
    )
    yield Workload(
        "histograms/small",
        "histograms",
        "100k weights into 50 bins",
        "scatter_update",
        (50,),
        (100_000,),
        "normal",
        reduction="add",
    )
    cells = (1000, 100, 100)
    yield Workload(
        "histograms/cells", "histograms", "5000 slices of 1000x100x100", "gather_nd", cells, (5000, 2), dtype="float64"
    )
    yield Workload(
        "histograms/set-cells",
        "histograms",
        "set 5000 slices of 1000x100x100",
        "scatter_nd",
        cells,
        (5000, 2),
        "permutation",
        dtype="float64",
        out=True,
    )


def _arrays() -> Iterator[Workload]:
    group = "arrays"
    yield Workload(
        "arrays/points",
        group,
        "100k points of (93, 721, 1440)",
        "gather_nd",
        (93, 721, 1440),
        (100_000, 3),
        "clustered",
    )
    yield Workload(
        "arrays/topk",
        group,
        "take_along_axis 50 of 400³, axis 0",
        "gather_elements",
        (400, 400, 400),
        (50, 400, 400),
        "permutation",
        dtype="float64",
    )
    yield Workload(
        "arrays/zones",
        group,
        "zonal sums: 20k rowsx2000 into 5000",
        "scatter_update",
        (5000, 2000),
        (20_000,),
        reduction="add",
    )
    yield Workload(
        "arrays/reorder-0", group, "permute 8000 rows of 8000", "gather", (8000, 8000), (8000,), "permutation"
    )
    yield Workload(
        "arrays/reorder-1",
        group,
        "permute 8000 columns of 8000",
        "gather",
        (8000, 8000),
        (8000,),
        "permutation",
        axis=1,
    )
    yield Workload(
        "arrays/batches", group, "20k rows of 150 bytes from 1M", "gather", (1_000_000, 150), (20_000,), dtype="uint8"
    )
    yield Workload(
        "arrays/frames",
        group,
        "2500 frames of 64² from 10k, sorted",
        "gather",
        (10_000, 64, 64),
        (2500,),
        "sorted",
        dtype="uint16",
    )
    yield Workload(
        "arrays/runs", group, "1.5M of 100M in runs of 1448", "gather", (100_000_000,), (1_482_752,), "runs", 1448
    )


def _physics() -> Iterator[Workload]:
    yield Workload(
        "physics/assembly",
        "physics",
        "assembly: add 3M into 500k nodes",
        "scatter_update",
        (500_000,),
        (3_000_000,),
        "clustered",
        dtype="float64",
        reduction="add",
    )
    yield Workload(
        "physics/assembly-blocks",
        "physics",
        "assembly: add 1M 3x3 blocks into 500k",
        "scatter_update",
        (500_000, 3, 3),
        (1_000_000,),
        "clustered",
        dtype="float64",
        reduction="add",
    )
    for name in ("sorted", "uniform"):
        yield Workload(
            f"physics/deposition-{name}",
            "physics",
            f"deposition: add 8M into 128³, {name}",
            "scatter_nd",
            (128,) * 3,
            (8_000_000, 3),
            name,
            dtype="float64",
            reduction="add",
        )


ROWS: tuple[Workload, ...] = (*_histograms(), *_arrays(), *_physics())
