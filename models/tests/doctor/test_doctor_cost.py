"""The doctor's text about the cost of a rewritten model. No test depends on how fast anything is."""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import onnx
import pytest

import gatherscatter as gs
import gatherscatter_models as gm
from gatherscatter.system.processes import LONGEST, NoAnswerError
from gatherscatter_models.doctor import Fixed, examine, fix, fixes
from gatherscatter_models.doctor.fixes import Cost, costs, model_process, on_targets
from gatherscatter_models.doctor.page import page
from gatherscatter_models.doctor.report_text import fix_lines
from gatherscatter_models.openvino.ir_write import IRWriter
from tests.support.command_line import succeed
from tests.support.onnx_graphs import model, node

onnxruntime = pytest.importorskip("onnxruntime")

pytestmark = pytest.mark.full

F32, I64 = np.float32, np.int64
INPUTS = {"data": np.zeros(4, F32), "rows": np.array([[3], [0], [-1]]), "updates": np.array([1, 2, 4], F32)}
SLOW = Cost(1e-3, 4e-3, 2e-3, right=frozenset({"original", "rewritten", "session"}))  # the session is faster


def scatter(op_type: str = "ScatterND", opset: int = 18, **attributes: Any) -> onnx.ModelProto:
    at = ["u", 1] if op_type == "ScatterND" else ["u"]
    inputs = {"data": (F32, ["n"]), "rows": (I64, at), "updates": (F32, ["u"])}
    made = [node(op_type, "data rows updates", "out", "put", **attributes)]
    return model(made, inputs, {"out": (F32, ["n"])}, opset=opset)


def dying() -> onnx.ModelProto:
    """Return a model with the inputs and outputs of `scatter` that ONNX Runtime refuses or that crashes it."""
    return model(
        [node("GatherND", "data rows", "out", batch_dims=-7), node("Identity", "updates", "other")],
        {"data": (F32, [4]), "rows": (I64, [3, 1]), "updates": (F32, [3])},
        {"out": (F32, [3])},
    )


def fixed_with(monkeypatch: pytest.MonkeyPatch, folder: Path, cost: Cost, source: Any = None) -> Fixed:
    """Fix a model for ONNX Runtime, with ``cost`` as the measured times."""
    monkeypatch.setattr(fixes, "measure_cost", lambda *arguments: cost)
    return fix(source or scatter(reduction="add"), folder / "fixed.onnx", INPUTS, targets=["onnxruntime"])


# Measuring


@pytest.mark.parametrize("in_memory", [True, False])
def test_each_target_that_is_installed_is_timed(in_memory: bool, tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    onnx.save(scatter(reduction="add"), tmp_path / "model.onnx")
    source = onnx.load(tmp_path / "model.onnx") if in_memory else tmp_path / "model.onnx"
    fixed = fix(source, tmp_path / "fixed.onnx", INPUTS)
    assert list(fixed.costs) == ["onnxruntime", "openvino"]
    for target, cost in fixed.costs.items():
        assert cost.errors == {}
        assert cost.original is not None
        assert cost.rewritten is not None
        assert min(cost.original, cost.rewritten) > 0
        assert (cost.session is not None) == (target == "onnxruntime")
        assert cost.right == {"original", "rewritten", "session"} - ({"session"} if cost.session is None else set())
    assert fixed.source == (None if in_memory else tmp_path / "model.onnx")
    written = onnx.load(tmp_path / "fixed.onnx").graph.node
    assert fixed.nodes == (1, sum(each.op_type != "Constant" for each in written))
    assert {each.name for each in tmp_path.iterdir()} == {"model.onnx", "fixed.onnx"}


def test_nothing_is_timed_where_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixes, "measure_cost", lambda *arguments: 1 / 0)
    fixed = fix(scatter(), tmp_path / "fixed.onnx", INPUTS, run_on=())
    monkeypatch.setattr(on_targets, "find_missing", lambda names: names)
    missing = fix(scatter(), tmp_path / "other.onnx", INPUTS)
    assert missing.on_targets == dict.fromkeys(("onnxruntime", "openvino"), "not run: it is not installed")
    for each in (fixed, missing):
        assert each.nodes is not None
        assert (each.costs, each.advice) == ({}, [])
        assert each.cost_summary == [f"nodes: {each.nodes[1]} instead of 1"]


def test_nothing_to_rewrite_has_no_cost(tmp_path: Path) -> None:
    fixed = fix(scatter(), tmp_path / "fixed.onnx", leave=["negative", "repeated"])
    assert (fixed.nodes, fixed.costs, fixed.cost_summary, fixed.advice) == (None, {}, [], [])


