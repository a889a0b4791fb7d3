"""The doctor's results agree with the actual behaviour of ONNX Runtime and OpenVINO. So do the models it rewrites."""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gatherscatter as gs
import gatherscatter_models as gm
from gatherscatter import oracle
from gatherscatter_models import doctor
from gatherscatter_models.doctor import Fixed, NodeReport, examine, fixes, names
from gatherscatter_models.doctor.page import page
from gatherscatter_models.doctor.report_text import fix_lines
from gatherscatter_models.findings import catalog
from gatherscatter_models.interface import ModelError
from gatherscatter_models.openvino.ir_write import IRWriter
from tests.support.command_line import call, fail, succeed
from tests.support.onnx_graphs import function, graph, model, node, referring

onnxruntime = pytest.importorskip("onnxruntime")

F16, F32, I64, I32 = np.float16, np.float32, np.int64, np.int32
NAN, INF = F32("nan"), F32("inf")
Arrays = Mapping[str, np.ndarray]
fix = partial(doctor.fix, run_on=())  # timing a run takes seconds; test_doctor_cost.py tests it


def run_ort(made: onnx.ModelProto | Path, inputs: Arrays, threads: int = 0) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    content = str(made) if isinstance(made, Path) else made.SerializeToString()
    return list(onnxruntime.InferenceSession(content, options).run(None, dict(inputs)))


def run_openvino(made: onnx.ModelProto | Path, inputs: Arrays) -> list[np.ndarray]:
    pytest.importorskip("openvino")
    return list(gm.run(made, inputs, engine="openvino").values())


def refused_by_ort(made: onnx.ModelProto, inputs: Arrays) -> bool:
    try:
        run_ort(made, inputs)
    except Exception:
        return True
    return False


def same(results: list[np.ndarray], expected: list[np.ndarray]) -> bool:
    return all(
        one.dtype == two.dtype and np.array_equal(one, two, equal_nan=one.dtype.kind == "f")
        for one, two in zip(results, expected, strict=True)
    )


def ours(made: onnx.ModelProto, inputs: Arrays) -> list[np.ndarray]:
    return list(gm.run(made, inputs).values())


def only(made: Any, inputs: Arrays | None = None, *targets: str) -> NodeReport:
    [report] = examine(made, inputs, targets=targets or None).nodes
    return report


def texts(fixed: Fixed) -> str:
    return "; ".join(change.text for change in fixed.made)


def scatter_nd(reduction: str = "none", dtype: Any = F32, k: int | str = 1, rank: int = 1, **constants: Any) -> Any:
    """Return a ScatterND with open sizes. If ``rows`` is among the constants, the indices are a constant."""
    data = ["n", "m", "l"][:rank]
    updates = ["u", *data[k:]] if isinstance(k, int) else None
    inputs = {"data": (dtype, data), "rows": (I64, ["u", k]), "updates": (dtype, updates)}
    made = [node("ScatterND", "data rows updates", "out", "put", reduction=reduction)]
    given = {name: kind for name, kind in inputs.items() if name not in constants}
    return model(made, given, {"out": (dtype, data)}, constants)


def scatter_elements(reduction: str = "none", dtype: Any = F32) -> onnx.ModelProto:
    inputs = {"data": (dtype, ["n"]), "rows": (I64, ["u"]), "updates": (dtype, ["u"])}
    made = [node("ScatterElements", "data rows updates", "out", "put", reduction=reduction)]
    return model(made, inputs, {"out": (dtype, ["n"])})


# Looking


def test_nodes_of_the_graph_of_functions_and_of_bodies_are_listed() -> None:
    looked_up = function("my", "Look", "table at", "row", [node("Gather", "table at", "row", "inner")])
    branch = graph([node("GatherElements", "x at", "y", "branch")], {}, {"y": (F32, None)})
    other = graph([node("Identity", "x", "y")], {}, {"y": (F32, None)})
    made = model(
        [
            node("Look", "x at", "z", domain="my"),
            node("If", "flag", "w", "choice", then_branch=branch, else_branch=other),
        ],
        {"x": (F32, ["n"]), "at": (I64, ["k"]), "flag": (np.bool_, [])},
        {"z": (F32, ["k"]), "w": (F32, None)},
        functions=[looked_up],
        domains={"my": 1},
    )
    inputs = {"x": np.zeros(4, F32), "at": np.array([3, -1]), "flag": np.array(True)}
    before, after = (examine(made, given) for given in (None, inputs))
    assert {report.site.name for report in before.nodes} == {"inner", "branch"}
    seen = {report.site.name: report for report in after.nodes}
    assert [seen[name].facts for name in ("inner", "branch")] == ["2 indices, -1..3, 1 negative"] * 2
    assert "of function my.Look" in seen["inner"].site.label
    assert "of then_branch of If 'choice'" in seen["branch"].site.label
    unreached = {report.site.name: report for report in examine(made, inputs | {"flag": np.array(False)}).nodes}
    assert unreached["branch"].seen is None
    assert unreached["inner"].seen is not None


def test_constants_of_an_enclosing_graph_are_seen_in_bodies() -> None:
    branch = graph([node("Gather", "x at", "y", "pick")], {}, {"y": (F32, None)})
    other = graph([node("Identity", "x", "y")], {}, {"y": (F32, None)})
    choice = node("If", "flag", "out", then_branch=branch, else_branch=other)
    made = model([choice], {"x": (F32, [4]), "flag": (np.bool_, [])}, {"out": (F32, None)}, {"at": [3, -2]})
    assert only(made).facts == "2 indices, -2..3, 1 negative"


def test_values_of_all_iterations_are_seen() -> None:
    body = graph(
        [node("Gather", "x step", "y", "pick"), node("Identity", "going", "on")],
        {"step": (I64, []), "going": (np.bool_, [])},
        {"on": (np.bool_, []), "y": (F32, None)},
    )
    made = model(
        [node("Loop", "count -", "out", body=body)], {"x": (F32, ["n"]), "count": (I64, [])}, {"out": (F32, None)}
    )
    report = only(made, {"x": np.zeros(5, F32), "count": np.array(4)})
    assert (report.record.calls, report.record.tuples, report.record.lowest, report.record.highest) == (4, 4, 0, 3)


def test_attributes_of_a_caller_are_seen_when_the_model_runs() -> None:
    scatter = referring(node("ScatterElements", "x at new", "y", "put"), "reduction", "how", onnx.AttributeProto.STRING)
    made = model(
        [node("Put", "x at new", "out", domain="my", how="max")],
        {"x": (F32, ["n"]), "at": (I64, ["k"]), "new": (F32, ["k"])},
        {"out": (F32, ["n"])},
        functions=[function("my", "Put", "x at new", "y", [scatter], attributes=["how"])],
        domains={"my": 1},
    )
    assert only(made).told.reduction is None
    inputs = {"x": np.zeros(2, F32), "at": np.array([1]), "new": np.array([np.nan], F32)}
    report = only(made, inputs, "onnxruntime")
    assert report.record.reduction == "max"
    assert [reason.finding.condition for reason in report.verdicts["onnxruntime"].reasons] == ["nan"]


