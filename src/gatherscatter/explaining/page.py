"""An explanation as one HTML page that needs no network: the picture, a slider through the steps, and all in words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from gatherscatter.explaining.call import Call
from gatherscatter.explaining.svg import clean, svg
from gatherscatter.explaining.view import Drawing
from gatherscatter.explaining.words import count_text, heading, noun, sentence, step_text, value_text
from gatherscatter.page_policy import policy

if TYPE_CHECKING:
    from gatherscatter.explaining import Explanation
    from gatherscatter.explaining.trace import Step

MOST_ELSEWHERE = 8


def page(explanation: Explanation) -> str:
    """The whole page."""
    files = resources.files("gatherscatter.explaining")
    script = files.joinpath("page.js").read_text(encoding="utf-8")
    parts = {
        "title": clean(heading(explanation.call)),
        "style": files.joinpath("page.css").read_text(encoding="utf-8"),
        "script": script,
        "policy": policy(script),
        "steps": _json(steps_of(explanation)),
        "body": "\n".join(_body(explanation)),
    }
    template = files.joinpath("page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def fragment(explanation: Explanation) -> str:
    """The picture and the words, for a notebook: no script, and no styles but the picture's own."""
    parts = [svg(explanation.call, explanation.drawing)]
    parts.append("<details><summary>Step by step</summary>")
    parts += [*_trace(explanation), "</details>"]
    parts.append("<details><summary>In other libraries</summary>")
    parts += [*_elsewhere(explanation), *_code(explanation), "</details>"]
    return "\n".join(["<div>", *parts, "</div>"])


def _json(value: Any) -> str:
    """JSON that can stand in a script element: no text in it can end the element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def steps_of(explanation: Explanation) -> dict[str, Any]:
    """What the slider shows: texts of cells before the first step, and after each step."""
    call, drawn = explanation.call, explanation.drawing
    shown = _output_cells(drawn)
    start = {_key(at): _start(call, at) for at in shown}
    total = count_text(drawn.total, noun(call))
    counted = total if drawn.total <= len(explanation.trace) else f"the first {len(explanation.trace)} of {total}"
    return {
        "before": "Before the first step: the output is a copy of data" if call.is_scatter else "Before the first step",
        "whole": f"{counted}; the slider shows them one by one",
        "start": start if call.error is None else {},
        "list": [{"text": clean_text(step_text(call, step)), "after": _after(step, shown)}
                 for step in explanation.trace],
    }  # fmt: skip


def clean_text(text: str) -> str:
    """Text without characters that pages can't hold."""
    return text.encode("utf-8", "replace").decode()


def _output_cells(drawn: Drawing) -> set[tuple[int, ...]]:
    grid = drawn.grids.get("output")
    return {cell.at for pane in grid.panes for cell in pane.cells.values()} if grid else set()


def _key(at: tuple[int, ...]) -> str:
    return f"output|{','.join(map(str, at))}"


def _start(call: Call, at: tuple[int, ...]) -> str:
    if call.is_scatter:
        return value_text(call.data[at])
    return value_text(call.arrays["end_token"][()]) if call.kernel == "gather_tree" else ""


def _after(step: Step, shown: set[tuple[int, ...]]) -> dict[str, str]:
    return {_key(change.target): value_text(change.after) for change in step.changes if change.target in shown}


def _body(explanation: Explanation) -> Iterator[str]:
    call = explanation.call
    yield f'<div class="picture">{svg(call, explanation.drawing)}</div>'
    yield '<div class="walk" role="group" aria-label="Steps" hidden>'
    yield '<button type="button">Start</button>'
    yield '<button type="button">Back</button>'
    yield '<input type="range" min="0" value="0" aria-label="Step">'
    yield '<button type="button">Next</button>'
    yield '<button type="button">End</button>'
    yield '<button type="button" class="all">All at once</button></div>'
    yield '<p class="say" role="status" aria-live="polite"></p>'
    yield '<p class="dim">Point at a cell to see what it belongs to. Arrow keys walk through the steps.</p>'
    if call.error is not None:
        yield f'<p class="error" role="alert">{clean(f"{type(call.error).__name__}: {call.error}"[:2000])}</p>'
    yield "<h2>In words</h2>"
    yield f"<p>{clean(sentence(call))}</p>"
    yield from (f"<pre>{clean(rule)}</pre>" for rule in explanation.shape_rules)
    if explanation.trace:
        yield "<h2>Step by step</h2>"
        yield from _trace(explanation)
    yield "<h2>Other engines with this call</h2>"
    yield from _elsewhere(explanation)
    yield "<h2>The same in other libraries</h2>"
    yield from _code(explanation)


def _trace(explanation: Explanation) -> Iterator[str]:
    call, total = explanation.call, explanation.drawing.total
    yield '<ol class="trace">'
    yield from (f"<li>{clean(step_text(call, step))}</li>" for step in explanation.trace)
    yield "</ol>"
    if total > len(explanation.trace):
        yield f'<p class="dim">\u2026 {len(explanation.trace)} of {count_text(total, noun(call))}</p>'


def _elsewhere(explanation: Explanation) -> Iterator[str]:
    others = explanation.elsewhere
    if not others:
        yield '<p class="dim">No departure is known that this call would meet.</p>'
        return
    yield '<ul class="others">'
    for other in others[:MOST_ELSEWHERE]:
        link = "" if other.source == "run" else f' (<a href="{escape(other.source)}">reported</a>)'
        doubt = "" if other.certain else ", depending on settings"
        name = f"{other.engine} {other.releases}".strip()
        yield f"<li><b>{clean(name)}</b>, {clean(other.effect)}{doubt}: {clean(other.text)}{link}</li>"
    yield "</ul>"
    if len(others) > MOST_ELSEWHERE:
        yield f'<p class="dim">\u2026 and {len(others) - MOST_ELSEWHERE} more</p>'


def _code(explanation: Explanation) -> Iterator[str]:
    for other in explanation.equivalents.values():
        yield f"<h3>{escape(other.library)}</h3>"
        yield (
            f"<pre><code>{clean(other.code)}</code></pre>"
            if other.code
            else f'<p class="dim">{clean(other.reason)}</p>'
        )
