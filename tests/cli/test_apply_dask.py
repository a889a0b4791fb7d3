"""``gatherscatter apply --scheduler``: a failure in a worker is one line on stderr.

All tests run real processes, because workers print on the stderr that they inherit.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

zarr = pytest.importorskip("zarr")
distributed = pytest.importorskip("distributed")

CALL = "onnx.ScatterND data.npy indices.zarr updates.npy"
# Workers load this module when they start. DO is executed when one of them reads a part of data.npy.
PRELOAD = """
import os, signal, sys, time
from pathlib import Path
from gatherscatter.cli.apply_dask import NpyFile

START
def read(file, where, _original=NpyFile.__getitem__):
    Path("reading").touch()
    print("Traceback of a library in C", file=sys.stderr)
    DO
    return _original(file, where)

NpyFile.__getitem__ = read
"""


@pytest.fixture
def arrays(tmp_path: Path) -> Path:
    """Return a folder with the files of one call, some of them as arrays of Zarr."""
    np.save(tmp_path / "data.npy", np.arange(1, 13, dtype="f4").reshape(4, 3))
    np.save(tmp_path / "updates.npy", np.ones((3, 3), "f4"))
    for name, last in (("indices", 3), ("far", 4)):
        stored = zarr.create_array(tmp_path / f"{name}.zarr", shape=(3, 1), chunks=(1, 1), dtype="i8", compressors=None)
        stored[...] = [[0], [1], [last]]
    shutil.copytree(tmp_path / "indices.zarr", tmp_path / "damaged.zarr")
    (tmp_path / "damaged.zarr" / "c" / "1" / "0").write_bytes(b"damaged")
    return tmp_path


def start(folder: Path, line: str, *, do: str = "pass", at_start: str = "", **settings: str) -> subprocess.Popen[str]:
    """Start ``gatherscatter apply``. Workers execute ``do`` when they read data, and ``at_start`` when they start."""
    preload = write_preload(folder, do, at_start)
    known = {f"DASK_{name.upper()}": value for name, value in settings.items()}
    return subprocess.Popen(
        [sys.executable, "-m", "gatherscatter", "apply", *line.split(), "-o", "out.zarr"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "DASK_DISTRIBUTED__WORKER__PRELOAD": preload, **known},
        start_new_session=True,
    )


def write_preload(folder: Path, do: str, at_start: str = "") -> str:
    """Write the module, and return its path."""
    file = folder / "preload.py"
    file.write_text(PRELOAD.replace("DO", do).replace("START", at_start))
    return str(file)


def fail(child: subprocess.Popen[str]) -> str:
    """Return the single line of the error of a process."""
    output, errors = child.communicate()
    assert (output, child.returncode) == ("", 2), errors
    assert errors.count("\n") == 1, errors
    return errors.removeprefix("gatherscatter: error: ").rstrip("\n")


def check_folder(folder: Path) -> None:
    """Check that an error leaves no output, not even an incomplete one."""
    assert not (folder / "out.zarr").exists()
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("line", "settings", "text"),
    [
        (CALL.replace("indices", "far"), {}, "onnx.ScatterND-18: indices[2, 0] = 4 is out of range for axis 0"),
        (CALL.replace("indices", "damaged"), {}, ""),
        (
            CALL,
            {"do": "os.kill(os.getpid(), signal.SIGKILL)", "distributed__scheduler__allowed_failures": "0"},
            "not enough memory: workers were killed repeatedly",
        ),
        *(
            pytest.param(CALL, settings, text, marks=pytest.mark.full)
            for settings, text in (
                ({"do": "raise FileNotFoundError(2, 'no such file', 'data.npy')"}, "data.npy: no such file"),
                ({"do": "raise OSError(28, 'No space left on device')"}, "No space left on device"),
                ({"do": "raise EOFError('Compressed file ended')"}, "a file is damaged or incomplete: Compressed file"),
                ({"at_start": "import nil"}, "Dask can't start a worker on this machine: No module named 'nil'"),
                ({"at_start": "os.kill(os.getpid(), signal.SIGKILL)"}, "Dask can't start a worker on this machine: "),
                ({"distributed__admin__large_graph_warning_threshold": "1B", "do": "raise OSError('x')"}, "x"),
            )
        ),
    ],
)
def test_a_failure_in_a_worker_is_one_line(line: str, settings: dict[str, str], text: str, arrays: Path) -> None:
    assert text in fail(start(arrays, f"{line} --scheduler local", **settings))
    check_folder(arrays)


@pytest.mark.full
def test_a_worker_that_does_not_start_again_is_an_error(arrays: Path) -> None:
    again = "if Path('reading').exists(): os.kill(os.getpid(), signal.SIGKILL)"
    # The time limit of this test would end a call that waits for a worker forever.
    child = start(arrays, f"{CALL} --scheduler local", do="os.kill(os.getpid(), signal.SIGKILL)", at_start=again)
    assert "waiting without any running workers" in fail(child)
    check_folder(arrays)


@pytest.mark.full
def test_a_scheduler_that_ends_is_an_error(arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(arrays)  # the workers' folder
    preload = write_preload(arrays, "time.sleep(60)")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", preload=preload
    ) as cluster:
        line = f"{CALL} --scheduler {cluster.scheduler_address}"
        child = start(arrays, line, distributed__comm__timeouts__connect="1s")
        wait_for(arrays / "reading", child)
    assert fail(child).startswith("Dask ended the computation: ")
    check_folder(arrays)


@pytest.mark.parametrize(
    "moment", [{"at_start": "Path('reading').touch(); time.sleep(1)"}, {"do": "time.sleep(60)"}], ids=["start", "call"]
)
def test_ctrl_c_is_one_line(moment: dict[str, str], arrays: Path) -> None:
    child = start(arrays, f"{CALL} --scheduler local", **moment)
    wait_for(arrays / "reading", child)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does, to workers as well
    assert (*child.communicate(), child.returncode) == ("", "gatherscatter: interrupted\n", 130)
    check_folder(arrays)


@pytest.mark.full
def test_traceback_shows_the_messages_of_dask(arrays: Path) -> None:
    child = start(arrays, f"{CALL} --scheduler local --traceback", do="raise OSError('x')")
    errors = child.communicate()[1]
    assert "Traceback of a library in C" in errors
    assert errors.endswith("OSError: x\n")


def wait_for(file: Path, child: subprocess.Popen[str]) -> None:
    while not file.exists():
        assert child.poll() is None, child.communicate()
        time.sleep(0.05)
