"""The published results, docs/conformance/results.json, from which pages are generated.

The file is a summary as described in `gatherscatter_conformance.report_files`, so ``gatherscatter conform --from`` and
``--against`` can read it. It also has the outcomes for the page "Differences", and the endings of the reproducers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import Any

from conformance.lab.environments import FOLDER, ROOT
from gatherscatter.files import write_text
from gatherscatter_conformance.changes import describe_changes
from gatherscatter_conformance.report import merge_reports
from gatherscatter_conformance.report_files import read_json, summarize, write_json

sys.path.insert(0, str(ROOT / "docs"))

from site_pages.outcomes import collect_outcomes

FILE = ROOT / "docs" / "conformance" / "results.json"


def publish_results(reports: Sequence[Path], reproducers: Mapping[str, str]) -> None:
    """Join the reports, replace the published results, and print the changes."""
    report = reduce(merge_reports, [read_json(file) for file in reports])
    write_json(report, FOLDER / "report.json")
    try:
        before, why = read_json(FILE), ""
    except (OSError, ValueError) as error:  # no results, or results for another version of the corpus
        before, why = None, str(error)
    results = summarize(report)
    results |= {"outcomes": collect_outcomes(report), "reproducers": dict(sorted(reproducers.items()))}
    FILE.parent.mkdir(exist_ok=True)
    write_text(FILE, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    print()
    for line in [f"Nothing to compare with: {why}"] if before is None else describe_changes(before, report):
        print(line)


def read_results() -> dict[str, Any]:
    """Return the published results as a report, with ``outcomes`` and ``reproducers``."""
    raw = json.loads(FILE.read_text(encoding="utf-8"))
    return read_json(FILE) | {key: raw[key] for key in ("outcomes", "reproducers")}


@cache
def read_verdicts() -> dict[str, dict[str, str]]:
    """Return the published verdicts, by runtime and then by the id of the case."""
    return {
        runtime: {id: result["verdict"] for id, result in results.items()}
        for runtime, results in read_json(FILE)["results"].items()
    }
