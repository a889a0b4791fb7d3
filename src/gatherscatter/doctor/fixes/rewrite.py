"""Rewritings made in a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.rewrite import walk

from ..diagnosis import NodeReport
from ..onnx_sites import Body, OnnxSource
from ..sites import Key
from .draft import Draft, UnfixableError
from .table import LEFT, NO_ANSWER, Rewriting


@dataclass(frozen=True)
class Change:
    """What was done at a node, or why something was not."""

    label: str
    conditions: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Needs:
    """The conditions that a node is to be rewritten for: where a finding asks for it, and where it does no harm."""

    asked: tuple[str, ...]
    welcome: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What was done in a model, what was left, the names of the nodes that were added, and by the names of those
    that were rewritten, which conditions are settled by it."""

    made: list[Change]
    left: list[Change]
    added: set[str]
    settled: dict[str, set[str]]


def rewrite(
    source: OnnxSource, nodes: Iterable[NodeReport], needs: Mapping[Key, Needs], table: Iterable[Rewriting]
) -> Outcome:
    """Rewrite the nodes of ``source.proto`` in place, for the conditions that each needs an answer to."""
    reports = {report.site.key: report for report in nodes}
    outcome = Outcome([], [], set(), {})
    free = _free_names(source.proto)
    for body in reversed(source.bodies):  # those within a body before the body, which is made anew
        own = Outcome([], [], outcome.added, outcome.settled)
        made = [node for each in _rewritten(body, reports, needs, tuple(table), free, own) for node in each]
        outcome.made[:0], outcome.left[:0] = own.made, own.left
        del body.proto.node[:]
        body.proto.node.extend(made)
        if isinstance(body.proto, onnx.GraphProto):
            del body.proto.value_info[:]
    _drop_unused(source.proto)
    return outcome


def _rewritten(
    body: Body,
    reports: Mapping[Key, NodeReport],
    needs: Mapping[Key, Needs],
    table: tuple[Rewriting, ...],
    free: Callable[[str], str],
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
            draft = Draft(report.site, report.told, report.seen, free, body.scope.opset)
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


def _apply(draft: Draft, needs: Needs, table: tuple[Rewriting, ...], outcome: Outcome) -> bool:
    """Whether anything was rewritten."""
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
    for name in dict.fromkeys((*needs.asked, *reasons)):
        if name not in done:
            outcome.left.append(Change(label, (name,), reasons.get(name, LEFT.get(name, NO_ANSWER))))
    return bool(done)


def _free_names(model: onnx.ModelProto) -> Callable[[str], str]:
    """A function that makes names which nothing in the model has."""
    bodies = (model.graph, *model.functions)
    taken = {name for body in bodies for node in walk(body.node) for name in (*node.input, *node.output, node.name)}
    for graph in _graphs(model):
        taken |= {value.name for value in (*graph.input, *graph.output, *graph.initializer)}
    taken |= {name for function in model.functions for name in (*function.input, *function.output)}

    def free(wanted: str) -> str:
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        taken.add(name)
        return name

    return free


def _graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    yield model.graph
    for body in (model.graph, *model.functions):
        for node in walk(body.node):
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    yield attribute.g


def _drop_unused(model: onnx.ModelProto) -> None:
    """Take away initializers and Constant nodes of the main graph that nothing reads any more."""
    graph = model.graph
    read = {name for body in (graph, *model.functions) for node in walk(body.node) for name in node.input}
    read |= {value.name for each in _graphs(model) for value in each.output}
    read |= {value.name for value in graph.input}
    for position in reversed(range(len(graph.initializer))):
        if graph.initializer[position].name not in read:
            del graph.initializer[position]
    for position in reversed(range(len(graph.node))):
        node = graph.node[position]
        if (node.domain, node.op_type) == ("", "Constant") and node.output[0] not in read:
            del graph.node[position]
