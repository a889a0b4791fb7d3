"""The page as one file: the parts inlined, the table and the examples as JSON."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

from gatherscatter.files import write_text
from gatherscatter.pages.palette import CELL_STATES, HUES
from gatherscatter.pages.template import render
from gatherscatter.playground.facts import facts

# In the order in which they need each other.
SCRIPTS = (
    *("dom.js", "svg.js", "clipboard.js", "tensors.js", "types.js", "literals.js", "arithmetic.js", "hints.js"),
    *("faults.js", "checks.js", "kernels.js", "bags.js", "quantized.js", "call.js", "state.js", "grids.js", "marks.js"),
    *(
        "sentences.js",
        "cells.js",
        "arrows.js",
        "picture.js",
        "python.js",
        "show.js",
        "inputs.js",
        "attributes.js",
        "picker.js",
    ),
    "main.js",
)


def write(path: str | Path) -> None:
    """Write the page into a file. An existing file is replaced."""
    write_text(path, page())


def page() -> str:
    """The whole page.

    >>> page()[:15]
    '<!DOCTYPE html>'
    """
    folder = resources.files("gatherscatter.playground") / "page"
    presets = json.loads(folder.joinpath("presets.json").read_text(encoding="utf-8"))
    drawing = {"states": CELL_STATES, "hues": HUES}
    data = {"table": facts(), "presets": presets, "drawing": drawing}
    return render(folder, "playground.html", styles=["playground.css"], scripts=SCRIPTS, data=data)
