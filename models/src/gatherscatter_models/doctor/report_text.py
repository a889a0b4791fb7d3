"""A diagnosis as the lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gatherscatter.messages.text import shape_text
from gatherscatter.pages.palette import Marked
from gatherscatter_models.doctor.page import LOOKS, condition_text, operator_text
from gatherscatter_models.doctor.report import ModelReport, NodeReport, collect_reasons, evidence

if TYPE_CHECKING:
    from gatherscatter_models.doctor.fixes import Change, Fixed

NAMED = 3  # the most nodes that one line names


def table(diagnosis: ModelReport) -> tuple[list[str], list[list[str | Marked]]]:
    """Return the headers, and a row for each node."""
    headers = ["node", "operator", "data", "values", *diagnosis.targets]
    return headers, [_row(node) for node in diagnosis.nodes]


def _row(node: NodeReport) -> list[str | Marked]:
    role = node.site.row.inputs[0].name
    data = f"{node.record.types.get(role) or 'unknown type'} {shape_text(node.record.shapes.get(role))}"
    verdicts = [Marked(str(verdict), LOOKS[verdict.status]) for verdict in node.verdicts.values()]
    return [node_text(node), operator_text(node), data, node.facts, *verdicts]


def node_text(node: NodeReport) -> str:
    """Return the name of a node. A hint follows if the node is not in the main graph."""
    site = node.site
    if not site.graph:
        return site.name
    return f"{site.name} (in a function)" if site.key[0] == "function" else f"{site.name} (in a body)"


def summary(diagnosis: ModelReport) -> Iterator[str | Marked]:
    """Yield a line for each target, in the look of its worst verdict."""
    worst = {
        target: min((node.verdicts[target] for node in diagnosis.nodes), key=lambda verdict: verdict.rank)
        for target in (diagnosis.targets if diagnosis.nodes else ())
    }
    for line in diagnosis.summary:
        verdict = worst.get(line.partition(": ")[0])
        yield Marked(line, LOOKS[verdict.status]) if verdict else line


def explanations(diagnosis: ModelReport) -> Iterator[str]:
    """Yield the lines that explain each finding that applies."""
    for target, reason, nodes in collect_reasons(diagnosis):
        finding = reason.finding
        yield f"{target}: {finding.title}"
        yield f"  {condition_text(reason)}, in {_join_names([node.site.name for node in nodes])}"
        yield f"  observed: {finding.observed} ({evidence(reason)})"
        if finding.url:
            yield f"  {finding.url}"


def fix_lines(fixed: Fixed) -> Iterator[str]:
    """Yield the lines about a rewritten model: changes, nodes left unchanged, costs, and the proof that it is equal."""
    for title, changes in (("rewritten", fixed.made), ("not rewritten", fixed.left)):
        grouped: dict[tuple[tuple[str, ...], str], list[Change]] = {}
        for change in changes:
            grouped.setdefault((change.conditions, change.text), []).append(change)
        if grouped:
            yield f"{title}:"
        for (conditions, text), same in grouped.items():
            yield f"  {_join_names([change.label for change in same])} ({', '.join(conditions)}): {text}"
    if fixed.after is not None:
        yield "the rewritten model:"
        yield from (f"  {line}" for line in fixed.after.summary)
        yield from (f"  {line}" for line in fixed.risks)
        yield from (f"  run by {name}: {text}" for name, text in fixed.on_targets.items())
        yield from (f"  {line}" for line in fixed.cost_summary)
    yield fixed.proof_line
    yield from fixed.advice


def _join_names(labels: list[str]) -> str:
    if len(labels) <= NAMED:
        return ", ".join(labels)
    return f"{', '.join(labels[:NAMED])} and {len(labels) - NAMED} more"
