"""An explanation as one HTML page that needs no network: the picture, a slider through the steps, and the words."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

from gatherscatter.explaining.call import ExplainedCall
from gatherscatter.explaining.facts import CallFacts
from gatherscatter.explaining.scene import Drawing
from gatherscatter.explaining.svg import stacked_svg, svg
from gatherscatter.explaining.wording import heading, noun, sentence, step_text, value_text
from gatherscatter.messages.text import count_text
from gatherscatter.operation import Kernel
from gatherscatter.pages.elements import clean_text
from gatherscatter.pages.template import render

if TYPE_CHECKING:
    from gatherscatter.explaining.trace import Step

_FOLDER = resources.files("gatherscatter.explaining")


def page(explanation: CallFacts) -> str:
    """The whole page."""
    return render(
        _FOLDER,
        "page.html",
        styles=["page.css"],
        scripts=["dom.js", "walk.js", "page.js"],
        data={"steps": steps_of(explanation)},
        **_values(explanation),
    )


def main(explanation: CallFacts) -> str:
    """The content of the page, for another page that has its style sheet and ``walk.js``."""
    return render(_FOLDER, "main.html", **_values(explanation))


def fragment(explanation: CallFacts) -> str:
    """The picture and the words, for a notebook: no script, and only the styles of the picture."""
    return render(_FOLDER, "fragment.html", **_values(explanation))


def _values(explanation: CallFacts) -> dict[str, Any]:
    """The content of page and fragment."""
    call, drawn = explanation.call, explanation.drawing
    is_cut = drawn.total > len(explanation.trace)
    return {
        "heading": heading(call) + ("" if call.error is None else ": fails"),
        "sentence": sentence(call),
        "shape_rules": explanation.shape_rules,
        "error": "" if call.error is None else f"{type(call.error).__name__}: {call.error}"[:2000],
        "broken_rule": explanation.broken_rule,
        "picture": svg(call, drawn, has_words=False),
        "stacked": stacked_svg(call, drawn),
        "steps": [step_text(call, step) for step in explanation.trace],
        "total": count_text(drawn.total, noun(call)) if is_cut else "",
        "equivalents": [] if call.error else explanation.equivalents.values(),
    }


def steps_of(explanation: CallFacts) -> dict[str, Any]:
    """The texts that the slider shows: those of cells before the first step, and after each step."""
    call, drawn = explanation.call, explanation.drawing
    shown = _output_cells(drawn)
    start = {_key(at): _start(call, at) for at in shown}
    total = count_text(drawn.total, noun(call))
    counted = total if drawn.total <= len(explanation.trace) else f"the first {len(explanation.trace)} of {total}"
    return {
        "before": "Before the first step: the output is a copy of data" if call.is_scatter else "Before the first step",
        "whole": f"{counted}: the slider shows them one by one",
        "start": start if call.error is None else {},
        "list": [{"text": clean_text(step_text(call, step)), "after": _after(step, shown)}
                 for step in explanation.trace],
    }  # fmt: skip


def _output_cells(drawn: Drawing) -> set[tuple[int, ...]]:
    grid = drawn.grids.get("output")
    return {cell.at for pane in grid.panes for cell in pane.cells.values()} if grid else set()


def _key(at: tuple[int, ...]) -> str:
    return f"output|{','.join(map(str, at))}"


def _start(call: ExplainedCall, at: tuple[int, ...]) -> str:
    if call.is_scatter:
        return value_text(call.data[at])
    return value_text(call.arrays["end_token"][()]) if call.kernel == Kernel.GATHER_TREE else ""


def _after(step: Step, shown: set[tuple[int, ...]]) -> dict[str, str]:
    return {_key(change.target): value_text(change.after) for change in step.changes if change.target in shown}
