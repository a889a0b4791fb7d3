"""Runs of the conformance lab: it distinguishes all kinds of misbehaviour, and its scripts reproduce every report."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from gatherscatter.cli.choices import LEVELS
from gatherscatter_conformance import corpus, runtimes
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.changes import VerdictChange, find_changes
from gatherscatter_conformance.commands.conform import LEAST_SEVERE
from gatherscatter_conformance.observations import Crashed, Hung, Observation, Refused, Returned, Runs
from gatherscatter_conformance.process import StartError, Worker
from gatherscatter_conformance.report import ConformReport, merge_reports
from gatherscatter_conformance.report_files import LETTERS, read_json, summarize, write_json
from gatherscatter_conformance.run import Examiner, conform
from gatherscatter_conformance.runtimes.literals import literal, modules_for
from gatherscatter_conformance.unspecified import REASONS
from gatherscatter_conformance.verdicts import SEVERITY, VERDICTS, Judgement, judge
from tests.support.command_line import call, fail, succeed

PLAIN, NEGATIVE, FAR = (
    Case(
        id=f"test/{kind}", op="onnx.ScatterND-18", type="int64", reduction="none", kind=kind,
        inputs=(np.arange(4), np.array([[index]]), np.array([2**40 + 1])), attributes={}, expected=expected,
        error=None if expected else "IndexError", rules=(), latitude="", relation="exact",
    )
    for kind, index, expected in (
        ("plain", 1, (np.array([0, 2**40 + 1, 2, 3]),)),
        ("negative", -4, (np.array([2**40 + 1, 1, 2, 3]),)),
        ("out of range", 4, None),
    )
)  # fmt: skip
SUPPORT = Path(__file__).parent / "support"
READ = replace(FAR, id="test/read", op="onnx.GatherElements-13", inputs=(np.arange(4.0), np.arange(8)), type="float64")


@pytest.fixture(autouse=True)
def _misbehaving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the runtimes of misbehaving.py available to workers and to the tests."""
    monkeypatch.syspath_prepend(SUPPORT)
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT), prepend=os.pathsep)


def verdicts(name: str, *cases: Case, timeout: float = 20.0) -> dict[str, Judgement]:
    return conform([f"misbehaving:{name}"], cases, timeout=timeout).results[f"misbehaving:{name}"]


# ------------------------------------------------------------------------------------------------- misbehaviour


def test_a_crash_is_blamed_on_its_case() -> None:
    found = verdicts("Segfault", PLAIN, NEGATIVE, FAR)
    assert found[NEGATIVE.id] == Judgement("crashes", message="SIGSEGV")
    assert found[PLAIN.id].verdict == found[FAR.id].verdict == "pass"


def test_the_end_of_a_process_comes_with_its_last_words() -> None:
    assert verdicts("Exit", NEGATIVE)[NEGATIVE.id] == Judgement("crashes", message="exit code 3 (the last words)")


def test_a_hang_ends_at_the_limit() -> None:
    found = verdicts("Hang", PLAIN, NEGATIVE, FAR, timeout=1)
    assert found[NEGATIVE.id] == Judgement("hangs", message="no answer within 1 s")
    assert found[PLAIN.id].verdict == found[FAR.id].verdict == "pass"


def test_a_hang_is_waited_for_in_full_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    def ask(worker: Worker, case: Case, times: int, timeout: float) -> tuple[Observation, ...]:
        limits.append(timeout)
        return (Hung(timeout),)

    monkeypatch.setattr(Worker, "ask", ask)
    with Examiner("gatherscatter", 10.0) as examiner:
        assert list(examiner.examine(PLAIN)) == [(PLAIN, Judgement("hangs", message="no answer within 10 s"))]
    assert limits == [10.0, 2.0]


def test_a_crash_is_blamed_on_the_case_that_broke_the_worker() -> None:
    """The process ends in a harmless call if an earlier bad one was accepted."""
    later = replace(FAR, id="test/z", kind="axis", inputs=(np.arange(4), np.array([[9]]), np.array([1])))
    again = replace(later, id="test/zz")
    found = verdicts("LateCrash", PLAIN, FAR, later, again)
    assert {id: one.verdict for id, one in found.items()} == {
        PLAIN.id: "pass", FAR.id: "crashes", later.id: "pass", again.id: "pass",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("runtime", "case", "message"),
    [
        ("Uninitialised", PLAIN, "holds bytes 0x"),
        ("Uninitialised", replace(PLAIN, id="bytes", type="bool", inputs=(np.zeros(99, bool), PLAIN.inputs[1],
          np.ones(1, bool)), expected=(np.arange(99) == 1,)), "depends on the bytes with which unused memory"),
        ("ReadsBeside", READ, "holds bytes 0x"),
        ("WritesBeside", PLAIN, "memory next to an input was written to"),
        ("ChangesInput", PLAIN, "an input was changed"),
    ],
)  # fmt: skip
def test_foreign_memory(runtime: str, case: Case, message: str) -> None:
    found = verdicts(runtime, case)[case.id]
    assert found.verdict == "out-of-bounds memory"
    assert message in found.message


