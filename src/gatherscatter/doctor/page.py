"""A diagnosis as one HTML page that needs no network. It has a row for each node; a click shows its details."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from gatherscatter.doctor.examine import Diagnosis, NodeReport, evidence
from gatherscatter.findings.verdicts import Reason
from gatherscatter.pages.palette import Look
from gatherscatter.pages.template import render
from gatherscatter.text import shape_text

if TYPE_CHECKING:
    from gatherscatter.doctor.fixes import Fixed

LOOKS = {
    "memory": Look("\u00d7", "danger"),
    "different": Look("\u2260", "wrong"),
    "refused": Look("\u00d8", "lax"),
    "open": Look("~", "none"),
    "unknown": Look("?", "none"),
    "elsewhere": Look("\u2013", "none"),
    "supported": Look("\u2713", "right"),
}


def page(diagnosis: Diagnosis, fixed: Fixed | None = None) -> str:
    """Return the whole page."""
    return render(
        resources.files("gatherscatter.doctor"),
        "page.html",
        styles=["page.css"],
        diagnosis=diagnosis,
        notes=[text for text in (diagnosis.error, *diagnosis.notes, *diagnosis.advice) if text],
        fixed=fixed,
        proof=proof_text(fixed) if fixed else "",
        signs={status: look.sign for status, look in LOOKS.items()},
        operator_text=operator_text,
        condition_text=condition_text,
        evidence=evidence,
        shape_text=shape_text,
    )


def operator_text(node: NodeReport) -> str:
    """Return the op version and the reduction of a node."""
    reduction = node.record.reduction
    name = node.site.row.name.removeprefix(f"{node.site.row.domain}.")
    return name if reduction == "none" else f"{name} {reduction or '(reduction unknown)'}"


def condition_text(reason: Reason) -> str:
    """Return the condition of a finding, and how many values meet it here.

    >>> from gatherscatter.findings import catalog
    >>> race = next(each for each in catalog.load() if each.id == "onnxruntime-scatternd-race")
    >>> condition_text(Reason(race, 3))
    'repeated: 3 here; the effect varies from run to run'
    """
    name = reason.finding.condition
    unknown = [*([] if reason.count is not None else ["the values"]), *reason.unknown]
    depends = f"depends on {' and '.join(unknown)}" if unknown else ""
    if name == "always":
        text = _capitalize(depends) or "Always"
    elif depends:
        text = f"{name}: {depends}"
    else:
        text = f"{name}: {reason.count} here"
    return f"{text}; the effect varies from run to run" if reason.by_chance else text


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def proof_text(fixed: Fixed) -> str:
    """Return a line that names the file written and the runs that proved it equal to the original."""
    if fixed.path is None or fixed.proof is None:
        return "nothing to rewrite; no file was written"
    proof = fixed.proof
    runs = [(proof.given, "with your inputs"), (proof.random, "with generated inputs")]
    counted = " and ".join(f"{count} run{'s' if count != 1 else ''} {which}" for count, which in runs if count)
    refused = f"; {proof.refused} more failed in both models" if proof.refused else ""
    legal = "; legal shapes of updates are assumed"
    widened = " with sums and products of halves in float32" if fixed.widened else ""
    return f"written: {fixed.path}; bit-for-bit identical to the original{widened} in {counted}{refused}{legal}"
