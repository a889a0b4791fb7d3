"""The gather and scatter layers of an OpenVINO IR, with the types and shapes that the file declares."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gatherscatter.findings.nodes import Key, Observer, Operand, Site
from gatherscatter.model_interface import Model, ModelError
from gatherscatter.openvino import element_types
from gatherscatter.openvino.ir import IrModel
from gatherscatter.openvino.ir_call import LayerCall, bind
from gatherscatter.openvino.ir_graph import Graph, OutputPort, build_graph
from gatherscatter.openvino.ir_read import Layer, quote_if_needed, read_net
from gatherscatter.openvino.ir_weights import Weights
from gatherscatter.specs.table import OpVersion, ops

FAMILY = {row.op_type for row in ops() if row.domain == "openvino"}
WITH_BODIES = ("If", "Loop", "TensorIterator")


class IrSource:
    """An OpenVINO IR to examine."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.name = self.path.name
        self.notes: list[str] = []
        try:
            self._graph = build_graph(read_net(self.path), lambda layer: layer.type == "Result")
            self._weights = Weights(self.path.with_suffix(".bin"))
            self.sites = list(self._sites(self._graph))
        except ModelError as error:
            raise ModelError(f"{quote_if_needed(self.name)}: {error}") from None

    def load(self, observe: Observer) -> Model:
        """Return the model, ready to run. ``observe`` is called for every gather and scatter layer."""
        try:
            model = IrModel(self._graph, self._weights)
        except ModelError as error:
            raise ModelError(f"{quote_if_needed(self.name)}: {error}") from None
        model._steps = tuple(
            step._replace(call=_ObservedCall(step.call, (step.position,), observe))  # type: ignore[arg-type]
            if isinstance(step.call.function, OpVersion)
            else step
            for step in model._steps
        )
        return model

    def _sites(self, graph: Graph) -> Iterator[Site]:
        for position in graph.order:
            layer = graph.layers[position]
            if layer.type in WITH_BODIES:
                self.notes.append(f"{layer}: its body is not examined; examine the ONNX model it was made from")
            if layer.type not in FAMILY or layer.opset is None:
                continue
            call = bind(layer)
            assert isinstance(call.function, OpVersion)
            row = call.function
            operands = tuple(
                self._operand(known.name, graph, source)
                for known, source in zip(row.inputs, graph.sources[position], strict=False)
            )
            attributes = {known.name: known.default for known in row.attributes} | call.attributes
            yield Site((position,), layer.name, str(layer), "", row, operands, attributes)

    def _operand(self, role: str, graph: Graph, source: OutputPort) -> Operand:
        layer = graph.layers[source.layer]
        constant = self._weights.constant(layer) if layer.type in ("Const", "Constant") else None
        port = layer.outputs[source.output]
        if constant is not None:
            value = constant()
            return Operand(role, layer.name, element_types.from_dtype(value.dtype).numpy_name, value.shape, constant)
        kind = element_types.from_precision(port.precision)
        # A port without dims is a scalar or has unknown rank. Only the attribute of a Parameter distinguishes them.
        shape = () if _is_scalar_parameter(layer) else tuple(port.dims) or None
        return Operand(role, layer.name, kind and kind.numpy_name, shape, None, layer.type == "ShapeOf")


def _is_scalar_parameter(layer: Layer) -> bool:
    return layer.type == "Parameter" and layer.attributes.get("shape", "...").strip() in ("", "[]", "{}")


class _ObservedCall(NamedTuple):
    """A call that passes its inputs to an observer first. It has the fields of `LayerCall`."""

    call: LayerCall
    key: Key
    observe: Observer

    @property
    def function(self) -> Any:
        return self.call.function

    def __call__(self, inputs: list[Any]) -> tuple[Any, ...]:
        self.observe(self.key, self.call.function, tuple(inputs), self.call.attributes)  # type: ignore[arg-type]
        return self.call(inputs)
