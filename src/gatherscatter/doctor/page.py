"""A diagnosis as one HTML page that needs no network: a row for each node, which opens."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from gatherscatter.cli.tables import shape_text
from gatherscatter.page_policy import policy

from .diagnosis import Diagnosis, NodeReport, evidence
from .verdicts import Reason, Verdict

if TYPE_CHECKING:
    from .fixes import Change, Fixed

SIGNS = {
    "memory": "\u00d7",
    "different": "\u2260",
    "refused": "\u00d8",
    "open": "~",
    "unknown": "?",
    "elsewhere": "\u2013",
    "supported": "\u2713",
}


def page(diagnosis: Diagnosis, fixed: Fixed | None = None) -> str:
    """The whole page."""
    css = resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            policy(),
            f"<title>{escape(diagnosis.model)}: gathers and scatters</title><style>{css}</style></head>",
            f'<body style="--targets: {len(diagnosis.targets)}">',
            f"<h1>Gathers and scatters of {escape(diagnosis.model)}</h1>",
            *_heading(diagnosis),
            *(_nodes(diagnosis) if diagnosis.nodes else ()),
            *(_fixed(fixed) if fixed else ()),
            "</body></html>\n",
        ]
    )


def _heading(diagnosis: Diagnosis) -> Iterator[str]:
    yield '<ul class="summary">'
    yield from (f"<li>{escape(line)}</li>" for line in diagnosis.summary)
    yield "</ul>"
    if diagnosis.ran:
        yield "<p>By the values that reached each node in one run.</p>"
    elif diagnosis.nodes:
        yield "<p>By the file alone: what depends on values that are made at run time is possible, not certain.</p>"
    yield from (f'<p class="note">{escape(text)}</p>' for text in (diagnosis.error, *diagnosis.notes) if text)


def _nodes(diagnosis: Diagnosis) -> Iterator[str]:
    yield "<h2>Nodes</h2>"
    heads = ("node", "operator", "indices and values", *diagnosis.targets)
    yield f'<div class="row head" aria-hidden="true">{"".join(f"<span>{escape(head)}</span>" for head in heads)}</div>'
    for node in diagnosis.nodes:
        yield '<details><summary><span class="row">'
        yield f"<span>{escape(node.site.name or node.site.label)}</span><span>{escape(operator_text(node))}</span>"
        yield f"<span>{escape(node.facts)}</span>"
        yield from (_cell(target, verdict) for target, verdict in node.verdicts.items())
        yield '</span></summary><div class="inside">'
        yield f"<p>{escape(node.site.label)}</p>"
        yield from _operands(node)
        for target, verdict in node.verdicts.items():
            yield from (line for reason in verdict.reasons for line in _reason(target, reason))
        yield "</div></details>"


def operator_text(node: NodeReport) -> str:
    """The version and the reduction of a node."""
    reduction = node.record.reduction
    name = node.site.row.name.removeprefix(f"{node.site.row.domain}.")
    return name if reduction == "none" else f"{name} {reduction or '(reduction unknown)'}"


def _cell(target: str, verdict: Verdict) -> str:
    kind = verdict.status if verdict.certain else f"{verdict.status} possible"
    text = f"{SIGNS[verdict.status]} {escape(str(verdict))}"
    return f'<span class="{kind}"><span class="target">{escape(target)}: </span>{text}</span>'


def _operands(node: NodeReport) -> Iterator[str]:
    record = node.record
    yield "<table><tr><th>input</th><th>tensor</th><th>type</th><th>shape</th></tr>"
    for operand in filter(None, node.site.operands):
        shape = shape_text(record.shapes.get(operand.role))
        tensor = f"{operand.tensor} (constant)" if operand.constant else operand.tensor
        cells = (operand.role, tensor, record.types.get(operand.role) or "unknown", shape)
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
    yield "</table>"
    if node.site.attributes:
        attributes = ", ".join(f"{name} = {value}" for name, value in node.site.attributes.items())
        yield f'<p class="soft">{escape(attributes)}</p>'


def _reason(target: str, reason: Reason) -> Iterator[str]:
    finding = reason.finding
    kind = reason.status if reason.certain else f"{reason.status} possible"
    yield f'<div class="reason"><p class="{kind}">{escape(target)}: {escape(finding.title)}</p>'
    yield f"<p>{escape(condition_text(reason))}. Observed: {escape(finding.observed)}</p>"
    link = f' <a href="{escape(finding.url)}">{escape(finding.url)}</a>' if finding.url.startswith("https://") else ""
    yield f'<p class="soft">{escape(finding.source)}; {escape(evidence(reason))}.{link}</p></div>'


def condition_text(reason: Reason) -> str:
    """When a finding holds, and whether it does here.

    >>> from gatherscatter.conformance import findings
    >>> race = next(each for each in findings.load() if each.id == "onnxruntime-scatternd-race")
    >>> condition_text(Reason(race, 3))
    'repeated: 3 here, but not in each run'
    """
    name = reason.finding.condition
    if name == "always":
        return "Always" if reason.certain else "Depends on types or attributes that are not known"
    if reason.by_chance and reason.count is not None:
        return f"{name}: {reason.count} here, but not in each run"
    return f"{name}: {reason.count} here" if reason.certain else f"{name}: depends on the values"


def _fixed(fixed: Fixed) -> Iterator[str]:
    yield "<h2>Rewritten</h2>"
    yield f"<p>{escape(proof_text(fixed))}</p>"
    yield from _changes(fixed.made)
    yield from (f'<p class="note">{escape(text)}</p>' for text in fixed.risks)
    if fixed.on_targets:
        yield "<ul>"
        yield from (f"<li>{escape(name)}: {escape(text)}</li>" for name, text in fixed.on_targets.items())
        yield "</ul>"
    if fixed.left:
        yield "<h2>Left as it is</h2>"
        yield from _changes(fixed.left)


def _changes(changes: tuple[Change, ...]) -> Iterator[str]:
    yield "<table><tr><th>node</th><th>because of</th><th></th></tr>"
    for each in changes:
        cells = (each.label, ", ".join(each.conditions), each.text)
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
    yield "</table>"


def proof_text(fixed: Fixed) -> str:
    """What was written, and what shows that it means the same."""
    if fixed.path is None or fixed.proof is None:
        return "nothing to rewrite; no file was written"
    proof = fixed.proof
    runs = [(proof.given, "with your inputs"), (proof.random, "with inputs made up")]
    counted = " and ".join(f"{count} run{'s' if count != 1 else ''} {which}" for count, which in runs if count)
    refused = f"; {proof.refused} more were errors in both" if proof.refused else ""
    legal = "; shapes of updates are taken to be legal"
    return f"written: {fixed.path}; the same bits as the original in {counted}{refused}{legal}"
