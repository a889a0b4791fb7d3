"""The verdicts of the published run of the lab, from which the documentation is made."""

from __future__ import annotations

from functools import cache

from gatherscatter.conformance.report_files import read_json
from tests.support.paths import DOCS

FILE = DOCS / "conformance" / "results.json"


def load(runtime: str) -> dict[str, str]:
    """The verdict of a runtime about each case, by the id of the case."""
    return _load()[runtime]


@cache
def _load() -> dict[str, dict[str, str]]:
    return {
        runtime: {id: result["verdict"] for id, result in results.items()}
        for runtime, results in read_json(FILE)["results"].items()
    }
