"""A diagnosis as one HTML page that needs no network: a row for each node, which opens."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from gatherscatter.doctor.examine import Diagnosis, NodeReport, evidence
from gatherscatter.findings.verdicts import Reason
from gatherscatter.pages.template import render
from gatherscatter.text import shape_text

if TYPE_CHECKING:
    from gatherscatter.doctor.fixes import Fixed

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
    return render(
        resources.files("gatherscatter.doctor"),
        "page.html",
        styles=["page.css"],
        diagnosis=diagnosis,
        notes=[text for text in (diagnosis.error, *diagnosis.notes, *diagnosis.advice) if text],
        fixed=fixed,
        proof=proof_text(fixed) if fixed else "",
        signs=SIGNS,
        operator_text=operator_text,
        condition_text=condition_text,
        evidence=evidence,
        shape_text=shape_text,
    )


def operator_text(node: NodeReport) -> str:
    """The version and the reduction of a node."""
    reduction = node.record.reduction
    name = node.site.row.name.removeprefix(f"{node.site.row.domain}.")
    return name if reduction == "none" else f"{name} {reduction or '(reduction unknown)'}"


def condition_text(reason: Reason) -> str:
    """When a finding holds, and whether it does here.

    >>> from gatherscatter.findings import catalog
    >>> race = next(each for each in catalog.load() if each.id == "onnxruntime-scatternd-race")
    >>> condition_text(Reason(race, 3))
    'repeated: 3 here, but not in each run'
    """
    name = reason.finding.condition
    if name == "always":
        return "Always" if reason.certain else "Depends on types or attributes that are not known"
    if reason.by_chance and reason.count is not None:
        return f"{name}: {reason.count} here, but not in each run"
    return f"{name}: {reason.count} here" if reason.certain else f"{name}: depends on the values"


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