def test_a_result_that_changes() -> None:
    found = verdicts("Racy", PLAIN)[PLAIN.id]
    assert found.verdict == "nondeterministic"
    assert re.fullmatch(r"\d different results in 4 runs", found.message)


def test_what_a_runtime_prints_is_no_answer() -> None:
    assert {one.verdict for one in verdicts("Noisy", PLAIN, NEGATIVE).values()} == {"pass"}


def test_narrowed_accepted_refused() -> None:
    assert verdicts("Narrow", PLAIN)[PLAIN.id].verdict == "narrowed"
    assert verdicts("Lenient", FAR)[FAR.id].verdict == "accepts"
    refused = verdicts("Strict", PLAIN, FAR)
    assert refused[PLAIN.id] == Judgement("refuses", message="RuntimeError: not today")
    assert refused[FAR.id].verdict == "pass"


def test_a_runtime_that_cannot_be_loaded() -> None:
    with pytest.raises(StartError, match="No module named 'there_is_no_such_module'"):
        conform(["misbehaving:Broken"], [PLAIN])


def test_a_worker_outlives_nothing() -> None:
    worker = Worker("gatherscatter", 0xA5)
    assert worker.close() == ""
    with Examiner("gatherscatter", 10.0) as examiner:
        assert [judgement.verdict for _, judgement in examiner.examine(PLAIN)] == ["pass"]
        running = list(examiner._workers.values())
    assert running
    assert not any(worker.alive for worker in running)


# ---------------------------------------------------------------------------------------------------- judgement


def returned(*values: list[int]) -> Runs:
    return Runs(0xA5, tuple(Returned((np.array(value),)) for value in values))


RIGHT, WRONG, OTHER = [0, 2**40 + 1, 2, 3], [0, 5, 2, 3], [0, 6, 2, 3]


@pytest.mark.parametrize(
    ("changes", "runs", "verdict"),
    [
        ({}, [returned(RIGHT)], "pass"),
        ({}, [returned(WRONG)], "differs"),
        ({"latitude": "open"}, [returned(WRONG)], "allowed"),
        ({"latitude": "open"}, [returned(WRONG, RIGHT)], "allowed"),
        ({}, [returned(WRONG, RIGHT)], "nondeterministic"),
        ({}, [returned(RIGHT), returned(RIGHT, RIGHT, OTHER)], "nondeterministic"),
        ({}, [returned(WRONG, WRONG), returned(OTHER, OTHER)], "out-of-bounds memory"),
        ({"latitude": "open"}, [returned(WRONG, WRONG), returned(OTHER, OTHER)], "out-of-bounds memory"),
        ({}, [Runs(0xA5, (Refused("E", "no"),))], "refuses"),
        ({"latitude": REASONS["negative"]}, [Runs(0xA5, (Refused("E", "no"),))], "allowed"),
        ({"latitude": REASONS["halves"]}, [Runs(0xA5, (Refused("E", "no"),))], "refuses"),
        ({}, [Runs(0xA5, (*returned(RIGHT).seen, Refused("E", "no")))], "nondeterministic"),
        ({"latitude": "open"}, [Runs(0xA5, (Crashed("SIGSEGV"),))], "crashes"),
        ({"expected": None, "error": "IndexError"}, [Runs(0xA5, (Refused("E", "no"),))], "pass"),
        ({"expected": None, "error": "IndexError"}, [returned(WRONG)], "accepts"),
        ({"expected": None, "error": "IndexError", "latitude": "open"}, [returned(WRONG)], "allowed"),
        ({"expected": None, "error": "IndexError"}, [returned(WRONG, OTHER)], "out-of-bounds memory"),
    ],
)
def test_judge(changes: dict, runs: list[Runs], verdict: str) -> None:
    assert judge(replace(PLAIN, **changes), runs).verdict == verdict


