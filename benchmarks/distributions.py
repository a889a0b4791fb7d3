"""Distributions of indices: one function each, ``(count, size, rng, parameter) -> positions``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_PRIME = 2_147_483_629  # scatters Zipf's ranks over the table


def uniform(count: int, size: int, rng: np.random.Generator, parameter: float) -> np.ndarray:
    """Return positions that are all equally likely."""
    return rng.integers(0, size, count)


def ordered(count: int, size: int, rng: np.random.Generator, parameter: float) -> np.ndarray:
    """Return uniform positions in ascending order."""
    return np.sort(rng.integers(0, size, count))


def permutation(count: int, size: int, rng: np.random.Generator, parameter: float) -> np.ndarray:
    """Return each position at most once."""
    return rng.permutation(size)[:count] if count * 8 > size else rng.choice(size, count, replace=False)


def zipf(count: int, size: int, rng: np.random.Generator, parameter: float) -> np.ndarray:
    """Return rank r with probability proportional to r**-parameter. The ranks are scattered over the table."""
    power = 1.0 - (parameter or 1.05)
    ranks = ((rng.random(count) * (float(size + 1) ** power - 1) + 1) ** (1 / power)).astype(np.int64) - 1
    return np.asarray(np.minimum(ranks, size - 1) * _PRIME % size)


def constant(count: int, size: int, rng: np.random.Generator, parameter: float) -> np.ndarray:
    """Return the same position each time."""
    return np.full(count, size // 2, np.int64)


def runs(count: int, size: int, rng: np.random.Generator, parameter: float) -> np.ndarray:
    """Return runs of consecutive positions from random starts."""
    length = int(parameter or 32)
    starts = rng.integers(0, size, -(-count // length))
    return np.asarray((starts[:, np.newaxis] + np.arange(length)).ravel()[:count] % size)


def clustered(count: int, size: int, rng: np.random.Generator, parameter: float) -> np.ndarray:
    """Return a random walk."""
    return np.asarray((np.cumsum(rng.integers(-16, 17, count)) + size // 2) % size)


def normal(count: int, size: int, rng: np.random.Generator, parameter: float) -> np.ndarray:
    """Return normally distributed positions around the middle."""
    return np.clip(rng.normal(size / 2, size / 8, count), 0, size - 1).astype(np.int64)


def negatives(count: int, size: int, rng: np.random.Generator, parameter: float) -> np.ndarray:
    """Return uniform positions, 1 % of them as negative numbers."""
    positions = rng.integers(0, size, count)
    return np.where(rng.random(count) < 0.01, positions - size, positions)


DISTRIBUTIONS: dict[str, Callable[[int, int, np.random.Generator, float], np.ndarray]] = {
    "uniform": uniform,
    "sorted": ordered,
    "permutation": permutation,
    "zipf": zipf,
    "constant": constant,
    "runs": runs,
    "clustered": clustered,
    "normal": normal,
    "negatives": negatives,
}
