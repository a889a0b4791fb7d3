"""Results that are written past the caches are those of NumPy, wherever they begin in memory."""

from __future__ import annotations

import platform
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="no streaming stores")

LEAST = 8 << 20  # bytes; smaller results stay in the caches
TYPES = (np.uint8, np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64, np.complex128)


def values(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(0, 251, shape).astype(dtype)


def make_out(shape: tuple[int, ...], dtype: Any, offset: int) -> np.ndarray:
    """Return an array that begins `offset` bytes after a multiple of 64."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 128, np.uint8)
    begin = -memory.ctypes.data % 64 + offset
    return memory[begin : begin + size].view(dtype).reshape(shape)


def is_streamed(function: str, *arrays: np.ndarray, what: str = "the result is", **options: Any) -> bool:
    return any(
        step.startswith(f"{what} written past the caches") for step in gs.plan(function, *arrays, **options).steps
    )


def sets_are_streamed(data: np.ndarray, rows: np.ndarray, updates: np.ndarray, **options: Any) -> bool:
    what = "the rows that are set are"
    return is_streamed("scatter_update", data, rows, updates, what=what, out=data, **options)


def gather_by_numpy(data: np.ndarray, indices: np.ndarray, mode: str) -> np.ndarray:
    """Gather along the first axis. NumPy's own modes treat negative indices differently."""
    size, wide = len(data), indices.astype(np.int64)
    if mode == "fill":
        valid = (wide >= -size) & (wide < size)
        taken = data[np.where(valid, wide, 0)]
        taken[~valid] = 0
        return taken
    positions = wide % size if mode == "wrap" else np.clip(wide, 0, size - 1) if mode == "clip" else wide
    return data[positions]


@pytest.mark.parametrize("index_type", [np.int8, np.uint16, np.int32, np.int64])
@pytest.mark.parametrize("dtype", TYPES)
def test_elements_of_each_size(dtype: Any, index_type: Any) -> None:
    count = LEAST // np.dtype(dtype).itemsize + 1001
    data = values((101,), dtype)
    indices = np.random.default_rng(0).integers(0, 101, count).astype(index_type)
    assert is_streamed("gather", data, indices)
    for threads in (1, 2):
        np.testing.assert_array_equal(gs.gather(data, indices, num_threads=threads), data[indices])


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.complex128])
def test_indices_that_name_no_element_directly(dtype: Any, mode: str) -> None:
    count, size = LEAST // np.dtype(dtype).itemsize + 1001, 5000
    data, rng = values((size,), dtype), np.random.default_rng(0)
    indices = rng.integers(0, size, count)
    special = np.concatenate([np.arange(200) ** 2, rng.integers(0, count, 500)])  # close to each other, and distant
    indices[special] = rng.integers(-size, 0 if mode == "raise" else 3 * size, len(special))
    assert is_streamed("gather", data, indices, mode=mode)
    np.testing.assert_array_equal(gs.gather(data, indices, mode=mode), gather_by_numpy(data, indices, mode))


@pytest.mark.parametrize("offset", [0, 1, 2, 4, 8, 16, 40, 48])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64, np.complex128])
def test_outs_that_begin_anywhere(dtype: Any, offset: int) -> None:
    count = LEAST // np.dtype(dtype).itemsize + 77
    data, indices = values((999,), dtype), np.random.default_rng(0).integers(-999, 999, count)
    out = make_out((count,), dtype, offset)
    assert is_streamed("gather", data, indices, out=out) == (offset % 16 == 0 or not out.flags.aligned)
    assert gs.gather(data, indices, out=out) is out
    np.testing.assert_array_equal(out, data[indices])


@pytest.mark.parametrize("offset", [0, 4, 16, 32])
@pytest.mark.parametrize("width", [2, 4, 5, 8, 12, 16, 100, 256, 5000])
@pytest.mark.parametrize("mode", ["raise", "fill"])
def test_rows(width: int, offset: int, mode: str) -> None:
    count, size = (LEAST >> 2) // width + 33, 70
    data, rng = values((size, width), np.float32), np.random.default_rng(width)
    indices = rng.integers(-size, size, count)
    if mode == "fill":
        indices[::7] += 2 * size
    out = make_out((count, width), np.float32, offset)
    planned = is_streamed("gather", data, indices, mode=mode, out=out)
    assert planned == (width != 5 and offset % 16 == 0)  # a row of 20 bytes is not a multiple of 16
    np.testing.assert_array_equal(gs.gather(data, indices, mode=mode, out=out), gather_by_numpy(data, indices, mode))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.complex64])