def test_an_original_that_a_runtime_refuses_is_reported(tmp_path: Path) -> None:
    inputs = INPUTS | {"rows": INPUTS["rows"][:, 0]}
    path = tmp_path / "model.onnx"
    onnx.save(scatter("Scatter", opset=13), path)
    with pytest.raises(Exception, match="Scatter is deprecated") as refused:
        onnxruntime.InferenceSession(str(path))
    with pytest.warns(DeprecationWarning, match="Scatter-11 is deprecated"):
        fixed = fix(path, tmp_path / "fixed.onnx", inputs, targets=["onnxruntime"])
    cost = fixed.costs["onnxruntime"]
    assert cost.original is None
    assert cost.rewritten is not None
    assert cost.right == {"rewritten", "session"}
    said = " ".join(str(refused.value).split())[:LONGEST]
    assert f"the original fails in onnxruntime: {said}\n" in "\n".join(fix_lines(fixed))


def test_an_original_that_ends_the_runtime_is_reported(tmp_path: Path) -> None:
    onnx.save(dying(), tmp_path / "model.onnx")
    onnx.save(scatter(), tmp_path / "fixed.onnx")
    expected = {"out": np.array([2, 0, 0, 4], F32)}
    cost = costs.measure_cost("onnxruntime", tmp_path / "model.onnx", tmp_path / "fixed.onnx", INPUTS, expected)
    assert "original" in cost.errors
    assert cost.original is None
    assert cost.rewritten is not None
    assert cost.right == {"rewritten"}


def test_a_process_that_dies_is_a_sentence(tmp_path: Path) -> None:
    with start_process(tmp_path) as process:
        assert process.run() > 0
        os.kill(process._process.pid, signal.SIGSTOP)  # so that it does not answer before it dies
        Timer(0.05, process._process.kill).start()
        with pytest.raises(NoAnswerError, match=r"^the process died \(Killed\)$"):
            process.run()
        assert process.run() > 0  # in a new process


def test_a_process_ends_at_the_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_process, "TIME_LIMIT", 0.01)
    with start_process(tmp_path) as process, pytest.raises(NoAnswerError, match="took longer than 0"):
        process.run()


def start_process(folder: Path) -> model_process.ModelProcess:
    onnx.save(scatter(), folder / "model.onnx")
    given = on_targets.write_inputs(folder, INPUTS)
    return model_process.ModelProcess("onnxruntime", folder / "model.onnx", given, folder / "results.npz")


def test_models_that_agree_are_right_where_other_layers_round_in_another_way(tmp_path: Path) -> None:
    for name in ("model", "fixed"):
        onnx.save(scatter(), tmp_path / f"{name}.onnx")
    models = (tmp_path / "model.onnx", tmp_path / "fixed.onnx")
    rounded = {"out": np.array([2, 0, 0, 4.000001], F32)}
    assert costs.measure_cost("onnxruntime", *models, INPUTS, rounded).right == {"rewritten", "session"}


def test_the_inputs_of_an_ir_may_come_in_any_order(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    writer = IRWriter("sums")
    arrays = [writer.parameter(name, kind, [4]) for name, kind in (("data", "f32"), ("at", "i64"), ("new", "f32"))]
    attributes = {"reduction": "max", "use_init_val": True}
    done = writer.layer("ScatterElementsUpdate", "opset12", [*arrays, np.int64(0)], name="put", attributes=attributes)
    writer.result("out", done)
    path = writer.save(tmp_path / "model.xml")
    inputs = {"at": np.array([1, -1, 1, 0]), "new": np.array([1, 2, 3, np.nan], F32), "data": np.full(4, 2, F32)}
    fixed = fix(path, tmp_path / "fixed.xml", inputs)
    assert list(fixed.costs) == ["openvino"]
    assert fixed.costs["openvino"].errors == {}


# Saying it


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (Cost(1e-3, 1.1e-3, 1.1e-3), ""),
        (Cost(1e-3, 0.9e-3), ""),
        (Cost(1e-3, 2e-3), "a run of abacus takes 2 ms instead of 1 ms (2 times)"),
        (Cost(2e-3, 1e-3), "a run of abacus takes 1 ms instead of 2 ms (0.5 times)"),
        (
            Cost(1e-3, 2e-3, right=frozenset({"rewritten"})),
            "a run of abacus takes 2 ms instead of 1 ms (2 times, but the original gives other results)",
        ),
        (
            SLOW,
            "a run of abacus takes 4 ms instead of 1 ms (4 times); the original in "
            "gatherscatter_models.onnx.InferenceSession takes 2 ms",
        ),
        (
            Cost(None, 2e-3, errors={"original": "it says no"}),
            "the original fails in abacus: it says no\na run of abacus takes 2 ms",
        ),
        (Cost(1e-3, None, errors={"rewritten": "it says no"}), ""),  # `on_targets` reports it
    ],
)
def test_times_are_named_where_they_differ(cost: Cost, text: str) -> None:
    assert "\n".join(costs.cost_lines("abacus", cost)) == text


ALL = frozenset({"original", "rewritten", "session"})