def test_a_bad_index_is_seen_although_it_stops_the_model() -> None:
    diagnosis = examine(scatter_nd(), [np.zeros(4, F32), np.array([[1], [9]]), np.zeros(2, F32)])
    assert "indices[1, 0] = 9 is out of range" in diagnosis.error
    assert "ScatterND 'put' (1/1)" in diagnosis.error
    assert diagnosis.nodes[0].record.counts["out of range"] == 1


def test_constants_are_judged_without_inputs() -> None:
    report = only(scatter_nd(rows=[[3], [0], [3]]), None, "onnxruntime")
    assert report.record.counts["repeated"] == 1
    assert report.facts == "3 tuples, 0..3, 1 repeated"


def test_damaged_models_are_an_error_or_looked_at(tmp_path: Path) -> None:
    content = scatter_nd(rows=[[3], [0], [3]]).SerializeToString()
    generator = np.random.default_rng(3)
    for _ in range(300):
        damaged = bytearray(content)
        for row in generator.integers(0, len(content), 3):
            damaged[row] = generator.integers(256)
        (tmp_path / "damaged.onnx").write_bytes(
            bytes(damaged[: generator.integers(len(content) // 2, len(content) + 1)])
        )
        try:
            examine(tmp_path / "damaged.onnx")
        except ModelError:
            continue


def test_wrong_inputs_are_an_error() -> None:
    with pytest.raises(ModelError, match="input 'rows' must be int64; got float32"):
        examine(scatter_nd(), [np.zeros(4, F32), np.zeros((1, 1), F32), np.zeros(1, F32)])
    with pytest.raises(ValueError, match="there is no target 'abacus'"):
        examine(scatter_nd(), targets=["abacus"])


# ONNX Runtime


MANY = 1_000_000


def racing(reduction: str) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    generator = np.random.default_rng(1)
    data = np.ones(4, I32) if reduction == "mul" else np.zeros(4, I32)
    updates = generator.integers(1, MANY, MANY, dtype=I32) | 1  # odd numbers, so that the products never become zero
    inputs = {"data": data, "rows": generator.integers(0, 4, (MANY, 1)), "updates": updates}
    return scatter_nd(reduction, I32), inputs


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "none"])
def test_a_race_of_onnx_runtime_is_found_and_resolved(reduction: str, tmp_path: Path) -> None:
    made, inputs = racing(reduction)
    verdict = only(made, inputs, "onnxruntime").verdicts["onnxruntime"]
    assert not verdict.certain  # two runs can differ, and two runs can be right
    assert verdict.reasons[0].count == MANY - 4
    assert verdict.status == ("open" if reduction == "none" else "different")
    expected = ours(made, inputs)
    runs = range(2000)  # a run takes 10 ms; on a busy machine its threads rarely run at the same time
    assert any(not same(run_ort(made, inputs, threads=4), expected) for _ in runs)
    small = {"data": inputs["data"], "rows": inputs["rows"][:9], "updates": inputs["updates"][:9]}
    fixed = fix(made, tmp_path / "fixed.onnx", small, targets=["onnxruntime"])
    assert "one after the other" in texts(fixed)
    assert all(same(run_ort(tmp_path / "fixed.onnx", inputs, threads=4), expected) for _ in range(5))
    after = examine(tmp_path / "fixed.onnx", inputs, targets=["onnxruntime"])
    assert {report.verdicts["onnxruntime"].status for report in after.nodes} == {"supported"}


def test_few_updates_do_not_race() -> None:
    made, inputs = racing("add")
    few = inputs | {"rows": inputs["rows"][:100], "updates": inputs["updates"][:100]}
    assert only(made, few, "onnxruntime").verdicts["onnxruntime"].status == "supported"
    assert all(same(run_ort(made, few), ours(made, few)) for _ in range(20))


LACKING: list[tuple[str, str, Any, list[Any], list[list[int]], list[Any]]] = [
    # operator, reduction, type, data, indices, updates
    ("ScatterND", "max", F16, [1, 2, 3], [[0], [2], [0]], [5, 1, 7]),
    ("ScatterND", "min", F16, [1, 2, 3], [[0], [2], [0]], [5, 1, -7]),
    ("ScatterND", "max", np.bool_, [True, False, False], [[0], [-1], [0]], [False, True, False]),
    ("ScatterElements", "min", np.bool_, [True, False, True], [[0], [-1], [0]], [True, False, False]),
    ("ScatterND", "add", F16, [2048, 2, 0.1], [[0], [2]], [1, 0.2]),
    ("ScatterElements", "mul", F16, [2048, 2, 0.1], [[0], [2]], [3.3, 0.7]),
    ("ScatterElements", "add", F16, [65504, 2, 6e-8], [[0], [-1]], [16, 6e-8]),
]


@pytest.mark.parametrize(("op_type", "reduction", "dtype", "data", "rows", "updates"), LACKING)
def test_reductions_that_onnx_runtime_lacks(
    op_type: str, reduction: str, dtype: Any, data: list[Any], rows: Any, updates: list[Any], tmp_path: Path
) -> None:
    shaped = rows if op_type == "ScatterND" else [row[0] for row in rows]
    made = model(
        [node(op_type, "data rows updates", "out", reduction=reduction)],
        {"data": (dtype, [3]), "updates": (dtype, [len(rows)])},
        {"out": (dtype, [3])},
        {"rows": shaped},
    )
    inputs = {"data": np.array(data, dtype), "updates": np.array(updates, dtype)}
    assert only(made, inputs, "onnxruntime").verdicts["onnxruntime"].status == "refused"
    assert refused_by_ort(made, inputs)
    fix(made, tmp_path / "fixed.onnx", inputs, targets=["onnxruntime"])
    expected = [
        oracle.call(f"onnx.{op_type}-18", inputs["data"], np.array(shaped), inputs["updates"], reduction=reduction)
    ]
    assert same(run_ort(tmp_path / "fixed.onnx", inputs), expected)


def test_sums_of_halves_that_would_be_rounded_otherwise_are_left(tmp_path: Path) -> None:
    fixed = fix(scatter_elements("add", F16), tmp_path / "fixed.onnx", targets=["onnxruntime"])
    assert fixed.path is None
    assert not (tmp_path / "fixed.onnx").exists()
    [change] = fixed.left
    assert "rounded differently" in change.text


@pytest.mark.parametrize("widen", [False, True])
def test_other_refused_types_get_no_advice_about_halves(widen: bool, tmp_path: Path) -> None:
    made = model(
        [node("Gather", "data rows", "out")],
        {"data": (np.complex64, ["n"]), "rows": (I64, ["k"])},
        {"out": (np.complex64, ["k"])},
    )
    fixed = fix(made, tmp_path / "fixed.onnx", targets=["onnxruntime"], widen_halves=widen)
    assert all("halves" not in change.text for change in fixed.left)


@pytest.mark.parametrize("dtype", [F16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("reduction", ["add", "mul"])
@pytest.mark.parametrize("op_type", ["ScatterND", "ScatterElements"])
def test_sums_and_products_of_halves_are_computed_in_float32_on_request(
    op_type: str, reduction: str, dtype: Any, tmp_path: Path
) -> None:
    made = scatter_nd(reduction, dtype) if op_type == "ScatterND" else scatter_elements(reduction, dtype)
    fixed = fix(made, tmp_path / "fixed.onnx", targets=["onnxruntime"], widen_halves=True)
    assert fixed.widened
    assert "rounded once" in texts(fixed)
    assert ("one after the other" in texts(fixed)) == (op_type == "ScatterND")  # threads of ScatterND lose updates
    assert "to the original with sums and products of halves in float32" in "\n".join(fix_lines(fixed))
    assert fixed.after is not None
    assert fixed.after.worst == "supported"
    generator = np.random.default_rng(1)
    count = 250_000  # ONNX Runtime divides this number of updates between threads
    rows = generator.integers(-9, 9, count)
    updates = (generator.random(count) < 0.0001) + 1.0 if reduction == "mul" else generator.random(count) - 0.5
    inputs = {
        "data": generator.random(9).astype(dtype),
        "rows": rows[:, None] if op_type == "ScatterND" else rows,
        "updates": updates.astype(dtype),
    }
    wide = inputs | {name: inputs[name].astype(F32) for name in ("data", "updates")}
    expected = oracle.call(f"onnx.{op_type}-18", *wide.values(), reduction=reduction).astype(dtype)
    for threads in (1, 2):
        assert np.array_equal(run_ort_halves(tmp_path / "fixed.onnx", inputs, threads), expected)


def run_ort_halves(path: Path, inputs: Arrays, threads: int) -> np.ndarray:
    """Run a model of float16 or bfloat16. ONNX Runtime takes bfloat16 only with the number of its type."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    number = onnx.helper.np_dtype_to_tensor_dtype(inputs["data"].dtype)
    given = {
        name: onnxruntime.OrtValue.ortvalue_from_numpy(array)
        if array.dtype == I64
        else onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), number)
        for name, array in inputs.items()
    }
    [result] = onnxruntime.InferenceSession(str(path), options).run_with_ort_values(["out"], given)
    bits = (ctypes.c_uint16 * inputs["data"].size).from_address(result.data_ptr())  # numpy() refuses bfloat16
    return np.array(bits).view(inputs["data"].dtype)


def test_halves_without_repeated_indices_stay_exact_on_request(tmp_path: Path) -> None:
    made = scatter_nd("add", F16, rows=np.array([[0], [2]]))
    fixed = fix(made, tmp_path / "fixed.onnx", targets=["onnxruntime"], widen_halves=True)
    assert not fixed.widened
    assert "exact" in texts(fixed)


@pytest.mark.parametrize("dtype", [F16, np.bool_])
@pytest.mark.parametrize("reduction", ["min", "max"])
def test_extremes_of_halves_and_bools_do_not_race_after_the_rewriting(
    reduction: str, dtype: Any, tmp_path: Path
) -> None:
    fixed = fix(scatter_nd(reduction, dtype), tmp_path / "fixed.onnx", targets=["onnxruntime"])
    assert fixed.left == ()
    assert fixed.after is not None
    assert fixed.after.summary == ["onnxruntime: 1 of 1 supported"]


@pytest.mark.parametrize(("count", "code"), [("n", 1), (50_000, 1), (100, 0)])
def test_a_refusal_that_may_be_a_crash_fails_on_memory(count: str | int, code: int, tmp_path: Path) -> None:
    made = model(
        [node("ScatterND", "data rows updates", "out", reduction="add")],
        {"data": (F16, [1000, 64]), "rows": (I64, [count, 1]), "updates": (F16, [count, 64])},
        {"out": (F16, [1000, 64])},
    )
    onnx.save(made, tmp_path / "model.onnx")
    arguments = ["doctor", tmp_path / "model.onnx", "--target", "onnxruntime"]
    result = call(*arguments, "--fail-on", "memory")
    assert result.exit_code == code
    assert ("may crash" in result.stdout) == bool(code)
    assert call(*arguments, "--fail-on", "refused").exit_code == 1
    assert "unknown types" not in result.stdout


def test_halves_are_widened_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixes, "RUNNERS", ())  # runs nothing on targets, which takes seconds
    onnx.save(scatter_elements("add", F16), tmp_path / "model.onnx")
    arguments = ["doctor", tmp_path / "model.onnx", "--target", "onnxruntime"]
    assert "--widen-halves is for --fix" in fail(*arguments, "--widen-halves")
    arguments += ["--fix", tmp_path / "fixed.onnx"]
    assert "--widen-halves" in succeed(*arguments)
    assert not (tmp_path / "fixed.onnx").exists()
    assert "rounded once" in succeed(*arguments, "--widen-halves")
    assert (tmp_path / "fixed.onnx").exists()


@pytest.mark.parametrize("reduction", ["min", "max"])
@pytest.mark.parametrize("made", ["ScatterND", "ScatterElements"])
@pytest.mark.parametrize("run", [run_ort, run_openvino])
def test_nan_is_put_back(made: str, reduction: str, run: Any, tmp_path: Path) -> None:
    target = "onnxruntime" if run is run_ort else "openvino"
    original = scatter_nd(reduction) if made == "ScatterND" else scatter_elements(reduction)
    rows = np.array([0, 1, 1, 2, 3, 3])
    inputs = {
        "data": np.array([NAN, 1, 2, 3, NAN], F32),
        "rows": rows[:, None] if made == "ScatterND" else rows,
        "updates": np.array([5, NAN, 7, NAN, 1, 8], F32),
    }
    expected = ours(original, inputs)
    assert np.isnan(expected[0]).tolist() == [True, True, True, False, True]
    assert only(original, inputs, target).verdicts[target].status == "open"
    assert not same(run(original, inputs), expected)
    fix(original, tmp_path / "fixed.onnx", inputs, targets=[target])
    assert same(run(tmp_path / "fixed.onnx", inputs), expected)


def test_the_deprecated_scatter_becomes_scatter_elements(tmp_path: Path) -> None:
    inputs = {"data": np.arange(4, dtype=F32), "rows": np.array([1, -1]), "updates": np.ones(2, F32)}
    made = model(
        [node("Scatter", "data rows updates", "out")],
        {"data": (F32, [4]), "rows": (I64, [2]), "updates": (F32, [2])},
        {"out": (F32, [4])},
        opset=13,
    )
    assert refused_by_ort(made, inputs)
    with pytest.warns(DeprecationWarning, match="Scatter-11 is deprecated"):
        fixed = fix(made, tmp_path / "fixed.onnx", inputs)
    assert "Scatter became ScatterElements" in texts(fixed)
    assert run_ort(tmp_path / "fixed.onnx", inputs)[0].tolist() == [0, 1, 2, 1]


# OpenVINO


def test_foreign_memory_is_foreseen() -> None:
    made = model(
        [node("GatherND", "data at", "out")], {"data": (F32, ["n"]), "at": (I64, ["k", 1])}, {"out": (F32, ["k"])}
    )
    report = only(made, None, "openvino")
    assert str(report.verdicts["openvino"]) == "may crash or read out-of-bounds memory"
    good = {"data": np.arange(4, dtype=F32), "at": np.array([[1], [-1]])}
    assert only(made, good, "openvino").verdicts["openvino"].status == "supported"
    assert same(run_openvino(made, good), ours(made, good))
    bad = examine(made, good | {"at": np.array([[1], [4]])}, targets=["openvino"])
    assert bad.worst == "memory"


@pytest.mark.parametrize("op_type", ["Gather", "GatherElements"])
def test_wide_values_are_narrowed_and_can_not_be_saved(op_type: str, tmp_path: Path) -> None:
    made = model([node(op_type, "data at", "out")], {"at": (I64, [2])}, {"out": (I64, [2])}, {"data": [1, 2**40 + 1]})
    inputs = {"at": np.array([1, 0])}
    report = only(made, None, "openvino")
    assert (report.verdicts["openvino"].status, report.verdicts["openvino"].certain) == ("different", True)
    assert not same(run_openvino(made, inputs), ours(made, inputs))
    fixed = fix(made, tmp_path / "fixed.onnx", inputs, targets=["openvino"], leave=["negative"])
    assert fixed.path is None
    assert any("converts 64-bit inputs of the model to 32 bits" in change.text for change in fixed.left)


def test_sizes_are_not_wide() -> None:
    made = model(
        [node("Shape", "x", "sizes"), node("Gather", "sizes at", "out")],
        {"x": (F32, ["a", "b"])},
        {"out": (I64, [])},
        {"at": 1},
    )
    assert only(made, None, "openvino").verdicts["openvino"].status == "supported"


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_whole_updates_by_empty_tuples(reduction: str, tmp_path: Path) -> None:
    made = scatter_nd(reduction, k=0, rank=2)
    inputs = {"data": np.arange(6, dtype=F32).reshape(2, 3), "rows": np.zeros((2, 0), I64)}
    inputs["updates"] = np.stack([inputs["data"] + 1, inputs["data"] + 2])
    expected = ours(made, inputs)
    assert only(made, inputs, "openvino").verdicts["openvino"].status != "supported"
    assert not same(run_openvino(made, inputs), expected)
    fix(made, tmp_path / "fixed.onnx", inputs, targets=["openvino"])
    assert same(run_openvino(tmp_path / "fixed.onnx", inputs), expected)
    assert same(run_ort(tmp_path / "fixed.onnx", inputs), expected)


def test_whole_copies_by_empty_tuples(tmp_path: Path) -> None:
    io = {"data": (F32, ["n", "m"]), "at": (I64, ["k", 0])}
    made = model([node("GatherND", "data at", "out")], io, {"out": (F32, ["k", "n", "m"])})
    inputs = {"data": np.arange(1, 7, dtype=F32).reshape(2, 3), "at": np.zeros((2, 0), I64)}
    assert only(made, inputs, "openvino").verdicts["openvino"].status == "memory"
    assert not same(run_openvino(made, inputs), ours(made, inputs))
    fix(made, tmp_path / "fixed.onnx", inputs, targets=["openvino"])
    assert same(run_openvino(tmp_path / "fixed.onnx", inputs), ours(made, inputs))


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("starts", [True, False])
def test_writes_to_a_cache_become_scatters(mode: str, starts: bool, tmp_path: Path) -> None:
    io = {"past": (F32, ["b", 2, "m"]), "new": (F32, ["b", 2, "s"]), "at": (I64, ["b"])}
    names = "past new at" if starts else "past new"
    made = model(
        [node("TensorScatter", names, "out", axis=-1, mode=mode)],
        {name: io[name] for name in names.split()},
        {"out": (F32, ["b", 2, "m"])},
        opset=24,
    )
    inputs = {"past": np.zeros((2, 2, 5), F32), "new": np.arange(1, 13, dtype=F32).reshape(2, 2, 3)}
    if starts:
        inputs["at"] = np.array([2, 0] if mode == "linear" else [4, -3])
    assert only(made, inputs, "openvino").verdicts["openvino"].status == "refused"
    with pytest.raises(ModelError, match="openvino"):
        run_openvino(made, inputs)
    fix(made, tmp_path / "fixed.onnx", inputs, targets=["openvino"])
    expected = [oracle.call("onnx.TensorScatter-24", *inputs.values(), axis=-1, mode=mode)]
    assert same(run_openvino(tmp_path / "fixed.onnx", inputs), expected)
    if starts and mode == "linear":
        for bad in (-1, 3):
            with pytest.raises(gs.OpIndexError):
                gm.run(tmp_path / "fixed.onnx", inputs | {"at": np.array([0, bad])})


def test_shorter_indices_are_padded(tmp_path: Path) -> None:
    io = {"data": (F32, ["n", "m"]), "at": (I64, ["k", "l"])}
    made = model([node("GatherElements", "data at", "out", axis=0)], io, {"out": (F32, ["k", "l"])})
    inputs = {"data": np.arange(12, dtype=F32).reshape(3, 4), "at": np.array([[2, -1], [0, 1]])}
    assert only(made, inputs, "openvino").verdicts["openvino"].status == "refused"
    with pytest.raises(ModelError, match="openvino"):
        run_openvino(made, inputs)
    fix(made, tmp_path / "fixed.onnx", inputs, targets=["openvino"])
    assert same(run_openvino(tmp_path / "fixed.onnx", inputs), ours(made, inputs))


def test_negative_indices_of_gather_elements_become_positive(tmp_path: Path) -> None:
    io = {"data": (F32, ["n", 2]), "at": (I32, ["k", 2])}
    made = model([node("GatherElements", "data at", "out")], io, {"out": (F32, ["k", 2])})
    inputs = {"data": np.arange(6, dtype=F32).reshape(3, 2), "at": np.array([[-1, 0], [2, -3]], I32)}
    assert only(made, inputs, "openvino").verdicts["openvino"].status == "open"
    fixed = fix(made, tmp_path / "fixed.onnx", inputs, targets=["openvino"])
    assert "the size of the axis was added to negative indices" in texts(fixed)
    after = {report.site.name: report for report in examine(tmp_path / "fixed.onnx", inputs).nodes}
    assert all(report.record.counts["negative"] == 0 for report in after.values())
    assert same(run_openvino(tmp_path / "fixed.onnx", inputs), ours(made, inputs))


# Rewriting


def test_a_bad_index_does_not_become_a_crash_of_openvino(tmp_path: Path) -> None:
    made = scatter_nd()
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 9
    fix(made, tmp_path / "fixed.onnx", targets=["onnxruntime", "openvino"])
    rows = np.full((1000, 1), -10)
    np.savez(tmp_path / "in.npz", data=np.zeros(9, F32), rows=rows, updates=np.ones(1000, F32))
    command = [sys.executable, "-m", "gatherscatter", "run", "fixed.onnx", "in.npz", "--engine", "openvino"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2, done
    assert "non-existing output tensor element" in done.stderr


def test_negative_batch_dims_of_a_caller_do_not_end_the_process(tmp_path: Path) -> None:
    io = {"data": (F32, [4, 3]), "at": (I64, [4, 1])}
    inner = referring(node("GatherND", "data at", "out"), "batch_dims", "b", onnx.AttributeProto.INT)
    called = function("my", "Pick", "data at", "out", [inner], attributes=["b"])
    caller = node("Pick", "data at", "out", domain="my", b=-7)
    made = model([caller], io, {"out": (F32, None)}, functions=[called], domains={"my": 1})
    onnx.save(made, tmp_path / "model.onnx")
    command = [sys.executable, "-m", "gatherscatter", "doctor", str(tmp_path / "model.onnx")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 2), done.stderr


def test_no_array_is_made_of_the_sizes_that_a_model_names(tmp_path: Path) -> None:
    made = model(
        [node("ConstantOfShape", "size", "zeros"), node("Gather", "zeros at", "out")],
        {"at": (I64, [1])},
        {"out": (F32, [1])},
        {"size": [2**45]},
    )
    onnx.save(made, tmp_path / "model.onnx")
    program = (
        "import resource, gatherscatter_models.doctor\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(gatherscatter_models.doctor.examine('model.onnx').nodes[0].record.shapes['data'])\n"
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 500_000  # kilobytes"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == f"({2**45},)\n", done.stderr
    assert done.returncode == 0, done.stderr


def test_an_attribute_of_a_wrong_type_names_its_node() -> None:
    made = model([node("Gather", "x at", "out", "pick", axis="first")], {"x": (F32, [4])}, {}, {"at": [3]})
    with pytest.raises(ModelError, match="Mismatched attribute type in 'pick : axis'"):
        examine(made)


@pytest.mark.parametrize("made", ["constant", "computed", "elements"])
def test_wrong_shapes_stay_errors(made: str, tmp_path: Path) -> None:
    if made == "elements":
        io = {"data": (F32, ["n", "m"]), "at": (I64, ["k", "l"])}
        original = model([node("GatherElements", "data at", "out", axis=0)], io, {"out": (F32, ["k", "l"])})
        good = {"data": np.zeros((3, 2), F32), "at": np.zeros((2, 1), I64)}
        bad = good | {"at": np.zeros((2, 3), I64)}
    else:
        rows = {"rows": np.array([[0], [0]])} if made == "constant" else {}
        original = scatter_nd(rank=2, **rows)
        computed = {} if rows else {"rows": np.array([[0], [0]])}
        good = {"data": np.zeros((4, 3), F32), "updates": np.ones((2, 3), F32)} | computed
        bad = good | {"updates": np.ones((3, 3), F32)}
    assert fix(original, tmp_path / "fixed.onnx", good).made
    for each in (original, tmp_path / "fixed.onnx"):
        with pytest.raises((gs.OpValueError, ValueError)):
            gm.run(each, bad)


def test_repeated_constants_keep_the_last(tmp_path: Path) -> None:
    made = scatter_nd(k=1, rank=2, rows=[[3], [0], [-1], [0]])
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4
    inputs = {"data": np.zeros((4, 2), F32), "updates": np.arange(8, dtype=F32).reshape(4, 2)}
    fixed = fix(made, tmp_path / "fixed.onnx", inputs)
    assert [change.text for change in fixed.made] == ["for repeated indices, only the last update was kept"]
    assert run_ort(tmp_path / "fixed.onnx", inputs)[0].tolist() == [[6, 7], [0, 0], [0, 0], [4, 5]]


def test_repeated_constants_of_scatter_elements_keep_the_last(tmp_path: Path) -> None:
    io = {"data": (F32, [3, 2]), "updates": (F32, [2, 2])}
    made = model(
        [node("ScatterElements", "data rows updates", "out")],
        io,
        {"out": (F32, [3, 2])},
        {"rows": [[2, 0], [-1, 1]]},
    )
    inputs = {"data": np.zeros((3, 2), F32), "updates": np.array([[1, 2], [3, 4]], F32)}
    fix(made, tmp_path / "fixed.onnx", inputs)
    assert run_ort(tmp_path / "fixed.onnx", inputs)[0].tolist() == [[0, 2], [0, 4], [3, 0]]
    [scatter] = [each for each in onnx.load(tmp_path / "fixed.onnx").graph.node if each.op_type.startswith("Scatter")]
    assert scatter.op_type == "ScatterND"


def test_functions_and_bodies_are_rewritten(tmp_path: Path) -> None:
    scatter = node("ScatterND", "x at new", "y", "inner", reduction="add")
    branch = graph([node("ScatterND", "x at new", "y", "branch")], {}, {"y": (F32, None)})
    other = graph([node("Identity", "x", "y")], {}, {"y": (F32, None)})
    made = model(
        [
            node("Put", "x at new", "z", domain="my"),
            node("If", "flag", "w", "choice", then_branch=branch, else_branch=other),
        ],
        {"x": (F32, [5, 2]), "at": (I64, ["k", 1]), "new": (F32, ["k", 2]), "flag": (np.bool_, [])},
        {"z": (F32, None), "w": (F32, None)},
        functions=[function("my", "Put", "x at new", "y", [scatter])],
        domains={"my": 1},
    )
    inputs = {"x": np.ones((5, 2), F32), "at": np.array([[1], [-4], [0]]), "new": np.ones((3, 2), F32) * 3}
    inputs["flag"] = np.array(True)
    fixed = fix(made, tmp_path / "fixed.onnx", inputs)
    assert texts(fixed).count("one after the other") == texts(fixed).count("the values of the last one") == 1
    assert same(run_ort(tmp_path / "fixed.onnx", inputs), ours(made, inputs))
    written = onnx.load(tmp_path / "fixed.onnx")
    [choice] = [each for each in written.graph.node if each.op_type == "If"]
    bodies = [written.graph, next(each.g for each in choice.attribute if each.name == "then_branch")]
    assert ["ScatterElements" in [each.op_type for each in body.node] for body in bodies] == [True, True]
    assert not written.functions


def test_a_bad_index_stays_an_error(tmp_path: Path) -> None:
    made = scatter_nd("add", k=2, rank=2)
    inputs = {"data": np.zeros((2, 3), F32), "rows": np.array([[0, 2], [-1, 0]]), "updates": np.ones(2, F32)}
    fix(made, tmp_path / "fixed.onnx", inputs)
    for bad in ([[0, 3], [0, 0]], [[-3, 0], [0, 0]], [[2, 0], [0, 0]], [[0, -4], [0, 0]]):
        with pytest.raises(gs.OpIndexError):
            gm.run(tmp_path / "fixed.onnx", inputs | {"rows": np.array(bad)})
        with pytest.raises(Exception, match="indices element out of data bounds"):
            run_ort(tmp_path / "fixed.onnx", inputs | {"rows": np.array(bad)})


def test_a_rewriting_that_is_wrong_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgets(draft: Any) -> None:
        draft.attributes.pop("reduction")

    wrong = fixes.table.Rewriting(("repeated",), "wrong", lambda draft: True, forgets)
    monkeypatch.setattr(fixes, "REWRITINGS", (wrong,))
    with pytest.raises(ModelError, match="gives other results, so it was not written"):
        fix(scatter_nd("add"), tmp_path / "fixed.onnx")
    assert not (tmp_path / "fixed.onnx").exists()


def test_a_model_without_inputs_that_fit_is_not_written(tmp_path: Path) -> None:
    made = scatter_nd("add")
    made.graph.input.append(onnx.helper.make_tensor_value_info("free", onnx.TensorProto.FLOAT, None))
    with pytest.raises(ModelError, match="no generated inputs fit"):
        fix(made, tmp_path / "fixed.onnx")
    assert not (tmp_path / "fixed.onnx").exists()


def test_random_numbers_are_the_same_in_both_models(tmp_path: Path) -> None:
    made = scatter_nd("add")
    made.graph.node[0].output[0] = "sums"
    made.graph.node.extend([node("RandomNormalLike", "sums", "noise"), node("Add", "sums noise", "out")])
    fixed = fix(made, tmp_path / "fixed.onnx")
    assert fixed.proof is not None
    assert fixed.proof.random > 5
    assert all(each.name != "seed" for one in onnx.load(tmp_path / "fixed.onnx").graph.node for each in one.attribute)


def test_without_inputs_the_file_judges_both_models(tmp_path: Path) -> None:
    made = scatter_nd("add", I64)
    fixed = fix(made, tmp_path / "fixed.onnx", targets=["onnxruntime", "openvino"])
    assert fixed.after is not None
    assert not fixed.after.ran
    [report] = fixed.after.nodes
    # The computed indices cannot be below -size any more, but their values may still be wide.
    assert [reason.finding.condition for reason in report.verdicts["openvino"].reasons] == ["wide values"]


def test_nodes_that_were_added_are_not_counted(tmp_path: Path) -> None:
    put = node("ScatterND", "x at new", "y", "put", reduction="max")
    branch, other = (graph([each], {}, {"y": (F32, None)}) for each in (put, node("Identity", "x", "y")))
    made = model(
        [node("If", "flag", "out", then_branch=branch, else_branch=other)],
        {"x": (F32, ["n", "m"]), "at": (I64, ["k", 2]), "new": (F32, ["k"]), "flag": (np.bool_, [])},
        {"out": (F32, None)},
    )
    inputs = {"x": np.zeros((3, 2), F32), "at": np.array([[-1, 0]]), "new": np.ones(1, F32), "flag": np.array(True)}
    fixed = fix(made, tmp_path / "fixed.onnx", inputs)
    assert fixed.after is not None
    assert [report.site.name for report in fixed.after.nodes] == ["put"]
    assert len(examine(tmp_path / "fixed.onnx").nodes) > 1
    assert all("was added" in risk and "Shape" not in risk for risk in fixed.risks)


def test_what_fails_after_the_writing_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*arguments: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(fixes, "compare_on", stopped)
    with pytest.raises(KeyboardInterrupt):
        fix(scatter_nd("add"), tmp_path / "fixed.onnx", run_on=None)
    assert not list(tmp_path.iterdir())


def test_a_runtime_that_dies_does_not_end_the_process(tmp_path: Path) -> None:
    made = model([node("GatherND", "data at", "out")], {"data": (F32, [4]), "at": (I64, [1, 1])}, {"out": (F32, [1])})
    made.graph.node[0].attribute.append(onnx.helper.make_attribute("batch_dims", -7))
    onnx.save(made, tmp_path / "model.onnx")
    inputs = {"data": np.zeros(4, F32), "at": np.zeros((1, 1), I64)}
    text = fixes.on_targets.compare_on("onnxruntime", tmp_path / "model.onnx", inputs, {})
    assert text.startswith("fails: ")  # the output of a crash, or its exit code


@pytest.mark.parametrize("target", ["onnxruntime", "openvino"])
def test_results_are_compared_by_position(target: str, tmp_path: Path) -> None:
    pytest.importorskip(target)
    made = model([node("Gather", "x at", "out")], {"x": (F32, [2])}, {"out": (F32, [2])}, {"at": [1, 0]})
    onnx.save(made, tmp_path / "model.onnx")
    inputs, right = {"x": np.array([1, 2], F32)}, np.array([2, 1], F32)
    for results, text in (
        ({"other": right}, "bit-for-bit identical"),
        ({}, "fails"),
        ({"other": -right}, "differs by at most 4"),
    ):
        assert text in fixes.on_targets.compare_on(target, tmp_path / "model.onnx", inputs, results)


def test_strings_reach_the_runtimes(tmp_path: Path) -> None:
    io = {"data": (np.object_, ["n", 2]), "at": (I64, ["k", 2])}
    made = model([node("GatherElements", "data at", "out")], io, {"out": (np.object_, ["k", 2])})
    inputs = {"data": np.array([["a", "long"]], object), "at": np.array([[-1, 0]])}
    assert fix(made, tmp_path / "fixed.onnx", inputs, run_on=None).on_targets["onnxruntime"] == "bit-for-bit identical"


@pytest.mark.parametrize("is_constant", [False, True])
def test_rows_of_strings_are_kept_whole(is_constant: bool, tmp_path: Path) -> None:
    rows = {"rows": np.array([[0], [1], [0]])}
    made = scatter_nd(dtype=np.object_, rank=2, **(rows if is_constant else {}))
    updates = np.array([["1", "2", "3"], ["4", "5", "6"], ["7", "8", "9"]], object)
    inputs = {"data": np.array([["a", "b", "c"], ["d", "e", "f"]], object), "updates": updates}
    inputs |= {} if is_constant else rows
    fixed = fix(made, tmp_path / "fixed.onnx", inputs)
    assert "one after the other" in texts(fixed)
    assert run_ort(tmp_path / "fixed.onnx", inputs)[0].tolist() == [["7", "8", "9"], ["4", "5", "6"]]


def put_by_batches(opset: int, dtype: Any = F32) -> onnx.ModelProto:
    io = {"data": (dtype, ["n", "m", "l"]), "rows": (I64, ["a", "b", 1]), "updates": (dtype, ["a", "b", "m", "l"])}
    made = [node("ScatterND", "data rows updates", "out", "put")]
    return model(made, io, {"out": (dtype, ["n", "m", "l"])}, opset=opset)


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("dtype", [F32, np.object_])
def test_calls_without_elements_stay_legal(opset: int, dtype: Any, tmp_path: Path) -> None:
    fix(put_by_batches(opset, dtype), tmp_path / "fixed.onnx")
    for shape in ((3, 2, 4), (3, 2, 0), (3, 0, 4), (3, 0, 0), (0, 2, 4)):
        for batch in ((1, 0), (0, 1), (0, 0), *(((2, 3),) if shape[0] and 0 in shape else ())):
            numbers = np.arange(math.prod(shape)).reshape(shape)
            data = numbers.astype(str).astype(dtype)
            rows, updates = np.zeros((*batch, 1), I64), np.zeros((*batch, *shape[1:]), dtype)
            inputs = {"data": data, "rows": rows, "updates": updates}
            for [result] in (
                run_ort(tmp_path / "fixed.onnx", inputs),
                gm.run(tmp_path / "fixed.onnx", inputs).values(),
            ):
                assert (result.shape, result.tolist()) == (shape, data.tolist())


def test_a_proof_tries_inputs_without_elements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixes.draft.ModelDraft, "reshape", lambda draft, *inputs: draft.node("Reshape", *inputs))
    with pytest.raises(ModelError, match="gives a result, the rewritten model raises"):
        fix(put_by_batches(13), tmp_path / "fixed.onnx")


@pytest.mark.parametrize("op_type", ["Gather", "ScatterND", "GatherND", "GatherElements"])
@pytest.mark.parametrize("inputs", ["x at", "x", ""])
def test_calls_that_make_no_sense_are_not_rewritten(op_type: str, inputs: str, tmp_path: Path) -> None:
    made = model([node(op_type, inputs, "out")], {"x": (F32, [4]), "at": (I64, [2])}, {"out": (F32, None)})
    with contextlib.suppress(ModelError):
        fix(made, tmp_path / "fixed.onnx")
    if op_type == "ScatterND":
        assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError):
        fix(made, tmp_path / "none" / "fixed.onnx")


def test_nothing_to_rewrite_is_said(tmp_path: Path) -> None:
    made = model([node("Gather", "data at", "out")], {"data": (F32, [4])}, {"out": (F32, [2])}, {"at": [3, 0]})
    fixed = fix(made, tmp_path / "fixed.onnx")
    assert (fixed.path, fixed.made, fixed.left) == (None, (), ())


def test_what_to_leave_is_left(tmp_path: Path) -> None:
    fixed = fix(scatter_nd("max"), tmp_path / "fixed.onnx", leave=["nan", "repeated"])
    assert [change.conditions for change in fixed.made] == [("negative",)]
    with pytest.raises(ValueError, match="no condition 'nam'"):
        fix(scatter_nd("max"), tmp_path / "fixed.onnx", leave=["nam"])


def test_large_tensors_beside_the_file_are_kept(tmp_path: Path) -> None:
    made = scatter_nd("add", rows=np.array([[3], [0], [3]]))
    onnx.save(made, tmp_path / "model.onnx", save_as_external_data=True, location="data.bin", size_threshold=0)
    (tmp_path / "other").mkdir()
    fix(tmp_path / "model.onnx", tmp_path / "other" / "fixed.onnx")
    inputs = {"data": np.zeros(4, F32), "updates": np.array([1, 2, 4], F32)}
    assert run_ort(tmp_path / "other" / "fixed.onnx", inputs)[0].tolist() == [2, 0, 0, 5]


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, str, np.ndarray, np.ndarray, np.ndarray, int]:
    """Return a scatter of any kind, or a gather (which does not use the updates), with valid indices."""
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))
    op_type = draw(st.sampled_from(["ScatterND", "ScatterElements", "GatherND", "GatherElements", "Gather"]))
    reduction = draw(st.sampled_from(["none", "add", "mul", "min", "max"]))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    data = generator.choice(np.array([0, 1, -2, 3.5, NAN, INF], F32), shape)
    axis = draw(st.integers(-rank, rank - 1))
    if op_type.endswith("ND"):
        k, count = draw(st.integers(0, rank)), draw(st.integers(1, 5))
        indices = (
            np.stack([generator.integers(-s, s, count) for s in shape[:k]], -1) if k else np.zeros((count, 0), I64)
        )
        update_shape = (count, *shape[k:])
    else:
        box = [draw(st.integers(1, size)) for size in shape]
        box[axis] = draw(st.integers(1, 6))
        indices = generator.integers(-shape[axis], shape[axis], box)
        update_shape = tuple(box)
    updates = generator.choice(np.array([0, 1, -2, 3.5, NAN, INF], F32), update_shape)
    return op_type, reduction, data, indices, updates, axis


@settings(max_examples=60, deadline=None)
@given(call=calls(), known=st.booleans(), constant=st.booleans())
def test_rewritten_models_give_what_the_specification_says(
    call: tuple[str, str, np.ndarray, np.ndarray, np.ndarray, int],
    known: bool,
    constant: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    op_type, reduction, data, indices, updates, axis = call
    attributes: dict[str, Any] = {} if op_type.endswith("ND") else {"axis": axis}
    arrays = {"data": data, "at": indices}
    if op_type.startswith("Scatter"):
        attributes["reduction"] = reduction
        arrays["updates"] = updates
    constants = {"at": indices} if constant else {}
    tuples = op_type.endswith("ND")
    declared = {
        name: (array.dtype, _declared(array.shape, known, keep_last=tuples and name == "at"))
        for name, array in arrays.items()
        if name not in constants
    }
    made = model([node(op_type, " ".join(arrays), "out", **attributes)], declared, {"out": (F32, None)}, constants)
    inputs = {name: array for name, array in arrays.items() if name not in constants}
    path = tmp_path_factory.mktemp("fixed") / "fixed.onnx"
    fixed = fix(made, path, inputs)
    row = f"onnx.{op_type}-{18 if op_type.startswith('Scatter') else 13}"
    expected = [np.asarray(oracle.call(row, *arrays.values(), **attributes))]
    if fixed.path is not None:
        assert same(run_ort(path, inputs), expected)
        assert same(ours(onnx.load(path), inputs), expected)


def _declared(shape: tuple[int, ...], known: bool, *, keep_last: bool) -> list[int | str]:
    """Return the shape, or open sizes. The length of index tuples determines ranks, so it is always known."""
    if known:
        return list(shape)
    dims: list[int | str] = [f"d{axis}_{size}" for axis, size in enumerate(shape)]
    return [*dims[:-1], shape[-1]] if keep_last else dims


# IR


def ir(tmp_path: Path, index: Any = np.int64) -> Path:
    writer = IRWriter("sums")
    data = writer.parameter("data", "f32", [4])
    at = writer.parameter("at", "i64", [None])
    new = writer.parameter("new", "f32", [None])
    done = writer.layer(
        "ScatterElementsUpdate",
        "opset12",
        [data, at, new, index(0)],
        name="put",
        attributes={"reduction": "max", "use_init_val": True},
    )
    writer.result("out", done)
    return writer.save(tmp_path / "model.xml")


def test_an_ir_is_examined(tmp_path: Path) -> None:
    path = ir(tmp_path)
    inputs = {"data": np.zeros(4, F32), "at": np.array([1, -1, 1]), "new": np.array([1, NAN, 3], F32)}
    report = only(path, inputs, "openvino")
    assert (report.site.name, report.site.row.name) == ("put", "openvino.ScatterElementsUpdate-12")
    assert report.facts == "3 indices, -1..1, 1 negative, 1 repeated, 1 NaN"
    assert [reason.finding.condition for reason in report.verdicts["openvino"].reasons] == ["nan"]
    assert not same(run_openvino(path, inputs), list(gm.run(path, inputs).values()))


def test_an_ir_is_not_for_onnx_runtime(tmp_path: Path) -> None:
    diagnosis = examine(ir(tmp_path), targets=["onnxruntime"])
    assert diagnosis.summary == ["onnxruntime: 1 of 1 not for this format"]
    assert "not for this format" in page(diagnosis)


@pytest.mark.parametrize("suffix", [".xml", ".onnx"])
def test_an_ir_is_rewritten(suffix: str, tmp_path: Path) -> None:
    path = ir(tmp_path)
    inputs = {"data": np.zeros(4, F32), "at": np.array([1, -1, 1]), "new": np.array([1, NAN, 3], F32)}
    fixed = fix(path, tmp_path / f"fixed{suffix}", inputs, targets=["openvino"])
    assert "NaN is put back" in texts(fixed)
    assert same(run_openvino(tmp_path / f"fixed{suffix}", inputs), list(gm.run(path, inputs).values()))


def test_an_ir_that_can_not_be_converted_is_left(tmp_path: Path) -> None:
    writer = IRWriter("beams")
    arrays = [writer.parameter(name, "i32", [2, 1, 2]) for name in ("steps", "parents")]
    lengths = writer.parameter("lengths", "i32", [1])
    writer.result("out", writer.layer("GatherTree", "opset1", [*arrays, lengths, np.int32(0)], name="tree"))
    path = writer.save(tmp_path / "beams.xml")
    assert [report.site.name for report in examine(path).nodes] == ["tree"]
    with pytest.raises(ModelError, match="fix the ONNX model that this IR was made from"):
        fix(path, tmp_path / "fixed.xml")


@pytest.mark.full
@pytest.mark.parametrize("suffix", [".xml", ".onnx"])
def test_an_ir_with_names_of_its_own_is_rewritten(suffix: str, tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    onnx.save(scatter_nd(), tmp_path / "model.onnx")
    openvino.save_model(openvino.convert_model(tmp_path / "model.onnx"), tmp_path / "model.xml", compress_to_fp16=False)
    fixed = fix(tmp_path / "model.xml", tmp_path / f"fixed{suffix}", run_on=None)
    by_ort = "bit-for-bit identical" if suffix == ".onnx" else "not run: it does not read IRs"
    assert fixed.on_targets == {"onnxruntime": by_ort, "openvino": "bit-for-bit identical"}


# Output


def test_all_of_it_is_json() -> None:
    inputs = {"data": np.zeros(4, F32), "rows": np.array([[1]]), "updates": np.array([NAN], F32)}
    data = json.loads(json.dumps(examine(scatter_nd("max"), inputs).data()))
    [found] = data["nodes"]
    assert found["inputs"][1] == {
        "role": "indices",
        "tensor": "rows",
        "type": "int64",
        "shape": [1, 1],
        "constant": False,
    }
    [reason] = found["verdicts"]["onnxruntime"]["reasons"]
    assert reason["condition"] == "nan"
    assert reason["evidence"].startswith("tested with onnxruntime")


def test_what_others_say_is_marked_as_such() -> None:
    elsewhere = [name for name in names() if name not in ("onnxruntime", "openvino", "onnx-reference")]
    for finding in catalog.load():
        if finding.runtime in elsewhere and finding.namespace == "onnx":
            assert finding.evidence == "thread"
            assert finding.url.startswith("https://")
    for name in elsewhere:
        made = model([node("Gather", "data at", "out")], {"data": (F32, [4])}, {"out": (F32, [2])}, {"at": [3, 0]})
        assert only(made, None, name).verdicts[name].status != "supported"


def test_the_command_shows_a_row_for_each_node_and_why(tmp_path: Path) -> None:
    made, inputs = racing("add")
    onnx.save(made, tmp_path / "model.onnx")
    np.savez(tmp_path / "inputs.npz", **inputs)
    out = succeed("doctor", tmp_path / "model.onnx", tmp_path / "inputs.npz", "--target", "onnxruntime")
    assert (
        "ScatterND-18 add   int32 (4,)   1000000 tuples, 0..3, 999996 repeated   may silently give a different result"
        in out
    )
    assert "tested with onnxruntime" in out
    assert "https://github.com/microsoft/onnxruntime/issues/18048" in out
    assert out.splitlines()[-1] == "onnxruntime: 1 of 1 may silently give a different result"


def test_the_command_writes_all_it_is_asked_for(tmp_path: Path) -> None:
    onnx.save(scatter_nd("max"), tmp_path / "model.onnx")
    files = {kind: tmp_path / f"out.{kind}" for kind in ("json", "html", "onnx")}
    arguments = [each for kind, path in files.items() for each in (f"--{kind}".replace("onnx", "fix"), path)]
    out = succeed("doctor", tmp_path / "model.onnx", *arguments, "--leave", "nan", "--target", "onnxruntime")
    assert "run by onnxruntime: bit-for-bit identical" in out
    content = json.loads(files["json"].read_text())
    assert [change["conditions"] for change in content["fix"]["made"]] == [["repeated"]]
    assert content["fix"]["proof"]["random"] > 0
    assert "ScatterND became ScatterElements" in files["html"].read_text()
    assert "ScatterElements" in [each.op_type for each in onnx.load(files["onnx"]).graph.node]


def test_inputs_can_be_made_up_and_failure_be_an_exit_code(tmp_path: Path) -> None:
    from tests.support.command_line import call

    onnx.save(scatter_nd("max", F16), tmp_path / "model.onnx")
    arguments = ("doctor", tmp_path / "model.onnx", "--random-inputs", "--dim", "n=4", "--dim", "u=2")
    assert "2 tuples, 0, 1 repeated" in succeed(*arguments)
    assert call(*arguments, "--fail-on", "refused", "--target", "onnxruntime").exit_code == 1
    assert call(*arguments, "--fail-on", "refused", "--target", "openvino").exit_code == 0


def test_wrong_calls_of_the_command_say_why(tmp_path: Path) -> None:
    onnx.save(scatter_nd(), tmp_path / "model.onnx")
    (tmp_path / "text.onnx").write_text("no model")
    assert "not an ONNX model" in fail("doctor", tmp_path / "text.onnx")
    assert "there is no target 'abacus'; there are onnxruntime, openvino" in fail(
        "doctor", tmp_path / "model.onnx", "--target", "abacus"
    )
    assert "written as .onnx" in fail("doctor", tmp_path / "model.onnx", "--fix", tmp_path / "fixed.xml")


def test_files_into_no_folder_are_an_error_before_the_work(tmp_path: Path) -> None:
    onnx.save(scatter_nd(), tmp_path / "model.onnx")
    for option in ("--json", "--html", "--fix"):
        assert "there is no folder" in fail("doctor", tmp_path / "model.onnx", option, tmp_path / "none" / "out.onnx")
    assert "--leave is for --fix" in fail("doctor", tmp_path / "model.onnx", "--leave", "nan")


def test_what_the_text_leaves_open_is_no_failure(tmp_path: Path) -> None:
    onnx.save(scatter_nd("max"), tmp_path / "model.onnx")
    np.savez(tmp_path / "in.npz", data=np.zeros(2, F32), rows=np.array([[1]]), updates=np.array([NAN], F32))
    arguments = (
        "doctor",
        tmp_path / "model.onnx",
        tmp_path / "in.npz",
        "--target",
        "onnxruntime",
        "--fail-on",
        "different",
    )
    assert "left open by the specification" in succeed(*arguments, "--html", tmp_path / "out.html")
    assert "left open by the specification" in (tmp_path / "out.html").read_text()


def test_names_in_a_page_are_text() -> None:
    made = model(
        [node("Gather", "x at", "out", "<script>alert(1)</script>")],
        {"x": (F32, [4])},
        {"out": (F32, [1])},
        {"at": [3]},
    )
    text = page(examine(made))
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "http:" not in text  # nothing is imported
    assert "https:" not in text


def test_a_page_links_what_others_say() -> None:
    made = scatter_nd("max")
    text = page(examine(made, targets=["tensorrt"]))
    assert '<a href="https://github.com/' in text
    assert "from a public thread, not tested" in text