@pytest.mark.parametrize(
    ("inputs", "expected", "got", "words"),
    [
        (PLAIN.inputs, RIGHT, np.array([0, 1, 2, 3]), "data in 32 bits (cut off)"),
        (PLAIN.inputs, RIGHT, np.array([0, 2**31 - 1, 2, 3]), "data in 32 bits (at the limit)"),
        (PLAIN.inputs, RIGHT, np.array([0, 1, 2, 3], np.int32), "a result of int32"),
        ((np.arange(4), np.array([[2**32 + 1]]), np.array([9])), None, np.array([0, 9, 2, 3]), "indices in 32 bits"),
    ],
)
def test_narrowed(inputs: tuple, expected: list | None, got: np.ndarray, words: str) -> None:
    case = replace(FAR if expected is None else PLAIN, inputs=inputs, expected=expected and (np.array(expected),))
    found = judge(case, [Runs(0xA5, (Returned((got,)),))])
    assert found.verdict == "narrowed"
    assert words in found.message


def test_a_float64_that_was_rounded_is_narrowed() -> None:
    data, updates = np.zeros(2), np.array([0.1])
    case = replace(PLAIN, type="float64", inputs=(data, np.array([[1]]), updates), expected=(np.array([0, 0.1]),))
    rounded = np.array([0, 0.1], np.float32).astype(np.float64)
    assert judge(case, [Runs(0xA5, (Returned((rounded,)),))]).verdict == "narrowed"
    assert judge(case, [Runs(0xA5, (Returned((rounded + 1,)),))]).verdict == "differs"


def test_a_float64_that_float32_cannot_hold_may_end_at_the_limit() -> None:
    case = replace(PLAIN, type="float64", inputs=(np.zeros(2), np.array([[1]]), np.array([np.inf])))
    case = replace(case, expected=(np.array([0, np.inf]),))
    limit = float(np.finfo(np.float32).max)
    found = judge(case, [Runs(0xA5, (Returned((np.array([0, limit]),)),))])
    assert found == Judgement("narrowed", found.got, "the result for data in 32 bits (at the limit)")


def test_a_tiny_float64_that_is_flushed_to_zero_is_not_called_narrowed() -> None:
    case = replace(PLAIN, type="float64", inputs=(np.zeros(2), np.array([[1]]), np.array([5e-324])))
    case = replace(case, expected=(np.array([0, 5e-324]),))
    assert judge(case, [Runs(0xA5, (Returned((np.zeros(2),)),))]).verdict == "differs"


def test_an_unsigned_index_is_narrowed_to_a_signed_one() -> None:
    inputs = (np.arange(4.0), np.array([2**64 - 1], np.uint64), np.array(0))
    case = replace(PLAIN, op="openvino.Gather-8", type="float64", inputs=inputs, expected=(np.array([0.0]),))
    found = judge(case, [Runs(0xA5, (Returned((np.array([3.0]),)),))])
    assert found == Judgement("narrowed", found.got, "the result for indices in 32 bits (cut off)")


def test_a_mean_whose_sum_leaves_64_bits_is_not_called_narrowed() -> None:
    largest = np.full(1, 2**63 - 1)
    case = replace(
        PLAIN, op="openvino.ScatterElementsUpdate-12", reduction="mean", attributes={"reduction": "mean"},
        inputs=(largest, np.array([0]), largest, np.array(0)), expected=(largest,),
    )  # fmt: skip
    assert judge(case, [returned([-1])]).verdict == "differs"


def test_a_gather_that_changes_has_read_foreign_memory() -> None:
    inputs = (np.arange(4), np.array([9]), np.array(0))
    case = replace(PLAIN, op="openvino.Gather-8", inputs=inputs, expected=(np.array([0]),))
    found = judge(case, [returned([5], [6])])
    assert (found.verdict, found.message) == (
        "out-of-bounds memory",
        "2 different results in 2 runs, although threads can't race",
    )


def test_only_the_sign_of_a_zero() -> None:
    case = replace(PLAIN, type="float32", inputs=(np.zeros(1, np.float32),), expected=(np.array([-0.0], np.float32),))
    found = judge(case, [Runs(0xA5, (Returned((np.array([0.0], np.float32),)),))])
    assert (found.verdict, found.message) == ("differs", "the sign of a zero differs")


# ------------------------------------------------------------------------------------------------------ scripts


