"""Join the reports of a run, and replace the published results."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path

from conformance.lab.environments import FOLDER, ROOT
from conformance.lab.results import read_results, write_results
from gatherscatter_conformance.changes import describe_changes
from gatherscatter_conformance.report import merge_reports
from gatherscatter_conformance.report_files import read_json, write_json

sys.path.insert(0, str(ROOT / "docs"))

from site_pages.outcomes import collect_outcomes


def publish_results(reports: Sequence[Path], reproducers: Mapping[str, str]) -> None:
    """Join the reports, replace the published results, and print the changes."""
    report = reduce(merge_reports, [read_json(file) for file in reports])
    write_json(report, FOLDER / "report.json")
    try:
        before, why = read_results(), ""
    except (OSError, ValueError) as error:  # no results, or results for another version of the corpus
        before, why = None, str(error)
    write_results(report, outcomes=collect_outcomes(report), reproducers=dict(sorted(reproducers.items())))
    print()
    for line in [f"Nothing to compare with: {why}"] if before is None else describe_changes(before, report):
        print(line)
