"""Memory of large results is reused, within a limit, and never while an object refers to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import gatherscatter as gs

MIB = 1 << 20
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the pool is empty elsewhere")


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    before = gs.pool_limit()
    gs.set_pool_limit(0)
    gs.set_pool_limit(64 * MIB)
    yield
    gs.set_pool_limit(before)


def result(mib: int, value: float = 1.0) -> np.ndarray:
    return gs.gather(np.full((1, mib * MIB // 8 // 1024, 1024), value), [0])[0].base


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_a_former_result_is_used_again() -> None:
    first = result(8)
    where = address(first)
    del first
    assert gs.pool_size() >= 8 * MIB
    second = result(8, 2.0)
    assert address(second) == where
    assert gs.pool_size() == 0
    assert (second == 2.0).all()


def test_what_is_in_use_is_left_alone() -> None:
    first = result(8)
    view = first[0, :5]
    del first  # the view still refers to it
    second = result(8, 2.0)
    assert (view == 1.0).all()
    assert (second == 2.0).all()


def test_the_limit_holds() -> None:
    many = [result(20) for _ in range(6)]
    assert gs.pool_size() == 0
    del many
    assert 20 * MIB <= gs.pool_size() <= 64 * MIB
    gs.set_pool_limit(0)
    assert gs.pool_size() == 0
    result(8)
    assert gs.pool_size() == 0
    with pytest.raises(ValueError, match="at least 0"):
        gs.set_pool_limit(-1)


def test_small_results_are_not_pooled() -> None:
    before = gs.pool_size()
    for _ in range(3):
        gs.gather(np.zeros(1000), [0] * 1000)
    assert gs.pool_size() == before


def test_pooled_arrays_are_like_any_other() -> None:
    array = gs.gather(np.arange(4 * MIB // 8.0), np.arange(4 * MIB // 8))
    assert array.flags.owndata
    assert array.flags.c_contiguous
    assert array.flags.writeable
    array.resize(8 * MIB // 8, refcheck=False)
    np.testing.assert_array_equal(array[: 4 * MIB // 8], np.arange(4 * MIB // 8))
    array.resize(2 * MIB // 8, refcheck=False)
    np.testing.assert_array_equal(array, np.arange(2 * MIB // 8))


@on_linux
def test_the_environment_sets_the_limit() -> None:
    code = "import gatherscatter as gs; print(gs.pool_limit())"
    environment = {**os.environ, "GATHERSCATTER_POOL_BYTES": "12345"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == "12345"
