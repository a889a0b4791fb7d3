"""Arrays of more than 2**31 elements in virtual memory. Only the few pages that a call touches are allocated."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs

MANY = 2**31 + 4099
FAR = [0, 2**31 - 1, 2**31, MANY - 1, -1, -MANY, 2**31 + 5]
ROWS = [i % MANY for i in FAR]
VALUES = np.arange(1, len(FAR) + 1, dtype=np.uint8)


def virtual(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.uint8)


@pytest.mark.parametrize("threads", [1, 3])
def test_elements_of_one_dim(threads: int) -> None:
    data = virtual(MANY)
    for i, value in zip(ROWS, VALUES, strict=True):
        data[i] = value
    want = data[ROWS]
    assert gs.gather(data, FAR, num_threads=threads).tolist() == want.tolist()
    assert gs.gather_elements(data, FAR, num_threads=threads).tolist() == want.tolist()
    assert gs.gather_nd(data, np.array(FAR)[:, np.newaxis], num_threads=threads).tolist() == want.tolist()
    assert gs.gather(data.reshape(1, -1), FAR, axis=1, num_threads=threads).tolist() == [want.tolist()]
    assert gs.gather(data[::-1], FAR, num_threads=threads).tolist() == data[::-1][ROWS].tolist()


@pytest.mark.parametrize("function", ["scatter_update", "scatter_elements", "scatter_nd"])
@pytest.mark.parametrize("reduction", ["none", "add", "max"])
def test_scatters_in_place(function: str, reduction: str) -> None:
    data = virtual(MANY)
    indices = np.array(FAR)[:, np.newaxis] if function == "scatter_nd" else FAR
    assert getattr(gs, function)(data, indices, VALUES, reduction=reduction, out=data) is data
    want: dict[int, int] = {}
    for i, value in zip(ROWS, VALUES.tolist(), strict=True):
        want[i] = want.get(i, 0) + value if reduction == "add" else value  # they are in ascending order
    assert {i: int(data[i]) for i in want} == want
    assert not data[[1, 2**31 - 2, 2**31 + 1, MANY - 2]].any()


def test_rows_and_tuples() -> None:
    data = virtual(2**17 + 3, 2**14)
    data[-1, -3:], data[2**17, 7] = (1, 2, 3), 9
    assert gs.gather(data, [2**17 + 2, -1])[:, -3:].tolist() == [[1, 2, 3]] * 2
    assert gs.gather_nd(data, [[2**17, 7], [-1, -1], [0, 0]]).tolist() == [9, 3, 0]
    gs.scatter_nd(data, [[2**17 + 2, 2**14 - 1]], np.array([8], np.uint8), out=data)
    gs.scatter_update(data, [2**17 + 1], np.full((1, 2**14), 5, np.uint8), out=data)
    assert (data[-1, -1], data[-2, 0], data[-2, -1], data[-3, -1]) == (8, 5, 5, 0)


def test_positions_off_the_axis() -> None:
    data = virtual(3, 2**30)
    data[2, -1], data[1, -1] = 7, 6
    last = np.broadcast_to(np.int64(2), (1, 2**30))[:, -4:]
    assert gs.gather_elements(data[:, -4:], last).tolist() == [[0, 0, 0, 7]]
    box = np.array([[1], [2], [0]])
    assert gs.gather_elements(data, box - 1, axis=1).shape == (3, 1)
    gs.scatter_elements(
        data, np.full((3, 1), -1), np.array([[1], [2], [3]], np.uint8), axis=1, reduction="add", out=data
    )
    assert data[:, -1].tolist() == [1, 8, 10]


def test_a_bad_index_is_named_as_it_is() -> None:
    data = virtual(MANY)
    with pytest.raises(IndexError, match=str(MANY)):
        gs.gather(data, [MANY])
    with pytest.raises(IndexError, match=str(-MANY - 1)):
        gs.scatter_nd(data, [[5], [-MANY - 1]], np.array([1, 2], np.uint8), out=data)
    assert data[5] == 0


@pytest.mark.full
def test_as_many_indices() -> None:
    data, indices = np.array([3, 5, 7], np.uint8), virtual(MANY)
    indices[-1], indices[2**31] = 2, 1
    result = gs.gather(data, indices)
    assert result.shape == (MANY,)
    assert (result[0], result[2**31 - 1], result[2**31], result[-2], result[-1]) == (3, 3, 5, 3, 7)
    del result
    indices[-2] = 3
    with pytest.raises(IndexError, match=str(MANY - 2)):
        gs.gather(data, indices)
