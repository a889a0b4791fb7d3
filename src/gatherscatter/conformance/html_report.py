"""A conformance report as one HTML page that needs neither server nor network.

What filters and matrix need is in the page as JSON. Inputs, results and scripts are many times larger: they lie beside
it, packed, a piece per op version that is opened when it is asked for.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from gatherscatter.files import write_text
from gatherscatter.page_policy import policy

# In the order in which they need each other.
PARTS = ("data", "elements", "state", "tally", "filters", "matrix", "copy", "case", "cases")
KEYS = ("id", "op", "type", "reduction", "kind", "rules")  # of a case, those that filters use


@dataclass(frozen=True)
class Look:
    """How a verdict is told from others: by a sign, and by a tone that means a colour and a shape."""

    sign: str
    tone: str


LOOKS = {
    "crashes": Look("×", "danger"),  # noqa: RUF001
    "foreign memory": Look("§", "danger"),
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
    """Write a report into a file.

    Args:
        report: the report as `gatherscatter.conformance.report` has it, format 1.
        path: the file; what was there is replaced.

    Raises:
        ValueError: the report has another format.

    >>> write({"format": 2}, "report.html")
    Traceback (most recent call last):
        ...
    ValueError: the page shows reports of format 1; this one has format 2
    """
    write_text(path, page(report))


def page(report: dict[str, Any]) -> str:
    """The whole page."""
    if report["format"] != 1:
        raise ValueError(f"the page shows reports of format 1; this one has format {report['format']}")
    files = resources.files("gatherscatter.conformance") / "page"
    script = "\n".join(files.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in PARTS)
    parts = {
        "style": files.joinpath("report.css").read_text(encoding="utf-8"),
        "script": script,
        "policy": policy(script),
        "created": escape(report["created"][:10]),
        "index": _json(_index(report)),
        "details": "\n".join(_details(report)),
    }
    template = files.joinpath("report.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def _json(value: Any) -> str:
    """JSON that can stand in a script element: no text in it can end the element."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _index(report: dict[str, Any]) -> dict[str, Any]:
    verdicts = sorted(report["verdicts"], key=lambda verdict: verdict["severity"])
    letters = {verdict["name"]: chr(ord("a") + number) for number, verdict in enumerate(verdicts)}
    cases = report["cases"]
    return {
        **{key: report[key] for key in ("corpus", "created", "machine", "python", "gatherscatter")},
        **{key: report[key] for key in ("kinds", "rules", "runtimes")},
        "complete": report.get("complete", True),
        "verdicts": [verdict | asdict(_look(verdict["name"])) for verdict in verdicts],
        "ops": _ops(cases),
        "cases": [{key: case[key] for key in KEYS} for case in cases],
        # A letter per case, in the order of the cases.
        "results": {
            runtime: "".join(
                letters[results[case["id"]]["verdict"]] if case["id"] in results else "." for case in cases
            )
            for runtime, results in report["results"].items()
        },
    }


def _look(verdict: str) -> Look:
    """A verdict that a newer program made is shown all the same."""
    return LOOKS.get(verdict, Look(verdict[:1].upper(), "wrong"))


def _ops(cases: Iterable[dict[str, Any]]) -> list[str]:
    """The op versions, by name and then by number: Gather-1, Gather-7, Gather-13."""

    def order(op: str) -> tuple[str, int]:
        name, _, version = op.rpartition("-")
        return name, int(version)

    return sorted({case["op"] for case in cases}, key=order)


def _details(report: dict[str, Any]) -> Iterator[str]:
    """A packed piece per op version: what its cases are given, should give and gave."""
    pieces: dict[str, dict[str, Any]] = {op: {"cases": {}, "results": {}} for op in _ops(report["cases"])}
    for case in report["cases"]:
        # JavaScript's numbers end at 2**53; attributes need not.
        attributes = {name: json.dumps(value, ensure_ascii=False) for name, value in case["attributes"].items()}
        shown = {key: value for key, value in case.items() if key not in KEYS}
        pieces[case["op"]]["cases"][case["id"]] = shown | {"attributes": attributes}
        pieces[case["op"]]["results"][case["id"]] = {
            runtime: _without_nothing(results[case["id"]])
            for runtime, results in report["results"].items()
            if case["id"] in results
        }
    for op, piece in pieces.items():
        packed = base64.b64encode(gzip.compress(_json(piece).encode(), mtime=0)).decode()
        yield f'<script type="application/gzip" data-op="{escape(op)}">{packed}</script>'


def _without_nothing(result: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if value and key != "verdict"}