@pytest.mark.parametrize("offset", [0, 8])
def test_lines(dtype: Any, offset: int) -> None:
    columns, lines = 1003, LEAST // np.dtype(dtype).itemsize // 1003 + 2
    data = values((lines, 301), dtype)
    indices = np.random.default_rng(0).integers(-301, 301, (lines, columns))
    out = make_out((lines, columns), dtype, offset)
    assert is_streamed("gather_elements", data, indices, axis=1)
    want = np.take_along_axis(data, indices, 1)
    np.testing.assert_array_equal(gs.gather_elements(data, indices, axis=1, out=out), want)
    np.testing.assert_array_equal(gs.gather(data, indices, axis=1, batch_dims=1, out=out), want)


@pytest.mark.parametrize("position", [0, 3, 64, 500_003, -3])
@pytest.mark.parametrize("width", [1, 4])
def test_bad_indices(width: int, position: int) -> None:
    count = LEAST // 4 // width + 5
    data, out = values((9, width), np.float32), make_out((count, width), np.float32, 0)
    indices = np.zeros(count, np.int64)
    indices[position] = 9
    for options in ({"out": out}, {}):
        with pytest.raises(IndexError, match=rf"\b{position % count}\b"):
            gs.gather(data, indices, **options)
    assert not out.any()


