"""gatherscatter.zarr on real stores: results identical to those in memory, and no update is lost or applied twice."""

from __future__ import annotations

import errno
import itertools
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gatherscatter as gs
from gatherscatter.errors import OpIndexError, OpTypeError, OpValueError

zarr: Any = pytest.importorskip("zarr")
gsz: Any = pytest.importorskip("gatherscatter.zarr")
from gatherscatter.zarr import journal, storage  # noqa: E402
from tests.support.command_line import fail, succeed  # noqa: E402
from tests.support.paths import SUPPORT  # noqa: E402
from tests.support.zarr_job import call as call_job  # noqa: E402

REDUCTIONS = ("none", "add", "sub", "mul", "min", "max", "mean")
KILLS = int(os.environ.get("GATHERSCATTER_KILLS", "25"))
JOB = SUPPORT / "zarr_job.py"


def stored(store: Any, values: np.ndarray, chunks: Any, shards: Any = None, **options: Any) -> Any:
    """Store values as an array of Zarr."""
    array = zarr.create_array(
        store, shape=values.shape, dtype=values.dtype, chunks=chunks, shards=shards, overwrite=True, **options
    )
    array[...] = values
    return array


def same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


# ------------------------------------------------------------------------------ results identical to those in memory


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return chunks, and possibly shards, for a shape. They can be larger than the shape, or uneven."""
    chunks = tuple(draw(st.integers(1, max(n, 1) + 1)) for n in shape)
    sharded = shape and draw(st.booleans())  # Zarr cannot read a shard without axes
    shards = tuple(c * draw(st.integers(1, 3)) for c in chunks) if sharded else None
    return {"chunks": chunks, "shards": shards}


@st.composite
def calls(draw: st.DrawFn, scatter: bool) -> tuple[str, np.ndarray, np.ndarray, tuple[int, ...], dict[str, Any]]:
    """Return function, data, indices, the shape of the slots, and options."""
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    rank, mode = len(shape), draw(st.sampled_from(["raise", "wrap", "clip", "drop" if scatter else "fill"]))
    far = 0 if mode == "raise" else 3
    axis, box = draw(st.integers(-rank, rank - 1)), tuple(draw(st.lists(st.integers(0, 6), max_size=2)))
    options: dict[str, Any] = {"mode": mode}
    form = draw(st.sampled_from(["nd", "elements", "axis"]))
    if form == "nd":
        batch = 0 if scatter else draw(st.integers(0, rank - 1))
        box, k = shape[:batch] + (box or (1,)), draw(st.integers(0, rank - batch))
        sizes, slots = shape[batch : batch + k], box + shape[batch + k :]
        box = (*box, k)
        options |= {} if scatter else {"batch_dims": batch}
    elif form == "elements":
        box = tuple(draw(st.integers(0, 9 if a == axis % rank else n)) for a, n in enumerate(shape))
        sizes, slots, options["axis"] = (shape[axis],), box, axis
    else:
        before = axis % rank
        batch = 0 if scatter else draw(st.integers(0, before))
        sizes, slots = (shape[axis],), shape[:before] + box + shape[before + 1 :]
        box = shape[:batch] + box
        options |= {"axis": axis} if scatter else {"axis": axis, "batch_dims": batch}
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    indices = np.zeros(box, draw(st.sampled_from([np.int8, np.int32, np.int64])))
    for j, size in enumerate(sizes):
        values = rng.integers(-size - far, size + far, box[:-1] if form == "nd" else box)
        indices[(..., j) if form == "nd" else ...] = values
    kind = draw(st.sampled_from(["f2", "f4", "f8", "i1", "i8", "u2", ">f4", ">i4"]))
    name = {"nd": "_nd", "elements": "_elements", "axis": "_update" if scatter else ""}[form]
    data = rng.integers(-9, 9, shape).astype(kind)
    return ("scatter" if scatter else "gather") + name, data, indices, slots, options


LIMITS = st.sampled_from([{}, {"workers": 1}, {"memory_limit": 100_000}])


@given(drawn=calls(scatter=True), draws=st.data())
def test_scatters_give_the_bits_of_the_array_functions(drawn: Any, draws: st.DataObject) -> None:
    name, data, indices, slots, options = drawn
    options["reduction"] = draws.draw(st.sampled_from(REDUCTIONS))
    if options["reduction"] != "none":
        options["include_self"] = draws.draw(st.booleans())
    updates = np.random.default_rng(0).integers(1, 7, slots).astype(data.dtype)
    wanted = getattr(gs, name)(data, indices, updates, **options)
    array = stored(zarr.storage.MemoryStore(), data, **draws.draw(layouts(data.shape)), fill_value=1)
    kept = indices.copy()
    report = getattr(gsz, name)(array, indices, updates, **options, **draws.draw(LIMITS))
    assert same_bits(array[...], wanted)
    assert np.array_equal(indices, kept)
    assert report.chunks <= report.chunks_total


@given(drawn=calls(scatter=False), draws=st.data())
def test_gathers_give_the_bits_of_the_array_functions(drawn: Any, draws: st.DataObject) -> None:
    name, data, indices, _, options = drawn
    wanted = getattr(gs, name)(data, indices, **options)
    array = stored(zarr.storage.MemoryStore(), data, **draws.draw(layouts(data.shape)))
    limits = draws.draw(LIMITS)
    assert same_bits(getattr(gsz, name)(array, indices, **options, **limits), wanted)
    into = np.empty_like(wanted)
    assert getattr(gsz, name)(array, indices, **options, out=into) is into
    assert same_bits(into, wanted)
    out = stored(zarr.storage.MemoryStore(), np.empty_like(wanted), **draws.draw(layouts(wanted.shape)))
    assert getattr(gsz, name)(array, indices, **options, out=out, **limits) is out
    assert same_bits(out[...], wanted)


def test_many_updates_in_passes(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    data, indices = rng.standard_normal((300, 40)).astype("f4"), rng.integers(-300, 300, (20_000, 1))
    updates = rng.standard_normal((20_000, 40)).astype("f4")
    array = stored(tmp_path / "z", data, (16, 8), (32, 16))
    gsz.scatter_nd(array, indices, updates, reduction="add", memory_limit=1_500_000)
    assert same_bits(array[...], gs.scatter_nd(data, indices, updates, reduction="add"))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_text(tmp_path: Path, zarr_format: int) -> None:
    array = zarr.create_array(
        tmp_path / "z", shape=(5,), chunks=(2,), dtype="string", zarr_format=zarr_format, overwrite=True
    )
    array[...] = np.array(["a", "b", "c", "d", "e"], array.dtype)
    gsz.scatter_nd(array, [[4], [1]], ["long text", "B"])
    assert list(array[...]) == ["a", "B", "c", "d", "long text"]
    assert list(gsz.gather(array, [4, 0])) == ["long text", "a"]
    with pytest.raises(OpTypeError, match="'mul' is not defined"):
        gsz.scatter_nd(array, [[4]], ["x"], reduction="mul")


def test_dates(tmp_path: Path) -> None:
    data = np.arange(12).reshape(3, 4).astype("M8[s]")
    array = stored(tmp_path / "z", data, (2, 3))
    updates = np.array([5, 0], "M8[s]")
    gsz.scatter_nd(array, [[0, 0], [2, 3]], updates)
    assert same_bits(array[...], gs.scatter_nd(data, [[0, 0], [2, 3]], updates))


def test_an_array_that_was_never_written_holds_its_fill_value(tmp_path: Path) -> None:
    array = zarr.create_array(tmp_path / "z", shape=(10**8, 10**8), chunks=(100, 100), dtype="f4", fill_value=7)
    report = gsz.scatter_nd(array, [[5, 5], [10**8 - 1, 3]], [1, 2], reduction="add")
    assert report.chunks == 2
    assert gsz.gather_nd(array, [[5, 5], [-1, 3], [-1, 4]]).tolist() == [8, 9, 7]
    gsz.scatter_nd(array, [[777, 777]], [0], reduction="add")
    gsz.scatter_nd(array, [[5, 5], [-1, 3]], [7, 7])  # the files of chunks that only contain the fill value are deleted
    assert gsz.gather_nd(array, [[5, 5], [-1, 3]]).tolist() == [7, 7]


def test_arrays_of_a_group(tmp_path: Path) -> None:
    group = zarr.create_group(tmp_path / "g")
    array = group.create_array("deep/array", shape=(4,), chunks=(2,), dtype="i4")
    gsz.scatter_nd(array, [[3]], [1], reduction="add")
    assert array[...].tolist() == [0, 0, 0, 1]
    assert [name for name, _ in group.members()] == ["deep"]


# ------------------------------------------------------------------------------------------ nothing is written if wrong


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"indices": [[0, 0], [3, 9], [9, 1]]}, OpIndexError, r"indices\[1, 1\] = 9 is out of range for axis 1"),
        ({"indices": [[0, 0], [3, -9], [1, 1]]}, OpIndexError, r"indices\[1, 1\] = -9 is out of range for axis 1"),
        ({"indices": [[0.0]]}, OpTypeError, "indices must be integers"),
        ({"updates": [1, 2]}, OpValueError, "updates has shape"),
        ({"updates": [1.5, 2, 3]}, OpTypeError, "can't be stored in array of type int32"),
        ({"updates": [2**40, 2, 3]}, OpValueError, r"updates\[0\] = 1099511627776 does not fit"),
        ({"reduction": "plus"}, OpValueError, "reduction must be one of"),
        ({"mode": "fill"}, OpValueError, "mode must be one of"),
        ({"memory_limit": 100}, OpValueError, "memory_limit of 100 bytes is too small"),
        ({"memory_limit": 0}, OpValueError, "memory_limit must be at least 1"),
        ({"workers": 0}, OpValueError, "workers must be at least 1"),
        ({"workers": "2"}, OpTypeError, "workers must be an integer"),
        ({"lock_timeout": -1}, OpValueError, "lock_timeout must be a number of seconds"),
        ({"lock_timeout": "long"}, OpValueError, "lock_timeout must be a number of seconds"),
        ({"job": 1}, OpTypeError, "job must be a string"),
        ({"array": np.zeros((4, 8), "i4")}, OpTypeError, "array must be an array of Zarr"),
        ({"nonsense": 1}, TypeError, "nonsense"),
    ],
)
def test_what_is_wrong_is_found_before_the_first_write(tmp_path: Path, change: Any, error: Any, text: str) -> None:
    data = np.arange(32, dtype="i4").reshape(4, 8)
    array = stored(tmp_path / "z", data, (2, 2))
    arguments = {"array": array, "indices": [[0, 0], [3, 7], [0, 0]], "updates": [1, 2, 3], **change}
    with pytest.raises(error, match=text):
        gsz.scatter_nd(**arguments)
    assert np.array_equal(array[...], data)


def test_stores_without_locks_are_refused(tmp_path: Path) -> None:
    array = stored(tmp_path / "z", np.zeros(4), (2,))
    wrapped = zarr.open_array(zarr.storage.LoggingStore(array.store), mode="r+")
    with pytest.raises(OpValueError, match="LoggingStore, where no lock can keep another process"):
        gsz.scatter_nd(wrapped, [[0]], [1.0])
    with pytest.raises(OpValueError, match="array is opened read-only"):
        gsz.scatter_nd(zarr.open_array(tmp_path / "z", mode="r"), [[0]], [1.0])


def test_filters_that_change_values_are_refused(tmp_path: Path) -> None:
    from numcodecs import FixedScaleOffset

    lossy = FixedScaleOffset(offset=0, scale=10, dtype="f8", astype="i4")
    array = stored(tmp_path / "z", np.zeros(4), (2,), filters=[lossy], zarr_format=2)
    with pytest.raises(OpValueError, match="FixedScaleOffset, which may change stored values"):
        gsz.scatter_nd(array, [[0]], [1.0])


@pytest.mark.parametrize(
    ("out", "error", "text"),
    [
        (np.zeros(3), OpValueError, "out has shape"),
        (np.zeros(2, "f4"), OpTypeError, "out has type float32"),
        ([0.0, 0.0], OpTypeError, "out must be a NumPy array or an array of Zarr"),
    ],
)
def test_an_out_that_does_not_fit(tmp_path: Path, out: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        gsz.gather(stored(tmp_path / "z", np.zeros(4), (2,)), [0, 1], out=out)


def test_a_gather_does_not_write_what_it_reads(tmp_path: Path) -> None:
    array = stored(tmp_path / "z", np.zeros(4), (2,))
    with pytest.raises(OpValueError, match="out is the array that is read"):
        gsz.gather(array, [3, 2, 1, 0], out=zarr.open_array(tmp_path / "z", mode="r+"))


# ------------------------------------------------------------------------------------------------- reports and progress


def test_dry_run_says_what_would_be_touched(tmp_path: Path) -> None:
    data = np.zeros((10, 10), "f4")
    array = stored(tmp_path / "z", data, (2, 2), (4, 4))
    report = gsz.scatter_nd(array, [[0, 0], [9, 9]], [1, 2], dry_run=True)
    assert (report.chunks, report.chunks_total, report.bytes_written) == (2, 9, (4 * 4 + 2 * 2) * 4)
    assert np.array_equal(array[...], data)
    assert not (tmp_path / "z" / ".gatherscatter").exists()
    assert gsz.scatter_update(array, [1], np.ones((10, 1)), 1, dry_run=True).bytes_read == 10 * 4 * 4
    assert gsz.gather(array, [9], dry_run=True).chunks == 5
    with pytest.raises(OpIndexError):
        gsz.scatter_nd(array, [[10, 0]], [1], dry_run=True)


def test_progress_is_told(tmp_path: Path) -> None:
    array, told = stored(tmp_path / "z", np.zeros((8, 8)), (2, 8)), []
    gsz.scatter_nd(array, [[0], [7], [3]], np.ones((3, 8)), progress=lambda *facts: told.append(facts))
    assert told == [(1, 3, 128), (2, 3, 256), (3, 3, 384)]
    told.clear()
    gsz.gather(array, [0, 7], progress=lambda *facts: told.append(facts))
    assert told == [(1, 2, 128), (2, 2, 256)]


@pytest.mark.skipif(os.name == "nt", reason="POSIX terminals")
def test_a_bar_for_long_calls(tmp_path: Path) -> None:
    import pty

    code = (
        "import sys, time\n"
        "from gatherscatter.system.progress import ChunkProgress\n"
        "with ChunkProgress('scatter_nd') as told:\n"
        "    for done in range(1, 5):\n        time.sleep(0.3); told(done, 8, done * 10**6)\n"
    )
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True, env={**os.environ, "COLUMNS": "100"})
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "scatter_nd" in shown
    assert "4/8 chunks" in shown
    assert "MB/s" in shown
    assert " s left" in shown


# ---------------------------------------------------------------------------------------------------- crashes and locks


class Crash(BaseException):
    """Represents the end of a process. A real one would be too slow to try every step."""


def failing(function: Any, after: int, error: BaseException | None = None) -> Any:
    """Return a function that works ``after`` times and then always fails."""
    calls = itertools.count()

    def fails(*args: Any, **options: Any) -> Any:
        if next(calls) >= after:
            raise error or Crash
        return function(*args, **options)

    return fails


def prepare_job(folder: Path, rng: np.random.Generator, chunks: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the files of a job that touches every chunk several times: data, indices and updates."""
    data = rng.integers(-100, 100, (chunks * 4, 5)).astype("f8")
    indices = np.concatenate([np.arange(0, chunks * 4, 4), rng.integers(0, chunks * 4, 100)])[:, np.newaxis]
    updates = rng.integers(2, 5, (len(indices), 5)).astype("f8")
    stored(folder / "array.zarr", data, (4, 5))
    np.save(folder / "indices.npy", indices)
    np.save(folder / "updates.npy", updates)
    return data, indices, updates


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("victim", ["flush", "_append", "overwrite", "replace"])
def test_a_job_that_ends_at_any_step_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reduction: str, victim: str
) -> None:
    rng = np.random.default_rng(5)
    targets: dict[str, tuple[Any, str]] = {
        "flush": (storage, "flush"),
        "_append": (journal.Journal, "_append"),
        "overwrite": (storage.Writer, "overwrite"),
        "replace": (Path, "replace"),
    }
    owner, attribute = targets[victim]
    original = getattr(owner, attribute)
    for step in itertools.count():
        data, indices, updates = prepare_job(tmp_path, rng, chunks=3)
        name, crashed = None if step % 2 else "job", False
        monkeypatch.setattr(owner, attribute, failing(original, step))
        try:
            call_job(tmp_path, reduction, job=name)
        except Crash:
            crashed = True
        monkeypatch.setattr(owner, attribute, original)
        if crashed:
            call_job(tmp_path, reduction, job=name)
        array = zarr.open_array(tmp_path / "array.zarr")
        assert same_bits(array[...], gs.scatter_nd(data, indices, updates, reduction=reduction))
        if not crashed:
            assert step > 0
            return


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_within_the_limit(tmp_path: Path) -> None:
    code = (
        "import numpy as np, zarr, gatherscatter.zarr as gsz\n"
        "def peak():\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return next(int(line.split()[1]) for line in lines if line.startswith('VmHWM'))\n"
        "z = zarr.create_array('z', shape=(256, 1024, 1024), chunks=(4, 512, 512), dtype='u1')\n"
        "indices, updates = np.random.default_rng(0).integers(0, 256, (800_000, 3)), np.ones(800_000, 'u1')\n"
        "gsz.scatter_nd(z, indices[:9], updates[:9], reduction='add', memory_limit=24_000_000)\n"
        "before = peak()\n"
        "gsz.scatter_nd(z, indices, updates, reduction='add', memory_limit=24_000_000)\n"
        "gsz.gather_nd(z, indices, memory_limit=24_000_000)\n"
        "gsz.scatter_update(z, [5, 9], np.ones((256, 2, 1024), 'u1'), 1, memory_limit=24_000_000)\n"
        "print((peak() - before) * 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 32_000_000  # the array has 268 MB


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_kill_9_at_random_points_loses_and_repeats_nothing(tmp_path: Path) -> None:
    rng, killed, finished, resumed = np.random.default_rng(KILLS), 0, 0, 0
    prepare_job(tmp_path, rng)
    started = time.perf_counter()
    call_job(tmp_path, "add")
    long = time.perf_counter() - started
    while killed < KILLS:
        reduction = REDUCTIONS[(killed + finished) % len(REDUCTIONS)]
        data, indices, updates = prepare_job(tmp_path, rng)
        for _ in range(rng.integers(1, 3)):
            process = subprocess.Popen(
                [sys.executable, str(JOB), str(tmp_path), reduction, "1"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.stdin.write("\n")
            process.stdin.flush()
            time.sleep(rng.uniform(0, long))
            process.kill()
            said, _ = process.communicate()
            killed, finished = killed + (said == ""), finished + (said == "done\n")
        resumed += 0 < call_job(tmp_path, reduction).resumed < 60
        array = zarr.open_array(tmp_path / "array.zarr")
        assert same_bits(array[...], gs.scatter_nd(data, indices, updates, reduction=reduction)), reduction
    print(f"{killed} killed, {finished} finished before, {resumed} resumed in the midst")
    assert resumed
    assert killed


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_two_processes_on_one_array_lose_nothing(tmp_path: Path) -> None:
    array = stored(tmp_path / "array.zarr", np.zeros(4), (4,))
    np.save(tmp_path / "indices.npy", [[1]])
    np.save(tmp_path / "updates.npy", [1.0])
    processes = [
        subprocess.Popen([sys.executable, str(JOB), str(tmp_path), "add", "60"], stdin=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    assert array[...].tolist() == [0, 120, 0, 0]


def test_threads_of_one_process_lose_nothing(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    for store in (tmp_path / "z", zarr.storage.MemoryStore()):
        array = stored(store, np.zeros(4), (4,))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _, a=array: gsz.scatter_nd(a, [[1]], [1.0], reduction="add"), range(40)))
        assert array[1] == 40


def test_a_lock_that_stays_taken(tmp_path: Path) -> None:
    array = stored(tmp_path / "z", np.zeros(4), (2,))
    with storage.hold_lock(array, None), pytest.raises(gsz.JobError, match=r"another process writes.*lock"):
        gsz.scatter_nd(array, [[0]], [1.0], lock_timeout=0.1)
    assert array[0] == 0


def test_paths_are_opened(tmp_path: Path) -> None:
    data = np.arange(8.0)
    stored(tmp_path / "a.zarr", data, (3,))
    stored(tmp_path / "out.zarr", np.zeros(2), (2,))
    path = str(tmp_path / "a.zarr")
    gsz.scatter_nd(path, [[1]], [7.0])
    gsz.scatter_update(tmp_path / "a.zarr", [2], [8.0])
    gsz.scatter_elements(path, [3], [9.0])
    assert gsz.gather(path, [1, 2]).tolist() == [7, 8]
    assert gsz.gather_nd(tmp_path / "a.zarr", [[3]]).tolist() == [9]
    out = gsz.gather_elements(path, [0, 3], out=tmp_path / "out.zarr")
    assert out[:].tolist() == [0, 9]
    assert gsz.scatter_nd(path, [[0]], [5.0], dry_run=True).dry_run
    assert zarr.open_array(path, mode="r")[0] == 0


def test_groups_are_answered_with_the_line_to_write(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    for name, shape in (("t2m", (2, 3)), ("lat", (3,))):  # the error suggests the array with more dimensions
        group.create_array(name, shape=shape, dtype="f4")
    path = str(tmp_path / "g.zarr")
    listed = "is a group with the arrays 'lat', 't2m'; give "
    with pytest.raises(OpTypeError) as caught:
        gsz.scatter_nd(path, [[0]], [1.0])
    assert str(caught.value) == f"scatter_nd: {path!r} {listed}{path + '/t2m'!r}"
    assert gsz.gather(f"{path}/lat", [0]).tolist() == [0]
    with pytest.raises(OpTypeError) as caught:
        gsz.gather(group, [0])
    assert str(caught.value) == f"gather: array {listed}group['t2m']"
    with pytest.raises(OpTypeError, match="is a group, not an array"):
        gsz.gather(zarr.open_group(tmp_path / "empty.zarr", mode="w"), [0])


def test_a_path_without_an_array(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(3))
    for name in ("none.zarr", "x.npy", "."):
        path = str(tmp_path / name)
        with pytest.raises(FileNotFoundError, match=re.escape(f"scatter_nd: there is no array of Zarr at {path!r}")):
            gsz.scatter_nd(path, [[0]], [1.0])
        with pytest.raises(FileNotFoundError, match=re.escape(f"gather: there is no array of Zarr at {path!r}")):
            gsz.gather(path, [0])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.npy"]


def test_the_traceback_of_ctrl_c_is_short(tmp_path: Path) -> None:
    array = stored(tmp_path / "z", np.zeros(8), (2,))

    def press(done: int, total: int, moved: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        gsz.scatter_nd(array, [[0], [5]], [1.0, 2.0], progress=press)
    assert caught.value.__notes__ == ["the job is interrupted: resume it with the same call"]
    assert len(caught.traceback) == 4  # this test, the function with its decorator, and the function that runs it
    gsz.scatter_nd(array, [[0], [5]], [1.0, 2.0])
    assert array[:].tolist() == [1, 0, 0, 0, 0, 2, 0, 0]


def interrupt(folder: Path, monkeypatch: pytest.MonkeyPatch, after: int = 1) -> None:
    """Make a job end after some chunks."""
    original = storage.Writer.overwrite
    monkeypatch.setattr(storage.Writer, "overwrite", failing(original, after))
    with pytest.raises(Crash) as caught:
        call_job(folder, "add", job=None)
    monkeypatch.setattr(storage.Writer, "overwrite", original)
    assert caught.value.__notes__ == ["the job is interrupted: resume it with the same call"]


def test_an_interrupted_job_keeps_others_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, indices, updates = prepare_job(tmp_path, np.random.default_rng(2))
    interrupt(tmp_path, monkeypatch, after=7)
    array = zarr.open_array(tmp_path / "array.zarr", mode="r+")
    with pytest.raises(gsz.JobError, match=r"an interrupted job \(scatter_nd add of 160 index tuples\)"):
        gsz.scatter_nd(array, indices, updates, reduction="mul")
    with pytest.raises(gsz.JobError, match="this call is the same job, so resume it"):
        gsz.scatter_nd(array, indices, updates, reduction="add", resume=False)
    report = gsz.scatter_nd(array, indices, updates, reduction="add", resume=True)
    assert 7 <= report.resumed < 60
    assert same_bits(array[...], gs.scatter_nd(data, indices, updates, reduction="add"))
    with pytest.raises(gsz.JobError, match="nothing to resume"):
        gsz.scatter_nd(array, indices, updates, reduction="add", resume=True)


@pytest.mark.parametrize(
    "other",
    [
        {"axis": 1},
        {"indices": [[0, 1], [2, 0]]},
        {"updates": [[1.0, 2.0], [3.0, 5.0]]},
        {"reduction": "mul"},
        {"include_self": False},
        {"accumulate": "exact"},
        {"mode": "clip"},
    ],
)
def test_what_makes_another_job(tmp_path: Path, other: dict[str, Any]) -> None:
    array = stored(tmp_path / "z", np.zeros((3, 3)), (1, 3))
    job = {"indices": [[0, 1], [2, 1]], "updates": [[1.0, 2.0], [3.0, 4.0]], "axis": 0, "reduction": "add"}
    gsz.scatter_elements(array, **job, job="this one")
    assert gsz.scatter_elements(array, **job, num_threads=1, workers=2, job="this one").bytes_written == 0
    with pytest.raises(gsz.JobError, match="another job of the name 'this one'"):
        gsz.scatter_elements(array, **{**job, **other}, job="this one")


def test_a_chunk_that_others_change_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_job(tmp_path, np.random.default_rng(2))
    interrupt(tmp_path, monkeypatch)
    zarr.open_array(tmp_path / "array.zarr", mode="r+")[:4] = 12345
    with pytest.raises(gsz.JobError, match=r"chunk \(0, 0\) was changed after the job was interrupted"):
        call_job(tmp_path, "add", job=None)


def test_a_line_that_was_not_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    for written in (0, 1, 20, 60):
        data, indices, updates = prepare_job(tmp_path, rng, chunks=4)
        interrupt(tmp_path, monkeypatch, after=4 - 1)
        path = tmp_path / "array.zarr" / ".gatherscatter" / "journal"
        with path.open("ab") as file:
            file.write(path.read_bytes().splitlines()[-1][:written])
        call_job(tmp_path, "add", job=None)
        array = zarr.open_array(tmp_path / "array.zarr")
        assert same_bits(array[...], gs.scatter_nd(data, indices, updates, reduction="add"))


def test_a_damaged_journal_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_job(tmp_path, np.random.default_rng(2))
    interrupt(tmp_path, monkeypatch)
    path = tmp_path / "array.zarr" / ".gatherscatter" / "journal"
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"block": [0', b'"block": [1', 1))
    with pytest.raises(gsz.JobError, match=rf"^line \d of {re.escape(str(path))} is damaged"):
        call_job(tmp_path, "add", job=None)
    path.write_bytes(content)
    call_job(tmp_path, "add", job=None)


def test_a_gather_into_an_array_with_an_interrupted_job_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_job(tmp_path, np.random.default_rng(2))
    interrupt(tmp_path, monkeypatch)
    array = zarr.open_array(tmp_path / "array.zarr", mode="r+")
    before = array[...]
    data = stored(tmp_path / "data", np.zeros(array.shape, array.dtype), array.chunks)
    with pytest.raises(gsz.JobError, match=r"^an interrupted job \(scatter_nd add .*\) has written part of its chunks"):
        gsz.gather(data, np.arange(len(before)), out=array)
    assert same_bits(array[...], before)
    call_job(tmp_path, "add", job=None)
    gsz.gather(data, np.arange(len(before)), out=array)
    assert not array[...].any()


def test_a_named_job_is_done_once(tmp_path: Path) -> None:
    array = stored(tmp_path / "z", np.zeros(4), (2,))
    for _ in range(3):
        report = gsz.scatter_nd(array, [[1], [1]], [1.0, 2.0], reduction="add", job="epoch 1")
    assert (array[1], report.resumed, report.bytes_written) == (3, 1, 0)
    with pytest.raises(gsz.JobError, match="another job of the name 'epoch 1' is done already"):
        gsz.scatter_nd(array, [[1]], [1.0], reduction="add", job="epoch 1")
    gsz.scatter_nd(array, [[1], [1]], [1.0, 2.0], reduction="add", job="epoch 2")
    gsz.scatter_nd(array, [[1], [1]], [1.0, 2.0], reduction="add")
    gsz.scatter_nd(array, [[1], [1]], [1.0, 2.0], reduction="add")
    assert array[1] == 12


def test_unknown_keywords_are_answered_with_right_ones(tmp_path: Path) -> None:
    array = stored(tmp_path / "z", np.zeros(3), (2,))
    with pytest.raises(TypeError, match=r"^gather\(\) .* argument 'dim'; did you mean 'axis'\?$"):
        gsz.gather(array, [0], dim=0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^scatter_nd\(\) .* 'reduce'; did you mean 'reduction'\?$"):
        gsz.scatter_nd(array, [[0]], [1.0], reduce="add")  # type: ignore[call-arg]


def test_a_script_of_named_jobs_starts_again_after_an_interruption(tmp_path: Path) -> None:
    array = stored(tmp_path / "z", np.zeros(6), (2,))

    def run_script(stop: bool) -> list[int]:
        def interrupt(done: int, total: int, moved: int) -> None:
            if stop and done == 1:
                raise KeyboardInterrupt

        updates = {"day 0": None, "day 1": interrupt, "day 2": None}
        return [
            gsz.scatter_nd(
                array, [[0], [2], [4]], [1.0] * 3, reduction="add", job=job, progress=each, workers=1
            ).resumed
            for job, each in updates.items()
        ]

    with pytest.raises(KeyboardInterrupt):
        run_script(stop=True)
    assert array[...].sum() == 4  # day 0, and a chunk of day 1
    assert run_script(stop=False) == [3, 1, 0]
    assert array[...].tolist() == [3, 0, 3, 0, 3, 0]


# ------------------------------------------------------------------------------------------------------------- Icechunk


@pytest.fixture
def repository(tmp_path: Path) -> Any:
    icechunk = pytest.importorskip("icechunk")
    repo = icechunk.Repository.create(icechunk.in_memory_storage())
    session = repo.writable_session("main")
    zarr.create_array(session.store, name="a", shape=(8,), chunks=(2,), dtype="f8")
    session.commit("an array of zeros")
    return repo


def opened(repo: Any) -> Any:
    return zarr.open_array(repo.writable_session("main").store, path="a", mode="r+")


def values(repo: Any) -> list[float]:
    return zarr.open_array(repo.readonly_session("main").store, path="a", mode="r")[...].tolist()


def test_icechunk_gets_one_commit(repository: Any) -> None:
    report = gsz.scatter_nd(opened(repository), [[0], [7], [0]], [1.0, 2.0, 4.0], reduction="add")
    history = list(repository.ancestry(branch="main"))
    assert history[0].id == report.snapshot
    assert history[0].message == "scatter_nd add of 3 index tuples"
    assert len(history) == 3
    assert values(repository) == [5, 0, 0, 0, 0, 0, 0, 2]


def test_icechunk_notices_conflicts(repository: Any) -> None:
    first, second, third = opened(repository), opened(repository), opened(repository)
    gsz.scatter_nd(first, [[0]], [1.0], reduction="add")
    gsz.scatter_nd(second, [[7]], [1.0], reduction="add")  # another chunk
    with pytest.raises(gsz.JobError, match="another commit has changed the same chunks"):
        gsz.scatter_nd(third, [[1], [3]], [1.0, 1.0], reduction="add")
    assert values(repository) == [1, 0, 0, 0, 0, 0, 0, 1]
    gsz.scatter_nd(opened(repository), [[1], [3]], [1.0, 1.0], reduction="add")
    assert values(repository) == [1, 1, 0, 1, 0, 0, 0, 1]


def test_icechunk_after_an_error_holds_nothing(repository: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    array = opened(repository)
    monkeypatch.setattr(storage.Writer, "overwrite", failing(storage.Writer.overwrite, 2))
    with pytest.raises(Crash):
        gsz.scatter_nd(array, [[0], [3], [5], [7]], np.ones(4), reduction="add")
    assert not array.store.session.has_uncommitted_changes
    assert array[...].tolist() == values(repository) == [0] * 8


def test_icechunk_commits_nothing_of_others(repository: Any) -> None:
    array = opened(repository)
    array[0] = 3
    with pytest.raises(OpValueError, match="uncommitted changes"):
        gsz.scatter_nd(array, [[1]], [1.0])


def test_there_are_no_jobs_without_a_journal(repository: Any) -> None:
    for array in (opened(repository), stored(zarr.storage.MemoryStore(), np.zeros(4), (2,))):
        for options in ({"job": "one"}, {"resume": True}):
            with pytest.raises(OpValueError, match="need a journal, which scatters keep only in local directories"):
                gsz.scatter_nd(array, [[1]], [1.0], **options)


def test_icechunk_takes_gathers(repository: Any, tmp_path: Path) -> None:
    source = stored(tmp_path / "z", np.arange(9.0), (4,))
    gsz.gather(source, np.arange(8)[::-1], out=opened(repository))
    assert values(repository) == [8.0 - 1 - n for n in range(8)]


# ------------------------------------------------------------------------------------------------------- command line


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    stored("data.zarr", np.arange(1, 13, dtype="f4").reshape(4, 3), (2, 2))
    np.save("indices.npy", [[3, 2], [0, 0], [3, -1]])
    np.save("updates.npy", np.array([10, 20, 30], "f4"))
    np.save("rows.npy", [3, 0])
    return tmp_path


SCATTER = "apply onnx.ScatterND-18 data.zarr indices.npy updates.npy --reduction add"


def test_apply_changes_a_store_in_place(files: Path) -> None:
    facts = "onnx.ScatterND-18 add: 3 index tuples touch 2 of 4 chunks; 24 bytes read, 24 bytes written"
    assert succeed(*SCATTER.split(), "--dry-run") == f"{facts}; nothing was done\n"
    assert succeed(*SCATTER.split(), "--memory-limit", "1 MB") == f"{facts}\n"
    assert zarr.open_array("data.zarr")[...].tolist() == [[21, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 52]]


def test_apply_reads_a_store(files: Path) -> None:
    line = "apply openvino.Gather-8 data.zarr rows.npy --axis 0"
    assert succeed(*line.split()) == "output float32 (2, 3) =\n[[10., 11., 12.],\n [ 1.,  2.,  3.]]\n"
    succeed(*line.split(), "-o", "out.npy")
    succeed(*line.split(), "-o", "out.zarr")
    assert np.load("out.npy").tolist() == zarr.open_array("out.zarr")[...].tolist() == [[10, 11, 12], [1, 2, 3]]


@pytest.mark.parametrize("reduction", ["none", "add"])  # without and with a journal
def test_a_full_disk_is_an_error_that_names_the_array(
    reduction: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = zarr.create_array(tmp_path / "data.zarr", data=np.zeros((4, 3)), chunks=(2, 3))
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(storage.Writer, "overwrite", failing(storage.Writer.overwrite, 1, full))
    with pytest.raises(OSError, match=r"data\.zarr") as caught:
        gsz.scatter_update(array, [0, 3], np.ones((2, 3)), reduction=reduction)
    assert (
        caught.value.strerror == "scatter_update: No space left on device; free space on the disk, and repeat the call"
    )
    monkeypatch.undo()
    gsz.scatter_update(array, [0, 3], np.ones((2, 3)), reduction=reduction)
    assert array[...].sum() == 6


def test_apply_resumes_when_asked_to(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = SCATTER.replace("add", "mul").split()
    monkeypatch.setattr(storage.Writer, "overwrite", failing(storage.Writer.overwrite, 1, OSError("the disk is full")))
    assert fail(*line) == "the disk is full; the job is interrupted: resume it with the same call"
    monkeypatch.undo()
    monkeypatch.chdir(files)
    assert "an interrupted job (onnx.ScatterND-18 mul of 3 index tuples) has written part of its chunks" in fail(*line)
    assert "chunks that were written before: 1" in succeed(*line, "--resume")
    assert zarr.open_array("data.zarr")[...].tolist() == [[20, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 3600]]
    assert "there is nothing to resume" in fail(*line, "--resume")


@pytest.mark.filterwarnings("ignore:The data type .* does not have a Zarr V3 specification")
@pytest.mark.parametrize("words", [["longer"], np.array(["longer"], object)])
def test_text_that_does_not_fit_is_refused(tmp_path: Path, words: Any) -> None:
    array = stored(tmp_path / "z", np.array(["a", "b"], "<U2"), (1,))
    with pytest.raises(OpValueError, match=r"updates\[0\] = 'longer' does not fit in array of type <U2"):
        gsz.scatter_nd(array, [[0]], words)
    gsz.scatter_nd(array, [[0]], ["xy"])
    with pytest.raises(OpTypeError, match="text of a fixed width can't be concatenated in place"):
        gsz.scatter_nd(array, [[0]], ["z"], reduction="add")
    assert array[...].tolist() == ["xy", "b"]


def test_chunks_of_a_result(files: Path) -> None:
    succeed(*["apply", "onnx.Gather", "data.zarr", "rows.npy", "-o", "out.zarr", "--chunks", "1,-1"])
    assert zarr.open_array("out.zarr").chunks == (1, 3)


ADDED = [[21, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 52]]


def test_a_cluster_of_this_machine_makes_a_new_array(files: Path) -> None:
    pytest.importorskip("distributed")
    line = (*SCATTER.split(), "-o", "out.zarr", "--scheduler", "local")
    facts = "onnx.ScatterND-18: output float32 (4, 3) in 4 chunks of up to 2x2"
    assert succeed(*line, "--dry-run").startswith(facts)
    assert not Path("out.zarr").exists()
    assert succeed(*line, "--memory-limit", "1GB") == "written: out.zarr\n"
    made = zarr.open_array("out.zarr")
    assert made[...].tolist() == ADDED
    assert made.chunks == (2, 2)
    assert zarr.open_array("data.zarr")[...].tolist() == np.arange(1, 13).reshape(4, 3).tolist()


def test_a_cluster_stores_results_without_elements_or_axes(files: Path) -> None:
    pytest.importorskip("distributed")
    np.save("empty.npy", np.zeros((0, 3), "f4"))
    np.save("none.npy", np.zeros((0, 2), int))
    np.save("nothing.npy", np.zeros(0, "f4"))
    np.save("one.npy", np.array([3, 2]))
    succeed(
        *["apply", "onnx.ScatterND", "empty.npy", "none.npy", "nothing.npy", "-o", "empty.zarr", "--scheduler", "local"]
    )
    assert zarr.open_array("empty.zarr").shape == (0, 3)
    succeed(*["apply", "onnx.GatherND", "data.zarr", "one.npy", "-o", "one.zarr", "--scheduler", "local"])
    assert zarr.open_array("one.zarr")[...] == 12


def test_a_cluster_elsewhere_reads_the_files_itself(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    np.save("data.npy", np.arange(1, 13, dtype="f4").reshape(4, 3))
    for name in ("indices", "updates"):
        array = np.load(f"{name}.npy")
        stored(f"{name}.zarr", array, (2, *array.shape[1:]))
    zarr.open_array("indices.zarr", mode="r+")[2, 0] = 4
    line = "apply onnx.ScatterND-18 data.npy {}.zarr updates.zarr --reduction add --chunks 3 -o {} --scheduler"
    monkeypatch.chdir("/")  # workers start in another folder
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        monkeypatch.chdir(files)
        address = cluster.scheduler_address
        text = fail(*line.format("indices", "bad.zarr").split(), address)
        assert "onnx.ScatterND-18: indices[2, 0] = 4 is out of range for axis 0" in text
        assert not Path("bad.zarr").exists()
        zarr.open_array("indices.zarr", mode="r+")[2, 0] = 3
        succeed(*line.format("indices", "out.zarr").split(), address)
    assert zarr.open_array("out.zarr")[...].tolist() == ADDED
    assert zarr.open_array("out.zarr").chunks == (3, 3)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (f"{SCATTER} -o out.npy", "a scatter changes the .zarr array in place"),
        (f"{SCATTER} --memory-limit much", "'much' is not a size: write it as 500MB or 2GiB"),
        (f"{SCATTER} --memory-limit 64B", "memory_limit of 64 bytes is too small"),
        (SCATTER.replace("data", "missing"), "missing.zarr: no such array"),
        (SCATTER.replace("add", "max").replace("-18", "-16"), "'--reduction': 'max' is not one of"),
        ("apply onnx.GatherND data.zarr indices.npy --resume", "--resume is for scatters"),
        ("apply openvino.GatherND-5 data.zarr indices.npy", "GatherND-5 can't be applied to an array of Zarr"),
        (
            "apply openvino.EmbeddingBagPackedSum-3 data.zarr indices.npy",
            "EmbeddingBagPackedSum-3 can't be applied to an array of Zarr",
        ),
        ("apply openvino.ScatterUpdate-3 data.zarr rows.npy data.zarr --axis 0", "updates has shape"),
        ("apply onnx.ScatterND indices.npy indices.npy updates.npy --resume", "are for data in a .zarr array"),
        (f"{SCATTER} --chunks 2", "--chunks is for a result that is written to a .zarr array"),
        (f"{SCATTER} --chunks two", "'two' are not chunk sizes: write them as 1000 or 1000,500"),
        (f"{SCATTER} --scheduler local", "--scheduler makes a new array: give --output a name that ends in .zarr"),
        (f"{SCATTER} --scheduler local -o data.zarr", "data.zarr would overwrite the input data.zarr"),
        (f"{SCATTER} --scheduler local -o o.zarr --resume", "--resume needs a scatter in place"),
        (f"{SCATTER} --scheduler local -o o.zarr --memory-limit 10MB", "a worker of Dask needs 300 MB for itself"),
        (f"{SCATTER} --scheduler local -o o.zarr --chunks 1,2,3", "--chunks has 3 sizes, but the array has 2 axes"),
        (f"{SCATTER} --scheduler tcp://x:1 -o o.zarr --memory-limit 1GB", "--memory-limit is for --scheduler local"),
    ],
)
def test_mistakes_give_one_line(files: Path, line: str, text: str) -> None:
    assert text in fail(*line.split())
    assert zarr.open_array("data.zarr")[...].tolist() == np.arange(1, 13).reshape(4, 3).tolist()


def test_operators_that_refuse_negative_indices_do_so(files: Path) -> None:
    np.save("rows.npy", [1, -1])
    np.save("new.npy", np.zeros((2, 3), "f4"))
    text = fail(*["apply", "openvino.ScatterUpdate-3", "data.zarr", "rows.npy", "new.npy", "--axis", "0"])
    assert "openvino.ScatterUpdate-3: indices[1] = -1 is out of range for axis 0" in text
    assert "(valid: 0..3)" in text


# --------------------------------------------------------------------------------------------------------------- import


def test_the_subpackage_is_loaded_when_it_is_used() -> None:
    code = (
        "import sys, gatherscatter as gs\n"
        "assert 'zarr' not in sys.modules\n"
        "gs.zarr.scatter_nd\n"
        "assert 'zarr' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
