"""Statistics of groups in plain NumPy, and results of libraries that return the groups that have members."""

from __future__ import annotations

import numpy as np

from benchmarks.case import BenchCase

RUNNING = ("cumsum",)


def spread_results(case: BenchCase, groups: np.ndarray, results: np.ndarray) -> np.ndarray:
    """Return results of some groups as results of all. The others have NaN, which `StatisticReference` ignores."""
    made = np.full(case.workload.data, np.nan)
    made[groups] = results
    return made


def compute_statistic(case: BenchCase) -> np.ndarray:
    """Return the statistic of each group, column by column. Groups without members have NaN."""
    values, labels, count = case.new.reshape(len(case.new), -1), case.indices, case.workload.data[0]
    columns = [_compute_column(values[:, c], labels, count, case.workload.reduction) for c in range(values.shape[1])]
    if case.workload.reduction in RUNNING:
        return columns[0]
    return np.stack(columns, axis=1).reshape(case.workload.data)


def _compute_column(values: np.ndarray, labels: np.ndarray, count: int, name: str) -> np.ndarray:
    values = values.astype(np.float64)
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels, minlength=count)
    starts = np.cumsum(counts) - counts
    function = name.removeprefix("nan")
    with np.errstate(invalid="ignore", divide="ignore"):
        if function == "len":
            return np.where(counts == 0, np.nan, counts)
        if function == "cumsum":
            running = np.cumsum(values[order])
            before = np.concatenate(([0.0], running))[starts]
            made = np.empty(len(values))
            made[order] = running - np.repeat(before, counts)
            return made
        if function in ("first", "last"):
            at = starts if function == "first" else starts + counts - 1
            return np.where(counts == 0, np.nan, values[order[np.clip(at, 0, len(order) - 1)]])
        if function in ("argmax", "median"):
            sorted_ = np.lexsort((-np.arange(len(values)), values, labels))
            last = np.clip(starts + counts - 1, 0, len(values) - 1)
            if function == "argmax":
                return np.where(counts == 0, np.nan, sorted_[last])
            low, high = (np.clip(starts + (counts - part) // 2, 0, len(values) - 1) for part in (1, 0))
            middle = (values[sorted_[low]] + values[sorted_[high]]) / 2
            return np.where(counts == 0, np.nan, middle)
        if function == "max":
            made = np.full(count, -np.inf)
            np.maximum.at(made, labels, values)
            return np.where(counts == 0, np.nan, made)
        sums = np.bincount(labels, values, count)
        if function == "sum":
            return np.where(counts == 0, np.nan, sums)
        means = sums / counts
        if function == "mean":
            return np.asarray(means)
        squares = np.bincount(labels, (values - means[labels]) ** 2, count)
        return np.asarray(np.sqrt(squares / counts))
