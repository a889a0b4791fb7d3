"""The reproducers of all findings run, and show the facts of the table."""

from __future__ import annotations

import importlib.util
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from conformance.findings import reproducers
from gatherscatter.specs import OpVersion, ops
from gatherscatter_models.findings import catalog
from gatherscatter_models.findings.catalog import Finding

SEEN = [finding for finding in catalog.load() if finding.evidence == "run"]
THREADS = [finding for finding in catalog.load() if finding.evidence == "thread"]
DISTRIBUTIONS = {"onnx-reference": "onnx", "pytorch": "torch"}  # runtimes with a different package name
KEYS = {"model", "opset", "call", "inputs", "prepare", "dynamic", "threads", "times", "processes"}
KEYS |= {"error", "result", "departs", "expected", "show", "varies"}
DEPARTS, AS_SPECIFIED, NOT_THIS_TIME = 0, 3, 4


def _release(distribution: str) -> str:
    try:
        return metadata.version(distribution).partition("+")[0]
    except metadata.PackageNotFoundError:
        pytest.skip(f"{distribution} is not installed")


def _rows(finding: Finding) -> list[OpVersion]:
    return [row for row in ops() if row.domain == finding.namespace and row.op_type in finding.ops]


@pytest.mark.full
@pytest.mark.parametrize("finding", SEEN, ids=lambda finding: finding.id)
def test_a_reproducer_shows_the_finding(finding: Finding, tmp_path: Path) -> None:
    release = _release(DISTRIBUTIONS.get(finding.runtime, finding.runtime))
    script = reproducers.scripts()[finding.id]
    for package in re.findall(r"^(?:import|from) (\w+)", script, re.M):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    run = reproducers.run(script, tmp_path, 120)
    printed = run.stdout + run.stderr
    if run.returncode in (AS_SPECIFIED, NOT_THIS_TIME):  # another release, another processor, or a single processor
        pytest.skip(f"{finding.runtime} {release} does not depart here; seen with {finding.releases}\n{printed}")
    assert run.returncode == DEPARTS, printed
    for line in (f"{finding.source}: {finding.text}", "expected  ", "observed  ", release):
        assert line in run.stdout


def test_every_finding_that_we_saw_has_a_reproducer() -> None:
    assert reproducers.scripts().keys() == {finding.id for finding in SEEN}


def test_a_reproducer_is_a_plain_script() -> None:
    for id, script in reproducers.scripts().items():
        compile(script, id, "exec")
        assert "gatherscatter" not in script


def test_a_call_has_known_keys_and_one_criterion() -> None:
    for id, call in reproducers.calls().items():
        assert call.keys() <= KEYS, id
        assert len(call.keys() & {"error", "result", "departs"}) == 1, id
        assert "departs" not in call or "expected" in call, id


@pytest.mark.parametrize(
    ("call", "code", "observed"),
    [
        ({"call": "1 + 1", "result": "3"}, 0, "2"),
        ({"call": "1 + 1", "result": "2"}, 3, "2"),
        ({"call": "1 / 0", "result": "2"}, 0, "ZeroDivisionError: division by zero"),
        ({"call": "1 + 1", "error": "sums are unknown"}, 0, "2"),
        ({"call": "1 / 0", "error": "no number"}, 3, "ZeroDivisionError: division by zero"),
        ({"call": "1 / 0", "expected": "2, or an error", "departs": "result == 3"}, 3, "ZeroDivisionError"),
        ({"prepare": "x = iter('aab')", "call": "next(x)", "times": 3, "departs": "len(result) == 1"}, 4, "['a', 'b']"),
        ({"prepare": "import os", "call": "os.abort()", "result": "1"}, 0, "process 1 of 2 ends with SIGABRT"),
        ({"prepare": "import time", "call": "time.sleep(9)", "result": "1"}, 0, "no answer within 1 s"),
        ({"prepare": "import sys", "call": "sys.exit(7)", "result": "1"}, 7, ""),
    ],
)
def test_a_reproducer_decides(
    call: dict[str, Any], code: int, observed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The finding is any one of NumPy. The calls that end or stop a process run in their own."""
    monkeypatch.setattr(reproducers, "SECONDS", 1)
    finding = next(finding for finding in SEEN if finding.runtime == "numpy")
    call = {"expected": call.get("result", "")} | call | ({"varies": True} if "times" in call else {})
    if "import" in call.get("prepare", ""):
        call["processes"] = 2
    run = reproducers.run(reproducers.make_script(finding, call), tmp_path)
    assert run.returncode == code, run.stderr
    assert f"observed  {observed}" in run.stdout or not observed


def test_a_row_names_what_there_is() -> None:
    names = [finding.id for finding in catalog.load()]
    assert len(set(names)) == len(names)
    for finding in catalog.load():
        rows = _rows(finding)
        known = {name for row in ops() for name in row.element_types}
        if finding.namespace:
            assert {row.op_type for row in rows} == set(finding.ops), finding.id
            assert set(finding.types) - {"*"} <= known, finding.id
            assert set(finding.versions) <= {row.version for row in rows}, finding.id
        assert set(finding.onnx_ops) <= {row.op_type for row in ops() if row.domain == "onnx"}, finding.id
        assert set(finding.reductions) <= {"*", "none", "add", "sub", "mul", "min", "max", "mean"}, finding.id
        assert all((finding.title, finding.text, finding.source, finding.observed, finding.ops)), finding.id


def test_threads_are_cited_and_what_we_saw_has_a_release() -> None:
    assert all(finding.url.startswith("https://github.com/") for finding in THREADS)
    assert all(finding.releases for finding in SEEN)


def test_a_quote_of_onnx_is_in_the_schema() -> None:
    onnx = pytest.importorskip("onnx")
    for finding in catalog.load():
        if not (where := re.match(r"ONNX operators, (\w+)-(\d+)", finding.source)):
            continue
        schema = onnx.defs.get_schema(where[1], int(where[2]), "")
        texts = [schema.doc, *(each.description for each in (*schema.inputs, *schema.attributes.values()))]
        types = [name for constraint in schema.type_constraints for name in constraint.allowed_type_strs]
        whole = _plain(" ".join((*texts, *types)))
        for piece in re.split(r"; |, (?=tensor\()", finding.text):  # "data: ..." names the input of the text
            assert _plain(re.sub(r"^\w+: ", "", piece)) in whole, (finding.id, piece)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[`*]", " ", text).split())


def test_a_value_that_no_table_has_is_refused() -> None:
    good = SEEN[0]
    for key in ("runtime", "condition", "effect", "evidence"):
        with pytest.raises(ValueError, match="'unheard of' is none of"):
            Finding(**{**vars(good), key: "unheard of"})


def test_the_most_severe_come_first() -> None:
    ranks = [finding.severity for finding in catalog.load()]
    assert ranks == sorted(ranks)
    assert catalog.load()[0].effect == "out-of-bounds memory"
