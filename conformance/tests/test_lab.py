"""A run of the whole lab: its cases, its resumption after an interruption, and the pages that it writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from conformance.findings import reproducers
from conformance.lab import findings_page, pages, publishing, results, rulings_page, running
from conformance.lab.environments import EXTRAS
from conformance.lab.results import FILE, collect_verdicts, read_file, read_results
from gatherscatter_conformance import corpus
from gatherscatter_conformance.report import ConformReport
from gatherscatter_conformance.report_files import read_json, write_json
from gatherscatter_conformance.run import conform
from gatherscatter_conformance.runtimes import NAMES, find
from gatherscatter_models.findings import catalog
from tests.support.paths import ROOT

pytestmark = pytest.mark.full


def test_every_runtime_has_an_environment_with_its_package() -> None:
    files = [ROOT / folder / "pyproject.toml" for folder in ("", "models", "conformance")]
    projects = [tomllib.loads(file.read_text(encoding="utf-8"))["project"] for file in files]
    for name in NAMES:
        chosen = EXTRAS[name if name in EXTRAS else "main"]
        needed = {find(name).package} - {"gatherscatter", "gatherscatter-models", "numpy"}
        pairs = [(project, extra) for project, extras in zip(projects, chosen, strict=True) for extra in extras]
        installed = {requirement for project in projects for requirement in project["dependencies"]}
        installed |= {
            requirement for project, extra in pairs for requirement in project["optional-dependencies"][extra]
        }
        assert all(any(requirement.startswith(package) for requirement in installed) for package in needed), name


def test_the_published_results_are_about_everything() -> None:
    published = read_results()
    assert published["complete"]
    assert published["corpus"] == corpus.VERSION
    assert set(published["results"]) == set(NAMES)
    ids = {case.id for case in corpus.cases()}
    for name, found in published["results"].items():
        assert found.keys() == ids, name
    assert published["reproducers"].keys() == reproducers.scripts().keys()
    assert set(published["reproducers"].values()) <= set(running.ENDINGS.values())


def test_the_pages_are_made_from_the_results() -> None:
    for path, text in pages.make_all().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python -m conformance.lab.pages"


def test_the_readme_counts_the_cases() -> None:
    assert f"{len(corpus.cases()):,} test vectors" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_section_is_replaced() -> None:
    page = f"one\n\n{pages.BEGIN}\n\nold\n\n{pages.END}\n\ntwo\n"
    assert pages.replace_section(page, "new") == page.replace("old", "new")
    with pytest.raises(ValueError, match="has no marks"):
        pages.replace_section("one two", "new")


def test_a_run_goes_on_and_what_is_complete_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "FOLDER", tmp_path)
    (tmp_path / "reports").mkdir()
    cases = corpus.cases("onnx/Gather-13/int64/*")
    report = ConformReport()
    conform(["numpy"], cases, report=report)
    first = cases[0].id
    del report.results["numpy"][first]
    report.complete = False
    file = tmp_path / "reports" / "numpy.json"
    write_json(report.to_dict(), file)
    assert running.ask_runtimes({"numpy": Path(sys.executable)}) == [file]
    whole = read_json(file)
    assert whole["complete"]
    assert whole["results"]["numpy"].keys() == {case.id for case in cases}
    before = file.stat().st_mtime_ns
    running.ask_runtimes({"numpy": Path(sys.executable)})
    assert file.stat().st_mtime_ns == before


@pytest.mark.skipif(os.name != "posix", reason="a signal is sent to a group of processes")
def test_ctrl_c_keeps_what_there_is(tmp_path: Path) -> None:
    """All processes get the signal, as in a terminal."""
    program = (
        "import sys; from pathlib import Path; from conformance.lab import running\n"
        f"running.FOLDER = Path({str(tmp_path)!r})\n"
        "running.ask_runtimes({'gatherscatter-model': Path(sys.executable)})"
    )
    lab = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(10)  # a run takes longer
    os.killpg(lab.pid, signal.SIGINT)
    _, errors = lab.communicate(timeout=60)
    assert "run python3 -m conformance.lab --resume" in errors
    assert "Traceback" not in errors
    report = read_json(tmp_path / "reports" / "gatherscatter-model.json")
    assert not report["complete"]
    assert report["results"]["gatherscatter-model"]


def test_results_about_another_corpus_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = conform(["numpy"], corpus.cases("onnx/Gather-13/float32/none/out-of-range/*")).to_dict()
    write_json(report, tmp_path / "numpy.json")
    monkeypatch.setattr(publishing, "FOLDER", tmp_path)
    monkeypatch.setattr(results, "FILE", tmp_path / "conformance" / "results.json")
    for said in ("Nothing to compare with", "0 of", "Nothing to compare with"):
        publishing.publish_results([tmp_path / "numpy.json"], {"one": "departs"})
        assert said in capsys.readouterr().out
        published = read_file()
        assert published["corpus"] == corpus.VERSION
        assert published["reproducers"] == {"one": "departs"}
        if said == "0 of":
            packed = json.loads(results.FILE.read_text(encoding="utf-8"))
            write_json(packed | {"corpus": "0.9"}, results.FILE)


def test_reproducers_end_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "FOLDER", tmp_path)
    monkeypatch.setattr(running, "TIME_LIMIT", 5.0)
    endings = {"a": "departs", "b": "as specified", "c": "not this time", "d": "failed with exit code 7"}
    scripts = {name: f"raise SystemExit({code})" for name, code in zip(endings, (0, 3, 4, 7), strict=True)}
    scripts["e"] = "import time; time.sleep(60)"
    monkeypatch.setattr(reproducers, "scripts", lambda: scripts)
    assert running.run_reproducers() == endings | {"e": "no end within 5 s"}
    scripts["a"] = "raise SystemExit(3)"
    assert running.run_reproducers()["a"] == "departs"  # kept from the interrupted run


def test_letters_are_packed_and_unpacked() -> None:
    packed = json.loads(FILE.read_text(encoding="utf-8"))["verdicts"]
    for op, texts in read_file()["verdicts"].items():
        assert {len(letters) for letters in texts.values()} == {len([case for case in corpus.cases() if case.op == op])}
        assert {name: results.pack(letters) for name, letters in texts.items()} == packed[op]
        assert all(results.unpack(packed[op][name]) == letters for name, letters in texts.items())


def test_a_file_of_another_format_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "FILE", tmp_path / "results.json")
    write_json(ConformReport().to_dict(), results.FILE)
    with pytest.raises(ValueError, match="these are not the results of the lab"):
        read_file()


def test_what_git_keeps_is_small() -> None:
    docs = FILE.parents[1]
    assert FILE.stat().st_size <= 100_000
    assert all((docs / name).stat().st_size <= 20_000 for name in ("conformance.md", "findings.md", "rulings.md"))
    assert len((docs / "findings.md").read_text(encoding="utf-8").splitlines()) <= 60


def test_the_site_has_every_finding_and_every_disagreement() -> None:
    published = read_results()
    found = dict(findings_page.site_pages(published, findings_page.read_counts()))
    for finding in catalog.load():
        if finding.evidence == "run":
            assert f"({finding.id})=\n## " in found[f"findings/{finding.effect.replace(' ', '-')}.md"]
            assert f"| `{finding.id}` | " in found["findings/all.md"]
        else:
            assert finding.url in found["findings/from-public-threads.md"]
    front = (FILE.parents[1] / "findings.md").read_text(encoding="utf-8")
    assert all(f"\n{name.removesuffix('.md')}\n" in front for name in found)
    verdicts = collect_verdicts(published)
    found = dict(rulings_page.site_pages(verdicts))
    assert all(f"\n{name.removesuffix('.md')}\n" in rulings_page.section(verdicts) for name in found)
    assert "| StableHLO 6 | JAX adds the size of the axis to negative indices" in found["rulings/fault.md"]