@pytest.mark.parametrize(
    ("cost", "is_better"),
    [
        (SLOW, True),
        (Cost(1e-3, 4e-3, 3.9e-3, right=ALL), False),  # equally fast
        (Cost(1e-3, 4e-3, 8e-3, right=ALL), False),  # slower
        (Cost(1e-3, 4e-3, 2e-3, right=ALL - {"session"}), False),  # faster, but not right
        (Cost(1e-3, 4e-3, 8e-3, right=ALL - {"rewritten"}), True),  # slower, but right
        (Cost(1e-3, None, 8e-3, right=frozenset({"session"})), True),  # the rewritten model fails
        (Cost(1e-3, 4e-3, right=frozenset({"rewritten"})), False),  # there is no session
    ],
)
def test_the_session_is_recommended_where_it_is_better(
    cost: Cost, is_better: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed = fixed_with(monkeypatch, tmp_path, cost)
    lines, content = list(fix_lines(fixed)), json.loads(json.dumps(fixed.data()))
    shown = page(examine(scatter()), fixed)
    assert [("prefer gatherscatter_models.onnx.InferenceSession(model)" in text) for text in (lines[-1], shown)] == [
        is_better
    ] * 2
    assert content["advice"] == fixed.advice == ([lines[-1]] if is_better else [])
    assert content["costs"]["onnxruntime"]["rewritten"] == cost.rewritten


def test_all_that_is_said_of_costs_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = fixed_with(monkeypatch, tmp_path, SLOW)
    lines, shown = "\n".join(fix_lines(fixed)), page(examine(scatter()), fixed)
    assert fixed.nodes is not None
    for text in (lines, shown):
        assert f"nodes: {fixed.nodes[1]} instead of 1" in text
        assert "with your inputs, a run of onnxruntime takes 4 ms instead of 1 ms (4 times)" in text
        assert "it is 2 times as fast" in text
    assert fixed.data()["nodes"] == {"original": 1, "rewritten": fixed.nodes[1]}


def test_what_is_recommended_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "the model's file.onnx"
    onnx.save(scatter(reduction="add"), path)
    [line] = fixed_with(monkeypatch, tmp_path, SLOW, path).advice
    call = line[line.index("gatherscatter_models.onnx") : line.index(" to the rewritten")]
    assert eval(call, {"gatherscatter_models": gm}).run(None, INPUTS)[0].tolist() == [2, 0, 0, 5]
    command = line[line.index("gatherscatter convert") : line.rindex(": ")]
    monkeypatch.chdir(tmp_path)
    succeed(*shlex.split(command)[1:])
    assert gm.run("FIXED.onnx", INPUTS)["out"].tolist() == [2, 0, 0, 5]


# Cheaper rewritings


MANY = 10_000  # the number of updates; in some of twenty runs, ONNX Runtime's threads do not leave the last one


def put_one_by_one(inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    result = inputs["data"].copy()
    for row, update in zip(inputs["rows"], inputs["updates"], strict=True):
        result[tuple(row)] = update
    return result


@pytest.mark.parametrize(("k", "known"), [(1, False), (2, True)])
def test_the_last_update_of_a_row_is_written_as_a_whole(k: int, known: bool, tmp_path: Path) -> None:
    generator = np.random.default_rng(k)
    shape, dims = (7, 5, 64), [7, 5, 64] if known else ["n", "m", "l"]
    inputs = {
        "data": generator.standard_normal(shape).astype(F32),
        "rows": np.stack([generator.integers(-size, size, MANY) for size in shape[:k]], axis=-1),
        "updates": generator.standard_normal((MANY, *shape[k:])).astype(F32),
    }
    made = model(
        [node("ScatterND", "data rows updates", "out", "put")],
        {"data": (F32, dims), "rows": (I64, ["u", k]), "updates": (F32, ["u", *dims[k:]])},
        {"out": (F32, dims)},
    )
    small = inputs | {name: inputs[name][:9] for name in ("rows", "updates")}
    fixed = fix(made, tmp_path / "fixed.onnx", small)
    assert "each update got the values of the last one for the same row" in [each.text for each in fixed.made]
    [put] = [each for each in onnx.load(tmp_path / "fixed.onnx").graph.node if each.name == "put"]
    assert put.op_type == "ScatterND"
    assert set(fixed.on_targets.values()) == {"bit-for-bit identical"}
    expected = put_one_by_one(inputs)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(str(tmp_path / "fixed.onnx"), options)
    assert all(np.array_equal(session.run(None, inputs)[0], expected) for _ in range(20))
    assert np.array_equal(gm.run(tmp_path / "fixed.onnx", inputs)["out"], expected)
    for bad in (shape[0], -shape[0] - 1):
        rows = inputs["rows"].copy()
        rows[3, 0] = bad
        with pytest.raises(gs.OpIndexError):
            gm.run(tmp_path / "fixed.onnx", inputs | {"rows": rows})
        with pytest.raises(Exception, match="out of data bounds"):
            session.run(None, inputs | {"rows": rows})
