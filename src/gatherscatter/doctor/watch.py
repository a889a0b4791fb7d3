"""Models that show what reaches their gather and scatter nodes, wherever those are, each time they run."""

from __future__ import annotations

from typing import Any

from gatherscatter.onnx.evaluator import Evaluator
from gatherscatter.onnx.reference import RegistryOp

from .sites import Key, Observer


def watch_evaluator(evaluator: Evaluator, key: Key, observe: Observer, seen: set[int]) -> None:
    """Let the nodes of an evaluator, of its subgraphs and of the functions it calls show their inputs."""
    if id(evaluator) in seen:  # functions are shared by those who call them
        return
    seen.add(id(evaluator))
    for position, labelled in enumerate(evaluator.rt_nodes_):
        node = labelled.node
        if isinstance(node, RegistryOp):
            _watch_node(node, (*key, position), observe)
        called = getattr(node, "impl_", None)
        if isinstance(called, Evaluator):
            watch_evaluator(called, ("function", node.onnx_node.domain, node.onnx_node.op_type), observe, seen)
        for attribute in node.onnx_node.attribute:
            body = getattr(node, attribute.name, None)
            if isinstance(body, Evaluator):
                watch_evaluator(body, (*key, position, attribute.name), observe, seen)


def _watch_node(node: RegistryOp, key: Key, observe: Observer) -> None:
    run = node._run

    def shown(*inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        observe(key, node.row, inputs, attributes)
        return run(*inputs, **attributes)

    node._run = shown  # type: ignore[method-assign]
