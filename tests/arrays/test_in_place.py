"""A scatter with ``out=data`` writes only the named elements, for any array object."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs

ROWS, WIDTH = 1 << 14, 128  # 8 MB of float32
FEW = np.array([3, 9000, 3])
UPDATES = np.arange(3 * WIDTH, dtype=np.float32).reshape(3, WIDTH)
BOX = np.broadcast_to(FEW[:, np.newaxis], UPDATES.shape)

# Each changes the rows FEW of x in place, and returns what it returned.
SCATTERS: dict[str, Callable[[Any], Any]] = {
    "scatter_update": lambda x: gs.scatter_update(x, FEW, UPDATES, out=x),
    "scatter_update, add": lambda x: gs.scatter_update(x, FEW, UPDATES, reduction="add", out=x),
    "scatter_update, mean": lambda x: gs.scatter_update(x, FEW, UPDATES, reduction="mean", out=x),
    "scatter_update, drop": lambda x: gs.scatter_update(x, FEW, UPDATES, mode="drop", out=x),
    "scatter_elements": lambda x: gs.scatter_elements(x, BOX, UPDATES, reduction="max", out=x),
    "scatter_nd": lambda x: gs.scatter_nd(x, FEW[:, np.newaxis], UPDATES, reduction="sub", out=x),
    "at.set": lambda x: gs.at(x)[FEW].set(UPDATES, out=x),
    "at.add": lambda x: gs.at(x)[FEW].add(UPDATES, out=x),
    "at.mean": lambda x: gs.at(x)[FEW, :].mean(UPDATES, out=x),
    "scatter_nd, lists": lambda x: gs.scatter_nd(x, FEW[:, np.newaxis].tolist(), UPDATES.tolist(), out=x),
}


class Subclass(np.ndarray):
    """A subclass that changes no behaviour."""


def view(x: Any) -> Any:
    return x[:]


def reshaped(x: Any) -> Any:
    return x.reshape(-1).reshape(x.shape)


def read_only(x: Any) -> Any:
    made = x.view(np.ndarray)
    made.flags.writeable = False
    return made


def small_parts(path: Path) -> int:
    """Return the bytes of a file that are on disk."""
    return path.stat().st_blocks * 512


@pytest.mark.parametrize("name", SCATTERS)
def test_a_memory_mapped_file_is_changed_in_place(name: str, tmp_path: Path) -> None:
    """The file is sparse: what was not written takes no space on disk."""
    path = tmp_path / "table"
    x = np.memmap(path, np.float32, "w+", shape=(ROWS, WIDTH))
    expected = SCATTERS[name](np.zeros((ROWS, WIDTH), np.float32))
    assert SCATTERS[name](x) is x
    x.flush()
    assert small_parts(path) < 1 << 18  # of 8 MB
    assert np.fromfile(path, np.float32).tobytes() == np.asarray(expected).tobytes()


PAIRS: dict[str, Callable[[Any], tuple[Any, Any]]] = {  # data and out
    "subclass": lambda x: (x.view(Subclass),) * 2,
    "subclass and array": lambda x: (x.view(Subclass), x),
    "array and subclass": lambda x: (x, x.view(Subclass)),
    "view": lambda x: (x, view(x)),
    "reshaped": lambda x: (reshaped(x), x),
    "read-only view": lambda x: (read_only(x), x),
    "record array": lambda x: (x, x.view(np.recarray)),
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("reduction", ["none", "add", "mean"])
def test_the_same_memory_is_the_same_array(pair: str, reduction: str) -> None:
    """Elements that no index names are not written: another thread may change them during the call."""
    for call in (
        lambda data, out: gs.scatter_update(data, FEW, UPDATES, reduction=reduction, out=out),
        lambda data, out: gs.scatter_nd(data, FEW[:, np.newaxis], UPDATES, reduction=reduction, out=out),
        lambda data, out: gs.scatter_elements(data, BOX, UPDATES, reduction=reduction, out=out),
        lambda data, out: getattr(gs.at(data)[FEW], "set" if reduction == "none" else reduction)(UPDATES, out=out),
    ):
        x = np.ones((ROWS, WIDTH), np.float32)
        data, out = PAIRS[pair](x)
        expected = gs.scatter_update(x, FEW, UPDATES, reduction=reduction)
        assert call(data, out) is out
        assert x.tobytes() == expected.tobytes()
        plan = gs.plan("scatter_update", data, FEW, UPDATES, reduction=reduction, out=out)
        assert "out" not in plan.copies
        assert plan.copied_bytes < 1 << 16


def test_other_views_of_the_memory_are_not_the_same_array() -> None:
    for out_of in (lambda x: x[::-1], lambda x: x[1:], lambda x: x.T):
        x = np.arange(36, dtype=np.float32).reshape(6, 6)
        data = x[:5] if out_of(x).shape == (5, 6) else x
        expected = gs.scatter_update(data.copy(), [0, 2], [[7] * 6, [8] * 6])
        out = out_of(x)
        assert gs.scatter_update(data, [0, 2], [[7] * 6, [8] * 6], out=out) is out
        assert out.tolist() == expected.tolist()


def test_a_bad_index_changes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "table"
    x = np.memmap(path, np.float32, "w+", shape=(ROWS, WIDTH))
    with pytest.raises(IndexError, match=r"indices\[2\] = 16384 is out of range"):
        gs.scatter_update(x, [3, 9000, ROWS], UPDATES, out=x)
    x.flush()
    assert small_parts(path) < 1 << 16
    read = np.memmap(path, np.float32, "r", shape=(ROWS, WIDTH))
    with pytest.raises(ValueError, match="out is read-only"):
        gs.scatter_update(read, FEW, UPDATES, out=read)


def test_gathers_write_to_memory_mapped_files(tmp_path: Path) -> None:
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    out = np.memmap(tmp_path / "out", np.float32, "w+", shape=(2, 3))
    for call in (
        lambda: gs.gather(table, [3, 0], out=out),
        lambda: gs.gather_nd(table, [[3], [0]], out=out),
        lambda: gs.gather_reduce(table, [[3], [0]], out=out),
        lambda: gs.at(table)[[3, 0]].get(out=out),
        lambda: gs.prepare([3, 0], 4).gather(table, out=out),
    ):
        out[...] = 0
        assert call() is out
        assert np.fromfile(tmp_path / "out", np.float32).tolist() == [9, 10, 11, 0, 1, 2]


def test_arrays_that_do_more_than_writing_are_assigned_to() -> None:
    class Logged(np.ndarray):
        def __setitem__(self, key: Any, value: Any) -> None:
            np.ndarray.__setitem__(self, key, value)
            written.append(key)

    written: list[Any] = []
    out = np.zeros((2, 2)).view(Logged)
    gs.scatter_update(np.zeros((2, 2)), [1], [[1.0, 2.0]], out=out)
    assert written == [...]
    assert out.tolist() == [[0, 0], [1, 2]]
