"""The part of a conformance report that the page "Differences" shows. `conformance.lab` keeps it with the results."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from gatherscatter_conformance.case import Case
from site_pages.differences import AN_ERROR, ENGINES, numbers, wanted
from site_pages.topics import TOPICS

# Verdicts that say more than an outcome.
HARM = {
    "crashes": "the process ends",
    "hangs": "no answer",
    "out-of-bounds memory": "out-of-bounds memory",
    "nondeterministic": "not the same every time",
}


def collect_outcomes(report: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The result of each engine, by case and engine."""
    cases = (case for topic in TOPICS for cases in topic.cases() for case in cases)
    return {
        case.id: {
            name: outcome
            for name in ENGINES
            if name in report["results"]
            and (outcome := _outcome(case, report["results"][name].get(case.id))) is not None
        }
        for case in cases
    }


def _outcome(case: Case, result: dict[str, Any] | None) -> str | None:
    """The result of an engine, in words."""
    if result is None or result["verdict"] == "not asked":
        return None
    if result["verdict"] == "pass":
        return wanted(case)
    if result["verdict"] in HARM:
        return HARM[result["verdict"]]
    return f"`{_plain(result['got'][0]['text'])}`" if result["got"] else AN_ERROR


def _plain(text: str) -> str:
    """The text of a result, with numbers as the page writes them."""
    with_digits = re.sub(r"\.(?!\d)", ".0", text.replace("nan", "NaN").replace("inf", "Infinity"))
    return numbers(json.loads(with_digits))
