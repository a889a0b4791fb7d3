"""The geometry of chunks: windows, groups, and the elements of index tuples, compared with NumPy on the whole array."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from gatherscatter.errors import OpIndexError
from gatherscatter.functions.chunked import ChunkedMovement, count_tuples, group_by_block, iterate_windows
from gatherscatter.operation import Form, Kernel, Operation


@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (4, 1, 6), (2, 3, 4, 5), (9, 2), (3, 0)])
@pytest.mark.parametrize("most", [1, 2, 5, 7, 1000])
def test_windows_cover_a_box_in_order(shape: tuple[int, ...], most: int) -> None:
    box = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    parts = [np.ravel(box[window]) for window in iterate_windows(shape, most)]
    assert all(0 < part.size <= most for part in parts)
    assert np.concatenate([*parts, np.empty(0, int)]).tolist() == list(range(box.size))


@pytest.mark.parametrize("low", [-1, 0, 3])
@pytest.mark.parametrize("spread", [1, 5, 10**12])
def test_groups_keep_the_order(low: int, spread: int) -> None:
    """Numbers are far apart or near each other, with and without tuples that are in no chunk."""
    numbers = np.random.default_rng(0).integers(0, 6, 200) * spread + low
    numbers[numbers < 0] = -1
    groups = group_by_block(numbers)
    order = np.arange(numbers.size) if groups.order is None else groups.order
    found = {number: order[part].tolist() for number, part in groups.iterate()}
    assert found == {n: np.flatnonzero(numbers == n).tolist() for n in np.unique(numbers).tolist() if n >= 0}
    assert np.diff(groups.starts).tolist() == [len(positions) for positions in found.values()]


@pytest.mark.parametrize("numbers", [[], [-1, -1], [4, 4, 4]])
def test_groups_without_an_order(numbers: list[int]) -> None:
    groups = group_by_block(np.array(numbers, np.int64))
    found = dict(groups.iterate())
    assert groups.order is None
    assert found == ({4: slice(0, 3)} if 4 in numbers else {})


CHUNKS: list[Any] = [
    ((4,), (2,), (3,)),  # as in Zarr: one size, repeated and cut at the end
    ((4, 4, 1), (2, 2, 1), (3, 1)),
    ((1, 0, 5, 3), (5,), (1, 3)),
]


def cut(shape: tuple[int, ...], chunks: Any) -> list[list[slice]]:
    """Return the chunks along each axis."""
    bounds = []
    for size, sizes in zip(shape, chunks, strict=True):
        whole = sizes * size if len(sizes) == 1 else sizes
        ends = [0, *(min(end, size) for end in np.cumsum(whole).tolist())]
        bounds.append([slice(*pair) for pair in itertools.pairwise(ends) if pair[0] < size or len(sizes) > 1])
    return bounds


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize(
    ("kernel", "indices_shape", "axis", "batch_dims"),
    [
        ("gather_nd", (40, 3), 0, 0),
        ("gather_nd", (9, 7, 2), 0, 1),
        ("gather_nd", (3, 0), 0, 0),
        ("gather", (6, 5), 1, 0),
        ("gather", (9, 5, 4), 1, 2),
        ("gather_elements", (8, 5, 2), 1, 0),
    ],
)
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
def test_rows_of_chunks(
    chunks: Any, kernel: str, indices_shape: tuple[int, ...], axis: int, batch_dims: int, mode: str
) -> None:
    """The rows of a chunk, by their numbers, are the elements that NumPy finds there in the whole array."""
    shape, rng = (9, 5, 4), np.random.default_rng(1)
    move = ChunkedMovement.of(Operation("op", Kernel(kernel), axis, batch_dims, mode), shape, chunks, indices_shape)
    sizes = [each.size for each in move.named]
    high = sizes if Kernel(kernel).form == Form.TUPLES else sizes[0]
    extra = 0 if mode == "raise" else 3
    indices = rng.integers(-np.array(high) - extra, np.array(high) + extra, indices_shape)
    named = np.empty((*move.positions, len(move.axes)), int)
    bad = np.zeros(move.positions, bool)
    columns = iter(np.moveaxis(indices, -1, 0) if Kernel(kernel).form == Form.TUPLES else [indices])
    for n, each in enumerate(move.axes):
        if each.along is not None:
            named[..., n] = np.indices(move.positions)[each.along]
            continue
        column = next(columns)
        bad |= (column < -each.size) | (column >= each.size) if mode == "fill" else False
        named[..., n] = np.clip(column, 0, each.size - 1) if mode == "clip" else column % each.size
    whole = np.arange(np.prod([each.size for each in move.axes], dtype=int)).reshape([a.size for a in move.axes])
    expected = whole[tuple(named.reshape(-1, len(move.axes)).T)].reshape(-1) if move.axes else None
    bounds = cut(tuple(each.size for each in move.axes), [each.chunks for each in move.axes])
    seen = []
    for block, positions, rows in count_tuples(move, indices, (0,) * len(move.positions)).parts(10**6):
        windows = tuple(own[number] for own, number in zip(bounds, block, strict=True))
        assert windows == tuple(each.window(number) for each, number in zip(move.axes, block, strict=True))
        flat = np.ravel_multi_index(positions, move.positions)
        assert (np.diff(flat) > 0).all()
        if expected is not None:
            assert np.ravel(whole[windows])[rows].tolist() == expected[flat].tolist()
        seen += flat.tolist()
    assert sorted(seen) == np.flatnonzero(~bad.ravel()).tolist()


def test_passes_within_a_budget() -> None:
    """Tuples in several passes give the same parts as in one."""
    move = ChunkedMovement.of(Operation("op", Kernel.GATHER), (1000,), ((7,),), (5000,))
    route = count_tuples(move, np.random.default_rng(2).integers(-1000, 1000, 5000), (0,))
    one, many = list(route.parts(10**6)), list(route.parts(300))
    assert [part.block for part in one] == [part.block for part in many]
    assert all(np.array_equal(a.positions[0], b.positions[0]) for a, b in zip(one, many, strict=True))
    assert all(np.array_equal(a.rows, b.rows) for a, b in zip(one, many, strict=True))
    assert route.volume == 1000


def test_a_chunk_of_bad_indices() -> None:
    """Positions refer to the whole indices. The column is the first axis with a bad index."""
    move = ChunkedMovement.of(Operation("op", Kernel.GATHER_ND), (4, 5), ((2,), (5,)), (10, 2))
    indices = np.array([[0, 0], [1, 5], [3, -6]])
    assert move.locate(indices, (6,)) is None
    message = r"indices\[7, 1\] = 5 .* in chunk \(2,\) of the indices; 2 indices of this chunk"
    with pytest.raises(OpIndexError, match=message) as caught:
        move.raise_index_error(indices, (6,), (2,))
    assert caught.value.positions == ((7, 1), (8, 1))
    assert (caught.value.values, caught.value.axis, caught.value.allowed) == ((5, -6), 1, (-5, 4))
