"""Hostile callers: strides that lead nowhere, sizes that overflow, and signal handlers that change or fork a call.
change or fork what is being worked on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import gatherscatter as gs
from gatherscatter.arrays.convert import cast
from gatherscatter.errors import OpValueError

on_posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and fork() of POSIX")


def none(shape: tuple[int, ...], dtype: Any = np.int8) -> np.ndarray:
    """Return an array that takes no memory, however large its dims are."""
    return np.zeros(shape, dtype)


def repeated(shape: tuple[int, ...], dtype: Any = np.int8) -> np.ndarray:
    return np.broadcast_to(np.zeros((), dtype), shape)


@pytest.mark.parametrize("stride", [-(2**63), 2**63 - 1, 0, -1])
def test_the_stride_of_one_position_leads_nowhere(stride: int) -> None:
    backwards = as_strided(np.arange(5, dtype=np.int8)[::-1], (1, 5), (stride, -1))
    assert gs.gather_nd(backwards, [[0, 1], [-1, -1]]).tolist() == [3, 0]
    assert gs.gather(as_strided(np.arange(5), (5, 1), (8, stride)), [4, 0]).tolist() == [[4], [0]]


def test_empty_tuples_are_not_gone_through_one_by_one() -> None:
    assert gs.gather_nd(none((0,)), none((2**62, 0))).shape == (2**62, 0)
    data, empty = none((0,)), none((2**63 - 1, 0))
    assert gs.scatter_nd(data, empty, empty, out=data, mode="clip") is data


@pytest.mark.parametrize("function", [gs.gather, lambda *inputs: gs.plan("gather", *inputs)], ids=["call", "plan"])
def test_a_result_of_too_many_bytes(function: Callable) -> None:
    with pytest.raises(OpValueError, match="the size of the result overflows 64 bits"):
        function(repeated((4, 2**40), np.float64), none((2**22,)))


@pytest.mark.parametrize("size", [2**59, 2**60, 2**62])
@pytest.mark.parametrize("reduction", ["mean", "add"])
def test_plans_never_overflow(size: int, reduction: str) -> None:
    try:
        plan = gs.plan("scatter_update", repeated((size,)), [0], np.ones(1, np.int8), reduction=reduction)
    except OpValueError:
        return
    assert plan.scratch_bytes >= 0


@pytest.mark.parametrize("size", [2**59, 2**60, 2**62])
@pytest.mark.parametrize("reduction", ["mean", "add"])
@pytest.mark.parametrize("axis", [0, 1])
def test_empty_data_with_a_huge_dim(size: int, reduction: str, axis: int) -> None:
    data, updates = (none((size, 0)), none((0, 0))) if axis == 0 else (none((0, size)), none((0, 0)))
    plan = gs.plan("scatter_update", data, none((0,)), updates, axis=axis, reduction=reduction)
    assert (plan.scratch_bytes, plan.threads) == (0, 1)
    assert gs.scatter_update(data, none((0,)), updates, axis=axis, reduction=reduction).shape == data.shape


def test_sizes_next_to_an_empty_dim_may_be_huge() -> None:
    assert gs.prepare(none((0, 3)), (0, 2**40, 2**40)).rows.shape == (0,)


def test_updates_that_repeat_in_memory_are_looked_at_once() -> None:
    updates, data = np.broadcast_to(np.int64(300), (2**59,)), np.zeros(3, np.int8)
    with pytest.raises(OpValueError, match=r"updates has shape \(576460752303423488,\)"):
        gs.scatter_update(data, [0], updates)
    with pytest.raises(OpValueError, match=r"updates\[0\] = 300 does not fit"):
        cast("scatter_update", "updates", updates, "data", data)


@pytest.mark.parametrize("axis", [0, 1])
def test_elements_without_bytes(axis: int) -> None:
    n = 300_000
    indices = np.random.default_rng(0).integers(0, n, (2, n)) % (n if axis else 2)
    data = np.zeros((2, n), "V0")
    assert gs.scatter_elements(data, indices, data, axis).shape == (2, n)
    assert gs.gather_elements(data, indices, axis).shape == (2, n)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.native
@on_posix
@pytest.mark.parametrize("reduction", ["none", "add"])
def test_data_that_changes_its_type_during_a_call(reduction: str) -> None:
    """The call continues with the array that it was given. It does not write outside of this array."""
    code = f"""
import signal, warnings
import numpy as np, gatherscatter as gs
warnings.simplefilter("ignore")
around = np.zeros(16 << 16, np.int8)
data = around[: 1 << 16]
rows, updates = np.full(1 << 26, len(data) - 1, np.int32), np.ones(1 << 26, np.int8)
def change(*_):
    data.dtype = np.int64
signal.signal(signal.SIGALRM, change)
signal.setitimer(signal.ITIMER_REAL, 0.005)
gs.scatter_update(data, rows, updates, reduction="{reduction}", out=data, num_threads=1)
assert data.dtype == np.int64, "the call was over too soon"
assert not around[1 << 16 :].any()
"""
    run(code)


@on_posix
def test_a_fork_in_a_signal_handler() -> None:
    """The child has lost the threads that ran part of the work, so its call raises. The parent's call continues."""
    code = """
import os, signal, sys, warnings
import numpy as np, gatherscatter as gs
warnings.simplefilter("ignore")
data, rows = np.zeros(1 << 25, np.float32), np.random.default_rng(0).integers(0, 1 << 25, 1 << 26)
gs.gather(data, rows[: 1 << 20], num_threads=2)
children = []
def fork(*_):
    children.append(os.fork())
signal.signal(signal.SIGALRM, fork)
signal.setitimer(signal.ITIMER_REAL, 0.01)
try:
    gs.gather(data, rows, num_threads=2)
except RuntimeError as error:
    os._exit(7 if "forked" in str(error) and children == [0] else 8)
if children == [0]:
    os._exit(9)
assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 7
"""
    run(code)


@on_posix
def test_a_forked_child_keeps_the_limit_of_the_pool() -> None:
    before = gs.pool_limit()
    gs.set_pool_limit(12345)
    try:
        child = os.fork()
        if child == 0:
            os._exit(0 if gs.pool_limit() == 12345 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        gs.set_pool_limit(before)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_the_pool_gives_back_is_the_systems() -> None:
    code = """
import threading
import numpy as np, gatherscatter as gs
data = np.ones((1 << 14, 64), np.float32)
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
def work():
    for k in range(40):
        gs.gather(data, np.arange((k % 5 + 1) << 12) % len(data))
before = resident()
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
gs.set_pool_limit(0)
assert resident() - before < 24 << 20, resident() - before
"""
    run(code)
