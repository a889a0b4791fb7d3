"""`examine`: read a model, run it if there are inputs, and judge every gather and scatter node."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import ArrayLike

from gatherscatter.errors import OpError
from gatherscatter.files import write_text
from gatherscatter.findings.nodes import Key, Observer, Site, collect_call_values, collect_static_values
from gatherscatter.findings.verdicts import (
    DEFAULT,
    DEPARTURES,
    OWN_RUNTIME,
    STATUSES,
    Reason,
    Record,
    Verdict,
    judge,
    merge_records,
    names,
    record_of,
)
from gatherscatter.lazy_modules import load
from gatherscatter.model_interface import Model, ModelError, check_model, is_openvino_model, name_inputs
from gatherscatter.specs.rows import DOMAIN
from gatherscatter.specs.table import OpVersion

if TYPE_CHECKING:
    from gatherscatter.models import ModelSource


class NodeSource(Protocol):
    """A model to examine: ``sites`` are its gather and scatter nodes, ``notes`` name the parts not examined."""

    name: str
    sites: list[Site]
    notes: list[str]

    def load(self, observe: Observer) -> Model:
        """Return the model, ready to run. ``observe`` is called for every gather and scatter node."""
        ...


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
        return ", ".join(parts) or "computed at run time"


_WORDS = {"nan": "NaN", "wide values": "beyond 32 bits", "wide indices": "indices beyond 32 bits"}


class HasData(Protocol):
    """The result of `gatherscatter.doctor.fix`, which can be written as JSON."""

    def data(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Diagnosis:
    """The facts about a model's gathers and scatters, and what runtimes do with them. `examine` returns it.

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
                f"{OWN_RUNTIME}: in Python, gatherscatter.onnx.InferenceSession(MODEL) gives {promise}",
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

    def save_html(self, path: str | os.PathLike[str], fixed: HasData | None = None) -> None:
        """Write the report as one HTML page that needs no network."""
        write_text(path, load(__name__, "page")(self, fixed))


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


def collect_reasons(diagnosis: Diagnosis) -> Iterator[tuple[str, Reason, list[NodeReport]]]:
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


Inputs = Mapping[str, ArrayLike] | Sequence[ArrayLike]


def examine(
    model: ModelSource,
    inputs: Inputs | None = None,
    *,
    targets: Sequence[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Diagnosis:
    """Report what runtimes do with the gather and scatter nodes of a model, judged by known findings.

    Without inputs, only the types, shapes and constants of the file are known. A verdict that depends on other values
    is not certain: its text begins with "may". With inputs, gatherscatter runs the model and checks the values at each
    node. The verdicts are then about these inputs only.

    Parameters
    ----------
    model : path or onnx.ModelProto
        An ``.onnx`` file, the ``.xml`` of an OpenVINO IR, or a ModelProto.
    inputs : mapping of str to array, or sequence of arrays, optional
        The inputs of one run, as for `gatherscatter.run`.
    targets : sequence of str, optional
        Runtimes to judge. Default: ONNX Runtime and OpenVINO. `gatherscatter.doctor.names` lists all. The findings
        about most of the others come from public threads. Such verdicts are marked "reported".
    progress : callable, optional
        Called with a description before every node of the main graph.

    Returns
    -------
    Diagnosis
        ``nodes`` has a report for each node, the worst first. ``summary`` has a line for each target. ``advice`` says
        how to run nodes that ONNX Runtime gets wrong or refuses.

    Raises
    ------
    ModelError
        The file can't be read, or the inputs don't fit the model.
    ValueError
        A target is unknown.

    >>> import numpy as np, onnx
    >>> from gatherscatter.doctor import examine
    >>> model = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 18]>
    ...     pick (float[n] data, int64[k, 1] places) => (float[k] out) { out = GatherND (data, places) }''')
    >>> for line in examine(model).summary:                                 # the file alone
    ...     print(line)
    openvino: 1 of 1 may crash or read out-of-bounds memory
    onnxruntime: 1 of 1 supported
    >>> examine(model, [np.zeros(9, np.float32), np.array([[3], [-1]])]).summary
    ['onnxruntime: 1 of 1 supported', 'openvino: 1 of 1 supported']
    """
    chosen = check_targets(targets)
    source = read_source(model)
    seen: dict[Key, Record] = {}
    error = "" if inputs is None else _run(source, inputs, seen, progress)
    nodes = [_report(site, seen.get(site.key), chosen) for site in source.sites]
    nodes.sort(key=lambda node: node.rank)
    return Diagnosis(source.name, chosen, tuple(nodes), bool(seen), error, tuple(source.notes))


def read_source(model: ModelSource) -> NodeSource:
    """Return the nodes of a model, from an IR or from ONNX."""
    check_model(model, kinds="a path, a ModelProto or an openvino.Model")
    is_xml = isinstance(model, str | os.PathLike) and Path(model).suffix.lower() == ".xml"
    if is_xml or is_openvino_model(model):
        from gatherscatter.doctor.ir_nodes import IrSource

        return IrSource(model)
    from gatherscatter.doctor.onnx_nodes import OnnxSource

    return OnnxSource(model)


def check_targets(targets: Sequence[str] | None) -> tuple[str, ...]:
    """Return the targets, each once."""
    for target in targets or ():
        if target not in names():
            raise ValueError(f"there is no target {target!r}; there are {', '.join(names())}")
    return tuple(dict.fromkeys(targets or DEFAULT))


def _run(source: NodeSource, inputs: Inputs, seen: dict[Key, Record], progress: Callable[[str], None] | None) -> str:
    """Run the model and record the values at its nodes. Return the reason if it stopped, else ''."""
    sites = {site.key: site for site in source.sites}

    def observe(key: Key, row: OpVersion, arrays: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        record = record_of(collect_call_values(sites[key], arrays, attributes), calls=1)
        seen[key] = merge_records(seen[key], record) if key in seen else record

    try:
        model = source.load(observe)
    except ModelError as error:
        return f"the model can't be run here: {error}"
    given = name_inputs(model.inputs, inputs)
    try:
        model.run(given, progress)
    except (OpError, TypeError, ValueError, IndexError, NotImplementedError, RuntimeError) as error:
        notes = getattr(error, "__notes__", ())  # they name the node
        if isinstance(error, ModelError) and not (seen or notes):
            raise  # the inputs are wrong
        return "; ".join([f"the model stopped: {error}", *notes])
    return ""


def _report(site: Site, seen: Record | None, targets: Sequence[str]) -> NodeReport:
    told = record_of(collect_static_values(site), calls=0)
    return NodeReport(site, told, seen, {target: judge(target, site.row, told, seen) for target in targets})
