"""A graph cut into parts, each for one runner, in an order in which they can run one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.session.facts import UncuttableError

# Whose results are not the same in every run, though their inputs are; a node without inputs counts as one of them.
_RANDOM = ("RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout")


@dataclass(frozen=True)
class Part:
    """Nodes by position, the values they take from other parts or from the caller, and those they are to give."""

    ours: bool
    nodes: tuple[int, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def reads(node: onnx.NodeProto) -> list[str]:
    """The values a node needs, those that its subgraphs take from outside included; each once."""
    names = [*node.input, *(name for graph in _subgraphs(node) for name in _free(graph))]
    return list(dict.fromkeys(filter(None, names)))


def partition(
    graph: onnx.GraphProto,
    ours: Collection[int],
    either: Collection[int],
    given: Collection[str],
    constants: Collection[str],
) -> list[Part]:
    """Cut a graph into as few parts as turns between two runners allow.

    ``ours`` and ``either`` are positions of nodes: those that we must run, and those that we run where that saves a
    part. ``given`` are the inputs of the model, ``constants`` the tensors that every part may have: initializers, and
    the outputs of Constant nodes that hold a tensor.

    Raises
    ------
    UncuttableError
        A value has two definitions or none, or nodes wait for each other.
    """
    return _Cut(graph, ours, either, given, constants).parts()


class _Cut:
    def __init__(
        self,
        graph: onnx.GraphProto,
        ours: Collection[int],
        either: Collection[int],
        given: Collection[str],
        constants: Collection[str],
    ) -> None:
        self.graph = graph
        self.ours = frozenset(ours)
        self.constants = frozenset(constants)
        self.reads = [reads(node) for node in graph.node]
        self.outputs = list(dict.fromkeys(value.name for value in graph.output))
        self.makers = self._makers([*given, *constants])
        self.live = self._live()
        self.folded = self._folded()
        self.todo = self.live - self.folded
        self.users = self._users()
        folded = {name for position in self.folded for name in graph.node[position].output}
        self.either = frozenset(position for position in either if folded.isdisjoint(self.reads[position]))

    def parts(self) -> list[Part]:
        """The parts, in the way that makes for the fewest: who begins, and whether ``either`` nodes go over to us."""
        ways = [(first, either) for either in (frozenset[int](), self.either) for first in (False, True)]
        layers = min((self._handed_back(self._layers(*way)) for way in ways), key=len)
        crossing = Counter(name for ours, nodes in layers for name in self._needs(ours, nodes))
        wanted = {*crossing, *self.outputs}
        return [self._part(ours, nodes, wanted) for ours, nodes in layers]

    def _makers(self, available: list[str]) -> dict[str, int | None]:
        """The node that makes each value; None for those that are there before."""
        makers: dict[str, int | None] = dict.fromkeys(available)
        names = [*available, *(name for node in self.graph.node if not self._holds(node) for name in node.output)]
        twice = [name for name, times in Counter(filter(None, names)).items() if times > 1]
        if twice:
            raise UncuttableError(f"{twice[0]!r} is defined twice")
        for position, node in enumerate(self.graph.node):
            if not self._holds(node):
                makers.update(dict.fromkeys(filter(None, node.output), position))
        for name in (*self.outputs, *(name for names in self.reads for name in names)):
            if name not in makers:
                raise UncuttableError(f"{name!r} is defined nowhere")
        return makers

    def _holds(self, node: onnx.NodeProto) -> bool:
        """Whether the node is one of the constants."""
        return bool(node.op_type == "Constant" and node.output[0] in self.constants)

    def _live(self) -> frozenset[int]:
        """The nodes that an output needs."""
        found: set[int] = set()
        waiting = [maker for name in self.outputs if (maker := self.makers[name]) is not None]
        while waiting:
            position = waiting.pop()
            if position not in found:
                found.add(position)
                waiting += [maker for name in self.reads[position] if (maker := self.makers[name]) is not None]
        return frozenset(found)

    def _folded(self) -> frozenset[int]:
        """Nodes that depend on constants only: every part that needs one has it, so that it is computed once, on
        loading. Those whose value our nodes or the caller need are left out."""
        known, found = set(self.constants), set()
        for position, node in enumerate(self.graph.node):
            if node.domain or node.op_type in _RANDOM or position in self.ours:
                continue
            if known.issuperset(self.reads[position]) and (self.reads[position] or node.op_type == "Constant"):
                known.update(node.output)
                found.add(position)
        needed = {name for position in self.ours for name in self.reads[position]} - self.constants
        return frozenset(found - {self.makers[name] for name in (*needed, *self.outputs)})

    def _users(self) -> dict[int, list[int]]:
        """The nodes that need something of each node."""
        users: dict[int, list[int]] = {position: [] for position in self.todo}
        for position in self.todo:
            for maker in {self.makers[name] for name in self.reads[position]}:
                if maker in self.todo and maker is not None:
                    users[maker].append(position)
        return users

    def _layers(self, ours: bool, either: frozenset[int]) -> list[tuple[bool, list[int]]]:
        """Turn by turn, all that one runner can do before it needs the other. ``either`` nodes that need something of
        our turn are done in it."""
        pending = Counter(user for users in self.users.values() for user in users)
        ready = {
            side: sorted(p for p in self.todo if not pending[p] and (p in self.ours) == side) for side in (False, True)
        }
        layers: list[tuple[bool, list[int]]] = []
        while any(ready.values()):
            layer, ready[ours] = ready[ours], []
            for position in layer:  # grows on the way
                for user in self.users[position]:
                    pending[user] -= 1
                    if not pending[user]:
                        side = user in self.ours or (ours and user in either)
                        (layer if side == ours else ready[side]).append(user)
            if layer:
                layers.append((ours, layer))
            ours = not ours
        if any(pending.values()):
            raise UncuttableError("nodes wait for each other")
        return layers

    def _handed_back(self, layers: list[tuple[bool, list[int]]]) -> list[tuple[bool, list[int]]]:
        """Leave nodes to the next turn of ONNX Runtime that were done in ours without saving one."""
        for (ours, nodes), (_, following) in zip(layers[-2::-1], layers[:0:-1], strict=True):
            for position in reversed(nodes.copy()):
                if ours and position not in self.ours and not set(nodes).intersection(self.users[position]):
                    nodes.remove(position)
                    following.insert(0, position)
        return layers

    def _needs(self, ours: bool, nodes: list[int]) -> list[str]:
        """The values that come from outside of a layer, tensors of the model left out."""
        own = {name for position in nodes for name in self.graph.node[position].output}
        members = nodes if ours else self._with_folded(nodes)
        names = dict.fromkeys(name for position in members for name in self.reads[position])
        folded = {name for name in names if self.makers[name] in self.folded}
        return [name for name in names if name not in own and name not in folded and name not in self.constants]

    def _with_folded(self, nodes: list[int]) -> list[int]:
        found, waiting = set(nodes), list(nodes)
        while waiting:
            for name in self.reads[waiting.pop()]:
                maker = self.makers[name]
                if maker is not None and maker in self.folded and maker not in found:
                    found.add(maker)
                    waiting.append(maker)
        return sorted(found)

    def _part(self, ours: bool, nodes: list[int], wanted: Collection[str]) -> Part:
        made = [name for position in nodes for name in self.graph.node[position].output if name in wanted]
        members = nodes if ours else self._with_folded(nodes)
        return Part(ours, tuple(members), tuple(self._needs(ours, nodes)), tuple(made))


def _subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == onnx.AttributeProto.GRAPHS:
            yield from attribute.graphs


def _free(graph: onnx.GraphProto) -> list[str]:
    """The names that a subgraph takes from the graphs around it."""
    own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    own |= {tensor.values.name for tensor in graph.sparse_initializer}
    own |= {name for node in graph.node for name in node.output}
    used = [name for node in graph.node for name in reads(node)] + [value.name for value in graph.output]
    return [name for name in used if name not in own]
