"""Take what the page "Differences" shows from reports of ``gatherscatter conform --json``. In the folder ``docs``:

gatherscatter conform --runtime numpy --runtime jax --json report.json
python -m site_pages.collect report.json
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from gatherscatter.conformance.case import Case
from gatherscatter.conformance.report import read_json
from site_pages.differences import AN_ERROR, ENGINES, FILE, numbers, wanted
from site_pages.topics import TOPICS

# Verdicts that say more than an outcome.
HARM = {
    "crashes": "the process ends",
    "hangs": "no answer",
    "out-of-bounds memory": "out-of-bounds memory",
    "nondeterministic": "not the same every time",
}


def collect(results: dict[str, Any], report: dict[str, Any]) -> None:
    """Take what the page shows from a report, in place of what was there of the same engines."""
    releases = {each["name"]: each["version"] for each in report["runtimes"] if each["name"] in ENGINES}
    results["releases"] = {
        name: (results["releases"] | releases)[name] for name in sorted(results["releases"] | releases)
    }
    for case in (case for topic in TOPICS for cases in topic.cases() for case in cases):
        known = results["outcomes"].setdefault(case.id, {})
        for name in releases:
            outcome = _outcome(case, report["results"][name].get(case.id))
            if outcome is not None:
                known[name] = outcome
            else:
                known.pop(name, None)


def _outcome(case: Case, result: dict[str, Any] | None) -> str | None:
    """What an engine gave, in words."""
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


def main() -> None:
    """Take the results of reports into the file."""
    results = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"releases": {}, "outcomes": {}}
    for path in sys.argv[1:]:
        collect(results, read_json(path))
    FILE.write_text(json.dumps(results, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