@pytest.mark.parametrize(
    "array",
    [
        np.array([[0.1, np.nan], [-np.inf, -0.0]], np.float32),
        np.array([1e-45, 3.4028235e38, 1 / 3], np.float32),
        np.array([2048.5, 6e-8], np.float16),
        np.array([1 / 3, 256.0], ml_dtypes.bfloat16),
        np.array([complex(np.nan, np.inf), 1j], np.complex64),
        np.array([-8, 7], ml_dtypes.int4),
        np.array([0.5, 448], ml_dtypes.float8_e4m3fn),
        np.array(2**64 - 1, np.uint64),
        np.array([["a", "é\n"], ['"', ""]], object),
        np.array([True, False]),
        np.zeros((2, 0, 3), np.int8),
        np.arange(1000).reshape(10, 100) % 7,
        np.random.default_rng(0).integers(0, 2**60, (30, 30)),
        np.random.default_rng(0).normal(size=900).astype(ml_dtypes.bfloat16),
    ],
    ids=lambda array: f"{array.dtype}-{array.shape}",
)
def test_literals(array: np.ndarray) -> None:
    names = {"np": np} | {name: __import__(name) for name in modules_for([array])}
    again = eval(literal(array), names)
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    if array.dtype == object:
        assert again.tolist() == array.tolist()
    else:
        assert again.tobytes() == array.tobytes() or np.isnan(array).any()
        assert literal(again) == literal(array)


def departures(name: str, pattern: str, **filters: str) -> tuple[ConformReport, list[Case]]:
    """Return a report of some cases, and one case for each verdict in it."""
    report = conform([name], corpus.cases(pattern, **filters)[::11][:40])
    first: dict[str, Case] = {}
    for id, judgement in report.results[name].items():
        first.setdefault(judgement.verdict, report.cases[id])
    return report, list(first.values())


def run_script(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "reproducer.py"
    file.write_text(text, encoding="utf-8")
    return subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=120, check=False)


def shows(judgement: Judgement, ran: subprocess.CompletedProcess[str]) -> bool:
    """Check that the output of a script agrees with the report."""
    if judgement.verdict == "crashes":
        return judgement.message.startswith(signal.Signals(-ran.returncode).name) if ran.returncode < 0 else False
    if judgement.got is None:
        words = judgement.message.partition(": ")[2]
        return ran.returncode != 0 and " ".join(words.split()[:4]) in " ".join(ran.stderr.split())
    got = judgement.got[0]
    return f"got {got.dtype} {got.shape} {got.tolist()}" in ran.stdout.splitlines()


SCRIPTS = [
    ("gatherscatter", "*"),
    ("gatherscatter-model", "*"),
    ("onnxruntime", "onnx/*"),
    ("onnx-reference", "onnx/*"),
    ("openvino", "openvino/S*"),
    ("openvino-onnx", "onnx/*"),
    ("numpy", "onnx/*"),
    ("pytorch", "onnx/*"),
    ("jax", "onnx/*"),
    ("jax-x64", "onnx/*"),
    ("tensorflow", "onnx/*"),
    ("tract", "onnx/*"),
    ("onnx2torch", "onnx/*"),
]


@pytest.mark.full
@pytest.mark.parametrize(("name", "pattern"), SCRIPTS, ids=[name for name, _ in SCRIPTS])
def test_scripts_show_what_the_report_says(name: str, pattern: str, tmp_path: Path) -> None:
    runtime = runtimes.find(name)
    for module in runtime.missing():
        pytest.importorskip(module)
    report, chosen = departures(name, pattern)
    checked = 0
    for case in chosen:
        judgement = report.results[name][case.id]
        if judgement.verdict in ("out-of-bounds memory", "nondeterministic", "not asked"):
            continue  # the contents of memory differ between runs
        text = runtime.script(case)
        ran = run_script(text, tmp_path)
        assert shows(judgement, ran), (judgement, text, ran.stdout, ran.stderr)
        checked += 1
    assert checked


@pytest.mark.parametrize("name", runtimes.NAMES)
def test_scripts_are_short_and_compile(name: str) -> None:
    runtime = runtimes.find(name)
    lengths = []
    for case in corpus.cases()[::97]:
        if runtime.supports(case) is None:
            text = runtime.script(case)
            compile(text, name, "exec")
            lengths.append(len(text.splitlines()))
    assert lengths
    assert max(lengths) <= 30


# ----------------------------------------------------------------------------------------------- real runtimes


def tally(name: str, pattern: str, **filters: str) -> Counter[str]:
    report = conform([name], corpus.cases(pattern, **filters))
    return Counter(judgement.verdict for judgement in report.results[name].values())


def test_ours_passes() -> None:
    assert set(tally("gatherscatter", "*")) == {"pass"}


