"""Docstrings of the house, in the form that Sphinx's reader of NumPy's docstrings expects.

Ours name the source in a line, and end in examples without a heading; there, a section extends to the next heading.
"""

from __future__ import annotations

import re
from typing import Any

_ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
_HEADED = re.compile(r"-{3,}$")
_SOURCE = re.compile(r"Sources?: *")
_ENTRY = re.compile(r"(\w+(?:, \w+)*) : (.*)")


def sections(app: Any, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Give every part of a docstring its heading; a listener of ``autodoc-process-docstring``."""
    lines[:] = _with_headings([line.rstrip() for line in lines])
    if what in ("attribute", "data") and lines:  # where a colon would end a type
        lines[0] = lines[0].replace(": ", " -- ")


def aliases(  # noqa: PLR0917
    app: Any, what: str, name: str, item: Any, options: Any, signature: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """Write ``ArrayLike | None`` where Sphinx shows its own wrapper; a listener of ``autodoc-process-signature``."""
    return signature and _ALIAS.sub(r"\1", signature), result and _ALIAS.sub(r"\1", result)


def _with_headings(lines: list[str]) -> list[str]:
    made: list[str] = []
    section = ""
    for n, line in enumerate(lines):
        below = lines[n + 1] if n + 1 < len(lines) else ""
        begins = bool(line) and not line.startswith(" ") and (not made or not made[-1])
        if _HEADED.match(below):
            section = line
        elif begins and (heading := _heading(line)) and section != heading:
            made += [heading, "-" * len(heading), ""]
            section = heading
        elif begins and section in ("Parameters", "Returns", "Raises", "Attributes", "Source"):
            made += ["Notes", "-----", ""]
            section = "Notes"
        if section in ("Raises", "Attributes") and (entry := _ENTRY.match(line)) and not below.startswith(" "):
            made += [entry[1], f"    {entry[2]}"]
        else:
            made.append(_SOURCE.sub("", line) if section == "Source" else line)
    return made


def _heading(line: str) -> str:
    return "Source" if _SOURCE.match(line) else "Examples" if line.startswith(">>>") else ""
