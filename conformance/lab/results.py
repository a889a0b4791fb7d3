"""The published results, docs/conformance/results.json, from which pages are generated.

The file has one text for each op version and runtime, with a letter for each case in the order of the corpus. A number
before a letter says how often it is repeated: ``3.R2o`` is ``...Roo``. So the file is small, and a diff of two versions
shows the changes. It also has the outcomes for the page "Differences", and the endings of the reproducers.

``python -m conformance.lab.results`` writes the results as a summary to build/lab/published.json, which ``gatherscatter
conform --from`` and ``--against`` can read.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from conformance.lab.environments import FOLDER, ROOT
from gatherscatter.system.files import write_text
from gatherscatter_conformance.report_files import read_json, summarize

FILE = ROOT / "docs" / "conformance" / "results.json"
ADDED = ("outcomes", "reproducers")  # what a summary does not have
PACKED = "packed "  # begins the format


def write_results(report: Mapping[str, Any], **added: Any) -> None:
    """Write the results of a report, with what a summary does not have."""
    results = summarize(report)
    verdicts = {
        op: {name: pack(letters) for name, letters in texts.items()} for op, texts in results["verdicts"].items()
    }
    results |= {"format": f"{PACKED}{results['format']}", "verdicts": verdicts, **{key: added[key] for key in ADDED}}
    FILE.parent.mkdir(exist_ok=True)
    write_text(FILE, json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def read_file() -> dict[str, Any]:
    """Return the published results as a summary with ``outcomes`` and ``reproducers``. The corpus is not needed.

    Raises
    ------
    OSError, ValueError
        There are no results, or the file has another format.
    """
    results: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    if not str(results.get("format")).startswith(PACKED):
        raise ValueError(f"{FILE}: these are not the results of the lab")
    verdicts = {
        op: {name: unpack(letters) for name, letters in texts.items()} for op, texts in results["verdicts"].items()
    }
    return results | {"format": int(results["format"].removeprefix(PACKED)), "verdicts": verdicts}


def read_results() -> dict[str, Any]:
    """Return the published results as a report with ``outcomes`` and ``reproducers``.

    Raises
    ------
    OSError, ValueError
        There are no results, or they are about another version of the corpus.
    """
    results = read_file()
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder, "summary.json")
        summary.write_text(json.dumps(results), encoding="utf-8")
        return read_json(summary) | {key: results[key] for key in ADDED}


@cache
def read_verdicts() -> dict[str, dict[str, str]]:
    """Return the published verdicts, by runtime and then by the id of the case."""
    return collect_verdicts(read_results())


def collect_verdicts(report: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the verdicts of a report, by runtime and then by the id of the case."""
    return {
        runtime: {id: result["verdict"] for id, result in results.items()}
        for runtime, results in report["results"].items()
    }


def pack(letters: str) -> str:
    """Return a text without its repetitions.

    >>> pack("...Roo")
    '3.R2o'
    """
    runs = ((letter, len(list(group))) for letter, group in groupby(letters))
    return "".join(f"{count}{letter}" if count > 1 else letter for letter, count in runs)


def unpack(text: str) -> str:
    """Return a text with its repetitions.

    >>> unpack("3.R2o")
    '...Roo'
    """
    return re.sub(r"(\d+)(\D)", lambda found: int(found[1]) * found[2], text)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_text(FOLDER / "published.json", json.dumps(read_file(), ensure_ascii=False))
    print(f"written: {(FOLDER / 'published.json').relative_to(ROOT)}")