def test_our_models_pass() -> None:
    pytest.importorskip("onnx")
    assert set(tally("gatherscatter-model", "*/GatherND-1?/*")) == {"pass"}
    assert set(tally("gatherscatter-model", "*/ScatterNDUpdate-15/int*")) <= {"pass", "not asked"}
    assert set(tally("gatherscatter-model", "*/EmbeddingBagOffsets-15/float32/*")) == {"pass"}  # some have no default


def test_onnxruntime_takes_the_reductions_of_later_versions() -> None:
    """Ruling O17: a reduction that the version does not have is silently accepted."""
    pytest.importorskip("onnxruntime")
    report = conform(["onnxruntime"], corpus.cases("onnx/ScatterND-16/*", kind="attribute"))
    assert "accepts" in {judgement.verdict for judgement in report.results["onnxruntime"].values()}


def test_onnxruntime_takes_bfloat16_as_bits() -> None:
    pytest.importorskip("onnxruntime")
    assert "pass" in tally("onnxruntime", "onnx/Gather-13/bfloat16/*")


def test_openvino_narrows() -> None:
    """OpenVINO narrows indices (ruling V18)."""
    pytest.importorskip("openvino")
    assert "narrowed" in tally("openvino", "openvino/GatherElements-6/*", kind="wide values")


def test_recipes_are_not_asked_for_types() -> None:
    report = conform(["numpy"], corpus.cases("onnx/Gather-13/*", kind="type"))
    assert {judgement.verdict for judgement in report.results["numpy"].values()} == {"not asked"}


# ------------------------------------------------------------------------------------------ report, command line

TOP = {
    "format": int, "corpus": str, "created": str, "complete": bool, "machine": str, "python": str, "gatherscatter": str,
    "verdicts": list, "kinds": dict, "rules": dict, "runtimes": list, "cases": list, "results": dict,
}  # fmt: skip
CASE = {
    "id": str, "op": str, "type": str, "reduction": str, "kind": str, "rules": list, "latitude": str,
    "inputs": list, "attributes": dict, "expected": list | None, "error": str | None,
}  # fmt: skip
RESULT = {"verdict": str, "got": list | None, "message": str}


def check(value: dict, form: dict) -> None:
    assert set(value) == set(form)
    for key, kind in form.items():
        assert isinstance(value[key], kind), (key, value[key])


def check_array(array: dict, *names: str) -> None:
    check(array, dict.fromkeys(names, str) | {"type": str, "shape": list, "text": str})
    assert all(isinstance(size, int) for size in array["shape"])


def test_the_json_has_the_documented_form(tmp_path: Path) -> None:
    cases = [*corpus.cases("*/float32/*", kind="negative")[::9], *corpus.cases("*", kind="out of range")[::40]]
    write_json(conform(["numpy", "gatherscatter"], cases).to_dict(), tmp_path / "report.json")
    report = read_json(tmp_path / "report.json")
    check(report, TOP)
    assert [verdict["severity"] for verdict in report["verdicts"]] == list(range(1, len(VERDICTS) + 1))
    for runtime in report["runtimes"]:
        check(runtime, dict.fromkeys(("name", "title", "package", "version"), str) | {"seconds": float, "recipe": bool})
    for case in report["cases"]:
        check(case, CASE)
        assert set(case["rules"]) <= set(report["rules"])
        assert case["kind"] in report["kinds"]
        assert (case["expected"] is None) == (case["error"] is not None)
        for array in filter(None, case["inputs"]):
            check_array(array, "name")
        for array in case["expected"] or ():
            check_array(array, "name")
    for results in report["results"].values():
        assert set(results) == {case["id"] for case in report["cases"]}
        for result in results.values():
            needs_script = result["verdict"] not in ("pass", "not asked")
            check(result, RESULT | ({"script": str} if needs_script else {}))
            assert result["verdict"] in SEVERITY
            for array in result["got"] or ():
                check_array(array)


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    options = ("conform", "--runtime", "numpy", "--op", "onnx.GatherElements", "--kind", "box", "--type", "float32")
    printed = succeed(*options, "--json", file)
    assert re.search(r"^op version +numpy$", printed, re.MULTILINE)
    assert re.search(r"^onnx.GatherElements-13 +\w+ \d+$", printed, re.MULTILINE)
    assert "NumPy recipes" in printed
    report = read_json(file)
    assert {case["op"] for case in report["cases"]} == {"onnx.GatherElements-11", "onnx.GatherElements-13"}
    ours = tmp_path / "ours.json"
    succeed("conform", "--runtime", "gatherscatter", *options[3:], "--json", ours)
    succeed("conform", "--from", file, "--json", tmp_path / "both.json")
    both = succeed("conform", "--from", file, "--from", ours, "--json", tmp_path / "both.json", "--overwrite")
    assert re.search(r"^op version +numpy +gatherscatter$", both, re.MULTILINE)
    assert [info["name"] for info in read_json(tmp_path / "both.json")["runtimes"]] == ["numpy", "gatherscatter"]


