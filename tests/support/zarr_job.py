"""A separate process that scatters into a stored array: python zarr_job.py FOLDER REDUCTION TIMES

It reports when it is ready, and waits for a line before it begins.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import zarr

import gatherscatter.zarr as gsz


def call(folder: Path, reduction: str, job: str | None = "job") -> Any:
    """Make the call that is repeated."""
    array = zarr.open_array(folder / "array.zarr", mode="r+")
    indices, updates = np.load(folder / "indices.npy"), np.load(folder / "updates.npy")
    return gsz.scatter_nd(array, indices, updates, reduction=reduction, job=job)


if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    times = int(sys.argv[3])
    for _ in range(times):
        call(Path(sys.argv[1]), sys.argv[2], "job" if times == 1 else None)
    print("done", flush=True)
