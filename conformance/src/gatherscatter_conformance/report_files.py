"""Read and write reports: whole, as ``gatherscatter conform --json`` writes them, or as a summary with verdicts only.

A summary has one text for each op version and runtime, with a letter for each case in the order of the corpus. So it is
small, and a diff of two versions of the file shows the changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from gatherscatter.system.files import write_text
from gatherscatter_conformance import corpus, rules
from gatherscatter_conformance.case import KINDS
from gatherscatter_conformance.report import FORMAT, ConformReport, RuntimeInfo, describe_case
from gatherscatter_conformance.verdicts import SEVERITY, VERDICTS

LETTERS = {
    "crashes": "C",
    "out-of-bounds memory": "M",
    "hangs": "H",
    "nondeterministic": "N",
    "narrowed": "W",
    "differs": "D",
    "accepts": "A",
    "refuses": "R",
    "allowed": "o",
    "pass": ".",
    "not asked": "-",
}
"""The letters of a summary. A space means a case without a result."""

_KEPT = ("corpus", "created", "complete", "machine", "python", "gatherscatter", "runtimes")


def write_json(report: Mapping[str, Any], path: str | Path) -> None:
    """Write a report's dictionary."""
    write_text(path, json.dumps(report, ensure_ascii=False, separators=(",", ":")))


def read_json(path: str | Path, *, same_corpus: bool = False, whole: bool = False) -> dict[str, Any]:
    """Read a whole report, or a summary as a report without messages and results.

    Raises
    ------
    ValueError
        The file is not a report, or is damaged; it is about another version of the corpus, and ``same_corpus`` is
        set or it is a summary; or it is a summary, and ``whole`` is set.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        report = json.loads(text.replace('"foreign memory"', '"out-of-bounds memory"'))  # reports of old versions
    except ValueError as error:
        raise ValueError(f"{path}: this is not a conformance report, because it is not JSON ({error})") from error
    if not isinstance(report, dict) or report.get("format") != FORMAT:
        raise ValueError(f"{path}: this is not a conformance report of format {FORMAT}")
    is_summary = "letters" in report
    if is_summary and whole:
        raise ValueError(f"{path}: this is a summary of a report, which has verdicts only")
    report.setdefault("complete", True)  # older reports do not have this key
    needed = (*_KEPT, "verdicts") if is_summary else ConformReport().to_dict()
    if missing := [key for key in needed if key not in report]:
        raise ValueError(f"{path}: this conformance report lacks {', '.join(missing)}")
    if (same_corpus or is_summary) and report["corpus"] != corpus.VERSION:
        text = f"{path}: this report is about corpus {report['corpus']}, and the corpus here is {corpus.VERSION}"
        raise ValueError(f"{text}; run conform again with this version of gatherscatter")
    try:
        report = _expand(report) if is_summary else report
        _check_form(report)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: this conformance report is damaged ({error!r})") from error
    return report


def _check_form(report: Mapping[str, Any]) -> None:
    """Raise an error if a part is missing on which all readers of a report rely."""
    for info in report["runtimes"]:
        RuntimeInfo(**info)
        report["results"][info["name"]].values()
    known = {case["id"]: case["op"] + case["kind"] for case in report["cases"]}
    for results in report["results"].values():
        for id, result in results.items():
            known[id], SEVERITY[result["verdict"]]


def summarize(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the summary of a report about cases of the corpus: the runtimes, the date, and the verdicts."""
    results = report["results"]
    verdicts = {
        op: {name: _encode(results[name], cases) for name in results if any(case.id in results[name] for case in cases)}
        for op, cases in _cases_by_op()
    }
    kept = {key: report[key] for key in _KEPT}
    return {
        "format": FORMAT,
        **kept,
        "letters": LETTERS,
        "verdicts": {op: texts for op, texts in verdicts.items() if texts},
    }


def _encode(results: Mapping[str, Any], cases: list[corpus.Case]) -> str:
    return "".join(LETTERS[results[case.id]["verdict"]] if case.id in results else " " for case in cases)


def _expand(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report of a summary. The facts about cases come from the corpus."""
    words = {letter: verdict for verdict, letter in summary["letters"].items()}
    results: dict[str, dict[str, Any]] = {info["name"]: {} for info in summary["runtimes"]}
    asked: dict[str, corpus.Case] = {}
    for op, cases in _cases_by_op():
        for name, text in summary["verdicts"].get(op, {}).items():
            known = {case.id: case for case, letter in zip(cases, text, strict=True) if letter != " "}
            asked |= known
            letters = (letter for letter in text if letter != " ")
            results[name] |= {
                id: {"verdict": words[letter], "got": None, "message": ""}
                for id, letter in zip(known, letters, strict=True)
            }
    return {
        "format": FORMAT,
        **{key: summary[key] for key in _KEPT},
        "verdicts": [asdict(verdict) for verdict in VERDICTS],
        "kinds": KINDS,
        "rules": {id: asdict(rule) for id, rule in rules.RULES.items()},
        "cases": [describe_case(case) for case in asked.values()],
        "results": results,
    }


def _cases_by_op() -> list[tuple[str, list[corpus.Case]]]:
    ordered = sorted(corpus.cases(), key=attrgetter("op"))  # within an op version in the order of the corpus
    return [(op, list(cases)) for op, cases in groupby(ordered, attrgetter("op"))]
