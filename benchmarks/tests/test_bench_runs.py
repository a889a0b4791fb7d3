"""Benchmark runs that are interrupted, resumed, stopped early, or compared with another build."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gatherscatter as gs
from benchmarks import commits, measure
from benchmarks.contenders.contender import Contender
from benchmarks.results import AGAIN, Effort, Row, Timing, read_json
from benchmarks.tests.test_bench import LIMITS
from benchmarks.workload import Workload
from benchmarks.workloads import select
from tests.support.command_line import call, fail

ONLY = ("--only", "tiny/*", "--peers", "numpy", "--threads", "2")


class FakeClock:
    """A clock that measures nothing. Times depend only on workload and contender. Ctrl-C can come in a workload."""

    def __init__(self) -> None:
        self.measured: list[str] = []
        self.interrupt_at = -1

    def measure(self, workload: Workload, contenders: Sequence[Contender], effort: Effort) -> list[Timing]:
        if len(self.measured) == self.interrupt_at:
            self.interrupt_at = -1
            raise KeyboardInterrupt
        self.measured.append(workload.id)
        return [Timing(one.name, "ok", "run", samples=self._samples(workload.id + one.name)) for one in contenders]

    def _samples(self, text: str) -> list[float]:
        rng = np.random.default_rng(zlib.crc32(text.encode()))
        return [float(f"{time:.4g}") for time in np.exp(rng.normal(-9, 0.3, 8))]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeClock]:
    fake = FakeClock()
    monkeypatch.setattr("benchmarks.session.measure", fake.measure)
    monkeypatch.setattr("benchmarks.session.measure_limits", lambda *args: LIMITS)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    threads = gs.num_threads()
    yield fake
    gs.set_num_threads(threads)


def table(text: str) -> list[str]:
    """Return the printed table without the lines that contain the date, the load of the machine, or file names."""
    other = ("UTC", "other processes", "written:")
    return [line for line in text.splitlines() if not any(word in line for word in other)]


def rows_of(path: Path) -> list[Row]:
    return [replace(row, seconds=0.0, load=0.0) for row in read_json(path).rows]


@pytest.mark.parametrize("interrupt_at", [0, 1, 5])
def test_a_run_that_was_interrupted_and_went_on_gives_the_same_table(
    clock: FakeClock, tmp_path: Path, interrupt_at: int
) -> None:
    whole = call("benchmarks", *ONLY, "--json", tmp_path / "whole.json")
    assert whole.exit_code == 0, whole.stderr
    clock.measured.clear()
    clock.interrupt_at = interrupt_at
    stopped = call("benchmarks", *ONLY, "--json", tmp_path / "parts.json")
    assert stopped.exit_code == 130
    assert f"to resume: python -m benchmarks --resume {tmp_path / 'parts.json'}" in stopped.stderr
    assert f"{12 - interrupt_at} of 12 workloads are not measured yet" in stopped.stdout
    assert len(rows_of(tmp_path / "parts.json")) == interrupt_at
    resumed = call("benchmarks", "--resume", tmp_path / "parts.json")
    assert resumed.exit_code == 0, resumed.stderr
    assert sorted(clock.measured) == sorted(row.id for row in select(["tiny/*"]))  # each appears once
    assert table(resumed.stdout) == table(whole.stdout)
    assert rows_of(tmp_path / "parts.json") == rows_of(tmp_path / "whole.json")


def test_an_unfinished_run_is_not_overwritten(clock: FakeClock, tmp_path: Path) -> None:
    clock.interrupt_at = 4
    path = tmp_path / "r.json"
    assert call("benchmarks", *ONLY, "--json", path).exit_code == 130
    before = path.read_bytes()
    assert f"continue it with --resume {path}" in fail("benchmarks", *ONLY, "--json", path)
    assert path.read_bytes() == before


def test_an_error_in_the_midst_of_a_run_loses_nothing(
    clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_at(workload: Workload, *others: object) -> list[Timing]:
        if workload.id == "tiny/scatter-nd":
            raise MemoryError("no memory left")
        return clock.measure(workload, *others)  # type: ignore[arg-type]

    monkeypatch.setattr("benchmarks.session.measure", fail_at)
    path = tmp_path / "r.json"
    stopped = call("benchmarks", *ONLY, "--json", path)
    assert stopped.exit_code == 2
    assert "no memory left" in stopped.stderr
    assert f"--resume {path}" in stopped.stderr
    assert len(read_json(path).rows) == 5


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (("--resume", "FILE", "--only", "main"), "--only"),
        (("--resume", "FILE", "--quick", "--threads", "1"), "omit --quick or --all, --threads"),
        (("--resume", "FILE", "--list"), "--list"),
        (("--from", "FILE", "--against", "HEAD"), "--against"),
        (("--from", "FILE", "--resume", "FILE"), "--resume"),
        (("--against", "HEAD", "--peers", "numpy"), "omit --peers"),
    ],
)
def test_options_without_effect_are_refused(tmp_path: Path, args: Sequence[str], named: str) -> None:
    path = tmp_path / "r.json"
    path.write_text("{}")
    assert named in fail("benchmarks", *(str(path) if arg == "FILE" else arg for arg in args))


def test_without_a_file_an_interrupted_run_is_kept_all_the_same(clock: FakeClock, tmp_path: Path) -> None:
    clock.interrupt_at = 3
    stopped = call("benchmarks", *ONLY)
    assert stopped.exit_code == 130
    kept = Path(stopped.stderr.rpartition("--resume ")[2].strip())
    assert kept.parent == tmp_path
    assert len(read_json(kept).rows) == 3
    assert call("benchmarks", "--resume", kept).exit_code == 0
    assert not read_json(kept).missing


def test_a_whole_run_leaves_no_file_that_was_not_asked_for(clock: FakeClock, tmp_path: Path) -> None:
    assert call("benchmarks", *ONLY).exit_code == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        (("machine", "cpu"), "abacus", "cpu (abacus before, "),
        (("machine", "core"), "0", "core (0 before, "),
        (("machine", "versions", "numpy"), "1.0", "numpy (1.0 before, "),
    ],
)
def test_a_run_does_not_go_on_elsewhere(tmp_path: Path, key: Sequence[str], value: str, text: str) -> None:
    path = tmp_path / "r.json"
    assert call("benchmarks", *ONLY, "--json", path).exit_code == 0
    found = json.loads(path.read_text())
    where = found
    for name in key[:-1]:
        where = where[name]
    where[key[-1]] = value
    path.write_text(json.dumps(found))
    before = path.read_bytes()
    assert text in fail("benchmarks", "--resume", path)
    assert path.read_bytes() == before


@pytest.mark.usefixtures("clock")
def test_progress_is_logged_in_lines_where_there_is_no_terminal(tmp_path: Path) -> None:
    done = call("benchmarks", *ONLY)
    lines = [line for line in done.stderr.splitlines() if line.startswith("[")]
    assert len(lines) == 12
    assert lines[0].startswith("[ 1/12] tiny/take: ours ")
    assert "ratio" in lines[0]
    assert lines[-1].endswith("0:00 left")


@pytest.mark.skipif(os.name == "nt", reason="sends a signal")
def test_ctrl_c_prints_and_keeps_what_there_is(tmp_path: Path) -> None:
    """Interrupt a real run in a separate process with a real signal."""
    kept = tmp_path / "r.json"
    command = [sys.executable, "-m", "benchmarks", *ONLY, "--repeat", "8", "--json", str(kept)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while not process.stderr.readline().startswith("["):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    done = len(read_json(kept).rows)
    assert 0 < done < 12, err
    assert process.returncode == 130
    assert "gather 3 of 4x4x4" in out
    assert f"{12 - done} of 12 workloads are not measured yet" in out
    assert "Traceback" not in err


class Metronome:
    """A replacement for the clock of single samples. Each contender has a fixed time, with or without noise."""

    def __init__(self, noise: float) -> None:
        self._rng = np.random.default_rng(0)
        self._noise = noise

    def time(self, call: object, repeats: int) -> float:
        return float(np.exp(self._rng.normal(0, self._noise)) * 1e-3)


@pytest.mark.parametrize(("noise", "rounds"), [(0.0, 8), (0.003, 8), (0.05, 40)])
def test_rounds_stop_when_the_interval_is_narrow(monkeypatch: pytest.MonkeyPatch, noise: float, rounds: int) -> None:
    from benchmarks.contenders import make_contenders

    monkeypatch.setattr(measure, "_time", Metronome(noise).time)
    monkeypatch.setattr(measure, "_DROP_AT_ONCE", 1e9)
    monkeypatch.setattr(measure, "_DROP_LATER", 1e9)
    (workload,) = select(["tiny/take"])
    timings = measure.measure(workload, make_contenders(["numpy"], 2), Effort(rounds=40, seconds=60.0, precision=0.01))
    assert [timing.contender for timing in timings[:2]] == ["gatherscatter", AGAIN]
    assert {len(timing.samples) for timing in timings} == {rounds}


def test_another_build_runs_beside_the_current_one(tmp_path: Path) -> None:
    """A copy of this package stands in for an earlier commit. `.ci/run` builds a real one."""
    copied = Path(commits.duplicate().gs.__file__).parent
    shutil.copytree(copied, tmp_path / "gatherscatter")
    text = (tmp_path / "gatherscatter" / "__init__.py").read_text()
    (tmp_path / "gatherscatter" / "__init__.py").write_text(text.replace('__version__ = "', '__version__ = "9.'))
    mine, finders = dict(sys.modules), list(sys.meta_path)
    package = commits.load(tmp_path)
    assert {name: module for name, module in sys.modules.items() if name in mine} == mine
    assert sys.meta_path == finders
    assert package.gs is not gs
    assert package.gs._core is not gs._core
    assert package.gs.__version__ == f"9.{gs.__version__}"
    sys.modules.pop("gatherscatter.system.extras", None)  # a module that neither build has imported yet
    package.activate()
    try:
        assert sys.modules["gatherscatter.arrays.convert"] is not mine["gatherscatter.arrays.convert"]
        assert package.gs.scatter_nd([1, 2, 3], [[-1]], [7]).tolist() == [1, 2, 7]
        with pytest.raises(package.gs.OpIndexError):
            package.gs.gather([1, 2, 3], [3])
        theirs = importlib.import_module("gatherscatter.system.extras")
        assert Path(theirs.__file__ or "").is_relative_to(tmp_path)
    finally:
        commits.CURRENT.activate()
    assert sys.modules["gatherscatter.arrays.convert"] is mine["gatherscatter.arrays.convert"]
    with pytest.raises(gs.OpIndexError):
        gs.gather([1, 2, 3], [3])
    assert importlib.import_module("gatherscatter.system.extras") is not theirs
    package.activate()
    try:
        assert importlib.import_module("gatherscatter.system.extras") is theirs
    finally:
        commits.CURRENT.activate()
