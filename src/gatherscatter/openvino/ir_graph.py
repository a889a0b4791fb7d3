"""Connect the layers by their edges, find those that the results need, and order them for execution."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gatherscatter.model_interface import ModelError
from gatherscatter.openvino.ir_read import Edge, Layer, Net


class OutputPort(NamedTuple):
    """One tensor of the graph: output number ``output`` of the layer at position ``layer`` in the file."""

    layer: int
    output: int


class Graph(NamedTuple):
    """The layers in the order of the file, the sources of their inputs, and the needed layers in order of execution."""

    layers: tuple[Layer, ...]
    sources: tuple[tuple[OutputPort, ...], ...]
    order: tuple[int, ...]


def build_graph(net: Net, is_result: Callable[[Layer], bool]) -> Graph:
    """Connect the layers; ModelError for duplicate ids, dangling or missing edges, and cycles."""
    layers = tuple(net.layers)
    sources = _connect(layers, net.edges)
    order = _topological_order(layers, sources)
    needed = _find_needed((i for i, layer in enumerate(layers) if is_result(layer)), sources)
    return Graph(layers, sources, tuple(i for i in order if i in needed))


def _connect(layers: tuple[Layer, ...], edges: list[Edge]) -> tuple[tuple[OutputPort, ...], ...]:
    positions = _positions(layers)
    outputs = [_number_ports([port.id for port in layer.outputs], layer, "output") for layer in layers]
    inputs = [_number_ports(layer.inputs, layer, "input") for layer in layers]
    slots: list[list[OutputPort | None]] = [[None] * len(layer.inputs) for layer in layers]
    for edge in edges:
        for layer_id in (edge.from_layer, edge.to_layer):
            if layer_id not in positions:
                raise ModelError(f"{edge}: there is no layer {layer_id}")
        start, end = positions[edge.from_layer], positions[edge.to_layer]
        if edge.from_port not in outputs[start]:
            raise ModelError(f"{edge}: {layers[start]} has no output port {edge.from_port}")
        if edge.to_port not in inputs[end]:
            raise ModelError(f"{edge}: {layers[end]} has no input port {edge.to_port}")
        slot = inputs[end][edge.to_port]
        if slots[end][slot] is not None:
            raise ModelError(f"{edge}: input port {edge.to_port} of {layers[end]} has an edge already")
        slots[end][slot] = OutputPort(start, outputs[start][edge.from_port])
    return tuple(_complete(layer, slot) for layer, slot in zip(layers, slots, strict=True))


def _positions(layers: tuple[Layer, ...]) -> dict[int, int]:
    positions: dict[int, int] = {}
    for position, layer in enumerate(layers):
        if layer.id in positions:
            raise ModelError(f"{layer}: its id is already that of {layers[positions[layer.id]]}")
        positions[layer.id] = position
    return positions


def _number_ports(ports: list[int], layer: Layer, what: str) -> dict[int, int]:
    numbers = {port: number for number, port in enumerate(ports)}
    if len(numbers) != len(ports):
        raise ModelError(f"{layer} has two {what} ports with the same id")
    return numbers


def _complete(layer: Layer, slots: list[OutputPort | None]) -> tuple[OutputPort, ...]:
    for port, source in zip(layer.inputs, slots, strict=True):
        if source is None:
            raise ModelError(f"{layer}: no edge leads to its input port {port}")
    return tuple(source for source in slots if source is not None)


def _topological_order(layers: tuple[Layer, ...], sources: tuple[tuple[OutputPort, ...], ...]) -> list[int]:
    """Order the layers with Kahn's algorithm. A heap keeps the order of the file where the edges leave a choice."""
    consumers: list[list[int]] = [[] for _ in layers]
    missing = [len(feeding) for feeding in sources]
    for layer, feeding in enumerate(sources):
        for source in feeding:
            consumers[source.layer].append(layer)
    ready = [layer for layer, count in enumerate(missing) if count == 0]
    order: list[int] = []
    while ready:
        layer = heapq.heappop(ready)
        order.append(layer)
        for consumer in consumers[layer]:
            missing[consumer] -= 1
            if missing[consumer] == 0:
                heapq.heappush(ready, consumer)
    if len(order) < len(layers):
        raise ModelError(f"the edges form a cycle through {layers[_find_cycle_layer(missing, sources)]}")
    return order


def _find_cycle_layer(missing: list[int], sources: tuple[tuple[OutputPort, ...], ...]) -> int:
    """Return a layer of a cycle: walk against the edges among the remaining layers until one is repeated."""
    layer = next(layer for layer, count in enumerate(missing) if count)
    seen: set[int] = set()
    while layer not in seen:
        seen.add(layer)
        layer = next(source.layer for source in sources[layer] if missing[source.layer])
    return layer


def _find_needed(results: Iterable[int], sources: tuple[tuple[OutputPort, ...], ...]) -> set[int]:
    """Return all layers that a result depends on. The others never run."""
    open_layers = list(results)
    needed: set[int] = set()
    while open_layers:
        layer = open_layers.pop()
        if layer not in needed:
            needed.add(layer)
            open_layers.extend(source.layer for source in sources[layer])
    return needed
