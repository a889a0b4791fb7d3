"""Timed runs of a model and their summary."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gatherscatter.progress import NodeProgress

if TYPE_CHECKING:
    import numpy as np

    from gatherscatter.model_interface import Model


def time_runs(model: Model, inputs: Mapping[str, np.ndarray], count: int) -> list[float]:
    """Seconds of each of ``count`` runs of a model that has run once."""
    seconds = []
    with NodeProgress(count) as progress:
        for number in range(count):
            progress(f"timed run ({number + 1}/{count})")
            start = time.perf_counter()
            model.run(inputs)
            seconds.append(time.perf_counter() - start)
    return seconds


def timing_text(seconds: list[float]) -> str:
    """The timings in one line."""
    low, middle, high = (f"{value * 1e3:.3f} ms" for value in (min(seconds), statistics.median(seconds), max(seconds)))
    runs = f"{len(seconds)} run{'s' if len(seconds) > 1 else ''}"
    return f"benchmark: {runs} after a warm-up: min {low}, median {middle}, max {high}"