def test_two_runtimes_at_a_time() -> None:
    cases = corpus.cases("onnx/Gather-13/int64/*")
    report = conform(["numpy", "gatherscatter"], cases, jobs=2)
    assert {name: len(results) for name, results in report.results.items()} == dict.fromkeys(
        report.runtimes, len(cases)
    )


def test_reports_are_merged() -> None:
    cases = corpus.cases("onnx/Gather-13/int64/*")
    here, there = (conform([name], cases).to_dict() for name in ("gatherscatter", "numpy"))
    both = merge_reports(here, there)
    assert [info["name"] for info in both["runtimes"]] == ["gatherscatter", "numpy"]
    assert both["results"] == here["results"] | there["results"]
    assert both["cases"] == here["cases"]
    assert both["complete"]
    assert not merge_reports(here, there | {"complete": False})["complete"]
    with pytest.raises(ValueError, match="corpus"):
        merge_reports(here, there | {"corpus": "0.9"})


def test_reports_of_one_runtime_are_merged_by_case() -> None:
    some, others = corpus.cases("onnx/Gather-13/int64/*"), corpus.cases("onnx/Gather-13/int32/*")
    one, two = (conform(["numpy"], cases).to_dict() for cases in (some, others))
    both = merge_reports(one, two)
    assert both["results"]["numpy"] == two["results"]["numpy"] | one["results"]["numpy"]
    assert {case["id"] for case in both["cases"]} == {case.id for case in (*some, *others)}
    assert [info["name"] for info in both["runtimes"]] == ["numpy"]
    older = two | {"runtimes": [two["runtimes"][0] | {"version": "1.0"}]}
    with pytest.raises(ValueError, match=r"are about numpy .* and 1\.0; join reports of one release"):
        merge_reports(one, older)


def test_a_run_goes_on(tmp_path: Path) -> None:
    """Results in the file are kept, even if a run would give others. Only missing results are computed."""
    file = tmp_path / "report.json"
    options = ("conform", "--runtime", "numpy", "--op", "onnx.Gather-13", "--type", "int64")
    succeed(*options, "--json", file)
    whole = read_json(file)
    results = whole["results"]["numpy"]
    first, *rest = results
    assert results[first]["verdict"] == "pass"
    kept = {first: results[first] | {"verdict": "differs"}}
    write_json(whole | {"complete": False, "results": {"numpy": kept}}, file)
    printed = succeed("conform", "--resume", file)
    assert "1 differs" in printed
    assert "Incomplete" not in printed
    again = read_json(file)
    assert again["complete"]
    assert again["results"]["numpy"].keys() == results.keys()
    assert again["results"]["numpy"][first]["verdict"] == "differs"
    assert all(again["results"]["numpy"][id]["verdict"] == results[id]["verdict"] for id in rest)
    old = whole["runtimes"][0] | {"version": "1.0"}
    write_json(whole | {"results": {"numpy": kept}, "runtimes": [old]}, file)
    assert "differs" not in succeed("conform", "--resume", file)  # another release: all cases run again
    assert "omit --runtime" in fail("conform", "--resume", file, "--runtime", "numpy")
    write_json(summarize(whole), file)
    before = file.read_bytes()
    assert "this is a summary of a report" in fail("conform", "--resume", file)
    assert file.read_bytes() == before


def test_a_summary_has_all_verdicts(tmp_path: Path) -> None:
    report = conform(["numpy", "gatherscatter"], corpus.cases("onnx/*ND-13/int64/*")).to_dict()
    file = tmp_path / "summary.json"
    write_json(summarize(report), file)
    read = read_json(file)
    for name, results in report["results"].items():
        assert {id: one["verdict"] for id, one in read["results"][name].items()} == {
            id: one["verdict"] for id, one in results.items()
        }
    assert {case["id"] for case in read["cases"]} == {case["id"] for case in report["cases"]}
    assert read["runtimes"] == report["runtimes"]
    assert summarize(read) == summarize(report)
    assert find_changes(report, read) == []
    other = json.loads(file.read_text()) | {"corpus": "0.9"}
    file.write_text(json.dumps(other))
    with pytest.raises(ValueError, match=r"is about corpus 0\.9"):
        read_json(file)


def test_every_verdict_has_a_letter() -> None:
    assert LETTERS.keys() == SEVERITY.keys()
    assert len(set(LETTERS.values())) == len(LETTERS)