def test_results_of_other_layouts() -> None:
    data, indices = values((400, 6000), np.float32), np.random.default_rng(0).integers(0, 400, 3000)
    for view in (data[:, ::2], data.T, data[::-1], data[:, 3:203]):
        positions = indices % len(view)
        np.testing.assert_array_equal(gs.gather(view, positions), view[positions])
    line, many = data[0], np.random.default_rng(0).integers(0, 3000, LEAST // 4 + 9)
    for one in (line[::2], line[::-2], np.broadcast_to(line[:1], 3000)):
        np.testing.assert_array_equal(gs.gather(one, many), one[many])
    pairs = np.random.default_rng(0).integers(-60, 60, (LEAST // 4 + 9, 2))
    square = data[:60, :60].copy()
    np.testing.assert_array_equal(gs.gather_nd(square, pairs), square[pairs[:, 0], pairs[:, 1]])


def set_by_numpy(data: np.ndarray, rows: np.ndarray, updates: np.ndarray) -> np.ndarray:
    result = data.copy()
    for row, update in zip(rows.tolist(), updates, strict=True):
        if -len(data) <= row < len(data):
            result[row] = update
    return result


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("offset", [0, 16, 32, 4])
@pytest.mark.parametrize("width", [16, 20, 64, 65, 100, 5000])
def test_rows_that_are_set(width: int, offset: int, threads: int) -> None:
    size, count = (20 << 18) // width, (10 << 18) // width  # 20 MiB, and updates of 10 MiB
    data, rng = make_out((size, width), np.float32, offset), np.random.default_rng(width)
    rows = rng.permutation(size)[:count] - size // 2
    rows[1::613] = rows[::613][: len(rows[1::613])]  # a row is set twice, and the second update remains
    rows[5::901] = rows[-1]
    updates = np.arange(count * width, dtype=np.float32).reshape(count, width)
    want = set_by_numpy(data, rows, updates)
    # Short rows must consist of whole lines.
    assert sets_are_streamed(data, rows, updates) == (width >= 64 or (width == 16 and offset == 0))
    np.testing.assert_array_equal(gs.scatter_update(data, rows, updates, num_threads=threads), want)
    assert gs.scatter_update(data, rows, updates, out=data, num_threads=threads) is data
    np.testing.assert_array_equal(data, want)


@pytest.mark.parametrize("mode", ["raise", "drop"])
@pytest.mark.parametrize("consecutive", [False, True])
@pytest.mark.parametrize(("dtype", "width", "offset"), [("u1", 257, 1), ("S3", 99, 7), ("S5", 131, 0), ("f2", 1001, 2)])
def test_rows_of_odd_sizes_are_set(dtype: str, width: int, offset: int, consecutive: bool, mode: str) -> None:
    row_size = np.dtype(dtype).itemsize * width
    size, count = (20 << 20) // row_size, (10 << 20) // row_size
    data, rng = make_out((size, width), dtype, offset), np.random.default_rng(width)
    rows = rng.permutation(size)[:count]
    if consecutive:
        rows[count // 3 : -700] = np.arange(count // 3, count - 700)
    if mode == "drop":
        rows[::9] = size + 3
    updates = rng.integers(1, 100, (count, row_size), np.uint8).view(dtype)
    assert sets_are_streamed(data, rows, updates, mode=mode)
    want = set_by_numpy(data, rows, updates)
    for threads in (1, 2, 3):
        out = data.copy()
        gs.scatter_update(data, rows, updates, out=out, mode=mode, num_threads=threads)
        assert out.tobytes() == want.tobytes()
    assert gs.scatter_update(data, rows, updates, out=data, mode=mode) is data
    assert data.tobytes() == want.tobytes()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("dtype", "width"), [("S3", 1 << 20), ("U3", 1 << 18), ("f4", 1 << 19), ("V5", 480_000)])
def test_threads_that_divide_columns(dtype: str, width: int, threads: int) -> None:
    item_size, rows = np.dtype(dtype).itemsize, np.array([0, 2, 5, 3])
    size = max((20 << 20) // (width * item_size), 7)
    data = make_out((size, width), dtype, 0)
    numbers = np.random.default_rng(0).integers(1, 100, (len(rows), width * item_size), np.uint8)
    updates = numbers.view(dtype) if dtype[0] != "U" else numbers[:, :width].astype("U3")
    want = set_by_numpy(data, rows, updates)
    assert gs.scatter_update(data, rows, updates, out=data, num_threads=threads) is data
    assert data.tobytes() == want.tobytes()


def test_rows_of_several_lines() -> None:
    """Batches, and dims before the axis."""
    data, rng = values((3, 5, 9000, 64), np.float32), np.random.default_rng(0)
    rows = rng.permutation(9000)[:4000]
    updates = values((3, 5, 4000, 64), np.float32)
    want = data.copy()
    want[:, :, rows] = updates
    for threads in (1, 2):
        np.testing.assert_array_equal(gs.scatter_update(data, rows, updates, axis=2, num_threads=threads), want)
    tuples = np.stack(np.unravel_index(rng.permutation(3 * 5 * 9000)[:50_000], (3, 5, 9000)), -1)
    updates = values((50_000, 64), np.float32)
    want = data.copy()
    want[tuple(tuples.T)] = updates
    np.testing.assert_array_equal(gs.scatter_nd(data, tuples, updates), want)
    np.testing.assert_array_equal(gs.gather_nd(data, tuples), data[tuple(tuples.T)])
    np.testing.assert_array_equal(gs.gather(data, rows, axis=2), data[:, :, rows])


@pytest.mark.parametrize("mode", ["drop", "clip"])
def test_some_rows_are_set(mode: str) -> None:
    size, width = 100_000, 64
    data, rng = make_out((size, width), np.float32, 0), np.random.default_rng(0)
    rows = rng.permutation(size)[:40_000]
    rows[:: 5 if mode == "drop" else 5000] += size
    updates = values((len(rows), width), np.float32)
    assert sets_are_streamed(data, rows, updates, mode=mode)
    want = set_by_numpy(data, np.minimum(rows, size - 1) if mode == "clip" else rows, updates)
    found = gs.scatter_update(data, rows, updates, mode=mode)
    np.testing.assert_array_equal(found, want)


def test_consecutive_rows_are_set() -> None:
    data, rows = make_out((100_000, 64), np.float32, 16), np.arange(20_000, 70_000)
    updates = values((len(rows), 64), np.float32)
    assert sets_are_streamed(data, rows, updates)
    want = set_by_numpy(data, rows, updates)
    np.testing.assert_array_equal(gs.scatter_update(data, rows, updates, out=data), want)


def test_rows_that_are_set_again_and_again_stay_in_the_caches() -> None:
    data, updates = make_out((100_000, 64), np.float32, 0), np.ones((50_000, 64), np.float32)
    few = np.random.default_rng(0).integers(0, 8000, len(updates))
    runs, periods = np.repeat(np.arange(25_000) * 4, 2), np.arange(50_000) % 390
    for rows in (few, runs, periods):
        assert not sets_are_streamed(data, rows, updates)
    assert sets_are_streamed(data, np.arange(50_000) * 2, updates)
    assert not sets_are_streamed(data, np.arange(50_000) * 2, updates, reduction="add")
    assert not sets_are_streamed(data[:30_000], np.arange(25_000), updates[:25_000])  # the caches hold these rows
