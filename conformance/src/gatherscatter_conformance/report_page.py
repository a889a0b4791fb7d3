"""Write a conformance report as one HTML page that needs neither a server nor the network.

The page contains the data for filters and matrix as JSON. Inputs, results and scripts are much larger. They are also in
the page, compressed, in one piece for each op version. A piece is unpacked when it is needed.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

from gatherscatter.pages.palette import Look
from gatherscatter.pages.template import render
from gatherscatter.system.files import write_text

# Scripts follow those that they need.
SCRIPTS = (
    *("dom.js", "clipboard.js", "data.js", "elements.js", "state.js", "tally.js", "filters.js", "matrix.js"),
    *("case.js", "cases.js"),
)
KEYS = ("id", "op", "type", "reduction", "kind", "rules")  # the keys of a case that filters use


LOOKS = {
    "crashes": Look("×", "danger"),  # noqa: RUF001
    "out-of-bounds memory": Look("§", "danger"),
    "hangs": Look("∞", "danger"),
    "differs": Look("≠", "wrong"),
    "nondeterministic": Look("?", "wrong"),
    "narrowed": Look("▼", "wrong"),
    "accepts": Look("!", "lax"),
    "refuses": Look("Ø", "lax"),
    "allowed": Look("≈", "right"),
    "pass": Look("✓", "right"),
    "not asked": Look("–", "none"),  # noqa: RUF001
}


def write(report: dict[str, Any], path: str | Path) -> None:
    """Write a report to a file.

    Args:
        report: the report of `gatherscatter_conformance.report`, format 1.
        path: the file, which is replaced if it exists.

    Raises:
        ValueError: the report has another format.

    >>> write({"format": 2}, "report.html")
    Traceback (most recent call last):
        ...
    ValueError: the page shows reports of format 1; this one has format 2
    """
    write_text(path, page(report))


def page(report: dict[str, Any]) -> str:
    """Return the whole page."""
    if report["format"] != 1:
        raise ValueError(f"the page shows reports of format 1; this one has format {report['format']}")
    return render(
        resources.files("gatherscatter_conformance") / "page",
        "report.html",
        styles=["report.css"],
        scripts=SCRIPTS,
        data={"report": _index(report)},
        created=report["created"][:10],
        details=_pack_details(report),
    )


def _index(report: dict[str, Any]) -> dict[str, Any]:
    verdicts = sorted(report["verdicts"], key=lambda verdict: verdict["severity"])
    letters = {verdict["name"]: chr(ord("a") + number) for number, verdict in enumerate(verdicts)}
    cases = report["cases"]
    return {
        **{key: report[key] for key in ("corpus", "created", "machine", "python", "gatherscatter")},
        **{key: report[key] for key in ("kinds", "rules", "runtimes")},
        "complete": report.get("complete", True),
        "verdicts": [verdict | asdict(find_look(verdict["name"])) for verdict in verdicts],
        "ops": _ops(cases),
        "cases": [{key: case[key] for key in KEYS} for case in cases],
        # One letter for each case, in the order of the cases.
        "results": {
            runtime: "".join(
                letters[results[case["id"]]["verdict"]] if case["id"] in results else "." for case in cases
            )
            for runtime, results in report["results"].items()
        },
    }


def find_look(verdict: str) -> Look:
    """Return the look of a verdict. Unknown verdicts, from newer programs, are also shown."""
    return LOOKS.get(verdict, Look(verdict[:1].upper(), "wrong"))


def _ops(cases: Iterable[dict[str, Any]]) -> list[str]:
    """Return the op versions, sorted by name and then by number: Gather-1, Gather-7, Gather-13."""

    def order(op: str) -> tuple[str, int]:
        name, _, version = op.rpartition("-")
        return name, int(version)

    return sorted({case["op"] for case in cases}, key=order)


def _pack_details(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each op version with a compressed piece: the inputs, expected results and results of its cases."""
    pieces: dict[str, dict[str, Any]] = {op: {"cases": {}, "results": {}} for op in _ops(report["cases"])}
    for case in report["cases"]:
        # JavaScript's numbers end at 2**53; attributes may be larger.
        attributes = {name: json.dumps(value, ensure_ascii=False) for name, value in case["attributes"].items()}
        shown = {key: value for key, value in case.items() if key not in KEYS}
        pieces[case["op"]]["cases"][case["id"]] = shown | {"attributes": attributes}
        pieces[case["op"]]["results"][case["id"]] = {
            runtime: _drop_empty_values(results[case["id"]])
            for runtime, results in report["results"].items()
            if case["id"] in results
        }
    for op, piece in pieces.items():
        text = json.dumps(piece, separators=(",", ":"), allow_nan=False)
        yield op, base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _drop_empty_values(result: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if value and key != "verdict"}
