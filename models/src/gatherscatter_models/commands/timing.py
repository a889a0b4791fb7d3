"""Time runs of a model and summarise the times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gatherscatter.messages.text import count_text
from gatherscatter.system.progress import NodeProgress

if TYPE_CHECKING:
    import numpy as np

    from gatherscatter_models.interface import Model


def time_runs(model: Model, inputs: Mapping[str, np.ndarray], count: int) -> list[float]:
    """Return the seconds of each of ``count`` runs. The model must have run once before."""
    seconds = []
    with NodeProgress(count) as progress:
        for number in range(count):
            progress(f"timed run ({number + 1}/{count})")
            start = time.perf_counter()
            model.run(inputs)
            seconds.append(time.perf_counter() - start)
    return seconds


def timing_text(seconds: list[float]) -> str:
    """Return the times as one line of text."""
    low, middle, high = (f"{value * 1e3:.3f} ms" for value in (min(seconds), statistics.median(seconds), max(seconds)))
    return f"benchmark: {count_text(len(seconds), 'run')} after a warm-up: min {low}, median {middle}, max {high}"
