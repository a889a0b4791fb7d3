"""Each division of a call between threads is used, and gives the same result as NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs

UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


@pytest.fixture(autouse=True, params=[1, 2, 3, 7], ids=lambda n: f"{n} threads")
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = gs.num_threads()
    gs.set_num_threads(request.param)
    yield request.param
    gs.set_num_threads(before)


def expected(data: np.ndarray, rows: np.ndarray, updates: np.ndarray, reduction: str) -> np.ndarray:
    result = data.copy()
    if reduction == "none":
        result[rows] = updates
    elif reduction == "mean":
        np.add.at(result, rows, updates)
        counts = np.bincount(rows, minlength=len(data)).reshape(-1, *[1] * (data.ndim - 1)) + 1
        hit = (counts > 1).ravel()
        result[hit] = result[hit] / counts[hit].astype(data.dtype)
    else:
        UFUNCS[reduction].at(result, rows, updates)
    return result


def check(data: np.ndarray, rows: np.ndarray, updates: np.ndarray, reduction: str, split: str, threads: int) -> None:
    options: dict[str, Any] = {"reduction": reduction}
    assert gs.plan("scatter_update", data, rows, updates, **options).split == (split if threads > 1 else "nothing")
    want = expected(data, rows, updates, reduction)
    before = data.copy()
    np.testing.assert_array_equal(gs.scatter_update(data, rows, updates, **options), want)
    np.testing.assert_array_equal(data, before)
    assert gs.scatter_update(data, rows, updates, out=data, **options) is data
    np.testing.assert_array_equal(data, want)


def values(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    numbers = np.random.default_rng(len(shape)).normal(1, 0.5, shape)
    return (np.abs(numbers) if np.dtype(dtype).kind == "u" else numbers).astype(dtype)


@pytest.mark.parametrize("reduction", ["none", "add", "max", "mean"])
def test_far_elements(reduction: str, threads: int) -> None:
    rows = np.random.default_rng(0).integers(0, 5_000_000, 300_000) ** 2 % 4_999_999  # some occur more than once
    check(values((5_000_000,)), rows, values((300_000,)), reduction, "elements", threads)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, ml_dtypes.bfloat16, np.float64, np.complex128])
def test_far_elements_of_each_size(dtype: Any, threads: int) -> None:
    count = (17 << 20) // np.dtype(dtype).itemsize
    rows = np.random.default_rng(0).integers(0, count, 50_000) // 3
    check(values((count,), dtype), rows, values((50_000,), dtype), "add", "elements", threads)


def test_far_elements_dropped(threads: int) -> None:
    rows = np.random.default_rng(0).integers(-8_000_000, 8_000_000, 300_000)
    data, updates = values((5_000_000,)), values((300_000,))
    good = (rows >= -5_000_000) & (rows < 5_000_000)
    result = gs.scatter_update(data, rows, updates, reduction="add", mode="drop")
    np.testing.assert_array_equal(result, expected(data, rows[good] % 5_000_000, updates[good], "add"))


@pytest.mark.parametrize("reduction", ["none", "add", "min", "mean"])
@pytest.mark.parametrize("order", ["sorted", "clustered", "descending"])
def test_ordered_elements(order: str, reduction: str, threads: int) -> None:
    rng = np.random.default_rng(0)
    rows = np.sort(rng.integers(0, 5_000_000, 400_000))
    if order == "clustered":
        rows = np.clip(rows + rng.integers(-2500, 2500, rows.size), 0, 4_999_999)
    elif order == "descending":
        rows = rows[::-1].copy()
    check(values((5_000_000,)), rows, values((400_000,)), reduction, "ordered", threads)


def test_order_in_the_samples_only(threads: int) -> None:
    """The sampled rows are in order, but the others are not. The result must still be right."""
    rows = np.sort(np.random.default_rng(0).integers(0, 5_000_000, 400_000))
    rows.reshape(8, -1)[:, 256:] = np.random.default_rng(1).integers(0, 5_000_000, (8, 49_744))
    check(values((5_000_000,)), rows, values((400_000,)), "add", "ordered", threads)


@pytest.mark.parametrize(("width", "reduction"), [(64, "none"), (64, "add"), (4096, "mul")])
def test_rows(width: int, reduction: str, threads: int) -> None:
    count = (20 << 20) // (4 * width)
    rows = np.random.default_rng(0).integers(0, count, 5000) // 3
    check(values((count, width)), rows, values((5000, width)), reduction, "rows", threads)


@pytest.mark.parametrize(("width", "reduction"), [(1024, "none"), (4096, "mul")])
def test_wide_rows_of_which_one_has_most_updates(width: int, reduction: str, threads: int) -> None:
    rows = np.random.default_rng(0).integers(0, 500, 2000)
    rows[rows % 4 > 0] = 77
    check(values((500, width)), rows, values((2000, width)), reduction, "columns", threads)


@pytest.mark.parametrize("size", [1000, 5_000_000])
def test_most_updates_have_one_target(size: int, threads: int) -> None:
    rows = np.full(400_000, 5)
    rows[-1000:] = np.arange(1000)
    check(values((size,)), rows, values((400_000,)), "add", "nothing", threads)


@pytest.mark.parametrize("shape", [(3000, 70), (3000, 600), (400_000, 24)])
@pytest.mark.parametrize("narrower", [0, 5])
def test_rows_that_were_expanded_in_memory(shape: tuple[int, int], narrower: int) -> None:
    size, columns = shape[0], shape[1] - narrower
    rows = np.random.default_rng(0).integers(0, size, 5000)
    box = np.repeat(rows[:, np.newaxis], columns, 1)
    box[77, 3] = 5  # one row is not uniform
    data, updates = values(shape), values((5000, columns))
    np.testing.assert_array_equal(gs.gather_elements(data, box, axis=0), np.take_along_axis(data[:, :columns], box, 0))
    want = data.copy()
    np.add.at(want, (box, np.arange(columns)), updates)
    np.testing.assert_array_equal(gs.scatter_elements(data, box, updates, axis=0, reduction="add"), want)


VIEWS = {
    "every other column": lambda a: a[..., ::2],
    "transposed": lambda a: a.T,
    "permuted": lambda a: a.transpose(2, 0, 1),
    "a part": lambda a: a[3:, 2:-1, 1:],
    "backwards": lambda a: a[::-1],
    "repeated": lambda a: np.broadcast_to(a[:, :1], a.shape),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gathers_from_views(view: str, axis: int) -> None:
    data = VIEWS[view](values((40, 50, 60)))
    rng = np.random.default_rng(0)
    indices = rng.integers(-data.shape[axis], data.shape[axis], 300)
    np.testing.assert_array_equal(gs.gather(data, indices, axis=axis), np.take(data, indices, axis, mode="wrap"))
    few = indices[:2]
    np.testing.assert_array_equal(gs.gather(data, few, axis=axis), np.take(data, few, axis, mode="wrap"))
    tuples = np.stack([rng.integers(0, n, 500) for n in data.shape[: axis + 1]], -1)
    np.testing.assert_array_equal(gs.gather_nd(data, tuples), data[tuple(tuples.T)])
    box = rng.integers(0, data.shape[axis], data.shape)
    np.testing.assert_array_equal(gs.gather_elements(data, box, axis=axis), np.take_along_axis(data, box, axis))
    filled = gs.gather(data, np.array([0, 10_000]), axis=axis, mode="fill")
    assert not np.take(filled, 1, axis).any()
    np.testing.assert_array_equal(np.take(filled, 0, axis), np.take(data, 0, axis))


def test_gather_batches_of_a_view() -> None:
    data = values((6, 30, 8, 4)).transpose(0, 2, 1, 3)
    indices = np.random.default_rng(0).integers(0, 30, (6, 8, 90))
    want = np.take_along_axis(data, indices[..., np.newaxis], 2)
    np.testing.assert_array_equal(gs.gather(data, indices, axis=2, batch_dims=2), want)


# Cases in which NumPy agrees. It orders complex numbers, multiplies them differently, and rounds means of integers.
RUNS = [(dtype, name) for dtype in (np.float32, np.float16, ml_dtypes.bfloat16) for name in ("none", *UFUNCS, "mean")]
RUNS += [(np.int8, name) for name in ("none", *UFUNCS)] + [(np.complex64, name) for name in ("none", "add", "sub")]


@pytest.mark.parametrize(("dtype", "reduction"), RUNS)
def test_runs_of_one_row(dtype: Any, reduction: str) -> None:
    rows = np.repeat(np.random.default_rng(0).integers(0, 50, 300), np.random.default_rng(1).integers(0, 40, 300))
    data, updates = np.ones(50, dtype), (1 + values(rows.shape) / 64).astype(dtype)
    want = expected(data, rows, updates, reduction)
    np.testing.assert_array_equal(gs.scatter_update(data, rows, updates, reduction=reduction), want)


def test_a_bad_index_among_many_leaves_small_out_alone() -> None:
    data = np.arange(8.0)
    rows, out = np.arange(4000) % 8, np.full(8, 7.0)
    rows[3999] = 8
    for target in (data, out):
        before = target.copy()
        with pytest.raises(IndexError, match="3999"):
            gs.scatter_update(data, rows, np.ones(4000), reduction="add", out=target)
        np.testing.assert_array_equal(target, before)
    rows[3999] = 0
    assert gs.scatter_update(data, rows, np.ones(4000), reduction="add", out=out) is out
    np.testing.assert_array_equal(out, np.arange(8.0) + np.bincount(rows))
