"""What the doctor says about a model: a report for every node, and what holds for all."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gatherscatter.files import write_text

from .record import Record
from .sites import Site
from .verdicts import STATUSES, Reason, Verdict

if TYPE_CHECKING:
    from .fixes import Fixed

SHOWN = ("negative", "out of range", "repeated", "nan", "wide values", "wide indices", "empty indices", "k=0")


@dataclass(frozen=True)
class NodeReport:
    """One node: ``told`` is what the file tells, ``seen`` what reached it when the model ran, None if nothing did."""

    site: Site
    told: Record
    seen: Record | None
    verdicts: dict[str, Verdict]

    @property
    def record(self) -> Record:
        """The best that is known."""
        return self.seen or self.told

    @property
    def rank(self) -> tuple[int, bool]:
        """Worst first."""
        return min(verdict.rank for verdict in self.verdicts.values())

    @property
    def facts(self) -> str:
        """The noteworthy about the values, in a few words.

        >>> from gatherscatter.doctor import examine
        >>> import numpy as np, onnx
        >>> model = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 18]>
        ...     g (float[4] data, int64[n, 1] indices, float[n] updates) => (float[4] out)
        ...     { out = ScatterND (data, indices, updates) }''')
        >>> inputs = {"data": np.zeros(4, "f"), "indices": np.array([[1], [-3], [0]]), "updates": np.ones(3, "f")}
        >>> examine(model, inputs).nodes[0].facts
        '3 tuples, -3..1, 1 negative, 1 repeated'
        """
        record = self.record
        parts = []
        if record.tuples is not None:
            kind = "tuple" if self.site.row.kernel.endswith("_nd") else "index"
            plural = {"tuple": "tuples", "index": "indices"}[kind]
            parts.append(f"{record.tuples} {kind if record.tuples == 1 else plural}")
        if record.lowest is not None and record.highest is not None:
            parts.append(f"{record.lowest}..{record.highest}" if record.lowest < record.highest else f"{record.lowest}")
        for name in SHOWN:
            count = record.counts[name]
            if count:
                parts.append(name if name in ("empty indices", "k=0") else f"{count} {_WORDS.get(name, name)}")
        return ", ".join(parts) or "made at run time"


_WORDS = {"nan": "NaN", "wide values": "beyond 32 bits", "wide indices": "indices beyond 32 bits"}


@dataclass(frozen=True)
class Diagnosis:
    """What is known of a model's gathers and scatters, and what runtimes do with them; `examine` makes it.

    Attributes
    ----------
    model : its file name
    targets : the runtimes that were asked about
    nodes : a `NodeReport` for each node, the worst first
    ran : whether the model ran, so that actual values were seen
    error : why it stopped, or could not run; empty if it ran to its end or was not to run
    notes : what could not be looked at
    """

    model: str
    targets: tuple[str, ...]
    nodes: tuple[NodeReport, ...]
    ran: bool
    error: str
    notes: tuple[str, ...] = field(default=())

    @property
    def worst(self) -> str:
        """The worst status of any node that is certain: a key of `verdicts.STATUSES`; "supported" where none is."""
        certain = [v.status for node in self.nodes for v in node.verdicts.values() if v.certain]
        return min(certain, key=list(STATUSES).index, default="supported")

    @property
    def summary(self) -> list[str]:
        """A line for each target, the worst first."""
        if not self.nodes:
            return ["no gather or scatter nodes"]
        counts = {target: Counter(node.verdicts[target].rank for node in self.nodes) for target in self.targets}
        ordered = sorted(self.targets, key=lambda target: min(counts[target]))
        return [f"{target}: {self._tally(target, counts[target])}" for target in ordered]

    def _tally(self, target: str, counts: Counter[tuple[int, bool]]) -> str:
        texts = {node.verdicts[target].rank: str(node.verdicts[target]) for node in self.nodes}
        total = len(self.nodes)
        return ", ".join(f"{counts[rank]} of {total} {texts[rank]}" for rank in sorted(counts))

    def data(self) -> dict[str, Any]:
        """Everything, in what JSON has."""
        return {
            "format": 1,
            "model": self.model,
            "targets": list(self.targets),
            "ran": self.ran,
            "error": self.error,
            "notes": list(self.notes),
            "summary": self.summary,
            "nodes": [_node(node) for node in self.nodes],
        }

    def save_json(self, path: str | os.PathLike[str], fixed: Fixed | None = None) -> None:
        """Write `data` into a file, and that of a rewriting."""
        content = self.data() | ({"fix": fixed.data()} if fixed else {})
        write_text(path, json.dumps(content, indent=1) + "\n")

    def save_html(self, path: str | os.PathLike[str], fixed: Fixed | None = None) -> None:
        """Write a page that needs no network."""
        from .page import page

        write_text(path, page(self, fixed))


def _node(node: NodeReport) -> dict[str, Any]:
    site, record = node.site, node.record
    return {
        "name": site.name,
        "label": site.label,
        "op": site.row.name,
        "attributes": {name: _plain(value) for name, value in site.attributes.items()},
        "inputs": [
            {
                "role": operand.role,
                "tensor": operand.tensor,
                "type": record.types.get(operand.role),
                "shape": None if (shape := record.shapes.get(operand.role)) is None else list(shape),
                "constant": operand.constant is not None,
            }
            for operand in site.operands
            if operand is not None
        ],
        "calls": record.calls,
        "tuples": record.tuples,
        "lowest": record.lowest,
        "highest": record.highest,
        "counts": {name: count for name, count in record.counts.items() if name != "always"},
        "facts": node.facts,
        "verdicts": {target: _verdict(verdict) for target, verdict in node.verdicts.items()},
    }


def _plain(value: Any) -> Any:
    """An attribute in what JSON has: a tensor or a graph, which no operator of the family has, as text."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    known = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    return value if known else " ".join(str(value).split())


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "status": verdict.status,
        "certain": verdict.certain,
        "text": str(verdict),
        "reasons": [_reason(reason) for reason in verdict.reasons],
    }


def _reason(reason: Reason) -> dict[str, Any]:
    finding = reason.finding
    return {
        "finding": finding.id,
        "title": finding.title,
        "condition": finding.condition,
        "count": reason.count,
        "effect": finding.effect,
        "observed": finding.observed,
        "source": finding.source,
        "evidence": evidence(reason),
        "url": finding.url,
    }


def evidence(reason: Reason) -> str:
    """Where a finding is from: our own run of a release, or a public thread."""
    finding = reason.finding
    if finding.evidence == "run":
        return f"our run of {finding.runtime} {finding.releases}".rstrip()
    return f"as a public thread has it, not run by us{f' (release {finding.releases})' if finding.releases else ''}"


def reasons(diagnosis: Diagnosis) -> Iterator[tuple[str, Reason, list[NodeReport]]]:
    """Each finding that plays a part, with its target and the nodes it concerns, in order of severity."""
    found: dict[tuple[str, str], tuple[str, Reason, list[NodeReport]]] = {}
    for node in diagnosis.nodes:
        for target, verdict in node.verdicts.items():
            for reason in verdict.reasons:
                entry = found.setdefault((target, reason.finding.id), (target, reason, []))
                entry[2].append(node)
    yield from sorted(found.values(), key=lambda entry: (not entry[1].certain, entry[1].finding.severity))
