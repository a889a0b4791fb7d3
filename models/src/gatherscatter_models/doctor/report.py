"""The facts about the gather and scatter nodes of a model, and the verdicts about them."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from gatherscatter.operation import Form
from gatherscatter.specs.rows import DOMAIN
from gatherscatter.system.files import write_text
from gatherscatter_models.findings.nodes import Site
from gatherscatter_models.findings.verdicts import DEPARTURES, OWN_RUNTIME, STATUSES, Reason, Record, Verdict

SHOWN = ("negative", "out of range", "repeated", "nan", "wide values", "wide indices", "empty indices", "k=0")


@dataclass(frozen=True)
class NodeReport:
    """The facts about one gather or scatter node, and the verdicts about it.

    Attributes
    ----------
    site : the node: its name, its op version and its inputs
    told : the facts that follow from the file alone
    seen : the facts from the run; None if the node did not run
    verdicts : by runtime, the `Verdict` about the node
    """

    site: Site
    told: Record
    seen: Record | None
    verdicts: dict[str, Verdict]

    @property
    def record(self) -> Record:
        """The best facts known: those of the run, else those of the file."""
        return self.seen or self.told

    @property
    def rank(self) -> tuple[int, bool]:
        """Sort key: worst first."""
        return min(verdict.rank for verdict in self.verdicts.values())

    @property
    def facts(self) -> str:
        """A one-line summary of the index values.

        >>> from gatherscatter_models.doctor import examine
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
            kind = "tuple" if self.site.row.kernel.form == Form.TUPLES else "index"
            plural = {"tuple": "tuples", "index": "indices"}[kind]
            parts.append(f"{record.tuples} {kind if record.tuples == 1 else plural}")
        if record.lowest is not None and record.highest is not None:
            parts.append(f"{record.lowest}..{record.highest}" if record.lowest < record.highest else f"{record.lowest}")
        for name in SHOWN:
            count = record.counts[name]
            if count:
                parts.append(name if name in ("empty indices", "k=0") else f"{count} {_WORDS.get(name, name)}")
        return ", ".join(parts) or "computed at run time"


_WORDS = {"nan": "NaN", "wide values": "beyond 32 bits", "wide indices": "indices beyond 32 bits"}


class HasData(Protocol):
    """The result of `gatherscatter_models.doctor.fix`, which can be written as JSON."""

    def data(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class ModelReport:
    """The facts about a model's gathers and scatters, and what runtimes do with them.

    Attributes
    ----------
    model : the file name of the model
    targets : the names of the runtimes that the verdicts are about
    nodes : a `NodeReport` for each gather and scatter node, the one with the worst verdict first
    ran : whether the model ran. The verdicts are then about the values of that run
    error : the reason why the run stopped or was not possible; empty if it finished or was not requested
    notes : the parts of the model that could not be examined
    """

    model: str
    targets: tuple[str, ...]
    nodes: tuple[NodeReport, ...]
    ran: bool
    error: str
    notes: tuple[str, ...] = field(default=())

    @property
    def worst(self) -> str:
        """The worst status of all verdicts that count: a key of `verdicts.STATUSES`. "supported" if none counts."""
        counted = [v.status for node in self.nodes for v in node.verdicts.values() if v.is_counted]
        return min(counted, key=list(STATUSES).index, default="supported")

    @property
    def summary(self) -> list[str]:
        """A line for each target, the worst first."""
        if not self.nodes:
            return ["no gather or scatter nodes"]
        counts = {target: Counter(node.verdicts[target].rank for node in self.nodes) for target in self.targets}
        ordered = sorted(self.targets, key=lambda target: min(counts[target]))
        return [f"{target}: {self._tally(target, counts[target])}" for target in ordered]

    @property
    def advice(self) -> list[str]:
        """A line for each way to run the nodes that a target gets wrong or lacks."""
        lines = []
        ours = any(node.site.row.domain == DOMAIN for node in self.nodes)
        statuses = {node.verdicts[OWN_RUNTIME].status for node in self.nodes if OWN_RUNTIME in node.verdicts}
        if not statuses.isdisjoint((*DEPARTURES, "open")):
            promise = "the same results in every run" if statuses.isdisjoint(DEPARTURES) else "correct results"
            lines += [
                f"{OWN_RUNTIME}: in Python, gatherscatter_models.onnx.InferenceSession(MODEL) gives {promise}",
                f"{OWN_RUNTIME}: for any language, gatherscatter convert MODEL FIXED.onnx --for {OWN_RUNTIME} writes a "
                f"model with {promise}",
            ]
        if ours and OWN_RUNTIME in self.targets:
            lines.append(
                f"{OWN_RUNTIME}: nodes of the domain {DOMAIN} need gatherscatter's library; "
                "gatherscatter library prints its path"
            )
        if others := [name for name in self.targets if ours and name != OWN_RUNTIME]:
            lines.append(f"{', '.join(others)}: no library has the domain {DOMAIN}; use the model without this domain")
        return lines

    def _tally(self, target: str, counts: Counter[tuple[int, bool]]) -> str:
        texts = {node.verdicts[target].rank: str(node.verdicts[target]) for node in self.nodes}
        total = len(self.nodes)
        return ", ".join(f"{counts[rank]} of {total} {texts[rank]}" for rank in sorted(counts))

    def data(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "format": 1,
            "model": self.model,
            "targets": list(self.targets),
            "ran": self.ran,
            "error": self.error,
            "notes": list(self.notes),
            "summary": self.summary,
            "advice": self.advice,
            "nodes": [_node(node) for node in self.nodes],
        }

    def save_json(self, path: str | os.PathLike[str], fixed: HasData | None = None) -> None:
        """Write `data` to a JSON file, with the data of ``fixed`` if given."""
        content = self.data() | ({"fix": fixed.data()} if fixed else {})
        write_text(path, json.dumps(content, indent=1) + "\n")


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
    """Return an attribute as JSON values. A tensor or a graph, which no gather or scatter has, becomes text."""
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
    """Return the source of a finding: this package's test of a release, or a public thread."""
    finding = reason.finding
    if finding.evidence == "run":
        return f"tested with {finding.runtime} {finding.releases}".rstrip()
    return f"from a public thread, not tested{f' (release {finding.releases})' if finding.releases else ''}"


def collect_reasons(diagnosis: ModelReport) -> Iterator[tuple[str, Reason, list[NodeReport]]]:
    """Yield each finding that applies, with its target and its nodes, the most severe first."""
    found: dict[tuple[str, str], tuple[str, Reason, list[NodeReport]]] = {}
    for node in diagnosis.nodes:
        for target, verdict in node.verdicts.items():
            for reason in verdict.reasons:
                entry = found.setdefault((target, reason.finding.id), (target, reason, []))
                entry[2].append(node)
    yield from sorted(
        found.values(),
        key=lambda entry: (not (entry[1].certain or entry[1].is_crash_by_chance), entry[1].finding.severity),
    )
