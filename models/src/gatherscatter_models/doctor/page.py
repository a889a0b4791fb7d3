"""A diagnosis as one HTML page that needs no network. It has a row for each node; a click shows its details."""

from __future__ import annotations

from importlib import resources
from typing import Any

from gatherscatter.messages.text import shape_text
from gatherscatter.pages.palette import Look
from gatherscatter.pages.template import render
from gatherscatter_models.doctor.report import ModelReport, NodeReport, evidence
from gatherscatter_models.findings.verdicts import Reason

LOOKS = {
    "memory": Look("\u00d7", "danger"),
    "different": Look("\u2260", "wrong"),
    "refused": Look("\u00d8", "lax"),
    "open": Look("~", "none"),
    "unknown": Look("?", "none"),
    "elsewhere": Look("\u2013", "none"),
    "supported": Look("\u2713", "right"),
}


def page(diagnosis: ModelReport, fixed: Any = None) -> str:
    """Return the whole page. ``fixed`` is a result of `gatherscatter_models.doctor.fix`."""
    return render(
        resources.files("gatherscatter_models.doctor"),
        "page.html",
        styles=["page.css"],
        diagnosis=diagnosis,
        notes=[text for text in (diagnosis.error, *diagnosis.notes, *diagnosis.advice) if text],
        fixed=fixed,
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

    >>> from gatherscatter_models.findings import catalog
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
