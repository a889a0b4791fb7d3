"""The reports for other projects: files come from the table, scripts from the findings, and quotes are exact."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from importlib import metadata

import pytest

from conformance.findings import reproducers
from conformance.lab import reports, upstream_reports
from conformance.lab.reports import Erratum, UpstreamReport
from gatherscatter_models.findings import catalog
from tests.support.paths import ROOT

FOLDER = ROOT / "conformance" / "findings" / "reports"
PAGES = upstream_reports.pages(functools.partial(upstream_reports.read_script_in, FOLDER))
SEEN = {finding.id: finding for finding in catalog.load() if finding.evidence == "run"}
RULING = re.compile(r"\b[OVM]\d+\b")
SCHEMAS = [erratum for erratum in reports.errata() if erratum.schema]
SCRIPTS = [erratum for erratum in reports.errata() if erratum.printed]


def name(entry: UpstreamReport | Erratum) -> str:
    return entry.id


def test_files_are_made_from_the_table() -> None:
    files = {path.name: path.read_text(encoding="utf-8") for path in (*FOLDER.glob("*.md"), *FOLDER.glob("*.txt"))}
    assert files.keys() == PAGES.keys(), f"run {upstream_reports.COMMAND}"
    for file, text in PAGES.items():
        assert files[file] == text, f"{file}: run {upstream_reports.COMMAND}"


def test_a_report_is_about_a_finding_that_we_saw() -> None:
    ids = [report.id for report in reports.reports()]
    assert len(ids) >= 20
    assert len(ids) == len(set(ids))
    assert set(ids) <= SEEN.keys()


def test_no_finding_without_a_report_is_more_severe_than_one_with_a_report() -> None:
    ranks = [report.finding.severity for report in reports.reports()]
    assert ranks == sorted(ranks)
    reported = {report.id for report in reports.reports()}
    missing = [id for id, finding in SEEN.items() if id not in reported and finding.severity < max(ranks)]
    assert not missing, "conformance/lab/reports.toml needs entries"


def test_memory_errors_go_to_private_channels() -> None:
    for report in reports.reports():
        harmful = report.finding.effect in ("out-of-bounds memory", "crash")
        # NumPy's security policy treats such faults as ordinary bugs.
        assert report.is_private == (harmful and report.finding.runtime != "numpy"), report.id
        text = PAGES[f"{report.id}.txt"]
        assert ("do not open a public issue" in text) == report.is_private
        assert (report.project.public.address in text) != report.is_private


@pytest.mark.parametrize("report", reports.reports(), ids=name)
def test_the_script_of_a_report_is_the_reproducer(report: UpstreamReport) -> None:
    """`test_findings.py` runs the reproducers."""
    (script,) = re.findall(r"```python\n(.*?)\n```", PAGES[f"{report.id}.txt"], re.S)
    assert script == reproducers.scripts()[report.id].strip()


@pytest.mark.parametrize("report", reports.reports(), ids=name)
def test_what_a_script_printed_is_of_the_release_and_the_text_of_the_finding(report: UpstreamReport) -> None:
    finding = report.finding
    release = re.search(r"^release   \S+ (\d+\.\d+\.\d+)", report.printed, re.M)
    assert release
    assert release[1] == finding.releases, f"run python -m conformance.findings {report.id}, and enter what it prints"
    assert f"text      {finding.source}: {finding.text}" in report.printed
    expected, observed = (re.search(rf"^{label}  (.+)", report.printed, re.M) for label in ("expected", "observed"))
    assert expected
    assert observed
    assert expected[1] != observed[1]


def test_a_status_is_a_thread_or_none() -> None:
    entries: tuple[UpstreamReport | Erratum, ...] = (*reports.reports(), *reports.errata())
    for entry in entries:
        for address in (entry.status, *entry.related):
            assert address == "not reported" or re.fullmatch(
                r"https://github\.com/[\w-]+/[\w-]+/(issues|pull)/\d+", address
            )


def test_the_status_of_a_finding() -> None:
    text = "[text](../../conformance/findings/reports/{}.txt)"
    for id, begin in (
        ("onnxruntime-gather-strings", "not reported, "),
        ("onnxruntime-scatternd-race", "[thread](https://github.com/microsoft/onnxruntime/issues/23396), "),
    ):
        assert reports.status(id) == begin + text.format(id)
    assert reports.status("openvino-truncating-mean") == "not reported"
    assert reports.status("tvm-negative") == "[thread](https://github.com/apache/tvm/issues/20217)"
    with pytest.raises(KeyError, match="no finding 'unheard of'"):
        reports.status("unheard of")
    files = [file for id in SEEN for file in re.findall(r"/findings/reports/(.+?)\)", reports.status(id))]
    assert files
    assert set(files) <= PAGES.keys()


def test_an_erratum_names_a_ruling_and_changes_a_sentence() -> None:
    known = set(RULING.findall((ROOT / "docs" / "rulings.md").read_text(encoding="utf-8")))
    for erratum in reports.errata():
        assert set(erratum.rulings) <= known, erratum.id
        assert erratum.corrections
        for correction in erratum.corrections:
            assert correction.sentence != correction.proposed


@pytest.mark.parametrize("erratum", SCHEMAS, ids=name)
def test_a_sentence_of_onnx_stands_in_the_schema(erratum: Erratum) -> None:
    operator, *versions = erratum.schema
    for version in versions:
        text = _schema_text(operator, version)
        for correction in erratum.corrections:
            assert _one_line(correction.sentence) in text, (version, correction.sentence)


def test_texts_that_onnx_has_corrected() -> None:
    assert "indices.shape[0:q-1] ++ data.shape[k:r], where" in _schema_text("ScatterND", 18)  # O1
    assert "cache_sequence_idx = cache_sequence_idx % max_sequence_length" in _schema_text("TensorScatter", 24)  # O22
    assert "output[tuple(indices[idx])]" in _schema_text("ScatterND", 18)  # O26
    assert upstream_reports.CORRECTED == ("O1", "O22", "O26")


@pytest.mark.parametrize("erratum", SCRIPTS, ids=name)
def test_the_script_of_an_erratum_prints_what_the_report_says(erratum: Erratum) -> None:
    for package, version in re.findall(r"\b(jax|jaxlib) (\d+\.\d+\.\d+)", erratum.printed):
        try:
            installed = metadata.version(package)
        except metadata.PackageNotFoundError:
            pytest.skip(f"{package} is not installed")
        if installed != version:
            pytest.skip(f"{package} {installed}, not {version}")
    script = FOLDER / f"{erratum.id}.py"
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == erratum.printed.strip(), run.stderr


def _schema_text(operator: str, version: int) -> str:
    schema = pytest.importorskip("onnx").defs.get_schema(operator, version, "")
    parts = (*schema.inputs, *schema.outputs, *schema.attributes.values())
    return _one_line(" ".join([schema.doc, *(part.description for part in parts)]))


def _one_line(text: str) -> str:
    return " ".join(text.split())
