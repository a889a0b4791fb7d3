"""All reproducers of findings run and show the results in the table. The page is generated from the table."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from gatherscatter.findings import catalog
from gatherscatter.findings.catalog import Finding
from gatherscatter.versions import OpVersion, ops
from tests.support.paths import ROOT

SCRIPTS = ROOT / "conformance" / "findings"
SEEN = [finding for finding in catalog.load() if finding.evidence == "run"]
THREADS = [finding for finding in catalog.load() if finding.evidence == "thread"]
DISTRIBUTIONS = {"onnx-reference": "onnx", "pytorch": "torch"}  # runtimes with a different package name
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
    if "import onnx." in (SCRIPTS / f"{finding.id}.py").read_text():
        _release("onnx")
    run = subprocess.run(
        [sys.executable, str(SCRIPTS / f"{finding.id}.py")],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,  # core files are written here
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"},
    )
    printed = run.stdout + run.stderr
    if run.returncode in (AS_SPECIFIED, NOT_THIS_TIME):  # another release, another processor, or a single processor
        pytest.skip(f"{finding.runtime} {release} does not depart here; seen with {finding.releases}\n{printed}")
    assert run.returncode == DEPARTS, printed
    for line in (f"{finding.source}: {finding.text}", "expected  ", "observed  ", release):
        assert line in run.stdout


def test_every_script_has_a_row() -> None:
    assert {path.stem for path in SCRIPTS.glob("*.py")} == {finding.id for finding in SEEN}


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