def test_what_changed(tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    report = conform(["numpy", "gatherscatter"], corpus.cases("onnx/Gather-13/float32/none/axis/*")).to_dict()
    first, second, third, *_ = report["results"]["numpy"]
    numpy = report["results"]["numpy"] | {
        first: {"verdict": "nondeterministic", "got": None, "message": "", "script": ""},
        second: {"verdict": "differs", "got": None, "message": "", "script": ""},
        third: {"verdict": "differs", "got": None, "message": "", "script": ""},
    }
    write_json(report, old)
    write_json(report | {"results": report["results"] | {"numpy": numpy}}, new)
    release = np.__version__
    total = len(numpy)
    printed = succeed("conform", "--from", new, "--against", old)
    assert printed.endswith(
        f"Changes since the report of {report['created']}:\n"
        f"numpy {release}: 3 of {total} cases changed\n"
        f"  pass -> nondeterministic: onnx.Gather-13, axis: {first} (may vary)\n"
        f"  pass -> differs: onnx.Gather-13, axis: {second} and 1 more "
        "(same release: was the processor or gatherscatter different?)\n"
        f"gatherscatter {report['gatherscatter']}: 0 of {total} cases changed\n"
    )
    part = {"results": {"numpy": {first: numpy[first]}}, "runtimes": report["runtimes"][:1]}
    write_json(report | part, old.with_name("part.json"))
    printed = succeed("conform", "--from", old.with_name("part.json"), "--against", old)
    assert f"numpy {release}: 1 of 1 cases changed\n" in printed  # cases that did not run now are not changes
    alone = [info for info in report["runtimes"] if info["name"] == "gatherscatter"]
    ours = report | {"runtimes": alone, "results": {"gatherscatter": report["results"]["gatherscatter"]}}
    write_json(ours, old)
    assert "numpy: not in the earlier report" in succeed("conform", "--from", new, "--against", old)
    older = [report["runtimes"][0] | {"version": "1.0"}, *alone]
    write_json(report | {"runtimes": older}, old)
    printed = succeed("conform", "--from", new, "--against", old)
    assert f"numpy 1.0 -> {release}: 3 of {total} cases changed\n  pass -> nondeterministic" in printed
    assert "may vary" not in printed


@pytest.mark.parametrize(
    ("before", "after", "varies"),
    [
        ("pass", "nondeterministic", True),
        ("out-of-bounds memory", "differs", True),
        ("pass", "allowed", True),  # it is undefined which of several writes is kept
        ("crashes", "accepts", True),  # a write out of bounds may have no effect
        ("crashes", "pass", False),
        ("allowed", "differs", False),
        ("pass", "differs", False),
        ("hangs", "not asked", False),
    ],
)
def test_what_may_vary(before: str, after: str, varies: bool) -> None:
    assert VerdictChange("numpy", "id", before, after).may_vary is varies
    assert VerdictChange("numpy", "id", after, before).may_vary is varies


@pytest.mark.parametrize(
    "damage",
    [
        {"runtimes": [{"name": "numpy"}]},
        {"runtimes": [{"name": "nil"}]},
        {"cases": [{}]},
        {"results": {"numpy": {"nil": {"verdict": "pass"}}}},
        {"results": {"numpy": {"onnx/x": {"verdict": "?"}}}},
        {"results": {"numpy": {"onnx/x": {}}}},
        {"results": {}},
    ],
)
def test_a_damaged_report_is_refused(damage: dict, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    report = conform(["numpy"], corpus.cases("onnx/Gather-13/int64/none/plain/*")).to_dict()
    report["cases"].append(report["cases"][0] | {"id": "onnx/x"})
    write_json(report, file)
    assert read_json(file)["cases"]
    write_json(report | damage, file)
    with pytest.raises(ValueError, match="this conformance report is damaged"):
        read_json(file)


def test_each_departure_has_a_level_of_fail_on() -> None:
    limits = [SEVERITY[LEAST_SEVERE[level]] for level in LEVELS]
    assert limits == sorted(limits)
    assert limits[-1] == SEVERITY["allowed"] - 1


def test_the_exit_code_tells(tmp_path: Path) -> None:
    options = ("conform", "--runtime", "numpy", "--op", "onnx.GatherElements", "--kind", "box")
    assert call(*options).exit_code == 0
    assert call(*options, "--fail-on", "refused").exit_code == 1
    assert call(*options, "--fail-on", "memory", "--json", tmp_path / "numpy.json").exit_code == 0
    assert call("conform", "--from", tmp_path / "numpy.json", "--fail-on", "refused").exit_code == 1


def test_a_variant_of_a_package_has_a_version() -> None:
    class Variant(runtimes.Runtime):
        package, modules = "numpy-cpu", ("numpy",)

    assert Variant().version() == np.__version__


def test_the_runtimes_are_listed() -> None:
    printed = succeed("conform", "--list-runtimes")
    assert all(re.search(rf"^{name} ", printed, re.MULTILINE) for name in runtimes.NAMES)


def test_messages() -> None:
    assert "there is no runtime 'nil'; there are gatherscatter," in fail("conform", "--runtime", "nil")
    assert "there is no kind 'nil'" in fail("conform", "--runtime", "numpy", "--kind", "nil")
    if runtimes.find("tract").missing():
        assert "runtime tract needs tract: pip install tract" in fail("conform", "--runtime", "tract")
        assert re.search(r"^tract .* none: pip install tract", succeed("conform", "--list-runtimes"), re.MULTILINE)


@pytest.fixture
def _nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*args: object, **options: object) -> None:
        raise AssertionError("what is wrong was known before the run")

    monkeypatch.setattr("gatherscatter_conformance.run.conform", run)
    monkeypatch.setattr("gatherscatter_conformance.commands.conform_search.search_all", run)


@pytest.mark.usefixtures("_nothing_is_run")
@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_file_without_a_folder_is_refused_before_the_run(option: str, tmp_path: Path) -> None:
    said = fail("conform", "--runtime", "numpy", option, tmp_path / "nil" / "report")
    assert f"Invalid value for '{option}': there is no folder {tmp_path / 'nil'}" in said
    assert "is a folder" in fail("conform", "--runtime", "numpy", option, tmp_path)


@pytest.mark.usefixtures("_nothing_is_run")
def test_a_report_that_cannot_be_read_is_refused_before_the_run(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    good = ConformReport().to_dict()
    lacking = {key: value for key, value in good.items() if key != "results"}
    for text, said in (
        ("no report", "this is not a conformance report, because it is not JSON"),
        ("[]", "this is not a conformance report of format 1"),
        (json.dumps(lacking), "this conformance report lacks results"),
        (
            json.dumps(good | {"corpus": "0.9"}),
            f"is about corpus 0.9, and the corpus here is {corpus.VERSION}; run conform",
        ),
    ):
        file.write_text(text)
        for option in ("--from", "--against", "--resume"):
            printed = fail("conform", option, file)
            assert re.search(rf"{option}: {re.escape(str(file))}.*{re.escape(said)}", printed), text
    file.write_bytes(b"\xff\xfe")
    assert "because it is not JSON" in fail("conform", "--from", file)


@pytest.mark.usefixtures("_nothing_is_run")
@pytest.mark.parametrize("option", ["--search", "--timeout"])
@pytest.mark.parametrize("value", ["nan", "inf", "0", "-1"])
def test_a_time_is_a_positive_number(option: str, value: str) -> None:
    assert f"Invalid value for '{option}'" in fail("conform", "--runtime", "numpy", option, value)


def test_a_report_of_before_the_key_is_complete(tmp_path: Path) -> None:
    old = ConformReport(complete=True).to_dict()
    del old["complete"]
    write_json(old, tmp_path / "old.json")
    assert read_json(tmp_path / "old.json")["complete"] is True


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
@pytest.mark.parametrize(("jobs", "number"), [("1", signal.SIGINT), ("2", signal.SIGINT), ("1", signal.SIGTERM)])
def test_an_interruption_leaves_results_and_no_worker(jobs: str, number: int, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    options = ["--op", "onnx.Gather-13", "--type", "int64", "--json", str(file), "--timeout", "60", "--jobs", jobs]
    names = ["--runtime", "numpy", "--runtime", "misbehaving:Patient"]
    run = subprocess.Popen(
        [sys.executable, "-m", "gatherscatter", "conform", *names, *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not workers_of("misbehaving:Patient") and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(2)
    os.killpg(run.pid, number)  # as a terminal sends SIGINT
    printed, errors = run.communicate(timeout=60)
    assert run.returncode == 130, errors
    assert "NumPy recipes" in printed
    assert "Incomplete" in printed
    report = read_json(file)
    assert not report["complete"]
    results = report["results"]
    assert results["numpy"]
    assert not results["misbehaving:Patient"]  # if a worker were also interrupted, that would look like a crash
    assert not workers_of("misbehaving:Patient")


def workers_of(name: str) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"gatherscatter_conformance.worker" in words and name.encode() in words and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found
