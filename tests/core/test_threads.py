"""Results do not depend on the number of threads or on simultaneous calls."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs

DTYPES = [
    np.float32,
    ml_dtypes.bfloat16,
    *(pytest.param(dtype, marks=pytest.mark.full) for dtype in (np.int64, np.complex64, np.bool)),
]
REDUCTIONS = ["none", "add", "sub", "mul", "min", "max", "mean"]


@pytest.fixture(autouse=True)
def _restore_threads() -> Iterator[None]:
    before = gs.num_threads()
    yield
    gs.set_num_threads(before)


def _values(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(0, 2, shape).astype(dtype)


# Each shape leads to a different division of the work. All are large enough for threads.
def _lines(values: Callable, index: Callable, **options: object) -> np.ndarray:
    return gs.scatter_update(values((40, 50, 8)), index(400, 50), values((40, 400, 8)), axis=1, **options)


def _columns(values: Callable, index: Callable, **options: object) -> np.ndarray:
    return gs.scatter_update(values((5, 4096)), index(200, 5), values((200, 4096)), **options)


def _destinations(values: Callable, index: Callable, **options: object) -> np.ndarray:
    # Larger than the cache, so that threads own ranges of destinations.
    return gs.scatter_nd(values((900_000, 5)), index((150_000, 1), 900_000) // 7, values((150_000, 5)), **options)


def _lane_groups(values: Callable, index: Callable, **options: object) -> np.ndarray:
    return gs.scatter_elements(values((64, 100)), index((64, 9000), 100), values((64, 9000)), axis=1, **options)


def _lane_positions(values: Callable, index: Callable, **options: object) -> np.ndarray:
    return gs.scatter_elements(values((4_500_000,)), index(600_000, 4_500_000) // 9, values((600_000,)), **options)


SCATTERS = [_lines, _columns, _destinations, _lane_groups, _lane_positions]


def _refused(dtype: type, reduction: str) -> bool:
    return (dtype is np.complex64 and reduction in ("min", "max")) or (dtype is np.bool and reduction == "mean")


@pytest.mark.parametrize("scatter", SCATTERS)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_scatters_give_the_same_bits_for_any_number_of_threads(scatter: Callable, dtype: type) -> None:
    def index(shape: object, size: int) -> np.ndarray:
        return np.random.default_rng(1).integers(0, size, shape)

    for reduction in REDUCTIONS:
        if _refused(dtype, reduction):
            continue
        for include_self in (True, False) if reduction in ("add", "mean") else (True,):
            results = []
            for threads in (1, 2, 7):
                gs.set_num_threads(threads)
                result = scatter(
                    lambda shape: _values(shape, dtype), index, reduction=reduction, include_self=include_self
                )
                results.append(result.tobytes())
            assert len(set(results)) == 1, (reduction, include_self)


def test_gathers_give_the_same_bits_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(2)
    data = rng.random((60, 300, 70))
    calls = [
        lambda: gs.gather(data, rng_indices((500,), 300), axis=1),
        lambda: gs.gather(data, rng_indices((400,), 60), axis=0),
        lambda: gs.gather_nd(data, np.stack([rng_indices((90_000,), n) for n in data.shape], axis=-1)),
        lambda: gs.gather_elements(data, rng_indices((60, 300, 70), 60), axis=0),
        lambda: gs.gather_elements(data, rng_indices((60, 300, 70), 70), axis=2),
    ]

    def rng_indices(shape: tuple[int, ...], size: int) -> np.ndarray:
        return np.random.default_rng(3).integers(-size, size, shape)

    for call in calls:
        results = []
        for threads in (1, 2, 3, 7):
            gs.set_num_threads(threads)
            results.append(call().tobytes())
        assert len(set(results)) == 1


def test_a_million_duplicates_on_four_slots_lose_nothing() -> None:
    indices = np.random.default_rng(4).integers(0, 4, (1_000_000, 1))
    for threads in (1, 2, 7):
        gs.set_num_threads(threads)
        out = gs.scatter_nd(np.zeros(4, np.int32), indices, np.ones(1_000_000, np.int32), reduction="add")
        assert out.tolist() == [np.count_nonzero(indices == slot) for slot in range(4)]


def test_the_first_bad_index_is_reported_for_any_number_of_threads() -> None:
    indices = np.zeros(1_000_000, np.int64)
    indices[[999_999, 700_000, 300_001]] = 12
    for threads in (1, 2, 7):
        gs.set_num_threads(threads)
        with pytest.raises(IndexError) as caught:
            gs.gather(np.zeros(8), indices)
        assert caught.value.positions == ((300_001,), (700_000,), (999_999,))


def test_many_python_threads_at_once() -> None:
    gs.set_num_threads(4)
    data, indices = np.zeros((1000, 64), np.float32), np.random.default_rng(5).integers(0, 1000, 20_000)
    updates = np.random.default_rng(6).random((20_000, 64), np.float32)
    expected = gs.scatter_update(data, indices, updates, reduction="add").tobytes()
    with ThreadPoolExecutor(8) as executor:
        results = executor.map(
            lambda _: gs.scatter_update(data, indices, updates, reduction="add").tobytes(), range(64)
        )
        assert set(results) == {expected}


def _sum_in_child(_: int) -> float:
    return float(gs.gather(np.ones(1_000_000), np.arange(1_000_000)).sum())


@pytest.mark.native
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork.* was called:RuntimeWarning")  # from JAX
def test_children_of_fork_can_use_threads() -> None:
    gs.set_num_threads(2)
    assert _sum_in_child(0) == 1_000_000  # starts the threads of the parent
    for _ in range(5):
        with multiprocessing.get_context("fork").Pool(4) as pool:
            assert pool.map_async(_sum_in_child, range(8)).get(timeout=60) == [1_000_000.0] * 8


@pytest.mark.native
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_workers_of_a_data_loader() -> None:
    """Run a parallel call in the parent and then calls in eight forked workers, a hundred times.

    The parent is a process without other libraries. It takes little time to fork.
    """
    code = """
