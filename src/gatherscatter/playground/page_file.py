"""The page as one file: the parts inlined, the table and the examples as JSON."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

from gatherscatter.files import write_text
from gatherscatter.page_policy import policy
from gatherscatter.playground.facts import facts

# In the order in which they need each other.
PARTS = (
    *("dom", "tensors", "types", "literals", "arithmetic", "hints", "faults", "checks", "kernels", "call", "state"),
    *(
        "grids",
        "marks",
        "sentences",
        "cells",
        "arrows",
        "picture",
        "python",
        "show",
        "inputs",
        "attributes",
        "picker",
        "copy",
        "main",
    ),
)


def write(path: str | Path) -> None:
    """Write the page into a file; what was there is replaced."""
    write_text(path, page())


def page() -> str:
    """The whole page.

    >>> page()[:15]
    '<!DOCTYPE html>'
    """
    files = resources.files("gatherscatter.playground") / "page"

    def read(name: str) -> str:
        return files.joinpath(name).read_text(encoding="utf-8")

    script = "\n".join(read(f"{name}.js") for name in PARTS)
    parts = {
        "style": read("playground.css"),
        "script": script,
        "policy": policy(script),
        "table": _json(facts()),
        "presets": _json(json.loads(read("presets.json"))),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], read("playground.html"))


def _json(value: Any) -> str:
    """JSON that can stand in a script element: no text in it can end the element."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
