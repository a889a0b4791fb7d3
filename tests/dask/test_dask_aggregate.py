"""`gatherscatter.aggregate` for Dask: results of a call in memory, for any chunks, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gatherscatter as gs

da = pytest.importorskip("dask.array")

FUNCTIONS = ["sum", "prod", "mean", "var", "std", "min", "max", "first", "last", "any", "all", "len"]


def sample(dtype: str, nan: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 5, 50)
    labels[labels == 2] = 4
    values = (rng.standard_normal((4, 50, 3)) * 5).astype(dtype)
    if nan and values.dtype.kind in "fc":
        values[rng.random(values.shape) < 0.3] = np.nan
    return labels, values


@pytest.mark.parametrize(
    ("dtype", "chunks"),
    [
        ("float64", (4, 50, 3)),
        ("float64", (4, 4, 3)),
        ("float64", (1, (20, 0, 30), 3)),
        ("float32", (2, 17, 2)),
        ("int16", (2, 17, 3)),
        ("bool", (4, 25, 2)),
        ("complex64", (4, 17, 3)),
    ],
)
@pytest.mark.parametrize("nan", ["", "nan"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_in_memory(name: str, nan: str, dtype: str, chunks: Any) -> None:
    labels, values = sample(dtype, bool(nan))
    lazy = da.from_array(values, chunks)
    for given in (labels, da.from_array(labels, 11)):
        found = gs.aggregate(given, lazy, f"{nan}{name}", size=7, axis=1)
        wanted = gs.aggregate(labels, values, f"{nan}{name}", size=7, axis=1)
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        computed = found.compute(scheduler="synchronous")
        assert computed.dtype == wanted.dtype
        np.testing.assert_allclose(computed, wanted, rtol=1e-4 if dtype in ("float32", "complex64") else 1e-12)
    other = gs.aggregate(labels, lazy, f"{nan}{name}", axis=-2, fill_value=1)
    wanted = gs.aggregate(labels, values, f"{nan}{name}", axis=1, fill_value=1)
    np.testing.assert_allclose(other.compute(scheduler="synchronous"), wanted, rtol=1e-4)


@pytest.mark.parametrize("nan", ["", "nan"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("groups", [40, 100_000], ids=["listed", "many"])
@pytest.mark.parametrize("kind", ["sorted", "shuffled", "apart"])
def test_chunks_with_few_groups(kind: str, groups: int, name: str, nan: str) -> None:
    """States have the groups of their chunk: those of neighbours overlap, are mixed or have nothing in common."""
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(20), 6) * (groups // 20)
    if kind == "shuffled":
        labels = rng.permutation(labels)
    values = rng.standard_normal((len(labels), 3))
    values[::7] = np.nan if nan else 1
    lazy = da.from_array(values, (18 if kind == "apart" else 13, 2))
    for given in (labels, da.from_array(labels, 50)):
        found = gs.aggregate(given, lazy, f"{nan}{name}", size=groups, axis=0)
        wanted = gs.aggregate(labels, values, f"{nan}{name}", size=groups, axis=0)
        np.testing.assert_allclose(found.compute(scheduler="synchronous"), wanted, rtol=1e-12)


def test_a_variance_over_chunks_is_right_far_from_zero() -> None:
    values = 1e9 + np.random.default_rng(0).standard_normal(10_000)
    labels = np.arange(10_000) % 3
    found = gs.aggregate(labels, da.from_array(values, 137), "var", ddof=1).compute()
    np.testing.assert_allclose(found, gs.aggregate(labels, values, "var", ddof=1), rtol=1e-11)


def test_errors() -> None:
    a = da.ones(4, chunks=2)
    with pytest.raises(IndexError, match=r"group_idx\[3\] = 9 is out of range for 2 groups"):
        gs.aggregate([0, 1, 0, 9], a, size=2)
    with pytest.raises(ValueError, match="size is missing; it is required for lazy labels"):
        gs.aggregate(da.zeros(4, int, chunks=2), a)
    with pytest.raises(ValueError, match=r"func must be one of 'all', .* not 'median'"):
        gs.aggregate([0, 1, 0, 1], a, "median")
    with pytest.raises(ValueError, match="does not fit"):
        gs.aggregate([0, 1, 0], a)
    with pytest.raises(IndexError, match=r"group_idx\[3\] = 9 is out of range for 2 groups"):
        gs.aggregate(da.from_array([0, 1, 0, 9], chunks=2), a, size=2).compute()
    with pytest.raises(ValueError, match="give the axis"):
        gs.aggregate([0, 1], da.ones((2, 2)))


@pytest.mark.parametrize(
    "values", [[np.inf, 1.0], [1.0, np.inf], [np.inf, np.inf], [-1.7e308, 1.7e308], [np.inf, -np.inf]]
)
def test_means_of_infinite_and_huge_values(values: list[float]) -> None:
    labels = np.zeros(2, int)
    found = gs.aggregate(labels, da.from_array(np.array(values), chunks=1), "mean").compute()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, gs.aggregate(labels, np.array(values), "mean"))


@pytest.mark.parametrize("values", [2**60 + np.arange(8), np.array([2**64 - 1, 2**64 - 3, 2**64 - 9], np.uint64)])
def test_variances_of_large_integers(values: np.ndarray) -> None:
    labels = np.zeros(len(values), int)
    for size in (1, 4):
        found = gs.aggregate(labels, da.from_array(values, chunks=size), "var").compute()
        np.testing.assert_allclose(found, gs.aggregate(labels, values, "var"), rtol=1e-12)


def test_arrays_without_elements() -> None:
    assert gs.aggregate(np.zeros(6, int), da.ones((0, 6), chunks=2), "sum", axis=1).compute().shape == (0, 1)
    with pytest.raises(ValueError, match="size must be at least 0"):
        gs.aggregate([0, 1], da.ones(2), size=-1)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("size", [3, 30, 1000])
def test_labels_of_all_types_and_chunks_of_all_lengths(dtype: str, size: int) -> None:
    labels, values = np.array([0, 1, 2, 0, 2, 1] * 9, dtype), np.arange(54.0)
    lazy = da.from_array(values, ((2, 0, 4, 40, 1, 7),))
    for given in (labels, da.from_array(labels, ((50, 4),))):
        found = gs.aggregate(given, lazy, "std", size=size).compute(scheduler="synchronous")
        np.testing.assert_allclose(found, gs.aggregate(labels, values, "std", size=size), rtol=1e-14)


def test_chunks_of_other_types_than_the_array_says() -> None:
    parts = [np.array([1, 2]), np.array([2.5, 4.0])]
    blocks = [da.from_array(part, chunks=2) for part in parts]
    mixed = da.concatenate([blocks[0].map_blocks(lambda x: x, dtype=float, meta=np.empty(0)), blocks[1]])
    assert gs.aggregate([0, 1, 0, 2], mixed, "last", size=3).compute().tolist() == [2.5, 2.0, 4.0]