import os, numpy as np, gatherscatter as gs

data, indices = np.ones(100_000), np.arange(100_000)

def is_right():
    return gs.gather(data, indices).sum() == 100_000

gs.set_num_threads(2)
assert gs.plan("gather", data, indices).threads == 2
for _ in range(100):
    assert is_right()
    workers = []
    for _ in range(8):
        child = os.fork()
        if child == 0:
            os._exit(0 if is_right() else 1)
        workers.append(child)
    assert [os.waitpid(child, 0)[1] for child in workers] == [0] * 8
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_spawned_processes() -> None:
    assert _sum_in_child(0) == 1_000_000
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map_async(_sum_in_child, range(4)).get(timeout=120) == [1_000_000.0] * 4


def test_threads_must_be_at_least_one() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        gs.set_num_threads(0)


def test_an_axis_without_elements_is_checked_by_any_number_of_threads() -> None:
    for threads in (1, 2, 4):
        gs.set_num_threads(threads)
        for width in (1, 20):
            with pytest.raises(IndexError, match="no index is valid"):
                gs.scatter_nd(np.zeros((0, width)), [[4]], np.zeros((1, width)))


def test_a_process_ends_while_daemon_threads_are_in_kernels() -> None:
    code = (
        "import threading, time, numpy as np, gatherscatter as gs\n"
        "data, indices, updates = np.zeros(10**6), np.zeros((10**6, 1), int), np.ones(10**6)\n"
        "def forever():\n"
        "    while True: gs.scatter_nd(data, indices, updates, reduction='add')\n"
        "for _ in range(3): threading.Thread(target=forever, daemon=True).start()\n"
        "time.sleep(0.2)\n"
    )
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


def test_threads_of_one_call() -> None:
    data, indices = np.arange(1000.0), np.arange(1000)
    gs.set_num_threads(3)
    for threads in (1, 2, 5000, None):
        np.testing.assert_array_equal(gs.gather(data, indices, num_threads=threads), data)
        np.testing.assert_array_equal(gs.gather(data.tolist(), indices.tolist(), num_threads=threads), data)
    assert gs.num_threads() == 3
    for bad in (0, -1):
        with pytest.raises(ValueError, match="num_threads must be at least 1"):
            gs.gather(data, indices, num_threads=bad)
    with pytest.raises(TypeError, match="num_threads must be an integer"):
        gs.gather(data, indices, num_threads=1.5)


@pytest.mark.parametrize(
    "imports",
    ["import threadpoolctl, gatherscatter as gs", "import gatherscatter as gs\ngs.register_threadpoolctl()"],
    ids=["before", "on request"],
)
def test_threadpoolctl_knows_our_threads(imports: str) -> None:
    code = f"""
{imports}
from threadpoolctl import threadpool_info, threadpool_limits
gs.set_num_threads(4)
with threadpool_limits(limits=1):
    assert gs.num_threads() == 1
assert gs.num_threads() == 4
with threadpool_limits(limits=2, user_api="gatherscatter"):
    assert gs.num_threads() == 2
assert [info["num_threads"] for info in threadpool_info() if info["user_api"] == "gatherscatter"] == [4]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


LONG_CALL = """
import os, signal, threading, time
import numpy as np, gatherscatter as gs

rows, updates = np.zeros(2_000_000_000, np.uint8), np.zeros(2_000_000_000, np.uint8)  # takes no memory
groups, pairs = gs.prepare(np.arange(4_000_000) % 50_000, 50_000), np.zeros((4_000_000, 8), np.float32)
sent = []

def interrupt():
    time.sleep(0.5)
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

for call in (
    lambda: gs.gather(np.zeros(3, np.uint8), rows),
    lambda: gs.scatter_update(np.zeros(200, np.uint8), rows, updates, reduction="add"),
    lambda: gs.scatter_update(np.zeros(200, np.uint8), rows, updates, reduction="max", out=np.zeros(200, np.uint8)),
    lambda: groups.sum(pairs),
):
    threading.Thread(target=interrupt).start()
    try:
        for _ in range(1000):
            call()
    except KeyboardInterrupt:
        assert time.perf_counter() - sent.pop() < 5  # 0.2 s where nothing else runs; a thousand calls take far longer
    else:
        raise SystemExit("was not interrupted")
assert gs.gather(np.arange(5), [4]).tolist() == [4]
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_a_long_call() -> None:
    done = subprocess.run([sys.executable, "-c", LONG_CALL], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
