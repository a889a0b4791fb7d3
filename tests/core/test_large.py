"""Arrays that are large enough for tiles and blocks, compared with NumPy's indexing, for several numbers of threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gatherscatter as gs

LANES = [
    # data, box, axis: with and without tiles, full and partial boxes, long and short runs
    ((2100, 70), (1500, 70), 0),
    ((2100, 70), (1500, 65), 0),
    ((2, 2100, 70), (2, 900, 70), 1),
    ((2, 2100, 5, 40), (2, 500, 5, 40), 1),
    ((2, 2100, 5, 40), (2, 500, 4, 40), 1),
    ((2, 2100, 5, 40), (1, 500, 5, 39), 1),
    ((300, 400), (300, 900), 1),
    ((30_000, 3), (50_000, 3), 0),
    ((1_200_000,), (200_000,), 0),
]


@pytest.fixture(autouse=True, params=[1, 2, 5], ids=lambda n: f"{n} threads")
def _threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = gs.num_threads()
    gs.set_num_threads(request.param)
    yield
    gs.set_num_threads(before)


@pytest.mark.parametrize(("shape", "box", "axis"), LANES)
def test_lanes(shape: tuple[int, ...], box: tuple[int, ...], axis: int) -> None:
    rng = np.random.default_rng(0)
    data, updates = rng.random(shape), rng.random(box)
    size = shape[axis]
    indices = rng.integers(-size, size, box)
    target = list(np.indices(box, sparse=True))
    target[axis] = indices % size
    target = np.broadcast_arrays(*target)

    np.testing.assert_array_equal(gs.gather_elements(data, indices, axis), data[tuple(target)])
    expected = data.copy()
    np.add.at(expected, tuple(target), updates)
    np.testing.assert_array_equal(gs.scatter_elements(data, indices, updates, axis, reduction="add"), expected)
    expected = data.copy()
    expected[tuple(target)] = updates
    np.testing.assert_array_equal(gs.scatter_elements(data, indices, updates, axis), expected)


ROWS = [
    # data, count, width in the shape: single elements, short and long rows, more than one line
    (1_200_000,),
    (300_000, 5),
    (2_000, 700),
]


@pytest.mark.parametrize("shape", ROWS)
@pytest.mark.parametrize("index_type", [np.int32, np.int64, np.uint32])
def test_rows(shape: tuple[int, ...], index_type: type) -> None:
    rng = np.random.default_rng(1)
    data = rng.random(shape)
    indices = rng.integers(0, shape[0], 300_000 // max(*shape[1:], 1, 1)).astype(index_type)
    updates = rng.random(indices.shape + shape[1:])

    np.testing.assert_array_equal(gs.gather(data, indices), data[indices])
    np.testing.assert_array_equal(gs.gather_nd(data, indices[:, np.newaxis]), data[indices])
    expected = data.copy()
    np.add.at(expected, indices, updates)
    np.testing.assert_array_equal(gs.scatter_update(data, indices, updates, reduction="add"), expected)
    expected = data.copy()
    expected[indices] = updates
    np.testing.assert_array_equal(gs.scatter_nd(data, indices[:, np.newaxis], updates), expected)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_tuples(k: int) -> None:
    rng = np.random.default_rng(2)
    data = rng.random((40, 30, 20, 10))
    indices = np.stack([rng.integers(-n, n, 20_000 if k > 1 else 500) for n in data.shape[:k]], axis=-1)
    np.testing.assert_array_equal(gs.gather_nd(data, indices), data[tuple(np.moveaxis(indices, -1, 0))])


def test_lines() -> None:
    data = np.random.default_rng(3).random((60, 300, 40))
    indices = np.random.default_rng(4).integers(0, 300, 2_500)
    np.testing.assert_array_equal(gs.gather(data, indices, axis=1), np.take(data, indices, axis=1))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("reduction", ["none", "add", "mean"])
def test_an_expanded_index_box_is_a_line_of_indices(axis: int, reduction: str) -> None:
    rng = np.random.default_rng(5)
    data = rng.random((50, 60, 70))
    box = [50, 60, 70]
    box[axis] = 90
    line = rng.integers(-data.shape[axis], data.shape[axis], 90)
    expanded = np.broadcast_to(np.moveaxis(line[:, np.newaxis, np.newaxis], 0, axis), box)
    updates = rng.random(box)

    np.testing.assert_array_equal(gs.gather_elements(data, expanded, axis), np.take(data, line, axis))
    for include_self in (True, False) if reduction != "none" else (True,):
        options = {"axis": axis, "reduction": reduction, "include_self": include_self}
        expected = gs.scatter_elements(data, expanded.copy(), updates, **options)
        np.testing.assert_array_equal(gs.scatter_elements(data, expanded, updates, **options), expected)

    bad = line.copy()
    bad[3] = 99
    with pytest.raises(gs.OpIndexError) as caught:
        gs.gather_elements(data, np.broadcast_to(np.moveaxis(bad[:, None, None], 0, axis), box), axis)
    assert caught.value.count == np.prod(box) // 90
    assert caught.value.positions[0] == tuple(3 if d == axis % 3 else 0 for d in range(3))


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max"])
def test_rows_of_many_megabytes(reduction: str) -> None:
    """Rows that are longer together than `wide_bytes` are combined in pieces."""
    data = np.full((2, (1 << 22) + 3), 2.0, np.float32)
    updates = np.full((3, data.shape[1]), 3.0, np.float32)
    updates[:, -1] = 5.0
    made = gs.scatter_update(data, [1, 1, 0], updates, reduction=reduction)
    wanted = {"none": (3, 5), "add": (8, 12), "mul": (18, 50), "max": (3, 5)}[reduction]
    assert set(np.unique(made[1])) == set(map(float, wanted))
    assert (made[1, :-1] == wanted[0]).all()


@pytest.mark.parametrize("columns", [5, 40, 700])
@pytest.mark.parametrize("reduction", ["none", "add", "min"])
def test_dropped_indices_that_are_constant_along_rows(reduction: str, columns: int) -> None:
    """Such rows are combined whole. Nothing is written outside of the array."""
    rng = np.random.default_rng(0)
    around = rng.random((22, columns))
    before, data, updates = around.copy(), around[1:-1], rng.random((30, columns))
    indices = np.repeat(rng.integers(-60, 60, (30, 1)), columns, axis=1)
    wanted = data.copy()
    for i, row in enumerate(indices[:, 0]):
        if -20 <= row < 20:
            new = {"none": updates[i], "add": wanted[row] + updates[i], "min": np.minimum(wanted[row], updates[i])}
            wanted[row] = new[reduction]
    made = gs.scatter_elements(data, indices, updates, 0, reduction=reduction, mode="drop", out=data)
    assert made is data
    np.testing.assert_array_equal(data, wanted)
    np.testing.assert_array_equal(around[[0, -1]], before[[0, -1]])
