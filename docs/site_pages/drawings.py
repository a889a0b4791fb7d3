"""Drawings of calls, as `gatherscatter.explain` makes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

import numpy as np

from gatherscatter.arrays.convert import element_type
from gatherscatter.explaining.examples import Example, example_of
from gatherscatter.specs.table import OpVersion
from site_pages.markdown import session

PLAYGROUND = "play.html"  # in the built site

_IMPORTS = ">>> import numpy as np\n>>> import gatherscatter as gs\n\n"
# The site's own switch of light and dark, in place of JupyterLab's.
_SWITCH = {
    '[data-jp-theme-light="true"]': 'body[data-theme="light"]',
    '[data-jp-theme-light="false"]': 'body[data-theme="dark"]',
}


def drawing(row: OpVersion, opset: dict[str, int]) -> Iterator[str]:
    """A call of a version, which ``opset`` asks for if it isn't the newest: picture and code."""
    example = example_of(row.name)
    explained = example.explanation()
    svg = explained.svg()
    for theirs, ours in _SWITCH.items():
        svg = svg.replace(theirs, ours)
    lines = "\n".join(line for line in svg.splitlines() if line.strip())  # an empty one ends HTML in Markdown
    yield f'<div class="drawing" tabindex="0" role="group" aria-label="Drawing of the call below">\n{lines}\n</div>'
    code = ", ".join([example.code.removesuffix(")"), *(f"{name}={value}" for name, value in opset.items())]) + ")"
    if explained.result is not None:
        yield session(code, explained.result, _IMPORTS)
    link = f'<a href="../{PLAYGROUND}#{_state(row, example)}">Change this call</a>'
    yield f"{link} in the [playground](../playground.md). [Explain](../explain.md) draws any small call so."


def _state(row: OpVersion, example: Example) -> str:
    """The part of the playground's address that says which call to show."""
    inputs = zip(row.inputs, map(np.asarray, example.inputs), strict=False)
    parts = [(known.name, f"{element_type(array.dtype)}:{json.dumps(array.tolist())}") for known, array in inputs]
    parts += [(name, json.dumps(value)) for name, value in example.attributes.items()]
    return "&".join(f"{name}={quote(text.replace(' ', ''), safe=':,[]')}" for name, text in [("op", row.name), *parts])
