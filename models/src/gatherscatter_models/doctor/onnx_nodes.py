"""The gather and scatter nodes of an ONNX model, with the facts about values in every graph, function and subgraph."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx

from gatherscatter_models.findings.nodes import Key, Observer
from gatherscatter_models.interface import Model
from gatherscatter_models.onnx.bodies import Body, find_inner_bodies, find_sites
from gatherscatter_models.onnx.evaluator import Evaluator, EvaluatorOp
from gatherscatter_models.onnx.graph import normalise
from gatherscatter_models.onnx.reading import name_model_in_errors, parse_onnx, read_onnx
from gatherscatter_models.onnx.running import ReferenceModel, require_engine
from gatherscatter_models.onnx.scopes import infer_functions, infer_model
from gatherscatter_models.onnx.tensors import ExternalData, is_external


class OnnxSource:
    """An ONNX model to examine. ``proto`` is a copy."""

    def __init__(self, model: str | os.PathLike[str] | onnx.ModelProto) -> None:
        self.path = None if isinstance(model, onnx.ModelProto) else Path(model)
        self.name = self.path.name if self.path else "ModelProto"
        self._files = ExternalData(self.path)
        self.notes: list[str] = []
        with name_model_in_errors(model):
            self._checked = read_onnx(model)
            require_engine(self._checked)
            self.proto = onnx.ModelProto() if self.path is None else parse_onnx(self.path)
            if isinstance(model, onnx.ModelProto):
                self.proto.CopyFrom(model)
            normalise(self.proto)
            self.bodies = list(self._bodies())
            self.sites = [site for body in self.bodies for site in find_sites(body, self.notes)]

    def load(self, observe: Observer) -> Model:
        """Return the model, ready to run. ``observe`` is called for every gather and scatter node."""

        loaded = ReferenceModel(self._checked)
        watch_evaluator(loaded.evaluator, (), observe, set())
        return loaded

    def embed(self) -> None:
        """Move all external data into the model."""
        for body in self.bodies:
            tensors = [
                attribute.t for node in body.proto.node for attribute in node.attribute if attribute.HasField("t")
            ]
            if isinstance(body.proto, onnx.GraphProto):
                tensors.extend(body.proto.initializer)
            for tensor in filter(is_external, tensors):
                self._files.embed(tensor, f"tensor {tensor.name!r}")

    def _bodies(self) -> Iterator[Body]:
        for function, scope in zip(self.proto.functions, infer_functions(self.proto, self._files), strict=True):
            graph = f" of function {function.domain}.{function.name}"
            key = ("function", function.domain, function.name)
            yield from find_inner_bodies(Body(key, graph, function, (scope,)))
        yield from find_inner_bodies(Body((), "", self.proto.graph, (infer_model(self.proto, self._files),)))


def watch_evaluator(evaluator: Evaluator, key: Key, observe: Observer, seen: set[int]) -> None:
    """Make the nodes of an evaluator, its subgraphs and its functions call ``observe`` before they run."""
    if id(evaluator) in seen:  # callers of a function share its evaluator
        return
    seen.add(id(evaluator))
    for position, labelled in enumerate(evaluator.rt_nodes_):
        node = labelled.node
        if isinstance(node, EvaluatorOp):
            _watch_node(node, (*key, position), observe)
        called = getattr(node, "impl_", None)
        if isinstance(called, Evaluator):
            watch_evaluator(called, ("function", node.onnx_node.domain, node.onnx_node.op_type), observe, seen)
        for attribute in node.onnx_node.attribute:
            body = getattr(node, attribute.name, None)
            if isinstance(body, Evaluator):
                watch_evaluator(body, (*key, position, attribute.name), observe, seen)


def _watch_node(node: EvaluatorOp, key: Key, observe: Observer) -> None:
    run = node._run

    def shown(*inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        observe(key, node.row, inputs, attributes)
        return run(*inputs, **attributes)

    node._run = shown  # type: ignore[method-assign]
