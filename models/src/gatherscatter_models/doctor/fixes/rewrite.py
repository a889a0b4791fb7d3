"""Apply rewritings to a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import onnx

from gatherscatter.specs.rows import DOMAIN
from gatherscatter_models.doctor.fixes.draft import ModelDraft, UnfixableError
from gatherscatter_models.doctor.fixes.table import INEXACT, LEFT, NO_ANSWER, Rewriting, sums_halves
from gatherscatter_models.doctor.onnx_nodes import OnnxSource
from gatherscatter_models.doctor.report import NodeReport
from gatherscatter_models.findings.nodes import Key
from gatherscatter_models.onnx.bodies import Body
from gatherscatter_models.onnx.builder import FreeNames, drop_unused, names_of


@dataclass(frozen=True)
class Change:
    """A change made at a node, or the reason why it was not possible."""

    label: str
    conditions: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Needs:
    """The conditions to rewrite a node for: those of findings that apply, and those that may matter elsewhere."""

    asked: tuple[str, ...]
    welcome: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The changes made in a model, those not possible, and the names of added nodes.

    ``settled`` has, by the name of a rewritten node, the conditions that no longer matter.
    """

    made: list[Change]
    left: list[Change]
    added: set[str]
    settled: dict[str, set[str]]


def rewrite(
    source: OnnxSource, nodes: Iterable[NodeReport], needs: Mapping[Key, Needs], table: Iterable[Rewriting]
) -> Outcome:
    """Rewrite the nodes of ``source.proto`` in place, for the conditions in the needs of each node.

    Nodes of gatherscatter's domain do not change.
    """
    reports = {report.site.key: report for report in nodes if report.site.row.domain != DOMAIN}
    outcome = Outcome([], [], set(), {})
    free = FreeNames(names_of(source.proto))
    for body in reversed(source.bodies):  # inner bodies first: the body around them is built again
        own = Outcome([], [], outcome.added, outcome.settled)
        made = [node for each in _rewrite_nodes(body, reports, needs, tuple(table), free, own) for node in each]
        outcome.made[:0], outcome.left[:0] = own.made, own.left
        del body.proto.node[:]
        body.proto.node.extend(made)
        if isinstance(body.proto, onnx.GraphProto):
            del body.proto.value_info[:]
    drop_unused(source.proto)
    return outcome


def _rewrite_nodes(
    body: Body,
    reports: Mapping[Key, NodeReport],
    needs: Mapping[Key, Needs],
    table: tuple[Rewriting, ...],
    free: FreeNames,
    outcome: Outcome,
) -> Iterator[list[onnx.NodeProto]]:
    for position, node in enumerate(body.proto.node):
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        report, wanted = reports.get((*body.key, position)), needs.get((*body.key, position))
        if report is None or wanted is None:
            yield [copy]
            continue
        try:
            draft = ModelDraft(report.site, report.told, report.seen, free, body.scopes[0])
        except UnfixableError as error:
            if wanted.asked:
                outcome.left.append(Change(report.site.label, wanted.asked, str(error)))
            yield [copy]
            continue
        if not _apply(draft, wanted, table, outcome):
            yield [copy]
            continue
        nodes = draft.finish(copy)
        outcome.added.update(node.name for node in nodes if node is not draft.main)
        outcome.settled[draft.main.name] = draft.settled
        yield nodes


def _apply(draft: ModelDraft, needs: Needs, table: tuple[Rewriting, ...], outcome: Outcome) -> bool:
    """Apply the rewritings to a node. Return whether it changed."""
    label, done, reasons = draft.site.label, set[str](), dict[str, str]()
    for rewriting in table:
        answered = tuple(name for name in rewriting.conditions if name in (*needs.asked, *needs.welcome))
        if not answered or not rewriting.applies(draft):
            continue
        try:
            rewriting.rewrite(draft)
        except UnfixableError as error:
            reasons.update(dict.fromkeys(answered, str(error)))
            continue
        done.update(answered)
        outcome.made.append(Change(label, answered, rewriting.title))
    usual = INEXACT if sums_halves(draft) else NO_ANSWER
    left: dict[str, list[str]] = {}
    for name in dict.fromkeys((*needs.asked, *reasons)):
        if name not in done:
            left.setdefault(reasons.get(name, LEFT.get(name, usual)), []).append(name)
    outcome.left.extend(Change(label, tuple(names), text) for text, names in left.items())
    return bool(done)
